"""What a resolved solid, cloth or string is made of: vertices, surface, contact points, figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.scene import cloth, mesh_files, tets
from diffsim_ros.scene.mesh_report import MeshReport, check_tets
from diffsim_ros.scene.tets import TetMesh

Array = np.ndarray
SOFT = ("solid", "cloth", "string")


@dataclass(frozen=True, eq=False)
class SoftShape:
    """A deformable body in its own frame, at rest.

    vertices   [m]  (n, 3); of a quadratic solid with the middles of its edges
    triangles  surface, outwards for a solid; both sides of cloth (k, 3)
    contact    vertices that may touch (c,)
    weights    their shares of the surface, sum 1 (c,)
    tets       of a solid (m, 4) or (m, 10), else None;  web  of cloth and strings, else None
    volume, area   [m^3], [m^2]
    report     figures of a solid's mesh
    digest     fingerprint of the tets, where they come from a file
    """

    vertices: Array
    triangles: Array
    contact: Array
    weights: Array
    tets: Array | None = None
    web: cloth.Web | None = None
    volume: float = 0.0
    area: float = 0.0
    report: MeshReport | None = None
    digest: str = ""

    def extent(self) -> Array:
        """Edges of the bounding box in the body's frame [m] (3,)."""
        return np.ptp(self.vertices, axis=0)


def soft_shape(body: dict, place: object = "scene", key: str = "shape") -> SoftShape:
    """Shape of a resolved deformable body; the last ones are kept, as long as files are unchanged.

    Raises InputError for a mesh that cannot be used.
    """
    ((kind, values),) = body["shape"].items()
    stamp = ()
    if kind == "mesh" and Path(values["file"]).is_file():
        status = Path(values["file"]).stat()
        stamp = (status.st_mtime_ns, status.st_size)
    known = {name: value for name, value in values.items() if name != "digest"}
    text = json.dumps([body["type"], kind, known, body.get("element")], sort_keys=True)
    shape = _soft_shape(text, stamp, str(place), key)
    if values.get("digest") not in (None, shape.digest):
        raise InputError(
            place,
            f"{key}.{kind}.digest",
            values["digest"],
            f"the fingerprint of the tets, {shape.digest}",
            "another mesh than then: the file has changed, or a surface was meshed again (fTetWild "
            "does not repeat itself): write its tets with `diffsim mesh` and name that file",
        )
    return shape


@lru_cache(maxsize=16)
def _soft_shape(text: str, stamp: tuple, place: str, key: str) -> SoftShape:
    which, kind, values, element = json.loads(text)
    key = f"{key}.{kind}"
    if which == "solid":
        return _solid(kind, values, element, place, key)
    if which == "cloth":
        return _sheet(kind, values, place, key)
    web = cloth.line(values["length"], values["masses"])
    count = len(web.vertices)
    return SoftShape(web.vertices, web.triangles, np.arange(count), web.shares, web=web)


def _solid(kind: str, values: dict, element: str, place: str, key: str) -> SoftShape:
    if kind == "mesh":
        mesh, report = _from_file(values, place, key)
    else:
        make = {"ball": tets.ball, "box": tets.box, "cylinder": tets.cylinder}[kind]
        mesh, report = check_tets(make(**values), place, key)
    digest = mesh_files.digest_of(mesh) if kind == "mesh" else ""
    if element == "p2" and mesh.tets.shape[1] == 4:
        mesh = tets.quadratic(mesh)
    if element != "p2" and mesh.tets.shape[1] == 10:
        raise InputError(
            place,
            key,
            "quadratic tets",
            "linear tets for element p1 or p1_fbar",
            "use element: p2, or a linear mesh",
        )
    surface = mesh.boundary()
    areas = tets.vertex_areas(mesh.vertices, surface)
    contact = np.unique(surface)
    return SoftShape(
        mesh.vertices,
        surface,
        contact,
        areas[contact] / areas.sum(),
        tets=mesh.tets,
        volume=float(mesh.volumes().sum()),
        area=float(areas.sum()),
        report=report,
        digest=digest,
    )


def _from_file(values: dict, place: str, key: str) -> tuple[TetMesh, MeshReport]:
    path, scale = Path(values["file"]), values.get("scale")
    if path.suffix.lower() in mesh_files.SURFACES:
        mesh, _ = mesh_files.mesh_surface(path, scale, values.get("edge"), place, key)
    elif path.suffix.lower() in mesh_files.TETS:
        if values.get("edge") is not None:
            raise InputError(
                place, f"{key}.edge", values["edge"], "no edge for a file of tets", "remove it"
            )
        mesh = mesh_files.read_tets(path, scale, place, f"{key}.file")
    else:
        known = mesh_files.SURFACES + mesh_files.TETS
        mesh_files.suffix_of(path, known, place, f"{key}.file")
    mesh, report = check_tets(
        mesh, place, f"{key}.file", least_angle=values["least_angle"], any_size=scale is not None
    )
    if values["centred"]:
        mesh = TetMesh(mesh.vertices - mesh.centroid(), mesh.tets)
    return mesh, report


def _sheet(kind: str, values: dict, place: str, key: str) -> SoftShape:
    if kind == "rectangle":
        web = cloth.rectangle(values["size"], values["cells"])
    else:
        path = Path(values["file"])
        vertices, triangles = mesh_files.read_triangles(path, values.get("scale"), place, key)
        areas = tets.vertex_areas(vertices, triangles)
        if values["centred"]:
            vertices = vertices - areas @ vertices / areas.sum()
        web = cloth.sheet_of_triangles(vertices, triangles)
    area = float(tets.triangle_areas(web.vertices, web.triangles).sum())
    count = len(web.vertices)
    return SoftShape(web.vertices, web.triangles, np.arange(count), web.shares, web=web, area=area)


def region(where: dict, vertices: Array) -> Array:
    """Vertices of a region {kind: values}, body frame (n,)."""
    ((kind, values),) = where.items()
    if kind == "all":
        return np.arange(len(vertices))
    if kind == "vertices":
        return np.unique(values["numbers"])
    if kind == "plane":
        inside = vertices @ np.asarray(values["normal"]) <= values["offset"] + 1e-9
    elif kind == "sphere":
        apart = np.linalg.norm(vertices - values["centre"], axis=1)
        inside = apart <= values["radius"] + 1e-9
    else:
        apart = np.abs(vertices - values["centre"])
        inside = (apart <= np.asarray(values["size"]) / 2 + 1e-9).all(axis=1)
    return np.flatnonzero(inside)
