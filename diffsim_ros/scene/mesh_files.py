"""Meshes from files: tets as they are, surfaces meshed to tets, triangles for cloth.

Surfaces (.obj .stl .ply) are read by trimesh (surface_files.py), tets (.msh .mesh .vtk .vtu) by
meshio, and surfaces are meshed by fTetWild (pytetwild); the three are the extra `mesh`.  fTetWild
gives another mesh at every call, so its results are cached under the content of the surface.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import re
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.files import read_bytes, require_regular
from diffsim_ros.scene import surface_files, tetwild
from diffsim_ros.scene.mesh_report import (
    MeshedSurface,
    check_extent,
    check_surface,
    enclosed_volume,
)
from diffsim_ros.scene.tets import TetMesh
from diffsim_ros.scene.trial_reading import try_reading
from diffsim_ros.scene.vtu_check import check_vtu
from diffsim_ros.surfaces import Merged, merge_surface

Array = np.ndarray
SURFACES = (".obj", ".stl", ".ply")
FORMATS = {".msh": "gmsh", ".mesh": "medit", ".vtk": "vtk", ".vtu": "vtu"}  # meshio's names
TETS = tuple(FORMATS)
CORNERS = {"tetra": 4, "tetra10": 10}
FLAT_CELLS = re.compile("empty|vertex|line|triangle|quad|polygon|pixel|.*_(CURVE|TRI|QUAD)")
VTK_TYPES = {"2": "poly-vertex", "4": "polyline", "6": "triangle strip", "11": "voxel",
             "41": "convex point set", "42": "polyhedron"}  # fmt: skip
LARGEST, HEADER = 2**30, 2**16  # bytes of a mesh file, and of it where a header stands
EDGE_SHARE = 0.1  # default edge of meshed tets, as a share of the surface's bounding diagonal
# meshio numbers quadratic tets 01 12 02 03 13 23 (VTK, its own order), as scene.tets does.


def _library(name: str, place: object, key: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            place,
            key,
            f"no module {name!r}",
            "an installation that can read meshes",
            "pip install trimesh meshio 'pytetwild<0.3' (extra mesh)",
        ) from error


def suffix_of(path: Path, accepted: tuple[str, ...], place: object, key: str) -> str:
    """Suffix of a mesh file that exists; InputError otherwise."""
    suffix = path.suffix.lower()
    if suffix not in accepted:
        raise InputError(place, key, str(path), "a file ending in " + ", ".join(accepted))
    require_regular(path, "a mesh file that exists", place=place, key=key, limit=LARGEST)
    return suffix


def read_triangles(
    path: Path, scale: float | None, place: object, key: str, *, quiet: bool = False
) -> tuple[Array, Array]:
    """Vertices (n, 3) [m] and triangles (k, 3), see `read_surface`."""
    merged = read_surface(path, scale, place, key, quiet=quiet)
    return merged.vertices, merged.triangles


def read_surface(
    path: Path, scale: float | None, place: object, key: str, *, quiet: bool = False
) -> Merged:
    """The triangles of an .obj, .stl or .ply, in m.

    Vertices are numbered as in the file, without those of no triangle and those in the place of an
    earlier one (surfaces.py). A UserWarning counts those that were not in its place exactly.
    quiet: without it, of what is drawn alone, or read again
    """
    suffix = suffix_of(path, SURFACES, place, key)
    trimesh = _library("trimesh", place, key)
    rule = surface_files.RULE
    content = read_bytes(path, rule, limit=LARGEST)
    declared = _declared(path, content, rb"element\s+(vertex|face)\s+(\S+)", place, key)
    vertices, triangles = surface_files.load(path, suffix, content, trimesh, place, key)
    if suffix == ".ply" and len(triangles) < declared.get(b"face", 0):
        raise InputError(
            place, key, f"{path}: {len(triangles)} triangles", f"{declared[b'face']}", "cut?"
        )
    if triangles.ndim != 2 or not len(triangles):
        raise InputError(place, key, f"{path} without triangles", "a surface of triangles")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise InputError(place, key, f"{path}: a vertex that is missing", rule)
    if not np.isfinite(vertices[triangles]).all():
        raise InputError(place, key, f"{path}: a vertex that is not finite", rule)
    factor = 1.0 if scale is None else scale
    found = merge_surface(vertices, triangles)
    found = replace(found, vertices=factor * found.vertices, apart=factor * found.apart)
    if scale is None:
        check_extent(np.ptp(found.vertices, axis=0), place, key)
    if found.near and not quiet:
        text = (f"{path}: {found.near} vertices on open edges became one with others up to "
                f"{found.apart:.2g} m from them")  # fmt: skip
        warnings.warn(text, UserWarning, stacklevel=1)  # once, whoever reads the file again
    return found


def read_tets(path: Path, scale: float | None, place: object, key: str) -> TetMesh:
    """Tets of a .msh, .mesh, .vtk or .vtu file, linear ones or quadratic ones; nothing repaired."""
    form = _tet_format(path, suffix_of(path, TETS, place, key), place, key)
    meshio, rule = _library("meshio", place, key), "a readable mesh file"
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as said,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            mesh = meshio.read(path, file_format=form)
    except (Exception, SystemExit) as error:  # meshio exits the interpreter on some bad files
        raise InputError(place, key, f"{path}: {error}", rule) from error
    _check_all_read(path, mesh, said.getvalue(), place, key)
    kind = _one_kind(path, mesh, place, key)
    if form == "gmsh":
        _check_physical_volumes(path, mesh, place, key)
    tets = np.asarray(mesh.cells_dict[kind], np.int64)
    vertices = np.asarray(mesh.points, float)[:, :3] * (1.0 if scale is None else scale)
    if not len(tets) or not len(vertices) or vertices.shape[1] != 3:
        raise InputError(place, key, f"{path}: {len(tets)} tetrahedra", "a mesh of tetrahedra")
    if tets.shape[1] != CORNERS[kind]:  # meshio spreads what a cut file still has over all of them
        found = f"{path}: {tets.shape[1]} corners of each tetrahedron"
        raise InputError(place, key, found, str(CORNERS[kind]), "cut?")
    if tets.min() < 0 or tets.max() >= len(vertices) or not np.isfinite(vertices).all():
        raise InputError(place, key, f"{path}: a vertex that is missing or not finite", rule)
    return TetMesh(vertices, tets)


def _check_all_read(path: Path, mesh: Any, said: str, place: object, key: str) -> None:
    """InputError where meshio left out cells of a .vtk or .vtu: it only warns of them."""
    content = path.read_bytes()
    forms = {
        ".vtk": rb"\nCELL_TYPES\s+(\d{1,18})\b",
        ".vtu": rb'NumberOfCells\s*=\s*["\'](\d{1,18})\b',
    }
    announced = re.findall(forms.get(path.suffix.lower(), rb"$^"), content)
    missing = sum(map(int, announced)) - sum(len(block.data) for block in mesh.cells)
    if announced and missing:
        types = sorted(set(re.findall(r"type\s+(\d+)", said)), key=int)
        of = " of type " + ", ".join(f"{t} ({VTK_TYPES.get(t, 'unknown')})" for t in types)
        raise InputError(
            place, key, f"{path}: {missing} cells{of if types else ''} that cannot be read",
            "tetrahedra, and flat cells of usual kinds",
        )  # fmt: skip


def _one_kind(path: Path, mesh: Any, place: object, key: str) -> str:
    """meshio's name of the only kind of volume cells; InputError for others, with their numbers."""
    count = dict.fromkeys((block.type for block in mesh.cells), 0)
    for block in mesh.cells:
        count[block.type] += len(block.data)
    volumes = {kind: n for kind, n in count.items() if n and not FLAT_CELLS.match(kind)}
    if len(volumes) != 1 or not set(volumes) <= set(CORNERS):
        found = ", ".join(f"{n} {kind}" for kind, n in sorted((volumes or count).items()))
        remedy = "cells that are no tetrahedra have to be split into such, or meshed again"
        raise InputError(
            place, key, f"{path}: cells: {found or 'none'}",
            "tetrahedra of one kind (tetra or tetra10), no other cells with a volume",
            remedy if volumes else "",
        )  # fmt: skip
    (kind,) = volumes
    return kind


