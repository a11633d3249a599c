"""Forces that the velocity stepper takes explicitly are named where its step is too long."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds


def spring(stepper, stiffness, damping=0.0):
    """A mass of 0.1 kg on a spring to the world: h^2 k/m = 4 at k = 1e5 N/m and 2 ms."""
    return ds.load_scene({
        "world": {"step": 2e-3, "duration": 2.0, "gravity": [0, 0, 0], "stepper": stepper},
        "bodies": {"bob": {"type": "particle", "mass": 0.1, "velocity": [0.1, 0, 0]}},
        "links": [{"type": "spring", "name": "coil", "stiffness": stiffness, "damping": damping,
                   "rest_length": 0.5,
                   "pairs": [{"a": {"world": [0.5, 0, 0]}, "b": {"body": "bob"}}]}],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("stepper", "stiffness", "damping", "named"),
    [
        ("velocity", 1.01e5, 0.0, True),
        ("velocity", 0.99e5, 0.0, False),
        ("velocity", 1e3, 110.0, True),
        ("implicit", 2e5, 0.0, False),
    ],
)
def test_a_spring_that_is_too_stiff_is_named_once_and_only_where_it_diverges(
    stepper, stiffness, damping, named
):
    rollout = spring(stepper, stiffness, damping).rollout(allow_failure=True)
    found = [one for one in rollout.warnings if "unstable" in one]
    assert len(found) == named
    assert all("spring coil" in one and "world.step" in one for one in found)
    if stepper == "velocity":
        apart = abs(rollout["bob"].position).max() if rollout.ok else float("inf")
        assert (apart > 1.0) == named
