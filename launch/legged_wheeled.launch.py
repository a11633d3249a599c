"""Starts a robot with legs on wheels that drives: planner, driver and its twin.

ros2 launch diffsim_ros legged_wheeled.launch.py dry_run:=false
ros2 topic pub -r 10 /cmd_vel geometry_msgs/Twist "{linear: {x: 0.15}, angular: {z: 0.3}}"
ros2 launch diffsim_ros legged_wheeled.launch.py gait:=trot

The twin publishes the robot's URDF, written of its description, as robot_description.
"""

from diffsim_ros.nodes.launching import OWN, SIMULATED, declared, node, rviz, typed
from launch import LaunchDescription

ARGUMENTS = {
    "robot": ("agilebot", "ROBOT.yaml, or a name in config/locomotion/robots"),
    "gait": ("roll", "of goals that name none, and of cmd_vel"),
    "dry_run": ("true", "the driver checks only, and sends nothing"),
    "controller": ("joint_trajectory_controller", "name of the legs' controller"),
    "wheels": ("wheel_velocity_controller", "name of the wheels' controller"),
    "output": ("action", "how walks are sent: action, topic or points"),
    "max_speed": ("0.2", "[m/s] that may be asked for"),
    "rate_factor": ("1.0", "simulated seconds per second, at most"),
    "rviz": ("false", "start rviz2 with config/rviz/legged.rviz"),
}


def generate_launch_description():
    robot = typed(robot=str)
    names = typed(controller=str, wheels=str)
    sending = typed(dry_run=bool, output=str)
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("legged_twin", {**robot, **names, **typed(rate_factor=float)}, **OWN),
            node("legged_planner", {**robot, **typed(gait=str, max_speed=float)}, SIMULATED, **OWN),
            node("legged_driver", {**robot, **names, **sending}, SIMULATED, **OWN),
            rviz("legged.rviz", SIMULATED, **OWN),
        ]
    )
