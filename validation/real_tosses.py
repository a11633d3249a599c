"""Real drops of a square and an ellipse, tosses of a jointed object, two balls.

Each of config/estimation/{planar_square, planar_ellipse, elbow_toss, tennis_balls}.yaml is fitted
on some recordings and predicts the others, beside the simplest sensible baseline:

square, ellipse  rigid impacts with constant restitution and Coulomb friction (rigid_impacts), whose
                 two numbers are fitted to the same recordings
elbow            the same simulation at the YAML's first guess (the source's nominal friction), and
                 links that stay where they first touch
tennis           velocities kept, but for an exchange of momentum along the line of centres with the
                 restitution of the frames that are fitted

Differences are paired over recordings, with 95 % bootstrap intervals.  Another draw of training
recordings shows how far the standard deviations can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import EstimationConfig
from diffsim_ros.real2sim.results import EstimationResult
from diffsim_ros.real2sim.sensors.pose.experiment import (
    POSES,
    VELOCITIES,
    PoseExperiment,
    errors_of,
)
from diffsim_ros.sensing.observation import PoseTrial

from .common import ROOT, judged, share
from .rigid_impacts import PlanarBody, dropped, ellipse, planar, polygon, poses, struck

FOLDER = ROOT / "config" / "estimation"
TINY = ("fit.iterations=3", "fit.continuation={}")  # of a tenth's fit
SEEDS = (1, 2)
"""Draws of training recordings; the first is the YAML's."""
WINDOWS = {"early": 0.1, "whole": 0.0}
"""Times after the first contact [s] up to which motions are evaluated (0: all)."""
IMPACT = {"impact": 0.0}
SIDE, GROUND = 0.06, 0.0014  # [m], the square's (README of its data)
SQUARE = PlanarBody(
    0.0485, 2.91e-5, polygon(0.5 * SIDE * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
)
ELLIPSE = PlanarBody(0.05, 2.3125e-5, ellipse(0.035, 0.025))
GRID = [
    (float(e), mu)
    for e in np.arange(0.1, 0.91, 0.1)
    for mu in (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.5)
]
"""Restitutions and frictions that the baseline is fitted over."""

Errors = dict[str, float]


def configured(name: str, seed: int, fraction: float) -> EstimationConfig:
    """An estimation of config/estimation, at a fraction of its recordings and effort."""
    path = FOLDER / f"{name}.yaml"
    config = load_estimation(path)
    if config.train.trials == "all":
        tiny = ["fit.iterations=2", "fit.horizons=[12]"] if fraction < 1 else []
        return load_estimation(path, set=tiny)
    changes = [f"data.train.trials.seed={seed}"]
    if fraction < 1:
        count = max(4, share(config.train.trials.random, fraction))
        changes += [*TINY, f"data.train.trials.random={count}"]
        changes.append("data.validate.trials={random: 6, seed: 0}")
    return load_estimation(path, set=changes)


def parameters(result: EstimationResult) -> dict:
    """Value, standard deviation and note of every estimated parameter."""
    return {
        p.name: {"value": p.value, "std_dev": p.std_dev, "note": p.note}
        for p in result.parameters
        if not p.fixed
    }


class Fitted:
    """One estimation done, and predictions of the recordings that it did not see."""

    def __init__(self, config: EstimationConfig) -> None:
        self.config, self.result = config, estimate(config)
        self.experiment = PoseExperiment(config)
        self.data = self.experiment.read({})
        free = self.experiment.model.map
        self.z = free.scaled({name: self.result.values()[name] for name in free.names})

    def evaluated_to(self, window: float) -> PoseExperiment:
        """The experiment, evaluated up to this time after the first contact."""
        found = copy(self.experiment)
        measurement = replace(self.config.measurement, window=window)
        found.config = replace(self.config, measurement=measurement)
        found.model = replace(found.model, config=found.config)  # which keeps the starts it knows
        return found

    def errors(self, window: float, *, guess: bool = False) -> list[Errors]:
        """Of the validated recordings; with `guess` by the YAML's first guess."""
        experiment = self.evaluated_to(window)
        z = experiment.model.map.start if guess else self.z
        found, failures = experiment.predicted(self.data.validate, z, "validate")
        assert not failures, failures[0]
        return [p.errors for p in found]


def compared(ours: Sequence[Errors], theirs: Sequence[Errors]) -> dict:
    """Means of both, and ours minus theirs with its paired 95 % interval, per figure."""
    found: dict = {"recordings": len(ours)}
    for name in ours[0]:
        a, b = (np.array([errors[name] for errors in some]) for some in (ours, theirs))
        found[name] = {"ours": float(a.mean()), "baseline": float(b.mean())}
        if len(ours) > 1:
            found[name]["difference"] = float((a - b).mean())
            found[name]["interval"] = interval((a - b)[:, None], 0)[0]
    return found


# ---------------------------------------------------------------------------- planar bodies


def _state(experiment: PoseExperiment, trial: PoseTrial) -> np.ndarray:
    """Planar state (6,) of a trial's start."""
    (start,) = experiment.model.starts(trial, experiment.model.map.start)
    return planar(start.position, start.orientation, start.velocity, start.angular_velocity)


def _rigid_drops(experiment: PoseExperiment, trials: Sequence[PoseTrial], body: PlanarBody, e, mu):
    """Per trial: poses by rigid impacts (n, 1, 7) at the samples that count, and those samples."""
    starts = np.array([_state(experiment, trial) for trial in trials])
    kept = [experiment.model.kept_frames(trial) for trial in trials]
    times = np.arange(max(frames[-1] for _, frames in kept) + 1) * trials[0].dt
    states = dropped(body, starts, times, e, mu, ground=GROUND)
    return [
        (poses(states[frames, k])[:, None], samples) for k, (samples, frames) in enumerate(kept)
    ]


def _rigid_errors(experiment, trials: Sequence[PoseTrial], body: PlanarBody, e, mu) -> list[Errors]:
    return [
        errors_of(ours, trial.poses.value[samples][:, None], 0, POSES)
        for trial, (ours, samples) in zip(
            trials, _rigid_drops(experiment, trials, body, e, mu), strict=True
        )
    ]


def _rigid_impacts(
    experiment, trials: Sequence[PoseTrial], body: PlanarBody, e, mu
) -> list[Errors]:
    """Velocities after one rigid impact of the ellipse."""
    states = np.array([_state(experiment, trial) for trial in trials])
    after = struck(body, states[:, 3:], body.arms(states[:, 2])[:, 0], e, mu)
    none = np.zeros(len(after))
    motions = np.stack([after[:, 0], none, after[:, 1], none, -after[:, 2], none], axis=1)
    return [
        errors_of(motion[None, None], trial.velocity[1:, None], 0, VELOCITIES)
        for trial, motion in zip(trials, motions, strict=True)
    ]


def fitted_baseline(fitted: Fitted, simulate: Callable, body: PlanarBody, fraction: float):
    """Restitution and friction with the least error in the trained recordings, soon after contact.

    Errors add up with the weights of the estimation's own objective.
    """
    length, experiment = fitted.config.fit.length, fitted.evaluated_to(WINDOWS["early"])
    weights = {
        "position_error_m": length, "rotation_error_deg": np.degrees(1.0),
        "velocity_error_m_s": length, "spin_error_rad_s": 1.0,
    }  # fmt: skip

    def cost(pair: tuple[float, float]) -> float:
        every = simulate(experiment, fitted.data.train, body, *pair)
        return float(np.mean([sum(r[n] / w for n, w in weights.items() if n in r) for r in every]))

    return min(GRID if fraction >= 1 else GRID[::7], key=cost)


def planar_body(
    name: str, simulate: Callable, body: PlanarBody, windows: dict, fraction: float
) -> dict:
    """Fits of two draws, each beside rigid impacts that are fitted to the same recordings.

    Where the estimation has an inertia of its own, the rigid impacts are also given that one.
    """
    found: dict = {"draws": {}}
    for seed in SEEDS if fraction >= 1 else SEEDS[:1]:
        fitted = Fitted(configured(name, seed, fraction))
        values = fitted.result.values()
        rivals = {"rigid_impacts": body}
        if "inertia" in values:
            rivals["rigid_impacts_same_inertia"] = replace(body, moment=values["inertia"])
        entry: dict = {
            "status": fitted.result.status,
            "trained": len(fitted.data.train),
            "parameters": parameters(fitted.result),
        }
        for rival, other in rivals.items():
            e, mu = fitted_baseline(fitted, simulate, other, fraction)
            entry[rival] = {"restitution": e, "friction": mu}
            for label, window in windows.items():
                theirs = simulate(fitted.evaluated_to(window), fitted.data.validate, other, e, mu)
                entry[rival][label] = compared(fitted.errors(window), theirs)
        found["draws"][str(seed)] = entry
    return found


# ---------------------------------------------------------------------------- elbow


def _stays(experiment: PoseExperiment, trial: PoseTrial) -> Errors:
    """Bodies that stay where they are at the last sample of the flight."""
    keep, _ = experiment.model.kept_frames(trial)
    theirs = trial.poses.value[keep].reshape(len(keep), -1, 7)
    last = trial.poses.value[keep[0] - 1].reshape(1, -1, 7)
    return errors_of(np.repeat(last, len(keep), axis=0), theirs, 0, POSES)


def elbow(fraction: float) -> dict:
    """The jointed object beside its first guess, and beside links that stay."""
    found: dict = {"draws": {}}
    for seed in SEEDS if fraction >= 1 else SEEDS[:1]:
        fitted = Fitted(configured("elbow_toss", seed, fraction))
        entry: dict = {
            "status": fitted.result.status,
            "trained": len(fitted.data.train),
            "parameters": parameters(fitted.result),
        }
        for label, window in WINDOWS.items():
            ours, experiment = fitted.errors(window), fitted.evaluated_to(window)
            entry[label] = {
                "first_guess": compared(ours, fitted.errors(window, guess=True)),
                "stays": compared(ours, [_stays(experiment, t) for t in fitted.data.validate]),
            }
        found["draws"][str(seed)] = entry
    return found


# ---------------------------------------------------------------------------- tennis balls


def exchanged(position: np.ndarray, t: np.ndarray, last: int) -> np.ndarray:
    """Paths (n, 2, 2) [m] of two equal balls that keep their velocities, but for one exchange.

    position  measured (n, 2, 2), of which the first `last` frames are used; they meet when they are
    nearest.  Velocities before are fitted lines; after, the restitution along the line of centres
    that leaves the least error in those frames.
    """
    hit = int(np.argmin(np.linalg.norm(position[:last, 1] - position[:last, 0], axis=1)))
    lines = np.stack([np.ones(hit), t[:hit] - t[hit]], axis=1)
    start = np.linalg.lstsq(lines, position[:hit].reshape(hit, 4), rcond=None)[0].reshape(2, 2, 2)
    place, before = start
    normal = (place[0] - place[1]) / np.linalg.norm(place[0] - place[1])
    approach = (before[1] - before[0]) @ normal
    best: tuple[float, np.ndarray] | None = None
    for e in np.linspace(0, 1, 21):
        change = 0.5 * (1 + e) * approach * normal
        after = before + np.stack([change, -change])
        late = (t - t[hit])[:, None, None]
        paths = place + np.where(late < 0, before, after) * late
        error = float(np.linalg.norm(paths - position, axis=2)[:last].mean())
        if best is None or error < best[0]:
            best = error, paths
    return best[1]


def tennis(fraction: float) -> dict:
    """One recording: its first frames are fitted, those after them are predicted."""
    fitted = Fitted(configured("tennis_balls", 1, fraction))
    last = int(fitted.config.fit.horizons[-1])
    experiment = fitted.evaluated_to(0.0)
    (prediction,), _ = experiment.predicted(fitted.data.train, fitted.z, "train")
    measured = prediction.measured[..., :2]
    theirs = exchanged(measured, prediction.t, last)
    ours = prediction.simulated[..., :2]
    found: dict = {
        "status": fitted.result.status,
        "fitted_frames": last,
        "parameters": parameters(fitted.result),
    }
    for label, rows in (("fitted", slice(0, last)), ("predicted", slice(last, None))):
        found[label] = {
            f"ball_{k + 1}_error_m": {
                "ours": float(np.linalg.norm(ours - measured, axis=2)[rows, k].mean()),
                "baseline": float(np.linalg.norm(theirs - measured, axis=2)[rows, k].mean()),
            }
            for k in range(2)
        }
    return found


def study(fraction: float = 1.0) -> dict:
    """The whole item; AssertionError where a fit is worse than its baseline by more than chance.

    fraction  below 1: few recordings, few iterations, one draw; nothing is asserted
    """
    figures = {
        "square": planar_body("planar_square", _rigid_errors, SQUARE, WINDOWS, fraction),
        "ellipse": planar_body("planar_ellipse", _rigid_impacts, ELLIPSE, IMPACT, fraction),
        "elbow": elbow(fraction),
        "tennis": tennis(fraction),
    }
    return judged(figures, _worse(figures) if fraction >= 1 else [])


def _worse(figures: dict) -> list[str]:
    """What soon after contact is worse than its baseline by more than chance: nothing may be."""
    missed = []
    for body, label in (("square", "early"), ("ellipse", "impact")):
        for seed, entry in figures[body]["draws"].items():
            for name, row in entry["rigid_impacts"][label].items():
                if isinstance(row, dict) and not row["interval"][0] <= 0:
                    missed.append(f"{body}, draw {seed}: {name} {row}")
    return missed
