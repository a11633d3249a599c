"""A UR5's joint log, made in MuJoCo, and its identification by ours and by mujoco.sysid.

The truth is our URDF in MuJoCo at a fiftieth of the step that both fits take, with rotors, viscous
and dry friction (its solver's time constant as short as the step allows, for it and for the fit:
MuJoCo's default of 20 ms turns friction round 10 ms before the motion), position drives and a tool
on the flange; its readings are 125 Hz as those of the real arm, late, noisy, the efforts with a
wrong gain and, on one joint, a bias.  Both identify the
same numbers from the same readings, weighed by the same sigmas, from the same first guess and the
same starts.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from diffsim_ros.inverse.pseudo_inertia import physical, theta_of
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.sensors.joint.experiment import JointExperiment
from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.sensing.observation import Observation

from .common import ROOT

CONFIG = ROOT / "config" / "estimation" / "ur5_log.yaml"
URDF = ROOT / "urdf" / "ur5.urdf"
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint",
          "wrist_2_joint", "wrist_3_joint")  # fmt: skip
RATE, FITTED, FINE = 125.0, 0.002, 0.00004  # readings [Hz], steps of the fits and of the truth [s]
TRUTH = {
    "damping": (6.0, 7.5, 4.5, 1.1, 0.9, 1.3),
    "friction": (4.0, 5.0, 3.0, 1.0, 1.2, 0.7),
    "armature": (0.9, 1.1, 0.7, 0.12, 0.09, 0.1),
    "stiffness": (1600.0, 1800.0, 1300.0, 350.0, 320.0, 280.0),
    "gain": (90.0, 100.0, 60.0, 14.0, 12.0, 9.0),
}
PAYLOAD = {"mass": 1.8, "centre": (0.025, -0.015, 0.07),
           "inertia": ((0.0060, 0.0004, -0.0003), (0.0004, 0.0052, 0.0005),
                       (-0.0003, 0.0005, 0.0031))}  # fmt: skip
SENSOR = {"delay": 0.006, "delay_effort": 0.010, "effort_gain": 1.06, "elbow_bias": 0.8}
SIGMA = {"position": 3e-4, "velocity": 5e-3, "effort": (0.5, 0.5, 0.4, 0.1, 0.1, 0.1)}
HOME = np.array([0.2, -1.3, 1.5, -1.6, -1.4, 0.3])
SWINGS = (0.55, 0.45, 0.5, 0.7, 0.7, 0.9)  # amplitude of every joint [rad]
TRIALS, SECONDS, REST = 4, 3.0, 0.2


def spec_of(step: float = FITTED):
    """MuJoCo's spec of our UR5 with drives, sensors and a payload of unknown inertia."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(URDF))
    spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.compiler.fusestatic = False  # the payload stays a body of its own
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    tool = spec.body("wrist_3_link").add_body(name="payload")
    tool.explicitinertial = True
    tool.mass, tool.ipos, tool.inertia = 1.0, [0, 0, 0.05], [0.002] * 3
    for joint in JOINTS:
        spec.joint(joint).solref_friction = [2 * step, 1]
    fixed, affine = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    for word, place in (("p", 1), ("v", 2)):
        for joint in JOINTS:
            motor = spec.add_actuator(name=f"{joint}_{word}", target=joint)
            motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
            motor.gaintype, motor.biastype = fixed, affine
            motor.gainprm[0], motor.biasprm[place] = 1.0, -1.0
    kinds = {"position": "JOINTPOS", "velocity": "JOINTVEL", "effort": "JOINTACTFRC"}
    for signal, kind in kinds.items():
        for joint in JOINTS:
            spec.add_sensor(
                name=f"{joint}_{signal}", type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
                objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint,
            )  # fmt: skip
    return spec


