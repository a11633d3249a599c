"""A real arm's efforts on unseen motion, from its URDF and a log of positions and efforts alone.

A TIAGo's torso and arm of seven joints, motor currents of unknown unit and sign.  Parts of the log
are predicted by what the other parts tell: inertias tied to the published URDF, gains, friction
whose law the fit chooses, beside the regression on five coefficients a joint (gravity torque by the
URDF, viscous and dry friction, acceleration, offset) and beside a constant.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from diffsim_ros.real2sim.efforts import errors_of, identify
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.observation import Observation
from diffsim_ros.sensing.read import read_trials

from .common import ROOT, judged

LOG = ROOT / "data" / "tiago_arm" / "log.npz"
PACKAGE, URDF = "example-robot-data", "tiago_description/robots/tiago.urdf"
END = 50.0  # s, after the log's last sample
FOLDS = (  # what is trained on, and what is predicted [s]
    (((0, 29),), (29, END)),
    (((19, END),), (8.5, 19)),
    (((0, 19), (29, END)), (19, 29)),
    (((0, 38),), (38, END)),
)
BETTER = ("torso_lift_joint", "arm_2_joint", "arm_3_joint", "arm_4_joint")
"""arm_2 to arm_4 show what they carry; the torso runs against its end stop before 8.5 s, where
efforts count less.  arm_1 turns about the vertical: there is next to nothing but friction, and of
what five coefficients leave there 0.61 is noise.  Currents of the wrist are mostly 0."""
BAR, NO_WORSE = 0.8, 1.05
"""Errors over those of five coefficients, geometric means over FOLDS: of BETTER, and of arm_1."""


def tiago_urdf() -> Path:
    """The published file; ImportError where the package that has it is not installed."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ImportError(f"the TIAGo's URDF is in {PACKAGE}: pip install {PACKAGE}") from error
    return Path(str(next(f for f in files if str(f).endswith(URDF)).locate()))


def part(log: Observation, start: float, end: float) -> Observation:
    """Samples of a trial between two times [s], from t = 0 on."""
    own = log.kept((log.t >= start) & (log.t < end))
    return replace(own, t=own.t - own.t[0])


def study(fraction: float = 1.0) -> dict:
    """Errors of every joint in every fold; fraction: of the folds."""
    (log,) = read_trials(LOG, "joints")
    with warnings.catch_warnings(record=True) as mended:
        warnings.simplefilter("always")
        robot = load_robot(tiago_urdf(), meshes="ignore", joints=log.names)
    found: dict = {"warnings": len(mended), "folds": []}
    ratios = []
    for trained, predicted in FOLDS[: max(1, round(fraction * len(FOLDS)))]:
        model = identify(robot, [part(log, *times) for times in trained])
        errors = errors_of(model, model.samples([part(log, *predicted)]))
        ratios.append({e.joint: e.ratio for e in errors})
        found["folds"].append({
            "trained_s": [list(times) for times in trained],
            "predicted_s": list(predicted),
            "bandwidth_Hz": model.bandwidth,
            "inertias": "held" if np.isinf(model.coefficients.gamma) else "estimated",
            "gamma": None if np.isinf(model.coefficients.gamma) else model.coefficients.gamma,
            "notes": [note.removeprefix(f"{LOG}: ") for note in model.notes],
            "joints": {e.joint: {**vars(e)} for e in errors},
        })  # fmt: skip
    means = {
        name: float(np.exp(np.mean([np.log(r[name]) for r in ratios if name in r])))
        for name in robot.joint_names
    }
    found["ratio_to_five_coefficients"] = means
    bars = dict.fromkeys(BETTER, BAR) | {"arm_1_joint": NO_WORSE}
    if fraction < 1:  # the bars are of all folds
        return found
    missed = [
        f"{name}: {means[name]:.3f} of the five coefficients' error, bar {bar:g}"
        for name, bar in bars.items()
        if means[name] > bar
    ]
    return judged(found, missed)
