"""One request of a driver: its run, and whether it is cancelled, in any of its phases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.jobs import answered

LOOK = 0.02
"""[s] between two checks of a condition that is waited for."""


class Cancellable(Protocol):
    """A motion that can be given up (motion_run.MotionRun, walk_run.WalkRun)."""

    def cancel(self, why: str) -> None: ...
    def shown(self) -> str: ...


class Canceled(Exception):
    """A motion was cancelled while it was checked."""


@dataclass
class MotionJob:
    """One request: its client, its motion, and whether it is cancelled.

    why    the reason it was cancelled for, "" while it runs;  stop  is set then
    dry    True: it was requested in a dry run, and is not sent whatever is set meanwhile
    plan   name of what it carries out, once that is known and where it has one
    ended  True once its outcome is decided: it cannot be cancelled any more
    """

    name: str
    run: Cancellable
    dry: bool = False
    why: str = ""
    plan: str = ""
    ended: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def cancel(self, why: str) -> None:
        """Cancel it, in any phase."""
        self.why = self.why or why
        self.stop.set()
        self.run.cancel(why)

    def go_on(self) -> None:
        """Raise Canceled if it was cancelled."""
        if self.stop.is_set():
            raise Canceled

    def waited(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, at most `seconds`; raises Canceled."""
        end = monotonic() + seconds
        while not condition():
            self.go_on()
            if monotonic() >= end:
                return False
            self.stop.wait(LOOK)
        return True


async def reported(handle: Any, work: Coroutine[Any, Any, Report]) -> Report:
    """The report of a driver's work on a goal; CANCELED where that was cancelled before."""
    if handle.is_cancel_requested:
        work.close()
        return Report("CANCELED", "on request; nothing was sent")
    return await answered(work, Report, "REFUSED")
