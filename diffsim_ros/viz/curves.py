"""Curves as the compact JSON-ready data that templates/curves.js draws, to be zoomed and panned.

A *view* is what one picker chooses (a recording); it holds groups (a marker, a joint, a body) of
panels that lie above each other and share their horizontal axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.viz import style

if TYPE_CHECKING:
    from diffsim_ros.viz.fit_plots import ParameterRow
    from diffsim_ros.viz.motion import Motion

DIGITS = 6
"""Significant digits that are kept of a number."""
AXES = "xyz"
LOOKS = {
    "measured": (style.MEASURED, "dots"),
    "simulated": (style.SIMULATED, "line"),
    "first guess": (style.MUTED, "line"),
    "commanded": (style.INK, "dash"),
}
"""Name of a line -> its colour, and "dots", "line" or "dash"."""


def line(name: str, t: np.ndarray, y: np.ndarray, look: tuple[str, str] | None = None) -> dict:
    """One curve; t, y (n,), what is not finite leaves a gap; look: default that of LOOKS."""
    colour, kind = look or LOOKS[name]
    return {"name": name, "colour": colour, "kind": kind, "x": numbers(t), "y": numbers(y)}


def panel(title: str, lines: Sequence[dict], *, logarithmic: bool = False) -> dict:
    """Lines of one quantity, its unit in the title."""
    return {"title": title, "lines": list(lines), "log": logarithmic}


def view(name: str, across: str, groups: Mapping[str, Sequence[dict]]) -> dict[str, Any]:
    """One view: across is the label of the axis, groups name -> panels."""
    listed = [{"name": key, "panels": list(panels)} for key, panels in groups.items()]
    return {"name": name, "across": across, "groups": listed}


def numbers(values: np.ndarray) -> list[float | None]:
    """Values (n,) with DIGITS significant digits, None where they are not finite."""
    return [
        float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
        for value in np.asarray(values, float).tolist()
    ]


def paths(t: np.ndarray, named: Mapping[str, np.ndarray]) -> list[dict]:
    """Panels of x, y and z; named: name of LOOKS -> places (n, 3) [mm]."""
    return [
        panel(f"{axis} [mm]", [line(name, t, places[:, k]) for name, places in named.items()])
        for k, axis in enumerate(AXES)
    ]


def poses(motion: Motion) -> list[dict]:
    """Panels of one body's measured and simulated poses."""
    both = {"measured": motion.measured_position, "simulated": motion.simulated_position}
    apart = {
        "distance [mm]": 1e3 * motion.position_error(),
        "angle between them [°]": np.degrees(motion.rotation_error()),
    }
    look = style.INK, "line"
    return [
        *paths(motion.t, {who: 1e3 * place for who, place in both.items()}),
        *(panel(key, [line("apart", motion.t, y, look)]) for key, y in apart.items()),
    ]


def trace(history: Sequence[Any], rows: Sequence[ParameterRow]) -> list[dict]:
    """The fit's own curves: objective and every parameter over the iterations; [] of one step."""
    look = style.SIMULATED, "line"
    if len(history) < 2:
        return []
    count = np.arange(len(history))
    value = np.array([step.objective for step in history])
    positive = bool(np.all(value[np.isfinite(value)] > 0))
    objective = line("objective", count, value, look)
    groups = {"objective": [panel("objective", [objective], logarithmic=positive)]}
    for row in rows:
        path = np.array([step.parameters.get(row.name, np.nan) for step in history], float)
        if np.isfinite(path).any():
            groups[row.name] = [panel(f"{row.name} [{row.unit}]", [line(row.name, count, path,
                                                                          look)])]  # fmt: skip
    return [view("the fit", "iteration", groups)]
