"""A goal that the legged planner holds until the robot stands there: sent, corrected, reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from diffsim_interfaces.action import ExecuteLocomotion
from diffsim_interfaces.msg import ErrorCode, LocomotionPlan
from rclpy.action import ActionClient
from rclpy.task import Future

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.motion_outputs import found, within
from diffsim_ros.planning.locomotion.planar import relative
from diffsim_ros.robots.command import NANO

THERE = 3.0
"""[s] of the wall in which the driver is found."""
SETTLING = 3.0
"""[s] of the wall in which the driver begins a plan that was sent, or does not take it."""
STILL = 0.3
"""[s] of the robot's time after a walk, before it is measured where it stands."""
SHOWN = 0.1
"""[s] of the wall between two feedback messages while it walks."""
NAMES = {getattr(ErrorCode, name): name for name in ("REFUSED", "CANCELED", "ABORTED", "BUSY")}


@dataclass(eq=False)
class HeldGoal:
    """What is known of it.

    name   of the action's goal;  place  (3,) in the odometry's frame, None: it is walked open loop
    gait   as asked for;  note  why it is not corrected, "" where it is
    done   code and text, once the robot stands
    sent   name of each plan with the driver's result;  walks  from standing to standing
    tried  plan and sample where a correction was tried last;  jumps  of the odometry at its start
    cancelled  the driver's results that its cancellation waits for, None: it was not
    """

    name: str
    place: np.ndarray | None
    gait: str
    note: str
    jumps: int
    feedback: Callable[[float, float], None]
    done: Future = field(default_factory=Future)
    sent: list[tuple[str, Any, Future]] = field(default_factory=list)
    walks: int = 1
    corrections: int = 0
    tried: tuple[str, int] = ("", -1)
    stood: int | None = None
    shown: float = 0.0
    cancelled: list[Future] | None = None


