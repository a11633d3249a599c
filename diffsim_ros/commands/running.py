"""Long work under Ctrl-C: a worker thread, a cancel token, and progress on stderr."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

T = TypeVar("T")
POLL = 0.05  # seconds between checks of the worker
LATE = 0.5  # seconds after which the rest of some work is estimated
GRACE = 5.0  # seconds a cancelled worker has to end after a second Ctrl-C


class ProgressLine:
    """One line of progress: rewritten in place on a terminal, else a new line every `every` s.

    As a context it is closed at the end.
    """

    def __init__(self, stream: TextIO | None = None, every: float = 2.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self._terminal = self.stream.isatty()
        self._last, self._phase, self._width = -1e9, "", 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, progress: Any) -> None:
        """Show a Progress(phase, iteration, objective, fraction_done, seconds_left).

        What is not known is None or NaN.
        """
        shown = (
            (progress.iteration, "iteration {}".format),
            (progress.objective, "objective {:.6g}".format),
            (progress.fraction_done, lambda share: f"{100 * share:.0f} %"),
            (progress.seconds_left, lambda left: f"{seconds(left)} left"),
        )
        known = [word(value) for value, word in shown if value is not None and value == value]
        parts = [progress.phase, *known]
        self.show("  ".join(parts), progress.phase)

    def show_part(self, text: str) -> None:
        """Show a line whose phase is what stands before its first comma."""
        self.show(text, text.partition(",")[0])

    def show(self, text: str, phase: str = "") -> None:
        """Show a line, unless one of the same phase was shown a moment ago."""
        now = time.monotonic()
        pause = 0.1 if self._terminal else self.every
        if phase == self._phase and now - self._last < pause:
            return
        self._last, self._phase = now, phase
        if self._terminal:
            self.stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def count(self, what: str) -> Callable[[int, int], None]:
        """Shows "12 of 40 members" when it is called with (12, 40)."""
        return lambda done, count: self.show(f"{done} of {count} {what}", what)

    def close(self) -> None:
        """End the line on a terminal."""
        if self._terminal and self._width:
            self.stream.write("\n")
            self.stream.flush()
            self._width = 0


@contextlib.contextmanager
def asked_executor(options: argparse.Namespace) -> Iterator[Any]:
    """What --ray asked for, closed at the end; None without it."""
    if options.ray is None:
        yield None
        return
    from diffsim_ros.executors import executor_of

    with executor_of(options.ray) as executor:
        yield executor


def seconds(value: float) -> str:
    """A duration in words, e.g. "1 min 20 s"."""
    whole = max(0, round(value))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


@contextlib.contextmanager
def handled(
    handler: Callable[[int, Any], object], numbers: Sequence[int] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[None]:
    """Signals call handler(number, frame) inside the block; not outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def share_done(line: ProgressLine, phase: str, done: int, whole: int, since: float) -> None:
    """Show how much of the work is done and the time that it will take [s], once that is known.

    since  time.monotonic() when it began
    """
    spent = time.monotonic() - since
    if done and spent > LATE:
        left = seconds(spent * (whole - done) / done)
        line.show(f"{phase}: {100 * done // whole} %  {left} left", f"{phase} share")


def run_cancellable(
    work: Callable[[Any], T], *, line: ProgressLine | None = None,
    watch: Callable[[Any], object] | None = None,
) -> T:  # fmt: skip
    """Run `work(cancel_token)` in a thread; return what it returns, raise what it raises.

    watch  called with the token again and again meanwhile, to show how far it is
    The first Ctrl-C (or SIGTERM) cancels the token, so that the work returns the best so far; the
    second raises KeyboardInterrupt.  Long calls into the engine do not delay either.
    """
    from diffsim_ros import _engine

    token, line, presses = _engine.CancelToken(), line or ProgressLine(), []
    outcome: dict[str, Any] = {}

    def target() -> None:
        try:
            outcome["value"] = work(token)
        except BaseException as error:
            outcome["error"] = error

    def pressed(*_: object) -> None:
        presses.append(time.monotonic())
        token.cancel()

    worker = threading.Thread(target=target, name="diffsim-work", daemon=True)
    reported = 0
    with handled(pressed):
        worker.start()
        while worker.is_alive():
            worker.join(POLL)
            if watch is not None and not presses and worker.is_alive():
                watch(token)
            if presses and not reported:
                reported = 1
                line.close()
                line.show("stopping, the best so far is kept (Ctrl-C again to give up)", "stopping")
            if len(presses) > 1:
                worker.join(GRACE)
                raise KeyboardInterrupt
    line.close()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
