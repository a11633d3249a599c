"""Messages about legged robots to our types and back, as convert.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from diffsim_interfaces.action import ExecuteLocomotion, PlanLocomotion
from diffsim_interfaces.msg import LocomotionPlan, Metric, Stance
from geometry_msgs.msg import Point, Pose, Quaternion
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu

from diffsim_ros.nodes.convert import CODES, time_message
from diffsim_ros.nodes.convert_motion import Report, command, optional, trajectory_message
from diffsim_ros.planning.locomotion import LocomotionMotion, PlannedWalk
from diffsim_ros.planning.locomotion.plan_check import LeggedPlan
from diffsim_ros.rotation import quat_conjugate, quat_rotate


def pose_of(row: np.ndarray) -> Pose:
    """Of (7,): position [m], quaternion (x, y, z, w)."""
    x, y, z, *turn = map(float, row)
    quaternion = Quaternion(**dict(zip("xyzw", turn, strict=True)))
    return Pose(position=Point(x=x, y=y, z=z), orientation=quaternion)


def pose_row(pose: Pose) -> np.ndarray:
    """(7,): position [m], quaternion (x, y, z, w)."""
    p, q = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w])


def plan_message(
    walk: PlannedWalk, name: str, continues: str = "", since: float = 0.0
) -> LocomotionPlan:  # fmt: skip
    """The message of a walk whose constraints hold; InputError names those that do not."""
    wheels, speeds = walk.wheels()
    return LocomotionPlan(
        name=name, robot=walk.robot.name, continues=continues, since=float(since),
        trajectory=trajectory_message(walk.trajectory()), wheels=list(wheels),
        wheel_speeds=speeds.ravel().tolist(), end_effectors=list(walk.motion.end_effectors),
        contact=walk.contact().ravel().tolist(), phase=walk.phases().tolist(),
        base=[pose_of(row) for row in walk.states().base],
    )  # fmt: skip


def plan_of(message: LocomotionPlan) -> LeggedPlan:
    """The plan in a message, unchecked."""
    rows = [pose_row(pose) for pose in message.base]
    return LeggedPlan(
        message.name, message.robot, message.continues, message.since, command(message.trajectory),
        tuple(message.wheels), message.wheel_speeds, tuple(message.end_effectors), message.contact,
        message.phase, np.array(rows, float).reshape(-1, 7),
    )  # fmt: skip


def stance_message(
    stamp: int, names: Sequence[str], contact: np.ndarray, *, frame: str = "", plan: str = "",
    state: str = "", time: float = 0.0, phase: float = 0.0, load: np.ndarray | None = None,
) -> Stance:  # fmt: skip
    """Contact (m,) and, where it is measured, load (m,) [N], at a stamp [ns]."""
    message = Stance(
        plan=plan, state=state, time=float(time), phase=float(phase), end_effectors=list(names),
        contact=[bool(on) for on in contact],
        load=[] if load is None else [float(value) for value in load],
    )  # fmt: skip
    message.header.stamp, message.header.frame_id = time_message(stamp), frame
    return message


def imu_message(
    base: np.ndarray, twist: np.ndarray, acceleration: np.ndarray, stamp: int, frame: str
) -> Imu:
    """Of a body at base (7,) with twist (6,) and acceleration (3,), all in the world: rates and the
    specific force in its own axes."""
    message, back = Imu(), quat_conjugate(base[3:])
    message.header.stamp, message.header.frame_id = time_message(stamp), frame
    message.orientation = pose_of(base).orientation
    force = quat_rotate(back, acceleration + np.array([0.0, 0.0, 9.81]))
    rate = quat_rotate(back, twist[3:])
    for axis, a, w in zip("xyz", force, rate, strict=True):
        setattr(message.linear_acceleration, axis, float(a))
        setattr(message.angular_velocity, axis, float(w))
    return message


def odometry_message(
    base: np.ndarray, twist: np.ndarray, stamp: int, frame: str, child: str
) -> Odometry:
    """Of a body at base (7,) with twist (6,) in the world; the message's is in the body's axes."""
    message, back = Odometry(child_frame_id=child), quat_conjugate(base[3:])
    message.header.stamp, message.header.frame_id = time_message(stamp), frame
    message.pose.pose = pose_of(base)
    rows = quat_rotate(back, twist[:3]), quat_rotate(back, twist[3:])
    for key, row in zip(("linear", "angular"), rows, strict=True):
        for axis, value in zip("xyz", row, strict=True):
            setattr(getattr(message.twist.twist, key), axis, float(value))
    return message


def tilt_of(message: Imu) -> float:
    """Angle [rad] of the body's z to the vertical; NaN where the message has no orientation."""
    q = message.orientation
    length = q.x**2 + q.y**2 + q.z**2 + q.w**2
    if message.orientation_covariance[0] == -1.0 or not abs(length - 1.0) < 0.01:
        return float("nan")
    return float(np.arccos(np.clip(1 - 2 * (q.x**2 + q.y**2), -1.0, 1.0)))


def locomotion_result(
    code: str, text: str, plan: LocomotionPlan | None, metrics: Mapping[str, float]
) -> PlanLocomotion.Result:
    """The planner's answer."""
    rows = [Metric(name=name, value=float(value)) for name, value in metrics.items()]
    return PlanLocomotion.Result(
        plan=plan or LocomotionPlan(), error_code=int(CODES[code]), error_msg=text, metrics=rows
    )


def metrics_of(motion: LocomotionMotion) -> dict[str, float]:
    """Worst rows of constraints, distances from goals, iterations and time [s] of a motion."""
    found = {f"constraint.{one.name}": one.worst for one in motion.constraints}
    found |= {f"goal.{one.name}": one.distance for one in motion.goals}
    return found | {"iterations": float(motion.iterations), "seconds": motion.seconds}


def walk_feedback(state: str, time: float, error: float, tilt: float) -> ExecuteLocomotion.Feedback:
    """Where a walk is."""
    return ExecuteLocomotion.Feedback(
        state=state, time=float(time), tracking_error=float(error), tilt=float(tilt)
    )


def walk_result(report: Report, tilt: float) -> ExecuteLocomotion.Result:
    """The driver's answer; tilt [rad], NaN: not measured."""
    return ExecuteLocomotion.Result(
        error_code=int(CODES[report.code]), error_msg=report.message, dry_run=report.dry_run,
        tracking_error=optional(report.tracking_error), tilt=float(tilt),
    )  # fmt: skip
