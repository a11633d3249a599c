"""What is watched while it runs, until somebody or something halts it."""

from __future__ import annotations

import traceback

from rclpy.task import Future


class WatchedRun:
    """Halted once, with the reason ("": it came to its end); `_look` is called at every tick.

    Everything happens in the supervision's thread.
    """

    def __init__(self) -> None:
        self._halted = Future()

    def _look(self) -> None:
        """What is wrong, due, or to be reported now."""
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