def put(spec, what: str, joint: str, value: float) -> None:
    """Set one number of a joint or of its drives."""
    if what in ("damping", "friction", "armature"):
        one = spec.joint(joint)
        word = "frictionloss" if what == "friction" else what
        # MuJoCo 4 has polynomials of the damping: the first is the linear one
        old = np.atleast_1d(getattr(one, word))
        setattr(one, word, value if old.size == 1 else [value, *old[1:]])
        return
    motor = spec.actuator(f"{joint}_{'p' if what == 'stiffness' else 'v'}")
    motor.gainprm[0] = value
    motor.biasprm[1 if what == "stiffness" else 2] = -value


def true_spec():
    """The spec that made the log."""
    spec = spec_of(FINE)
    for what, values in TRUTH.items():
        for joint, value in zip(JOINTS, values, strict=True):
            put(spec, what, joint, value)
    tool, I = spec.body("payload"), np.array(PAYLOAD["inertia"])  # noqa: E741
    tool.mass, tool.ipos = PAYLOAD["mass"], PAYLOAD["centre"]
    moments, axes = np.linalg.eigh(I)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    tool.inertia[:] = moments
    tool.iquat[:] = np.roll(quat_from_matrix(axes), 1)
    return spec


def commands(rng, t: np.ndarray) -> np.ndarray:
    """Targets (n, 6): three sines a joint, let in smoothly after a rest."""
    shown = np.clip((t - REST) / 0.6, 0.0, 1.0)
    shown = shown**3 * (10 + shown * (6 * shown - 15))
    phase, found = rng.uniform(0, 2 * np.pi, (6, 3)), np.zeros((len(t), 6))
    speed = rng.uniform(0.25, 1.1, (6, 3))
    for j, swing in enumerate(SWINGS):
        waves = [np.sin(2 * np.pi * f * t + p) for f, p in zip(speed[j], phase[j], strict=True)]
        found[:, j] = HOME[j] + swing * shown * np.mean(waves, axis=0)
    return found


def make_log(path: str | Path, seed: int = 7) -> None:
    """Simulate the trials and write the readings as `sensing.joints` reads them."""
    import mujoco

    rng = np.random.default_rng(seed)
    model = true_spec().compile()
    data = mujoco.MjData(model)
    t = np.arange(round(SECONDS * RATE) + 1) / RATE
    fine = np.arange(round(SECONDS / FINE) + 1) * FINE
    columns: dict[str, list] = {k: [] for k in ("t", "trial", "q", "qd", "effort", "q_command")}
    for trial in range(TRIALS):
        state = rng.bit_generator.state
        target = commands(rng, fine)
        rng.bit_generator.state = state
        sent, rate = commands(rng, t), np.gradient(target, FINE, axis=0)
        readings = _settled(mujoco, model, data, target, rate)
        read = {}
        for k, (signal, delay) in enumerate(
            (("position", "delay"), ("velocity", "delay"), ("effort", "delay_effort"))
        ):
            late = np.clip(t - SENSOR[delay], 0, None)
            table = readings[:, 6 * k : 6 * k + 6]
            read[signal] = np.stack([np.interp(late, fine, column) for column in table.T], axis=1)
        read["effort"] *= SENSOR["effort_gain"]
        read["effort"][:, JOINTS.index("elbow_joint")] += SENSOR["elbow_bias"]
        for signal, table in read.items():
            table += rng.normal(size=table.shape) * SIGMA[signal]
        new = (t, np.full(len(t), trial), read["position"], read["velocity"], read["effort"], sent)
        for key, table in zip(columns, new, strict=True):
            columns[key].append(table)
    arrays = {key: np.concatenate(tables) for key, tables in columns.items()}
    small = {k: v.astype(np.float32) for k, v in arrays.items() if k not in ("t", "trial")}
    np.savez_compressed(
        path,
        t=arrays["t"],
        trial=arrays["trial"].astype(np.int16),
        joints=np.array(JOINTS),
        **small,
    )


