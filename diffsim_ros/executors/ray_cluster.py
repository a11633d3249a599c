"""Tasks on a Ray cluster (extra `ray`)."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import socket
import sys
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import InputError
from .executor import (
    Chunk,
    ChunkedExecutor,
    ChunkResult,
    Function,
    Session,
    WorkerLost,
    portable,
    work,
)
from .fingerprint import build
from .in_process import checked_workers

RETRIES = 5
"""Times that Ray does the chunk of a lost worker again."""
ANSWER = 5.0
"""Seconds that an address has to answer."""
RECOUNT = 2.0
"""Seconds after which the cluster's CPUs are counted again: nodes come and go."""
ACCEPTED = "local, HOST:PORT of a Ray cluster's head, or ray://HOST:PORT of its client server"

_given: dict[str, tuple[Function, Any]] = {}
"""Function and shared data that this worker process was sent last, by their hash."""


class RayExecutor(ChunkedExecutor):
    """Ray's own scheduling and retries; function and shared data go to every node once.

    address  "local": a cluster of this machine; HOST:PORT: one that this machine is a node of;
             ray://HOST:PORT: one reached through its client server
    workers  of a local cluster, 0: as many as there are cores
    Raises InputError where Ray is not installed or nothing answers.
    """

    def __init__(self, address: str = "local", workers: int = 0) -> None:
        self.address, self._workers = address, checked_workers(workers)
        check_address(address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray, self._counted, self._started = ray, -1e9, not ray.is_initialized()
        if self._started:
            self._connect()
        self._remote = ray.remote(_work).options(max_retries=RETRIES, num_cpus=1)
        self._sent: tuple[str, Any] = ("", None)

    def _connect(self) -> None:
        options: dict[str, Any]
        if self.address != "local":
            options = {"address": self.address}
        else:
            options = {"address": "local", "num_cpus": self._workers, "include_dashboard": False,
                       "_node_ip_address": "127.0.0.1"}  # fmt: skip
        try:
            self._ray.init(log_to_driver=False, logging_level="error", **options)
        except Exception as error:  # of several kinds, by what does not answer
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError("ray", "address", self.address, ACCEPTED, line[:200]) from error

    @property
    def workers(self) -> int:
        """CPUs of the cluster."""
        if time.monotonic() > self._counted + RECOUNT:
            self._workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._counted = time.monotonic()
        return self._workers

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        if self._started and self._ray.is_initialized():
            self._ray.shutdown()

    def _session(self, function: Function, shared: Any) -> Session:
        try:
            content = self._ray.cloudpickle.dumps((function, shared))
        except Exception as error:
            rule = "a function and shared data that can be pickled"
            raise InputError("ray", "shared", f"{type(error).__name__}: {error}", rule) from error
        key = hashlib.sha256(content).hexdigest()
        if key != self._sent[0]:  # one run after another of the same: nodes have it already
            # as an array it is not copied out of the node's memory for every chunk
            self._sent = key, self._ray.put(np.frombuffer(content, np.uint8))
        return _RaySession(self._ray, self._remote, *self._sent)


class _RaySession(Session):
    """Chunks as Ray tasks; those in flight at the end are cancelled, their workers ended."""

    def __init__(self, ray: Any, remote: Any, key: str, content: Any) -> None:
        self._ray, self._remote, self._key, self._content = ray, remote, key, content
        self._flying: set[Any] = set()

    def submit(self, chunk: Chunk) -> Any:
        handle = self._remote.remote(self._content, self._key, build(), chunk)
        self._flying.add(handle)
        return handle

    def wait(self, handles: Collection[Any], seconds: float) -> list[Any]:
        first, _ = self._ray.wait(list(handles), num_returns=1, timeout=seconds)
        if not first:
            return []
        return list(self._ray.wait(list(handles), num_returns=len(handles), timeout=0)[0])

    def outcome(self, handle: Any, chunk: Chunk) -> ChunkResult:
        self._flying.discard(handle)
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle)
        except errors.RayTaskError as error:  # nothing of the task's own: `work` keeps that
            cause = getattr(error, "cause", None)
            if isinstance(cause, InputError):
                raise cause from None
            line = str(cause or error).strip().splitlines()[-1]
            rule = "workers that can do tasks"
            remedy = "the same diffsim_ros on every node"
            raise InputError("ray", "worker", line[:300], rule, remedy) from error
        except errors.RayError as error:
            indices = [index for index, _ in chunk]
            span = f"task {indices[0]}" if len(chunk) == 1 else f"tasks {indices[0]} and following"
            line = str(error).strip().splitlines()[0]
            raise WorkerLost(f"{span}: {RETRIES + 1} workers were lost: {line[:300]}") from error

    def __exit__(self, *_: object) -> None:
        for handle in self._flying:
            self._ray.cancel(handle, force=True)
        self._flying.clear()


def _work(content: np.ndarray, key: str, driver: str, chunk: Chunk) -> ChunkResult:
    """A chunk on a worker."""
    from diffsim_ros._engine import CancelToken

    if build() != driver:
        rule = f"the driver's build of diffsim_ros, {driver}"
        remedy = "install the same wheel on every node"
        raise InputError(f"node {socket.gethostname()}", "build", build(), rule, remedy)
    if key not in _given:
        _given.clear()
        _given[key] = pickle.loads(content.data)
    return portable(work(*_given[key], chunk, CancelToken()))


def check_address(address: object) -> None:
    """InputError for what is no address, where Ray is not installed, or where nothing answers."""
    text = address.removeprefix("ray://") if isinstance(address, str) else ""
    host, _, port = text.rpartition(":")
    if address != "local" and (not host or not port.isdigit() or not 0 < int(port) < 65536):
        raise InputError("ray", "address", address, ACCEPTED)
    if sys.modules.get("ray", 0) is None or importlib.util.find_spec("ray") is None:
        rule = "an executor for which Ray is installed"
        raise InputError("ray", "address", address, rule, "pip install ray")
    if address == "local":
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = f"{reason}: is `ray start --head` running there?"
        raise InputError("ray", "address", address, ACCEPTED, remedy) from error
