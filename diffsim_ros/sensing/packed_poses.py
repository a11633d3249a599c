"""Poses read from the bytes of messages all at once, where every message has one layout.

A tracker at 240 Hz sends 144 000 messages in ten minutes, which differ in stamp and pose alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .cdr import START
from .messages import ODOMETRY, POSE, TRANSFORM, UNSURE

FRAMES_NAMED = {POSE: 1, UNSURE: 1, TRANSFORM: 2, ODOMETRY: 2}
"""Message type -> texts (frame, and child frame) between the stamp and the pose."""
NUMBERS = 7
REST = {UNSURE: 36, ODOMETRY: 36 + 6 + 36}
"""Message type -> numbers after the pose."""


class PackedPoses(NamedTuple):
    """Stamps [ns] (n,), frame, child frame ("" of types that have none), and poses
    px py pz qx qy qz qw (n, 7)."""

    stamp: np.ndarray
    frame: str
    child: str
    value: np.ndarray


def packed_poses(raws: Sequence[bytes], msgtype: str) -> PackedPoses | None:
    """The poses of serialised messages of a type in FRAMES_NAMED; None where frames or lengths
    differ, or bytes are not as they should be: their own reader says why."""
    size = len(raws[0])
    if any(len(raw) != size for raw in raws) or size < START + 12 or not raws[0][1] & 1:
        return None
    texts, at = [], START + 8
    try:
        for _ in range(FRAMES_NAMED[msgtype]):
            at += -(at - START) % 4
            (length,) = struct.unpack_from("<I", raws[0], at)
            text = raws[0][at + 4 : at + 4 + length]
            if len(text) != length:
                return None
            texts.append(bytes(text).rstrip(b"\0").decode())
            at += 4 + length
    except (struct.error, UnicodeDecodeError):
        return None
    begin = at + -(at - START) % 8
    end = begin + 8 * NUMBERS
    if not 0 <= size - end - 8 * REST.get(msgtype, 0) < 4:  # up to three bytes of padding
        return None
    table = np.frombuffer(b"".join(raws), np.uint8).reshape(len(raws), size)
    same = slice(START + 8, at)
    if (table[:, :START] != table[0, :START]).any() or (table[:, same] != table[0, same]).any():
        return None
    time = np.ascontiguousarray(table[:, START : START + 8]).view("<u4")
    seconds = np.ascontiguousarray(time[:, 0]).view("<i4").astype(np.int64)
    stamp = seconds * 1_000_000_000 + time[:, 1]
    value = np.ascontiguousarray(table[:, begin:end]).view("<f8")
    return PackedPoses(stamp, texts[0], texts[1] if len(texts) > 1 else "", value)
