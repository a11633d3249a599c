"""Level sets in .vdb files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffsim_ros.scene.trial_reading import try_reading

RULE = "a .vdb file that diffsim wrote, whole"


def load_level_set(path: str | Path, place: object = "scene", key: str = "vdb") -> Any:
    """The engine's level set in a file; InputError for one that is no such file, or damaged."""
    from diffsim_ros import _engine

    try_reading("vdb", path, place, key, RULE)
    return _engine.LevelSet.load(str(path))
