"""A hash of what a value contains, equal in every process that makes the value alike."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import types
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError


def fingerprint(value: Any) -> str:
    """64 hexadecimal digits; InputError for what cannot be pickled.

    Arrays by type, shape and bytes; functions by name and code; paths by their files' content;
    other objects by what pickling keeps of them.
    """
    return _Digests().of(value).hex()


PACKAGE = Path(__file__).resolve().parents[1]
"""Folder of the package's sources."""


@functools.cache
def build() -> str:
    """The package's version, its engine's binary and its Python sources, which results depend on:
    in a checkout both change without the version.  Read once a process (3 MB, some 20 ms)."""
    from diffsim_ros import __version__

    found = importlib.util.find_spec("diffsim_ros._engine")
    origin = found.origin if found is not None else None
    content = Path(origin).read_bytes() if origin else b""
    engine = hashlib.sha256(content).hexdigest()[:16]
    return f"{__version__} {engine} {_sources(PACKAGE)[:16]}"


def _sources(folder: Path) -> str:
    """Digest of the names and contents of all Python files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)} ".encode() + content)
    return digest.hexdigest()


class _Digests:
    """Digests of values: a container's is made of its parts', whichever of them are one object."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._kept: list[Any] = []  # an id holds as long as its object lives
        self._open: dict[int, int] = {}

    def of(self, value: Any) -> bytes:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
            content = value if isinstance(value, bytes) else repr(value).encode()
            return _hash(type(value).__name__, content)
        key = id(value)
        if key in self._known:
            return self._known[key]
        if key in self._open:  # a circle
            return _hash("circle", str(len(self._open) - self._open[key]).encode())
        self._open[key] = len(self._open)
        self._kept.append(value)
        found = self._known[key] = self._container(value)
        del self._open[key]
        return found

    def _container(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return _hash("array", f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
        if type(value) in (list, tuple):
            return self._parts(type(value).__name__, value)
        if type(value) is dict:
            return self._parts("dict", [part for pair in value.items() for part in pair])
        if isinstance(value, (set, frozenset)):
            return _hash("set", b"".join(sorted(self.of(one) for one in value)))
        if isinstance(value, Path):
            content = value.read_bytes() if value.is_file() else b""
            return self._parts("path", [str(value), content])
        if isinstance(value, types.FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
            return self._parts("function", [value.__module__, value.__qualname__, *parts])
        if isinstance(value, types.CodeType):
            return self._parts("code", [value.co_code, value.co_names, *value.co_consts])
        if isinstance(value, (type, types.BuiltinFunctionType)):
            return _hash("name", f"{value.__module__}.{value.__qualname__}".encode())
        return self._object(value)

    def _object(self, value: Any) -> bytes:
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            rule = "data that can be pickled"
            raise InputError("task", type(value).__name__, str(error), rule) from error
        if isinstance(reduced, str):
            return _hash("name", f"{type(value).__module__}.{reduced}".encode())
        parts = [list(part) if hasattr(part, "__next__") else part for part in reduced]
        return self._parts("object", parts)

    def _parts(self, kind: str, parts: Any) -> bytes:
        return _hash(kind, b"".join(self.of(part) for part in parts))


def _hash(kind: str, content: bytes) -> bytes:
    return hashlib.sha256(kind.encode() + b" " + content).digest()
