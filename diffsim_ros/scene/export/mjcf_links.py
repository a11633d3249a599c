"""Motors as actuators, springs and cables as tendons; what MuJoCo has no place for is noted."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as xml

import numpy as np

from diffsim_ros.scene.export.mjcf_joints import TreeJoints, stiff_constraint
from diffsim_ros.scene.export.numbers import Exported, text
from diffsim_ros.scene.export.tree import tree_of
from diffsim_ros.scene.links.cable import CableLink
from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.links.link import End
from diffsim_ros.scene.links.motor import MotorLink
from diffsim_ros.scene.links.payload import PayloadLink
from diffsim_ros.scene.links.spring import SpringLink

Array = np.ndarray
Nodes = Mapping[str | None, xml.Element]
STIFF = 0.25
"""Of (frequency times step)^2 of a spring: beyond it the spring is held at its rest length."""

FAR = (-1e12, 1e12)
"""[N m or N] for an end of a forcerange that a motor has not."""


def add_links(
    root: xml.Element, nodes: Nodes, data: Exported, joints: TreeJoints, notes: list[str]
) -> None:
    """Put tendons and actuators into the file, their sites into the bodies."""
    tendons, actuators = xml.Element("tendon"), xml.Element("actuator")
    equalities = root.find("equality")
    equalities = xml.Element("equality") if equalities is None else equalities
    for link in data.parts.links:
        if isinstance(link, MotorLink):
            _motor(actuators, link, data, joints, notes)
        elif isinstance(link, SpringLink):
            numbers = {key: data.entries[f"{link.name}.{key}"] for key in link.VALUES}
            for k, pair in enumerate(link.pairs):
                name = link.name if len(link.pairs) == 1 else f"{link.name}_{k}"
                ends, length = [pair["a"], pair["b"]], numbers["rest_length"]
                if _stiff(data, ends, numbers["stiffness"]):
                    _tendon(tendons, nodes, name, ends, {}, "")
                    first = np.linalg.norm(ends[0].place(data.parts) - ends[1].place(data.parts))
                    xml.SubElement(equalities, "tendon", tendon1=name,
                                   polycoef=text(length - first, 0, 0, 0, 0),
                                   **stiff_constraint(data))  # fmt: skip
                    notes.append(f"the stretch of spring {name}, too stiff for steps of this size")
                else:
                    _tendon(tendons, nodes, name, ends, numbers, text(length))
        elif isinstance(link, CableLink) and all(end.vertex is None for end in link.via):
            numbers = {key: data.entries[f"{link.name}.{key}"] for key in link.VALUES}
            slack = text(0.0, numbers["rest_length"])
            _tendon(tendons, nodes, link.name, link.via, numbers | {"damping": 0.0}, slack)
            if numbers["damping"]:
                notes.append(f"the damping of cable {link.name}, which acts under tension alone")
        elif not isinstance(link, JointLink | PayloadLink):
            notes.append(f"{link.WORD} {link.name}")
    for group in (tendons, equalities, actuators):
        if len(group) and group not in root:
            root.append(group)


def _stiff(data: Exported, ends: list[End], stiffness: float) -> bool:
    """Whether MuJoCo, which has springs from the step before, would be thrown by it."""
    lightness = sum(
        1.0 / data.inertial(end.body).mass
        for end in ends
        if end.body is not None and data.parts.bodies[end.body].MOVES
    )
    return stiffness * lightness * data.parts.world["step"] ** 2 > STIFF


def _tendon(
    tendons: xml.Element, nodes: Nodes, name: str, ends: list[End],
    numbers: Mapping[str, float], length: str,
) -> None:  # fmt: skip
    tendon = xml.SubElement(tendons, "spatial", name=name)
    if length:
        tendon.set("springlength", length)
    for word, value in numbers.items():
        if word in ("stiffness", "damping") and value:
            tendon.set(word, text(value))
    for k, end in enumerate(ends):
        site = f"{name}_{k}_end"
        place = end.local if end.world is not None or end.point is not None else [0.0] * 3
        xml.SubElement(nodes[end.body], "site", name=site, pos=text(*place), size="0.005")
        xml.SubElement(tendon, "site", site=site)


def _motor(
    actuators: xml.Element, link: MotorLink, data: Exported, joints: TreeJoints, notes: list[str]
) -> None:
    if link.joint not in joints.names:
        notes.append(f"motor {link.name}: its joint closes a loop")
        return
    gains = {key: data.entries.get(f"{link.name}.{key}", 0.0) for key in link.GAINS}
    kind, own = "motor", {}
    if link.kind == "position":
        kind = "position" if gains["stiffness"] else "velocity"
        own = {"kv": text(gains["damping"])} | (
            {"kp": text(gains["stiffness"])} if gains["stiffness"] else {}
        )
    ends = [data.entries.get(f"{link.name}.{key}") for key in link.LIMITS]
    if any(end is not None for end in ends):
        lower, upper = (far if end is None else end for end, far in zip(ends, FAR, strict=True))
        own["forcerange"] = text(lower, upper)
    first = float(commands(data, link, np.zeros(1))[0])
    xml.SubElement(actuators, kind, name=link.name, joint=joints.names[link.joint].name,
                   **own, start=text(first))  # fmt: skip


def commands(data: Exported, link: MotorLink, time: Array) -> Array:
    """MuJoCo's ctrl (n,) of a motor at times [s]: its keys, of a position motor ahead by what the
    damping of the keys' own rate adds, u = q* + q*' c/k; of one without stiffness the rate."""
    word = "target" if link.kind == "position" else link.kind
    keys = np.array([data.entries[f"{link.name}.{word}[{k}]"] for k in range(len(link.keys))])
    if len(keys) == 1:
        now, rate = np.full(len(time), keys[0]), np.zeros(len(time))
    else:
        place = time / link.interval
        now = np.interp(place, np.arange(len(keys)), keys)
        slope = np.r_[np.diff(keys) / link.interval, 0.0]
        rate = slope[np.minimum(np.floor(place + 1e-9).astype(int), len(keys) - 1)]
    if link.kind != "position":
        return now
    stiffness, damping = (data.entries.get(f"{link.name}.{k}", 0.0) for k in link.GAINS)
    return now + rate * damping / stiffness if stiffness else rate


def controls_csv(data: Exported) -> str | None:
    """ctrl of every motor at every step, a column each; None where none changes."""
    loops = {joint.name for joint in tree_of(data.parts).loops}
    motors = [m for m in data.parts.links if isinstance(m, MotorLink) and m.joint not in loops]
    if not any(len(one.keys) > 1 for one in motors):
        return None
    time = data.parts.world["step"] * np.arange(data.parts.steps + 1)
    table = np.column_stack([time, *(commands(data, one, time) for one in motors)])
    lines = [",".join(["time", *(one.name for one in motors)])]
    lines += [",".join(f"{value:.12g}" for value in row) for row in table.tolist()]
    return "\n".join(lines) + "\n"
