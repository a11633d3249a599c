"""`diffsim check`: what recordings contain, and whether an estimation can use them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

from diffsim_ros import __version__
from diffsim_ros.commands.running import ProgressLine
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "report.html")


def run(options: argparse.Namespace) -> int:
    """Examine the recordings, write and print the verdicts; 0 usable, else InputError."""
    from diffsim_ros.sensing.check import check

    with ProgressLine() as line:
        if options.out is not None:  # refused before any work
            OutputFolder(options.out, FILES, command="check").discard_if_empty()
        examined, unreadable = check(options.data, lambda text: line.show(text, text))
        refusals = [*unreadable, *(one.barring for one in examined if one.barring is not None)]
        if examined:
            line.show("writing the results", "writing")
            with OutputFolder(options.out, FILES, command="check") as folder:
                _write(folder, examined, unreadable, options.data)
    for one in examined:
        print(summary(one))
    if examined:
        print(f"results in {folder.path}")
    if refusals:
        raise refusals[0]
    return 0


def summary(one: Any) -> str:
    """The stream and its verdicts, a line each."""
    stream, trials = one.stream, len(one.clock.trials)
    lines = [
        f"{stream.place}: {stream.kind} ({stream.format}), {trials} trials, {len(stream)} samples: "
        + ("usable" if one.refusal is None else "not usable as it is")
    ]
    for finding in one.found:
        advice = f"; {finding.advice}" if finding.advice else ""
        lines.append(f"  {finding.level:8}  {finding.about}: {finding.text}{advice}")
    return "\n".join(lines)


def _write(folder: OutputFolder, examined: Sequence[Any], unreadable: Sequence[InputError],
           data: Sequence[str]) -> None:  # fmt: skip
    from diffsim_ros.viz.recording_report import write_recording_report

    usable = not unreadable and all(one.barring is None for one in examined)
    document = {
        "command": "check",
        "version": __version__,
        "status": "usable" if usable else "unusable",
        "streams": [one.document() for one in examined],
        "unreadable": [str(error) for error in unreadable],
    }
    metrics = {"usable": int(usable), "streams": {_name(one): one.figures() for one in examined}}
    with folder.staging() as stage:
        write_yaml(stage / "result.yaml", document)
        write_json(stage / "metrics.json", metrics)
        unreadable_lines = [str(error) for error in unreadable]
        write_recording_report(
            stage / "report.html",
            examined,
            unreadable_lines,
            f"diffsim check {shlex.join(map(str, data))}",
        )


def _name(one: Any) -> str:
    """File name and topic, as a key."""
    name = one.stream.path.name
    return f"{name} {one.stream.sensor}" if one.stream.sensor else name
