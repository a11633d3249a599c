"""The twin of a plan, and goals that evaluate its true motion."""

from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.cli import main
from diffsim_ros.commands.twin import twin_at
from diffsim_ros.errors import InputError
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.as_twin import twin_of
from diffsim_ros.planning.executed import distances
from diffsim_ros.twin.execution import executed
from diffsim_ros.twin.twin import Twin

FOLDER = Path(__file__).parents[2] / "config" / "planning"
THROW, DRAG = FOLDER / "ur5_throw.yaml", FOLDER / "ur5_drag.yaml"


def test_a_twin_has_the_plans_scene_at_half_of_its_step_and_nothing_else_changes():
    raw = yaml.safe_load(THROW.read_text())
    del raw["scene"]["contact"][0]["k_t"]  # its default follows from the step
    config = load_plan(raw, base=THROW)
    found = Twin(twin_of(config)).config
    assert found.scene.options.step == config.scene.options.step / 2
    assert found.scene.options.record_every == 2 * config.scene.options.record_every
    lasts = [one.steps * one.options.step for one in (config.scene, found.scene)]
    assert 0.05 <= lasts[1] - lasts[0] < 0.06  # what is released late is simulated to the end
    names = [info.name for info in config.scene.engine.parameters]
    truth = Twin(found).truth
    planned = dict(zip(names, config.scene.engine.values, strict=True))
    assert truth == planned and truth["table.k_t"] > 0
    np.testing.assert_allclose(found.grasp.in_tool, config.task.release.in_tool, atol=1e-15)
    assert found.latency == (config.task.lead, 0.0)
    assert found.sensors["ball_tracker"].topic == "ball/pose"


def test_a_twin_can_be_otherwise_and_its_strings_keep_their_length():
    config = load_plan(DRAG)
    cube = np.array(config.scene.description["bodies"]["cube"]["pose"]["position"])
    found = twin_of(config, friction=0.8, shift={"cube": (0.01, 0, 0)}, camera=True)
    assert found["scene"]["contact"][0]["c_f"] == pytest.approx(0.8 * 0.3)
    np.testing.assert_allclose(
        found["scene"]["bodies"]["cube"]["pose"]["position"], np.add(cube, (0.01, 0, 0))
    )
    (handle,), keys = found["kinematic_bodies"], found["scene"]["bodies"][config.task.body]["keys"]
    planned = config.scene.description["bodies"][handle]["keys"]
    assert keys["positions"] == [list(planned["positions"][0])] * 2  # the arm moves it there
    (link,), (same,) = found["scene"]["links"], twin_of(config)["scene"]["links"]
    assert link["rest_length"] == same["rest_length"] > 0.1
    assert config.scene.description["contact"][0]["c_f"] == 0.3
    assert Twin(found).config.sensors["camera"].camera.eye is not None
    thrown = twin_of(load_plan(THROW), shift={"ball": (0, 0, 0.01)}, jitter=0.004)
    assert thrown["grasp"]["in_tool"]["position"] == pytest.approx([0, 0, 0.11])
    assert thrown["gripper"]["jitter"] == 0.004


@pytest.mark.parametrize(
    ("file", "more", "words"),
    [
        ("drag_cube.yaml", {}, "an arm that executes the plan"),
        ("ur5_throw.yaml", {"shift": {"bal": (0, 0, 0)}}, "did you mean 'ball'"),
        ("ur5_throw.yaml", {"shift": {"ball": (0, 0)}}, "x, y, z in m"),
        ("ur5_throw.yaml", {"shift": {"ball": "abc"}}, "x, y, z in m"),
    ],
)
def test_no_twin_of_what_has_none(file, more, words):
    with pytest.raises(InputError, match=words):
        twin_of(load_plan(FOLDER / file), **more)


def test_the_command_writes_a_twin_that_can_be_read_from_anywhere(tmp_path, capsys):
    raw = yaml.safe_load(DRAG.read_text())
    arm = yaml.safe_load((FOLDER / raw["robot"]["arm"]).read_text())
    arm["urdf"] = str((FOLDER / "../robots" / arm["urdf"]).resolve())
    (tmp_path / "plan.yaml").write_text(
        yaml.safe_dump(raw | {"robot": raw["robot"] | {"arm": arm}})
    )
    asked = ["twin", str(tmp_path / "plan.yaml"), "--shift", "cube", "0", "0.01", "0"]
    assert main([*asked, "--out", str(tmp_path / "a")]) == 0
    found = twin_at(tmp_path / "a" / "twin.yaml").config
    assert found.scene.description["bodies"]["cube"]["pose"]["position"][1] == pytest.approx(-0.09)
    assert twin_at(DRAG).config.drives.keys() == {"hand"}
    assert main([*asked, "--friction", "-1", "--out", str(tmp_path / "b")]) == 2
    assert "c_f" in capsys.readouterr().err and not (tmp_path / "b").exists()


