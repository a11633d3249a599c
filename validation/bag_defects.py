"""Bags with one defect each and known truth: what labs bring, and what must be read of it.

The truth is what was published. Either the samples that are read are these, all of them, or a note
or a refusal names what differs: `judge` holds readers against that. Tests and studies draw here.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.bags import EPOCH_NS
from diffsim_ros.sensing.messages import (
    BUILD,
    JOINTS,
    POSE,
    OfferedQos,
    message,
    qos_profile,
    types,
)
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.sensing.read import read_kind

STORAGES = ("mcap", "sqlite3")
TOPIC = {"poses": "/vicon/box/box", "joints": "/joint_states"}
ARM = ("shoulder", "elbow", "wrist")
GRIPPER = "finger_joint"
COUNT, RATE = 60, 100.0


@dataclass(frozen=True)
class Sent:
    """A message: times of stamp and arrival [ns], topic, type, and the message itself."""

    stamp: int
    arrival: int
    topic: str
    msgtype: str
    built: Any


@dataclass(frozen=True)
class Bag:
    """A bag and what is true of it.

    path   file or folder;  kind  of sensor;  t  [s] since the first sample (n,)
    value  positions (n, 3) of the body or (n, m) of the arm's joints
    named  words of which one is in a note or refusal; (): read without a word
    exact  False: times are known to the jitter of arrival alone
    """

    path: Path
    kind: str
    t: np.ndarray
    value: np.ndarray
    named: tuple[str, ...] = ()
    exact: bool = True


class Drawn:
    """One recording that is drawn: what was published, to be spoilt and written."""

    def __init__(self, folder: Path, kind: str, storage: str, rng: np.random.Generator) -> None:
        self.folder, self.kind, self.storage, self.rng = folder, kind, storage, rng
        self.t = np.arange(COUNT) / RATE
        start = rng.uniform(0.3, 1.0, 3)
        self.value = start + np.cumsum(rng.normal(0, 2e-3, (COUNT, 3)), axis=0)
        self.delay = rng.uniform(1e-3, 2e-3, COUNT)
        self.sent = [self.message(k) for k in range(COUNT)]

    def message(self, k: int, **other: Any) -> Sent:
        """Sample k as it was published; other: values that differ."""
        stamp = other.get("stamp", EPOCH_NS + round(1e9 * self.t[k]))
        arrival = EPOCH_NS + round(1e9 * (self.t[k] + self.delay[k]))
        value = other.get("value", self.value[k])
        if self.kind == "poses":
            sample = PoseSample(stamp, "world", "", tuple(value), (0.0, 0.0, 0.0, 1.0))
            return Sent(stamp, arrival, TOPIC["poses"], POSE, BUILD.pose_stamped(sample))
        names = list(other.get("names", ARM))
        table = [np.asarray(value, float), other.get("velocity", np.zeros(len(names)))]
        table.append(other.get("effort", np.ones(len(names))))
        built = message(JOINTS, header=BUILD.header(stamp, ""), name=names, position=table[0],
                        velocity=np.asarray(table[1], float),
                        effort=np.asarray(table[2], float))  # fmt: skip
        return Sent(stamp, arrival, TOPIC["joints"], JOINTS, built)

    def write(self, sent: Sequence[Sent] | None = None, *, name: str = "bag") -> Path:
        """A bag folder of these messages (all), in order of arrival."""
        from rosbags.rosbag2 import StoragePlugin, Writer

        plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[self.storage]
        path = self.folder / name
        with Writer(path, version=8, storage_plugin=plugin) as writer:
            known: dict[str, Any] = {}
            for one in sorted(sent or self.sent, key=lambda m: m.arrival):
                if one.topic not in known:
                    known[one.topic] = writer.add_connection(
                        one.topic,
                        one.msgtype,
                        typestore=types(),
                        offered_qos_profiles=[qos_profile(OfferedQos())],
                    )
                data = types().serialize_cdr(one.built, one.msgtype)
                writer.write(known[one.topic], one.arrival, data)
        return path

    def bag(self, path: Path, *named: str, **more: Any) -> Bag:
        """The bag and its truth."""
        return replace(Bag(path, self.kind, self.t, self.value, tuple(named)), **more)

    def file(self, path: Path) -> Path:
        """The only file of a bag folder."""
        (found,) = [one for one in path.iterdir() if one.suffix in (".mcap", ".db3")]
        return found


def _altered(path: Path, old: str, new: str) -> None:
    place = path / "metadata.yaml"
    text = place.read_text()
    assert old in text, old
    place.write_text(text.replace(old, new))


def sound(drawn: Drawn) -> Bag:
    """Nothing is wrong."""
    return drawn.bag(drawn.write())


def left_in_wal(drawn: Drawn) -> Bag:
    """The recorder was killed: later messages are in the -wal beside the file."""
    early = drawn.write(drawn.sent[: COUNT // 2], name="early")
    whole = drawn.file(drawn.write(name="whole"))
    file, killed = drawn.file(early), drawn.folder / "killed.db3"
    base = sqlite3.connect(file)
    base.execute("PRAGMA journal_mode = WAL").fetchall()
    base.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
    rows = sqlite3.connect(whole).execute("SELECT topic_id, timestamp, data FROM messages")
    later = rows.fetchall()[COUNT // 2 :]
    text = "INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)"
    base.executemany(text, later)
    base.commit()
    shutil.copy(file, killed)
    shutil.copy(file.with_name(file.name + "-wal"), killed.with_name(killed.name + "-wal"))
    base.close()
    return drawn.bag(killed, "-wal")


def quality_differs(drawn: Drawn) -> Bag:
    """metadata.yaml has another QoS than the file, as `ros2 bag reindex` writes it."""
    path = drawn.write()
    place = path / "metadata.yaml"
    lines = place.read_text().splitlines(keepends=True)
    begin = next(k for k, line in enumerate(lines) if "offered_qos_profiles" in line)
    indent = len(lines[begin]) - len(lines[begin].lstrip())
    end = begin + 1
    while len(lines[end]) - len(lines[end].lstrip()) > indent or lines[end].lstrip()[:1] == "-":
        end += 1
    lines[begin:end] = [" " * indent + "offered_qos_profiles: ''\n"]
    place.write_text("".join(lines))
    return drawn.bag(path)


def cut(drawn: Drawn) -> Bag:
    """The file ends too early."""
    path = drawn.file(drawn.write())
    whole, short = path.read_bytes(), drawn.folder / f"cut{path.suffix}"
    short.write_bytes(whole[: int(len(whole) * drawn.rng.uniform(0.3, 0.9))])
    return drawn.bag(short, "mcap recover FILE" if path.suffix == ".mcap" else "cut off")


def counts_differ(drawn: Drawn) -> Bag:
    """metadata.yaml counts more messages than the file holds."""
    path = drawn.write()
    _altered(path, f"message_count: {COUNT}\n", f"message_count: {2 * COUNT}\n")
    return drawn.bag(path, f"metadata.yaml counts {2 * COUNT}")


def no_identifier(drawn: Drawn) -> Bag:
    """The storage identifier is empty, as in a reindexed bag."""
    path = drawn.write()
    _altered(path, f"storage_identifier: {drawn.storage}\n", "storage_identifier: ''\n")
    return drawn.bag(path)


def doubled(drawn: Drawn) -> Bag:
    """Every message is there twice, the copies a moment later."""
    copies = [replace(one, arrival=one.arrival + 300_000) for one in drawn.sent]
    return drawn.bag(drawn.write([*drawn.sent, *copies]), "exact copies")


def same_stamps(drawn: Drawn) -> Bag:
    """Some stamps are those of the sample before, with other content."""
    for k in (10, 20, 21):
        drawn.sent[k] = drawn.message(k, stamp=drawn.sent[k - 1].stamp)
        drawn.t[k] = drawn.t[k - 1]
    return drawn.bag(drawn.write(), "other content")


def no_stamps(drawn: Drawn) -> Bag:
    """All header stamps are 0."""
    drawn.sent = [drawn.message(k, stamp=0) for k in range(COUNT)]
    return drawn.bag(drawn.write(), "header stamps are 0", exact=False)


def some_stamps(drawn: Drawn) -> Bag:
    """Some header stamps are 0."""
    for k in (5, 30, 31):
        drawn.sent[k] = drawn.message(k, stamp=0)
    return drawn.bag(drawn.write(), "header stamps are 0", exact=False)


def clock_step(drawn: Drawn) -> Bag:
    """The sensor's clock is set, forwards or back, while it records."""
    step, at = int(drawn.rng.choice([-1, 1]) * drawn.rng.uniform(0.08, 2.0) * 1e9), COUNT // 2
    for k in range(at, COUNT):
        drawn.sent[k] = drawn.message(k, stamp=drawn.sent[k].stamp + step)
    return drawn.bag(drawn.write(), "clock of the stamps steps", exact=False)


