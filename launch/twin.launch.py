"""Starts the twin of robot, scene and sensors with what a lab would run beside it, in its time.

ros2 launch diffsim_ros twin.launch.py task:=my_plan.yaml dry_run:=false
ros2 launch diffsim_ros twin.launch.py twin:=my_twin.yaml rate_factor:=0.5 rviz:=true

Two twins at once, each with a clock and frames of its own:

ros2 launch diffsim_ros twin.launch.py namespace:=robot1 task:=config/planning/ur5_throw.yaml
ros2 launch diffsim_ros twin.launch.py namespace:=robot2 task:=config/planning/ur5_drag.yaml
"""

from diffsim_ros.nodes.launching import (
    OWN,
    SIMULATED,
    STRINGS,
    declared,
    node,
    rviz,
    typed,
)
from launch import LaunchDescription

ARGUMENTS = {
    "twin": ("", "TWIN.yaml or PLAN.yaml; empty: config/twin/ball.yaml"),
    "task": ("", "PLAN.yaml for goals of the planner that name none"),
    "rate_factor": ("1.0", "simulated seconds per second"),
    "truth_path": ("", "folder for what bodies truly did; empty: it stays hidden"),
    "dry_run": ("true", "the driver checks only, and sends nothing"),
    "gripper": ("command", "how the driver opens it: none, command or digital_output"),
    "lead": ("0.03", "[s] from the gripper's command until the object is free"),
    "stall_timeout": ("60.0", "[s] that time may stand while the engine works"),
    "pose_topics": ("['ball/pose']", "poses that the observer records"),
    "cloud_topics": ("['camera/points']", "clouds that the observer records"),
    "publish_tf": ("links", "of the twin; sensors: a robot_state_publisher publishes the links"),
    "configuration": ("", "estimation YAML for requests that name none"),
    "rviz": ("false", "start rviz2 with config/rviz/twin.rviz"),
}


def generate_launch_description():
    sources = typed(pose_topics=STRINGS)
    lab = typed(twin=str, rate_factor=float, truth_path=str, publish_tf=str)
    timing = typed(dry_run=bool, gripper=str, lead=float, stall_timeout=float)
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node("simulator", lab, **OWN),
            node("driver", timing, SIMULATED, **OWN),
            node("observer", {**sources, **typed(cloud_topics=STRINGS)}, SIMULATED, **OWN),
            node("planner", typed(task=str), SIMULATED, **OWN),
            node("estimator", typed(configuration=str), SIMULATED, **OWN),
            node("visualizer", sources, SIMULATED, **OWN),
            rviz("twin.rviz", SIMULATED, **OWN),
        ]
    )
