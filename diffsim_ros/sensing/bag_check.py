"""Checks of a recording before `rosbags` reads it: counts, lengths, unpacked sizes.

`rosbags` trusts a file: it unpacks chunks whole, runs whatever views an sqlite3 file has, and makes
code of message definitions.  Recordings from others may be malicious.
"""

from __future__ import annotations

import os
import re
import sqlite3
import struct
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from diffsim_ros.errors import InputError
from diffsim_ros.files import FREE, MOST_UNPACKED, check_unpacked
from diffsim_ros.yaml_file import parse_yaml

WHOLE = "a complete rosbag2 recording"
CUT = "was it cut off while recording? `mcap recover FILE` or `ros2 bag reindex FOLDER` may save it"
TEXT = 256 * 1024
"""Most bytes of a message definition, or of a topic's metadata."""
TOPICS = 5000
ARRAY = 10_000
"""Most parts of an array of fixed length in a message definition."""
MAGIC = b"\x89MCAP0\r\n"
QUALITIES = b"offered_qos_profiles"
SCHEMA, CHANNEL, CHUNK, INDEX = 0x03, 0x04, 0x06, 0x08
TABLES = {"topics", "messages"}


def cut_of(path: Path) -> str:
    """What may save a file, or a folder, that ends too early."""
    if path.is_dir():
        return CUT
    may = "`mcap recover FILE`" if path.suffix.lower() == ".mcap" else "`ros2 bag reindex FOLDER`"
    return f"was it cut off while recording? {may} may save it"


def check_definition(place: str, text: str) -> None:
    """Raise InputError for a message definition that must not become code in `rosbags`."""
    if len(text) > TEXT:
        raise InputError(place, "definition", f"{len(text)} bytes", f"at most {TEXT} bytes")
    for line in text.splitlines():
        if len(line) > 2000:
            raise InputError(place, "definition", line, "lines of at most 2000 characters")
        for size in re.findall(r"\[(\d+)\]", line.partition("#")[0]):
            if len(size) > 9 or int(size) > ARRAY:
                raise InputError(place, "definition", line, f"arrays of at most {ARRAY} parts")
        if line.count("[") > 5 or line.count("<") > 20:
            raise InputError(place, "definition", line, "a message definition")


def check_fields(place: object, name: str, found: Mapping, known: Mapping) -> None:
    """Raise InputError where a recording's own definition of a type lacks a field of the known one,
    or has another kind in it; further fields are harmless.

    found, known   type -> (constants, [(field, description)]), as rosbags' type stores have them
    """
    theirs = {field: _kind(description) for field, description in found.get(name, ((), ()))[1]}
    for field, description in known.get(name, ((), ()))[1]:
        wanted = _kind(description)
        if theirs.get(field) != wanted:
            got = f"{field} of {theirs.get(field, 'no kind: it is missing')}"
            raise InputError(place, f"definition of {name}", got, f"{field} of {wanted}")
        if (inner := wanted.removeprefix("list of ")) in known:
            check_fields(place, inner, found, known)


def same_fields(name: str, found: Mapping, known: Mapping) -> bool:
    """Whether a recording's definition of a type has the fields of the known one, no others."""
    theirs, ours = found.get(name, ((), ()))[1], known.get(name, ((), ()))[1]
    mine = [(field, _kind(description)) for field, description in ours]
    if [(field, _kind(description)) for field, description in theirs] != mine:
        return False
    inner = {kind.removeprefix("list of ") for _, kind in mine} & set(known)
    return all(same_fields(one, found, known) for one in inner)


def _kind(description: tuple) -> str:
    """A field's kind as text: number, text, the name of a type, or a list of such."""
    node, content = description
    if node.name in ("ARRAY", "SEQUENCE"):
        return f"list of {_kind(content[0])}"
    if node.name == "NAME":
        return str(content)
    return "text" if content[0] in ("string", "wstring") else "number"


def check_qualities(place: object, text: object) -> None:
    """Raise InputError for QoS profiles that are not a small YAML: rosbags reads any."""
    if isinstance(text, str):
        parse_yaml(text, place)


@lru_cache(maxsize=64)
def check_file(path: Path, compressed: str | bool, _: tuple[int, ...], name: Path) -> None:
    """Raise InputError for a file that could not be read within bounds; once for every state of it.

    compressed  "file": as a whole; True: message by message
    name        the user's file, of which `path` may be a copy
    """
    if compressed == "file":
        _check_zstd_file(path)
        return
    with path.open("rb") as stream:
        begin = stream.read(len(MAGIC))
    if begin == MAGIC or name.suffix.lower() == ".mcap":
        _Mcap(path, name).check()
    else:
        _check_sqlite(path, bool(compressed), name)


def count_of(path: Path) -> int | None:
    """Number of the messages in an sqlite3 file as it is, None of what is none."""
    try:
        base = sqlite3.connect(f"file:{uri_of(path)}?mode=ro&immutable=1", uri=True)
        try:
            base.execute("PRAGMA trusted_schema = OFF")
            plain = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'messages'"
            if not base.execute(plain).fetchone()[0]:
                return 0
            return int(base.execute("SELECT count(*) FROM messages").fetchone()[0])
        finally:
            base.close()
    except sqlite3.Error:
        return None


