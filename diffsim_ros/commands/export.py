"""`diffsim export`: a scene's numbers, estimated ones included, for other simulators."""

from __future__ import annotations

import argparse

from diffsim_ros.commands.arguments import add_results, add_scene
from diffsim_ros.commands.results import finish, results_folder


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim export`."""
    add_scene(command)
    command.add_argument(
        "--impact", type=float, default=1.0, metavar="SPEED",
        help="at which MuJoCo's and Gazebo's contacts bounce as the scene's [1 m/s]",
    )  # fmt: skip
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Write MJCF, URDF and SDF; 0, or InputError."""
    from diffsim_ros.scene import load_scene
    from diffsim_ros.scene.export import exported

    model = load_scene(options.scene, estimated=options.estimated, set=options.set)
    files, lacks = exported(model, options.impact)
    with results_folder(options, tuple(files)) as folder, folder.staging() as stage:
        for name, content in files.items():
            (stage / name).write_text(content, encoding="utf-8")
    for name, notes in lacks.items():
        for note in notes:
            print(f"{name} lacks {note}")
    return finish(options, folder, "written", {"lacks": lacks})
