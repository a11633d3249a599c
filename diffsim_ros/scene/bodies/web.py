"""What cloth and strings share: equal kinds of springs between masses."""

from __future__ import annotations

from typing import Any, ClassVar

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene.bodies.soft import SoftBody
from diffsim_ros.scene.cloth import KINDS
from diffsim_ros.scene.part import part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import Entries, Target

SPRINGS_OF = "springs {}: {{stiffness, damping}} of each one"
STRETCH = Field("mapping", SPRINGS_OF.format("along the edges"), default=REQUIRED)
REST_SCALE = Field(
    "number",
    "rest lengths as a share of the lengths in the shape",
    "1",
    1.0,
    minimum=0,
    strict=True,
)
SPRING_VALUES: Section = {
    "stiffness": Field("number", "of each spring", "N/m", REQUIRED, minimum=0),
    "damping": Field("number", "of each spring, along its axis", "N s/m", 0.0, minimum=0),
}


@part
class WebBody(SoftBody):
    """Masses joined by springs, which may only pull."""

    TENSION_ONLY: ClassVar[bool] = False

    MORE: ClassVar = {**SoftBody.MORE, ".stretch, .shear, .bend": SPRING_VALUES}

    @classmethod
    def read_springs(cls, reader: Reader, values: dict, key: str) -> None:
        """Complete the numbers of each kind of spring that is given."""
        for kind in KINDS:
            if values.get(kind) is not None:
                values[kind] = reader.section(SPRING_VALUES, values[kind], join(key, kind))

    def springs(self) -> dict[str, dict]:
        """Kind -> numbers of the springs it has."""
        given = {kind: getattr(self, kind, None) for kind in KINDS}
        pairs = self.mesh.web.pairs
        return {k: v for k, v in given.items() if v is not None and len(pairs[k])}

    def springs_name(self, kind: str) -> str:
        """Their name in the engine: parameters NAME.stiffness, .damping."""
        return f"{self.name}_{kind}"

    def add(self, scene: Any, parts: Parts) -> None:
        shape = self.mesh
        scene.add_mass_points(
            self.name,
            vertices=shape.vertices,
            **self.matter(),
            **self.start(),
        )
        for kind, numbers in self.springs().items():
            pairs = shape.web.pairs[kind]
            scene.add_springs(
                self.springs_name(kind),
                points_a=self.name,
                index_a=pairs[:, 0].tolist(),
                points_b=self.name,
                index_b=pairs[:, 1].tolist(),
                rest_length=shape.web.lengths(kind) * self.rest_scale,
                tension_only=self.TENSION_ONLY,
                **numbers,
            )
        self.add_contact_spheres(scene)

    def matter(self) -> dict:
        """Mass [kg] and its shares by vertex (n,), as the engine takes them."""
        return {"mass": self.total_mass(), "shares": self.mesh.web.shares}

    def mass_targets(self, entries: Entries) -> dict[str, Target]:
        """Its mass, as the file gives it."""
        return {"mass": entries.target(f"{self.name}.mass")}

    def targets(self, entries: Entries) -> dict[str, Target]:
        found, scales = self.mass_targets(entries), {}
        for kind in self.springs():
            springs = self.springs_name(kind)
            for word, target in entries.all_of(springs, ("stiffness", "damping")).items():
                found[f"{kind}.{word}"] = target
            scales[f"{springs}.rest_scale"] = 1.0 / self.rest_scale
        if scales:  # rest lengths were built with the scene's scale: there the engine's scale is 1
            found["rest_scale"] = Target(self.rest_scale, "1", scales, 0.0)
        return found | super().targets(entries)
