"""Joint logs: read, fitted with known truth, evaluated, reported; and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.joint import options
from diffsim_ros.real2sim.sensors.joint.experiment import JointExperiment
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing.check import examine
from diffsim_ros.sensing.read import read, read_trials
from tests.pages import keys_of_kind
from tests.robots.test_urdf import ARM

pytest.importorskip("urchin")
JOINTS, DT, SAMPLES = ("j1", "j2", "j3"), 0.01, 101
TRUE = {"gain_j1": 300.0, "armature_j2": 0.2, "friction_j1": 1.5, "delay": 0.012,
        "effort_gain": 1.1, "bias": 0.3}  # fmt: skip
LOAD = {"mass": 0.7, "centre": [0.03, 0.02, 0.05], "inertia": [0.002, 0.003, 0.0025]}
SIGMA = {"position": 2e-4, "velocity": 2e-3, "effort": 0.05}


def robot(**more):
    """The robot of the scene."""
    drive = {"stiffness": {"j1": 300, "j2": 2000, "j3": 30},
             "damping": {"j1": 20, "j2": 60, "j3": 2}, "effort": "none"}  # fmt: skip
    base = {"urdf": "arm.urdf", "drive": drive, "friction": 0, "joint_stiffness": 1e6}
    return base | {"pose": {"position": [0.1, 0, 0.2], "rotation": [0, 0, 0.4]}} | more


def targets(t, trial):
    """Commands (n, 3) that begin at rest."""
    s = np.clip((t - 0.15) / 0.4, 0, 1)
    s = s**3 * (10 + s * (6 * s - 15))  # smooth at both ends
    f = np.array([1.1, 0.7, 1.4]) * (1 + 0.3 * trial)
    swing = np.array([0.5, 0.08, 0.8]) * np.sin(2 * np.pi * f * t[:, None] + np.arange(3) + trial)
    return np.array([0.3, 0.2, -0.4]) + s[:, None] * swing


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A URDF and a log of two trials, simulated at a quarter of the fit's step."""
    path = tmp_path_factory.mktemp("joints")
    (path / "arm.urdf").write_text(ARM)
    rng, t, step = np.random.default_rng(3), np.arange(SAMPLES) * DT, 0.00125
    fine = np.arange(-1.0, t[-1] + step, step)  # it is at rest before the log begins
    rows: dict[str, list] = {k: [] for k in ("t", "trial", "q", "qd", "effort", "q_command")}
    for trial in range(2):
        keys = targets(np.append(fine, fine[-1]), trial)
        true = robot(armature={"j2": 0.2}, friction={"j1": 1.5}, payload={"link": "l3", **LOAD})
        true["drive"] = true["drive"] | {"keys": len(keys), "interval": step}
        true["angles"] = keys[0].tolist()
        world = {"step": step, "duration": float(fine[-1] - fine[0])}
        s = load_scene({"world": world, "robots": {"arm": true}}, base=path).engine
        p = s.values
        for name, column in zip(JOINTS, keys.T, strict=True):
            first = s.index(f"{name}_drive.target[0]")
            p[first : first + len(column)] = column
        run = _engine.rollout(s, p, len(fine) - 1, _engine.Options(step=step))
        assert run.ok, run.message
        motion = [s.joint_motion(name, p, run) for name in JOINTS]
        q, qd = (np.stack([m[k] for m in motion], axis=1) for k in ("coordinate", "rate"))
        rate = np.gradient(keys[:-1], step, axis=0)
        k, c = np.array([300, 2000, 30]), np.array([20, 60, 2])
        torque = k * (keys[: len(q)] - q) + c * (rate[: len(q)] - qd)
        late = np.maximum(t - TRUE["delay"], 0)

        def read(table, signal, late=late):
            found = np.stack([np.interp(late, fine, column) for column in table.T], axis=1)
            return found + rng.normal(size=found.shape) * SIGMA[signal]

        new = (t, np.full(len(t), trial), read(q, "position"), read(qd, "velocity"),
               TRUE["effort_gain"] * read(torque, "effort") + [0, 0, TRUE["bias"]],
               targets(t, trial))  # fmt: skip
        for key, table in zip(rows, new, strict=True):
            rows[key].append(table)
    arrays = {key: np.concatenate(tables) for key, tables in rows.items()}
    np.savez(path / "log.npz", joints=np.array(JOINTS), **arrays)
    return path


