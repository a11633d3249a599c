"""One topic of an observer: its buffers, and what the middleware reports of publishers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
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

from diffsim_ros.nodes import convert
from diffsim_ros.sensing.frames import Edge
from diffsim_ros.sensing.messages import OfferedQos
from diffsim_ros.sensing.poses import body_of
from diffsim_ros.sensing.read import sensors_of_messages
from diffsim_ros.sensing.record import StreamRecorder

MOST_CHILDREN = 20
"""Frames of /tf that are named where the wanted one is not among them."""


@dataclass
class Link:
    """What the middleware reports of one subscription and its publishers.

    offers    what the publishers offered when the first message came
    children  of /tf: child frames that were received, up to MOST_CHILDREN
    """

    count: int = 0
    lost: int = 0
    matched: int = 0
    mismatch: str = ""
    offers: tuple[OfferedQos, ...] = ()
    children: set[str] = field(default_factory=set)


class Source:
    """One subscribed topic, or one body of /tf (`edge`), which shares its subscription with others.

    framed     False: the frame that its messages name means nothing
    recorders  body ("" of topics without one) -> its buffer;  whole: unchanged messages
    origins    body -> the frame in which its first kept pose came
    trouble    the last error of a sample that could not be used, "" if there was none
    """

    def __init__(
        self, node: Node, name: str, kind: type, profile: QoSProfile, edge: Edge | None = None
    ) -> None:
        self.node, self.kind, self.profile, self.edge = node, kind, profile, edge
        self.topic = node.resolve_topic_name(name)
        self.framed = sensors_of_messages()[self.type_name].framed
        self.link, self.count = Link(), 0
        self.last_message = time.monotonic()
        self.clear()

    def clear(self) -> None:
        """Empty the buffers."""
        self.recorders: dict[str, StreamRecorder] = {}
        self.origins: dict[str, str] = {}
        self.whole: StreamRecorder | None = None
        self.trouble, self.lost_before = "", self.link.lost

    @property
    def type_name(self) -> str:
        """Of its messages, e.g. "sensor_msgs/msg/PointCloud2"."""
        return convert.type_name(self.kind)

    @property
    def title(self) -> str:
        """Its name in messages: the topic, with the wanted body of /tf."""
        return f"{self.topic} ({self.edge})" if self.edge else self.topic

    @property
    def body(self) -> str:
        """Name of the topic's body where its messages name none."""
        return body_of(self.topic)

    @property
    def lost(self) -> int:
        """Messages that the middleware lost since the buffers were emptied."""
        return self.link.lost - self.lost_before

    def subscribe(self, callback) -> None:
        """Subscribe to the topic: callback(source, serialised message)."""
        events = SubscriptionEventCallbacks(
            incompatible_qos=self._on_incompatible,
            message_lost=self._on_lost,
            matched=self._on_matched,
        )
        self.node.create_subscription(
            self.kind, self.topic, partial(self._on_message, callback), self.profile,
            event_callbacks=events, raw=True,
        )  # fmt: skip

    def _on_message(self, callback, data: bytes) -> None:
        if not self.link.count:
            known = self.node.get_publishers_info_by_topic(self.topic)
            self.link.offers = tuple(dict.fromkeys(offered(one.qos_profile) for one in known))
        self.link.count += 1
        callback(self, data)

    def count_message(self) -> None:
        """Count a message (of /tf: a transform) of this source."""
        self.last_message = time.monotonic()
        self.count += 1

    def quiet(self) -> float:
        """Seconds of wall time since the last message (or since it was subscribed)."""
        return time.monotonic() - self.last_message

    def _on_incompatible(self, event) -> None:
        policy = str(event.last_policy_kind).rsplit(".", 1)[-1].lower()
        self.link.mismatch = f"a publisher's quality of service does not fit: {policy}"

    def _on_lost(self, event) -> None:
        self.link.lost = event.total_count

    def _on_matched(self, event) -> None:
        self.link.matched = event.current_count

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
                    f"{_words(info.qos_profile)}; requested is {_words(self.profile)}; {reason}"
                )
        if self.link.mismatch and not publishers:
            return "error", self.link.mismatch
        if not publishers and not self.count:
            return "warn", "no publisher"
        if self.quiet() > patience:
            return "warn", f"no data for {self.quiet():.1f} s{self._instead()}"
        if self.link.matched > 1 and self.recorders and not self.edge:
            return "warn", f"{self.link.matched} publishers: their poses cannot be distinguished"
        return "ok", f"{self.count} messages"

    def _instead(self) -> str:
        """Of /tf: the frames that were received in place of the wanted one."""
        if self.edge is None or self.count or not self.link.children:
            return ""
        return f"; no transform of {self.edge}, but of {', '.join(sorted(self.link.children))}"

    def figures(self) -> dict:
        """Diagnostics of the connection."""
        return {
            "topic": self.topic,
            "messages": self.count,
            "lost": self.link.lost,
            "publishers": self.link.matched,
            "seconds_quiet": self.quiet(),
        }


def offered(profile: QoSProfile) -> OfferedQos:
    """A quality of service as bags keep it; a depth that discovery does not report is the usual."""
    usual = OfferedQos()
    return OfferedQos(
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
    """Diagnostics of a buffer."""
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
