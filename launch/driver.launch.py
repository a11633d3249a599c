"""Starts planner and driver; mock:=true a controller without hardware. Nothing moves by default.

ros2 launch diffsim_ros driver.launch.py mock:=true dry_run:=false gripper:=command
ros2 launch diffsim_ros driver.launch.py robot:=/my/robots/ur5.yaml
"""

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

ARGUMENTS = {
    "task": ("", "PLAN.yaml for goals of the planner that name none"),
    "robot": ("", "robot YAML: URDF, place of the base, limits; empty: config/robots/ur5.yaml"),
    "dry_run": ("true", "check only, send nothing"),
    "controller": ("/scaled_joint_trajectory_controller", "name of the trajectory controller"),
    "output": ("action", "how motions are sent: action or topic"),
    "gripper": ("none", "how the gripper is opened: none, command or digital_output"),
    "lead": ("0.05", "[s] from telling the gripper until the object is free"),
    "mock": ("false", "start mock_controller in the place of ur_robot_driver"),
}


def generate_launch_description():
    share = get_package_share_directory("diffsim_ros")
    value = {name: LaunchConfiguration(name) for name in ARGUMENTS}

    def typed(**kinds):
        return {name: ParameterValue(value[name], value_type=kinds[name]) for name in kinds}

    def node(name, parameters, **options):
        return Node(
            package="diffsim_ros",
            executable=name,
            name=name,
            output="screen",
            parameters=[f"{share}/config/nodes/{name}.yaml", parameters],
            **options,
        )

    return LaunchDescription(
        [
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (default, description) in ARGUMENTS.items()
        ]
        + [
            node("planner", typed(task=str)),
            node(
                "driver",
                typed(robot=str, dry_run=bool, controller=str, output=str, gripper=str, lead=float),
            ),
            node(
                "mock_controller",
                typed(robot=str, controller=str),
                condition=IfCondition(value["mock"]),
            ),
        ]
    )
