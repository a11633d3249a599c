"""Hostile rosbag2 recordings: MCAP and sqlite3 files, folders with their metadata.yaml."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from . import hostile_seeds as seeds
from .hostile import Case
from .hostile_text import alias_bomb, file, lazy, merge_bomb

CUTS = (0.0, 0.02, 0.3, 0.6, 0.95)
MAGIC = b"\x89MCAP0\r\n"
POSE = "geometry_msgs/msg/PoseStamped"
CHUNK = 0x06


def _text(word: str | bytes) -> bytes:
    data = word.encode() if isinstance(word, str) else word
    return struct.pack("<I", len(data)) + data


def _record(kind: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", kind, len(content) if length is None else length) + content


def _schema(definition: str, name: str = POSE, encoding: str = "ros2msg") -> bytes:
    return _record(0x03, struct.pack("<H", 1) + _text(name) + _text(encoding) + _text(definition))


def _channel(topic: str = "/cube", metadata: bytes = b"") -> bytes:
    return _record(
        0x04, struct.pack("<HH", 1, 1) + _text(topic) + _text("cdr") + _text(metadata)
    )  # fmt: skip


def _message(data: bytes, stamp: int = 1) -> bytes:
    return _record(0x05, struct.pack("<HIQQ", 1, 0, stamp, stamp) + data)


def _chunk(content: bytes, compression: str, size: int, packed: int | None = None) -> bytes:
    head = struct.pack("<QQQI", 0, 10, size, 0) + _text(compression)
    return _record(
        CHUNK, head + struct.pack("<Q", len(content) if packed is None else packed) + content
    )  # fmt: skip


def _mcap(*records: bytes, summary: int = 0, end: bytes = b"") -> bytes:
    head = MAGIC + _record(0x01, _text("ros2") + _text("hostile"))
    body = b"".join(records)
    start = len(head) + len(body) if summary else 0
    foot = _record(0x02, struct.pack("<QQI", summary if summary > 1 else start, 0, 0))
    return head + body + end + foot + MAGIC


@cache
def _definition() -> str:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY).generate_msgdef(POSE, ros_version=2)[0]


def _poses() -> list[bytes]:
    return [_message(data, stamp) for stamp, data in seeds.messages()]


def _zstd(count: int) -> bytes:
    from backports import zstd

    return zstd.compress(bytes(count), 19)


def _zstd_frames(count: int, frames: int) -> bytes:
    return _zstd(count) * frames


def _lz4(count: int) -> bytes:
    import lz4.frame

    return lz4.frame.compress(bytes(count), store_size=False)


BIG = 1_500_000_000


def _with_schema(definition: str, data: bytes = b"\0\1\0\0" + bytes(64)) -> bytes:
    return _mcap(_schema(definition), _channel(), _message(data))


def definitions() -> dict[str, str]:
    """Message definitions that no recording needs."""
    return {
        "a huge array": "float64[4000000000] x\n",
        "a huge array of texts": "string[4000000000] x\n",
        "a huge array of nothing": f"A[4000000000] x\n{'=' * 80}\nMSG: geometry_msgs/A\n",
        "nested arrays": "A[1000] x\n" + "".join(
            f"{'=' * 80}\nMSG: geometry_msgs/{a}\n{b}[1000] x\n" for a, b in ("AB", "BC", "CD")
        ) + f"{'=' * 80}\nMSG: geometry_msgs/D\nuint8 x\n",
        "a type of itself": f"A x\n{'=' * 80}\nMSG: geometry_msgs/A\nA x\n",
        "code in a name": "float64 x;import os;os.mkdir('executed')\n",
        "code in a default": "string x \"'+__import__('os').getcwd()+'\"\n",
        "code in a constant": "int32 X=__import__('os').getpid()\n",
        "a keyword as a name": "float64 class\nfloat64 None\n",
        "no type": "\n", "not a definition": "{" * 1000, "a megabyte": "float64 x\n" * 100_000,
        "nested brackets": "float64[" * 5000, "an unknown type": "other_msgs/Thing x\n",
        "a long comment": "#" + "x" * 2_000_000, "quotes": 'string x "' * 10_000,
    }  # fmt: skip


def mcap_cases(rng: random.Random) -> Iterator[Case]:
    for seed in ("mcap", "cloud mcap"):
        reader, name, make = seeds.SEEDS[seed]
        whole = make()
        for share in CUTS:
            cut = whole[: int(share * len(whole))]
            yield Case("mcap", f"{seed} cut at {share:g}", reader, file(name, cut))
    for name, text in definitions().items():
        yield Case("mcap", f"definition: {name}", "recording",
                   file("b.mcap", _with_schema(text)))  # fmt: skip
    yield from _lying_lengths()
    yield from _odd_messages()
    for name, make in _mcap_bombs().items():
        yield Case("mcap", name, "recording", lazy("b.mcap", make))


def _lying_lengths() -> Iterator[Case]:
    good = (_schema(_definition()), _channel(), *_poses())
    tail = _record(0x05, b"", length=2**62)
    files = {
        "a record of 4 EB": _mcap(*good, end=tail),
        "a record of 3 GB": _mcap(*good, end=_record(0x05, b"", length=3 * 2**30)),
        "an attachment of 2^64 bytes": _mcap(*good, end=_record(0x09, b"", length=2**64 - 1)),
        "a summary beyond the end": _mcap(*good, summary=2**40),
        "a schema of 4 GB": _mcap(_record(0x03, b"\1\0" + struct.pack("<I", 2**32 - 1))),
        "a topic of 4 GB": _mcap(good[0], _record(0x04, b"\1\0\1\0" + b"\xff" * 4)),
        "an unknown compression": _mcap(*good[:2], _chunk(b"x", "gzip", 1)),
        "a chunk of 2^63 bytes": _mcap(*good[:2], _chunk(b"x", "zstd", 2**63)),
        "a chunk that is too long": _mcap(*good[:2], _chunk(b"x", "", 1, packed=2**40)),
        "a chunk in a chunk": _mcap(
            *good[:2], _chunk(_chunk(b"", "", 0), "", len(_chunk(b"", "", 0)))),
        "no records": _mcap(), "no profile": MAGIC + _record(0x01, b"") + MAGIC,
        "magic alone": MAGIC, "magic twice": MAGIC * 2, "zeros": bytes(100_000),
        "no messages": _mcap(*good[:2]), "a channel without schema": _mcap(_channel()),
        "the schema of something else": _mcap(
            _schema("string data\n", "std_msgs/msg/String"), _channel(), *_poses()),
        "an unknown encoding": _mcap(_schema("x", encoding="protobuf"), _channel(), *_poses()),
        "statistics of 4 GB": _mcap(*good, summary=1, end=_record(
            0x0B, struct.pack("<QHIIIIQQ", 1, 1, 1, 0, 0, 0, 0, 1) + b"\xff" * 4)),
    }  # fmt: skip
    for name, data in files.items():
        yield Case("mcap", name, "recording", file("b.mcap", data))
    qos = {
        "alias bomb": alias_bomb(),
        "nested": "[" * 100_000,
        "a megabyte": "- {a: 1}\n" * 120_000,
    }
    for name, text in qos.items():
        channel = _channel(metadata=_text("offered_qos_profiles") + _text(text))
        yield Case("mcap", f"QoS: {name}", "recording",
                   file("b.mcap", _mcap(good[0], channel, *_poses())))  # fmt: skip
    lie = _channel(metadata=b"\xff" * 4)
    yield Case("mcap", "metadata of 4 GB", "recording",
               file("b.mcap", _mcap(good[0], lie, *_poses())))  # fmt: skip


def _odd_messages() -> Iterator[Case]:
    head = (_schema(_definition()), _channel())
    data = seeds.messages()[0][1]
    frame = data[:12] + struct.pack("<I", 0xFFFFFFFF) + data[16:]
    changed = {
        "empty": b"", "cut": data[:20], "a frame_id of 4 GB": frame, "no encapsulation": data[4:],
        "an unknown encapsulation": b"\xff\xff\0\0" + data[4:], "zeros": bytes(200),
        "a frame_id without Unicode": data[:16] + b"\xff" * 4 + data[20:],
        "NaN": data[:-56] + struct.pack("<7d", *[float("nan")] * 7),
    }  # fmt: skip
    for name, content in changed.items():
        yield Case("mcap", f"messages: {name}", "recording",
                   file("b.mcap", _mcap(*head, *[_message(content)] * 3)),
                   name not in ("NaN", "zeros", "an unknown encapsulation"))  # fmt: skip
    cloud = seeds.cloud_mcap()
    for old, new, name in (
        (struct.pack("<III", 20, 0, 12), struct.pack("<III", 20, 0, 0), "no step"),
        (struct.pack("<II", 1, 20), struct.pack("<II", 0xFFFF, 0xFFFFFF), "a huge size"),
        (b"z\0", b"q\0", "no z"),
    ):
        yield Case("mcap", f"clouds: {name}", "recording", file("c.mcap", cloud.replace(old, new)),
                   cloud.replace(old, new) != cloud)  # fmt: skip


def _mcap_bombs() -> dict[str, Callable[[], bytes]]:
    def one(content: bytes, kind: str, size: int) -> bytes:
        return _mcap(_schema(_definition()), _channel(), _chunk(content, kind, size))

    return {
        "zstd bomb": lambda: one(_zstd(BIG), "zstd", BIG),
        "zstd bomb of a lying size": lambda: one(_zstd(BIG), "zstd", 1000),
        "zstd bomb of frames": lambda: one(_zstd_frames(10**8, 15), "zstd", 15 * 10**8),
        "zstd bomb behind a true frame": lambda: one(_zstd(100) + _zstd(BIG), "zstd", 100),
        "lz4 bomb": lambda: one(_lz4(BIG), "lz4", BIG),
        "lz4 bomb of a lying size": lambda: one(_lz4(BIG), "lz4", 1000),
        "a thousand entries of one chunk": _repeated_chunk,
    }


def _repeated_chunk() -> bytes:
    """A summary that names the same chunk a thousand times."""
    from backports import zstd

    content = b"".join(_poses()) + _record(0x7F, bytes(20_000_000))
    packed = zstd.compress(content)
    head = MAGIC + _record(0x01, _text("ros2") + _text("hostile"))
    chunk = _chunk(packed, "zstd", len(content))
    start = len(head)
    entry = struct.pack("<QQQQ", 1, 10, start, len(chunk)) + struct.pack("<I", 0) + struct.pack(
        "<Q", 0) + _text("zstd") + struct.pack("<QQ", len(packed), len(content))  # fmt: skip
    summary = _schema(_definition()) + _channel() + _record(0x08, entry) * 1000
    foot = _record(0x02, struct.pack("<QQI", start + len(chunk), 0, 0))
    return head + chunk + summary + foot + MAGIC


# ---------------------------------------------------------------------------- sqlite3


def sqlite_cases(rng: random.Random) -> Iterator[Case]:
    whole = seeds.db3()
    for share in CUTS:
        yield Case("db3", f"cut at {share:g}", "recording",
                   file("b.db3", whole[: int(share * len(whole))]))  # fmt: skip
    counting = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT x AS id, 1 AS topic_id, x AS timestamp, {data} AS data FROM c"
    )
    view = "DROP TABLE messages; CREATE VIEW messages AS "
    table = "CREATE TABLE topics(id, name, type, serialization_format, offered_qos_profiles);"
    generated = (
        "DROP TABLE messages; CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER,"
        " timestamp INTEGER, data BLOB GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL);"
        "INSERT INTO messages(topic_id, timestamp) VALUES (1, 1), (1, 2), (1, 3);"
    )
    texts = {
        "messages as a view without end": view + counting.format(data="x'00'") + ";",
        "messages as a view of gigabytes": view + counting.format(data="zeroblob(900000000)") + ";",
        "topics as a view without end": "DROP TABLE topics; CREATE VIEW topics AS WITH RECURSIVE "
            "c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, '/cube' AS name, 'a'"
            " AS type, 'cdr' AS serialization_format, '' AS offered_qos_profiles FROM c;",
        "data generated in gigabytes": generated,
        "data of a text": "UPDATE messages SET data = 'hello';",
        "data of NULL": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, "
            "'BLOB NOT NULL', 'BLOB') WHERE name = 'messages'; PRAGMA writable_schema = 0;",
        "no topics": "DELETE FROM topics;", "no messages": "DELETE FROM messages;",
        "no table": "DROP TABLE messages;", "topics of another shape":
            "DROP TABLE topics; CREATE TABLE topics(x);", "topics of a text as id":
            "DROP TABLE topics;" + table + "INSERT INTO topics VALUES ('x', 1, 2, 3, 4);",
        "QoS as an alias bomb": f"UPDATE topics SET offered_qos_profiles = '{alias_bomb()}';",
        "QoS as a merge bomb": f"UPDATE topics SET offered_qos_profiles = '{merge_bomb()}';",
        "QoS of 100 MB": "UPDATE topics SET offered_qos_profiles = "
            "replace(hex(zeroblob(5000000)), '00', '- {a: 1}\n');",
        "a type of 10 MB": "UPDATE topics SET type = hex(zeroblob(5000000));",
        "schema 99": "CREATE TABLE schema(schema_version, ros_distro);"
            "INSERT INTO schema VALUES (99, 'x');",
        "schema of words": "CREATE TABLE schema(schema_version, ros_distro);"
            "INSERT INTO schema VALUES ('x', 'x');",
    }  # fmt: skip
    for name, text in texts.items():
        harmless = name.startswith(("data of NULL", "QoS"))
        yield Case("db3", name, "recording", lazy("b.db3", lambda t=text: seeds.db3(t)),
                   not harmless)  # fmt: skip
    for number in range(12):
        own = random.Random(number)
        data = bytearray(whole)
        for _ in range(20):
            at = own.randrange(100, len(data) - 8)
            data[at : at + 4] = b"\xff" * 4
        yield Case("db3", f"huge numbers {number}", "recording", file("b.db3", bytes(data)), False)


# ---------------------------------------------------------------------------- folders


def _folder(metadata: bytes, **files: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        bag = folder / "bag"
        bag.mkdir()
        (bag / "metadata.yaml").write_bytes(metadata)
        for name, content in files.items():
            (bag / name.replace("_", ".")).write_bytes(content)
        return bag

    return make


def _zipped(mode: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        meta = seeds.metadata(
            "poses.db3.zstd" if mode == "file" else "poses.db3", storage_identifier="sqlite3",
            compression_format="zstd", compression_mode=mode,
        )  # fmt: skip
        bag = _folder(meta)(folder)
        (bag / ("poses.db3.zstd" if mode == "file" else "poses.db3")).write_bytes(content())
        return bag

    return make


def folder_cases(rng: random.Random) -> Iterator[Case]:
    whole = seeds.db3()
    changes: dict[str, dict[str, str]] = {
        "version 99": {"version": "99"}, "another storage": {"storage_identifier": "other"},
        "a file outside": {"relative_file_paths": "[../../../../etc/passwd]"},
        "an absolute file": {"relative_file_paths": "[/etc/passwd]"},
        "no files": {"relative_file_paths": "[]"}, "files of numbers": {
            "relative_file_paths": "[1, 2]"},
        "one file a hundred times": {"relative_file_paths": "[" + "poses.db3, " * 100 + "]"},
        "a missing file": {"relative_file_paths": "[x.db3]"},
        "another compression": {"compression_mode": "file", "compression_format": "gzip"},
        "topics of a number": {"topics_with_message_count": "5"},
        "topics without a name": {"topics_with_message_count": "[{topic_metadata: {}}]"},
        "a count of words": {"duration": "x"}, "merges": {"duration": "&a {<<: *a}"},
        "a name of a mapping": {"storage_identifier": "{a: 1}"},
    }  # fmt: skip
    for name, change in changes.items():
        meta = seeds.metadata(**change)
        yield Case("bag folder", name, "recording", _folder(meta, poses_db3=whole),
                   name not in ("no files",))  # fmt: skip
    for name, text in (
        ("alias bomb", alias_bomb()),
        ("merge bomb", merge_bomb()),
        ("nested", "[" * 100_000),
        ("empty", ""),
        ("a number", "5"),
    ):
        content = text.encode()
        yield Case(
            "bag folder", f"metadata: {name}", "recording", _folder(content, poses_db3=whole)
        )
    long = b"x:\n" + b"- {a: 1}\n" * 2_000_000
    yield Case("bag folder", "metadata of 18 MB", "recording", _folder(long, poses_db3=whole))
    true = lambda: _zstd_of(whole)  # noqa: E731
    yield Case("bag folder", "a compressed file", "recording", _zipped("file", true), False)
    for name, bomb in (
        ("zstd bomb", lambda: _zstd(BIG)),
        ("zstd bomb of frames", lambda: _zstd_frames(10**8, 15)),
        ("not compressed", lambda: whole),
    ):
        yield Case("bag folder", f"file mode: {name}", "recording", _zipped("file", bomb))
    for name, make in (
        ("zstd bomb", lambda: seeds.db3(data=_zstd(200_000_000))),
        ("not compressed", lambda: whole),
    ):
        yield Case("bag folder", f"message mode: {name}", "recording", _zipped("message", make))
    yield Case("bag folder", "a device as its file", "recording", _device)


def _device(folder: Path) -> Path:
    bag = _folder(seeds.metadata())(folder)
    (bag / "poses.db3").symlink_to("/dev/zero")
    return bag


def _zstd_of(data: bytes) -> bytes:
    from backports import zstd

    return zstd.compress(data)
