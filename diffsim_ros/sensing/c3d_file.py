"""C3D files: labelled points of motion capture, read within bounds and whole.

The format (c3d.org): a header of 512 bytes, parameters in groups, frames of points (x y z and a
word of residual and cameras) with analog samples between them. Counts are contradictory in files
that exist: the header's are of 16 bits, TRIAL's of 32, and some count from 0.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..files import read_bytes

WHOLE = "a whole C3D file"
BLOCK = 512
MOST_BYTES = 4 * 2**30
"""Of a file."""
INTEL, DEC, SGI = 84, 85, 86
"""Processors, whose floats and order of bytes differ."""
SATURATED = 65535
"""A count of 16 bits that says: so many, or more."""
MODELS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""POINT:NAME lists labels of points that are results of a model, no places."""


class C3dParameter(NamedTuple):
    """Type (-1 letters, 1 bytes, 2 integers, 4 floats), dimensions and bytes of a parameter."""

    kind: int
    shape: tuple[int, ...]
    data: bytes


class C3d(NamedTuple):
    """Points of a file.

    labels    of the m points, "" of those without one
    points    places in the unit of the file (n, m, 3), NaN where a point was lost
    residual  in that unit (n, m)
    rate      [Hz];  unit  POINT:UNITS in small letters, "" where it is blank
    models    labels of points that are a model's results, by POINT:ANGLES and the like
    zeros     samples at exactly 0 0 0 of residual 0, which are lost;  notes  on counts
    """

    labels: tuple[str, ...]
    points: np.ndarray
    residual: np.ndarray
    rate: float
    unit: str
    models: frozenset[str]
    zeros: int
    notes: tuple[str, ...]


def read_c3d_file(path: Path) -> C3d:
    """The points of a C3D file.

    Raises InputError: no C3D, a cut file, counts that contradict each other, no rate.
    """
    data = read_bytes(path, WHOLE, limit=MOST_BYTES)
    if len(data) < 2 * BLOCK or data[1] != 0x50:
        raise InputError(path, "", f"{len(data)} bytes without its mark", WHOLE)
    begin = BLOCK * (data[0] - 1)
    if not 0 < begin <= len(data) - 4:
        raise InputError(path, "parameters", f"in block {data[0]}", WHOLE, "the file is cut")
    processor = data[begin + 3]
    order = ">" if processor == SGI else "<"
    parameters = _parameters(data, begin, order)
    header = struct.unpack_from(order + "HHHHH", data, 2)
    scale = _number(parameters, "POINT:SCALE", processor, _float(data[12:16], processor))
    rate = _number(parameters, "POINT:RATE", processor, _float(data[20:24], processor))
    count = _points(path, header[0], parameters, processor)
    if not (np.isfinite(rate) and rate > 0) or not np.isfinite(scale) or scale == 0:
        got = f"rate {rate:g} Hz, scale {scale:g}"
        raise InputError(path, "POINT:RATE, POINT:SCALE", got, "a rate > 0 and a scale")
    block = struct.unpack_from(order + "H", data, 16)[0]
    start = BLOCK * (int(_number(parameters, "POINT:DATA_START", processor, block) or block) - 1)
    labels = _labels(path, parameters, count)
    size = (4 if scale < 0 else 2) * (4 * count + header[1])
    frames, notes = _frames(path, header, parameters, processor, len(data) - start, size)
    raw = _samples(data[start : start + frames * size], frames, count, header[1], scale, processor)
    frames, raw, more = _without_padding(frames, raw, header)
    place, word = raw[..., :3] * (1.0 if scale < 0 else scale), raw[..., 3]
    word = np.where(np.abs(word) < 2**31, word, -1.0).astype(np.int64)
    zero = (place == 0.0).all(axis=2) & (word == 0)
    lost = (word < 0) | ~np.isfinite(raw).all(axis=2) | zero
    return C3d(
        labels, np.where(lost[..., None], np.nan, place),
        np.where(lost, np.nan, (word & 0xFF) * abs(scale)), rate,
        _text(parameters, "POINT:UNITS"), _models(parameters), int(np.sum(zero)),
        (*notes, *more),
    )  # fmt: skip


# ---------------------------------------------------------------------------- parameters


