"""Untrusted files: only regular ones are read, and never more than a limit.

A FIFO or a device given as a path would block a node forever, or fill its memory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from diffsim_ros.errors import InputError

FREE = 64 * 2**20
"""Bytes to which anything may unfold."""
MOST_UNPACKED = 30
"""Times the packed size to which more may unfold: recordings pack to a half or a tenth."""
KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


def require_regular(
    path: str | Path,
    accepted: str,
    *,
    place: object = None,
    key: str = "",
    limit: int | None = None,
) -> int:
    """Size [bytes] of a regular file (links are followed); raises InputError for anything else.

    accepted    the rule that a message names, e.g. "a readable .ply file"
    place, key  what a message names instead of the path itself
    limit       most bytes
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        raise _error(path, place, key, _reason(error), accepted) from error
    return _checked(found, path, place, key, accepted, limit)


def exists(path: str | Path) -> bool:
    """True of anything that is there; False also of names that no file can have."""
    return os.path.exists(path)


def is_folder(path: str | Path) -> bool:
    """True of a folder; False also of names that none can have."""
    return os.path.isdir(path)


def is_regular(path: str | Path) -> bool:
    """True of a regular file, or a link to one; False also of names that no file can have."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def read_bytes(path: str | Path, accepted: str, *, limit: int, near: Callable = str) -> bytes:
    """Content of a regular file of at most `limit` bytes; raises InputError for anything else.

    near   called for a remedy where there is no such file
    """
    try:
        # Without O_NONBLOCK, opening a FIFO waits for somebody who writes.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise InputError(path, "", "no such file", accepted, near()) from error
    except (OSError, ValueError) as error:
        raise _error(path, None, "", _reason(error), accepted) from error
    try:
        _checked(os.fstat(handle), path, None, "", accepted, limit)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise _error(path, None, "", _reason(error), accepted) from error
    finally:
        os.close(handle)
    if len(content) > limit:
        raise InputError(path, "", f"more than {limit} bytes", f"at most {limit} bytes")
    return content


def read_text(path: str | Path, accepted: str, *, limit: int, near: Callable = str) -> str:
    """Text of a regular UTF-8 file; as read_bytes."""
    try:
        return read_bytes(path, accepted, limit=limit, near=near).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, "", str(error), f"{accepted} in UTF-8") from error


def check_unpacked(path: str | Path, unpacked: int, packed: int, key: str = "") -> None:
    """Raise InputError where `packed` bytes unfold to far more than data do (a bomb)."""
    most = max(FREE, MOST_UNPACKED * packed)
    if unpacked > most:
        got, rule = f"{packed} bytes that unfold to {unpacked}", f"at most {most} bytes unfolded"
        raise InputError(path, key, got, rule, "is the file damaged, or made to fill the memory?")


def _checked(found: os.stat_result, path, place, key, accepted: str, limit: int | None) -> int:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for check, name in KINDS if check(found.st_mode)), "no regular file")
        raise _error(path, place, key, kind, accepted)
    if limit is not None and found.st_size > limit:
        raise _error(path, place, key, f"{found.st_size} bytes", f"at most {limit} bytes")
    return found.st_size


def _error(path, place, key, got: str, accepted: str) -> InputError:
    if place is None:
        return InputError(path, key, got, accepted)
    return InputError(place, key, f"{path}: {got}", accepted)


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return getattr(error, "strerror", None) or str(error)
