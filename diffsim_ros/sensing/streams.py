"""What a recording holds: every format that the package reads, as streams of raw samples.

Files are read by the readers that `estimate` and the nodes use (tosses, markers.files, bags,
clouds); what those refuse sample by sample is kept here, because `diffsim check` is to say where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..files import exists
from ..npz import npz_names, numbers, read_npz, whole_numbers
from ..tables import read_header, read_rows
from . import bags
from .bag_poses import read_bodies
from .clouds.bag import POINT_CLOUD
from .clouds.cloud import Cloud
from .joints.bag import joint_columns
from .joints.log import JointLog, read_logs
from .markers.bag import bag_markers
from .markers.files import READERS as MARKER_FILES
from .markers.files import raw_markers, trials_of
from .messages import BODIES, JOINTS, MOCAP, NAMED, ODOMETRY, STATIC, TF
from .toss_file import REQUIRED, toss_arrays

MILLIMETRES = "if these are millimetres"
"""What clouds.cloud says of a cloud that is too far."""
POSE_COLUMNS = ("px", "py", "pz", "qx", "qy", "qz", "qw")
ACCEPTED = (
    "tosses (.npz, .csv with t px py pz qx qy qz qw), markers (.csv, .c3d), joints (.npz, .csv), a "
    "rosbag2 (.mcap, .db3, folder), clouds (.pcd, .ply, a folder of them, .npz)"
)


@dataclass(frozen=True)
class Stream:
    """Samples of one sensor as recorded: their order, their units, nothing dropped.

    path, name   file or folder; topic ("" in a file of one stream)
    kind         "poses", "markers", "clouds" or "joints";  what: the format in words
    frame        name of the frame ("" unknown)
    t            stamps [s]; of clouds since the first                             (n,)
    trial        number of the trial of each sample, None: not given by the file    (n,)
    names        bodies, markers or joints
    position     in recorded units; NaN where not seen; None of clouds, joints     (n, m, 3)
    orientation  of poses, x, y, z, w                                              (n, 4)
    joints       of joints: column -> values, e.g. position [rad]                  (n, m)
    clouds       of clouds: clouds.cloud.Cloud of every frame
    notes        what reading noticed
    scale        of clouds: metres per recorded unit; their points are in metres
    begin        of poses in a bag: stamp of t = 0 [ns since 1970]
    """

    path: Path
    name: str
    kind: str
    what: str
    frame: str
    t: np.ndarray
    names: tuple[str, ...]
    trial: np.ndarray | None = None
    # `Any` where None is meant that who knows the kind never meets
    position: np.ndarray | Any = None
    orientation: np.ndarray | Any = None
    joints: dict[str, np.ndarray] = field(default_factory=dict)
    clouds: list[Cloud] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    scale: float = 1.0
    begin: int = 0

    @property
    def place(self) -> str:
        """File, and topic if there is one, for messages."""
        return f"{self.path}: {self.name}" if self.name else str(self.path)

    def __len__(self) -> int:
        return len(self.t)


def read_streams(
    path: str | Path,
    on_progress: Callable[[str], None] | None = None,
    refuse: Callable[[InputError], None] | None = None,
) -> list[Stream]:
    """Every stream of a recording.

    on_progress     given a line before each that may take long
    refuse   given the errors of topics that cannot be read, where others of the bag can
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
    suffix = path.suffix.lower()
    if bags.is_bag(path):
        return _bag(path, on_progress, refuse)
    if path.is_dir():
        return _clouds(path)
    if suffix == ".npz":
        return _npz(path)
    if holds_poses(path):
        return [_pose_table(path)]
    if suffix == ".csv" and any(word.endswith(".position") for word in _header(path)):
        return [joint_stream(read_logs(path), "table of joints")]
    if suffix in MARKER_FILES:
        return [_markers(path)]
    if suffix in (".pcd", ".ply"):
        return _clouds(path)
    raise InputError(path, "", suffix or "no extension", ACCEPTED)


def _npz(path: Path) -> list[Stream]:
    """Tosses, clouds or joints, by the names of the arrays."""
    names = npz_names(path, ACCEPTED)
    if {"t", "q"} <= names and "toss_id" not in names:
        return [_joint_log(path, read_npz(path, ACCEPTED))]
    if {"points", "count"} <= names:
        return _clouds(path)
    if len(names & set(REQUIRED)) < 3:
        rule = f"arrays {', '.join(REQUIRED)}; or points, count, t; or t, q"
        raise InputError(path, "arrays", sorted(names), rule)
    return _tosses(path)


