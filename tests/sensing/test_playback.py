"""Recordings on one clock: tosses with gaps between them, bags with the stamps that they have."""

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing import cdr
from diffsim_ros.sensing.bags import read_raw
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.messages import TF, message
from diffsim_ros.sensing.playback import read_playlist
from diffsim_ros.sensing.tosses import read_tosses

TOSSES = Path(__file__).resolve().parents[2] / "data" / "cube_toss" / "tosses.npz"


def test_tosses_follow_each_other_with_a_gap_in_the_order_asked_for():
    playlist = read_playlist(TOSSES, trials=[4, 1], gap=0.75)
    by_id = {t.id: t for t in read_tosses(TOSSES, [1, 4])}
    assert list(dict.fromkeys(playlist.trial.tolist())) == [4, 1]
    steps = np.diff(playlist.t)
    assert steps.min() > 0 and np.count_nonzero(steps > 0.1 * NANO) == 1
    assert steps.max() == pytest.approx(0.75 * NANO, abs=2)
    np.testing.assert_array_equal(
        playlist.poses, np.concatenate([by_id[4].poses.value, by_id[1].poses.value])
    )


def test_all_tosses_without_a_choice():
    assert len(set(read_playlist(TOSSES).trial.tolist())) == 400


@pytest.fixture
def bag(tmp_path):
    from diffsim_ros.sensing.bags import write_motion

    t = np.concatenate([np.arange(10), 200 + np.arange(5)]) * 0.01
    position = np.random.default_rng(0).normal(size=(15, 3))
    orientation = np.tile([0.0, 0.0, 0.0, 1.0], (15, 1))
    track = ("/cube/pose", "map", t, position, orientation)
    return write_motion(tmp_path / "cube.mcap", [track]), position


def test_a_bag_keeps_its_own_stamps(bag):
    path, position = bag
    playlist = read_playlist(path)
    assert playlist.frame == "map" and playlist.trial.tolist() == [1] * 10 + [2] * 5
    assert playlist.t[:3].tolist() == [0, 10_000_000, 20_000_000]
    np.testing.assert_array_equal(playlist.poses[:, :3], position)
    with pytest.raises(InputError, match="trials"):
        read_playlist(path, trials=[1])


def test_raw_messages_of_one_topic(bag):
    path, _ = bag
    messages = read_raw(path, "/cube/pose")
    assert len(messages) == 15 and messages[1][0] - messages[0][0] == 10_000_000
    with pytest.raises(InputError, match=r"topic.*known|did you mean"):
        read_raw(path, "/nothing")
    with pytest.raises(InputError, match="nothing"):
        read_raw(path.with_name("no.mcap"), "/cube/pose")


def test_unusable_files_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"no\.npz"):
        read_playlist(tmp_path / "no.npz")
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(b"not a bag")
    with pytest.raises(InputError, match=r"broken\.mcap"):
        read_playlist(broken)


@pytest.mark.parametrize("names", [("a", "b"), ("camera", "tag36h11:0"), ("", "x" * 7)])
def test_stamps_of_transforms_are_set_in_the_bytes(names):
    from rosbags.typesys import Stores, get_typestore

    def transform(ns, k):
        q = message("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0 + k)
        place = message("geometry_msgs/msg/Vector3", 1.0, 2.0, 3.0 + k)
        moved = message("geometry_msgs/msg/Transform", place, q)
        header = message("std_msgs/msg/Header", message(
            "builtin_interfaces/msg/Time", ns // NANO, ns % NANO), names[0])  # fmt: skip
        return message("geometry_msgs/msg/TransformStamped", header, names[1] + "y" * k, moved)

    store = get_typestore(Stores.ROS2_JAZZY)
    stamps = [1_700_000_000 * NANO + 999_999_999, 1_700_000_001 * NANO + 5, 1_699_999_999 * NANO]
    full = message(TF, [transform(ns, k) for k, ns in enumerate(stamps)])
    data = bytes(store.serialize_cdr(full, TF))
    assert cdr.first_stamp(data, "x") == stamps[0]
    later = 1_800_000_000 * NANO + 7
    back = store.deserialize_cdr(cdr.restamped_transforms(data, later), TF)
    found = [t.header.stamp.sec * NANO + t.header.stamp.nanosec for t in back.transforms]
    assert found == [later + ns - stamps[0] for ns in stamps]
    for one, two in zip(back.transforms, full.transforms, strict=True):
        assert one.child_frame_id == two.child_frame_id and one.transform == two.transform
    for cut in (3, 6, 30, len(data) - 1):
        with pytest.raises(InputError, match="place: transforms"):
            cdr.first_stamp(data[:cut], "place")
