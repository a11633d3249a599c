"""What a designed excitation tells of a UR5, beside the motion of a throw of the same duration.

The twin of config/twin/ur5_efforts.yaml executes both: config/planning/ur5_throw.yaml, and
config/planning/ur5_excitation.yaml designed for that duration.  Every combination of inertias,
rotors and friction that efforts of the joints that move in the throw tell is compared: its standard
deviation, and whether the stated interval holds the truth.  Twice: by least squares, which know
nothing but the efforts, and as users fit them, by real2sim.efforts with the inertias tied to those
of a URDF that lacks the payload.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import yaml
from scipy.linalg import qr

from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.excitation import ExcitationResult, design, load_excitation
from diffsim_ros.real2sim.efforts import EffortModel, EffortOptions, identify
from diffsim_ros.real2sim.efforts.physical import from_pseudo_inertia, pseudo_inertia
from diffsim_ros.robots.dynamics import PARAMETERS, inertial_parameters, regressor
from diffsim_ros.robots.kinematics import joint_poses
from diffsim_ros.robots.robot import Robot
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.observation import Observation
from diffsim_ros.twin.execution import joint_log
from diffsim_ros.twin.twin import Twin

from .common import ROOT, judged, share

THROW = ROOT / "config" / "planning" / "ur5_throw.yaml"
EXCITATION = ROOT / "config" / "planning" / "ur5_excitation.yaml"
TWIN = ROOT / "config" / "twin" / "ur5_efforts.yaml"
URDF = ROOT / "urdf" / "ur5.urdf"
SEEDS, FITS, REPEATS = 200, 3, 10
"""Draws of noise, those of them that real2sim.efforts fits too, executions of a motion in each."""
MOVES = 0.05
"""[rad] by which a joint of the throw moves at least, to count."""
SLOW = 0.03
"""A joint's efforts count where it is faster than this share of its fast speed."""
OWN = ("armature", "offset", "viscous", "coulomb")
"""Of a joint beside the inertias, in the order of the fits' coefficients."""
MOST, COVERED = 0.5, (0.93, 0.97)
"""Bars of least squares: sigma over that of the throw; share of intervals that hold the truth."""
NORMAL = 1.96
QUICK = {"starts": 1, "iterations": 15}
"""Of the search in a part of the study."""
UNTOLD = 1e-10
"""Singular values below this share of the largest: a joint that only went one way does not tell
friction from an offset."""


@dataclass(frozen=True)
class Compared:
    """Combinations (k, p) of a robot's parameters that efforts tell, and their names; p: ten of
    every body, then OWN of every joint."""

    names: tuple[str, ...]
    table: np.ndarray


def told(robot: Robot) -> Compared:
    """By QR with pivots at random states, as base_parameters, with rotors and friction."""
    rng, n = np.random.default_rng(0), len(robot.joints)
    q, qd, qdd = rng.uniform(-np.pi, np.pi, size=(3, 30 * n, n))
    X = design_table(robot, q, qd, qdd).reshape(len(q) * n, -1)
    _, R, order = qr(X, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(R))
    rank = int(np.sum(size > 1e-9 * size[0]))
    table = np.zeros((rank, X.shape[1]))
    table[:, order[:rank]] = np.eye(rank)
    table[:, order[rank:]] = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    names = [f"{j.body}.{word}" for j in robot.joints for word in PARAMETERS]
    names += [f"{j.name}.{word}" for j in robot.joints for word in OWN]
    place = np.argsort(order[:rank])
    return Compared(tuple(names[order[k]] for k in place), table[place])


def merged(robot: Robot, part: Robot, q: np.ndarray) -> np.ndarray:
    """(p of part, p of robot): parameters of a robot of which joints are held at q (n,), by those
    of the whole."""
    n, kept = len(robot.joints), [robot.joint_names.index(name) for name in part.joint_names]
    out = np.zeros((14 * len(kept), 14 * n))
    poses = [pose[0] for pose in joint_poses(robot, q[None])]
    for i in range(n):
        carrier = next(k for k in reversed(robot.branch(i)) if k in kept)
        pose = np.linalg.solve(poses[carrier], poses[i])
        row = 10 * kept.index(carrier)
        for a in range(10):
            moved = pose @ pseudo_inertia(np.eye(10)[a]) @ pose.T
            out[row : row + 10, 10 * i + a] = from_pseudo_inertia(moved)
    for k, joint in enumerate(kept):
        out[10 * len(kept) + 4 * k :, 10 * n + 4 * joint :][:4, :4] = np.eye(4)
    return out


def flat(model: EffortModel) -> tuple[np.ndarray, np.ndarray]:
    """Values (p,) and covariance (p, p) of a fit, without its gains."""
    c, n = model.coefficients, len(model.robot.joints)
    values = np.concatenate([c.phi.ravel(), *c.friction])
    rest = np.delete(np.arange(len(model.covariance)), np.arange(10 * n, 11 * n))
    return values, model.covariance[np.ix_(rest, rest)]


