"""A twin in place of a lab: plans are made, executed and evaluated there over ROS.

Simulator, planner and driver are processes; this program only calls their actions and services,
in the namespace of its own node.
Demos, experiments and studies use this class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from diffsim_interfaces.action import Execute, Plan
from diffsim_interfaces.msg import ErrorCode
from sensor_msgs.msg import JointState

from diffsim_ros.commands.running import ProgressLine
from diffsim_ros.nodes.commander import CallFailed, Commander
from diffsim_ros.nodes.common import STREAM
from diffsim_ros.nodes.convert import nanoseconds
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.robots.command import NANO

STALL = 300.0
"""Seconds that time may stand while the engine works, on a busy machine."""
PATIENCE = 300.0
"""Seconds of wall time that simulated time gets to pass."""


class DryRun(Exception):
    """The driver has checked a motion, and sent nothing."""


class Rehearsal:
    """The nodes that rehearse; `start` them, then `plan`, `carry_out`, `watch`, `finish`.

    folder  of all results; the twin's truth goes to `truth/` in it
    processes   that starts the nodes; None: they run already, with `truth_path` so
    states  [the last of joint_states]
    """

    def __init__(self, folder: Path, processes: NodeProcesses | None, commander: Commander) -> None:
        self.folder, self.processes, self.ros = folder, processes, commander
        self.line = ProgressLine()
        self.states: list[JointState] = []

    def start(
        self,
        simulator: Mapping[str, Any],
        driver: Mapping[str, Any],
        others: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Start the nodes, with these parameters besides their own, and wait until all are there.

        simulator  `twin` at least;  driver  `lead` and `lag`;  others  name -> parameters
        """
        nodes = {
            "simulator": {"truth_path": str(self.folder / "truth"), **simulator},
            "driver": {"dry_run": False, "gripper": "command", "stall_timeout": STALL,
                       "use_sim_time": True, **driver},
            **(others or {}),
        }  # fmt: skip
        for name, parameters in nodes.items() if self.processes is not None else ():
            self.line.show(f"starting {', '.join(nodes)}", "start")
            self.processes.start(name, parameters)
        self.ros.wait(lambda: set(nodes) <= self._other_nodes(), "the nodes", 60.0)
        self.states = self.ros.listen(JointState, "joint_states", STREAM, last=True)
        self.ros.wait(lambda: self.states, "joint_states", 60.0)
        if self.processes is None:
            self.ros.set_parameters("driver", {k: driver[k] for k in ("lead", "lag")})

    def _other_nodes(self) -> set[str]:
        """Names of the nodes in our namespace."""
        here = self.ros.node.get_namespace()
        found = self.ros.node.get_node_names_and_namespaces()
        return {name for name, namespace in found if namespace == here}

    def plan(
        self,
        task: Path,
        name: str,
        *,
        target: Sequence[float] = (),
        estimated: Path | None = None,
        changes: Sequence[str] = (),
        warm_start: bool = False,
        out: bool = True,
    ) -> Plan.Result:
        """Have the planner solve a task; results go to the folder `name` unless `out` is False.

        CallFailed unless it reaches its goals, and the arm can execute it.
        """
        goal = Plan.Goal(
            task=str(task), parameters=str(estimated or ""), set=list(changes),
            target=[float(x) for x in target], warm_start=warm_start,
            out=str(self.folder / name) if out else "",
        )  # fmt: skip

        def show(feedback: Plan.Feedback) -> None:
            words = f"plan {name}: iteration {feedback.iteration}"
            self.line.show(f"{words}, objective {feedback.objective:.3g}", name)

        result = self.ros.act(Plan, "planner/plan", goal, show)
        self._check(result, f"plan {name}")
        return result

    def carry_out(self, goal: Execute.Goal, label: str) -> Execute.Result:
        """Have the driver execute a motion; CallFailed unless it does, DryRun in a dry run."""

        def show(feedback: Execute.Feedback) -> None:
            self.line.show(f"{label}: {feedback.phase}, {feedback.time:.2f} s", label)

        result = self.ros.act(Execute, "driver/execute", goal, show)
        self._check(result, label)
        if result.dry_run:
            raise DryRun(result.error_msg)
        return result

    def _check(self, result: Plan.Result | Execute.Result, what: str) -> None:
        self.line.close()
        if result.error_code != ErrorCode.SUCCESS:
            raise CallFailed(f"{what}: {result.error_msg}")

    @property
    def now(self) -> float:
        """The twin's time [s], by its last joint states."""
        return nanoseconds(self.states[-1].header.stamp) / NANO

    def watch(self, until: float) -> None:
        """Let the twin's time pass until `until` [s], then pause it."""
        self.ros.wait(lambda: self.now > until, f"{until:.2f} s of the twin's time", PATIENCE)
        self.ros.trigger("simulator/pause")

    def finish(self) -> dict[str, np.ndarray]:
        """End the attempt: all is back at its start; returns its truth (twin.md in docs/)."""
        self.ros.trigger("simulator/reset")
        self.ros.trigger("simulator/play")
        newest = sorted((self.folder / "truth").glob("attempt_*.npz"))[-1]
        with np.load(newest) as truth:
            return dict(truth)
