"""Fuzzing of the file readers: sound files of every format, corrupted at random.

`./run python -m validation.fuzz_readers --seconds 60`.  A reader may refuse with InputError, or
read what is still sound; any other exception is a finding, as are hangs, crashes and memory.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import struct
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from diffsim_ros.errors import InputError
from validation.fuzzing import Finding, main
from validation.hostile import READERS
from validation.hostile_seeds import SEEDS, metadata

WORDS = [
    b"nan", b"inf", b"-1", b"0", b"1e308", b"1e-320", b"99999999999999999999", b"4294967295",
    b"2147483648", b"", b" ", b"\n", b"\t", b",", b":", b"[", b"{", b"&a", b"*a", b"<<: *a", b"!!",
    b"\x00", b"\xff\xfe", b"../..", b"/dev/zero", b"package://", b"file://", b"<!ENTITY",
]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 0, 1e308, -1e308, math.nan, math.inf, 10**30, "", "x", "1/0", "../x",
    "/dev/zero", [], {}, [[]], [None], {"x": {}}, [1, 2], "a" * 10_000, [0] * 1000, 5, 1e-320,
    {1: 2}, ["a", "a"],
]  # fmt: skip
INTEGERS = [0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]


def corrupted_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one change."""
    if not data:
        return rng.choice(WORDS)
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.choice([1, 1, 4, 16, 256]))
    match rng.randrange(9):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:end] + data[at:end] * rng.choice([1, 3, 100]) + data[end:]
        case 4:
            return data[:at] + rng.choice(WORDS) + data[at:]
        case 5:
            return data[:at] + rng.choice(WORDS) + data[end:]
        case 6 | 7:
            size = rng.choice("BHIQ")
            number = rng.choice(INTEGERS) & (2 ** (8 * struct.calcsize(size)) - 1)
            packed = struct.pack(rng.choice("<>") + size, number)
            return data[:at] + packed + data[at + len(packed) :]
        case _:
            return data[:at] + rng.randbytes(end - at) + data[end:]


def corrupted_text(rng: random.Random, data: bytes) -> bytes:
    """The same for files of words: a word is replaced, a line moved or repeated."""
    if rng.random() < 0.3:
        return corrupted_bytes(rng, data)
    lines = data.split(b"\n")
    row = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            words = lines[row].split(b" ")
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            lines[row] = b" ".join(words)
        case 1:
            lines.insert(row, lines[rng.randrange(len(lines))])
        case 2:
            del lines[row]
        case _:
            other = rng.randrange(len(lines))
            lines[row], lines[other] = lines[other], lines[row]
    return b"\n".join(lines)


def corrupted_value(rng: random.Random, value: Any) -> Any:
    """Plain data with one node replaced, dropped, repeated or renamed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        value, key = dict(value), rng.choice(list(value))
        draw = rng.random()
        if draw < 0.1:
            del value[key]
        elif draw < 0.18:
            value[rng.choice(["x", "", 1, None, "type", key])] = value.pop(key)
        elif draw < 0.24:
            value[rng.choice(["x", "of", "name"])] = rng.choice(ODD)
        else:
            value[key] = corrupted_value(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.75:
        value, at = list(value), rng.randrange(len(value))
        draw = rng.random()
        if draw < 0.15:
            del value[at]
        elif draw < 0.3:
            value.insert(at, value[at])
        else:
            value[at] = corrupted_value(rng, value[at])
        return value
    return rng.choice(ODD)


def corrupted_npz(rng: random.Random, data: bytes) -> bytes:
    """An array replaced, dropped, of another type or shape, or corrupted inside its member."""
    with np.load(io.BytesIO(data)) as found:
        arrays = {key: found[key] for key in found.files}
    key = rng.choice(list(arrays))
    array, draw = arrays[key], rng.randrange(8)
    if draw == 0:
        del arrays[key]
    elif draw == 1:
        arrays[key] = np.asarray(rng.choice([0.0, [], [[]], "x", [1, 2], 1e308, 2**62, -1]))
    elif draw == 2:
        with contextlib.suppress(ValueError, TypeError):
            arrays[key] = array.astype(
                rng.choice(["f4", "i8", "U3", "c16", "?", "S2", "f2", ">f8"])
            )
    elif draw == 3:
        arrays[key] = array.reshape(-1)[: rng.randrange(array.size + 1)]
    elif draw == 4 and array.size and array.dtype.kind in "fiu":
        array = array.copy()
        odd = [np.nan, np.inf, -1, 0, 1e300] if array.dtype.kind == "f" else [-1, 0, 2**62, 7]
        array.flat[rng.randrange(array.size)] = rng.choice(odd)
        arrays[key] = array
    elif draw == 5:
        arrays[key] = np.stack([array, array])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, values in arrays.items():
            member = io.BytesIO()
            np.save(member, values)
            content = member.getvalue()
            if draw >= 6 and name == key:
                content = corrupted_bytes(rng, content)
            packed.writestr(f"{name}.npy", content)
    return buffer.getvalue()


TEXT = {"urdf", "marker csv", "joint csv", "pose csv", "obj", "stl text", "medit", "pcd ascii",
        "ply ascii", "ply mesh", "vtu"}  # fmt: skip


def corrupted(rng: random.Random, name: str, data: bytes) -> bytes:
    """A file of this name in SEEDS, corrupted."""
    suffix = Path(SEEDS[name].name).suffix
    if suffix == ".yaml" and rng.random() < 0.85:
        value = yaml.load(data, Loader=yaml.CSafeLoader)
        for _ in range(rng.choice([1, 1, 2, 4])):
            value = corrupted_value(rng, value)
        return yaml.dump(value, Dumper=yaml.CSafeDumper).encode()
    if suffix == ".npz" and rng.random() < 0.7:
        return corrupted_npz(rng, data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        if len(data) > 10**6:
            break
        text = suffix == ".yaml" or name in TEXT
        data = (corrupted_text if text else corrupted_bytes)(rng, data)
    return data


def program(seed: int, say: Callable[[str], None] | None = None) -> None:
    """Spoil the file of a seed and read it."""
    rng = random.Random(seed)
    name = rng.choice(list(SEEDS))
    kind, file, make = SEEDS[name]
    with tempfile.TemporaryDirectory(prefix="fuzz_readers_") as folder:
        path = Path(folder) / file
        data = corrupted(rng, name, make())
        if name in ("db3", "mcap") and rng.random() < 0.3:  # a folder with its metadata.yaml
            path = Path(folder) / "bag"
            path.mkdir()
            (path / file).write_bytes(make() if rng.random() < 0.5 else data)
            (path / "metadata.yaml").write_bytes(corrupted_text(rng, metadata(file)))
        else:
            path.write_bytes(data)
        if say is not None:
            say(f"{name}: {path}, {len(data)} bytes")
            say(repr(data[:1500]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                READERS[kind](path)
        except InputError as error:
            if say is not None:
                say(str(error))
            if len(str(error)) > 5000:
                raise Finding(f"{name}: a message of {len(str(error))} characters") from error
        except Exception as error:
            raise Finding(f"{name}: {type(error).__name__}: {error}"[:500]) from error


if __name__ == "__main__":
    sys.exit(main("validation.fuzz_readers", program, __doc__ or ""))
