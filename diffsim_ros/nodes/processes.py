"""Nodes as processes, without `launch`: started, watched, and ended with the caller."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import yaml

from diffsim_ros.commands.running import handled
from diffsim_ros.errors import InputError
from diffsim_ros.nodes.common import share_folder
from diffsim_ros.nodes.starting import OWN_WORLD, SIGNALS, heeded

DOMAINS = range(1, 101)
"""Numbers of domains whose ports collide with nothing else on Linux."""
GRACE = 10.0
"""Seconds that a node has to end after a signal."""
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """A ROS_DOMAIN_ID that no other demo or test run of this machine uses, on this machine only.

    Sets ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST for this process and its
    children. Raises InputError if all are taken.
    """
    names = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    before = {name: os.environ.get(name) for name in names}
    number, lock = _locked_domain()
    os.environ.update(zip(names, (str(number), "LOCALHOST"), strict=True))
    try:
        yield number
    finally:
        lock.close()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _locked_domain() -> tuple[int, TextIO]:
    """A domain and the open file whose lock reserves it (tools/setup.sh locks the same files)."""
    for number in random.sample(DOMAINS, len(DOMAINS)):
        path = Path(tempfile.gettempdir()) / f"diffsim_ros_domain_{number}.lock"
        try:
            lock = path.open("a")
        except OSError:  # another user's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return number, lock
    taken = f"{DOMAINS.start} to {DOMAINS.stop - 1} are taken"
    raise InputError("demo", "ROS_DOMAIN_ID", taken, "a free one", "end other runs")


def within(namespace: str) -> list[str]:
    """Arguments after --ros-args of a node in a namespace with a clock and frames of its own."""
    if not namespace:
        return []
    rules = (("__ns", f"/{namespace}"), *OWN_WORLD)
    return [word for old, new in rules for word in ("-r", f"{old}:={new}")]


class NodeProcesses:
    """Processes of nodes; use as a context, which ends them all however it is left.

    logs  folder for what they print, NAME.log each
    """

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.running: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(
        self, name: str, parameters: Mapping[str, Any] | None = None, namespace: str = ""
    ) -> None:
        """Start the node `name` with config/nodes/NAME.yaml and the parameters given here.

        namespace  that it runs in, with a clock and frames of its own; "": none
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        arguments = ["--params-file", str(share_folder() / "config" / "nodes" / f"{name}.yaml")]
        for key, value in (parameters or {}).items():
            text = yaml.safe_dump(value, default_flow_style=True, width=10**6).splitlines()[0]
            arguments += ["-p", f"{key}:={text}"]
        arguments += within(namespace)
        command = [sys.executable, "-m", f"diffsim_ros.nodes.{name}", "--ros-args", *arguments]
        name = f"{namespace}.{name}".lstrip(".")
        with (self.logs / f"{name}.log").open("w", encoding="utf-8") as log, _signals_held():
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROS_LOG_DIR": str(self.logs), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # a Ctrl-C reaches the caller, who ends them in order
                preexec_fn=_in_the_child,
            )

    def check(self) -> None:
        """Raise InputError with the last lines of its log if a node has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                log = self.logs / f"{name}.log"
                last = " | ".join(log.read_text(encoding="utf-8").splitlines()[-3:])
                raise InputError(log, f"node {name}", f"exit code {process.returncode}: {last}",
                                 "a node that runs until the end")  # fmt: skip

    def end(self) -> dict[str, int]:
        """Interrupt all, wait, kill what is left; return the exit codes by name.

        An impatient second Ctrl-C waits meanwhile: it would leave nodes behind.
        """
        with _signals_held():
            return self._ended()

    def _ended(self) -> dict[str, int]:
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        limit = time.monotonic() + GRACE
        codes = {}
        for name, process in self.running.items():
            try:
                codes[name] = process.wait(max(limit - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                codes[name] = process.wait()
        self.running.clear()
        return codes


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Signals wait, so that none comes between a process' start and its entry in the processes.

    Handlers are exchanged rather than masked: the middleware's threads receive signals as well.
    """
    came: list[int] = []
    with handled(lambda number, _: came.append(number), heeded()):
        yield
    for number in came:
        signal.raise_signal(number)


def _in_the_child() -> None:
    """Get SIGTERM when the parent dies (Linux); block signals until the node can handle them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
