"""Cloth: a sheet of masses and springs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene import cloth, mesh_files, tets
from diffsim_ros.scene.bodies.body import per_amount
from diffsim_ros.scene.bodies.regions import region, resolve_region
from diffsim_ros.scene.bodies.soft import FILE, UNIT, SoftShape, check_cells
from diffsim_ros.scene.bodies.web import REST_SCALE, SPRINGS_OF, STRETCH, WebBody
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.mesh_report import check_sheet
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import Entries, Target

SHAPES: dict[str, Section] = {
    "rectangle": {
        "size": Field("vector2", "edges along body x, y", "m", REQUIRED, minimum=0, strict=True),
        "cells": Field("integers", "cells along x, y", default=REQUIRED, minimum=1),
    },
    "mesh": {
        "file": FILE,
        "scale": UNIT,
        "centred": Field("flag", "move the centre of the area to the origin", default=True),
    },
}
PATCH: Section = {
    "where": Field(
        "any", "region of its vertices; faces that lie in it whole are of the patch",
        default=REQUIRED,
    ),
    "factor": Field(
        "number", "mass per area, as a multiple of the rest's", "1", REQUIRED, minimum=0,
        strict=True,
    ),
}  # fmt: skip


@part
class ClothBody(WebBody):
    """See the module."""

    WORD = "cloth"
    SHEET = True
    SHAPES = SHAPES
    MORE: ClassVar = {**WebBody.MORE, ".patches[i]": PATCH}
    shape: dict = key("any", "one of `rectangle`, `mesh`", default=REQUIRED)
    mass: float | None = key("number", "mass of all of it", "kg", minimum=0, strict=True)
    mass_per_area: float | None = key("number", "instead of mass", "kg/m^2", minimum=0, strict=True)
    stretch: dict = shared(STRETCH)
    shear: dict | None = key(
        "mapping", SPRINGS_OF.format("along the diagonals of a rectangle's cells")
    )
    bend: dict | None = key(
        "mapping", SPRINGS_OF.format("across two neighbouring cells or triangles")
    )
    patches: list[dict] = key(
        "list",
        "where it is heavier or lighter, {where, factor}: seams, patches, prints; `mass` is of all "
        "of it, `mass_per_area` of the rest",
        default=[],
    )
    rest_scale: float = shared(REST_SCALE)

    @classmethod
    def check_own(cls, reader: Reader, values: dict, material: Material, key: str) -> None:
        kind, shape = cls.read_shape(reader, values["shape"], join(key, "shape"))
        if kind == "rectangle":
            check_cells(reader, shape, 2, f"{key}.shape.{kind}")
        values["shape"] = {kind: shape}
        if (values["mass"] is None) == (values["mass_per_area"] is None):
            rule = "either mass [kg] or mass_per_area [kg/m^2]"
            raise reader.error(join(key, "mass"), values["mass"], rule, "give exactly one")
        cls.read_springs(reader, values, key)
        if kind == "mesh" and values["shear"] is not None:
            rule = "no shear springs on a mesh of triangles"
            remedy = "its edges resist shear: use stretch"
            raise reader.error(join(key, "shear"), values["shear"], rule, remedy)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        super().check(parts, values, given, key)
        reader, shape = parts.reader, cls.shape_of(values, parts.reader.place, join(key, "shape"))
        for i, patch in enumerate(values["patches"]):
            place = f"{key}.patches[{i}]"
            one = values["patches"][i] = reader.section(PATCH, patch, place)
            where = join(place, "where")
            one["where"] = resolve_region(reader, one["where"], shape.vertices, where)
            if not _areas(shape, region(one["where"], shape.vertices)).any():
                rule = "a region in which at least one cell or triangle lies whole"
                raise reader.error(where, one["where"], rule)
        if not _weights(shape, values["patches"]).min() > 0:
            rule = "patches of factors below 1 that do not overlap"
            raise reader.error(join(key, "patches"), values["patches"], rule)

    @classmethod
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
        if kind == "rectangle":
            web = cloth.rectangle(values["size"], values["cells"])
        else:
            path = Path(values["file"])
            vertices, triangles = mesh_files.read_triangles(path, values.get("scale"), place, key)
            check_sheet(triangles, place, f"{key}.file")
            areas = tets.vertex_areas(vertices, triangles)
            if values["centred"]:
                vertices = vertices - areas @ vertices / areas.sum()
            web = cloth.sheet_of_triangles(vertices, triangles)
        area = float(tets.triangle_areas(web.vertices, web.triangles).sum())
        every = np.arange(len(web.vertices))
        return SoftShape(web.vertices, web.triangles, every, web.shares, web=web, area=area)

    def total_mass(self) -> float:
        if self.mass is not None:
            return self.mass
        return self.mass_per_area * float(_weights(self.mesh, self.patches).sum())

    def matter(self) -> dict:
        """Of `mass_per_area` that of the whole without patches, and what their factors scale."""
        shape, found = self.mesh, super().matter()
        if not self.patches:
            return found
        if self.mass is not None:  # of all of it: shares are fixed
            weights = _weights(shape, self.patches)
            return found | {"shares": weights / weights.sum()}
        chosen = [region(patch["where"], shape.vertices) for patch in self.patches]
        patches = [
            (patch["factor"], _areas(shape, some) / shape.area)
            for patch, some in zip(self.patches, chosen, strict=True)
        ]
        return found | {"mass": self.mass_per_area * shape.area, "patches": patches}

    def loaded_areas(self, chosen: np.ndarray) -> np.ndarray:
        """Of a rectangle by cells, a quarter for each corner: its triangles favour some."""
        return _areas(self.mesh, chosen)

    def mass_targets(self, entries: Entries) -> dict[str, Target]:
        if self.mass is not None:
            return super().mass_targets(entries)
        mass = entries.target(f"{self.name}.mass")
        area = mass.value / self.mass_per_area
        found = {"mass_per_area": per_amount(self.mass_per_area, "kg/m^2", mass.sets, area)}
        factors = [f"patches[{i}].factor" for i in range(len(self.patches))]
        return found | entries.all_of(self.name, tuple(factors))


def _weights(shape: SoftShape, patches: Sequence[dict]) -> np.ndarray:
    """Areas of the vertices [m^2] (n,), those in patches times their factors."""
    found = shape.web.shares * shape.area
    for patch in patches:
        chosen = region(patch["where"], shape.vertices)
        found = found + (patch["factor"] - 1) * _areas(shape, chosen)
    return found


def _areas(shape: SoftShape, chosen: np.ndarray) -> np.ndarray:
    """Areas by vertex [m^2] (n,) of the faces whose vertices are all `chosen`."""
    diagonals = shape.web.pairs.get("shear")
    if diagonals is None:
        faces = shape.triangles[np.isin(shape.triangles, chosen).all(axis=1)]
        return tets.vertex_areas(shape.vertices, faces)
    cells = np.hstack(np.split(diagonals, 2))
    loaded = cells[np.isin(cells, chosen).all(axis=1)]
    corners = np.bincount(loaded.ravel(), minlength=len(shape.vertices))
    return corners * shape.area / len(cells) / 4
