"""A thrown body before a depth camera, simulated and compared point by point.

Every recording is put into the scene's frame by the pose of its camera and, where the YAML names a
floor, by the floor that was found in it.  Its simulation starts at the first frame that shows the
body; place, velocity (and orientation, spin) there are variables of the recording, believed to be
about what the frames of free flight say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import InputError, nearest
from ...inverse.cloud_track import CloudTrack, RigidSkin, SoftSkin
from ...inverse.losses import Huber
from ...inverse.marker_track import MarkerTrack
from ...inverse.pose_stream import PoseStream
from ...inverse.simulation_problem import SimulationProblem, body_slots
from ...inverse.trial import InitialState
from ...inverse.trial import Trial as Fitted
from ...scene.links import standing, start_pose
from ...scene.rotation import matrix_from_quaternion, quaternion_between
from ..config import EstimationConfig
from ..model import Model, scene_and_map
from .cloud import Cloud
from .options import CLOUD, CloudOptions, read_cloud_options
from .pipeline import CloudPipeline, stage_table
from .placing import (
    Placed,
    flight_acceleration,
    followed,
    free_flight,
    free_frames,
    free_spin,
)
from .planes import Plane
from .recording import CloudRecording
from .samples import Samples
from .sensors import Sensor, read_sensors, refuse_apart
from .skin import skin_of
from .track import cloud_track, sightings

FLIGHT = 3
"""Frames of free flight that a start needs at least."""
OTHER = 0.3
"""Share of gravity, beyond five sigmas, by which a flight's acceleration may differ from it."""


@dataclass(frozen=True, eq=False)
class Throw:
    """One recording, made ready.

    seen        the body's points of the frames that show it, scene's frame
    placed      the undeformed surface put onto each of them
    flight      how many frames from the first on are of the free flight
    start       what they say of the start, and the belief in it; rms of the flight [m]
    planes      found in the recording, sensor's pose as the YAML says
    turn, shift scene's frame = turn @ (YAML's frame) + shift
    stages      table of the pipeline;  frames  of the recording, also those without the body
    beside      what other sensors recorded meanwhile, by name
    """

    name: str
    source: str
    seen: Sequence[Cloud]
    placed: Sequence[Placed]
    flight: int
    start: InitialState
    rms: float
    planes: Sequence[Plane]
    turn: np.ndarray
    shift: np.ndarray
    stages: Sequence[Mapping]
    frames: int
    beside: Mapping[str, Samples]

    @property
    def further(self) -> list[str]:
        """Sources of the other sensors."""
        return [samples.source for samples in self.beside.values()]

    @property
    def place(self) -> str:
        """For messages."""
        return self.source

    @property
    def t(self) -> np.ndarray:
        """Times of `seen` since the first of them [s] (F,)."""
        return np.array([cloud.stamp for cloud in self.seen]) - self.seen[0].stamp


