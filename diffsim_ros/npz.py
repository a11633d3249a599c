"""NPZ files read within bounds: no pickles, no huge shapes, no archives that unpack without end."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.files import check_unpacked, require_regular

MEMBERS = 1000
"""Most arrays of a file."""
HEADER = 10_000
"""Most bytes of an array's header."""
KINDS = "biufUS"
"""Kinds of NumPy types that are read: booleans, integers, floating-point numbers, texts."""


def read_npz(
    path: str | Path, accepted: str, wanted: Collection[str] | None = None, remedy: str = ""
) -> dict[str, np.ndarray]:
    """Arrays of a file, all or those named in `wanted` that it has.

    accepted, remedy   rule and remedy in errors of a file that is none
    Raises InputError: a missing, damaged or cut file, pickled objects, an array whose header does
    not fit its data, texts that are no Unicode, more than MEMBERS arrays, an archive that unfolds
    to far more than its size.
    """
    path = Path(path)
    size = require_regular(path, accepted)
    try:
        with zipfile.ZipFile(path) as packed:
            members = _members(path, packed, wanted, size)
            return {key: _array(packed, member) for key, member in members.items()}
    except InputError:
        raise
    except Exception as error:  # zip, zlib, tokenize, value, type ... errors of damaged files
        raise InputError(path, "", str(error) or type(error).__name__, accepted, remedy) from None


def npz_names(path: str | Path, accepted: str) -> list[str]:
    """Names of the arrays of a file, in its order; errors as read_npz."""
    size = require_regular(path, accepted)
    try:
        with zipfile.ZipFile(path) as packed:
            return list(_members(Path(path), packed, None, size))
    except InputError:
        raise
    except Exception as error:  # zip, zlib, tokenize, value, type ... errors of damaged files
        raise InputError(path, "", str(error) or type(error).__name__, accepted) from None


def numbers(
    path: str | Path, arrays: dict[str, np.ndarray], key: str, shape: tuple[int | None, ...]
) -> np.ndarray:
    """The array `key` as float64; InputError unless it holds real numbers of that shape (None: any
    length)."""
    array = arrays[key]
    if array.dtype.kind not in "biuf":
        raise InputError(path, key, str(array.dtype), "real numbers")
    pairs = zip(shape, array.shape, strict=False)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in pairs):
        rule = ", ".join("n" if n is None else str(n) for n in shape)
        raise InputError(path, key, array.shape, f"shape ({rule})")
    return array.astype(np.float64)


def whole_numbers(
    path: str | Path, arrays: dict[str, np.ndarray], key: str, shape: tuple[int | None, ...]
) -> np.ndarray:
    """The same as int64; InputError unless all are whole and fit."""
    array = numbers(path, arrays, key, shape)
    bad = np.flatnonzero(~((array == np.rint(array)) & (np.abs(array) < 2.0**53)))
    if len(bad):
        raise InputError(path, f"{key}[{bad[0]}]", float(array[bad[0]]), "a whole number")
    return array.astype(np.int64)


def _members(
    path: Path, packed: zipfile.ZipFile, wanted: Collection[str] | None, size: int
) -> dict[str, zipfile.ZipInfo]:
    every = packed.infolist()
    if len(every) > MEMBERS:
        raise InputError(path, "", f"{len(every)} arrays", f"at most {MEMBERS} arrays")
    found: dict[str, zipfile.ZipInfo] = {}
    for member in every:
        key = member.filename.removesuffix(".npy")
        if key in found:
            raise InputError(path, key, "an array of this name again", "each name once")
        if key != member.filename and (wanted is None or key in wanted):
            found[key] = member
    check_unpacked(path, sum(member.file_size for member in found.values()), size)
    return found


def _array(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    form: Any = np.lib.format
    with packed.open(member) as stream:
        version = form.read_magic(stream)
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, fortran, kind = read(stream, max_header_size=HEADER)
        if kind.hasobject or kind.kind not in KINDS:
            raise ValueError(
                f"{member.filename}: type {kind}: numbers or texts are read, no objects"
            )
        if len(shape) > 8 or any(n < 0 for n in shape):
            raise ValueError(f"{member.filename}: shape {shape[:8]}")
        wanted = math.prod(shape) * kind.itemsize
        if wanted > member.file_size:
            got = f"{member.file_size} bytes"
            raise ValueError(f"{member.filename}: {got}, shape {shape} needs {wanted}")
        data = stream.read()
    if len(data) != wanted:
        raise ValueError(f"{member.filename}: {len(data)} bytes, shape {shape} needs {wanted}")
    array = np.frombuffer(bytearray(data), kind) if kind.itemsize else np.zeros(shape, kind)
    array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    if kind.kind == "U" and array.size and kind.itemsize:
        _check_text(member.filename, array)
    return array


def _check_text(name: str, array: np.ndarray) -> None:
    """Code points beyond Unicode, and halves of pairs, cannot be shown or written."""
    order = "<u4" if array.dtype.byteorder in "<=" else ">u4"
    codes = np.frombuffer(array.tobytes(), order)
    if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any():
        raise ValueError(f"{name}: texts that are no Unicode")
