"""Nodes with a managed life cycle (rclpy.lifecycle), for what commands a robot.

unconfigured  parameters only: nothing is connected, nothing is offered
inactive      connected and offered; every request is refused
active        requests are taken

A node with `autostart` (the default) goes through configure and activate as it is made, so that it
is used like any other. A transition is carried out in the node's executor.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNodeMixin

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.common import BaseNode, Declared
from diffsim_ros.nodes.goal_server import GoalServer

AUTOSTART = Declared("autostart", True, "configure and activate at the start (ros2 lifecycle)")
LOOK = 0.01
"""[s] between two looks whether a motion has come to its end."""
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Watcher(Protocol):
    """What watches motions in a thread of its own (supervision.Supervision)."""

    run: Any

    def flush(self, rounds: int = 5) -> None: ...


class ManagedNode(LifecycleNodeMixin, BaseNode):
    """A BaseNode whose subclass says how it is set up, and how it gives up its work.

    STOPPING  [s] that a motion gets to come to its end
    Subclasses have AUTOSTART among their PARAMETERS, and call `start` at the end of `__init__`;
    `set_up` makes `supervision` and the action server `_action`.
    """

    STOPPING = 10.0
    supervision: Watcher
    _action: GoalServer

    def __init__(self, name: str, **options: Any) -> None:
        BaseNode.__init__(self, name, **options)
        self.active = False
        """Whether requests are taken: only in the executor's thread this changes."""
        self.beaten = monotonic()
        """When requests were last received here, or could have been."""
        self._unusable: Exception | None = None
        self._starting, self._open = False, 0
        LifecycleNodeMixin.__init__(self)
        self._always = self._entities()

    def set_up(self) -> None:
        """Load, connect and offer; InputError for what is unusable."""
        raise NotImplementedError

    def give_up(self, why: str) -> None:
        """Cancel what is checked or carried out."""
        raise NotImplementedError

    def start(self) -> None:
        """Configure and activate, unless someone else is to; raises what makes that impossible."""
        if not self["autostart"]:
            return
        self._starting = True  # what is wrong is raised, not logged as well
        if self.trigger_configure() != SUCCESS or self.trigger_activate() != SUCCESS:
            raise self._unusable or RuntimeError("the node could not be configured")
        self._starting = False

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Around all that answers one goal: until its end the action is not taken down."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def check_active(self) -> None:
        """Raise InputError unless requests are taken: before anything is sent, by any thread."""
        if not self.active:
            rule = "active; nothing was sent"
            remedy = f"ros2 lifecycle set {self.get_fully_qualified_name()} activate"
            raise InputError(self.get_name(), "state", self._state_machine.current_state[1], rule,
                             remedy)  # fmt: skip

    def check_not_dry(self) -> None:
        """Raise InputError where `dry_run` was set meanwhile: just before something is sent."""
        if self["dry_run"]:
            raise InputError(self.get_name(), "dry_run", True, "false; nothing was sent")

    # --- transitions ----------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """unconfigured -> inactive."""
        try:
            self.set_up()
        except Exception as error:
            self._unusable = error
            self._clear()
            if not self._starting:
                if not isinstance(error, InputError):
                    traceback.print_exc()
                self.get_logger().error(f"not configured: {error}")
            return FAILURE
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """inactive -> active."""
        self.active = True
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """active -> inactive, once what runs has come to its end; else it stays active."""
        if self._stopped("the driver is deactivated"):
            return SUCCESS
        self.active = True  # as its state; it is BUSY until the motion ends
        return FAILURE

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """inactive -> unconfigured: parameters that count at the start may be set again.

        It stays inactive while a goal that was given up, in its checks, has not been answered.
        """
        if self._open:
            self.get_logger().error("not cleaned up: a goal is still being answered; ask again")
            return FAILURE
        self._clear()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """-> finalized: what runs is stopped, and the process ends as after a signal."""
        stopped = self._stopped("the driver is shut down")
        self.finished.set()
        return SUCCESS if stopped else FAILURE

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """A defect in a transition: finalized, and the process ends; close() stops what runs."""
        self.active = False
        self.finished.set()
        return FAILURE

    def _stopped(self, why: str) -> bool:
        """Take no more requests, cancel what runs and wait for its end; whether it came.

        The executor stands meanwhile: the supervision's thread brings the motion to its end.
        """
        self.active = False
        watcher = getattr(self, "supervision", None)
        if watcher is None:
            return True
        self._action.refuse_received()
        self.give_up(why)
        watcher.flush(1)  # what was handed over before has begun now
        end, pause = monotonic() + self.STOPPING, threading.Event()
        while watcher.run is not None and monotonic() < end:
            self.beaten = monotonic()  # not deaf: it has been cancelled already
            pause.wait(LOOK)
        if watcher.run is None:
            return True
        text = f"the motion has not ended within {self.STOPPING:g} s: look at the robot"
        self.get_logger().error(f"{why}: {text}")
        return False

    def _take_down(self) -> None:
        """End the supervision and the action, as far as they are there."""
        for name, end in (("supervision", "end"), ("_action", "destroy")):
            made = self.__dict__.pop(name, None)
            if made is not None:
                getattr(made, end)()

    def _clear(self) -> None:
        """Undo `set_up`, also half of one."""
        self._take_down()
        mine, now = self._always, self._entities()
        destroy = (self.destroy_subscription, self.destroy_publisher, self.destroy_timer)
        for before, after, end in zip(mine, now, destroy, strict=True):
            for entity in after - before:
                end(entity)

    def _entities(self) -> tuple[set, set, set]:
        return set(self.subscriptions), set(self.publishers), set(self.timers)

    def destroy_node(self) -> None:
        """Take clients and servers down first."""
        self._take_down()
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # it would keep the node's handle
