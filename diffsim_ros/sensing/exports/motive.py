"""CSV that OptiTrack Motive exports (format versions 1.2x): rigid bodies and markers.

The first line has pairs of key and value. Lines of types, names, IDs and measures stand above the
columns, whose own line begins with Frame. World axes are Motive's: y up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import InputError, listed
from ...tables import Sheet, read_sheet
from ..columns import METRES
from ..formats import Export
from ..observation import Observation
from .streams import (
    TURNED,
    body_stream,
    data_rows,
    frame_times,
    from_euler,
    marker_stream,
    turned,
    upright,
)

NAME = "Motive CSV"
FIRST = "Format Version"
BODY, MARKERS = "rigid body", ("marker", "rigid body marker")
READ = (("rotation", "X"), ("rotation", "Y"), ("rotation", "Z"), ("rotation", "W"),
        ("position", "X"), ("position", "Y"), ("position", "Z"))  # fmt: skip
Things = dict[tuple[str, str], dict[tuple[str, str], int]]
"""Type and name -> measure and axis -> column."""


def holds(head: Sheet) -> bool:
    """True where the first line is Motive's, or the first below it names types."""
    first = [row for row in head.rows if any(row)][:2]
    known = any(row[0].strip().lstrip("\ufeff") == FIRST for row in first[:1])
    return known or any(len(row) > 2 and row[1].strip() == "Type" for row in first)


def read(path: Path) -> list[Observation]:
    """Poses of every rigid body, and the labelled markers that belong to none.

    Raises InputError: units or a rotation type that are not known, a coordinate space that is not
    global, no columns of either kind.
    """
    sheet = read_sheet(path, "a CSV of Motive")
    header, top = _header(sheet), _columns_row(path, sheet)
    metre, rate = _metre(path, header), _rate(path, header)
    things = _things(path, sheet, top)
    width = len(sheet.rows[top])
    table, notes = data_rows(path, sheet, top + 1, width)
    t, clock = frame_times(table[:, 0], rate, table[:, 1])
    declared = header.get("Total Exported Frames", "")
    if declared.isdigit() and int(declared) != len(table):
        notes.append(f"{len(table)} frames of the {declared} that the header states")
    notes = [*sheet.notes, *notes, *clock,
             f"{rate:g} Hz, {header['Length Units']} by the header; {TURNED}"]  # fmt: skip
    bodies = [name for kind, name in things if kind == BODY]
    left = sorted({kind for kind, _ in things if kind not in (BODY, *MARKERS)})
    if left:
        notes.append(f"left out: columns of {', '.join(left)}")
    places = _places(path, things, bodies, table, metre)
    beside = sum(kind in MARKERS for kind, _ in things) - len(places)
    if beside:
        notes.append(f"{beside} markers of rigid bodies, or solved by them, are not used")
    found = [
        _body(path, name, things[BODY, name], table, t, header, metre, notes, len(bodies) > 1)
        for name in bodies
    ]
    if places:
        found.append(marker_stream(path, NAME, places, t, notes))
    if not found:
        rule = "columns of Rigid Body or Marker"
        raise InputError(path, "columns", listed([kind for kind, _ in things]) or "none", rule)
    return found


def _header(sheet: Sheet) -> dict[str, str]:
    """Pairs of the first line."""
    row = [cell.strip() for cell in next((row for row in sheet.rows if any(row)), [])]
    return dict(zip(row[::2], row[1::2], strict=False)) if row and row[0] == FIRST else {}


def _columns_row(path: Path, sheet: Sheet) -> int:
    """Index of the line of axes, which begins with Frame."""
    for k, row in enumerate(sheet.rows[:SEARCHED]):
        if row and row[0].strip().lower() == "frame":
            return k
    raise InputError(path, "header", "no line that begins with Frame", "a whole CSV of Motive")


SEARCHED = 40
"""Lines in which the header ends."""


def _metre(path: Path, header: dict[str, str]) -> float:
    """Metres in the unit of the file."""
    unit = header.get("Length Units", "")
    if unit.lower() not in METRES:
        rule = "Meters, Centimeters or Millimeters"
        remedy = "export with Header Information" if not unit else ""
        raise InputError(path, "Length Units", unit or "none", rule, remedy)
    space = header.get("Coordinate Space", "Global")
    if space != "Global":
        raise InputError(path, "Coordinate Space", space, "Global", "export in global coordinates")
    return METRES[unit.lower()]


