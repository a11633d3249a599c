"""Recordings of labelled markers: CSV (docs/how-to/markers.md), C3D and rosbag2 (mocap4r2_msgs,
PointCloud2), read without a distribution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import InputError
from ..files import require_regular
from ..tables import number
from . import bags
from .c3d_file import read_c3d_file
from .clock import clock
from .clouds.packed import decode_message
from .columns import METRES, TEXTS, read_timed
from .formats import Format, SensorKind
from .meaning import is_pose, is_wrench, meaning_of, vectors
from .messages import BODIES, CLOUD, MOCAP
from .observation import Observation

KINDS = (MOCAP, BODIES)
MOST = 64
"""Points of a cloud whose points are markers."""
LEAST_FRAMES = 20
AXES = ("_x", "_y", "_z")
RESIDUAL = "_res"
TRIAL = "trial"
MOST_TRIALS = 10**9
FAR = 20.0
"""Extent [m] of places beyond which they are hardly metres."""
TABLE = "a readable file of markers"


# ---------------------------------------------------------------------------- files


def read_table(path: Path) -> list[Observation]:
    """CSV: t, NAME_x, NAME_y, NAME_z [m], NAME_res [m] per marker (empty: not seen), and trial."""
    require_regular(path, TABLE)
    header, rows, lines, notes = read_timed(path, TABLE)
    names = tuple(name[:-2] for name in header if name.endswith(AXES[0]))
    expected = [name + axis for name in names for axis in AXES]
    known = set(header)
    missing = [column for column in ["t", *expected] if column not in known]
    twice = [column for column, count in Counter(header).items() if count > 1]
    if missing or twice or not names:
        rule = "t and, per marker, NAME_x, NAME_y, NAME_z (and NAME_res), each once"
        what = f"lacks {missing[0]}" if missing else f"{twice[0]} twice" if twice else header
        flat = missing and missing[0][-2:] in AXES and missing[0][:-2] in names
        remedy = "of markers seen in a plane, give the other coordinate as a column of zeros"
        raise InputError(path, "header", what, rule, remedy if flat else "")
    numbered = zip(lines, rows, strict=True)
    table = np.array([_numbers(path, line, row, header) for line, row in numbered])
    table = table.reshape(-1, len(header))
    column = {name: i for i, name in enumerate(header)}
    # in the order of samples in memory too: means over them round by it
    position = np.ascontiguousarray(table[:, [column[c] for c in expected]])
    position = position.reshape(len(table), len(names), 3)
    residuals = [column[name + RESIDUAL] for name in names if name + RESIDUAL in column]
    residual = table[:, residuals] if len(residuals) == len(names) else None
    t, trial = table[:, column["t"]], None
    if TRIAL in column:
        cells = [row[column[TRIAL]] for row in rows]
        trial = np.array([_whole(path, k, cell) for k, cell in zip(lines, cells, strict=True)], int)
    rest = {"numbers": trial, "notes": notes}
    return [_markers(path, "CSV of markers", names, t, position, residual, **rest)]


def _markers(
    path: Path, what: str, names: tuple[str, ...], t: np.ndarray, position: np.ndarray,
    residual: np.ndarray | None = None, **rest: Any,
) -> Observation:  # fmt: skip
    values = {"position": position} | ({} if residual is None else {"residual": residual})
    rest = {"frame": "tracker"} | rest
    return Observation(
        kind="markers", t=t, names=names, values=values, source=str(path), format=what, **rest
    )


def _whole(path: Path, line: int, cell: str) -> int:
    try:
        number = int(cell)
    except ValueError:
        number = MOST_TRIALS + 1
    if abs(number) > MOST_TRIALS:
        raise InputError(path, f"line {line}, {TRIAL}", cell, "a whole number below 1e9")
    return number


def _numbers(path: Path, line: int, row: list[str], header: list[str]) -> list[float]:
    """Numbers of one line; empty cells and nan are NaN."""
    if len(row) != len(header):
        raise InputError(path, f"line {line}", f"{len(row)} cells", f"{len(header)}, as the header")
    numbers = []
    for name, cell in zip(header, row, strict=True):
        try:
            numbers.append(number(cell))
        except ValueError:
            raise InputError(path, f"line {line}, {name}", cell, "a number, or nothing") from None
        if np.isinf(numbers[-1]):
            raise InputError(path, f"line {line}, {name}", cell, "a finite number, or nothing")
    return numbers


def read_c3d(path: Path) -> list[Observation]:
    """Labelled points of a C3D file, in metres; "Tip - 1" is tip1.

    Names have small letters and digits.
    Points without a label and a model's outputs are left out, places of 0 0 0 are lost samples:
    notes name them. Raises InputError: a cut file, labels that are empty or alike, another unit.
    """
    found = read_c3d_file(path)
    notes = list(found.notes)
    if found.unit and found.unit not in METRES:
        raise InputError(path, "POINT:UNITS", found.unit, " or ".join(METRES))
    metre = METRES[found.unit or "mm"]
    said = f"{found.rate:g} Hz, {found.unit} by the header"
    notes.append(said if found.unit else f"{found.rate:g} Hz; POINT:UNITS is blank: mm, as usual")
    models = [label for label in found.labels if label in found.models]
    if models:
        some = ", ".join(models[:5]) + (" ..." if len(models) > 5 else "")
        notes.append(f"{len(models)} outputs of a model are left out: {some}")
    if found.zeros:
        notes.append(f"{found.zeros} places that are exactly 0 0 0 are lost samples")
    kept = [k for k, label in enumerate(found.labels) if label not in found.models]
    names, own, more = labelled_names(path, [found.labels[k] for k in kept])
    at = [kept[k] for k in own]
    position, residual = metre * found.points[:, at], metre * found.residual[:, at]
    t = np.arange(len(position)) / found.rate
    notes += more
    return [_markers(path, "C3D of markers", names, t, position, residual, notes=tuple(notes))]


UNLABELLED = re.compile(r"(\*\d*|unlabell?ed.*|unidentified.*|uname\*?\d+|_\d+)", re.IGNORECASE)
"""Names of fragments of paths that nobody has given a label."""


def labelled_names(
    path: Path, labels: Sequence[str], *, subject: bool = True
) -> tuple[tuple[str, ...], list[int], list[str]]:
    """Names of labelled paths, their indices, and notes of fragments that are left out.

    Names have small letters and digits (other letters only where nothing else is there).
    subject   False: without the subject of SUBJECT:LABEL, where all labels share it
    Raises InputError: no label at all, labels that are empty or become one name, naming both.
    """
    kept = [k for k, label in enumerate(labels) if not UNLABELLED.fullmatch(_part(label))]
    out, notes = [label for k, label in enumerate(labels) if k not in set(kept)], []
    if out:
        some = ", ".join(out[:5]) + (" ..." if len(out) > 5 else "")
        notes.append(f"{len(out)} fragments without a label are left out: {some}")
    if not kept:
        got, remedy = f"{len(labels)} paths without a label", "label them, then export again"
        raise InputError(path, "markers", got, "labelled markers", remedy)
    shared = not subject and len({labels[k].rpartition(":")[0] for k in kept}) == 1
    plain = {k: _plain(_part(labels[k]) if shared else labels[k]) for k in kept}
    empty = [k for k in kept if not plain[k]]
    if empty:
        points = ", ".join(f"point {k + 1} ({labels[k]!r})" for k in empty[:5])
        rule, remedy = "a label of letters or digits for each", "label them, or leave them out"
        raise InputError(path, "labels", f"nothing for {points}", rule, remedy)
    names: dict[str, str] = {}
    for k, name in plain.items():
        if name in names:
            rule, got = "labels that differ in letters or digits", f"{names[name]!r}, {labels[k]!r}"
            raise InputError(path, "labels", got, rule, f"both are {name!r} here: rename one")
        names[name] = labels[k]
    return tuple(names), kept, notes


def _plain(label: str) -> str:
    """Small letters and digits of a label."""
    lower = label.lower()
    return re.sub("[^a-z0-9]", "", lower) or re.sub(r"[\W_]", "", lower)


def _part(label: str) -> str:
    """A label without its subject."""
    return label.rpartition(":")[2]


# ---------------------------------------------------------------------------- bags


def read_bag(path: str | Path, topic: str = "", kinds: Sequence[str] = ()) -> list[Observation]:
    """Markers of one topic.

    topic   of Markers, or of RigidBodies (their labelled markers); "": the only one, or the only
            one on which markers have names; in a bag without such topics, of PointCloud2, whose
            points are markers without names
    kinds   message types that the topic may have, empty: any of these
    A marker that a message lacks, or that is NaN there, was not seen. An index is no identity:
    nameless markers are called by theirs ("marker 3"), and that is all it says.
    Raises InputError as bags.read_messages, and naming the sample for a frame that changes, a name
    that occurs twice, or no marker at all.
    """
    path = Path(path)
    types = {kind for kind, count in bags.topics(path).values() if count}
    usual = (*KINDS, CLOUD) if topic or not types & set(KINDS) else KINDS
    topic, samples = bags.read_messages(path, kinds or usual, topic or _named(path))
    return [labelled(samples, path, topic)]


def labelled(
    samples: Sequence[tuple[int, Any]], source: str | Path, topic: str = ""
) -> Observation:
    """Markers of messages with their times of arrival [ns]; source and topic: where from."""
    place = f"{source}: {topic}" if topic else str(source)
    ns, notes = bags.times_of(samples)
    frame_id, frames = samples[0][1].header.frame_id, []
    for k, (_, message) in enumerate(samples):
        sample = f"{place}: sample {k}"
        if message.header.frame_id != frame_id:
            rule = f"the same frame throughout, {frame_id!r}"
            raise InputError(sample, "frame_id", message.header.frame_id, rule)
        found: dict[str, Any] = {}
        for name, translation in _places(message, sample):
            if name in found:
                raise InputError(sample, "marker_name", name, "each name once")
            found[name] = translation
        frames.append(found)
    names = tuple(dict.fromkeys(name for found in frames for name in found))
    if not names:
        raise InputError(place, "markers", "none in any frame", "at least one marker")
    position = np.full((len(frames), len(names), 3), np.nan)
    column = {name: i for i, name in enumerate(names)}
    for k, found in enumerate(frames):
        for name, p in found.items():
            position[k, column[name]] = p.x, p.y, p.z
    position[~np.isfinite(position).all(axis=2)] = np.nan
    t = (ns - ns[0]) * 1e-9
    return _markers(Path(source), "mocap4r2 markers", names, t, position, sensor=topic,
                    frame=frame_id, notes=notes, epoch=int(ns[0]))  # fmt: skip


def _places(message: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Name and place of every marker of a Markers, RigidBodies or PointCloud2 message."""
    if hasattr(message, "point_step"):
        yield from _points(message, place)
    for marker in getattr(message, "markers", ()):
        yield marker.marker_name or f"marker {marker.marker_index}", marker.translation
    for body in getattr(message, "rigidbodies", ()):
        for marker in body.markers:
            name = marker.marker_name or f"{body.rigid_body_name}{marker.marker_index}"
            yield name, marker.translation


