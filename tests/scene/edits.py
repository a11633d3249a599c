"""Scenes with one value changed, for tests of what is refused."""

import copy

from diffsim_ros.fields import REQUIRED
from diffsim_ros.scene import resolve as parts


def replaced(scene: dict, path: str, value):
    """A copy of `scene`, the value at a path of keys and numbers replaced (REQUIRED: gone)."""
    scene = copy.deepcopy(scene)
    *parents, last = [int(k) if k.isdigit() else k for k in path.split("/")]
    node = scene
    for key in parents:
        node = node[key]
    if value is REQUIRED:
        del node[last]
    else:
        node[last] = value
    return scene


def resolve(raw: object, place: object) -> dict:
    """The resolved scene as plain data."""
    return parts.resolve(raw, place).description()
