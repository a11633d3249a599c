"""Packed point data, as in PointCloud2: a table of fields and bytes.  Without ROS.

Owners of a message (rclpy's in nodes/convert.py, rosbags' in clouds/files.py) pass its attributes;
only `decode` and `encode` interpret the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError, nearest
from .cloud import Cloud, checked

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
"""PointField's numbers of datatypes -> NumPy's letters."""
NAMES = {
    1: "INT8", 2: "UINT8", 3: "INT16", 4: "UINT16", 5: "INT32", 6: "UINT32", 7: "FLOAT32",
    8: "FLOAT64",
}  # fmt: skip
AXES = ("x", "y", "z")
PACKED = (5, 6, 7)
SMALLEST, LARGEST, MOST_USUAL = 1e-7, 1e6, 0.9
"""Sizes of usual coordinates, in metres or millimetres; the share of them in a cloud, at least.

The bytes of random numbers in the wrong order pass in a sixth of all coordinates.
"""
ROW_STEP = (
    "row_step is wrong: data has the bytes of height x width x point_step, rows without padding"
)
ORDER = (
    "is_bigendian is {flag}, but the numbers make sense in the other order only: it was taken, the "
    "driver's flag is wrong"
)


class PointField(NamedTuple):
    """One field of a point: name, offset in its bytes, number of the datatype, how many values."""

    name: str
    offset: int
    datatype: int
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, as PointField's is called so


def decode(
    fields: Sequence[Any], data: Any, *, width: int, height: int, point_step: int, row_step: int,
    is_bigendian: bool, source: str, scale: float = 1.0, thin: int = 1, **rest: Any,
) -> Cloud:  # fmt: skip
    """The cloud in `data` (bytes, array or memoryview); `fields` have PointField's attributes.

    Fields may come in any order, with gaps, of any other names; x, y, z are of any datatype; colour
    is rgb or rgba (32 bits, red in bits 16 to 23, FLOAT32, UINT32 or INT32) or r, g, b.
    The cloud's notes name what a driver states wrongly: row_step where `data` has rows without
    padding, is_bigendian where the numbers make sense in the other order only.
    thin   only every so many points are read (the cloud is then not organised)
    rest   stamp, frame, eye of the Cloud
    Raises InputError naming source, field and value: a missing or wrongly typed field, one that
    ends outside of the point, data of another length than the header states, an empty cloud.
    """
    table = {f.name: f for f in fields}
    _check_fields(fields, table, source)
    raw = memoryview(data).cast("B") if not isinstance(data, np.ndarray) else data.view(np.uint8)
    count, row = width * height, row_step or width * point_step
    if count == 0:
        raise InputError(source, "width x height", (width, height), "at least one point")
    notes: tuple[str, ...] = ()
    dense = width * point_step
    if point_step > 0 and row != dense and len(raw) == height * dense != height * row:
        row, notes = dense, (ROW_STEP,)
    if point_step < 1 or row < dense:
        rule = f"at least width x point_step = {dense} bytes"
        raise InputError(source, "row_step", row_step, rule)
    if len(raw) != height * row:
        rule = f"{height * row} bytes = height {height} x row_step {row}"
        raise InputError(source, "data", f"{len(raw)} bytes", rule)
    order = ">" if is_bigendian else "<"

    def column(name: str, datatype: int | None = None, order: str = order) -> np.ndarray:
        f = table[name]
        kind = np.dtype(order + TYPES[datatype or f.datatype])
        if f.offset < 0 or f.offset + kind.itemsize > point_step:
            rule = f"within the {point_step} bytes of a point"
            raise InputError(source, f"field {name}", f"offset {f.offset}", rule)
        values = np.ndarray((height, width), kind, raw, f.offset, (row, point_step))
        return values.ravel()[::thin]

    points = _points(column, order)
    if not _sensible(points):
        other = "<" if is_bigendian else ">"
        swapped = _points(column, other)
        if _sensible(swapped):
            flag = "set" if is_bigendian else "not set"
            points, notes = swapped, (*notes, ORDER.format(flag=flag))
            column = partial(column, order=other)
    colour = _colour(table, column, source)
    return checked(
        points, colour, source=source, shape=(height, width) if thin == 1 else None, scale=scale,
        notes=notes, **rest,
    )  # fmt: skip


def _check_fields(fields: Sequence[Any], table: Mapping[str, Any], source: str) -> None:
    """Raise unless x, y, z are there, once each, in bytes of their own."""
    ends: list[tuple[int, int, str]] = []
    for axis in AXES:
        _require(table, axis, tuple(TYPES), source)
        if sum(f.name == axis for f in fields) > 1:
            raise InputError(source, f"field {axis}", "given twice", "each of x, y, z once")
        size = np.dtype(TYPES[table[axis].datatype]).itemsize
        ends.append((table[axis].offset, table[axis].offset + size, axis))
    ends.sort()
    for (_, end, before), (begin, _, axis) in pairwise(ends):
        if begin < end:
            rule = f"an offset of at least {end}, after {before}"
            raise InputError(source, f"field {axis}", f"offset {begin}", rule)


def _points(column: Callable[..., np.ndarray], order: str) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # of signalling NaN
        return np.stack([column(axis, order=order).astype(np.float64) for axis in AXES], axis=1)


def _sensible(points: np.ndarray) -> bool:
    """Whether most coordinates that are neither 0 nor NaN are lengths, be it in millimetres."""
    size = np.abs(points[np.isfinite(points).all(axis=1)])
    size = size[size > 0.0]
    usual = (size > SMALLEST) & (size < LARGEST)
    return bool(len(size) and usual.mean() > MOST_USUAL)


def decode_message(
    message: Any, source: str, *, scale: float = 1.0, stamp: float | None = None, thin: int = 1
) -> Cloud:
    """The cloud of a PointCloud2, from rclpy or rosbags; `stamp` [s] instead of the header's."""
    time = message.header.stamp
    return decode(
        message.fields, message.data, width=message.width, height=message.height,
        point_step=message.point_step, row_step=message.row_step,
        is_bigendian=message.is_bigendian, source=source, scale=scale, thin=thin,
        stamp=time.sec + 1e-9 * time.nanosec if stamp is None else stamp,
        frame=message.header.frame_id,
    )  # fmt: skip


