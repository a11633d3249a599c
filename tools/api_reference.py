"""The page of the public names, from their docstrings.

`python tools/api_reference.py` prints docs/reference/api.md; a test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import diffsim_ros

ROOT = Path(__file__).resolve().parent.parent

GROUPS = {
    "Scenes": ("load_scene", "Scene", "SceneBuilder", "Values"),
    "Motions": ("Rollout", "BodyMotion", "RolloutBatch"),
    "Steps": ("State", "Linearization"),
    "Estimation and planning": (
        "load_estimation", "estimate", "EstimationConfig", "EstimationResult", "load_plan", "plan",
        "PlanConfig", "PlanResult",
    ),
    "Errors": ("InputError", "NotConverged"),
}  # fmt: skip
LAYERS = ("torch_layer", "jax_layer")
"""Modules whose `rollout` is public, too; read, not imported: PyTorch and JAX are optional."""
CALLED = ("SceneBuilder", "Values", "InputError")
"""Classes that users make themselves."""
HEAD = """# Python API

The names of `import diffsim_ros as ds`, from their docstrings. SI units, world frame z up,
quaternions (x, y, z, w), double precision. What raises names the value and what is accepted.
[First simulation](../tutorials/first_simulation.md) and [gradients](../tutorials/gradients.md) show
them at work. Rollouts as functions of PyTorch and JAX are in `diffsim_ros.torch_layer` and
`diffsim_ros.jax_layer`; objectives, problems and solvers in `diffsim_ros.inverse`
([inverse](../explanation/inverse.md)); the compiled engine in `diffsim_ros.engine`.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, names in GROUPS.items():
        lines.append(f"## {title}\n")
        for name in names:
            lines += entry(name, getattr(diffsim_ros, name), "###")
    lines.append("## Layers of PyTorch and JAX\n")
    for module in LAYERS:
        tree = ast.parse((ROOT / "diffsim_ros" / f"{module}.py").read_text())
        (one,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "rollout")
        given = re.sub(r", (?![^()]*\))", ",\n    ", ast.unparse(one.args))
        head = f"rollout(\n    {given},\n) -> {ast.unparse(one.returns)}"
        lines.append(f"### {module}.rollout\n")
        lines.append(f"```text\n{module}.{head}\n\n{ast.get_docstring(one)}\n```\n")
    return "\n".join(lines).replace("_engine.", "engine.").rstrip() + "\n"


def entry(name: str, thing: Any, heading: str) -> Iterator[str]:
    """A heading, the signature, the docstring; then what is public of a class."""
    yield f"{heading} {name.rpartition('.')[2] if heading == '####' else name}\n"
    yield f"```text\n{signature(name, thing)}\n\n{inspect.getdoc(thing) or ''}\n```\n"
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member, value in members(thing):
            yield from entry(f"{name}.{member}", value, "####")


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public functions and properties with a docstring, in the order of the source."""
    for base in kind.__mro__:
        if not base.__module__.startswith("diffsim_ros."):
            continue
        for name, value in vars(base).items():
            described = isinstance(value, (property, cached_property)) or inspect.isfunction(value)
            if not name.startswith("_") and described and inspect.getdoc(value):
                yield name, value


def signature(name: str, thing: Any) -> str:
    """As it is called; of a property its name and type."""
    if isinstance(thing, property | cached_property):
        getter = thing.fget if isinstance(thing, property) else thing.func
        kind = inspect.signature(getter).return_annotation if getter else ""
        return f"{name}: {kind}" if kind and kind is not inspect.Signature.empty else name
    if inspect.isclass(thing) and name not in CALLED:
        return name
    text = inspect.signature(thing)
    parameters = [str(p).replace("'", "") for p in text.parameters.values() if p.name != "self"]
    back = text.return_annotation
    arrow = "" if back in (inspect.Signature.empty, None, "None") else f" -> {back}"
    given = _with_stars(text, parameters)
    line = f"{name}({', '.join(given)}){arrow}"
    if len(line) <= 100:
        return line
    return f"{name}(\n    " + ",\n    ".join(given) + f",\n){arrow}"


def _with_stars(text: inspect.Signature, parameters: list[str]) -> list[str]:
    """Parameters, with the star before those that are given by name alone."""
    shown = [p for p in text.parameters.values() if p.name != "self"]
    for k, p in enumerate(shown):
        if p.kind is p.KEYWORD_ONLY:
            if not any(q.kind is q.VAR_POSITIONAL for q in shown[:k]):
                return [*parameters[:k], "*", *parameters[k:]]
            break
    return parameters


if __name__ == "__main__":
    print(page(), end="")
