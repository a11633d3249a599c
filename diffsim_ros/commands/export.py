"""`diffsim export`: a scene's numbers, estimated ones included, for other simulators."""

from __future__ import annotations

import argparse

from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder

FILES = ("scene.mjcf.xml", "scene.urdf", "scene.sdf")


def run(options: argparse.Namespace) -> int:
    """Write MJCF, URDF and SDF; 0, or InputError."""
    from diffsim_ros.scene import export, load_scene

    model = load_scene(options.scene, estimated=options.estimated)
    data = export.Exported(model)
    if not (data.rigid() or data.solid()):
        rule = "a scene with a rigid body or a solid"
        raise InputError(options.scene, "bodies", sorted(model.bodies), rule)
    meshes = data.files()
    names = (*FILES, *meshes)
    with OutputFolder(options.out, names, command="export") as folder, folder.staging() as stage:
        for name, write in zip(FILES, (export.mjcf, export.urdf, export.sdf), strict=True):
            (stage / name).write_text(write(data), encoding="utf-8")
        for name, content in meshes.items():
            (stage / name).write_text(content, encoding="utf-8")
    print(f"results in {folder.path}")
    return 0
