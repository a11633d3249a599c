"""The demo's figures of its throws: from the twin's truth to metrics.json."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import demo, session
from diffsim_ros.nodes.commander import CallFailed
from diffsim_ros.nodes.common import share_folder
from diffsim_ros.nodes.demo_truth import changed_twin, read_truth
from diffsim_ros.twin.config import load_twin
from diffsim_ros.twin.twin import Twin

RELEASE, BEGINS, GOAL = 0.5, -0.02, 0.6
VELOCITY = np.array([1.0, -2.0, 0.5])
TARGET = np.array([0.6, -1.2, 0.3])


def path(label="x", late=0.0):
    """A ball that moves with VELOCITY, at the origin `late` after the arm passes the release."""
    time = np.arange(0.0, 2.0, 0.01)
    free = BEGINS + RELEASE + demo.DELAY + late
    truth = {"time": time, "begins": np.array([BEGINS]),
             "ball.position": (time - free)[:, None] * VELOCITY}  # fmt: skip
    expected = np.arange(0.4, 2.0, 0.1)
    places = (expected - RELEASE)[:, None] * VELOCITY
    return demo.evaluated(label, truth, (expected, places), RELEASE, TARGET, GOAL)


def test_a_throw_as_planned_is_on_its_target_at_the_goals_time():
    found = path()
    np.testing.assert_allclose(found.at, TARGET, atol=1e-9)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_a_late_throw_is_off_by_its_way():
    assert path(late=0.1).error == pytest.approx(0.1 * np.linalg.norm(VELOCITY))


def test_the_picture_ends_a_little_after_the_goal_and_begins_at_the_release():
    found, last = path(), (GOAL + demo.SHOWN) * VELOCITY[0]
    assert 0.0 <= found.executed[0, 0] < 0.011
    assert last - 0.011 < found.executed[-1, 0] <= last + 1e-9
    assert found.planned[-1, 0] == pytest.approx(last)


def loop(executed, answer=None):
    """What is known of a run so far."""
    return SimpleNamespace(
        executed=executed, answer=answer, tolerance=0.03, hidden={"friction": 0.2, "young": 3e4}
    )


def test_hit_and_miss_are_the_last_throw_and_the_first():
    throws = [demo.ExecutedThrow(path(late=late), 0.02 + late) for late in (0.1, 0.05, 0.0)]
    answer = SimpleNamespace(parameters=[], verdict="good")
    found = demo.figures(loop(throws, answer))
    assert found["errors_m"] == [throw.path.error for throw in throws]
    assert found["miss_error_m"] == found["errors_m"][0] > found["hit_error_m"]
    assert found["hit_error_m"] == found["errors_m"][-1]
    assert found["tolerance_m"] == 0.03 and found["failed"] == ""
    assert found["tracking_errors_rad"] == pytest.approx([0.12, 0.07, 0.02])
    assert found["truth"] == {"friction": 0.2, "young": 3e4}


def test_a_stage_that_failed_leaves_what_was_done_before_it():
    before = demo.ExecutedThrow(path(late=0.1), 0.02)
    found = demo.figures(loop([before]), "estimate: cannot")
    assert found["miss_error_m"] == before.path.error and found["hit_error_m"] is None
    assert found["failed"] == "estimate: cannot" and found["estimated"] == {}
    assert demo.figures(loop([]), "plan: no")["miss_error_m"] is None


@pytest.mark.parametrize("sigma, said", [(0.01, True), (0.2, False), (float("nan"), False)])
def test_an_estimate_far_from_what_was_hidden_is_said_to_be(sigma, said):
    friction = SimpleNamespace(name="friction", value=0.1, std_dev=sigma)
    hidden = {"friction": 0.2, "young": 3e4, "viscosity": 8.5, "density": 120.0}
    text = demo._truth_line(
        SimpleNamespace(answer=SimpleNamespace(parameters=[friction]), hidden=hidden)
    )
    assert ("10.0 sigma off" in text) == said and "friction was estimated as 0.1" in text


class Stopped(demo.Loop):
    """A loop whose second stage fails."""

    def begin(self):
        pass

    def plan(self, *given, **more):
        raise CallFailed("plan prior: not reached")


def test_a_failed_stage_ends_with_a_summary_and_exit_3(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "Loop", Stopped)
    out = tmp_path / "out"
    assert demo.main(["--out", str(out), "--truth", "friction=0.2"]) == 3
    printed = capsys.readouterr()
    assert "plan prior: not reached" in printed.err
    found = json.loads((out / "metrics.json").read_text())
    assert found["failed"].startswith("plan prior") and found["truth"]["friction"] == 0.2


class Scripted(demo.Loop):
    """A loop whose throws miss by these distances [m]."""

    def __init__(self, errors):
        self.errors, self.executed, self.tolerance = iter(errors), [], 0.03
        self.folder, self.task, self.stages = Path(), Path(), []
        self.ros = SimpleNamespace(trigger=lambda name: None)

    def begin(self):
        pass

    def plan(self, task, name, **more):
        self.stages.append(name)

    def estimate(self, folder):
        self.stages.append(folder)
        return SimpleNamespace(verdict="usable")

    def throw(self, label, plan):
        return demo.ExecutedThrow(SimpleNamespace(label=label, error=next(self.errors)), 0.0)


@pytest.mark.parametrize(
    "errors, throws", [([0.2, 0.01], 2), ([0.2, 0.04, 0.02], 3), ([0.2] * 9, 4)]
)
def test_throws_are_estimated_from_until_one_hits(errors, throws, capsys):
    one = Scripted(errors)
    one.run()
    assert len(one.executed) == throws and one.hit == (errors[throws - 1] < 0.03)
    between = [name for k in range(1, throws) for name in (f"estimate_{k}", f"plan_{k}")]
    assert one.stages == ["plan_0", *between]
    assert f"throw {throws}, estimated from {throws - 1} throw" in capsys.readouterr().out


class Faltering(demo.Loop):
    """A loop whose throws fail a number of times."""

    def __init__(self, failures, folder):
        self.released, self.folder, self.failures, self.names = {}, folder, failures, []

    def finish(self):
        self.names.append("back at the start")

    def _attempt(self, label, plan, number, name):
        self.names.append(name)
        if len(self.names) <= 2 * self.failures:
            raise CallFailed("throw 1: no answer within 1 s")
        return label


def test_a_throw_that_fails_is_begun_again_from_the_start(tmp_path, capsys):
    one = Faltering(1, tmp_path)
    assert one.throw("x", None) == "x"
    assert one.names == ["throw_1.mcap", "back at the start", "throw_1_attempt_2.mcap"]
    assert "no answer within 1 s" in capsys.readouterr().out
    with pytest.raises(CallFailed, match="no answer"):
        Faltering(demo.ATTEMPTS, tmp_path).throw("x", None)


@pytest.mark.parametrize("load, words", [(1.0, ""), (40.0, "40.0 processes want to compute on 2")])
def test_an_overloaded_machine_is_named(monkeypatch, load, words):
    monkeypatch.setattr(session.os, "getloadavg", lambda: (load, 0, 0))
    monkeypatch.setattr(session.os, "sched_getaffinity", lambda _: {0, 1})
    assert words in session.overload() and bool(session.overload()) == bool(words)


def test_what_is_hidden_is_given_drawn_or_usual():
    assert read_truth([]) == {
        "friction": 0.3, "stiffness": 1.0, "mass": 1.0, "grip": 0.0, "seed": 0
    }  # fmt: skip
    given = read_truth(["friction=0.1", "random", "seed=4"])
    assert given["friction"] == 0.1 and given["seed"] == 4
    assert 0.3 <= given["stiffness"] <= 3.0 and 0.7 <= given["mass"] <= 1.3
    assert given == read_truth(["seed=4", "random", "friction=0.1"])
    assert given["mass"] != read_truth(["random", "seed=5"])["mass"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["frixion=0.1"], "got 'frixion=0.1'; accepted: KEY=VALUE with one of friction"),
        (["friction"], "KEY=VALUE"),
        (["friction=much"], "friction: got 'much'; accepted: a number from 0 to 2"),
        (["mass=nan"], "mass: got 'nan'"),
        (["mass=100"], "mass: got '100'; accepted: a number from 0.1 to 10"),
        (["seed=1.5"], "seed: got '1.5'; accepted: a whole number"),
        (["mass=1", "mass=2"], "each key once"),
    ],
)
def test_unusable_truths_are_refused(words, message, capsys):
    with pytest.raises(InputError, match=re.escape(message)):
        read_truth(words)
    assert demo.main(["--truth", *words]) == 2
    assert "demo --truth" in capsys.readouterr().err


def test_the_twin_has_the_truth_that_was_asked_for():
    path = share_folder() / "config" / "twin" / "foam_throw.yaml"
    usual, _ = changed_twin(path, read_truth([]))
    words = ["friction=0.1", "stiffness=2", "mass=0.5", "grip=0.001", "seed=3"]
    twin, hidden = changed_twin(path, read_truth(words))
    config = load_twin(twin)  # its paths are absolute
    assert config.seed == 3 and "ball" in config.spread
    values = Twin(config).truth
    assert values["table.c_f"] == hidden["friction"] == 0.1
    before = usual["scene"]["bodies"]["ball"]
    assert values["ball.young"] == hidden["young"] == 2 * before["young"]
    assert values["ball.viscosity"] == hidden["viscosity"] == 2 * before["viscosity"]
    assert values["ball.density"] == hidden["density"] == 0.5 * before["density"]
