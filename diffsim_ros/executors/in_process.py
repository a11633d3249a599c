"""Tasks on threads of this process: for the engine's long calls, which release the GIL."""

from __future__ import annotations

import os
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ..fields import whole_number
from .executor import Chunk, ChunkedExecutor, ChunkResult, Function, Session, work


class LocalExecutor(ChunkedExecutor):
    """Workers of this machine.

    workers  0: as many as there are cores
    """

    def __init__(self, workers: int = 0) -> None:
        self._workers = checked_workers(workers)

    @property
    def workers(self) -> int:
        """Tasks that run at the same time."""
        return self._workers


class InProcess(LocalExecutor):
    """Threads that share the function and the shared data as they are."""

    def _session(self, function: Function, shared: Any) -> Session:
        return _Threads(function, shared, self._workers)


class _Threads(Session):
    """Tasks in flight are cancelled at the end, and waited for."""

    def __init__(self, function: Function, shared: Any, workers: int) -> None:
        from diffsim_ros import _engine

        self._function, self._shared, self._token = function, shared, _engine.CancelToken()
        self._pool = ThreadPoolExecutor(workers, "diffsim task")

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        return self._pool.submit(work, self._function, self._shared, chunk, self._token)

    def wait(self, handles: Collection[Any], seconds: float) -> list[Any]:
        return list(wait(handles, seconds, FIRST_COMPLETED).done)

    def outcome(self, handle: Future[ChunkResult], chunk: Chunk) -> ChunkResult:
        return handle.result()

    def __exit__(self, *_: object) -> None:
        self._token.cancel()
        self._pool.shutdown(cancel_futures=True)


def checked_workers(workers: object) -> int:
    """A number of workers, 0 for every core; InputError for anything else."""
    return whole_number("executor", "workers", workers, 0) or os.cpu_count() or 1
