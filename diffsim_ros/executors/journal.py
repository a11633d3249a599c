"""Results on disk as they come: a stopped run goes on from them.

One file for a function and its shared data, JSON lines that are only ever added: first what the
file is of, then a line for each task that is done.  A process that is killed leaves whole lines and
at most the beginning of one, which is removed at the next start.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from ..errors import InputError
from .executor import Function
from .fingerprint import build, fingerprint
from .plain import from_line, to_line

SUFFIX = ".jsonl"
SYNC = 1.0
"""Seconds after which what was written is forced to the disk: a crash of the machine loses less."""


class Journal:
    """Results of one function on one set of shared data, by the content of the tasks.

    Made anew where function, shared data or the package's build differ: results of other input are
    in other files.  InputError where the folder cannot be written, the file is damaged, or another
    run writes it.
    """

    def __init__(self, folder: str | Path, function: Function, shared: Any) -> None:
        name = f"{function.__module__}.{function.__qualname__}"
        self._study = fingerprint([function, shared, build()])
        stem = "".join(c if c.isalnum() or c in "._" else "_" for c in name)
        self.path = Path(folder) / f"{stem}-{self._study[:16]}{SUFFIX}"
        self._places: dict[str, tuple[int, int]] = {}
        self._file = self._opened()
        self._synced = time.monotonic()
        try:
            self._read({"function": name, "study": self._study, "build": build()})
        except BaseException:
            self._file.close()
            raise

    def _opened(self) -> Any:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a+b", buffering=0)
        except OSError as error:
            rule = "a folder that can be written"
            raise InputError(self.path, "", error.strerror or str(error), rule) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            rule = "a file that no other run writes"
            raise InputError(self.path, "", "locked", rule, "wait for the other run") from error
        return file

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def key(self, task: Any) -> str:
        """Under which the result of a task is kept."""
        return fingerprint(task)[:32]

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Any:
        first, length = self._places[key]
        line = os.pread(self._file.fileno(), length, first)
        return from_line(json.dumps(json.loads(line)["result"]))

    def add(self, key: str, result: Any) -> None:
        """Write a result, whole or not at all; OSError on a full disk."""
        line = f'{{"task":"{key}","result":{to_line(result)}}}\n'.encode()
        self._append(line)
        self._places[key] = (self._end - len(line), len(line))
        if time.monotonic() > self._synced + SYNC:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def _append(self, line: bytes) -> None:
        written = 0
        try:
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(line)

    def _read(self, head: dict[str, str]) -> None:
        """Find the lines that are there; cut off what a killed process left of the last one."""
        self._end = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                    wrong = number == 1 and entry != head
                    if number > 1:
                        self._places[entry["task"]] = (self._end, len(line))
                except (ValueError, KeyError, TypeError):
                    wrong = True
                if wrong:
                    rule = "a line as `diffsim_ros.executors` writes it"
                    remedy = "the file is damaged: remove it, its tasks are then done again"
                    raise InputError(self.path, f"line {number}", line[:60], rule, remedy)
                self._end += len(line)
        self._file.truncate(self._end)
        if self._end == 0:
            self._append((json.dumps(head) + "\n").encode())
