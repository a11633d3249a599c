"""Which change of contact makes the derivatives of a motion depend on its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .simulation_problem import SimulationProblem


@dataclass(frozen=True)
class Cause:
    """What spreads the derivative most: an element of the scene, what it does, when [s]."""

    element: str
    event: str
    time: float

    def __str__(self) -> str:
        return f"{self.element} {self.event} at {self.time:.4g} s"


def cause_of(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray | None, base: Sequence[Any],
    others: Sequence[Sequence[Any]], loose: np.ndarray,
) -> Cause | None:  # fmt: skip
    """The change of modes at or before the row where the spread of S rises most, for good.

    base, others  rollouts of all trials as they are, and at other phases;  loose  (nz,) bool
    """
    best: tuple[float, Cause | None] = (0.0, None)
    for k, rollout in enumerate(base):
        S = np.array([_moved(problem, z, y, k, other[k])[:, :, loose] for other in others])
        size = np.sqrt(np.sum(S.mean(axis=0) ** 2, axis=1))  # (F, columns)
        wide = np.sqrt(np.sum(S.std(axis=0) ** 2, axis=1))
        share = wide / np.maximum(size, np.maximum(1e-3 * size.max(axis=0), 1e-300))
        lasting = np.minimum.accumulate(np.median(share, axis=1)[::-1])[::-1]
        rise = np.diff(lasting)
        if not len(rise):
            continue
        row = int(np.argmax(rise)) + 1
        event = _event(problem.scene, rollout, *rollout.time[[row - 1, row]])
        if event is not None and rise[row - 1] > best[0]:
            best = (float(rise[row - 1]), event)
    return best[1]


def _moved(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray | None, trial: int, rollout: Any
) -> np.ndarray:
    """S of trial's bodies (F, 2 rows of means, nz): poses, and velocities times T."""
    duration, parts = float(rollout.time[-1]), []
    for S, scale in ((rollout.dx, 1.0), (rollout.dv, duration)):
        for slot in problem._slots.values():
            if not slot.size:
                continue
            rows = S[:, slot.dof : slot.dof + slot.size]
            if slot.count > 1:
                rows = rows.reshape(len(S), -1, 3, S.shape[2]).mean(axis=1)
            parts.append(scale * rows)
    moved = np.concatenate(parts, axis=1)
    if not problem._directed:
        na = len(problem.active)
        moved = moved @ problem._slopes(trial, z, problem._rows(y)[trial])[0][:na]
    return moved


def _event(scene: Any, rollout: Any, begin: float, end: float) -> Cause | None:
    """Last change of modes until `end` [s]; within begin ... end the first of a touch."""
    touch: list[tuple[float, int, Cause]] = []
    for name in scene.element_names:
        first, count = scene.modes_of(name)
        codes = rollout.modes[:, first : first + count].astype(int) & 3
        if not codes.size:
            continue
        contact = name in scene.contact_names
        if contact:
            codes = (codes > 0).astype(int)
        before = np.vstack([np.zeros_like(codes[:1]), codes[:-1]])
        for step in np.flatnonzero(np.any(codes != before, axis=1)):
            change = int((codes[step] - before[step]).sum())
            word = "changes" if not contact else ("begins" if change >= 0 else "ends")
            time = float((step + 1) * rollout.step)
            touch.append((time, 0 if contact else 1, Cause(name, word, time)))
    inside = [t for t in touch if begin - rollout.step < t[0] <= end + rollout.step]
    if inside:
        return min(inside, key=lambda t: (t[1], t[0]))[2]
    earlier = [t for t in touch if t[0] <= end]
    return max(earlier, key=lambda t: (t[0], -t[1]))[2] if earlier else None
