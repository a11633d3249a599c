"""MuJoCo: a model that runs, of rigid bodies, particles, joints, motors, springs and contacts.

Bodies that joints hold are nested, joints that close loops are equality constraints, contacts are
explicit pairs with a law each. The keyframe `start` is where the scene starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.etree import ElementTree as xml

import numpy as np

from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.scene.contacts import Contact
from diffsim_ros.scene.export.laws import IMPEDANCE, damping_ratio
from diffsim_ros.scene.export.mjcf_joints import TreeJoints
from diffsim_ros.scene.export.mjcf_links import add_links
from diffsim_ros.scene.export.numbers import Exported, Geom, document, geoms, six, text
from diffsim_ros.scene.export.surfaces import NoGeom, SurfaceGeoms
from diffsim_ros.scene.export.tree import tree_of

Array = np.ndarray
GROUND = 5.0
"""Half the edge [m] of a plane's picture, which touches everywhere."""


def mjcf(data: Exported) -> tuple[str, list[str]]:
    """The file, and what of the scene it lacks."""
    return MjcfFile(data).written()


class MjcfFile:
    """One file as it is written."""

    def __init__(self, data: Exported) -> None:
        self.data, self.tree = data, tree_of(data.parts)
        self.notes: list[str] = []
        self.root = xml.Element("mujoco", model=data.name)
        self.nodes: dict[str | None, xml.Element] = {}
        self.joints = TreeJoints(data, self.tree, self.notes)
        self._surfaces: dict[tuple, list[str]] = {}
        self._meshes: dict[str, tuple[str, dict[str, str]]] = {}

    def written(self) -> tuple[str, list[str]]:
        """See mjcf."""
        world = self.data.parts.world
        xml.SubElement(self.root, "compiler", angle="radian")
        xml.SubElement(self.root, "option", timestep=text(world["step"]),
                       gravity=text(*self.data.gravity), cone="elliptic",
                       integrator="implicitfast")  # fmt: skip
        seen = xml.SubElement(self.root, "visual")
        xml.SubElement(seen, "headlight", ambient="0.3 0.3 0.3", diffuse="0.3 0.3 0.3")
        assets = xml.SubElement(self.root, "asset")
        self.nodes[None] = xml.SubElement(self.root, "worldbody")
        xml.SubElement(self.nodes[None], "light", pos="0 0 5", dir="0.2 0.3 -1",
                       directional="true", diffuse="0.4 0.4 0.4", castshadow="false")  # fmt: skip
        for name in self.tree.held:
            self._body(name)
        contacts = self._contacts()
        for name, (file, more) in self._meshes.items():
            xml.SubElement(assets, "mesh", name=name, file=file, **more)
        if not self._meshes:
            self.root.remove(assets)
        if len(contacts):
            self.root.append(contacts)
        self.joints.add_loops(self.root)
        add_links(self.root, self.nodes, self.data, self.joints, self.notes)
        self._keyframe()
        self._soft()
        return document(self.root, self.notes), self.notes

    def _body(self, name: str) -> None:
        held, body = self.tree.held[name], self.data.parts.bodies[name]
        node = xml.SubElement(self.nodes[held.parent], "body", name=name)
        self.nodes[name] = node
        at, turn = self.joints.placed(name)
        if at.any():
            node.set("pos", text(*at))
        if np.abs(turn - np.eye(3)).max() > 1e-12:
            node.set("quat", _quat(quat_from_matrix(turn)))
        if not body.MOVES:
            node.set("mocap", "true")
            if len(body.keys["positions"]) > 1:
                self.notes.append(f"the motion of {name}: set data.mocap_pos and mocap_quat")
        self.joints.add(node, name)
        if body.MOVES:
            mine = self.data.inertial(name)
            xml.SubElement(node, "inertial", pos=text(*mine.centre), mass=text(mine.mass),
                           fullinertia=" ".join(six(mine.inertia).values()))  # fmt: skip
        touching = self.data.contact_geoms(name) if body.MOVES and body.touches else ()
        shape = geoms(name, body.form) if body.CARRIES else ()
        drawn = {geom.name: geom for geom in (*shape, *touching)}
        mass = mine.mass if body.MOVES else 1.0
        law = self.data.first_law(name, mass) if touching else None
        for geom in drawn.values():
            self._geom(node, geom, {} if law is None else _law(law, mass), body.colour)
        seen = self.data.picture(name)
        if seen is not None:
            self._geom(node, seen, {"group": "2"}, body.colour)

    def _geom(
        self, node: xml.Element, geom: Geom, more: Mapping[str, str], colour: list | None = None
    ) -> str:
        """Nothing but the contacts of the scene touches; more: attributes, `group` of a picture."""
        name, found = f"{geom.name}_geom", {"type": geom.kind}
        if geom.moved:
            found |= {"pos": text(*geom.position), "quat": _quat(geom.orientation)}
        if geom.kind == "plane":
            found["size"] = text(GROUND, GROUND, 0.1)
        elif geom.kind == "mesh":
            found["mesh"] = geom.name
            # a picture may be open: no volume is to be found in it
            picture = "group" in more
            self._meshes[geom.name] = geom.file, {"inertia": "shell"} if picture else {}
        else:
            half = 0.5 * geom.size
            size = {"box": half, "sphere": half[:1]}.get(geom.kind, (half[0], 0.5 * geom.along))
            found["size"] = text(*size)
        if colour:
            found["rgba"] = text(*colour)
        xml.SubElement(node, "geom", name=name, **found, **more, contype="0", conaffinity="0")
        return name

    def _contacts(self) -> xml.Element:
        """Pairs; two contacts of the same two geoms, one each way, are one with both k_n."""
        found: dict[tuple[str, str], dict] = {}
        for contact in self.data.parts.contacts:
            if not self.data.parts.bodies[contact.points].MOVES:
                continue  # the other way of its pair is of the same two geoms
            if self.data.parts.bodies[contact.points].SOFT:
                self.notes.append(f"contact {contact.name}: of a {self._type(contact.points)}")
                continue
            try:
                against = self._against(contact)
            except NoGeom as error:
                self.notes.append(f"contact {contact.name}: {error}")
                continue
            mass = self._carried(contact)
            law = self.data.law(contact, mass)
            for one in self.data.contact_geoms(contact.points):
                for other in against:
                    key = tuple(sorted((f"{one.name}_geom", other)))
                    if key in found:
                        found[key]["k_n"] += law["k_n"] * (not law["hard"])
                    else:
                        found[key] = {**law, "mass": mass}
            for word in ("c_s", "f_0"):
                if self.data.entries.get(f"{contact.name}.{word}"):
                    self.notes.append(f"contact {contact.name}: {word}, friction is Coulomb's c_f")
        node = xml.Element("contact")
        for (one, other), law in found.items():
            attributes = _law(law, law["mass"])
            c_f, spin, roll = law["c_f"], law["c_spin"], law["c_roll"]
            attributes["friction"] = text(c_f, c_f, spin, roll, roll)
            xml.SubElement(node, "pair", geom1=one, geom2=other, **attributes)
        return node

    def _type(self, name: str) -> str:
        return self.data.parts.bodies[name].WORD

    def _against(self, contact: Contact) -> list[str]:
        """Names of the geoms of its surface, which are made where they are not there yet."""
        parts = self.data.parts
        if contact.shaped(parts):
            shape = geoms(contact.carrier, parts.bodies[contact.carrier].form)
            return [f"{geom.name}_geom" for geom in shape]
        name = contact.against if isinstance(contact.against, str) else contact.name
        found = SurfaceGeoms(contact.name, parts.sdfs, self.data.entries).of(contact.against, name)
        if contact.carrier is not None and any(geom.kind == "plane" for geom in found):
            raise NoGeom("MuJoCo has planes in the world alone")
        key = (contact.carrier, name, *(tuple(np.r_[g.size, g.position]) for g in found))
        if key not in self._surfaces:
            number = sum(other[:2] == key[:2] for other in self._surfaces)
            node = self.nodes[contact.carrier]
            self._surfaces[key] = [
                self._geom(node, _named(geom, number), {}, [0.6, 0.65, 0.7, 1.0]) for geom in found
            ]
        return self._surfaces[key]

    def _carried(self, contact: Contact) -> float:
        """Mass [kg] on which a contact works: of a body of a tree its share in the tree's, of two
        free ones m1 m2/(m1 + m2)."""
        masses = [self._mass(contact.points)]
        carrier = contact.carrier
        if carrier is not None and self.data.parts.bodies[carrier].MOVES:
            masses.append(self._mass(carrier))
        return 1.0 / sum(1.0 / mass for mass in masses)

    def _mass(self, name: str) -> float:
        root = self.tree.root(name)
        alike = [n for n in self.tree.held if self.tree.root(n) == root and root is not None]
        bodies = [n for n in alike if self.data.parts.bodies[n].MOVES] or [name]
        touching = {contact.points for contact in self.data.parts.contacts} & set(bodies)
        return sum(self.data.inertial(n).mass for n in bodies) / max(len(touching), 1)

    def _keyframe(self) -> None:
        states = self.joints.start(self.root)
        controls = [one.get("start") for one in self.root.iter() if one.get("start") is not None]
        for one in self.root.iter():
            one.attrib.pop("start", None)
        if not states[0].size and not controls:
            return
        key = xml.SubElement(xml.SubElement(self.root, "keyframe"), "key", name="start")
        for word, values in zip(("qpos", "qvel"), states, strict=True):
            if values.size:
                key.set(word, text(*values))
        if controls:
            key.set("ctrl", " ".join(controls))

    def _soft(self) -> None:
        """Elasticity of solids, as a child of their flexcomp."""
        for name in self.data.of_type("cloth", "string"):
            self.notes.append(f"{self._type(name)} {name}")
        for name, solid in self.data.solids().items():
            self.notes.append(f"solid {name}: its elasticity stands at the end, for a flexcomp")
            shear = solid["young"] / (2 * (1 + solid["poisson"]))
            comment = f" {name}: child of its flexcomp, whose mass is {text(solid['mass'])} kg "
            self.root.append(xml.Comment(comment))
            damping = solid["viscosity"] / shear if shear else 0.0
            numbers = {"young": solid["young"], "poisson": solid["poisson"], "damping": damping}
            element = xml.Element("elasticity", {key: text(v) for key, v in numbers.items()})
            self.root.append(xml.Comment(f" {xml.tostring(element, encoding='unicode')} "))


def _law(contact: Mapping[str, float], mass: float) -> dict[str, str]:
    """Friction, and solref in MuJoCo's direct form: -stiffness, -damping per mass."""
    stiffness = contact["k_n"] / (mass * IMPEDANCE)
    damping = 2 * damping_ratio(contact["e"]) * math.sqrt(contact["k_n"] / mass) / IMPEDANCE
    return {
        "condim": "6" if contact["c_roll"] else "4" if contact["c_spin"] else "3",
        "friction": text(contact["c_f"], contact["c_spin"], contact["c_roll"]),
        "solref": text(-stiffness, -damping),
        "solimp": text(IMPEDANCE, IMPEDANCE, 0.001),
    }


def _named(geom: Geom, number: int) -> Geom:
    """The surface of another contact, of another size, needs another name."""
    if not number:
        return geom
    name = f"{geom.name}_{number + 1}"
    return Geom(name, geom.kind, geom.size, geom.position, geom.orientation, geom.file)


def _quat(orientation: Array) -> str:
    return text(*np.asarray(orientation)[[3, 0, 1, 2]])
