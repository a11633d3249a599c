"""An action server that receives cancellations also while it receives a goal of any size."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.exceptions import InvalidHandle

PAUSE = 0.002
"""[s] between two looks while a goal is received and the next one waits already."""


class GoalServer(ActionServer):
    """Goals are received, one after the other, in a thread of its own; all else as in rclpy.

    Receiving a goal turns it into Python objects: a second for 40 000 points, in which rclpy's
    server receives no cancellation. A cancellation of all goals counts for the one being received.
    A goal that was accepted can be cancelled from then on: `on_goal`, which begins a little later,
    must look whether `is_cancel_requested`.
    It overrides private parts of rclpy (Jazzy): the names of what is ready, and what takes it.
    """

    def __init__(self, node: Any, kind: type, name: str, on_goal: Any, **options: Any) -> None:
        self._receiving = self._canceled = False
        self._begun: set[bytes] = set()
        self._asked = options.pop("cancel_callback")
        options |= {"goal_callback": self._on_received, "cancel_callback": self._on_cancel}

        async def begin(handle: Any) -> Any:
            self._begun.add(bytes(handle.goal_id.uuid))
            try:
                return await on_goal(handle)
            finally:
                self._begun.discard(bytes(handle.goal_id.uuid))

        super().__init__(node, kind, name, begin, **options)

    def refuse_received(self) -> None:
        """Refuse the goal that is being received, if any, as a cancellation of all does."""
        self._canceled = True

    def _on_received(self, _: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._canceled else GoalResponse.ACCEPT

    def _on_cancel(self, handle: Any) -> CancelResponse:
        """Accepted of a goal whose `on_goal` is still to begin, which finds it cancelled then."""
        begun = bytes(handle.goal_id.uuid) in self._begun
        return self._asked(handle) if begun else CancelResponse.ACCEPT

    def is_ready(self, wait_set: Any) -> bool:
        """Whether there is something to take; not another goal while one is received."""
        ready = super().is_ready(wait_set)
        if not (self._receiving and self._is_goal_request_ready):
            return ready
        self._is_goal_request_ready = False
        if self._is_cancel_request_ready or self._is_result_request_ready or self._is_goal_expired:
            return True
        time.sleep(PAUSE)  # the executor asks again at once
        return False

    def take_data(self) -> dict[str, Any]:
        """Take what is ready, but have a goal taken by a thread."""
        if self._is_goal_request_ready:
            self._is_goal_request_ready = False
            self._receiving, self._canceled = True, False
            threading.Thread(target=self._receive, name="receive", daemon=True).start()
        return super().take_data()

    def _receive(self) -> None:
        taken = (None, None)
        try:
            with self._handle:
                taken = self._taken_goal()
        except InvalidHandle:  # the server has been taken down
            pass
        finally:
            self._node.from_thread(self._on_taken, taken)

    def _taken_goal(self) -> tuple[Any, Any]:
        return self._handle.take_goal_request(self._action_type.Impl.SendGoalService.Request)

    async def _on_taken(self, taken: tuple[Any, Any]) -> None:
        try:
            if all(taken):
                await self._execute_goal_request(taken)
        finally:  # its client may be gone: the next one's goal is to be received all the same
            self._receiving = False

    async def _execute_cancel_request(self, taken: tuple[Any, Any]) -> None:
        await super()._execute_cancel_request(taken)
        if not any(taken[1].goal_info.goal_id.uuid):  # all goals
            self._canceled = True
