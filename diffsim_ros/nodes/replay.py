"""Node `replay`: a recording, published as its drivers would publish it.

out       poses of tosses, reliable, depth 1000, by `messages`:
          <body>/pose     geometry_msgs/PoseStamped (pose, both)
          rigid_bodies    mocap4r2_msgs/RigidBodies (rigid_bodies, both)
          <body>/odom     nav_msgs/Odometry (odometry)
          poses           motion_capture_tracking_interfaces/NamedPoseArray (named_poses)
          /tf             tf2_msgs/TFMessage (tf)
          markers         mocap4r2_msgs/Markers, the same, of recordings of markers
          topics of a bag under their own names: PoseStamped, Odometry, NamedPoseArray, Markers,
                          RigidBodies, PointCloud2, JointState, WrenchStamped and /tf, with
                          new stamps; /tf_static, latched
          ~/status        diagnostic_msgs/DiagnosticStatus, latched: trial, sent, total, fraction
          ~/done          std_msgs/Bool, latched: true when all was sent
services  ~/play ~/stop   std_srvs/Trigger; play reads the parameters again
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_frames, convert_poses
from diffsim_ros.nodes.common import DRIVER, LATCHED, STATIC_TF, BaseNode, Declared, run_node
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.frames import STATIC
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.sensing.playback import Playlist, read_playlist, restamped

BEST_EFFORT = ReliabilityPolicy.BEST_EFFORT
CARRIERS = {
    "pose": {"{body}/pose": (PoseStamped, "")},
    "rigid_bodies": {"rigid_bodies": (convert.RigidBodies, "mocap4r2_msgs")},
    "both": {
        "{body}/pose": (PoseStamped, ""),
        "rigid_bodies": (convert.RigidBodies, "mocap4r2_msgs"),
    },
    "odometry": {"{body}/odom": (Odometry, "")},
    "named_poses": {
        "poses": (convert_poses.NamedPoseArray, "motion_capture_tracking_interfaces"),
    },
    "tf": {"/tf": (convert_frames.TFMessage, "tf2_msgs")},
}
"""Choice of `messages` -> topics with their types (None: not installed) and packages."""
TICK = 0.005
"""Seconds between two checks of what is due."""
STATUS_PERIOD = 0.25
"""Seconds between two status messages while playing."""


class Replay(BaseNode):
    """Plays a Playlist with new stamps: from now on, never before those sent already."""

    PARAMETERS = (
        Declared("data", "", "tosses (.npz), markers (.csv, .c3d) or a bag (.mcap, .db3, folder)"),
        Declared("topic", "", "the only topic of a bag to play; empty: its poses, or all"),
        Declared("trials", (), "numbers of the trials to play, in this order; empty: all"),
        Declared("body", "cube", "name of the tracked body: topic <body>/pose"),
        Declared("frame_id", "", "frame of the poses; empty: as recorded"),
        Declared("messages", "pose", "what carries poses", choices=tuple(CARRIERS)),
        Declared("rate_factor", 1.0, "speed: 1 is the original rate", 0.01, 1000.0),
        Declared("gap", 1.0, "seconds between two trials, in stamps", 0.01, 3600.0),
        Declared("wait_for", 1, "subscribers that every topic has before the first sample", 0, 100),
        Declared("wait_at_most", 10.0, "seconds for the others once one has its", 0.0, 3600.0),
        Declared("settle", 1.0, "seconds that they get to find this node as well", 0.0, 60.0),
        Declared("deliver_within", 10.0, "seconds to acknowledge the last samples", 0.0, 3600.0),
        Declared("linger", 0.5, "seconds that best effort gets for them at least", 0.0, 60.0),
        Declared("autostart", True, "play at once; otherwise wait for ~/play"),
        Declared("exit_when_done", False, "end the node when all was sent"),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("replay", **options)
        for kind, package in CARRIERS[self["messages"]].values():
            convert.installed(kind, "node replay", "messages", self["messages"], package)
        self._out: dict[str, Publisher] = {}
        self._live: list[str] = []
        self._status = self.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self._done = self.create_publisher(Bool, "~/done", LATCHED)
        self.create_service(Trigger, "~/play", self._on_play)
        self.create_service(Trigger, "~/stop", self._on_stop)
        self._timer = self.create_timer(TICK, self._tick, autostart=False)
        self._list: Playlist | None = None
        self._state, self._sent, self._origin, self._last = "idle", 0, 0, 0
        self._begun = self._published = self._since = 0.0
        if self["autostart"]:
            self._play()
        else:
            with suppress(InputError):  # ~/play reports it
                self._list = self._read()
            self._advertise()
            self._publish_status("idle")

    def _play(self) -> None:
        """Read the recording and begin when there are subscribers; raises InputError."""
        self._list = self._read()
        self._advertise()
        self._sent, self._begun = 0, time.monotonic()
        self._since = self._begun
        self._done.publish(Bool(data=False))
        self._publish_status("waiting")
        self._timer.reset()

    def _read(self) -> Playlist:
        if not self["data"]:
            raise InputError("node replay", "parameter data", "", "the path of a recording")
        return read_playlist(
            self["data"], trials=self["trials"] or (), topic=self["topic"], gap=self["gap"]
        )

    def _advertise(self) -> None:
        """Publishers of the recording's topics; those that are there already stay."""
        kinds: dict[str, type] = {}
        if self._list is None or self._list.poses is not None:
            for topic, (kind, _) in CARRIERS[self["messages"]].items():
                kinds[topic.format(body=self["body"])] = kind
        elif self._list.markers is not None:
            kinds["markers"] = convert.installed(
                convert.Markers, "node replay", "data", self["data"]
            )
        else:
            for message in self._list.messages:
                if message.topic not in kinds:
                    kinds[message.topic] = convert.message_type(message.msgtype, self["data"])
        self._live = list(kinds)
        for topic, kind in kinds.items():
            if topic not in self._out:
                profile = STATIC_TF if topic == STATIC else DRIVER
                self._out[topic] = self.create_publisher(kind, topic, profile)

    def _on_play(self, _request, response):
        try:
            if self._state in ("waiting", "playing", "delivering"):
                raise InputError("node replay", "~/play", self._state, "once at a time")
            self._play()
        except InputError as error:
            response.success, response.message = False, str(error)
        else:
            count = len(set(self._list.trial.tolist()))
            response.success = True
            response.message = f"{len(self._list)} samples of {count} trials"
        return response

    def _on_stop(self, _request, response):
        self._timer.cancel()
        self._publish_status("stopped")
        response.success, response.message = True, f"{self._sent} samples sent"
        return response

    def _lacking(self) -> list[str]:
        """Topics that have fewer subscribers than are waited for."""
        counts = {t: self._out[t].get_subscription_count() for t in self._live if t != STATIC}
        return [topic for topic, count in counts.items() if count < self["wait_for"]]

    def _tick(self) -> None:
        """Wait for subscribers, send what is due by now, wait until it has arrived."""
        now = time.monotonic()
        if self._state == "waiting" and not self._ready(now):
            return
        if self._state == "delivering":
            self._deliver(now)
            return
        due = (now - self._begun) * self["rate_factor"] * NANO
        while self._sent < len(self._list) and self._list.t[self._sent] <= due:
            self._send(self._sent)
            self._sent += 1
        if self._sent == len(self._list):
            self._begun = now
            self._publish_status("delivering")
        elif now - self._published >= STATUS_PERIOD:
            self._publish_status("playing")

    def _ready(self, now: float) -> bool:
        """True, and playing, once every topic has its subscribers, or those had time to come."""
        lacking = self._lacking()
        if len(lacking) == len(set(self._live) - {STATIC}):
            self._since = now  # the others' time begins with the first topic that has a subscriber
        if lacking and now - self._since < self["wait_at_most"]:
            self._begun = now
            if now - self._published >= STATUS_PERIOD:
                self._publish_status("waiting", f"; no subscriber of {', '.join(lacking)}")
            return False
        if now - self._begun < self["settle"]:
            return False
        if lacking:
            self.get_logger().warning(f"{', '.join(lacking)}: no subscriber, played all the same")
        clock = self.get_clock().now().nanoseconds
        self._origin = max(clock, self._last + round(self["gap"] * NANO))
        self._begun = now
        self._publish_status("playing")
        return True

    def _deliver(self, now: float) -> None:
        """Finish when all was acknowledged, and best effort had its time."""
        waited = now - self._begun
        pending = [t for t in self._live if not self._out[t].wait_for_all_acked(Duration())]
        if pending and waited < self["deliver_within"]:
            return
        if waited < self["linger"] and any(map(self._is_best_effort, self._live)):
            return
        if pending:
            topics = ", ".join(pending)
            self.get_logger().warning(f"{topics}: the last samples were not acknowledged by all")
        self._finish()

    def _is_best_effort(self, topic: str) -> bool:
        """True where a subscriber does not acknowledge what it got."""
        known = self.get_subscriptions_info_by_topic(topic)
        return any(one.qos_profile.reliability == BEST_EFFORT for one in known)

    def _send(self, k: int) -> None:
        stamp = self._origin + int(self._list.t[k])
        self._last = max(self._last, stamp)
        if self._list.messages is not None:
            message = self._list.messages[k]
            static = message.topic == STATIC
            data = message.data if static else restamped(message, stamp)
            self._out[message.topic].publish(data)
        elif self._list.markers is not None:
            frame = replace(self._list.markers[k], stamp=stamp, frame=self._frame)
            self._out["markers"].publish(convert.markers_message(frame))
        else:
            row = self._list.poses[k]
            place = tuple(row[:3]), tuple(row[3:])
            sample = PoseSample(stamp, self._frame, self["body"], *place)
            for publisher in map(self._out.get, self._live):
                publisher.publish(_carried(publisher.msg_type, sample, k))

    @property
    def _frame(self) -> str:
        return self["frame_id"] or self._list.frame

    def _finish(self) -> None:
        self._timer.cancel()
        self._publish_status("done")
        self._done.publish(Bool(data=True))
        self.get_logger().info(f"{self._sent} samples sent")
        if self["exit_when_done"]:
            self.finished.set()

    def _publish_status(self, state: str, more: str = "") -> None:
        """Publish the status; `more`: what is added to its message."""
        self._state, self._published = state, time.monotonic()
        total = len(self._list) if self._list else 0
        current = int(self._list.trial[max(self._sent - 1, 0)]) if total else 0
        fraction = self._sent / total if total else 0.0
        values = {"state": state, "trial": current, "sent": self._sent, "total": total}
        values["fraction"] = fraction
        message = f"{state}: {self._sent} of {total} samples, trial {current}{more}"
        self._status.publish(convert.diagnostic("ok", "replay", message, values, self["body"]))


def _carried(kind: type, sample: PoseSample, k: int) -> Any:
    """The k-th pose as a message of one of CARRIERS."""
    if kind is PoseStamped:
        return convert.pose_message(sample)
    if kind is Odometry:
        return convert_poses.odometry_message(sample)
    if kind is convert.RigidBodies:
        return convert.bodies_message([sample], k)
    if kind is convert_frames.TFMessage:
        return convert_poses.tf_message([sample])
    return convert_poses.named_message([sample])


def main(arguments: list[str] | None = None) -> int:
    """Console script `replay`."""
    return run_node(Replay, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
