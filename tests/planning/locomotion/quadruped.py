"""Solo12 as a legged model, with feet or with wheels at its feet, and plain footfall patterns."""

from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.robots.tree import load_tree

URDF = Path(__file__).resolve().parents[3] / "data/robots/solo12.urdf"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
STANCE = (0, 0.8, -1.6, 0, 0.8, -1.6, 0, -0.8, 1.6, 0, -0.8, 1.6)
RADIUS = 0.03


def solo12(kind="point", resistance=0.0):
    """kind: of all four end effectors; resistance: of passive wheels."""
    model = load_tree(URDF, floating_base=True).model
    names = [link.name for link in model.links]
    stance = model.neutral()
    stance[7:] = STANCE
    stance[2] -= min(model.link_poses(stance)[names.index(foot)][2, 3] for foot in FEET)
    wheel = {} if kind == "point" else {"radius": RADIUS, "axis": np.array([0.0, 1.0, 0.0])}
    if kind == "actuated":
        wheel["speed"] = 20.0
    if kind == "passive":
        wheel["resistance"] = resistance
    stance[2] += wheel.get("radius", 0.0)
    feet = [
        {"name": foot, "kind": kind, "link": foot, "position": np.zeros(3), "leg": k, **wheel}
        for k, foot in enumerate(FEET)
    ]
    ranges = np.tile([-3.0, 3.0, 8.0], (12, 1))
    knees = [(f"{foot[:3]}LOWER_LEG", np.zeros(3)) for foot in FEET]
    return _engine.LeggedModel(model, feet, ranges, stance, knees)


def footfall(samples, phases, duty):
    """Contact flags and heights of 0 to 1 in the air, (samples, end effectors)."""
    time = np.arange(samples) / samples
    contact = np.stack([(time - phase) % 1.0 < duty - 1e-9 for phase in phases], axis=1)
    height = np.zeros(contact.shape)
    for j, phase in enumerate(phases):
        swing = np.flatnonzero(~contact[:, j])
        swing = swing[np.argsort((time[swing] - phase) % 1.0)]
        height[swing, j] = np.sin(np.pi * (np.arange(swing.size) + 1) / (swing.size + 1))
    return contact, height
