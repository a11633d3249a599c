"""Two twins in two namespaces, each with planner and driver: both plan and move at once.

Each pair of plans is rehearsed by six nodes in one domain: two simulators with clocks of their own,
two planners, two drivers. A process for each robot plans, waits for the other, has the motion
executed, and evaluates it as for one robot alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import numpy as np
from sensor_msgs.msg import JointState

from diffsim_ros.nodes.commander import Commander
from diffsim_ros.nodes.common import STREAM, plan_file
from diffsim_ros.nodes.experiment import ExperimentRun
from diffsim_ros.nodes.processes import NodeProcesses, own_domain, within
from diffsim_ros.planning.evaluation import tolerances

from .common import judged, share

PAIRS = (
    ("ur5_throw", "ur5_drag"),
    ("ur5_throw_direct", "ur5_drag_5cm"),
    ("ur5_throw_two_bounces", "ur5_throw"),
)
RATE = 0.1
"""Simulated seconds per second: six nodes share the machine, and a throw is let go in time."""
MOVING = 0.05
"""[rad/s] of a joint that moves."""
LIMIT = 300.0
"""[s] of wall time that a pair gets."""
GLOBAL = {"/diagnostics", "/parameter_events", "/rosout"}


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Distance from the goals [m], whether all were reached, and for how long both moved [s]."""
    pairs = [_pair(pair) for pair in PAIRS[: share(len(PAIRS), fraction)]]
    missed = []
    for pair in pairs:
        for robot in pair["robots"]:
            if not robot["reached"]:
                missed.append(f"{robot['plan']} beside another: not reached")
        if not pair["both_move_s"] > 0.0:
            missed.append(f"{[robot['plan'] for robot in pair['robots']]} did not move at once")
        if pair["outside"]:
            missed.append(f"names outside of the namespaces: {pair['outside']}")
    return judged({"rate_factor": RATE, "pairs": pairs}, missed)


def _pair(plans: tuple[str, str]) -> dict:
    names, context = ("robot1", "robot2"), get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        own_domain(),
        NodeProcesses(Path(folder) / "logs") as processes,
        Commander(processes.check) as commander,
        ProcessPoolExecutor(2, context, _meet_at, (context.Barrier(2),)) as pool,
    ):
        for name, plan in zip(names, plans, strict=True):
            truth = str(Path(folder) / name / "truth")
            lab = {"twin": plan, "rate_factor": RATE, "truth_path": truth}
            driver = {"dry_run": False, "gripper": "command", "stall_timeout": 120.0}
            processes.start("simulator", lab, name)
            processes.start("driver", {**driver, "use_sim_time": True}, name)
            processes.start("planner", {"use_sim_time": True}, name)
        received = _Moving(commander, names)
        robots: list[Future] = [
            pool.submit(_rehearsed, plan, name, Path(folder) / name)
            for name, plan in zip(names, plans, strict=True)
        ]
        commander.wait(lambda: all(robot.done() for robot in robots), "both robots", LIMIT)
        return {
            "robots": [robot.result() for robot in robots],
            "both_move_s": received.together(), "outside": _outside(commander, names),
        }  # fmt: skip


def _meet_at(barrier: Barrier) -> None:
    """In the process of a robot: where it waits for the other."""
    global _planned
    _planned = barrier


def _rehearsed(plan: str, namespace: str, folder: Path) -> dict:
    """One robot, in a process of its own: planned, executed when the other has planned too."""
    try:
        return _judged(plan, namespace, folder)
    except Exception:
        _planned.abort()  # the other need not wait
        raise


def _judged(plan: str, namespace: str, folder: Path) -> dict:
    with Commander(arguments=["--ros-args", *within(namespace)]) as commander:
        lab = ExperimentRun(folder, None, commander, plan_file(plan))
        lab.begin()
        found = lab.solved()
        starts = {m.name: m.value for m in found.metrics}["robot.scene_starts"]
        _planned.wait(LIMIT)
        done = lab.carried_out(found.trajectory, found.release, starts, plan)
    allowed = tolerances(lab.config)
    goals = {
        name: {"executed": away, "tolerance": allowed[name]}
        for name, away in done.figures["executed"].items()
    }
    return {"plan": plan, "reached": done.reached, "goals": goals,
            "tracking_error": done.figures["tracking_error"],
            "release_late_s": done.figures.get("release_late_s")}  # fmt: skip


def _outside(commander: Commander, names: Sequence[str]) -> list[str]:
    """Topics of the nodes that belong to no robot, though they should."""
    topics = {topic for topic, _ in commander.node.get_topic_names_and_types()}
    ours = tuple(f"/{name}/" for name in names)
    return sorted(t for t in topics - GLOBAL if not t.startswith(ours))


class _Moving:
    """How long two robots moved at once, on the wall clock."""

    def __init__(self, commander: Commander, names: Sequence[str]) -> None:
        self.spans: dict[str, list[float]] = {name: [] for name in names}
        for name in names:
            commander.node.create_subscription(
                JointState, f"/{name}/joint_states", self._hearing(name), STREAM
            )

    def _hearing(self, name: str):
        def receive(message: JointState) -> None:
            if message.velocity and np.abs(message.velocity).max() > MOVING:
                self.spans[name].append(time.monotonic())

        return receive

    def together(self) -> float:
        """[s], 0 where one had ended before the other began."""
        if not all(self.spans.values()):
            return 0.0
        first = max(times[0] for times in self.spans.values())
        last = min(times[-1] for times in self.spans.values())
        return round(max(last - first, 0.0), 2)
