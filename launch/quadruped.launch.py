"""Starts a quadruped that walks: planner and driver, with its twin in the place of the robot.

ros2 launch diffsim_ros quadruped.launch.py dry_run:=false rviz:=true
ros2 topic pub -r 10 /cmd_vel geometry_msgs/Twist "{linear: {x: 0.2}}"
ros2 launch diffsim_ros quadruped.launch.py robot:=solo12 dry_run:=false

The twin publishes the robot's URDF, written of its description, as robot_description.
"""

from diffsim_ros.nodes.launching import OWN, SIMULATED, declared, node, rviz, typed
from launch import LaunchDescription

ARGUMENTS = {
    "robot": ("quadruped", "ROBOT.yaml, or a name in config/locomotion/robots"),
    "gait": ("trot", "of goals that name none, and of cmd_vel"),
    "dry_run": ("true", "the driver checks only, and sends nothing"),
    "controller": ("joint_trajectory_controller", "name of the legs' controller"),
    "output": ("action", "how walks are sent: action, topic or points (as champ takes them)"),
    "max_speed": ("0.3", "[m/s] that may be asked for"),
    "rate_factor": ("1.0", "simulated seconds per second, at most"),
    "rviz": ("false", "start rviz2 with config/rviz/legged.rviz"),
}


def generate_launch_description():
    robot = typed(robot=str)
    sending = typed(dry_run=bool, controller=str, output=str)
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("legged_twin", {**robot, **typed(controller=str, rate_factor=float)}, **OWN),
            node("legged_planner", {**robot, **typed(gait=str, max_speed=float)}, SIMULATED, **OWN),
            node("legged_driver", {**robot, **sending}, SIMULATED, **OWN),
            rviz("legged.rviz", SIMULATED, **OWN),
        ]
    )
