"""Where the legged planner's robot is: which plan runs, and where odometry sees it come to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from time import monotonic

import numpy as np
from diffsim_interfaces.msg import LocomotionPlan, Stance
from nav_msgs.msg import Odometry

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import STREAM, BaseNode, quality
from diffsim_ros.planning.locomotion import WalkBegin
from diffsim_ros.planning.locomotion.odometry import (
    Correction,
    FrameTrack,
    Nearness,
    OdometryRules,
    OdometryTrack,
    PlacedWalk,
)
from diffsim_ros.planning.locomotion.planar import composed, relative
from diffsim_ros.robots.command import NANO

KEPT = 8
"""Walks that are remembered, to be continued."""
FRESH = 0.5
"""[s] of the wall within which the driver's stance is its present one."""
APART = 0.3
"""[s] between a pose and a stance that are brought together."""


@dataclass(frozen=True, eq=False)
class WalkStart:
    """Where a new walk begins: it stands, or goes on from `begin`, `since` [s] of a plan.

    origin  (3,) of the walk's frame in that of its chain (PlacedWalk)
    """

    begin: WalkBegin | None = None
    plan: str = ""
    since: float = 0.0
    origin: np.ndarray | None = None
    chain: str = ""


class Localization:
    """The driver's stance and the odometry as they come, and the walks that were planned."""

    def __init__(self, planner: BaseNode) -> None:
        self._node = planner
        self._walks: deque[PlacedWalk] = deque(maxlen=KEPT)
        self._stance: tuple[float, Stance] | None = None
        self._track = OdometryTrack(OdometryRules(
            planner["world_frame"], planner["odometry_age"], planner["odometry_speed"]
        ))  # fmt: skip
        self._frames: FrameTrack | None = None
        self._sent: deque[LocomotionPlan] = deque(maxlen=KEPT)
        listen = planner.create_subscription
        listen(Stance, f"{planner['driver']}/stance", self._on_stance, STREAM)
        if planner["odometry"]:
            best_effort = quality(10, reliable=False)
            listen(Odometry, planner["odometry"], self._on_odometry, best_effort)

    @property
    def near(self) -> Nearness:
        """Within what a goal is reached."""
        return Nearness(self._node["goal_tolerance"], self._node["turn_tolerance"])

    @property
    def ever(self) -> bool:
        """Whether any odometry came."""
        return self._track.ever

    @property
    def problem(self) -> str:
        """What is wrong with the last odometry, "" for nothing."""
        return str(self._track.problem or "")

    @property
    def jumps(self) -> int:
        """How often the odometry was suddenly elsewhere."""
        return self._track.jumps

    def measured(self) -> tuple[int, np.ndarray]:
        """Stamp [ns] and pose (3,) of the body now; InputError: nobody knows."""
        if not self._node["odometry"]:
            raise InputError("legged_planner", "odometry", "", "a topic: walks are open loop")
        return self._track.latest(self._node.get_clock().now().nanoseconds)

    def _on_odometry(self, message: Odometry) -> None:
        stamp = convert.nanoseconds(message.header.stamp)
        pose = legged.pose_row(message.pose.pose)
        before = self.problem
        here = self._track.add(stamp, message.header.frame_id, pose)
        if self.problem and not before:
            self._node.get_logger().warning(self.problem, throttle_duration_sec=1.0)
        stance = self.present()
        if here is None or stance is None or stance.state != "walking":
            return
        placed = self.known(stance.plan)
        apart = (stamp - convert.nanoseconds(stance.header.stamp)) / NANO
        if placed is None or abs(apart) > APART:
            return
        if self._frames is None or self._frames.chain != placed.chain:
            self._frames = FrameTrack(placed.chain, placed.walk.gait.period)
        time_ = stance.time + apart
        if 0.0 <= time_ <= placed.duration:
            self._frames.add(stamp / NANO, here, placed.at(time_))

    def here(self, start: WalkStart) -> np.ndarray:
        """(3,) the body's pose where a walk begins; InputError: nobody knows."""
        stamp, here = self.measured()
        if start.begin is None:
            return here
        frames, placed, time = self._seen(start, stamp)
        return composed(frames.at(time), placed.at(start.since))

    def pose_to(self, place: np.ndarray, start: WalkStart, span: float) -> np.ndarray:
        """A place (3,) in the body's axes where a walk begins, whose plan's frame drifts on for a
        time [s]; InputError: nobody knows where it is."""
        stamp, here = self.measured()
        if start.begin is None:
            return relative(here, place)
        frames, placed, time = self._seen(start, stamp)
        return frames.pose_to(place, placed, start.since, time, span)

    def _seen(self, start: WalkStart, stamp: int) -> tuple[FrameTrack, PlacedWalk, float]:
        """What was seen of the chain of a walk, the walk before it, and its time of begin [s]."""
        placed, stance = self.known(start.plan), self.present()
        if placed is not None and stance is not None and self._frames is not None:
            _, own = self._running(stance)
            time = stamp / NANO + start.since - own
            if self._frames.chain == placed.chain and self._frames.at(time) is not None:
                return self._frames, placed, time
        raise InputError("odometry", "poses of the walk that runs", "none", "a few")

    def known(self, name: str) -> PlacedWalk | None:
        """A walk by its name, unless it is long ago."""
        return next((one for one in self._walks if one.name == name), None)

    def present(self) -> Stance | None:
        """The driver's stance, unless it is an old one."""
        if self._stance is None or monotonic() - self._stance[0] > FRESH:
            return None
        return self._stance[1]

    def correction(
        self, name: str, goal: np.ndarray, tried: tuple[str, int]
    ) -> Correction | None:  # fmt: skip
        """What brings the plan `name`, where it runs, to a goal (3,); None: it needs nothing, or
        was `tried` from there."""
        stance, placed = self.present(), self.known(name)
        if stance is None or placed is None or self._frames is None:
            return None
        if stance.state != "walking" or stance.plan != name or self._frames.chain != placed.chain:
            return None
        sample = placed.walk.after(stance.time + self._node["ahead"])
        if sample is None or tried == (name, sample):
            return None
        stamp = convert.nanoseconds(stance.header.stamp) / NANO
        return self._frames.correction(
            placed, stamp, stance.time, self._node["ahead"], goal, self.near
        )

    def keep(self, placed: PlacedWalk) -> None:
        """Remember a walk that was planned."""
        self._walks.append(placed)

    @property
    def last(self) -> str:
        """Name of the walk that was planned last."""
        return self._walks[-1].name if self._walks else ""

    @property
    def stance(self) -> Stance | None:
        """The driver's last stance, however old."""
        return None if self._stance is None else self._stance[1]

    def _on_stance(self, message: Stance) -> None:
        self._stance = monotonic(), message

    def frame_of(self, placed: PlacedWalk) -> np.ndarray:
        """(3,) a walk's own frame on the ground, as far as is known: else where the chain began."""
        try:
            stamp, here = self.measured()
        except InputError:
            return placed.origin
        frame = None
        if self._frames is not None and self._frames.chain == placed.chain:
            frame = self._frames.at(stamp / NANO)
        elif placed.name == placed.chain:  # the robot stands where it begins
            frame = composed(here, relative(placed.at(0.0), np.zeros(3)))
        return placed.origin if frame is None else composed(frame, placed.origin)

    def start(self) -> WalkStart:
        """Where a new walk begins.

        InputError where the walk that runs comes to rest too soon.
        """
        stance = self.present()
        if stance is None or stance.state != "walking":
            return WalkStart()
        placed, own = self._running(stance)
        if placed is None:
            rule = "one of this planner's"
            raise InputError("driver", "plan that runs", stance.plan, rule, "wait for its end")
        at = placed.walk.after(own + self._node["ahead"])
        if at is None:
            rule = f"a period's end {self._node['ahead']:g} s ahead"
            raise InputError("driver", "plan that runs", f"{placed.name} comes to rest", rule,
                             "ask again when it stands")  # fmt: skip
        begin = placed.walk.begin(at)
        since, origin = at * placed.walk.motion.step, composed(placed.origin, begin.frame)
        return WalkStart(begin, placed.name, since, origin, placed.chain)

    def _running(self, stance: Stance) -> tuple[PlacedWalk | None, float]:
        """The walk that runs, and its time [s]: the last one that was sent and goes on from it,
        with a time below 0, as the driver has taken that already."""
        placed, own = self.known(stance.plan), stance.time
        for plan in self._sent:
            later = self.known(plan.name)
            if placed is None or later is None or plan.continues != placed.name:
                continue
            if own - plan.since < APART:
                placed, own = later, own - plan.since
        return placed, own

    def sent(self, plan: LocomotionPlan) -> None:
        """A plan was given to the driver."""
        self._sent.append(plan)

    def not_taken(self, name: str) -> None:
        """The driver did not take a plan that was given to it."""
        self._sent = deque((one for one in self._sent if one.name != name), maxlen=KEPT)
