"""Messages about joints, controllers and grippers to our types and back, as convert.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand
from diffsim_interfaces.action import Execute
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint
from ur_msgs.srv import SetIO

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.convert import CODES, build, nanoseconds, time_message
from diffsim_ros.robots.command import NANO, CommandPoint, JointCommand, JointSample
from diffsim_ros.robots.trajectory import JointTrajectory


def _numbers(row: Any) -> list[float]:
    return [float(value) for value in row]


def optional(value: float | None) -> float:
    return math.nan if value is None else float(value)


# --- trajectories -----------------------------------------------------------------------------


def command(message: TrajectoryMessage, release: float = 0.0) -> JointCommand:
    """The command in a message, unchecked; release [s]: 0 (unset) or NaN for never."""
    points = tuple(
        CommandPoint(
            nanoseconds(p.time_from_start),
            tuple(p.positions),
            tuple(p.velocities),
            tuple(p.accelerations),
            tuple(p.effort),
        )
        for p in message.points
    )
    never = math.isnan(release) or release == 0.0
    names = tuple(message.joint_names)
    return JointCommand(
        names, points, nanoseconds(message.header.stamp), None if never else release
    )


def command_message(wanted: JointCommand, frame: str = "") -> TrajectoryMessage:
    """The message of a command; its release is left out (Execute has it)."""
    message = TrajectoryMessage(joint_names=list(wanted.names))
    message.header.stamp = time_message(wanted.stamp)
    message.header.frame_id = frame
    for p in wanted.points:
        point = JointTrajectoryPoint(time_from_start=build.time(p.time, "Duration"))
        for key in ("positions", "velocities", "accelerations", "effort"):
            setattr(point, key, _numbers(getattr(p, key)))
        message.points.append(point)
    return message


def trajectory_message(trajectory: JointTrajectory, stamp: int = 0) -> TrajectoryMessage:
    """The message of a trajectory that starts at a stamp [ns], 0: at once."""
    return command_message(JointCommand.of(trajectory, stamp))


# --- joint states -----------------------------------------------------------------------------


def joint_sample(message: JointState, age: float = 0.0) -> JointSample:
    """Reported states of joints; columns of another length than the names are left out, and all
    where a name is given twice: nobody knows which of its numbers is right."""
    columns, once = [], len(set(message.name)) == len(message.name)
    for row in (message.position, message.velocity):
        fits = once and len(row) == len(message.name)
        columns.append(dict(zip(message.name, row, strict=True)) if fits else {})
    return JointSample(*columns, age)


def joint_state_message(
    names: Sequence[str], position: np.ndarray, velocity: np.ndarray, stamp: int,
    effort: np.ndarray | None = None,
) -> JointState:  # fmt: skip
    """Joint states (n,) at a stamp [ns]."""
    message = JointState(name=list(names), position=_numbers(position), velocity=_numbers(velocity))
    if effort is not None:
        message.effort = _numbers(effort)
    message.header.stamp = time_message(stamp)
    return message


# --- FollowJointTrajectory --------------------------------------------------------------------


def follow_goal(trajectory: JointTrajectory) -> FollowJointTrajectory.Goal:
    """To start at once, with the controller's own tolerances."""
    return FollowJointTrajectory.Goal(trajectory=trajectory_message(trajectory))


def tolerances(goal: FollowJointTrajectory.Goal, names: Sequence[str], path: float, at: float):
    """Keywords of Controller.start: arrays (n,) of path and goal tolerances, and the goal time.

    As the controller interprets them: 0 leaves its own (`path`, `at`), below 0 is none.
    """

    def row(given: Any, default: float) -> np.ndarray:
        given_positions = {one.name: one.position for one in given}
        found = [given_positions.get(name, 0.0) or default for name in names]
        return np.array([math.inf if value < 0 else value for value in found])

    found: dict[str, Any] = {
        "path": row(goal.path_tolerance, path),
        "goal": row(goal.goal_tolerance, at),
    }
    time = nanoseconds(goal.goal_time_tolerance) / NANO
    return found | ({"goal_time": max(time, 0.0)} if time else {})


def follow_feedback(
    names: Sequence[str], stamp: int, desired: Any, actual: np.ndarray, rate: np.ndarray
) -> FollowJointTrajectory.Feedback:
    """desired: position, velocity, acceleration; actual: position and velocity (n,)."""
    message = FollowJointTrajectory.Feedback(joint_names=list(names))
    message.header.stamp = time_message(stamp)
    rows = (desired.position, desired.velocity, desired.acceleration)
    keys = ("positions", "velocities", "accelerations")
    for key, row in zip(keys, rows, strict=True):
        setattr(message.desired, key, _numbers(row))
    message.actual.positions, message.actual.velocities = _numbers(actual), _numbers(rate)
    message.error.positions = _numbers(desired.position - actual)
    return message


