"""Equations of motion with contact points, beside the engine's own recursions and differences."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.planning.locomotion import load_legged_robot
from diffsim_ros.planning.locomotion.tracking.contact_state import ContactModel
from diffsim_ros.rotation import quat_exp, quat_matrix, quat_multiply

ROBOTS = Path(__file__).resolve().parents[4] / "config/locomotion/robots"


def random_state(robot, rng):
    q = robot.settled_state()
    q[:3] += rng.standard_normal(3)
    q[3:7] = rng.standard_normal(4)
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] += 0.4 * rng.standard_normal(len(q) - 7)
    return q, rng.standard_normal(len(q) - 1)


@pytest.mark.parametrize("name", ["quadruped", "solo12"])
def test_mass_matrix_and_forces_are_those_of_inverse_dynamics(name):
    robot, rng = load_legged_robot(ROBOTS / f"{name}.yaml"), np.random.default_rng(3)
    model, mounts = robot.model(), robot.mounts()
    q, qd = random_state(robot, rng)
    qdd = rng.standard_normal(len(qd))
    at = model.contact_dynamics(q, qd, list(mounts.links), mounts.positions, np.full(4, 0.01))
    tau = model.inverse_dynamics(q, qd, qdd)
    assert at["M"] @ qdd + at["h"] == pytest.approx(tau, rel=1e-10, abs=1e-10)
    assert at["J"].shape == (12, len(qd))
    assert at["J"] @ qd == pytest.approx(at["velocity"].ravel(), abs=1e-12)


@pytest.mark.parametrize("radius", [0.0, 0.03])
def test_points_and_what_they_lack_of_rolling_are_those_of_differences(radius):
    """The centre of a ball that rolls: its acceleration less alpha x (radius z)."""
    robot, rng = load_legged_robot(ROBOTS / "solo12.yaml"), np.random.default_rng(4)
    model, mounts = robot.model(), robot.mounts()
    q, qd = random_state(robot, rng)
    qdd = rng.standard_normal(len(qd))
    links, step = [int(k) for k in mounts.links], 1e-5
    names = [link.name for link in model.links]
    places, spins = [], []
    for k in (-1, 0, 1):
        d = k * step * qd + 0.5 * (k * step) ** 2 * qdd
        moved = _moved(q, d)
        rate = qd + k * step * qdd
        poses = model.link_poses(moved)[links]
        places.append(np.einsum("mij,mj->mi", poses[:, :3, :3], mounts.positions) + poses[:, :3, 3])
        spins.append(np.array([(model.jacobian(moved, link=names[k]) @ rate)[:3] for k in links]))
    acceleration = (places[0] - 2 * places[1] + places[2]) / step**2
    alpha = (spins[2] - spins[0]) / (2 * step)
    at = model.contact_dynamics(q, qd, links, mounts.positions, np.full(4, radius))
    left = acceleration - np.cross(alpha, [0.0, 0.0, radius])
    found = (at["J"] @ qdd).reshape(-1, 3) + at["bias"]
    assert found == pytest.approx(left, abs=2e-4 * np.abs(left).max())
    assert at["point"] == pytest.approx(places[1] - [0.0, 0.0, radius], abs=1e-12)


def _moved(q, d):
    turned = quat_multiply(q[3:7], quat_exp(d[3:6]))
    return np.concatenate([q[:3] + d[:3], turned, q[7:] + d[6:]])


@pytest.mark.parametrize("name", ["agilebot", "swizzlebot"])
def test_wheels_roll_and_their_lowest_points_move_as_differences_say(name):
    """Of leaning, steering and spinning wheels: accelerations that J and bias give are the rates of
    the velocities of the material point and of the lowest point along a motion."""
    robot, rng = load_legged_robot(ROBOTS / f"{name}.yaml"), np.random.default_rng(8)
    own = ContactModel(robot)
    q, _ = random_state(robot, rng)
    q[3:7] = np.array([0.1, -0.15, 0.3, 0.94]) / np.linalg.norm([0.1, -0.15, 0.3, 0.94])
    qd, qdd = rng.standard_normal(6 + own.size), rng.standard_normal(6 + own.size)
    qd[-len(own.wheels) :] *= 20.0
    step, legs = 1e-5, len(q) - 1
    seen = [
        own(_moved(q, (k * step * qd + 0.5 * (k * step) ** 2 * qdd)[:legs]), qd + k * step * qdd)
        for k in (-1, 0, 1)
    ]
    at = seen[1]
    for J, bias, velocity in (
        ("J", "bias", "velocity"),
        ("place_J", "place_bias", "place_velocity"),
    ):
        rate = (seen[2][velocity] - seen[0][velocity]) / (2 * step)
        found = (at[J] @ qdd).reshape(-1, 3) + at[bias]
        assert found == pytest.approx(rate, abs=1e-6 * np.abs(rate).max())
        assert at[J] @ qd == pytest.approx(at[velocity].ravel(), abs=1e-11)
    moved = (seen[2]["point"] - seen[0]["point"]) / (2 * step)
    assert moved == pytest.approx(at["place_velocity"], abs=1e-7)
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = quat_matrix(q[3:7]), q[:3]
    assert at["point"] == pytest.approx(robot.contact_points(q[7:], base), abs=1e-12)
    # What a wheel lacks of rolling without slip: the lowest point's velocity less r spin t.
    ahead = np.cross(at["axis"], [0.0, 0.0, 1.0])
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    radii = np.array([effector.radius for effector in robot.end_effectors])
    rolled = (radii * at["spin"])[:, None] * ahead
    assert at["place_velocity"] - rolled == pytest.approx(at["velocity"], abs=1e-12)
    yaw = [np.arctan2(-one["axis"][:, 0], one["axis"][:, 1]) for one in seen]
    assert (yaw[2] - yaw[0]) / (2 * step) == pytest.approx(at["steering"], abs=1e-6)


def test_what_does_not_fit_is_refused():
    robot = load_legged_robot(ROBOTS / "quadruped.yaml")
    model, q = robot.model(), robot.settled_state()
    qd = np.zeros(len(q) - 1)
    with pytest.raises(_engine.InvalidInput, match="link"):
        model.contact_dynamics(q, qd, [99], np.zeros((1, 3)), np.zeros(1))
    with pytest.raises(_engine.InvalidInput, match="radius"):
        model.contact_dynamics(q, qd, [3], np.zeros((1, 3)), np.array([-1.0]))
    with pytest.raises(_engine.InvalidInput, match="axis"):
        model.contact_dynamics(q, qd, [3], np.zeros((1, 3)), np.ones(1), np.full((1, 3), 0.4))
    with pytest.raises(_engine.InvalidInput, match="axes"):
        model.contact_dynamics(q, qd, [3], np.zeros((1, 3)), np.ones(1), np.zeros((2, 3)))
    with pytest.raises(_engine.InvalidInput, match="one a link"):
        model.contact_dynamics(q, qd, [3, 4], np.zeros((1, 3)), np.zeros(1))
