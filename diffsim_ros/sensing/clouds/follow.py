"""The object among clusters: found by DBSCAN, followed by its predicted place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .cloud import Cloud
from .library import o3d_cloud


def clusters(points: np.ndarray, distance: float, least: int) -> list[np.ndarray]:
    """Indices of the points of each cluster, the largest first; noise is in none."""
    if not len(points):
        return []
    labels = np.asarray(o3d_cloud(points).cluster_dbscan(distance, least))
    found = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return sorted(found, key=lambda part: (-len(part), part[0]))


@dataclass
class Follower:
    """One object from frame to frame; `options` as options.OBJECT.

    Predicts by constant acceleration `gravity`; the velocity is that of the last two detections.
    missed   frames since it was last detected; after `patience` of them it is `lost` and searched
             again, as at first
    """

    options: Mapping
    place: np.ndarray | None = None
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    last_detected: float = 0.0
    missed: int = 0

    def predicted(self, stamp: float) -> np.ndarray | None:
        """Where its centre should be at a time [s], None before it was detected."""
        if self.place is None:
            return None if self.options["start"] is None else np.array(self.options["start"])
        wait = stamp - self.last_detected
        return self.place + wait * self.velocity + 0.5 * wait**2 * self._pull()

    def _pull(self) -> np.ndarray:
        return np.asarray(self.options["gravity"], float)

    def find(self, cloud: Cloud) -> Cloud | None:
        """The object's points of a frame, None where it is hidden.

        Of the clusters that are large enough: the one whose nearest point is nearest to the
        prediction, if within the gate; without a prediction the largest.
        """
        o = self.options
        parts = clusters(cloud.points, o["distance"], o["least"])
        parts = [part for part in parts if len(part) >= o["points"]]
        expected = self.predicted(cloud.stamp)
        if parts and expected is not None:
            away = [np.linalg.norm(cloud.points[p] - expected, axis=1).min() for p in parts]
            parts = [parts[int(np.argmin(away))]] if min(away) <= o["gate"] else []
        if not parts:
            self.missed += 1
            if self.missed > o["patience"]:
                self.place = None
            return None
        found = cloud.kept(np.sort(parts[0]))
        self._move_to(found.points.mean(axis=0), cloud.stamp)
        return found

    def _move_to(self, place: np.ndarray, stamp: float) -> None:
        """Take the detection; the velocity at its end under constant acceleration."""
        wait = stamp - self.last_detected
        if self.place is not None and wait > 0:
            self.velocity = (place - self.place) / wait + 0.5 * wait * self._pull()
        else:
            self.velocity = np.zeros(3)
        self.place, self.last_detected, self.missed = place, stamp, 0
