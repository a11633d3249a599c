"""`diffsim view`, and --view of estimations and plans: what is shown, and what is refused."""

import time
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.commands.estimate_view import FitView
from diffsim_ros.commands.plan import cards, lead, write_all
from diffsim_ros.commands.plan_motion import plan_motion
from diffsim_ros.commands.plan_view import PlanView
from diffsim_ros.output import write_yaml
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.results import planned_scene
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.progress import Progress
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.link_shapes import link_shapes, turned
from diffsim_ros.scene import load_scene
from diffsim_ros.viz.recorded import bag_animations

ROOT = Path(__file__).resolve().parents[1]
SCENE = {
    "name": "falling ball",
    "world": {"step": 1 / 100, "duration": 0.3},
    "bodies": {"ball": {"shape": {"sphere": {"radius": 0.1}}, "mass": 0.1}},
}


class Shown:
    """In place of a viewer: what it is asked to show."""

    def __init__(self):
        self.calls = []

    def show(self, *animations, **words):
        self.calls.append((animations, words))

    def until(self, count):
        end = time.monotonic() + 20.0
        while len(self.calls) < count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.calls) >= count
        return self.calls[count - 1]


def places(animation, ns):
    """Positions (F, 3) of a marker."""
    return np.array([next(m.position for m in animation.at(k) if m.ns == ns)
                     for k in range(len(animation.time))])  # fmt: skip


def test_a_scene_is_shown_while_it_is_simulated_and_then_results_beside_it(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("viser")
    from diffsim_ros.viz import viewer

    monkeypatch.setattr(viewer.Viewer, "wait", lambda self: None)
    calls, show = [], viewer.Viewer.show
    monkeypatch.setattr(
        viewer.Viewer, "show",
        lambda self, *found, **words: (calls.append((found, words)), show(self, *found, **words)),
    )  # fmt: skip
    write_yaml(tmp_path / "scene.yaml", SCENE)
    path = str(tmp_path / "scene.yaml")
    assert main(["simulate", path, "--out", str(tmp_path / "out")]) == 0
    line = ["view", path, str(tmp_path / "out"), "--no-browser", "--port", "0", "--speed", "2"]
    assert main(line) == 0
    assert "the viewer is at http://127.0.0.1:" in capsys.readouterr().out
    (results, _), *growing, (end, words) = calls
    assert [a.name for a in results] == ["out"]
    assert [len(found[-1].time) for found, _ in growing] == list(range(2, 17))
    assert all(w["until"] == pytest.approx(0.3) for _, w in growing) and not words
    assert [a.name for a in end] == ["out", "falling ball"]
    both = [places(animation, "body/ball") for animation in end]
    np.testing.assert_allclose(both[0][-1], both[1][-1], atol=1e-9)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["nothing"], "a scene's YAML, or a folder"),
        (["."], "a folder of results with motion.mcap"),
        ([".", "--speed", "0"], "0.001 to 1000"),
        ([".", "--port", "70000"], "to 65535"),
    ],
)
def test_what_cannot_be_seen_is_refused(tmp_path, monkeypatch, capsys, path, said):
    monkeypatch.chdir(tmp_path)
    assert main(["view", *path, "--no-browser"]) == 2
    assert said in capsys.readouterr().err


def test_a_fit_under_way_is_shown_against_what_was_measured():
    config = load_estimation(ROOT / "config" / "estimation" / "cube_toss_demo.yaml")
    shown = Shown()
    view = FitView(shown, config)
    for k, friction in enumerate((0.1, 0.4), 1):
        view(Progress("fit", k, 0.5, 0.1, None, {"friction": friction}))
        found, words = shown.until(k)
        assert f"iteration {k}, objective 0.5" in words["text"] and "| friction |" in words["text"]
        assert len(found) == 3
    view(Progress("read", 0, None, 0.0, None))  # without parameters: nothing to show
    one, other = (found[0] for found, _ in shown.calls)
    assert one.name == other.name
    measured = [places(a, "measured/cube") for a in (one, other)]
    simulated = [places(a, "simulated/cube") for a in (one, other)]
    np.testing.assert_array_equal(*measured)
    assert np.abs(simulated[0] - simulated[1]).max() > 1e-3
    assert np.abs(simulated[0] - measured[0]).max() < 0.5
    view.end([one], "done")
    assert shown.calls[-1][1]["text"] == "done"


@pytest.fixture(scope="module")
def throw():
    seen = []
    config = load_plan(ROOT / "config" / "planning" / "ur5_throw.yaml")
    return plan(config, watch=lambda controls: seen.append(dict(controls))), seen


def test_controls_of_a_search_are_shown_as_motions(throw):
    result, seen = throw
    assert len(seen) > 2 and seen[-1] != seen[0]
    shown = Shown()
    view = PlanView(shown, result.config)
    view(result.best.controls)
    ((animation,), _) = shown.until(1)
    target = next(m.position for m in animation.still if m.ns == "target")
    row = int(np.searchsorted(animation.time, 0.6 - 1e-9))
    away = np.linalg.norm(places(animation, "body/ball")[row] - target)
    assert away == pytest.approx(result.best.distances["target"], abs=1e-9)
    view.end([], "")


def test_a_plan_shows_its_arm_from_the_swing_on(throw, tmp_path):
    result, _ = throw
    model = load_scene(planned_scene(result), base=result.config.place)
    seen = plan_motion(model, result)
    animation, starts = seen.animation(), result.carried.figures["scene_starts"]
    links = {m.ns for m in animation.at(0) if m.ns.startswith("robot/")}
    assert {"robot/upper_arm_link", "robot/forearm_link"} <= links
    arm, motion = result.config.task.arm, result.carried.motion
    ball, in_tool = places(animation, "body/ball"), result.config.task.release.in_tool
    for frame in (0, int(np.searchsorted(animation.time, 0.5 * starts))):
        q = motion.ordered(arm.robot.joint_names).at(animation.time[frame])[0]
        held = link_pose(arm.robot, q, arm.tool, arm.base) @ in_tool
        np.testing.assert_allclose(ball[frame], held[:3, 3], atol=2e-3)
    frames = len(result.best.motion.time)
    row = model.engine.nodes_of("ball")[0]
    np.testing.assert_allclose(ball[-frames:], result.best.motion.position[:, row], atol=1e-12)
    assert animation.time[-frames] == pytest.approx(starts)
    assert "mm from target, tolerance 30 mm" in lead(result)
    assert cards(result)[0]["tone"] == "good"
    write_all(tmp_path, result, "")
    (read,) = bag_animations(tmp_path / "motion.mcap")
    assert links <= {m.ns for m in read.frame(5)}
    page = (tmp_path / "report.html").read_text()
    assert "reached" in page and "upper_arm_link" in page


def test_shapes_of_links_face_outwards_and_are_where_the_urdf_has_them():
    arm = load_arm(ROOT / "config" / "robots" / "ur5.yaml", base=ROOT)
    shapes = {shape.link: shape for shape in link_shapes(arm.robot)}
    assert len(shapes) == 7
    upper = shapes["upper_arm_link"]
    assert np.ptp(upper.vertices, axis=0).max() == pytest.approx(0.425)
    for vertices, triangles, volume in (
        (upper.vertices, upper.triangles, np.pi * 0.054**2 * 0.425),
        (*turned(0.1, 0.2, round_ends=True), np.pi * 0.1**2 * 0.4 + 4 / 3 * np.pi * 0.1**3),
    ):
        a, b, c = np.moveaxis(vertices[triangles], 1, 0)
        inside = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
        assert inside == pytest.approx(volume, rel=0.03) and inside < volume