def uri_of(path: Path) -> str:
    """The path as part of a URI of sqlite3."""
    name = os.fspath(path.resolve())
    return name.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


# ---------------------------------------------------------------------------- compression


def _check_zstd_file(path: Path) -> None:
    """Unpack a compressed file piece by piece, up to the bound; nothing is kept."""
    from backports import zstd

    size, unfolded = path.stat().st_size, 0
    try:
        with zstd.open(path, "rb") as stream:
            while piece := stream.read(2**20):
                unfolded += len(piece)
                check_unpacked(path, unfolded, size)
    except (zstd.ZstdError, EOFError, OSError) as error:
        raise InputError(path, "", str(error), "a whole file compressed by zstd") from error


def _check_packed(place: object, data: bytes, kind: str, declared: int | None) -> None:
    """Raise InputError where data would unpack to more than is declared or usual."""
    most = max(FREE, MOST_UNPACKED * len(data))
    if declared is not None and declared > most:
        check_unpacked(str(place), declared, len(data))
    if kind == "":
        return
    try:
        count = _unfolded(data, kind, most + 1 if declared is None else declared + 1)
    except Exception as error:  # each library has its own
        raise InputError(place, "", str(error), f"data compressed by {kind}", CUT) from error
    if count > most or (declared is not None and count > declared):
        got = f"{len(data)} bytes that unfold to {count} or more"
        raise InputError(
            place, "", got, f"{declared} bytes, as declared" if declared else "data", CUT
        )


def _unfolded(data: bytes, kind: str, most: int) -> int:
    """Unpacked size of data, counted up to `most`, over all its frames."""
    total, pieces = 0, 0
    while data and total < most and pieces < 1000:
        if kind == "zstd":
            from backports import zstd

            one = zstd.ZstdDecompressor()
        else:
            import lz4.frame

            one = lz4.frame.LZ4FrameDecompressor()
        source = data
        while not one.eof and total < most:
            piece = one.decompress(source, min(2**22, most - total))
            if not piece and one.needs_input:
                return total  # cut: the reader reports it
            total, source = total + len(piece), b""
        data, pieces = one.unused_data or b"", pieces + 1
    return total if pieces < 1000 else most


# ---------------------------------------------------------------------------- MCAP


class _Mcap:
    """Records of an MCAP: lengths within the file, chunks that unpack to their stated length."""

    def __init__(self, path: Path, name: Path) -> None:
        self.path, self.name, self.size = path, name, path.stat().st_size
        self.chunks: dict[int, tuple[int, int]] = {}  # offset -> packed, unfolded
        self.indexed: set[int] = set()
        self.topics = 0

    def check(self) -> None:
        """Raise InputError naming the byte at which the file contradicts itself."""
        with self.path.open("rb") as file:
            if file.read(8) != MAGIC:
                raise self._error(0, "no MCAP")
            try:
                self._records(file, self.size - 8, False)
                lost = sorted(set(self.chunks) - self.indexed)
                if self.indexed and lost:
                    raise self._error(lost[0], "a chunk that the summary does not list")
            except struct.error as error:
                raise self._error(file.tell(), str(error)) from error

    def _error(self, at: int, got: str) -> InputError:
        return InputError(self.name, f"byte {at}", got, WHOLE, cut_of(self.name))

    def _records(self, file: BinaryIO, end: int, inside: bool) -> None:
        while (at := file.tell()) < end:
            kind, length = struct.unpack("<BQ", file.read(9))
            if length > end - at - 9:
                left = end - at - 9
                raise self._error(at, f"a record of {length} bytes where {left} are left")
            if kind in (SCHEMA, CHANNEL, INDEX):
                self._small(kind, at, file.read(length))
            elif kind == CHUNK and not inside:
                self._chunk(at, file, length)
            file.seek(at + 9 + length)

    def _small(self, kind: int, at: int, content: bytes) -> None:
        if kind == INDEX:
            self._index(at, content)
            return
        self.topics += kind == CHANNEL
        if len(content) > TEXT or self.topics > 2 * TOPICS:
            what = f"{len(content)} bytes of a definition, or {self.topics} topics"
            raise self._error(at, what)
        if kind == CHANNEL:
            self._qualities(at, content)

    def _qualities(self, at: int, content: bytes) -> None:
        """The QoS profiles in a channel's metadata (after its topic and encoding)."""
        place = 4
        texts: list[bytes] = []
        while place < len(content) and len(texts) < 1000:
            (length,) = struct.unpack_from("<I", content, place)
            if length > len(content) - place - 4:
                raise self._error(at, f"a text of {length} bytes")
            if len(texts) == 2:
                length = 0  # of the metadata as a whole, whose texts follow
            texts.append(content[place + 4 : place + 4 + length])
            place += 4 + length
        for key, value in zip(texts[3::2], texts[4::2], strict=False):
            if key == QUALITIES:
                check_qualities(f"{self.name}: byte {at}", value.decode("utf-8", "replace"))

    def _chunk(self, at: int, file: BinaryIO, length: int) -> None:
        head = file.read(28 + 4)
        unfolded, word = struct.unpack_from("<QxxxxI", head, 16)
        if word > 100:
            raise self._error(at, f"a name of {word} bytes for the compression")
        kind = file.read(word).decode("ascii", "replace")
        (packed,) = struct.unpack("<Q", file.read(8))
        if packed != length - 40 - word or kind not in ("", "zstd", "lz4"):
            raise self._error(at, f"a chunk of {packed} bytes, compression {kind!r}")
        place = f"{self.name}: chunk at byte {at}"
        check_unpacked(place, unfolded, packed)
        if kind:
            _check_packed(place, file.read(packed), kind, unfolded)
        elif unfolded != packed:
            raise self._error(at, f"{packed} bytes declared as {unfolded}")
        self.chunks[at] = (packed, unfolded)

    def _index(self, at: int, content: bytes) -> None:
        """An entry of the summary must name a chunk that is there, each once."""
        start, _, offsets = struct.unpack_from("<QQI", content, 16)
        (word,) = struct.unpack_from("<I", content, 36 + offsets + 8)
        sizes = struct.unpack_from("<QQ", content, 36 + offsets + 12 + word)
        if self.chunks.get(start) != sizes or start in self.indexed:
            raise self._error(at, f"an entry for a chunk at byte {start}, of {sizes} bytes")
        self.indexed.add(start)


