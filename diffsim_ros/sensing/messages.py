"""Messages of bags, built without ROS (package `rosbags`): types, entries, the writer."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..output import STAGE_PREFIX, move_new
from .building import Builder
from .observation import MarkerFrame, PoseSample

POSE = "geometry_msgs/msg/PoseStamped"
TF = "tf2_msgs/msg/TFMessage"
TRANSFORM = "geometry_msgs/msg/TransformStamped"
UNSURE = "geometry_msgs/msg/PoseWithCovarianceStamped"
POSES = "geometry_msgs/msg/PoseArray"
MARKERS = "visualization_msgs/msg/MarkerArray"
MOCAP = "mocap4r2_msgs/msg/Markers"
BODIES = "mocap4r2_msgs/msg/RigidBodies"
ODOMETRY = "nav_msgs/msg/Odometry"
NAMED = "motion_capture_tracking_interfaces/msg/NamedPoseArray"
CLOUD = "sensor_msgs/msg/PointCloud2"
JOINTS = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/WrenchStamped"
STATIC = "/tf_static"
TEXT = "std_msgs/msg/String"
WORLD = "/world_frame"
"""End of the topic on which a recording of ours has the frame that poses are wanted in."""
DEFINITIONS = {
    "mocap4r2_msgs/msg/Marker": """
int8 USE_NAME=0
int8 USE_INDEX=1
int8 USE_BOTH=2
int8 id_type
int32 marker_index
string marker_name
geometry_msgs/Point translation
""",
    MOCAP: "std_msgs/Header header\nuint32 frame_number\nmocap4r2_msgs/Marker[] markers\n",
    "mocap4r2_msgs/msg/RigidBody": """
string rigid_body_name
mocap4r2_msgs/Marker[] markers
geometry_msgs/Pose pose
""",
    BODIES: "std_msgs/Header header\nuint32 frame_number\nmocap4r2_msgs/RigidBody[] rigidbodies\n",
    "motion_capture_tracking_interfaces/msg/NamedPose": "string name\ngeometry_msgs/Pose pose\n",
    NAMED: "std_msgs/Header header\nmotion_capture_tracking_interfaces/NamedPose[] poses\n",
}
"""Of packages that a distribution does not bring (ros_overlay/), type -> text."""


FOREVER = 9_223_372_036, 854_775_807
"""Seconds and nanoseconds of an endless duration, as rmw has it."""


class OfferedQos(NamedTuple):
    """What a publisher offers; latched: late subscribers get the last `depth` messages too."""

    reliable: bool = True
    latched: bool = False
    depth: int = 10


LATCHED = OfferedQos(latched=True, depth=100)
"""As /tf_static is published."""


class Entry(NamedTuple):
    """A message that is built only when it is written (markers of many frames are large)."""

    stamp: int
    topic: str
    msgtype: str
    build: Callable[[], Any]


def require_rosbags() -> None:
    """Raise InputError, with how to install it, where `rosbags` is missing: rosdep lacks it."""
    try:
        import rosbags  # noqa: F401
    except ImportError as error:
        remedy = "pip install rosbags"
        raise InputError("bags", "rosbags", str(error), "the package rosbags", remedy) from error


@cache
def types() -> Any:
    """Jazzy's message types and those of DEFINITIONS. Raises InputError without `rosbags`."""
    require_rosbags()
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in DEFINITIONS.items():
        store.register(get_types_from_msg(text, name))
    return store


def write_bag(
    path: Path,
    entries: Sequence[Entry],
    offered: Mapping[str, Sequence[OfferedQos]] | None = None,
) -> None:
    """Write messages, in time order, as a rosbag2 that appears whole or not at all.

    `path` ending in .mcap becomes one file, any other a bag folder with metadata.yaml. `build`
    gives a message, or its bytes (CDR).
    offered  topic -> what its publishers offered, for `ros2 bag play`; of others reliable, and
             latched where the topic is /tf_static
    Raises FileExistsError if `path` exists, InputError without `rosbags`.
    """
    if os.path.lexists(path):
        raise FileExistsError(17, "file exists", str(path))
    require_rosbags()
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=STAGE_PREFIX, dir=path.parent))
    try:
        bag = stage / (path.stem if path.suffix == ".mcap" else path.name)
        _write(bag, sorted(entries, key=lambda e: e.stamp), offered or {})
        if path.suffix == ".mcap":
            move_new(bag / f"{bag.name}.mcap", path)
        else:
            os.rename(bag, path)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _write(
    path: Path, entries: Sequence[Entry], offered: Mapping[str, Sequence[OfferedQos]]
) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    # version 8 differs from Jazzy's 9 only in how QoS is written (numbers, not names), and Jazzy
    # reads both by the version; older distributions read 8 alone
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {}
        for entry in entries:
            if entry.topic not in connections:
                usual = LATCHED if entry.topic == STATIC else OfferedQos()
                profiles = dict.fromkeys(offered.get(entry.topic) or (usual,))
                connections[entry.topic] = writer.add_connection(
                    entry.topic, entry.msgtype, typestore=types(),
                    offered_qos_profiles=[qos_profile(one) for one in profiles],
                )  # fmt: skip
            data = entry.build()
            if not isinstance(data, bytes):
                data = types().serialize_cdr(data, entry.msgtype)
            writer.write(connections[entry.topic], entry.stamp, data)


