"""Writes messages of chosen topics into one bag, where there is no `ros2 bag record`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import QoSProfile

from diffsim_ros.nodes.sources import offered
from diffsim_ros.sensing.bags import RawMessage
from diffsim_ros.sensing.record import write_recording


class BagRecorder:
    """Keeps every message that a node receives, unchanged, from its creation on.

    topics  (name, type, quality of service) of each
    now     time [ns] at which a message counts as received
    """

    def __init__(
        self, node: Node, topics: Iterable[tuple[str, type, QoSProfile]], now: Callable[[], int]
    ) -> None:
        self._now = now
        self._messages: list[RawMessage] = []
        self._profiles: dict[str, QoSProfile] = {}
        for topic, kind, profile in topics:
            name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
            on_message = partial(self._on_message, topic, name)
            node.create_subscription(kind, topic, on_message, profile, raw=True)
            self._profiles[topic] = profile

    def _on_message(self, topic: str, kind: str, data: bytes) -> None:
        self._messages.append(RawMessage(self._now(), topic, kind, bytes(data)))

    def write(self, path: Path) -> dict[str, int]:
        """Write an .mcap, all of it or none; returns topic -> messages. InputError if it exists."""
        offered_qos = {topic: [offered(profile)] for topic, profile in self._profiles.items()}
        write_recording(path, self._messages, offered_qos)
        counts: dict[str, int] = {}
        for message in self._messages:
            counts[message.topic] = counts.get(message.topic, 0) + 1
        return counts
