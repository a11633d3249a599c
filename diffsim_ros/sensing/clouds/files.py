"""Clouds in files and bags: PCD, PLY, PointCloud2.

A sequence is a folder of such files, or one NPZ: `points` (m, 3) of all frames in a row, `count`
(f,) points of each frame, `t` (f,) [s], optional `colour` (m, 3), `frame` and `eye` (3,).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...files import is_folder, read_bytes, require_regular
from ...npz import read_npz
from ...output import write_bytes
from .. import bags
from ..clock import clock
from ..formats import Format, SensorKind
from ..messages import CLOUD
from ..observation import Observation
from .cloud import MILLIMETRES, Cloud, checked
from .names import NamedStamps, stamps_of
from .packed import decode_message
from .pcd import read_pcd
from .ply import read_ply
from .table import BEYOND, LARGEST

SUFFIXES = (".pcd", ".ply")
KEYS = ("points", "count", "t")
IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
LOOKED_AT = 5000
"""Points of a live cloud that a check of it uses, about."""


def read_cloud(
    path: str | Path, *, scale: float = 1.0, stamp: float = 0.0, frame: str = ""
) -> Cloud:
    """One cloud of a .pcd or .ply file; scale: metres per unit of the file.

    Raises InputError: a missing, damaged or cut file, no x, y, z, nothing but NaN, millimetres.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(path, "", path.suffix, "a point cloud: " + ", ".join(SUFFIXES))
    what = "a readable .pcd or .ply file"
    data = read_bytes(path, what, limit=require_regular(path, what, limit=LARGEST))
    table = (read_pcd if path.suffix.lower() == ".pcd" else read_ply)(path, data)
    return checked(
        table.points, table.colour, source=str(path), shape=table.shape, scale=scale,
        eye=scale * table.eye, stamp=stamp, frame=frame, dropped={BEYOND: table.beyond},
        notes=table.notes,
    )  # fmt: skip


def read_sequence(
    path: str | Path, *, rate: float | None = None, scale: float = 1.0, frame: str = ""
) -> list[Cloud]:
    """Clouds of a folder of .pcd and .ply files, or of an NPZ, in order of time.

    Stamps of files are their names, as names.stamps_of reads them; of other names, in alphabetical
    order, `rate` [Hz] gives them.
    Raises InputError as read_cloud, and for stamps that are not increasing.
    """
    path = Path(path)
    clouds = _folder(path, rate, scale, frame) if is_folder(path) else _npz(path, scale, frame)
    for before, cloud in pairwise(clouds):
        if not cloud.stamp > before.stamp:
            rule = f"stamps that increase, after {before.stamp:.9g} s"
            raise InputError(cloud.source, "stamp", cloud.stamp, rule)
    return clouds


def _folder(path: Path, rate: float | None, scale: float, frame: str) -> list[Cloud]:
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in SUFFIXES)
    if not files:
        raise InputError(path, "", "no .pcd or .ply file", "a folder of point clouds")
    named = stamps_of([file.stem for file in files])
    stamps = [stamp for stamp in named.stamps if stamp is not None]
    if len(stamps) < len(files):
        if rate is None:
            rule = "stamps as file names (1.033.pcd, or nanoseconds), or a rate [Hz]"
            raise InputError(path, "file names", files[named.stamps.index(None)].name, rule)
        stamps, named = [i / rate for i in range(len(files))], NamedStamps([])
    order = np.argsort(stamps, kind="stable")
    clouds = [read_cloud(files[i], scale=scale, stamp=stamps[i], frame=frame) for i in order]
    clouds[0] = replace(clouds[0], notes=(*named.notes, *clouds[0].notes))
    return clouds


