"""Rigid bodies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import Reader, join
from diffsim_ros.scene import shapes
from diffsim_ros.scene.bodies.body import BodyInfo
from diffsim_ros.scene.bodies.lumped import LumpedBody
from diffsim_ros.scene.bodies.shape_keys import read_picture
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.rigid_shape import picture_mesh, rigid_shape
from diffsim_ros.scene.shapes import six_of, symmetric
from diffsim_ros.scene.targets import INERTIA, Entries, Target


@part
class RigidBody(LumpedBody):
    """A mass with an inertia."""

    WORD = "rigid"
    CARRIES: ClassVar[bool] = True
    picture: list | None = key(
        "any",
        "what pictures show in place of the shape: a list of shapes as of a compound, in the "
        "body's frame, without densities; [] shows nothing",
    )

    @classmethod
    def check_own(cls, reader: Reader, values: dict, given: object, key: str) -> None:
        values["picture"] = read_picture(reader, values["picture"], join(key, "picture"))

    @classmethod
    def check_inertia(cls, reader: Reader, values: dict, key: str) -> None:
        inertia = "uniform" if values["inertia"] is None else values["inertia"]
        values["inertia"] = inertia
        if inertia == "uniform" and values["shape"] is None:
            raise reader.error(key, None, cls.section()["inertia"].rule(), "or give a shape")
        form = rigid_shape(values["shape"], about_mass=True)
        if inertia == "uniform" and form.given_centre is not None:
            rule = "numbers, because the mesh's centre of mass is given"
            raise reader.error(key, inertia, rule, "give them about that centre, or remove it")
        if isinstance(inertia, list):
            moments = np.linalg.eigvalsh(symmetric(six_of(inertia)))
            if moments[0] <= 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
                raise reader.error(
                    key,
                    inertia,
                    "positive principal moments, none above the sum of the others",
                    "principal moments are " + ", ".join(f"{m:.4g}" for m in moments),
                )

    def surface(self):
        return self.form and self.form.surface()

    def total_inertia(self) -> np.ndarray:
        """xx, yy, zz, xy, xz, yz about the centre of mass, body frame [kg m^2]  (6,)."""
        if self.inertia == "uniform":
            return self.total_mass() * self.form.inertia
        return np.array(six_of(self.inertia))

    def add(self, scene: Any, parts: Parts) -> None:
        mass, inertia = self.total_mass(), self.total_inertia()
        scene.add_rigid_body(
            self.name,
            mass=mass,
            inertia=inertia.tolist(),
            position=self.pose["position"],
            orientation=self.pose["orientation"],
            velocity=self.velocity,
            angular_velocity=self.angular_velocity,
            radius=self.form.reach if self.form else shapes.torque_radius(inertia, mass),
        )
        self.add_contact_spheres(scene)

    def info(self) -> BodyInfo:
        """For pictures: without a shape the box of the same mass and inertia."""
        if self.picture == []:
            return BodyInfo(self.name, "frame", (0.0, 0.0, 0.0), tuple(self.colour))
        if self.picture is not None:
            vertices, triangles = picture_mesh(self.picture)
            around = 2 * np.abs(vertices).max(axis=0)
        elif self.form:
            return super().info()
        else:
            size, turn = shapes.inertia_box(self.total_inertia(), self.total_mass())
            box = rigid_shape({"box": {"size": size.tolist()}}, about_mass=True)
            vertices, triangles = np.asarray(box.mesh[0]) @ turn.T, box.mesh[1]
            around = 2 * np.abs(vertices).max(axis=0)
        colour = tuple(self.colour)
        return BodyInfo(self.name, "mesh", tuple(around.tolist()), colour, vertices, triangles)

    def follows(self) -> dict[str, dict[str, float]]:
        """A uniform inertia goes with the mass."""
        if self.inertia != "uniform":
            return {}
        per_mass = zip(INERTIA, (self.total_inertia() / self.total_mass()).tolist(), strict=True)
        return {f"{self.name}.mass": {f"{self.name}.inertia.{k}": v for k, v in per_mass if v}}

    def mass_targets(self, entries: Entries, more: dict[str, float]) -> dict[str, Target]:
        return super().mass_targets(entries, more | self.follows().get(f"{self.name}.mass", {}))

    def targets(self, entries: Entries) -> dict[str, Target]:
        found = {}
        if self.inertia != "uniform":
            for k in INERTIA:
                found[f"inertia.{k}"] = entries.target(f"{self.name}.inertia.{k}")
        if isinstance(self.inertia, float):
            ones = {f"{self.name}.inertia.{k}": 1.0 for k in INERTIA[:3]}
            found["inertia"] = Target(self.inertia, "kg m^2", ones, 0.0)
        return found | super().targets(entries)
