"""Long work of a node: one job at a time in a thread, with feedback, cancelled cleanly."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future

from diffsim_ros._engine import CancelToken
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.nodes.common import BaseNode


class Job:
    """The one job of a node; the executor stays free for everything else.

    noun  what it is, for answers and the thread, e.g. "estimation"
    name  of the request that runs, "" if none does
    """

    def __init__(self, node: BaseNode, noun: str) -> None:
        self.noun, self.name = noun, ""
        self._node = node
        self._thread: threading.Thread | None = None
        self._cancel: CancelToken | None = None

    def busy(self) -> str:
        """Why another job cannot start now, "" if it can."""
        if not self.name:
            return ""
        article = "an" if self.noun[0] in "aeiou" else "a"
        return f"{article} {self.noun} is running ({self.name}); nothing was started"

    async def run(self, name: str, work: Callable[[CancelToken], Any]) -> Any:
        """The result of `work(cancel token)` in a thread; raises what it raises."""
        done, cancel = Future(), CancelToken()

        def body() -> None:
            try:
                result = work(cancel)
            except Exception as error:  # whoever waits must get it
                self._node.from_thread(done.set_exception, error)
            else:
                self._node.resolve(done, result)

        self.name, self._cancel = name, cancel
        self._thread = threading.Thread(target=body, name=self.noun)
        self._thread.start()
        try:
            return await done
        finally:
            self.name = ""

    def on_cancel(self, handle: Any) -> CancelResponse:
        """Stop the running job if it is this goal's."""
        if self.name != goal_name(handle):
            return CancelResponse.REJECT
        self._cancel.cancel()
        return CancelResponse.ACCEPT

    def close(self) -> None:
        """Stop a running job and let its answer go out."""
        if self._cancel is not None:
            self._cancel.cancel()
        if self._thread is not None:
            self._thread.join()
        self._node.flush()


class JobNode(BaseNode):
    """A node with long jobs, one at a time, each a goal of one action.

    noun  what a job is, as in Job
    """

    def __init__(self, name: str, noun: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._job = Job(self, noun)

    def offer(
        self, kind: type, name: str, on_goal: Callable[[Any], Awaitable[Any]],
        on_cancel: Callable[[Any], CancelResponse] | None = None,
    ) -> None:  # fmt: skip
        """Serve the action: every goal is accepted and answered, a running job can be cancelled.

        on_cancel  in place of the job's
        """
        self._action = ActionServer(
            self,
            kind,
            name,
            on_goal,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=on_cancel or self._job.on_cancel,
            callback_group=self.together,
        )

    def close(self) -> None:
        """Stop a running job and let its answer go out."""
        self._job.close()

    def destroy_node(self) -> None:
        """Take the action server down too: it would keep the node alive and be found by clients."""
        self._action.destroy()
        super().destroy_node()


def goal_name(handle: Any) -> str:
    """A short name of an action's goal."""
    return "goal " + bytes(handle.goal_id.uuid).hex()[:8]


def shown(configuration: str) -> str:
    """A configuration in a message: its path, or that it is text."""
    return "YAML text" if "\n" in configuration else configuration


def feedback_of(
    node: BaseNode, handle: Any, message: Callable, rate: float, phase: Callable = lambda *_: ""
) -> Callable:
    """A function for progress, from any thread: at most `rate` messages a second, each new phase.

    message, phase  (progress) -> feedback message, text
    """
    pause, published, last = 1.0 / rate, 0.0, None

    def feedback(*progress: Any) -> None:
        nonlocal published, last
        now, here = time.monotonic(), phase(*progress)
        if here != last or now - published >= pause:
            published, last = now, here
            node.from_thread(handle.publish_feedback, message(*progress))

    return feedback


def finish(handle: Any, code: str) -> None:
    """Set the goal's state: succeeded, canceled on request, else aborted."""
    if code == "SUCCESS":
        handle.succeed()
    elif code == "CANCELED" and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()


async def answered(
    work: Awaitable[Any], answer: Callable[[str, str], Any], unusable: str = "INVALID_CONFIGURATION"
) -> Any:
    """What `work` returns, or `answer(code, one line)` of what it raises, by `explained`.

    rclpy aborts a goal whose callback raises with an empty result, and its code 0 means SUCCESS.
    """
    try:
        return await work
    except Exception as error:
        return answer(*explained(error, unusable))


def explained(error: Exception, unusable: str) -> tuple[str, str]:
    """Code and one line of what a job raised; `unusable` is the code of bad input."""
    if isinstance(error, InputError):
        return unusable, str(error)
    if isinstance(error, NotConverged):
        return "NOT_CONVERGED", str(error)
    if not isinstance(error, OSError):
        traceback.print_exception(error)
    return "INTERNAL", f"{type(error).__name__}: {error}"
