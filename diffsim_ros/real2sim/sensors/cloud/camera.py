"""A depth camera as one of a throw's sensors: pipeline, floor, registration of the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from ....errors import InputError
from ....inverse.clock import Clock
from ....inverse.cloud_track import CloudTrack, RigidSkin, SoftSkin
from ....inverse.losses import Huber, Loss
from ....rotation import quat_between, quat_matrix
from ....sensing.clouds.cloud import Cloud
from ....sensing.clouds.files import trials
from ....sensing.clouds.options import CLOUD, CloudOptions, DepthNoise
from ....sensing.clouds.pipeline import CloudPipeline, ProcessedCloud, stage_table
from ....sensing.clouds.planes import Plane
from ....sensing.frames import static_frames
from ....sensing.observation import Observation
from ....sensing.read import read_kind
from .detections import Detections, Outline, followed

EARLY = 0.5
"""Seconds before and after a throw of which another camera's clouds are looked at too."""
ROUNDING = 1e-9
"""Seconds by which stamps that are equal may differ."""


@dataclass(frozen=True, eq=False)
class Camera:
    """One camera, bound to the scene.

    options    its section `cloud`;  topic  of a bag with several
    floor      plane of the scene that the floor found is put onto, {normal, offset}, or None
    turning    the orientation of the body is estimated from its points
    outlier    [sigma] beyond which a point counts less;  weight  of its squares
    clock      of its stamps, and slack (delay, drift) by which it may go from the first guess
    """

    name: str
    options: CloudOptions
    topic: str = ""
    floor: dict | None = None
    turning: bool = False
    outlier: float = 2.0
    weight: float = 1.0
    clock: Clock = field(default_factory=Clock)
    slack: tuple[float, float] = (0.0, 0.0)
    priority: ClassVar[int] = 1

    def throws(self, path: str | Path, rate: float | None, topic: str) -> list[Observation]:
        """Throws of a file, as the first of the sensors."""
        return trials(self._whole(path, rate, topic or self.topic))

    def read(self, path: str | Path) -> Observation:
        """The camera's clouds of a whole file, for throws of another sensor."""
        return self._whole(path, None, self.topic)

    def _whole(self, path: str | Path, rate: float | None, topic: str) -> Observation:
        scale = self.options.values["scale"]
        return read_kind(path, "clouds", topic, rate=rate, scale=scale)

    def meanwhile(self, recording: Observation, first: float, last: float) -> Observation:
        """Its clouds of about the time from stamp `first` to `last` of the first sensor."""
        early, late = self.stamps(np.array([first, last])) + np.array([-EARLY, EARLY])
        kept = recording.kept((early <= recording.t) & (recording.t <= late))
        if not len(kept):
            got = f"clouds from {recording.t[0]:.3f} to {recording.t[-1]:.3f} s"
            rule = f"some of the throw, from {early + EARLY:.3f} s on"
            remedy = f"are clocks apart (measurement.sensors.{self.name}.delay)?"
            raise InputError(recording.source, f"sensor {self.name}", got, rule, remedy)
        return kept

    def stamps(self, t: np.ndarray) -> np.ndarray:
        """Its own stamps at stamps t of the first sensor, at the first guess of its delay."""
        return t + self.clock.reference

    def detections(self, recording: Observation, outline: Outline) -> Detections:
        """The recording after the pipeline; InputError if it does not show the body."""
        pipeline = CloudPipeline(self._placed(recording))
        frames = pipeline.run(recording.clouds)
        turn, shift = self._onto_floor(recording.source, pipeline.planes)
        world = self.options.values["frame"]
        clouds = [c.moved(turn, shift, world) for c in detected_clouds(frames, recording.source)]
        registered = followed(
            outline.vertices, outline.skin.triangles, clouds, outline.turn, turning=self.turning
        )
        return Detections(
            clouds, registered, len(frames), pipeline.planes, turn, shift, stage_table(frames)
        )  # fmt: skip

    def rotations_measured(self, detections: Detections) -> tuple[np.ndarray, np.ndarray] | None:
        """Stamps (n,) by the first sensor's clock and orientations (n, 3, 3) of the body, None
        where the camera does not show them."""
        if not self.turning:
            return None
        turns = np.array([one.turn for one in detections.registered])
        return detections.stamps - self.clock.reference, turns

    def track(
        self, detections: Detections, outline: Outline, first: float, last: float, interval: float
    ) -> CloudTrack | None:
        """Objective of the frames from stamp `first` of the first sensor on, for `last` seconds.

        None where there is none.
        """
        t = detections.stamps - first - self.clock.reference
        inside = within(self.clock, self.slack, t, last)
        if not inside.any():
            return None
        kept = np.flatnonzero(inside)
        clouds = [detections.clouds[int(k)] for k in kept]
        incidence = np.concatenate([detections.registered[int(k)].cosine for k in kept])
        return cloud_track(
            outline.name, clouds, outline.skin, self.options.noise,
            start=first + self.clock.reference, interval=interval, loss=Huber(self.outlier),
            incidence=incidence, name=self.name, clock=self.clock, weight=self.weight,
        )  # fmt: skip

    def needed(self, last: float) -> float:
        """Seconds of a rollout that the frames of `last` seconds may need."""
        early, rate = self.slack
        return (1.0 + rate) * last + early

    def _placed(self, recording: Observation) -> CloudOptions:
        """The pipeline's options; static transforms of the recording place a camera that the YAML
        does not. InputError if there are some, but none from the camera to the scene's frame.
        """
        values = self.options.values
        given = any(values[key] != CLOUD[key].default for key in ("position", "orientation"))
        known = None if given else static_frames(recording.source)
        if known is None:
            return self.options
        found = known.lookup(values["frame"], recording.frame, recording.source)
        pose = {"position": found.position.tolist(), "orientation": found.orientation.tolist()}
        return replace(self.options, values={**values, **pose})

    def _onto_floor(self, source: str, planes: Sequence[Plane]) -> tuple[np.ndarray, np.ndarray]:
        """Turn (3, 3) and shift (3,) that put the floor found onto the scene's."""
        if self.floor is None:
            return np.eye(3), np.zeros(3)
        floor = next((plane for plane in planes if plane.name == "floor"), None)
        if floor is None:
            got = ", ".join(plane.name for plane in planes) or "no plane"
            remedy = "see measurement.cloud.planes: share, distance, up"
            raise InputError(source, "planes", got, "a floor", remedy)
        normal = np.asarray(self.floor["normal"], float)
        turn = quat_matrix(quat_between(floor.normal, normal))
        middle = floor.centre
        height = float(normal @ middle) - self.floor["offset"]
        return turn, middle - height * normal - turn @ middle


