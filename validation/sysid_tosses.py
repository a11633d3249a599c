"""Contact of the real cube, by ours and by MuJoCo's identification toolbox: the same tosses.

Four parameters each, searched for in their logarithms: friction, contact stiffness (k_n; MuJoCo's
time constant), contact damping (ratio zeta; MuJoCo's damping ratio) and moment of inertia.  Starts,
steps per frame, length scale, objective (a toss's e_q with positions weighed six times, soft_l1 per
toss) and metric are the same; each has the contact model of its own simulator.
"""

from __future__ import annotations

import time
from copy import deepcopy

import numpy as np

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.scenarios.height import start_state
from diffsim_ros.real2sim.sensors.pose.model import PoseModel
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply, quat_rotate
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT
from .cube_benchmark import LABELS, as_rows, errors_of, evaluate, intervals, toss_errors

CONFIG = ROOT / "config" / "estimation" / "cube_toss_demo.yaml"
STARTS = {"MuJoCo's default": 0.02, "stiffer": 0.005}  # time constant of its contacts [s]
BOUNDS = {"friction": (0.05, 0.6), "time_constant": (0.002, 0.05), "damping_ratio": (0.2, 5.0),
          "inertia": (0.0006, 0.0016)}  # fmt: skip
DIFFERENCES = {"its default 1.5e-8": 1.5e-8, "1e-3": 1e-3}  # steps of its differences in log values
ITERATIONS = 40


def content(train: int, validate: int) -> dict:
    """The demo's estimation with constant friction and four free parameters."""
    found = read_yaml(CONFIG)
    for key, count in (("train", train), ("validate", validate)):
        part = found["data"][key]
        part["files"] = [str((CONFIG.parent / name).resolve()) for name in part["files"]]
        part["trials"]["random"] = count
    contact = found["scene"]["contact"][0]
    del contact["c_s"], contact["f_0"]
    parameters = found["parameters"]
    del parameters["friction_unloaded"]
    for name in ("tangential_time", "corner_radius"):
        parameters[name]["fixed"] = True
    found["fit"] |= {"iterations": ITERATIONS, "search_evaluations": 0}
    found["simulation"]["threads"] = 1
    return found


def figures(errors) -> dict:
    """Means over tosses and their 95 % intervals."""
    rows = as_rows(errors)
    return dict(zip(LABELS, rows.mean(axis=0).tolist(), strict=True)) | intervals(rows)


def ours(description: dict, **fit) -> dict:
    """Our fit: exact derivatives; with `search_evaluations` the final search too."""
    description = deepcopy(description)
    description["fit"] |= fit
    clock, config = time.process_time(), load_estimation(description)
    result = estimate(config, report=False)
    seconds = time.process_time() - clock
    free = [p for p in result.parameters if p.std_dev is not None]
    train, (trained, _) = result.metrics["train"], evaluate(config, result.values(), "train")
    return {
        "status": result.status,
        "parameters": {p.name: [p.value, p.std_dev] for p in free},
        "objective": train["objective"],
        "train": figures(trained.values()),
        "validate": figures(errors_of(result.predictions).values()),
        "evaluations": train["evaluations"],
        "rollouts": train["rollouts"],
        "cpu_s_all": seconds,
        "fit_s": result.metrics["timing"]["fit"] + result.metrics["timing"].get("search", 0.0),
    }


MODEL = """<mujoco><option timestep="{step}" gravity="0 0 {gravity}" cone="elliptic"/>
  <worldbody>
    <geom name="table" type="plane" size="5 5 0.1"/>
    <body name="cube"><freejoint name="free"/>
      <inertial pos="0 0 0" mass="0.37" diaginertia="0.00081 0.00081 0.00081"/>
      <geom name="box" type="box" size="{half} {half} {half}"/>
    </body>
  </worldbody>
  <contact><pair name="touch" geom1="box" geom2="table" condim="3"/></contact>
  <actuator><motor name="none" joint="free" gear="1 0 0 0 0 0"/></actuator>
  <sensor><framepos name="p" objtype="body" objname="cube"/>
    <framequat name="q" objtype="body" objname="cube"/></sensor>
</mujoco>"""


