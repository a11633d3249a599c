"""Node `visualizer`: measured and simulated motion side by side in rviz, and the tracker live.

in        `result`, or the last report of `estimator`/~/result   folder with motion.mcap
          `pose_topics`         geometry_msgs/PoseStamped, best effort: the body's present pose
          `markers_topics`      mocap4r2_msgs/Markers, the same
out       ~/scene               visualization_msgs/MarkerArray, latched: table and whole paths
          ~/motion              visualization_msgs/MarkerArray: bodies (deforming ones as meshes),
                                markers, residuals, contact
          ~/points              sensor_msgs/PointCloud2: a camera's points, coloured by residual
          ~/live                visualization_msgs/MarkerArray: the tracked body now
          ~/measured_path       nav_msgs/Path, latched, of the trial that plays; ~/simulated_path

The trials play one after the other, forever.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from diffsim_interfaces.msg import MaterialEstimate
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import MarkerArray

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, SENSOR, STREAM, BaseNode, Declared, run_node
from diffsim_ros.sensing.bags import EPOCH_NS, POSE, read_raw, topics
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.read import read_kind
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.playback import CLOUD_TOPIC, MARKER_TOPIC, MOCAP_TOPICS, SPHERE

MOTION_FILE = "motion.mcap"
LIVE = (0.95, 0.75, 0.2, 0.6)  # colour of what is measured now


@dataclass
class RecordedScene:
    """One trial: what stays, and the marker arrays at times t [ns], with both paths.

    clouds   points at times cloud_t [ns]
    """

    still: MarkerArray
    t: list[int] = field(default_factory=list)
    moving: list[MarkerArray] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)
    cloud_t: list[int] = field(default_factory=list)
    clouds: list[PointCloud2] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Stamp [ns] of the last picture."""
        return max(self.t[-1:] + self.cloud_t[-1:])


def read_scenes(path: FilePath, frame: str) -> list[RecordedScene]:
    """The trials of a motion file in `frame`; raises InputError naming the file."""
    scenes: list[RecordedScene] = []
    for message in read_raw(path, MARKER_TOPIC):
        pictures = convert.stored_markers(message.data, frame)
        still, moving, clear = convert.split_markers(pictures)
        if clear or not scenes:
            scenes.append(RecordedScene(still))
        scenes[-1].t.append(message.stamp)
        scenes[-1].moving.append(moving)
    if not scenes:
        raise InputError(path, MARKER_TOPIC, "no messages", "at least one marker array")
    known = topics(path)
    if CLOUD_TOPIC in known:
        _add_clouds(scenes, path, frame)
    for who in MOCAP_TOPICS:
        poses = sorted(
            t for t, (kind, _) in known.items() if kind == POSE and t.endswith(f"/{who}")
        )
        if poses:  # of the first body, where there are several
            _add_paths(scenes, who, *_pose_path(path, poses[0]), frame)
        elif MOCAP_TOPICS[who] in known:
            _add_paths(scenes, who, *_marker_path(path, MOCAP_TOPICS[who]), frame)
    return scenes


def _add_clouds(scenes: list[RecordedScene], path: FilePath, frame: str) -> None:
    """Points to the trial during which they were measured."""
    starts = [scene.t[0] for scene in scenes]
    for message in read_raw(path, CLOUD_TOPIC):
        scene = scenes[max(int(np.searchsorted(starts, message.stamp, side="right")) - 1, 0)]
        scene.cloud_t.append(message.stamp)
        scene.clouds.append(convert.stored_cloud(message.data, frame))


def _pose_path(path: FilePath, topic: str) -> tuple[np.ndarray, np.ndarray]:
    """Stamps [ns] (n,) and poses (n, 7) of a body."""
    found = read_kind(path, "poses", topic)
    return found.epoch + np.rint(found.t * NANO).astype(np.int64), found.value


def _marker_path(path: FilePath, topic: str) -> tuple[np.ndarray, np.ndarray]:
    """The same of the marker that goes farthest, upright; none where it is missing."""
    found = read_kind(path, "markers", topic)
    t, position = found.t, found.position
    extent = np.nanmax(position, axis=0) - np.nanmin(position, axis=0)
    places = position[:, int(np.argmax(np.linalg.norm(extent, axis=1)))]
    visible = np.isfinite(places).all(axis=1)
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(t), 1))
    stamps = EPOCH_NS + np.rint(t * NANO).astype(np.int64)
    return stamps[visible], np.hstack([places, upright])[visible]


def _add_paths(scenes, who: str, stamps: np.ndarray, poses: np.ndarray, frame: str) -> None:
    for scene in scenes:
        rows = (stamps >= scene.t[0]) & (stamps <= scene.end)
        scene.paths[who] = convert.path_message(stamps[rows], poses[rows], frame)


