"""YAML files read strictly and within bounds: the one reader of every YAML of the package.

Duplicate keys and broken syntax are errors with file and line.  Aliases and merges are accepted if
what they expand to is small: a few hundred bytes of nested aliases could otherwise
stand for billions of values.  Nothing but plain data is ever made (no Python objects).
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Mapping
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
QUOTED = "\0"
"""Stands for a dot inside a quoted part of a key that is set."""
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


def read_mapping(
    source: str | Path | Mapping, base: str | Path | None, set: Iterable[str] = ()
) -> tuple[object, str]:
    """Return (content, place) of a YAML file or of a mapping that is already there.

    base  folder, or the file that names it, that a relative path is relative to
    set   KEY=VALUE that replace values (`assigned`)
    """
    if isinstance(source, Mapping):
        place, beside = str(base) if base is not None else "scene", base or "."
        return assigned(source, set, place, beside), place
    path = Path(source)
    if base is not None and not path.is_absolute():
        path = _folder(base) / path
    return assigned(read_yaml(path), set, str(path), path), str(path)


def _folder(base: str | Path) -> Path:
    folder = Path(base)
    return folder if folder.is_dir() else folder.parent


def assigned(
    content: object, assignments: Iterable[str], place: object, base: str | Path
) -> object:
    """A copy of a mapping with every KEY=VALUE of `assignments`; itself without any.

    KEY is a dotted path, VALUE is YAML.  A part of KEY in double quotes is one key, dots and all:
    parameters.c.sets."table.c_f"=1.  An entry of a list is named by its `name`, or counted from 0:
    links.elbow.friction_damping=0.1, contact.0.c_f=0.3.  Where the mapping names a scene's file,
    scene.KEY=VALUE changes what is in it; base is the folder, or file, that its path starts from.
    Raises InputError for what is no KEY=VALUE, and for a key inside what is no mapping.
    """
    given = list(assignments)
    if not given:
        return content
    if not isinstance(content, Mapping):
        raise InputError(place, "", content, "a mapping of keys to values")
    changed = copied(content)
    for assignment in given:
        _assign(changed, str(assignment), base)
    return changed


def copied(value: object) -> object:
    """A deep copy of nested mappings and lists, so that the caller's are never changed."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, (list, tuple)) else value


def _assign(content: dict, assignment: str, base: str | Path) -> None:
    """Apply one KEY=VALUE."""
    key, sign, text = assignment.partition("=")
    if not sign or not key.strip() or key.count('"') % 2:
        rule = "KEY=VALUE, e.g. fit.iterations=5, keys that contain dots in double quotes"
        raise InputError("--set", "", assignment, rule)
    node, rest = content, re.sub('"([^"]*)"', lambda m: m[1].replace(".", QUOTED), key.strip())
    if rest.startswith("scene.") and isinstance(content.get("scene"), str):
        content["scene"] = read_yaml(_folder(base) / content["scene"])
    while True:
        plain = rest.replace(QUOTED, ".")
        if isinstance(node, list):
            head, _, rest = rest.partition(".")
            place = _entry(node, head.replace(QUOTED, "."), key)
            if not rest:
                node[place] = parse_yaml(text, f"--set {key}")
                return
            node = node[place]
        elif plain in node or "." not in rest:
            node[plain] = parse_yaml(text, f"--set {key}")
            return
        else:
            # keys may contain dots themselves (parameters.NAME.sets.gravity.z)
            heads = [k for k in node if isinstance(k, str)]
            heads = [
                h for k in heads for h in (k, k.replace(".", QUOTED)) if rest.startswith(h + ".")
            ]
            head = max(heads, key=len, default=rest.partition(".")[0])
            rest, head = rest[len(head) + 1 :], head.replace(QUOTED, ".")
            if node.get(head) is None:
                node[head] = {}
            node = node[head]
        if not isinstance(node, (dict, list)):
            rule = "a key inside a mapping"
            raise InputError("--set", key, node, rule, f"{head!r} holds a value")


def _entry(entries: list, head: str, key: str) -> int:
    """Number of a list's entry, by its name or its number; InputError if there is none."""
    names = [entry.get("name") if isinstance(entry, Mapping) else None for entry in entries]
    if head in names:
        return names.index(head)
    if head.isdecimal() and int(head) < len(entries):
        return int(head)
    known = [name for name in names if isinstance(name, str)] or range(len(entries))
    rule = "the name of an entry of the list, or its number from 0"
    raise InputError("--set", key, head, rule, nearest(head, known))


def _near(path: Path) -> str:
    try:
        files = [str(path.parent / p.name) for p in path.parent.iterdir() if p.suffix == ".yaml"]
    except OSError:
        return f"the folder {path.parent} does not exist"
    return nearest(path, files) if files else ""
