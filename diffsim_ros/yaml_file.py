"""YAML files read strictly and within bounds: the one reader of every YAML of the package.

Duplicate keys and broken syntax are errors with file and line.  Aliases and merges are accepted if
what they expand to is small: a few hundred bytes of nested aliases could otherwise
stand for billions of values.  Nothing but plain data is ever made (no Python objects).
"""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping
from pathlib import Path

import yaml
from yaml.composer import Composer, ComposerError
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.cyaml import CParser
from yaml.resolver import Resolver

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.files import read_text

LONGEST = 16 * 2**20
"""Characters of a text."""
MOST = 300_000
"""Values of a document, aliases expanded; a list or mapping counts as two, 32 characters of text
as one more."""
DEEPEST = 60
"""Levels of lists and mappings inside each other, aliases expanded."""
LONGEST_NUMBER = 1000
"""Characters of a scalar that is no text."""
TEXT_TAG, MERGE_TAG = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
"""1e-05, 2e+04, 1.5e3: numbers of YAML 1.2 (and JSON) that YAML 1.1 takes for text."""


class _BoundedComposer(Composer):
    """Counts values and levels while the document is read, and stops at the bounds."""

    def __init__(self) -> None:
        super().__init__()
        self._level = 0
        self._count, self._height = 0, 0  # of what is being read, so far
        self._known: dict[int, tuple[int, int]] = {}  # id of a finished node -> count, height

    def compose_node(self, parent, index):
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._known:
                raise ComposerError(None, None, "an alias within what it names", event.start_mark)
            count, height = self._known[id(node)]
        else:
            outer, self._count, self._height = (self._count, self._height), 0, 0
            self._level += 1
            self._refuse_beyond(event, 0, 0)
            node = super().compose_node(parent, index)
            self._level -= 1
            count, height = self._count + _weight(node, event), self._height + 1
            self._known[id(node)] = count, height
            self._count, self._height = outer
        self._refuse_beyond(event, count, height)
        self._count, self._height = self._count + count, max(self._height, height)
        return node

    def _refuse_beyond(self, event, count: int, height: int) -> None:
        if self._count + count > MOST:
            problem = f"more than {MOST} values, aliases expanded"
            raise ComposerError(None, None, problem, event.start_mark)
        if self._level + height > DEEPEST:
            problem = f"more than {DEEPEST} levels inside each other, aliases expanded"
            raise ComposerError(None, None, problem, event.start_mark)


def _weight(node: yaml.Node, event: yaml.Event) -> int:
    """What a node alone counts; raises where a number is longer than any."""
    if not isinstance(node, yaml.ScalarNode):
        return 2
    if node.tag != TEXT_TAG and len(node.value) > LONGEST_NUMBER:
        problem = f"a number of {len(node.value)} characters"
        raise ComposerError(None, None, problem, event.start_mark)
    return 1 + len(node.value) // 32


class _Loader(_BoundedComposer, CParser, SafeConstructor, Resolver):
    """Safe loader on libyaml's parser that refuses a key given twice (PyYAML keeps the last)."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        _BoundedComposer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key_node.tag == MERGE_TAG:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                problem = f"the key {key[:80]!r} is given twice"
                raise ConstructorError(None, None, problem, key_node.start_mark)
            if isinstance(key, str):
                seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"(?:{EXPONENT.pattern})$"), list("-+.0123456789")
)


def parse_yaml(text: str, place: object) -> object:
    """Parse YAML text; raises InputError with the line at which it breaks, or leaves the bounds.

    The bounds are LONGEST, MOST, DEEPEST and LONGEST_NUMBER.
    """
    if len(text) > LONGEST:
        raise InputError(place, "", f"{len(text)} characters", f"at most {LONGEST} characters")
    collecting = gc.isenabled()
    gc.disable()  # it would traverse all nodes again and again: half of the time
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(place, line, problem, "valid YAML with unique keys") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # of the constructors: `!!int x`, the month 13, characters that are no Unicode
        reason = f"{type(error).__name__}: {error}"
        raise InputError(place, "", reason, "values that YAML's types allow") from error
    finally:
        if collecting:
            gc.enable()


def read_yaml(path: str | Path) -> object:
    """Read and parse a YAML file; raises InputError if it is missing, unreadable or broken."""
    path = Path(path)
    text = read_text(path, "an existing YAML file", limit=LONGEST, near=lambda: _near(path))
    return parse_yaml(text, path)


def read_mapping(source: str | Path | Mapping, base: str | Path | None) -> tuple[object, str]:
    """Return (content, place) of a YAML file or of a mapping that is already there.

    A relative path is relative to `base` (a folder, or the file that names it) if that is given.
    """
    if isinstance(source, Mapping):
        return source, str(base) if base is not None else "scene"
    path = Path(source)
    if base is not None and not path.is_absolute():
        folder = Path(base)
        path = (folder if folder.is_dir() else folder.parent) / path
    return read_yaml(path), str(path)


def _near(path: Path) -> str:
    try:
        files = [str(path.parent / p.name) for p in path.parent.iterdir() if p.suffix == ".yaml"]
    except OSError:
        return f"the folder {path.parent} does not exist"
    return nearest(path, files) if files else ""
