"""Pictures of a legged robot's motion, from plain arrays: poses in space, footfalls, joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

SHOWN = 4
"""Poses that are drawn solid."""
FORCE = 0.5
"""Length of an arrow of one weight over the height of the centre of mass."""


@in_style
def poses_in_space(
    segments: np.ndarray, com: np.ndarray, contacts: np.ndarray, contact: np.ndarray,
    forces: np.ndarray,
) -> Figure:  # fmt: skip
    """Poses at instants, paths of contact points and of the centre of mass, forces.

    segments  (T, k, 2, 3) [m] lines of the robot's links
    com (T, 3), contacts (T, m, 3) [m], contact (T, m) flags; forces (T, m, 3) in weights
    """
    figure = style.new_figure(8.0, 5.2)
    axis = figure.add_subplot(projection="3d")
    instants = np.unique(np.linspace(0, len(segments) - 1, SHOWN).round().astype(int))
    for rank, i in enumerate(instants):
        strength = 0.25 + 0.75 * rank / max(1, len(instants) - 1)
        for a, b in segments[i]:
            axis.plot(*np.stack([a, b], axis=1), color=style.INK, lw=1.6, alpha=strength)
        for j in np.flatnonzero(contact[i]):
            tip = contacts[i, j] + FORCE * com[i, 2] * forces[i, j]
            line = np.stack([contacts[i, j], tip], axis=1)
            axis.plot(*line, color=style.WARN, lw=1.3, alpha=strength)
    for j in range(contacts.shape[1]):
        colour = style.SERIES[j % len(style.SERIES)]
        axis.plot(*contacts[:, j].T, color=colour, lw=1.1)
        axis.scatter(*contacts[contact[:, j], j].T, color=colour, s=9)
    axis.plot(*com.T, color=style.SIMULATED, lw=1.6)
    points = np.concatenate([segments.reshape(-1, 3), contacts.reshape(-1, 3)])
    low, high = points.min(axis=0), points.max(axis=0)
    axis.set_box_aspect(np.maximum(high - low, 0.2 * (high - low).max()), zoom=1.25)
    axis.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axis.view_init(elev=18, azim=-62)
    return figure


@in_style
def footfalls_and_joints(
    times: np.ndarray, contact: np.ndarray, effectors: Sequence[str], loads: np.ndarray,
    positions: np.ndarray, joints: Sequence[str],
) -> Figure:  # fmt: skip
    """Which end effectors are in contact, with their loads, and joint positions over time.

    times (T,) [s], contact (T, m), loads (T, m) in weights, positions (T, n) [rad or m]
    """
    figure = style.new_figure(8.0, 5.6)
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 1.6))
    step = times[1] - times[0]
    for j, name in enumerate(effectors):
        colour = style.SERIES[j % len(style.SERIES)]
        starts = times[contact[:, j]]
        top.barh(np.full(len(starts), j), step, left=starts - step / 2, height=0.7, color=colour)
        middle.plot(times, loads[:, j], color=colour, lw=1.4, label=name)
    top.set_yticks(range(len(effectors)), effectors)
    top.invert_yaxis()
    top.set_ylabel("in contact")
    middle.set_ylabel("load / weight")
    for k in range(len(joints)):
        bottom.plot(times, positions[:, k], lw=1.2, color=style.SERIES[k % len(style.SERIES)],
                    ls=("-", "--", ":")[k // len(style.SERIES) % 3], label=joints[k])  # fmt: skip
    bottom.set(xlabel="time [s]", ylabel="joints [rad]")
    if joints:
        bottom.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=6)
    return figure
