"""The level set of a closed surface of triangles, from a file."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene import mesh_files
from diffsim_ros.scene.mesh_report import check_surface
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.sdfs.surface import LENGTH, Named
from diffsim_ros.scene.sdfs.vdb import LevelSetFile

VOXELS = 64  # default voxel: the longest extent of the mesh divided by this


@part
class MeshSdf(LevelSetFile):
    WORD = "mesh"
    file: str = key(
        "text", ".obj, .stl or .ply of a closed surface, relative to this one", default=REQUIRED
    )
    scale: float | None = key(
        "number",
        "what 1 in the file stands for, as `1 mm`; absent: 1 m, and odd sizes are refused",
        "m",
        **LENGTH,
    )
    voxel: float = key(
        "number", "of the level set; absent: a 64th of the longest extent", "m", **LENGTH
    )
    band: int = key("integer", "half width of the fine grid, in voxels", default=6, minimum=5)
    smoothing: float = key("number", "width of a Gaussian, at most 1.5 voxels", "m", 0.0, minimum=0)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values["file"] = absolute(reader, values["file"])
        vertices, _ = triangles_of(values["file"], values["scale"], reader.place, join(key, "file"))
        if values["voxel"] is None:
            values["voxel"] = float(np.ptp(vertices, axis=0).max()) / VOXELS

    def engine(self, named: Named) -> Any:
        """Kept as .vdb under the content of the mesh where OpenVDB is."""
        from diffsim_ros import _engine

        vertices, triangles = triangles_of(self.file, self.scale, "scene", "mesh", quiet=True)
        settings = (self.voxel, self.band, self.smoothing)
        mark = hashlib.sha256(repr((_engine.vdb_format, *settings)).encode())
        mark.update(vertices.tobytes() + triangles.tobytes())
        kept = mesh_files.cache_folder().parent / "level_sets" / f"{mark.hexdigest()[:24]}.vdb"
        if _engine.has_openvdb and kept.is_file():
            with contextlib.suppress(_engine.InvalidInput):  # cut short or damaged: made again
                return _engine.LevelSet.load(str(kept))
        mesh = _engine.TriangleMesh(vertices, triangles)
        found = _engine.LevelSet(mesh, self.voxel, band=self.band, smoothing=self.smoothing)
        if _engine.has_openvdb:
            # at once: the engine renames; where that fails it only costs time later
            with contextlib.suppress(OSError, _engine.InvalidInput):
                kept.parent.mkdir(parents=True, exist_ok=True)
                found.save(str(kept))
        return found


def triangles_of(
    file: str, scale: float | None, place: object, key: str, *, quiet: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and outward triangles of a file; InputError if they are not closed."""
    vertices, triangles = mesh_files.read_triangles(Path(file), scale, place, key, quiet=quiet)
    return vertices, check_surface(vertices, triangles, place, key)
