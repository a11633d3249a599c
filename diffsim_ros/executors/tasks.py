"""What users call: tasks by an executor, with progress, and results kept in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import InputError
from .executor import Executor, Function
from .in_process import InProcess
from .journal import Journal
from .ray_cluster import RayExecutor

Report = Callable[[int, int], None]
"""Called with (done, all)."""


def stream(
    function: Function, tasks: Sequence[Any], shared: Any = None, *,
    executor: Executor | None = None, folder: str | Path | None = None,
    progress: Report | None = None, cancel: Any = None,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    """(index, function(shared, task, cancel)) of every task once, as they are done.

    executor  [threads of this process]
    folder    keeps the results (plain data: numbers, texts, arrays, lists, tuples, dicts); those
              that it has, of the same function, shared data and task, come first
    progress  called with (done, all)
    cancel    ends the iteration when its `cancelled` turns true
    Raises what a task raises, with the task named; InputError for a folder that cannot be used.
    """
    with ExitStack() as stack:
        journal = None
        left, keys, done = dict(enumerate(tasks)), {}, 0
        if folder is not None:
            journal = stack.enter_context(Journal(folder, function, shared))
            keys = {index: journal.key(task) for index, task in left.items()}
            for index, key in keys.items():
                if key in journal:
                    del left[index]
                    done += 1
                    yield index, journal[key]
        if progress is not None:
            progress(done, len(tasks))
        chosen = executor or stack.enter_context(InProcess())
        for index, result in chosen.run(function, left, shared, cancel=cancel):
            if index not in left:
                raise RuntimeError(f"task {index}: it came twice, or was not asked for")
            del left[index]
            if journal is not None:
                journal.add(keys[index], result)
            done += 1
            if progress is not None:
                progress(done, len(tasks))
            yield index, result
        if left and not getattr(cancel, "cancelled", False):
            raise RuntimeError(f"{len(left)} tasks without a result, the first {min(left)}")


def gather(
    function: Function, tasks: Sequence[Any], shared: Any = None, *,
    executor: Executor | None = None, folder: str | Path | None = None,
    progress: Report | None = None, cancel: Any = None,
) -> list[Any]:  # fmt: skip
    """Results in the order of the tasks; None for those that were not done when cancelled.

    As `stream`.
    """
    found: list[Any] = [None] * len(tasks)
    for index, result in stream(
        function, tasks, shared, executor=executor, folder=folder, progress=progress,
        cancel=cancel,
    ):  # fmt: skip
        found[index] = result
    return found


def executor_of(address: str | None = None, workers: int = 0) -> Executor:
    """None: threads of this process; else a Ray cluster (RayExecutor), "local" for one here."""
    if address is None:
        return InProcess(workers)
    if workers and address != "local":
        rule = "0: a cluster has as many workers as it has CPUs"
        raise InputError("executor", "workers", workers, rule)
    return RayExecutor(address, workers)
