"""A thrown body before any list of sensors, simulated and compared with what each measured.

Every recording is put into the scene's frame by the pose of its camera and, where the YAML names a
floor, by the floor that was found in it.  Its simulation starts at the first frame of the first
sensor that shows the body; place, velocity (and orientation, spin) there are variables of the
recording, with a prior from the frames of free flight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from ....errors import InputError, nearest
from ....inverse.cloud_track import RigidSkin, SoftSkin
from ....inverse.objectives import Objective
from ....inverse.simulation_problem import SimulationProblem, body_slots
from ....inverse.trial import InitialState, Trial
from ....scene.model import SceneModel
from ....sensing.clouds.options import CLOUD
from ....sensing.frames import static_frames
from ....sensing.observation import Observation
from ...model import Model, scene_and_map
from ...options import EstimationConfig
from ...scenarios.throw import flight_acceleration, free_flight, free_frames, free_spin
from .camera import ROUNDING, Camera
from .detections import Detections, Outline, RegisteredSurface, skin_of
from .trackers import Sensor, read_sensors, refuse_apart, refuse_unrelated

FLIGHT = 3
"""Frames of free flight that a start needs at least."""
OTHER = 0.3
"""Share of gravity, beyond five sigmas, by which a flight's acceleration may differ from it."""


@dataclass(frozen=True, eq=False)
class ThrowRecording:
    """One recording, prepared.

    detections  of the first sensor;  auxiliary  those of the others, by name
    flight      how many of its frames from the first on are of the free flight
    start       the start that they give, and its prior; rms of the flight [m]
    """

    name: str
    source: str
    detections: Detections
    flight: int
    start: InitialState
    rms: float
    auxiliary: Mapping[str, Detections]

    @property
    def further(self) -> list[str]:
        """Sources of the other sensors."""
        return [detections.clouds[0].source for detections in self.auxiliary.values()]

    @property
    def place(self) -> str:
        """For messages."""
        return self.source

    @property
    def t(self) -> np.ndarray:
        """Times of the first sensor's frames since the first of them [s] (F,)."""
        return self.detections.stamps - self.detections.stamps[0]


