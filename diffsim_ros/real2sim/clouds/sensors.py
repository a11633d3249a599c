"""Further sensors of a throw that a depth camera saw: poses or markers with a clock of their own.

Their residuals stand beside those of the clouds in one trial, each in its own sigmas; the stamps of
the clouds are the reference, beside which a sensor's are late by `delay` and lose `drift`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import InputError, nearest
from ...inverse.clock import Clock, Placed
from ...inverse.losses import Huber
from ...inverse.marker_track import Carrier, MarkerTrack, SoftPoints
from ...inverse.pose_stream import PoseStream
from ...scene.model import SceneModel
from ...scene.rotation import matrix_from_quaternion
from ...scene.soft_shapes import SOFT
from .. import rotations
from ..config import EstimationConfig
from ..frames import Frames
from ..markers.attach import carrier_of
from ..options import OptionReader, read_options
from .kind_options import CloudSensorOptions
from .samples import Samples, read_samples

LEAST = 4
"""Samples of a throw that a sensor needs at least."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """One of measurement.sensors, bound to the scene.

    carrier  of markers;  turns  orientations count: of a rigid body whose orientation is unknown
    slack    [s] by which its clock may differ from the first guess, within the bounds
    """

    name: str
    options: CloudSensorOptions
    clock: Clock
    origin: Placed
    pivot: Placed
    turn: np.ndarray
    turns: bool
    carrier: Carrier | None
    markers: tuple[str, ...]
    slack: tuple[float, float]

    def read(self, path: str | Path) -> Samples:
        """The sensor's recording; InputError naming file, topic and sample."""
        return read_samples(path, self.options.kind, self.options.topic)

    def placed(self, samples: Samples, world: str, frames: Frames | None) -> Samples:
        """The samples in the frame that the YAML's position and orientation are of.

        world   name of the scene's frame;  frames  static transforms recorded along
        Raises InputError for a frame that is not the scene's and that nothing places in it.
        """
        told = (
            any(self.origin.numbers)
            or any(self.origin.names)
            or not np.allclose(self.turn, np.eye(3))
        )
        if told or samples.frame in ("", world):
            return samples
        if frames is None:
            key = f"measurement.sensors.{self.name}.position"
            rule = f"poses in {world!r}, a static transform to it, or {key} (and orientation)"
            raise InputError(samples.source, "frame_id", samples.frame, rule)
        found = frames.lookup(world, samples.frame, samples.source)
        place = samples.position @ matrix_from_quaternion(found.orientation).T + found.position
        q = samples.orientation
        if q is not None:
            q = rotations.multiply(np.broadcast_to(found.orientation, q.shape), q)
        return replace(samples, position=place, orientation=q, frame=world)

    def track(self, samples: Samples, body: str, first: float, last: float, interval: float):
        """Objective of the samples from stamp `first` of the clouds on, for `last` seconds.

        None where there are too few of them.  The clock may move within its bounds without a sample
        coming before the start.
        """
        t = samples.t - first - self.clock.reference
        inside = self._inside(t, last)
        if np.count_nonzero(inside) < LEAST:
            return None
        o, own = self.options, {"clock": self.clock, "origin": self.origin, "name": self.name}
        own["loss"] = Huber(o.outlier)
        seen = samples.position[inside] @ self.turn.T
        if self.carrier is not None:
            seen = seen[:, self._columns(samples)]
            return MarkerTrack(
                body, t[inside], interval, self.carrier, seen, o.sigma_position, **own
            )
        q = None
        if self.turns:
            turn = np.broadcast_to(o.orientation, (len(t), 4))
            q = rotations.multiply(turn, samples.orientation)[inside]
        sigmas = o.sigma_position, np.radians(o.sigma_rotation)
        return PoseStream(
            body, t[inside], interval, seen[:, 0], q, *sigmas, pivot=self.pivot, **own
        )

    def _inside(self, t: np.ndarray, last: float) -> np.ndarray:
        """Which stamps are of the rollout, wherever within its bounds the clock is."""
        at = self.clock.times(t)
        early, rate = self.slack
        room = early + rate * np.maximum(t, 0.0)
        return (t >= 0) & (at >= room) & (at <= last)

    def _columns(self, samples: Samples) -> list[int]:
        if self.options.kind == "poses":
            return [0]
        for name in self.markers:
            if name not in samples.names:
                rule = "the markers of the YAML: " + ", ".join(self.markers)
                remedy = nearest(name, samples.names)
                raise InputError(samples.source, "markers", ", ".join(samples.names), rule, remedy)
        return [samples.names.index(name) for name in self.markers]

    def needed(self, last: float) -> float:
        """Seconds of a rollout that the samples of `last` seconds may read."""
        early, rate = self.slack
        return (1.0 + rate) * last + early


@dataclass(frozen=True, eq=False)
class Seen:
    """What a sensor showed of one throw beside what it would show of the simulated one.

    t          times of the simulation, by the sensor's clock as estimated [s] (n,)
    names      of markers, else ("pivot",)
    measured, simulated  (n, m, 3) [m], scene's frame;  angle (n,) [deg] between them, or None
    errors     figures, as in metrics.json
    """

    name: str
    t: np.ndarray
    names: tuple[str, ...]
    measured: np.ndarray
    simulated: np.ndarray
    angle: np.ndarray | None
    errors: Mapping[str, float] = field(default_factory=dict)


