"""Bags of several topics: one bad one spoils no other; markers, clouds and poses come back."""

from functools import partial

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.sensing import bags, cdr
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bags import EPOCH_NS, MocapTrack, RawMessage, RecordedClouds
from diffsim_ros.sensing.check import check
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.messages import BODIES, BUILD, MOCAP, POSE, Entry, message, types
from diffsim_ros.sensing.read import read, read_kind, read_trials
from diffsim_ros.sensing.toss_file import write_tosses
from diffsim_ros.sensing.tosses import read_tosses
from tests.real2sim import clouds_synthetic
from tests.sensing.test_recordings import marker_table
from tests.sensing.test_tosses import DATA as TOSSES

RNG = np.random.default_rng(0)


def poses(n=40):
    t = np.arange(n) / 100.0
    q = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
    return "/cube/pose", "world", t, RNG.normal(size=(n, 3)) * 1e-3, q


def broken(path, *entries):
    """A bag with a sound topic of poses and RawMessages beside it."""
    track = bags.RecordedPoses(*poses())
    sound = [e for e in build.pose_entries(track, EPOCH_NS)]
    build.write_bag(path, [*sound, *entries])
    return path


def raw(topic, kind, data, k=0):
    return Entry(EPOCH_NS + k, topic, kind, lambda: data)


def test_a_topic_of_garbage_spoils_no_other(tmp_path):
    garbage = raw("/cam/points", build.CLOUD, b"\0\1\0\0" + bytes(range(40)))
    path = broken(tmp_path / "bag.mcap", garbage)
    assert len(read_kind(path, "poses")) == 40
    refused = []
    (stream,) = read(path, refuse=refused.append)
    assert stream.kind == "poses" and len(refused) == 1
    assert "bag.mcap: /cam/points: sample 0" in str(refused[0])
    examined, unreadable = check([path])
    assert len(examined) == 1 and str(unreadable[0]) == str(refused[0])
    with pytest.raises(InputError, match=r"/cam/points: sample 0.*a sensor_msgs/msg/PointCloud2"):
        read_kind(path, "clouds")


