"""What an observer hears of one topic: its buffers, and what the middleware says of publishers."""

from __future__ import annotations

import math
import time
from functools import partial

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)

from diffsim_ros.real2sim.bag_messages import Quality
from diffsim_ros.real2sim.recorder import StreamRecorder


class Source:
    """One subscribed topic.

    recorders  body ("" of topics that speak of none) -> its buffer;  whole: messages as they came
    trouble    the last error of a sample that could not be used, "" if there was none
    """

    def __init__(self, node: Node, name: str, kind: type, profile: QoSProfile) -> None:
        self.node, self.kind, self.profile = node, kind, profile
        self.topic = node.resolve_topic_name(name)
        self.count, self.lost, self.matched, self.mismatch = 0, 0, 0, ""
        self.heard = time.monotonic()
        self.recorders: dict[str, StreamRecorder] = {}
        self.whole: StreamRecorder | None = None
        self.trouble = ""

    @property
    def type_name(self) -> str:
        """Of its messages, e.g. "sensor_msgs/msg/PointCloud2"."""
        return f"{self.kind.__module__.split('.')[0]}/msg/{self.kind.__name__}"

    @property
    def body(self) -> str:
        """Name of the body that a pose topic speaks of: /vrpn_mocap/cube/pose is cube."""
        parts = [part for part in self.topic.split("/") if part]
        return parts[-2] if len(parts) > 1 and parts[-1] == "pose" else parts[-1]

    def subscribe(self, callback) -> None:
        """Hear the topic: callback(source, serialised message)."""
        events = SubscriptionEventCallbacks(
            incompatible_qos=self._on_incompatible,
            message_lost=self._on_lost,
            matched=self._on_matched,
        )
        self.node.create_subscription(
            self.kind, self.topic, partial(callback, self), self.profile,
            event_callbacks=events, raw=True,
        )  # fmt: skip

    def hear(self) -> None:
        """Count a message."""
        self.heard = time.monotonic()
        self.count += 1

    def quiet(self) -> float:
        """Seconds of wall time since the last message (or since it was subscribed)."""
        return time.monotonic() - self.heard

    def _on_incompatible(self, event) -> None:
        policy = str(event.last_policy_kind).rsplit(".", 1)[-1].lower()
        self.mismatch = f"a publisher's quality of service does not fit: {policy}"

    def _on_lost(self, event) -> None:
        self.lost = event.total_count

    def _on_matched(self, event) -> None:
        self.matched = event.current_count

    def connection(self, patience: float) -> tuple[str, str]:
        """Level and one line about the connection itself; silence counts after `patience` [s]."""
        publishers = self.node.get_publishers_info_by_topic(self.topic)
        for info in publishers:
            who = f"publisher {info.node_namespace.rstrip('/')}/{info.node_name}"
            if info.topic_type != self.type_name:
                return "error", f"{who} sends {info.topic_type}, expected {self.type_name}"
            fit, reason = qos_check_compatible(info.qos_profile, self.profile)
            if fit == QoSCompatibility.ERROR:
                return "error", (
                    f"{who} has a quality of service that does not fit: it offers "
                    f"{_words(info.qos_profile)}; asked for is {_words(self.profile)}; {reason}"
                )
        if self.mismatch and not publishers:
            return "error", self.mismatch
        if not publishers and not self.count:
            return "warn", "no publisher"
        if self.quiet() > patience:
            return "warn", f"no data for {self.quiet():.1f} s"
        return "ok", f"{self.count} messages"

    def figures(self) -> dict:
        """What diagnostics say of the connection."""
        return {
            "topic": self.topic,
            "messages": self.count,
            "lost": self.lost,
            "publishers": self.matched,
            "seconds_quiet": self.quiet(),
        }


def offered(profile: QoSProfile) -> Quality:
    """A quality of service as bags keep it; a depth that discovery does not tell is the usual."""
    usual = Quality()
    return Quality(
        profile.reliability != ReliabilityPolicy.BEST_EFFORT,
        profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        profile.depth or usual.depth,
    )


def _words(profile: QoSProfile) -> str:
    """Reliability and durability in words."""
    return ", ".join(
        policy.name.lower().replace("_", " ")
        for policy in (profile.reliability, profile.durability)
    )


def figures_of(recorder: StreamRecorder) -> dict:
    """What diagnostics say of a buffer."""
    rate = recorder.rate()
    figures = {
        "received": recorder.received,
        "kept": len(recorder),
        "trials": recorder.trial_count,
        "frame": recorder.seen_frame,
        "rate": rate if math.isfinite(rate) else "unknown",
        "missing": recorder.missing(),
        "clock_resets": recorder.resets,
    }
    for reason, drop in recorder.drops.items():
        figures[f"dropped, {reason}"] = drop.count
        if drop.count:
            figures[f"dropped, {reason}, last"] = drop.last
    return figures