def truth(twin: Twin) -> np.ndarray:
    """The same (p,) of the twin's whole robot."""
    true = twin.config.efforts
    assert true is not None
    own = np.stack([true.armature, true.offset, true.damping, true.friction], axis=1)
    return np.concatenate([inertial_parameters(true.robot).ravel(), own.ravel()])


def noisy(log: Observation, sigma: np.ndarray, rng: np.random.Generator) -> Observation:
    """A log with noise of its efforts."""
    effort = log.values["effort"] + sigma * rng.normal(size=log.values["effort"].shape)
    return replace(log, values={**log.values, "effort": effort})


def throw() -> JointTrajectory:
    """The command of the planned throw, without a release: nothing is held."""
    found = plan(load_plan(THROW))
    assert found.carried is not None, found.rounds
    return replace(found.carried.trajectory, release=None)


def excitation(duration: float, search: Mapping) -> ExcitationResult:
    """The excitation of this duration [s], and section `search`; all else as in its file."""
    given = yaml.safe_load(EXCITATION.read_text())
    given["excitation"] |= {"duration": float(duration)}
    given["search"] = {"starts": 2, **search}
    return design(load_excitation(given, base=EXCITATION))


def silent() -> Twin:
    """The twin without noise: that is drawn here."""
    config = Twin(TWIN).config
    assert config.efforts is not None
    quiet = replace(config.efforts, sigma=np.zeros(len(config.efforts.sigma)))
    return Twin(replace(config, efforts=quiet))


@dataclass(frozen=True)
class LeastSquares:
    """Of combinations (`told`) of a robot's parameters, by efforts of known white noise.

    gain  (k, rows) by which efforts give their values;  covariance (k, k);  kept  rows that count
    untold  (k, u) directions that the efforts do not tell
    """

    gain: np.ndarray
    covariance: np.ndarray
    untold: np.ndarray
    kept: np.ndarray
    weight: np.ndarray

    def values(self, effort: np.ndarray) -> np.ndarray:
        """(k,) of efforts (m, n)."""
        return self.gain @ (effort * self.weight)[self.kept]


def least_squares(robot: Robot, log: Observation, sigma: np.ndarray) -> LeastSquares:
    """Joints are in the order of the robot's; positions and velocities are without noise."""
    columns = [log.names.index(name) for name in robot.joint_names]
    q, t = log.values["position"][:, columns], log.t
    qd = np.gradient(q, t, axis=0)
    qdd = np.gradient(log.values["velocity"][:, columns], t, axis=0)
    kept = np.abs(qd) > SLOW * np.percentile(np.abs(qd), 95, axis=0)
    weight = 1.0 / sigma[columns]
    X = (design_table(robot, q, qd, qdd) * weight[:, None])[kept]
    Y = X @ np.linalg.pinv(told(robot).table)
    size = np.linalg.norm(Y, axis=0)
    U, values, V = np.linalg.svd(Y / size, full_matrices=False)
    told_by = values > UNTOLD * values[0]
    back = V[told_by].T / values[told_by] / size[:, None]
    untold = V[~told_by].T / size[:, None]
    return LeastSquares(back @ U[:, told_by].T, back @ back.T, untold, kept, weight)


