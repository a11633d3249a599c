"""The simulated release: recordings, their clocks and markers as trials of the inverse layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import InputError, nearest
from ....inverse.marker_track import Carrier, MarkerTrack, interpolated
from ....inverse.simulation_problem import SimulationProblem, body_slots, engine_rollouts
from ....inverse.swing import Oscillation, SwingTrack, damped_sinusoid
from ....inverse.trial import Trial
from ....parameter import assign
from ....sensing.observation import Observation
from ...model import Model, scene_and_map
from ...options import EstimationConfig
from ...scenarios.release import BEFORE, crossing, release_frame
from .attach import carrier_of, rigid_fit
from .labels import labelled

MEASURES = ("static_deflection", "frequency", "decay")
EARLY = 0.3
"""Seconds of a simulation in which it must have moved by measurement.align_distance."""
CYCLES = 3.0
"""Fewer cycles than this before a swing has decayed to 1/e leave its frequency and decay vague."""
SCALE = 1.3
"""Accepted ratio of the markers' spread to that of their places."""


@dataclass(frozen=True)
class ReleaseRecording:
    """One recording, prepared.

    name           of the file, without extension
    t, position    times [s] (n,), markers of the YAML in the tracker's frame [m] (n, m, 3)
    rest, held     their means as the recording begins, and before the release, tracker's frame [m]
                   (m, 3): the same unless the body is brought to where it is held
    turn, shift    world = turn @ tracker + shift, of the resting markers onto their places
    fit_error      distance of each from its place after that [m] (m,)
    first, frame   from which the release was searched; the first one after it
    sets           engine parameters of this recording alone
    note           what was done about its labels, or empty
    """

    name: str
    source: str
    t: np.ndarray
    position: np.ndarray
    rest: np.ndarray
    held: np.ndarray
    turn: np.ndarray
    shift: np.ndarray
    fit_error: np.ndarray
    first: int
    frame: int
    sets: Mapping[str, float]
    note: str = ""

    @property
    def place(self) -> str:
        """For messages."""
        return self.source

    @property
    def released(self) -> float:
        """Time of the release by the rule [s]."""
        return float(self.t[self.frame])

    def world(self, position: np.ndarray) -> np.ndarray:
        """Places (..., 3) of the tracker's frame in the world's [m]."""
        return position @ self.turn.T + self.shift

    def tracker(self, position: np.ndarray) -> np.ndarray:
        """Places (..., 3) of the world's frame in the tracker's [m]."""
        return (position - self.shift) @ self.turn


@dataclass(frozen=True)
class Swing:
    """One coordinate of one marker over time, tracker's frame, and the swing fitted to it.

    t         since the release [s] (n,);  y [m] (n,)
    held      its mean before the release [m]
    span      samples that were fitted (slice)
    """

    t: np.ndarray
    y: np.ndarray
    held: float
    span: slice
    fit: Oscillation

    @property
    def figures(self) -> dict[str, float]:
        """Measures by name, and what the fit leaves."""
        fit = self.fit
        values = (fit.offset - self.held, fit.frequency, fit.decay)
        return {**dict(zip(MEASURES, values, strict=True)), "rms": fit.rms}