@dataclass(frozen=True)
class CloudModel(Model):
    """Scene and parameters of a thrown body, and its sensors.

    outline   its surface as the scene starts
    sensors   of the throws; the first is the reference
    """

    outline: Outline
    sensors: tuple[Camera | Sensor, ...]

    @classmethod
    def build(cls, config: EstimationConfig) -> CloudModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        scene, parameters = scene_and_map(config)
        options = config.measurement
        if len(options.start_sigma) != 4:
            rule = "four numbers: of place, velocity, orientation and spin"
            raise config.error("measurement.start_sigma", list(options.start_sigma), rule)
        known = scene.description["sdfs"]
        if options.floor and "plane" not in known.get(options.floor, {}):
            planes = [name for name, sdf in known.items() if "plane" in sdf]
            rule = "a plane of the scene's sdfs: " + (", ".join(planes) or "it has none")
            remedy = nearest(options.floor, planes)
            raise config.error("measurement.floor", options.floor, rule, remedy)
        skin = skin_of(scene, config.body, options.refine, options.radius)
        at, turn = scene.parts.bodies[config.body].start_pose()
        vertices = _rest(scene, config.body, skin, at, turn)
        outline = Outline(config.body, skin, vertices, at, turn)
        return cls(config, scene, parameters, outline, read_sensors(config, scene, outline))

    @property
    def reference(self) -> Camera | Sensor:
        """The sensor whose clock is the simulation's."""
        return self.sensors[0]

    @property
    def world(self) -> str:
        """Name of the scene's frame."""
        cameras = [one for one in self.sensors if isinstance(one, Camera)]
        return str(cameras[0].options.values["frame"] if cameras else CLOUD["frame"].default)

    @property
    def start_gravity(self) -> np.ndarray:
        """(3,) [m/s^2], at the first guess."""
        return self.gravity(self.map.start)

    def _first(self, throw: Mapping[str, Observation]) -> Observation:
        """Of the first sensor, whose stamps and name are the throw's."""
        return throw.get(self.reference.name, next(iter(throw.values())))

    def ready(self, throw: Mapping[str, Observation]) -> ThrowRecording:
        """Each sensor's recording, prepared, with flight and start; InputError if it has none."""
        first = self._first(throw)
        options, source = self.config.measurement, first.source
        detections = self._detections(self.reference, throw)
        registered, stamps = detections.registered, detections.stamps
        t = stamps - stamps[0]
        flight = free_frames(registered, self._gap, options.clear, t, self.start_gravity)
        if flight < FLIGHT:
            rule = f"at least {FLIGHT} frames of free flight before the first contact"
            remedy = "let the recording begin earlier, or lower measurement.clear"
            raise InputError(source, "flight", flight, rule, remedy)
        if options.check_gravity and flight > FLIGHT:
            self._check_gravity(source, stamps, registered[:flight])
        auxiliary = self._auxiliary(throw, stamps)
        start, rms = self._start(source, detections, flight, auxiliary)
        return ThrowRecording(first.name, source, detections, flight, start, rms, auxiliary)

    def _detections(
        self, sensor: Camera | Sensor, throw: Mapping[str, Observation],
        stamps: np.ndarray | None = None,
    ) -> Detections:  # fmt: skip
        """A sensor's samples of a throw, of which the first one's stamps are known (or its own)."""
        first, own = self._first(throw), throw.get(sensor.name)
        if own is None:
            got = sorted(set(throw) - {self.reference.name})
            rule = "recordings of all of measurement.sensors"
            raise InputError(first.source, f"sensor {sensor.name}", got, rule)
        if isinstance(sensor, Camera):
            own = own if stamps is None else sensor.meanwhile(own, stamps[0], stamps[-1])
            return sensor.detections(own, self.outline)
        found = sensor.detections(own, self.outline, self.world, static_frames(first.source))
        if stamps is None and not len(found.registered):
            rule = "samples that show where the body is: poses, or three markers at once"
            raise InputError(own.place, f"sensor {sensor.name}", 0, rule)
        return found

    def _auxiliary(
        self, throw: Mapping[str, Observation], stamps: np.ndarray
    ) -> dict[str, Detections]:
        """Samples of every other sensor; InputError if it has too few of the throw."""
        first, span, found = stamps[0], stamps[-1] - stamps[0], {}
        source = self._first(throw).source
        for sensor in self.sensors[1:]:
            if sensor.name in throw:
                told = self.config.measurement.sensors[sensor.name]
                refuse_unrelated(sensor, self._first(throw), throw[sensor.name], told)
            detections = self._detections(sensor, throw, stamps)
            if sensor.track(detections, self.outline, first, span, self.interval) is None:
                refuse_apart(sensor, detections, first, span, source)
            found[sensor.name] = detections
        return found

    def _gap(self, registered: RegisteredSurface) -> float:
        """Least distance of the undeformed surface to what the body may touch [m]."""
        x = self.outline.vertices @ registered.turn.T + registered.place
        gaps = [np.inf]
        for contact in self.scene.parts.contacts:
            stands = contact.stands(self.scene.parts)
            known = contact.name in self.scene.surfaces
            if contact.points == self.config.body and known and stands is not None:
                surface, (at, turn) = self.scene.surfaces[contact.name], stands
                gaps.append(float(np.min(surface.evaluate((x - at) @ turn)[0])))
        return min(gaps)

    def _check_gravity(
        self, source: str, stamps: np.ndarray, registered: Sequence[RegisteredSurface]
    ) -> None:
        """Refuse another axis, unit or clock, by the acceleration of the flight."""
        t = stamps[: len(registered)] - stamps[0]
        found, sigma = flight_acceleration(t, [one.place for one in registered])
        gravity = self.start_gravity
        if np.linalg.norm(found - gravity) > OTHER * np.linalg.norm(gravity) + 5.0 * sigma:
            got = ", ".join(f"{a:.2f}" for a in found) + f" +- {sigma:.2g} m/s^2 in free flight"
            rule = "the world's gravity, " + ", ".join(f"{a:.2f}" for a in gravity)
            remedy = "is another axis up, another unit or rate given, or the body still held?"
            raise InputError(source, "gravity", got, rule, remedy)

    def _start(
        self, source: str, detections: Detections, flight: int, auxiliary: Mapping[str, Detections]
    ) -> tuple[InitialState, float]:
        """Prior of the start from the flight, and the flight's rms [m]."""
        options = self.config.measurement
        t = detections.stamps[:flight] - detections.stamps[0]
        places = [one.place for one in detections.registered[:flight]]
        place, velocity, rms = free_flight(t, places, self.start_gravity)
        at, speed, angle, spin = options.start_sigma
        sigma, orientation, rate = [at] * 3 + [speed] * 3, None, None
        if options.turning:
            turn, rate = self._turning(source, detections, t[-1], auxiliary)
            orientation = Rotation.from_matrix(turn).as_quat()
            sigma = [at] * 3 + [angle] * 3 + [speed] * 3 + [spin] * 3
        return InitialState(
            self.config.body, place, orientation, velocity, rate, np.diag(np.square(sigma))
        ), rms  # fmt: skip

    def _turning(
        self, source: str, detections: Detections, last: float, auxiliary: Mapping[str, Detections]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Orientation and spin at the start, by the first tracker that shows them in the flight,
        else by a camera's points, else by a tracker whose pivot's turn is estimated."""
        detected = {self.reference.name: detections, **auxiliary}
        for sensor in sorted(self.sensors, key=lambda one: one.priority):
            measured = sensor.rotations_measured(detected[sensor.name])
            if measured is None:
                continue
            t = measured[0] - detections.stamps[0]
            flying = (t >= 0) & (t <= last)
            if np.count_nonzero(flying) >= FLIGHT:
                return free_spin(t[flying], measured[1][flying])
        rule = f"{FLIGHT} samples in the free flight that show how the body is turned"
        names, remedy = ", ".join(detected), "or measurement.turning: false"
        raise InputError(source, "flight", f"fewer of {names}", rule, remedy)

    def problem(
        self, trials: Sequence[ThrowRecording], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these recordings, each with a start of its own."""
        return self.problem_of(trials, [horizon or len(throw.t) for throw in trials])

    def problem_of(
        self, trials: Sequence[ThrowRecording], frames: Sequence[int]
    ) -> SimulationProblem:
        """The same with so many frames of each."""
        fitted = [self._fitted(throw, n) for throw, n in zip(trials, frames, strict=True)]
        return self.of_trials(fitted, nuisance=True)

    def tracks(self, throw: ThrowRecording, frames: int | None = None) -> dict[str, Objective]:
        """Samples of every sensor until the first one's frame number `frames`, as objectives."""
        first, t = throw.detections.stamps[0], throw.t[:frames]
        found: dict[str, Objective] = {}
        for sensor in self.sensors:
            detections = throw.auxiliary.get(sensor.name, throw.detections)
            track = sensor.track(detections, self.outline, first, float(t[-1]), self.interval)
            if track is not None:
                found[sensor.name] = track
        return found

    def _fitted(self, throw: ThrowRecording, frames: int) -> Trial:
        span = float(throw.t[:frames][-1])
        needed = max(sensor.needed(span) for sensor in self.sensors)
        steps = self.rows(needed + ROUNDING) * self.scene.options.record_every
        tracks = tuple(self.tracks(throw, frames).values())
        return Trial(throw.name, steps, tracks, (throw.start,), loss=self.loss)

    def streams(self, trials: Sequence[ThrowRecording]) -> list[Observation]:
        """One stream per recording: where its body was detected."""
        return [
            Observation(
                kind="markers", t=throw.t, source=throw.source, names=("body",),
                values={"position": np.array([[one.place] for one in throw.detections.registered])},
            )
            for throw in trials
        ]  # fmt: skip


def _rest(
    scene: SceneModel, body: str, skin: SoftSkin | RigidSkin, at: np.ndarray, turn: np.ndarray
) -> np.ndarray:
    """Vertices (n, 3) of the skin as the scene starts, in the body's frame [m]."""
    from diffsim_ros import _engine

    run = _engine.rollout(scene.engine, scene.engine.values, 1, scene.options)
    x, _ = skin.motion(run, body_slots(scene.engine)[body], np.array([0]))
    return (x[0] - at) @ turn
