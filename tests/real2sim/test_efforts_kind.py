"""`kind: efforts`: a log of positions and efforts, to a result by `diffsim init | estimate`."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.alternatives import alternatives
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import experiment_of
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.effort.options import (
    EffortFilesOptions,
    EffortFitOptions,
    EffortMeasurementOptions,
    EffortTopOptions,
    LoggedRobotOptions,
)
from diffsim_ros.robots.dynamics import inertial_parameters
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.check import examine
from diffsim_ros.sensing.read import read
from tests.pages import keys_of_kind
from tests.real2sim.arm_synthetic import DRY, GAINS, OFFSETS, VISCOUS, recording

pytest.importorskip("urchin")
UR5 = Path(__file__).resolve().parents[2] / "urdf" / "ur5.urdf"
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
STILL = "wrist_1_joint"


@pytest.fixture(scope="module")
def robot():
    return load_robot(UR5, joints=JOINTS)


def made(robot, seed, **options):
    """A short log of three joints."""
    return recording(robot, seed, **{"noise": 0.05, "seconds": 20.0, "rate": 50.0, **options})


def content(**sections):
    """An estimation whose logs are passed."""
    own = {"robot": {"urdf": str(UR5), "joints": list(JOINTS)}, "data": {"train": {"files": ["-"]}}}
    return {"kind": "efforts", **own, **sections}


def saved(log, path, *, still=True, **change):
    """The log as an NPZ, with a wrist that stands beside its joints."""
    q, effort = log.values["position"], log.values["effort"]
    names = list(log.names)
    if still:
        names.append(STILL)
        q = np.column_stack([q, np.full(len(q), 0.3)])
        effort = np.column_stack([effort, np.full(len(q), 0.01)])
    arrays = {"t": log.t, "joints": np.array(names), "q": q, "effort": effort, **change}
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def nearly_physical(folder):
    """The UR5 as another might publish it: a moment 1 % beyond the triangle inequality."""
    text = UR5.read_text()
    link = text.index('<link name="forearm_link">')
    first = text.index("<inertia ", link)
    end = text.index("/>", first)
    inertia = '<inertia ixx="0.12" ixy="0" ixz="0" iyy="0.0604" iyz="0" izz="0.0590" '
    path = folder / "arm.urdf"
    text = text[:first] + inertia + text[end:]
    path.write_text(text.replace("<robot ", "<!-- Licence: as it was -->\n<robot ", 1))
    return path


def test_a_log_without_commands_by_init_and_estimate(robot, tmp_path, capsys):
    log = saved(made(robot, 3, noise=0.002, seconds=30.0), tmp_path / "log.npz")
    urdf = nearly_physical(tmp_path)
    (stream,) = read(log)
    texts = [f.text for f in examine(stream).found]
    assert any("efforts without commands: gains with their sign" in text for text in texts)
    out, results = tmp_path / "own", tmp_path / "results"
    with pytest.warns(UserWarning, match="forearm_link"):
        load_robot(urdf, meshes="ignore")
    assert main(["init", "--from", str(log), "--urdf", str(urdf), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert f"{STILL} stand in the log: held where they stand" in printed
    assert "arm_mended.urdf" in printed and "scene.yaml" not in printed
    assert sorted(p.name for p in out.iterdir()) == ["arm_mended.urdf", "estimation.yaml"]
    mended = (out / "arm_mended.urdf").read_text()
    assert "<!-- Licence: as it was -->" in mended
    own = yaml.safe_load((out / "estimation.yaml").read_text())
    assert own["robot"]["joints"] == list(JOINTS) and own["robot"]["held"] == {STILL: 0.3}
    assert own["data"]["validate"]["spans"][0][0] == pytest.approx(0.7 * 30, abs=0.1)
    # as it comes
    assert main(["estimate", str(out / "estimation.yaml"), "--out", str(results)]) == 0
    printed = capsys.readouterr().out
    assert "verdict: " in printed and "gain_elbow_joint" in printed
    assert main(["estimate", str(out / "estimation.yaml"), "--ray", "local"]) == 2
    assert "no parts that take long" in capsys.readouterr().err
    names = {path.name for path in results.iterdir()}
    assert {"result.yaml", "metrics.json", "report.html"} <= names and "motion.mcap" not in names
    page = (results / "report.html").read_text()
    assert "five coefficients" in page and "log_0 20.986 to 30.98 s" in page
    found = yaml.safe_load((results / "result.yaml").read_text())
    assert found["kind"] == "efforts" and found["status"] == "converged"
    gains = [found["parameters"][f"gain_{name}"]["value"] for name in JOINTS]
    # one of them is relative: all have the same factor
    assert np.array(gains) / GAINS[:3] == pytest.approx(np.full(3, gains[1] / GAINS[1]), rel=0.1)
    assert gains[1] == pytest.approx(GAINS[1], rel=0.15)
    figures = json.loads((results / "metrics.json").read_text())
    held_out = figures["validate"]["joints"]
    assert list(held_out) == list(JOINTS)
    assert all(j["ratio"] < 0.5 and j["ratio_sigma"] > 0 for j in held_out.values())
    assert figures["verdict"]["error_over_five"].keys() == set(JOINTS)


def test_gains_with_sign_and_friction_are_within_their_std_dev(robot):
    gains = {"measurement": {"gains": {JOINTS[1]: float(GAINS[1])}, "unit": "A"}}
    logs = [made(robot, seed) for seed in (11, 12, 13)]
    result = estimate(content(**gains), observations={"train": logs[:2], "validate": logs[2:]})
    assert result.verdict.grade == "good", str(result.verdict)
    by_name = {p.name: p for p in result.parameters}
    truth = {}
    for j, name in enumerate(JOINTS):
        truth[f"gain_{name}"] = GAINS[j]
        truth[f"viscous_{name}"] = VISCOUS * GAINS[j]
        truth[f"coulomb_{name}"] = DRY * GAINS[j]
        truth[f"offset_{name}"] = OFFSETS[j]
    given = by_name[f"gain_{JOINTS[1]}"]
    assert given.fixed and given.std_dev is None and given.unit == "A/(N m)"
    z = np.array([
        (by_name[name].value - value) / by_name[name].std_dev
        for name, value in truth.items() if by_name[name].std_dev
    ])  # fmt: skip
    assert len(z) == 11 and np.sqrt(np.mean(z**2)) < 1.7 and np.abs(z).max() < 4
    assert np.sign([by_name[f"gain_{n}"].value for n in JOINTS]).tolist() == [1, -1, 1]
    assert len(result.correlated) == len(result.correlation) == 2 + 3 * 4
    base = [p for p in result.derived if p.name.startswith("base.")]
    assert base and all(p.std_dev > 0 for p in base)
    assert {p.unit for p in base} <= {"kg", "kg m", "kg m^2"}


def test_the_verdict_names_what_is_wrong(robot):
    inertias, held = inertial_parameters(robot), {"inertias": "held"}
    currents = [made(robot, seed, inertias=inertias) for seed in (1, 2, 3)]
    roles = {"train": currents[:2], "validate": currents[2:]}
    wrong = estimate(content(measurement={"gains": 1}, fit=held), observations=roles)
    assert wrong.verdict.grade == "misleading"
    assert any("take measurement.gains out" in text for text in wrong.verdict.advice)
    by_load = [made(robot, seed, law="load", inertias=inertias) for seed in (1, 2, 3)]
    roles = {"train": by_load[:2], "validate": by_load[2:]}
    fit = {"friction": ["coulomb_viscous"], **held}
    plain = estimate(content(fit=fit), observations=roles)
    assert plain.verdict.grade == "usable"
    assert "what is left is not noise" in plain.verdict.reason
    assert any("load" in text for text in plain.verdict.advice)
    torques = [made(robot, seed, gains=np.ones(6), inertias=inertias) for seed in (1, 2)]
    alone = estimate(content(fit=held), observations={"train": torques})
    assert "nothing was held out" in alone.verdict.reason
    assert any("set measurement.gains to 1" in text for text in alone.verdict.advice)
    assert alone.metrics["validate"] is None
    assert alone.notes[0].startswith("nothing to validate on")


def test_joints_whose_efforts_say_nothing_are_named(robot):
    logs = []
    for seed in (1, 2, 3):
        log = made(robot, seed)
        effort = log.values["effort"].copy()
        effort[:, 2] = np.where(np.abs(effort[:, 2]) > np.percentile(abs(effort[:, 2]), 80), 0.1, 0)
        logs.append(replace(log, values={**log.values, "effort": effort}))
    own = content(fit={"inertias": "held"})
    result = estimate(own, observations={"train": logs[:2], "validate": logs[2:]})
    assert f"efforts of {JOINTS[2]} say nothing" in result.verdict.reason
    assert result.verdict.grade == "usable"
    by_name = {p.name: p for p in result.parameters}
    assert not by_name[f"gain_{JOINTS[2]}"].identifiable
    assert not by_name[f"coulomb_{JOINTS[2]}"].identifiable
    assert JOINTS[2] not in result.verdict.figures["error_over_five"]
    stuck = [f for f in examine(logs[0]).found if f.about == "efforts"]
    assert len(stuck) == 1 and JOINTS[2] in stuck[0].text
    dead = [replace(log, values={**log.values, "effort": 0 * effort}) for log in logs]
    none = estimate(own, observations={"train": dead[:2], "validate": dead[2:]})
    assert none.verdict.grade == "misleading"
    assert "no joint's efforts are measurements" in none.verdict.reason


def test_progress_and_cancel(robot):
    class Token:
        cancelled = False

    seen, token = [], Token()

    def watch(progress):
        seen.append((progress.phase, progress.fraction_done))
        token.cancelled |= progress.phase == "fit" and len(seen) > 3

    result = estimate(
        content(), observations={"train": [made(robot, 1)]}, progress=watch, cancel=token
    )
    assert result.status == "cancelled" and result.verdict is None
    assert len(result.parameters) == 3 * 5  # the simplest law: the best so far
    assert [phase for phase, _ in seen][:2] == ["read", "fit"]
    shares = [share for _, share in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"scene": {}}, "scene: got .*accepted: one of name, kind, robot"),
        ({"robot": {}}, "robot.urdf: .*required"),
        ({"robot": {"urdf": "a", "joints": ["b", "b"]}}, "robot.joints.*each once"),
        ({"robot": {"urdf": "a", "held": {"b": "c"}}}, "robot.held.b: got 'c'.*finite number"),
        ({"data": {"train": {"files": ["a"], "spans": [[3, 1]]}}}, r"data.train.spans\[0\]"),
        ({"fit": {"inertias": "free"}}, "fit.inertias: got 'free'.*auto or held or estimated"),
    ],
)
def test_keys_that_do_not_do_are_refused(sections, message):
    with pytest.raises(InputError, match=message):
        load_estimation(content(**sections))


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"measurement": {"gains": {"elbow": 1}}},
            "gains.elbow: got 1.*did you mean 'elbow_joint'",
        ),
        ({"measurement": {"gains": 0}}, "measurement.gains: got 0.*other than 0"),
        ({"fit": {"friction": ["coulom"]}}, "friction: got 'coulom'.*did you mean"),
        ({"robot": {"urdf": str(UR5), "joints": ["elbow"]}}, "joints: got 'elbow'.*'elbow_joint'"),
    ],
)
def test_options_that_the_robot_contradicts_are_refused(robot, sections, message):
    with pytest.raises(InputError, match=message):
        estimate(content(**sections), observations={"train": [made(robot, 1)]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"effort": None}, "efforts: got 'none'.*efforts, or commands"),
        ({"joints": np.array([*JOINTS, "wrist"])}, "joints: got 'wrist'; .*not fixed.*wrist_"),
        ({"degrees": True}, "is the log in degrees"),
        ({"stands": True}, "a joint that moves by more than 0.02 rad"),
    ],
)
def test_init_refuses_logs_that_do_not_do(robot, tmp_path, change, message):
    log, change = made(robot, 1, seconds=4.0), dict(change)
    q = np.column_stack([log.values["position"], np.full(len(log.t), 0.3)])
    if change.pop("degrees", False):
        q = 180 / np.pi * (q + np.array([0, 0, 3.0, 0]))
        log = replace(log, t=10 * log.t)
        change["q"] = q
    if change.pop("stands", False):
        change["q"] = 0 * q
    path = saved(log, tmp_path / "log.npz", **change)
    arguments = ["init", "--from", str(path), "--urdf", str(UR5), "--out", str(tmp_path / "o")]
    with pytest.raises(InputError, match=message):
        _init(arguments)
    assert not (tmp_path / "o").exists()


def _init(arguments):
    """`diffsim init` with its error raised."""
    from diffsim_ros.cli import make_parser
    from diffsim_ros.commands import init

    return init.run(make_parser().parse_args(arguments))


def test_logs_that_are_too_short_and_spans_beyond_are_refused(robot, tmp_path):
    with pytest.raises(InputError, match=r"duration: got .*accepted: trials longer than"):
        slow = content(measurement={"bandwidth": 0.05})
        estimate(slow, observations={"train": [made(robot, 1)]})
    with pytest.raises(InputError, match="at least 20 samples in which it moves"):
        estimate(content(), observations={"train": [made(robot, 1, seconds=0.4)]})
    path = saved(made(robot, 1, seconds=3.0), tmp_path / "log.npz")
    config = content(data={"train": {"files": [str(path)], "spans": [[8, 9]]}})
    with pytest.raises(InputError, match=r"data.train.spans: got \[8.0, 9.0\].*ends at 2.98 s"):
        estimate(config)


def test_what_needs_a_scene_refuses_the_kind(robot):
    config = load_estimation(content())
    with pytest.raises(InputError, match=r"kind: got 'efforts'.*whose scene is simulated"):
        experiment_of(config)
    assert alternatives(config)[0] == {}
    with pytest.raises(InputError, match=r"parameters: got .*none: a regression estimates all"):
        load_estimation(content(), parameters=["gain_elbow_joint"])


def test_stretches_in_both_roles_are_noted(robot, tmp_path):
    path = str(saved(made(robot, 1), tmp_path / "log.npz", still=False))
    data = {"train": {"files": [path], "spans": [[0, 14]]},
            "validate": {"files": [path], "spans": [[10, 20]]}}  # fmt: skip
    config = load_estimation(content(data=data))
    from diffsim_ros.real2sim.sensors.effort.experiment import EffortExperiment

    found = EffortExperiment(config).read({})
    assert "1 of 1 validated trials were trained on too" in found.notes[0]
    assert found.train[0].place.endswith("trial 0: 0 to 14 s")


SECTIONS = [
    EffortTopOptions, LoggedRobotOptions, EffortFilesOptions, EffortMeasurementOptions,
    EffortFitOptions,
]  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS, ids=lambda c: c.__name__)
def test_keys_are_documented(section):
    text = keys_of_kind("efforts")
    for name in fields_of(section):
        assert f"| `{name}` |" in text, f"estimation_keys.md does not list {section}.{name}"
