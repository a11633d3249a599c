"""Independent parts of some work: one after the other here, or side by side by an executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .executor import Executor, Function
from .journal import Journal
from .tasks import Report, gather

T = TypeVar("T")


@dataclass(frozen=True)
class SideBySide:
    """How independent parts are done; their results do not depend on it.

    executor  does several side by side [one after the other, in this process]
    folder    keeps the results of those that are done; these are not done again
    """

    executor: Executor | None = None
    folder: str | Path | None = None

    def __bool__(self) -> bool:
        """Whether an executor or a folder was asked for."""
        return self.executor is not None or self.folder is not None

    def results(
        self, function: Function, tasks: Sequence[Any], shared: Callable[[], Any],
        here: Callable[[int], T], *, report: Report | None = None, cancel: Any = None,
    ) -> list[T | None]:  # fmt: skip
        """Results in the order of the tasks; None for those not done when it was cancelled.

        function  of an executor: (shared, task, cancel) -> plain data
        shared    gives what all tasks need, where an executor or a folder asks for it
        here      does task k in this process: one task, or all without an executor; it may show how
                  far it is and, where it is cancelled, return the best so far
        report    called with (done, all) where an executor does them
        """
        if self.executor is not None and len(tasks) > 1:
            return gather(
                function, tasks, shared(), executor=self.executor, folder=self.folder,
                progress=report, cancel=cancel,
            )  # fmt: skip
        found: list[T | None] = [None] * len(tasks)
        with ExitStack() as stack:
            journal = None
            if self.folder is not None:
                journal = stack.enter_context(Journal(self.folder, function, shared()))
            for k, task in enumerate(tasks):
                key = "" if journal is None else journal.key(task)
                if journal is not None and key in journal:
                    found[k] = journal[key]
                    continue
                found[k] = here(k)
                if getattr(cancel, "cancelled", False):
                    break
                if journal is not None:
                    journal.add(key, found[k])
        return found


ALONE = SideBySide()
"""One after the other in this process, nothing kept."""
