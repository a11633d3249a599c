"""Node `visualizer`: measured and simulated motion side by side in rviz, and the tracker live.

in        `result`, or the last report of `estimator`/~/result   folder with motion.mcap
          `pose_topics`         geometry_msgs/PoseStamped, best effort: the body as it is seen now
out       ~/scene               visualization_msgs/MarkerArray, latched: table and whole paths
          ~/motion              visualization_msgs/MarkerArray: both bodies, residuals, contact
          ~/live                visualization_msgs/MarkerArray: the tracked body now
          ~/measured_path       nav_msgs/Path, latched, of the toss that plays; ~/simulated_path

The tosses play one after the other, for ever.
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
from visualization_msgs.msg import MarkerArray

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, SENSOR, STREAM, BaseNode, Declared, run_node
from diffsim_ros.real2sim.bags import read_poses
from diffsim_ros.real2sim.playback import read_raw
from diffsim_ros.real2sim.recorder import NANO
from diffsim_ros.viz.markers import Marker
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.playback import MARKER_TOPIC, TOPICS

MOTION_FILE = "motion.mcap"


@dataclass
class Scene:
    """One toss: what stays, and the marker arrays at times t [ns], with both paths."""

    still: MarkerArray
    t: list[int] = field(default_factory=list)
    moving: list[MarkerArray] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)


def read_scenes(path: FilePath, frame: str) -> list[Scene]:
    """The tosses of a motion file in `frame`; raises InputError naming the file."""
    scenes: list[Scene] = []
    for stamp, raw in read_raw(path, MARKER_TOPIC):
        still, moving, clear = convert.split_markers(convert.stored_markers(raw, frame))
        if clear or not scenes:
            scenes.append(Scene(still))
        scenes[-1].t.append(stamp)
        scenes[-1].moving.append(moving)
    for who, topic in TOPICS.items():
        bag = read_poses(path, topic)
        stamps = bag.epoch_ns + np.rint(bag.track.t * NANO).astype(np.int64)
        poses = np.hstack([bag.track.position, bag.track.orientation])
        for scene in scenes:
            rows = (stamps >= scene.t[0]) & (stamps <= scene.t[-1])
            scene.paths[who] = convert.path_message(stamps[rows], poses[rows], frame)
    if not scenes:
        raise InputError(path, MARKER_TOPIC, "no messages", "at least one marker array")
    return scenes


class Visualizer(BaseNode):
    """Plays the marker arrays of a result; what they look like is viz.markers' business."""

    PARAMETERS = (
        Declared("result", "", "folder of an estimation's results; empty: wait for the estimator"),
        Declared("estimator", "estimator", "node whose ~/result is shown"),
        Declared("pose_topics", ["cube/pose"], "PoseStamped topics that are shown live"),
        Declared("world_frame", "world", "frame of all markers and paths"),
        Declared("frame_rate", 30.0, "most marker messages per second", 1.0, 240.0),
        Declared("speed", 0.5, "speed of playing: 1 is real time", 0.001, 100.0),
        Declared("pause", 1.0, "seconds between two tosses", 0.0, 60.0),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("visualizer", **options)
        self._scenes: list[Scene] = []
        self._index, self._frame, self._begun = 0, -1, 0.0
        self._shown: dict[str, float] = {}
        self._scene = self.create_publisher(MarkerArray, "~/scene", LATCHED)
        self._motion = self.create_publisher(MarkerArray, "~/motion", STREAM)
        self._live = self.create_publisher(MarkerArray, "~/live", STREAM)
        self._paths = {who: self.create_publisher(Path, f"~/{who}_path", LATCHED) for who in TOPICS}
        self.create_subscription(
            MaterialEstimate, f"{self['estimator']}/result", self._on_result, LATCHED
        )
        for index, topic in enumerate(filter(None, self["pose_topics"] or ())):
            self.create_subscription(
                PoseStamped, topic, partial(self._on_pose, index, topic), SENSOR
            )
        self.create_timer(1.0 / self["frame_rate"], self._tick)
        if self["result"]:
            self._load(FilePath(self["result"]))

    def _load(self, folder: FilePath) -> None:
        """Read the motions of a result folder and begin to play; raises InputError."""
        self._scenes = read_scenes(folder / MOTION_FILE, self["world_frame"])
        self._begin(0)
        self.get_logger().info(f"playing {len(self._scenes)} tosses of {folder}")

    def _on_result(self, message: MaterialEstimate) -> None:
        if not message.report_path or message.error_code == convert.CODES["CANCELED"]:
            return
        try:
            self._load(FilePath(message.report_path).parent)
        except InputError as error:
            self.get_logger().error(str(error))

    def _on_pose(self, index: int, topic: str, message: PoseStamped) -> None:
        """Show the tracked body where it is now, at most `frame_rate` times a second."""
        now = time.monotonic()
        if now - self._shown.get(topic, 0.0) < 1.0 / self["frame_rate"]:
            return
        sample = convert.pose_sample(message, topic)
        try:
            cube = Marker(
                "live",
                index,
                position=sample.position,
                orientation=convert.unit(sample.orientation),
                scale=Motion.size,
                colour=(0.95, 0.75, 0.2, 0.6),
                frame_id=sample.frame,
                lifetime=1.0,
            )
        except ValueError:  # an unusable pose; the observer counts and reports those
            return
        self._shown[topic] = now
        stamp = self.get_clock().now().nanoseconds
        self._live.publish(convert.marker_array([cube], stamp))

    def _begin(self, index: int) -> None:
        """Start the toss `index`: its table and paths replace those of the last one."""
        self._index, self._frame = index % len(self._scenes), -1
        self._begun = time.monotonic()
        scene = self._scenes[self._index]
        self._scene.publish(scene.still)
        for who, publisher in self._paths.items():
            publisher.publish(scene.paths[who])

    def _tick(self) -> None:
        """Send the marker array whose time has come, the next toss when this one has been shown."""
        if not self._scenes:
            return
        scene = self._scenes[self._index]
        played = (time.monotonic() - self._begun) * self["speed"] * NANO
        if played > scene.t[-1] - scene.t[0] + self["pause"] * self["speed"] * NANO:
            self._begin(self._index + 1)
            return
        frame = int(np.searchsorted(scene.t, scene.t[0] + played, side="right")) - 1
        if frame != self._frame:
            self._frame = frame
            self._motion.publish(scene.moving[frame])


def main(arguments: list[str] | None = None) -> int:
    """Console script `visualizer`."""
    return run_node(Visualizer, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
