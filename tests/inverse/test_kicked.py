"""Motions that impacts turn by chance."""

import copy

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.kicked import Kicked
from diffsim_ros.rotation import quat_angle
from diffsim_ros.scene.model import load_scene
from tests.real2sim.synthetic import SCENE

KICK = 1.5


def model(**world):
    scene = copy.deepcopy(SCENE)
    scene["world"] |= {"duration": 0.4, "record_every": 10} | world
    scene["bodies"]["cube"] |= {
        "pose": {"position": [0, 0, 0.14], "rotation": [0.6, 0.4, 0.0]},
        "velocity": [0.2, 0.0, -1.0],
    }
    return load_scene(scene)


def run(scene, kick, members, seed=0, **settings):
    P = np.tile(scene.engine.values, (members, 1))
    rng = np.random.default_rng(seed)
    return Kicked(scene, kick).run(P, np.full(members, scene.steps), rng, **settings)


def test_without_a_kick_it_is_the_scenes_motion():
    scene = model()
    (poses,), ok = run(scene, 0.0, 1)
    whole = _engine.rollout(scene.engine, scene.engine.values, scene.steps)
    assert ok.all() and len(poses) == len(whole.time)
    # begun again before each touch, steps of second order start with one of first
    assert np.abs(poses[:, :3] - whole.position[:, 0]).max() < 2e-3
    assert quat_angle(poses[:, 3:], whole.orientation[:, 0]).max() < 0.1


def test_until_the_first_touch_all_are_the_same_and_then_differ_as_the_kick_says():
    scene = model(duration=0.12, record_every=1)
    poses, ok = run(scene, KICK, 200)
    poses = np.array(poses)
    assert ok.all()
    spread = poses[:, :, 3:].std(axis=0).max(axis=1)
    first = int(np.argmax(spread > 1e-6)) - 1
    assert 20 < first < 80, "the cube falls before it touches"
    # angle between two frames after the kick: that of the kick, sqrt(2) K v dt
    alone, _ = run(scene, 0.0, 1)
    turned = quat_angle(poses[:, first + 1, 3:], np.broadcast_to(alone[0][first + 1, 3:], (200, 4)))
    corner = alone[0][first, :3] - alone[0][first - 1, :3]
    speed = np.linalg.norm(corner) / 1e-3  # the cube does not spin yet
    assert np.sqrt((turned**2).mean()) == pytest.approx(np.sqrt(2) * KICK * speed * 1e-3, rel=0.2)


def test_a_touch_that_its_kick_puts_off_is_not_kicked_again():
    class Counting:
        def __init__(self):
            self.rng, self.drawn = np.random.default_rng(0), 0

        def standard_normal(self, size):
            self.drawn += 1
            return self.rng.standard_normal(size)

    whole = model(duration=0.12, record_every=1)
    run_of = _engine.rollout(
        whole.engine, whole.engine.values, whole.steps,
        _engine.Options(step=0.001, record_modes=True),
    )  # fmt: skip
    first = int(np.argmax((np.asarray(run_of.modes) & 3).any(axis=1)))
    rng, P = Counting(), np.tile(whole.engine.values, (60, 1))
    # touches begin at any part of a step
    P[:, whole.engine.index("cube.position.z")] += np.linspace(0, 1.2e-3, 60)
    Kicked(whole, 8.0).run(P, np.full(60, first + 4), rng)
    assert rng.drawn == 60


def test_the_seed_decides_and_threads_do_not():
    scene = model()
    one, two, other = (run(scene, KICK, 3, s, threads=t)[0] for s, t in ((1, 1), (1, 2), (2, 1)))
    np.testing.assert_array_equal(one, two)
    assert np.abs(np.array(one) - other).max() > 1e-3


def test_a_cancelled_motion_is_no_motion():
    scene, token = model(), _engine.CancelToken()
    token.cancel()
    _, ok = run(scene, KICK, 2, cancel=token)
    assert not ok.any()


@pytest.mark.parametrize("kick", [-0.1, np.nan, np.inf])
def test_a_kick_is_a_number_that_is_not_negative(kick):
    with pytest.raises(InputError, match="kick"):
        Kicked(model(), kick)


def test_scenes_of_more_than_one_rigid_body_are_refused():
    scene = copy.deepcopy(SCENE)
    scene["bodies"]["other"] = copy.deepcopy(scene["bodies"]["cube"])
    scene["bodies"]["other"]["pose"] = {"position": [1.0, 0, 0.3]}
    with pytest.raises(InputError, match="one rigid body"):
        Kicked(load_scene(scene), 1.0)
