"""Motors on joints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from diffsim_ros.errors import nearest
from diffsim_ros.fields import REQUIRED, Section, for_motion, join
from diffsim_ros.scene.links.joint import JointLink, check_moving
from diffsim_ros.scene.links.link import INTERVAL, SceneLink, check_interval
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import Entries, Target


@part
class MotorLink(SceneLink):
    """See the module."""

    WORD = "motor"
    GAINS: ClassVar[tuple[str, ...]] = ("stiffness", "damping")
    LIMITS: ClassVar[tuple[str, ...]] = ("effort_lower", "effort_upper")
    VALUES: ClassVar[tuple[str, ...]] = (*GAINS, *LIMITS)
    joint: str = key("name", "a hinge or slider", default=REQUIRED)
    kind: str = key(
        "choice",
        "follow keys, or apply them (force: on sliders)",
        default="position",
        choices=("position", "torque", "force"),
    )
    keys: list[float] = key(
        "controls", "one value, or several `interval` apart", "rad or m, N m, N", REQUIRED
    )
    interval: float | None = shared(INTERVAL)
    stiffness: float | None = key(
        "number",
        "of kind position, which needs it or damping; absent: 0",
        "N m/rad or N/m",
        minimum=0,
    )
    damping: float | None = key(
        "number", "of kind position; absent: 0", "N m s/rad or N s/m", minimum=0
    )
    effort_lower: float | None = key(
        "number", "where its torque (force) is cut off; absent: nowhere", "N m or N"
    )
    effort_upper: float | None = key("number", "likewise; above the lower", "N m or N")

    @classmethod
    def section_for(cls, parts: Parts, given: dict) -> Section:
        own = cls.section()
        position, torque, force = own["keys"].unit.split(", ")
        unit = {"torque": torque, "force": force}.get(given.get("kind"), position)
        joint = _joints(parts).get(given.get("joint"))
        slides = joint is not None and joint.kind == "slider"
        return for_motion({**own, "keys": replace(own["keys"], unit=unit)}, not slides)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader, name = parts.reader, values["joint"]
        joints = _joints(parts)
        if name not in joints:
            rule = "a joint that stands before it in `links`"
            raise reader.error(join(key, "joint"), name, rule, nearest(name, joints))
        check_moving(parts, joints[name].kind, join(key, "joint"))
        slides = joints[name].kind == "slider"
        if values["kind"] == ("torque" if slides else "force"):
            rule = f"position or {'force' if slides else 'torque'} on this joint"
            raise reader.error(join(key, "kind"), values["kind"], rule)
        if values["kind"] != "position":
            for word in cls.GAINS:
                if values[word]:
                    rule = f"no {word} for this kind"
                    raise reader.error(join(key, word), values[word], rule, "remove it")
                values[word] = None
        elif values["stiffness"] is None and values["damping"] is None:
            rule = "a stiffness (or damping) with which it follows its keys"
            raise reader.error(join(key, "stiffness"), None, rule)
        else:
            values |= {word: values[word] or 0.0 for word in cls.GAINS}
        lower, upper = (values[word] for word in cls.LIMITS)
        if lower is not None and upper is not None and not lower < upper:
            raise reader.error(join(key, "effort_upper"), upper, f"above effort_lower, {lower:g}")
        check_interval(parts, values, "keys", key)

    def add(self, scene: Any, parts: Parts) -> None:
        values = self.keys_over_time("keys") | self.given(*self.VALUES)
        scene.add_motor(self.name, joint=self.joint, kind=self.kind, **values)

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        word = "target" if self.kind == "position" else self.kind
        found = super().targets(entries, parts)
        for k in range(len(self.keys)):
            found[f"keys[{k}]"] = entries.target(f"{self.name}.{word}[{k}]")
        return found


def _joints(parts: Parts) -> dict[str, JointLink]:
    """The joints read so far by name."""
    return {link.name: link for link in parts.links if isinstance(link, JointLink)}
