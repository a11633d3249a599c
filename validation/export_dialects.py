"""One truth written as every program's export has it: what the readers of recordings must return.

A truth is a body or two and four markers in metres, z up, with lost samples. A dialect is a format
with its unit, rotation type, separator, decimal sign, encoding, and how it writes what was lost.
`dialects()` lists all; `write` writes one; `differences` compares what `read` found in it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from diffsim_ros.rotation import quat_exp, quat_matrix, quat_multiply, quat_rotate
from diffsim_ros.sensing.observation import Observation

UNITS = {"m": 1.0, "cm": 100.0, "mm": 1000.0}
WORDS = {"m": "Meters", "cm": "Centimeters", "mm": "Millimeters"}
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
TO_Y_UP = np.array([-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
EPOCH = 1_750_000_000
LABELS = ("c1", "c2", "c3", "c4")


@dataclass(frozen=True)
class Truth:
    """Samples at a rate [Hz].

    t         [s] (n,);  position, orientation  by body [m] (n, 3), x y z w (n, 4)
    markers   by label [m] (n, 3);  lost  samples of every body and marker that were not seen (n,)
    """

    rate: float
    t: np.ndarray
    position: dict[str, np.ndarray]
    orientation: dict[str, np.ndarray]
    markers: dict[str, np.ndarray]
    lost: np.ndarray


@dataclass(frozen=True)
class Dialect:
    """One way to write a truth; `options` are those of its writer."""

    name: str
    kind: str
    suffix: str
    writer: Callable[[Truth, Dialect], bytes]
    unit: str = "m"
    lost: str = "blank"
    options: dict = field(default_factory=dict)

    @property
    def words(self) -> str:
        """For messages and names of tests."""
        extra = " ".join(f"{k}={v!r}" for k, v in self.options.items())
        return f"{self.name} {self.kind} {self.unit} lost={self.lost} {extra}".strip()


def drawn(seed: int, bodies: Sequence[str] = ("Box",), samples: int = 60) -> Truth:
    """A truth whose body moves and turns; a tenth of its samples is lost, in short stretches."""
    rng = np.random.default_rng([seed, 3])
    rate = float(rng.choice([60.0, 100.0, 120.0, 240.0, 1000.0]))
    t = np.arange(samples) / rate
    position, orientation = {}, {}
    for name in bodies:
        first, speed = rng.uniform(0.2, 1.0, 3), rng.uniform(-1.0, 1.0, 3)
        position[name] = first + t[:, None] * speed - [0, 0, 4.9] * t[:, None] ** 2
        spin = quat_exp(t[:, None] * rng.normal(0.0, 6.0, 3))
        orientation[name] = quat_multiply(spin, quat_exp(rng.normal(0.0, 1.0, 3)))
    corners = 0.05 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 0.5]])
    body = bodies[0]
    markers = {
        label: position[body] + quat_rotate(orientation[body], corner)
        for label, corner in zip(LABELS, corners, strict=True)
    }
    lost = np.zeros(samples, bool)
    for begin in rng.integers(2, samples - 6, 3):
        lost[begin : begin + 2] = True
    return Truth(rate, t, position, orientation, markers, lost)


def dialects() -> Iterator[Dialect]:
    """Every dialect."""
    for unit, rotation in product(UNITS, ("Quaternion", *ORDERS)):
        yield Dialect("Motive", "poses", ".csv", _motive, unit, options={"rotation": rotation})
    for unit, version in product(UNITS, ("1.22", "1.24")):
        yield Dialect("Motive", "markers", ".csv", _motive, unit, options={"version": version})
    for unit, sign in product(UNITS, ",;\t"):
        yield Dialect("Nexus", "markers", ".csv", _nexus, unit, options={"sign": sign})
    yield Dialect("Nexus", "markers", ".csv", _nexus, "mm", options={"sign": ";", "comma": True})
    yield Dialect("Nexus", "markers", ".csv", _nexus, "mm", options={"devices": True})
    for lost, columns, header in product(("blank", "zeros", "NULL"), (0, 1, 2), (False, True)):
        options = {"columns": columns, "header": header}
        yield Dialect("QTM 3D", "markers", ".tsv", _qtm, "mm", lost, options)
        for each in (16, 15, 12):
            yield Dialect("QTM 6D", "poses", ".tsv", _qtm, "mm", lost, {**options, "each": each})
    yield Dialect("QTM 6D", "poses", ".tsv", _qtm, "mm", "zeros", {"each": 16, "by_rows": True})
    for names, sign, comma in product(NAMES, ",;\t ", (False, True)):
        if (sign == "," and comma) or (sign == " " and any(" " in n for n in NAMES[names])):
            continue
        lost = "nan" if sign == " " else "blank"
        options = {"names": names, "sign": sign, "comma": comma}
        yield Dialect("table", "poses", ".csv", _table, "m", lost, options)
    for encoding, trailing in product(("utf-8", "utf-8-sig", "utf-16", "utf-16-le"), (False, True)):
        options = {"encoding": encoding, "trailing": trailing}
        yield Dialect("table", "poses", ".csv", _table, "m", "blank", options)
    for title, unit in product(("", "# recorded by me\n", "Trial 7;of today\n\n"), ("m", "mm")):
        options = {"title": title, "units": True}
        yield Dialect("table", "poses", ".csv", _table, unit, "blank", options)
    for layout in ("PoseStamped", "TransformStamped", "TFMessage"):
        yield Dialect("echo", "poses", ".csv", _echo, "m", "nan", {"layout": layout})
    for sign, suffix in product(" ;\t", (".txt", ".tum", ".csv")):
        options = {"sign": sign, "comment": suffix == ".txt"}
        yield Dialect("TUM", "poses", suffix, _tum, "m", "nan", options)
    yield Dialect("PlotJuggler", "poses", ".csv", _plotjuggler, "m", "nan")
    for unit, whole, processor in product(("m", "mm", "", "mm mm"), (False, True), (84, 85, 86)):
        if unit == "m" and whole:
            continue
        for lost, first in (("residual", 1), ("zeros", 0)):
            options = {"integer": whole, "processor": processor, "first": first}
            yield Dialect("C3D", "markers", ".c3d", _c3d, unit, lost, options)


def write(truth: Truth, dialect: Dialect, folder: Path) -> Path:
    """The truth as a file of the dialect in a folder."""
    path = folder / f"recording{dialect.suffix}"
    path.write_bytes(dialect.writer(truth, dialect))
    return path


def differences(truth: Truth, dialect: Dialect, found: Sequence[Observation]) -> list[str]:
    """What is not as in the truth; [] where all is."""
    streams = [one for one in found if one.kind == dialect.kind]
    if len(streams) != (1 if dialect.kind == "markers" else len(truth.position)):
        return [f"{[(one.kind, one.names) for one in found]}"]
    wrong = []
    for one in streams:
        t = one.t - one.t[0]
        if len(t) != len(truth.t) or np.abs(t - truth.t).max() > 2e-6:
            wrong.append(f"times of {one.names}: {len(t)}, {t[:3]}")
            continue
        lost = np.isnan(one.position).any(axis=2).any(axis=1)
        if (lost != truth.lost).any():
            wrong.append(f"{one.names}: {int(lost.sum())} lost, not {int(truth.lost.sum())}")
        seen = ~(lost | truth.lost)
        fine = 2e-6 if not dialect.options.get("integer") else 1e-4
        for k, name in enumerate(one.names):
            whose = truth.markers if one.kind == "markers" else truth.position
            if one.kind == "poses" and name not in whose and len(whose) == 1:
                name = next(iter(whose))
            if name not in whose:
                wrong.append(f"{name!r} is none of {list(whose)}")
                continue
            off = np.abs(one.position[seen, k] - whose[name][seen]).max()
            if off > fine:
                wrong.append(f"{name}: places off by {off:.3g} m")
            if one.kind == "poses":
                q, wanted = one.orientation[seen], truth.orientation[name][seen]
                q = q / np.linalg.norm(q, axis=1, keepdims=True)
                turn = 1.0 - np.abs(np.sum(q * wanted, axis=1)).min()
                if turn > 1e-9:
                    wrong.append(f"{name}: orientations off by {turn:.3g}")
    return wrong


def several(truth: Truth, name: str = "Lid") -> Truth:
    """The truth with a second body, a little beside the first."""
    (body,) = truth.position
    position = {**truth.position, name: truth.position[body] + [0.3, 0.0, 0.0]}
    turn = quat_exp([0.3, -0.2, 0.1])
    orientation = {**truth.orientation, name: quat_multiply(turn, truth.orientation[body])}
    return replace(truth, position=position, orientation=orientation)


# ---------------------------------------------------------------------------- writers


def _row(parts: Sequence[Sequence[str]]) -> list[str]:
    """Cells one after the other."""
    return [cell for part in parts for cell in part]


def _cells(values: Sequence[float], digits: int = 7) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def _gone(dialect: Dialect, count: int) -> list[str]:
    """Cells of what was lost."""
    word = {"blank": "", "zeros": "0.000", "NULL": "NULL", "nan": "nan"}[dialect.lost]
    return [word] * count


def _euler(q: np.ndarray, order: str) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q).as_euler(order, degrees=True)


def _motive(truth: Truth, dialect: Dialect) -> bytes:
    unit, rotation = UNITS[dialect.unit], dialect.options.get("rotation", "Quaternion")
    version = dialect.options.get("version", "1.23")
    blocks: list[tuple[str, str, str, list[str], np.ndarray]] = []
    if dialect.kind == "poses":
        error = np.full((len(truth.t), 1), 1e-4)
        axes = list("XYZW") if rotation == "Quaternion" else list(rotation)
        for name in truth.position:
            q = quat_multiply(TO_Y_UP, truth.orientation[name])
            turn = q if rotation == "Quaternion" else _euler(q, rotation)
            place = unit * quat_rotate(TO_Y_UP, truth.position[name])
            blocks += [("Rigid Body", name, "Rotation", axes, turn),
                       ("Rigid Body", name, "Position", list("XYZ"), place),
                       ("Rigid Body", name, "Mean Marker Error", [""], error)]  # fmt: skip
    else:
        for label, places in truth.markers.items():
            place = unit * quat_rotate(TO_Y_UP, places)
            blocks.append(("Marker", f"Box:{label}", "Position", list("XYZ"), place))
    heads = [[kind] * len(axes) for kind, _, _, axes, _ in blocks]
    names = [[name] * len(axes) for _, name, _, axes, _ in blocks]
    measures = [[what] * len(axes) for _, _, what, axes, _ in blocks]
    pairs = ["Format Version", version, "Take Name", "Take", "Export Frame Rate",
             f"{truth.rate:.6f}", "Rotation Type", rotation, "Length Units", WORDS[dialect.unit],
             "Coordinate Space", "Global"]  # fmt: skip
    lines = [pairs, [], ["", "Type", *_row(heads)], ["", "Name", *_row(names)],
             ["", "ID", *_row(names)]]  # fmt: skip
    if version >= "1.24":
        lines.append(["", "Parent", *_row([[""] * len(axes) for *_, axes, _ in blocks])])
    lines.append(["", "", *_row(measures)])
    lines.append(["Frame", "Time (Seconds)", *_row([axes for *_, axes, _ in blocks])])
    for k, t in enumerate(truth.t):
        cells = [_gone(dialect, len(axes)) if truth.lost[k] else _cells(value[k], 8)
                 for *_, axes, value in blocks]  # fmt: skip
        lines.append([str(k), f"{t:.6f}", *_row(cells)])
    return ("\r\n".join(",".join(line) for line in lines) + "\r\n").encode("utf-8-sig")


def _nexus(truth: Truth, dialect: Dialect) -> bytes:
    sign, unit = dialect.options.get("sign", ","), UNITS[dialect.unit]
    labels = _row([[f"Box:{label}", "", ""] for label in truth.markers])
    count = len(truth.markers)
    lines = [["", "", *labels], ["Frame", "Sub Frame", *(list("XYZ") * count)],
             ["", "", *([dialect.unit] * 3 * count)]]  # fmt: skip
    for k in range(len(truth.t)):
        cells = _gone(dialect, 3 * count)
        if not truth.lost[k]:
            cells = _row([_cells(unit * p[k], 6) for p in truth.markers.values()])
        lines.append([str(k + 1), "0", *cells])
    text = f"Trajectories\n{truth.rate:g}\n" + "\n".join(sign.join(line) for line in lines) + "\n"
    if dialect.options.get("comma"):
        text = text.replace(".", ",")
    if dialect.options.get("devices"):
        text = "Devices\n1000\n,,Force\nFrame,Sub Frame,Fx\n,,N\n1,0,2.5\n1,1,2.6\n\n" + text
    return text.encode()


def _qtm(truth: Truth, dialect: Dialect) -> bytes:
    each, options = dialect.options.get("each", 3), dialect.options
    names = list(truth.position if dialect.kind == "poses" else truth.markers)
    kind = "6D" if dialect.kind == "poses" else "3D"
    which = ("NO_OF_BODIES", "BODY_NAMES") if kind == "6D" else ("NO_OF_MARKERS", "MARKER_NAMES")
    lines = [["NO_OF_FRAMES", str(len(truth.t))], ["NO_OF_CAMERAS", "8"],
             [which[0], str(len(names))], ["FREQUENCY", f"{truth.rate:g}"],
             ["NO_OF_ANALOG", "0"], ["DESCRIPTION", "--"], ["DATA_INCLUDED", kind],
             ["TIME_STAMP", "2025-06-01, 10:00:00.000", "12.5"], [which[1], *names]]  # fmt: skip
    columns = options.get("columns", 0)
    if options.get("header"):
        lines.append(
            [*["Frame", "Time"][:columns], *(f"{n} {k}" for n in names for k in range(each))]
        )
    for k, t in enumerate(truth.t):
        cells = [str(k + 1), f"{t:.5f}"][:columns]
        for name in names:
            if truth.lost[k]:
                cells += _gone(dialect, each)
            elif kind == "3D":
                cells += _cells(1e3 * truth.markers[name][k], 5)
            else:
                q = truth.orientation[name][k]
                matrix = quat_matrix(q) if options.get("by_rows") else quat_matrix(q).T
                angles = _cells(_euler(q, "XYZ"), 5) if each > 12 else []
                residual = ["0.21"] if each == 16 else []
                place = _cells(1e3 * truth.position[name][k], 5)
                cells += [*place, *angles, *residual, *_cells(matrix.ravel(), 7)]
        lines.append(cells)
    return ("\r\n".join("\t".join(line) for line in lines) + "\r\n").encode()


NAMES = {
    "usual": ("t", "px", "py", "pz", "qx", "qy", "qz", "qw"),
    "pandas": ("time", "x", "y", "z", "qx", "qy", "qz", "qw"),
    "words": ("Timestamp", "pos_x", "pos_y", "pos_z", "quat_w", "quat_x", "quat_y", "quat_z"),
    "dots": ("time", "position.x", "position.y", "position.z", "orientation.x", "orientation.y",
             "orientation.z", "orientation.w"),
    "TUM": ("timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw"),
    "milliseconds": ("time_ms", "px", "py", "pz", "qx", "qy", "qz", "qw"),
    "more": ("t", "px", "py", "pz", "qx", "qy", "qz", "qw", "vx", "vy", "vz"),
}  # fmt: skip


def _table(truth: Truth, dialect: Dialect) -> bytes:
    options, (body,) = dialect.options, truth.position
    sign, names = options.get("sign", ","), NAMES[options.get("names", "usual")]
    unit, second = UNITS[dialect.unit], 1e3 if "time_ms" in names else 1.0
    q = truth.orientation[body]
    if names[4] == "quat_w":
        q = q[:, [3, 0, 1, 2]]
    lines = [sign.join(names)]
    if options.get("units"):
        lines.append(sign.join(["s", *[dialect.unit] * 3, *["1"] * 4]))
    for k, t in enumerate(truth.t):
        value = [*(unit * truth.position[body][k]), *q[k], *([0.25] * (len(names) - 8))]
        cells = _gone(dialect, len(value)) if truth.lost[k] else _cells(value, 8)
        lines.append(sign.join([f"{second * t:.7f}", *cells]))
    end = sign if options.get("trailing") else ""
    text = options.get("title", "") + "".join(f"{line}{end}\n" for line in lines)
    if options.get("comma"):
        text = text.replace(".", ",") if options.get("names") != "dots" else _commas(text)
    return text.encode(options.get("encoding", "utf-8"))


def _commas(text: str) -> str:
    """Decimal commas below the header."""
    head, _, rest = text.partition("\n")
    return f"{head}\n{rest.replace('.', ',')}"


def _echo(truth: Truth, dialect: Dialect) -> bytes:
    layout, lines = dialect.options["layout"], []
    for k, t in enumerate(truth.t):
        ns = EPOCH * 10**9 + round(1e9 * t)
        line = []
        for name in truth.position:
            value = [*truth.position[name][k], *truth.orientation[name][k]]
            cells = _gone(dialect, 7) if truth.lost[k] else _cells(value, 8)
            frames = ["world"] if layout == "PoseStamped" else ["world", name]
            line += [str(ns // 10**9), str(ns % 10**9), *frames, *cells]
        if layout == "TFMessage":
            line *= 1
        lines.append(",".join(line))
    return ("\n".join(lines) + "\n").encode()


def _tum(truth: Truth, dialect: Dialect) -> bytes:
    (body,), sign = truth.position, dialect.options["sign"]
    lines = ["# timestamp tx ty tz qx qy qz qw"] if dialect.options["comment"] else []
    for k, t in enumerate(truth.t):
        value = [*truth.position[body][k], *truth.orientation[body][k]]
        cells = _gone(dialect, 7) if truth.lost[k] else _cells(value, 8)
        lines.append(sign.join([f"{EPOCH + t:.7f}", *cells]))
    return ("\n".join(lines) + "\n").encode()


def _plotjuggler(truth: Truth, dialect: Dialect) -> bytes:
    """Every body's topic and one of a battery, whose messages come between those of the bodies."""
    parts = [f"position/{a}" for a in "xyz"] + [f"orientation/{a}" for a in "xyzw"]
    names = ["__time"] + [f"/{b}/pose/pose/{p}" for b in truth.position for p in parts]
    lines, count = [",".join([*names, "/battery/voltage"])], 7 * len(truth.position)
    for k, t in enumerate(truth.t):
        cells = []
        for name in truth.position:
            value = [*truth.position[name][k], *truth.orientation[name][k]]
            cells += _gone(dialect, 7) if truth.lost[k] else _cells(value, 8)
        lines.append(",".join([f"{EPOCH + t:.7f}", *cells, ""]))
        if k % 7 == 3:
            lines.append(",".join([f"{EPOCH + t + 0.3 / truth.rate:.7f}", *[""] * count, "12.1"]))
    return ("\n".join(lines) + "\n").encode()


