"""The study of published models on small ones made here: what it says of each."""

import json

import pytest

from diffsim_ros.errors import InputError
from validation import zoo, zoo_model
from validation.common import Executors, Missed

pytest.importorskip("mujoco")
pytest.importorskip("pinocchio")

ARM = """<robot name="arm"><link name="base"/><link name="l"><inertial><origin xyz="0 0 0.2"/>
  <mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="j" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="5" velocity="3"/></joint></robot>"""
MODELS = {
    "ball.xml": """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1">
      <freejoint/><geom size="0.1"/></body></worldbody></mujoco>""",
    "damped.xml": """<mujoco><worldbody><body name="d"><joint name="h" axis="0 1 0" damping="0.5"/>
      <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.02"/></body></worldbody></mujoco>""",
    "part.xml": "<mujoco><asset><material name='m'/></asset></mujoco>",
    "broken.xml": "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
    "arm.urdf": ARM,
    "odd.urdf": ARM.replace('type="revolute"', 'type="screw"'),
    "notes.xml": "<notes/>",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in MODELS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_model_has_a_row_that_says_what_became_of_it(folder, monkeypatch):
    monkeypatch.setattr(Executors, "resume", folder / "kept")
    figures = zoo.study(folder=folder)
    assert str(folder) not in json.dumps(figures)
    rows = {row["file"]: row for row in figures["models"]}
    assert {name: zoo.verdict(row) for name, row in rows.items()} == {
        "ball.xml": "taken", "arm.urdf": "taken", "damped.xml": "taken",
        **dict.fromkeys(("part.xml", "broken.xml", "odd.urdf"), "refused rightly"),
    }  # fmt: skip
    for name, words in (("arm.urdf", ("mass", "acceleration")), ("ball.xml", ("acceleration",)),
                        ("damped.xml", ("acceleration",))):  # fmt: skip
        assert all(rows[name][word] < 1e-8 for word in words)
        assert rows[name]["implicit"] == rows[name]["velocity"] == "ok"
        assert rows[name]["gradient"] < 1e-4
    again = zoo.study(folder=folder)  # from what was kept
    assert again == json.loads(json.dumps(figures))


def test_a_model_that_ends_the_worker_costs_itself_alone(folder, monkeypatch):
    real = zoo.subprocess.Popen

    def killed(arguments, **options):
        program = "import os, sys; sys.stdin.readline(); os._exit(7)"
        monkeypatch.setattr(zoo.subprocess, "Popen", real)
        return real([arguments[0], "-c", program], **options)

    monkeypatch.setattr(zoo.subprocess, "Popen", killed)
    first, second = zoo.examined([folder / "ball.xml", folder / "arm.urdf"])
    assert first["crash"] == "ended by 7"
    assert zoo.verdict(second) == "taken"


RIGHT = 3.0
SLOPES = {
    "straight": (lambda h: RIGHT, 1e-6, None),
    "curved": (lambda h: RIGHT + h, 1e-6, None),
    "rounded": (lambda h: RIGHT + 1e-9 / abs(h), 1e-5, None),
    "kink": (lambda h: 2.0 if h < 0 else 5.0, 1e-6, (2.0, 5.0)),
    "kink_elsewhere": (lambda h: 4.0 if h < 0 else 5.0, 1e-6, None),
    "gap_that_grows": (lambda h: RIGHT + 1e-6 * (1.0 if h < 0 else -1.5) / abs(h), 1e-3, None),
    "wrong": (lambda h: 3.3, 1e-6, None),
}


@pytest.mark.parametrize("name", SLOPES)
def test_a_derivative_is_right_off_or_between_the_slopes_of_a_kink(name):
    slope, change, kink = SLOPES[name]
    off, at, found = zoo_model.beside_differences(RIGHT, slope, 1.0)
    assert (at, found) == (change, kink)
    assert (off > 0.05) == (name in ("kink", "kink_elsewhere", "wrong"))


def test_bars_are_about_what_is_refused_and_off():
    row = {"file": "f", "kind": "urdf", "peer": "", "moves": True, "tree": "", "scene": "",
           "mass": 1e-3, "named": [], "velocity": "ok", "implicit": "ok"}  # fmt: skip
    summary = zoo.summary([row, {**row, "tree": "no", "mass": 0.0, "velocity": "non_finite"}])
    missed = " ".join(zoo.missed_bars(summary))
    assert "50.0% taken" in missed
    assert "finite in 50.0%" in missed
    assert "1 off by more than 1e-06" in missed
    assert not zoo.unsaid({**row, "named": ["not used: 1 tendon"]}, 1e-6)


def test_an_empty_folder_says_where_models_are(tmp_path):
    with pytest.raises(InputError, match="pip install example-robot-data"):
        zoo.study(folder=tmp_path)


def test_a_missed_bar_keeps_the_figures(folder):
    """Of two arms one has no mass; the other's inertia is no body's, which an option mends."""
    (folder / "arm.urdf").write_text(ARM.replace('value="1"', 'value="0"'))
    (folder / "mended.urdf").write_text(ARM.replace("0.005", "5"))
    with pytest.raises(Missed) as missed:
        zoo.study(folder=folder)
    found = missed.value.figures["summary"]["urdf"]
    assert (found["refused"], found["taken"], found["mended"]) == (1, 1, 1)
    assert found["off_unsaid"] == []
