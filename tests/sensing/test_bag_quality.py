"""What `ros2 bag play` offers: every bag of ours stores it as rosbag2 does."""

import numpy as np
import yaml

from diffsim_ros.sensing import bags
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bags import RawMessage
from diffsim_ros.sensing.messages import LATCHED, OfferedQos


def profiles(folder):
    """Topic -> publishers by the metadata.yaml of a bag folder."""
    content = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    return {
        one["topic_metadata"]["name"]: yaml.safe_load(one["topic_metadata"]["offered_qos_profiles"])
        for one in content["topics_with_message_count"]
    }, content["version"]


def text(topic, k=0):
    data = build.types().serialize_cdr(build.message(build.TEXT, "x"), build.TEXT)
    return RawMessage(k, topic, build.TEXT, bytes(data))


def test_static_transforms_are_latched_and_every_topic_has_a_profile(tmp_path):
    messages = [text("/tf_static"), text("/plain"), text("/told"), text("/two")]
    offered = {
        "/told": [OfferedQos(latched=True, depth=1)],
        "/two": [OfferedQos(), OfferedQos(reliable=False), OfferedQos()],
    }
    bags.write_raw(tmp_path / "bag", messages, offered)
    found, version = profiles(tmp_path / "bag")
    # rmw's numbers: what rosbag2 reads in bags of this version
    assert version == 8
    reliable, best_effort, latched, volatile, keep_last = 1, 2, 1, 2, 1
    endless = {"sec": 9223372036, "nsec": 854775807}
    (static,) = found["/tf_static"]
    assert static == {
        "history": keep_last, "depth": LATCHED.depth, "reliability": reliable,
        "durability": latched, "deadline": endless, "lifespan": endless, "liveliness": 1,
        "liveliness_lease_duration": endless, "avoid_ros_namespace_conventions": False,
    }  # fmt: skip
    assert [p["durability"] for p in found["/plain"]] == [volatile]
    assert [(p["durability"], p["depth"]) for p in found["/told"]] == [(latched, 1)]
    assert [p["reliability"] for p in found["/two"]] == [reliable, best_effort]


def test_a_single_file_says_the_same(tmp_path):
    from rosbags.interfaces import QosDurability
    from rosbags.rosbag2 import Reader

    bags.write_raw(tmp_path / "bag.mcap", [text("/tf_static"), text("/plain")])
    with Reader(tmp_path / "bag.mcap") as reader:
        found = {c.topic: c.ext.offered_qos_profiles for c in reader.connections}
    assert [p.durability for p in found["/tf_static"]] == [QosDurability.TRANSIENT_LOCAL]
    assert [p.durability for p in found["/plain"]] == [QosDurability.VOLATILE]


def test_written_motions_have_profiles_too(tmp_path):
    t = np.arange(3) * 0.01
    q = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    bags.write_motion(tmp_path / "motion", [("/cube/pose", "world", t, np.zeros((3, 3)), q)])
    found, _ = profiles(tmp_path / "motion")
    assert {topic: [p["durability"] for p in one] for topic, one in found.items()} == {
        "/cube/pose": [2], "/tf": [2]
    }  # fmt: skip
