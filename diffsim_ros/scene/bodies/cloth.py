"""Cloth: a sheet of masses and springs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene import cloth, mesh_files, tets
from diffsim_ros.scene.bodies.body import per_amount
from diffsim_ros.scene.bodies.soft import FILE, UNIT, SoftShape, check_cells
from diffsim_ros.scene.bodies.web import REST_SCALE, SPRINGS_OF, STRETCH, WebBody
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.part import key, part, shared
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


@part
class ClothBody(WebBody):
    """See the module."""

    WORD = "cloth"
    SHEET = True
    SHAPES = SHAPES
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
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
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
        every = np.arange(len(web.vertices))
        return SoftShape(web.vertices, web.triangles, every, web.shares, web=web, area=area)

    def total_mass(self) -> float:
        return self.mass if self.mass is not None else self.mass_per_area * self.mesh.area

    def loaded_areas(self, chosen: np.ndarray) -> np.ndarray:
        """Of a rectangle by cells, a quarter for each corner: its triangles favour some."""
        diagonals = self.mesh.web.pairs.get("shear")
        if diagonals is None:
            return super().loaded_areas(chosen)
        cells = np.hstack(np.split(diagonals, 2))
        loaded = cells[np.isin(cells, chosen).all(axis=1)]
        corners = np.bincount(loaded.ravel(), minlength=len(self.mesh.vertices))
        return corners * self.mesh.area / len(cells) / 4

    def mass_targets(self, entries: Entries) -> dict[str, Target]:
        if self.mass is not None:
            return super().mass_targets(entries)
        mass = entries.target(f"{self.name}.mass")
        area = mass.value / self.mass_per_area
        return {"mass_per_area": per_amount(self.mass_per_area, "kg/m^2", mass.sets, area)}
