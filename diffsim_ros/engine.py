"""The compiled engine, for scenes built element by element (docs/explanation/engine.md).

Most programs need `diffsim_ros.load_scene` and what it returns alone; `Scene.engine` is one of
these.  Its classes and functions have their types, shapes and units in their docstrings.
"""

from __future__ import annotations

from typing import Any

from diffsim_ros import _engine


def __getattr__(name: str) -> Any:
    return getattr(_engine, name)


def __dir__() -> list[str]:
    return dir(_engine)
