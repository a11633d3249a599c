"""A first estimation of a robot from positions and efforts, whatever was commanded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ....errors import InputError, nearest
from ....robots.published import UrdfJoint, joints_of, mended_urdf
from ....robots.urdf import load_robot
from ....sensing.observation import Observation
from ...efforts.friction import COMPARED
from ...first_guess import First, Given, filled, listing
from ..joint.angles import check_angles

MOVES = 0.02
"""Range [rad or m] from which on a joint moves."""
HELD_OUT = 0.3
"""Share of the only trial, at its end, that is held out."""
LEAST = 5.0
"""Trials [s] that a share is held out of."""
MENDED = "mended"
"""What the name of a mended URDF ends with."""


def without_commands(
    logs: Sequence[Observation], files: Sequence[Path], folder: Path, given: Given
) -> First:
    """The estimation of logs of one robot, to be written into `folder`.

    InputError: no efforts, joints that the URDF lacks, none that moves, angles in degrees.
    """
    assert given.urdf is not None
    urdf, notes, further = Path(given.urdf), list[str](), dict[str, str]()
    known = joints_of(urdf)
    names = _logged(logs, known, urdf)
    moving = [n for n in names if _range(logs, n) > MOVES and known[n].free]
    silent = [n for n in moving if not _has_efforts(logs, n)]
    if silent and len(silent) < len(moving):
        moving = [n for n in moving if n not in silent]
        notes.append(f"{', '.join(silent)} move without logged efforts: held at their mean")
    if not moving:
        most = max(_range(logs, name) for name in names)
        rule = f"a joint that moves by more than {MOVES:g} rad (of sliders m)"
        raise InputError(logs[0].place, "position", f"{most:.3g} at most", rule)
    still = [name for name in names if name not in (*moving, *silent)]
    held = {name: _mean(logs, name) for name in names if name not in moving}
    held |= _inside(known, moving, held)
    if still:
        notes.append(f"{', '.join(still)} stand in the log: held where they stand")
    others = [name for name in known if name not in names]
    if others:
        notes.append(f"{len(others)} joints of the URDF that are not logged are held still")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        robot = load_robot(urdf, meshes="ignore", joints=moving, held=held)
    check_angles(robot, logs)
    text = mended_urdf(urdf, folder)
    if text is not None:
        name = f"{urdf.stem}_{MENDED}{urdf.suffix}"
        further[name] = text
        notes += [str(one.message) for one in found]
        notes.append(f"the URDF with what was mended is written as {name}")
    relative = [os.path.relpath(path.resolve(), folder.resolve()) for path in files]
    path = next(iter(further), None) or os.path.relpath(urdf.resolve(), folder.resolve())
    train, validate = _roles(logs, relative, moving)
    if validate == "null":
        notes.append("nothing is held out: the log is short, or a joint moves only at its end")
    notes.append(
        "gains are estimated, joint by joint, with their sign: set measurement.gains to 1 if "
        "efforts are in N m"
    )
    estimation = filled(
        __file__, "first_estimation.yaml", urdf=f'"{path}"', joints=listing(moving),
        held=_pairs(held), topics=given.data, train=train, validate=validate, unit="effort",
        laws=", ".join(COMPARED),
    )  # fmt: skip
    return First("", estimation, {}, tuple(notes), files=further)


def _logged(logs: Sequence[Observation], known: Mapping[str, UrdfJoint], urdf: Path) -> list[str]:
    """Joints that are logged in every trial; InputError for those that the URDF lacks."""
    for log in logs:
        if "effort" not in log.measured:
            rule = "efforts, or commands (q_command or effort_command; JOINT.command_position)"
            remedy = "an array `effort`, or columns JOINT.effort: torques or motor currents"
            raise InputError(log.place, "efforts", "none", rule, remedy)
        for name in log.names:
            if name not in known:  # logs with some of its joints lack the others by now
                rule = f"names of joints of {urdf.name} that are not fixed"
                raise InputError(log.place, "joints", name, rule, nearest(name, known))
    return [name for name in logs[0].names if all(name in log.names for log in logs)]


def _has_efforts(logs: Sequence[Observation], name: str) -> bool:
    every = np.concatenate([log.column(log.measured["effort"], name) for log in logs])
    return bool(np.isfinite(every).mean() >= 0.5)


def _range(logs: Sequence[Observation], name: str) -> float:
    every = np.concatenate([log.column(log.measured["position"], name) for log in logs])
    return float(np.nanmax(every) - np.nanmin(every)) if np.isfinite(every).any() else 0.0


def _mean(logs: Sequence[Observation], name: str) -> float:
    every = np.concatenate([log.column(log.measured["position"], name) for log in logs])
    return round(float(np.nanmean(every)), 9) if np.isfinite(every).any() else 0.0


def _inside(
    known: Mapping[str, UrdfJoint], moving: Sequence[str], held: Mapping[str, float]
) -> dict[str, float]:
    """Positions of held joints that would be outside of their limits: the nearest within."""
    found = {}
    for name, joint in known.items():
        place = held.get(name, 0.0)
        if name not in moving and not joint.lower <= place <= joint.upper:
            found[name] = min(max(place, joint.lower), joint.upper)
    return found


def _roles(
    logs: Sequence[Observation], files: Sequence[str], moving: Sequence[str]
) -> tuple[str, str]:
    """Sections `train` and `validate`: held out is the last of several files, else the last of
    several trials, else the end of the only one; nothing where a joint moves there alone."""
    numbers = sorted({log.trial for log in logs if log.trial is not None})
    end = float(logs[0].t[-1])
    cut, one = round((1.0 - HELD_OUT) * end, 3), f"files: {listing(files)}"
    every = (f"{{{one}}}", "null")
    if len(files) > 1:
        trained = [log for log in logs if log.source != logs[-1].source]
        found = f"{{files: {listing(files[:-1])}}}", f"{{files: {listing(files[-1:])}}}"
    elif len(numbers) > 1:
        trained = [log for log in logs if log.trial != numbers[-1]]
        found = f"{{{one}, trials: {numbers[:-1]}}}", f"{{{one}, trials: {numbers[-1:]}}}"
    elif end > LEAST:
        trained = [logs[0].kept(logs[0].t < cut)]
        found = f"{{{one}, spans: [[0, {cut:g}]]}}", f"{{{one}, spans: [[{cut:g}, {end + 1:g}]]}}"
    else:
        return every
    return found if all(_range(trained, name) > MOVES for name in moving) else every


def _pairs(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f'"{name}": {value:.9g}' for name, value in values.items()) + "}"
