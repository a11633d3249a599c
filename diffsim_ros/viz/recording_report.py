"""The page of `diffsim check`: what recordings hold, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros import __version__
from diffsim_ros.output import plain
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz import style
from diffsim_ros.viz.html import rendered, write_page

TRIALS = 4  # trials that a figure shows
LINES = 8  # points or joints in it
AXES = (("x", style.SIMULATED), ("y", style.GREEN), ("z", style.WARN))


def write_recording_report(
    path: str | Path, examined: Sequence[Any], unreadable: Sequence[str], command: str
) -> Path:
    """Write the page of recordings.check.Examined streams, and of what cannot be read."""
    usable = all(one.barring is None for one in examined) and not unreadable
    streams = [_section(k, one) for k, one in enumerate(examined)]
    sections = [(s["anchor"], s["title"]) for s in streams]
    context = {
        "title": "Recordings",
        "kind": "check of recordings",
        "status": "usable" if usable else "not usable as it is",
        "status_class": "good" if usable else "bad",
        "lead": f"{len(examined)} streams; the verdicts come from the readers that estimate uses.",
        "sections": [*sections, *([("unreadable", "Not readable")] if unreadable else [])],
        "streams": streams,
        "unreadable": unreadable,
        "command": command,
        "motions": [],
        "version": __version__,
        "written": "",
    }
    return write_page(Path(path), rendered("recording.html", context), {})[0]


def _section(k: int, one: Any) -> dict[str, Any]:
    stream = one.stream
    title = f"{stream.path.name}: {stream.sensor}" if stream.sensor else stream.path.name
    figure, caption = stream_figure(one)
    frame = f", frame {stream.frame}" if stream.frame else ""
    return {
        "anchor": f"stream{k}",
        "title": title,
        "tone": "good" if one.refusal is None else "bad",
        "verdict": "usable" if one.refusal is None else "not usable as it is",
        "what": f"{stream.format}: {stream.kind}{frame}; {stream.path}",
        "findings": one.found,
        "uri": style.data_uri(style.png_bytes(figure)),
        "caption": caption,
        "facts": tables.flat(plain(one.figures(), undefined=None)),
    }


def stream_figure(one: Any) -> tuple[Figure, str]:
    """The stream over time, its flights shaded, and what the figure shows."""
    stream = one.stream
    with style.styled():
        figure = style.new_figure(9.6, 3.4)
        axis = figure.subplots()
        if stream.kind == "clouds":
            axis.plot(stream.t - stream.t[0], [len(cloud) for cloud in stream.clouds], "o-", ms=3)
            axis.set(xlabel="time [s]", ylabel="points")
            return figure, "Points of every frame."
        if stream.position is None:
            signal, table = next(iter(stream.measured.items()))
            table = table.reshape(len(stream), len(stream.names), -1)
            for name, columns in zip(stream.names[:LINES], table.transpose(1, 0, 2), strict=False):
                axis.plot(stream.t, columns, lw=1.2, label=name)
            axis.set(xlabel="time [s]", ylabel=signal)
            axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
            return figure, f"The first {min(LINES, len(stream.names))} {stream.kind}."
        _draw_places(axis, one)
        axis.set(xlabel="time, trials one after the other [s]", ylabel="place, recorded units")
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    shown = min(TRIALS, len(one.clock.trials))
    return figure, f"The first {shown} of {len(one.clock.trials)} trials; free flight is shaded."


def _draw_places(axis: Any, one: Any) -> None:
    """x, y, z of every point over the first trials, set one after the other."""
    stream, trial = one.stream, one.clock.trial
    labelled, begin = False, 0.0
    spans = one.gravity.spans if one.gravity else ()
    for number in list(dict.fromkeys(trial.tolist()))[:TRIALS]:
        rows = np.flatnonzero(trial == number)
        t = stream.t[rows] - np.nanmin(stream.t[rows]) + begin
        for point in range(min(LINES, stream.position.shape[1])):
            for k, (name, colour) in enumerate(AXES):
                label = None if labelled else name
                axis.plot(t, stream.position[rows, point, k], color=colour, lw=1.1, label=label)
            labelled = True
        for a, b in spans:
            if rows[0] <= a and b <= rows[-1]:
                axis.axvspan(t[a - rows[0]], t[b - rows[0]], color=style.GRID, lw=0)
        begin = float(np.nanmax(t)) + 0.1
