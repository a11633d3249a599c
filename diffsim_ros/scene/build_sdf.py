"""Surfaces of a resolved scene as the engine's signed distance functions."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.scene import mesh_files
from diffsim_ros.scene.mesh_report import check_surface
from diffsim_ros.scene.vdb_file import load_level_set

COMBINED = {
    "union": "Union",
    "intersection": "Intersection",
    "difference": "Difference",
    "complement": "Complement",
}


def engine_sdf(value: object, named: dict) -> Any:
    """_engine SDF of a resolved surface (a name of `named`, or {kind: values})."""
    from diffsim_ros import _engine

    if isinstance(value, str):
        return engine_sdf(named[value], named)
    ((kind, values),) = value.items()
    if kind == "transform":
        inner = engine_sdf(values["of"], named)
        return _engine.Transformed(inner, values["position"], values["orientation"])
    if kind == "offset":
        return _engine.Offset(engine_sdf(values["of"], named), values["distance"])
    if kind in COMBINED:
        members = [engine_sdf(part, named) for part in values["of"]]
        return getattr(_engine, COMBINED[kind])(members, values["width"])
    return primitive(kind, values)


def primitive(kind: str, values: dict) -> Any:
    """_engine SDF of one solid of its own."""
    from diffsim_ros import _engine

    match kind:
        case "plane":
            return _engine.Plane(values["normal"], values["offset"])
        case "box":
            return _engine.Box([edge / 2 for edge in values["size"]])
        case "sphere":
            return _engine.Sphere(values["radius"])
        case "capsule":
            return _engine.Capsule(values["length"] / 2, values["radius"])
        case "cylinder":
            return _engine.Cylinder(values["height"] / 2, values["radius"])
        case "torus":
            return _engine.Torus(values["ring_radius"], values["tube_radius"])
        case "half_spaces":
            return _engine.HalfSpaces(np.array(values["normals"]), np.array(values["offsets"]))
        case "vdb":
            return load_level_set(values["file"])
    return level_set(values)


def surface_triangles(values: dict, place: object, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and outward triangles of a `mesh` surface's file; InputError if it is not closed."""
    path = Path(values["file"])
    vertices, triangles = mesh_files.read_triangles(path, values.get("scale"), place, key)
    return vertices, check_surface(vertices, triangles, place, key)


def level_set(values: dict, place: object = "scene", key: str = "mesh") -> Any:
    """Level set of a mesh file, kept as .vdb under the content of the mesh where OpenVDB is."""
    from diffsim_ros import _engine

    vertices, triangles = surface_triangles(values, place, key)
    settings = (values["voxel"], values["band"], values["smoothing"])
    mark = hashlib.sha256(repr((_engine.vdb_format, *settings)).encode())
    mark.update(vertices.tobytes() + triangles.tobytes())
    kept = mesh_files.cache_folder().parent / "level_sets" / f"{mark.hexdigest()[:24]}.vdb"
    if _engine.has_openvdb and kept.is_file():
        with contextlib.suppress(_engine.InvalidInput):  # cut short or damaged: made again below
            return _engine.LevelSet.load(str(kept))
    mesh = _engine.TriangleMesh(vertices, triangles)
    found = _engine.LevelSet(mesh, settings[0], band=settings[1], smoothing=settings[2])
    if _engine.has_openvdb:
        _keep(kept, found)
    return found


def _keep(path: Path, found: Any) -> None:
    """Save a level set (at once: the engine renames); where that fails it only costs time later."""
    from diffsim_ros import _engine

    with contextlib.suppress(OSError, _engine.InvalidInput):
        path.parent.mkdir(parents=True, exist_ok=True)
        found.save(str(path))
