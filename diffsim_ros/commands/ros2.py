"""`diffsim ros2`: the commands of `ros2` that one uses beside our nodes, without a distribution."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from diffsim_ros.errors import InputError

WORDS = (
    "node list", "topic list | echo TOPIC | hz TOPIC | pub TOPIC TYPE VALUES",
    "service list | call NAME TYPE VALUES", "action list | send_goal NAME TYPE GOAL",
    "param list NODE | get NODE NAME | set NODE NAME VALUE | describe NODE NAME...",
    "lifecycle get NODE | set NODE TRANSITION", "run diffsim_ros NAME",
)  # fmt: skip


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim ros2`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.usage = "diffsim ros2 [-h] COMMAND [ARGUMENTS...] [--ros-args ...]"
    command.epilog = "\n".join(["commands:", *(f"  {words}" for words in WORDS)])
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND",
                         help="below, with the words and options of ros2")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Become that process; InputError without ROS."""
    if not options.words:
        rule = "one of: " + "; ".join(WORDS)
        raise InputError("diffsim ros2", "COMMAND", "nothing", rule)
    if importlib.util.find_spec("rclpy") is None:
        rule = "an environment with ROS 2 (rclpy)"
        remedy = "use ./run or a ROS 2 distribution: docs/how-to/install.md"
        raise InputError("diffsim ros2", options.words[0], "no rclpy", rule, remedy)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "diffsim_ros.nodes.ros2", *options.words])