def within(clock: Clock, slack: Sequence[float], t: np.ndarray, last: float) -> np.ndarray:
    """Which stamps t (n,) [s] are of a rollout of `last` seconds, wherever in its bounds the clock
    is: none may come before the start.
    """
    at, (early, rate) = clock.times(t), slack
    return (t >= 0) & (at >= early + rate * np.maximum(t, 0.0)) & (at <= last + ROUNDING)


def detected_clouds(frames: Sequence[ProcessedCloud], place: str = "clouds") -> list[Cloud]:
    """The object's points of the frames in which it was detected; InputError if it never was.

    place   file or topic, for messages
    """
    clouds = [frame.cloud for frame in frames if frame.cloud is not None]
    if not clouds:
        rule = "an object that is detected in one frame at least"
        remedy = "look at the pipeline's table: which stage leaves nothing?"
        raise InputError(place, "object", f"not in one of {len(frames)} frames", rule, remedy)
    return clouds


def cloud_track(
    body: str, clouds: Sequence[Cloud], skin: SoftSkin | RigidSkin, noise: DepthNoise, *,
    start: float, interval: float, loss: Loss | None = None, incidence: np.ndarray | float = 1.0,
    name: str = "cloud", clock: Clock | None = None, weight: float = 1.0,
) -> CloudTrack:  # fmt: skip
    """Points of a body as an objective, each with the sensor's noise at its distance.

    clouds    of one static sensor, in the frame of the scene's world
    start     stamp at which the rollout starts [s];  interval of its rows [s]
    incidence cosine between ray and surface of every point, or one of all
    clock     of the stamps;  weight  of the points' squares
    """
    eyes = np.array([cloud.eye for cloud in clouds])
    if np.ptp(eyes, axis=0).max() > 1e-9:
        raise InputError("clouds", "eye", np.ptp(eyes, axis=0).tolist(), "a static sensor")
    points = np.concatenate([cloud.points for cloud in clouds])
    distance = np.linalg.norm(points - eyes[0], axis=1)
    return CloudTrack(
        body, np.array([cloud.stamp for cloud in clouds]) - start, interval, skin, points,
        np.repeat(np.arange(len(clouds)), [len(cloud) for cloud in clouds]), eyes[0],
        noise.along(distance) / weight**0.5, noise.across(distance) / weight**0.5,
        loss=loss or Loss(), incidence=incidence, name=name, clock=clock or Clock(),
    )  # fmt: skip