def _parameters(data: bytes, begin: int, order: str) -> dict[str, C3dParameter]:
    """GROUP:NAME -> parameter; what does not fit into the file ends the list."""
    groups: dict[int, str] = {}
    found: dict[tuple[int, str], C3dParameter] = {}
    at = begin + 4
    while 0 <= at <= len(data) - 5:
        length, group = struct.unpack_from("<bb", data, at)
        name = data[at + 2 : at + 2 + abs(length)].decode("latin-1").strip().upper()
        offset_at = at + 2 + abs(length)
        if length == 0 or group == 0 or offset_at + 2 > len(data):
            break
        offset = struct.unpack_from(order + "H", data, offset_at)[0]
        if group < 0:
            groups[-group] = name
        else:
            parameter = _parameter(data, offset_at + 2)
            if parameter is not None:
                found.setdefault((group, name), parameter)
        if offset < 2:
            break
        at = offset_at + offset
    return {f"{groups.get(group, '')}:{name}": one for (group, name), one in found.items()}


def _parameter(data: bytes, at: int) -> C3dParameter | None:
    """The parameter whose type stands at `at`, None where it reaches beyond the file."""
    if at + 2 > len(data):
        return None
    kind, count = struct.unpack_from("<bB", data, at)
    shape = tuple(data[at + 2 : at + 2 + count])
    size = abs(kind) * int(np.prod(shape, dtype=np.int64)) if shape else abs(kind)
    begin = at + 2 + count
    if kind not in (-1, 1, 2, 4) or count > 7 or begin + size > len(data):
        return None
    return C3dParameter(kind, shape, data[begin : begin + size])


def _numbers(one: C3dParameter, processor: int) -> np.ndarray:
    """All numbers of a parameter."""
    order = ">" if processor == SGI else "<"
    if one.kind == 4:
        return _floats(one.data, processor)
    kinds = {1: "u1", 2: order + "u2", -1: "u1"}
    return np.frombuffer(one.data, kinds[one.kind]).astype(float)


def _number(parameters: dict[str, C3dParameter], key: str, processor: int, other: float) -> float:
    """The number of a parameter, `other` where there is none."""
    one = parameters.get(key)
    found = _numbers(one, processor) if one is not None else np.zeros(0)
    return float(found[0]) if len(found) else float(other)


def _text(parameters: dict[str, C3dParameter], key: str) -> str:
    """The text of a parameter, the first where it is a list, in small letters; "" if there is none.

    Some write the unit once for each point, others four blanks.
    """
    one = parameters.get(key)
    words = _texts(one) if one is not None else []
    return next((word.lower() for word in words if word), "")


def _texts(one: C3dParameter) -> list[str]:
    """The texts of a parameter of letters: of one dimension one text."""
    if one.kind != -1 or not one.data:
        return []
    width = one.shape[0] if one.shape else 1
    count = len(one.data) // width if width else 0
    return [_decoded(one.data[k * width : (k + 1) * width]) for k in range(count)]


def _decoded(data: bytes) -> str:
    data = data.split(b"\0")[0]
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").strip()


def _lists(parameters: dict[str, C3dParameter], name: str) -> list[str]:
    """Texts of POINT:NAME, POINT:NAME2, ... in a row: a parameter holds 255 at most."""
    found: list[str] = []
    for number in ("", *map(str, range(2, 100))):
        one = parameters.get(f"POINT:{name}{number}")
        if one is None:
            break
        found += _texts(one)
    return found


def _labels(path: Path, parameters: dict[str, C3dParameter], count: int) -> tuple[str, ...]:
    labels = _lists(parameters, "LABELS")
    if len(labels) < count:
        got = f"{count} points but {len(labels)} labels"
        raise InputError(path, "POINT:LABELS", got, "a label for each, in LABELS, LABELS2, ...")
    return tuple(labels[:count])


def _models(parameters: dict[str, C3dParameter]) -> frozenset[str]:
    """Labels of model outputs: POINT:ANGLES and the like, and those of POINT:TYPE_GROUPS."""
    groups = [word.upper() for word in _lists(parameters, "TYPE_GROUPS")]
    names = [*MODELS, *(word for word in groups if word)]
    return frozenset(label for name in names for label in _lists(parameters, name) if label)


# ---------------------------------------------------------------------------- frames


