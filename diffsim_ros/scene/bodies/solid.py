"""Solids: tetrahedra of an elastic and viscous material."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.errors import InputError
from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join, present
from diffsim_ros.scene import mesh_files, tets
from diffsim_ros.scene.bodies.shape_keys import HALF, RADIUS, SIZE
from diffsim_ros.scene.bodies.soft import EDGE, FILE, UNIT, SoftBody, SoftShape, check_cells
from diffsim_ros.scene.materials import DENSITY, POISSON, VISCOSITY, YOUNG, Material
from diffsim_ros.scene.mesh_report import MeshReport, check_tets
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import box_size
from diffsim_ros.scene.targets import Entries, Target
from diffsim_ros.scene.tets import TetMesh

SQUASHED = "cells of more equal edges: change their numbers or the grading"
QUADRATIC = ("p2", "p2_p0")
VALUES = ("density", "young", "poisson", "viscosity")
SHAPES: dict[str, Section] = {
    "ball": {
        "radius": RADIUS,
        "layers": Field("integer", "20 layers^3 tets", minimum=1),
        "edge": EDGE,
    },
    "box": {
        "size": SIZE,
        "half_extents": HALF,
        "cells": Field("integers", "bricks along x, y, z", minimum=1),
        "edge": EDGE,
        "split": Field(
            "choice",
            "tets of a brick, mirrored from brick to brick; `six_parallel`: all bricks alike",
            default="six",
            choices=tuple(meshes.SPLITS),
        ),
        "grading": Field(
            "vector3",
            "last brick's length over the first one's, along x, y, z",
            "1",
            [1.0, 1.0, 1.0],
            minimum=1 / meshes.STEEPEST,
        ),
    },
    "cylinder": {
        "radius": RADIUS,
        "height": Field("number", "along body z", "m", REQUIRED, minimum=0, strict=True),
        "rings": Field("integer", "about the axis: 6 rings^2 triangles", minimum=1),
        "layers": Field("integer", "along z: 18 rings^2 layers tets", minimum=1),
        "edge": EDGE,
    },
    "mesh": {
        "file": FILE,
        "edge": Field(
            "number",
            "of the tets of a meshed surface; absent: a tenth of its diagonal",
            "m",
            minimum=0,
            strict=True,
        ),
        "scale": UNIT,
        "centred": Field("flag", "move the centre of the volume to the origin", default=True),
        "least_angle": Field(
            "number", "dihedral angle of the worst tet allowed", "deg", 5.0, minimum=0
        ),
        "refine": Field(
            "integer",
            "times that every tet is cut into eight, with edges half as long",
            default=0,
            minimum=0,
        ),
        "digest": Field("text", "fingerprint of the tets; written into the resolved scene"),
    },
}


@part
class SolidBody(SoftBody):
    """Vertices joined by tetrahedra."""

    WORD = "solid"
    ARGUMENTS = ("element",)
    SHAPES = SHAPES
    shape: dict = key("any", "one of `ball`, `box`, `cylinder`, `mesh`", default=REQUIRED)
    density: float = shared(DENSITY)
    young: float = shared(YOUNG)
    poisson: float = shared(POISSON)
    viscosity: float = shared(VISCOSITY)
    model: str = key(
        "choice",
        "energy; `neo_hookean_safe` stays finite for inverted tets",
        default="neo_hookean",
        choices=("neo_hookean", "neo_hookean_safe"),
    )
    viscosity_model: str = key(
        "choice",
        "`invariant` leaves rotations alone, `linear` damps them too",
        default="invariant",
        choices=("invariant", "linear"),
    )
    element: str = key(
        "choice",
        "`p2_p0` is recommended for what bends or is nearly incompressible; see Elements above",
        default="p1",
        choices=("p1", "p1_fbar", *QUADRATIC),
    )
    mass_matrix: str = key(
        "choice", "mass matrix", default="lumped", choices=("lumped", "consistent")
    )

    @classmethod
    def check_own(cls, reader: Reader, values: dict, material: Material, key: str) -> None:
        for name in VALUES:
            if values[name] is None:
                values[name] = getattr(material, name)
            if values[name] is None and name == "viscosity":
                values[name] = 0.0
            if values[name] is None:
                rule, remedy = cls.section()[name].rule(), f"give {name} or a material with it"
                raise reader.error(join(key, name), None, rule, remedy)
        if not values["poisson"] < 0.5:
            raise reader.error(
                join(key, "poisson"),
                values["poisson"],
                "a number from 0 to below 0.5",
                "0.499 with element: p2_p0 is nearly incompressible",
            )
        key = join(key, "shape")
        kind, shape = cls.read_shape(reader, values["shape"], key)
        place = join(key, kind)
        if kind == "ball":
            _resolution(reader, shape, "layers", place)
            if shape["layers"] is None:
                shape["layers"] = max(1, round(shape["radius"] / shape["edge"]))
        elif kind == "box":
            shape |= box_size(reader, shape, place)
            _resolution(reader, shape, "cells", place)
            if shape["cells"] is None:
                shape["cells"] = [max(1, round(length / shape["edge"])) for length in shape["size"]]
            check_cells(reader, shape, 3, place)
            _check_grading(reader, shape, place)
        elif kind == "cylinder":
            _resolution(reader, shape, "rings", place)
            _resolution(reader, shape, "layers", place)
            if shape["edge"] is not None:
                shape["rings"] = max(1, round(shape["radius"] / shape["edge"]))
                shape["layers"] = max(1, round(shape["height"] / shape["edge"]))
        if kind in ("ball", "box", "cylinder"):
            shape = {k: v for k, v in shape.items() if k not in ("edge", "half_extents")}
        values["shape"] = {kind: shape}
        if kind == "mesh":
            shape["digest"] = cls.shape_of(values, reader.place, key).digest

    @classmethod
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
        if kind == "mesh":
            mesh, report = _from_file(values, place, key)
        else:
            make = {"ball": tets.ball, "box": tets.box, "cylinder": tets.cylinder}[kind]
            mesh, report = check_tets(make(**values), place, key, remedy=SQUASHED)
        digest = mesh_files.digest_of(mesh) if kind == "mesh" else ""
        element = arguments["element"]
        if element in QUADRATIC and mesh.tets.shape[1] == 4:
            mesh = tets.quadratic(mesh)
        if element not in QUADRATIC and mesh.tets.shape[1] == 10:
            raise InputError(
                place,
                key,
                "quadratic tets",
                "linear tets for element p1 or p1_fbar",
                "use element: p2_p0 or p2, or a linear mesh",
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

    def total_mass(self) -> float:
        return self.density * self.mesh.volume

    def add(self, scene: Any, parts: Parts) -> None:
        shape = self.mesh
        keys = (*VALUES, "model", "viscosity_model", "element")
        values = {name: getattr(self, name) for name in keys} | {"mass": self.mass_matrix}
        scene.add_solid(
            self.name, vertices=shape.vertices, tets=shape.tets, **values, **self.start()
        )
        self.add_contact_spheres(scene)

    def targets(self, entries: Entries) -> dict[str, Target]:
        return entries.all_of(self.name, VALUES) | super().targets(entries)


def _check_grading(reader: Reader, box: dict, key: str) -> None:
    for i, (ratio, cells) in enumerate(zip(box["grading"], box["cells"], strict=True)):
        place = f"{join(key, 'grading')}[{i}]"
        if ratio > meshes.STEEPEST:
            rule = f"a ratio from {1 / meshes.STEEPEST} to {meshes.STEEPEST:g}"
            raise reader.error(place, ratio, rule, "1: bricks of equal lengths")
        if ratio != 1 and cells == 1:
            raise reader.error(place, ratio, "1 along an axis of one cell", "give it more cells")


def _resolution(reader: Reader, shape: dict, name: str, key: str) -> None:
    if (shape[name] is None) == (shape["edge"] is None):
        raise reader.error(key, present(shape), f"either {name} or edge [m]", "give exactly one")


def _from_file(values: dict, place: str, key: str) -> tuple[TetMesh, MeshReport]:
    path, scale = Path(values["file"]), values.get("scale")
    surface = None
    if path.suffix.lower() in mesh_files.SURFACES:
        mesh, surface = mesh_files.mesh_surface(path, scale, values.get("edge"), place, key)
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
        mesh, place, f"{key}.file", least_angle=values["least_angle"], any_size=scale is not None,
        surface=surface,
    )  # fmt: skip
    if report.merged:
        text = f"{report.merged} vertices were merged where volumes of the mesh share an interface"
        remedy = "volumes that may part have to be bodies of their own"
        warnings.warn(f"{place}: {key}.file: {text}: {remedy}", UserWarning, stacklevel=2)
    if values["centred"]:
        mesh = TetMesh(mesh.vertices - mesh.centroid(), mesh.tets)
    if values.get("refine"):
        for _ in range(values["refine"]):
            mesh = tets.refined(mesh)
        mesh, report = check_tets(mesh, place, f"{key}.refine", least_angle=0.0, any_size=True)
    return mesh, report
