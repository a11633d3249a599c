"""Starts planner and driver; mock:=true a controller without hardware. Nothing moves by default.

ros2 launch diffsim_ros driver.launch.py mock:=true dry_run:=false gripper:=command
ros2 launch diffsim_ros driver.launch.py robot:=/my/robots/ur5.yaml
ros2 launch diffsim_ros driver.launch.py namespace:=robot1 robot:=/my/robots/left.yaml
"""

from diffsim_ros.nodes.launching import declared, if_true, node, typed
from launch import LaunchDescription

ARGUMENTS = {
    "task": ("", "PLAN.yaml for goals of the planner that name none"),
    "robot": ("", "robot YAML: URDF, place of the base, limits; empty: config/robots/ur5.yaml"),
    "scene": ("", "scene YAML whose surfaces stand around the robot; empty: none"),
    "dry_run": ("true", "check only, send nothing"),
    "controller": ("scaled_joint_trajectory_controller", "name of the trajectory controller"),
    "output": ("action", "how motions are sent: action or topic"),
    "gripper": ("none", "how the gripper is opened: none, command or digital_output"),
    "lead": ("0.05", "[s] from the gripper's command until the object is free"),
    "mock": ("false", "start mock_controller in the place of ur_robot_driver"),
}


def generate_launch_description():
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("planner", typed(task=str)),
            node(
                "driver",
                typed(
                    robot=str,
                    scene=str,
                    dry_run=bool,
                    controller=str,
                    output=str,
                    gripper=str,
                    lead=float,
                ),
            ),
            node("mock_controller", typed(robot=str, controller=str), condition=if_true("mock")),
        ]
    )
