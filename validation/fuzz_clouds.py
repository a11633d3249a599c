"""Fuzzing of the readers of point clouds: PCD and PLY of every dialect, PointCloud2, corrupted.

`./run python -m validation.fuzz_clouds --seconds 3600`.  A reader may refuse with one line that
begins with the file's name, or return finite points, no more of them than the file has bytes; any
other exception is a finding, as are hangs, crashes and memory.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.clouds.files import read_cloud
from diffsim_ros.sensing.clouds.packed import PointField, decode
from validation.fuzz_readers import corrupted_bytes, corrupted_text
from validation.fuzzing import Finding, main

POINTS = np.round(np.random.default_rng(0).normal((0.0, 0.0, 2.0), size=(20, 3)), 3)
COLOUR = np.random.default_rng(1).integers(0, 256, (20, 3))
NUMBERS = [
    b"0", b"-1", b"1", b"3", b"19", b"21", b"255", b"65536", b"2147483647", b"4294967295",
    b"268435456", b"9999999999999", b"1" + b"0" * 40, b"nan", b"1e9", b"_", b"",
]  # fmt: skip
PCD_TYPES = {"f4": ("F", 4), "f8": ("F", 8), "u4": ("U", 4), "u1": ("U", 1), "i2": ("I", 2),
             "u2": ("U", 2)}  # fmt: skip
XYZ = [("x", "f4", 1), ("y", "f4", 1), ("z", "f4", 1)]
PADDED = [*XYZ, ("_", "u1", 4), ("rgb", "f4", 1), ("_", "u1", 12)]
MIXED = [("ring", "u2", 1), ("z", "f8", 1), ("_", "u1", 3), ("x", "f4", 1), ("y", "i2", 1),
         ("_", "u1", 1), ("rgba", "u4", 1), ("vfh", "f4", 5)]  # fmt: skip
"""Fields (name, NumPy's type, count) with y in whole numbers."""


def _columns(points: np.ndarray, fields: list[tuple[str, str, int]]) -> list[np.ndarray]:
    """(n, count) of each field."""
    bits = (COLOUR[:, 0] << 16 | COLOUR[:, 1] << 8 | COLOUR[:, 2]).astype("<u4")
    found = []
    for name, kind, count in fields:
        column = np.full((len(points), count), 7).astype(f"<{kind}")
        if name in "xyz":
            column[:, 0] = points[:, "xyz".index(name)]
        elif name.startswith("rgb"):
            column[:, 0] = bits.view(f"<{kind}")
        found.append(column)
    return found


def literal_runs(raw: bytes) -> bytes:
    """LZF: runs of at most 32 bytes, then what repeats its last byte as a reference to it."""
    packed, at = b"", 0
    while at < len(raw):
        same = 0
        while at and at + same < len(raw) and raw[at + same] == raw[at - 1] and same < 264:
            same += 1
        if same >= 9:
            packed += bytes([7 << 5, same - 9, 0])
            at += same
            continue
        run = raw[at : at + 12]
        packed += bytes([len(run) - 1]) + run
        at += len(run)
    return packed


def pcd(
    fields: list[tuple[str, str, int]], data: str = "binary", *, points: np.ndarray = POINTS,
    grid: tuple[int, int] = (20, 1), end: str = "\n", drop: tuple[str, ...] = (),
    viewpoint: str = "0 0 0 1 0 0 0",
) -> bytes:  # fmt: skip
    """A PCD of these points; drop: keys of lines that are left out."""
    letters = [PCD_TYPES[kind] for _, kind, _ in fields]
    lines = {
        "VERSION": "0.7", "FIELDS": " ".join(name for name, _, _ in fields),
        "SIZE": " ".join(str(size) for _, size in letters),
        "TYPE": " ".join(letter for letter, _ in letters),
        "COUNT": " ".join(str(count) for _, _, count in fields), "WIDTH": str(grid[0]),
        "HEIGHT": str(grid[1]), "VIEWPOINT": viewpoint, "POINTS": str(len(points)), "DATA": data,
    }  # fmt: skip
    head = "# .PCD v0.7 - Point Cloud Data file format" + end
    head += "".join(f"{key} {text}{end}" for key, text in lines.items() if key not in drop)
    columns = _columns(points, fields)
    if data == "ascii":
        rows = [" ".join(str(v) for c in columns for v in c[i]) for i in range(len(points))]
        return head.encode() + (end.join(rows) + end).encode()
    if data == "binary":
        body = b"".join(c[i].tobytes() for i in range(len(points)) for c in columns)
        return head.encode() + body
    raw = b"".join(column.tobytes() for column in columns)
    packed = literal_runs(raw)
    return head.encode() + struct.pack("<II", len(packed), len(raw)) + packed


def ply(
    form: str = "ascii", kind: str = "float", *, camera: bool = False, lists: bool = False,
    faces: bool = False, colour: bool = False, end: str = "\n", points: np.ndarray = POINTS,
) -> bytes:  # fmt: skip
    """A PLY of these points; camera, faces: elements before and after; lists: of the vertices."""
    order = ">" if "big" in form else "<"
    letter = {"float": "f", "double": "d"}[kind]
    lines = ["ply", f"format {form} 1.0", "comment made up", "obj_info num_cols 20"]
    if camera:
        lines += ["element camera 2", "property float view_px", "property list uchar int k"]
    lines += [f"element vertex {len(points)}", "property int label"] if lists else [
        f"element vertex {len(points)}"]  # fmt: skip
    if lists:
        lines.append("property list uchar short near")
    lines += [f"property {kind} {axis}" for axis in "xyz"]
    if colour:
        lines += [f"property uchar {name}" for name in ("red", "green", "blue")]
    if faces:
        lines += ["element face 2", "property list uchar int vertex_indices"]
    rows: list[list[tuple[str, float]]] = []  # (struct's letter, number)
    if camera:
        rows += [[("f", 1.5), ("B", 2), ("i", 3), ("i", 4)], [("f", 2.5), ("B", 0)]]
    for i, point in enumerate(points):
        row: list[tuple[str, float]] = []
        if lists:
            row += [("i", i), ("B", i % 3), *[("h", 5)] * (i % 3)]
        row += [(letter, float(v)) for v in point]
        if colour:
            row += [("B", int(v)) for v in COLOUR[i]]
        rows.append(row)
    if faces:
        rows += [[("B", 3), ("i", 0), ("i", 1), ("i", 2)]] * 2
    head = end.join([*lines, "end_header", ""]).encode()
    if form == "ascii":
        text = [" ".join(str(value) for _, value in row) for row in rows]
        return head + (end.join(text) + end).encode()
    return head + b"".join(struct.pack(order + one, v) for row in rows for one, v in row)


HOLES = np.where(np.arange(20)[:, None] % 4 == 1, np.nan, POINTS)
"""An organised cloud whose every fourth point is none."""


def dialects() -> dict[str, tuple[str, bytes]]:
    """Name -> file's name and bytes, each of POINTS (or of HOLES), all of them sound."""
    whole = POINTS * [1, 0, 1] + [0, 3, 0]  # y in whole numbers
    found = {
        "crlf": ("a.pcd", pcd(XYZ, end="\r\n")),
        "crlf, ascii": ("a.pcd", pcd(PADDED, "ascii", end="\r\n")),
        "no COUNT, VIEWPOINT": ("a.pcd", pcd(XYZ, drop=("COUNT", "VIEWPOINT"))),
        "no WIDTH, HEIGHT": ("a.pcd", pcd(XYZ, drop=("WIDTH", "HEIGHT"))),
        "turned": ("a.PCD", pcd(XYZ, viewpoint="0 0 1 0.5 0.5 0.5 0.5")),
        "crlf, binary ply": ("a.ply", ply("binary_little_endian", end="\r\n")),
        "cr": ("a.ply", ply(end="\r")),
    }
    for data in ("ascii", "binary", "binary_compressed"):
        found[f"padded, {data}"] = ("a.pcd", pcd(PADDED, data))
        found[f"mixed, {data}"] = ("a.pcd", pcd(MIXED, data, points=whole))
        organised = pcd(XYZ, data, points=HOLES, grid=(5, 4))
        found[f"organised, {data}"] = ("a.pcd", organised)
    for form in ("ascii", "binary_little_endian", "binary_big_endian"):
        found[form] = ("a.ply", ply(form))
        found[f"double, {form}"] = ("a.PLY", ply(form, "double", colour=True, faces=True))
        found[f"camera, {form}"] = ("a.ply", ply(form, camera=True, faces=True))
        found[f"lists, {form}"] = ("a.ply", ply(form, camera=True, lists=True, colour=True))
    return found


def spoiled(rng: random.Random, name: str, data: bytes) -> bytes:
    """One to five changes: of any byte or word, or of a number of the header."""
    mark = b"end_header" if data[:3] == b"ply" else b"DATA"
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        if rng.random() < 0.4:
            head, sign, body = data.partition(mark)
            words = head.split(b" ")
            at = rng.randrange(len(words))
            _, newline, rest = words[at].partition(b"\n")
            words[at] = rng.choice(NUMBERS) + newline + rest
            data = b" ".join(words) + sign + body
        else:
            data = (corrupted_text if "ascii" in name else corrupted_bytes)(rng, data)
    return data


EVERY = dialects()


def program(seed: int, say: Callable[[str], None] | None = None) -> None:
    """Spoil the file or message of a seed and read it."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a line of NumPy's on the console is a finding
        (_message if rng.random() < 0.2 else _file)(rng, say)


def _file(rng: random.Random, say: Callable[[str], None] | None) -> None:
    """Read a file that is spoiled."""
    name = rng.choice(list(EVERY))
    file, sound = EVERY[name]
    data = spoiled(rng, name, sound)
    with tempfile.TemporaryDirectory(prefix="fuzz_clouds_") as folder:
        path = Path(folder) / file
        path.write_bytes(data)
        if say is not None:
            say(f"{name}: {len(data)} bytes")
            say(repr(data[:1500]))
        try:
            cloud = read_cloud(path)
        except InputError as error:
            text = str(error)
            if say is not None:
                say(text)
            if len(text) > 5000 or "\n" in text or not text.startswith(str(path)):
                raise Finding(f"{name}: a message that is no line of the file: {text}") from error
        except Exception as error:
            raise Finding(f"{name}: {type(error).__name__}: {error}"[:500]) from error
        else:
            if not np.isfinite(cloud.points).all() or not 0 < len(cloud) <= len(data):
                raise Finding(f"{name}: {len(cloud)} points, or one that is not finite")


def _message(rng: random.Random, say: Callable[[str], None] | None) -> None:
    """Decode a PointCloud2 one or more of whose numbers are others."""
    kind = rng.choice([7, 8, 3])
    size = {7: 4, 8: 8, 3: 2}[kind]
    letter = rng.choice("<>") + {7: "f4", 8: "f8", 3: "i2"}[kind]
    fields = [[axis, size * i, kind] for i, axis in enumerate("xyz")]
    fields.append(["rgb", 3 * size, 6])
    step = 3 * size + 4
    table = np.zeros((20, step), np.uint8)
    table[:, : 3 * size] = np.round(POINTS).astype(letter).view(np.uint8).reshape(20, -1)
    numbers = {"width": 5, "height": 4, "point_step": step, "row_step": 5 * step}
    odd = [0, 1, 3, 4, 19, 20, 255, 2**31 - 1, 2**32 - 1]
    for _ in range(rng.randrange(4)):
        draw = rng.random()
        if draw < 0.5:
            numbers[rng.choice(list(numbers))] = rng.choice(odd)
        else:
            rng.choice(fields)[1 if draw < 0.75 else 2] = rng.choice(odd)
    if rng.random() < 0.2:
        fields.append(list(rng.choice(fields)))
    data = table.tobytes()
    data = corrupted_bytes(rng, data) if rng.random() < 0.5 else data
    if say is not None:
        say(f"message: {numbers}, {fields}, {len(data)} bytes")
    given = [PointField(*field) for field in fields]
    big = rng.random() < 0.5
    try:
        cloud = decode(given, data, is_bigendian=big, source="topic", **numbers)
    except InputError:
        return
    except Exception as error:
        raise Finding(f"message: {type(error).__name__}: {error}"[:500]) from error
    if not np.isfinite(cloud.points).all() or not 0 < len(cloud) <= len(data):
        raise Finding(f"message: {len(cloud)} points, or one that is not finite")


if __name__ == "__main__":
    sys.exit(main("validation.fuzz_clouds", program, __doc__ or ""))
