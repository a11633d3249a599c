"""Starts observer, estimator and visualizer; with data:=FILE also replay, with rviz:=true rviz2.

ros2 launch diffsim_ros real2sim.launch.py pose_topics:="['/vrpn_mocap/cube/pose']"
ros2 launch diffsim_ros real2sim.launch.py data:=/path/to/tosses.npz rate_factor:=4.0 rviz:=true
"""

from launch.substitutions import LaunchConfiguration

from diffsim_ros.nodes.launching import (
    STRINGS,
    FirstGiven,
    declared,
    if_given,
    node,
    rviz,
    text,
    typed,
)
from launch import LaunchDescription

ARGUMENTS = {
    "data": ("", "recording that `replay` plays; empty: a real tracker publishes"),
    "rate_factor": ("1.0", "speed of the replay"),
    "pose_topics": ("['cube/pose']", "PoseStamped topics of the tracker"),
    "odometry_topics": ("['']", "nav_msgs/Odometry topics"),
    "named_poses_topics": ("['']", "NamedPoseArray topics of motion_capture_tracking"),
    "tf_bodies": ("['']", "child frames of /tf that are tracked bodies, or PARENT->CHILD"),
    "rigid_bodies_topics": ("['']", "mocap4r2_msgs/RigidBodies topics of the tracker"),
    "markers_topics": ("['']", "mocap4r2_msgs/Markers topics of the tracker"),
    "cloud_topics": ("['']", "PointCloud2 topics of a depth camera"),
    "joint_topics": ("['']", "JointState topics of a robot"),
    "wrench_topics": ("['']", "WrenchStamped topics of force-torque sensors"),
    "up_axis": ("z", "axis of the tracker that points up: z or y"),
    "world_frame": ("", "frame that poses are moved into, and markers shown in; empty: as sources"),
    "configuration": ("", "estimation YAML for requests that name none"),
    "rviz": ("false", "start rviz2 with config/rviz/real2sim.rviz"),
}
SOURCES = [name for name in ARGUMENTS if name.endswith("_topics") or name == "tf_bodies"]


def generate_launch_description():
    sources = typed(**dict.fromkeys(SOURCES, STRINGS))
    shown = {name: sources[name] for name in ("pose_topics", "markers_topics")}
    world = text(FirstGiven(LaunchConfiguration("world_frame"), "world"))
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("replay", typed(data=str, rate_factor=float), condition=if_given("data")),
            node("observer", {**sources, **typed(up_axis=str, world_frame=str)}),
            node("estimator", typed(configuration=str)),
            node("visualizer", {**shown, "world_frame": world}),
            rviz("real2sim.rviz"),
        ]
    )