def _settled(mujoco, model, data, target, rate) -> np.ndarray:
    """Sensors (n, 18) of a trial that begins at rest at its first target."""
    mujoco.mj_resetData(model, data)
    data.qpos[:] = target[0]
    data.ctrl[:] = np.concatenate([target[0], 0 * target[0]])
    for _ in range(round(2.0 / FINE)):
        mujoco.mj_step(model, data)
    data.time, readings = 0.0, np.zeros((len(target), model.nsensordata))
    for i in range(len(target)):
        data.ctrl[:] = np.concatenate([target[i], rate[i]])
        mujoco.mj_forward(model, data)
        readings[i] = data.sensordata
        mujoco.mj_step(model, data)
    return readings


# --------------------------------------------------------------------------------------- the truth


def true_theta() -> np.ndarray:
    """The payload's ten parameters (10,) in truth."""
    return theta_of(PAYLOAD["mass"], PAYLOAD["centre"], np.array(PAYLOAD["inertia"]))


def truth() -> dict[str, float]:
    """What the estimation's parameters are in truth, by their names in the YAML."""
    found = dict(SENSOR)
    for what, values in TRUTH.items():
        found |= {
            f"{what}_{j.removesuffix('_joint')}": v for j, v in zip(JOINTS, values, strict=True)
        }
    values, _ = physical(true_theta())
    words = ["mass", "centre.x", "centre.y", "centre.z"]
    words += [f"inertia.{k}" for k in ("xx", "yy", "zz", "xy", "xz", "yz")]
    return found | {f"payload.{w}": float(v) for w, v in zip(words, values, strict=True)}


def evaluated(estimates: dict[str, tuple[float, float | None]], level: float = 1.96) -> dict:
    """Errors against the truth, and how many 95 % intervals hold it.

    estimates  name -> (value, sigma)
    """
    known, rows = truth(), {}
    for name, (value, sigma) in estimates.items():
        if name not in known or sigma is None or not np.isfinite(sigma):
            continue
        off = abs(value - known[name])
        rows[name] = {
            "truth": known[name],
            "value": value,
            "sigma": sigma,
            "off_sigmas": off / sigma,
        }
    inside = int(sum(row["off_sigmas"] <= level for row in rows.values()))
    relative = [abs(r["value"] / r["truth"] - 1) for r in rows.values() if abs(r["truth"]) > 1e-2]
    return {
        "intervals_with_truth": [inside, len(rows)],
        "median_relative_error": float(np.median(relative)),
        "parameters": rows,
    }


# --------------------------------------------------------------------------------------- both fits


def ours() -> dict:
    """`diffsim estimate config/estimation/ur5_log.yaml`, as it stands, on one thread."""
    config = load_estimation(CONFIG, set=["simulation.threads=1"])
    clock = time.process_time()
    result = estimate(config, report=False)
    seconds = time.process_time() - clock
    values = {p.name: (p.value, p.std_dev) for p in (*result.parameters, *result.derived)}
    keys = [k for k in result.metrics["validate"] if "rms" in k]
    return {
        "status": result.status,
        "validate": {k: result.metrics["validate"][k] for k in keys},
        "train": {k: result.metrics["train"][k] for k in keys},
        "objective": result.metrics["train"]["objective"],
        "evaluations": result.metrics["train"]["evaluations"],
        "rollouts": result.metrics["train"]["rollouts"],
        "free_parameters": sum(p.std_dev is not None for p in result.parameters),
        "cpu_s_all": seconds,
        "fit_s": result.metrics["timing"]["fit"],
        **evaluated(values),
    }


