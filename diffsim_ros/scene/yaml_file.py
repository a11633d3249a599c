"""YAML files read strictly: duplicate keys and broken syntax are errors with file and line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from diffsim_ros.errors import InputError, nearest


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice (PyYAML alone keeps the last, silently)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key != "<<" and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            if isinstance(key, str):
                seen.add(key)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str, place: object) -> object:
    """Parse YAML text; raises InputError with the line at which it breaks."""
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(place, line, problem, "valid YAML with unique keys") from error


def read_yaml(path: str | Path) -> object:
    """Read and parse a YAML file; raises InputError if it is missing, unreadable or broken."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(path, "", "no such file", "an existing YAML file", _near(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, "", str(error), "a readable UTF-8 YAML file") from error
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
