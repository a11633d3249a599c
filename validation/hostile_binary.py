"""Hostile archives, bags, clouds and meshes: cut, huge counts, lying lengths, bombs, pickles."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from . import hostile_seeds as seeds
from .hostile import Case
from .hostile_text import file, lazy

CUTS = (0.0, 0.02, 0.3, 0.6, 0.95)
MANY = 4_000_000_000


class Touch:
    """Unpickled, it makes a file: proof that a pickle was executed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


# ---------------------------------------------------------------------------- npz


def _archive(members: dict[str, bytes], method=zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def _npy(header: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + body


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def _zeros(count: int) -> bytes:
    """An npy of so many zeros, as bytes."""
    return _npy(
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},)}}", bytes(8 * count)
    )


def _pickled(folder: Path, whole: bytes, name: str, key: str) -> Path:
    content = pickle.dumps(Touch(str(folder / "executed")))
    header = _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", content)
    path = folder / name
    path.write_bytes(_archive({**_members(whole), f"{key}.npy": header}))
    return path


def npz_cases(rng: random.Random) -> Iterator[Case]:
    for seed, key in (("tosses", "state"), ("joint log", "q"), ("cloud npz", "points")):
        reader, name, make = seeds.SEEDS[seed]
        whole = make()
        members = _members(whole)
        shape = "{{'descr': '{}', 'fortran_order': False, 'shape': {}}}"
        headers = {
            "a huge shape": shape.format("<f8", f"({MANY},)"),
            "a negative shape": shape.format("<f8", "(-1,)"),
            "a shape of many axes": shape.format("<f8", "(" + "1," * 5000 + ")"),
            "a product beyond 64 bits": shape.format("<f8", f"({MANY}, {MANY}, {MANY})"),
            "huge texts": shape.format("<U1000000000", "(3,)"),
            "code as a header": "__import__('os').mkdir('executed')",
            "nested brackets as a header": "(" * 500,
            "an unknown type": shape.format("<q9", "(1,)"),
            "a void of gigabytes": shape.format("|V2000000000", "(1,)"),
        }  # fmt: skip
        for what, header in headers.items():
            changed = {**members, f"{key}.npy": _npy(header)}
            yield Case("npz", f"{seed}: {what}", reader, file(name, _archive(changed)))
        yield Case("npz", f"{seed}: a pickle", reader,
                   lambda f, w=whole, n=name, k=key: _pickled(f, w, n, k))  # fmt: skip
        for share in CUTS:
            cut = whole[: int(share * len(whole))]
            yield Case("npz", f"{seed}: cut at {share:g}", reader, file(name, cut))
        bomb = lambda m=members, k=key: _archive({**m, f"{k}.npy": _zeros(200_000_000 // 2)})  # noqa: E731
        yield Case("npz", f"{seed}: zip bomb", reader, lazy(name, bomb))
        other = lambda m=members: _archive({**m, "other.npy": _zeros(100_000_000)})  # noqa: E731
        yield Case("npz", f"{seed}: zip bomb aside", reader, lazy(name, other), seed != "tosses")
        yield Case("npz", f"{seed}: no arrays", reader, file(name, _archive({"a.txt": b"x"})))
        twice = lambda m=members: _archive({**m, **{f"{i}.npy": b"" for i in range(50_000)}})  # noqa: E731
        yield Case("npz", f"{seed}: 50 000 members", reader, lazy(name, twice), False)
        content = pickle.dumps({"state": 1})
        yield Case("npz", f"{seed}: a pickle alone", reader, file(name, content))
        yield Case("npz", f"{seed}: lying sizes", reader, file(name, _lying(whole)))


def _lying(data: bytes) -> bytes:
    """Members whose directory states 4 GB each."""
    out, at = bytearray(data), 0
    while (at := data.find(b"PK\x01\x02", at)) >= 0:
        out[at + 24 : at + 28] = struct.pack("<I", 0xFFFFFFF0)
        at += 4
    return bytes(out)


# ---------------------------------------------------------------------------- c3d


def c3d_cases(rng: random.Random) -> Iterator[Case]:
    whole = seeds.c3d()
    for share in CUTS:
        yield Case("c3d", f"cut at {share:g}", "markers",
                   file("m.c3d", whole[: int(share * len(whole))]))  # fmt: skip
    changes = {
        "no points": (2, "<H", 0), "65535 points": (2, "<H", 65535),
        "frames that go back": (6, "<HH", (30, 1)), "65535 frames": (6, "<HH", (1, 65535)),
        "parameters beyond the end": (0, "<B", 250), "data beyond the end": (16, "<H", 60000),
        "no magic": (1, "<B", 7), "analog samples": (4, "<H", 65535),
        "NaN scale": (12, "<f", float("nan")), "no rate": (20, "<f", 0.0),
        "another processor": (515, "<B", 83), "255 blocks of parameters": (514, "<B", 255),
    }  # fmt: skip
    for name, (at, kind, value) in changes.items():
        packed = struct.pack(kind, *(value if isinstance(value, tuple) else (value,)))
        data = whole[:at] + packed + whole[at + len(packed) :]
        harmless = name in ("NaN scale", "another processor", "255 blocks of parameters",
                            "no magic", "frames that go back", "no rate", "no points",
                            "analog samples", "data beyond the end")  # fmt: skip
        yield Case("c3d", name, "markers", file("m.c3d", data), not harmless)
    yield Case("c3d", "zeros", "markers", file("m.c3d", bytes(4096)))


# ---------------------------------------------------------------------------- clouds


def _header(data: bytes, **changes: str) -> bytes:
    for key, value in changes.items():
        lines = data.split(b"\n")
        row = next(i for i, line in enumerate(lines) if line.startswith(key.encode()))
        lines[row] = f"{key} {value}".encode()
        data = b"\n".join(lines)
    return data


def cloud_cases(rng: random.Random) -> Iterator[Case]:
    huge = {"WIDTH": str(MANY), "POINTS": str(MANY)}
    changes: dict[str, dict[str, str]] = {
        "huge count": huge, "negative count": {"WIDTH": "-20", "POINTS": "-20"},
        "count beyond 64 bits": {"WIDTH": "9" * 30, "POINTS": "9" * 30},
        "another count": {"POINTS": "7"}, "width of a word": {"WIDTH": "x"},
        "height 0": {"HEIGHT": "0", "POINTS": "0"}, "no fields": {"FIELDS": ""},
        "fields a b c": {"FIELDS": "a b c"}, "sizes 8": {"SIZE": "8 8 8"},
        "negative sizes": {"SIZE": "-4 -4 -4"}, "huge sizes": {"SIZE": f"{MANY} 4 4"},
        "huge counts of a field": {"COUNT": f"{MANY} 1 1"}, "types of letters": {"TYPE": "Q Q Q"},
        "data of another kind": {"DATA": "other"}, "compressed that is not": {
            "DATA": "binary_compressed"}, "viewpoint of words": {"VIEWPOINT": "a b c"},
        "negative height and width": {"WIDTH": "-20", "HEIGHT": "-1"},
    }  # fmt: skip
    for kind in ("ascii", "binary", "binary_compressed"):
        whole = seeds.pcd(kind)
        for name, change in changes.items():
            harmless = (kind, name) in {
                ("binary_compressed", "compressed that is not"), ("ascii", "sizes 8"),
            }  # fmt: skip
            yield Case("pcd", f"{kind}: {name}", "cloud", file("c.pcd", _header(whole, **change)),
                       not harmless)  # fmt: skip
        for share in CUTS:
            yield Case("pcd", f"{kind} cut at {share:g}", "cloud",
                       file("c.pcd", whole[: int(share * len(whole))]))  # fmt: skip
    yield from _compressed_pcd()
    yield from _ply_clouds()


def _compressed_pcd() -> Iterator[Case]:
    whole = seeds.pcd("binary_compressed")
    at = whole.index(b"compressed\n") + len(b"compressed\n")
    for name, packed, raw in (
        ("a lying packed size", 0xFFFFFFFF, 240),
        ("no packed size", 0, 240),
        ("a lying raw size", None, 0xFFFFFFF0),
        ("no raw size", None, 0),
    ):
        size = struct.unpack("<I", whole[at : at + 4])[0] if packed is None else packed
        data = whole[:at] + struct.pack("<II", size, raw) + whole[at + 8 :]
        yield Case("pcd", f"compressed with {name}", "cloud", file("c.pcd", data))
    back = bytes([0xE0, 0xFF, 0xFF]) * 100  # references before the beginning
    data = whole[:at] + struct.pack("<II", len(back), 240) + back
    yield Case("pcd", "compressed: references before the beginning", "cloud", file("c.pcd", data))

    def bomb() -> bytes:
        count = 150_000_000  # points; LZF packs 264 bytes into 3
        run = b"\x00\x00" + bytes([0xE0, 0xFF, 0x00]) * 7_000_000
        head = _header(whole[:at], WIDTH=str(count), POINTS=str(count))
        return head + struct.pack("<II", len(run), 12 * count) + run

    yield Case("pcd", "LZF bomb", "cloud", lazy("c.pcd", bomb))


def _ply_clouds() -> Iterator[Case]:
    changes = {
        "huge count": (b"vertex 8", f"vertex {MANY}".encode()),
        "negative count": (b"vertex 8", b"vertex -8"),
        "a count of words": (b"vertex 8", b"vertex x"),
        "count beyond 64 bits": (b"vertex 8", b"vertex " + b"9" * 30),
        "no magic": (b"ply\n", b"plx\n"), "no end of the header": (b"end_header", b"end"),
        "an unknown type": (b"float x", b"text x"), "no x": (b"float x", b"float a"),
        "x twice": (b"float y", b"float x"), "an unknown format": (b" 1.0", b"x 9.9"),
        "a list of vertices": (b"float x", b"list uchar float x"),
        "no format": (b"format", b"comment"), "no count": (b"vertex 8", b"vertex"),
    }  # fmt: skip
    for kind in ("ascii", "binary_little_endian"):
        whole = seeds.ply(kind)
        for name, (old, new) in changes.items():
            data = whole.replace(old, new, 1)
            yield Case("ply", f"{kind}: {name}", "cloud", file("c.ply", data))
        for share in CUTS:
            cut = file("c.ply", whole[: int(share * len(whole))])  # of text: in its last number
            yield Case("ply", f"{kind} cut at {share:g}", "cloud", cut,
                       (kind, share) != ("ascii", 0.95))  # fmt: skip
    header = b"ply\nformat ascii 1.0\n" + b"comment x\n" * 100_000
    yield Case("ply", "a header of a megabyte", "cloud", file("c.ply", header))


# ---------------------------------------------------------------------------- meshes


def mesh_cases(rng: random.Random) -> Iterator[Case]:
    for seed in ("ply mesh", "ply mesh binary", "obj", "stl", "stl text", "msh", "medit", "vtk",
                 "vtu", "vdb"):  # fmt: skip
        reader, name, make = seeds.SEEDS[seed]
        whole = make()
        for share in CUTS:
            cut = whole[: int(share * len(whole))]
            # a cut OBJ or text is a smaller, sound one; what is not closed is refused later
            loose = seed in ("obj", "ply mesh", "stl text", "medit") and share > 0.02
            yield Case("mesh", f"{seed} cut at {share:g}", reader, file(name, cut), not loose)
    yield from _counts()
    yield from _odd_meshes()


def _counts() -> Iterator[Case]:
    changed: list[tuple[str, bytes, bytes]] = [
        ("ply mesh", b"vertex 8", f"vertex {MANY}".encode()),
        ("ply mesh", b"face 12", f"face {MANY}".encode()), ("ply mesh", b"face 12", b"face -1"),
        ("ply mesh binary", b"vertex 8", f"vertex {MANY}".encode()),
        ("ply mesh binary", b"face 12", f"face {MANY}".encode()),
        ("ply mesh binary", b"list uchar int", b"list uint int"),
        ("stl", struct.pack("<I", 12), struct.pack("<I", 0xFFFFFFFF)),
        ("stl", struct.pack("<I", 12), struct.pack("<I", 0)),
        ("obj", b"f 1 2 4", b"f 1 2 999999999"), ("obj", b"f 1 2 4", b"f -1 -999 0"),
        ("obj", b"f 1 2 4", b"f a b c"), ("obj", b"v 0.0", b"v nan"),
        ("msh", b"$Nodes", b"$Other"), ("vtk", b"POINTS 8", f"POINTS {MANY}".encode()),
        ("vtk", b"POINTS 8", b"POINTS -8"), ("vtk", b"CELLS 7", f"CELLS {MANY}".encode()),
        ("medit", b"Tetrahedra\n6", f"Tetrahedra\n{MANY}".encode()),
        ("medit", b"Vertices\n8", f"Vertices\n{MANY}".encode()),
        ("medit", b"Vertices\n8", b"Vertices\n-8"), ("medit", b"Dimension 3", b"Dimension 99"),
    ]  # fmt: skip
    for seed, old, new in changed:
        reader, name, make = seeds.SEEDS[seed]
        whole = make()
        harmless = seed in ("obj", "ply mesh binary") and new.startswith((b"f -1", b"v nan"))
        yield Case("mesh", f"{seed} with {new[:24]!r}", reader,
                   file(name, whole.replace(old, new, 1)), not harmless)  # fmt: skip
    for seed, old in (("msh", b"$Nodes\n"), ("msh", b"$Elements\n"), ("vtk", b"POINTS")):
        reader, name, make = seeds.SEEDS[seed]
        whole = make()
        at = whole.find(old) + len(old)
        data = whole[:at] + struct.pack("<Q", 2**62) * 4 + whole[at + 32 :]
        yield Case("mesh", f"{seed}: huge numbers after {old[:9]!r}", reader, file(name, data))


def _odd_meshes() -> Iterator[Case]:
    external = "<!DOCTYPE V [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><VTKFile>&x;</VTKFile>"
    bomb = "<!DOCTYPE V [" + "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "lol"}">' for i in range(10)
    ) + "]><VTKFile>&e9;</VTKFile>"  # fmt: skip
    odd: dict[str, tuple[str, str, bytes]] = {
        "vtu: external entity": ("tets", "m.vtu", external.encode()),
        "vtu: entity bomb": ("tets", "m.vtu", bomb.encode()),
        "obj: no faces": ("triangles", "m.obj", b"v 0 0 0\n" * 100),
        "obj: material library": ("triangles", "m.obj", b"mtllib /dev/zero\n"),
        "obj: line without end": ("triangles", "m.obj", b"f " + b"1 " * 500_000),
        "stl: zeros": ("triangles", "m.stl", bytes(100_000)),
        "stl: text without end": ("triangles", "m.stl", b"solid x\n" + b"facet\n" * 10_000),
        "ply: zeros": ("triangles", "m.ply", bytes(100_000)),
        "vtk: wrong magic": ("tets", "m.vtk", b"# vtk DataFile Version 99.0\nx\nASCII\n"),
        "msh: another format": ("tets", "m.msh", b"$MeshFormat\n9.9 7 8\n$EndMeshFormat\n"),
        "msh: sections without end": ("tets", "m.msh", b"$A\n" * 100_000),
        "vdb: another magic": ("vdb", "m.vdb", b"hello" * 100),
        "vdb: zeros": ("vdb", "m.vdb", bytes(100_000)),
    }  # fmt: skip
    for name, (reader, path, content) in odd.items():
        yield Case("mesh", name, reader, file(path, content))
    vdb = seeds.vdb()
    for number in range(8):
        rng = random.Random(number)
        data = bytearray(vdb)
        for _ in range(4):
            at = rng.randrange(200, len(data) - 8)
            data[at : at + 8] = b"\xff" * 8
        yield Case(
            "mesh", f"vdb with huge numbers {number}", "vdb", file("m.vdb", bytes(data)), False
        )
    packed = lambda: _vtu_bomb()  # noqa: E731
    yield Case("mesh", "vtu: zlib bomb", "tets", lazy("m.vtu", packed))


def _vtu_bomb() -> bytes:
    import base64
    import zlib

    block = zlib.compress(bytes(300_000_000), 9)
    head = struct.pack("<IIII", 1, 300_000_000, 300_000_000, len(block))
    data = base64.b64encode(head) + base64.b64encode(block)
    return (
        b'<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian" '
        b'header_type="UInt32" compressor="vtkZLibDataCompressor"><UnstructuredGrid><Piece '
        b'NumberOfPoints="12500000" NumberOfCells="0"><Points><DataArray type="Float64" '
        b'NumberOfComponents="3" format="binary">' + data + b"</DataArray></Points><Cells>"
        b"</Cells></Piece></UnstructuredGrid></VTKFile>"
    )


BUILDERS: tuple[Callable[[random.Random], Iterator[Case]], ...] = (
    npz_cases, c3d_cases, cloud_cases, mesh_cases,
)  # fmt: skip
np.seterr(all="ignore")
