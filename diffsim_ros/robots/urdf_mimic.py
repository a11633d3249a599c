"""Joints of a URDF that follow others: q = ratio · q_leader + shift, chains made one step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from diffsim_ros.errors import InputError, nearest

Element = ElementTree.Element
FREE = ("revolute", "continuous", "prismatic")


def check_mimics(path: Path, joints: Mapping[str, Element], notes: list[str]) -> None:
    """Replace every chain of <mimic> by its end: leaders follow none afterwards.

    What follows a fixed joint, or at a ratio of 0, keeps as <mimic> an offset alone (joint="").
    What follows a joint that is not there follows none, with a note.
    Raises InputError: leaders that have not one coordinate, circles, numbers.
    """
    found: dict[str, tuple[str, float, float]] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        key, leader = f"joint {name}: mimic", mimic.get("joint")
        if leader not in joints:
            near = nearest(leader, joints)
            notes.append(f"{key}: none, as {leader!r} is no joint of the file"
                         + (f" ({near})" if near else ""))  # fmt: skip
            joint.remove(mimic)
            continue
        for one, kind in ((name, joint.get("type")), (leader, joints[leader].get("type"))):
            if kind not in (*FREE, "fixed"):
                rule, remedy = " or ".join(FREE), "take <mimic> away"
                raise InputError(path, f"{key}: type of {one}", kind, rule, remedy)
        numbers = (_number(path, key, mimic, *one) for one in (("multiplier", 1), ("offset", 0)))
        found[name] = (leader, *numbers)  # type: ignore[assignment]
    for name, (first, ratio, shift) in found.items():
        way = [name]
        leader = first
        while leader in found:
            if leader in way:
                got = " of ".join([*way, leader])
                raise InputError(path, f"joint {name}: mimic", got, "a leader that follows none")
            way.append(leader)
            leader, own, more = found[leader]
            ratio, shift = ratio * own, ratio * more + shift
        mimic = joints[name].find("mimic")
        assert mimic is not None
        if ratio == 0.0 or joints[leader].get("type") == "fixed":
            notes.append(f"joint {name}: mimic: held at {shift:g}, as its leader never moves it")
            leader = ""
        mimic.attrib.update(joint=leader, multiplier=repr(ratio), offset=repr(shift))


def mimics_of(joints: Mapping[str, Element]) -> dict[str, tuple[str, float, float]]:
    """Follower -> leader ("": none, it stays at the shift), ratio, shift."""
    found = {}
    for name, joint in joints.items():
        if (mimic := joint.find("mimic")) is not None:
            numbers = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
            found[name] = (mimic.get("joint", ""), *numbers)
    return found


def _number(path: Path, key: str, mimic: Element, name: str, absent: float) -> float:
    text = mimic.get(name)
    try:
        value = absent if text is None else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(path, f"{key}: {name}", text, "a finite number")
    return value
