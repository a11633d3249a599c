"""The sensors of a throw: any list of cameras, trackers of poses and of markers.

A trial has the residuals of all, each divided by its own sigma; the stamps of the first are the
reference, relative to which another's are late by `delay` and lose `drift`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ....errors import InputError, nearest
from ....fields import Reader
from ....inverse.clock import Clock, NamedNumbers
from ....inverse.losses import Huber
from ....inverse.marker_track import Carrier, MarkerTrack, SoftPoints
from ....inverse.pose_stream import PoseStream
from ....rotation import quat_matrix, quat_multiply
from ....scene.model import SceneModel
from ....sensing.clock import clock
from ....sensing.clouds.cloud import Cloud
from ....sensing.clouds.options import read_cloud_options
from ....sensing.frames import Frames
from ....sensing.observation import Observation
from ....sensing.read import read_beside
from ...options import EstimationConfig, read_options
from ..marker.attach import carrier_of, rigid_fit
from .camera import Camera, within
from .detections import Detections, Outline, RegisteredSurface
from .options import CloudSensorOptions

LEAST = 4
"""Samples of a throw that a sensor needs at least."""
VIEW = np.array([-3.0, -8.0, 3.0])
"""Viewpoint of pictures of tracked bodies, in sizes of the body from its first place."""
NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Sensor:
    """One of measurement.sensors, bound to the scene.

    carrier  of markers;  turns  orientations count: of a rigid body whose orientation is unknown
    places   of the markers in the scene as it starts [m] (m, 3)
    turning  the body's orientation at the start is unknown
    slack    [s] by which its clock may differ from the first guess, within the bounds
    """

    name: str
    options: CloudSensorOptions
    clock: Clock
    origin: NamedNumbers
    pivot: NamedNumbers
    turn: np.ndarray
    turns: bool
    carrier: Carrier | None
    markers: tuple[str, ...]
    places: np.ndarray
    turning: bool
    slack: tuple[float, float]

    @property
    def priority(self) -> int:
        """Rank among the sensors that may give the orientation: the lowest is asked first."""
        return 2 if any(self.pivot.names[3:]) else 0

    def throws(self, path: str | Path, rate: float | None, topic: str) -> list[Observation]:
        """Throws of a file, as the first of the sensors: gaps in the stamps separate them."""
        whole = read_beside(path, self.options.kind, topic or self.options.topic)
        return replace(whole, numbers=clock(whole.t, None).trial).trials()

    def read(self, path: str | Path) -> Observation:
        """The sensor's recording; InputError naming file, topic and sample."""
        return read_beside(path, self.options.kind, self.options.topic)

    def registered(self, samples: Observation, world: str, frames: Frames | None) -> Observation:
        """The samples in the frame that the YAML's position and orientation are of.

        world   name of the scene's frame;  frames  static transforms recorded along
        Raises InputError for a frame that is not the scene's and that nothing places in it.
        """
        related = (
            any(self.origin.numbers)
            or any(self.origin.names)
            or not np.allclose(self.turn, np.eye(3))
        )
        if related or samples.frame in ("", world):
            return samples
        if frames is None:
            key = f"measurement.sensors.{self.name}.position"
            rule = f"poses in {world!r}, a static transform to it, or {key} (and orientation)"
            raise InputError(samples.place, "frame_id", samples.frame, rule)
        found = frames.lookup(world, samples.frame, samples.place)
        values = dict(samples.values)
        values["position"] = values["position"] @ quat_matrix(found.orientation).T + found.position
        if "orientation" in values:
            values["orientation"] = quat_multiply(found.orientation, values["orientation"])
        return replace(samples, values=values, frame=world)

    def detections(
        self, samples: Observation, outline: Outline, world: str, frames: Frames | None
    ) -> Detections:
        """The samples and the undeformed body put onto each of them; onto none by two markers."""
        samples = self.registered(samples, world, frames)
        origin = np.array(self.origin.numbers)
        x = samples.position[:, self._columns(samples)] @ self.turn.T + origin
        registered = self._by_markers if self.markers else self._by_poses
        kept, found = registered(samples, x, outline)
        eye = x[kept[0]][0] + VIEW * outline.size if len(kept) else VIEW
        measured = [
            Cloud(
                x[k][np.isfinite(x[k]).all(axis=1)], stamp=float(samples.t[k]), frame=world,
                eye=eye, source=samples.place,
            )
            for k in kept
        ]  # fmt: skip
        return Detections(measured, found, len(samples.t), samples=samples)

    def _by_poses(
        self, samples: Observation, x: np.ndarray, outline: Outline
    ) -> tuple[np.ndarray, list[RegisteredSurface]]:
        """Samples (all), and the body by a pose of its pivot, or by the middle of a soft one."""
        count = len(x)
        turn = np.broadcast_to(outline.turn, (count, 3, 3))
        away = outline.vertices.mean(axis=0)  # of a soft body
        if self.carrier is None:
            pivot = np.array(self.pivot.numbers)
            away = pivot[:3]
            if self.turns:
                back = Rotation.from_rotvec(pivot[3:]).inv()
                measured = Rotation.from_matrix(self.turn) * Rotation.from_quat(samples.orientation)
                turn = (measured * back).as_matrix()
        place = x[:, 0] - turn @ away
        return np.arange(count), [
            RegisteredSurface(R, p, NOTHING) for R, p in zip(turn, place, strict=True)
        ]

    def _by_markers(
        self, samples: Observation, x: np.ndarray, outline: Outline
    ) -> tuple[np.ndarray, list[RegisteredSurface]]:
        """Samples that show three markers, and the body by a rigid fit to each of them."""
        local = (self.places - outline.at) @ outline.turn
        measured = np.isfinite(x).all(axis=2)
        kept = np.flatnonzero(measured.sum(axis=1) >= 3)
        fits = [rigid_fit(local[measured[k]], x[k][measured[k]]) for k in kept]
        return kept, [RegisteredSurface(turn, place, NOTHING) for turn, place in fits]

    def rotations_measured(self, detections: Detections) -> tuple[np.ndarray, np.ndarray] | None:
        """Stamps (n,) by the first sensor's clock and orientations (n, 3, 3) of the body, None
        where the sensor does not show them."""
        informative = self.turns if self.options.kind == "poses" else self.turning
        if not informative or not len(detections.registered):
            return None
        return detections.stamps - self.clock.reference, np.array(
            [one.turn for one in detections.registered]
        )

    def track(
        self, detections: Detections, outline: Outline, first: float, last: float, interval: float
    ) -> MarkerTrack | PoseStream | None:
        """Objective of the samples from stamp `first` of the first sensor on, for `last` seconds.

        None where there are too few of them.  The clock may move within its bounds without a sample
        coming before the start.
        """
        samples, body = detections.samples, outline.name
        t = samples.t - first - self.clock.reference
        inside = within(self.clock, self.slack, t, last)
        if np.count_nonzero(inside) < LEAST:
            return None
        o, share = self.options, self.options.weight**-0.5
        own: dict[str, Any] = {"clock": self.clock, "origin": self.origin, "name": self.name}
        own["loss"] = Huber(o.outlier)
        measured = samples.position[inside] @ self.turn.T
        if self.carrier is not None:
            measured = measured[:, self._columns(samples)]
            sigma = share * o.sigma_position
            return MarkerTrack(body, t[inside], interval, self.carrier, measured, sigma, **own)
        q = None
        if self.turns:
            turn = np.broadcast_to(o.orientation, (len(t), 4))
            q = quat_multiply(turn, samples.orientation)[inside]
        sigmas = share * o.sigma_position, share * np.radians(o.sigma_rotation)
        return PoseStream(
            body, t[inside], interval, measured[:, 0], q, *sigmas, pivot=self.pivot, **own
        )

    def _columns(self, samples: Observation) -> list[int]:
        if self.options.kind == "poses":
            return [0]
        for name in self.markers:
            if name not in samples.names:
                rule = "the markers of the YAML: " + ", ".join(self.markers)
                remedy = nearest(name, samples.names)
                raise InputError(samples.place, "markers", ", ".join(samples.names), rule, remedy)
        return [samples.names.index(name) for name in self.markers]

    def needed(self, last: float) -> float:
        """Seconds of a rollout that the samples of `last` seconds may need."""
        early, rate = self.slack
        return (1.0 + rate) * last + early


