"""Fuzzing of the engine's bindings: every class, function and property, with odd arguments.

`./run python -m validation.fuzz_bindings --seconds 60`; sanitizers: docs/explanation/security.md.
Signatures are read from the docstrings that pybind11 writes.  A program builds a sound scene with
some arguments corrupted, then calls at random whatever there is.
"""

from __future__ import annotations

import inspect
import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diffsim_ros import _engine
from validation import fuzz_templates
from validation.fuzzing import main

EXPECTED = (
    ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, AttributeError,
    OSError,
)  # fmt: skip
"""What a caller may get for unusable arguments; InvalidInput is a ValueError."""
BY_NAME: dict[str, list] = {
    "kind": ["ball", "hinge", "slider", "weld", "planar", "universal", "position",
             "torque", "force"],
    "friction": ["linear", "tanh", "hybrid"], "frame": ["world", "body"],
    "damping": [0.0, 0.3, "continuous", "ramped", "thesis"],
    "mode": ["none", "sensitivity", "store", "checkpoint"],
    "method": ["automatic", "krylov", "lagged", "direct"],
    "model": ["neo_hookean", "neo_hookean_safe", "linear"],
    "viscosity_model": ["invariant", "linear"], "element": ["p1", "p1_fbar", "p2", "p2_p0"],
    "mass": [0.3, 1.0, "lumped", "consistent"], "orientation": ["full", "axis", "free"],
    "steps": [0, 1, 2, 5, [1, 2]], "iterations": [0, 1, 3, -1], "calls": [1, 0, -1],
    "repeat": [1, 0, -1, 2], "max_iterations": [0, 1, 20, -1], "threads": [0, 1, 2, -1, 3, 10**9],
    "max_halvings": [0, 1, 4, -1], "cells": [0, 1, 4, 9, -1, 2**31 - 1, 100_000],
    "band": [0, 1, 3, 6, -1, 2**31 - 1], "voxel": [0.02, 0.05, 0.0, -1.0, 1e-6, 1e-300, np.nan],
    "record_every": [1, 2, 0, -1, 2**31 - 1], "step": [1e-3, 0.01, 0.0, -1.0, np.nan, 1e300],
    "begin": [0, 1, -1, 5],
}  # fmt: skip
"""Values of arguments whose range matters, or whose size is only how long the caller waits."""
LAW = (
    dict.fromkeys(("k_n", "k_t", "c_f"), "typing.SupportsFloat")
    | dict.fromkeys(
        ("c_n", "k_d", "d_0", "c_s", "f_0", "c_roll", "c_spin", "k_roll"),
        "typing.SupportsFloat = 0.0",
    )
    | {"friction": "str = 'linear'", "damping": "str = 'continuous'"}
)
"""Keywords of the contact law, which the signatures have as '**kwargs': name -> type."""
WORK, MOST_WORK = ("steps", "calls", "repeat", "iterations", "max_iterations"), 200
"""Arguments that only set how long a caller waits, and how long that may be here."""
FLOATS = [0.0, 1.0, 0.3, 2.5, 1e-3, 100.0, -1.0, -0.0, 1e-300, 1e300, np.inf, -np.inf, np.nan]
INTS = [0, 1, 2, 3, 7, -1, 100, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**63), 2**70]
TEXTS = ["", "x", "a.b", "\0", "ä", "x" * 5000, "a", "b", "world", "a.mass"]
ODD = [None, "x", b"x", 1.5, -1, True, [], {}, object(), np.array([]), np.nan, [[1], [2, 3]], int]


class Call(NamedTuple):
    """One overload: name, owner class ("" a function), and (argument, type) of each."""

    name: str
    owner: str
    arguments: tuple[tuple[str, str, bool], ...]