def _tosses(path: Path) -> list[Stream]:
    """One stream per body."""
    arrays = toss_arrays(path)
    rows, trial, t = [], [], []
    dt = float(arrays["dt"])
    triples = zip(arrays["toss_id"], arrays["start"], arrays["length"], strict=True)
    for number, start, length in triples:
        own = np.arange(int(start), int(start) + int(length))
        rows.append(own)
        trial.append(np.full(len(own), int(number)))
        t.append(arrays["t"][own] if "t" in arrays else dt * np.arange(len(own)))
    state = arrays["state"][np.concatenate(rows)].astype(float)
    several = state.ndim == 3
    names = [str(name) for name in arrays["bodies"]] if several else ["body"]
    state = state.reshape(len(state), -1, state.shape[-1])
    clock, number = np.concatenate(t).astype(float), np.concatenate(trial)
    return [
        Stream(
            path, name if several else "", "poses", "npz of tosses", "world", clock, (name,),
            number, state[:, k, None, :3], state[:, k, [4, 5, 6, 3]],
        )
        for k, name in enumerate(names)
    ]  # fmt: skip


def _joint_log(path: Path, arrays: dict) -> Stream:
    """Arrays t (n,), q (n, m), and qd, effort (n, m), joints (m,) where they are there."""
    t = numbers(path, arrays, "t", (None,))
    q = numbers(path, arrays, "q", (len(t), None))
    names = [str(n) for n in arrays.get("joints", [f"joint {i}" for i in range(q.shape[1])])]
    columns = {"position": q}
    for key, name in (("qd", "velocity"), ("effort", "effort")):
        if key in arrays and arrays[key].shape == q.shape:
            columns[name] = numbers(path, arrays, key, q.shape)
    trial = whole_numbers(path, arrays, "trial", t.shape) if "trial" in arrays else None
    return Stream(path, "", "joints", "npz of joints", "", t, tuple(names), trial, joints=columns)


def joint_stream(logs: Sequence[JointLog], what: str) -> Stream:
    """Trials of one joint log, one after the other."""
    columns = {
        signal: np.concatenate([log.measured[signal] for log in logs])
        for signal in logs[0].measured
    }
    trial = np.concatenate([np.full(len(log.t), log.id) for log in logs])
    t = np.concatenate([log.t for log in logs])
    path = Path(logs[0].source)
    return Stream(path, "", "joints", what, "", t, logs[0].joints, trial, joints=columns)


def _header(path: Path) -> list[str]:
    return read_header(path, "a readable table")


def holds_poses(path: Path) -> bool:
    """True of a table with the columns of a pose; InputError where it cannot be read."""
    return path.suffix.lower() == ".csv" and set(POSE_COLUMNS) <= set(_header(path))


def _pose_table(path: Path) -> Stream:
    """Columns t, px .. pz, qx .. qw and, optionally, toss_id (what the observer saves)."""
    header, rows = read_rows(path, "a readable table")
    if "t" not in header:
        raise InputError(path, "header", header[:12], "a column t [s] beside the pose")
    rows = [row for row in rows if row]
    if not rows or any(len(row) != len(header) for row in rows):
        rule = f"rows of {len(header)} numbers, as the header"
        raise InputError(path, "rows", f"{len(rows)} rows", rule)
    table = np.array([[_number(cell) for cell in row] for row in rows])
    column = {name: table[:, i] for i, name in enumerate(header)}
    trial = None
    if "toss_id" in column:
        trial = whole_numbers(path, column, "toss_id", (None,))
    position = np.stack([column[c] for c in POSE_COLUMNS[:3]], axis=1)[:, None]
    orientation = np.stack([column[c] for c in POSE_COLUMNS[3:]], axis=1)
    return Stream(
        path, "", "poses", "table of poses", "", column["t"], ("body",), trial, position,
        orientation,
    )  # fmt: skip