@dataclass(frozen=True)
class MarkerModel(Model):
    """Scene and parameters of released bodies with markers."""

    names: tuple[str, ...]
    places: np.ndarray

    @classmethod
    def build(cls, config: EstimationConfig) -> MarkerModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        scene, parameters = scene_and_map(config)
        description = scene.description["bodies"][config.body]
        if description["type"] not in ("solid", "rigid", "kinematic"):
            raise config.error("body", config.body, "a solid, a rigid body or a kinematic body")
        options = config.measurement
        places = config.places(options.markers, "measurement.markers")
        if len(places) < 3:
            raise config.error("measurement.markers", len(places), "at least 3, for the rigid fit")
        for key in ("release_marker", "swing_marker"):
            name = getattr(options, key)
            if name not in options.markers:
                rule = "one of measurement.markers"
                raise config.error(f"measurement.{key}", name, rule, nearest(name, options.markers))
        for name in options.still:
            if name not in options.markers or name in (
                options.release_marker,
                options.swing_marker,
            ):
                rule = "some of measurement.markers, not the one that is released or swings"
                raise config.error("measurement.still", name, rule, nearest(name, options.markers))
        if len(options.swing_sigma) not in (0, 3, 4):
            rule = "three numbers: of static deflection, frequency, decay; also of creep; or none"
            raise config.error("measurement.swing_sigma", list(options.swing_sigma), rule)
        names = tuple(options.markers)
        return cls(config, scene, parameters, names, places)

    def release(
        self, observation: Observation, name: str, sets: Mapping[str, float]
    ) -> ReleaseRecording:
        """A recording with its release found and its markers fitted to their places."""
        options, source = self.config.measurement, observation.source
        for target in sets:
            self._check_parameter(target)
        position, note = self._markers(observation)
        self._check_scale(source, position[:BEFORE])
        first, frame = self._released(observation, position, name)
        resting = BEFORE if first else frame
        for since, last in ((0, resting), (first, frame)):
            hidden = np.flatnonzero(~np.isfinite(position[since:last]).all(axis=2).any(axis=0))
            if len(hidden):
                rule = "a marker that is measured before the release"
                raise InputError(source, self.names[hidden[0]], "missing", rule)
        rest = np.nanmean(position[:resting], axis=0)
        held = np.nanmean(position[first:frame], axis=0)
        marker = self.names.index(options.release_marker)
        self._check_displacement(
            source, observation.t[first:], position[first:, marker], held[marker]
        )
        turn, shift = rigid_fit(rest, self.places)
        error = np.linalg.norm(rest @ turn.T + shift - self.places, axis=1)
        worst = int(np.argmax(error))
        if error[worst] > options.fit_tolerance:
            got = f"{error[worst]:.4g} m from its place after the rigid fit"
            rule = f"at most {options.fit_tolerance:g} m (measurement.fit_tolerance)"
            remedy = "are markers swapped (measurement.labels), or is another axis up?"
            raise InputError(source, self.names[worst], got, rule, remedy)
        fit = turn, shift, error
        return ReleaseRecording(
            name, source, observation.t, position, rest, held, *fit, first, frame, sets, note
        )

    def _released(
        self, observation: Observation, position: np.ndarray, name: str
    ) -> tuple[int, int]:
        """Frame from which the release is looked for, and the first one after it."""
        options, source = self.config.measurement, observation.source
        after = self._release_after(name) if self._loaded else 0.0
        first = int(np.searchsorted(observation.t, after - 1e-9))
        if len(observation.t) - first <= BEFORE:
            rule = f"a stamp more than {BEFORE} frames before the end"
            remedy = f"the recording ends at {observation.t[-1]:g} s"
            raise InputError(source, "measurement.release_after", after, rule, remedy)
        marker = position[first:, self.names.index(options.release_marker)]
        place = f"{source}: {options.release_marker}"
        return first, first + release_frame(place, marker, options.release_distance)

    def _release_after(self, name: str) -> float:
        """Stamp after which the release of a trial is searched [s]."""
        key, value = "measurement.release_after", self.config.measurement.release_after
        if isinstance(value, Mapping):
            if name not in value:
                rule = f"{name} among its trials"
                raise self.config.error(key, list(value), rule, nearest(name, value))
            key, value = f"{key}.{name}", value[name]
        whole = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (whole and 0.0 <= value < math.inf):
            raise self.config.error(key, value, "a finite number >= 0 [s], or one for each trial")
        return float(value)

    @property
    def _loaded(self) -> bool:
        """True where recording and scene bring the body to where it is held."""
        return self.config.measurement.loading > 0

    def _markers(self, observation: Observation) -> tuple[np.ndarray, str]:
        """The YAML's markers (n, m, 3) of a recording, and what was done about their labels."""
        options, own = self.config.measurement, None
        every = observation.position
        if options.labels != "none":
            for marker in self.names:
                if marker not in observation.names:
                    rule = "the markers of the YAML: " + ", ".join(self.names)
                    remedy = nearest(marker, observation.names) or "or measurement.labels: none"
                    raise InputError(
                        observation.source, "markers", ", ".join(observation.names), rule, remedy
                    )
            own = np.array([observation.names.index(marker) for marker in self.names])
        if options.labels == "given":
            return every[:, own], ""
        if own is not None:
            self._check_scale(observation.source, every[:BEFORE, own])
        found = labelled(
            observation.source, observation.t, every, self.places, own=own,
            tolerance=options.fit_tolerance, gate=options.label_gate,
        )  # fmt: skip
        return found.position, found.sentence(observation.source)

    def _check_parameter(self, target: str) -> None:
        try:
            self.scene.engine.index(target)
        except KeyError:
            known = [info.name for info in self.scene.engine.parameters]
            rule = "a parameter of the scene"
            raise self.config.error(
                "data.conditions", target, rule, nearest(target, known)
            ) from None

    def _check_displacement(
        self, source: str, t: np.ndarray, marker: np.ndarray, held: np.ndarray
    ) -> None:
        """Refuse a release whose marker (n, 3) never comes as far as clocks are aligned by."""
        options = self.config.measurement
        distance = options.align_distance
        if not np.isfinite(crossing(t, marker, held, distance)):
            displacement = float(np.nanmax(np.linalg.norm(marker - held, axis=1)))
            got = f"a displacement of {displacement:.3g} m from where it was held"
            rule = f"more than {distance:g} m (measurement.align_distance)"
            raise InputError(source, options.release_marker, got, rule)

    def _check_scale(self, source: str, position: np.ndarray) -> None:
        """Refuse other units than metres, by the first frames (n, m, 3)."""
        whole = position[np.isfinite(position).all(axis=(1, 2))]
        if not len(whole):
            return
        held = whole.mean(axis=0)
        ratio = np.linalg.norm(held - held.mean(axis=0)) / np.linalg.norm(
            self.places - self.places.mean(axis=0)
        )
        if not 1 / SCALE < ratio < SCALE:
            unit = "millimetres" if ratio > 300 else "centimetres" if ratio > 5 else "metres"
            rule = "markers about as far apart as their places in the YAML [m]"
            remedy = f"is the recording in {unit}?" if unit != "metres" else ""
            raise InputError(source, "spread", f"{ratio:.4g} times theirs", rule, remedy)

    def carrier(self, release: ReleaseRecording) -> Carrier:
        """The resting markers, fixed to the body as it stands when the scene starts."""
        return carrier_of(self.scene, self.config.body, release.world(release.rest))

    def markers_at(self, release: ReleaseRecording, run: Any, t: np.ndarray) -> np.ndarray:
        """Markers (n, m, 3) [m, world] at times t since the start [s]; before that at rest."""
        # the last row of a rollout has none after it
        inside = np.clip(t, 0.0, (len(run.time) - 1 - 1e-6) * self.interval)
        slot = body_slots(self.scene.engine)[self.config.body]
        x, _ = interpolated(self.carrier(release), run, slot, inside, self.interval)
        resting = (t[:, None] < 0.0) | self.still
        return np.where(resting[..., None], release.world(release.rest), x)

    @property
    def still(self) -> np.ndarray:
        """Which of the markers stay where they are (m,)."""
        return np.isin(self.names, self.config.measurement.still)

    def rollouts(
        self, releases: Sequence[ReleaseRecording], z: np.ndarray, spans: Sequence[float],
        cancel: Any = None,
    ) -> list:  # fmt: skip
        """Rollouts of so many seconds each, failed ones included."""
        engine, every = self.scene.engine, self.scene.options.record_every
        P = np.tile(self.map.engine(z, engine.values), (len(releases), 1))
        for p, release in zip(P, releases, strict=True):
            assign(engine, p, release.sets)
        steps = [self.rows(span) * every for span in spans]
        settings = (None, "none", self.config.simulation.threads, cancel)
        return engine_rollouts(engine, P, np.array(steps), self.scene.options, *settings)

    def delays(
        self, releases: Sequence[ReleaseRecording], z: np.ndarray, cancel: Any = None
    ) -> list[float]:
        """Clock of each recording at which its simulation starts [s], at these parameters.

        Recording and simulation pass measurement.align_distance at the same time, so the release
        may lie between frames; nothing later than that is used.  A simulation that does not
        come so far within EARLY starts at the release by the rule.
        """
        options = self.config.measurement
        marker, distance = self.names.index(options.release_marker), options.align_distance
        runs = self.rollouts(releases, z, [options.loading + EARLY] * len(releases), cancel)
        found = []
        for release, run in zip(releases, runs, strict=True):
            later, held = slice(release.first, None), release.held[marker]
            ours = crossing(release.t[later], release.position[later, marker], held, distance)
            if not run.ok:  # the fit leaves it out, with a note
                found.append(ours - options.loading)
                continue
            times = np.arange(len(run.time) - 1) * self.interval
            times = times[times >= options.loading - 1e-9]
            moved = self.markers_at(release, run, times)[:, marker]
            start = ours - crossing(times, moved, moved[0], distance)
            # one that hardly moves is released at the release by the rule
            found.append(start if np.isfinite(start) else release.released - options.loading)
        return found

    def problem(
        self, trials: Sequence[ReleaseRecording], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these recordings, with their clocks set at z."""
        starts = self.delays(trials, z)
        fitted = [self._fitted(r, s, horizon) for r, s in zip(trials, starts, strict=True)]
        return self.of_trials(fitted)

    def swing(self, release: ReleaseRecording, position: np.ndarray) -> Swing:
        """The measured coordinate of a recording, or of its simulation in the tracker's frame."""
        options, t = self.config.measurement, release.t - release.released
        marker, axis = self.names.index(options.swing_marker), "xyz".index(options.swing_axis)
        y = position[:, marker, axis]
        held = float(np.nanmean(y[release.first : release.frame]))
        last = options.swing_after + options.swing_span if options.swing_span else np.inf
        inside = np.flatnonzero((t >= options.swing_after - 1e-9) & (t <= last + 1e-9))
        if not len(inside):
            raise InputError(release.place, "t", float(t[-1]), "frames to measure a swing in")
        span = slice(int(inside[0]), int(inside[-1]) + 1)
        return Swing(t, y, held, span, damped_sinusoid(release.place, t[span], y[span]))

    def streams(self, trials: Sequence[ReleaseRecording]) -> list[Observation]:
        """One stream per recording."""
        return [
            Observation(
                kind="markers", t=release.t, source=release.source,
                names=tuple(f"marker {k + 1}" for k in range(release.position.shape[1])),
                values={"position": release.position},
            )
            for release in trials
        ]  # fmt: skip

    def look(self, trials: Sequence[ReleaseRecording]) -> tuple[list[str], dict]:
        """Cycles of every release before its swing has decayed."""
        notes, cycles = [], {}
        for release in trials:
            fit = self.swing(release, release.position).fit
            cycles[release.name] = fit.frequency / fit.decay if fit.decay > 0 else None
            if fit.decay > 0 and fit.frequency < CYCLES * fit.decay:
                notes.append(
                    f"{release.name} swings {fit.frequency / fit.decay:.2g} times before it decays "
                    "to 1/e: its frequency and decay are vague; release it from farther"
                )
        return notes, {"cycles": cycles}

    def _fitted(self, release: ReleaseRecording, start: float, horizon: int) -> Trial:
        """The recording as a trial: markers in the window after the release, and their swing."""
        options = self.config.measurement
        last = release.released + options.window
        first = max(start, release.released - options.before) if self._loaded else start
        kept = np.flatnonzero((release.t >= first) & (release.t <= last))
        if horizon:
            kept = kept[:horizon]
        if len(kept) < 2:
            raise InputError(release.place, "t", len(kept), "two frames after the release")
        t, measured = release.t[kept] - start, release.world(release.position[kept])
        measured[:, self.still] = np.nan
        count = np.isfinite(measured).sum() / min(
            options.position_count, np.isfinite(measured).sum()
        )
        sigma, body = options.sigma * math.sqrt(count), self.config.body
        track = MarkerTrack(body, t, self.interval, self.carrier(release), measured, sigma)
        # a horizon is too short for a swing
        alone = horizon or not options.swing_sigma
        tracks = (track,) if alone else (track, self._swing_track(release, t, kept))
        steps = self.rows(t[-1]) * self.scene.options.record_every
        return Trial(release.name, steps, tracks, loss=self.loss, parameters=release.sets)

    def _swing_track(
        self, release: ReleaseRecording, t: np.ndarray, kept: np.ndarray
    ) -> SwingTrack:
        """The swing's measures as residuals, both taken within the window: creep shifts them."""
        options = self.config.measurement
        marker = self.names.index(options.swing_marker)
        place = release.world(release.rest[marker : marker + 1])
        axis = release.turn[:, "xyz".index(options.swing_axis)]
        later = release.t[kept] - release.released >= options.swing_after - 1e-9
        y = release.position[kept[later], marker, "xyz".index(options.swing_axis)]
        held = release.held[marker, "xyz".index(options.swing_axis)]
        sigma = np.array(options.swing_sigma)
        measures = damped_sinusoid(release.place, t[later], y).measures[: len(sigma)]
        deflection = measures[0] - held
        scale = np.abs([deflection, measures[1], measures[2], deflection][: len(sigma)])
        return SwingTrack(
            self.config.body,
            t[later],
            self.interval,
            carrier_of(self.scene, self.config.body, place),
            axis,
            float(-axis @ release.shift),
            measures,
            sigma * scale,
        )
