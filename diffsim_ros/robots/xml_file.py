"""XML files of robots: counted before a tree is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.files import read_bytes

LONGEST = 16 * 2**20
"""Bytes of a file."""
ELEMENTS, DEEPEST = 100_000, 100
"""Most elements, and levels of elements inside each other."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""Marks at the beginning of files of two bytes a character."""


def xml_content(
    path: Path, accepted: str, pattern: str, most: Mapping[str, int] | None = None,
    notes: list[str] | None = None,
) -> bytes:  # fmt: skip
    """Bytes of well-formed XML.

    pattern   of the names of files that are offered where there is none of this name
    most      tag -> how many elements below the root's may have it
    notes     where given, dialects are read too (`_plain_xml`), and what they are is added to it
    Raises InputError: no such file, broken XML, a document type, too long, too many, too deep.
    """

    def near() -> str:
        return nearest(path.name, [p.name for p in path.parent.glob(pattern)])

    content = read_bytes(path, accepted, limit=LONGEST, near=near)
    if notes is not None:
        content = _plain_xml(content, notes)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _no_doctype(path)
    parser.StartElementHandler, parser.EndElementHandler = _counting(path, most or {})
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(path, "", str(error), "well-formed XML") from error
    return content


def _plain_xml(content: bytes, notes: list[str]) -> bytes:
    """A file's bytes as XML 1.0: white space before the declaration, other versions than 1.0 and
    Latin-1 without a declaration are what published files have that no parser takes."""
    content = content.lstrip(b" \t\r\n") if not content.startswith(UTF16) else content
    found = re.match(rb"(\xef\xbb\xbf)?\s*<\?xml\s+version\s*=\s*['\"]([^'\"]*)['\"]", content)
    if found is not None and found[2] != b"1.0":
        notes.append(f"XML of version {found[2].decode('latin-1')!r} as 1.0")
        content = content[: found.start(2)] + b"1.0" + content[found.end(2) :]
    if b"encoding" not in content[:200] and not content.startswith(UTF16):
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            notes.append("bytes that are no UTF-8 as Latin-1")
            content = content.decode("latin-1").encode("utf-8")
    return content


def _no_doctype(path: Path) -> Callable[..., None]:
    """Entities can read other files, and unfold without end; no robot's file has any."""

    def refuse(name: str, *_: object) -> None:
        raise InputError(path, "", f"<!DOCTYPE {name}", "XML without a document type")

    return refuse


def _counting(
    path: Path, tags: Mapping[str, int]
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Handlers of the beginning and the end of elements that refuse too many, or too deep ones."""
    count = {"elements": 0, "levels": 0} | {f"{tag}s": 0 for tag in tags}
    limits = {"elements": ELEMENTS, "levels": DEEPEST} | {f"{t}s": n for t, n in tags.items()}

    def begin(name: str, _: object) -> None:
        count["elements"] += 1
        count["levels"] += 1
        if name in tags and count["levels"] == 2:
            count[f"{name}s"] += 1
        for what, most in limits.items():
            if count[what] > most:
                raise InputError(path, "", f"more than {most} {what}", f"at most {most} {what}")

    def end(_: str) -> None:
        count["levels"] -= 1

    return begin, end


def xml_tree(path: Path, content: bytes, comments: bool = False) -> ElementTree.Element:
    """Elements of a file's bytes; InputError where they are no XML."""
    builder = ElementTree.TreeBuilder(insert_comments=comments)
    try:
        return ElementTree.fromstring(content, ElementTree.XMLParser(target=builder))
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(path, "", str(error), "well-formed XML") from error


def prefixed_tree(path: Path, content: bytes, comments: bool = False) -> ElementTree.Element:
    """Elements of a file's bytes whose tags keep their prefixes, declared or not, as written."""
    builder = ElementTree.TreeBuilder(insert_comments=comments)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    if comments:
        parser.CommentHandler = builder.comment
    try:
        parser.Parse(content, True)
        return builder.close()
    except (expat.ExpatError, ValueError, AssertionError) as error:
        raise InputError(path, "", str(error), "well-formed XML") from error
