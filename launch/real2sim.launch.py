"""Starts observer, estimator and visualizer; with data:=FILE also replay, with rviz:=true rviz2.

ros2 launch diffsim_ros real2sim.launch.py pose_topics:="['/vrpn_mocap/cube/pose']"
ros2 launch diffsim_ros real2sim.launch.py data:=/path/to/tosses.npz rate_factor:=4.0 rviz:=true
"""

from launch.conditions import IfCondition

from diffsim_ros.nodes.launching import STRINGS, computed, declared, node, rviz, typed
from launch import LaunchDescription

ARGUMENTS = {
    "data": ("", "recording that `replay` plays; empty: a real tracker publishes"),
    "rate_factor": ("1.0", "speed of the replay"),
    "pose_topics": ("['cube/pose']", "PoseStamped topics of the tracker"),
    "markers_topics": ("['']", "mocap4r2_msgs/Markers topics of the tracker"),
    "cloud_topics": ("['']", "PointCloud2 topics of a depth camera"),
    "up_axis": ("z", "axis of the tracker that points up: z or y"),
    "world_frame": ("world", "frame of the markers"),
    "configuration": ("", "estimation YAML for requests that name none"),
    "rviz": ("false", "start rviz2 with config/rviz/real2sim.rviz"),
}


def generate_launch_description():
    given = IfCondition(computed("'{data}' != ''"))
    heard = typed(pose_topics=STRINGS, markers_topics=STRINGS)
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("replay", typed(data=str, rate_factor=float), condition=given),
            node("observer", {**heard, **typed(cloud_topics=STRINGS, up_axis=str)}),
            node("estimator", typed(configuration=str)),
            node("visualizer", {**heard, **typed(world_frame=str)}),
            rviz("real2sim.rviz"),
        ]
    )
