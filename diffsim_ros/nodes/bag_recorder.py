"""Messages of chosen topics into one bag, where there is no `ros2 bag record`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import QoSProfile

from diffsim_ros.nodes.sources import offered
from diffsim_ros.sensing.bags import RawMessage
from diffsim_ros.sensing.buffers import write_recording


class BagRecorder:
    """Keeps what a node hears, as it came, from the moment that it is made.

    topics  (name, type, quality of service) of each
    now     time [ns] at which a message counts as received
    """

    def __init__(
        self, node: Node, topics: Iterable[tuple[str, type, QoSProfile]], now: Callable[[], int]
    ) -> None:
        self._now = now
        self._heard: list[RawMessage] = []
        self._profiles: dict[str, QoSProfile] = {}
        for topic, kind, profile in topics:
            name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
            hear = partial(self._hear, topic, name)
            node.create_subscription(kind, topic, hear, profile, raw=True)
            self._profiles[topic] = profile

    def _hear(self, topic: str, kind: str, data: bytes) -> None:
        self._heard.append(RawMessage(self._now(), topic, kind, bytes(data)))

    def write(self, path: Path) -> dict[str, int]:
        """Write an .mcap, all of it or none; returns topic -> messages. InputError if it exists."""
        told = {topic: [offered(profile)] for topic, profile in self._profiles.items()}
        write_recording(path, self._heard, told)
        counts: dict[str, int] = {}
        for message in self._heard:
            counts[message.topic] = counts.get(message.topic, 0) + 1
        return counts