class GoalKeeper:
    """One goal at a time of a LeggedPlanner; a new one takes the place of the one before."""

    def __init__(self, planner: Any) -> None:
        self._planner = planner
        self.held: HeldGoal | None = None
        self._given: list[tuple[Any, Future]] = []  # to the driver, perhaps over
        self._client = ActionClient(
            planner, ExecuteLocomotion, f"{planner['driver']}/walk", callback_group=planner.together
        )

    async def send(self, held: HeldGoal, plan: LocomotionPlan) -> str:
        """Give a plan to the driver; why it could not be, "" if it was."""
        if not await found(self._planner, self._client.server_is_ready, THERE, held.done):
            return f"no driver: action {self._planner['driver']}/walk; nothing was sent"
        if held.cancelled is not None or held.done.done():
            return "the goal was cancelled; nothing was sent"
        answer, result = self._client.send_goal_async(ExecuteLocomotion.Goal(plan=plan)), Future()
        if not await within(self._planner, answer, THERE):
            return f"{self._planner['driver']}/walk does not answer"
        handle = answer.result()
        handle.get_result_async().add_done_callback(
            lambda ended: self._over(plan, result, ended.result().result)
        )
        held.sent.append((plan.name, handle, result))
        self._given = [*self._open(), (handle, result)]
        if held.cancelled is not None or held.done.done():  # while the driver took it
            handle.cancel_goal_async()
            held.cancelled = None if held.cancelled is None else [*held.cancelled, result]
        self._planner.where.sent(plan)
        return ""

    def _over(self, plan: LocomotionPlan, result: Future, end: Any) -> None:
        if end.error_code in (ErrorCode.REFUSED, ErrorCode.BUSY):
            self._planner.where.not_taken(plan.name)
        result.set_result(end)

    def _open(self) -> list[tuple[Any, Future]]:
        """What was given to the driver, and is not over."""
        return [one for one in self._given if not one[1].done()]

    async def settled(self) -> None:
        """Wait until the driver has begun, or refused, what it was given: it checks one at a time,
        and a plan that continues one it has refused is refused too."""
        await found(self._planner, self._is_settled, SETTLING, Future())

    def _is_settled(self) -> bool:
        left, stance = len(self._open()), self._planner.where.present()
        # The driver ends a plan as it takes the one that continues it.
        return left == 0 or (left == 1 and stance is not None and stance.state == "walking")

    def hold(self, held: HeldGoal) -> None:
        """From now on; the one before is over."""
        if self.held is not None:
            self._end("CANCELED", f"replaced by {held.name}")
        self.held = held

    def cancel(self, name: str) -> bool:
        """Bring the robot to stand if it is this goal's."""
        if self.held is None or self.held.name != name:
            return False
        # The driver may not have begun the last plan yet: then the walk before it must end too.
        given = self._open()
        if not given:  # it stands, and another walk may be planned: that is not sent
            self._end("CANCELED", "it stands; no other walk is sent")
            return True
        self.held.cancelled = [result for _, result in given]
        for handle, _ in reversed(given):
            handle.cancel_goal_async()
        return True

    def give_up(self, why: str) -> None:
        """Hold nothing any more; a walk that runs goes on to its end."""
        if self.held is not None:
            self._end("ABORTED", why)

    def _end(self, code: str, text: str) -> None:
        held, self.held = self.held, None
        if held is not None and not held.done.done():
            held.done.set_result((code, text))

    # --- while it is held -----------------------------------------------------------------------

    async def look(self) -> None:
        """Correct the walk that runs, or see whether the robot stands where it should."""
        held = self.held
        if held is None:
            return
        if held.cancelled:
            if all(result.done() for result in held.cancelled):
                ends = [result.result() for result in held.cancelled]
                code = NAMES.get(ends[-1].error_code, "CANCELED")
                self._end(code, "; ".join(end.error_msg for end in ends))
            return
        name, _, result = held.sent[-1]
        if result.done():
            end = result.result()
            if end.error_code == ErrorCode.REFUSED and len(held.sent) > 1 and held.stood is None:
                held.sent.pop()  # the walk before goes on
                self._planner.get_logger().warning(f"{held.name}: {end.error_msg}")
            elif end.error_code != ErrorCode.SUCCESS:
                self._end(NAMES.get(end.error_code, "INTERNAL"), end.error_msg)
            elif end.dry_run:
                self._end("SUCCESS", end.error_msg)
            else:
                await self._stands(held)
            return
        held.stood = None
        if held.place is None:
            return
        if self._planner.where.jumps != held.jumps:
            why = "the odometry jumped: the goal is given up, the walk goes on to its end"
            self._end("ABORTED", why)
            return
        try:
            _, here = self._planner.where.measured()
        except InputError as error:
            self._say(held, f"not corrected: {error}")
            return
        self._say(held, "")
        off = relative(here, held.place)
        if monotonic() - held.shown > SHOWN:
            held.shown = monotonic()
            held.feedback(float(np.hypot(*off[:2])), float(abs(off[2])))
        found_ = self._planner.where.correction(name, held.place, held.tried)
        if found_ is not None:
            held.tried = name, found_.sample
            asked = partial(self._planner.corrected, held.gait, found_)
            await self._again(held, f"{held.name} corrected", asked)

    def _say(self, held: HeldGoal, note: str) -> None:
        if note and not held.note:
            self._planner.get_logger().warning(f"{held.name}: {note}")
        held.note = note

    async def _again(self, held: HeldGoal, name: str, asked: Callable) -> bool:
        """Plan and send another walk; False, and the log says why, if there is none."""
        answer = await self._planner.work(name, asked)
        plan = answer[2]
        if plan is None or self.held is not held:
            return False
        why = await self.send(held, plan)
        if why:
            self._planner.get_logger().warning(f"{name}: {why}")
            return False
        held.corrections += 1
        return True

    async def _stands(self, held: HeldGoal) -> None:
        """It has walked to its end."""
        planner = self._planner
        if held.place is None:
            self._end("SUCCESS", held.note)
            return
        try:
            stamp, here = planner.where.measured()
        except InputError as error:
            if held.stood is None:
                held.stood, held.shown = -1, monotonic()
            if monotonic() - held.shown > THERE:  # it may yet come
                self._end("NOT_CONVERGED", f"it stands, nobody knows where: {error}")
            return
        if planner.where.jumps != held.jumps:
            self._end("ABORTED", "the odometry jumped: it stands, and the goal is given up")
            return
        if held.stood is None or held.stood < 0:
            held.stood = stamp
        if (stamp - held.stood) / NANO < STILL:
            return
        off, near = relative(here, held.place), planner.where.near
        figures = (
            f"{np.hypot(*off[:2]):.3g} m and {abs(off[2]):.2g} rad from the goal, "
            f"{held.corrections} corrections"
        )
        if near.reached(off):
            self._end("SUCCESS", figures)
            return
        text = f"{figures} (at most {near.tolerance:g} m, {near.turn_tolerance:g} rad)"
        if held.walks > planner["corrections"]:
            self._end("NOT_CONVERGED", text)
            return
        held.walks += 1
        held.stood = None
        asked = partial(planner.towards, held.gait, held.place)
        if not await self._again(held, f"{held.name} again", asked):
            self._end("NOT_CONVERGED", text)

    def close(self) -> None:
        """The planner is ended: a walk that runs goes on to its end."""
        self._end("CANCELED", "the planner is ended; the walk goes on to its end as planned")

    def destroy(self) -> None:
        """Take the client down."""
        self._client.destroy()
