"""Issue 4, item 2: a pneumatic silicone arm, the release of one pressure fitted, others predicted.

The material is fitted to one recording; of every other one only the pull that stands for its
pressure is fitted, to the frames before it is vented, and the rest is prediction.  All of it with
the networks that relax, and without them (Kelvin-Voigt), which is what creep does to the model.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffsim_ros.inverse.swing import damped_sinusoid
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.markers.files import read_markers
from diffsim_ros.real2sim.markers.measures import release_frame

from .common import ROOT

CONFIG = ROOT / "config" / "estimation" / "soft_arm.yaml"
DATA = ROOT / "data" / "soft_arm"
FITTED = "step_300mbar"
STEP, RAMP = 1 / 250, 0.04  # s, of the scene: its step, and how fast pressure comes and goes
HELD = 0.97  # share of the largest deflection above which the arm is not vented yet
AFTER, SPAN = 0.1, 1.2  # s after venting: from here on, for this long
MATERIAL = ("young", "relaxing_young", "creeping_young", "viscosity")
ELASTIC = [
    *(f"parameters.{name}.{key}" for name in MATERIAL[1:3] for key in ("value=10", "fixed=true")),
    "parameters.viscosity.value=150",
    "parameters.viscosity.prior_sigma=500",
]


def hold(file: Path) -> float:
    """Time from the first motion to the venting of a recording [s], in whole steps."""
    seen = read_markers(file, 1e-3)
    marker = seen.value.reshape(len(seen.t), -1, 3)[:, seen.names.index("tip1")]
    start = release_frame(str(file), marker, 5e-4)
    moved = np.linalg.norm(marker - marker[:start].mean(axis=0), axis=1)
    last = int(np.flatnonzero(moved > HELD * moved.max())[-1])
    return round((seen.t[last] - seen.t[start]) / STEP) * STEP


def timing(held: float) -> list[str]:
    """Changes of the YAML for a pressure that is held so long."""
    changes = [f"measurement.swing_after={held + AFTER:.6g}"]
    for name, x, side in (("up", -0.02, 1.0), ("down", 0.02, -1.0)):
        points = [
            f"{{time: {t:.6g}, position: [{x}, 0, {0.002 + side * z:.6g}]}}"
            for t, z in ((0, 4), (RAMP, 6), (RAMP + held, 6), (2 * RAMP + held, 4))
        ]
        changes.append(f"scene.bodies.{name}.waypoints=[{', '.join(points)}]")
    return changes


def release(prediction, held: float) -> dict:
    """Figures of the release: swings of tip1's speed along x, errors of the tip's markers.

    Of its speed, because creep is slow: it would hide the swing of the place.
    """
    t = prediction.t
    before = (t > held - 0.1) & (t < held - 0.02)
    inside = (t >= held) & (t <= held + SPAN)
    later = (t >= held + AFTER) & (t <= held + SPAN)
    tips = [i for i, name in enumerate(prediction.markers) if name.startswith("tip")]
    first, at = prediction.markers.index("tip1"), prediction.measured[0]
    deflection = np.linalg.norm((prediction.measured - at)[before][:, first].mean(axis=0))
    error = np.linalg.norm((prediction.simulated - prediction.measured)[inside][:, tips], axis=2)
    found = {"deflection_m": float(deflection), "tip_error_m": float(error.mean())}
    found["tip_error_share"] = found["tip_error_m"] / found["deflection_m"]
    found["recorded_after_s"] = float(t[-1] - held)
    if t[-1] < held + SPAN:  # too short for a swing
        return found | {"measured": None, "simulated": None, "frequency_error": None}
    for who in ("measured", "simulated"):
        x = getattr(prediction, who)[:, first, 0] - at[first, 0]
        swing = damped_sinusoid(prediction.name, t[later], np.gradient(x, t)[later])
        found[who] = {
            "frequency": swing.frequency,
            "decay": swing.decay,
            "left_m": float(x[t > held + SPAN - 0.2][:20].mean()),
        }
    ratio = found["simulated"]["frequency"] / found["measured"]["frequency"]
    return found | {"frequency_error": abs(ratio - 1.0)}


def predicted(file: Path, changes: list[str]) -> tuple[dict, dict]:
    """Values of the parameters and figures of one recording."""
    held = hold(file)
    result = estimate(load_estimation(CONFIG, train=[file], set=[*timing(held), *changes]))
    values = {p.name: p.value for p in result.parameters}
    (shown,) = result.predictions
    figures = release(shown, held) | {"status": result.status, "held_s": held}
    return values, figures | {"seconds": round(result.metrics["timing"]["total"], 1)}


def model(changes: list[str], others: list[str]) -> dict:
    """Material of the fitted recording, and figures of it and of the others."""
    file = DATA / f"{FITTED}.csv"
    window = f"measurement.window={hold(file) + SPAN:.6g}"
    values, fitted = predicted(file, [*changes, window])
    known = [f"parameters.{name}.value={values[name]!r}" for name in MATERIAL]
    known += [f"parameters.{name}.fixed=true" for name in MATERIAL]
    found = {"parameters": values, "fitted": {FITTED: fitted}, "predicted": {}}
    for name in others:
        file = DATA / f"{name}.csv"
        before = f"measurement.window={hold(file) - 0.05:.6g}"
        found["predicted"][name] = predicted(file, [*changes, *known, before])[1]
    return found


def study(fraction: float = 1.0) -> dict:
    """The whole item: figures with and without relaxation; the issue sets no bars.

    fraction  below 1: the model with relaxation alone, one iteration, one other pressure
    """
    others = [f.stem for f in sorted(DATA.glob("step_*.csv")) if f.stem != FITTED]
    if fraction < 1:
        return {"relaxing": model(["fit.iterations=1"], others[1:2])}
    return {"relaxing": model([], others), "elastic": model(ELASTIC, others)}