def _points(message: Any, place: str) -> Iterator[tuple[str, SimpleNamespace]]:
    """Points of a small cloud, called after their order; none of an empty one."""
    count = message.width * message.height
    if count > MOST:
        raise InputError(place, "points", count, f"at most {MOST}, one per marker")
    points = decode_message(message, place).points if count else ()
    for i, (x, y, z) in enumerate(points):
        yield f"marker {i}", SimpleNamespace(x=x, y=y, z=z)


def _named(path: Path) -> str:
    """The topic whose markers have names, where a bag has several; "" leaves it to the reader."""
    found = [t for t, (kind, count) in bags.topics(path).items() if kind in KINDS and count]
    if len(found) < 2:
        return found[0] if found else ""
    named = []
    for topic in found:
        _, samples = bags.read_messages(path, KINDS, topic)
        names = [name for _, message in samples[:1] for name, _ in _places(message, str(path))]
        if names and not all(name.startswith("marker ") for name in names):
            named.append(topic)
    return named[0] if len(named) == 1 else ""


# ---------------------------------------------------------------------------- trials


def trials(markers: Observation, sigma: float = 1e-3) -> list[Observation]:
    """Every trial of a recording; sigma [m]: noise of each coordinate.

    A CSV tells trials apart by a column `trial`, a bag by holes in its stamps. Each trial's clock
    starts at 0 where there are several.
    Raises InputError naming file, trial, frame and rule: markers that are never seen, clocks that
    stand still, short recordings.
    """
    source = markers.source
    if not len(markers):
        _check(source, markers.t)
    _refuse_far(markers)
    visible = np.isfinite(markers.position).all(axis=2)
    for name, column in zip(markers.names, visible.T, strict=True):
        if len(column) and not column.any():
            raise InputError(source, name, "never seen", "a marker that is seen in some frame")
    found = []
    if markers.numbers is None and bags.is_bag(source):
        markers = replace(markers, numbers=clock(markers.t, None).trial)
    for one in markers.trials():
        several = one.trial is not None
        t = one.t - one.t[0] if several else one.t
        _check(f"{source}: trial {one.trial}" if several else source, t)
        frame = "tracker"  # whose pose in the world the YAML tells
        found.append(replace(one, t=t, frame=frame, sensor="", sigma=np.array([sigma])))
    return found


