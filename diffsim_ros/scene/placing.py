"""What sections of a scene share: names, files, poses, orientations, directions, box sizes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from diffsim_ros.fields import Field, Reader, Section, join, present
from diffsim_ros.rotation import quat_exp, quat_from_matrix

NAME = Field("name", "of a body, a surface, a contact or a link")
POSE: Section = {
    "position": Field("vector3", "centre of mass at the start, world frame", "m", [0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "x, y, z, w; body to world; absent: identity", "1"),
    "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
}


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
    pose = reader.section(POSE, value, key)
    return {"position": pose["position"], "orientation": orientation(reader, pose, key)}


def pose_mapping(matrix: np.ndarray) -> dict[str, list[float]]:
    """{position, orientation} of a pose (4, 4)."""
    return {
        "position": matrix[:3, 3].tolist(),
        "orientation": quat_from_matrix(matrix[:3, :3]).tolist(),
    }


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


def unit(reader: Reader, vector: list[float], key: str) -> list[float]:
    """The vector at length 1; a unit vector stays as it is, to the bit."""
    norm = math.sqrt(sum(x * x for x in vector))
    if norm == 0:
        raise reader.error(key, vector, "a vector that is not zero")
    return vector if abs(norm - 1) <= 1e-15 else [x / norm for x in vector]
