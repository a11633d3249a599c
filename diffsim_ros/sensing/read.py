"""Any recording as it was recorded: one reader a format, chosen by what the file or bag has.

`estimate`, `check`, `init`, the pre-flight and the nodes read by these functions. Lost samples are
missing in what they return, and counted (lost.py); others that estimation refuses are kept, because
`diffsim check` reports where they are.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import InputError, listed, nearest
from ..files import exists, is_regular
from ..npz import npz_names
from ..tables import SAMPLE_LINES, read_sheet, table_of
from . import bags, hints
from .blanks import parted
from .clouds.files import depth_images
from .columns import TEXTS, check_seconds
from .formats import Export, Format, Reader, SensorKind
from .lost import without_lost
from .messages import STATIC
from .observation import Observation
from .toss_file import REQUIRED

NOTHING: Mapping[str, Any] = MappingProxyType({})
ACCEPTED = (
    "tosses (.npz, .csv with t px py pz qx qy qz qw), markers (.csv with t, NAME_x NAME_y NAME_z "
    "[m]; .c3d), joints (.npz, .csv with t and angles JOINT.position [rad]), wrenches (.csv with t "
    "fx fy fz tx ty tz), outputs (.csv with t and `name [unit]`), exports of Motive, Nexus, QTM "
    "(.csv, .tsv), PlotJuggler, `ros2 topic echo --csv`, TUM (.csv, .txt), a rosbag2 (.mcap, .db3, "
    "folder), clouds (.pcd, .ply, a folder of them, .npz)"
)
PACK = (
    "pack the recording as one of these, with numpy.savez (docs/how-to/poses.md, joints.md, "
    "pointclouds.md)"
)
IN_MOTION = ("poses", "markers", "joints", "wrench")
"""Kinds of sensors that record more than a sample a second."""


@cache
def sensors() -> Mapping[str, SensorKind]:
    """By kind, the SENSOR of every module of this package that has one: a new sensor is a file."""
    modules = pkgutil.walk_packages([str(Path(__file__).parent)], f"{__package__}.")
    every = (getattr(import_module(one.name), "SENSOR", None) for one in modules)
    return {sensor.kind: sensor for sensor in every if sensor is not None}


@cache
def exports() -> tuple[Export, ...]:
    """The EXPORT of every module of exports/: those that know their files by a header first."""
    folder = Path(__file__).parent / "exports"
    modules = pkgutil.iter_modules([str(folder)], f"{__package__}.exports.")
    every = [getattr(import_module(one.name), "EXPORT", None) for one in modules]
    return tuple(sorted(filter(None, every), key=lambda one: one.guessed))


def export_of(path: Path) -> Export | None:
    """The program whose export a file is, None of what a sensor's own reader takes, or nobody.

    Raises InputError as tables.read_sheet.
    """
    suffix = path.suffix.lower()
    if suffix not in TEXTS or not is_regular(path):
        return None
    head = read_sheet(path, "a readable table", SAMPLE_LINES)
    names = table_of(head, path).header
    own = any(
        suffix in form.suffixes and form.holds(names)
        for sensor in sensors().values() for form in sensor.formats
    )  # fmt: skip
    for export in exports():
        if suffix in export.suffixes and not (own and export.guessed) and export.holds(head):
            return export
    return None


@cache
def readers() -> Mapping[str, Reader]:
    """Message type -> reader of (path, topic)."""
    return {kind: one.topics[kind] for kind, one in sensors_of_messages().items()}


@cache
def sensors_of_messages() -> Mapping[str, SensorKind]:
    """Message type -> the sensor whose topics have it."""
    return {kind: one for one in sensors().values() for kind in one.topics}


def read(
    path: str | Path,
    on_progress: Callable[[str], None] | None = None,
    refuse: Callable[[InputError], None] | None = None,
) -> list[Observation]:
    """Every sensor of a recording.

    on_progress  called with a line before each that may take long
    refuse       called with the errors of topics that cannot be read, where others of the bag can
    Raises InputError: a missing, damaged or empty file, or one of no known format.
    """
    path, on_progress, refuse = (
        Path(path),
        on_progress or (lambda text: None),
        refuse or (lambda error: None),
    )
    if not exists(path):
        raise InputError(path, "", "no such file", ACCEPTED)
    on_progress(f"reading {path}")
    if bags.is_bag(path):
        return _bag(path, on_progress, refuse)
    if path.is_dir():
        _refuse_several(path)
    export = export_of(path)
    if export is not None:
        return _from_file(export.read(path))
    suffix, names = "" if path.is_dir() else path.suffix.lower(), []
    if suffix == ".npz":
        names = npz_names(path, ACCEPTED)
    elif suffix in TEXTS:
        names = table_of(read_sheet(path, "a readable table", SAMPLE_LINES), path).header
    for sensor in sensors().values():
        for form in sensor.formats:
            if suffix in form.suffixes and form.holds(names):
                return _from_file(_read(form, path))
    if suffix == ".npz":
        rule = f"arrays {', '.join(REQUIRED)}; or points, count, t; or t, q"
        raise InputError(path, "arrays", names, rule, hints.of_arrays(names) or PACK)
    if suffix in TEXTS:
        raise InputError(path, "header", names[:40], ACCEPTED, hints.of_columns(names))
    what = hints.of_file(path)
    rule = "a recording as docs/reference/recordings.md lists them" if what.name else ACCEPTED
    raise InputError(path, "", what.name or suffix or "no extension", rule, what.remedy)


def _from_file(found: list[Observation]) -> list[Observation]:
    """The streams of a file: stamps are seconds (check_seconds), lost samples are missing, long
    blanks part trials."""
    for one in found:
        if one.kind in IN_MOTION:
            check_seconds(one.place, one.t)
    found = [without_lost(one) for one in found]
    return [parted(one) if one.kind == "poses" else one for one in found]


def _refuse_several(path: Path) -> None:
    """Refuse a folder that is no recording itself but has some."""
    inside = [one for one in sorted(path.iterdir()) if bags.is_bag(one)]
    inside += sorted(path.glob("*.npz")) + sorted(path.glob("*.csv"))
    clouds = any(one.suffix.lower() in (".pcd", ".ply") for one in path.iterdir())
    if inside and not clouds:
        got = "a folder of " + listed([one.name for one in inside], 5)
        raise InputError(path, "", got, "one recording", f"give it by name: {inside[0]}")


def _read(form: Format, path: Path) -> list[Observation]:
    """Read a file; a table whose columns are not those of this format may be meant for another."""
    try:
        return form.read(path)
    except InputError as error:
        if error.key != "header" or path.suffix.lower() not in TEXTS:
            raise
        rule = f"{error.accepted}; or another of {ACCEPTED}"
        raise InputError(path, "header", error.value, rule, error.remedy) from error


def _bag(
    path: Path, on_progress: Callable[[str], None], refuse: Callable[[InputError], None]
) -> list[Observation]:
    topics = bags.topics(path)
    known = {
        topic: kind
        for topic, (kind, _) in sorted(topics.items())
        if kind in readers() and topic != STATIC
    }
    if not known:
        got = ", ".join(f"{t} ({kind})" for t, (kind, _) in sorted(topics.items())) or "no topics"
        rule = "a topic of type " + ", ".join(readers())
        raise InputError(path, "topics", got, rule, depth_images(topics))
    found, errors = [], []
    for topic, kind in known.items():
        if not topics[topic][1] and any(topics[other][1] for other in known):
            continue  # recorded, but nobody published
        on_progress(f"reading {path}: {topic}, {topics[topic][1]} messages")

        def report(read: int, total: int, topic: str = topic) -> None:
            on_progress(f"reading {path}: {topic}, {read} of {total} messages")

        try:
            with bags.watched(report):
                found += [without_lost(one) for one in readers()[kind](path, topic)]
        except InputError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    for refused in errors:
        refuse(refused)
    return found


def read_kind(path: str | Path, kind: str, topic: str = "", **options: Any) -> Observation:
    """The one recording of this kind in a file or bag, without lost samples (lost.py).

    topic    of a bag with several; of an export the name of the body
    options  what the sensor's readers take: rate, scale of clouds
    Raises InputError: a missing or damaged file, one of no such format, an ambiguous topic.
    """
    path, sensor = Path(path), sensors()[kind]
    suffixes = [suffix for form in sensor.formats for suffix in form.suffixes]
    if bags.is_bag(path):
        (found,) = sensor.bag(path, topic, **options)
        return without_lost(found)
    if not exists(path):
        what = "no such file or folder" if "" in suffixes else "no such file"
        raise InputError(path, "", what, sensor.accepted)
    suffix = "" if path.is_dir() else path.suffix.lower()
    export = export_of(path) if suffix in suffixes or suffix in TEXTS else None
    if export is not None:
        return _of_kind(path, export, kind, topic)
    for form in sensor.formats:
        if suffix in form.suffixes:
            (found,) = _from_file(form.read(path, **options))
            return found
    usual = [one for one in suffixes if one and one not in TEXTS[1:]]
    endings = " or ".join((*dict.fromkeys(usual), *bags.SUFFIXES))
    rule = f"{sensor.accepted} ({endings})"
    raise InputError(path, "", path.suffix, rule)


def _of_kind(path: Path, export: Export, kind: str, name: str) -> Observation:
    """The one stream of a kind in an export; name: of the body, "" the only one."""
    streams = _from_file(export.read(path))
    every = [one for one in streams if one.kind == kind]
    found = [one for one in every if not name or name in (one.sensor, *one.names)]
    if len(found) == 1:
        return found[0]
    if not every:
        got = f"{export.name} of {', '.join(sorted({one.kind for one in streams}))}"
        raise InputError(path, "", got, sensors()[kind].accepted)
    names = ", ".join(one.names[0] for one in every)
    if name:
        raise InputError(path, "body", name, f"one of {names}", nearest(name, names.split(", ")))
    rule, remedy = "exactly one body", "name the body as it is called here"
    raise InputError(path, "bodies", names, rule, remedy)


def read_beside(path: str | Path, kind: str, topic: str = "") -> Observation:
    """Recordings of an auxiliary sensor: poses or markers, on the stamps that all share.

    Stamps are those of the file; of a bag seconds since 1970, as those of clouds.
    Raises InputError naming file, topic, sample and value.
    """
    found = read_kind(path, kind, topic)
    _refuse_restart(found)
    found = replace(found, t=found.stamps, epoch=0, numbers=None)
    bad = np.flatnonzero(~np.isfinite(found.t))
    back = np.flatnonzero(np.diff(found.t) <= 0) + 1
    for rows, rule in ((bad, "a finite stamp [s]"), (back, "increasing stamps [s]")):
        if len(rows):
            raise InputError(found.place, f"sample {rows[0]}, t", float(found.t[rows[0]]), rule)
    return sensors()[kind].trials(found)[0] if kind == "poses" else found


def _refuse_restart(found: Observation) -> None:
    """Refuse trials each of which has a clock of its own: no other sensor's trials are told apart
    by it."""
    if found.numbers is None:
        return
    between = np.flatnonzero(np.diff(found.numbers) != 0) + 1
    back = [k for k in between if found.t[k] <= found.t[k - 1]]
    if back:
        k = int(back[0])
        rule = "stamps that go on from trial to trial, by the clock of the sensors beside it"
        got = f"{found.t[k]:.6g} s after {found.t[k - 1]:.6g} s"
        place = f"{found.place}: trial {found.numbers[k]}"
        raise InputError(place, "t", got, rule, "or a file for each trial, and its sensor's delay")


def read_trials(
    path: str | Path, kind: str, topic: str = "", *, reading: Mapping[str, Any] = NOTHING,
    **options: Any,
) -> list[Any]:  # fmt: skip
    """The checked trials of a recording: read_kind with options `reading`, then `trials`.

    Raises InputError as these: naming file, trial, sample and value.
    """
    return sensors()[kind].trials(read_kind(path, kind, topic, **reading), **options)
