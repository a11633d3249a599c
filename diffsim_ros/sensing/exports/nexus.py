"""CSV that Vicon Nexus exports: the section Trajectories, in which markers have labels.

A section is its title, its rate, labels over triples of columns, their axes, their units, and a
line a frame; an empty line ends it. Other sections (Devices, Model Outputs, ...) may stand before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import InputError, listed
from ...tables import Sheet, read_sheet
from ..columns import METRES
from ..formats import Export
from ..observation import Observation
from .streams import data_rows, frame_times, marker_stream

NAME = "Nexus CSV"
TITLE = "Trajectories"
OTHERS = ("Devices", "Model Outputs", "Segments", "Joints", "Objects", "Events")
"""Sections without markers."""


def holds(head: Sheet) -> bool:
    """True where a section of Nexus begins the file, with its rate below."""
    rows = [row for row in head.rows if any(cell.strip() for cell in row)]
    return len(rows) > 2 and _title(rows[0]) in (TITLE, *OTHERS) and _alone(rows[1])


def read(path: Path) -> list[Observation]:
    """The labelled markers.

    Raises InputError: a file without trajectories, labels or units that are not known.
    """
    sheet = read_sheet(path, "a CSV of Nexus")
    titles = [(k, _title(row)) for k, row in enumerate(sheet.rows) if _title(row)]
    begin = next((k for k, title in titles if title == TITLE), None)
    if begin is None:
        got = listed([title for _, title in titles])
        remedy = "export Trajectories too (docs/how-to/nexus.md), or C3D"
        raise InputError(path, "sections", got, f"a section {TITLE}", remedy)
    rows = [k for k in range(begin + 1, min(begin + 9, len(sheet.rows))) if any(sheet.rows[k])]
    if len(rows) < 5:
        rule = "rate, labels, axes and units above the frames"
        raise InputError(path, TITLE, f"{len(rows)} lines", rule)
    labels, axes, units = (sheet.rows[k] for k in rows[1:4])
    rate = _rate(path, sheet.rows[rows[0]])
    places, notes = _columns(path, labels, axes, units)
    width = max(len(axes), max(max(at) for at, _ in places.values()) + 1)
    table, cut = data_rows(path, sheet, rows[4], width, cut_blanks=True)
    t, _ = frame_times(table[:, 0], rate)
    others = [title for _, title in titles if title != TITLE]
    notes = [*sheet.notes, f"{rate:g} Hz, {_said(places)} by the header", *notes, *cut]
    if others:
        notes.append(f"left out: sections {listed(others)}")
    found = {name: metre * table[:, at] for name, (at, metre) in places.items()}
    return [marker_stream(path, NAME, found, t, notes)]


def _title(row: list[str]) -> str:
    """The title of a section that a line is, "" of others."""
    title = row[0].strip() if row else ""
    return title if title in (TITLE, *OTHERS) and not any(c.strip() for c in row[1:]) else ""


def _alone(row: list[str]) -> bool:
    """True of a line with one number."""
    try:
        return float(row[0]) > 0 and not any(cell.strip() for cell in row[1:])
    except ValueError:
        return False


def _rate(path: Path, row: list[str]) -> float:
    if not _alone(row) or not np.isfinite(float(row[0])):
        raise InputError(path, "rate", ",".join(row)[:40], "a number > 0 [Hz] below the title")
    return float(row[0])


def _columns(
    path: Path, labels: list[str], axes: list[str], units: list[str]
) -> tuple[dict[str, tuple[list[int], float]], list[str]]:
    """Label -> columns of x, y, z and metres in their unit; notes of columns that are left out."""
    found: dict[str, dict[str, int]] = {}
    left: list[str] = []
    label = ""
    for k in range(2, len(axes)):
        if k < len(labels) and labels[k].strip():
            label = labels[k].strip()
        if axes[k].strip() in ("X", "Y", "Z") and label:
            found.setdefault(label, {})
            if axes[k].strip() in found[label]:
                raise InputError(path, "labels", f"{label!r} twice", "each label once")
            found[label][axes[k].strip()] = k
        elif axes[k].strip():
            left.append(axes[k].strip())
    whole = {name: [at[axis] for axis in "XYZ"] for name, at in found.items() if len(at) == 3}
    if not whole:
        raise InputError(path, "labels", "none over X, Y, Z", "labelled trajectories")
    result = {}
    for name, at in whole.items():
        said = {units[k].strip().lower() if k < len(units) else "" for k in at}
        unit = said.pop() if len(said) == 1 else ""
        if unit not in METRES:
            raise InputError(path, f"unit of {name}", unit or "none", ", ".join(("mm", "cm", "m")))
        result[name] = at, METRES[unit]
    notes = [f"left out: columns {listed(list(dict.fromkeys(left)))}"] if left else []
    return result, notes


def _said(places: dict[str, tuple[list[int], float]]) -> str:
    metres = {metre for _, metre in places.values()}
    return "mm" if metres == {1e-3} else "units" if len(metres) > 1 else f"{metres.pop():g} m"


EXPORT = Export(NAME, ("markers",), (".csv", ".tsv", ".txt"), holds, read)
