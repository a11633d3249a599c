"""Bags as labs bring them: what was published is read, or what differs is named."""

import os
import shutil
from functools import partial

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.sensing import bags, cdr, packed_poses, poses
from diffsim_ros.sensing.bags import EPOCH_NS
from diffsim_ros.sensing.check import check
from diffsim_ros.sensing.joint_topics import STATE, read_bag
from diffsim_ros.sensing.messages import (
    BUILD,
    POSE,
    POSES,
    TRANSFORM,
    UNSURE,
    Entry,
    message,
    types,
    write_bag,
)
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.sensing.poses import read_topic
from diffsim_ros.sensing.read import read, read_kind, read_trials
from diffsim_ros.sensing.stamps import times
from validation import bag_defects as defects


@pytest.mark.parametrize(
    ("kind", "storage", "defect"), defects.draws(), ids=lambda one: getattr(one, "__name__", one)
)
def test_what_was_published_is_read_or_named(tmp_path, kind, storage, defect):
    for seed in (1, 2):
        bag = defects.make(tmp_path / str(seed), kind, storage, defect, seed)
        assert defects.judge(bag) == ""


def test_nothing_is_written_beside_a_bag_whose_recorder_was_killed(tmp_path):
    bag = defects.make(tmp_path, "poses", "sqlite3", defects.left_in_wal, 0)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    found = read_kind(bag.path, "poses")
    after = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    assert after == before and "30 of 60 messages are in it" in found.notes[0]
    os.remove(f"{bag.path}-wal")
    assert len(read_kind(bag.path, "poses")) == 30


def test_a_folder_of_compressed_files_says_how_to_unpack(tmp_path):
    from backports import zstd

    bag = defects.make(tmp_path, "poses", "sqlite3", defects.sound, 0)
    (file,) = bag.path.glob("*.db3")
    (bag.path / f"{file.name}.zstd").write_bytes(zstd.compress(file.read_bytes()))
    place = bag.path / "metadata.yaml"
    text = place.read_text().replace(file.name, f"{file.name}.zstd")
    text = text.replace("compression_format: ''", "compression_format: zstd")
    place.write_text(text.replace("compression_mode: ''", "compression_mode: FILE"))
    file.unlink()
    assert defects.judge(bag) == ""
    place.unlink()
    for path in (bag.path, bag.path / f"{file.name}.zstd"):
        with pytest.raises(InputError, match=r"zstd -d FILE.*ros2 bag reindex FOLDER"):
            read(path)


def test_what_an_index_counts_and_the_file_lacks_is_refused(tmp_path, monkeypatch):
    bag = defects.make(tmp_path, "poses", "mcap", defects.sound, 0)
    (file,) = bag.path.glob("*.mcap")
    whole = bags._kept

    def short(path, topic, reader, chosen, decode):
        more = [c._replace(msgcount=c.msgcount + 1) for c in chosen]
        return whole(path, topic, reader, more, decode)

    monkeypatch.setattr(bags, "_kept", short)
    with pytest.raises(InputError, match="got '60 messages'; accepted: the 61 that the file's own"):
        read_kind(file, "poses")


def test_a_topic_of_two_types_says_what_is_not_read(tmp_path):
    drawn = defects.Drawn(tmp_path, "poses", "mcap", np.random.default_rng(0))
    bag = drawn.write(name="one")
    drawn.kind = "joints"
    other = [drawn.message(k) for k in range(20)]
    mixed = drawn.folder / "two"
    shutil.copytree(bag, mixed)
    second = drawn.write(
        [defects.replace(m, topic=defects.TOPIC["poses"]) for m in other], name="three"
    )
    (file,) = second.glob("*.mcap")
    shutil.copy(file, mixed / "three.mcap")
    text = (mixed / "metadata.yaml").read_text()
    listed = next(line for line in text.splitlines() if line.strip() == "- one.mcap")
    text = text.replace(f"{listed}\n", f"{listed}\n{listed.replace('one', 'three')}\n")
    (mixed / "metadata.yaml").write_text(text)
    found = read_kind(mixed, "poses")
    told = " ".join(found.notes)
    assert len(found) == 60 and "20 messages of /vicon/box/box are of type sensor_msgs" in told