def _number(cell: str) -> float:
    """A cell's number; NaN where it holds none: what was not seen."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _markers(path: Path) -> Stream:
    names, t, position, _ = raw_markers(path)
    number, what = trials_of(path, t), f"{path.suffix[1:].upper()} of markers"
    trial = None if len(set(number.tolist())) < 2 else number
    return Stream(path, "", "markers", what, "tracker", t, names, trial, position)


def _clouds(path: Path) -> list[Stream]:
    """Clouds of a file, a folder or an NPZ; in metres where they are in millimetres."""
    try:
        return [_cloud_files(path, 1.0)]
    except InputError as error:
        if MILLIMETRES not in error.remedy:
            raise
    stream = _cloud_files(path, 1e-3)
    note = "places are in millimetres: give scale: 0.001 when estimating"
    return [replace(stream, scale=1e-3, notes=(*stream.notes, note))]


def _cloud_files(path: Path, scale: float) -> Stream:
    from .clouds.files import read_cloud, read_sequence

    if path.suffix.lower() in (".pcd", ".ply"):
        return _cloud_stream(path, "", "a point cloud", [read_cloud(path, scale=scale)])
    try:
        clouds = read_sequence(path, scale=scale)
    except InputError as error:
        if error.key != "file names":
            raise
        clouds = read_sequence(path, rate=1.0, scale=scale)
        note = "file names hold no stamps: give the rate when estimating; 1 Hz is assumed here"
        return _cloud_stream(path, "", "a sequence of clouds", clouds, (note,))
    return _cloud_stream(path, "", "a sequence of clouds", clouds)


def _cloud_stream(
    path: Path, name: str, what: str, clouds: list[Cloud], notes: tuple[str, ...] = ()
) -> Stream:
    stamps = np.array([cloud.stamp for cloud in clouds])
    frame = clouds[0].frame
    return Stream(
        path, name, "clouds", what, frame, stamps - stamps[0], (), clouds=clouds, notes=notes
    )


# ---------------------------------------------------------------------------- bags


def _bag(path: Path, on_progress: Callable, refuse: Callable) -> list[Stream]:
    topics = bags.topics(path)
    known = {
        topic: kind
        for topic, (kind, _) in sorted(topics.items())
        if kind in BAG_READERS and topic != STATIC
    }
    if not known:
        got = ", ".join(f"{t} ({kind})" for t, (kind, _) in sorted(topics.items())) or "no topics"
        raise InputError(path, "topics", got, "a topic of type " + ", ".join(BAG_READERS))
    streams, errors = [], []
    for topic, kind in known.items():
        if not topics[topic][1] and any(topics[other][1] for other in known):
            continue  # recorded, but nobody published
        on_progress(f"reading {path}: {topic}, {topics[topic][1]} messages")
        try:
            streams += BAG_READERS[kind](path, topic)
        except InputError as error:
            errors.append(error)
    if not streams:
        raise errors[0]
    for refused in errors:
        refuse(refused)
    return streams


def _poses(path: Path, topic: str) -> list[Stream]:
    """One stream per body."""
    found = read_bodies(path, topic)
    if not found:
        raise InputError(path, topic, "no body in any message", "at least one")
    what = bags.topics(path)[topic][0].split("/")[-1]
    return [
        Stream(
            path, topic if len(found) == 1 else f"{topic} ({one.body})", "poses", what, one.frame,
            one.t, (one.body,), position=one.position[:, None], orientation=one.orientation,
            notes=one.notes, begin=one.begin,
        )
        for one in found
    ]  # fmt: skip


def _bag_clouds(path: Path, topic: str) -> list[Stream]:
    """Clouds; small ones of one size are the places of unlabelled markers."""
    from .clouds.bag import read_bag

    clouds = read_bag(path, topic)
    return [_cloud_stream(path, topic, "PointCloud2", clouds)]


def _joints(path: Path, topic: str) -> list[Stream]:
    _, samples = bags.read_messages(path, JOINTS, topic)
    t, notes = bags.clock(samples)
    names, columns = joint_columns(path, topic, samples)
    return [Stream(path, topic, "joints", "JointState", "", t, names, joints=columns, notes=notes)]


def _marker_frames(path: Path, topic: str) -> list[Stream]:
    """Labelled markers; a marker that a message lacks was not seen."""
    frame, names, t, position, notes = bag_markers(path, topic)
    what = "mocap4r2 markers"
    return [Stream(path, topic, "markers", what, frame, t, names, position=position, notes=notes)]


def _rigid_bodies(path: Path, topic: str) -> list[Stream]:
    """The markers of rigid bodies where they are sent along, else their poses."""
    _, samples = bags.read_messages(path, BODIES, topic)
    marked = any(body.markers for _, message in samples for body in message.rigidbodies)
    return (_marker_frames if marked else _poses)(path, topic)


BAG_READERS = {
    bags.POSE: _poses, POINT_CLOUD: _bag_clouds, JOINTS: _joints, MOCAP: _marker_frames,
    BODIES: _rigid_bodies, ODOMETRY: _poses, NAMED: _poses, TF: _poses,
}  # fmt: skip
"""Message type -> reader of (path, topic)."""
TRANSFORMS = TF.split("/")[-1]
"""Format of a stream that is a frame of /tf: one of many, most of which no tracker sent."""