@pytest.fixture(scope="module")
def dragged():
    return plan(load_plan(DRAG))


def truth_of(motion, body=0):
    """A plan's own motion, as a twin would write it."""
    found = {"time": np.asarray(motion.time)}
    for key, name in (("position", "position"), ("velocity", "velocity"),
                      ("orientation", "orientation"), ("angular_velocity", "spin")):  # fmt: skip
        found[f"cube.{name}"] = np.asarray(getattr(motion, key))[:, body]
    return found


def test_goals_judge_what_happened_as_they_judge_the_plan(dragged):
    config, best = dragged.config, dragged.best
    first, _ = config.scene.engine.nodes_of("cube")
    truth = truth_of(best.motion, first)
    found, reached = distances(config, truth, 0.0)
    assert reached and set(found) == {"place", "rest velocity"}
    for name, away in found.items():
        assert away == pytest.approx(best.distances[name], rel=1e-9)
    late = {**truth, "time": truth["time"] + 1.4}
    assert distances(config, late, 1.4)[0] == pytest.approx(found, rel=1e-6)
    with pytest.raises(InputError, match=r"attempt: time: got .* accepted: at least 4.\d+ s"):
        distances(config, late, 3.0)
    moved, reached = distances(config, late, 0.0)  # it is still moving then
    assert not reached and moved["place"] > 0.002
    beside = {**truth, "cube.position": truth["cube.position"] + [0.0, 0.01, 0.0]}
    assert distances(config, beside, 0.0)[0]["place"] == pytest.approx(0.01, abs=6e-4)


def test_the_twin_of_a_plan_does_what_was_planned(dragged):
    twin, trajectory = Twin(twin_of(dragged.config)), dragged.carried.trajectory
    starts = dragged.carried.figures["scene_starts"]
    exact = twin.episode(0).play(trajectory)
    found, reached = distances(dragged.config, exact.arrays(), starts)
    assert reached and found["place"] < 1e-3
    run = executed(twin.config, trajectory)
    late = twin.config.controller.dynamics.delay
    record = twin.episode(0).play(run.motion)
    lagging, reached = distances(dragged.config, record.arrays(), starts + late)
    assert reached and abs(lagging["place"] - found["place"]) > 1e-5


def test_nodes_of_soft_bodies_are_judged():
    config = load_plan(FOLDER / "flip_cloth.yaml")
    goal = config.goals[0]
    _, count = config.scene.engine.nodes_of("cloth")
    time = np.linspace(0.0, 2.0, 41)
    nodes = np.zeros((len(time), count, 3), np.float32)
    nodes[:, goal.points.nodes] = goal.target
    found, reached = distances(config, {"time": time, "cloth.nodes": nodes}, 0.0)
    assert found["flipped"] < 1e-6 and found["back"] > 0.1 and not reached
    nodes[:, :, 2] += 0.02
    assert distances(config, {"time": time, "cloth.nodes": nodes}, 0.0)[0][
        "flipped"
    ] == pytest.approx(0.02, rel=1e-5)


def test_soft_bodies_have_the_speed_of_their_nodes():
    source = yaml.safe_load((FOLDER / "flip_cloth.yaml").read_text())
    source["goals"] = [{"name": "rest", "body": "cloth", "at": 1.0, "velocity": [0, 0, 0]}]
    config = load_plan(source, base=FOLDER / "flip_cloth.yaml")
    _, count = config.scene.engine.nodes_of("cloth")
    time = np.linspace(0.0, 2.0, 41)
    nodes = np.zeros((len(time), count, 3)) + 0.3 * time[:, None, None] * [0.0, 1.0, 0.0]
    found, reached = distances(config, {"time": time, "cloth.nodes": nodes}, 0.0)
    assert found["rest velocity"] == pytest.approx(0.3, rel=1e-9) and not reached
