"""The exact solids of a robot's links: the primitives and meshes of its URDF's <collision>.

A solid is a core and all within `radius` of it.  The core is a box (a segment or a point where
edges are zero), a cylinder, or the inside of a mesh; so capsules and spheres are exact too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError
from diffsim_ros.surfaces import merge_surface, without_walls

from .arm import Arm
from .robot import Capsule, Robot
from .urdf import mesh_file
from .urdf_file import pose_of, read_urdf

MESHES = (".stl", ".obj", ".ply")
LARGEST_FILE = 50_000_000
"""Bytes of a mesh file that is read."""
MOST_TRIANGLES = 200_000
SHEET = 0.0025
"""[m] to which an open surface is covered by points; it counts as that much thicker."""
MOST_POINTS = 2_000_000
"""That cover an open surface."""


@dataclass(frozen=True)
class Convex:
    """An engine Sdf of a convex thing, exact: its distance is a convex function."""

    sdf: Any

    def evaluate(self, points: np.ndarray) -> tuple:
        return self.sdf.evaluate(points)


@dataclass(frozen=True, eq=False)
class Solid:
    """name: link, or what is held; carrier: joint that moves it, -1 the base.

    pose    (4, 4) of the core's frame in the carrier's body
    kind    box, cylinder (about z) or mesh: of the core
    half    (3,) half edges [m] of the box about the core, centred in its frame
    radius  [m] by which the core is grown
    field   distance of the whole solid, `evaluate(points (n, 3))[0]` -> (n,) [m], core's frame
    corners (n, 3) of a mesh's vertices, else None
    """

    name: str
    carrier: int
    pose: np.ndarray
    kind: str
    half: np.ndarray
    radius: float
    field: Any
    corners: np.ndarray | None = None

    @property
    def rounded(self) -> bool:
        """Whether it is a sphere or a capsule: its own bounding capsule."""
        return self.kind == "box" and np.count_nonzero(self.half) <= 1

    def capsule(self) -> Capsule:
        """The capsule about it, in the frame of the carrier's body."""
        axis = int(np.argmax(self.half))
        across = np.delete(self.half, axis)
        along = self.half[axis]
        if self.kind == "cylinder" or np.ptp(self.half) == 0.0:
            axis, along, across = 2, self.half[2], self.half[:1]
        radius = float(np.linalg.norm(across)) + self.radius
        ends = np.outer([-along, along], np.eye(3)[axis])
        return Capsule(self.name, self.carrier, ends @ self.pose[:3, :3].T + self.pose[:3, 3],
                       radius)  # fmt: skip

    def outside(self, points: np.ndarray) -> np.ndarray:
        """Distances (n,) of points (n, 3) from the core, <= 0 inside; 0 within a box of cells."""
        if self.kind == "box":
            return np.zeros(len(points))
        return self.field.evaluate(points)[0] + self.radius

    def support(self, normals: np.ndarray) -> np.ndarray:
        """How far it reaches (n,) [m] from the core's centre along unit vectors (n, 3)."""
        if self.kind == "mesh":
            return (normals @ self.corners.T).max(axis=1) + self.radius
        if self.kind == "cylinder":
            across = self.half[0] * np.hypot(normals[:, 0], normals[:, 1])
            return across + self.half[2] * np.abs(normals[:, 2]) + self.radius
        return np.abs(normals) @ self.half + self.radius


def box(name: str, carrier: int, pose: np.ndarray, size: Sequence[float]) -> Solid:
    """A box by its edges [m] about the origin of `pose`."""
    from diffsim_ros import _engine

    half = np.asarray(size, float) / 2
    return Solid(name, carrier, pose, "box", half, 0.0, Convex(_engine.Box(half)))


def cylinder(name: str, carrier: int, pose: np.ndarray, radius: float, length: float) -> Solid:
    """A cylinder about z and the origin of `pose`, lengths in m."""
    from diffsim_ros import _engine

    half = np.array([radius, radius, length / 2])
    field = Convex(_engine.Cylinder(length / 2, radius))
    return Solid(name, carrier, pose, "cylinder", half, 0.0, field)