def test_joints_that_come_in_turn_are_streams_of_their_own(tmp_path):
    bag = defects.make(tmp_path, "joints", "mcap", defects.foreign_joint_between, 0)
    arm, gripper = read(bag.path)
    assert (arm.names, len(arm), gripper.names, len(gripper)) == (
        defects.ARM, 60, (defects.GRIPPER,), 15,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"/joint_states \(60\); finger_joint on .*data.topic"):
        read_kind(bag.path, "joints")
    assert read_kind(bag.path, "joints", joints=(defects.GRIPPER,)).names == (defects.GRIPPER,)


def test_no_joint_of_the_robot_is_refused(tmp_path):
    bag = defects.make(tmp_path, "joints", "mcap", defects.sound, 0)
    with pytest.raises(InputError, match="joints of the robot: axis_1; is it the URDF of this"):
        read_kind(bag.path, "joints", joints=("axis_1",))


FORMER = """std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint desired
trajectory_msgs/JointTrajectoryPoint actual
trajectory_msgs/JointTrajectoryPoint error
"""
PRESENT = FORMER.replace("desired", "reference").replace("actual", "feedback")


def controlled(tmp_path, storage, states, definition=True):
    """A bag of joints, and of states: topic -> (definition, names); references are 2 above."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    drawn = defects.Drawn(tmp_path, "joints", storage, np.random.default_rng(3))
    plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage]
    path, duration = tmp_path / "controlled", types().types["builtin_interfaces/msg/Duration"]
    point = types().types["trajectory_msgs/msg/JointTrajectoryPoint"]
    nothing = point(*(np.zeros(0) for _ in range(4)), duration(0, 0))
    with Writer(path, version=8, storage_plugin=plugin) as writer:
        measured = writer.add_connection("/joint_states", defects.JOINTS, typestore=types())
        for one in drawn.sent:
            data = types().serialize_cdr(one.built, one.msgtype)
            writer.write(measured, one.arrival, data)
        for topic, (text, names) in states.items():
            store = get_typestore(Stores.ROS2_JAZZY)
            store.register(get_types_from_msg(text, STATE))
            msgdef = {} if definition else {"msgdef": "", "rihs01": "RIHS01_0"}
            connection = writer.add_connection(topic, STATE, typestore=store, **msgdef)
            for k in range(0, 60, 2):
                sent = point(2.0 + drawn.value[k, : len(names)], *(np.zeros(0) for _ in range(3)),
                             duration(0, 0))  # fmt: skip
                header = BUILD.header(drawn.sent[k].stamp, "base")
                state = store.types[STATE](header, list(names), sent, nothing, nothing)
                data = store.serialize_cdr(state, STATE)
                writer.write(connection, drawn.sent[k].arrival + 5, data)
    return drawn, path


def without_definitions(path):
    """Forget what an sqlite3 bag says of its types, as recorders did before 2023."""
    import sqlite3

    (file,) = path.glob("*.db3")
    base = sqlite3.connect(file)
    base.execute("DELETE FROM message_definitions")
    base.commit()
    base.close()


@pytest.mark.parametrize("text", [FORMER, PRESENT], ids=["former", "present"])
@pytest.mark.parametrize("storage", ["mcap", "sqlite3", "bare sqlite3"])
def test_states_of_controllers_are_read_in_all_their_types(tmp_path, text, storage):
    drawn, path = controlled(
        tmp_path, storage.split()[-1], {"/arm/state": (text, defects.ARM[::-1])}
    )
    if storage.startswith("bare"):
        without_definitions(path)
    (log,) = read_bag(path)
    assert log.names == defects.ARM and not log.notes
    sent = np.repeat(2.0 + drawn.value[::2], 2, axis=0)[:, ::-1]
    np.testing.assert_array_equal(log.command["position"], sent)


def test_of_several_controllers_those_of_the_arm_count(tmp_path):
    states = {
        "/arm/controller_state": (PRESENT, defects.ARM),
        "/arm/state": (FORMER, defects.ARM),
        "/gripper/controller_state": (PRESENT, (defects.GRIPPER,)),
    }
    _, path = controlled(tmp_path / "one", "mcap", states)
    (log,) = read_bag(path, joints=defects.ARM)
    assert "position" in log.command and log.command["position"].shape == (60, 3)
    assert "position" not in read_bag(path, commands="none")[0].command
    with pytest.raises(
        InputError, match="got 'none of shoulder, elbow, wrist'; accepted: a command"
    ):
        read_bag(path, commands="/gripper/controller_state", joints=defects.ARM)
    states = {"/left/controller_state": (PRESENT, defects.ARM[:2]),
              "/right/controller_state": (PRESENT, defects.ARM[2:])}  # fmt: skip
    _, path = controlled(tmp_path / "two", "mcap", states)
    assert read_bag(path)[0].command["position"].shape == (60, 3)
    del states["/right/controller_state"]
    _, path = controlled(tmp_path / "three", "mcap", states)
    (log,) = read_bag(path)
    assert not log.command and "lack wrist: not used" in " ".join(log.notes)
    states["/other/controller_state"] = (PRESENT, defects.ARM[:2])
    _, path = controlled(tmp_path / "four", "mcap", states)
    with pytest.raises(InputError, match="one of commands for each joint; name one"):
        read_bag(path)


def test_bytes_that_are_no_state_are_refused():
    whole = types().serialize_cdr(
        message(defects.JOINTS, header=BUILD.header(0, ""), name=["a"], position=np.ones(1),
                velocity=np.ones(1), effort=np.ones(1)), defects.JOINTS)  # fmt: skip
    for end in range(len(whole)):
        with pytest.raises(InputError, match="a serialised state of a trajectory controller"):
            cdr.reference(bytes(whole[:end]), "place")


def test_steps_are_told_from_gaps_and_from_hiccups_of_the_recorder():
    rng = np.random.default_rng(0)
    t = np.arange(400) / 200.0
    t[200:] += 3.0  # between two trials
    late = rng.exponential(2e-3, 400)
    late[100:103] += [0.2, 0.195, 0.19]  # a recorder that was busy
    stamp, arrival = (np.rint(1e9 * one).astype(int) + 10**18 for one in (t, t + late))
    found, notes = times(stamp, arrival)
    assert not notes and np.array_equal(found, stamp)
    set_back = stamp - np.where(np.arange(400) >= 300, 700_000_000, 0)
    found, notes = times(set_back, arrival)
    assert "steps by -0.6992 s" in notes[0] and "at sample 300" in notes[0]
    assert np.abs(found - stamp).max() < 1e6
    found, notes = times(np.arange(0, 40, 10) * 10**7, np.arange(4) * 10**8 + 10**18)
    assert not notes and found[0] == 0  # simulated time begins there


def test_check_and_init_say_the_same_of_two_publishers(tmp_path, capsys):
    bag = defects.make(tmp_path, "joints", "mcap", defects.two_publishers, 0)
    examined, refused = check([bag.path])
    assert not examined and "two publishers on /joint_states: 6 of 66" in str(refused[0])
    code = main(["init", "--from", str(bag.path), "--urdf", "x.urdf", "--out", str(tmp_path / "o")])
    assert code == 2 and "two publishers on /joint_states" in capsys.readouterr().err


@pytest.mark.parametrize("kind", list(packed_poses.FRAMES_NAMED))
def test_poses_of_one_layout_are_those_of_their_messages(tmp_path, kind, monkeypatch):
    turns = np.random.default_rng(1).normal(size=(30, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    value = [
        PoseSample(EPOCH_NS + 10**7 * k, "lab", "/box", (0.1 * k, 1.0, 2.0), tuple(q))
        for k, q in enumerate(turns)
    ]
    path = write_bag_of(tmp_path / "bag", kind, value)
    (fast,) = read_topic(path, "/box/pose")
    monkeypatch.setattr(packed_poses, "FRAMES_NAMED", {})
    monkeypatch.setattr(poses, "FRAMES_NAMED", {})
    (slow,) = read_topic(path, "/box/pose")
    assert (fast.frame, fast.names, fast.epoch) == (slow.frame, slow.names, slow.epoch)
    for one, other in ((fast.t, slow.t), (fast.value, slow.value)):
        np.testing.assert_array_equal(one, other)
    (stream,) = read(path)
    assert stream.kind == "poses" and len(stream) == 30


def test_frames_that_change_are_refused_as_ever(tmp_path):
    frames = ["lab"] * 9 + ["map"] * 9
    value = [
        PoseSample(EPOCH_NS + 10**7 * k, frame, "", (0, 0, 0), (0, 0, 0, 1))
        for k, frame in enumerate(frames)
    ]
    path = write_bag_of(tmp_path / "bag", POSE, value)
    with pytest.raises(InputError, match=r"frame_id.*\['lab', 'map'\].*the same frame throughout"):
        read_topic(path, "/box/pose")


def test_poses_without_names_say_so(tmp_path):
    value = [PoseSample(EPOCH_NS + 10**7 * k, "lab", "", (k, 0, 0), (0, 0, 0, 1)) for k in range(9)]
    first, second = read_topic(write_bag_of(tmp_path / "bag", POSES, value), "/box/pose")
    assert first.names == ("pose 0",) and "have no names" in first.notes[0] and len(second) == 9


def write_bag_of(path, kind, samples):
    """A bag of poses that messages of this type carry."""

    def built(one):
        header, pose = BUILD.header(one.stamp, one.frame), BUILD.pose_stamped(one).pose
        if kind == POSE:
            return message(kind, header, pose)
        if kind == POSES:
            return message(kind, header, [pose, pose])
        if kind == TRANSFORM:
            return BUILD.transforms([one]).transforms[0]
        several = message("geometry_msgs/msg/PoseWithCovariance", pose, np.zeros(36))
        if kind == UNSURE:
            return message(kind, header, several)
        zero = message("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0)
        twist = message("geometry_msgs/msg/Twist", zero, zero)
        twist = message("geometry_msgs/msg/TwistWithCovariance", twist, np.zeros(36))
        return message(kind, header, one.body, several, twist)

    entries = [Entry(one.stamp, "/box/pose", kind, partial(built, one)) for one in samples]
    write_bag(path, entries)
    return path


def test_a_joint_that_is_nearly_one_of_the_robot_is_refused(tmp_path):
    bag = defects.make(tmp_path, "joints", "mcap", defects.sound, 0)
    with pytest.raises(InputError, match=r"joints: got 'wrist'.*did you mean 'wrist_1'"):
        read_kind(bag.path, "joints", joints=("shoulder", "elbow", "wrist_1"))
    bag = defects.make(tmp_path / "more", "joints", "mcap", defects.foreign_joint, 0)
    log = read_kind(bag.path, "joints", joints=(*defects.ARM, "head_pan"))
    assert log.names == defects.ARM  # the robot's other joint is another


def test_markers_in_millimetres_are_refused_by_check_and_estimate(tmp_path):
    t, place = np.arange(40) / 100.0, np.array([[0.0, 0.0, 300.0], [100.0, 0.0, 300.0]])
    track = bags.MocapTrack("/markers", "map", t, ("a", "b"), np.tile(place, (40, 1, 1)))
    path = bags.write_motion(tmp_path / "mm.mcap", [], mocap=[track])
    (one,), _ = check([path])
    assert "millimetres?" in str(one.refusal)
    with pytest.raises(InputError, match=r"extent: got 100.0.*within 20 m; millimetres\?"):
        read_trials(path, "markers")


def test_the_longest_part_of_reading_is_reported(tmp_path, monkeypatch):
    bag = defects.make(tmp_path, "poses", "mcap", defects.sound, 0)
    monkeypatch.setattr(bags, "PROGRESS", 25)
    lines = []
    read(bag.path, lines.append)
    assert [line.rpartition(", ")[2] for line in lines[1:]] == [
        "60 messages", "25 of 60 messages", "50 of 60 messages",
    ]  # fmt: skip
