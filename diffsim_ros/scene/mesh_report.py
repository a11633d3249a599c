"""Checks of meshes: what is refused, with place, rule, value and remedy, and what is reported."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.scene.merging import join_volumes
from diffsim_ros.scene.tets import (
    EDGES,
    TetMesh,
    dihedral_angles,
    radius_ratios,
    signed_volumes,
    triangle_areas,
)
from diffsim_ros.surfaces import doubled, without_walls

Array = np.ndarray
SLIVER = 5.0  # least dihedral angle [deg] below which a tet counts as a sliver
PLAUSIBLE = (1e-3, 50.0)  # longest extent [m] outside of which the unit is doubted
WORST = 3  # tets that are named
FLAT = 1e-12  # volume of a degenerate tet as a share of (longest edge)^3


@dataclass(frozen=True)
class PoorTet:
    """A tet by its number, centre [m], least dihedral angle [deg] and radius ratio."""

    tet: int
    centre: tuple[float, float, float]
    dihedral_min: float
    radius_ratio: float


@dataclass(frozen=True)
class MeshedSurface:
    """What is known of the surface that was meshed.

    volume  [m^3] that it encloses
    merged  vertices of the file in the place of an earlier one
    joined  vertices on open edges that became one with others a rounding away
    walls   triangles that were left out where volumes touch
    """

    volume: float
    merged: int
    joined: int
    walls: int


@dataclass(frozen=True)
class MeshReport:
    """Figures of a tetrahedral mesh as it is used.

    vertices, tets, surface_triangles, parts   counts; `parts` are not connected with each other
    volume [m^3], area [m^2], extent [m] (3,), edge_min, edge_mean, edge_max [m]
    dihedral_min, dihedral_max   [deg]
    radius_ratio_min   three times the inner sphere's radius over the outer one's; regular: 1
    worst       the tets of the least radius ratios
    slivers     tets with a dihedral angle below the limit
    flipped     tets that were numbered in reverse (all of them, or none)
    unused      vertices of the file that no tet has; they are left out
    merged      vertices of different volumes in the place of another, which are one with it now
    surface_volume, surface_merged, surface_joined, surface_walls   of the surface that was meshed,
                see MeshedSurface; None: no surface was
    """

    vertices: int
    tets: int
    surface_triangles: int
    parts: int
    volume: float
    area: float
    extent: tuple[float, float, float]
    edge_min: float
    edge_mean: float
    edge_max: float
    dihedral_min: float
    dihedral_max: float
    radius_ratio_min: float
    worst: tuple[PoorTet, ...]
    slivers: int
    flipped: int = 0
    unused: int = 0
    merged: int = 0
    surface_volume: float | None = None
    surface_merged: int | None = None
    surface_joined: int | None = None
    surface_walls: int | None = None

    def plain(self) -> dict:
        """The figures as plain data, for result files."""
        worst = [{**asdict(tet), "centre": list(tet.centre)} for tet in self.worst]
        return {**asdict(self), "extent": list(self.extent), "worst": worst}


def check_tets(
    mesh: TetMesh,
    place: object,
    key: str,
    *,
    least_angle: float = SLIVER,
    any_size: bool = False,
    surface: MeshedSurface | None = None,
    remedy: str = "mesh again, or allow them with least_angle",
) -> tuple[TetMesh, MeshReport]:
    """Return the mesh without unused vertices and with positive tets, and its figures.

    surface: that was meshed, for the report.
    remedy: against slivers, for the error message.
    Raises InputError for broken indices, inverted, degenerate or sliver tets, loose parts, and a
    size that no metres have (unless `any_size`).
    """
    _check_indices(mesh, place, key)
    mesh, unused = without_unused(mesh)
    mesh, flipped = _oriented(mesh, place, key)
    _check_once(mesh, place, key)
    part = _part_of_vertices(mesh)
    parts = len(np.unique(part))
    merged = 0
    if parts > 1:
        mesh, merged = _joined(mesh, part, place, key)
    angles = dihedral_angles(mesh)
    slivers = np.flatnonzero(angles.min(axis=1) < least_angle)
    if len(slivers):
        worst = int(np.argmin(angles.min(axis=1)))
        raise InputError(
            place,
            key,
            f"{len(slivers)} slivers, the worst is tet {worst} with {angles[worst].min():.3g} deg",
            f"dihedral angles of at least {least_angle:g} deg",
            remedy,
        )
    extent = np.ptp(mesh.vertices, axis=0)
    if not any_size:
        check_extent(extent, place, key)
    counts = 1, len(slivers), flipped, unused, merged
    return mesh, _figures(mesh, angles, extent, *counts, surface)


def check_extent(extent: Array, place: object, key: str) -> None:
    """Refuse a mesh so large or small that it is hardly in metres."""
    longest, (low, high) = float(extent.max()), PLAUSIBLE
    if not low <= longest <= high:
        unit = "is the file in millimetres? scale: 0.001" if longest > high else "scale: 1000"
        raise InputError(
            place,
            key,
            f"an extent of {longest:.3g} m",
            f"a longest extent from {low:g} to {high:g} m, or a `scale`",
            f"{unit}; scale: 1 accepts it as it is",
        )


def _figures(mesh, angles, extent, parts, slivers, flipped, unused, merged, meshed) -> MeshReport:
    surface, ratios = TetMesh(mesh.vertices, mesh.corners).boundary(), radius_ratios(mesh)
    worst = tuple(
        PoorTet(
            int(i),
            tuple(map(float, mesh.vertices[mesh.corners[i]].mean(axis=0))),
            float(angles[i].min()),
            float(ratios[i]),
        )
        for i in np.argsort(ratios, kind="stable")[:WORST]
    )
    ends = mesh.vertices[np.unique(np.sort(mesh.corners[:, EDGES], axis=2).reshape(-1, 2), axis=0)]
    edges = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    return MeshReport(
        vertices=len(mesh.vertices),
        tets=len(mesh.tets),
        surface_triangles=len(surface),
        parts=parts,
        volume=float(mesh.volumes().sum()),
        area=float(triangle_areas(mesh.vertices, surface).sum()),
        extent=tuple(float(x) for x in extent),
        edge_min=float(edges.min()),
        edge_mean=float(edges.mean()),
        edge_max=float(edges.max()),
        dihedral_min=float(angles.min()),
        dihedral_max=float(angles.max()),
        radius_ratio_min=float(ratios.min()),
        worst=worst,
        slivers=slivers,
        flipped=flipped,
        unused=unused,
        merged=merged,
        **({f"surface_{key}": value for key, value in asdict(meshed).items()} if meshed else {}),
    )


def _check_indices(mesh: TetMesh, place: object, key: str) -> None:
    if not len(mesh.tets):
        raise InputError(place, key, "no tets", "a mesh with at least one tetrahedron")
    if not np.isfinite(mesh.vertices).all():
        bad = int(np.argwhere(~np.isfinite(mesh.vertices))[0, 0])
        raise InputError(place, key, f"vertex {bad} is {mesh.vertices[bad]}", "finite numbers [m]")
    low, high = int(mesh.tets.min()), int(mesh.tets.max())
    if low < 0 or high >= len(mesh.vertices):
        raise InputError(
            place,
            key,
            f"vertex numbers from {low} to {high}",
            f"numbers from 0 to {len(mesh.vertices) - 1}",
        )


def without_unused(mesh: TetMesh) -> tuple[TetMesh, int]:
    """Leave out vertices that no tet has; return the mesh and how many there were."""
    used = np.unique(mesh.tets)
    if len(used) == len(mesh.vertices):
        return mesh, 0
    new = np.full(len(mesh.vertices), -1)
    new[used] = np.arange(len(used))
    return TetMesh(mesh.vertices[used], new[mesh.tets]), len(mesh.vertices) - len(used)


def _oriented(mesh: TetMesh, place: object, key: str) -> tuple[TetMesh, int]:
    """All tets positive, or all turned if the file numbers them in reverse."""
    volume = signed_volumes(mesh.vertices, mesh.corners)
    longest = np.linalg.norm(
        np.ptp(mesh.vertices[mesh.corners], axis=1), axis=1
    )  # diagonal of the tet's bounding box, as good as its longest edge
    flat = np.flatnonzero(np.abs(volume) <= FLAT * longest**3)
    if len(flat):
        raise InputError(
            place,
            key,
            f"{len(flat)} degenerate tets, the first is number {flat[0]}",
            "tets with a volume",
            "merge or remove them, or mesh again",
        )
    negative = np.flatnonzero(volume < 0)
    if not len(negative):
        return mesh, 0
    if len(negative) < len(volume):
        raise InputError(
            place,
            key,
            f"{len(negative)} inverted tets, the first is number {negative[0]} with "
            f"{volume[negative[0]]:.3g} m^3",
            "tets with a positive volume, all numbered the same way",
            "mesh again",
        )
    swap = [0, 1, 3, 2] if mesh.tets.shape[1] == 4 else [0, 1, 3, 2, 4, 8, 7, 6, 5, 9]
    return TetMesh(mesh.vertices, mesh.tets[:, swap]), len(negative)


def _check_once(mesh: TetMesh, place: object, key: str) -> None:
    corners, first = np.unique(np.sort(mesh.corners, axis=1), axis=0, return_index=True)
    if len(corners) < len(mesh.tets):
        again = np.setdiff1d(np.arange(len(mesh.tets)), first)
        raise InputError(
            place,
            key,
            f"{len(again)} tets with the vertices of an earlier one, the first: number {again[0]}",
            "each tet once",
            "of overlapping physical groups save one, or all elements without groups",
        )


def _joined(mesh: TetMesh, part: Array, place: object, key: str) -> tuple[TetMesh, int]:
    """Loose volumes that share an interface as one, and how many vertices were merged there."""
    joined = join_volumes(mesh, part)
    if joined.parts == 1:
        return joined.mesh, joined.merged
    touch = f", which touch in {joined.touching} vertices but in no face" if joined.touching else ""
    raise InputError(
        place,
        key,
        f"{joined.parts} loose parts{touch}",
        "a mesh in one piece",
        "make each part a body of its own, or mesh them together",
    )


def _part_of_vertices(mesh: TetMesh) -> Array:
    """Number of the connected part that every vertex is of (n,)."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.stack([mesh.tets[:, :-1], mesh.tets[:, 1:]], axis=-1).reshape(-1, 2)
    count = len(mesh.vertices)
    links = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return connected_components(links, directed=False)[1]