def foreign_joint(drawn: Drawn) -> Bag:
    """A gripper's joint is in every message, without efforts."""
    for k in range(COUNT):
        value = [*drawn.value[k], 0.02]
        rest = {"velocity": [0.0] * 3 + [np.nan], "effort": [1.0] * 3 + [np.nan]}
        drawn.sent[k] = drawn.message(k, names=(*ARM, GRIPPER), value=value, **rest)
    return drawn.bag(drawn.write(), GRIPPER)


def foreign_joint_between(drawn: Drawn) -> Bag:
    """Arm and gripper publish on one topic in turn."""
    finger = [
        replace(drawn.message(k, names=(GRIPPER,), value=[0.02]), arrival=drawn.sent[k].arrival + 9)
        for k in range(0, COUNT, 4)
    ]
    return drawn.bag(drawn.write([*drawn.sent, *finger]))


def foreign_topic(drawn: Drawn) -> Bag:
    """Another robot has a topic of the same type."""
    names, topic = ("a", "b"), "/other/joint_states"
    other = [
        replace(drawn.message(k, names=names, value=[0.0, 0.1]), topic=topic) for k in range(COUNT)
    ]
    return drawn.bag(drawn.write([*drawn.sent, *other]))


def two_publishers(drawn: Drawn) -> Bag:
    """A second publisher sends zeros in between."""
    zeros = [
        replace(drawn.message(k, value=np.zeros(3), velocity=[], effort=[]),
                arrival=drawn.sent[k].arrival + 9)
        for k in range(3, COUNT, 10)
    ]  # fmt: skip
    return drawn.bag(drawn.write([*drawn.sent, *zeros]), "two publishers")


