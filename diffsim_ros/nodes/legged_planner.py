"""Node `legged_planner`: a twist, displacement or place in, a checked walk of a legged robot out.

action  ~/plan           diffsim_interfaces/PlanLocomotion: feedback, can be cancelled
in      cmd_vel          geometry_msgs/Twist: walks on, until it is zero or comes no more
        goal_pose        geometry_msgs/PoseStamped: a place to walk to, as `send` of the action
        odom             nav_msgs/Odometry (`odometry`): where the body is
        DRIVER/stance    diffsim_interfaces/Stance: the plan that runs, and its time
out     DRIVER/walk      diffsim_interfaces/ExecuteLocomotion: goals with `send`
        DRIVER/plan      diffsim_interfaces/LocomotionPlan: of cmd_vel
        ~/trajectory     trajectory_msgs/JointTrajectory, latched: of the last plan
        ~/markers        visualization_msgs/MarkerArray, latched: paths of feet, forces, support
                         polygons, footfall pattern

Every walk ends standing. While the driver carries one out, a new one goes on from it at the end of
a period: as goals change, and as the odometry shows that it would end elsewhere (legged_goal.py).
A plan that violates a constraint is never published: the answer names what is violated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diffsim_interfaces.action import PlanLocomotion
from diffsim_interfaces.msg import LocomotionPlan
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.action import CancelResponse
from rclpy.clock import Clock as SteadyClock
from rclpy.clock import ClockType
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from diffsim_ros._engine import CancelToken
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import LATCHED, STREAM, Declared, run_node
from diffsim_ros.nodes.jobs import JobNode, answered, explained, feedback_of, finish, goal_name
from diffsim_ros.nodes.legged_goal import SETTLING, GoalKeeper, HeldGoal
from diffsim_ros.nodes.legged_localization import Localization, WalkStart
from diffsim_ros.nodes.legged_parameters import FOOT, GAIT, ROBOT, gait_of, robot_of
from diffsim_ros.nodes.motion_outputs import within
from diffsim_ros.planning.locomotion import (
    Gait,
    WalkGoal,
    goal_of_pose,
    goal_of_travel,
    goal_of_twist,
    plan_walk,
)
from diffsim_ros.planning.locomotion.odometry import (
    DRIFTING,
    Correction,
    PlacedWalk,
    ground_pose,
)
from diffsim_ros.planning.locomotion.planar import composed, relative
from diffsim_ros.planning.locomotion.walk import arc, broken_of
from diffsim_ros.viz.legged_markers import walk_markers

SAME = 0.01
"""[m/s, rad/s] within which a twist is the one that is planned already."""
LOOK = 0.02
"""[s] of the wall between two looks whether a correction is planned."""
Answer = tuple[str, str, "LocomotionPlan | None", dict[str, float]]
"""Code, text, message of a plan that holds, metrics."""


Asked = Callable[[WalkStart], tuple[Gait, WalkGoal]]
"""What is wanted of a walk that begins there; raises InputError."""


class LeggedPlanner(JobNode):
    """One walk is planned at a time, in a thread.

    where  the robot is;  goals  the one that is held
    place  (3,) where the walk that was planned last should end, in the odometry's frame, or None
    """

    FIXED = ("robot", "driver", "odometry", "world_frame")
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
        Declared("odometry", "odom", "topic of where the body is; empty: walks are open loop"),
        Declared("odometry_age", 0.3, "[s] after which the odometry is lost", 0.01, 60.0),
        Declared("odometry_speed", 2.0, "[m/s] beyond which the odometry jumps", 0.1, 100.0),
        Declared("goal_tolerance", 0.02, "[m] from a goal within which it is reached", 1e-3, 1.0),
        Declared("turn_tolerance", 0.03, "[rad] from it", 1e-3, 1.0),
        Declared("corrections", 3, "walks at most, from where it stands too far away", 0, 99),
        Declared("longest", 10.0, "[s] that are planned at once towards a goal", 1.0, 60.0),
        Declared("world_frame", "odom", "frame of odometry, goals and markers"),
        Declared("feedback_rate", 10.0, "most feedback messages per second", 0.1, 1000.0),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("legged_planner", "walk", **options)
        self.robot = robot_of(self)
        gait_of(self, "").pattern(self.robot)  # a gait that the robot does not have is said now
        self._twist: tuple[float, np.ndarray] = (-math.inf, np.zeros(3))
        self._sent = -math.inf
        self._planned: np.ndarray | None = None  # twist of the walk that runs
        self._tried: tuple[str, int] = ("", -1)
        self._count, self._seed = 0, f"{time.time_ns() & 0xFFFFFF:06x}"
        self.place: np.ndarray | None = None
        self._asking, self._looking = "", False  # a goal that is planned; a walk is planned or sent
        self.where, self.goals = Localization(self), GoalKeeper(self)
        driver = self["driver"]
        self._plans = self.create_publisher(LocomotionPlan, f"{driver}/plan", STREAM)
        self._trajectories = self.create_publisher(JointTrajectory, "~/trajectory", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "~/markers", LATCHED)
        listen = self.create_subscription
        listen(Twist, "cmd_vel", self._on_twist, STREAM)
        listen(PoseStamped, "goal_pose", self._on_place, STREAM, callback_group=self.together)
        steady = SteadyClock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(0.05, self._look, clock=steady, callback_group=self.together)
        self.offer(PlanLocomotion, "~/plan", self._on_goal, self._on_cancel)

    # --- goals ----------------------------------------------------------------------------------

    async def _on_goal(self, handle):
        message = PlanLocomotion.Feedback
        feedback = feedback_of(
            self, handle, lambda a, i, v: message(attempt=a, iteration=i, objective=float(v)),
            self["feedback_rate"],
        )  # fmt: skip
        goal, name = handle.request, goal_name(handle)

        def shown(distance: float, turn: float) -> None:
            handle.publish_feedback(message(distance=distance, turn=turn))

        if goal.send:
            work = self._carried_out(name, goal, feedback, shown)
        else:
            work = self._alone(name, partial(self._asked, goal), feedback)
        code, text, plan, metrics = await answered(work, lambda *end: (*end, None, {}))
        finish(handle, code)
        return legged.locomotion_result(code, text, plan, metrics)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        if self.goals.cancel(goal_name(handle)):
            return CancelResponse.ACCEPT
        return self._job.on_cancel(handle)

    async def _on_place(self, message: PoseStamped) -> None:
        """As a goal of the action with `target` and `send`."""
        goal, nothing = PlanLocomotion.Goal(target=message, send=True), lambda *_: None
        self._count += 1
        work = self._carried_out(f"goal_pose {self._count}", goal, None, nothing)
        code, text, _, _ = await answered(work, lambda *end: (*end, None, {}))
        if code == "SUCCESS":
            self.get_logger().info(f"goal_pose: {text}")
        else:
            self.get_logger().warning(f"goal_pose: {code} {text}")

    async def _carried_out(
        self, name: str, goal: PlanLocomotion.Goal, feedback: Any, shown: Callable
    ) -> Answer:
        """Plan, have the driver walk, and correct it until the robot stands at the goal."""
        held = HeldGoal(name, None, goal.gait, "", self.where.jumps, shown)
        asked = partial(self._asked, goal, held=held)
        answer = await self._alone(name, asked, feedback, partial(self._begun, held))
        if answer[0] != "SUCCESS":
            return answer
        code, text = await held.done
        missed = answer[1] if code == "SUCCESS" and held.place is None else ""
        return code, "; ".join(filter(None, (text, missed))), answer[2], answer[3]

    async def _begun(self, held: HeldGoal, answer: Answer) -> Answer:
        """The driver is given a plan, which from now on is corrected."""
        *_, plan, metrics = answer
        if plan is None:
            return answer
        if why := await self.goals.send(held, plan):
            return "REFUSED", why, None, metrics
        self._planned, self._sent = None, time.monotonic()
        self.goals.hold(held)
        return answer

    async def _alone(
        self, name: str, asked: Asked, feedback: Any, then: Callable | None = None
    ) -> Answer:
        """`work` of a goal, and what comes `then`, while no correction is planned or sent."""
        if self._asking:
            return "BUSY", f"a walk is being planned ({self._asking})", None, {}
        self._asking = name
        while self._looking:
            await within(self, Future(), LOOK)
        self._looking = True
        try:
            await self.goals.settled()
            answer = await self.work(name, asked, feedback)
            return answer if then is None else await then(answer)
        finally:
            self._looking, self._asking = False, ""

    def _asked(
        self, goal: PlanLocomotion.Goal, start: WalkStart, held: HeldGoal | None = None
    ) -> tuple[Gait, WalkGoal]:
        """What a goal wants; InputError.  `held` gets the place where it ends."""
        gait = gait_of(self, goal.gait)
        twist = np.array([goal.twist.linear.x, goal.twist.linear.y, goal.twist.angular.z])
        moves = bool(len(goal.travel) or goal.turn)
        given = [bool(twist.any()), moves, bool(goal.target.header.frame_id)]
        if sum(given) > 1:
            got = ", ".join(n for n, on in zip(("twist", "travel and turn", "target"), given,
                                               strict=True) if on)  # fmt: skip
            raise InputError("request", "goal", got, "a twist, or travel and turn, or a target")
        if not any(given):
            raise InputError("request", "twist, travel, turn, target", "none", "something to do")
        if given[2]:
            here = self.where.here(start)
            row, frame = legged.pose_row(goal.target.pose), goal.target.header.frame_id
            place = ground_pose(frame, row, self["world_frame"], "request", "target.")
            if held is not None:
                held.place = place
            walk_goal = goal_of_pose(
                self.robot, gait, relative(here, place), begin=start.begin,
                longest=self["longest"] if held else math.inf,
            )  # fmt: skip
            return gait, walk_goal
        if moves:
            pose = np.array([*(goal.travel or (0.0, 0.0)), goal.turn])
            goal_of_travel(gait, pose[:2] if len(pose) == 3 else goal.travel, goal.turn)
            walk_goal = goal_of_pose(self.robot, gait, pose, begin=start.begin)
        else:
            duration = goal.duration or self["horizon"]
            walk_goal = goal_of_twist(gait, twist, duration)
            pose = arc(twist, walk_goal.periods * gait.period)
        if held is not None:
            self._place_of(held, start, pose)
        return gait, walk_goal

    def _place_of(self, held: HeldGoal, start: WalkStart, pose: np.ndarray) -> None:
        """Where a walk ends that begins there; without any odometry it is walked open loop."""
        if self["odometry"] and self.where.ever:
            held.place = composed(self.where.here(start), pose)
            return
        topic = self["odometry"]
        held.note = f"open loop: {f'no odometry on {topic}' if topic else 'odometry is off'}"

    def towards(self, gait: str, place: np.ndarray, start: WalkStart) -> tuple[Gait, WalkGoal]:
        """From where it is to a place (3,)."""
        own = gait_of(self, gait)
        pose = relative(self.where.here(start), place)
        walk_goal = goal_of_pose(self.robot, own, pose, begin=start.begin, longest=self["longest"])
        return own, walk_goal

    def corrected(self, gait: str, found: Correction, start: WalkStart) -> tuple[Gait, WalkGoal]:
        """What a correction wants."""
        own = gait_of(self, gait)
        walk_goal = goal_of_pose(
            self.robot, own, found.pose, begin=start.begin, least=found.least,
            longest=self["longest"],
        )  # fmt: skip
        return own, walk_goal

    # --- planning -------------------------------------------------------------------------------

    async def work(self, name: str, asked: Asked, feedback: Any = None) -> Answer:
        """Plan in a thread and show what holds; BUSY if another goal's walk is being planned."""
        began = time.monotonic()
        if busy := self._job.busy():
            return "BUSY", busy, None, {}
        try:
            start = self.where.start()
            gait, walk_goal = asked(start)
        except Exception as error:
            code, text = explained(error, "INVALID_CONFIGURATION")
            self.get_logger().warning(f"{name}: {code} {text}")
            return code, text, None, {}
        job = partial(self._solved, start, gait, walk_goal, feedback)
        answer, placed = await self._job.run(name, job)
        code, text, plan, metrics = answer
        if plan is not None:
            self.where.keep(placed)
            metrics["latency"] = time.monotonic() - began
            self._trajectories.publish(plan.trajectory)
            self._markers.publish(self._drawn(placed))
        told = f"{name}: {code} {text}".rstrip()
        if code == "SUCCESS" and not text:
            self.get_logger().info(told)
        else:
            self.get_logger().warning(told)
        return answer

    def _solved(
        self, start: WalkStart, gait: Gait, walk_goal: WalkGoal, feedback: Any, cancel: CancelToken
    ) -> tuple[Answer, PlacedWalk | None]:
        """In the job's thread."""
        try:
            self._count += 1
            name = f"walk-{self._seed}-{self._count}"
            walk = plan_walk(
                self.robot, gait, walk_goal, begin=start.begin, name=name, progress=feedback,
                cancel=cancel,
            )  # fmt: skip
            motion = walk.motion
            metrics = legged.metrics_of(motion)
            if motion.status == "cancelled":
                return ("CANCELED", "cancelled before a walk was found", None, metrics), None
            if not walk.holds:
                return ("NOT_CONVERGED", broken_of(motion), None, metrics), None
            plan = legged.plan_message(walk, name, start.plan, start.since)
            origin = np.zeros(3) if start.origin is None else start.origin
            placed = PlacedWalk(name, walk, origin, start.chain or name)
            missed = [f"{g.name} {g.distance:.3g} {g.unit} away" for g in motion.goals
                      if not g.reached]  # fmt: skip
            told = "; ".join([*missed, *filter(None, [gait.warning])])
            return ("SUCCESS", told, plan, metrics), placed
        except Exception as error:
            return (*explained(error, "INVALID_CONFIGURATION"), None, {}), None

    def _drawn(self, placed: PlacedWalk) -> MarkerArray:
        where = self.where.frame_of(placed)
        return convert.marker_array(walk_markers(placed.walk, self["world_frame"], where), 0)

    # --- cmd_vel --------------------------------------------------------------------------------

    def _on_twist(self, message: Twist) -> None:
        if not self["cmd_vel"]:
            return
        twist = np.array([message.linear.x, message.linear.y, message.angular.z])
        if not np.isfinite(twist).all():
            self.get_logger().error(f"cmd_vel: {twist.tolist()}; accepted: finite numbers")
            twist = np.zeros(3)
        speed = math.hypot(twist[0], twist[1] / self["side_speed_share"])
        twist[:2] *= min(1.0, self["max_speed"] / max(speed, 1e-9))
        most = self["max_turn_rate"]
        twist[2] = min(max(twist[2], -most), most)
        self._twist = time.monotonic(), twist

    async def _look(self) -> None:
        """What a goal that is held, or cmd_vel, needs now."""
        if self._looking or self._asking:
            return
        self._looking = True
        try:
            if self.goals.held is not None:
                await self.goals.look()
            else:
                await self._follow()
        finally:
            self._looking = False

    async def _follow(self) -> None:
        """Plan what cmd_vel wants, where that is something else than what is planned, or the walk
        would end elsewhere."""
        came, twist = self._twist
        if came == -math.inf:
            return
        if time.monotonic() - came > self["cmd_vel_timeout"]:
            twist = np.zeros(3)
        stance = self.where.stance
        walking = stance is not None and stance.state == "walking"
        if not walking and not twist.any():
            self._planned = None
            return
        if walking and self._planned is None:
            return  # a goal's walk
        if time.monotonic() - self._sent < SETTLING and (
            not walking or stance.plan != self.where.last
        ):
            return  # the driver has not begun it yet
        placed = self.where.known(stance.plan) if walking else None
        same = self._planned is not None and np.abs(twist - self._planned).max() < SAME
        asked = partial(self._drive, twist, bool(same))
        if placed is not None:
            walk, soonest = placed.walk, stance.time + self["ahead"]
            if walk.after(soonest) is None:
                return  # it comes to rest; then another one begins
            left = walk.after(soonest + 2 * walk.gait.period)
            if same and (left is not None or not twist.any()):
                found = self._off_its_path(placed)
                if found is None or not twist.any():
                    return
                asked = partial(self.corrected, "", found)
        elif same and walking:
            return
        place = self.place
        code, _, plan, _ = await self.work("cmd_vel", asked)
        if code == "SUCCESS":
            self._plans.publish(plan)
            self.where.sent(plan)
            self._sent, self._planned = time.monotonic(), twist
        else:
            self.place = place

    def _off_its_path(self, placed: PlacedWalk) -> Correction | None:
        """What brings the walk by a twist back to where it should end."""
        if self.place is None:
            return None
        try:
            self.where.measured()
        except InputError:
            return None
        found = self.where.correction(placed.name, self.place, self._tried)
        if found is not None:
            self._tried = placed.name, found.sample
        return found

    def _drive(self, twist: np.ndarray, same: bool, start: WalkStart) -> tuple[Gait, WalkGoal]:
        """A walk by a twist; where it is the same as before, on from where that should end."""
        gait = gait_of(self, "")
        if not twist.any():
            self.place = None
            return gait, self._halting(gait, start)
        walk_goal = goal_of_twist(gait, twist, self["horizon"])
        try:
            here = self.where.here(start)
        except InputError:  # open loop
            self.place = None
            return gait, walk_goal
        pose, placed = arc(twist, walk_goal.periods * gait.period), self.where.known(start.plan)
        if same and self.place is not None and placed is not None and start.begin is not None:
            left = sum(k > start.begin.sample for k in placed.walk.boundaries())
            more = arc(twist, (walk_goal.periods - left) * gait.period)
            place = composed(self.place, more)
            drifting = min(walk_goal.periods, DRIFTING) * gait.period
            least, longest = walk_goal.periods, walk_goal.periods * gait.period
            walk_goal = goal_of_pose(
                self.robot, gait, self.where.pose_to(place, start, drifting), begin=start.begin,
                least=least, longest=longest,
            )  # fmt: skip
            pose = relative(here, place)
            share = min(1.0, longest / max(gait.least_time(pose), 1e-9))
            pose = pose * share  # what is farther is not made up for
        self.place = composed(here, pose)
        return gait, walk_goal

    def _halting(self, gait: Gait, start: WalkStart) -> WalkGoal:
        """To stand within a period."""
        if start.begin is None:
            raise InputError("cmd_vel", "twist", [0.0, 0.0, 0.0], "something to do")
        moved = start.begin.at_origin()
        at, motion = moved.sample, moved.motion
        velocity = (motion.com[at + 1] - motion.com[at]) / motion.step
        reach = 0.5 * gait.period * velocity[:2]
        return WalkGoal((float(reach[0]), float(reach[1])), 0.0, 1)

    def close(self) -> None:
        """Give up a goal that is held, and end a job."""
        self.from_thread(self.goals.close)
        self.flush()
        super().close()

    def destroy_node(self) -> None:
        """Take the driver's client down first."""
        self.goals.destroy()
        super().destroy_node()


main = partial(run_node, LeggedPlanner)
"""Console script `legged_planner`."""

if __name__ == "__main__":
    raise SystemExit(main())
