"""Files of a bag, opened one by one: what each holds counts, not what metadata.yaml says of it.

metadata.yaml names the files and how they are compressed. Topics, types and messages are those of
the files, whatever their QoS, their storage identifier or their counts are there: a bag that was
put together from several recordings, reindexed or edited differs in them, and `rosbags`' reader of
folders passes over what differs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from ..errors import InputError
from ..files import exists, is_folder, require_regular
from ..yaml_file import read_yaml
from .bag_check import (
    CUT,
    MAGIC,
    QUALITIES,
    TOPICS,
    WHOLE,
    check_file,
    check_qualities,
    count_of,
    cut_of,
    uri_of,
)

SUFFIXES = (".mcap", ".db3")
PACKED = tuple(f"{suffix}.zstd" for suffix in SUFFIXES)
"""Endings of files that were compressed whole: metadata.yaml beside them says so."""
SIDES = ("-wal", "-journal")
"""Endings of what sqlite3 keeps beside a file while it writes: a recorder that was killed leaves
messages there."""
FOLDER = "a rosbag2 folder, with its metadata.yaml, or the files themselves"
UNPACK = "unpack them (`zstd -d FILE`), then `ros2 bag reindex FOLDER`"
METADATA = 512 * 1024
"""Most bytes of a metadata.yaml."""
FILES = 10_000
KEPT = 4
"""Bags whose unpacked or recovered files are kept while the process runs."""


@dataclass(frozen=True)
class StoredFile:
    """One file: where it is, how it is compressed ("", "file", "message"), what is read of it (a
    copy where it was unpacked or recovered), and what to say of that."""

    path: Path
    compressed: str
    stored: Path
    notes: tuple[str, ...] = ()


class BagReader:
    """Connections and messages of a bag's files, in the order of the files.

    stated  topic -> number of messages by metadata.yaml, None: there is none
    notes   what was unusual about the files
    """

    def __init__(
        self, files: Collection[StoredFile], stated: Mapping[str, int] | None, stack: ExitStack
    ) -> None:
        self.stated = stated
        self.notes = tuple(note for file in files for note in file.notes)
        self._storages = []
        for file in files:
            storage = _storage(file.stored)
            storage.open()
            stack.callback(storage.close)
            self._storages.append((storage, file.compressed == "message"))

    @property
    def connections(self) -> list[Any]:
        """Topics of every file, each with its type, definition and count."""
        return [one for storage, _ in self._storages for one in storage.connections]

    def messages(self, connections: Collection[Any]) -> Iterator[tuple[Any, int, bytes]]:
        """(connection, time of arrival [ns], bytes) of every message of these."""
        from backports import zstd

        for storage, packed in self._storages:
            own = [one for one in connections if one.owner is storage]
            for connection, stamp, data in storage.messages(own) if own else ():
                yield connection, stamp, zstd.decompress(data) if packed else data


def is_bag(path: str | os.PathLike[str]) -> bool:
    """True for .mcap and .db3 files, compressed ones too, and for folders that hold one, or a
    metadata.yaml."""
    path = Path(path)
    if not is_folder(path):
        return path.name.lower().endswith((*SUFFIXES, *PACKED))
    inside = (one.name.lower() for one in path.iterdir())
    return any(name == "metadata.yaml" or name.endswith((*SUFFIXES, *PACKED)) for name in inside)


@contextmanager
def opened(path: Path) -> Iterator[BagReader]:
    """A reader of the bag; what it cannot read is an InputError with a remedy."""
    if not exists(path):
        raise InputError(path, "", "nothing", "a rosbag2 folder, .mcap or .db3 file")
    if is_folder(path):
        files, stated = _listed(path)
    else:
        files, stated = [(path, _mode_of(path))], None
    for file, _ in files:
        require_regular(file, WHOLE)
    prepared = _prepared(tuple((file, mode, _state(file)) for file, mode in files))
    for one in prepared.files:
        check_file(one.stored, one.compressed == "message", _state(one.stored), one.path)
    try:
        with ExitStack() as stack:
            yield BagReader(prepared.files, stated, stack)
    except InputError:
        raise
    except Exception as error:  # damaged files raise struct, key, type, sqlite ... errors
        reason = f"{type(error).__name__}: {error}"
        raise InputError(path, "", reason, WHOLE, cut_of(path)) from error


def _mode_of(path: Path) -> str:
    """How a file alone is compressed: not at all; InputError for one whose name says otherwise."""
    if path.name.lower().endswith(PACKED):
        rule = "a bag's folder, with its metadata.yaml, or an unpacked file"
        raise InputError(path, "", "a file compressed by zstd", rule, UNPACK)
    return ""


def _storage(path: Path) -> Any:
    """The reader of `rosbags` for a file, by its first bytes."""
    from rosbags.rosbag2.storage_mcap import McapReader
    from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

    with path.open("rb") as stream:
        begin = stream.read(len(MAGIC))
    return McapReader(path) if begin == MAGIC else Sqlite3Reader(Path(uri_of(path)))


# ---------------------------------------------------------------------------- metadata.yaml


def _listed(path: Path) -> tuple[list[tuple[Path, str]], dict[str, int]]:
    """Files of a folder with how each is compressed, and the counts, of its metadata.yaml."""
    place = path / "metadata.yaml"
    if not place.is_file():
        _refuse_bare(path)
    require_regular(place, WHOLE, limit=METADATA)
    content = read_yaml(place)
    found = content.get("rosbag2_bagfile_information") if isinstance(content, Mapping) else None
    names = found.get("relative_file_paths") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(names, list) or len(names) > FILES:
        raise InputError(place, "relative_file_paths", names, "a list of files")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(place, "relative_file_paths", names, "names of files, each once")
    stated = _counts(place, found.get("topics_with_message_count"))
    mode = str(found.get("compression_mode") or "").lower()
    kind = str(found.get("compression_format") or "").lower()
    if mode not in ("", "none", "file", "message"):
        raise InputError(place, "compression_mode", mode, "none, file or message")
    if mode not in ("", "none") and kind != "zstd":
        raise InputError(place, "compression_format", kind, "zstd")
    files = [path / PurePath(name).name for name in names]
    absent = [name for name, file in zip(names, files, strict=True) if not exists(file)]
    if absent:
        raise InputError(path, "", f"missing: {', '.join(absent[:5])}", WHOLE, CUT)
    return [(file, "" if mode == "none" else mode) for file in files], stated


def _refuse_bare(path: Path) -> None:
    """Refuse a folder without metadata.yaml, naming what may help."""
    names = sorted(one.name for one in path.iterdir() if is_bag(one))
    listed = ", ".join(names[:5]) or "no bags"
    if names and all(name.lower().endswith(PACKED) for name in names):
        remedy = UNPACK
    else:
        plain = next((path / name for name in names if name.lower().endswith(SUFFIXES)), path)
        remedy = cut_of(plain) + "; or name a file"
    raise InputError(path, "", f"a folder of {listed}, without metadata.yaml", FOLDER, remedy)


def _counts(place: Path, topics: object) -> dict[str, int]:
    """Topic -> number of messages."""
    if not isinstance(topics, list) or len(topics) > TOPICS:
        raise InputError(place, "topics_with_message_count", topics, "a list of topics")
    found: dict[str, int] = {}
    for topic in topics:
        about = topic.get("topic_metadata") if isinstance(topic, Mapping) else None
        name = about.get("name") if isinstance(about, Mapping) else None
        if not isinstance(about, Mapping) or not isinstance(name, str):
            rule = "topics with their topic_metadata"
            raise InputError(place, "topics_with_message_count", topic, rule)
        check_qualities(place, about.get(QUALITIES.decode()))
        count = topic.get("message_count")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63:
            raise InputError(place, f"message_count of {name}", count, "a whole number >= 0")
        found[name] = found.get(name, 0) + count
    return found


# ---------------------------------------------------------------------------- copies


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Files ready to be read; the folder of their copies goes with it."""

    files: tuple[StoredFile, ...]