def test_a_definition_that_cannot_be_parsed_spoils_no_other(tmp_path):
    from rosbags.rosbag2 import StoragePlugin, Writer

    with Writer(tmp_path / "bag", version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        good = writer.add_connection("/cube/pose", POSE, typestore=types())
        text = "this is ][ no definition\n"
        bad = writer.add_connection("/odd", "lab_msgs/msg/Odd", msgdef=text, rihs01="RIHS01_0")
        for entry in build.pose_entries(bags.RecordedPoses(*poses()), EPOCH_NS):
            writer.write(good, entry.stamp, types().serialize_cdr(entry.build(), POSE))
            writer.write(bad, entry.stamp, b"\0\1\0\0")
    assert len(read_kind(tmp_path / "bag", "poses")) == 40
    assert bags.topics(tmp_path / "bag")["/odd"] == ("lab_msgs/msg/Odd", 40)
    assert [s.kind for s in read(tmp_path / "bag")] == ["poses"]
    with pytest.raises(InputError, match=r"/odd: lab_msgs/msg/Odd: .*readable definition"):
        bags.read_messages(tmp_path / "bag", "lab_msgs/msg/Odd")


def test_a_half_written_bag_says_what_may_help(tmp_path):
    whole = broken(tmp_path / "whole.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "cut.db3").write_bytes(b"SQLite format 3\0")
    readers = [partial(read_kind, kind=kind) for kind in ("poses", "markers")]
    for name in ("cut.mcap", "folder"):
        for one in (*readers, read_tosses, bags.topics):
            with pytest.raises(InputError, match=rf"{name}: .*cut off.*mcap recover|reindex"):
                one(tmp_path / name)
    with pytest.raises(InputError, match=r"folder: got 'a folder of cut.db3, without metadata"):
        bags.topics(tmp_path / "folder")
    assert bags.is_bag(tmp_path / "folder")  # so that it is named, not passed over


def markers(n=60, trials=2, gap=2.0):
    """Two recordings after each other, of three markers; one is hidden for a while."""
    t = np.concatenate([np.arange(n) / 100.0 + k * (n / 100.0 + gap) for k in range(trials)])
    position = RNG.normal(size=(len(t), 3, 3))
    position[10:15, 1] = np.nan
    return MocapTrack("/markers", "map", t, ("tip1", "base1", "base2"), position)


def test_markers_come_back_by_name_and_trial(tmp_path):
    track = markers()
    path = bags.write_motion(tmp_path / "beam.mcap", [], mocap=[track])
    found = read_kind(path, "markers")
    assert (found.frame, found.names, found.notes) == ("map", track.names, ())
    np.testing.assert_allclose(found.t, track.t, atol=1e-9)
    np.testing.assert_array_equal(found.position, track.position)
    first, second = read_trials(path, "markers")
    assert (first.name, second.name, second.t[0]) == ("beam_1", "beam_2", 0.0)
    np.testing.assert_array_equal(second.value, found.position[60:].reshape(60, 9))
    (stream,) = read(path)
    assert stream.kind == "markers" and stream.frame == "map"


def test_init_of_a_bag_of_markers_with_two_trials(tmp_path, capsys):
    found = read_kind(marker_table(tmp_path), "markers")
    names, t, position = found.names, found.t, found.position
    twice = np.concatenate([t, t + t[-1] + 1.0]), np.concatenate([position, position])
    track = MocapTrack("/markers", "map", twice[0], names, twice[1])
    path, out = tmp_path / "lab.mcap", tmp_path / "out"
    bags.write_motion(path, [], mocap=[track])
    assert main(["check", str(path), "--out", str(tmp_path / "check")]) == 0
    assert "markers (mocap4r2 markers), 2 trials" in capsys.readouterr().out
    assert main(["init", "--from", str(path), "--size", "0.1", "0.03", "0.02", "--mass", "0.06",
                 "--study", "0", "--out", str(out)]) == 0  # fmt: skip
    config = load_estimation(out / "estimation.yaml")
    data = kind_of(config.kind)(config).read({})
    assert [release.name for release in data.train] == ["lab_1", "lab_2"]
    assert all(release.frame in (40, 41, 42) for release in data.train)


def test_markers_of_rigid_bodies_and_the_topic_with_names(tmp_path):
    marker = "mocap4r2_msgs/msg/Marker"
    header = BUILD.header

    def frames(topic, kind, name):
        for k in range(30):
            ns = EPOCH_NS + k * 10**7
            one = message(marker, 0, 7, name, BUILD.point((k, 0, 0)))
            content = [one]
            if kind == BODIES:
                pose = message("geometry_msgs/msg/Pose", BUILD.point((0, 0, 0)),
                               BUILD.quaternion((0, 0, 0, 1)))  # fmt: skip
                content = [message("mocap4r2_msgs/msg/RigidBody", "cube", content, pose)]
            full = message(kind, header(ns, "map"), k, content)
            yield Entry(ns, topic, kind, lambda full=full: full)

    path = tmp_path / "two.mcap"
    build.write_bag(path, [*frames("/markers", MOCAP, ""), *frames("/bodies", BODIES, "")])
    assert read_kind(path, "markers").names == ("cube7",)  # the other topic's have no names
    assert read_kind(path, "markers", "/markers").names == ("marker 7",)
    assert {s.sensor: s.names for s in read(path)} == {
        "/markers": ("marker 7",), "/bodies": ("cube7",)
    }  # fmt: skip


def test_markers_without_names_of_a_tracker_that_sends_clouds():
    """A real recording as motion_capture_tracking sends it, found by the places of its markers."""
    root = TOSSES.parents[1]
    changes = ["measurement.labels=none", "data.conditions=[{records: '*'}]"]
    config = load_estimation(
        root.parent / "config" / "estimation" / "silicone_beam.yaml", set=changes,
        train=[root / "ros2_bags" / "beam_markers_db3"],
        validate=[root / "silicone_beam" / "gravity_a.csv"],
    )  # fmt: skip
    data = kind_of(config.kind)(config).read({})
    (bag,), (table,) = data.train, data.validate
    n = len(bag.t)
    np.testing.assert_allclose(bag.position, table.position[:n], atol=1e-6)
    assert bag.frame == table.frame and n == 300


def test_a_cloud_of_a_scene_is_no_set_of_markers(tmp_path):
    cloud = Cloud(RNG.normal(size=(65, 3)) + 3.0)
    track = RecordedClouds("/points", "camera", [0.0], [cloud])
    path = bags.write_motion(tmp_path / "scene.mcap", [], clouds=[track])
    with pytest.raises(InputError, match=r"/points: sample 0: points: got 65; .*at most 64"):
        read_trials(path, "markers")


def test_tosses_of_a_bag_are_those_of_the_file(tmp_path):
    trials = read_tosses(TOSSES, [1, 3])
    offset, parts = 0.0, []
    for trial in trials:
        parts.append((trial.poses.t - trial.poses.t[0] + offset, trial.poses.value))
        offset = parts[-1][0][-1] + 1.0
    t, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    bag = bags.write_motion(
        tmp_path / "tosses.mcap", [("/cube/pose", "world", t, value[:, :3], value[:, 3:])]
    )
    write_tosses(tmp_path / "own.npz", trials)
    for ours, theirs in zip(read_tosses(bag), read_tosses(tmp_path / "own.npz"), strict=True):
        np.testing.assert_allclose(ours.poses.value, theirs.poses.value, atol=1e-12)
        np.testing.assert_array_equal(ours.frames, theirs.frames)
        assert ours.dt == pytest.approx(theirs.dt, abs=1e-9)
    value[50, 3:] *= 1.2
    bad = bags.write_motion(tmp_path / "bad.mcap", [("/p", "world", t, value[:, :3], value[:, 3:])])
    with pytest.raises(InputError, match=r"bad\.mcap: /p: sample 50 .*not a rotation"):
        read_tosses(bad)


def joint_entries(topic, t, names, **columns):
    """JointState messages of columns (n, m), their joints in turning order."""
    for k, seconds in enumerate(t):
        ns = EPOCH_NS + round(1e9 * seconds)
        order = np.roll(np.arange(len(names)), k)
        rows = [
            columns[key][k][order] if key in columns else np.zeros(0)
            for key in ("position", "velocity", "effort")
        ]
        full = message(build.JOINTS, BUILD.header(ns, ""), [names[i] for i in order], *rows)
        yield Entry(ns, topic, build.JOINTS, lambda full=full: full)


def test_joint_logs_of_a_bag_with_commands_and_trials(tmp_path):
    t = np.concatenate([np.arange(20) * 0.01, 2.0 + np.arange(15) * 0.01])
    q, effort = 0.01 * RNG.normal(size=(35, 2)), RNG.normal(size=(35, 2))
    late, names = t[2:] - 0.004, ["b", "a"]
    entries = [
        *joint_entries("/joint_states", t, names, position=q, effort=effort),
        *joint_entries("/arm/commands", late, ["a", "b"], position=q[2:, ::-1] + 1.0),
    ]
    build.write_bag(tmp_path / "arm.mcap", entries)
    path = tmp_path / "arm.mcap"
    first, second = read_trials(path, "joints")
    assert (len(first.t), len(second.t), first.names) == (18, 15, ("b", "a"))
    np.testing.assert_array_equal(first.measured["position"], q[2:20])
    np.testing.assert_array_equal(second.measured["effort"], effort[20:])
    np.testing.assert_array_equal(second.command["position"], q[20:] + 1.0)
    np.testing.assert_allclose(second.t, t[20:] - 2.0, atol=1e-9)
    assert [log.trial for log in read_trials(path, "joints", wanted=(2,))] == [2]
    few = joint_entries("/arm/commands", late, ["a"], position=q[2:, :1])
    states = list(joint_entries("/joint_states", t, names, position=q))
    build.write_bag(tmp_path / "few.mcap", [*states, *few])
    log = read_kind(tmp_path / "few.mcap", "joints")
    assert not log.command and log.notes == ("commands on /arm/commands lack b: not used",)
    with pytest.raises(InputError, match=r"few\.mcap: /arm/commands: joints: got 'none of b'"):
        read_kind(tmp_path / "few.mcap", "joints", commands="/arm/commands")
    build.write_bag(tmp_path / "two.mcap", [*states, *joint_entries("/x", t, names, position=q)])
    with pytest.raises(
        InputError, match=r"topics: got 'b, a on /joint_states \(35\); b, a on /x \(35\)'"
    ):
        read_trials(tmp_path / "two.mcap", "joints")


def test_clouds_with_colour_and_further_columns(tmp_path):
    points, colour = RNG.normal(size=(50, 3)) + 3.0, RNG.uniform(size=(50, 3))
    residual = [RNG.normal(size=50)]
    track = RecordedClouds(
        "/points", "world", [0.5], [Cloud(points, colour)], {"residual": residual}
    )
    path = bags.write_motion(tmp_path / "clouds.mcap", [], clouds=[track])
    (cloud,) = read_kind(path, "clouds").clouds
    np.testing.assert_allclose(cloud.points, points, atol=1e-6)
    np.testing.assert_allclose(cloud.colour, colour, atol=1 / 255)
    (stored,) = bags.read_raw(path, "/points")
    back = types().deserialize_cdr(stored.data, build.CLOUD)
    assert [field.name for field in back.fields] == ["x", "y", "z", "rgb", "residual"]
    rows = np.frombuffer(back.data.tobytes(), np.float32).reshape(50, 5)
    np.testing.assert_array_equal(rows[:, 4], residual[0].astype(np.float32))


def test_recorded_transforms_place_the_camera_unless_the_yaml_does(tmp_path):
    pytest.importorskip("open3d")
    clouds = clouds_synthetic.recording(0).clouds
    content = clouds_synthetic.estimation()
    given = content["measurement"]["cloud"]
    pose = given.pop("position"), given.pop("orientation")
    stamps = [cloud.stamp for cloud in clouds]
    observed = RecordedClouds("/points", "optical", stamps, clouds)

    def read(name, parent, section):
        """The throw of a bag with a transform from `parent` to the camera's link."""
        link = message("geometry_msgs/msg/Transform", BUILD.vector(pose[0]),
                       BUILD.quaternion(pose[1]))  # fmt: skip
        same = message("geometry_msgs/msg/Transform", BUILD.vector((0, 0, 0)),
                       BUILD.quaternion((0, 0, 0, 1)))  # fmt: skip
        stamped = [
            message("geometry_msgs/msg/TransformStamped", BUILD.header(0, frame), child, value)
            for frame, child, value in ((parent, "link", link), ("link", "optical", same))
        ]
        static = Entry(EPOCH_NS, "/tf_static", build.TF, lambda: message(build.TF, stamped))
        build.write_bag(tmp_path / name, [static, *build.cloud_entries(observed, EPOCH_NS)])
        content["measurement"]["cloud"] = {**given, **section}
        config = load_estimation(content, train=[tmp_path / name])
        return kind_of("clouds")(config).read({}).train[0]

    by_bag = read("tf.mcap", "world", {})
    by_yaml = read("yaml.mcap", "map", {"position": pose[0], "orientation": pose[1]})
    np.testing.assert_allclose(
        by_bag.detections.clouds[0].points, by_yaml.detections.clouds[0].points, atol=1e-9
    )
    with pytest.raises(InputError, match=r"unknown\.mcap: frame: got 'optical'.*'world'.*link"):
        read("unknown.mcap", "map", {})


def test_headers_are_read_and_set_in_the_bytes(tmp_path):
    path = bags.write_motion(tmp_path / "a.mcap", [poses()], transforms=False)
    first, *rest = bags.read_raw(path, "/cube/pose")
    assert cdr.header(first.data, "x") == (EPOCH_NS, "world")
    later = [m._replace(data=cdr.restamped(m.data, m.stamp + 5)) for m in (first, *rest)]
    moved = bags.write_raw(tmp_path / "b.mcap", later)
    before, after = read_kind(path, "poses"), read_kind(moved, "poses")
    assert after.epoch == before.epoch + 5
    np.testing.assert_array_equal(after.position, before.position)
    for data in (b"", b"\0\1\0\0abc", b"\0\1\0\0" + b"\xff" * 12):
        with pytest.raises(InputError, match="place: header"):
            cdr.header(data, "place")
    with pytest.raises(FileExistsError):
        bags.write_raw(moved, [RawMessage(0, "/x", POSE, first.data)])
