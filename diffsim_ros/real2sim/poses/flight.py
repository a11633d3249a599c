"""Starts of a trial from its frames before the first contact: a fit by simulation.

The bodies are simulated from the first frame of the flight on, with all joints, and their poses and
velocities there are those that the measured frames up to the contact make likeliest.  So a jointed
object's start is one that its joints allow, and the trial's rollout simply begins there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...inverse.objectives import PoseTrack
from ...inverse.optimizers import LMOptions, levenberg_marquardt
from ...inverse.trial import InitialState
from ...inverse.trial import Trial as Fitted
from ...scene.build import proxies_of
from ...scene.model import SceneModel
from .. import rotations
from ..observation import Trial

WIDE = np.repeat([5e-3, 0.1, 0.5, 10.0], 3)
"""Belief about a start before its flight is looked at: [m], [rad], [m/s], [rad/s]."""
GUESS = 8
"""Samples at most of the parabola that a first velocity is read from."""
TURN = 3
"""Samples between the two orientations that a first spin is read from."""
OPTIONS = LMOptions(
    max_iterations=12, cost_tolerance=1e-5, gradient_tolerance=1e-5, step_tolerance=1e-5
)


@dataclass(frozen=True)
class Flight:
    """Samples first ... last - 1 of a trial touch nothing; `last` is the first that may."""

    first: int
    last: int


@dataclass(frozen=True)
class Flown:
    """Starts of all bodies at a flight's first frame, and how well they go with its frames.

    misfit  root mean square of the residuals over the sensor's sigmas; inf: not simulated
    """

    starts: tuple[InitialState, ...]
    misfit: float


def flight_of(scene: SceneModel, trial: Trial, clearance: float, most: int) -> Flight | None:
    """The last `most` samples before a contact point is nearer than `clearance` [m] to a surface.

    A sample also counts as near if the gap of the two before it, going on, would be: it may have
    bounced between two frames. Surfaces that a body carries do not count. None if nothing ever
    comes that near.
    """
    gap = gaps(scene, trial)
    gap[2:] = np.minimum(gap[2:], 2.0 * gap[1:-1] - gap[:-2])
    near = np.flatnonzero(gap < clearance)
    if not len(near):
        return None
    return Flight(max(0, int(near[0]) - most), int(near[0]))


def gaps(scene: SceneModel, trial: Trial) -> np.ndarray:
    """Gap (n,) [m] of the nearest contact point of the trial's bodies to a fixed surface."""
    least = np.full(len(trial), np.inf)
    for contact in scene.description["contact"]:
        if "carrier" in contact or contact["points"] not in trial.bodies:
            continue
        points = proxies_of(scene.description["bodies"][contact["points"]])
        one = trial.of(contact["points"])
        arms = rotations.rotate(one.orientation[:, None], points.centres()[None])
        centres = one.position[:, None] + arms
        gap, *_ = scene.surfaces[contact["name"]].evaluate(centres.reshape(-1, 3))
        least = np.minimum(least, np.reshape(gap, arms.shape[:2]).min(axis=1) - points.radius)
    return least


def flown(trial: Trial, flight: Flight, spf: int, problem) -> Flown:
    """The likeliest starts, each with its covariance (12, 12).

    problem  (trials, nuisance) -> SimulationProblem at fixed parameters, `spf` steps per frame
    Where it cannot be simulated: first guesses from parabolas, with wide covariances.
    """
    rows = slice(flight.first, flight.last)
    frames = trial.frames[rows] - trial.frames[flight.first]
    guesses, tracks = [], []
    for body in trial.bodies:
        one = trial.of(body)
        position, orientation = one.position[rows], one.orientation[rows]
        guesses.append(_guess(body, position, orientation, frames * trial.dt))
        tracks.append(PoseTrack(body, frames, position, orientation, *trial.poses.sigma))
    steps = int(frames[-1]) * spf
    fitted = problem([Fitted("flight", steps, tuple(tracks), tuple(guesses))], True)
    found = levenberg_marquardt(fitted, np.zeros(0), None, options=OPTIONS)
    end = fitted.evaluate(found.z, found.y, want="equations")
    if not end.ok:
        return Flown(tuple(guesses), np.inf)
    covariance = np.linalg.inv(end.equations.Hyy[0])
    starts = []
    for k, (start, guess) in enumerate(zip(*fitted.starts(found.z, found.y), guesses, strict=True)):
        block = covariance[12 * k : 12 * k + 12, 12 * k : 12 * k + 12]
        own = guess.factor @ block @ guess.factor.T
        starts.append(replace(start, covariance=0.5 * (own + own.T)))
    count = 6 * len(frames) * len(guesses)
    return Flown(tuple(starts), float(np.sqrt(2.0 * found.value / count)))


def _guess(body: str, position, orientation, t) -> InitialState:
    """A first start: the first pose, its velocity from a parabola, its spin from a difference."""
    early = slice(0, min(GUESS, len(t)))
    columns = np.stack([np.ones_like(t), t, t * t], axis=1)[early]
    velocity = np.linalg.lstsq(columns, position[early], rcond=None)[0][1]
    k = min(TURN, len(t) - 1)
    turn = rotations.multiply(orientation[k], rotations.conjugate(orientation[0]))
    spin = rotations.logarithm(turn) / (t[k] - t[0])
    return InitialState(body, position[0], orientation[0], velocity, spin, np.diag(WIDE**2))
