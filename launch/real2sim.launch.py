"""Starts observer, estimator and visualizer; with data:=FILE also replay, with rviz:=true rviz2.

ros2 launch diffsim_ros real2sim.launch.py pose_topics:="['/vrpn_mocap/cube/pose']"
ros2 launch diffsim_ros real2sim.launch.py data:=/path/to/tosses.npz rate_factor:=4.0 rviz:=true
"""

from typing import List  # noqa: UP035  (launch accepts typing.List only)

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

STRINGS = List[str]  # noqa: UP006
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
    share = get_package_share_directory("diffsim_ros")
    value = {name: LaunchConfiguration(name) for name in ARGUMENTS}

    def node(name, parameters, **options):
        return Node(
            package="diffsim_ros",
            executable=name,
            name=name,
            output="screen",
            parameters=[f"{share}/config/nodes/{name}.yaml", parameters],
            **options,
        )

    def typed(name, kind):
        return ParameterValue(value[name], value_type=kind)

    return LaunchDescription(
        [
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (default, description) in ARGUMENTS.items()
        ]
        + [
            node(
                "replay",
                {"data": typed("data", str), "rate_factor": typed("rate_factor", float)},
                condition=IfCondition(PythonExpression(["'", value["data"], "' != ''"])),
            ),
            node(
                "observer",
                {
                    "pose_topics": typed("pose_topics", STRINGS),
                    "markers_topics": typed("markers_topics", STRINGS),
                    "cloud_topics": typed("cloud_topics", STRINGS),
                    "up_axis": typed("up_axis", str),
                },
            ),
            node("estimator", {"configuration": typed("configuration", str)}),
            node(
                "visualizer",
                {
                    "world_frame": typed("world_frame", str),
                    "pose_topics": typed("pose_topics", STRINGS),
                    "markers_topics": typed("markers_topics", STRINGS),
                },
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                name="rviz2",
                arguments=["-d", f"{share}/config/rviz/real2sim.rviz"],
                condition=IfCondition(value["rviz"]),
            ),
        ]
    )
