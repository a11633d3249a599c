"""The unpacked size of a .vtu file, before meshio unpacks it all at once."""

from __future__ import annotations

import base64
import binascii
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.files import FREE, MOST_UNPACKED, check_unpacked

WORDS = {"UInt32": "<u4", "UInt64": "<u8", "Int32": "<u4", "Int64": "<u8"}
"""Types of the numbers before packed blocks."""


def check_vtu(path: Path, content: bytes, place: object, key: str) -> None:
    """Raise InputError unless the file is XML without a document type, whose packed arrays (zlib,
    inside the elements) unpack to a usual size."""
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise InputError(place, key, f"{path}: <!DOCTYPE", "XML without a document type")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(place, key, f"{path}: {error}", "well-formed XML") from error
    compressor = root.get("compressor")
    if compressor is None:
        return
    if compressor != "vtkZLibDataCompressor" or root.find("AppendedData") is not None:
        got, remedy = f"{path}: {compressor}, or appended data", "write it with zlib, or unpacked"
        raise InputError(place, key, got, "arrays packed by zlib inside the elements", remedy)
    kind, unpacked = WORDS.get(root.get("header_type", "UInt32"), "<u4"), 0
    most = max(FREE, MOST_UNPACKED * len(content)) + 1
    try:
        for array in root.iter("DataArray"):
            if array.get("format") == "binary":
                unpacked += _unpacked("".join((array.text or "").split()), kind, most)
            check_unpacked(path, unpacked, len(content), key)
    except (ValueError, IndexError, zlib.error, binascii.Error) as error:
        raise InputError(place, key, f"{path}: {error}", "arrays packed by zlib") from error


def _unpacked(text: str, kind: str, most: int) -> int:
    """Bytes that one array unfolds to, counted up to `most`: base64 of sizes, then of blocks."""
    word = np.dtype(kind).itemsize
    first = base64.b64decode(text[: -(-word // 3) * 4])
    blocks = int(np.frombuffer(first[:word], kind)[0])
    if blocks > len(text):
        raise ValueError(f"{blocks} blocks in {len(text)} characters")
    head = -(-(word * (3 + blocks)) // 3) * 4
    sizes = np.frombuffer(base64.b64decode(text[:head])[: word * (3 + blocks)], kind)[3:]
    data, at, total = base64.b64decode(text[head:]), 0, 0
    for size in sizes.tolist():
        total += len(zlib.decompressobj().decompress(data[at : at + size], most - total))
        at += size
        if total >= most:
            break
    return total