def design_table(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(m, n, p) columns of a robot's parameters."""
    n = len(robot.joints)
    own = np.stack([qdd, np.ones_like(qd), qd, np.sign(qd)], axis=2)
    own = np.einsum("mjk,ji->mjik", own, np.eye(n)).reshape(len(q), n, -1)
    return np.concatenate([regressor(robot, q, qd, qdd), own], axis=2)


def study(fraction: float = 1.0) -> dict:
    """Both motions, fitted; fraction: of the seeds."""
    twin, thrown = silent(), throw()
    noise = Twin(TWIN).config.efforts
    assert noise is not None
    clock = time.process_time()
    designed = excitation(thrown.duration, QUICK if fraction < 1 else {})
    seconds = time.process_time() - clock
    swung = np.ptp(thrown.positions, axis=0) > MOVES
    names = [name for name, moves in zip(thrown.names, swung, strict=True) if moves]
    home = dict(zip(thrown.names, twin.config.arm.home, strict=True))
    held = {name: float(q) for name, q in home.items() if name not in names}
    whole = load_robot(URDF, meshes="ignore")
    part = load_robot(URDF, meshes="ignore", joints=names, held=held)
    compared, down = told(part), merged(whole, part, twin.config.arm.home)
    cases = {
        "throw": Case(part, joint_log(twin, thrown), compared.table, compared.table),
        "excitation": Case(
            whole, joint_log(twin, designed.carried.trajectory), compared.table @ down,
            compared.table @ down @ np.linalg.pinv(told(whole).table),
        ),
    }  # fmt: skip
    right = compared.table @ down @ truth(twin)
    found = {
        "joints_of_the_throw": names,
        "duration_s": float(thrown.duration),
        "executions": REPEATS,
        "design_cpu_s": seconds,
        "sigma_over_drawn_motions": designed.gain,
    }
    sigma = noise.sigma
    squares = [one.by_least_squares(share(SEEDS, fraction), sigma) for one in cases.values()]
    found["least_squares"] = summary(compared.names, squares, right)
    if fraction == 1:
        fits = [one.by_efforts(FITS, sigma) for one in cases.values()]
        found["real2sim_efforts"] = summary(compared.names, fits, right)
    return judged(found, missed(found, fraction))


@dataclass(frozen=True)
class Case:
    """A robot's log without noise; turn: the combinations compared (k, p) by its parameters, and
    by the combinations of its own that efforts tell (k, b)."""

    robot: Robot
    log: Observation
    turn: np.ndarray
    by_told: np.ndarray

    def by_least_squares(self, seeds: int, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and standard deviations (seeds, k)."""
        solved, by = least_squares(self.robot, self.log, sigma), self.by_told
        if by.shape == self.turn.shape:  # the throw's own
            by = np.eye(len(self.turn))
        columns = [self.log.names.index(name) for name in self.robot.joint_names]
        effort, rows = self.log.values["effort"][:, columns], []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, len(columns)])
            noise = rng.normal(size=effort.shape) * sigma[columns] / np.sqrt(REPEATS)
            rows.append(by @ solved.values(effort + noise))  # the mean of REPEATS executions
        spread = np.sqrt(np.diagonal(by @ solved.covariance @ by.T) / REPEATS)
        lost = np.abs(by @ solved.untold) > 1e-6 * np.linalg.norm(solved.untold, axis=0)
        spread[lost.any(axis=1)] = np.inf
        return np.array(rows), np.tile(spread, (seeds, 1))

    def by_efforts(self, seeds: int, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same by real2sim.efforts: torques in N m, friction of the kind that the twin has."""
        gains = dict.fromkeys(self.robot.joint_names, 1.0)
        options = EffortOptions(friction=("coulomb_viscous",), gains=gains)
        rows, spread = [], []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, len(gains)])
            logs = [noisy(self.log, sigma, rng) for _ in range(REPEATS)]
            values, covariance = flat(identify(self.robot, logs, options))
            rows.append(self.turn @ values)
            spread.append(np.sqrt(np.diagonal(self.turn @ covariance @ self.turn.T)))
        return np.array(rows), np.array(spread)


def summary(names: Sequence[str], fits: Sequence[tuple], right: np.ndarray) -> dict:
    """Of fits of the throw and of the excitation: (values, standard deviations) (seeds, k)."""
    keys = ("throw", "excitation")
    spread = {key: np.median(found[1], axis=0) for key, found in zip(keys, fits, strict=True)}
    inside = {
        key: np.abs(values - right) <= NORMAL * sigma
        for key, (values, sigma) in zip(keys, fits, strict=True)
    }
    known = np.isfinite(spread["throw"])
    ratio = spread["excitation"] / spread["throw"]
    worst = int(np.argmax(ratio))
    return {
        "seeds": len(fits[0][0]),
        "sigma_over_throw": {
            "median": float(np.median(ratio[known])), "worst": float(ratio[worst]),
            "worst_of": names[worst], "above_half": int(np.sum(ratio > MOST)),
            "of": int(known.sum()),
            "untold_by_the_throw": [names[k] for k in np.flatnonzero(~known)],
        },
        "intervals_with_truth": {
            key: float(table[:, known].mean()) for key, table in inside.items()
        },
        "parameters": {
            name: {
                "truth": float(right[k]),
                **{f"sigma_{key}": finite(spread[key][k]) for key in keys},
                "ratio": float(ratio[k]),
                **{f"inside_{key}": float(inside[key][:, k].mean()) for key in keys},
            }
            for k, name in enumerate(names)
        },
    }  # fmt: skip


def finite(value: float) -> float | None:
    """None for what is not told."""
    return float(value) if np.isfinite(value) else None


def missed(found: Mapping, fraction: float) -> list[str]:
    """Bars that were missed: those of least squares."""
    squares, out = found["least_squares"], []
    over = squares["sigma_over_throw"]
    if fraction == 1 and over["worst"] > MOST:
        out.append(f"{over['worst_of']}: {over['worst']:.2f} of the throw's sigma, bar {MOST:g}")
    low, high = COVERED
    for key, rate in squares["intervals_with_truth"].items():
        if fraction == 1 and not low <= rate <= high:
            out.append(
                f"{key}: {rate:.3f} of the intervals hold the truth, bar {low:g} to {high:g}"
            )
    return out