def _state(path: Path) -> tuple[int, ...]:
    """Changes when a file or what is beside it does."""
    found = []
    for one in (path, *(path.with_name(path.name + side) for side in SIDES)):
        if exists(one):
            about = one.stat()
            found += [about.st_ino, about.st_mtime_ns, about.st_size]
        else:
            found += [0, 0, 0]
    return tuple(found)


@lru_cache(maxsize=KEPT)
def _prepared(files: tuple[tuple[Path, str, tuple[int, ...]], ...]) -> _Prepared:
    """Unpack what is compressed, recover what a killed recorder left; both into a folder that is
    temporary: nothing is written beside the user's files."""
    if not any(mode == "file" or _sides(path) for path, mode, _ in files):
        return _Prepared(tuple(StoredFile(path, mode, path) for path, mode, _ in files))
    folder = Path(tempfile.mkdtemp(prefix="diffsim_bag_"))
    try:
        prepared = _Prepared(tuple(_copied(*file[:2], folder, k) for k, file in enumerate(files)))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(prepared, shutil.rmtree, folder, ignore_errors=True)
    return prepared


def _copied(path: Path, mode: str, folder: Path, number: int) -> StoredFile:
    """A file, or its copy in a folder where it has to be unpacked or recovered."""
    target = folder / f"{number}_{path.name.removesuffix('.zstd')}"
    sides = _sides(path)
    if mode == "file":
        _unpack(path, target)
        return StoredFile(path, "", target)
    if sides:
        return StoredFile(path, mode, target, _recover(path, sides, target))
    return StoredFile(path, mode, path)


def _sides(path: Path) -> list[str]:
    """Endings of what a recorder left beside an sqlite3 file."""
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) == MAGIC:
            return []
    beside = {side: path.with_name(path.name + side) for side in SIDES}
    return [side for side, one in beside.items() if one.is_file() and one.stat().st_size]


def _unpack(path: Path, target: Path) -> None:
    from backports import zstd

    check_file(path, "file", _state(path), path)
    with zstd.open(path, "rb") as stream, target.open("wb") as out:
        shutil.copyfileobj(stream, out)


def _recover(path: Path, sides: Collection[str], target: Path) -> tuple[str, ...]:
    """Copy a file and what is beside it, and have sqlite3 put both together; a note of what came
    from there."""
    for side in ("", *sides):
        source = path.with_name(path.name + side)
        require_regular(source, WHOLE)
        shutil.copyfile(source, target.with_name(target.name + side))
    names = " and ".join(path.name + side for side in sides)
    before = count_of(path)
    try:
        base = sqlite3.connect(os.fspath(target))
        try:
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            base.close()
    except sqlite3.Error as error:
        got = f"{error}, with {names} beside it"
        raise InputError(path, "", got, WHOLE, cut_of(path)) from error
    after = count_of(target)
    if after == before:
        return ()
    if after is None:
        return (f"{names} was read too",)
    gained = after - (before or 0)
    what = f"{gained} of {after} messages are in it" if gained > 0 else f"{after} messages are left"
    return (f"{path.name} was not closed (was the recorder killed?): {names} was read too, {what}",)
