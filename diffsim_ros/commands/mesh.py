"""`diffsim mesh`: check a mesh, or mesh a surface, and write tets that a scene can name."""

from __future__ import annotations

import argparse
from pathlib import Path

from diffsim_ros import __version__
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "tets.vtk")


def run(options: argparse.Namespace) -> int:
    """Check or mesh the file, print its figures, write tets.vtk; 0, or InputError."""
    from diffsim_ros.scene import mesh_files
    from diffsim_ros.scene.mesh_report import check_tets

    path, place = Path(options.file), "diffsim mesh"
    for key, value in (("--edge", options.edge), ("--scale", options.scale)):
        if value is not None and not value > 0:
            raise InputError(place, key, value, "a number > 0")
    if path.suffix.lower() in mesh_files.SURFACES:
        mesh, _ = mesh_files.mesh_surface(path, options.scale, options.edge, place, str(path))
    else:
        mesh_files.suffix_of(path, mesh_files.SURFACES + mesh_files.TETS, place, "file")
        mesh = mesh_files.read_tets(path, options.scale, place, str(path))
    any_size, least = options.scale is not None, options.least_angle
    mesh, report = check_tets(mesh, place, str(path), least_angle=least, any_size=any_size)
    document = {"command": "mesh", "version": __version__, "file": str(path),
                "status": "converged", "digest": mesh_files.digest_of(mesh)}  # fmt: skip
    with OutputFolder(options.out, FILES, command="mesh") as folder, folder.staging() as stage:
        mesh_files.write_tets(stage / "tets.vtk", mesh)
        write_yaml(stage / "result.yaml", document)
        write_json(stage / "metrics.json", report.plain())
    print(table([[key, _shown(value)] for key, value in report.plain().items()]))
    print(f"results in {folder.path}")
    return 0


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(entry) for entry in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