def _points(path: Path, header: int, parameters: dict[str, C3dParameter], processor: int) -> int:
    """The count of points; InputError where header and parameters contradict each other."""
    used = int(_number(parameters, "POINT:USED", processor, header))
    if not used or (header and used != header):
        got = f"{header} points in the header, {used} by POINT:USED"
        raise InputError(path, "points", got, "the same count > 0 in both")
    return used


def _frames(
    path: Path, header: tuple[int, ...], parameters: dict[str, C3dParameter], processor: int,
    room: int, size: int,
) -> tuple[int, list[str]]:  # fmt: skip
    """How many frames there are: as the file's counts say, if it has room for them.

    header   points, analog samples, first frame, last frame, longest gap
    room     bytes from the first frame on;  size  of a frame
    """
    here = max(room, 0) // size
    first, last = header[2:4]
    said = last - first + 1
    begin, end = (_long(parameters, f"TRIAL:ACTUAL_{w}_FIELD", processor) for w in ("START", "END"))
    by_trial = end - begin + 1 if begin is not None and end is not None else 0
    long = int(_number(parameters, "POINT:LONG_FRAMES", processor, 0.0))
    if last == SATURATED and max(by_trial, long) < SATURATED:
        if here < SATURATED - max(first, 1) + 1:
            rule = f"the {SATURATED} of its header"
            raise InputError(path, "frames", here, rule, "the file is cut")
        note = f"{SATURATED} or more frames by the header: read to the end"
        return here, [note]
    counts = [c for c in (by_trial, long, said, last if first == 0 else 0) if c > 0]
    agreed = int(_number(parameters, "POINT:FRAMES", processor, 0.0))
    if (
        agreed in counts and agreed < SATURATED
    ):  # numbers from 0 to the count, which is one too many
        counts.insert(0, agreed)
    fits = [c for c in counts if c <= here]
    if not fits or counts[0] > here + 1:
        got = f"{here}"
        rule = f"the {counts[0] if counts else said} of its header"
        raise InputError(path, "frames", int(got), rule, "the file is cut")
    wrapped = (here - fits[0]) // 2**16 * 2**16
    return fits[0] + wrapped, ["the header's count of frames has overflown"] if wrapped else []


def _long(parameters: dict[str, C3dParameter], key: str, processor: int) -> int | None:
    """A count of 32 bits in two words, the low one first."""
    one = parameters.get(key)
    words = _numbers(one, processor) if one is not None and one.kind == 2 else np.zeros(0)
    return int(words[0] + 2**16 * words[1]) if len(words) == 2 else None


def _samples(
    data: bytes, frames: int, count: int, analog: int, scale: float, processor: int
) -> np.ndarray:
    """Words of the points (n, m, 4)."""
    if scale < 0:
        words = _floats(data, processor)
    else:
        words = np.frombuffer(data, ">i2" if processor == SGI else "<i2").astype(np.float64)
    words = words.reshape(frames, 4 * count + analog)[:, : 4 * count]
    return words.reshape(frames, count, 4)


def _without_padding(
    frames: int, raw: np.ndarray, header: tuple[int, ...]
) -> tuple[int, np.ndarray, list[str]]:
    """Of a file that is read to its end: the frames without the zeros that fill its last block."""
    if header[3] != SATURATED:
        return frames, raw, []
    kept = frames
    least = max(frames - BLOCK // max(raw[0].size * 2, 1) - 1, 1)
    while kept > least and not raw[kept - 1].any():
        kept -= 1
    return kept, raw[:kept], []


def _float(data: bytes, processor: int) -> float:
    return float(_floats(data, processor)[0])


def _floats(data: bytes, processor: int) -> np.ndarray:
    """Floats of a processor as float64; those of DEC have their words exchanged and are 4 times as
    large as IEEE's."""
    with np.errstate(invalid="ignore"):  # of damaged bytes
        if processor == SGI:
            return np.frombuffer(data, ">f4").astype(np.float64)
        if processor != DEC:
            return np.frombuffer(data, "<f4").astype(np.float64)
        words = np.frombuffer(data, "<u2").astype(np.uint32)
        bits = words[0::2] << 16 | words[1::2]
        return np.where(bits == 0, 0.0, bits.view(np.float32).astype(np.float64) / 4.0)
