"""`diffsim check`: what recordings contain, and whether an estimation can use them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "report.html")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim check`."""
    command.add_argument("data", nargs="+", metavar="DATA", help="files, bags, folders")
    add_results(command, report="report.html")


def run(options: argparse.Namespace) -> int:
    """Examine the recordings, write and print the verdicts; 0 usable, else InputError."""
    from diffsim_ros.sensing.check import check

    with ProgressLine() as line:
        if options.out is not None:  # refused before any work
            results_folder(options, FILES).discard_if_empty()
        examined, unreadable = check(options.data, line.show_part)
        refusals = [*unreadable, *(one.barring for one in examined if one.barring is not None)]
        if examined:
            line.show("writing the results", "writing")
            with results_folder(options, FILES) as folder:
                figures = _write(folder, examined, unreadable, options)
    for one in examined:
        print(summary(one))
    if examined:
        finish(options, folder, "unusable" if refusals else "usable", figures)
    if refusals:
        raise refusals[0]
    return 0


def summary(one: Any) -> str:
    """The stream and its verdicts, a line each."""
    stream, count = one.stream, len(one.clock.trials)
    trials = "1 trial" if count == 1 else f"{count} trials"
    lines = [
        f"{stream.place}: {stream.kind} ({stream.format}), {trials}, {len(stream)} samples: "
        + ("usable" if one.refusal is None else "not usable as it is")
    ]
    for finding in one.found:
        advice = f"; {finding.advice}" if finding.advice else ""
        lines.append(f"  {finding.level:8}  {finding.about}: {finding.text}{advice}")
    return "\n".join(lines)


def _write(folder: OutputFolder, examined: Sequence[Any], unreadable: Sequence[InputError],
           options: argparse.Namespace) -> dict:  # fmt: skip
    """Write the files, return the content of metrics.json."""
    usable = not unreadable and all(one.barring is None for one in examined)
    document = {
        "command": "check",
        "version": __version__,
        "status": "usable" if usable else "unusable",
        "streams": [one.document() for one in examined],
        "unreadable": [str(error) for error in unreadable],
    }
    named = zip(_names(examined), examined, strict=True)
    metrics = {"usable": int(usable), "streams": {name: one.figures() for name, one in named}}
    with folder.staging() as stage:
        write_yaml(stage / "result.yaml", document)
        write_json(stage / "metrics.json", metrics)
        if not options.no_report:
            from diffsim_ros.viz.recording_report import write_recording_report

            write_recording_report(
                stage / "report.html",
                examined,
                document["unreadable"],
                f"diffsim check {shlex.join(map(str, options.data))}",
            )
    return metrics


def _names(examined: Sequence[Any]) -> list[str]:
    """File names and topics, as keys; with the folder where two files have one name."""
    paths = {one.stream.path.name: set[Any]() for one in examined}
    for one in examined:
        paths[one.stream.path.name].add(one.stream.path)
    found = []
    for one in examined:
        path, sensor = one.stream.path, one.stream.sensor
        name = path.name if len(paths[path.name]) == 1 else str(path)
        found.append(f"{name} {sensor}" if sensor else name)
    return found