class Theirs:
    """The same trials, parameters, sigmas and starts for mujoco.sysid."""

    def __init__(self, step: float = FITTED) -> None:
        self.step = step
        self.config = load_estimation(CONFIG)
        experiment = JointExperiment(self.config)
        self.model, self.data = experiment.model, experiment.read({})
        self.spec, self.rollouts = spec_of(step), 0

    def parameters(self):
        """Their ParameterDict with our first guesses and bounds, logarithms where ours are."""
        from mujoco import sysid

        found = sysid.ParameterDict()
        for name, options in self.config.parameters.items():
            if name.startswith("payload."):
                continue
            what, _, joint = name.partition("_")
            log = options.scale == "log"
            value, *bounds = np.log([options.value, *options.bounds]) if log else (
                options.value, *options.bounds)  # fmt: skip
            modifier = None
            if what in TRUTH:

                def modifier(s, p, what=what, joint=f"{joint}_joint", log=log):
                    put(s, what, joint, float(np.exp(p.value[0]) if log else p.value[0]))

            found.add(sysid.Parameter(name, value, *bounds, modifier=modifier))
        ten = [o for n, o in self.config.parameters.items() if n.startswith("payload.")]
        found.add(
            sysid.Parameter(
                "payload", [o.value for o in ten], *np.array([o.bounds for o in ten]).T,
                modifier=_payload,
            )
        )  # fmt: skip
        return found

    def transform(self, params):
        """Delays, gain and bias by their SignalTransform, weights by our sigmas."""
        from mujoco import sysid

        found = sysid.SignalTransform(normalize=False)
        for signal, delay in (
            ("position", "delay"),
            ("velocity", "delay"),
            ("effort", "delay_effort"),
        ):
            found.delay(f"*_{signal}", params[delay])
        found.gain("*_effort", params["effort_gain"], target="predicted")
        found.bias("elbow_joint_effort", params["elbow_bias"], target="predicted")
        found.set_sensor_weights(
            {
                f"{joint}_{signal}": 1.0 / reading.sigma
                for signal, joints in self.model.readings.items()
                for joint, reading in joints.items()
            }
        )
        return found

    def sequence(self, log: Observation):
        """(initial state, control, sensordata) of a trial."""
        import mujoco
        from mujoco import sysid

        model = self.spec.compile()
        q = self.model.start(log)
        state = sysid.create_initial_state(model, q, np.zeros(6), mujoco.MjData(model).act)
        t = np.arange(round(log.t[-1] / self.step) + 1) * self.step
        coarse = np.arange(self.model.keys) * FITTED
        target = CubicSpline(coarse, self.model.commands(log))(t)
        control = np.concatenate([target, np.gradient(target, self.step, axis=0)], axis=1)
        values = np.concatenate(
            [np.stack([log.column(log.measured[s], j) for j in JOINTS], axis=1)
             for s in ("position", "velocity", "effort")], axis=1,
        )  # fmt: skip
        return (
            state,
            sysid.TimeSeries.from_control_names(t, control, model),
            sysid.TimeSeries.from_names(log.t, values, model),
        )

    def groups(self, logs):
        """Their ModelSequences of these trials."""
        from mujoco import sysid

        sequences = [self.sequence(log) for log in logs]
        names = [f"trial {log.trial}" for log in logs]
        return [sysid.ModelSequences("ur5", self.spec, names, *zip(*sequences, strict=True))]

    def fit(self, iterations: int = 60) -> dict:
        """Their optimiser and differences as they are by default."""
        from mujoco import sysid

        first = self.parameters()
        transform = self.transform(first)

        def counted(*arguments, **more):
            self.rollouts += 1
            return transform.apply(*arguments, **more)

        function = sysid.build_residual_fn(
            models_sequences=self.groups(self.data.train), modify_residual=counted, n_threads=1
        )
        clock, wall = time.process_time(), time.perf_counter()
        best, found = sysid.optimize(
            first, function, verbose=False, max_iters=iterations, x_scale="jac"
        )
        seconds, wall, rollouts = (
            time.process_time() - clock,
            time.perf_counter() - wall,
            self.rollouts,
        )
        rest, _, _ = function(best.as_vector(), best)
        covariance, half = sysid.calculate_intervals(rest, found.jac)
        return {
            "validate": self.errors(best, self.data.validate),
            "train": self.errors(best, self.data.train),
            "objective": 0.5 * sum(float(np.sum(r * r)) for r in rest) / len(self.data.train),
            "rollouts": rollouts,
            "free_parameters": int(best.size),
            "cpu_s_fit": seconds,
            "fit_s": wall,
            **evaluated(self.estimates(best, covariance, half)),
        }

    def at_truth(self) -> float:
        """Mean square of the weighed residuals of the training trials at the true parameters.

        1 were the sensor's noise alone; what is above is the simulator's error at this step.
        """
        from mujoco import sysid

        params, known = self.parameters(), truth()
        for name in params.keys():
            if name in known:
                log = self.config.parameters[name].scale == "log"
                params[name].value[:] = np.log(known[name]) if log else known[name]
        params["payload"].value[:] = true_theta()
        function = sysid.build_residual_fn(
            models_sequences=self.groups(self.data.train),
            modify_residual=self.transform(params).apply,
            n_threads=1,
        )
        rest, _, _ = function(params.as_vector(), params)
        return float(np.mean(np.concatenate([np.ravel(r) for r in rest]) ** 2))

    def estimates(self, params, covariance, half) -> dict[str, tuple[float, float]]:
        """Value and sigma of every number, the payload in physical words."""
        found, first = {}, 0
        sigma = np.asarray(half) / 1.96
        for name in params.keys():
            value, size = params[name].value, params[name].size
            span = slice(first, first + size)
            first += size
            if name == "payload":
                values, J = physical(value)
                spread = np.sqrt(np.einsum("ai,ij,aj->a", J, covariance[span, span], J))
                words = [w for w in truth() if w.startswith("payload.")]
                found |= dict(zip(words, zip(values, spread, strict=True), strict=True))
                continue
            log = self.config.parameters[name].scale == "log"
            x = float(np.exp(value[0]) if log else value[0])
            found[name] = (x, float(sigma[span][0] * (x if log else 1.0)))
        return found

    def errors(self, params, logs) -> dict:
        """Root mean squares of predictions, as ours are taken."""
        from mujoco import sysid

        transform = self.transform(params)
        function = sysid.build_residual_fn(
            models_sequences=self.groups(logs), modify_residual=transform.apply, n_threads=1
        )
        rest, _, _ = function(params.as_vector(), params)
        sigma = [
            self.model.readings[s][j].sigma
            for s in ("position", "velocity", "effort")
            for j in JOINTS
        ]
        apart = np.concatenate([np.reshape(r, (-1, 18)) for r in rest]) * sigma
        names = ("position_rms_rad", "velocity_rms_rad_s", "effort_rms_Nm")
        return {
            name: float(np.sqrt(np.mean(apart[:, 6 * k : 6 * k + 6] ** 2)))
            for k, name in enumerate(names)
        }