def _split(text: str) -> list[str]:
    """Parts between commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "[(") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in parts if part]


def _calls(name: str, owner: str, doc: str) -> list[Call]:
    found = []
    for line in (doc or "").splitlines():
        match = re.match(rf"(?:\d+\. )?{re.escape(name)}\((.*)\) -> ", line.strip())
        if not match:
            continue
        arguments, only = [], False
        for part in _split(match[1]):
            if part == "*":
                only = True
                continue
            if part.startswith("**"):
                arguments += [(key, kind, True) for key, kind in LAW.items()]
                continue
            key, _, kind = part.partition(":")
            if key != "self":
                arguments.append((key.strip(), kind.strip(), only))
        found.append(Call(name, owner, tuple(arguments)))
    return found


def surface() -> tuple[list[Call], list[tuple[str, str]]]:
    """All calls and all (class, property) of the engine."""
    calls, properties = [], []
    for name, value in vars(_engine).items():
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, static in vars(value).items():
                if isinstance(static, property):
                    properties.append((name, member))
                elif not member.startswith("__") or member == "__init__":
                    text = getattr(getattr(value, member), "__doc__", "")
                    calls += _calls(member, name, text)
        elif callable(value) and not name.startswith("__") and not inspect.isclass(value):
            calls += _calls(name, "", getattr(value, "__doc__", ""))
    return calls, properties


CALLS, PROPERTIES = surface()


class Program:
    """One drawn program; what it has made so far may become an argument."""

    def __init__(self, seed: int, say: Callable[[str], None] | None = None) -> None:
        self.random = random.Random(seed)
        self.say = say or (lambda text: None)
        self.corrupt = self.random.choice([0.0, 0.02, 0.1, 0.3])
        self.pool: dict[str, list] = {}
        self.names: list[str] = ["a", "b", "c"]
        self.folder = tempfile.gettempdir()

    def run(self) -> None:
        draw = self.random.random()
        for call in fuzz_templates.draw(self.random):
            self.template(call)
        if self.object("Scene") is not None:
            self.roll()
        for _ in range(self.random.randrange(2, 25)):
            if draw < 0.15 and self.random.random() < 0.2:
                self.together()
            elif self.random.random() < 0.3:
                self.look(*self.random.choice(PROPERTIES))
            else:
                self.call(self.random.choice(CALLS))

    def template(self, call: tuple[str, str, dict]) -> None:
        owner, name, given = call
        given = {
            key: self.corrupted(key, value) if self.random.random() < self.corrupt else value
            for key, value in given.items()
        }
        given = {
            k: self.random.choice(self.pool[v.kind]) if isinstance(v, fuzz_templates.Made)
            and self.pool.get(v.kind) else v for k, v in given.items()
        }  # fmt: skip
        if isinstance(given.get("name"), str):
            self.names.append(given["name"])
        self.carry_out(owner, name, [], given)

    def roll(self) -> None:
        """A rollout of the scene by its own values, most often one that runs."""
        given = {"steps": self.random.randrange(4), "mode": self.random.choice(BY_NAME["mode"])}
        scene = self.object("Scene")
        given |= {"scene": scene, "p": self.parameters(rows=False)}
        if self.pool.get("Options"):
            given["options"] = self.random.choice(self.pool["Options"])
        if self.random.random() < 0.7:
            given["active"] = [self.random.randrange(9) for _ in range(self.random.randrange(4))]
        self.carry_out("", "rollout", [], given)
        if self.pool.get("Rollout"):
            self.carry_out(
                "Rollout", "gradient", [], {"gx": self.covectors(), "gv": self.covectors()}
            )

    def call(self, call: Call) -> None:
        positional, keywords = [], {}
        for key, kind, _ in call.arguments:
            if "=" in kind and self.random.random() < 0.6:
                continue
            keywords[key] = self.value(key, kind)
        self.carry_out(call.owner, call.name, positional, keywords)

    def carry_out(self, owner: str, name: str, positional: list, keywords: dict) -> None:
        keywords = {
            key: MOST_WORK
            if key in WORK and isinstance(value, int) and value > MOST_WORK
            else value
            for key, value in keywords.items()
        }
        if owner and name != "__init__":
            target = self.object(owner)
            if target is None:
                return
            function = getattr(target, name, None)
        else:
            function = getattr(_engine, owner or name)
        self.say(f"{owner}.{name}({', '.join(f'{k}={v!r}' for k, v in keywords.items())})")
        try:
            self.keep(function(*positional, **keywords))
        except EXPECTED as error:
            self.say(f"    {type(error).__name__}: {str(error)[:200]}")

    def keep(self, value: Any) -> None:
        for item in value if isinstance(value, list) and len(value) < 50 else [value]:
            kind = type(item)
            for base in kind.__mro__[:-1]:
                if base.__module__ == _engine.__name__:
                    self.pool.setdefault(base.__name__, []).append(item)

    def look(self, owner: str, name: str) -> None:
        target = self.object(owner)
        if target is None:
            return
        self.say(f"{owner}.{name}")
        try:
            value = getattr(target, name)
            if isinstance(value, np.ndarray):
                np.nansum(value.astype(float))  # reads all of it
            if owner == "Options" and self.random.random() < 0.5:
                setattr(target, name, self.value(name, "typing.SupportsInt"))
        except EXPECTED as error:
            self.say(f"    {type(error).__name__}: {str(error)[:200]}")

    def together(self) -> None:
        """Several threads over the same objects; a cancel comes at some time."""
        scene, token = self.object("Scene"), _engine.CancelToken()
        if scene is None:
            return
        self.say("together")
        drawn = [self.random.choice(["roll", "batch", "look", "set", "cancel"]) for _ in range(3)]

        def work(what: str) -> None:
            try:
                if what == "roll":
                    _engine.rollout(scene, scene.values, 20, cancel=token, threads=2)
                elif what == "batch":
                    rows = np.tile(scene.values, (3, 1))
                    _engine.rollout_batch(scene, rows, 10, cancel=token, threads=2)
                elif what == "look":
                    for name in ("values", "element_names", "parameters", "ndof"):
                        getattr(scene, name)
                elif what == "set":
                    scene.set_gravity([0, 0, -1])
                    scene.add_particle(f"late {threading.get_ident()}", mass=1.0)
                else:
                    token.cancel()
            except EXPECTED:
                pass

        threads = [threading.Thread(target=work, args=(what,)) for what in drawn]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # ------------------------------------------------------------------------ values

    def object(self, kind: str) -> Any:
        known = self.pool.get(kind)
        if known:
            return self.random.choice(known)
        return None

    def corrupted(self, key: str, value: Any) -> Any:
        draw = self.random.random()
        if draw < 0.15:
            return self.random.choice(ODD)
        if isinstance(value, str):
            return self.random.choice([*TEXTS, *self.names])
        if isinstance(value, (int, float)):
            return self.random.choice(FLOATS if draw < 0.7 else INTS)
        try:
            array = np.array(value)
        except ValueError:
            return value
        if array.dtype.kind not in "fiu" or not array.size:
            return self.random.choice([[], None, value * 2 if isinstance(value, list) else value])
        return self.bent(array)

    def bent(self, array: np.ndarray) -> Any:
        """The array with another number, shape, type or memory order."""
        array = array.copy()
        draw = self.random.randrange(10)
        if draw < 5:
            odd = FLOATS if array.dtype.kind == "f" else INTS[:9]
            array.flat[self.random.randrange(array.size)] = self.random.choice(odd)
            return array
        if draw == 5:
            return array[: self.random.randrange(len(array))] if array.ndim else array
        if draw == 6:
            return np.concatenate([array, array]) if array.ndim else array
        if draw == 7:
            return array.T
        if draw == 8:
            return array[..., None]
        return array.astype(self.random.choice([">f8", "f4", "i1", "O", "c16", "U8", "?"]))

    def value(self, key: str, kind: str) -> Any:
        """A value for an argument of this type, seldom one of another."""
        kind = kind.partition(" = ")[0]
        if self.random.random() < 0.04:
            return self.random.choice(ODD)
        if key in BY_NAME and self.random.random() < 0.9:
            return self.random.choice(BY_NAME[key])
        if key == "path":
            return self.random.choice(
                ["", "/", "/dev/null", "/dev/zero/x", f"{self.folder}/fuzzed.vdb", "\0", "x.vdb"]
            )
        if key == "P" or key == "p":
            return self.parameters(rows=key == "P")
        if key in ("gx", "gv"):
            return self.covectors()
        if " | None" in kind and self.random.random() < 0.3:
            return None
        for name in ("Sdf", "TriangleMesh", "Options", "CancelToken", "PoseTask", "MotionLimits"):
            if kind.startswith(f"diffsim_ros._engine.{name}"):
                return self.object(name)
        if key == "scene":
            return self.object("Scene")
        if key == "rollout":
            return self.object("Rollout")
        return self.by_type(kind)

    def by_type(self, kind: str) -> Any:
        draw = self.random
        if kind.startswith("typing.Annotated"):
            return self.array(kind)
        if kind.startswith("collections.abc.Sequence["):
            inner = kind[len("collections.abc.Sequence[") : kind.rindex("]")]
            return [self.value("", inner) for _ in range(draw.choice([0, 1, 2, 3, 8]))]
        if kind.startswith("tuple["):
            return tuple(self.value("", part) for part in _split(kind[6 : kind.rindex("]")]))
        if kind.startswith("typing.SupportsFloat"):
            return draw.choice(FLOATS) if draw.random() < 0.5 else draw.uniform(0.0, 3.0)
        if kind.startswith("typing.SupportsInt"):
            return draw.choice(INTS) if draw.random() < 0.3 else draw.randrange(6)
        if kind.startswith("diffsim_ros._engine."):
            return self.object(kind.removeprefix("diffsim_ros._engine.").partition(" ")[0])
        if kind.startswith("str"):
            return draw.choice(TEXTS if draw.random() < 0.2 else self.names)
        if kind.startswith("bool"):
            return draw.random() < 0.5
        return draw.choice([*ODD, 0.5, np.zeros(3), np.ones((4, 3)), "a", ["a", "b"]])

    def array(self, kind: str) -> np.ndarray:
        shape = re.search(r'"\[(.*?)\]"', kind)
        sizes = {
            "m": self.random.choice([0, 1, 2, 3, 8, 20]),
            "n": self.random.choice([0, 1, 3, 6]),
        }
        if shape:
            size = [int(s) if s.isdigit() else sizes[s] for s in shape[1].split(", ")]
            if len(size) == 2 and size[1] == 1:
                size = size[:1]
        else:
            size = self.random.choice([[4, 4], [3, 4, 4], [1, 4, 4], [2, 8, 3], [0, 4, 4], [3]])
        rng = np.random.default_rng(self.random.randrange(2**32))
        array = rng.integers(0, 9, size) if "int32" in kind else rng.normal(size=size)
        if array.size and self.random.random() < 2 * self.corrupt:
            return self.bent(array)
        return array

    def parameters(self, rows: bool) -> Any:
        scene = self.object("Scene")
        try:
            values = np.array(scene.values) if scene is not None else np.ones(5)
        except EXPECTED:
            values = np.ones(3)
        if rows:
            values = np.tile(values, (self.random.choice([0, 1, 3]), 1))
        return self.bent(values) if values.size and self.random.random() < 0.3 else values

    def covectors(self) -> Any:
        rollout, scene = self.object("Rollout"), self.object("Scene")
        try:
            shape = (len(rollout.time), scene.ndof)
        except EXPECTED:
            shape = (2, 6)
        values = np.ones(shape)
        return self.bent(values) if values.size and self.random.random() < 0.2 else values


def program(seed: int, say: Callable[[str], None] | None = None) -> None:
    """Run the program of a seed."""
    with tempfile.TemporaryDirectory(prefix="fuzz_bindings_") as folder:
        drawn = Program(seed, say)
        drawn.folder = Path(folder)
        drawn.run()


if __name__ == "__main__":
    sys.exit(main("validation.fuzz_bindings", program, __doc__))
