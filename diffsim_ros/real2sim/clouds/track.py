"""Frames behind the pipeline as the objective of an estimation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from ...inverse.clock import Clock
from ...inverse.cloud_track import CloudTrack, RigidSkin, SoftSkin
from ...inverse.losses import Loss
from ...sensing.clouds.cloud import Cloud
from ...sensing.clouds.options import DepthNoise
from ...sensing.clouds.pipeline import ProcessedCloud


def detected_clouds(frames: Sequence[ProcessedCloud], place: str = "clouds") -> list[Cloud]:
    """The object's points of the frames in which it was seen; InputError if it never was.

    place   file or topic, for messages
    """
    clouds = [frame.cloud for frame in frames if frame.cloud is not None]
    if not clouds:
        rule = "an object that is seen in one frame at least"
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
        raise InputError("clouds", "eye", np.ptp(eyes, axis=0).tolist(), "a sensor that stands")
    points = np.concatenate([cloud.points for cloud in clouds])
    distance = np.linalg.norm(points - eyes[0], axis=1)
    return CloudTrack(
        body, np.array([cloud.stamp for cloud in clouds]) - start, interval, skin, points,
        np.repeat(np.arange(len(clouds)), [len(cloud) for cloud in clouds]), eyes[0],
        noise.along(distance) / weight**0.5, noise.across(distance) / weight**0.5,
        loss=loss or Loss(), incidence=incidence, name=name, clock=clock or Clock(),
    )  # fmt: skip