def _refuse_far(markers: Observation) -> None:
    """Refuse places that are hardly in metres: a tracker's volume is smaller than FAR."""
    seen = markers.position[np.isfinite(markers.position).all(axis=2)]
    size = float(np.ptp(seen, axis=0).max()) if len(seen) else 0.0
    if size > FAR:
        rule = f"metres: places within {FAR:g} m"
        raise InputError(markers.place, "extent", round(size, 4), rule, "millimetres?")


def _check(place: str, t: np.ndarray) -> None:
    """Refuse clocks that stand still, and short recordings."""
    if len(t) < LEAST_FRAMES:
        raise InputError(place, "frames", len(t), f"at least {LEAST_FRAMES}")
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise InputError(place, f"frame {bad[0]}, t", float(t[bad[0]]), "a finite time [s]")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        i = back[0] + 1
        got = f"{t[i]:.9g} after {t[i - 1]:.9g}"
        raise InputError(place, f"frame {i}, t", got, "increasing times [s]")


def _in_table(names: Collection[str]) -> bool:
    """True of columns NAME_x that are places, and of no pose or wrench."""
    names = list(names)
    whole = any(is_pose(at) or is_wrench(at) for at in vectors(names).values())
    markers = [name for name in names if name.endswith(AXES[0])]
    return not whole and any(meaning_of(name).signal == "p" for name in markers)


SENSOR = SensorKind(
    kind="markers",
    accepted="a rosbag2, CSV or C3D of markers",
    formats=(
        Format(TEXTS, _in_table, read_table),
        Format((".c3d",), lambda names: True, read_c3d),
    ),
    topics={MOCAP: lambda path, topic: read_bag(path, topic)},
    bag=read_bag,
    trials=trials,
)
