"""The simulated bodies: starts and tracks of a recording as trials of the inverse layer.

A tracker's pivot is not a body's centre of mass: measured are P = c + R o, R_P = R exp(theta); the
six numbers (o, theta) are the body's offset, given or estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ....errors import InputError, nearest
from ....inverse.clock import NamedNumbers
from ....inverse.losses import Loss
from ....inverse.objectives import Objective, PoseTrack, metric_track
from ....inverse.simulation_problem import SimulationProblem
from ....inverse.trial import InitialState, Trial
from ....inverse.twist_track import TwistTrack
from ....rotation import quat_conjugate, quat_exp, quat_multiply, quat_rotate
from ....sensing.observation import Observation, PoseTrial, joined
from ...model import Model, scene_and_map
from ...options import EstimationConfig
from ...scenarios.flight import Flown, FreeFlight, flight_of, flown, guessed_start
from ...scenarios.height import HeightOptions, free_start, measured_start, start_sample
from .options import PoseFitOptions

AXES = ("x", "y", "z", "turn x", "turn y", "turn z")
"""Of a pivot's offset."""
UNKNOWN_SPEED = (0.5, 5.0)
"""Standard deviations of a start's velocity [m/s] and spin [rad/s] that poses alone give."""
SAME_RATE = 1e-3
"""Relative difference of frame spacings that one problem may hold."""
REFINE = (1, 2, 4)
"""Steps per frame are multiplied by these in turn where a rollout fails."""


