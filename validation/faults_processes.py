"""Processes of the fault study: programs on standby, their logs and their ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from .common import ROOT

MODULES = {
    "driver": "diffsim_ros.nodes.driver",
    "execute": "diffsim_ros.nodes.execute",
    "robot": "validation.faults_robot",
}
BAD = re.compile(
    r"Traceback|Exception ignored|terminate called|Fatal Python|Segmentation|a defect of the driver"
)
"""In a log: an exception that nobody caught."""


class Program:
    """One process that has imported its program; `begin` runs it.

    log    its standard output and error;  code  its exit code, None while it runs
    news   called when it has ended;  hand  file descriptor that it inherits
    """

    def __init__(self, name: str, log: Path, news: Callable[[], None], hand: int) -> None:
        self.name, self.log, self._news, self._read = name, log, news, 0
        with log.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "validation.faults_standby", MODULES[name]],
                stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT, pass_fds=(hand,),
                cwd=ROOT, text=True, start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "ROS_LOG_DIR": str(log.parent)},
            )  # fmt: skip
        self.code: int | None = None
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self) -> None:
        self.code = self._process.wait()
        self._news()

    def begin(self, arguments: Sequence[str], breaks: Sequence[str] = ()) -> Program:
        """Run it with these arguments."""
        self.say({"arguments": list(arguments), "breaks": list(breaks)})
        return self

    def say(self, what: dict) -> None:
        """One line of JSON to its standard input, where it still listens."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it has not ended."""
        if self.code is None:
            self._process.send_signal(number)

    def new_lines(self) -> list[str]:
        """What it has printed since the last call, whole lines."""
        with self.log.open(errors="replace") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole.encode(errors="replace"))
        return whole.splitlines()

    def close(self) -> None:
        """Kill it if it runs."""
        self.signal(signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()


class Pool:
    """Programs on standby, one of each name, in a folder of their logs."""

    def __init__(self, folder: Path, news: Callable[[], None], hand: int) -> None:
        self._folder, self._news, self._hand = folder, news, hand
        self._count = 0
        self._ready = {name: self._made(name) for name in MODULES}

    def _made(self, name: str) -> Program:
        self._count += 1
        return Program(name, self._folder / f"{self._count}_{name}.log", self._news, self._hand)

    def take(self, name: str) -> Program:
        """One to be begun; the next is made ready."""
        taken, self._ready[name] = self._ready[name], self._made(name)
        return taken

    def close(self) -> None:
        """End those that wait."""
        for program in self._ready.values():
            program.close()
