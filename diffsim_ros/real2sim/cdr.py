"""The header of a serialised message (CDR), read and changed without knowing its type."""

from __future__ import annotations

import struct

from ..errors import InputError

NANO = 1_000_000_000
START = 4
"""Bytes of the encapsulation; a std_msgs/Header that comes first begins after them."""


def header(data: bytes, place: str) -> tuple[int, str]:
    """Stamp [ns] and frame of a message that begins with a std_msgs/Header.

    Raises InputError naming `place` for bytes that are too few, or hold no such header.
    """
    try:
        order = _order(data)
        seconds, nanoseconds, length = struct.unpack_from(f"{order}iII", data, START)
        text = bytes(data[START + 12 : START + 12 + length])
        if len(text) != length or not 0 <= nanoseconds < NANO:
            raise ValueError(f"{length} bytes of frame_id, {nanoseconds} ns")
        return seconds * NANO + nanoseconds, text.rstrip(b"\0").decode()
    except (struct.error, ValueError, IndexError) as error:
        rule = "a serialised message that begins with a header"
        raise InputError(place, "header", str(error), rule) from None


def restamped(data: bytes, stamp: int) -> bytes:
    """The message with another stamp [ns] in its header."""
    time = struct.pack(f"{_order(data)}iI", stamp // NANO, stamp % NANO)
    return data[:START] + time + data[START + len(time) :]


def _order(data: bytes) -> str:
    """Letter of struct for the byte order: that of the encapsulation's second byte."""
    return "<" if data[1] & 1 else ">"
