"""A node's --help: its module's docstring, and its declared parameters.

`python -m diffsim_ros.nodes.usage` prints those of all nodes as docs/reference/ros_parameters.md.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from .starting import NODES

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


PAGE = """# Parameters of the nodes

Written by `./run python -m diffsim_ros.nodes.usage` from what the nodes declare. Set them by
`--ros-args -p NAME:=VALUE` at the start, in a file like
[those in config/nodes/](../../config/nodes/observer.yaml), or later by `ros2 param set`
([also without a distribution](../how-to/nodes.md#without-a-ros-distribution)); those
marked *at the start* stay as they were. What a node does with them: [nodes](ros.md).
"""


def node_class(name: str) -> Any:
    """The class of a node of NODES."""
    module = import_module(f"{__package__}.{name}")
    classes = [c for c in vars(module).values() if isinstance(c, type)]
    return next(c for c in classes if c.__module__ == module.__name__ and "PARAMETERS" in vars(c))


def markdown() -> str:
    """The page of all nodes' parameters."""
    return "\n".join([PAGE, *(line for name in NODES for line in _section(name))])


def _section(name: str) -> Iterator[str]:
    node = node_class(name)
    yield f"## {name}\n"
    yield "| parameter | type | default | accepted | meaning |"
    yield "|---|---|---|---|---|"
    for spec in node.PARAMETERS:
        accepted = ""
        if spec.choices:
            accepted = ", ".join(f"`{choice}`" for choice in spec.choices)
        elif spec.lower is not None:
            accepted = f"{spec.lower:g} to {spec.upper:g}"
        once = "; *at the start*" if spec.name in node.FIXED else ""
        default = spec.default if isinstance(spec.default, str) else _shown(spec.default)
        default = f"`{default}`" if spec.default not in ("", (), [""], ("",)) else "empty"
        yield (
            f"| `{spec.name}` | {_type(spec.default)} | {default} | {accepted} "
            f"| {spec.description}{once} |"
        )
    yield ""


if __name__ == "__main__":
    print(markdown(), end="")
