"""The program of torques: its optimality, the equations of motion, limits, what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("piqp")

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import load_legged_robot
from diffsim_ros.planning.locomotion.tracking import (
    InverseDynamics,
    InverseDynamicsOptions,
    Wanted,
)
from tests.planning.locomotion.tracking.motions import ROBOTS, library


def state(robot, rng):
    q = robot.settled_state()
    q[7:] += 0.1 * rng.standard_normal(len(q) - 7)
    return q, 0.3 * rng.standard_normal(len(q) - 1 + len(robot.spinning))


def wanted(robot, rng, stands):
    m, n = len(robot.end_effectors), len(robot.joint_names) + len(robot.spinning)
    forces = np.zeros((m, 3))
    forces[stands, 2] = robot.mass * 9.81 / max(1, np.sum(stands))
    return Wanted(
        3 * rng.standard_normal(6), np.array(stands), 10 * rng.standard_normal((m, 3)), forces,
        rng.standard_normal(n),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["quadruped", "solo12", "agilebot", "swizzlebot"])
@pytest.mark.parametrize("stands", [[True] * 4, [True, False, False, True], [False] * 4])
def test_the_solution_fulfils_the_conditions_of_karush_kuhn_and_tucker(name, stands):
    robot, rng = load_legged_robot(ROBOTS / f"{name}.yaml"), np.random.default_rng(1)
    balls = {"FL": 0.016} if not robot.spinning else None
    own = InverseDynamics(robot, balls=balls)
    for _ in range(3):
        q, qd = state(robot, rng)
        p = own.program(own.dynamics(q, qd), wanted(robot, rng, stands))
        x, found, solved = own.solve(p)
        assert solved
        scale = np.abs(p.c).max()
        lower, upper = np.array(found.z_l), np.array(found.z_u)
        left = p.P @ x + p.c + p.A.T @ found.y + p.G.T @ (upper - lower)
        assert np.abs(left).max() < 1e-5 * scale
        assert np.abs(p.A @ x - p.b).max() < 1e-5 * np.abs(p.b).max()
        rows = p.G @ x
        assert (rows > p.low - 1e-5).all()
        assert (rows < p.high + 1e-5).all()
        assert min(lower.min(), upper.min()) > -1e-9
        for gap, multiplier in ((rows - p.low, lower), (p.high - rows, upper)):
            finite = np.isfinite(gap)
            assert np.abs(gap[finite] * multiplier[finite]).max() < 1e-4 * scale


@pytest.mark.parametrize("name", ["solo12", "agilebot", "swizzlebot"])
def test_torques_and_forces_fulfil_the_equations_of_motion(name):
    robot, rng = load_legged_robot(ROBOTS / f"{name}.yaml"), np.random.default_rng(2)
    own = InverseDynamics(robot, InverseDynamicsOptions(rolling_resistance=0.0))
    q, qd = state(robot, rng)
    found = own(q, qd, wanted(robot, rng, [True, False, True, True]))
    assert found.solved
    assert found.residual < 1e-5
    # The engine's forward dynamics under these torques and forces gives these accelerations.
    J = own.dynamics(q, qd)["J"]
    tau = np.concatenate([np.zeros(6), found.torques]) + J.T @ found.forces.ravel()
    whole = np.concatenate([q, np.zeros(len(robot.spinning))])
    qdd = own.dynamics.tree.forward_dynamics(whole, qd, tau)
    assert qdd == pytest.approx(found.accelerations, abs=1e-3 * np.abs(qdd).max())
    assert not found.forces[1].any()
    sideways = np.linalg.norm(found.forces[:, :2], axis=1)
    assert (sideways <= own.options.friction * found.forces[:, 2] + 1e-4).all()


def test_feet_that_stand_keep_still_and_a_robot_at_rest_stays():
    robot = load_legged_robot(ROBOTS / "quadruped.yaml")
    own = InverseDynamics(robot)
    q, n = robot.settled_state(), len(robot.joint_names)
    load = library().compose([("stand", 0.1)]).at(np.zeros(1)).forces[0]
    rest = Wanted(np.zeros(6), np.ones(4, bool), np.zeros((4, 3)), load, np.zeros(n))
    found = own(q, np.zeros(6 + n), rest)
    assert np.abs(found.accelerations).max() < 0.05
    assert found.forces[:, 2].sum() == pytest.approx(robot.mass * 9.81, rel=1e-3)
    hard = Wanted(np.array([0, 0, 300.0, 0, 0, 0]), np.ones(4, bool), load, load, np.zeros(n))
    found = own(q, np.zeros(6 + n), hard)
    assert np.abs(found.torques).max() <= own.effort.max() + 1e-6
    assert (found.forces[:, 2] <= 1.5 * robot.mass * 9.81 + 1e-3).all()


def test_motors_of_a_car_give_what_speeds_it_up():
    """Sum of torques over the radius: mass times acceleration and what turns the wheels."""
    robot = load_legged_robot(ROBOTS / "car.yaml")
    own, speedup = InverseDynamics(robot), 1.2
    m, radius = len(robot.end_effectors), robot.end_effectors[0].radius
    load = np.tile([robot.mass * speedup / m, 0.0, robot.mass * 9.81 / m], (m, 1))
    asked = Wanted(
        np.array([speedup, 0, 0, 0, 0, 0]), np.ones(m, bool), np.zeros((m, 3)), load,
        np.full(m, speedup / radius),
    )  # fmt: skip
    speed = 0.3
    qd = np.concatenate([[speed], np.zeros(5), np.full(m, speed / radius)])
    found = own(robot.settled_state(), qd, asked)
    moment = sum(effector.moment for effector in robot.end_effectors)
    reached = found.accelerations[0]
    push = (robot.mass + moment / radius**2) * reached
    assert found.torques.sum() / radius == pytest.approx(push, rel=1e-4)
    assert reached == pytest.approx(speedup, rel=0.05)
    assert found.accelerations[6:] == pytest.approx(np.full(m, reached / radius), rel=1e-3)


def test_a_wheel_that_turns_freely_has_no_torque_and_pushes_by_its_resistance_alone():
    robot, rng = load_legged_robot(ROBOTS / "swizzlebot.yaml"), np.random.default_rng(6)
    own = InverseDynamics(robot, InverseDynamicsOptions(rolling_resistance=0.02))
    q, qd = state(robot, rng)
    qd[-4:] = [8.0, 8.0, -8.0, 8.0]
    asked = wanted(robot, rng, [True] * 4)
    asked.base[0] = 5.0  # what it cannot do
    found = own(q, qd, asked)
    assert not found.torques[-4:].any()
    at = own.dynamics(q, qd)
    ahead = np.cross(at["axis"], [0.0, 0.0, 1.0])
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    along = np.einsum("mi,mi->m", found.forces, ahead)
    turning = robot.end_effectors[0].moment / 0.025 * found.accelerations[-4:]
    resistance = 0.02 * np.sign(at["spin"]) * found.forces[:, 2]
    assert along + turning + resistance == pytest.approx(np.zeros(4), abs=2e-3)
    assert np.abs(found.forces[:, 1]).max() > 0.01 * robot.mass * 9.81


def test_end_effectors_that_are_not_tracked_are_refused_by_name():
    robot = load_legged_robot(ROBOTS / "car.yaml")
    skates = replace(robot, end_effectors=tuple(
        replace(effector, kind="skate", joint="") for effector in robot.end_effectors
    ))  # fmt: skip
    with pytest.raises(InputError, match=r"end effector FL: got .skate.*passive wheels"):
        InverseDynamics(skates)
    quadruped = load_legged_robot(ROBOTS / "quadruped.yaml")
    with pytest.raises(InputError, match=r"balls: got .XX."):
        InverseDynamics(quadruped, balls={"XX": 0.01})
    with pytest.raises(InputError, match=r"balls: got .FL."):
        InverseDynamics(robot, balls={"FL": 0.01})
    with pytest.raises(InputError, match="radius >= 0"):
        InverseDynamics(quadruped, balls={"FL": -0.01})


def test_a_foot_that_is_a_ball_touches_at_its_lowest_point_and_rolls():
    robot = load_legged_robot(ROBOTS / "solo12.yaml")
    names = [effector.name for effector in robot.end_effectors]
    radius, k = 0.016, 1
    ball, sole = InverseDynamics(robot, balls={names[k]: radius}), InverseDynamics(robot)
    q = robot.settled_state()
    at_rest = np.zeros(len(q) - 1)
    upright = ball.dynamics(q, at_rest)["point"][k]
    np.testing.assert_allclose(upright, sole.dynamics(q, at_rest)["point"][k], atol=1e-12)

    omega, up = np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.0, radius])
    rolls = at_rest.copy()  # the whole robot about the ball, whose centre goes by omega x up
    rolls[:3] = np.cross(omega, up - (upright + up - q[:3]))
    rolls[3:6] = omega
    np.testing.assert_allclose(ball.dynamics(q, rolls)["velocity"][k], 0.0, atol=1e-12)

    tilt = 0.3
    q[3:7] = [0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)]
    heights = [own.dynamics(q, at_rest)["point"][k, 2] for own in (ball, sole)]
    assert heights[1] - heights[0] == pytest.approx(radius * (1 - np.cos(tilt)), abs=1e-12)