# ---------------------------------------------------------------------------- sqlite3


def _check_sqlite(path: Path, packed: bool, place: Path) -> None:
    """Only plain tables, texts of sensible length, messages that unpack to a sensible size."""
    size = path.stat().st_size
    try:
        base = sqlite3.connect(f"file:{uri_of(path)}?mode=ro&immutable=1", uri=True)
        try:
            base.execute("PRAGMA trusted_schema = OFF")
            _check_tables(place, base)
            _check_texts(place, base, size)
            if packed:
                _check_messages(place, base)
        finally:
            base.close()
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(place, "", str(error), WHOLE, cut_of(place)) from error


def _check_tables(path: Path, base: sqlite3.Connection) -> None:
    found = base.execute("SELECT type, name, sql FROM sqlite_master LIMIT 200").fetchall()
    tables = {name for kind, name, _ in found if kind == "table"}
    if not tables >= TABLES:
        got = ", ".join(sorted(map(str, tables))) or "none"
        raise InputError(path, "tables", got, "topics and messages among them", cut_of(path))
    for kind, name, text in found:
        words = str(text or "").upper()
        if kind not in ("table", "index") or "VIRTUAL" in words or "GENERATED" in words:
            raise InputError(path, str(name), f"a {kind}: {text}", "plain tables and indices")
    for table in sorted(TABLES):
        for column in base.execute(f"PRAGMA table_xinfo({table})"):
            if column[6]:
                raise InputError(path, f"{table}.{column[1]}", "computed", "stored columns")


def _check_texts(path: Path, base: sqlite3.Connection, size: int) -> None:
    (topics,) = base.execute("SELECT count(*) FROM topics").fetchone()
    if topics > TOPICS:
        raise InputError(path, "topics", topics, f"at most {TOPICS} topics")
    texts = [("topics", column[1]) for column in base.execute("PRAGMA table_info(topics)")]
    kinds = [column[1] for column in base.execute("PRAGMA table_info(message_definitions)")]
    for table, column in [*texts, *(("message_definitions", kind) for kind in kinds)]:
        quoted = '"' + str(column).replace('"', '""') + '"'
        (most,) = base.execute(f"SELECT max(length({quoted})) FROM {table}").fetchone()
        if (most or 0) > TEXT:
            raise InputError(path, f"{table}.{column}", f"{most} bytes", f"at most {TEXT} bytes")
    if QUALITIES.decode() in (column for _, column in texts):
        for (text,) in base.execute("SELECT DISTINCT offered_qos_profiles FROM topics"):
            check_qualities(f"{path}: topics.offered_qos_profiles", text)
    kinds = base.execute("SELECT DISTINCT typeof(data) FROM messages LIMIT 5").fetchall()
    if any(kind != "blob" for (kind,) in kinds):
        raise InputError(path, "messages.data", [k for (k,) in kinds], "blobs", cut_of(path))
    (total,) = base.execute("SELECT coalesce(sum(length(data)), 0) FROM messages").fetchone()
    if total > size:
        got, rule = f"{total} bytes", f"at most the {size} of the file"
        raise InputError(path, "messages.data", got, rule, cut_of(path))


def _check_messages(path: Path, base: sqlite3.Connection) -> None:
    for number, (data,) in enumerate(base.execute("SELECT data FROM messages")):
        _check_packed(f"{path}: message {number}", data, "zstd", None)