def _check_physical_volumes(path: Path, mesh: Any, place: object, key: str) -> None:
    """InputError for a volume that Gmsh's file names but has no cells of."""
    tags = np.concatenate([np.zeros(0), *mesh.cell_data.get("gmsh:physical", [])])
    for name, (tag, dimension) in mesh.field_data.items():
        members = mesh.cell_sets.get(name)  # of format 4.1; of older ones every cell has one tag
        if dimension == 3 and not (any(map(len, members)) if members else tag in tags):
            got, rule = f"{path}: physical volume {name!r} without cells", "cells in every volume"
            raise InputError(place, key, got, rule, "mesh it, or leave its name out")


def _declared(path: Path, content: bytes, form: bytes, place: object, key: str) -> dict[bytes, int]:
    """Counts of a header, the first of each name; each item takes a byte at least."""
    found: dict[bytes, int] = {}
    for name, text in re.findall(form, content[:HEADER]):
        try:
            found.setdefault(name, int(text))
        except ValueError as error:
            got = f"{path}: {name.decode()} {text[:40]!r}"
            raise InputError(place, key, got, "a whole number") from error
        if not 0 <= found[name] <= len(content):
            got = f"{path}: {name.decode()} {found[name]}"
            raise InputError(place, key, got, f"at most {len(content)}, as the file has bytes")
    return found


