"""What joints in reduced coordinates transmit: as a load cell in the joint reads it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from tests.native.gradients import check_outputs
from tests.native.links import INERTIA


def arm(*, reduced, stiffness=1e9):
    """Two bodies on skew hinges, the first at the origin, moving."""
    s = _engine.Scene()
    s.set_gravity([0.4, -0.3, -9.81])
    held = {"reduced": True} if reduced else {"stiffness": stiffness}
    for i, name in enumerate("ab"):
        s.add_rigid_body(name, mass=0.5 + 0.2 * i, inertia=INERTIA, radius=0.2,
                         position=[0.2 + 0.4 * i, 0.05, 0.02])  # fmt: skip
    top = {"body_b": "a", "position": [0, 0, 0], "axis": [0.1, 1, 0.2]}
    elbow = {"body_a": "a", "body_b": "b", "position": [0.4, 0.02, 0], "axis": [0.3, 0.8, -0.4]}
    s.add_joint("top", kind="hinge", friction_damping=0.05, **top, **held)
    s.add_joint("elbow", kind="hinge", friction_damping=0.02, **elbow, **held)
    s.add_motor("drive", joint="elbow", kind="torque", keys=0.3)
    return s


OUTPUTS = ["top.force", "top.torque", "elbow.force", "elbow.torque"]


def run(s, steps=200):
    options = _engine.Options(step=1e-3, order=2, tolerance=1e-11)
    return _engine.rollout(s, s.values, steps, options, outputs=OUTPUTS)


def test_forces_are_those_of_stiff_joints():
    exact, stiff = run(arm(reduced=True)), run(arm(reduced=False))
    for name in ("top.force", "elbow.force"):
        wanted = stiff.outputs[name][50:]
        assert exact.outputs[name][50:] == pytest.approx(wanted, abs=2e-3 * np.abs(wanted).max())


def test_torques_include_what_motors_and_friction_transmit():
    exact, stiff = run(arm(reduced=True)), run(arm(reduced=False))
    axis = np.array([0.3, 0.8, -0.4]) / np.linalg.norm([0.3, 0.8, -0.4])
    s = arm(reduced=True)
    in_world = Rotation.from_quat(exact.orientation[:, 0]).apply(axis)
    rate = s.joint_motion("elbow", s.values, exact)["rate"]
    along = np.einsum("fk,fk->f", exact.outputs["elbow.torque"], in_world)
    assert along[1:] == pytest.approx(0.3 - 0.02 * rate[1:], abs=1e-7)
    # What stiff joints report holds all but the free direction, and friction_damping.
    held = exact.outputs["elbow.torque"] - np.einsum("f,fk->fk", along, in_world)
    wanted = stiff.outputs["elbow.torque"]
    wanted = wanted - np.einsum("fk,fk,fj->fj", wanted, in_world, in_world)
    assert held[50:] == pytest.approx(wanted[50:], abs=5e-3 * np.abs(wanted[50:]).max())


def test_outputs_differentiate():
    s = arm(reduced=True)
    names = ["a.mass", "b.inertia.xy", "elbow.anchor_b.x", "top.axis_rotation.z", "gravity.x",
             "elbow.friction_damping", "drive.torque[0]", "a.angular_velocity.y"]  # fmt: skip
    options = _engine.Options(step=1e-3, order=2, tolerance=1e-12, stagnate=True, record_modes=True)
    check_outputs(s, 40, options, names, OUTPUTS)
