"""`diffsim examples`: the scenes, estimations, plans and robots that this package brings, as files
to read, run and change."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import diffsim_ros
from diffsim_ros.commands.arguments import add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.errors import InputError

FOLDERS = ("config", "urdf")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim examples`."""
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Copy the files; 0, or InputError where there are none."""
    source = share_folder()
    files = [p for f in FOLDERS for p in sorted((source / f).rglob("*")) if p.is_file()]
    names = [path.relative_to(source) for path in files]
    with results_folder(options, map(str, names)) as folder, folder.staging() as stage:
        for path, name in zip(files, names, strict=True):
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, stage / name)
    print(f"next: diffsim simulate {folder / 'config'}/scenes/pendulum.yaml")
    return finish(options, folder, "written", {"files": len(names)})


def share_folder() -> Path:
    """Folder that holds config/ and urdf/: the checkout's, or of the installation."""
    package = Path(diffsim_ros.__file__).resolve().parent
    if (package.parent / "package.xml").is_file():
        return package.parent
    for parent in package.parents:
        if (parent / "share" / "diffsim_ros" / "config").is_dir():
            return parent / "share" / "diffsim_ros"
    rule = "an installation with its folder share/diffsim_ros, or a checkout"
    raise InputError("diffsim examples", "config", f"none beside {package}", rule)