def capsule(name: str, carrier: int, ends: np.ndarray, radius: float) -> Solid:
    """All within `radius` [m] of the line between two points (2, 3) of the carrier's body."""
    from diffsim_ros import _engine

    ends, pose = np.asarray(ends, float), np.eye(4)
    along = ends[1] - ends[0]
    half = float(np.linalg.norm(along)) / 2
    pose[:3, 3] = ends.mean(axis=0)
    if half > 1e-9:
        pose[:3, :3] = Rotation.align_vectors([along / (2 * half)], [[0, 0, 1]])[0].as_matrix()
        field = _engine.Capsule(half, radius)
    else:
        half, field = 0.0, _engine.Sphere(radius)
    return Solid(name, carrier, pose, "box", np.array([0, 0, half]), radius, Convex(field))


def mesh(
    name: str, carrier: int, pose: np.ndarray, vertices: np.ndarray, triangles: np.ndarray
) -> Solid:
    """What triangles (m, 3) of vertices (n, 3) [m] enclose; themselves where they are not closed.

    Raises InputError: no triangles, indices without a vertex, numbers that are not finite.
    """
    vertices, triangles = checked_mesh(name, vertices, triangles)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centred, middle = np.eye(4), (low + high) / 2
    centred[:3, 3] = middle
    field = mesh_field(vertices - middle, triangles)
    corners = np.unique(vertices[triangles.ravel()] - middle, axis=0)
    return Solid(name, carrier, pose @ centred, "mesh", (high - low) / 2, 0.0, field, corners)