def config(folder, **change):
    """The estimation of the log."""
    word = {"unit": "1", "scale": "log"}
    content = {
        "name": "arm", "kind": "joints", "body": "l3",
        "scene": {
            "world": {"step": 0.005, "duration": 1},
            "robots": {"arm": robot(armature={"j2": 0.1}, friction={"j1": 1.0},
                                    payload={"link": "l3", **LOAD})},
        },
        "data": {
            "train": {"files": [str(folder / "log.npz")], "trials": [0]},
            "validate": {"files": [str(folder / "log.npz")], "trials": [1]},
        },
        "measurement": {
            "position": {"sigma": SIGMA["position"], "delay": "delay"},
            "velocity": {"sigma": SIGMA["velocity"], "delay": "delay"},
            "effort": {"sigma": SIGMA["effort"], "delay": "delay", "gain": "effort_gain",
                       "bias": {"j3": "bias"}},
        },
        "simulation": {"threads": 1},
        "parameters": {
            "gain_j1": word | {"value": 200, "bounds": [50, 1000],
                               "sets": {"j1_drive.stiffness": 1}},
            "armature_j2": word | {"value": 0.1, "bounds": [0.01, 2],
                                   "sets": {"j2_armature.inertia": 1}},
            "friction_j1": word | {"value": 1.0, "bounds": [0.1, 9],
                                   "sets": {"j1_friction.coulomb": 1}},
            "delay": {"unit": "s", "value": 0.005, "bounds": [0, 0.05], "sets": {}},
            "effort_gain": {"value": 1, "bounds": [0.5, 2], "sets": {}},
            "bias": {"value": 0, "bounds": [-2, 2], "sets": {}},
        },
        "inertias": {"payload": {"mass": 0.5, "centre": [0, 0, 0.05],
                                 "inertia": [0.002, 0.002, 0.002]}},
        "fit": {"tolerance": 1e-3},
        "uncertainty": {"method": "covariance"},
    }  # fmt: skip
    for key, value in change.items():
        section, _, name = key.partition("__")
        if name:
            content[section] = {**content[section], name: value}
        else:
            content[section] = value
    path = folder / "estimation.yaml"
    path.write_text(yaml.safe_dump(content))
    return load_estimation(path)


def test_a_log_tells_its_robot(folder, tmp_path):
    """Gains, rotor, friction, payload and sensor within their intervals; other motion predicted."""
    result = estimate(config(folder), out=tmp_path / "out")
    assert result.converged, result.message
    for p in result.parameters:
        if p.name in TRUE:
            # a hundredth for the step, four times that of the truth
            assert abs(p.value - TRUE[p.name]) < 5 * p.std_dev + 0.01 * TRUE[p.name], p
            assert p.std_dev < 0.1 * abs(TRUE[p.name])
    derived = {p.name: p for p in result.derived}
    truth = {"mass": 0.7, "centre.x": 0.03, "centre.y": 0.02}
    for word, value in truth.items():
        found = derived[f"payload.{word}"]
        assert abs(found.value - value) < 5 * found.std_dev + 0.02 * value, found
    validate = result.metrics["validate"]
    for key, sigma in (("position_rms_rad", 2e-4), ("velocity_rms_rad_s", 2e-3)):
        assert validate[key] < 2.5 * sigma  # its motion is faster, the step coarse
    assert result.document()["derived"]["payload.mass"]["unit"] == "kg"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What the payload" in page and "arm" in page
    assert (tmp_path / "out" / "motion.mcap").stat().st_size > 1000


def test_the_gradient_of_a_whole_log(folder):
    """By every parameter at once, along a random direction."""
    experiment = JointExperiment(config(folder))
    data, model = experiment.read({}), experiment.model
    problem, z = model.problem(data.train[:1], model.map.start), model.map.start
    d = np.random.default_rng(0).normal(size=len(z))
    exact = problem.evaluate(z, want="equations").gradient[0] @ d
    slopes = [
        (problem.evaluate(z + e * d).value - problem.evaluate(z - e * d).value) / (2 * e)
        for e in (1e-4, 1e-5)
    ]
    assert min(abs(s - exact) for s in slopes) < 1e-5 * abs(exact)


def test_starts_stand_where_the_scene_would(folder):
    """A base that is moved and turned, and the first measured joint values."""
    experiment = JointExperiment(config(folder))
    log = experiment.read({}).train[0]
    q = experiment.model.start(log)
    place = {"urdf": str(folder / "arm.urdf"), "angles": q.tolist(), "pose": robot()["pose"]}
    world = {"step": 0.01, "duration": 0.01}
    wanted = load_scene({"world": world, "robots": {"arm": place}}).description["bodies"]
    for start in experiment.model.starts(q):
        pose = wanted[start.body]["pose"]
        assert start.position == pytest.approx(pose["position"], abs=1e-12)
        assert abs(start.orientation @ np.array(pose["orientation"])) == pytest.approx(1)