def _rate(path: Path, header: dict[str, str]) -> float:
    """Frames a second of what was exported."""
    text = header.get("Export Frame Rate") or header.get("Capture Frame Rate", "")
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not (np.isfinite(rate) and rate > 0):
        raise InputError(path, "Export Frame Rate", text or "none", "a rate > 0 [Hz]")
    return rate


def _things(path: Path, sheet: Sheet, top: int) -> Things:
    """What the columns are, in their order."""
    above = [row for row in sheet.rows[:top] if any(c.strip() for c in row) and row[0] != FIRST]
    above = [row for row in above if not row[0].strip()]
    labels = [row[1].strip() if len(row) > 1 else "" for row in above]
    if len(above) < 3:
        rule = "lines of types, names and measures above the columns"
        raise InputError(path, "header", f"{len(above)} lines", rule)
    types = above[labels.index("Type") if "Type" in labels else 0]
    named = above[labels.index("Name") if "Name" in labels else 1]
    ids = above[labels.index("ID")] if "ID" in labels else named
    axes, found = sheet.rows[top], Things()
    owner: dict[tuple[str, str], str] = {}
    for k in range(2, len(axes)):
        kind, name, own, measure = (_cell(row, k) for row in (types, named, ids, above[-1]))
        if not kind:
            continue
        key = kind.lower(), name
        if owner.setdefault(key, own) != own:
            rule = f"each {kind} with a name of its own"
            raise InputError(path, "Name", f"{name} twice, IDs {owner[key]} and {own}", rule)
        found.setdefault(key, {})[measure.lower(), _cell(axes, k).upper()] = k
    return found


def _cell(row: list[str], k: int) -> str:
    return row[k].strip() if k < len(row) else ""


def _body(
    path: Path, name: str, columns: dict[tuple[str, str], int], table: np.ndarray, t: np.ndarray,
    header: dict[str, str], metre: float, notes: list[str], several: bool,
) -> Observation:  # fmt: skip
    """Poses of a rigid body."""
    kind = header.get("Rotation Type", "")
    at = {key: columns.get(key) for key in READ}
    euler = at["rotation", "W"] is None
    lacking = [f"{m} {a}" for (m, a), k in at.items() if k is None and not (euler and a == "W")]
    if lacking:
        raise InputError(path, f"columns of {name}", f"no {lacking[0]}", "Rotation and Position")
    where = {key: k for key, k in at.items() if k is not None}
    place = [where["position", axis] for axis in "XYZ"]
    if euler:
        order = kind.upper()
        if sorted(order) != list("XYZ"):
            rule = "Quaternion, or an order of Euler angles: XYZ, XZY, YXZ, YZX, ZXY, ZYX"
            raise InputError(path, "Rotation Type", kind or "none", rule)
        angles = np.radians(table[:, [where["rotation", axis] for axis in order]])
        q = from_euler(angles, order)
        said = f"Euler angles {order} about axes that turn with it [deg]"
    else:
        q = table[:, [where["rotation", axis] for axis in "XYZW"]]
        said = "quaternions"
    used = set(where.values())
    extra = sorted({m for (m, _), k in columns.items() if k not in used})
    own = [f"rigid body {name}, {said}"]
    own += [f"not used: {', '.join(extra)}"] if extra else []
    position = upright(metre * table[:, place])
    return body_stream(path, NAME, name, t, position, turned(q), [*own, *notes], several=several)


def _places(
    path: Path, things: Things, bodies: list[str], table: np.ndarray, metre: float
) -> dict[str, np.ndarray]:
    """Places [m] (n, 3) of the measured markers that belong to no rigid body, by label."""
    places = {}
    measured = {name for kind, name in things if kind == MARKERS[0]}
    for (kind, name), columns in things.items():
        owned = any(name.startswith((f"{body}:", f"{body}_")) for body in bodies)
        if kind not in MARKERS or owned or (kind == MARKERS[1] and (bodies or name in measured)):
            continue
        at = [columns[key] for key in (("position", axis) for axis in "XYZ") if key in columns]
        if len(at) < 3:
            raise InputError(path, f"columns of {name}", "no position", "Position X, Y, Z")
        places[name] = upright(metre * table[:, at])
    # beside bodies, what has no subject has no label
    return places if not bodies or any(":" in name for name in places) else {}


EXPORT = Export(NAME, ("poses", "markers"), (".csv", ".tsv", ".txt"), holds, read)
