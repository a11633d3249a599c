"""Bags of poses: what is written is read back, real files are understood, bad ones refused."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.bags import (
    EPOCH_NS,
    NO_STAMPS,
    POSE,
    RecordedMarkers,
    topics,
    write_motion,
)
from diffsim_ros.sensing.read import read_kind


def read_poses(path, topic=""):
    return read_kind(path, "poses", topic)


RECORDED = Path(__file__).parents[2] / "data" / "ros2_bags" / "cube_toss_pose_mcap"


def track(topic="/cube/measured", n=7, seed=0):
    rng = np.random.default_rng(seed)
    quaternion = rng.normal(size=(n, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return topic, "world", np.arange(n) / 148.0, rng.normal(size=(n, 3)), quaternion


@pytest.mark.parametrize("name", ["motion.mcap", "motion"])
def test_poses_come_back_to_the_digit(tmp_path, name):
    motions = [track(), track("/cube/simulated", n=5, seed=1)]
    path = write_motion(tmp_path / name, motions)
    assert path == tmp_path / name
    counts = {name: count for name, (kind, count) in topics(path).items() if kind == POSE}
    assert counts == {"/cube/measured": 7, "/cube/simulated": 5}
    for topic, frame, t, position, orientation in motions:
        found = read_poses(path, topic)
        assert (found.sensor, found.frame) == (topic, frame)
        assert found.epoch == EPOCH_NS and not found.notes
        assert found.t == pytest.approx(t, abs=1e-9)
        assert np.array_equal(found.position[:, 0], position)
        assert np.array_equal(found.orientation, orientation)
    assert [p.name for p in tmp_path.iterdir()] == [name]  # nothing temporary is left


def test_the_folder_names_its_storage_and_counts_its_messages(tmp_path):
    path = write_motion(tmp_path / "bag", [track()])
    found = yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert found["storage_identifier"] == "mcap" and found["relative_file_paths"] == ["bag.mcap"]
    listed = {e["topic_metadata"]["name"]: e for e in found["topics_with_message_count"]}
    assert listed["/cube/measured"]["topic_metadata"]["type"] == POSE
    assert {name: e["message_count"] for name, e in listed.items()} == {
        "/cube/measured": 7,
        "/tf": 7,
    }


def test_transforms_carry_the_same_poses(tmp_path):
    from rosbags.highlevel import AnyReader

    motion = track(n=3)
    path = write_motion(tmp_path / "m.mcap", [motion])
    with AnyReader([path]) as reader:
        chosen = [c for c in reader.connections if c.topic == "/tf"]
        sent = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages(chosen)]
    assert len(sent) == 3
    stamped = sent[1].transforms[0]
    assert (stamped.header.frame_id, stamped.child_frame_id) == ("world", "cube/measured")
    moved = stamped.transform.translation
    assert (moved.x, moved.y, moved.z) == tuple(motion[3][1])
    without = write_motion(tmp_path / "n.mcap", [motion], transforms=False)
    with AnyReader([without]) as reader:
        assert {c.topic for c in reader.connections} == {"/cube/measured"}


def test_the_recorded_toss_is_understood():
    found = read_poses(RECORDED)
    assert (found.sensor, found.frame) == ("/cube/pose", "world")
    assert len(found.t) == 115
    assert np.median(np.diff(found.t)) == pytest.approx(1 / 148, rel=1e-3)
    assert np.linalg.norm(found.orientation, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert 0.04 < found.position[:, 0, 2].min() < 0.06  # metres, z up, at rest on a face


def test_a_single_file_is_read_like_its_folder():
    alone = read_poses(RECORDED / "cube_toss_pose_mcap.mcap")
    assert np.array_equal(alone.position, read_poses(RECORDED).position)


def test_sqlite_bags_are_read_too(tmp_path):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY)
    build = types.types
    with Writer(tmp_path / "bag", version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/pose", POSE, typestore=types)
        for i in range(3):
            zero = build["builtin_interfaces/msg/Time"](0, 0)  # a publisher without a clock
            pose = build["geometry_msgs/msg/Pose"](
                build["geometry_msgs/msg/Point"](float(i), 0.0, 0.0),
                build["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
            )
            message = build[POSE](build["std_msgs/msg/Header"](zero, "map"), pose)
            writer.write(connection, 10**9 + i * 10**7, types.serialize_cdr(message, POSE))
    found = read_poses(tmp_path / "bag")
    assert found.notes == (NO_STAMPS,) and found.epoch == 10**9
    assert found.t == pytest.approx([0.0, 0.01, 0.02])
    assert found.position[:, 0, 0].tolist() == [0.0, 1.0, 2.0]


def test_nothing_is_ever_overwritten(tmp_path):
    path = write_motion(tmp_path / "m.mcap", [track()])
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        write_motion(path, [track(seed=3)])
    assert path.read_bytes() == before


def test_a_failure_half_way_leaves_nothing(tmp_path):
    broken = RecordedMarkers("/markers", [0.0], [[object()]])
    with pytest.raises(AttributeError):
        write_motion(tmp_path / "m.mcap", [track()], markers=[broken])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (3, np.full((7, 3), np.nan), "/cube/measured: sample 0 is not finite"),
        (3, np.zeros((6, 3)), "expected shapes"),
        (2, np.arange(7) - 1.0, "times must be >= 0"),
    ],
)
def test_motions_that_cannot_be_written_are_refused_by_name(tmp_path, field, value, words):
    motion = list(track())
    motion[field] = value
    with pytest.raises(ValueError, match=words):
        write_motion(tmp_path / "m.mcap", [tuple(motion)])
    assert list(tmp_path.iterdir()) == []


def test_bags_that_cannot_be_read_are_refused_in_one_line(tmp_path):
    two = write_motion(tmp_path / "two.mcap", [track(), track("/cube/simulated")])
    half = tmp_path / "half.mcap"
    half.write_bytes(two.read_bytes()[: two.stat().st_size // 2])
    folder = tmp_path / "folder"
    shutil.copytree(RECORDED, folder)
    (folder / "cube_toss_pose_mcap.mcap").unlink()
    text = tmp_path / "text.txt"
    text.write_text("no bag")
    cases = [
        ((tmp_path / "absent",), "absent"),
        ((half,), "complete rosbag2 recording"),
        ((folder,), "missing"),
        ((text,), "rosbag2"),
        ((two,), "name one topic"),
        ((two, "/cube/mesured"), "did you mean '/cube/measured'"),
    ]
    for arguments, words in cases:
        with pytest.raises(InputError, match=words) as caught:
            read_poses(*arguments)
        assert "\n" not in str(caught.value) and str(arguments[0]) in str(caught.value)


def test_without_rosbags_bags_are_refused_and_a_picture_of_a_result_is_left_out(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with pytest.raises(InputError, match="pip install rosbags"):
        read_poses(RECORDED)
    with pytest.raises(InputError, match="pip install rosbags"):
        write_motion(tmp_path / "m.mcap", [track()])
    with pytest.warns(UserWarning, match=r"m\.mcap is not written.*pip install rosbags"):
        write_motion(tmp_path / "m.mcap", [track()], optional=True)
    assert not list(tmp_path.iterdir())
