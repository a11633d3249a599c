"""Messages of the planner to our types and back, as convert.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from diffsim_interfaces.action import Plan
from diffsim_interfaces.msg import Metric
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from diffsim_ros.nodes.convert import CODES, flat_metrics, path_message
from diffsim_ros.nodes.convert_motion import trajectory_message
from diffsim_ros.robots.trajectory import JointTrajectory

NANO = 1_000_000_000


@dataclass(frozen=True)
class PlanAnswer:
    """How planning ended: a name of convert.CODES, one line, and the result.

    trajectory  the arm's motion, None where there is none
    times, poses  (n,) [s] from the trajectory's start, (n, 7) of the first goal's body
    """

    code: str
    message: str = ""
    trajectory: JointTrajectory | None = None
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    poses: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))
    objective: float = math.nan
    metrics: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""


def plan_feedback(start: int, starts: int, iteration: int, objective: float) -> Plan.Feedback:
    """Progress of the search: which start, its iteration and objective."""
    return Plan.Feedback(
        start=start, starts=starts, iteration=iteration, objective=float(objective)
    )


def plan_result(answer: PlanAnswer, frame: str) -> Plan.Result:
    """The action's result; the path is in `frame`, its stamps count from the trajectory's start."""
    motion = answer.trajectory
    release = None if motion is None else motion.release
    return Plan.Result(
        trajectory=TrajectoryMessage() if motion is None else trajectory_message(motion),
        release=math.nan if release is None else float(release),
        predicted=path_message((answer.times * NANO).astype(np.int64), answer.poses, frame),
        objective=float(answer.objective),
        metrics=[Metric(name=n, value=v) for n, v in flat_metrics(answer.metrics)],
        error_code=int(CODES[answer.code]),
        error_msg=answer.message,
        report_path=answer.report,
    )


def predicted(message: Plan.Result) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) [s] from the trajectory's start and places (n, 3) [m] of the predicted path."""
    poses = message.predicted.poses
    times = [p.header.stamp.sec + p.header.stamp.nanosec / NANO for p in poses]
    places = [[p.pose.position.x, p.pose.position.y, p.pose.position.z] for p in poses]
    return np.array(times), np.array(places).reshape(-1, 3)