def _npz(path: Path, scale: float, frame: str) -> list[Cloud]:
    rule = "a readable, whole .npz file of clouds"
    table = read_npz(path, rule)
    missing = [key for key in KEYS if key not in table]
    if missing:
        raise InputError(path, "keys", sorted(table), f"{missing[0]!r} among them")
    _check_arrays(path, table)
    count, t, points = table["count"].astype(int), table["t"], table["points"]
    if len(t) != len(count) or count.sum() != len(points):
        got = (len(t), len(count), len(points))
        raise InputError(path, "t, count, points", got, "a count and a stamp of every frame")
    cuts = np.cumsum(count)[:-1]
    colour = np.split(table["colour"], cuts) if "colour" in table else [None] * len(t)
    name = frame or str(table.get("frame", ""))
    eye = scale * np.asarray(table.get("eye", np.zeros(3)), float)
    return [
        checked(
            part, colour[i], source=f"{path}: frame {i}", scale=scale, stamp=float(t[i]),
            frame=name, eye=eye,
        )
        for i, part in enumerate(np.split(points, cuts))
    ]  # fmt: skip


def _check_arrays(path: Path, table: dict[str, np.ndarray]) -> None:
    """Kinds, numbers of axes and lengths of the arrays of a sequence."""
    rules = {"points": ("fiu", 2), "count": ("iu", 1), "t": ("fiu", 1), "colour": ("fiu", 2)}
    rules["eye"] = ("fiu", 1)
    for key, (kinds, axes) in rules.items():
        array = table.get(key)
        if array is None:
            continue
        shape = (None, len(table["points"]), 3)[-axes:] if key == "colour" else ()
        fits = array.dtype.kind in kinds and array.ndim == axes
        if not fits or (shape and array.shape != shape) or (key == "eye" and array.shape != (3,)):
            got = f"{array.dtype} of shape {array.shape}"
            raise InputError(path, key, got, f"numbers, {axes}-dimensional, as in the format")
    if (table["count"] < 0).any() or not np.isfinite(table["t"]).all():
        raise InputError(path, "count, t", "a negative count or no time", "counts >= 0, finite t")


def write_sequence(path: str | Path, clouds: Sequence[Cloud], kind: type = np.float32) -> None:
    """Write clouds of one frame and one place of the sensor as an NPZ that read_sequence reads.

    kind   of the points' numbers: np.int16 halves the file of whole millimetres
    """
    first = clouds[0]
    table: dict[str, Any] = {
        "points": np.concatenate([c.points for c in clouds]).astype(kind),
        "count": np.array([len(c) for c in clouds]),
        "t": np.array([c.stamp for c in clouds]),
        "frame": np.array(first.frame),
        "eye": first.eye,
    }
    if first.colour is not None:
        table["colour"] = np.concatenate([c.colour for c in clouds]).astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **table)
    write_bytes(path, buffer.getvalue())


# ---------------------------------------------------------------------------- observations


def read_files(
    path: Path, *, rate: float | None = None, scale: float | None = None
) -> list[Observation]:
    """Clouds of a file, a folder or an NPZ, in metres.

    rate   [Hz] of files whose names are no stamps;  scale  metres per unit
    None: scale and rate are guessed, with a note; InputError as read_sequence
    """
    if scale is not None:
        clouds = read_sequence(path, rate=rate, scale=scale)
        return [observation_of(path, clouds, "a sequence of clouds")]
    try:
        return [_guessed(path, 1.0)]
    except InputError as error:
        if error.remedy != MILLIMETRES:
            raise
    return [_in_millimetres(_guessed(path, 1e-3))]


def _in_millimetres(found: Observation) -> Observation:
    note = "places are in millimetres: give scale: 0.001 when estimating"
    return replace(found, scale=1e-3, notes=(*found.notes, note))


def _guessed(path: Path, scale: float) -> Observation:
    if path.suffix.lower() in SUFFIXES:
        return observation_of(path, [read_cloud(path, scale=scale)], "a point cloud")
    what = "a sequence of clouds"
    try:
        return observation_of(path, read_sequence(path, scale=scale), what)
    except InputError as error:
        if error.key != "file names":
            raise
    clouds = read_sequence(path, rate=1.0, scale=scale)
    note = "file names hold no stamps: give the rate when estimating; 1 Hz is assumed here"
    return observation_of(path, clouds, what, notes=(note,))