def checked_mesh(
    name: str, vertices: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) that triangles use, and these (m, 3); InputError (see `mesh`)."""
    vertices = np.asarray(vertices, float).reshape(-1, 3)
    triangles = np.asarray(triangles, int).reshape(-1, 3)
    if not 1 <= len(triangles) <= MOST_TRIANGLES:
        raise InputError(name, "triangles", len(triangles), f"1 to {MOST_TRIANGLES} triangles")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        rule = f"0 to {len(vertices) - 1}, the number of a vertex"
        raise InputError(name, "triangles", int(triangles.max()), rule)
    used, triangles = np.unique(triangles, return_inverse=True)
    vertices, triangles = vertices[used], triangles.reshape(-1, 3)
    if not np.all(np.abs(vertices) < 1e3):
        raise InputError(name, "vertices", float(np.abs(vertices).max()), "numbers below 1000 m")
    return vertices, triangles


def mesh_field(vertices: np.ndarray, triangles: np.ndarray) -> Any:
    """Distance of a mesh: signed where it is closed, once vertices in one place are one, and walls
    between volumes that touch are left out; else of a sheet."""
    from diffsim_ros import _engine

    merged = merge_surface(vertices, triangles)
    for x, faces in ((vertices, triangles), (merged.vertices, without_walls(merged.triangles))):
        # open, or turned inside out, or crossing itself; then with what roundings part as one
        with contextlib.suppress(_engine.InvalidInput):
            return _Closed(_engine.TriangleMesh(x, faces))
    return _Sheet(vertices[triangles])


class _Closed:
    """Exact signed distance of a closed mesh."""

    def __init__(self, triangles: Any) -> None:
        self._triangles = triangles

    def evaluate(self, points: np.ndarray) -> tuple[np.ndarray]:
        return (self._triangles.distance(points),)


class _Sheet:
    """A lower bound, at most SHEET too small, of the distance to triangles (m, 3, 3)."""

    def __init__(self, triangles: np.ndarray) -> None:
        from scipy.spatial import cKDTree

        done, most = [], 0
        while len(triangles):  # halved until each is within SHEET of its centroid
            centres = triangles.mean(axis=1)
            wide = np.linalg.norm(triangles - centres[:, None], axis=2).max(axis=1) > SHEET
            done.append(centres[~wide])
            most += len(done[-1])
            triangles = _halved(triangles[wide])
            if most + len(triangles) > MOST_POINTS:
                rule = f"at most {MOST_POINTS} pieces of {1e3 * SHEET:g} mm"
                raise InputError("mesh", "a surface that is not closed", "too large", rule,
                                 "close it, or use primitives")  # fmt: skip
        self._tree = cKDTree(np.concatenate(done))

    def evaluate(self, points: np.ndarray) -> tuple[np.ndarray]:
        return (self._tree.query(points)[0] - SHEET,)


def _halved(triangles: np.ndarray) -> np.ndarray:
    """Each triangle (m, 3, 3) cut across its longest edge."""
    edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
    turn = (np.argmax(edges, axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.moveaxis(np.take_along_axis(triangles, turn[:, :, None], axis=1), 1, 0)
    middle = (a + b) / 2
    return np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])


def solids_of(
    robot: Robot, packages: Mapping[str, str | Path] | None = None
) -> tuple[list[Solid], list[str]]:
    """Solids of all links of a robot, and a sentence for each link with something unchecked.

    packages  folder of each package:// name, as for `load_robot`
    """
    path, solids, unseen = Path(robot.place), [], []
    for link in read_urdf(path, inertia="mend").root.findall("link"):
        name = link.get("name", "")
        name = robot.renamed.get(("link", name), name)
        if name not in robot.frames:
            continue  # of a root that a floating joint carries
        shapes = link.findall("collision")
        if not shapes and link.find("visual") is not None:
            unseen.append(f"{name} has no <collision>: it is not checked")
        for shape in shapes:
            try:
                solids.append(_solid(robot, name, shape, path, packages or {}))
            except InputError as error:
                unseen.append(f"{name} is not checked: {error}")
    return solids, unseen


def _solid(
    robot: Robot, name: str, shape: ElementTree.Element, path: Path, packages: Mapping
) -> Solid:
    frame, (given, *_) = robot.frame(name), shape.find("geometry")
    pose = frame.pose @ pose_of(shape)
    if given.tag == "box":
        return box(name, frame.carrier, pose, _numbers(given.get("size")))
    if given.tag in ("cylinder", "capsule"):
        radius, length = float(given.get("radius")), float(given.get("length"))
        if given.tag == "cylinder":
            return cylinder(name, frame.carrier, pose, radius, length)
        ends = np.outer([-length / 2, length / 2], pose[:3, 2]) + pose[:3, 3]
        return capsule(name, frame.carrier, ends, radius)
    if given.tag == "sphere":
        return capsule(name, frame.carrier, np.tile(pose[:3, 3], (2, 1)),
                       float(given.get("radius")))  # fmt: skip
    if given.tag == "mesh":
        found = mesh_file(path, given.get("filename") or "", packages)
        vertices, triangles = read_mesh(found, f"mesh {given.get('filename')}")
        vertices = vertices * _numbers(given.get("scale", "1 1 1"))
        return mesh(name, frame.carrier, pose, vertices, triangles)
    raise InputError(path, f"link {name}: collision", given.tag, "a primitive or a mesh")


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def read_mesh(path: Path | None, place: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) of a file; InputError where it cannot be used."""
    if path is None or path.suffix.lower() not in MESHES or not path.is_file():
        raise InputError(place, "file", str(path), f"a file ending in {', '.join(MESHES)}")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(place, "file", path.stat().st_size, f"at most {LARGEST_FILE} bytes")
    try:
        import trimesh

        found = trimesh.load(path, force="mesh", process=False)
    except ImportError as error:
        remedy = "pip install trimesh (extra mesh)"
        raise InputError(place, "", "trimesh is not installed", "a reader", remedy) from error
    except Exception as error:  # of whatever trimesh reads with
        got = f"{type(error).__name__}: {error}"
        raise InputError(place, "", got, "a readable mesh") from error
    return np.asarray(found.vertices, float), np.asarray(found.faces, int)


def gripper_of(arm: Arm) -> list[Solid]:
    """The capsule of the key `gripper` of the robot's YAML, if it has one."""
    if arm.gripper is None:
        return []
    ends, radius = arm.gripper
    frame = arm.robot.frame(arm.tool)
    return [capsule("gripper", frame.carrier, ends @ frame.pose[:3, :3].T + frame.pose[:3, 3],
                    radius)]  # fmt: skip


def ball(arm: Arm, name: str, radius: float, offset: Sequence[float]) -> Solid:
    """A ball at a place (3,) [m] in the tool's frame: what the gripper holds."""
    frame = arm.robot.frame(arm.tool)
    centre = frame.pose[:3, :3] @ np.asarray(offset, float) + frame.pose[:3, 3]
    return capsule(name, frame.carrier, np.stack([centre, centre]), radius)