def nan_columns(drawn: Drawn) -> Bag:
    """Interfaces that are not there are NaN."""
    missing = np.full(3, np.nan)
    drawn.sent = [drawn.message(k, effort=missing) for k in range(COUNT)]
    return drawn.bag(drawn.write(), "no efforts")


ANY: tuple[Callable[[Drawn], Bag], ...] = (
    sound, left_in_wal, quality_differs, cut, counts_differ, no_identifier, doubled, same_stamps,
    no_stamps, some_stamps, clock_step,
)  # fmt: skip
OF_JOINTS: tuple[Callable[[Drawn], Bag], ...] = (
    foreign_joint, foreign_joint_between, foreign_topic, two_publishers, nan_columns,
)  # fmt: skip


def draws() -> list[tuple[str, str, Callable[[Drawn], Bag]]]:
    """Every (kind, storage, defect) that there is."""
    found = [
        (kind, storage, defect)
        for kind in TOPIC
        for storage in STORAGES
        for defect in (*ANY, *(OF_JOINTS if kind == "joints" else ()))
    ]
    return [one for one in found if one[1:] != ("mcap", left_in_wal)]


def make(folder: Path, kind: str, storage: str, defect: Callable[[Drawn], Bag], seed: int) -> Bag:
    """One bag in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    return defect(Drawn(folder, kind, storage, np.random.default_rng(seed)))


def judge(bag: Bag) -> str:
    """What is wrong with how a bag is read: "" nothing."""
    options = {"joints": ARM} if bag.kind == "joints" else {}
    try:
        found = read_kind(bag.path, bag.kind, **options)
    except InputError as error:
        named = any(word in str(error) for word in bag.named)
        return "" if named else f"refused for another reason: {error}"
    told = " ".join(found.notes)
    if bag.named and not any(word in told for word in bag.named):
        return f"{len(found)} samples read of {len(bag.t)}, without {' or '.join(bag.named)}"
    if not bag.named and found.notes:
        return f"a note on what is sound: {told}"
    if len(found) != len(bag.t):
        return f"{len(found)} samples read of {len(bag.t)}"
    value = found.values["position"].reshape(len(found), -1)
    if not np.array_equal(value, bag.value):
        return "other values"
    apart = np.abs(found.t - found.t[0] - (bag.t - bag.t[0])).max()
    return "" if apart < (1e-8 if bag.exact else 2e-3) else f"times are off by {apart:.3g} s"
