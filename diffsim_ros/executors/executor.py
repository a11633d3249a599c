"""What an executor is, and the loop that all of them share."""

from __future__ import annotations

import pickle
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import InputError, NotConverged, shown

Function = Callable[[Any, Any, Any], Any]
"""(shared, task, cancel) -> result; cancel is an _engine.CancelToken, for the engine's calls.

In this process it is cancelled where the run is stopped; workers elsewhere are ended instead.
"""
Tasks = Sequence[Any] | Mapping[int, Any]
POLL = 0.05
"""Longest time until a cancelled run is seen [s]."""
AHEAD = 2
"""Chunks in flight by worker: the next one is there when a worker has done its own."""
CHUNK = 1.0
"""Seconds that a chunk of short tasks is to take, much above the cost of sending it."""


class Executor(Protocol):
    """Runs one function on many tasks.

    As a context it is closed at the end: workers that it started are stopped.
    """

    @property
    def workers(self) -> int:
        """Tasks that run at the same time."""
        ...

    def run(
        self, function: Function, tasks: Tasks, shared: Any = None, *, cancel: Any = None
    ) -> Iterator[tuple[int, Any]]:
        """(index, function(shared, task, cancel)) of every task once, in order of completion.

        tasks   in order, or index -> task
        shared  what all tasks need, such as a scene and data; it goes to every worker once
        cancel  ends the iteration early when its `cancelled` turns true
        An exception of a task ends the run at once and is raised with the task named.
        """
        ...

    def close(self) -> None:
        """Stop what was started."""
        ...

    def __enter__(self) -> Executor: ...
    def __exit__(self, *_: object) -> None: ...


class WorkerLost(NotConverged):
    """Workers ended again and again while they did the same tasks."""


@dataclass(frozen=True)
class Failure:
    """The exception of a task, as it comes from a worker."""

    index: int
    error: BaseException
    text: str


@dataclass(frozen=True)
class ChunkResult:
    """What a worker did of a chunk: results, seconds that they took, what ended it early."""

    results: list[tuple[int, Any]]
    seconds: float
    failure: Failure | None = None


Chunk = list[tuple[int, Any]]


def work(function: Function, shared: Any, chunk: Chunk, cancel: Any) -> ChunkResult:
    """Do the tasks of a chunk one after the other."""
    begun, results = time.perf_counter(), list[tuple[int, Any]]()
    for index, task in chunk:
        if cancel.cancelled:
            break
        try:
            result = function(shared, task, cancel)
        except Exception as error:
            failure = Failure(index, error, traceback.format_exc(limit=-5))
            return ChunkResult(results, time.perf_counter() - begun, failure)
        if cancel.cancelled:  # it may have been cut short
            break
        results.append((index, result))
    return ChunkResult(results, time.perf_counter() - begun)


def portable(outcome: ChunkResult) -> ChunkResult:
    """The outcome with an exception that can be sent."""
    failure = outcome.failure
    if failure is None:
        return outcome
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        error = RuntimeError(f"{type(failure.error).__name__}: {failure.error}")
        failure = Failure(failure.index, error, failure.text)
    return ChunkResult(outcome.results, outcome.seconds, failure)


class Session(AbstractContextManager["Session", None], ABC):
    """One run of an executor; at its end everything still in flight is stopped."""

    @abstractmethod
    def submit(self, chunk: Chunk) -> Any:
        """Send a chunk; return its handle."""

    @abstractmethod
    def wait(self, handles: Collection[Any], seconds: float) -> list[Any]:
        """Handles of those that are done, after at most so many seconds."""

    @abstractmethod
    def outcome(self, handle: Any, chunk: Chunk) -> ChunkResult:
        """What came of a chunk that is done; WorkerLost where nothing does."""


class ChunkedExecutor(ABC):
    """An executor that sends chunks: short tasks travel together, few chunks are in flight."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Tasks that run at the same time."""

    @abstractmethod
    def _session(self, function: Function, shared: Any) -> Session: ...

    def close(self) -> None:
        """Stop what was started."""
        return None

    def __enter__(self) -> ChunkedExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, function: Function, tasks: Tasks, shared: Any = None, *, cancel: Any = None
    ) -> Iterator[tuple[int, Any]]:
        """See Executor."""
        waiting = _Waiting(tasks)
        if not waiting.left:
            return
        running: dict[Any, Chunk] = {}
        with self._session(function, shared) as session:
            while True:
                if getattr(cancel, "cancelled", False):
                    return
                workers = self.workers
                while waiting.left and len(running) < AHEAD * workers:
                    chunk = waiting.chunk(workers)
                    running[session.submit(chunk)] = chunk
                if not running:
                    return
                for handle in session.wait(list(running), POLL):
                    outcome = session.outcome(handle, running[handle])
                    yield from waiting.received(running.pop(handle), outcome)


class _Waiting:
    """Tasks that are still to be sent, and how long those that are done took."""

    def __init__(self, tasks: Tasks) -> None:
        pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
        self._all: Chunk = list(pairs)
        self._next, self._done, self._seconds = 0, 0, 0.0

    @property
    def left(self) -> int:
        return len(self._all) - self._next

    def chunk(self, workers: int) -> Chunk:
        """The next tasks: one until it is known how long one takes, few towards the end."""
        count = 1
        if self._done:
            mean = max(self._seconds / self._done, 1e-9)
            count = int(max(1, min(CHUNK / mean, self.left / (AHEAD * workers))))
        found = self._all[self._next : self._next + count]
        self._all[self._next : self._next + count] = [(i, None) for i, _ in found]
        self._next += count
        return found

    def received(self, chunk: Chunk, outcome: ChunkResult) -> Iterator[tuple[int, Any]]:
        """Results of a chunk, each index once; its exception is raised after them."""
        self._done += len(outcome.results)
        self._seconds += outcome.seconds
        yield from outcome.results
        indices = [index for index, _ in chunk]
        if outcome.failure is not None:
            raise named(outcome.failure, dict(chunk)[outcome.failure.index])
        if [index for index, _ in outcome.results] != indices:
            raise RuntimeError(f"tasks {indices[0]} to {indices[-1]}: results do not match")


def named(failure: Failure, task: Any) -> BaseException:
    """The exception of a task with the task's index and content."""
    error, name = failure.error, f"task {failure.index}"
    if type(error) is InputError:
        place = f"{name}: {error.place}" if error.place else name
        return InputError(place, error.key, error.value, error.accepted, error.remedy)
    if type(error) is NotConverged:
        return NotConverged(f"{name}: {error}")
    error.add_note(f"{name}: {shown(task)}\n{failure.text}")
    return error
