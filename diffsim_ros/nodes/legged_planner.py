"""Node `legged_planner`: a twist or a target in, a checked walk of a legged robot out.

action  ~/plan           diffsim_interfaces/PlanLocomotion: feedback, can be cancelled
in      cmd_vel          geometry_msgs/Twist: walks on, until it is zero or comes no more
        DRIVER/stance    diffsim_interfaces/Stance: the plan that runs, and its time
out     DRIVER/plan      diffsim_interfaces/LocomotionPlan: goals with `send`, and of cmd_vel
        ~/trajectory     trajectory_msgs/JointTrajectory, latched: of the last plan
        ~/markers        visualization_msgs/MarkerArray, latched: paths of feet, forces, support
                         polygons, footfall pattern

Every walk ends standing. While the driver carries one out, a new one continues it at the end of a
period. A plan that violates a constraint is never published: the answer names what is violated.
"""

from __future__ import annotations

import math
import time
from collections import deque
from functools import partial
from typing import Any

import numpy as np
from diffsim_interfaces.action import PlanLocomotion
from diffsim_interfaces.msg import LocomotionPlan, Stance
from geometry_msgs.msg import Twist
from rclpy.clock import Clock as SteadyClock
from rclpy.clock import ClockType
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from diffsim_ros._engine import CancelToken
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import LATCHED, STREAM, Declared, run_node
from diffsim_ros.nodes.jobs import JobNode, answered, explained, feedback_of, finish, goal_name
from diffsim_ros.nodes.legged_parameters import FOOT, GAIT, ROBOT, gait_of, robot_of
from diffsim_ros.planning.locomotion import Gait, PlannedWalk, Way, plan_walk, way_of_twist, way_to
from diffsim_ros.planning.locomotion.walk import broken_of
from diffsim_ros.viz.legged_markers import walk_markers

KEPT = 8
"""Walks that are remembered, to be continued."""
SAME = 0.01
"""[m/s, rad/s] within which a twist is the one that is planned already."""
SETTLING = 3.0
"""[s] of the wall in which the driver begins a plan that was sent, or does not take it."""
FRESH = 0.5
"""[s] of the wall within which the driver's stance is its present one."""

Answer = tuple[str, str, "LocomotionPlan | None", dict[str, float]]
"""Code, text, message of a plan that holds, metrics."""


