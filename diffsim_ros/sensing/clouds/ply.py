"""PLY files (Stanford polygons): the points of their element `vertex`, in ascii or binary.

Other elements may stand before and after it and properties may be lists; all of them are skipped
by what the header says of them.  `comment` and `obj_info` are ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from .table import (
    AXES,
    LONGEST,
    PointTable,
    as_declared,
    beyond_end,
    check_columns,
    check_count,
    check_length,
    finite_float,
    split_colour,
    text_rows,
    whole_number,
)

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
LETTERS = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I"}
COLOURS = (("red", "green", "blue"), ("r", "g", "b"))


class Property(NamedTuple):
    """A property: name, type of its numbers, and of a list the type of its count ("" of none)."""

    name: str
    kind: str
    counted: str = ""


class Element(NamedTuple):
    """An element: name, how many there are, its properties."""

    name: str
    number: int
    properties: list[Property]

    @property
    def lists(self) -> bool:
        """Whether its rows have lengths of their own."""
        return any(one.counted for one in self.properties)

    @property
    def least(self) -> int:
        """Bytes of a row at least; all of them where it has no lists."""
        return sum(np.dtype(one.counted or one.kind).itemsize for one in self.properties)


def read_ply(path: Path, data: bytes) -> PointTable:
    """The cloud in the bytes of a file; raises InputError naming the file, property and value."""
    form, elements, used = _header(path, data)
    at = next((i for i, one in enumerate(elements) if one.name == "vertex"), None)
    if at is None:
        raise InputError(path, "element", [one.name for one in elements], "an element vertex")
    before, vertex, after = elements[:at], elements[at], elements[at + 1 :]
    names = [one.name for one in vertex.properties]
    triple = next((some for some in COLOURS if all(name in names for name in some)), ())
    check_columns(path, names, (*AXES, *triple))
    check_count(path, "element vertex", vertex.number)
    kinds = {one.name: one for one in vertex.properties}
    for name in (*AXES, *triple):
        if kinds[name].counted:
            raise InputError(path, f"property {name}", "a list", "one number of each vertex")
    read = _text if form == "ascii" else _binary
    column, beyond = read(path, data, used, ORDERS[form], (before, vertex, after))
    points = np.stack([finite_float(column(axis)) for axis in AXES], axis=1)
    colour: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    if triple:
        colour, notes = split_colour(column, triple, np.dtype(kinds[triple[0]].kind))
    return PointTable(points, colour, (1, vertex.number), np.zeros(3), beyond, notes)


# ---------------------------------------------------------------------------- header


def _header(path: Path, data: bytes) -> tuple[str, list[Element], int]:
    """Format, elements and where the body begins; lines may end as on any system."""
    if data[:3] != b"ply" or data[3:4] not in (b"\n", b"\r"):
        raise InputError(path, "header", data[:12], "a PLY header, which begins with the line ply")
    newline = b"\r" if data[3:4] == b"\r" and data[4:5] != b"\n" else b"\n"
    form, at = "", 0
    elements: list[Element] = []
    while (end := data.find(newline, at, LONGEST)) >= 0:
        line = data[at:end].decode("ascii", "replace")
        key, *words = line.split() or [""]
        at = end + 1
        if key == "end_header":
            if not form:
                raise InputError(path, "format", "no such line", f"format {' or '.join(ORDERS)}")
            return form, elements, at
        if key == "format":
            form = words[0] if words else ""
            if form not in ORDERS or words[1:] != ["1.0"]:
                raise InputError(path, "format", " ".join(words), f"{', '.join(ORDERS)}; 1.0")
        elif key == "element":
            elements.append(_element(path, words, elements))
        elif key == "property":
            if not elements:
                raise InputError(path, "property", " ".join(words), "an element before it")
            elements[-1].properties.append(_property(path, words))
        elif key not in ("ply", "comment", "obj_info", ""):
            raise InputError(path, "header", line[:80], "format, element, property, comment")
    raise InputError(path, "header", data[:12], f"end_header within {LONGEST} bytes", "cut?")


def _element(path: Path, words: Sequence[str], before: Sequence[Element]) -> Element:
    if len(words) != 2:
        raise InputError(path, "element", " ".join(words), "a name and a count")
    if any(one.name == words[0] for one in before):
        raise InputError(path, "element", f"{words[0]} twice", "each element once")
    return Element(words[0], whole_number(path, f"element {words[0]}", words[1]), [])


def _property(path: Path, words: Sequence[str]) -> Property:
    listed = words[:1] == ["list"]
    types = words[1:3] if listed else words[:1]
    if len(words) != (4 if listed else 2):
        rule = "a type and a name, or list, two types and a name"
        raise InputError(path, "property", " ".join(words), rule)
    for word in types:
        if word not in TYPES:
            raise InputError(path, f"property {words[-1]}", word, f"a type of {', '.join(TYPES)}")
    if not listed:
        return Property(words[-1], TYPES[types[0]])
    counted, kind = (TYPES[word] for word in types)
    if counted[0] == "f":
        raise InputError(path, f"property {words[-1]}", types[0], "a count in whole numbers")
    return Property(words[-1], kind, counted)


# ---------------------------------------------------------------------------- bodies

Parts = tuple[Sequence[Element], Element, Sequence[Element]]
Column = Callable[[str], np.ndarray]


def _binary(path: Path, data: bytes, at: int, order: str, parts: Parts) -> tuple[Column, int]:
    before, vertex, after = parts
    for one in before:
        _, at = _rows(path, data, at, order, one)
    starts, end = _rows(path, data, at, order, vertex)
    least = sum(one.number * one.least for one in after)
    check_length(path, len(data) - end, least)
    beyond = beyond_end(data[end:], vertex.least) if not after else 0
    kinds = {one.name: np.dtype(order + one.kind) for one in vertex.properties}
    if vertex.lists:
        raw = np.frombuffer(data, np.uint8)
        return (
            lambda name: (
                raw[starts[name][:, None] + np.arange(kinds[name].itemsize)]
                .view(kinds[name])
                .ravel()
            )
        ), beyond
    return (
        lambda name: np.ndarray(
            (vertex.number,), kinds[name], data, int(starts[name][0]), (vertex.least,)
        )
    ), beyond


def _rows(
    path: Path, data: bytes, at: int, order: str, element: Element
) -> tuple[dict[str, np.ndarray], int]:
    """Where the numbers of an element stand (with lists: of each row), and where it ends."""
    check_length(path, len(data) - at, element.number * element.least)
    if not element.lists:
        starts, offset = {}, at
        for one in element.properties:
            starts[one.name] = np.array([offset])
            offset += np.dtype(one.kind).itemsize
        return starts, at + element.number * element.least
    steps = []
    for one in element.properties:
        size = np.dtype(one.kind).itemsize
        steps.append((size, struct.Struct(order + LETTERS[one.counted]) if one.counted else None))
    places = np.zeros((element.number, len(steps)), np.int64)
    for row in range(element.number):
        for k, (size, counter) in enumerate(steps):
            places[row, k] = at
            if counter is None:
                at += size
                continue
            check_length(path, len(data), at + counter.size)
            (count,) = counter.unpack_from(data, at)
            if count < 0:
                key = f"element {element.name} {row}, property {element.properties[k].name}"
                raise InputError(path, key, count, "a count of at least 0")
            at += counter.size + size * count
        check_length(path, len(data), at)
    return {one.name: places[:, k] for k, one in enumerate(element.properties)}, at


def _text(path: Path, data: bytes, at: int, order: str, parts: Parts) -> tuple[Column, int]:
    before, vertex, after = parts
    skip = sum(one.number for one in before if one.properties)
    rest = sum(one.number for one in after if one.properties)
    body = _without_lists(path, data[at:], skip, vertex) if vertex.lists else data[at:]
    kept = [one.name for one in vertex.properties if not one.counted]
    skip = 0 if vertex.lists else skip
    table, beyond = text_rows(
        path, body, skip=skip, count=vertex.number, width=len(kept), after=rest
    )
    kinds = {one.name: np.dtype(one.kind) for one in vertex.properties}
    return (lambda name: as_declared(table[:, kept.index(name)], kinds[name])), beyond


def _without_lists(path: Path, body: bytes, skip: int, vertex: Element) -> bytes:
    """The lines from the vertices on, those of vertices without their lists."""
    lines = [line for line in body.splitlines() if line.strip()][skip:]
    for row, line in enumerate(lines[: vertex.number]):
        words, kept = line.split(), []
        for one in vertex.properties:
            if not words:
                break
            if one.counted:
                key = f"data, vertex {row}, property {one.name}"
                count = whole_number(path, key, words[0].decode("latin-1"))
                words = words[1 + count :]
            else:
                kept.append(words.pop(0))
        lines[row] = b" ".join(kept + words) or b"-"
    return b"\n".join(lines)