def _tet_format(path: Path, suffix: str, place: object, key: str) -> str:
    """meshio's name of the format; a .msh must be Gmsh's (its reader of others hangs on damage)."""
    rule = "a readable mesh file"
    content = read_bytes(path, rule, limit=LARGEST)
    if suffix == ".msh" and not content.lstrip().startswith(b"$MeshFormat"):
        raise InputError(place, key, f"{path}: no $MeshFormat", "a .msh of Gmsh")
    if suffix == ".msh":
        try_reading("gmsh", path, place, key, rule)
    _declared(path, content, rb"\n(POINTS|CELLS|CELL_TYPES)\s+(\S+)", place, key)
    if suffix == ".vtu":
        check_vtu(path, content, place, key)
    return FORMATS[suffix]


def write_tets(path: Path, mesh: TetMesh) -> None:
    """Write a mesh as .vtk, .msh, .mesh or .vtu; the numbers survive to the last bit in .vtk."""
    meshio = _library("meshio", path, "")
    kind = "tetra" if mesh.tets.shape[1] == 4 else "tetra10"
    with contextlib.redirect_stdout(io.StringIO()):
        whole = meshio.Mesh(mesh.vertices, [(kind, mesh.tets)])
        whole.write(path, file_format=FORMATS[path.suffix.lower()])


def cache_folder() -> Path:
    """Where meshed surfaces are kept: $XDG_CACHE_HOME or ~/.cache, then diffsim_ros/tets."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "diffsim_ros" / "tets"


def mesh_surface(
    path: Path, scale: float | None, edge: float | None, place: object, key: str
) -> tuple[TetMesh, MeshedSurface]:
    """Mesh a closed surface with tets of about `edge` [m]; return them and what is known of it.

    The result is kept in `cache_folder()` under the content of the surface, and taken from there.
    """
    read = read_surface(path, scale, place, key)
    vertices, triangles = read.vertices, check_surface(read.vertices, read.triangles, place, key)
    diagonal = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    volume, walls = enclosed_volume(vertices, triangles), len(read.triangles) - len(triangles)
    surface = MeshedSurface(volume, read.same, read.near, walls)
    edge = EDGE_SHARE * diagonal if edge is None else edge
    if not edge < diagonal:
        raise InputError(
            place, f"{key}.edge", edge, f"an edge shorter than the surface, {diagonal:.3g} m"
        )
    version = _library("pytetwild", place, key).__version__
    digest = hashlib.sha256(repr((edge, "pytetwild", version)).encode())
    digest.update(vertices.tobytes() + triangles.tobytes())
    kept = cache_folder() / f"{digest.hexdigest()[:24]}.npz"
    if kept.is_file():
        with np.load(kept) as saved:
            return TetMesh(saved["vertices"], saved["tets"]), surface
    try:
        mesh = TetMesh(*tetwild.tetrahedralize(vertices, triangles, edge / diagonal))
    except RuntimeError as error:
        rule = "a surface that fTetWild can mesh"
        raise InputError(place, key, f"{path}: {error}", rule, "try another `edge`") from error
    if not len(mesh.tets):
        raise InputError(place, key, str(path), "a surface that encloses a volume", "finer `edge`")
    _keep(kept, mesh)
    return mesh, surface


def _keep(path: Path, mesh: TetMesh) -> None:
    """Save a mesh at once; a folder that cannot be written only costs time later."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, vertices=mesh.vertices, tets=mesh.tets)
        os.replace(name, path)
    except OSError:
        return


def digest_of(mesh: TetMesh) -> str:
    """Fingerprint of a mesh, to the last bit."""
    return hashlib.sha256(mesh.vertices.tobytes() + mesh.tets.tobytes()).hexdigest()[:16]
