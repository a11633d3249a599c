"""A real arm as one body: friction, motor constants and payload from some motions, on others.

The TIAGo of arm_efforts.  Its log is eight motions of 5 s.  Five of them, drawn at random, tell
gains and friction with the whole arm's dynamics of the URDF; on the other three its currents are
predicted, and the arm is moved by its currents (arm_motion), beside the URDF's own values with
gains and offsets alone, five coefficients a joint, and a constant.  Standard deviations are held
against fits of two halves of the motions.  Motor constants and payload have a truth from elsewhere:
the constants of the robot's own controller, a weight on the wrist's force sensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diffsim_ros.real2sim.efforts import EffortModel, EffortOptions, errors_of, identify
from diffsim_ros.real2sim.efforts.friction import direction
from diffsim_ros.real2sim.efforts.samples import Samples
from diffsim_ros.real2sim.sensors.effort.parameters import (
    deviations,
    names_of,
    payload_of,
    terms_of,
)
from diffsim_ros.robots.robot import Inertial, Robot
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.observation import Observation
from diffsim_ros.sensing.read import read_trials

from .arm_efforts import LOG, part, tiago_urdf
from .arm_motion import INTERVAL, Drives, Windows, arm_scene, moved, moved_alone
from .common import judged, share

FIRST, LENGTH, MOTIONS = 8.3, 5.0, 8
"""Start of the motions [s], their length [s] and number: before, the arm stands, and the torso runs
against its end stop."""
TRAINED, SPLITS, HALVES = 5, 10, 20
"""Motions that are trained on; how many times they are drawn, and halves are."""
BANDWIDTH = 1.2
"""Of the filter [Hz], about what `signals.band_of` gives of these motions."""
TOLD = ("torso_lift_joint", "arm_1_joint", "arm_2_joint", "arm_3_joint", "arm_4_joint")
"""Joints whose currents are measurements; those of the wrist are 0 at most samples."""
LOADED = ("arm_2_joint", "arm_3_joint", "arm_4_joint")
"""Joints that carry weight, so that currents tell their torque."""
HORIZONS = (0.2, 0.5, 1.0, 2.0)
"""Times after a start [s] at which motions are compared."""
CONSTANTS = {"arm_2_joint": 13.6, "arm_3_joint": -8.7, "arm_4_joint": -8.7}
"""[N m/A] Torque constants of the gravity_compensation controller of this very robot, times gears
of 100 (figaroh-examples, examples/tiago/data/identification/audit/controller_constants.csv and
identification.py).  It has none for the other joints."""
SCALE = 0.865
"""What a weight of 0.489 kg in the hand made of the efforts by these constants, as a share of what
it should have (payload_check.py there; a recording that is not ours)."""
TOOL, LIGHTER = "wrist_ft_link", -0.24
"""The wrist's force sensor weighed the hand at so much less than the 1.032 kg that the URDF has
below it [kg] (section 2.5 of tiago-identification-inputs-2026-10-10.md there)."""
HAND = np.array([0.002, 0.003, 0.147])
"""Centre of those 1.032 kg in the frame of arm_7_link [m]."""
EFFORT_BARS = {"urdf": 0.5, "five": 0.9}
"""Whole arm's error over others', geometric means over LOADED and all draws."""
MOTION_BAR = 0.2
"""The same of positions after 1 s, beside the URDF's."""
HONEST = (0.7, 1.3)
"""Root mean square of differences of halves over their standard deviations."""


def motions(log: Observation, numbers: Sequence[int]) -> list[Observation]:
    """Motions of the log."""
    starts = [FIRST + LENGTH * k for k in sorted(numbers)]
    return [part(log, start, start + LENGTH) for start in starts]


def options(**changes) -> EffortOptions:
    """How the whole arm is fitted: the URDF's inertias, rotors and friction of the right
    sign."""
    given = {"bandwidth": BANDWIDTH, "gammas": (np.inf,), "physical": True}
    return EffortOptions(**(given | changes))


