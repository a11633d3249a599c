"""What a policy does with a robot: the motion from a given place, and what is refused."""

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.learning import Batch, load_environment
from diffsim_ros.learning.motion import simulate
from tests.learning.environments import PENDULUM, REACH, homing_policy, pushed_block

HOME = [0.0, -1.57, 1.57, -1.57, -1.57, 0.0]


@pytest.fixture(scope="module")
def reach():
    return load_environment(REACH)


def start(config, offset):
    names = list(config.joints)
    return dict(zip(names, np.add(HOME, offset).tolist(), strict=True))


def test_a_motion_begins_where_the_robot_is_and_is_that_of_the_batch(reach):
    policy, offset = homing_policy(reach, (4.0, 1.0)), [0.3, -0.2, 0.2, 0.1, -0.1, 0.2]
    found = simulate(policy, reach, start(reach, offset))
    assert found.joints == tuple(reach.joints) and len(found.times) == reach.horizon + 1
    assert found.times[-1] == pytest.approx(3.0) and not found.terminated
    assert (
        found.positions[0] == pytest.approx(np.add(HOME, offset)) and not found.velocities[0].any()
    )
    assert np.abs(found.positions[-1] - HOME).max() < 0.01
    batch = Batch(reach, 2)
    seen = batch.begin({n: (q, 0.0) for n, q in start(reach, offset).items()}, {})
    rewards = []
    for _ in range(reach.horizon):
        step = batch.step(policy(seen))
        seen = step.observation
        rewards.append(step.reward)
    assert np.array_equal(np.transpose(rewards)[0], np.transpose(rewards)[1])
    assert found.rewards == pytest.approx(np.transpose(rewards)[0], abs=1e-12)


def test_velocities_are_those_of_the_positions(reach):
    found = simulate(homing_policy(reach, (4.0, 1.0)), reach, start(reach, 0.2), actions=20)
    assert len(found.times) == 21
    middle = (found.positions[2:] - found.positions[:-2]) / (2 * reach.period)
    assert np.abs(middle - found.velocities[1:-1])[2:].max() < 0.03  # accelerations change


def test_parameters_and_ends_count(reach):
    config = load_environment(PENDULUM)
    hanging = {"hinge": 0.0}

    def push(seen):
        return np.full((1, 1), 0.5)

    light = simulate(push, config, hanging, actions=5)
    heavy = simulate(push, config, hanging, parameters={"rod.mass": 3.0}, actions=5)
    assert abs(heavy.positions[-1, 0]) < 0.7 * abs(light.positions[-1, 0])
    content = yaml.safe_load(PENDULUM.read_text()) | {
        "ends": [{"of": "hinge.rate", "above": 0.5}, {"of": "hinge.rate", "below": -0.5}]
    }
    ended = simulate(push, load_environment(content, base=PENDULUM), hanging)
    assert ended.terminated and len(ended.times) < 20
    assert abs(ended.velocities[-1, 0]) > 0.5 >= abs(ended.velocities[-2, 0])


@pytest.mark.parametrize(
    ("joints", "parameters", "words"),
    [
        ({"hing": 0.0}, {}, "joint: got 'hing'; accepted: a joint of its scene in reduced"),
        ({"hinge": 0.0}, {"rod.mas": 1.0}, "parameter: got 'rod.mas'"),
        ({"hinge": 0.0}, {"rod.mass": -1.0}, "parameter rod.mass: got -1.0"),
        ({"hinge": 0.0}, {"motor.torque[0]": 1.0}, "does not set"),
    ],
)
def test_what_does_not_fit_is_refused(joints, parameters, words):
    with pytest.raises(InputError) as error:
        simulate(lambda seen: seen, load_environment(PENDULUM), joints, parameters=parameters)
    assert words in str(error.value)


def test_a_joint_that_follows_another_has_no_start_of_its_own():
    content = yaml.safe_load(PENDULUM.read_text())
    scene = content["scene"]
    (hinge,) = [link for link in scene["links"] if link.get("type") == "joint"]
    scene["bodies"]["second"] = {**scene["bodies"]["rod"], "pose": {"position": [1, 0, -0.5]}}
    follower = {"name": "follower", "body_b": "second", "position": [1, 0, 0]}
    scene["links"].append({**hinge, **follower, "mimic": "hinge", "ratio": 2.0})
    config = load_environment(content, base=PENDULUM)
    assert simulate(lambda seen: np.zeros((1, 1)), config, {"hinge": 0.1}, actions=1).joints
    with pytest.raises(InputError, match="joint: got 'follower'"):
        simulate(lambda seen: np.zeros((1, 1)), config, {"follower": 0.1})


def test_a_scene_without_such_joints_is_refused():
    config = load_environment(pushed_block())
    with pytest.raises(InputError, match="in reduced coordinates: none"):
        simulate(lambda seen: seen, config, {"shoulder": 0.0})
