"""Joints in reduced coordinates whose coordinate follows another's: gears, grippers."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_gradients
from tests.native.links import INERTIA

RATIO, SHIFT = -1.5, 0.2


def geared(*, follow=True, carried=True):
    """Bodies a, b, c on hinges: b's follows a's by RATIO and SHIFT; b on a, or on the world."""
    s = _engine.Scene()
    s.set_gravity([0.3, 0.1, -9.81])
    for i, name in enumerate("abc"):
        s.add_rigid_body(name, mass=0.5 + 0.1 * i, inertia=INERTIA, radius=0.2,
                         position=[0.15 + 0.3 * i, 0.02 * i, 0.01])  # fmt: skip
    first = {"kind": "hinge", "body_b": "a", "position": [0, 0, 0], "axis": [0.2, 1, 0.1]}
    second = {"kind": "hinge", "body_b": "b", "position": [0.3, 0, 0], "axis": [0.1, 1, 0.3],
              "coordinate": SHIFT}  # fmt: skip
    third = {"kind": "slider", "body_a": "b", "body_b": "c", "position": [0.6, 0, 0],
             "axis": [1, 0.2, 0.1]}  # fmt: skip
    if carried:
        second["body_a"] = "a"
    if follow:
        second |= {"mimic": "first", "ratio": RATIO, "shift": SHIFT}
    for name, joint in {"first": first, "second": second, "third": third}.items():
        s.add_joint(name, reduced=True, friction_damping=0.02, **joint)
    s.add_motor("spring", joint="second", keys=0.1, stiffness=2.0, damping=0.05)
    s.add_armature("rotor", joint="second", inertia=0.02)
    s.add_motor("hold", joint="third", keys=0.0, stiffness=200.0, damping=1.0)
    return s


@pytest.mark.parametrize("carried", [True, False])
def test_the_coordinate_follows(carried):
    s = geared(carried=carried)
    r = _engine.rollout(s, s.values, 300, _engine.Options(step=1e-3))
    first, second = (s.joint_motion(name, s.values, r) for name in ("first", "second"))
    assert np.ptp(first["coordinate"]) > 0.2
    wanted = RATIO * first["coordinate"] + SHIFT
    assert second["coordinate"] == pytest.approx(wanted, abs=1e-12)
    assert second["rate"] == pytest.approx(RATIO * first["rate"], abs=1e-11)


@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients(order, carried):
    names = ["a.mass", "b.inertia.xy", "second.anchor_a.x", "second.axis_rotation.z", "gravity.x",
             "second.friction_damping", "spring.stiffness", "spring.target[0]", "rotor.inertia",
             "first.anchor_b.y", "a.angular_velocity.y", "third.axis_rotation.y"]  # fmt: skip
    options = _engine.Options(
        step=2e-3, order=order, tolerance=1e-12, stagnate=True, record_modes=True
    )
    check_gradients(geared(carried=carried), 30, options, names)


def test_energy_is_kept():
    """A gear does no work: the error falls with the step by the scheme's order."""
    errors = []
    for step in (4e-3, 2e-3):
        s = geared()
        for name in ("first", "second", "third"):
            s.set_value(f"{name}.friction_damping", 0.0)
        for name in ("spring.stiffness", "spring.damping", "hold.stiffness", "hold.damping"):
            s.set_value(name, 0.0)
        r = _engine.rollout(s, s.values, int(0.2 / step), _engine.Options(step=step))
        energy = s.energies(r)
        total = sum(np.asarray(energy[kind]) for kind in ("kinetic", "gravity"))
        errors.append(abs(total[-1] - total[0]))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mimic": "none"}, "must be one of"),
        ({"mimic": "second"}, "follows no other"),
        ({"mimic": "ball"}, "hinges and sliders"),
        ({"ratio": 0.0}, "not zero"),
        ({"reduced": False}, "reduced coordinates"),
    ],
)
def test_what_cannot_be_followed_is_refused(change, said):
    s = geared()
    for name in "de":
        s.add_rigid_body(name, mass=1.0, inertia=INERTIA, radius=0.1, position=[0, 1, 0])
    s.add_joint("ball", kind="ball", body_b="d", position=[0, 1, 0], reduced=True)
    joint = {"kind": "hinge", "body_b": "e", "position": [0, 1, 0], "mimic": "first"}
    with pytest.raises(_engine.InvalidInput, match=said):
        s.add_joint("bad", **({"reduced": True} | joint | change))
