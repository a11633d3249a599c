"""Headers of PCD and PLY files: what Open3D does not keep (grid, viewpoint) or does not check.

Open3D silently pads the points of a cut ascii PCD or PLY, so the length of the body is compared
with the header before it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np

from ...errors import InputError
from ...files import check_unpacked

MOST = 2**28  # points of a cloud
LONGEST = 65536  # bytes in which a header must end
PLY_SIZES = {
    "char": 1, "int8": 1, "uchar": 1, "uint8": 1, "short": 2, "int16": 2, "ushort": 2,
    "uint16": 2, "int": 4, "int32": 4, "uint": 4, "uint32": 4, "float": 4, "float32": 4,
    "double": 8, "float64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Header:
    """count of points, their field names, (height, width), place of the sensor (3,)."""

    count: int
    fields: tuple[str, ...]
    shape: tuple[int, int]
    eye: np.ndarray


def read_header(path: Path) -> Header:
    """Header of a .pcd or .ply file whose body is whole; raises InputError naming what is wrong."""
    with path.open("rb") as file:
        head = file.read(LONGEST)
    size = path.stat().st_size
    header = _pcd(path, head, size) if path.suffix.lower() == ".pcd" else _ply(path, head, size)
    missing = [axis for axis in "xyz" if axis not in header.fields]
    if missing:
        raise InputError(path, "fields", " ".join(header.fields), f"a field {missing[0]!r}")
    if header.count < 1:
        raise InputError(path, "points", header.count, "at least one point", "the cloud is empty")
    return header


def _pcd(path: Path, head: bytes, size: int) -> Header:
    words: dict[str, list[str]] = {}
    used = 0
    for line in head.split(b"\n"):
        used += len(line) + 1
        key, *rest = line.decode("ascii", "replace").split() or [""]
        if key and not key.startswith("#"):
            words[key] = rest
        if "DATA" in words:
            break
    for key in ("FIELDS", "SIZE", "WIDTH", "HEIGHT", "DATA", "POINTS"):
        if not words.get(key, key == "POINTS"):
            raise InputError(path, "header", sorted(words)[:12], f"a PCD header with {key}")
    shape = (_whole(path, words, "HEIGHT"), _whole(path, words, "WIDTH"))
    if min(shape) < 0 or shape[0] * shape[1] > MOST:
        raise InputError(path, "HEIGHT, WIDTH", shape, f"at least 0 each, {MOST} points at most")
    count = _whole(path, words, "POINTS") if "POINTS" in words else int(np.prod(shape))
    if count != np.prod(shape):
        raise InputError(path, "POINTS", count, f"WIDTH x HEIGHT = {int(np.prod(shape))}")
    sizes = [_number(path, "SIZE", word) for word in words["SIZE"]]
    counts = [_number(path, "COUNT", word) for word in words.get("COUNT", ["1"] * len(sizes))]
    point = int(np.dot(sizes, counts)) if len(sizes) == len(counts) else 0
    if len(sizes) != len(words["FIELDS"]) or not point:
        raise InputError(path, "SIZE, COUNT", (sizes, counts), f"one per field {words['FIELDS']}")
    kind = words["DATA"][0]
    if kind not in ("ascii", "binary", "binary_compressed"):
        raise InputError(path, "DATA", kind, "ascii, binary or binary_compressed")
    if kind == "binary_compressed":
        packed, unpacked = (
            int.from_bytes(head[used + at : used + at + 4], "little") for at in (0, 4)
        )
        _long_enough(path, size - used, 8 + packed)
        if unpacked != count * point:
            rule = f"the {count * point} of its header"
            raise InputError(path, "data", f"{unpacked} bytes unpacked", rule)
        check_unpacked(path, unpacked, packed, "data")
    else:
        _body(path, kind == "ascii", used, size, count, point)
    viewpoint = words.get("VIEWPOINT", ["0"] * 3)
    if len(viewpoint) not in (3, 7):
        raise InputError(path, "VIEWPOINT", " ".join(viewpoint), "a place x y z, and a quaternion")
    place = [_number(path, "VIEWPOINT", word, float) for word in viewpoint[:3]]
    return Header(count, tuple(words["FIELDS"]), shape, np.array(place))


def _ply(path: Path, head: bytes, size: int) -> Header:
    end = head.find(b"end_header")
    lines = [line.split() for line in head[: max(end, 0)].decode("ascii", "replace").splitlines()]
    if not lines or lines[0] != ["ply"]:
        raise InputError(path, "header", head[:12], "a PLY header")
    used = head.find(b"\n", end) + 1
    if not used:
        raise InputError(path, "header", head[end : end + 12], "a line that ends after end_header")
    kind = ""
    elements: list[tuple[str, int, dict[str, int]]] = []
    for key, *words in filter(None, lines):
        if key in ("format", "element", "property") and len(words) < 1 + (key != "format"):
            raise InputError(path, "header", " ".join([key, *words]), "a name and its value")
        if key == "format":
            kind = words[0]
        elif key == "element":
            elements.append((words[0], _number(path, f"element {words[0]}", words[-1]), {}))
        elif key == "property" and words[0] == "list" and elements and elements[-1][0] == "vertex":
            raise InputError(path, "property", " ".join(words), "one number for each property")
        elif key == "property" and elements:
            elements[-1][2][words[-1]] = PLY_SIZES.get(words[0], 0)
    if not elements or elements[0][0] != "vertex":
        raise InputError(path, "element", [e[0] for e in elements], "vertex as the first element")
    _, count, properties = elements[0]
    _body(path, kind == "ascii", used, size, count, sum(properties.values()))
    return Header(count, tuple(properties), (1, count), np.zeros(3))


def _body(path: Path, text: bool, used: int, size: int, count: int, point: int) -> None:
    """Raise unless the file holds `count` points of `point` bytes, or as many lines."""
    if not text:
        _long_enough(path, size - used, count * point)
        return
    with path.open("rb") as file:
        file.seek(used)
        lines = sum(1 for line in file if line.strip())
    if lines < count:
        raise InputError(path, "data", f"{lines} points", f"the {count} of its header", "cut?")


def _long_enough(path: Path, got: int, wanted: int) -> None:
    if got < wanted:
        raise InputError(path, "data", f"{got} bytes", f"the {wanted} of its header", "cut?")


def _whole(path: Path, words: Mapping[str, list[str]], key: str) -> int:
    return _number(path, key, words[key][0])


@overload
def _number(path: Path, key: str, word: str) -> int: ...
@overload
def _number(path: Path, key: str, word: str, kind: type[float]) -> float: ...
def _number(path: Path, key: str, word: str, kind: type[float] = int) -> float:
    try:
        return kind(word)
    except ValueError as error:
        raise InputError(path, key, word, "a number") from error