@dataclass(frozen=True)
class PoseModel(Model):
    """Scene and parameters of recorded bodies; knows how a recording becomes a rollout."""

    pivots: Mapping[str, NamedNumbers] = field(default_factory=dict)
    flights: Mapping[str, FreeFlight] = field(default_factory=dict)
    """By a trial's place, where they are not this model's own (several are compared)."""
    _known: dict[tuple, Flown] = field(default_factory=dict, repr=False, compare=False)
    """Starts by trial and parameters: stages and predictions ask for the same ones again."""

    @classmethod
    def build(cls, config: EstimationConfig) -> PoseModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        model = cls(config, *scene_and_map(config), read_pivots(config))
        for body in config.bodies:
            if model.scene.description["bodies"][body]["type"] != "rigid":
                raise config.error("body", body, "a rigid body")
        if model.by_height and (len(config.bodies) > 1 or config.measurement.observed != "poses"):
            rule = "flight, file or scene, of several bodies and where no poses are observed"
            raise config.error("measurement.start", "height", rule)
        return model

    def pivot(self, body: str) -> dict:
        """Arguments of a PoseTrack of a body's pivot, if it has one."""
        if body not in self.pivots:
            return {}
        pivot = self.pivots[body]
        names = pivot.names if any(pivot.names) else ()
        return {"offset": pivot.numbers, "offset_names": names}

    @property
    def by_height(self) -> bool:
        """True where a rollout starts by height."""
        return self.config.measurement.start == "height"

    @property
    def height(self) -> HeightOptions:
        """What starts by height need to know."""
        options = self.config.measurement
        return HeightOptions(options.half_edge, options.start_gravity, options.frames_before)

    @property
    def nuisance(self) -> bool:
        """True where starts are fitted and residuals are in the sensor's sigmas."""
        return self.fit.initial_state == "nuisance"

    @property
    def fit(self) -> PoseFitOptions:
        """Section `fit`."""
        return cast(PoseFitOptions, self.config.fit)

    @property
    def unknown_pivot(self) -> bool:
        """True where a tracker's pivot is estimated."""
        return any(any(pivot.names) for pivot in self.pivots.values())

    @property
    def masses(self) -> np.ndarray:
        """Masses of the tracked bodies in the scene [kg]."""
        bodies = self.scene.parts.bodies
        return np.array([bodies[body].total_mass() for body in self.config.bodies])

    def flight(self, trial: PoseTrial) -> FreeFlight | None:
        """Samples that do not count, before and at the start of the rollout.

        None: with start `flight` it never touches anything.
        """
        if trial.place in self.flights:
            return self.flights[trial.place]
        options = self.config.measurement
        if options.start == "file":
            return FreeFlight(0, 1, 0)
        if options.start == "scene":
            return FreeFlight(0, 0, 0)
        if self.by_height:
            start = start_sample(trial, self.height)
            # with nuisance starts, the samples up to the start are in the prior
            return FreeFlight(0, start + 1 if self.nuisance else start, start)
        most = int(options.flight_frames[1])
        bodies = self.centres(trial, self.map.start)
        return flight_of(self.scene, bodies, options.clearance, most)

    def begun(self, trial: PoseTrial) -> FreeFlight:
        """`flight` of a recording that can be simulated; InputError where it has none."""
        flight = self.flight(trial)
        if flight is None:
            raise InputError(trial.place, "frames", len(trial), "frames until it touches something")
        return flight

    def centres(self, trial: PoseTrial, z: np.ndarray) -> PoseTrial:
        """The trial with poses of the bodies' centres; by height, it is read with those."""
        return trial if self.by_height else centred(trial, self.pivots, self.map.named(z))

    def kept_frames(self, trial: PoseTrial, horizon: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Samples that count, and their frames since the start; horizon: last frame, 0: all."""
        flight = self.begun(trial)
        frames = trial.frames - trial.frames[flight.start]
        keep = np.arange(flight.last, len(frames))
        before = max(frames[max(flight.last - 1, 0)], 0)
        if self.config.measurement.window:
            last = before + self.config.measurement.window / trial.dt
            keep = keep[frames[keep] <= last + 1e-9]
        if horizon:
            keep = keep[frames[keep] <= before + horizon]
        if self.by_height and len(keep) < 2:
            rule = "two frames after the start"
            raise InputError(trial.place, f"sample {flight.start}", len(keep), rule)
        if not len(keep):
            raise InputError(trial.place, "frames", 0, "a frame after the start")
        return keep, frames[keep]

    def starts(self, trial: PoseTrial, z: np.ndarray) -> tuple[InitialState, ...]:
        """Starts of all bodies with their covariance; none where the scene has them."""
        options = self.config.measurement
        if options.start == "scene":
            return ()
        if options.start == "file":
            return self._first_frame(trial)
        if not self.by_height:
            return self.flown(trial, z).starts
        if self.nuisance:
            return (free_start(self, self.height, trial, z),)
        return (measured_start(self, self.height, trial, z, own_gravity=options.own_gravity),)

    def flown(self, trial: PoseTrial, z: np.ndarray) -> Flown:
        """Starts from the trial's flight, simulated with the parameters at z."""
        key = (trial.place, *self.map.named(z).values())
        if key in self._known:
            return self._known[key]
        spf, held = self.config.simulation.steps_per_frame, self.held(self.map.named(z))

        def problem(fitted: Trial, free: bool) -> SimulationProblem:
            model = self if free else held
            return model.of_trials([fitted], self.engine_options(trial.dt, spf), nuisance=True)

        bodies = self.centres(trial, z)
        self._known[key] = flown(trial, bodies, self.begun(trial), spf, z, problem, self.pivot)
        return self._known[key]

    def _first_frame(self, trial: PoseTrial) -> tuple[InitialState, ...]:
        options = self.config.measurement
        if trial.velocity is None:
            return self._guessed(trial)
        noise = (*trial.poses.sigma, options.sigma_velocity, options.sigma_spin)
        covariance, found = np.diag(np.repeat(noise, 3) ** 2), []
        for body in trial.bodies:
            one = trial.of(body)
            assert one.velocity is not None  # as the whole trial's
            motion = one.velocity[0, :3], one.velocity[0, 3:]
            pose = one.position[0], one.orientation[0]
            found.append(InitialState(body, *pose, *motion, covariance))
        return tuple(found)

    def _guessed(self, trial: PoseTrial) -> tuple[InitialState, ...]:
        """Starts at the first frame of poses alone, with velocities of a parabola through the
        first ones: as these frames count too, their spread is a wide one."""
        wide = np.diag(np.repeat((*trial.poses.sigma, *UNKNOWN_SPEED), 3) ** 2)
        t, found = trial.frames * trial.dt, []
        for body in trial.bodies:
            one = trial.of(body)
            start = guessed_start(body, one.position, one.orientation, t)
            found.append(replace(start, covariance=wide))
        return tuple(found)

    def problem(
        self,
        trials: Sequence[PoseTrial],
        z: np.ndarray,
        *,
        horizon: int = 0,
        spf: int | None = None,
    ) -> SimulationProblem:
        """Estimation problem of these recordings with starts (and their slopes) taken at z.

        spf  time steps per frame
        """
        spf = spf or self.config.simulation.steps_per_frame
        fitted = [self.fitted(trial, z, horizon, spf) for trial in trials]
        # the scene's starts are parameters, if anything of them is unknown
        nuisance = self.nuisance and self.config.measurement.start != "scene"
        return self.of_trials(fitted, self.framed(trials, spf), nuisance=nuisance)

    def framed(self, trials: Sequence[PoseTrial], spf: int) -> Any:
        """Engine options with `spf` steps per frame of these recordings."""
        return self.engine_options(spacing(trials), spf)

    def fitted(self, trial: PoseTrial, z: np.ndarray, horizon: int, spf: int) -> Trial:
        """The recording as a trial of the inverse layer; horizon: last frame that counts."""
        keep, frames = self.kept_frames(trial, horizon)
        tracks = tuple(self._track(trial.of(body), keep, frames) for body in trial.bodies)
        loss = Loss() if self.nuisance else self.loss
        steps = int(frames[-1]) * spf
        return Trial(f"toss {trial.id}", steps, tracks, self.starts(trial, z), loss)

    def _track(self, one: PoseTrial, keep: np.ndarray, frames: np.ndarray) -> Objective:
        """What was measured of a body; with starts held |r|^2 is a mean over frames and bodies."""
        options, body = self.config.measurement, one.bodies[0]
        poses = one.position[keep], one.orientation[keep]
        if self.by_height and not self.nuisance:
            length = self.height.half / self.fit.position_weight
            return metric_track(body, frames, *poses, length)
        count = np.sqrt(len(keep) * len(self.config.bodies))
        weights = count * self.fit.length, count
        if options.observed == "velocities":
            if one.velocity is None:
                rule = "13 columns (measurement.observed: velocities)"
                raise InputError(one.place, "state", "poses alone", rule)
            sigmas = (options.sigma_velocity, options.sigma_spin) if self.nuisance else weights
            motion = one.velocity[keep, :3], one.velocity[keep, 3:]
            return TwistTrack(body, frames, *motion, *sigmas)
        noise: Any = one.poses.sigma if self.nuisance else weights
        turns = poses[1] if options.observed == "poses" else None
        # by height, recordings are centred when they are read
        pivot = {} if self.by_height else self.pivot(body)
        return PoseTrack(body, frames, poses[0], turns, *noise, **pivot)

    def refined_rollouts(
        self,
        problem: Callable[[list, int], SimulationProblem],
        trials: Sequence[PoseTrial],
        z: np.ndarray,
        cancel: Any = None,
    ) -> list:
        """Rollouts at z, None where cancelled; those that fail are run again in finer steps.

        problem  (trials, steps per frame) -> what is rolled out
        """
        simulation = self.config.simulation
        spf = simulation.validate_steps_per_frame or simulation.steps_per_frame
        runs: dict[int, Any] = {}
        for factor in REFINE:
            missing = [k for k in range(len(trials)) if k not in runs or not runs[k].ok]
            if not missing or getattr(cancel, "cancelled", False):
                break
            again = problem([trials[k] for k in missing], spf * factor)
            runs.update(zip(missing, again.rollouts(z, cancel=cancel), strict=True))
        return [runs.get(k) for k in range(len(trials))]

    def streams(self, trials: Sequence[PoseTrial]) -> list[Observation]:
        """One stream per source and body, its trials one after the other, where they begin in
        flight."""
        if self.config.measurement.start not in ("flight", "height"):
            return []
        streams = []
        for source in dict.fromkeys(trial.source for trial in trials):
            every = [trial for trial in trials if trial.source == source]
            several = len(every[0].bodies) > 1
            for body in every[0].bodies:
                named = {"names": (body,), "sensor": body} if several else {"names": ("body",)}
                whole = joined([trial.of(body).gridded for trial in every])
                streams.append(replace(whole, **named))
        return streams


def spacing(trials: Sequence[PoseTrial]) -> float:
    """Frame spacing [s] that all trials share; InputError naming one that differs."""
    dt = trials[0].dt
    for trial in trials:
        if abs(trial.dt - dt) > SAME_RATE * dt:
            rule = f"{dt:.6g} s as in {trials[0].place}"
            raise InputError(trial.place, "dt", trial.dt, rule, "estimate the recordings apart")
    return dt


def read_pivots(config: EstimationConfig) -> dict[str, NamedNumbers]:
    """Section measurement.body_offset; InputError naming what does not fit."""
    options, found = config.measurement, {}
    given = options.body_offset
    if isinstance(given, (list, tuple)):
        if len(given) not in (0, 6) or len(config.bodies) > 1:
            rule = "six numbers: x, y, z [m] and a rotation vector [rad]"
            raise config.error("measurement.body_offset", list(given), rule)
        given = {config.body: given} if given else {}
    if not isinstance(given, Mapping):
        rule = "a mapping of bodies to six numbers"
        raise config.error("measurement.body_offset", given, rule)
    for body, entries in given.items():
        key = f"measurement.body_offset.{body}"
        if body not in config.bodies:
            near = nearest(str(body), config.bodies)
            raise config.error(key, entries, "a body of `body`", near)
        if not isinstance(entries, (list, tuple)) or len(entries) != 6:
            rule = "six numbers or names of parameters: x, y, z [m] and a rotation vector [rad]"
            raise config.error(key, entries, rule)
        pairs = (
            config.number(entry, f"{key} ({axis})", "a number or a parameter")
            for axis, entry in zip(AXES, entries, strict=True)
        )
        found[body] = NamedNumbers(*zip(*pairs, strict=True))
    if found and (options.observed == "velocities" or options.start == "file"):
        rule = "nothing, where velocities of the file are used (they are those of the body)"
        raise config.error("measurement.body_offset", sorted(found), rule)
    if options.start == "height" and any(any(pivot.names) for pivot in found.values()):
        raise config.error("measurement.body_offset", sorted(found), "numbers, with start: height")
    return found


def centred(
    trial: PoseTrial, pivots: Mapping[str, NamedNumbers], values: Mapping[str, float]
) -> PoseTrial:
    """The trial with poses of the bodies' centres, by the offsets at these values."""
    if not pivots:
        return trial
    value = trial.poses.value.copy()
    for k, body in enumerate(trial.bodies):
        if body not in pivots:
            continue
        offset, columns = pivots[body].at(values), slice(7 * k, 7 * k + 7)
        place, turned = value[:, columns][:, :3], value[:, columns][:, 3:]
        back = quat_conjugate(quat_exp(offset[3:]))
        q = quat_multiply(turned, np.broadcast_to(back, turned.shape))
        value[:, columns] = np.concatenate([place - quat_rotate(q, offset[None, :3]), q], 1)
    return replace(trial, poses=trial.poses.with_value(value))
