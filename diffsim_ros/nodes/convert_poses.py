"""Poses of bodies from every message that carries them, and back, as convert.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry

from diffsim_ros.nodes.convert import build, sample, type_name
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.sensing.poses import CARRIERS

try:
    from motion_capture_tracking_interfaces.msg import NamedPose, NamedPoseArray
except ImportError:  # an optional package
    NamedPose = NamedPoseArray = None


def samples_of(message: Any, body: str) -> list[PoseSample]:
    """Poses in a message, unchecked; [] for messages without poses.

    body  of a PoseStamped, and of an Odometry without child_frame_id; others name theirs
    """
    poses = CARRIERS.get(type_name(type(message)))
    if poses is None:
        return []
    return [sample(header, name or body, p, q) for header, name, p, q in poses(message)]


def transform_sample(message: TransformStamped) -> PoseSample:
    """The pose of the child frame in its parent, unchecked; the body is the child frame."""
    moved = message.transform
    return sample(message.header, message.child_frame_id, moved.translation, moved.rotation)


def odometry_message(one: PoseSample) -> Odometry:
    """A sample as mocap_optitrack sends it; what a tracker does not measure is 0."""
    message = Odometry(header=build.header(one.stamp, one.frame), child_frame_id=one.body)
    message.pose.pose = build.pose(one.position, one.orientation)
    return message


def named_message(samples: Sequence[PoseSample]) -> NamedPoseArray:
    """One frame of motion_capture_tracking; stamp and frame are those of the first sample."""
    poses = [NamedPose(name=s.body, pose=build.pose(s.position, s.orientation)) for s in samples]
    return NamedPoseArray(header=build.header(samples[0].stamp, samples[0].frame), poses=poses)


tf_message = build.transforms
"""Samples of a tracker that publishes only tf: parent is the frame, child the body."""