class Theirs:
    """The same tosses for mujoco.sysid."""

    def __init__(self, description: dict, train: list, validate: list) -> None:
        import mujoco

        self.config = load_estimation(description)
        self.model = PoseModel.build(self.config)
        self.spf = self.config.simulation.steps_per_frame
        scale = self.config.parameters["length_scale"].value
        self.dt = train[0].dt
        text = MODEL.format(step=self.dt / self.spf, gravity=-9.81 / scale, half=0.0524 / scale)
        self.spec = mujoco.MjSpec.from_string(text)
        self.trials = {"train": train, "validate": validate}
        self.rollouts = 0
        self.weight = self.config.fit.position_weight
        self.knee = self.config.fit.loss_scale

    def parameters(self, time_constant: float):
        """Their ParameterDict, in logarithms."""
        from mujoco import sysid

        values = {"friction": 0.2, "time_constant": time_constant, "damping_ratio": 1.0,
                  "inertia": 0.00105}  # fmt: skip
        put = {
            "friction": lambda s, v: s.pair("touch").friction.__setitem__([0, 1], v),
            "time_constant": lambda s, v: s.pair("touch").solref.__setitem__(0, v),
            "damping_ratio": lambda s, v: s.pair("touch").solref.__setitem__(1, v),
            "inertia": lambda s, v: s.body("cube").inertia.__setitem__(slice(None), v),
        }
        found = sysid.ParameterDict()
        for name, value in values.items():
            low, high = np.log(BOUNDS[name])
            found.add(
                sysid.Parameter(
                    name, np.log(value), low, high,
                    modifier=lambda s, p, f=put[name]: f(s, float(np.exp(p.value[0]))),
                )
            )  # fmt: skip
        return found

    def sequence(self, trial):
        """(initial state, control, sensordata) of a toss from the start on."""
        import mujoco
        from mujoco import sysid

        model = self.spec.compile()
        start = start_state(trial, self.model.height)
        body_rate = quat_rotate(quat_conjugate(start.orientation), start.angular_velocity)
        qpos = np.concatenate([start.position, np.roll(start.orientation, 1)])
        data = mujoco.MjData(model)
        state = sysid.create_initial_state(
            model, qpos, np.concatenate([start.velocity, body_rate]), data.act
        )
        frames = trial.frames[start.sample :] - trial.frames[start.sample]
        steps = int(frames[-1]) * self.spf + 1
        t = np.arange(steps) * model.opt.timestep
        control = sysid.TimeSeries.from_control_names(t, np.zeros((steps, 1)), model)
        poses = trial.poses.value[start.sample :]
        values = np.concatenate([poses[:, :3], np.roll(poses[:, 3:7], 1, axis=1)], axis=1)
        return state, control, sysid.TimeSeries.from_names(frames * self.dt, values, model)

    def poses(self, predicted, measured):
        """Simulated and measured (p, q xyzw) at the measured frames after the start."""
        rows = np.round(measured.times[1:] / (self.dt / self.spf)).astype(int) - 1
        both = []
        for series in (predicted.data[rows], measured.data[1:]):
            both += [series[:, :3], np.roll(series[:, 3:7], -1, axis=1)]
        return both

    def residual(self, params, predicted, measured, model, return_all, state=None, **_):
        """Our objective of a toss as residuals: |r|^2 = soft_l1 of its e_q."""
        self.rollouts += 1
        p, q, p0, q0 = self.poses(predicted, measured)
        length = self.model.height.half / self.weight
        turn = quat_log(quat_multiply(q, quat_conjugate(q0)))
        r = np.concatenate([(p - p0) / np.sqrt(length), turn], axis=1) / np.sqrt(len(p) + 1)
        total, knee = float(np.sum(r * r)), self.knee**2
        share = 2 * knee * (np.sqrt(1 + total / knee) - 1) / total if total > 0 else 1.0
        return r * np.sqrt(share), measured, measured

    def fit(self, time_constant: float, eps: float) -> dict:
        """One fit by their own optimiser and differences."""
        from mujoco import sysid

        sequences = [self.sequence(trial) for trial in self.trials["train"]]
        groups = [
            sysid.ModelSequences(f"toss {t.id}", self.spec, f"{t.id}", *s)
            for t, s in zip(self.trials["train"], sequences, strict=True)
        ]
        function = sysid.build_residual_fn(
            models_sequences=groups, modify_residual=self.residual, n_threads=1, resample_true=False
        )
        first, self.rollouts = self.parameters(time_constant), 0
        clock, wall = time.process_time(), time.perf_counter()
        best, found = sysid.optimize(
            first, function, verbose=False, max_iters=ITERATIONS, eps=eps, x_scale="jac"
        )
        seconds, wall = time.process_time() - clock, time.perf_counter() - wall
        rollouts = self.rollouts
        rest, _, _ = function(best.as_vector(), best)
        cost = 0.5 * sum(float(np.sum(r * r)) for r in rest)
        _, half = sysid.calculate_intervals(rest, found.jac)
        names = best.get_non_frozen_parameter_names()
        values = np.exp(best.as_vector())
        return {
            "parameters": {
                n: [float(v), float(v * h / 1.96)]
                for n, v, h in zip(names, values, half, strict=True)
            },
            "objective": cost / len(groups),
            **{role: figures(self.errors(best, role)) for role in ("train", "validate")},
            "rollouts": rollouts,
            "cpu_s_fit": seconds,
            "fit_s": wall,
        }

    def errors(self, params, role: str) -> list:
        """Errors of every toss of a role."""
        from mujoco import sysid

        model = sysid.apply_param_modifiers(params, self.spec)
        import mujoco

        found = []
        for trial in self.trials[role]:
            state, control, measured = self.sequence(trial)
            (run,) = sysid.sysid_rollout([model], [mujoco.MjData(model)], [control], [state])
            p, q, p0, q0 = self.poses(run.sensordata, measured)
            start = start_state(trial, self.model.height)
            p, q = np.vstack([start.position, p]), np.vstack([start.orientation, q])
            p0, q0 = np.vstack([start.position, p0]), np.vstack([start.orientation, q0])
            found.append(toss_errors(p, q, p0, q0))
        return found


def study(train: int = 24, validate: int = 60) -> dict:
    """Both, in turn, on one thread."""
    description = content(train, validate)
    config = load_estimation(description)
    sigma = (config.measurement.sigma_position, np.radians(config.measurement.sigma_rotation))
    chosen = [part.read(config.body, sigma) for part in (config.train, config.validate)]
    theirs = Theirs(description, *chosen)
    found = {
        "tosses": {"train": len(chosen[0]), "validate": len(chosen[1])},
        "ours": ours(description),
        "ours, with the final search": ours(description, search_evaluations=120),
    }
    for start, constant in STARTS.items():
        for word, eps in DIFFERENCES.items():
            found[f"mujoco.sysid, {start}, differences {word}"] = theirs.fit(constant, eps)
    return found