def check_surface(vertices: Array, triangles: Array, place: object, key: str) -> Array:
    """Return the triangles of a closed surface, turned so that normals point outwards.

    Walls between volumes that touch are left out: two triangles on each other, turned against each
    other.
    Raises InputError naming what is wrong: holes, edges with more than two triangles, triangles
    that are turned against their neighbours, degenerate ones.
    """
    if not len(triangles):
        raise InputError(place, key, "no triangles", "a closed surface of triangles")
    if not np.isfinite(vertices).all():
        raise InputError(place, key, "coordinates that are not finite", "finite numbers [m]")
    flat = np.flatnonzero(triangle_areas(vertices, triangles) == 0)
    if len(flat):
        raise InputError(
            place,
            key,
            f"{len(flat)} triangles without area, the first is number {flat[0]}",
            "triangles with an area",
            "clean the surface (merge vertices, remove degenerate faces)",
        )
    triangles = without_walls(triangles)
    if not len(triangles):
        raise InputError(
            place,
            key,
            "triangles that all lie on others, turned against them",
            "a closed surface",
            "a sheet with two sides encloses nothing: give it a thickness",
        )
    directed = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    _, count = np.unique(np.sort(directed, axis=1), axis=0, return_counts=True)
    if (count == 1).any():
        raise InputError(
            place, key, f"{(count == 1).sum()} open edges", "a closed surface", "fill its holes"
        )
    if (count > 2).any():
        twice = doubled(triangles)
        layers = f", {twice} triangles with the corners of earlier ones" if twice else ""
        raise InputError(
            place,
            key,
            f"{(count > 2).sum()} edges with more than two triangles{layers}",
            "a surface with two triangles at every edge",
            "remove inner walls and doubled faces",
        )
    if len(np.unique(directed, axis=0)) < len(directed):
        raise InputError(
            place,
            key,
            "neighbouring triangles that are turned against each other",
            "an oriented surface: normals all outwards",
            "make the normals consistent",
        )
    return triangles if enclosed_volume(vertices, triangles) > 0 else triangles[:, ::-1]


def check_sheet(triangles: Array, place: object, key: str) -> None:
    """InputError for a sheet of which two triangles are in one place."""
    if twice := doubled(triangles):
        raise InputError(
            place,
            key,
            f"{twice} triangles with the corners of earlier ones",
            "a sheet of one layer",
            "remove doubled faces and back sides; make a second layer a body of its own",
        )


def enclosed_volume(vertices: Array, triangles: Array) -> float:
    """Volume [m^3] inside a closed surface, negative where its normals point inwards."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)
