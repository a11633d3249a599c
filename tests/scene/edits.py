"""Scenes with one value changed, for tests of what is refused."""

import copy

import pytest

from diffsim_ros.errors import InputError
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


def changed(scene, path, value):
    """A copy with the value at a path of section `parameters` replaced."""
    scene = copy.deepcopy(scene)
    axes = {"x": 0, "y": 1, "z": 2}
    keys = path.replace("[", ".[").split(".")
    node = scene
    for key in keys[:-1]:
        if key.startswith("["):
            node = node[int(key[1:-1])]
        elif isinstance(node, list):
            node = next(item for item in node if item["name"] == key)
        else:
            node = node[key]
    last = keys[-1]
    last = int(last[1:-1]) if last.startswith("[") else last
    node[axes[last] if isinstance(node, list) and last in axes else last] = value
    return scene


def resolve(raw: object, place: object) -> dict:
    """The resolved scene as plain data."""
    return parts.resolve(raw, place).description()


def check_refused(scene: dict, key: str, hint: str):
    """The scene is refused in one line that names file and key, with the hint."""
    with pytest.raises(InputError) as caught:
        resolve(scene, "x.yaml")
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"x.yaml: {key}"), text
    assert hint in text
