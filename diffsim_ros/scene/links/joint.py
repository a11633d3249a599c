"""Joints between rigid bodies, kinematic bodies and the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Section, for_motion, join, present
from diffsim_ros.rotation import quat_exp, quat_rotate
from diffsim_ros.scene.links.link import SceneLink
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import unit
from diffsim_ros.scene.targets import AXES, Entries, Target

KINDS = ("ball", "hinge", "slider", "weld", "planar", "universal")
TREE_COORDINATES = ("maximal", "reduced")
COORDINATES = (*TREE_COORDINATES, "constrained")
LIMITS: Section = {
    "lower": Field("number", "absent: none", "rad or m"),
    "upper": Field("number", "absent: none", "rad or m"),
    "stiffness": Field("number", "beyond them", "N m/rad or N/m", REQUIRED, minimum=0),
    "damping": Field("number", "continuous, as in contact", "s/rad or s/m", 0.0, minimum=0),
    "damping_depth": Field(
        "number",
        "deeper, the damping is a linear damper's, stiffness times damping times this; absent: it "
        "grows with depth",
        "rad or m",
        minimum=0,
        strict=True,
    ),
}
LIMIT, FRICTION, ARMATURE = "limit", "friction", "armature"
"""Elements of their own in the engine: NAME_limit.lower, NAME_friction.coulomb ..."""
PLACE = tuple(
    f"{word}.{axis}"
    for word in ("position", "anchor_a", "anchor_b", "axis_rotation")
    for axis in AXES
)
"""Parameters of where a joint is in its bodies, of which a kind may lack some."""


@part
class JointLink(SceneLink):
    """See the module."""

    WORD = "joint"
    CHOSEN: ClassVar[tuple[str, ...]] = (
        "stiffness", "damping", "rotational_stiffness", "rotational_damping",
    )  # fmt: skip
    VALUES: ClassVar[tuple[str, ...]] = (*CHOSEN, "friction_damping")
    MORE: ClassVar = {".limits": LIMITS}
    kind: str = key("choice", "what it leaves free", default=REQUIRED, choices=KINDS)
    body_a: str | None = key("name", "rigid body or kinematic body; absent: the world")
    body_b: str = key("name", "rigid body or kinematic body", default=REQUIRED)
    position: list[float] = key("vector3", "where, at the start, world frame", "m", REQUIRED)
    axis: list[float] = key(
        "vector3", "of hinge and slider; normal of planar; world frame", "1", [0.0, 0.0, 1.0]
    )
    second_axis: list[float] | None = key(
        "vector3", "of a universal joint, fixed in body_b, across `axis`", "1"
    )
    coordinates: str = key(
        "choice",
        "maximal: held by stiff springs; reduced: exactly, body_b is carried by the joint, whose "
        "coordinates are degrees of freedom; such joints form trees; constrained: exactly too, by "
        "constraint rows with multipliers: closes loops",
        default="maximal",
        choices=COORDINATES,
    )
    mimic: str | None = key(
        "name", "of reduced hinges and sliders: another before it whose coordinate it follows"
    )
    ratio: float = key("number", "with mimic: its coordinate is ratio times the other's", "1", 1.0)
    shift: float = key("number", "with mimic: plus this", "rad or m", 0.0)
    stiffness: float | None = key(
        "number",
        "of maximal coordinates; absent: by the masses, see docs/explanation/engine.md",
        "N/m",
        minimum=0,
    )
    damping: float | None = key("number", "absent: critical", "N s/m", minimum=0)
    rotational_stiffness: float | None = key(
        "number", "of held rotations; absent: likewise", "N m/rad", minimum=0
    )
    rotational_damping: float | None = key(
        "number", "of held rotations; absent: likewise", "N m s/rad", minimum=0
    )
    friction_damping: float = key(
        "number", "of the free motion", "N m s/rad or N s/m", 0.0, minimum=0
    )
    coulomb_friction: float | None = key(
        "number",
        "of the coordinate of hinge, slider, planar; absent: none",
        "N m or N",
        minimum=0,
    )
    slip_rate: float = key(
        "number",
        "with coulomb_friction c: -c tanh(rate / slip_rate)",
        "rad/s or m/s",
        0.01,
        minimum=0,
        strict=True,
    )
    armature: float | None = key(
        "number",
        "inertia of the coordinate alone, a geared rotor's; absent: none",
        "kg m^2 or kg",
        minimum=0,
    )
    coordinate: float = key(
        "number", "angle or displacement that the start pose has", "rad or m", 0.0
    )
    limits: dict | None = key("mapping", "of a hinge's angle or a slider's displacement")

    @classmethod
    def section_for(cls, parts: Parts, given: dict) -> Section:
        return for_motion(cls.section(), given.get("kind") != "slider")

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader = parts.reader
        for side in ("body_a", "body_b"):
            if values[side] is not None:
                _check_frame(parts, values[side], join(key, side))
        if values["body_a"] == values["body_b"]:
            raise reader.error(join(key, "body_b"), values["body_b"], "another body than body_a")
        values["axis"] = unit(reader, values["axis"], join(key, "axis"))
        second = values["second_axis"]
        if (second is not None) != (values["kind"] == "universal"):
            rule = "a second axis for a universal joint, and for no other"
            raise reader.error(join(key, "second_axis"), second, rule)
        if second is not None:
            values["second_axis"] = unit(reader, second, join(key, "second_axis"))
        if values["coordinates"] != "maximal":
            holds = "reduced coordinates hold" if values["coordinates"] == "reduced" else (
                "a constrained joint holds"
            )  # fmt: skip
            for name in cls.CHOSEN:
                if values[name] is not None:
                    rule = f"none: {holds} exactly"
                    raise reader.error(join(key, name), values[name], rule)
        for name in ("ratio", "shift"):
            if values["mimic"] is None and values[name] != cls.section()[name].default:
                raise reader.error(join(key, name), values[name], "none without mimic", "remove it")
        for name in ("coulomb_friction", "armature"):
            if values[name] is not None:
                check_moving(parts, values["kind"], join(key, name))
        if values["coordinate"]:
            check_moving(parts, values["kind"], join(key, "coordinate"))
        if values["limits"] is not None:
            check_moving(parts, values["kind"], join(key, "limits"))
            section = for_motion(LIMITS, values["kind"] != "slider")
            values["limits"] = _limits(parts, section, values["limits"], join(key, "limits"))

    def add(self, scene: Any, parts: Parts) -> None:
        name, more = self.name, (*self.VALUES, "second_axis", "coordinate", "mimic")
        scene.add_joint(
            name,
            kind=self.kind,
            body_a=self.body_a or "",
            body_b=self.body_b,
            position=self.position,
            axis=self.axis,
            reduced=self.reduced,
            constrained=self.constrained,
            ratio=self.ratio,
            shift=self.shift,
            **self.given(*more),
        )
        if self.limits is not None:
            scene.add_joint_limit(self.part_name(LIMIT), joint=name, **self.limits)
        if self.coulomb_friction is not None:
            values = {"coulomb": self.coulomb_friction, "slip_rate": self.slip_rate}
            scene.add_joint_friction(self.part_name(FRICTION), joint=name, **values)
        if self.armature is not None:
            scene.add_armature(self.part_name(ARMATURE), joint=name, inertia=self.armature)

    @property
    def reduced(self) -> bool:
        """Whether body_b is carried by the joint's coordinates."""
        return self.coordinates == "reduced"

    @property
    def constrained(self) -> bool:
        """Whether it holds by constraint rows."""
        return self.coordinates == "constrained"

    def vector(self, values: Mapping[str, float], word: str, absent: Any) -> np.ndarray:
        """Parameter `word` (one of PLACE without its axis) (3,); `absent` where there is none.

        values  of the engine's parameters
        """
        names = [f"{self.name}.{word}.{axis}" for axis in AXES]
        return np.array([values[n] for n in names] if names[0] in values else absent, float)

    def turned(self, values: Mapping[str, float], axis: Any) -> np.ndarray:
        """An axis of the joint, as the file has it, by `axis_rotation`: world axes at the scene's
        poses (3,)."""
        rotation = self.vector(values, "axis_rotation", np.zeros(3))
        return quat_rotate(quat_exp(rotation), np.array(axis))

    def part_name(self, which: str) -> str:
        """Name in the engine of its limits, its friction or its armature."""
        return f"{self.name}_{which}"

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        found = super().targets(entries, parts) | entries.all_of(self.name, PLACE)
        limits = entries.all_of(self.part_name(LIMIT), tuple(self.limits or ()))
        found |= {f"limits.{word}": target for word, target in limits.items()}
        words = {"coulomb_friction": (FRICTION, "coulomb"), "slip_rate": (FRICTION, "slip_rate"),
                 "armature": (ARMATURE, "inertia")}  # fmt: skip
        for word, (which, own) in words.items():
            if f"{self.part_name(which)}.{own}" in entries:
                found[word] = entries.target(f"{self.part_name(which)}.{own}")
        return found


def check_moving(parts: Parts, kind: str, key: str) -> None:
    """Only a joint with one free coordinate has limits and motors."""
    if kind not in ("hinge", "slider", "planar"):
        raise parts.reader.error(key, f"a {kind} joint", "a hinge, slider or planar joint")


def _check_frame(parts: Parts, name: str, key: str) -> None:
    body = parts.body(name, key)
    if not body.CARRIES:
        raise parts.reader.error(
            key,
            f"{name} of type {body.type}",
            "a rigid body or kinematic body",
            "glue soft bodies to a rigid body that the joint holds",
        )


def _limits(parts: Parts, section: Section, given: dict, key: str) -> dict:
    limits = present(parts.reader.section(section, given, key))
    low, high = limits.get("lower"), limits.get("upper")
    if low is None and high is None:
        raise parts.reader.error(key, given, "a lower or upper limit, or both")
    if low is not None and high is not None and not low < high:
        rule = f"a number above the lower limit, {low:g}"
        raise parts.reader.error(join(key, "upper"), high, rule)
    return limits
