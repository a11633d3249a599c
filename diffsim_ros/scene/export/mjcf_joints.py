"""TreeJoints of a scene as MuJoCo's: where they hang, their numbers, where they start.

A joint of MuJoCo moves a body in its parent. Where the body is the scene's body_a its axis is
reversed, so that coordinates keep their sign. They are 0 in the model's first pose, or `ref`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as xml

import numpy as np

from diffsim_ros.rotation import quat_exp, quat_from_matrix, quat_log, quat_matrix
from diffsim_ros.scene.export.numbers import Exported, StartState, text
from diffsim_ros.scene.export.tree import Tree
from diffsim_ros.scene.links.joint import ARMATURE, FRICTION, LIMIT, JointLink

Array = np.ndarray
FAR = 1e3
"""Where a limit is that is not given [rad or m]."""
ARM = 0.1
"""Half the distance [m] of the two points that hold a hinge which closes a loop."""
WORLD = StartState(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))


@dataclass(frozen=True)
class JointPart:
    """One joint of MuJoCo: its kind (hinge, slide, ball, free), name and axis, child's frame."""

    kind: str
    name: str
    axis: Array | None = None


class TreeJoints:
    """TreeJoints of the trees.

    notes  what MuJoCo lacks is added
    """

    def __init__(self, data: Exported, tree: Tree, notes: list[str]) -> None:
        self.data, self.tree, self.notes = data, tree, notes
        self.names: dict[str, JointPart] = {}
        """Joint of the scene -> the part that has its coordinate."""
        self._parts: dict[str, list[JointPart]] = {}

    def placed(self, name: str) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of a body in its parent in the model's first pose."""
        held = self.tree.held[name]
        at, turn = self.data.file_pose(name)
        if held.joint is None:
            return at, turn
        joint, above = held.joint, self.data.file_pose(held.parent)
        mine, other = ("a", "b") if held.turned else ("b", "a")
        apart = above[0] + above[1] @ self.data.anchor(joint, other)
        apart = apart - (at + turn @ self.data.anchor(joint, mine))
        axis = self.data.axis(joint)
        if joint.kind == "slider":
            apart = apart - (apart @ axis) * axis
        elif joint.kind == "planar":
            apart = (apart @ axis) * axis
        shift = apart if np.linalg.norm(apart) > 1e-12 else 0.0
        return above[1].T @ (at + shift - above[0]), above[1].T @ turn

    def add(self, node: xml.Element, name: str) -> None:
        """Put a body's joints into its element."""
        held, joint = self.tree.held[name], self.tree.held[name].joint
        if joint is None:
            self._parts[name] = self._root(node, name)
            return
        self._parts[name] = parts = list(self._of(name))
        anchor = self.data.anchor(joint, "a" if held.turned else "b")
        for part in parts:
            element = xml.SubElement(node, "joint", name=part.name, type=part.kind)
            if part.kind != "slide" and anchor.any():
                element.set("pos", text(*anchor))
            if part.axis is not None:
                element.set("axis", text(*part.axis))
            if part.name == joint.name or joint.kind == "universal":
                self._numbers(element, joint)
        if parts and joint.kind != "universal":
            self.names[joint.name] = parts[-1]

    def _root(self, node: xml.Element, name: str) -> list[JointPart]:
        body = self.data.parts.bodies[name]
        if not body.MOVES:
            return []
        if body.TURNS:
            xml.SubElement(node, "freejoint")
            return [JointPart("free", name)]
        parts = [JointPart("slide", f"{name}_{word}", np.eye(3)[k]) for k, word in enumerate("xyz")]
        for part in parts:
            xml.SubElement(node, "joint", name=part.name, type="slide", axis=text(*part.axis))
        return parts

    def _of(self, name: str) -> Iterator[JointPart]:
        held = self.tree.held[name]
        joint, own = held.joint, self.data.file_pose(name)[1].T
        axis = own @ self.data.axis(joint) * (-1.0 if held.turned else 1.0)
        if joint.kind == "hinge":
            yield JointPart("hinge", joint.name, axis)
        elif joint.kind == "slider":
            yield JointPart("slide", joint.name, axis)
        elif joint.kind == "ball":
            yield JointPart("ball", joint.name)
        elif joint.kind == "planar":
            first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
            first /= np.linalg.norm(first)
            yield JointPart("slide", f"{joint.name}_1", first)
            yield JointPart("slide", f"{joint.name}_2", np.cross(axis, first))
            yield JointPart("hinge", joint.name, axis)
        elif joint.kind == "universal":
            second = own @ self.data.second_axis(joint) * (-1.0 if held.turned else 1.0)
            axes = (second, axis) if held.turned else (axis, second)
            for k, one in enumerate(axes):
                yield JointPart("hinge", f"{joint.name}_{k + 1}", one)

    def _numbers(self, element: xml.Element, joint: JointLink) -> None:
        entries = self.data.entries
        words = (
            ("ref", joint.coordinate),
            ("damping", entries.get(f"{joint.name}.friction_damping", 0.0)),
            ("frictionloss", entries.get(f"{joint.part_name(FRICTION)}.coulomb", 0.0)),
            ("armature", entries.get(f"{joint.part_name(ARMATURE)}.inertia", 0.0)),
        )
        for word, value in words:
            if value:
                element.set(word, text(value))
        if joint.limits:
            own = joint.part_name(LIMIT)
            low, high = entries.get(f"{own}.lower", -FAR), entries.get(f"{own}.upper", FAR)
            element.set("limited", "true")
            element.set("range", text(low, high))
            self.notes.append(f"the stiffness of the limits of joint {joint.name}")

    def add_loops(self, root: xml.Element) -> None:
        """TreeJoints that are not in the trees, and mimic joints, as equality constraints."""
        found = xml.Element("equality")
        stiff = stiff_constraint(self.data)
        for joint in self.tree.loops:
            ends = {"body1": joint.body_b} | ({"body2": joint.body_a} if joint.body_a else {})
            anchor = self.data.anchor(joint, "b")
            axis = self.data.file_pose(joint.body_b)[1].T @ self.data.axis(joint)
            offsets = {"ball": (0.0,), "hinge": (-ARM, ARM)}.get(joint.kind, ())
            for k, along in enumerate(offsets):
                name = joint.name if len(offsets) == 1 else f"{joint.name}_{k + 1}"
                at = text(*(anchor + along * axis))
                xml.SubElement(found, "connect", name=name, **ends, anchor=at, **stiff)
            if joint.kind == "weld":
                xml.SubElement(found, "weld", name=joint.name, **ends, **stiff)
            elif not offsets:
                self.notes.append(f"joint {joint.name}: a {joint.kind} that closes a loop")
            if self.data.entries.get(f"{joint.name}.friction_damping") or joint.limits:
                self.notes.append(f"damping and limits of joint {joint.name}, which closes a loop")
        for joint in self.data.joints():
            if joint.mimic is not None:
                at = {one.name: one.coordinate for one in self.data.joints()}
                zero = joint.ratio * at[joint.mimic] + joint.shift - joint.coordinate
                xml.SubElement(found, "joint", joint1=joint.name, joint2=joint.mimic,
                               polycoef=text(zero, joint.ratio, 0, 0, 0), **stiff)  # fmt: skip
        if len(found):
            root.append(found)

    def start(self, root: xml.Element) -> tuple[Array, Array]:
        """qpos and qvel where the scene starts, in the order of the file's bodies."""
        qpos: list[Array] = []
        qvel: list[Array] = []
        for node in root.iter("body"):
            name = str(node.get("name"))
            for position, velocity in self._started(name):
                qpos.append(np.atleast_1d(position))
                qvel.append(np.atleast_1d(velocity))
        return np.concatenate([[], *qpos]), np.concatenate([[], *qvel])

    def _started(self, name: str) -> Iterator[tuple[Array, Array]]:
        held, parts, here = self.tree.held[name], self._parts[name], self.data.states[name]
        if not parts:
            return
        if parts[0].kind == "free":
            turn = quat_from_matrix(here.turn)[[3, 0, 1, 2]]
            yield np.r_[here.position, turn], np.r_[here.velocity, here.turn.T @ here.spin]
            return
        above = WORLD if held.parent is None else self.data.states[held.parent]
        at, turn = self.placed(name)
        seen = above.turn.T @ here.turn
        turned = turn.T @ seen  # in the child's first axes
        spin = here.turn.T @ (here.spin - above.spin)
        arm = here.position - above.position
        drift = above.turn.T @ (here.velocity - above.velocity - np.cross(above.spin, arm))
        anchor = np.zeros(3)
        if held.joint is not None:
            anchor = self.data.anchor(held.joint, "a" if held.turned else "b")
        moved = above.turn.T @ arm - at + (seen - turn) @ anchor  # of the joint's point
        drift = drift + seen @ np.cross(spin, anchor)
        if parts[0].kind == "ball":
            yield quat_from_matrix(turned)[[3, 0, 1, 2]], spin
            return
        if len(parts) == 2:
            yield from _universal(parts, turned, spin)
            return
        zero = 0.0 if held.joint is None else held.joint.coordinate
        for part in parts:
            ref = zero if held.joint is not None and part.name == held.joint.name else 0.0
            if part.kind == "slide":
                along = turn @ part.axis
                yield ref + along @ moved, along @ drift
            else:
                yield ref + part.axis @ quat_log(quat_from_matrix(turned)), part.axis @ spin


def stiff_constraint(data: Exported) -> dict[str, str]:
    """Numbers of a constraint that is closed as soon as MuJoCo can, in two steps."""
    return {"solref": text(2 * data.parts.world["step"], 1.0), "solimp": text(0.99, 0.99, 0.001)}


def _universal(parts: list[JointPart], turned: Array, spin: Array) -> Iterator[tuple[Array, Array]]:
    """Both angles and rates: turned = exp(first alpha) exp(second beta)."""
    first, second = parts[0].axis, parts[1].axis
    seen = turned @ second
    alpha = np.arctan2(first @ np.cross(second, seen), second @ seen)
    rest = quat_matrix(quat_exp(-alpha * first)) @ turned
    beta = second @ quat_log(quat_from_matrix(rest))
    rates, *_ = np.linalg.lstsq(np.column_stack([turned.T @ first, second]), spin, rcond=None)
    yield alpha, rates[0]
    yield beta, rates[1]
