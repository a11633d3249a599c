"""What every kind of body has: its place at the start, in the engine, in pictures, its paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Field, Section, join
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.materials import NO_MATERIAL, Material
from diffsim_ros.scene.part import Part, key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import resolve_pose
from diffsim_ros.scene.rigid_shape import RigidShape
from diffsim_ros.scene.shapes import ContactSpheres
from diffsim_ros.scene.targets import AXES, Entries, Target

Array = np.ndarray
COLOUR = Field("rgba", "red, green, blue and opacity for pictures", "1", [0.2, 0.4, 0.8, 1.0])
START = Field("mapping", "pose at the start", default={})
VELOCITY = Field("vector3", "of the centre of mass, world frame", "m/s", [0.0, 0.0, 0.0])
SPIN = Field("vector3", "world frame", "rad/s", [0.0, 0.0, 0.0])
MATERIAL_NAME = Field("name", "material that gives values left out elsewhere")


def contact_spheres_name(body: str) -> str:
    """Name of a body's contact points in the engine: its parameters are NAME.scale, NAME.radius."""
    return f"{body}_contact_spheres"


@dataclass(frozen=True)
class BodyInfo:
    """A body for pictures.

    kind       box, sphere, cylinder or capsule (about z), mesh, compound, point, frame (a kinematic
               body without shape, and what is not drawn), or soft: drawn by its vertices
    size       edges of the box about it, extent of a soft body, zero for a point;
               body frame [m]  (3,)
    colour     red, green, blue, opacity [0..1]  (4,)
    vertices   of a cylinder, capsule, mesh or compound, body frame [m]  (n, 3)
    triangles  of these, or of a soft body's vertices (k, 3); both sides are visible if `sheet`
    lines      of a string's (s, 2)
    """

    name: str
    kind: str
    size: tuple[float, float, float]
    colour: tuple[float, float, float, float]
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    triangles: Array = field(default_factory=lambda: np.zeros((0, 3), int), repr=False)
    lines: Array = field(default_factory=lambda: np.zeros((0, 2), int), repr=False)
    sheet: bool = False

    @property
    def reach(self) -> float:
        """Bounding radius about its origin [m]."""
        if len(self.vertices):
            return float(np.linalg.norm(self.vertices, axis=1).max())
        longest = max(self.size) if self.kind == "sphere" else np.linalg.norm(self.size)
        return float(longest) / 2


@part
class Body(Part):
    """A body by its numbers.

    SOFT     its degrees of freedom are vertices
    CARRIES  it has a frame: soft bodies are glued to it, joints and surfaces are attached to it
    TURNS    its start has a rotation and an angular velocity
    MOVES    forces move it
    POINT    what pictures draw where it has no shape
    SHAPES   tables of its shapes, by word
    MORE     further tables of keys: what follows bodies.NAME -> section
    """

    SOFT: ClassVar[bool] = False
    CARRIES: ClassVar[bool] = False
    TURNS: ClassVar[bool] = True
    MOVES: ClassVar[bool] = True
    POINT: ClassVar[str] = "point"
    SHAPES: ClassVar[dict[str, Section]] = {}
    MORE: ClassVar[dict[str, Section]] = {}

    name: str
    type: str = key(
        "choice",
        "kind of body, see the tables of each",
        default="rigid",
        renamed=(("handle", "kinematic"),),
    )
    colour: list[float] = shared(COLOUR)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        """Complete the values of a section, `given` in the file at `key`, or raise InputError."""

    def add(self, scene: Any, parts: Parts) -> None:
        """Add it to the engine's scene."""
        raise NotImplementedError

    def targets(self, entries: Entries) -> dict[str, Target]:
        """Paths behind its name that can be parameters."""
        raise NotImplementedError

    def follows(self) -> dict[str, dict[str, float]]:
        """Of the engine's parameters, those that go with another: its name -> theirs -> factor."""
        return {}

    def start_pose(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation matrix (3, 3) at the start."""
        turn = self.pose.get("orientation", [0.0, 0.0, 0.0, 1.0])
        return np.array(self.pose["position"]), quat_matrix(turn)

    @property
    def form(self) -> RigidShape | None:
        """The shape of a body that has a frame, if there is one."""
        return None

    def outline(self) -> tuple[str | None, Array]:
        """Kind (box, sphere, mesh, soft ... or None) and edges of the box about it [m] (3,)."""
        return (self.form.kind, self.form.size) if self.form else (None, np.zeros(3))

    def surface(self) -> dict | None:
        """The surface that it carries, as `sdfs` of a file have it; None without a shape."""
        return None

    def samples(self) -> Array:
        """Points on its surface, or of contact, in its frame [m]  (n, 3)."""
        return np.zeros((0, 3))

    def info(self) -> BodyInfo:
        """For pictures."""
        kind, size = self.outline()
        drawn = {}
        if self.form and kind not in ("box", "sphere"):
            drawn = dict(zip(("vertices", "triangles"), self.form.mesh, strict=True))
        place = self.name, kind or self.POINT, tuple(size.tolist()), tuple(self.colour)
        return BodyInfo(*place, **drawn)

    @property
    def touches(self) -> bool:
        """Whether it has contact points."""
        return False

    def contact_spheres_at_start(self) -> ContactSpheres:
        """Contact points in its frame at the start."""
        raise NotImplementedError

    def contact_weights(self) -> Array | None:
        """Their shares; None: equal."""
        return None

    def total_mass(self) -> float:
        """[kg]."""
        raise NotImplementedError

    def start_targets(self, entries: Entries) -> dict[str, Target]:
        """Pose and velocities at the start."""
        moving = {"pose.position": "position", "velocity": "velocity"}
        if self.TURNS:
            moving |= {"pose.rotation": "rotation", "angular_velocity": "angular_velocity"}
        return {
            f"{path}.{axis}": entries.target(f"{self.name}.{word}.{axis}")
            for path, word in moving.items()
            for axis in AXES
        }

    def contact_sphere_targets(self, entries: Entries) -> dict[str, Target]:
        """Radius and scale of its contact points."""
        found = entries.all_of(contact_spheres_name(self.name), ("radius", "scale"))
        if not found:
            return {}
        ((kind, values),) = self.contact_spheres.items()
        return {f"contact_spheres.{kind}.{w}": t for w, t in found.items() if w in values}


def material_and_pose(parts: Parts, values: dict, key: str) -> Material:
    """Complete the `pose` of a body; its `material`, an empty one if it names none."""
    name = values["material"]
    if name is not None and name not in parts.materials:
        near = nearest(name, parts.materials)
        raise parts.reader.error(join(key, "material"), name, "a name of `materials`", near)
    values["pose"] = resolve_pose(parts.reader, values["pose"], join(key, "pose"))
    return NO_MATERIAL if name is None else parts.materials[name]


def per_amount(value: float, unit: str, sets: dict[str, float], amount: float) -> Target:
    """A density: masses and inertias grow by `amount` [m^3 or m^2] of it."""
    return Target(value, unit, {k: factor * amount for k, factor in sets.items()}, 0.0)