def _payload(spec, parameter) -> None:
    """Their modifier of a pseudo-inertia, put right: as MuJoCo 4.0.0 has it the inertia is zero."""
    from mujoco.sysid._src.model_modifier import apply_body_theta_inertia

    apply_body_theta_inertia(spec, "payload", parameter.value)
    spec.body("payload").iquat[:] = [1, 0, 0, 0]


def ours_at_truth() -> float:
    """The same of ours, at the step of config/estimation/ur5_log.yaml."""
    experiment = JointExperiment(load_estimation(CONFIG))
    model, known = experiment.model, truth()
    z = {n: known[n] for n in model.map.names if n in known}
    names = [n for n in model.config.parameters if n.startswith("payload.")]
    z = model.map.scaled(z | dict(zip(names, true_theta(), strict=True)))
    problem = model.problem(experiment.read({}).train, z)
    evaluation = problem.evaluate(z)
    prior, _ = model.map.prior(z)
    return float((2 * evaluation.value - prior @ prior) / evaluation.count)


def study() -> dict:
    """Both, one after the other, on one thread; theirs at our step and at a quarter of it too."""
    found = {"ours": ours(), "mujoco.sysid": Theirs().fit()}
    found["mujoco.sysid, a quarter of the step"] = Theirs(FITTED / 4).fit()
    steps = {f"mujoco at {1e3 * h:g} ms": Theirs(h).at_truth() for h in (2e-3, 5e-4, 1e-4)}
    found["mean_square_at_truth"] = {f"ours at {1e3 * FITTED:g} ms": ours_at_truth()} | steps
    return found


if __name__ == "__main__":
    make_log(ROOT / "data" / "ur5_log" / "ur5_log.npz")