def read_bag(
    path: str | Path, topic: str = "", *, scale: float | None = None, rate: float | None = None
) -> list[Observation]:
    """Clouds of one topic in the order of the bag; "" takes the only PointCloud2 topic.

    Stamps are the headers' [s since 1970], times of arrival where all headers have 0.
    scale   metres per unit; None: guessed, with a note
    Raises InputError naming file, topic, sample and what is wrong with it; as bags.read_messages
    for the bag itself; for stamps that do not increase or a frame that changes.
    """
    path = Path(path)
    if not topic and (remedy := depth_images(bags.topics(path))):
        raise InputError(path, "topics", "depth images", f"a topic of type {CLOUD}", remedy)
    topic, samples = bags.read_messages(path, CLOUD, topic)
    ns, notes = bags.times_of(samples)
    guessed, scale = scale is None, _metres(samples[0][1]) if scale is None else scale
    clouds: list[Cloud] = []
    for i, (_, message) in enumerate(samples):
        source = f"{path}: {topic}: sample {i}"
        cloud = decode_message(message, source, scale=scale, stamp=int(ns[i]) * 1e-9)
        if clouds and cloud.frame != clouds[-1].frame:
            rule = f"the same frame throughout, {clouds[-1].frame!r}"
            raise InputError(source, "frame_id", cloud.frame, rule)
        if clouds and not cloud.stamp > clouds[-1].stamp:
            raise InputError(source, "stamp", cloud.stamp, f"later than {clouds[-1].stamp:.9f} s")
        clouds.append(cloud)
        samples[i] = (0, None)  # a recording need not be in memory twice
    found = observation_of(path, clouds, "PointCloud2", sensor=topic, notes=notes)
    return [_in_millimetres(found) if guessed and scale != 1.0 else found]


def _metres(message: Any) -> float:
    """Metres per unit of a cloud: 1, or 0.001 where it is too far for metres."""
    try:
        decode_message(message, "")
    except InputError as error:
        return 1e-3 if error.remedy == MILLIMETRES else 1.0
    return 1.0


def depth_images(topics: Mapping[str, tuple[str, int]]) -> str:
    """The next step where a bag's topics (name -> type, messages) hold depth images, no clouds."""
    images = [name for name, (kind, _) in sorted(topics.items()) if kind in IMAGES]
    depth = [name for name in images if "depth" in name.lower()]
    if not depth or any(kind == CLOUD for kind, _ in topics.values()):
        return ""
    return (
        f"depth images are not read ({depth[0]}): play the bag through depth_image_proc's "
        "point_cloud_xyz, and record the PointCloud2 that it publishes"
    )


def observation_of(
    source: str | Path, clouds: Sequence[Cloud], what: str = "clouds",
    notes: Sequence[str] = (), **rest: Any,
) -> Observation:  # fmt: skip
    """The clouds of one static sensor, at their own stamps; with the notes of each, once."""
    table = np.empty(len(clouds), object)
    for i, cloud in enumerate(clouds):
        table[i] = cloud
    return Observation(
        kind="clouds", t=np.array([cloud.stamp for cloud in clouds]), names=(),
        values={"cloud": table}, source=str(source), frame=clouds[0].frame, format=what,
        notes=tuple(dict.fromkeys((*notes, *(n for cloud in clouds for n in cloud.notes)))), **rest,
    )  # fmt: skip


def trials(clouds: Observation) -> list[Observation]:
    """Its trials: gaps in the stamps of a bag separate them."""
    if bags.is_bag(clouds.source):
        clouds = replace(clouds, numbers=clock(clouds.t, None).trial)
    return [replace(one, sensor="") for one in clouds.trials()]


def check_message(message: Any, place: str) -> None:
    """InputError as packed.decode; of large clouds only some points are checked."""
    thin = message.width * message.height // LOOKED_AT
    if thin > 1:
        try:
            decode_message(message, place, thin=thin)
            return
        except InputError:  # of these points alone, perhaps
            pass
    decode_message(message, place)


SENSOR = SensorKind(
    kind="clouds",
    accepted="a recording of point clouds",
    formats=(
        Format((*SUFFIXES, ""), lambda names: True, read_files),
        Format((".npz",), lambda names: {"points", "count"} <= set(names), read_files),
    ),
    topics={CLOUD: read_bag},
    bag=read_bag,
    trials=trials,
    sound=check_message,
)
