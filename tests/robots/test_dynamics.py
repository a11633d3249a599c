"""Inverse dynamics and their regressor: against Pinocchio, energy, and each other."""

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.dynamics import inertial_parameters, inverse_dynamics, regressor
from diffsim_ros.robots.kinematics import joint_poses
from diffsim_ros.robots.urdf import load_robot

pytest.importorskip("urchin")
HERE = Path(__file__).resolve().parent
FILES = {
    "ur5": HERE.parents[1] / "urdf" / "ur5.urdf",
    "seven_axis": HERE / "seven_axis.urdf",
    "stanford": HERE / "stanford.urdf",  # has a slider
}
ORDER = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]  # Pinocchio's xx, xy, yy, xz, yz, zz as ours


@pytest.mark.parametrize("name", FILES)
def test_efforts_and_regressor_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    robot, model = load_robot(FILES[name]), pin.buildModelFromUrdf(str(FILES[name]))
    data, n = model.createData(), len(robot.joints)
    assert list(model.names)[1:] == list(robot.joint_names) and model.nq == n
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, 5, n))
    gravity = (0.3, -1.0, -9.7)
    model.gravity.linear = np.array(gravity)
    tau, Y = inverse_dynamics(robot, q, qd, qdd, gravity), regressor(robot, q, qd, qdd, gravity)
    order = np.concatenate([10 * i + np.array(ORDER) for i in range(n)])
    for k in range(len(q)):
        assert tau[k] == pytest.approx(pin.rnea(model, data, q[k], qd[k], qdd[k]), abs=1e-10)
        wanted = pin.computeJointTorqueRegressor(model, data, q[k], qd[k], qdd[k])[:, order]
        assert Y[k] == pytest.approx(wanted, abs=1e-10)
    assert Y @ inertial_parameters(robot).ravel() == pytest.approx(tau, abs=1e-10)


def test_power_is_the_rate_of_energy():
    """tau q' = d/dt (kinetic + potential), without Pinocchio: T from the mass matrix by tau."""
    robot = load_robot(FILES["stanford"])
    rng = np.random.default_rng(0)
    n = len(robot.joints)
    q0, v, a = rng.normal(size=(3, n))
    zero = np.zeros(n)

    def energy(s):
        q, qd = q0 + s * v + 0.5 * s * s * a, v + s * a
        columns = [inverse_dynamics(robot, q, zero, e, (0, 0, 0)) for e in np.eye(n)]
        height = [pose @ np.append(j.inertial.centre, 1) for pose, j in _bodies(robot, q)]
        lift = sum(j.inertial.mass * 9.81 * h[2] for h, j in zip(height, robot.joints, strict=True))
        return 0.5 * qd @ np.array(columns) @ qd + lift

    s = 1e-5
    rate = (energy(s) - energy(-s)) / (2 * s)
    assert inverse_dynamics(robot, q0, v, a) @ v == pytest.approx(rate, rel=1e-7)


def _bodies(robot, q):
    return zip(joint_poses(robot, q), robot.joints, strict=True)


def test_arrays_of_other_shapes_are_refused():
    robot = load_robot(FILES["ur5"])
    with pytest.raises(InputError, match=r"qd: got \(3,\); accepted: \(..., 6\)"):
        inverse_dynamics(robot, np.zeros(6), np.zeros(3), np.zeros(6))
