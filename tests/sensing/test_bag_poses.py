"""Poses in a bag are read from every message that carries them, of the body that is wanted."""

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.first_guess import streams_of
from diffsim_ros.rotation import quat_exp, quat_multiply
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bags import EPOCH_NS
from diffsim_ros.sensing.frames import Transform
from diffsim_ros.sensing.messages import (
    BODIES,
    BUILD,
    NAMED,
    ODOMETRY,
    POSE,
    STATIC,
    TEXT,
    TF,
    Entry,
    message,
)
from diffsim_ros.sensing.read import read, read_beside
from diffsim_ros.sensing.tosses import read_tosses, toss_ids
from tests.sensing.test_tosses import DATA as TOSSES

TRIALS = [1, 6, 8]  # all begin in free flight


def tosses():
    """Stamps [ns] and poses (n, 7) of measured tosses, one after the other."""
    stamps, rows, offset = [], [], 0.0
    for trial in read_tosses(TOSSES, TRIALS):
        stamps.append(trial.poses.t - trial.poses.t[0] + offset)
        rows.append(trial.poses.value)
        offset = stamps[-1][-1] + 1.0
    return EPOCH_NS + np.rint(1e9 * np.concatenate(stamps)).astype(int), np.concatenate(rows)


def _pose(row):
    return BUILD.pose(row[:3], row[3:])


def _transform(row, header, child):
    moved = message("geometry_msgs/msg/Transform", BUILD.vector(row[:3]), BUILD.quaternion(row[3:]))
    return message("geometry_msgs/msg/TransformStamped", header, child, moved)


def posed(header, bodies):
    ((_, row),) = bodies.items()
    return message(POSE, header, _pose(row))


def odometry(header, bodies):
    ((name, row),) = bodies.items()
    still, none = np.zeros(36), BUILD.vector((0, 0, 0))
    twist = message("geometry_msgs/msg/Twist", none, none)
    return message(
        ODOMETRY, header, name,
        message("geometry_msgs/msg/PoseWithCovariance", _pose(row), still),
        message("geometry_msgs/msg/TwistWithCovariance", twist, still),
    )  # fmt: skip


def named(header, bodies):
    kind = "motion_capture_tracking_interfaces/msg/NamedPose"
    return message(NAMED, header, [message(kind, name, _pose(r)) for name, r in bodies.items()])


def rigid_bodies(header, bodies):
    kind = "mocap4r2_msgs/msg/RigidBody"
    every = [message(kind, name, [], _pose(row)) for name, row in bodies.items()]
    return message(BODIES, header, 0, every)


def transforms(header, bodies):
    return message(TF, [_transform(row, header, name) for name, row in bodies.items()])


MADE = {
    "pose": (POSE, "/cube/pose", posed),
    "odometry": (ODOMETRY, "/cube/odom", odometry),
    "named": (NAMED, "/poses", named),
    "rigid_bodies": (BODIES, "/rigid_bodies", rigid_bodies),
    "tf": (TF, "/tf", transforms),
}


def entries(carrier, stamps, bodies, frame="world", topic=""):
    """Messages of bodies: name -> poses (n, 7)."""
    kind, usual, make = MADE[carrier]
    for k, ns in enumerate(stamps):
        full = make(BUILD.header(int(ns), frame), {name: rows[k] for name, rows in bodies.items()})
        yield Entry(int(ns), topic or usual, kind, lambda full=full: full)


def written(path, *groups):
    build.write_bag(path, [entry for group in groups for entry in group])
    return path


def same_tosses(path, atol=1e-12, **options):
    """The tosses of a bag are those of the file."""
    back = read_tosses(path, **options)
    for ours, theirs in zip(back, read_tosses(TOSSES, TRIALS), strict=True):
        np.testing.assert_allclose(ours.position, theirs.position, rtol=0, atol=atol)
        turn = np.abs(np.sum(ours.orientation * theirs.orientation, axis=1))
        np.testing.assert_allclose(turn, 1.0, atol=1e-12)
        np.testing.assert_array_equal(ours.frames, theirs.frames)


@pytest.mark.parametrize("carrier", MADE)
def test_tosses_of_every_message_are_those_of_the_file(tmp_path, carrier):
    stamps, rows = tosses()
    path = written(tmp_path / "lab.mcap", entries(carrier, stamps, {"cube": rows}))
    same_tosses(path)
    (stream,) = read(path)
    assert (stream.kind, stream.names, stream.frame) == ("poses", ("cube",), "world")
    samples = read_beside(path, "poses", MADE[carrier][1])
    np.testing.assert_array_equal(samples.position[:, 0], rows[:, :3])
    assert abs(samples.t[0] - EPOCH_NS * 1e-9) < 1e-3


