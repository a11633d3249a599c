"""Plans executed over ROS, by simulator and driver as processes, beside the same without it.

What is left to differ is when the gripper's command comes, which is measured: the same release
without ROS gives the same throw.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from diffsim_ros.nodes.commander import Commander
from diffsim_ros.nodes.convert_motion import trajectory_message
from diffsim_ros.nodes.experiment import ExperimentRun
from diffsim_ros.nodes.processes import NodeProcesses, own_domain
from diffsim_ros.nodes.rehearsal import Rehearsal
from diffsim_ros.planning.result import PlanResult
from diffsim_ros.twin.execution import executed
from diffsim_ros.twin.twin import Twin, Variation

from .planned import FOLDER, away

TASK = FOLDER / "ur5_throw.yaml"
TARGETS, REACH = 10, (0.10, 0.15, 0.06)
"""Changed targets of planning again, and how far from the task's along each axis [m]."""


def over_ros(name: str, found: Mapping[str, PlanResult]) -> dict[str, dict]:
    """Kind -> figures of each plan, executed one after the other by the same nodes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        own_domain(),
        NodeProcesses(Path(folder) / "logs") as processes,
        Commander(processes.check) as commander,
    ):
        lab = ExperimentRun(Path(folder), processes, commander, FOLDER / f"{name}.yaml")
        lab.begin(planner=False)
        return {kind: _one(lab, kind, result) for kind, result in found.items()}


def _one(lab: ExperimentRun, kind: str, found: PlanResult) -> dict:
    lab.config, trajectory = found.config, found.carried.trajectory
    release = np.nan if trajectory.release is None else trajectory.release
    starts = found.carried.figures["scene_starts"]
    done = lab.carried_out(trajectory_message(trajectory), release, starts, kind)
    twin = Twin(lab.twin)
    motion = executed(lab.twin, trajectory).motion
    varied = Variation(delay=done.figures.get("release_late_s", 0.0))
    same, _ = away(twin, found, motion, lab.lag, varied)
    executed_so = done.figures["executed"]
    return {**done.figures, "differences": {g: abs(executed_so[g] - same[g]) for g in same}}


def replanning(seed: int) -> dict:
    """Seconds until the planner answers a changed target, warm: on the wall's clock, and its own
    CPU time; rollouts; the largest distance from a target [m]."""
    draw = np.random.default_rng([seed, 11])
    with (
        tempfile.TemporaryDirectory() as folder,
        own_domain(),
        NodeProcesses(Path(folder) / "logs") as processes,
        Commander(processes.check) as commander,
    ):
        lab = ExperimentRun(Path(folder), processes, commander, TASK)
        processes.start("planner")
        rows = [_planned(lab, None)]
        target = lab.config.goals[0].target[0]
        for _ in range(TARGETS):
            rows.append(_planned(lab, target + np.array(REACH) * draw.uniform(-1, 1, 3)))
    first, *again = rows
    columns = {key: np.array([row[key] for row in again]) for key in first}
    figures = {"targets": TARGETS, "first_wall_s": first["wall_s"]}
    for key in ("wall_s", "cpu_s", "rollouts"):
        figures[key] = {"median": float(np.median(columns[key])), "most": float(columns[key].max())}
    figures["farthest_m"] = float(columns["distance"].max())
    return figures


def _planned(lab: Rehearsal, target: np.ndarray | None) -> dict[str, float]:
    """One plan for a target; the first of a task is written, and cold."""
    begun, used = time.perf_counter(), _cpu(lab.processes.running["planner"].pid)
    warm = target is not None
    plan = lab.plan(TASK, "plan", target=target if warm else (), warm_start=warm, out=not warm)
    metrics = {metric.name: metric.value for metric in plan.metrics}
    return {
        "wall_s": time.perf_counter() - begun,
        "cpu_s": _cpu(lab.processes.running["planner"].pid) - used,
        "rollouts": metrics["rollouts"], "distance": metrics["goals.target.distance"],
    }  # fmt: skip


def _cpu(pid: int) -> float:
    """CPU time of a process until now [s] (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
