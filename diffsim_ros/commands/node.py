"""`diffsim node`: starts a ROS 2 node, or a program that speaks to nodes, by its name."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys

from diffsim_ros.errors import InputError, nearest

NODES = {
    "replay": "plays recordings as a tracker, a camera or joints",
    "observer": "records a live stream into a file that an estimation reads",
    "estimator": "estimates on request, as `diffsim estimate` does",
    "visualizer": "shows scenes, motions and results in rviz",
    "planner": "plans on request, as `diffsim plan` does",
    "driver": "checks trajectories and sends them to a robot",
    "mock_controller": "stands for a robot's controller, without hardware",
    "simulator": "runs a digital twin in simulated time",
    "legged_driver": "checks motions of a legged robot and sends them to it",
    "legged_planner": "plans walks of a legged robot",
    "legged_twin": "runs a legged robot's twin in simulated time",
    "execute": "asks the driver to run a trajectory file",
    "experiment": "plans, executes and measures a task in its twin",
    "run_policy": "runs a learned policy on a robot",
}
"""Modules of `nodes` that are started by name, here and by `ros2 run diffsim_ros NAME`."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim node`."""
    width = max(map(len, NODES))
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.usage = "diffsim node [-h] NAME [ARGUMENTS...] [--ros-args ...]"
    command.epilog = "names:\n" + "\n".join(f"  {n:{width}}  {t}" for n, t in NODES.items())
    name = command.add_argument("name", metavar="NAME", help="below; NAME --help: its arguments")
    name.completer = _names  # type: ignore[attr-defined]
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS",
                         help="its own, and those of ROS")  # fmt: skip


def _names(**_: object) -> list[str]:
    return list(NODES)


def run(options: argparse.Namespace) -> int:
    """Become the node's process; InputError for an unknown name, or without ROS."""
    name = options.name
    if name not in NODES:
        raise InputError("diffsim node", "NAME", name, "a node", nearest(name, NODES))
    if importlib.util.find_spec("rclpy") is None:
        rule = "an environment with ROS 2 (rclpy), which a node needs"
        remedy = "use ./run or a ROS 2 distribution: docs/how-to/install.md"
        raise InputError("diffsim node", name, "no rclpy", rule, remedy)
    sys.stdout.flush()
    # They wait until the node can heed them (nodes/starting.py).
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    module = f"diffsim_ros.nodes.{name}"
    os.execv(sys.executable, [sys.executable, "-m", module, *options.arguments])
