"""Markers in a viser scene: each becomes a node, and of a node only what has changed is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz.markers import Marker, MarkerKind

Array = np.ndarray
GROUPS = (
    ("contact_force", "Contact forces"), ("path/", "Paths"), ("measured/", "Measured"),
    ("simulated/", "Simulated"), ("robot/", "Robot"), ("sdf/", "Surfaces"), ("table", "Ground"),
    ("link/", "Springs and cables"), ("target", "Targets"), ("label", "Labels"),
    ("body/", "Bodies"),
)  # fmt: skip
"""Beginning of a namespace -> the words of the box that hides it."""
OTHERS = "Others"
GRID, GRID_COLOUR = 0.1, (205, 210, 217)
"""Distance [m] and colour of the lines on the ground."""
LINE = 2.5
"""Width of lines [pixels]: those as wide as in the world are drawn twice by viser."""


def group_of(ns: str) -> str:
    """Words of the box that hides a namespace."""
    return next((word for start, word in GROUPS if ns.startswith(start)), OTHERS)


class SceneNodes:
    """Nodes of a viser scene, one for each marker (arrows of a namespace share one).

    nodes   (namespace, id) -> viser's handle
    hidden  words of GROUPS whose markers are not shown
    """

    def __init__(self, server: Any) -> None:
        self._server, self._scene = server, server.scene
        self.nodes: dict[tuple[str, int], Any] = {}
        self.hidden: set[str] = set()
        self._drawn: dict[tuple[str, int], Marker] = {}
        self._meshes: dict[tuple[str, int], Mesh] = {}

    def clear(self) -> None:
        """Remove all nodes."""
        self.show([])

    def show(self, markers: Iterable[Marker]) -> None:
        """Show these markers and no others; clients draw them in one picture."""
        wanted: dict[tuple[str, int], Marker] = {}
        for marker in joined(markers):
            wanted[marker.ns, marker.id] = marker
        with self._server.atomic():
            for key in [key for key in self.nodes if key not in wanted]:
                self._remove(key)
            for key, marker in wanted.items():
                before = self._drawn.get(key)
                if before is not marker:
                    self._draw(key, marker, before)

    def hide(self, group: str, hidden: bool) -> None:
        """Hide or show the markers of one of GROUPS."""
        (self.hidden.add if hidden else self.hidden.discard)(group)
        with self._server.atomic():
            for (ns, _), node in self.nodes.items():
                if group_of(ns) == group:
                    node.visible = not hidden

    def _remove(self, key: tuple[str, int]) -> None:
        self.nodes.pop(key).remove()
        self._drawn.pop(key)
        self._meshes.pop(key, None)

    def _draw(self, key: tuple[str, int], marker: Marker, before: Marker | None) -> None:
        self._drawn[key] = marker
        node = self.nodes.get(key)
        if node is None or before is None or not self._changed(key, node, marker, before):
            self._meshes.pop(key, None)
            self.nodes[key] = self._added(key, marker)

    def _changed(self, key: tuple[str, int], node: Any, marker: Marker, before: Marker) -> bool:
        """Send what differs from the marker before; False where the node must be made anew."""
        same = ("kind", "scale", "colour", "text")
        if any(getattr(marker, name) != getattr(before, name) for name in same):
            return False
        if marker.points is not before.points and not self._bent(key, node, marker):
            return False
        if not np.array_equal(marker.position, before.position):
            node.position = marker.position
        if not np.array_equal(marker.orientation, before.orientation):
            node.wxyz = marker.orientation[[3, 0, 1, 2]]
        return True

    def _bent(self, key: tuple[str, int], node: Any, marker: Marker) -> bool:
        """Send other points of the same node, if it can have them."""
        if len(marker.colours):
            return False
        if marker.kind is MarkerKind.TRIANGLE_LIST:
            mesh = self._meshes[key]
            vertices = mesh.vertices_of(marker.points)
            if vertices is None:
                return False
            node.vertices = vertices
            return True
        if marker.kind is MarkerKind.LINE_LIST:
            ends = segments(marker)
            if len(ends) != len(node.points):
                return False
            node.points = ends
            return True
        if marker.kind is MarkerKind.ARROW and len(marker.points) // 2 == len(node.points):
            node.points = marker.points.reshape(-1, 2, 3).astype(np.float32)
            return True
        return False

    def _added(self, key: tuple[str, int], marker: Marker) -> Any:
        name = f"/{marker.ns}/{marker.id}"
        place = {
            "position": marker.position, "wxyz": marker.orientation[[3, 0, 1, 2]],
            "visible": group_of(marker.ns) not in self.hidden,
        }  # fmt: skip
        colour = colour_of(marker.colour)
        opacity = None if marker.colour[3] >= 1.0 else float(marker.colour[3])
        look = {"color": colour, "opacity": opacity, "cast_shadow": False, "receive_shadow": False}
        scale, kind, scene = marker.scale, marker.kind, self._scene
        if kind is MarkerKind.CUBE:
            node = scene.add_box(name, dimensions=scale, **look, **place)
            if marker.ns == "table":
                self._grid(name, scale)
            return node
        if kind is MarkerKind.SPHERE:
            return scene.add_icosphere(name, radius=0.5, scale=scale, **look, **place)
        if kind is MarkerKind.CYLINDER:
            size = {"radius": 0.5, "height": 1.0, "scale": scale}
            return scene.add_cylinder(name, **size, **look, **place)
        if kind is MarkerKind.TRIANGLE_LIST:
            return self._mesh(key, name, marker, look | place)
        if kind is MarkerKind.LINE_STRIP:  # browsers draw triangles faster than lines
            vertices, faces = tube(segments(marker), scale[0])
            return scene.add_mesh_simple(name, vertices, faces, flat_shading=True, **look, **place)
        if kind is MarkerKind.LINE_LIST:
            return scene.add_line_segments(
                name, segments(marker), colour, thickness=LINE, thickness_units="screen", **place
            )
        if kind is MarkerKind.ARROW:
            return scene.add_arrows(
                name, marker.points.reshape(-1, 2, 3), colour, shaft_radius=scale[0] / 2,
                head_radius=scale[1] / 2, head_length=scale[2], **place,
            )  # fmt: skip
        if kind is MarkerKind.TEXT:
            # a label's letters stand as high as rviz's
            return scene.add_label(
                name, marker.text, font_size_mode="scene", font_scene_height=scale[2],
                anchor="bottom-center", **place,
            )  # fmt: skip
        if kind in (MarkerKind.POINTS, MarkerKind.SPHERE_LIST):
            colours = colour
            if len(marker.colours):
                colours = np.rint(255.0 * marker.colours[:, :3]).astype(np.uint8)
            return scene.add_point_cloud(
                name, marker.points.astype(np.float32), colours, point_size=scale[0] / 2,
                point_shape="circle", point_shading="flat", precision="float32", **place,
            )  # fmt: skip
        raise ValueError(f"Marker {marker.ns}/{marker.id}: {kind.name} is not drawn here")

    def _grid(self, name: str, size: Sequence[float]) -> None:
        """Lines every GRID [m] on the top of a box."""
        self._scene.add_grid(
            f"{name}/grid", width=size[0], height=size[1], cell_size=GRID, section_size=10 * GRID,
            cell_color=GRID_COLOUR, section_color=GRID_COLOUR, shadow_opacity=0.0,
            position=(0.0, 0.0, size[2] / 2 + 1e-3),
        )  # fmt: skip

    def _mesh(self, key: tuple[str, int], name: str, marker: Marker, look: dict) -> Any:
        mesh = self._meshes[key] = Mesh(marker.points)
        if len(marker.colours):
            return self._coloured(name, mesh, marker, look)
        vertices = mesh.vertices_of(marker.points)
        side = "double" if mesh.sheet else "front"
        return self._scene.add_mesh_simple(
            name, vertices, mesh.faces, side=side, scale=marker.scale,
            flat_shading=mesh.faceted, **look,
        )  # fmt: skip

    def _coloured(self, name: str, mesh: Mesh, marker: Marker, look: dict) -> Any:
        """viser's meshes with a colour each vertex are trimesh's."""
        import trimesh

        colours = np.rint(255.0 * marker.colours[mesh.first]).astype(np.uint8)
        vertices = mesh.vertices_of(marker.points)
        found = trimesh.Trimesh(vertices, mesh.faces, vertex_colors=colours, process=False)
        kept = {k: v for k, v in look.items() if k not in ("color", "opacity")}
        return self._scene.add_mesh_trimesh(name, found, scale=marker.scale, **kept)


SHARP = 0.9
"""Cosine between neighbours from which on a mesh is drawn smooth, if nearly all are."""


class Mesh:
    """Triangles of a TRIANGLE_LIST as vertices that they share.

    first    of each vertex, the number of a point that is there                        (n,)
    faces    (k, 3);  sheet  each was there twice, seen from both sides
    faceted  it has edges that should be seen
    """

    def __init__(self, points: Array) -> None:
        rounded = np.round(points, 9)
        _, self.first, index = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
        self._index = index.reshape(-1)
        faces = self._index.reshape(-1, 3)
        same = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1]
        self.sheet = len(same) <= len(faces) // 2
        self.faces = (faces[np.sort(same)] if self.sheet else faces).astype(np.uint32)
        self.faceted = sharp(points[self.first], self.faces)

    def vertices_of(self, points: Array) -> Array | None:
        """Vertices (n, 3) of points of the same triangles elsewhere; None if they are others."""
        if len(points) != len(self._index):
            return None
        vertices = points[self.first]
        if np.abs(vertices[self._index] - points).max(initial=0.0) > 1e-8:
            return None
        return vertices.astype(np.float32)


def sharp(vertices: Array, faces: Array) -> bool:
    """Whether more than a fifth of the edges between triangles are sharp."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(faces)), 3)
    order = np.lexsort(edges.T[::-1])
    edges, owner = edges[order], owner[order]
    twin = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
    if not len(twin):
        return False
    cosine = np.einsum("ij,ij->i", normal[owner[twin]], normal[owner[twin + 1]])
    return bool(np.mean(cosine < SHARP) > 0.2)


