"""Rehearses a plan with a robot arm in its twin: planned, shown, executed, evaluated, recorded.

ros2 launch diffsim_ros experiment.launch.py experiment:=ur5_throw dry_run:=false rviz:=true
ros2 launch diffsim_ros experiment.launch.py experiment:=/my/PLAN.yaml twin:=/my/TWIN.yaml

rviz shows the planned motion, the bodies as ghosts, contact forces and the target; with
dry_run:=false the driver has the twin's controller execute it; bag:=true keeps all topics.
Nodes stay until Ctrl-C.
"""

from datetime import datetime

from launch.actions import ExecuteProcess
from launch.substitutions import (
    EqualsSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
)

from diffsim_ros.nodes.launching import (
    OWN,
    SIMULATED,
    STRINGS,
    FirstGiven,
    declared,
    if_true,
    node,
    rviz,
    text,
    typed,
)
from launch import LaunchDescription

ARGUMENTS = {
    "experiment": ("ur5_throw", "a name of config/planning/*.yaml, or a PLAN.yaml with an arm"),
    "twin": ("", "TWIN.yaml that stands for the lab; empty: the plan's own scene"),
    "rate_factor": ("0.5", "simulated seconds per second"),
    "dry_run": ("true", "the driver checks only, and sends nothing"),
    "gripper": ("command", "how the driver opens it: none, command or digital_output"),
    "stall_timeout": ("120.0", "[s] that time may stand while the engine works"),
    "pose_topics": (
        "['ball/pose', 'cube/pose', 'bottom/pose', 'cloth/pose', 'bob/pose']",
        "tracked bodies that are shown live; there by default: those of config/planning/ur5_*",
    ),
    "out": ("", "folder of the results; empty: a new dated one in out/"),
    "rviz": ("false", "start rviz2 with config/rviz/twin.rviz"),
    "bag": ("false", "record all topics with ros2 bag, into the folder of the results"),
}


def generate_launch_description():
    task = LaunchConfiguration("experiment")
    lab = text(FirstGiven(LaunchConfiguration("twin"), task))
    dated = f"out/{datetime.now():%Y-%m-%d_%H-%M-%S}_experiment"
    out = FirstGiven(LaunchConfiguration("out"), dated)
    names = ["--ros-args", "-r", ["__ns:=/", LaunchConfiguration("namespace")]]
    names += [word for old, new in OWN["remappings"] for word in ("-r", f"{old}:={new}")]
    rehearse = ["ros2", "run", "diffsim_ros", "experiment", task, "--here", "--out", out, *names]
    record = ["ros2", "bag", "record", "--storage", "mcap", "--output", [out, "/bag"]]
    namespace = LaunchConfiguration("namespace")
    timing = typed(dry_run=bool, gripper=str, stall_timeout=float)
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            node(
                "simulator",
                {**typed(rate_factor=float), "twin": lab, "truth_path": text([out, "/truth"])},
                **OWN,
            ),
            node("driver", timing, SIMULATED, **OWN),
            node("planner", {}, SIMULATED, **OWN),
            node("visualizer", typed(pose_topics=STRINGS), SIMULATED, **OWN),
            ExecuteProcess(cmd=rehearse, output="screen"),
            ExecuteProcess(
                cmd=[*record, "--all-topics", "--use-sim-time"],
                output="log",
                condition=if_true("bag", EqualsSubstitution(namespace, "")),
            ),
            ExecuteProcess(  # it would wait for /clock, and receive other robots' topics
                cmd=[*record, "--regex", ["/", namespace, "/.*"]],
                output="log",
                condition=if_true("bag", NotEqualsSubstitution(namespace, "")),
            ),
            rviz("twin.rviz", SIMULATED, **OWN),
        ]
    )
