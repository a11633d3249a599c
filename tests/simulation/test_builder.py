"""Scenes put together in Python."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from tests.simulation.scenes import pendulum


def drop():
    return (
        ds.SceneBuilder("drop", step=1 / 240, duration=0.5, gravity=(0, 0, -9.81))
        .material("wood", density=600)
        .body("cube", shape={"box": {"size": np.full(3, 0.1)}}, material="wood",
              pose={"position": (0, 0, np.float64(0.3))})
        .surface("ground", plane={})
        .contact("cube", "ground", k_n=2e4, c_n=0, c_f=0.3)
        .parameter("bodies.cube.velocity.x", bounds=[-1, 1])
    )  # fmt: skip


def test_a_scene_is_built_written_and_read_again(tmp_path):
    scene = drop().build()
    assert scene.label == "drop" and scene.time_step == 1 / 240 and scene.duration == 0.5
    assert scene.values["cube.mass"] == pytest.approx(0.6)
    drop().write(tmp_path / "built.yaml")
    scene.write(tmp_path / "resolved.yaml")
    motion = scene.rollout().position
    for name in ("built.yaml", "resolved.yaml"):
        assert np.array_equal(ds.load_scene(tmp_path / name).rollout().position, motion)


def test_a_builder_builds_more_than_once():
    builder = pendulum()
    first = builder.build()
    builder.body("more", "particle", mass=0.1, pose={"position": [5, 0, 0]})
    assert list(first.bodies) == ["rod", "box"] and "more" in builder.build().bodies


def test_the_world_takes_numpy_too():
    gravity = np.array([0.0, 0.0, -1.6])
    builder = ds.SceneBuilder(step=np.float64(0.01), duration=np.float32(0.5), gravity=gravity)
    scene = builder.body("p", "particle", mass=np.float64(1)).build()
    assert scene.values["gravity.z"] == -1.6 and scene.time_step == 0.01


def test_what_is_wrong_is_named():
    with pytest.raises(
        ds.InputError, match=r"bodies\.ball\.shape\.spher: .* did you mean 'sphere'"
    ):
        drop().body("ball", shape={"spher": {"radius": 0.1}}).build()
    with pytest.raises(ds.InputError, match=r"bodies\.cube: got 'cube'; accepted: a name"):
        drop().body("cube")
    with pytest.raises(ds.InputError, match="frictoin"):
        drop().contact("cube", "ground", name="again", frictoin=0.3).build()
