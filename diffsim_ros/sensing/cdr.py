"""Stamps of serialised messages (CDR), read and changed in the bytes.

Of messages that begin with a std_msgs/Header, whatever their type, and of tf2_msgs/TFMessage.
"""

from __future__ import annotations

import struct

from ..errors import InputError

NANO = 1_000_000_000
START = 4
"""Bytes of the encapsulation; a std_msgs/Header that comes first begins after them."""


def header(data: bytes, place: str) -> tuple[int, str]:
    """Stamp [ns] and frame of a message that begins with a std_msgs/Header.

    Raises InputError naming `place` for bytes that are too few, or have no such header.
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


def transforms(data: bytes, place: str) -> list[int]:
    """Where the stamp of each transform of a TFMessage begins [bytes].

    Raises InputError naming `place` for bytes that are not a TFMessage.
    """
    try:
        order, found, at = _order(data), [], START + 4
        (count,) = struct.unpack_from(f"{order}I", data, START)
        for _ in range(count):
            found.append(at)
            at += 8  # the stamp; then frame_id and child_frame_id, each aligned to 4
            for _ in range(2):
                at += -(at - START) % 4
                at += 4 + struct.unpack_from(f"{order}I", data, at)[0]
            at += -(at - START) % 8 + 7 * 8  # translation and rotation
            if at > len(data):
                raise ValueError(f"{len(data)} bytes for {count} transforms")
            at += -(at - START) % 4
        return found
    except (struct.error, ValueError, IndexError) as error:
        raise InputError(place, "transforms", str(error), "a serialised TFMessage") from None


def first_stamp(data: bytes, place: str) -> int:
    """Stamp [ns] of the first transform of a TFMessage, 0 without any; errors as transforms."""
    found = transforms(data, place)
    return _stamp(data, found[0]) if found else 0


def restamped_transforms(data: bytes, stamp: int) -> bytes:
    """A TFMessage whose first transform has that stamp [ns]; the others keep their distance."""
    parts = bytearray(data)
    found = transforms(data, "TFMessage")
    for at in found:
        later = stamp + _stamp(data, at) - _stamp(data, found[0])
        struct.pack_into(f"{_order(data)}iI", parts, at, later // NANO, later % NANO)
    return bytes(parts)


def reference(data: bytes, place: str) -> tuple[list[str], list[list[float]]]:
    """Names of the joints, and [positions, velocities, accelerations, efforts] of the first point
    of a controller's state (control_msgs/JointTrajectoryControllerState), all of whose types begin
    with them.

    Raises InputError naming `place` for bytes that are not one.
    """
    try:
        order, at = _order(data), START + 8
        texts: list[str] = []
        (length,) = struct.unpack_from(f"{order}I", data, at)  # of the frame
        at += 4 + length
        at += -(at - START) % 4
        (count,) = struct.unpack_from(f"{order}I", data, at)
        at += 4
        for _ in range(count):
            at += -(at - START) % 4
            (length,) = struct.unpack_from(f"{order}I", data, at)
            text = data[at + 4 : at + 4 + length]
            if len(text) != length:
                raise ValueError(f"a name of {length} bytes")
            texts.append(bytes(text).rstrip(b"\0").decode())
            at += 4 + length
        found: list[list[float]] = []
        for _ in range(4):
            at += -(at - START) % 4
            (count,) = struct.unpack_from(f"{order}I", data, at)
            at += 4
            if count:
                at += -(at - START) % 8
                if 8 * count > len(data) - at:
                    raise ValueError(f"{count} numbers")
            found.append(list(struct.unpack_from(f"{order}{count}d", data, at)))
            at += 8 * count
        return texts, found
    except (struct.error, ValueError, IndexError) as error:
        rule = "a serialised state of a trajectory controller"
        raise InputError(place, "reference", str(error), rule) from None


def _stamp(data: bytes, at: int) -> int:
    seconds, nanoseconds = struct.unpack_from(f"{_order(data)}iI", data, at)
    return seconds * NANO + nanoseconds


def _order(data: bytes) -> str:
    """Letter of struct for the byte order: that of the encapsulation's second byte."""
    return "<" if data[1] & 1 else ">"
