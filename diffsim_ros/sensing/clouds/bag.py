"""Clouds of a rosbag2 recording (sqlite3 or MCAP), read without a ROS distribution."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import InputError
from .. import bags
from .cloud import Cloud
from .packed import decode_message

POINT_CLOUD = "sensor_msgs/msg/PointCloud2"


def read_bag(path: str | os.PathLike[str], topic: str = "", *, scale: float = 1.0) -> list[Cloud]:
    """Clouds of one topic in the order of the bag; "" takes the only PointCloud2 topic.

    Stamps are the headers' [s since 1970], times of arrival where all headers have 0.
    scale   metres per unit
    Raises InputError naming file, topic, sample and what is wrong with it; as bags.read_messages
    for the bag itself; for stamps that do not increase or a frame that changes.
    """
    path = Path(path)
    topic, samples = bags.read_messages(path, POINT_CLOUD, topic)
    unset = all(bags.nanoseconds(m.header.stamp) == 0 for _, m in samples)
    clouds: list[Cloud] = []
    for i, (arrival, message) in enumerate(samples):
        source = f"{path}: {topic}: sample {i}"
        stamp = arrival * 1e-9 if unset else None
        cloud = decode_message(message, source, scale=scale, stamp=stamp)
        if clouds and cloud.frame != clouds[-1].frame:
            rule = f"the same frame throughout, {clouds[-1].frame!r}"
            raise InputError(source, "frame_id", cloud.frame, rule)
        if clouds and not cloud.stamp > clouds[-1].stamp:
            raise InputError(source, "stamp", cloud.stamp, f"later than {clouds[-1].stamp:.9f} s")
        clouds.append(cloud)
    return clouds
