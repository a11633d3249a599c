"""What a robot's links look like: the <visual> of its URDF, where there is none its <collision>."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError

from .collision_solids import read_mesh
from .robot import Robot
from .urdf import mesh_file
from .urdf_file import pose_of, read_urdf

SEGMENTS = 24
"""Of circles."""
GREY = (0.55, 0.59, 0.66, 1.0)
"""Of links without a colour."""


@dataclass(frozen=True, eq=False)
class LinkSurface:
    """A part of a link: vertices (n, 3) [m] in the frame of the body that joint `carrier` moves
    (-1: the base), triangles (k, 3), red, green, blue, opacity."""

    link: str
    carrier: int
    vertices: np.ndarray
    triangles: np.ndarray
    colour: tuple[float, ...] = GREY


@dataclass(frozen=True, eq=False)
class LinkPart:
    """A shape of a link as its file has it.

    pose    (4, 4) in the frame of the body that joint `carrier` moves (-1: the base)
    kind    box, sphere, cylinder, capsule or mesh
    values  size (3,); radius, length, both along z; file and scale (3,) [m]
    """

    link: str
    carrier: int
    pose: np.ndarray
    kind: str
    values: Mapping[str, Any]
    colour: tuple[float, ...] = GREY


def link_parts(
    robot: Robot,
    packages: Mapping[str, str | Path] | None = None,
    of: Sequence[str] = ("visual", "collision"),
) -> Iterator[LinkPart]:
    """Visuals of all links of a robot, of those without any their collisions.

    packages  folder of each package:// name, as for `load_robot`
    of        elements of a link: the first kind that it has counts
    """
    path = Path(robot.place)
    root = read_urdf(path, inertia="mend").root
    named = {m.get("name"): m.find("color") for m in root.findall("material")}
    for link in root.findall("link"):
        name = link.get("name") or ""
        name = robot.renamed.get(("link", name), name)
        if name not in robot.frames:
            continue  # of a root that a floating joint carries
        frame = robot.frame(name)
        for shape in next(filter(None, map(link.findall, of)), []):
            kind, values = _geometry(shape, path, packages or {})
            material = shape.find("material")
            colour = material.find("color") if material is not None else None
            if colour is None and material is not None:
                colour = named.get(material.get("name"))
            tint = GREY if colour is None else tuple(_numbers(colour.get("rgba", "1 1 1 1")))
            pose = frame.pose @ pose_of(shape)
            yield LinkPart(name, frame.carrier, pose, kind, values, tint)


def link_shapes(
    robot: Robot, packages: Mapping[str, str | Path] | None = None
) -> tuple[LinkSurface, ...]:
    """Surfaces of all links of a robot; those whose mesh cannot be read are left out."""
    found = []
    for part in link_parts(robot, packages):
        try:
            vertices, triangles = _surface(part)
        except InputError:
            continue  # a picture without it is better than none
        vertices = vertices @ part.pose[:3, :3].T + part.pose[:3, 3]
        found.append(LinkSurface(part.link, part.carrier, vertices, triangles, part.colour))
    return tuple(found)


def _geometry(
    shape: ElementTree.Element, path: Path, packages: Mapping[str, str | Path]
) -> tuple[str, dict[str, Any]]:
    """Kind and values of a LinkPart."""
    (given, *_) = shape.find("geometry")  # type: ignore[misc]
    if given.tag == "box":
        return "box", {"size": _numbers(given.get("size", ""))}
    if given.tag == "mesh":
        file = mesh_file(path, given.get("filename") or "", packages)
        return "mesh", {"file": file, "scale": _numbers(given.get("scale", "1 1 1"))}
    return given.tag, {key: float(given.get(key, "0")) for key in ("radius", "length")}


def _surface(part: LinkPart) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles in the part's own frame; InputError for a mesh that is not there."""
    values = part.values
    if part.kind == "box":
        return box(values["size"])
    if part.kind == "mesh":
        vertices, triangles = read_mesh(values["file"], f"link {part.link}: mesh")
        return vertices * values["scale"], triangles
    if part.kind == "sphere":
        return turned(values["radius"], 0.0, round_ends=True)
    if part.kind in ("cylinder", "capsule"):
        ends = part.kind == "capsule"
        return turned(values["radius"], values["length"] / 2, round_ends=ends)
    raise InputError(part.link, "geometry", part.kind, "a primitive or a mesh")


def box(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (8, 3) and triangles (12, 3), which face outwards, of a box by its edges [m]."""
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    quads = np.array([[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6],
                      [0, 2, 3, 1]])  # fmt: skip
    return (bits - 0.5) * size, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def turned(radius: float, half: float, *, round_ends: bool) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a cylinder about z from -half to half [m], or of a capsule."""
    outline = np.array([[0.0, -half], [radius, -half], [radius, half], [0.0, half]])
    if round_ends:
        angle = np.linspace(-np.pi / 2, np.pi / 2, SEGMENTS // 2 + 2)
        height = half * np.sign(np.round(angle, 9))
        outline = np.stack([radius * np.cos(angle), height + radius * np.sin(angle)], axis=1)
    around = 2 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    vertices = np.stack(
        [np.outer(outline[:, 0], np.cos(around)), np.outer(outline[:, 0], np.sin(around)),
         np.repeat(outline[:, 1:], SEGMENTS, axis=1)], axis=-1
    ).reshape(-1, 3)  # fmt: skip
    ring = np.arange(SEGMENTS)
    after = (ring + 1) % SEGMENTS
    triangles = []
    for low in SEGMENTS * np.arange(len(outline) - 1):
        high = low + SEGMENTS
        triangles += [np.stack([low + ring, low + after, high + after], 1),
                      np.stack([low + ring, high + after, high + ring], 1)]  # fmt: skip
    faces = np.concatenate(triangles)
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return vertices, faces[np.linalg.norm(normal, axis=1) > 1e-12]


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])
