"""LZF (Marc Lehmann's format), in which the bodies of binary_compressed PCD files are packed.

A control byte below 32 is followed by one literal byte more than it states.  Any other has a length
in its upper three bits (7: the next byte is added), 2 less than what is copied, and in its lower
five the upper bits of a distance, whose lower byte follows, 1 less than how far back it lies.
"""

from __future__ import annotations

LITERAL, LONG = 32, 7


def unpack(data: bytes, size: int) -> bytes:
    """The `size` bytes that `data` unfolds to; raises ValueError for anything else."""
    out = bytearray()
    at, end = 0, len(data)
    while at < end:
        control = data[at]
        at += 1
        if control < LITERAL:
            after = at + control + 1
            if after > end:
                raise ValueError("literal bytes are cut")
            out += data[at:after]
            at = after
        else:
            length = control >> 5
            if at + 1 + (length == LONG) > end:
                raise ValueError("a reference is cut")
            if length == LONG:
                length += data[at]
                at += 1
            back = ((control & 31) << 8 | data[at]) + 1
            at += 1
            length += 2
            first = len(out) - back
            if first < 0:
                raise ValueError("a reference before the beginning")
            if back >= length:
                out += out[first : first + length]
            else:
                out += (out[first:] * (length // back + 1))[:length]
        if len(out) > size:
            raise ValueError(f"more than {size} bytes")
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes in place of {size}")
    return bytes(out)