class Visualizer(BaseNode):
    """Plays the marker arrays of a result; viz.markers decides what they look like."""

    PARAMETERS = (
        Declared("result", "", "folder of an estimation's results; empty: wait for the estimator"),
        Declared("estimator", "estimator", "node whose ~/result is shown"),
        Declared("pose_topics", ["cube/pose"], "PoseStamped topics that are shown live"),
        Declared("markers_topics", [""], "mocap4r2_msgs/Markers topics that are shown live"),
        Declared("world_frame", "world", "frame of all markers and paths"),
        Declared("frame_rate", 30.0, "most marker messages per second", 1.0, 240.0),
        Declared("speed", 0.5, "speed of playing: 1 is real time", 0.001, 100.0),
        Declared("pause", 1.0, "seconds between two trials", 0.0, 60.0),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("visualizer", **options)
        self._scenes: list[RecordedScene] = []
        self._index, self._frame, self._cloud, self._begun = 0, -1, -1, 0.0
        self._shown: dict[str, float] = {}
        self._scene = self.create_publisher(MarkerArray, "~/scene", LATCHED)
        self._motion = self.create_publisher(MarkerArray, "~/motion", STREAM)
        self._live = self.create_publisher(MarkerArray, "~/live", STREAM)
        self._points = self.create_publisher(PointCloud2, "~/points", STREAM)
        self._paths = {
            who: self.create_publisher(Path, f"~/{who}_path", LATCHED) for who in MOCAP_TOPICS
        }
        self.create_subscription(
            MaterialEstimate, f"{self['estimator']}/result", self._on_result, LATCHED
        )
        for index, topic in enumerate(filter(None, self["pose_topics"] or ())):
            self.create_subscription(
                PoseStamped, topic, partial(self._on_pose, index, topic), SENSOR
            )
        for topic in filter(None, self["markers_topics"] or ()):
            kind = convert.installed(convert.Markers, "node visualizer", "markers_topics", topic)
            self.create_subscription(kind, topic, partial(self._on_markers, topic), SENSOR)
        self.create_timer(1.0 / self["frame_rate"], self._tick)
        if self["result"]:
            self._load(FilePath(self["result"]))

    def _load(self, folder: FilePath) -> None:
        """Read the motions of a result folder and begin to play; raises InputError."""
        self._scenes = read_scenes(folder / MOTION_FILE, self["world_frame"])
        self._begin(0)
        self.get_logger().info(f"playing {len(self._scenes)} trials of {folder}")

    def _on_result(self, message: MaterialEstimate) -> None:
        if not message.report_path or message.error_code == convert.CODES["CANCELED"]:
            return
        try:
            self._load(FilePath(message.report_path).parent)
        except InputError as error:
            self.get_logger().error(str(error))

    def _on_pose(self, index: int, topic: str, message: PoseStamped) -> None:
        """Show the tracked body where it is now, at most `frame_rate` times a second."""
        if not self._due(topic):
            return
        sample = convert.pose_sample(message, topic)
        try:
            cube = Marker(
                "live",
                index,
                position=sample.position,
                orientation=convert.unit(sample.orientation),
                scale=Motion.size,
                colour=LIVE,
                frame_id=sample.frame,
                lifetime=1.0,
            )
        except ValueError:  # an unusable pose; the observer counts and reports those
            return
        self._show(topic, cube)

    def _on_markers(self, topic: str, message) -> None:
        """Show optical markers where they are now, at the same rate."""
        if not self._due(topic):
            return
        frame = convert.marker_frame(message)
        points = frame.points[np.isfinite(frame.points).all(axis=1)]
        if len(points):
            look = {"scale": SPHERE, "colour": LIVE, "frame_id": frame.frame, "lifetime": 1.0}
            self._show(topic, Marker(topic, 0, MarkerKind.SPHERE_LIST, points=points, **look))

    def _due(self, topic: str) -> bool:
        return time.monotonic() - self._shown.get(topic, 0.0) >= 1.0 / self["frame_rate"]

    def _show(self, topic: str, marker: Marker) -> None:
        self._shown[topic] = time.monotonic()
        stamp = self.get_clock().now().nanoseconds
        self._live.publish(convert.marker_array([marker], stamp))

    def _begin(self, index: int) -> None:
        """Start the trial `index`: its table and paths replace those of the last one."""
        self._index, self._frame, self._cloud = index % len(self._scenes), -1, -1
        self._begun = time.monotonic()
        scene = self._scenes[self._index]
        self._scene.publish(scene.still)
        for who, path in scene.paths.items():
            self._paths[who].publish(path)

    def _tick(self) -> None:
        """Publish what is due, the next trial when this one has been shown."""
        if not self._scenes:
            return
        scene = self._scenes[self._index]
        played = (time.monotonic() - self._begun) * self["speed"] * NANO
        if played > scene.end - scene.t[0] + self["pause"] * self["speed"] * NANO:
            self._begin(self._index + 1)
            return
        now = scene.t[0] + played
        frame = int(np.searchsorted(scene.t, now, side="right")) - 1
        if frame != self._frame:
            self._frame = frame
            self._motion.publish(scene.moving[frame])
        cloud = int(np.searchsorted(scene.cloud_t, now, side="right")) - 1
        if cloud not in (self._cloud, -1):
            self._cloud = cloud
            self._points.publish(scene.clouds[cloud])


main = partial(run_node, Visualizer)
"""Console script `visualizer`."""

if __name__ == "__main__":
    raise SystemExit(main())
