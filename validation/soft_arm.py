"""A pneumatic silicone arm, the release of one pressure fitted, others predicted.

The material is fitted to the release of one recording, with what share of the pressure the venting
valve has left at three instants; of every other one only the pull that stands for its pressure is
fitted, to frames before it is vented, and the rest is prediction, the valve's times stretched as
those of an orifice.  With the networks that relax, and without them (Kelvin-Voigt), which is what
creep does to the model; and for the same pressure the whole record, its rise, hold and creep too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffsim_ros.inverse.swing import damped_sinusoid
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.scenarios.release import release_frame
from diffsim_ros.sensing.read import read_trials

from .common import ROOT

CONFIG = ROOT / "config" / "estimation" / "soft_arm.yaml"
DATA = ROOT / "data" / "soft_arm"
FITTED = "step_300mbar"
STEP = 1 / 250  # s, of the scene
FILL, LOADING, KEY, AWAY = 0.2, 1.2, 0.04, 40.0  # s, s, s, m: the valve of the scene's YAML
HELD = 0.97  # share of the largest deflection above which the arm is not vented yet
BEFORE = 0.3  # s before venting, of which the others' pull is taken
ALIGN = 1 / 8  # of the deflection: there clocks are made to agree
AFTER, SPAN = 0.1, 1.2  # s after venting: from here on, for this long
MATERIAL = ("young", "relaxing_young", "creeping_young", "viscosity")
VALVE = {"left_1": 0.96, "left_2": 0.6, "left_3": 0.2}  # first guesses of the YAML
ELASTIC = [
    *(f"parameters.{name}.{key}" for name in MATERIAL[1:3] for key in ("value=10", "fixed=true")),
    "parameters.viscosity.value=150",
    "parameters.viscosity.prior_sigma=500",
]


@dataclass(frozen=True)
class Step:
    """A pressure step of a recording.

    start       stamp of the first motion [s];  held  time from it to the venting [s], whole steps
    deflection  the largest, of a marker at the tip [m]
    """

    start: float
    held: float
    deflection: float


def step_of(file: Path) -> Step:
    """The pressure step of a recording."""
    (observed,) = read_trials(file, "markers")
    marker = observed.position[:, observed.names.index("tip1")]
    start = release_frame(str(file), marker, 5e-4)
    moved = np.linalg.norm(marker - marker[:start].mean(axis=0), axis=1)
    last = int(np.flatnonzero(moved > HELD * moved.max())[-1])
    held = round((observed.t[last] - observed.t[start]) / STEP) * STEP
    return Step(float(observed.t[start]), held, float(moved.max()))


def opening(file: Path) -> float:
    """Time between the valve's keys [s]: an orifice empties in a time as the pressure's root."""
    pressure, fitted = (int(name[5:-4]) for name in (file.stem, FITTED))
    return round(KEY * math.sqrt(pressure / fitted) / STEP) * STEP


def valve(vented: float, key: float) -> list[str]:
    """Changes of the YAML for a pressure that is vented so long after the scene's start."""
    left = [1.0, *VALVE.values(), 0.0]
    times = [0.0, FILL, *(vented + k * key for k in range(len(left)))]
    interval = math.gcd(*(round(t / STEP) for t in times)) * STEP
    changes = []
    for body, x, side in (("up", -0.02, 1.0), ("down", 0.02, -1.0)):
        points = [
            f"{{time: {t:.6g}, position: [{x}, 0, {0.002 + side * AWAY * share:.6g}]}}"
            for t, share in zip(times, [0.0, 1.0, *left], strict=True)
        ]
        changes.append(f"scene.bodies.{body}.waypoints=[{', '.join(points)}]")
    for k, name in enumerate(VALVE, 1):
        row = round((vented + k * key) / interval)
        sets = ", ".join(
            f'"{body}.position[{row}].z": {{factor: {factor}, power: 1}}'
            for body, factor in (("up", AWAY), ("down", -AWAY))
        )
        changes.append(f"parameters.{name}.sets={{{sets}}}")
    return changes


def vented(file: Path) -> list[str]:
    """Changes of the YAML for a recording's release."""
    step = step_of(file)
    return [
        *valve(LOADING, opening(file)),
        f"measurement.release_after={step.start + step.held - BEFORE - 0.1:.6g}",
        f"measurement.align_distance={ALIGN * step.deflection:.6g}",
    ]


def whole(file: Path) -> list[str]:
    """Changes of the YAML for a whole recording, from the beginning of its pressure on."""
    held = step_of(file).held
    return [
        *valve(held, opening(file)),
        "measurement.loading=0",
        f"measurement.window={held + SPAN:.6g}",
        f"measurement.swing_after={held + 2 * AFTER:.6g}",
    ]


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


def predicted(file: Path, changes: list[str], venting: float = 0.0) -> tuple[dict, dict]:
    """Values of the parameters and figures of one recording; venting: after the YAML's release."""
    result = estimate(load_estimation(CONFIG, train=[file], set=changes))
    values = {p.name: p.value for p in result.parameters}
    (shown,) = result.predictions
    figures = release(shown, venting) | {"status": result.status, "key_s": opening(file)}
    return values, figures | {"seconds": round(result.metrics["timing"]["total"], 1)}


def model(changes: list[str], others: list[str]) -> dict:
    """Material of the fitted release, and figures of it and of the others."""
    file = DATA / f"{FITTED}.csv"
    values, fitted = predicted(file, [*vented(file), *changes])
    known = [
        f"parameters.{name}.{change}"
        for name in (*MATERIAL, *VALVE)
        for change in (f"value={values[name]!r}", "fixed=true")
    ]
    known += [f"measurement.before={BEFORE}", "measurement.window=0.001"]
    found = {"parameters": values, "fitted": {FITTED: fitted}, "predicted": {}}
    for name in others:
        file = DATA / f"{name}.csv"
        found["predicted"][name] = predicted(file, [*vented(file), *changes, *known])[1]
    return found


def whole_record(changes: list[str]) -> dict:
    """Material of the whole record of the same pressure, and figures of its release."""
    file = DATA / f"{FITTED}.csv"
    values, figures = predicted(file, [*whole(file), *changes], step_of(file).held)
    return {"parameters": values, "fitted": {FITTED: figures}}


def study(fraction: float = 1.0) -> dict:
    """Figures with and without relaxation; there are no bars.

    fraction  below 1: the model with relaxation alone, one iteration, one other pressure
    """
    others = [f.stem for f in sorted(DATA.glob("step_*.csv")) if f.stem != FITTED]
    if fraction < 1:
        return {"relaxing": model(["fit.iterations=1"], others[1:2])}
    found = {"relaxing": model([], others), "elastic": model(ELASTIC, others)}
    return found | {"whole_record": whole_record([])}
