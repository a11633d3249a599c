"""`diffsim mesh`: check a mesh, or mesh a surface, and write tets that a scene can name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_json, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.scene.mesh_report import PoorTet

FILES = ("result.yaml", "metrics.json", "tets.vtk")
APART = 0.02  # volumes of tets and surface, above which a warning is given


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim mesh`."""
    command.add_argument("file", metavar="SURFACE|TETS", help=".obj .stl .ply, or .msh .mesh .vtk")
    command.add_argument("--edge", type=float, metavar="M", help="of the tets [a tenth]")
    command.add_argument("--scale", type=float, metavar="F", help="on the coordinates [1]")
    text = "of the worst tet [5]"
    command.add_argument("--least-angle", type=float, default=5.0, metavar="DEG", help=text)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Check or mesh the file, print its figures, write tets.vtk; 0, or InputError."""
    from diffsim_ros.scene import mesh_files
    from diffsim_ros.scene.mesh_report import check_tets

    path, place, surface = Path(options.file), "diffsim mesh", None
    for key, value in (("--edge", options.edge), ("--scale", options.scale)):
        if value is not None and not value > 0:
            raise InputError(place, key, value, "a number > 0")
    if path.suffix.lower() in mesh_files.SURFACES:
        mesh, surface = mesh_files.mesh_surface(path, options.scale, options.edge, place, str(path))
    else:
        mesh_files.suffix_of(path, mesh_files.SURFACES + mesh_files.TETS, place, "file")
        mesh = mesh_files.read_tets(path, options.scale, place, str(path))
    any_size, least = options.scale is not None, options.least_angle
    mesh, report = check_tets(
        mesh, place, str(path), least_angle=least, any_size=any_size, surface=surface
    )
    document = {"command": "mesh", "version": __version__, "file": str(path),
                "status": "converged", "digest": mesh_files.digest_of(mesh)}  # fmt: skip
    with results_folder(options, FILES) as folder, folder.staging() as stage:
        mesh_files.write_tets(stage / "tets.vtk", mesh)
        write_yaml(stage / "result.yaml", document)
        write_json(stage / "metrics.json", report.plain())
    figures = {**report.plain(), "worst": [_named(tet) for tet in report.worst]}
    print(table([[key, _shown(value)] for key, value in figures.items() if value is not None]))
    apart = 0.0 if surface is None else report.volume / surface.volume - 1
    if abs(apart) > APART:
        print(f"warning: the tets' volume is {apart:+.1%} of the surface's: "
              "a smaller --edge follows it more closely")  # fmt: skip
    return finish(options, folder, document["status"], report.plain())


def _named(tet: PoorTet) -> str:
    at = " ".join(f"{x:.4g}" for x in tet.centre)
    return f"{tet.tet} at ({at}): {tet.dihedral_min:.3g} deg, {tet.radius_ratio:.3g}"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(entry) for entry in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
