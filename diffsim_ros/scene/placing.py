"""Resolving what bodies, surfaces and kinematic bodies share: boxes by their edges, poses,
orientations."""

from __future__ import annotations

from pathlib import Path

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.rotation import quat_exp
from diffsim_ros.scene import schema_bodies


def absolute(reader: Reader, file: str) -> str:
    """Absolute path of a file that a scene names, relative to the scene's folder."""
    place = Path(reader.place)
    return str(((place if place.is_dir() else place.parent) / file).resolve())


def box_size(reader: Reader, box: dict, key: str) -> dict:
    """A box by its edge lengths, given as size or as half_extents."""
    size, half = box["size"], box["half_extents"]
    if (size is None) == (half is None):
        raise reader.error(key, present(box), "either size or half_extents [m]", "give exactly one")
    return {"size": size if size is not None else [2 * h for h in half]}


def resolve_pose(reader: Reader, value: object, key: str) -> dict:
    """Position and orientation (x, y, z, w) of a `pose`."""
    pose = reader.section(schema_bodies.POSE, value, key)
    return {"position": pose["position"], "orientation": orientation(reader, pose, key)}


def orientation(reader: Reader, values: dict, key: str) -> list[float]:
    """Quaternion x, y, z, w from `orientation` or `rotation`."""
    if values["orientation"] is not None and values["rotation"] is not None:
        raise reader.error(
            join(key, "rotation"),
            values["rotation"],
            "either orientation or rotation",
            "remove one",
        )
    if values["orientation"] is not None:
        return values["orientation"]
    return quat_exp(values["rotation"] or [0.0, 0.0, 0.0]).tolist()


def body_named(reader: Reader, scene: dict, name: str, key: str) -> dict:
    """The (resolved) body of this name; InputError names near ones."""
    if name not in scene["bodies"]:
        raise reader.error(key, name, "a name of `bodies`", nearest(name, scene["bodies"]))
    return scene["bodies"][name]
