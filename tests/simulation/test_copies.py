"""Scenes, motions and states in other processes and as copies."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.errors import InputError
from tests.simulation.scenes import BALL_AND_CUBE, pendulum

KINDS = ("position", "velocity", "orientation", "angular_velocity")
HYBRID = copy.deepcopy(BALL_AND_CUBE)
HYBRID["contact"] = [{**one, "friction": "hybrid"} for one in HYBRID["contact"]]
HARD = {
    "world": {"step": 0.004, "duration": 0.2, "stepper": "velocity"},
    "bodies": {"cube": {**BALL_AND_CUBE["bodies"]["cube"], "velocity": [1, 0, -2]}},
    "contact": [{"name": "hard", "points": "cube", "against": {"plane": {}}, "c_f": 0.2}],
}
SCENES = {
    "soft": lambda: ds.load_scene(BALL_AND_CUBE),
    "hybrid": lambda: ds.load_scene(HYBRID),
    "hard": lambda: ds.load_scene(HARD),
    "reduced": lambda: pendulum().build(),
    "rows": lambda: pendulum("constrained").build(),
    "bdf1": lambda: pendulum(scheme="bdf1").build(),
}


def pickled(given):
    return pickle.loads(pickle.dumps(given))


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("how", [pickled, copy.deepcopy, copy.copy])
def test_a_state_goes_on_as_its_copy_does(how, name):
    scene = SCENES[name]()
    state = scene.step(scene.start(), steps=30)
    again = how(state)
    names = [f"{body}.{kind}" for body in scene.bodies for kind in ("position", "velocity")]
    names = [one for one in names if one in scene.observables]
    assert np.array_equal(again.observe(names), state.observe(names))
    assert again.time == state.time
    assert again.values.array == pytest.approx(state.values.array)
    ends = [scene.step(one, steps=9).observe(names) for one in (state, again)]
    assert np.array_equal(*ends)
    own = again.scene.step(again, steps=9).observe(names)
    assert np.array_equal(own, ends[0])


@pytest.mark.parametrize("how", [pickled, copy.deepcopy, copy.copy])
def test_a_motion_is_copied_with_all_that_it_holds(how):
    scene = ds.load_scene(BALL_AND_CUBE)
    given = {"wrt": ["cube.mass", "hard.c_f"], "outputs": ["hard.force"]}
    for more in ({}, {"sensitivities": True}):
        motion = scene.rollout({"cube.mass": 0.4}, **given, **more)
        again = how(motion)
        for kind in KINDS:
            assert np.array_equal(again.observed(kind), motion.observed(kind))
        assert np.array_equal(again.outputs["hard.force"], motion.outputs["hard.force"])
        assert repr(again) == repr(motion)
        assert again.values.array == pytest.approx(motion.values.array)
        by = {"cube.position": np.ones_like(motion["cube"].position)}
        if more:
            assert again.gradient(by).array == pytest.approx(motion.gradient(by).array)
            own = motion.sensitivity("hard.force")
            assert np.array_equal(again.sensitivity("hard.force"), own)
        elif how is pickled:
            with pytest.raises(InputError, match="sensitivities=True"):
                again.gradient(by)
        else:
            assert again.gradient(by).array == pytest.approx(motion.gradient(by).array)
        assert pickled(again).status == motion.status
    batch = scene.rollout_batch({"cube.mass": [0.3, 0.4]}, wrt="cube.mass")
    again = how(batch)
    assert np.array_equal(again.stacked("cube.position"), batch.stacked("cube.position"))
    assert again[0].scene is again[1].scene
    assert pickled(scene.linearize(scene.start(), wrt=["cube.mass"])).A.shape[0] > 0


def test_a_deep_copy_has_arrays_of_its_own():
    motion = ds.load_scene(HARD).rollout()
    again = copy.deepcopy(motion)
    motion.position[:] = 0.0
    assert np.abs(again.position).max() > 0


def test_a_state_of_another_scene_is_refused_after_a_pickle_too():
    scene, other = ds.load_scene(HARD), copy.deepcopy(HARD)
    other["bodies"]["cube"]["mass"] = 0.7
    state = pickled(ds.load_scene(other).start())
    with pytest.raises(InputError, match="a state of this scene"):
        scene.step(state)
