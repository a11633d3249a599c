"""Node `replay`: a recording, published as its drivers would publish it.

out       <body>/pose     geometry_msgs/PoseStamped, reliable, depth 1000 (`messages` pose or both)
          rigid_bodies    mocap4r2_msgs/RigidBodies, the same (`messages` rigid_bodies or both)
          markers         mocap4r2_msgs/Markers, the same, of recordings of markers
          topics of a bag under their own names: PoseStamped, Markers, RigidBodies, PointCloud2,
                          JointState, with new stamps; /tf_static, latched
          ~/status        diagnostic_msgs/DiagnosticStatus, latched: trial, sent, total, fraction
          ~/done          std_msgs/Bool, latched: true when all was sent
services  ~/play ~/stop   std_srvs/Trigger; play reads the parameters anew
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.publisher import Publisher
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import DRIVER, LATCHED, STATIC_TF, BaseNode, Declared, run_node
from diffsim_ros.real2sim.cdr import restamped
from diffsim_ros.real2sim.frames import STATIC
from diffsim_ros.real2sim.playback import Playlist, read_playlist
from diffsim_ros.real2sim.recorder import NANO, PoseSample

TICK = 0.005
"""Seconds between two looks at what is due."""
STATUS_PERIOD = 0.25
"""Seconds between two status messages while playing."""


class Replay(BaseNode):
    """Plays a Playlist on stamps of its own: begun now, never before what was sent already."""

    PARAMETERS = (
        Declared("data", "", "tosses (.npz), markers (.csv, .c3d) or a bag (.mcap, .db3, folder)"),
        Declared("topic", "", "the only topic of a bag to play; empty: its poses, or all"),
        Declared("trials", (), "numbers of the trials to play, in this order; empty: all"),
        Declared("body", "cube", "name of the tracked body: topic <body>/pose"),
        Declared("frame_id", "", "frame of the poses; empty: as recorded"),
        Declared("messages", "pose", "what to publish", choices=("pose", "rigid_bodies", "both")),
        Declared("rate_factor", 1.0, "speed: 1 is the original rate", 0.01, 1000.0),
        Declared("gap", 1.0, "seconds between two trials, in stamps", 0.01, 3600.0),
        Declared("wait_for", 1, "subscribers to wait for before the first sample", 0, 100),
        Declared("settle", 1.0, "seconds that they get to find this node as well", 0.0, 60.0),
        Declared("autostart", True, "play at once; otherwise wait for ~/play"),
        Declared("exit_when_done", False, "end the node when all was sent"),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("replay", **options)
        self._bodies = self["messages"] in ("rigid_bodies", "both")
        if self._bodies:
            convert.installed(convert.RigidBodies, "node replay", "messages", self["messages"])
        self._out: dict[str, Publisher] = {}
        self._status = self.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self._done = self.create_publisher(Bool, "~/done", LATCHED)
        self.create_service(Trigger, "~/play", self._on_play)
        self.create_service(Trigger, "~/stop", self._on_stop)
        self._timer = self.create_timer(TICK, self._tick, autostart=False)
        self._list: Playlist | None = None
        self._state, self._sent, self._origin, self._last = "idle", 0, 0, 0
        self._begun = self._told = 0.0
        if self["autostart"]:
            self._play()
        else:
            with suppress(InputError):  # ~/play says it
                self._list = self._read()
            self._advertise()
            self._tell("idle")

    def _play(self) -> None:
        """Read the recording and begin when there are subscribers; raises InputError."""
        self._list = self._read()
        self._advertise()
        self._sent, self._begun = 0, time.monotonic()
        self._done.publish(Bool(data=False))
        self._tell("waiting")
        self._timer.reset()

    def _read(self) -> Playlist:
        if not self["data"]:
            raise InputError("node replay", "parameter data", "", "the path of a recording")
        return read_playlist(
            self["data"], trials=self["trials"] or (), topic=self["topic"], gap=self["gap"]
        )

    def _advertise(self) -> None:
        """Publishers of what the recording holds; those that are there already stay."""
        kinds: dict[str, type] = {}
        if self._list is None or self._list.poses is not None:
            if self["messages"] in ("pose", "both"):
                kinds[f"{self['body']}/pose"] = PoseStamped
            if self._bodies:
                kinds["rigid_bodies"] = convert.RigidBodies
        elif self._list.markers is not None:
            kinds["markers"] = convert.installed(
                convert.Markers, "node replay", "data", self["data"]
            )
        else:
            for message in self._list.messages:
                if message.topic not in kinds:
                    kinds[message.topic] = convert.message_type(message.msgtype, self["data"])
        for topic, kind in kinds.items():
            if topic not in self._out:
                profile = STATIC_TF if topic == STATIC else DRIVER
                self._out[topic] = self.create_publisher(kind, topic, profile)

    def _on_play(self, _request, response):
        try:
            if self._state in ("waiting", "playing"):
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
        self._tell("stopped")
        response.success, response.message = True, f"{self._sent} samples sent"
        return response

    def _subscribers(self) -> int:
        live = (p for topic, p in self._out.items() if topic != STATIC)
        return sum(publisher.get_subscription_count() for publisher in live)

    def _tick(self) -> None:
        """Send what is due by now."""
        now = time.monotonic()
        if self._state == "waiting":
            if self._subscribers() < self["wait_for"]:
                self._begun = now
            if now - self._begun < self["settle"]:
                return
            clock = self.get_clock().now().nanoseconds
            self._origin = max(clock, self._last + round(self["gap"] * NANO))
            self._begun = now
            self._tell("playing")
        due = (now - self._begun) * self["rate_factor"] * NANO
        while self._sent < len(self._list) and self._list.t[self._sent] <= due:
            self._send(self._sent)
            self._sent += 1
        if self._sent == len(self._list):
            self._finish()
        elif now - self._told >= STATUS_PERIOD:
            self._tell("playing")

    def _send(self, k: int) -> None:
        stamp = self._origin + int(self._list.t[k])
        self._last = max(self._last, stamp)
        if self._list.messages is not None:
            message = self._list.messages[k]
            static = message.topic == STATIC
            data = message.data if static else restamped(message.data, stamp)
            self._out[message.topic].publish(data)
        elif self._list.markers is not None:
            frame = replace(self._list.markers[k], stamp=stamp, frame=self._frame)
            self._out["markers"].publish(convert.markers_message(frame))
        else:
            row = self._list.poses[k]
            place = tuple(row[:3]), tuple(row[3:])
            sample = PoseSample(stamp, self._frame, self["body"], *place)
            for topic, publisher in self._out.items():
                bodies = topic == "rigid_bodies"
                publisher.publish(
                    convert.bodies_message([sample], k) if bodies else convert.pose_message(sample)
                )

    @property
    def _frame(self) -> str:
        return self["frame_id"] or self._list.frame

    def _finish(self) -> None:
        self._timer.cancel()
        self._tell("done")
        self._done.publish(Bool(data=True))
        self.get_logger().info(f"{self._sent} samples sent")
        if self["exit_when_done"]:
            self.finished.set()

    def _tell(self, state: str) -> None:
        """Publish the status."""
        self._state, self._told = state, time.monotonic()
        total = len(self._list) if self._list else 0
        current = int(self._list.trial[max(self._sent - 1, 0)]) if total else 0
        fraction = self._sent / total if total else 0.0
        values = {"state": state, "trial": current, "sent": self._sent, "total": total}
        values["fraction"] = fraction
        message = f"{state}: {self._sent} of {total} samples, trial {current}"
        self._status.publish(convert.diagnostic("ok", "replay", message, values, self["body"]))


def main(arguments: list[str] | None = None) -> int:
    """Console script `replay`."""
    return run_node(Replay, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
