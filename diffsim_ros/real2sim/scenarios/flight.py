"""Starts of a trial from its frames before the first contact: a fit by simulation.

The bodies are simulated from the first frame of the flight on, with all joints, and their poses and
velocities there are the maximum-likelihood fit to the measured frames up to the contact.  The
trial's rollout begins at the second frame of that simulation, with its covariance there: by then
the joints' constraints hold, which first guesses may violate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...inverse.objectives import PoseTrack
from ...inverse.optimizers import LMOptions, levenberg_marquardt
from ...inverse.simulation_problem import SimulationProblem, body_slots
from ...inverse.trial import InitialState, Trial
from ...rotation import quat_conjugate, quat_log, quat_multiply, quat_rotate
from ...scene.model import SceneModel
from ...sensing.observation import PoseTrial

WIDE = np.repeat([5e-3, 0.1, 0.5, 10.0], 3)
"""Prior of a start before its flight is looked at: [m], [rad], [m/s], [rad/s]."""
GUESS = 8
"""Samples at most of the parabola that a first velocity is read from."""
TURN = 3
"""Samples between the two orientations that a first spin is read from."""
OPTIONS = LMOptions(
    max_iterations=12, cost_tolerance=1e-5, gradient_tolerance=1e-5, step_tolerance=1e-5
)


@dataclass(frozen=True)
class FreeFlight:
    """Samples first ... last - 1 of a trial touch nothing; `last` is the first that may.

    start  the sample at which its rollout begins
    """

    first: int
    last: int
    start: int


@dataclass(frozen=True)
class Flown:
    """States of all bodies at a flight's start, and how well they fit its frames.

    starts  with their covariance and how they move with the parameters

    misfit  root mean square of the residuals over the sensor's sigmas; inf: not simulated
    """

    starts: tuple[InitialState, ...]
    misfit: float


def flight_of(
    scene: SceneModel, trial: PoseTrial, clearance: float, most: int
) -> FreeFlight | None:
    """The last `most` samples before a contact point is nearer than `clearance` [m] to a surface.

    A sample also counts as near if the extrapolated gap of the two before it would be: the body
    may have bounced between two frames. Surfaces that a moving body carries do not count. None if
    nothing comes that near.
    """
    gap = gaps(scene, trial)
    gap[2:] = np.minimum(gap[2:], 2.0 * gap[1:-1] - gap[:-2])
    near = np.flatnonzero(gap < clearance)
    if not len(near):
        return None
    first = max(0, int(near[0]) - most)
    return FreeFlight(first, int(near[0]), min(first + 1, int(near[0])))


def gaps(scene: SceneModel, trial: PoseTrial) -> np.ndarray:
    """Gap (n,) [m] of the nearest contact point of the trial's bodies to a fixed surface, or to one
    that a kinematic body carries, as it stands at the start."""
    least = np.full(len(trial), np.inf)
    for contact in scene.parts.contacts:
        stands = contact.stands(scene.parts)
        if stands is None or contact.points not in trial.bodies:
            continue
        points = scene.parts.bodies[contact.points].contact_spheres_at_start()
        one = trial.of(contact.points)
        arms = quat_rotate(one.orientation[:, None], points.centres()[None])
        centres = (one.position[:, None] + arms - stands[0]) @ stands[1]
        gap, *_ = scene.surfaces[contact.name].evaluate(centres.reshape(-1, 3))
        least = np.minimum(least, np.reshape(gap, arms.shape[:2]).min(axis=1) - points.radius)
    return least


def flown(
    trial: PoseTrial,
    bodies: PoseTrial,
    flight: FreeFlight,
    spf: int,
    z: np.ndarray,
    problem: Callable[[Trial, bool], SimulationProblem],
    pivot_of: Callable[[str], dict],
) -> Flown:
    """Maximum-likelihood states at the flight's start, with covariances and parameter slopes.

    bodies   the trial with poses of the bodies' centres, for first guesses
    z        parameters of the flight, `spf` its steps per frame
    pivot_of  body -> arguments of a PoseTrack of its pivot
    problem  (trial, free) -> SimulationProblem with starts as nuisance; free: parameters too
    Where it cannot be simulated: guesses from parabolas, with wide covariances.
    """
    rows = slice(flight.first, flight.last)
    frames = trial.frames[rows] - trial.frames[flight.first]
    guesses, tracks = [], []
    for body in trial.bodies:
        one, centre = trial.of(body), bodies.of(body)
        pivot = pivot_of(body)
        poses = one.position[rows], one.orientation[rows]
        tracks.append(PoseTrack(body, frames, *poses, *trial.poses.sigma, **pivot))
        poses = centre.position[rows], centre.orientation[rows]
        guesses.append(guessed_start(body, *poses, frames * trial.dt))
    fitted = Trial("flight", int(frames[-1]) * spf, tuple(tracks), tuple(guesses))
    found = levenberg_marquardt(problem(fitted, False), np.zeros(0), None, options=OPTIONS)
    free = problem(fitted, True)
    end = free.evaluate(z, found.y, want="equations")
    if not end.ok:
        return Flown(tuple(guesses), np.inf)
    row = int(trial.frames[flight.start] - trial.frames[flight.first])
    starts = _states(free, z, found.y, end.equations, row)
    count = 6 * len(frames) * len(guesses)
    return Flown(starts, float(np.sqrt(2.0 * found.value / count)))


def _states(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray, equations: Any, row: int
) -> tuple[InitialState, ...]:
    """States at a row of the rollout at (z, y), y being the likeliest at z: [Eq. 11].

    The states follow the parameters directly, and as y does: dy/dz = -Hyy^-1 Hyz.
    """
    (run,) = problem.rollouts(z, y, mode="sensitivity")
    covariance = np.linalg.inv(equations.Hyy[0])
    column = {number: i for i, number in enumerate(problem.active)}
    by_u = np.zeros((len(column), len(covariance)))
    by_z = np.zeros((len(column), len(z)))
    by_z[[column[number] for number in problem.map.active]] = problem.map.jacobian(z)
    first = 0
    for part in problem.trials[0].starts:
        span = slice(first, first + part.size)
        first += part.size
        _, by_offset = part.parameter_values(part.offset(y[0, span], {}))
        rows = [column[int(problem.scene.index(name))] for name in part.parameter_names()]
        by_u[rows, span] = by_offset @ part.factor
    by_z -= by_u @ covariance @ equations.Hyz[0]
    slots, named, states = body_slots(problem.scene), problem.map.named(z), []
    for part in problem.trials[0].starts:
        slot = slots[part.body]
        dofs, at = slice(slot.dof, slot.dof + slot.size), (row, slot.index)
        moved = np.concatenate([run.dx[row, dofs], run.dv[row, dofs]])
        own = moved @ by_u @ covariance @ (moved @ by_u).T
        columns = (moved @ by_z / problem.value_slopes(z)).T
        named_columns = zip(problem.names, columns, strict=True)
        slopes = {name: (named[name], c) for name, c in named_columns if c.any()}
        pose, motion = (run.position, run.orientation), (run.velocity, run.angular_velocity)
        place, turn, speed, spin = (values[at] for values in (*pose, *motion))
        own = 0.5 * (own + own.T)
        states.append(InitialState(part.body, place, turn, speed, spin, own, slopes))
    return tuple(states)


def guessed_start(
    body: str, position: np.ndarray, orientation: np.ndarray, t: np.ndarray
) -> InitialState:
    """A first start: the first pose, its velocity from a parabola, its spin from a difference."""
    early = slice(0, min(GUESS, len(t)))
    columns = np.stack([np.ones_like(t), t, t * t], axis=1)[early]
    velocity = np.linalg.lstsq(columns, position[early], rcond=None)[0][1]
    k = min(TURN, len(t) - 1)
    turn = quat_multiply(orientation[k], quat_conjugate(orientation[0]))
    spin = quat_log(turn) / (t[k] - t[0])
    return InitialState(body, position[0], orientation[0], velocity, spin, np.diag(WIDE**2))
