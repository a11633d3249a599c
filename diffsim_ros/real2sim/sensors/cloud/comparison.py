"""What the sensors of a throw measured, and what they would measure of the simulated one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ....inverse.cloud_track import CloudTrack
from ....inverse.marker_track import MarkerTrack
from ....inverse.objectives import BodySlot
from ....sensing.clouds.cloud import Cloud
from .camera import Camera
from .detections import Detections, registered
from .trackers import Sensor


@dataclass(frozen=True, eq=False)
class SensorComparison:
    """What a sensor measured of one throw, and what it would measure of the simulated one.

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


def predicted_for(
    sensor: Sensor | Camera, track: Any, run: Any, slot: BodySlot, values: Mapping[str, float]
) -> SensorComparison:
    """A sensor's track (of its `track`) and a rollout, at values of the parameters."""
    if isinstance(sensor, Camera):
        return _by_camera(sensor, track, run, slot, values)
    origin, angle = track.origin.at(values), None
    if isinstance(track, MarkerTrack):
        simulated = track.predicted(run, slot, values)
        measured = track.position
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
    return SensorComparison(
        sensor.name, t, names, measured + origin, simulated + origin, angle, errors
    )


def _by_camera(
    camera: Camera, track: CloudTrack, run: Any, slot: BodySlot, values: Mapping[str, float]
) -> SensorComparison:
    """A camera's points, and of them where the body's middle would be."""
    frames, surface = _points_by_frame(camera, track, run, slot, values)
    middle = surface.mean(axis=1)[:, None]
    distance, residual = np.concatenate(frames.distance), np.concatenate(frames.residual)
    errors = {
        "samples": len(distance),
        "position_error_m": float(np.linalg.norm(frames.shift, axis=1).mean()),
        "rms_distance_m": float(np.sqrt(np.mean(distance**2))),
        "rms_over_sigma": float(np.sqrt(np.mean(residual**2))),
    }
    t = track.clock.times(track.t, values)
    measured = middle + frames.shift[:, None]
    return SensorComparison(camera.name, t, ("middle",), measured, middle, None, errors)


@dataclass(frozen=True, eq=False)
class CloudResiduals:
    """What was measured in every frame of the first sensor, compared with a simulated body.

    points    [m] (n, 3) of each;  distance to the simulated ones [m] (n,), of a camera's points
              > 0 outside of its surface;  residual  the same over sigma
    shift     of the simulated body that fits each frame best [m] (F, 3)
    """

    points: list[np.ndarray]
    distance: list[np.ndarray]
    residual: list[np.ndarray]
    shift: np.ndarray

    @property
    def rms(self) -> np.ndarray:
        """Of the distances of every frame [m] (F,)."""
        return np.array([np.sqrt(np.mean(d**2)) for d in self.distance])


def frames_of(
    sensor: Sensor | Camera, detections: Detections, track: Any, run: Any, slot: BodySlot,
    values: Mapping[str, float],
) -> CloudResiduals:  # fmt: skip
    """The first sensor's frames and a rollout."""
    if isinstance(sensor, Camera):
        return _points_by_frame(sensor, track, run, slot, values)[0]
    comparison = predicted_for(sensor, track, run, slot, values)
    rows = np.searchsorted(comparison.t, detections.stamps - detections.stamps[0] - 1e-9)
    points, away = [], []
    for row in rows:
        shown = np.isfinite(comparison.measured[row]).all(axis=1)
        points.append(comparison.measured[row][shown])
        away.append(comparison.measured[row][shown] - comparison.simulated[row][shown])
    distance = [np.linalg.norm(d, axis=1) for d in away]
    # per axis, as the noise is given: a distance has three
    residual = [d / (np.sqrt(3.0) * sensor.options.sigma_position) for d in distance]
    return CloudResiduals(points, distance, residual, np.array([d.mean(axis=0) for d in away]))


def _points_by_frame(
    camera: Camera, track: CloudTrack, run: Any, slot: BodySlot, values: Mapping[str, float]
) -> tuple[CloudResiduals, np.ndarray]:
    """A camera's points and a rollout, by its own sigmas, whatever its weight, and the simulated
    surface at its frames [m] (F, v, 3)."""
    cuts = np.flatnonzero(np.diff(track.frame)) + 1
    distance = track.nearest(run, slot, values).distance
    surface, points = track.surface(run, slot, values), np.split(track.points, cuts)
    shift = np.array([
        registered(x, track.skin.triangles, Cloud(own, eye=np.asarray(track.eye)), np.zeros(3))
        for x, own in zip(surface, points, strict=True)
    ])  # fmt: skip
    residual = np.split(distance / (track.sigma * camera.weight**0.5), cuts)
    return CloudResiduals(points, np.split(distance, cuts), residual, shift), surface