@pytest.mark.parametrize("carrier", ["named", "tf", "rigid_bodies"])
def test_of_several_bodies_one_is_named(tmp_path, carrier, capsys):
    stamps, rows = tosses()
    wand = np.full_like(rows, np.nan)  # a single marker: a place without an orientation
    wand[:, :3] = 0.5
    path = written(tmp_path / "lab.mcap", entries(carrier, stamps, {"wand": wand, "cube": rows}))
    same_tosses(path, body="cube")
    assert toss_ids(path, ("cube",)) == [1, 2, 3]
    topic = MADE[carrier][1]
    with pytest.raises(InputError, match=rf"poses: got 'wand on {topic} \(wand\), cube on"):
        read_tosses(path, body="box")
    with pytest.raises(InputError, match="accepted: exactly one body with poses"):
        streams_of([path])
    assert [s.names for s in streams_of([path], body="cube")] == [("cube",)]
    init = ["init", "--from", str(path), "--size", "0.1", "--mass", "0.37", "--out"]
    assert main([*init, str(tmp_path / "none")]) == 2
    assert main([*init, str(tmp_path / "made"), "--body", "cube"]) == 0
    code = main(["check", str(path), "--out", str(tmp_path / "check")])
    assert code == (0 if carrier == "tf" else 2)  # a frame of /tf need not be a body
    output = capsys.readouterr().out
    assert f"{topic} (cube): poses" in output and " samples: usable" in output
    assert f"{topic} (wand): poses" in output and " dropped: not finite" in output


def camera():
    """Where a tilted camera stands in the world."""
    turn = quat_exp(np.array([1.1, -0.4, 0.7]))
    return Transform("world", "camera", np.array([0.3, -1.2, 1.5]), turn)


def observed(rows):
    """Poses of the world in the camera's frame."""
    back = camera().inverse()
    turned = quat_multiply(back.orientation, rows[:, 3:])
    return np.concatenate([back.moved(rows[:, :3]), turned], axis=1)


def fixed(parent, child, row):
    header = BUILD.header(EPOCH_NS, parent)
    full = message(TF, [_transform(row, header, child)])
    yield Entry(EPOCH_NS, STATIC, TF, lambda: full)


@pytest.mark.parametrize("world", ["world", "map"])
@pytest.mark.parametrize("carrier", ["tf", "odometry", "pose"])
def test_poses_are_moved_to_the_wanted_frame_by_the_static_transforms(tmp_path, carrier, world):
    stamps, rows = tosses()
    stand = [*camera().position, *camera().orientation]
    groups = [
        entries(carrier, stamps, {"cube": observed(rows)}, "optical"),
        fixed(world, "camera", stand),
        fixed("camera", "optical", [0, 0, 0, 0, 0, 0, 1]),
    ]
    if world != "world":  # as the observer writes its parameter
        text = message(TEXT, world)
        groups.append([Entry(EPOCH_NS, "/observer/world_frame", TEXT, lambda: text)])
    path = written(tmp_path / "lab.mcap", *groups)
    same_tosses(path, atol=1e-9)
    (stream,) = read(path)
    assert stream.frame == world and "moved from 'optical'" in stream.notes[0]


def test_one_frame_of_two_trackers_is_not_one_body(tmp_path):
    stamps, rows = tosses()
    path = written(
        tmp_path / "lab.mcap",
        entries("tf", stamps, {"cube": rows}, "left"),
        entries("tf", stamps + 3_000_000, {"cube": observed(rows)}, "right"),
    )
    assert sorted(s.names[0] for s in read(path)) == ["left->cube", "right->cube"]
    with pytest.raises(InputError, match="left->cube on /tf"):
        read_tosses(path)
    same_tosses(path, body="left->cube")


def test_frames_of_tf_are_taken_for_bodies_only_where_nothing_else_is(tmp_path, capsys):
    stamps, rows = tosses()
    path = written(
        tmp_path / "lab.mcap",
        entries("pose", stamps, {"cube": rows}),
        entries("tf", stamps, {"link_1": observed(rows), "link_2": observed(rows)}, "base"),
    )
    same_tosses(path)
    assert [s.names for s in streams_of([path])] == [("cube",)]
    assert main(["check", str(path), "--out", str(tmp_path / "check")]) == 0
    output = capsys.readouterr().out
    assert "/cube/pose: poses (PoseStamped)" in output and "not usable as it is" in output
    alone = written(
        tmp_path / "alone.mcap",
        entries("tf", stamps, {"link_1": observed(rows), "link_2": observed(rows)}, "base"),
    )
    assert main(["check", str(alone), "--out", str(tmp_path / "alone")]) == 2


def test_bodies_on_topics_of_their_own_are_joined_at_common_stamps(tmp_path):
    stamps, rows = tosses()
    other = observed(rows)
    other[40:43, 0] = np.nan
    gone = np.delete(np.arange(len(rows)), [10, 11])
    path = written(
        tmp_path / "lab.mcap",
        entries("pose", stamps[gone], {"a": rows[gone]}, topic="/a/pose"),
        entries("pose", stamps + 0, {"b": other}, topic="/b/pose"),
    )
    first, second, _ = read_tosses(path, body=("b", "a"))
    assert first.bodies == ("b", "a")
    kept = np.delete(np.arange(115), [10, 11, 40, 41, 42])
    np.testing.assert_array_equal(first.frames, kept)
    np.testing.assert_allclose(first.of("a").position, rows[kept, :3], atol=1e-12)
    np.testing.assert_allclose(first.of("b").position, other[kept, :3], atol=1e-12)
    np.testing.assert_allclose(
        second.of("a").position, rows[115 : 115 + len(second), :3], atol=1e-12
    )
    with pytest.raises(InputError, match="one each of a, c"):
        read_tosses(path, body=("a", "c"))


def test_an_array_without_bodies_is_named(tmp_path):
    stamps, _ = tosses()
    path = written(tmp_path / "lab.mcap", entries("named", stamps[:5], {}))
    with pytest.raises(InputError, match="/poses: got 'no body in any message'"):
        read(path)