def read_sensors(
    config: EstimationConfig, scene: SceneModel, outline: Outline
) -> tuple[Camera | Sensor, ...]:
    """measurement.cloud, if it is given, and measurement.sensors; InputError naming what does not
    fit.  The first is the reference.
    """
    options, reader = config.measurement, Reader(config.place)
    found: list[Camera | Sensor] = []
    if options.cloud is not None:
        found.append(_camera(config, scene, outline, "cloud", options.cloud, "measurement.cloud"))
    for name, value in options.sensors.items():
        key = f"measurement.sensors.{name}"
        found.append(_sensor(config, scene, outline, reader, str(name), value, key))
    if not found:
        raise config.error("measurement", "no sensor", "a section cloud, or sensors")
    first = found[0].clock
    if first.parameters or first.delay or first.drift:
        rule = "none: the stamps of the first sensor are those that others are compared with"
        raise config.error(f"measurement.sensors.{found[0].name}", "a delay or drift", rule)
    if options.floor and not (isinstance(found[0], Camera) and found[0].options.planes):
        rule = "the section planes of the first sensor's cloud, for measurement.floor"
        raise config.error("measurement.cloud.planes", None, rule)
    _check_turning(config, found, outline)
    return tuple(found)


def _check_turning(config: EstimationConfig, sensors: Sequence, outline: Outline) -> None:
    """Refuse an unknown orientation of a ball that nothing shows."""
    shown = any(
        one.turning if isinstance(one, Camera) else one.turns or len(one.markers) >= 3
        for one in sensors
    )
    if config.measurement.turning and not shown:
        what = "a ball looks the same from all sides" if outline.round else "none of them does"
        rule = f"false, or sensors that show how {config.body!r} is turned: {what}"
        remedy = "poses of a rigid body or three markers do; else its spin is that of the scene"
        raise config.error("measurement.turning", True, rule, remedy)


