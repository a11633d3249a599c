"""Keys that the scene's stepper does not use are named in a rollout's warnings."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds


def warnings(stepper, **contact):
    builder = ds.SceneBuilder("drop", step=2e-3, duration=0.02, stepper=stepper)
    builder.body("ball", shape={"sphere": {"radius": 0.05}}, mass=0.4,
                 pose={"position": [0, 0, 0.2]})  # fmt: skip
    law = {"k_n": 1e5, "c_f": 0.0, **contact}
    scene = builder.contact("ball", {"plane": {}}, name="ground", **law).build()
    return [one for one in scene.rollout().warnings if "no effect" in one]


@pytest.mark.parametrize(
    ("stepper", "contact", "said"),
    [
        ("implicit", {"restitution": 0.5}, "restitution: 0.5 has no effect with stepper: implicit"),
        ("implicit", {"restitution": 0.0}, ""),
        ("implicit", {"friction": "hybrid"}, ""),
        ("velocity", {"restitution": 0.5}, ""),
        ("velocity", {"friction": "hybrid"}, "friction: hybrid has no effect"),
        ("velocity", {"damping": "thesis", "k_d": 1.0}, "damping: thesis has no effect"),
    ],
)  # fmt: skip
def test_a_key_that_counts_for_nothing_is_named(stepper, contact, said):
    found = warnings(stepper, **contact)
    assert len(found) == (1 if said else 0)
    assert not said or f"contact ground: {said}" in found[0]
