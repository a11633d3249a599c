"""`diffsim twin`: the twin of a plan, as a TWIN.yaml to read, change and rehearse in."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from diffsim_ros.commands.arguments import add_changes, add_estimated, add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml
from diffsim_ros.yaml_file import read_mapping

if TYPE_CHECKING:
    from diffsim_ros.twin.twin import Twin

FILE = "twin.yaml"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim twin`."""
    command.add_argument("plan", metavar="PLAN.yaml")
    add_estimated(command)
    add_changes(command, "search.seed=1")
    text = "factor on every c_f [1]"
    command.add_argument("--friction", type=float, default=1.0, metavar="F", help=text)
    command.add_argument(
        "--shift", nargs=4, action="append", default=[], metavar=("BODY", "X", "Y", "Z"),
        help="[m] by which a body is placed elsewhere: what is held in the tool's frame",
    )  # fmt: skip
    text = "sigma of the gripper's latency [0]"
    command.add_argument("--jitter", type=float, default=0.0, metavar="S", help=text)
    text = "a depth camera too, that looks at the first goal"
    command.add_argument("--camera", action="store_true", help=text)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Write the twin of a plan; InputError where the plan has no arm."""
    from diffsim_ros.planning.as_twin import twin_of
    from diffsim_ros.planning.load import load_plan
    from diffsim_ros.twin.config import load_twin

    config = load_plan(options.plan, estimated=options.estimated, set=options.set)
    found = twin_of(
        config, friction=options.friction, shift={name: by for name, *by in options.shift},
        jitter=options.jitter, camera=options.camera,
    )  # fmt: skip
    load_twin(found, base=config.place)  # refuses what is not possible
    folder = results_folder(options, (FILE,))
    with folder.staging() as stage:
        write_yaml(stage / FILE, found)
    print(f"twin in {folder / FILE}")
    return finish(options, folder, "written", {})


def twin_at(path: str | Path) -> Twin:
    """The twin of a TWIN.yaml, or of a PLAN.yaml (its own scene); raises InputError."""
    from diffsim_ros.twin.twin import Twin

    content, place = read_mapping(path, None)
    if isinstance(content, Mapping) and "excitation" in content:
        if not isinstance(content.get("twin"), str):
            rule, remedy = "a TWIN.yaml with `efforts`", "config/twin/ur5_efforts.yaml is one"
            raise InputError(place, "twin", content.get("twin"), rule, remedy)
        return Twin(Path(place).parent / content["twin"])
    if not (isinstance(content, Mapping) and "goals" in content):
        return Twin(path)
    from diffsim_ros.planning.as_twin import twin_of  # a TWIN.yaml is read sooner without
    from diffsim_ros.planning.load import load_plan

    return Twin(twin_of(load_plan(path)), base=place)