def joined(markers: Iterable[Marker]) -> list[Marker]:
    """The markers, arrows of a namespace as one with all their points (2 n, 3)."""
    found, arrows = [], {}
    for marker in markers:
        if marker.kind is MarkerKind.ARROW:
            arrows.setdefault(marker.ns, []).append(marker)
        else:
            found.append(marker)
    return found + [Arrows(ns, group) for ns, group in arrows.items()]


class Arrows:
    """All arrows of a namespace: what SceneNodes asks of a marker."""

    kind, id, text = MarkerKind.ARROW, 0, ""
    colours: tuple = ()

    def __init__(self, ns: str, arrows: Sequence[Marker]) -> None:
        self.ns, self.scale, self.colour = ns, arrows[0].scale, arrows[0].colour
        self.position, self.orientation = arrows[0].position, arrows[0].orientation
        self.points = np.concatenate([arrow.points for arrow in arrows])


def segments(marker: Marker) -> Array:
    """Ends (n, 2, 3) of the lines of a LINE_STRIP or LINE_LIST."""
    points = marker.points.astype(np.float32)
    if marker.kind is MarkerKind.LINE_STRIP:
        return np.stack([points[:-1], points[1:]], axis=1)
    return points.reshape(-1, 2, 3)


def tube(ends: Array, width: float) -> tuple[Array, Array]:
    """Vertices (8 n, 3) and triangles (8 n, 3) of square rods along lines with ends (n, 2, 3)."""
    along = ends[:, 1] - ends[:, 0]
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    upright = np.abs(along[:, 2:]) > 0.9
    side = np.cross(along, np.where(upright, [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]))
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
    other = np.cross(along, side)
    ring = 0.5 * width * np.stack([side, other, -side, -other], axis=1)
    vertices = (ends[:, :, None] + ring[:, None]).reshape(-1, 3)
    k = np.arange(4)
    after = (k + 1) % 4
    one = np.concatenate([np.stack([k, after, after + 4], 1), np.stack([k, after + 4, k + 4], 1)])
    faces = (8 * np.arange(len(ends))[:, None, None] + one).reshape(-1, 3)
    return vertices.astype(np.float32), faces.astype(np.uint32)


def colour_of(colour: Sequence[float]) -> tuple[int, int, int]:
    """Red, green, blue in 0 ... 255."""
    red, green, blue = (round(255 * part) for part in colour[:3])
    return red, green, blue