def follow_result(code: int, text: str) -> FollowJointTrajectory.Result:
    """A result code and one line."""
    return FollowJointTrajectory.Result(error_code=int(code), error_string=text)


def feedback_rows(
    message: FollowJointTrajectory.Feedback, names: Sequence[str]
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Stamp [ns], desired and actual positions (n,) in the order of `names`; None if unusable."""
    present = list(message.joint_names)
    if not set(names) <= set(present):
        return None
    columns = [present.index(name) for name in names]
    rows = [np.array(row.positions, float) for row in (message.desired, message.actual)]
    if any(len(row) != len(present) or not np.isfinite(row).all() for row in rows):
        return None
    return nanoseconds(message.header.stamp), rows[0][columns], rows[1][columns]


RESULT_NAMES = {
    getattr(FollowJointTrajectory.Result, name): name
    for name in (
        "SUCCESSFUL INVALID_GOAL INVALID_JOINTS OLD_HEADER_TIMESTAMP PATH_TOLERANCE_VIOLATED "
        "GOAL_TOLERANCE_VIOLATED"
    ).split()
}
"""Number of a controller's result -> its name."""


def outcome_text(result: FollowJointTrajectory.Result) -> str:
    """A controller's result in words: code, name, its own text."""
    name = RESULT_NAMES.get(result.error_code, "?")
    return f"{result.error_code} {name} {result.error_string}".rstrip()


# --- gripper ----------------------------------------------------------------------------------


def gripper_goal(gap: float, effort: float) -> GripperCommand.Goal:
    """Go to a gap [m] with at most an effort [N]."""
    goal = GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = float(gap), float(effort)
    return goal


def gripper_result(gap: float) -> GripperCommand.Result:
    """The gap [m] was reached."""
    return GripperCommand.Result(position=float(gap), reached_goal=True)


def output_request(pin: int, on: bool) -> SetIO.Request:
    """Switch a digital output of a UR."""
    return SetIO.Request(fun=SetIO.Request.FUN_SET_DIGITAL_OUT, pin=int(pin), state=float(on))


def digital_output(request: SetIO.Request) -> tuple[int, bool] | None:
    """(pin, on) of a request to switch a digital output, None of any other."""
    if request.fun != SetIO.Request.FUN_SET_DIGITAL_OUT:
        return None
    return request.pin, request.state >= 0.5


# --- Execute ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """How an execution ended: a name of convert.CODES, one line, and measured figures.

    tracking_error [rad or m], release_stamp [s], release_lateness [s], lateness [s], as in
    Execute.action: None where there is none
    """

    code: str
    message: str = ""
    dry_run: bool = False
    tracking_error: float | None = None
    release_stamp: float | None = None
    release_lateness: float | None = None
    lateness: float | None = None


FIGURES = ("tracking_error", "release_stamp", "release_lateness", "lateness")
"""Numbers of a Report, by their names in the action's result."""


def execute_result(report: Report) -> Execute.Result:
    """The action's result."""
    return Execute.Result(
        error_code=int(CODES[report.code]),
        error_msg=report.message,
        dry_run=report.dry_run,
        **{name: optional(getattr(report, name)) for name in FIGURES},
    )


def execute_feedback(
    phase: str, time: float, error: float | None, lateness: float = 0.0
) -> Execute.Feedback:
    """phase of Execute.action, time [s] of the trajectory, tracking error [rad or m]; lateness [s]
    of the supervision."""
    return Execute.Feedback(
        phase=phase, time=float(time), tracking_error=optional(error), lateness=float(lateness)
    )


def execute_goal(trajectory: JointTrajectory, blend: float = 0.0) -> Execute.Goal:
    """Execute a trajectory with its release; blend [s] as Execute.action has it.

    Raises InputError for a release at 0 s, which in a goal means none.
    """
    if trajectory.release == 0.0:
        rule = "later than 0 s (0 in a goal means that the gripper is not moved)"
        raise InputError("trajectory", "release", 0.0, rule)
    return Execute.Goal(
        trajectory=trajectory_message(trajectory),
        release=optional(trajectory.release),
        blend=float(blend),
    )


def report(message: Execute.Result) -> Report:
    """The report in an action's result."""
    code = {number: name for name, number in CODES.items()}[message.error_code]
    numbers = {name: getattr(message, name) for name in FIGURES}
    known = {key: None if math.isnan(value) else value for key, value in numbers.items()}
    return Report(code, message.error_msg, message.dry_run, **known)
