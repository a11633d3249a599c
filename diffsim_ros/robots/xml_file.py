"""XML files of robots: counted before a tree is made of them."""

from __future__ import annotations

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


def xml_content(
    path: Path, accepted: str, pattern: str, most: Mapping[str, int] | None = None
) -> bytes:
    """Bytes of well-formed XML.

    pattern   of the names of files that are offered where there is none of this name
    most      tag -> how many elements below the root's may have it
    Raises InputError: no such file, broken XML, a document type, too long, too many, too deep.
    """

    def near() -> str:
        return nearest(path.name, [p.name for p in path.parent.glob(pattern)])

    content = read_bytes(path, accepted, limit=LONGEST, near=near)
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