def by_urdf(model: EffortModel, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Gains and offsets (n,) of the URDF's bodies, damping and friction, by the trained samples."""
    torque, n = urdf_torque(model, samples), len(model.robot.joints)
    found = np.zeros((n, 2))
    for j in range(n):
        on = samples.moving[:, j]
        columns = np.column_stack([torque[on, j], np.ones(on.sum())])
        found[j] = np.linalg.lstsq(columns, samples.effort[on, j], rcond=None)[0]
    return found[:, 0], found[:, 1]


def urdf_torque(model: EffortModel, samples: Samples) -> np.ndarray:
    """What the URDF says that joints exert (N, n) [N m, N]."""
    rows = []
    for motion, load, taken in zip(samples.motions, samples.loads, samples.taken, strict=True):
        dry = motion.filtered(direction(motion.qd, model.fast))
        rubs = [joint.damping * motion.qd[:, j] + joint.friction * dry[:, j]
                for j, joint in enumerate(model.robot.joints)]  # fmt: skip
        rows.append((load + np.stack(rubs, axis=1))[taken])
    return np.concatenate(rows)


def drawn(robot: Robot, log: Observation, scene, seed: int) -> dict:
    """One draw of motions: errors of currents [A] and of positions [rad] on those left out."""
    order = np.random.default_rng(seed).permutation(MOTIONS)
    train, others = motions(log, order[:TRAINED]), motions(log, order[TRAINED:])
    whole = identify(robot, train, options())
    free = identify(robot, train, options(physical=False))
    simple = identify(robot, train, options(friction=("coulomb_viscous",)))
    gain, offset = by_urdf(whole, whole.samples(train))
    samples = whole.samples(others)
    off = samples.effort - gain * urdf_torque(whole, samples) - offset
    simply, freely = (
        {e.joint: e.rms for e in errors_of(one, one.samples(others))} for one in (simple, free)
    )
    efforts = {}
    for e in errors_of(whole, samples):
        j = robot.joint_names.index(e.joint)
        urdf = float(np.sqrt(np.mean(off[samples.moving[:, j], j] ** 2)))
        efforts[e.joint] = {
            "law": e.law, "whole": e.rms, "signs_free": freely[e.joint],
            "coulomb_viscous": simply[e.joint], "urdf": urdf, "five": e.five,
            "constant": e.constant,
        }  # fmt: skip
    return {
        "predicted": sorted(int(k) for k in order[TRAINED:]),
        "efforts": efforts,
        "positions": positions(robot, scene, simple, samples, gain, offset),
    }


def positions(robot: Robot, scene, model: EffortModel, samples: Samples, gain, offset) -> dict:
    """Errors of the joints that currents move, after HORIZONS: model -> joint -> list."""
    told = [robot.joint_names.index(name) for name in LOADED]
    fitted = np.array(model.coefficients.friction)  # armature, offset, viscous, Coulomb
    damping = np.array([joint.damping for joint in robot.joints])
    friction = np.array([joint.friction for joint in robot.joints])
    five = model.baseline  # gravity, viscous, Coulomb, acceleration, offset
    windows = Windows.of(samples.motions)
    t = np.arange(windows.q.shape[1]) * INTERVAL
    ends = {
        "whole": moved(
            scene, robot, Drives.of(told, model.fast, model.coefficients.gain, *fitted.T), windows
        ),
        "urdf": moved(
            scene, robot,
            Drives.of(told, model.fast, gain, 0 * gain, offset, gain * damping, gain * friction),
            windows,
        ),
        "five": moved_alone(
            robot,
            Drives.of(told, model.fast, five[:, 0], five[:, 3], five[:, 4], five[:, 1], five[:, 2]),
            windows,
        ),
        "constant_velocity": windows.q[:, :1] + windows.qd[:, :1] * t[None, :, None],
        "standing": np.broadcast_to(windows.q[:, :1], windows.q.shape),
    }  # fmt: skip
    rows = [round(horizon / INTERVAL) for horizon in HORIZONS]
    backward = [name for name, j in zip(LOADED, told, strict=True) if five[j, 3] * five[j, 0] < 0]
    if not model.coefficients.gain[told].all():
        raise AssertionError(f"currents of five motions do not tell all gains of {LOADED}")
    found: dict = {"windows": len(windows.q), "inertia_below_zero": backward}
    for name, q in ends.items():
        if not np.isfinite(q).all():
            raise AssertionError(f"{name}: a simulated motion did not end")
        rms = np.sqrt(np.mean((q - windows.q) ** 2, axis=0))[rows]
        found[name] = {LOADED[i]: rms[:, j].tolist() for i, j in enumerate(told)}
    return found


def halves(robot: Robot, log: Observation, count: int, law: str) -> dict:
    """Differences of every coefficient of two halves of the motions, fitted by themselves, over
    their standard deviations as `diffsim estimate` gives them."""
    found: dict[str, list[float]] = {}
    factors, beside = [], 0
    for seed in range(count):
        order = np.random.default_rng(1000 + seed).permutation(MOTIONS)
        ends = [identify(robot, motions(log, half), options(friction=(law,), physical=False))
                for half in (order[:4], order[4:])]  # fmt: skip
        factors += [end.enlargement for end in ends]
        values = []
        for end in ends:
            own = np.concatenate([end.coefficients.gain, *end.coefficients.friction])
            values.append(dict(zip(names_of(end), own, strict=True)))
        spreads = [deviations(end) for end in ends]
        for name in values[0]:
            joint = next(one for one in robot.joint_names if name.endswith(one))
            sigma = float(np.hypot(spreads[0][name], spreads[1][name]))
            kinds = {end.kinds[robot.joint_names.index(joint)] for end in ends}
            if joint not in TOLD or min(one[name] for one in spreads) <= 0.0:
                continue
            if len(kinds) > 1:  # friction and offset beside a gain of 0 are other numbers
                beside += 1
                continue
            found.setdefault(joint, []).append((values[0][name] - values[1][name]) / sigma)
    every = np.concatenate(list(found.values()))
    return {
        "compared": len(every),
        "gain_told_by_one_half_alone": beside,
        "rms": float(np.sqrt(np.mean(every**2))),
        "within_two": float(np.mean(np.abs(every) < 2)),
        "rms_by_joint": {k: float(np.sqrt(np.mean(np.square(v)))) for k, v in found.items()},
        "largest_factor": max(factors),
    }


def as_weighed(robot: Robot) -> Robot:
    """The robot with the hand's mass by the force sensor, its centre as in the URDF."""
    last = robot.joints[-1]
    own = last.inertial
    mass = own.mass + LIGHTER
    centre = (own.mass * own.centre + LIGHTER * HAND) / mass
    inertial = Inertial(mass, centre, own.inertia * mass / own.mass)
    return replace(robot, joints=(*robot.joints[:-1], replace(last, inertial=inertial)))


def constants(robot: Robot, log: Observation) -> dict:
    """Gains of the loaded joints by all motions, over those of the robot's own controller."""
    model = identify(robot, motions(log, range(MOTIONS)), options())
    every = deviations(model)
    found = {}
    for name, constant in CONSTANTS.items():
        j = robot.joint_names.index(name)
        sigma = every[f"gain_{name}"] if model.kinds[j] == "estimated" else None
        found[name] = {
            "gain_A_per_Nm": float(model.coefficients.gain[j]),
            "kind": str(model.kinds[j]),
            "over_controller": float(model.coefficients.gain[j] * constant),
            "sigma": None if sigma is None else sigma * abs(constant),
        }
    wrong = [
        f"{term}_{name}"
        for j, name in enumerate(robot.joint_names)
        for term, kept in zip(terms_of(model, j), model.kept[j], strict=True)
        if not kept
    ]
    return {"joints": found, "of_the_wrong_sign": wrong}


def payloads(robot: Robot, log: Observation) -> dict:
    """Mass and first moment at the wrist beside the URDF's, with gains that are known and not."""
    scaled = {name: SCALE / constant for name, constant in CONSTANTS.items()}
    known = {name: 1.0 / constant for name, constant in CONSTANTS.items()}
    found: dict = {"weighed_kg": LIGHTER}
    every = motions(log, range(MOTIONS))
    for name, gains in (("gains_estimated", {}), ("controller", known), ("scaled", scaled)):
        model = identify(robot, every, options(payload=TOOL, gains=gains))
        found[name] = {
            one.name.removeprefix("payload."): {"value": one.value, "sigma": one.std_dev}
            for one in payload_of(model)
        }
    return found


def mean_ratio(
    draws: Sequence[dict], joints: Sequence[str], other: str, own: str = "whole"
) -> float:
    """Geometric mean over draws and joints of one error of currents over another."""
    logs = [np.log(one["efforts"][j][own] / one["efforts"][j][other])
            for one in draws for j in joints]  # fmt: skip
    return float(np.exp(np.mean(logs)))


def study(fraction: float = 1.0) -> dict:
    """Errors of every draw, halves, motor constants and payload; fraction: of draws and halves."""
    (log,) = read_trials(LOG, "joints")
    urdf = tiago_urdf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mended inertias, which arm_efforts counts
        robot = load_robot(urdf, meshes="ignore", joints=log.names)
        scene = arm_scene(str(urdf), robot, [robot.joint_names.index(name) for name in LOADED])
    draws = [drawn(robot, log, scene, seed) for seed in range(share(SPLITS, fraction))]
    others = ("urdf", "five", "constant")
    ratios = {
        name: {other: mean_ratio(draws, [name], other) for other in others}
        | {
            f"{own}_over_five": mean_ratio(draws, [name], "five", own)
            for own in ("signs_free", "coulomb_viscous")
        }
        for name in TOLD
    }
    after = {
        model: {
            f"{t:g} s": float(np.sqrt(np.mean([
                one["positions"][model][name][i] ** 2 for one in draws for name in LOADED
            ])))
            for i, t in enumerate(HORIZONS)
        }
        for model in ("whole", "urdf", "five", "constant_velocity", "standing")
    }  # fmt: skip
    laws = ("coulomb_viscous", "stribeck", "load")[: 3 if fraction >= 1 else 1]
    found = {
        "ratios_of_efforts": ratios,
        "loaded_joints": {other: mean_ratio(draws, LOADED, other) for other in others},
        "better_than_five": [
            sum(one["efforts"][name]["whole"] < one["efforts"][name]["five"]
                for one in draws for name in LOADED), len(draws) * len(LOADED),
        ],
        "rms_of_positions_rad": after,
        "halves": {law: halves(robot, log, share(HALVES, fraction), law) for law in laws},
        "motor_constants": {
            "by_a_weight": SCALE,
            "urdf": constants(robot, log),
            "hand_as_weighed": constants(as_weighed(robot), log),
        },
        "payload": payloads(robot, log),
        "draws": draws,
    }  # fmt: skip
    missed = [
        f"currents of loaded joints: {found['loaded_joints'][other]:.3f} of the error of {other}, "
        f"bar {bar:g}"
        for other, bar in EFFORT_BARS.items()
        if found["loaded_joints"][other] > bar
    ]
    moved_on = after["whole"]["1 s"] / after["urdf"]["1 s"]
    if moved_on > MOTION_BAR:
        missed.append(f"positions after 1 s: {moved_on:.3f} of the URDF's error, bar {MOTION_BAR}")
    if fraction < 1:  # of few halves nothing can be said
        return judged(found, missed)
    for law, own in found["halves"].items():
        if not HONEST[0] <= own["rms"] <= HONEST[1]:
            missed.append(f"halves of {law}: rms {own['rms']:.2f}, not within {HONEST}")
    return judged(found, missed)