def _camera(
    config: EstimationConfig, scene: SceneModel, outline: Outline, name: str, value: object,
    key: str, **own: Any,
) -> Camera:  # fmt: skip
    measurement, floor = config.measurement, None
    if measurement.floor:
        floor = scene.description["sdfs"][measurement.floor]["plane"]
    cloud = read_cloud_options(value, config.place, key)
    turning = measurement.turning and not outline.round
    options = {"outlier": measurement.outlier, **own}
    return Camera(
        name, cloud, floor=floor if cloud.planes else None, turning=turning, **options
    )  # fmt: skip


def _sensor(
    config: EstimationConfig, scene: SceneModel, outline: Outline, reader: Reader, name: str,
    value: object, key: str,
) -> Camera | Sensor:  # fmt: skip
    options = read_options(CloudSensorOptions, reader, value, key)
    told: dict[str, Any] = {}
    for word in ("delay", "drift"):
        number, parameter = config.number(getattr(options, word), f"{key}.{word}")
        told |= {word: number, f"{word}_name": parameter}
    if not told["drift"] > -1:
        raise config.error(f"{key}.drift", told["drift"], "a number > -1")
    clock = Clock(**told, reference=told["delay"])
    slack = _slack(config, clock.delay_name), _slack(config, clock.drift_name)
    if options.kind == "clouds":
        if options.cloud is None:
            raise config.error(f"{key}.cloud", None, "a section cloud, for sensors of kind clouds")
        return _camera(
            config, scene, outline, name, options.cloud, f"{key}.cloud", topic=options.topic,
            weight=options.weight, clock=clock, slack=slack,
        )  # fmt: skip
    origin = _placed(config, options.position, 3, f"{key}.position")
    pivot = _placed(config, options.pivot, 6, f"{key}.pivot")
    soft = scene.parts.bodies[config.body].SOFT
    markers: tuple[str, ...] = ()
    carrier: Carrier | None
    places = np.zeros((0, 3))
    if options.kind == "markers":
        carrier, markers, places = _carrier(config, scene, options, key)
    else:
        carrier = _middle(scene, config.body) if soft else None
        if soft and (any(pivot.numbers) or any(pivot.names)):
            rule = "none for a soft body: its pose is the mean of its vertices"
            given: Any = options.pivot
            raise config.error(f"{key}.pivot", list(given), rule)
    turning = config.measurement.turning
    return Sensor(
        name, options, clock, origin, pivot, quat_matrix(np.array(options.orientation)),
        not soft and turning and options.kind == "poses", carrier, markers, places, turning, slack,
    )  # fmt: skip


