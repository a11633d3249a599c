"""Long stretches in which a tracker saw nothing: they part trials, as gaps of the stamps do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .clock import TRIAL_GAP
from .observation import Observation


def parted(poses: Observation) -> Observation:
    """The poses without blank stretches longer than TRIAL_GAP, and without blanks at both ends.

    A tracker's export has a line for every frame, seen or not: what parts the trials of a bag by
    its stamps parts those of a table by its blank lines. Shorter stretches stay, as lost samples.
    A note counts what was left out.
    """
    if poses.numbers is not None or len(poses) < 2:
        return poses
    lost = ~np.isfinite(poses.position).all(axis=2).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    keep = np.ones(len(poses), bool)
    inside = 0
    for begin, end in edges.reshape(-1, 2):
        before, after = max(begin - 1, 0), min(end, len(poses) - 1)
        outer = begin == 0 or end == len(poses)
        if outer or poses.t[after] - poses.t[before] > TRIAL_GAP:
            keep[begin:end] = False
            inside += not outer
    if keep.all() or not keep.any():
        return poses
    note = f"{int(np.sum(~keep))} blank samples at the ends and between trials are left out"
    if inside:
        stretches = "1 stretch" if inside == 1 else f"{inside} stretches"
        note += f": {stretches} of more than {TRIAL_GAP:g} s part{'s' * (inside == 1)} the trials"
    return replace(poses.kept(keep), notes=(*poses.notes, note))