@dataclass(frozen=True)
class CloudModel(Model):
    """Scene and parameters of a thrown body, and how clouds of it are read.

    skin      its surface;  vertices (n, 3) of it as the scene starts, body's frame [m]
    turn      orientation at the start of the scene (3, 3)
    sensors   that recorded the same throws
    """

    cloud: CloudOptions
    skin: SoftSkin | RigidSkin
    vertices: np.ndarray
    turn: np.ndarray
    sensors: tuple[Sensor, ...]

    @classmethod
    def build(cls, config: EstimationConfig) -> CloudModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        scene, parameters = scene_and_map(config)
        options, place = config.measurement, config.place
        cloud = read_cloud_options(options.cloud, place, "measurement.cloud")
        if len(options.start_sigma) != 4:
            rule = "four numbers: of place, velocity, orientation and spin"
            raise config.error("measurement.start_sigma", list(options.start_sigma), rule)
        known = scene.description["sdfs"]
        if options.floor and "plane" not in known.get(options.floor, {}):
            planes = [name for name, sdf in known.items() if "plane" in sdf]
            rule = "a plane of the scene's sdfs: " + (", ".join(planes) or "it has none")
            remedy = nearest(options.floor, planes)
            raise config.error("measurement.floor", options.floor, rule, remedy)
        if options.floor and cloud.planes is None:
            rule = "the section planes, for measurement.floor"
            raise config.error("measurement.cloud.planes", None, rule)
        skin = skin_of(scene, config.body, options.refine, options.radius)
        at, turn = start_pose(scene.description["bodies"][config.body])
        vertices = _rest(scene, config.body, skin, at, turn)
        sensors = read_sensors(config, scene)
        return cls(config, scene, parameters, cloud, skin, vertices, turn, sensors)

    @property
    def interval(self) -> float:
        """Time between recorded rows of a rollout [s]."""
        return self.scene.options.step * self.scene.options.record_every

    @property
    def gravity(self) -> np.ndarray:
        """(3,) [m/s^2], at the first guess."""
        engine = self.scene.engine
        p = self.map.engine(self.map.start, engine.values)
        return np.array([p[engine.index(f"gravity.{axis}")] for axis in "xyz"])

    def ready(self, recording: CloudRecording) -> Throw:
        """The recording behind the pipeline, its flight and start; InputError if it has none."""
        options, pipeline = self.config.measurement, CloudPipeline(self._camera(recording))
        frames = pipeline.run(recording.clouds)
        turn, shift = self._onto_floor(recording, pipeline.planes)
        world = self.cloud.values["frame"]
        seen = [c.moved(turn, shift, world) for c in sightings(frames, recording.source)]
        placed = followed(
            self.vertices, self.skin.triangles, seen, self.turn, turning=options.turning
        )
        times = [cloud.stamp - seen[0].stamp for cloud in seen]
        flight = free_frames(placed, self._gap, options.clear, times, self.gravity)
        if flight < FLIGHT:
            rule = f"at least {FLIGHT} frames of free flight before the first contact"
            remedy = "let the recording begin earlier, or lower measurement.clear"
            raise InputError(recording.source, "flight", flight, rule, remedy)
        if options.check_gravity and flight > FLIGHT:
            self._check_gravity(recording.source, seen, placed[:flight])
        start, rms = self._start(seen, placed[:flight])
        return Throw(
            recording.name, recording.source, seen, placed, flight, start, rms, pipeline.planes,
            turn, shift, stage_table(frames), len(frames), self._beside(recording, seen),
        )  # fmt: skip

    def _beside(self, recording: CloudRecording, seen: Sequence[Cloud]) -> dict[str, Samples]:
        """Samples of every other sensor, in the scene's frame; InputError if it has too few."""
        first, span = seen[0].stamp, seen[-1].stamp - seen[0].stamp
        found = {}
        for sensor in self.sensors:
            if sensor.name not in recording.beside:
                got, rule = sorted(recording.beside), "recordings of all of measurement.sensors"
                raise InputError(recording.source, f"sensor {sensor.name}", got, rule)
            samples = recording.beside[sensor.name]
            samples = sensor.placed(samples, self.cloud.values["frame"], recording.frames)
            if sensor.track(samples, self.config.body, first, span, self.interval) is None:
                refuse_apart(sensor, samples, first, span, recording.source)
            found[sensor.name] = samples
        return found

    def _camera(self, recording: CloudRecording) -> CloudOptions:
        """The pipeline's options; static transforms of the recording place a camera that the YAML
        does not. InputError if there are some, but none from the camera to the scene's frame.
        """
        values = self.cloud.values
        given = any(values[key] != CLOUD[key].default for key in ("position", "orientation"))
        if recording.frames is None or given:
            return self.cloud
        camera = recording.clouds[0].frame
        found = recording.frames.lookup(values["frame"], camera, recording.source)
        pose = {"position": found.position.tolist(), "orientation": found.orientation.tolist()}
        return replace(self.cloud, values={**values, **pose})

    def _onto_floor(self, recording, planes) -> tuple[np.ndarray, np.ndarray]:
        """Turn (3, 3) and shift (3,) that put the floor found onto the scene's."""
        name = self.config.measurement.floor
        if not name:
            return np.eye(3), np.zeros(3)
        floor = next((plane for plane in planes if plane.name == "floor"), None)
        if floor is None:
            got = ", ".join(plane.name for plane in planes) or "no plane"
            remedy = "see measurement.cloud.planes: share, distance, up"
            raise InputError(recording.source, "planes", got, "a floor", remedy)
        plane = self.scene.description["sdfs"][name]["plane"]
        normal = np.asarray(plane["normal"], float)
        turn = matrix_from_quaternion(quaternion_between(floor.normal, normal))
        middle = floor.centre
        height = float(normal @ middle) - plane["offset"]
        return turn, middle - height * normal - turn @ middle

    def _gap(self, placed: Placed) -> float:
        """Least distance of the undeformed surface to what the body may touch [m]."""
        x = self.vertices @ placed.turn.T + placed.place
        gaps = [np.inf]
        for contact in self.scene.description["contact"]:
            stands = standing(self.scene.description, contact)
            known = contact["name"] in self.scene.surfaces
            if contact["points"] == self.config.body and known and stands is not None:
                surface, (at, turn) = self.scene.surfaces[contact["name"]], stands
                gaps.append(float(np.min(surface.evaluate((x - at) @ turn)[0])))
        return min(gaps)

    def _check_gravity(self, source: str, seen, placed) -> None:
        """Refuse another axis, unit or clock, by the acceleration of the flight."""
        t = np.array([cloud.stamp - seen[0].stamp for cloud in seen[: len(placed)]])
        found, sigma = flight_acceleration(t, [one.place for one in placed])
        gravity = self.gravity
        if np.linalg.norm(found - gravity) > OTHER * np.linalg.norm(gravity) + 5.0 * sigma:
            got = ", ".join(f"{a:.2f}" for a in found) + f" +- {sigma:.2g} m/s^2 in free flight"
            rule = "the world's gravity, " + ", ".join(f"{a:.2f}" for a in gravity)
            remedy = "is another axis up, another unit or rate given, or the body still held?"
            raise InputError(source, "gravity", got, rule, remedy)

    def _start(self, seen, placed) -> tuple[InitialState, float]:
        """Belief about the start from the flight, and the flight's rms [m]."""
        options = self.config.measurement
        t = np.array([cloud.stamp - seen[0].stamp for cloud in seen[: len(placed)]])
        place, velocity, rms = free_flight(t, [one.place for one in placed], self.gravity)
        at, speed, angle, spin = options.start_sigma
        sigma, orientation, rate = [at] * 3 + [speed] * 3, None, None
        if options.turning:
            turn, rate = free_spin(t, [one.turn for one in placed])
            orientation = Rotation.from_matrix(turn).as_quat()
            sigma = [at] * 3 + [angle] * 3 + [speed] * 3 + [spin] * 3
        return InitialState(
            self.config.body, place, orientation, velocity, rate, np.diag(np.square(sigma))
        ), rms  # fmt: skip

    def problem(
        self, trials: Sequence[Throw], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these recordings, each with a start of its own."""
        return self.problem_of(trials, [horizon or len(throw.seen) for throw in trials])

    def problem_of(self, trials: Sequence[Throw], frames: Sequence[int]) -> SimulationProblem:
        """The same with so many frames of each."""
        fitted = [self._fitted(throw, n) for throw, n in zip(trials, frames, strict=True)]
        return SimulationProblem(
            self.scene.engine, self.scene.options, self.map, fitted, nuisance=True,
            threads=self.config.simulation.threads,
        )  # fmt: skip

    def track(self, throw: Throw, frames: int | None = None) -> CloudTrack:
        """The body's points of the first frames as an objective."""
        seen, placed = throw.seen[:frames], throw.placed[:frames]
        return cloud_track(
            self.config.body, seen, self.skin, self.cloud.noise, start=seen[0].stamp,
            interval=self.interval, loss=Huber(self.config.measurement.outlier),
            incidence=np.concatenate([one.cosine for one in placed]),
        )  # fmt: skip

    def beside(self, throw: Throw, span: float) -> list[MarkerTrack | PoseStream]:
        """What the other sensors saw until `span` seconds after the first cloud, as objectives."""
        body, first = self.config.body, throw.seen[0].stamp
        tracks = [
            sensor.track(throw.beside[sensor.name], body, first, span, self.interval)
            for sensor in self.sensors
        ]
        return [track for track in tracks if track is not None]

    def _fitted(self, throw: Throw, frames: int) -> Fitted:
        track = self.track(throw, frames)
        span = float(track.t[-1])
        further = self.beside(throw, span)
        span = max([span, *(sensor.needed(span) for sensor in self.sensors)])
        steps = self._rows(span) * self.scene.options.record_every
        return Fitted(throw.name, steps, (track, *further), (throw.start,), loss=self.loss)

    def _rows(self, span: float) -> int:
        """Rows of a rollout that reaches one beyond `span` seconds."""
        return math.floor(span / self.interval + 1e-9) + 1


def _rest(scene, body: str, skin, at: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Vertices (n, 3) of the skin as the scene starts, in the body's frame [m]."""
    from diffsim_ros import _engine

    run = _engine.rollout(scene.engine, scene.engine.values, 1, scene.options)
    x, _ = skin.motion(run, body_slots(scene.engine)[body], np.array([0]))
    return (x[0] - at) @ turn
