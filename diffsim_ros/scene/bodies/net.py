"""Nets: a rectangle of knots joined by cords that only pull."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene import cloth
from diffsim_ros.scene.bodies.soft import SoftShape, check_cells
from diffsim_ros.scene.bodies.web import REST_SCALE, WebBody
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.part import key, part, shared

SHAPES: dict[str, Section] = {
    "rectangle": {
        "size": Field("vector2", "edges along body x, y", "m", REQUIRED, minimum=0, strict=True),
        "cells": Field("integers", "meshes along x, y", default=REQUIRED, minimum=1),
    },
}
CORDS: Section = {
    "stiffness": Field("number", "of each cord, tension only", "N/m", REQUIRED, minimum=0),
    "damping": Field("number", "continuous, as in contact", "s/m", 0.0, minimum=0),
}


@part
class NetBody(WebBody):
    """See the module."""

    WORD = "net"
    TENSION_ONLY = True
    SHAPES = SHAPES
    MORE: ClassVar = {**WebBody.MORE, ".cords": CORDS}
    shape: dict = key("any", "`rectangle`", default=REQUIRED)
    mass: float = key("number", "mass of all of it", "kg", REQUIRED, minimum=0, strict=True)
    cords: dict = key("mapping", "{stiffness, damping} of each cord", default=REQUIRED)
    rest_scale: float = shared(REST_SCALE)

    @classmethod
    def check_own(cls, reader: Reader, values: dict, material: Material, key: str) -> None:
        kind, shape = cls.read_shape(reader, values["shape"], join(key, "shape"))
        check_cells(reader, shape, 2, f"{key}.shape.{kind}")
        values["shape"] = {kind: shape}
        values["cords"] = reader.section(CORDS, values["cords"], join(key, "cords"))

    @classmethod
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
        sheet = cloth.rectangle(values["size"], values["cells"])
        cords = {"cords": sheet.pairs["stretch"]}
        web = cloth.Web(sheet.vertices, np.zeros((0, 3), int), sheet.shares, cords)
        every = np.arange(len(web.vertices))
        return SoftShape(web.vertices, web.triangles, every, web.shares, web=web)

    def springs(self) -> dict[str, dict]:
        return {"cords": self.cords}

    def total_mass(self) -> float:
        return self.mass

    def lines(self) -> np.ndarray:
        return self.mesh.web.pairs["cords"]
