"""Triangles of .obj, .stl and .ply files, as they are numbered there.

Of an .obj vertices and faces alone are read: normals, texture coordinates, materials and groups are
for pictures, and would split its vertices.  An .stl is binary where its length says so.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

Array = np.ndarray
RULE = "a readable surface of triangles"
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84  # bytes of a binary .stl before its triangles


def load(
    path: Path, suffix: str, content: bytes, trimesh: Any, place: object, key: str
) -> tuple[Array, Array]:
    """Vertices (n, 3) and triangles (k, 3) of a file's content; InputError where it has none.

    trimesh: the module.
    """
    if suffix == ".stl":
        return _stl(path, content, place, key)
    if suffix == ".obj":
        content = _bare(content)
        if b"\nf" not in content:
            raise InputError(
                place, key, f"{path} without triangles", "an .obj with lines v and f",
                "is it of another format? the ending says which reader it gets",
            )  # fmt: skip
        _check_faces(path, content, place, key)
    try:  # of the bytes alone: what a file refers to is not opened
        mesh = trimesh.load(
            io.BytesIO(content), file_type=suffix[1:], force="mesh", process=False,
            skip_materials=True,
        )  # fmt: skip
        return np.array(mesh.vertices, float), np.array(mesh.faces, np.int64)
    except Exception as error:  # trimesh raises whatever its readers do
        raise InputError(place, key, f"{path}: {error}", RULE) from error


def _bare(content: bytes) -> bytes:
    """The lines v (three numbers) and f (numbers of vertices) of an .obj."""
    content = re.sub(rb"\r\n?", b"\n", content)
    lines = re.findall(rb"(?m)^[ \t]*([vf][ \t][^\n#]*)", content.replace(b"\\\n", b" "))
    text = _absolute(re.sub(rb"/[^\s]*", b"", b"\n".join([b"", *lines, b""])))
    return re.sub(rb"(?m)^(v(?:[ \t]+[^\s]+){3})[^\n]*", rb"\1", text)


def _absolute(text: bytes) -> bytes:
    """Lines v and f without vertices that are counted back from their face (-1: the one before)."""
    if not re.search(rb"(?m)^f.*-", text):
        return text
    count, lines = 0, []
    for line in text.split(b"\n"):
        count += line.startswith(b"v")
        if line.startswith(b"f"):
            line = re.sub(rb"-(\d+)", lambda m, n=count: b"%d" % max(n + 1 - int(m[1]), 0), line)
        lines.append(line)
    return b"\n".join(lines)


def _check_faces(path: Path, content: bytes, place: object, key: str) -> None:
    """InputError for a face of an .obj that names a vertex which is not there, or fewer than three.

    Vertices that were counted back from a face have been numbered; what is before the first is 0.
    """
    lines = content.split(b"\n")
    faces = [line for line in lines if line.startswith(b"f")]
    count = sum(line.startswith(b"v") for line in lines)
    words = b" ".join(line[1:] for line in faces).split()
    whole = all(line.count(b" ") + line.count(b"\t") >= 3 for line in faces)
    if whole and words and all(map(bytes.isdigit, words)) and max(map(len, words)) < 18:
        numbers = np.array(words).astype(np.int64)
        if numbers.min() >= 1 and numbers.max() <= count:
            return
    for line in faces:
        own = line.split()[1:]
        sound = all(word.isdigit() and 1 <= int(word) <= count for word in own)
        if not sound or len(own) < 3:
            got = f"{path}: face {line.decode('latin-1')[:60]!r}"
            rule = f"numbers of its vertices, 1 to {count}, three at least"
            raise InputError(place, key, got, rule, "cut, or put together from several files?")


def _stl(path: Path, content: bytes, place: object, key: str) -> tuple[Array, Array]:
    declared = (
        int.from_bytes(content[HEADER - 4 : HEADER], "little") if len(content) >= HEADER else 0
    )
    words = re.search(rb"(?i)^\s*solid\b", content) and re.search(rb"(?i)\bfacet\b", content[:4096])
    if len(content) > HEADER and not words:
        whole = (len(content) - HEADER) // RECORD.itemsize
        if not 0 < declared <= whole:
            got = f"{path}: {whole} triangles where {declared} are announced"
            raise InputError(place, key, got, "as many as are announced, one at least", "cut?")
        corners = np.frombuffer(content, RECORD, declared, HEADER)["corners"].astype(float)
    else:
        corners = _stl_words(path, content, place, key)
    return corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)


def _stl_words(path: Path, content: bytes, place: object, key: str) -> Array:
    """Corners (k, 3, 3) of an ASCII .stl, of all its solids."""
    found = re.findall(rb"(?i)\bvertex[ \t]+([^\r\n]*)", content)
    facets, ends = (len(re.findall(rb"(?i)\b%s\b" % w, content)) for w in (b"facet", b"endfacet"))
    if not facets:
        got = f"{path} without triangles"
        raise InputError(place, key, got, "a surface of triangles", "an empty solid?")
    if not facets == ends or len(found) != 3 * facets:
        got = f"{path}: {facets} facets, {ends} ends of them and {len(found)} vertices"
        raise InputError(place, key, got, "three vertices and an end for each facet", "cut?")
    try:
        return np.array([line.split() for line in found], float).reshape(-1, 3, 3)
    except ValueError as error:
        bad = next(line for line in found if not _numbers(line))
        remedy = "decimals are written with points" if b"," in bad else ""
        got = f"{path}: vertex {bad.decode('latin-1')[:60]!r}"
        raise InputError(place, key, got, "three numbers", remedy) from error


def _numbers(line: bytes) -> bool:
    try:
        return len([float(word) for word in line.split()]) == 3
    except ValueError:
        return False
