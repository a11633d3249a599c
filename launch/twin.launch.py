"""Starts the twin of robot, scene and sensors with what a lab would run beside it, in its time.

ros2 launch diffsim_ros twin.launch.py task:=my_plan.yaml dry_run:=false
ros2 launch diffsim_ros twin.launch.py twin:=my_twin.yaml rate_factor:=0.5 rviz:=true
"""

from typing import List  # noqa: UP035  (launch accepts typing.List only)

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

STRINGS = List[str]  # noqa: UP006
SIMULATED = {"use_sim_time": True}
ARGUMENTS = {
    "twin": ("", "TWIN.yaml; empty: config/twin/ball.yaml"),
    "task": ("", "PLAN.yaml for goals of the planner that name none"),
    "rate_factor": ("1.0", "simulated seconds per second"),
    "truth_path": ("", "folder for what bodies truly did; empty: it stays hidden"),
    "dry_run": ("true", "the driver checks only, and sends nothing"),
    "gripper": ("command", "how the driver opens it: none, command or digital_output"),
    "lead": ("0.03", "[s] from telling the gripper until the object is free"),
    "stall_timeout": ("60.0", "[s] that time may stand while the engine works"),
    "pose_topics": ("['ball/pose']", "poses that the observer records"),
    "cloud_topics": ("['camera/points']", "clouds that the observer records"),
    "configuration": ("", "estimation YAML for requests that name none"),
    "rviz": ("false", "start rviz2 with config/rviz/twin.rviz"),
}


def generate_launch_description():
    share = get_package_share_directory("diffsim_ros")
    value = {name: LaunchConfiguration(name) for name in ARGUMENTS}

    def node(name, parameters, *more):
        return Node(
            package="diffsim_ros",
            executable=name,
            name=name,
            output="screen",
            parameters=[f"{share}/config/nodes/{name}.yaml", parameters, *more],
        )

    def typed(name, kind):
        return ParameterValue(value[name], value_type=kind)

    heard = {"pose_topics": typed("pose_topics", STRINGS)}
    return LaunchDescription(
        [
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (default, description) in ARGUMENTS.items()
        ]
        + [
            node(
                "simulator",
                {
                    "twin": typed("twin", str),
                    "rate_factor": typed("rate_factor", float),
                    "truth_path": typed("truth_path", str),
                },
            ),
            node(
                "driver",
                {
                    "dry_run": typed("dry_run", bool),
                    "gripper": typed("gripper", str),
                    "lead": typed("lead", float),
                    "stall_timeout": typed("stall_timeout", float),
                },
                SIMULATED,
            ),
            node("observer", {**heard, "cloud_topics": typed("cloud_topics", STRINGS)}, SIMULATED),
            node("planner", {"task": typed("task", str)}, SIMULATED),
            node("estimator", {"configuration": typed("configuration", str)}, SIMULATED),
            node("visualizer", heard, SIMULATED),
            Node(
                package="rviz2",
                executable="rviz2",
                name="rviz2",
                arguments=["-d", f"{share}/config/rviz/twin.rviz"],
                parameters=[SIMULATED],
                condition=IfCondition(value["rviz"]),
            ),
        ]
    )