# ---------------------------------------------------------------------------- C3D


def c3d_bytes(
    points: np.ndarray, labels: Sequence[str], rate: float, unit: str = "mm", *,
    lost: np.ndarray | None = None, zeros: bool = False, integer: bool = False,
    processor: int = 84, first: int = 1, trial: bool = True, analog: int = 0,
    groups: dict[str, Sequence[str]] | None = None,
) -> bytes:  # fmt: skip
    """A C3D file of points (n, m, 3) in `unit` ("" blank, "mm mm": given for each).

    lost     (n,) frames in which nothing was seen: residual -1, with `zeros` 0 0 0 of residual 0
    first    number of the first frame;  trial  with TRIAL's count of 32 bits
    groups   further lists of texts of POINT: ANGLES, TYPE_GROUPS
    """
    big = ">" if processor == 86 else "<"
    count, frames = points.shape[1], len(points)
    scale = float(np.abs(points).max() / 32000.0) if integer else -0.1
    gone = np.zeros(frames, bool) if lost is None else lost

    def real(value: float | np.ndarray) -> bytes:
        flat = np.atleast_1d(np.asarray(value, np.float32))
        if processor != 85:
            return flat.astype(big + "f4").tobytes()
        bits = np.where(flat == 0, np.float32(0), flat * np.float32(4)).view(np.uint32)
        words = np.stack([bits >> 16, bits & 0xFFFF], axis=1).astype("<u2")
        return words.tobytes()

    def parameter(group: int, name: str, kind: int, dims: Sequence[int], data: bytes) -> bytes:
        body = struct.pack("<bB", kind, len(dims)) + bytes(dims) + data + b"\0"
        head = struct.pack("<bb", len(name), group) + name.encode()
        return head + struct.pack(big + "H", len(body) + 2) + body

    def group(number: int, name: str) -> bytes:
        head = struct.pack("<bb", len(name), -number) + name.encode()
        return head + struct.pack(big + "H", 3) + b"\0"

    def texts(name: str, words: Sequence[str]) -> bytes:
        parts = []
        for k in range(0, len(words), 255):
            own = [word.encode() for word in words[k : k + 255]]
            width = max(map(len, own), default=1) or 1
            data = b"".join(word.ljust(width) for word in own)
            part = name + (str(k // 255 + 1) if k else "")
            parts.append(parameter(1, part, -1, (width, len(own)), data))
        return b"".join(parts)

    last, most = first + frames - 1, 65535
    words = {"": b"    ", "mm mm": b"mm" * min(count, 255)}.get(unit, unit.encode())
    dims = (2, min(count, 255)) if unit == "mm mm" else (len(words),)
    content = group(1, "POINT") + b"".join([
        parameter(1, "USED", 2, (), struct.pack(big + "H", count)),
        parameter(1, "FRAMES", 2, (), struct.pack(big + "H", min(frames, most))),
        parameter(1, "SCALE", 4, (), real(scale)), parameter(1, "RATE", 4, (), real(rate)),
        parameter(1, "UNITS", -1, dims, words), texts("LABELS", labels),
        *(texts(name, own) for name, own in (groups or {}).items()),
    ])  # fmt: skip
    content += group(3, "ANALOG") + b"".join([
        parameter(3, "USED", 2, (), struct.pack(big + "H", analog)),
        parameter(3, "RATE", 4, (), real(rate if analog else 0.0)),
        parameter(3, "GEN_SCALE", 4, (), real(1.0)),
    ])  # fmt: skip
    if trial:
        content += group(2, "TRIAL")
        for name, value in (("ACTUAL_START_FIELD", first), ("ACTUAL_END_FIELD", last)):
            low_high = struct.pack(big + "HH", value & 0xFFFF, value >> 16)
            content += parameter(2, name, 2, (2,), low_high)
    blocks = (len(content) + 6 + 511) // 512
    content = struct.pack("<BBBB", 1, 0x50, blocks, processor) + content
    head = struct.pack("<BB", 2, 0x50) + struct.pack(
        big + "HHHHH", count, analog, min(first, most), min(last, most), 10
    ) + real(scale) + struct.pack(big + "HH", 2 + blocks, analog) + real(rate)  # fmt: skip
    table = np.zeros((frames, 4 * count + analog))
    xyzr = np.concatenate([points, np.full((frames, count, 1), 1.0)], axis=2)
    xyzr[gone] = [0.0, 0.0, 0.0, 0.0 if zeros else -1.0]
    if integer:
        xyzr[..., :3] = np.rint(xyzr[..., :3] / scale)
    table[:, : 4 * count] = xyzr.reshape(frames, -1)
    data = table.astype(big + "i2").tobytes() if integer else real(table.ravel())
    padded = len(data) + -len(data) % 512
    return head.ljust(512, b"\0") + content.ljust(512 * blocks, b"\0") + data.ljust(padded, b"\0")


def _c3d(truth: Truth, dialect: Dialect) -> bytes:
    unit = UNITS["m" if dialect.unit == "m" else "mm"]
    points = unit * np.stack(list(truth.markers.values()), axis=1)
    return c3d_bytes(points, list(truth.markers), truth.rate, dialect.unit, lost=truth.lost,
                     zeros=dialect.lost == "zeros", **dialect.options)  # fmt: skip
