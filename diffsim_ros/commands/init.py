"""`diffsim init`: a commented scene and estimation for recordings of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from diffsim_ros.commands.arguments import add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.output import write_text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim init`."""
    command.add_argument(
        "--from", dest="data", nargs="+", required=True, metavar="DATA", help="recordings"
    )
    command.add_argument(
        "--size", nargs="+", type=float, metavar="M", help="edge, or three, of the body"
    )
    command.add_argument("--mass", type=float, metavar="KG", help="of the body")
    text = "whose poses, where there are several"
    command.add_argument("--body", metavar="NAME", default="", help=text)
    command.add_argument("--urdf", type=Path, metavar="FILE", help="of the robot, for its joints")
    text = "which streams, where there are several kinds"
    command.add_argument("--kind", metavar="KIND", default="", help=text)
    text = "of a bag that is read, where there are several"
    command.add_argument("--topic", metavar="TOPIC", default="", help=text)
    text = "topic of a robot's commands in a bag; none: they are not read"
    command.add_argument("--commands", metavar="TOPIC", default="", help=text)
    text = "at most, for choosing step and mesh of a soft body by short simulations; 0: guesses"
    command.add_argument("--study", type=float, metavar="SECONDS", default=60.0, help=text)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Write scene.yaml, estimation.yaml and, where they had to be converted, recordings; of a robot
    without commands no scene, and its URDF where that had to be mended; 0."""
    from diffsim_ros.real2sim.discretisation_choice import chosen
    from diffsim_ros.real2sim.first_guess import YAMLS, Given, first, streams_of
    from diffsim_ros.sensing.toss_file import write_tosses

    size = tuple(options.size or ())
    given = Given(size, options.mass, options.urdf, options.topic, options.commands)
    with results_folder(options, YAMLS) as folder, ProgressLine() as line:
        kind = options.kind or ("joints" if options.urdf else "")
        wanted = {"kind": kind, "body": options.body, "topic": options.topic}
        streams = streams_of(options.data, line.show_part, **wanted)
        line.show("examining", "examining")
        made = first(streams, Path(folder.path), given)
        shown, where = (lambda text: line.show(text, text)), Path(folder.path)
        made = run_cancellable(
            lambda token: chosen(made, where, options.study, shown, token), line=line
        )
        texts = {YAMLS[0]: made.scene} if made.scene else {}
        texts |= {YAMLS[1]: made.estimation, **made.files}
        folder.refuse_existing([*made.tosses, *made.files])
        with folder.staging() as stage:
            for name, text in texts.items():
                write_text(stage / name, text)
            for name, trials in made.tosses.items():
                write_tosses(stage / name, trials)
    for note in made.notes:
        print(f"assumed: {note}")
    print(f"written: {', '.join(str(folder / name) for name in (*texts, *made.tosses))}")
    for place in made.missing:
        print(f"fill in: {place}")
    first_of_all = "fill in what is named above, then " if made.missing else ""
    print(f"next: {first_of_all}diffsim estimate {folder / YAMLS[1]}")
    return finish(options, folder, "written", {"fill_in": list(map(str, made.missing))})
