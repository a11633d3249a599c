"""`diffsim export`: a scene's numbers, estimated ones included, for other simulators."""

from __future__ import annotations

import argparse

from diffsim_ros.commands.arguments import add_results, add_scene
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.errors import InputError

FILES = ("scene.mjcf.xml", "scene.urdf", "scene.sdf")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim export`."""
    add_scene(command)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Write MJCF, URDF and SDF; 0, or InputError."""
    from diffsim_ros.scene import export, load_scene

    model = load_scene(options.scene, estimated=options.estimated, set=options.set)
    data = export.Exported(model)
    if not (data.rigid() or data.solid()):
        rule = "a scene with a rigid body or a solid"
        raise InputError(options.scene, "bodies", sorted(model.bodies), rule)
    meshes = data.files()
    names = (*FILES, *meshes)
    with results_folder(options, names) as folder, folder.staging() as stage:
        for name, write in zip(FILES, (export.mjcf, export.urdf, export.sdf), strict=True):
            (stage / name).write_text(write(data), encoding="utf-8")
        for name, content in meshes.items():
            (stage / name).write_text(content, encoding="utf-8")
    return finish(options, folder, "written", {})