def _slack(config: EstimationConfig, name: str) -> float:
    """How far a clock's parameter may go from its first guess."""
    options = config.parameters.get(name)
    if options is None or options.fixed:
        return 0.0
    low, high = options.bounds
    return max(high - options.value, options.value - low)


def _carrier(
    config: EstimationConfig, scene: SceneModel, options: CloudSensorOptions, key: str
) -> tuple[Carrier, tuple[str, ...], np.ndarray]:
    if not options.markers:
        raise config.error(f"{key}.markers", {}, "name -> place, for sensors of kind markers")
    places = config.places(options.markers, f"{key}.markers")
    names = tuple(str(name) for name in options.markers)
    return carrier_of(scene, config.body, places), names, places


def _middle(scene: SceneModel, body: str) -> SoftPoints:
    """The mean of a soft body's free vertices as a marker."""
    _, count = scene.engine.nodes_of(body)
    return SoftPoints(np.arange(count), np.full((1, count), 1.0 / count), np.zeros((1, 3)))


def _placed(config: EstimationConfig, values: object, count: int, key: str) -> NamedNumbers:
    if not isinstance(values, (list, tuple)) or len(values) != count:
        rule = f"{count} numbers or names of parameters"
        raise config.error(key, values, rule)
    numbers, names = zip(
        *(config.number(v, f"{key}[{i}]") for i, v in enumerate(values)), strict=True
    )
    return NamedNumbers(numbers, names)


def refuse_apart(
    sensor: Camera | Sensor, detections: Detections, first: float, span: float, place: str
) -> None:
    """InputError where a sensor's samples are not from the time of a throw."""
    samples = detections.samples
    stamps = detections.stamps if samples is None else samples.t
    own = stamps - first - sensor.clock.delay
    got = f"samples from {own[0]:.3f} to {own[-1]:.3f} s of the throw" if len(own) else "no sample"
    least = 1 if samples is None else LEAST
    rule = f"at least {least} within its {span:.3f} s ({place})"
    remedy = f"are clocks apart (measurement.sensors.{sensor.name}.delay), or its bounds too wide?"
    source = detections.clouds[0].source if samples is None else samples.place
    raise InputError(source, f"sensor {sensor.name}", got, rule, remedy)


def refuse_unrelated(
    sensor: Camera | Sensor, first: Observation, own: Observation, told: Mapping
) -> None:
    """InputError where stamps count from a recording's own first sample, and nobody said how the
    two clocks are related: both would begin together, whatever the sensors did.

    told  section of the sensor
    """
    for one in (own, first):
        if "delay" not in told and len(one.t) and one.t[0] == 0.0:
            key = f"measurement.sensors.{sensor.name}.delay"
            rule = (
                f"given, as the stamps of {one.place} begin at 0 (of a C3D or npz file always): 0 "
                "where both clocks are one, else the difference or a parameter"
            )
            raise InputError(own.place, key, "absent", rule)