class LeggedPlanner(JobNode):
    """One walk is planned at a time, in a thread."""

    PARAMETERS = (
        ROBOT,
        FOOT,
        *GAIT,
        Declared("driver", "legged_driver", "name of the driver, whose plans these are"),
        Declared("horizon", 3.0, "[s] of a walk by a twist that has no duration", 0.2, 60.0),
        Declared("ahead", 0.6, "[s] from now, at least, to where a walk is continued", 0.05, 10.0),
        Declared("cmd_vel", True, "whether cmd_vel is listened to"),
        Declared("cmd_vel_timeout", 0.5, "[s] after which a twist that comes no more is zero",
                 0.05, 60.0),
        Declared("world_frame", "odom", "frame of the markers"),
        Declared("feedback_rate", 10.0, "most feedback messages per second", 0.1, 1000.0),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("legged_planner", "walk", **options)
        self.robot = robot_of(self)
        gait_of(self, "").pattern(self.robot)  # a gait that the robot does not have is said now
        self._walks: deque[tuple[str, PlannedWalk]] = deque(maxlen=KEPT)
        self._stance: tuple[float, Stance] | None = None
        self._twist: tuple[float, np.ndarray] = (-math.inf, np.zeros(3))
        self._sent = -math.inf
        self._planned: np.ndarray | None = None  # twist of the walk that runs
        self._count, self._seed = 0, f"{time.time_ns() & 0xFFFFFF:06x}"
        driver = self["driver"]
        self._plans = self.create_publisher(LocomotionPlan, f"{driver}/plan", STREAM)
        self._trajectories = self.create_publisher(JointTrajectory, "~/trajectory", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "~/markers", LATCHED)
        listen = self.create_subscription
        listen(Stance, f"{driver}/stance", self._on_stance, STREAM)
        listen(Twist, "cmd_vel", self._on_twist, STREAM)
        steady = SteadyClock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(0.05, self._follow, clock=steady, callback_group=self.together)
        self.offer(PlanLocomotion, "~/plan", self._on_goal)

    # --- goals ----------------------------------------------------------------------------------

    async def _on_goal(self, handle):
        message = partial(PlanLocomotion.Feedback)
        feedback = feedback_of(
            self, handle, lambda a, i, v: message(attempt=a, iteration=i, objective=float(v)),
            self["feedback_rate"],
        )  # fmt: skip
        goal = handle.request
        work = self._work(goal_name(handle), partial(self._asked, goal), goal.send, feedback)
        code, text, plan, metrics = await answered(work, lambda *end: (*end, None, {}))
        finish(handle, code)
        return legged.locomotion_result(code, text, plan, metrics)

    def _asked(self, goal: PlanLocomotion.Goal) -> tuple[Gait, Way]:
        """What a goal wants; InputError."""
        gait = gait_of(self, goal.gait)
        twist = np.array([goal.twist.linear.x, goal.twist.linear.y, goal.twist.angular.z])
        if len(goal.travel) or goal.turn:
            if twist.any():
                rule = "a twist, or travel and turn"
                raise InputError("request", "twist", twist.tolist(), rule)
            return gait, way_to(gait, goal.travel or (0.0, 0.0), goal.turn)
        if not twist.any():
            raise InputError("request", "twist, travel, turn", "all zero", "something to do")
        self._planned = None
        return gait, way_of_twist(gait, twist, goal.duration or self["horizon"])

    async def _work(self, name: str, asked: Any, send: bool, feedback: Any = None) -> Answer:
        """Plan in a thread and publish what holds; BUSY if another walk is being planned."""
        if busy := self._job.busy():
            return "BUSY", busy, None, {}
        began = time.monotonic()
        answer, markers = await self._job.run(name, partial(self._solved, asked, feedback))
        code, text, plan, metrics = answer
        if plan is not None:
            metrics["latency"] = time.monotonic() - began
            self._trajectories.publish(plan.trajectory)
            if send:
                self._plans.publish(plan)
                self._sent = time.monotonic()
            self._markers.publish(markers)
        told = f"{name}: {code} {text}".rstrip()
        if code == "SUCCESS":
            self.get_logger().info(told)
        else:
            self.get_logger().warning(told)
        return answer

    def _solved(
        self, asked: Any, feedback: Any, cancel: CancelToken
    ) -> tuple[Answer, MarkerArray | None]:
        """In the job's thread."""
        try:
            gait, way = asked()
            before, at, running = self._running()
            self._count += 1
            name = f"walk-{self._seed}-{self._count}"
            walk = plan_walk(
                self.robot, gait, way, before=before, at=at, name=name, progress=feedback,
                cancel=cancel,
            )  # fmt: skip
            motion = walk.motion
            metrics = legged.metrics_of(motion)
            if motion.status == "cancelled":
                return ("CANCELED", "cancelled before a walk was found", None, metrics), None
            if not walk.holds:
                return ("NOT_CONVERGED", broken_of(motion), None, metrics), None
            since = 0.0 if before is None else at * before.motion.step
            plan = legged.plan_message(walk, name, running, since)
            self._walks.append((name, walk))
            missed = [f"{g.name} {g.distance:.3g} {g.unit} away" for g in motion.goals
                      if not g.reached]  # fmt: skip
            text = "; ".join(missed)
            markers = convert.marker_array(walk_markers(walk, self["world_frame"]), 0)
            return ("SUCCESS", text, plan, metrics), markers
        except Exception as error:
            return (*explained(error, "INVALID_CONFIGURATION"), None, {}), None

    def _running(self) -> tuple[PlannedWalk | None, int, str]:
        """The walk that the driver carries out, the sample to continue it at, its name.

        InputError where it comes to rest too soon.
        """
        if self._stance is None or time.monotonic() - self._stance[0] > FRESH:
            return None, 0, ""
        stance = self._stance[1]
        if stance.state != "walking":
            return None, 0, ""
        known = dict(self._walks)
        if stance.plan not in known:
            rule = "one of this planner's"
            raise InputError("driver", "plan that runs", stance.plan, rule, "wait for its end")
        walk = known[stance.plan]
        at = walk.after(stance.time + self["ahead"])
        if at is None:
            rule = f"a period's end {self['ahead']:g} s ahead"
            raise InputError("driver", "plan that runs", f"{stance.plan} comes to rest", rule,
                             "ask again when it stands")  # fmt: skip
        return walk, at, stance.plan

    # --- cmd_vel --------------------------------------------------------------------------------

    def _on_stance(self, message: Stance) -> None:
        self._stance = time.monotonic(), message

    def _on_twist(self, message: Twist) -> None:
        if not self["cmd_vel"]:
            return
        twist = np.array([message.linear.x, message.linear.y, message.angular.z])
        if not np.isfinite(twist).all():
            self.get_logger().error(f"cmd_vel: {twist.tolist()}; accepted: finite numbers")
            twist = np.zeros(3)
        speed = math.hypot(*twist[:2])
        twist[:2] *= min(1.0, self["max_speed"] / max(speed, 1e-9))
        most = self["max_turn_rate"]
        twist[2] = min(max(twist[2], -most), most)
        self._twist = time.monotonic(), twist

    async def _follow(self) -> None:
        """Plan what cmd_vel wants, where that is something else than what is planned."""
        came, twist = self._twist
        if came == -math.inf or self._job.busy():
            return
        if time.monotonic() - came > self["cmd_vel_timeout"]:
            twist = np.zeros(3)
        stance = None if self._stance is None else self._stance[1]
        walking = stance is not None and stance.state == "walking"
        if not walking and not twist.any():
            self._planned = None
            return
        if walking and self._planned is None:
            return  # a goal's walk
        if time.monotonic() - self._sent < SETTLING and (not walking or not self._is_last(stance)):
            return  # the driver has not begun it yet
        known = dict(self._walks)
        same = self._planned is not None and np.abs(twist - self._planned).max() < SAME
        if walking and stance.plan in known:
            walk = known[stance.plan]
            left = walk.after(stance.time + self["ahead"] + 2 * walk.gait.period)
            if same and (left is not None or not twist.any()):
                return
            if walk.after(stance.time + self["ahead"]) is None:
                return  # it comes to rest; then another one begins
        elif same and walking:
            return
        code, *_ = await self._work("cmd_vel", partial(self._drive, twist), True)
        self._planned = twist if code == "SUCCESS" else self._planned

    def _is_last(self, stance: Stance) -> bool:
        return bool(self._walks) and stance.plan == self._walks[-1][0]

    def _drive(self, twist: np.ndarray) -> tuple[Gait, Way]:
        gait = gait_of(self, "")
        if twist.any():
            return gait, way_of_twist(gait, twist, self["horizon"])
        before, at, _ = self._running()
        if before is None:
            raise InputError("cmd_vel", "twist", [0.0, 0.0, 0.0], "something to do")
        motion, span = before.motion, gait.period
        velocity = (motion.com[at + 1] - motion.com[at]) / motion.step
        x, y, z, w = motion.base[at, 3:]
        yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        c, s = math.cos(yaw), math.sin(yaw)
        ahead = c * velocity[0] + s * velocity[1], c * velocity[1] - s * velocity[0]
        return gait, Way((0.5 * span * ahead[0], 0.5 * span * ahead[1]), 0.0, 1)


main = partial(run_node, LeggedPlanner)
"""Console script `legged_planner`."""

if __name__ == "__main__":
    raise SystemExit(main())
