"""From a depth camera's frames to the points of one object, stage by stage, each one counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...errors import InputError
from .cloud import Cloud
from .crop import at_rim, crop_colour, crop_space, cut_by
from .follow import Follower
from .library import o3d_cloud, open3d
from .options import CloudOptions
from .planes import Plane, find_planes


@dataclass(frozen=True)
class Stage:
    """What one stage did to one frame: points in and out, and its time [s]."""

    name: str
    before: int
    after: int
    seconds: float


@dataclass(frozen=True)
class ProcessedCloud:
    """One frame after the pipeline: the object's points, None where it was not detected."""

    cloud: Cloud | None
    stamp: float
    stages: tuple[Stage, ...]

    @property
    def seconds(self) -> float:
        """Time that all stages took."""
        return sum(stage.seconds for stage in self.stages)


@dataclass
class _Counter:
    """Runs stages one after the other and notes what they did."""

    cloud: Cloud | None
    stages: list[Stage] = field(default_factory=list)

    def run(self, name: str, function: Callable[[Cloud], Cloud | None]) -> None:
        """Replace the cloud by function(cloud)."""
        if self.cloud is None:
            return
        before, start = len(self.cloud), time.perf_counter()
        self.cloud = function(self.cloud)
        after = 0 if self.cloud is None else len(self.cloud)
        self.stages.append(Stage(name, before, after, time.perf_counter() - start))


class CloudPipeline:
    """Frames of one static sensor in, points of one object out.

    planes   of the scene, found in the first frames [frame of the options]; later ones only lose
             the points that lie in them
    """

    def __init__(self, options: CloudOptions) -> None:
        self.options = options
        self.planes: list[Plane] = []
        self._first: list[np.ndarray] = []
        self._follower = Follower(options.object) if options.object else None

    def process(self, cloud: Cloud) -> ProcessedCloud:
        """One frame; raises InputError for a cloud in another frame, or one without colour."""
        o, stages = self.options, _Counter(cloud)
        wanted = o.values["sensor_frame"]
        if wanted is not None and cloud.frame != wanted:
            raise InputError(cloud.source, "frame_id", cloud.frame, f"the frame {wanted!r}")
        stages.run("transform", self._transformed)
        for i, box in enumerate(o.boxes):
            stages.run(f"box {i}", partial(crop_space, box=box))
        for i, box in enumerate(o.colours):
            stages.run(f"colour {i}", partial(crop_colour, box=box))
        if o.values["voxel"]:
            stages.run("voxel", lambda c: voxels(c, o.values["voxel"]))
        if o.planes:
            stages.run("planes", self._without_planes)
        if o.outliers:
            stages.run("outliers", partial(without_outliers, options=o.outliers))
        if self._follower:
            stages.run("object", self._follower.find)
            if self._follower.options["whole"]:
                stages.run("whole", self._whole)
        if o.values["sample"]:
            stages.run("sample", lambda c: sampled(c, o.values["sample"]))
        detected = stages.cloud if stages.cloud is not None and len(stages.cloud) else None
        return ProcessedCloud(detected, cloud.stamp, tuple(stages.stages))

    def run(self, clouds: Iterable[Cloud]) -> list[ProcessedCloud]:
        """All frames in turn; planes are found in the first ones before any is processed."""
        clouds = list(clouds)
        if self.options.planes:
            for cloud in clouds[: self.options.planes["frames"]]:
                self._look_for_planes(self._cropped(self._transformed(cloud)))
        return [self.process(cloud) for cloud in clouds]

    def _transformed(self, cloud: Cloud) -> Cloud:
        o = self.options
        return cloud.moved(o.rotation, o.values["position"], o.values["frame"])

    def _cropped(self, cloud: Cloud) -> Cloud:
        for box in self.options.boxes:
            cloud = crop_space(cloud, box)
        return cloud

    def _whole(self, cloud: Cloud) -> Cloud | None:
        """Nothing of an object that a box or the image's rim may have cut.

        Half a ball has another place than the ball.
        """
        margin = self.options.object["distance"]
        cut = any(cut_by(cloud.points, box, margin) for box in self.options.boxes)
        return None if cut or at_rim(cloud) else cloud

    def _look_for_planes(self, cloud: Cloud) -> None:
        """Planes of all points so far, until there are enough frames."""
        options = self.options.planes
        if len(self._first) >= options["frames"] or not len(cloud):
            return
        self._first.append(cloud.points)
        self.planes = find_planes(np.concatenate(self._first), cloud.eye, options)

    def _without_planes(self, cloud: Cloud) -> Cloud:
        self._look_for_planes(cloud)
        keep = np.ones(len(cloud), bool)
        for plane in self.planes:
            distance, near = plane.distance(cloud.points), self.options.planes["distance"]
            keep &= distance > near if self.options.planes["behind"] else np.abs(distance) > near
        return cloud.kept(keep)


def voxels(cloud: Cloud, edge: float) -> Cloud:
    """Points (and colours) averaged in cells of this edge [m]."""
    o3d = open3d()
    packed = o3d_cloud(cloud.points)
    if cloud.colour is not None:
        packed.colors = o3d.utility.Vector3dVector(cloud.colour)
    thin = packed.voxel_down_sample(edge)
    colour = None if cloud.colour is None else np.asarray(thin.colors)
    return replace(cloud, points=np.asarray(thin.points), colour=colour, pixel=None, shape=None)


def without_outliers(cloud: Cloud, options: Mapping) -> Cloud:
    """Points that are not isolated, by distance statistics and by neighbours within a radius."""
    if options["ratio"] and len(cloud):
        packed = o3d_cloud(cloud.points)
        _, kept = packed.remove_statistical_outlier(options["neighbours"], options["ratio"])
        cloud = cloud.kept(np.asarray(kept, int))
    if options["radius"] and len(cloud):
        packed = o3d_cloud(cloud.points)
        _, kept = packed.remove_radius_outlier(options["least"], options["radius"])
        cloud = cloud.kept(np.asarray(kept, int))
    return cloud


def sampled(cloud: Cloud, most: int) -> Cloud:
    """At most so many points, spread evenly over their order (the image's rows)."""
    if len(cloud) <= most:
        return cloud
    return cloud.kept(np.linspace(0, len(cloud) - 1, most).round().astype(int))


def stage_table(frames: Sequence[ProcessedCloud]) -> list[dict]:
    """Per stage over all frames: mean points in and out, median and longest time [ms]."""
    names = list(dict.fromkeys(stage.name for frame in frames for stage in frame.stages))
    table = []
    for name in names:
        found = [s for frame in frames for s in frame.stages if s.name == name]
        ms = [1e3 * s.seconds for s in found]
        table.append({
            "stage": name, "frames": len(found),
            "points_in": float(np.mean([s.before for s in found])),
            "points_out": float(np.mean([s.after for s in found])),
            "median_ms": float(np.median(ms)), "longest_ms": float(np.max(ms)),
        })  # fmt: skip
    return table