def test_csv_and_npz_hold_the_same(folder, tmp_path):
    logs = read_trials(folder / "log.npz", "joints", wanted=(1,))
    head = ["t", "trial"]
    columns = [logs[0].t, np.ones(SAMPLES)]
    for kind, tables in (("", logs[0].measured), ("command_", logs[0].command)):
        for signal, table in tables.items():
            head += [f"{joint}.{kind}{signal}" for joint in JOINTS]
            columns += list(table.T)
    path = tmp_path / "log.csv"
    np.savetxt(path, np.stack(columns, axis=1), delimiter=",", header=",".join(head), comments="")
    (again,) = read_trials(path, "joints")
    assert again.names == JOINTS
    for signal in SIGMA:
        assert again.measured[signal] == pytest.approx(logs[0].measured[signal], abs=1e-12)
    examined = examine(read(path)[0])
    assert not examined.refusal
    assert "position, velocity, effort of 3 joints" in str(examined.found)
    assert again.command["position"] == pytest.approx(logs[0].command["position"], abs=1e-12)
    path.write_text("t,j1.position\n0,0\n1,x\n")
    with pytest.raises(InputError, match=r"line 3: got '1,x'; accepted: 2 numbers"):
        read_trials(path, "joints")
    path.write_text("t,j1.speed\n0,0\n")
    with pytest.raises(InputError, match=r"a column JOINT.position for every joint"):
        read_trials(path, "joints")


def changed(folder, tmp_path, change):
    """A copy of the log with some arrays changed."""
    with np.load(folder / "log.npz") as data:
        arrays = {k: data[k].copy() for k in data.files}
    change(arrays)
    np.savez(tmp_path / "bad.npz", **arrays)
    return tmp_path / "bad.npz"


BAD_LOGS = [
    (lambda a: a.pop("joints"), "joints too"),
    (lambda a: a.update(qd=a["qd"][:, :2]), r"qd: got \(202, 2\); accepted: shape \(202, 3\)"),
    (lambda a: a["t"].__setitem__(5, 0.01), r"trial 0: t of sample 5: got '0.04 s, then 0.01 s'"),
    (lambda a: a["q"].__imul__(57.3), "are the positions in degrees"),
    (lambda a: a["q_command"].__setitem__((7, 1), np.nan), "command of j2, sample 7"),
    (lambda a: a.pop("q_command"), "commanded positions, as the drive"),
    (lambda a: a.pop("effort"), "readings of effort, as measurement.effort requires"),
    (lambda a: a["q"].__setitem__((slice(0, 9), 0), np.linspace(0, 0.2, 9)), "a robot at rest"),
]


@pytest.mark.parametrize(("change", "message"), BAD_LOGS)
def test_bad_logs_are_refused(folder, tmp_path, change, message):
    path = changed(folder, tmp_path, change)
    with pytest.raises(InputError, match=message):
        JointExperiment(config(folder, data={"train": {"files": [str(path)]}})).read({})


BAD_CONFIGS = [
    ({"measurement": {}}, "position, velocity or effort"),
    ({"parameters__at": {"unit": "m", "value": 0, "bounds": [-1, 1], "sets": {"j2.anchor_b.x": 1}}},
     "parameters.at.sets: got 'j2.anchor_b.x'; accepted: no place of the robot's joints"),
    ({"measurement__position": {"sigma": 0}}, r"position.sigma: got 0.0; accepted: a number > 0"),
    ({"measurement__position": {"sigma": 1, "delay": "dely"}}, "did you mean 'delay'"),
    ({"measurement__position": {"sigma": 1, "drift": -1}}, "drift: got -1.0; accepted: a n"),
    ({"measurement__position": {"sigma": 1, "bias": 0.1}}, "start: command"),
    ({"measurement__effort": {"sigma": {"j9": 1}}}, "a joint of the robot"),
    ({"measurement__joints": ["j7"]}, r"measurement.joints: got 'j7'"),
    ({"inertias": {"paylod": {"mass": 1, "centre": [0, 0, 0], "inertia": [1, 1, 1]}}},
     "did you mean 'payload'"),
    ({"inertias": {"payload": {"mass": 1, "centre": [0, 0, 0], "inertia": [1, 1, 3]}}},
     "each below the sum"),
    ({"data": {"train": {"files": ["log.npz"], "trials": [9]}}}, "trials: got 9; accepted: one"),
    ({"data": {"train": {"files": ["log.npz"], "trials": ["a"]}}}, "a list of whole numbers"),
    ({"scene": {"world": {"step": 0.01, "duration": 1}, "robots": {}}}, "scene.robots: got"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD_CONFIGS)
def test_bad_estimations_are_refused(folder, change, message):
    with pytest.raises(InputError, match=message):
        JointExperiment(config(folder, **change))


def test_the_ur5_configuration_loads():
    root = Path(__file__).resolve().parents[2]
    found = JointExperiment(load_estimation(root / "config" / "estimation" / "ur5_log.yaml"))
    data = found.read({})
    assert (len(data.train), len(data.validate)) == (3, 1)
    assert len(found.model.map.names) == 44


@pytest.mark.parametrize(
    "section",
    ["JointFilesOptions", "JointMeasurementOptions", "ReadingOptions",
     "JointSimulationOptions"],
)  # fmt: skip
def test_keys_are_documented(section):
    text = keys_of_kind("joints")
    for name in fields_of(getattr(options, section)):
        assert f"| `{name}` |" in text, f"estimation_keys.md does not list {section}.{name}"