def qos_profile(quality: OfferedQos) -> Any:
    """The same for rosbags; all else is infinite or automatic."""
    from rosbags import interfaces as of

    endless = of.QosTime(*FOREVER)
    return of.Qos(
        of.QosHistory.KEEP_LAST,
        quality.depth,
        of.QosReliability.RELIABLE if quality.reliable else of.QosReliability.BEST_EFFORT,
        of.QosDurability.TRANSIENT_LOCAL if quality.latched else of.QosDurability.VOLATILE,
        endless,
        endless,
        of.QosLiveliness.AUTOMATIC,
        endless,
        False,
    )


def message(name: str, /, *fields: Any, **named: Any) -> Any:
    """A message of that type, all its fields in order or by name; bytes become an array."""
    for key, value in named.items():
        if isinstance(value, bytes):
            named[key] = np.frombuffer(value, np.uint8)
    return types().types[name](*fields, **named)


BUILD = Builder(message)


def stamps(t: np.ndarray, epoch_ns: int) -> list[int]:
    """Stamps [ns] of times t [s] since the epoch."""
    return [epoch_ns + round(1e9 * float(seconds)) for seconds in t]


def _samples(motion: Any, body: str, epoch_ns: int) -> Iterator[PoseSample]:
    rows = zip(stamps(motion.t, epoch_ns), motion.position, motion.orientation, strict=True)
    for ns, position, orientation in rows:
        yield PoseSample(ns, motion.frame_id, body, position, orientation)


def pose_entries(motion: Any, epoch_ns: int) -> Iterator[Entry]:
    """PoseStamped of a bags.RecordedPoses."""
    for one in _samples(motion, "", epoch_ns):
        yield Entry(one.stamp, motion.topic, POSE, partial(BUILD.pose_stamped, one))


def transform_entries(motion: Any, epoch_ns: int) -> Iterator[Entry]:
    """The same on /tf; the topic without its first slash is the child frame."""
    for one in _samples(motion, motion.topic.lstrip("/"), epoch_ns):
        yield Entry(one.stamp, "/tf", TF, partial(BUILD.transforms, [one]))


def picture_entries(track: Any, epoch_ns: int) -> Iterator[Entry]:
    """MarkerArrays of a bags.RecordedMarkers."""
    for ns, frame in zip(stamps(np.asarray(track.t), epoch_ns), track.frames, strict=True):
        yield Entry(ns, track.topic, MARKERS, partial(BUILD.marker_array, frame, ns))


def mocap_entries(track: Any, epoch_ns: int) -> Iterator[Entry]:
    """mocap4r2_msgs/Markers of a bags.MocapTrack; a marker that is NaN is missing."""
    for i, ns in enumerate(stamps(track.t, epoch_ns)):
        frame = MarkerFrame(ns, track.frame_id, i, tuple(track.names), track.position[i])
        yield Entry(ns, track.topic, MOCAP, partial(BUILD.mocap, frame, missing=False))


def cloud_entries(track: Any, epoch_ns: int) -> Iterator[Entry]:
    """PointCloud2 of a bags.RecordedClouds, with its extra columns as FLOAT32 fields."""
    for i, ns in enumerate(stamps(np.asarray(track.t), epoch_ns)):

        def build(i: int = i, ns: int = ns) -> Any:
            return BUILD.cloud(BUILD.header(ns, track.frame_id), track.clouds[i], track.columns(i))

        yield Entry(ns, track.topic, CLOUD, build)


def wrench_entries(track: Any, epoch_ns: int) -> Iterator[Entry]:
    """WrenchStamped of a bags.RecordedWrenches."""
    rows = zip(stamps(track.t, epoch_ns), track.force, track.torque, strict=True)
    for ns, force, torque in rows:
        build = partial(BUILD.wrench, ns, track.frame_id, force, torque)
        yield Entry(ns, track.topic, WRENCH, build)


def joint_entries(track: Any, epoch_ns: int) -> Iterator[Entry]:
    """JointState of a bags.RecordedJoints."""
    rows = zip(stamps(track.t, epoch_ns), track.position, track.velocity, track.effort, strict=True)
    for ns, *values in rows:
        yield Entry(ns, track.topic, JOINTS, partial(BUILD.joint_state, ns, track.names, *values))
