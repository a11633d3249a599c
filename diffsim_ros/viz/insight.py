"""What a Summary tells: which trials to look at, what limits the prediction, intervals."""

from __future__ import annotations

import numpy as np

from diffsim_ros.viz.motion import rotation_matrix
from diffsim_ros.viz.summary import Summary

BOOTSTRAPS = 4000


def mean_intervals(summary: Summary) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return quantity -> simulator -> (mean, low, high): 95 % bootstrap over trials, seeded."""
    rng = np.random.default_rng(0)
    count = len(summary.error_ids)
    rows = rng.integers(0, count, (BOOTSTRAPS, count)) if count else np.zeros((0, 0), dtype=int)
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    for quantity, simulators in summary.errors.items():
        table[quantity] = {}
        for name, values in simulators.items():
            low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
            table[quantity][name] = (float(values.mean()), float(low), float(high))
    return table


def ranked(summary: Summary) -> list[int]:
    """Return the judged trials, best first (by e_q, else by mean distance of the centres)."""

    def badness(i: int) -> float:
        motion = summary.motions[i]
        if "e_q" in motion.errors:
            return float(motion.errors["e_q"])
        return float(motion.position_error().mean()) if motion.paired else 0.0

    return sorted(summary.judged, key=badness)


def chosen(summary: Summary) -> list[tuple[str, int]]:
    """Return ("best" | "median" | "hard" | "worst" | "", index) of trials worth looking at."""
    order = ranked(summary)
    if not order:
        return []
    places = {"best": 0.0, "easy": 0.25, "median": 0.5, "harder": 0.75, "hard": 0.9, "worst": 1.0}
    picks: dict[int, str] = {}
    for word, share in places.items():
        picks.setdefault(order[round(share * (len(order) - 1))], word)
    return [(word, index) for index, word in picks.items()]


def limits(summary: Summary) -> list[str]:
    """Return sentences on what limits the prediction, from the predicted trials themselves."""
    motions = [summary.motions[i] for i in summary.judged if summary.motions[i].paired]
    if not motions:
        return []
    found = []
    e_q = np.array([m.errors.get("e_q", np.nan) for m in motions])
    if np.isfinite(e_q).all() and len(e_q) >= 10 and e_q.sum() > 0:
        worst = np.sort(e_q)[-max(1, len(e_q) // 10) :]
        found.append(
            f"The worst tenth of the tosses ({len(worst)} of {len(e_q)}) carries "
            f"{100 * worst.sum() / e_q.sum():.0f} % of the summed e_q; the median is "
            f"{np.median(e_q):.3g}, the mean {e_q.mean():.3g}."
        )
    other = sum(
        _face_up(m.measured_orientation[-1]) != _face_up(m.simulated_orientation[-1])
        for m in motions
    )
    found.append(
        f"{other} of {len(motions)} predicted cubes end on another face than the measured one. "
        "Near an edge a small error before an impact decides which way a cube falls; such tosses "
        "dominate the rotation error and e_q."
    )
    quarter = [m.position_error()[len(m.t) // 4] for m in motions]
    last = [m.position_error()[-1] for m in motions]
    found.append(
        f"The median distance of the centres grows from {1e3 * np.median(quarter):.1f} mm after a "
        f"quarter of the motion to {1e3 * np.median(last):.1f} mm at its end."
    )
    return found


def _face_up(orientation: np.ndarray) -> tuple[int, bool]:
    """Body axis that points most upwards or downwards, and whether upwards."""
    up = rotation_matrix(orientation)[2]
    axis = int(np.argmax(np.abs(up)))
    return axis, bool(up[axis] > 0)


def recording(summary: Summary) -> list[tuple[str, str]]:
    """Return (label, text) lines on the measured trials: counts, rate, gaps, duration."""
    motions = [m for m in summary.motions if m.measured_position is not None and m.frames > 1]
    if not motions:
        return []
    steps = np.concatenate([np.diff(m.t) for m in motions])
    usual = float(np.median(steps))
    gaps = int((steps > 1.5 * usual).sum())
    length = [m.t[-1] - m.t[0] for m in motions]
    shown = ", ".join(f"{summary.roles.count(r)} {r}" for r in dict.fromkeys(summary.roles))
    edges = " × ".join(f"{1e3 * edge:.1f}" for edge in motions[0].size)
    return [
        ("Tosses shown here", shown),
        ("Frames", f"{sum(m.frames for m in motions)} poses at {1 / usual:.1f} Hz"),
        ("Gaps", "none" if not gaps else f"{gaps}, the longest {1e3 * steps.max():.0f} ms"),
        ("Duration of a toss", f"{min(length):.2f} … {max(length):.2f} s"),
        ("Size of the body", f"{edges} mm (recorded lengths)"),
    ]
