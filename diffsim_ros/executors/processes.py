"""Tasks in processes of this machine: for work in Python, which threads would do in turn."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from tempfile import NamedTemporaryFile
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

_given: tuple[str, Function, Any] | None = None
"""Of this worker process: the file of the present run, its function and shared data."""


class Processes(LocalExecutor):
    """Processes that share nothing; the function must be one that can be imported.

    They are kept for the next run until the executor is closed, or forgotten.
    """

    def __init__(self, workers: int = 0) -> None:
        super().__init__(workers)
        self._kept: ProcessPoolExecutor | None = None

    def close(self) -> None:
        """Stop the processes."""
        pool, self._kept = self._kept, None
        if pool is not None:
            pool.shutdown()

    def _session(self, function: Function, shared: Any) -> Session:
        return _Pool(self, pickle.dumps((function, shared)))

    def take(self) -> ProcessPoolExecutor:
        """A pool for one run alone."""
        pool, self._kept = self._kept, None
        return pool or ProcessPoolExecutor(self._workers, get_context("spawn"))

    def keep(self, pool: ProcessPoolExecutor) -> None:
        """A pool that a run has ended with and that works; one is kept."""
        if self._kept is None:
            self._kept = pool
        else:
            pool.shutdown()


class _Pool(Session):
    """A pool, and another one in its place where one of its processes was lost.

    What a run gives to every process lies in a file, which each reads once.
    """

    def __init__(self, owner: Processes, given: bytes) -> None:
        self._owner, self._lost = owner, 0
        with NamedTemporaryFile(prefix="diffsim_run_", delete=False) as file:
            file.write(given)
        self._file = file.name
        self._pool = owner.take()
        self._futures: dict[int, Future[ChunkResult]] = {}
        self._chunks: dict[int, Chunk] = {}
        self._count = 0

    def submit(self, chunk: Chunk) -> int:
        self._count += 1
        self._chunks[self._count] = chunk
        try:
            self._futures[self._count] = self._pool.submit(_work, self._file, chunk)
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
        self._pool = self._owner.take()
        for handle, chunk in self._chunks.items():
            one = self._futures.get(handle)
            if one is None or not one.done() or one.exception() is not None:
                self._futures[handle] = self._pool.submit(_work, self._file, chunk)

    def __exit__(self, kind: object, *_: object) -> None:
        os.unlink(self._file)
        if not self._chunks and kind is None:
            self._owner.keep(self._pool)
            return
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for one in processes:  # what is in flight is not wanted any more
            one.terminate()
        for one in processes:
            one.join()


def _work(file: str, chunk: Chunk) -> ChunkResult:
    from diffsim_ros._engine import CancelToken

    global _given
    if _given is None or _given[0] != file:
        _given = None  # what the last run gave may be large
        with open(file, "rb") as opened:
            _given = (file, *pickle.load(opened))
    return portable(work(*_given[1:], chunk, CancelToken()))