def seen_by(sensor: Sensor, track: MarkerTrack | PoseStream, run, slot, values) -> Seen:
    """A sensor's track beside a rollout, at values of the parameters."""
    origin, angle = track.origin.at(values), None
    if isinstance(track, MarkerTrack):
        simulated = track.predicted(run, slot, values)
        measured = np.where(track.weight[..., None] > 0, track.position, np.nan)
    else:
        simulated, turns = track.predicted(run, slot, values)
        simulated, measured = simulated[:, None], track.position[:, None]
        if track.orientation is not None:
            apart = Rotation.from_matrix(turns) * Rotation.from_quat(track.orientation).inv()
            angle = np.degrees(apart.magnitude())
    distance = np.linalg.norm(simulated - measured, axis=2)
    missed = (simulated - measured) / sensor.options.sigma_position
    errors = {
        "samples": len(track.t),
        "position_error_m": float(np.nanmean(distance)),
        "rms_over_sigma": float(np.sqrt(np.nanmean(missed**2))),
    }
    if angle is not None:
        errors["rotation_error_deg"] = float(angle.mean())
    names = sensor.markers or ("pivot",)
    t = track.clock.times(track.t, values)
    return Seen(sensor.name, t, names, measured + origin, simulated + origin, angle, errors)


def read_sensors(config: EstimationConfig, scene: SceneModel) -> tuple[Sensor, ...]:
    """Section measurement.sensors; InputError naming what does not fit."""
    reader, found = OptionReader(config.place), []
    for name, value in config.measurement.sensors.items():
        key = f"measurement.sensors.{name}"
        found.append(_sensor(config, scene, reader, str(name), value, key))
    return tuple(found)


def _sensor(config, scene, reader, name: str, value: object, key: str) -> Sensor:
    options = read_options(CloudSensorOptions, reader, value, key)
    clock = {}
    for word in ("delay", "drift"):
        number, parameter = _of(config, getattr(options, word), f"{key}.{word}")
        clock |= {word: number, f"{word}_name": parameter}
    if not clock["drift"] > -1:
        raise config.error(f"{key}.drift", clock["drift"], "a number > -1")
    origin = _placed(config, options.position, 3, f"{key}.position")
    pivot = _placed(config, options.pivot, 6, f"{key}.pivot")
    soft = scene.description["bodies"][config.body]["type"] in SOFT
    if options.kind == "markers":
        carrier, markers = _carrier(config, scene, options, key)
    else:
        carrier, markers = (_middle(scene, config.body) if soft else None), ()
        if soft and (any(pivot.numbers) or any(pivot.names)):
            rule = "none for a soft body: its pose is the mean of its vertices"
            raise config.error(f"{key}.pivot", list(options.pivot), rule)
    clock = Clock(**clock, reference=clock["delay"])
    return Sensor(
        name, options, clock, origin, pivot, matrix_from_quaternion(np.array(options.orientation)),
        not soft and config.measurement.turning, carrier, markers,
        (_slack(config, clock.delay_name), _slack(config, clock.drift_name)),
    )  # fmt: skip


def _slack(config: EstimationConfig, name: str) -> float:
    """How far a clock's parameter may go from its first guess."""
    options = config.parameters.get(name)
    if options is None or options.fixed:
        return 0.0
    low, high = options.bounds
    return max(high - options.value, options.value - low)


def _carrier(config, scene, options, key: str) -> tuple[Carrier, tuple[str, ...]]:
    if not options.markers:
        raise config.error(f"{key}.markers", {}, "name -> place, for sensors of kind markers")
    places = []
    for name, place in options.markers.items():
        good = isinstance(place, (list, tuple)) and len(place) == 3
        if not good or not all(_number(v) for v in place):
            raise config.error(f"{key}.markers.{name}", place, "three finite numbers [m]")
        places.append(place)
    names = tuple(str(name) for name in options.markers)
    return carrier_of(scene, config.body, np.array(places, float)), names


def _middle(scene: SceneModel, body: str) -> SoftPoints:
    """The mean of a soft body's free vertices as a marker."""
    _, count = scene.engine.nodes_of(body)
    return SoftPoints(np.arange(count), np.full((1, count), 1.0 / count), np.zeros((1, 3)))


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)


def _of(config: EstimationConfig, value: object, key: str) -> tuple[float, str]:
    """(number, "") or (first guess, name of the parameter)."""
    if _number(value):
        return float(value), ""
    if not isinstance(value, str) or value not in config.parameters:
        near = nearest(str(value), config.parameters)
        raise config.error(key, value, "a finite number, or the name of a parameter", near)
    return config.parameters[value].value, value


def _placed(config: EstimationConfig, values: object, count: int, key: str) -> Placed:
    if not isinstance(values, (list, tuple)) or len(values) != count:
        rule = f"{count} numbers or names of parameters"
        raise config.error(key, values, rule)
    numbers, names = zip(
        *(_of(config, v, f"{key}[{i}]") for i, v in enumerate(values)), strict=True
    )
    return Placed(numbers, names)


def refuse_apart(sensor: Sensor, samples: Samples, first: float, span: float, place: str) -> None:
    """InputError where a sensor's samples are not of the time of a throw."""
    own = samples.t - first - sensor.clock.delay
    got = f"samples from {own[0]:.3f} to {own[-1]:.3f} s of the throw" if len(own) else "no sample"
    rule = f"at least {LEAST} within its {span:.3f} s ({place})"
    remedy = f"are clocks apart (measurement.sensors.{sensor.name}.delay), or its bounds too wide?"
    raise InputError(samples.source, f"sensor {sensor.name}", got, rule, remedy)
