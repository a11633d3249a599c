"""A node's --help: its module's docstring, and its declared parameters."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

WIDTH = 98
TYPES = {bool: "bool", int: "integer", float: "double", str: "string"}
"""Words of `ros2 param describe`."""


def help_text(node: Any) -> str:
    """What the node is, its topics and services, and all its parameters.

    node  class of a node: `PARAMETERS` and the docstring of its module
    """
    module = sys.modules[node.__module__]
    name = (getattr(module, "__file__", None) or node.__module__).rpartition("/")[2]
    name = name.removesuffix(".py")
    lines = [
        f"usage: {name} --ros-args [-p PARAMETER:=VALUE]... [--params-file FILE] [-r FROM:=TO]...",
        "",
        (module.__doc__ or "").strip(),
        "",
        f"Parameters (all with their defaults: config/nodes/{name}.yaml):",
    ]
    for spec in node.PARAMETERS:
        lines += _parameter(spec)
    lines.append(
        "Lists: -p \"NAME:=['a', 'b']\". Names of topics: -r ~/TOPIC:=OTHER, -r __ns:=/ROBOT."
    )
    return "\n".join(lines)


def _parameter(spec: Any) -> list[str]:
    """Name, type, default, what is accepted, and what it means, folded."""
    text = f"{_type(spec.default)} {_shown(spec.default)}"
    if spec.choices:
        text += ", one of " + ", ".join(map(_shown, spec.choices))
    elif spec.lower is not None:
        text += f", {spec.lower:g} to {spec.upper:g}"
    indent = " " * 6
    return [
        f"  {spec.name} {text}",
        *textwrap.wrap(spec.description, WIDTH, initial_indent=indent, subsequent_indent=indent),
    ]


def _type(default: Any) -> str:
    if isinstance(default, Sequence) and not isinstance(default, str):
        return (TYPES[type(default[0])] if default else "integer") + "[]"
    return TYPES[type(default)]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return str(list(value))
    return repr(value)
