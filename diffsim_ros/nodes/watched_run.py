"""What is watched while it runs, until somebody or something halts it."""

from __future__ import annotations

import traceback
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from rclpy.task import Future

from diffsim_ros.nodes.motion_outputs import ActionOutput, TopicOutput, within
from diffsim_ros.robots.command import NANO

if TYPE_CHECKING:
    from diffsim_ros.nodes.supervision import Supervision

CURRENT = 0.03
"""[s] for which a joint state shows where a moving robot is."""
NEWEST, WAIT = 0.08, 1.0
"""[s] of age that a joint state may have when a motion is sent, in which a robot that somebody else
begins to move comes no farther than a control cycle may; and how long one is waited for."""
RESTED = 0.08
"""[s] of the wall for which a joint that rests is slow: more than a change of direction takes."""
BRAKING = 3.0
"""[s] of the wall that a stopped robot is watched until it rests."""


class WatchedRun:
    """Halted once, with the reason ("": it came to its end); `_look` is called at every tick.

    Everything happens in the supervision's thread.
    """

    def __init__(self, node: Supervision) -> None:
        self._node = node
        self._output: ActionOutput | TopicOutput = node.output
        self._halted = Future()

    def _look(self) -> None:
        """What is wrong, due, or to be reported now."""
        raise NotImplementedError

    def _expected(self, now: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Position and velocity (n,) that are planned at a ROS time [ns]; None: nothing is."""
        raise NotImplementedError

    def _halt(self, why: str) -> None:
        if not self._halted.done():
            self._halted.set_result(why)

    def _tick(self) -> None:
        if self._halted.done():
            return
        try:
            self._look()
        except Exception as error:  # a robot that nobody watches must not go on
            traceback.print_exc()
            self._halt(f"a defect of the driver: {type(error).__name__}: {error}")

    async def _stale(self) -> str:
        """What is wrong with the age of joint states, "" where one is new, or becomes so."""
        node, end = self._node, monotonic() + WAIT
        while not (age := node.states.age(node.now)) <= NEWEST:
            if self._halted.done() or monotonic() > end:
                return f"the last joint state is {age:.3f} s old (at most {NEWEST:g} at the start)"
            await within(node, self._halted, CURRENT / 10)
        return ""

    async def _at_rest(self, what: str, state_age: float, speed: float) -> str:
        """Wait until a stopped robot rests; what to add to the report where it does not.

        what  moves;  state_age [s] that joint states may have;  speed [rad/s] of a resting joint
        """
        states = self._node.states
        unknown = f"; whether the {what} rests is not known, its joint states"
        end, since, known = monotonic() + BRAKING, None, False
        over = self._node.now() + self._output.braking * NANO
        while monotonic() < end:
            if not states.age(self._node.now) <= state_age:
                return f"{unknown} are silent"
            if states.doubted(self._node.now):
                return f"{unknown} contradict each other"
            last = states.last  # one from before the stop does not count
            known = last is not None and min(last.stamp, last.received) >= over
            since = (since or monotonic()) if known and states.rests(speed) else None
            if since is not None and monotonic() - since >= RESTED:
                return ""
            await within(self._node, Future(), 0.02)
        return f"; the {what} still moves" if known else f"{unknown} are silent"

    # --- where a stop begins --------------------------------------------------------------------

    async def _current(self) -> tuple:
        """The `_rows` of a stop, for which a joint state is waited a little."""
        forgotten = self._node.states.last is None  # the clock was set: the next comes soon
        end = monotonic() + (10 if forgotten else 1) * CURRENT
        while not self._knows_the_robot() and monotonic() < end:
            await within(self._node, Future(), CURRENT / 10)
        return self._rows()

    def _knows_the_robot(self) -> bool:
        """Whether the last joint state shows where the robot is now."""
        states, clock = self._node.states, self._node.now
        current = 0.0 <= states.age(clock) <= CURRENT and not states.doubted(clock)
        return current and bool(np.isfinite(states.last.velocity).all())

    def _rows(self) -> tuple:
        """Names, position and velocity of the joints now: measured (True), else as planned; and
        what is planned, for states may be wrong. Nothing where the controller has a goal to cancel.
        """
        states, now = self._node.states, self._node.now()
        if self._output.follows:
            return ()
        planned = self._expected(now)
        if planned is not None and not self._knows_the_robot():
            return states.names, *planned, False, planned
        last = states.last
        since = (now - last.stamp) / NANO * last.velocity
        return states.names, last.position + since, last.velocity, self._knows_the_robot(), planned
