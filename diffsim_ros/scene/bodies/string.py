"""Strings: a line of masses and springs."""

from __future__ import annotations

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene import cloth
from diffsim_ros.scene.bodies.soft import SoftShape
from diffsim_ros.scene.bodies.web import REST_SCALE, SPRINGS_OF, STRETCH, WebBody
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.part import key, part, shared

SHAPES: dict[str, Section] = {
    "line": {
        "length": Field("number", "along body x", "m", REQUIRED, minimum=0, strict=True),
        "masses": Field("integer", "equal masses, one at each end", default=REQUIRED, minimum=2),
    },
}


@part
class StringBody(WebBody):
    """See the module."""

    WORD = "string"
    SHAPES = SHAPES
    shape: dict = key("any", "`line`", default=REQUIRED)
    mass: float = key("number", "mass of all of it", "kg", REQUIRED, minimum=0, strict=True)
    stretch: dict = shared(STRETCH)
    bend: dict | None = key("mapping", SPRINGS_OF.format("between every second mass"))
    rest_scale: float = shared(REST_SCALE)

    @classmethod
    def check_own(cls, reader: Reader, values: dict, material: Material, key: str) -> None:
        kind, shape = cls.read_shape(reader, values["shape"], join(key, "shape"))
        values["shape"] = {kind: shape}
        cls.read_springs(reader, values, key)

    @classmethod
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
        web = cloth.line(values["length"], values["masses"])
        every = np.arange(len(web.vertices))
        return SoftShape(web.vertices, web.triangles, every, web.shares, web=web)

    def total_mass(self) -> float:
        return self.mass

    def lines(self) -> np.ndarray:
        return self.mesh.web.pairs["stretch"]
