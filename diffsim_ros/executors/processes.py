"""Tasks in processes of this machine: for work in Python, which threads would do in turn."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

from .executor import (
    Chunk,
    ChunkResult,
    Function,
    Session,
    WorkerLost,
    portable,
    work,
)
from .in_process import LocalExecutor

RETRIES = 3
"""Times that the work of lost processes is done again."""

_given: tuple[Function, Any] | None = None
"""Function and shared data of this worker process."""


class Processes(LocalExecutor):
    """Processes that share nothing; the function must be one that can be imported."""

    def _session(self, function: Function, shared: Any) -> Session:
        return _Pool(pickle.dumps((function, shared)), self._workers)


class _Pool(Session):
    """A pool, and another one in its place where one of its processes was lost."""

    def __init__(self, given: bytes, workers: int) -> None:
        self._given, self._workers, self._lost = given, workers, 0
        self._pool = self._new()
        self._futures: dict[int, Future[ChunkResult]] = {}
        self._chunks: dict[int, Chunk] = {}
        self._count = 0

    def _new(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, _begin, (self._given,))

    def submit(self, chunk: Chunk) -> int:
        self._count += 1
        self._chunks[self._count] = chunk
        try:
            self._futures[self._count] = self._pool.submit(_work, chunk)
        except BrokenExecutor:
            self._again()
        return self._count

    def wait(self, handles: Collection[int], seconds: float) -> list[int]:
        found = wait([self._futures[one] for one in handles], seconds, FIRST_COMPLETED).done
        if any(isinstance(one.exception(), BrokenExecutor) for one in found):
            self._again()
            return []
        return [one for one in handles if self._futures[one] in found]

    def outcome(self, handle: int, chunk: Chunk) -> ChunkResult:
        del self._chunks[handle]
        return self._futures.pop(handle).result()

    def _again(self) -> None:
        """All chunks in flight once more: a pool that lost a process has lost them all."""
        self._lost += 1
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._lost > RETRIES:
            indices = sorted(index for chunk in self._chunks.values() for index, _ in chunk)
            raise WorkerLost(
                f"{self._lost} times a process ended by itself while it did tasks of {indices[:20]}"
            )
        self._pool = self._new()
        for handle, chunk in self._chunks.items():
            one = self._futures.get(handle)
            if one is None or not one.done() or one.exception() is not None:
                self._futures[handle] = self._pool.submit(_work, chunk)

    def __exit__(self, *_: object) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._chunks:  # in flight, and not wanted any more
            for one in processes:
                one.terminate()
        for one in processes:
            one.join()


def _begin(given: bytes) -> None:
    global _given
    _given = pickle.loads(given)


def _work(chunk: Chunk) -> ChunkResult:
    from diffsim_ros._engine import CancelToken

    assert _given is not None
    return portable(work(*_given, chunk, CancelToken()))
