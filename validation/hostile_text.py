"""Hostile YAML, URDF and tables: bombs, wrong types, path tricks, devices, cut and huge files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import hostile_seeds as seeds
from .hostile import Case

YAML_READERS = ("scene", "estimation", "arm", "twin", "plan", "trajectory", "result", "transform")
EVERYWHERE = ("scene", "estimation", "trajectory")
"""Readers whose bombs are all tried; the others read with the same function."""
SCENE_KEYS = [
    ("world.step", "0"), ("world.step", "-1"), ("world.step", ".nan"), ("world.step", "1e-300"),
    ("world.step", "1/0"), ("world.step", "[1]"), ("world.duration", ".inf"),
    ("world.duration", "1e300"), ("world.duration", "-.inf"), ("world.record_every", "0"),
    ("world.record_every", "1e30"), ("materials.rubber.density", ".nan"),
    ("bodies.cube.shape.box.size", "[1, 1]"), ("bodies.cube.shape.box.size", "[0, 1, 1]"),
    ("bodies.cube.shape.box.size", "[.inf, 1, 1]"), ("bodies.cube.pose.position", "[a, b, c]"),
    ("bodies.cube.pose.position", "[.nan, 0, 0]"), ("bodies.cube.material", "[1]"),
    ("bodies.cube.material", "nothing"), ("bodies", "[]"), ("bodies", "{}"), ("sdfs", "5"),
    ("contact", "{}"), ("contact", "[5]"), ("bodies.cube.contact_spheres.corners.radius", "-1"),
]  # fmt: skip


def file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    """Makes one file of that content."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def lazy(name: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    """The same of a large content that is made in the child."""
    return lambda folder: file(name, content())(folder)


# ---------------------------------------------------------------------------- YAML


def alias_bomb(levels: int = 9, width: int = 9) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, levels + 1):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]")
    return "\n".join(lines) + "\n"


def merge_bomb(levels: int = 9, width: int = 9) -> str:
    lines = ["a0: &a0 {k: v, l: w}"]
    for i in range(1, levels + 1):
        lines.append(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * width)}]}}")
    return "\n".join(lines) + "\n"


def alias_chain(length: int = 5000) -> str:
    links = [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, length)]
    return "a0: &a0 [x]\n" + "\n".join(links) + "\n"


def yaml_bombs() -> list[tuple[str, Callable[[], bytes]]]:
    """Texts that no YAML reader may take, whatever its keys."""
    text = [
        ("alias bomb", alias_bomb()),
        ("alias bomb of mappings", alias_bomb().replace("[x, x, x, x, x, x, x, x, x]", "{x: y}")),
        ("alias bomb of depth", alias_bomb(40, 2)), ("merge bomb", merge_bomb()),
        ("alias chain", alias_chain()), ("alias within itself", "a: &a [*a]\n"),
        ("merge within itself", "a: &a {<<: *a}\n"), ("unknown alias", "a: *b\n"),
        ("nested lists", "[" * 20000), ("nested mappings", "{a: " * 5000),
        ("nested blocks", "".join(f"{' ' * i}- \n" for i in range(3000))),
        ("key twice", "a: 1\na: 2\n"), ("python object", "a: !!python/object/apply:os.getcwd []\n"),
        ("python name", "a: !!python/name:os.system\n"), ("unknown tag", "a: !mine x\n"),
        ("int that is none", "a: !!int x\n"), ("float that is none", "a: !!float x\n"),
        ("bool that is none", "a: !!bool x\n"), ("date that is none", "a: !!timestamp x\n"),
        ("thirteenth month", "a: 2001-13-45\n"), ("int of many digits", f"a: {'9' * 10000}\n"),
        ("base 60 of many digits", f"a: {'1:' * 200000}1\n"),
        ("hexadecimal of many digits", f"a: 0x{'f' * 10**6}\n"),
        ("binary that is none", "a: !!binary '%%%'\n"), ("list as a key", "? [1]\n: 2\n"),
        ("two documents", "a: 1\n---\nb: 2\n"), ("a tab", "a:\n\t- 1\n"), ("empty", ""),
        ("a number alone", "5\n"), ("a list alone", "[1, 2]\n"), ("a text alone", "x\n"),
        ("null", "~\n"), ("set", "!!set {a, b}\n"), ("control characters", "a: \x01\x02\n"),
        ("a directive", "%YAML 9.9\n---\na: 1\n"), ("cut", "a: [1, 2"), ("cut text", "a: 'x"),
        ("many anchors", "\n".join(f"k{i}: &k{i} 1" for i in range(50000))),
        ("a key of a million characters", f"{'k' * 10**6}: 1\n"),
        ("quoted escapes", 'a: "' + "\\x41" * 10**5 + "\n"),
    ]  # fmt: skip
    found = [(name, lambda content=content: content.encode()) for name, content in text]
    return [
        *found,
        ("no Unicode", lambda: b"a: \xff\xfe\xfa\n"), ("NUL", lambda: b"a: \0\n"),
        ("UTF-16", lambda: "a: 1\n".encode("utf-16")), ("zeros", lambda: bytes(10**6)),
        ("four million numbers", lambda: b"a: [" + b"1, " * 4_000_000 + b"1]"),
        ("50 MB of comment", lambda: b"# " + b"x" * 50_000_000),
        ("a million empty lists", lambda: b"a: [" + b"[], " * 1_000_000 + b"]"),
    ]  # fmt: skip


def yaml_cases(rng: random.Random) -> Iterator[Case]:
    for number, (name, content) in enumerate(yaml_bombs()):
        readers = EVERYWHERE if number < 6 else [YAML_READERS[number % len(YAML_READERS)]]
        for reader in readers:
            yield Case("yaml", f"{name} as {reader}", reader, lazy("file.yaml", content))
    for key, value in SCENE_KEYS:
        content = _replaced(seeds.scene(), key, value)
        yield Case("yaml", f"scene with {key}: {value}", "scene", file("scene.yaml", content))
    for name in YAML_READERS:
        whole = seeds.SEEDS[name].make()
        for share in (0.3, 0.7):
            cut = whole[: int(len(whole) * share)].rstrip() + b"\n  x: [\n"
            yield Case("yaml", f"{name} cut at {share:g}", name, file("cut.yaml", cut))
        yield Case(
            "yaml", f"{name} with an unknown key", name, file("x.yaml", whole + b"\nunknown: 1\n"),
            refused=name not in ("result", "transform"),
        )  # fmt: skip
    for change, name in ((b"positions: [[0.0, 0.1], [0.1]]", "rows of two lengths"),
                         (b"positions: [[.nan, 0.1]]", "one time too few"),
                         (b"positions: {a: 1}", "a mapping"), (b"positions: [[a, b]]", "words"),
                         (b"positions: []", "nothing"), (b"joints: [1, 2]", "joints by number"),
                         (b"times: 5", "one time"), (b"release: .nan", "NaN release"),
                         (b"release: {a: 1}", "release of a mapping")):  # fmt: skip
        key = change.partition(b":")[0]
        lines = [line for line in seeds.trajectory().splitlines() if not line.startswith(key)]
        content = b"\n".join([*lines, change])
        yield Case("yaml", f"trajectory with {name}", "trajectory", file("t.yaml", content))


def _replaced(content: bytes, key: str, value: str) -> str:
    import yaml

    tree = yaml.safe_load(content)
    node: Any = tree
    *path, last = key.split(".")
    for part in path:
        node = node[part]
    node[last] = yaml.safe_load(value)
    return yaml.safe_dump(tree)


# ---------------------------------------------------------------------------- XML


def entity_bomb(levels: int = 9) -> str:
    lines = ['<!ENTITY e0 "lol">']
    lines += [f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels + 1)]
    return "<!DOCTYPE robot [" + "".join(lines) + f']><robot name="&e{levels};"/>'


def _robot(change: str, to: str) -> str:
    text = seeds.urdf().decode()
    assert change in text, change
    return text.replace(change, to, 1)


def urdf_cases(rng: random.Random) -> Iterator[Case]:
    external = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'
    network = '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/x.dtd"><robot name="x"/>'
    parameter = '<!DOCTYPE robot [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><robot name="x"/>'
    quadratic = (
        f'<!DOCTYPE robot [<!ENTITY x "{"y" * 50000}">]><robot name="x"><link name="'
        + ("&x;" * 20000)
        + '"/></robot>'
    )
    include = '<robot xmlns:xi="http://www.w3.org/2001/XInclude" name="x"><xi:include ' \
        'href="/etc/passwd" parse="text"/></robot>'  # fmt: skip
    texts = {
        "entity bomb": entity_bomb(), "entity bomb in a text": entity_bomb().replace(
            'name="&e9;"/>', 'name="x">&e9;</robot>'),
        "quadratic entities": quadratic, "external entity": external, "external DTD": network,
        "external parameter": parameter, "XInclude": include, "no XML": "hello", "empty": "",
        "cut": seeds.urdf()[:400].decode(), "another root": "<model/>",
        "xacro": '<robot xmlns:xacro="http://ros.org/wiki/xacro" name="x"><xacro:include '
                 'filename="/etc/passwd"/></robot>',
        "no links": '<robot name="x"/>', "nested deep": "<robot>" + "<a>" * 200000,
        "a loop": _robot('<parent link="base"/>', '<parent link="arm"/>'),
        "an unknown link": _robot('<child link="arm"/>', '<child link="leg"/>'),
        "NaN mass": _robot('mass value="1.0"', 'mass value="nan"'),
        "no mass": _robot('mass value="1.0"', 'mass value=""'),
        "infinite inertia": _robot('ixx="0.01"', 'ixx="inf"'),
        "words for an axis": _robot('axis xyz="0 0 1"', 'axis xyz="a b c"'),
        "an axis of 300 MB": _robot('axis xyz="0 0 1"', 'axis xyz="' + "1 " * 100000 + '"'),
        "NaN origin": _robot('origin xyz="0 0 0.1" rpy', 'origin xyz="nan 0 0" rpy'),
        "NaN limits": _robot('lower="-1"', 'lower="nan"'),
        "words for limits": _robot('lower="-1" upper="1"', 'lower="low" upper="high"'),
        "an unknown joint": _robot('type="revolute"', 'type="teleport"'),
        "two links of a name": _robot('<link name="base"/>', '<link name="base"/>' * 2),
        "a joint without parent": _robot('<parent link="base"/>', ""),
        "a sphere without radius": _robot('<box size="0.1 0.1 0.2"/>', "<sphere/>"),
    }  # fmt: skip
    for name, text in texts.items():
        yield Case("urdf", name, "urdf", file("robot.urdf", text))
    chain = "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="fixed"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/></joint>' for i in range(3000)
    )  # fmt: skip
    content = f'<robot name="x">{chain}<link name="l3000"/></robot>'
    yield Case("urdf", "a chain of 3000 links", "urdf", file("robot.urdf", content))
    for name in ("/etc/passwd", "/dev/zero", "../../../../etc/passwd", "file:///etc/passwd",
                 "package://x/../../../etc/passwd", "package://../etc/passwd", "package://",
                 "package:///etc/passwd", "http://127.0.0.1:9/m.stl", "", "\\\\host\\m.stl",
                 "a" * 5000, "nothing.stl", "file://", "/proc/self/mem"):  # fmt: skip
        text = _robot('<box size="0.1 0.1 0.2"/>', f'<mesh filename="{name}"/>')
        yield Case("urdf", f"a mesh from {name[:40]}", "urdf", file("robot.urdf", text))
    yield Case("urdf", "80 MB", "urdf", lazy("big.urdf", lambda: b"<robot>" + b" " * 80_000_000))
    million = lambda: b"<robot name='x'>" + b"<link name='a'/>" * 500_000 + b"</robot>"  # noqa: E731
    yield Case("urdf", "half a million links", "urdf", lazy("big.urdf", million))


# ---------------------------------------------------------------------------- tables


def table_cases(rng: random.Random) -> Iterator[Case]:
    for seed in ("marker csv", "joint csv", "pose csv"):
        reader, name, make = seeds.SEEDS[seed]
        whole = make().decode()
        head, first, *rest = whole.splitlines()
        texts = {
            "empty": "", "a header alone": head + "\n", "no header": "\n".join([first, *rest]),
            "a NUL": whole.replace(",", "\0", 3), "a short line": f"{head}\n{first}\n1,2\n",
            "a long line": f"{head}\n{first},5,6,7\n", "words": f"{head}\n" + "a,b,c,d,e,f,g,h\n",
            "an open quote": f'{head}\n"' + first * 2000, "a column twice": f"{head},{head}\n",
            "NaN times": f"{head}\n" + "\n".join("nan" + row[row.find(","):] for row in rest),
            "times that stand still": f"{head}\n" + "\n".join([first] * 30),
            "infinite": f"{head}\n" + "\n".join(row + "e999" for row in rest),
        }  # fmt: skip
        for what, text in texts.items():
            yield Case("csv", f"{seed}: {what}", reader, file(name, text))
        yield Case("csv", f"{seed}: no Unicode", reader, file(name, whole.encode() + b"\xff\xfe"))
        # what follows is large, and made where it is read
        wide = lambda head=head: (head + ",x" * 300_000).encode()  # noqa: E731
        yield Case("csv", f"{seed}: 300 000 columns", reader, lazy(name, wide))
        field = lambda head=head: f"{head}\n".encode() + b"1" * 30_000_000  # noqa: E731
        yield Case("csv", f"{seed}: a cell of 30 MB", reader, lazy(name, field))
        zeros = lambda head=head: f"{head}\n".encode() + bytes(20_000_000)  # noqa: E731
        yield Case("csv", f"{seed}: 20 MB of zeros", reader, lazy(name, zeros))


# ---------------------------------------------------------------------------- paths


def path_cases(rng: random.Random) -> Iterator[Case]:
    """Devices, FIFOs, folders, loops of links, names that no file has, for every reader."""
    readers = {
        "scene": ".yaml", "estimation": ".yaml", "trajectory": ".yaml", "urdf": ".urdf",
        "tosses": ".npz", "joints": ".csv", "markers": ".c3d", "cloud": ".pcd",
        "triangles": ".stl", "tets": ".vtk", "recording": ".mcap", "vdb": ".vdb",
    }  # fmt: skip
    for reader, suffix in readers.items():
        for what, make in PLACES.items():
            yield Case(
                "paths", f"{what} as {reader}", reader, lambda f, m=make, s=suffix: m(f / f"x{s}")
            )
    for suffix in (".db3", ".npz", ".csv", ".ply"):
        for what in ("a FIFO", "/dev/zero"):
            make = PLACES[what]
            yield Case(
                "paths", f"{what} as recording {suffix}", "recording",
                lambda f, m=make, s=suffix: m(f / f"x{s}"),
            )  # fmt: skip


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _link(path: Path, to: str) -> Path:
    path.symlink_to(to)
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


PLACES: dict[str, Callable[[Path], Any]] = {
    "a FIFO": _fifo, "/dev/zero": lambda p: _link(p, "/dev/zero"),
    "a link to itself": lambda p: _link(p, str(p)), "a folder": _folder,
    "nothing": lambda p: p, "a name with NUL": lambda p: Path(f"{p.parent}/a\0{p.name}"),
    "a name too long": lambda p: p.parent / ("n" * 300 + p.suffix),
}  # fmt: skip