def _require(table: Mapping[str, Any], name: str, datatypes: Sequence[int], source: str) -> None:
    accepted = " or ".join(NAMES[d] for d in datatypes)
    if name not in table:
        rule = f"a field {name!r} of type {accepted}"
        raise InputError(source, "fields", sorted(table), rule, nearest(name, table))
    if table[name].datatype not in datatypes:
        got = NAMES.get(table[name].datatype, table[name].datatype)
        raise InputError(source, f"field {name}", f"datatype {got}", accepted)


def _colour(
    table: Mapping[str, Any], column: Callable[..., np.ndarray], source: str
) -> np.ndarray | None:
    """(n, 3) from 0 to 1, or None where there is no colour."""
    for name in ("rgb", "rgba"):
        if name in table:
            _require(table, name, PACKED, source)
            bits = column(name, 6)
            return np.stack([(bits >> shift) & 255 for shift in (16, 8, 0)], axis=1) / 255.0
    if not all(name in table for name in "rgb"):
        return None
    for name in "rgb":
        _require(table, name, (2, 7), source)
    whole = 255.0 if table["r"].datatype == 2 else 1.0
    return np.stack([column(name) for name in "rgb"], axis=1).astype(np.float64) / whole


def encode(
    cloud: Cloud, extra: Mapping[str, np.ndarray] | None = None
) -> tuple[list[PointField], bytes]:
    """Fields and bytes of an unorganised cloud: x, y, z (and rgb) as FLOAT32, no padding.

    extra   name -> a further FLOAT32 of every point (n,)
    """
    kind = [(axis, "<f4") for axis in AXES]
    fields = [PointField(axis, 4 * i, 7) for i, axis in enumerate(AXES)]
    if cloud.colour is not None:
        kind.append(("rgb", "<u4"))
        fields.append(PointField("rgb", 12, 7))
    for name in extra or {}:
        fields.append(PointField(name, 4 * len(fields), 7))
        kind.append((name, "<f4"))
    table = np.zeros(len(cloud), kind)
    for i, axis in enumerate(AXES):
        table[axis] = cloud.points[:, i]
    if cloud.colour is not None:
        byte = np.round(255 * np.clip(cloud.colour, 0, 1)).astype(np.uint32)
        table["rgb"] = byte[:, 0] << 16 | byte[:, 1] << 8 | byte[:, 2]
    for name, values in (extra or {}).items():
        table[name] = values
    return fields, table.tobytes()
