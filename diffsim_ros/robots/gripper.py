"""A gripper without hardware: it opens and closes some time after its command."""

from __future__ import annotations

from collections import deque

from .command import nanoseconds


class Gripper:
    """is_open: at present;  latency [s]: from a command to its effect."""

    def __init__(self, latency: float = 0.0, is_open: bool = False) -> None:
        self.latency, self.is_open = latency, is_open
        self._pending: deque[tuple[int, bool]] = deque()

    def command(self, is_open: bool, stamp: int) -> int:
        """Open or close it; returns the stamp [ns] at which it will have happened."""
        done = stamp + nanoseconds(self.latency)
        self._pending.append((done, is_open))
        return done

    def advance(self, stamp: int) -> list[tuple[int, bool]]:
        """(stamp [ns], is_open) of every change until a stamp."""
        changes = []
        while self._pending and self._pending[0][0] <= stamp:
            done, is_open = self._pending.popleft()
            if is_open != self.is_open:
                changes.append((done, is_open))
            self.is_open = is_open
        return changes
