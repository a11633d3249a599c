"""What noise does to Young's modulus, friction and the start of a throw.

A soft cube with six markers is thrown onto a floor, bounces once, and is fitted from a material ten
times too soft by both methods of [G 4.7.3], three phases and growing horizons, whichever ends
lower, under each friction law: linear, tanh and hybrid. As in the thesis the recordings come from
the same model (the question is whether the optimiser comes back), and the noise is uniform.  A
second throw hardly slides: what friction can be known from it, and the shape of the cost along the
coefficient, is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse import (
    EARLY,
    LMOptions,
    Parameter,
    ParameterMap,
    SimulationProblem,
    Trial,
    continuation,
    gauss_newton_covariance,
    growing,
    three_phases,
)
from diffsim_ros.inverse.marker_track import MarkerTrack, interpolated
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.scene import load_scene

from .common import ROOT, share

LAWS = ("linear", "tanh", "hybrid")
LEVELS = (0.0, 1e-3, 3e-3, 1e-2)  # m, half width of the uniform noise
SEEDS = 4  # recordings per level with noise
EDGE, STEP, DURATION = 0.1, 1 / 240, 0.35  # m, s
YOUNG = 2e4  # Pa
GUESS = 0.6  # of the friction coefficient
UNITS = {"position": "m", "rotation": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}
OFF = {"position": 0.02, "rotation": 0.1, "velocity": 0.2, "angular_velocity": 0.5}
SOFTER = 10.0
FLOOR = 1e-6  # errors below it are drawn there
HORIZONS = (0.3, 0.5)  # of the recording: the flight, and into the contact
KINDS = tuple(OFF)
STARTS = tuple(f"cube.{kind}.{axis}" for kind in KINDS for axis in "xyz")
CURVE = np.geomspace(0.03, 3.0, 41)  # friction coefficients along which the cost is shown
EARLIER = LMOptions(max_iterations=40, cost_tolerance=1e-6)
FINAL = LMOptions(max_iterations=80, cost_tolerance=1e-10, kink_tolerance=1e-7)


@dataclass(frozen=True)
class Motion:
    """A throw: its friction coefficient and its start."""

    c_f: float
    position: tuple = (0.0, 0.0, 0.25)
    rotation: tuple = (0.2, 0.3, 0.1)
    velocity: tuple = (1.5, 0.2, -1.5)
    angular_velocity: tuple = (1.0, 4.0, 2.0)


MOTIONS = {"slides": Motion(0.3), "sticks": Motion(0.9, velocity=(0.6, 0.1, -1.5))}


def scene(motion: Motion, law: str):
    """The throw under a friction law, at the truth."""
    return load_scene({
        "world": {"step": STEP, "duration": DURATION, "record_every": 1, "scheme": "bdf2"},
        "bodies": {"cube": {
            "type": "solid", "shape": {"box": {"size": [EDGE] * 3, "cells": [2, 2, 2]}},
            "density": 150.0, "young": YOUNG, "poisson": 0.35, "viscosity": 20.0,
            "pose": {key: list(getattr(motion, key)) for key in ("position", "rotation")},
            "velocity": list(motion.velocity),
            "angular_velocity": list(motion.angular_velocity),
        }},
        "sdfs": {"floor": {"plane": {}}},
        "contact": [{"name": "ground", "points": "cube", "against": "floor", "k_n": 2e4, "c_n": 0,
                     "c_f": motion.c_f, "friction": law}],
    })  # fmt: skip


@dataclass(frozen=True)
class Throw:
    """A recording without its noise: markers (M, n, 3) at every step, frames of the phases."""

    motion: Motion
    model: object
    carrier: object
    places: np.ndarray
    contact: int
    bounce: int


def throw(motion: Motion, law: str) -> Throw:
    """Simulate the truth; the first bounce ends when no vertex is pushed any more."""
    model = scene(motion, law)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    turn = _rotation(np.array(motion.rotation))
    faces = 0.45 * EDGE * np.concatenate([np.eye(3), -np.eye(3)])  # slightly inset
    carrier = carrier_of(model, "cube", faces @ turn.T + np.array(motion.position))
    slot, rows = body_slots(model.engine)["cube"], np.arange(len(run.time) - 1)
    places, _ = interpolated(carrier, run, slot, rows * STEP, STEP)
    pushed = np.flatnonzero(np.linalg.norm(run.contact_force, axis=2).max(axis=1) > 0)
    return Throw(motion, model, carrier, places, int(pushed[0]) - 1, int(pushed[-1]) + 4)


def _rotation(vector: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(vector).as_matrix()


def problem_of(clean: Throw, level: float, seed: int) -> SimulationProblem:
    """Markers with noise, and everything that is estimated at its first guess."""
    generator = np.random.default_rng([seed, round(1e6 * level)])
    places = clean.places + generator.uniform(-level, level, clean.places.shape)
    # without noise sigma only sets the unit of the cost
    track = MarkerTrack(
        "cube", np.arange(len(places)) * STEP, STEP, clean.carrier, places,
        max(level / np.sqrt(3.0), 1e-4),
    )  # fmt: skip
    parameters = [
        Parameter("cube.young", "Pa", YOUNG / SOFTER, 1e2, 1e6, "log"),
        Parameter("ground.c_f", "1", GUESS, 0.01, 5.0, typical=0.1),
    ]
    for kind in KINDS:
        values = getattr(clean.motion, kind)
        for axis, value, sign in zip("xyz", values, (1, -1, 1), strict=True):
            guess = value + sign * OFF[kind]
            name = f"cube.{kind}.{axis}"
            parameters.append(Parameter(name, UNITS[kind], guess, typical=OFF[kind]))
    engine = clean.model.engine
    return SimulationProblem(
        engine, clean.model.options, ParameterMap(parameters, engine),
        [Trial("throw", clean.model.steps, (track,))], threads=1,
    )  # fmt: skip


def fitted(clean: Throw, level: float, seed: int) -> dict:
    """Errors of the better of two fits: relative of E and c_f, absolute of the start; its end."""
    problem = problem_of(clean, level, seed)
    phases = three_phases(
        problem, STARTS, clean.contact, clean.bounce, early={"options": EARLIER}, options=FINAL
    )
    # from a poor flight the second phase may take friction to where all points stick
    grown = continuation(growing(problem, HORIZONS), early={"options": EARLY}, options=FINAL)
    last = min(phases[-1], grown[-1], key=lambda s: s.value)
    values = last.parameters
    found = gauss_newton_covariance(problem, last)
    sigma = dict(zip(problem.names, found.std_dev, strict=True))
    sure_of_c_f = found.identifiable[problem.names.index("ground.c_f")]
    errors = {}
    for key, name, truth in (
        ("young", "cube.young", YOUNG), ("c_f", "ground.c_f", clean.motion.c_f),
    ):  # fmt: skip
        off = abs(values[name] - truth)
        errors[key] = off / truth
        errors[f"{key}_sigmas"] = float(off / sigma[name]) if np.isfinite(sigma[name]) else None
    for kind in KINDS:
        got = [values[f"cube.{kind}.{axis}"] for axis in "xyz"]
        errors[kind] = float(np.linalg.norm(np.subtract(got, getattr(clean.motion, kind))))
    return {
        **errors, "c_f_identifiable": int(sure_of_c_f),
        "mean_square": 2.0 * last.value / problem.evaluate(last.z).count,
        "status": last.status, "rollouts": sum(s.evaluations for s in (*phases, *grown)),
        "way": "three phases" if last is phases[-1] else "growing horizons",
    }  # fmt: skip


def cost_curve(clean: Throw) -> list[float]:
    """Cost without noise along the friction coefficient, all else at the truth; sigma 1 mm."""
    problem = problem_of(clean, 0.0, 0)
    truth = {"cube.young": YOUNG} | {
        f"cube.{kind}.{axis}": value
        for kind in KINDS
        for axis, value in zip("xyz", getattr(clean.motion, kind), strict=True)
    }
    z = [problem.map.scaled({**truth, "ground.c_f": float(c)}) for c in CURVE]
    found = problem.evaluate_many(z, [None] * len(z))
    return [1e-2 * e.value for e in found]


def sliding(clean: Throw) -> float:
    """Share of the contact's time in which some point slides."""
    options = type(clean.model.options)(
        step=STEP, order=clean.model.options.order, record_every=1, record_modes=True
    )
    engine = clean.model.engine
    run = _engine.rollout(engine, engine.values, clean.model.steps, options)
    modes = np.asarray(run.modes) & 3
    touching = (modes > 0).any(axis=1)
    return float((modes == 2).any(axis=1).sum() / max(touching.sum(), 1))


def errors_of(clean: Throw, levels, seeds: int, seed: int) -> dict:
    """Fits of every level by its name: {"0.003": [errors of each recording]}."""
    return {
        f"{level:g}": [fitted(clean, level, seed + k) for k in range(seeds if level else 1)]
        for level in levels
    }


def check(law: str, levels: Mapping[str, list]) -> None:
    """Linear and tanh contact recover the material: exactly, or within what the noise allows."""
    for level, fits in levels.items():
        for k, fit in enumerate(fits):
            place = f"{law}, noise {level} m, recording {k}: {fit}"
            if float(level) == 0.0:
                assert fit["young"] < 1e-5 and fit["c_f"] < 1e-4, place
                assert fit["position"] < 1e-6 and fit["velocity"] < 1e-5, place
            else:
                assert fit["young_sigmas"] < 4 and fit["c_f_sigmas"] < 4, place
                assert 0.8 < fit["mean_square"] < 1.2, place


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All laws and levels of both throws; a tenth: two levels of the one that slides, once."""
    whole = fraction >= 1
    levels = LEVELS if whole else (LEVELS[0], LEVELS[2])
    figures: dict = {"levels_m": list(levels), "curve_c_f": CURVE.tolist()}
    for name, motion in MOTIONS.items():
        if not (whole or name == "slides"):
            continue
        figures[name] = {}
        for law in LAWS:
            clean = throw(motion, law)
            fits = errors_of(clean, levels, share(SEEDS, fraction), seed)
            figures[name][law] = {"fits": fits, "sliding": sliding(clean)}
            if whole:
                figures[name][law]["curve"] = cost_curve(clean)
            if name == "slides" and law != "hybrid":
                check(law, fits)
    if whole:
        picture(figures, ROOT / "docs" / "images" / "noise_study.png")
    return figures


def picture(figures: Mapping, path: Path) -> None:
    """Errors over the noise for each law, and the cost along the friction coefficient."""
    from diffsim_ros.viz import style

    panels = (
        ("young", "E, relative error"),
        ("c_f", "c_f, relative error"),
        ("position", "position, error [m]"),
        ("velocity", "velocity, error [m/s]"),
    )
    colours = {"linear": style.SIMULATED, "tanh": style.MEASURED, "hybrid": style.GREEN}
    with style.styled():
        figure = style.new_figure(12.5, 5.6)
        axes = figure.subplots(2, 5)
        for row, (name, laws) in zip(axes, ((m, figures[m]) for m in MOTIONS), strict=True):
            for axis, (key, title) in zip(row, panels, strict=False):
                _errors_panel(axis, laws, key, colours)
                axis.set(title=title, xlabel="noise [mm]")
            for law, found in laws.items():
                cost = np.maximum(found["curve"], 1e-4)
                row[4].plot(CURVE, cost, color=colours[law], lw=1.4)
            row[4].axvline(MOTIONS[name].c_f, color=style.MUTED, lw=1)
            row[4].set(title="cost along c_f", xlabel="c_f", xscale="log", yscale="log")
            row[0].set_ylabel(f"the throw that {name}")
        axes[0, 0].legend(loc="lower right")
        path.write_bytes(style.png_bytes(figure, dpi=110))


def _errors_panel(axis, laws: Mapping, key: str, colours: Mapping) -> None:
    """Median and range of an error over the levels of noise; without noise at the left end."""
    for k, (law, found) in enumerate(laws.items()):
        x = [max(1e3 * float(level), 0.3) * 1.06 ** (k - 1) for level in found["fits"]]
        rows = [np.maximum([fit[key] for fit in fits], FLOOR) for fits in found["fits"].values()]
        middle = [float(np.median(row)) for row in rows]
        axis.plot(x, middle, "o-", color=colours[law], ms=4, lw=1.3, label=law)
        for at, row in zip(x, rows, strict=True):
            axis.plot([at, at], [row.min(), row.max()], color=colours[law], lw=1, alpha=0.6)
    axis.set(xscale="log", yscale="log")
    axis.set_xticks([0.3, 1, 3, 10], ["0", "1", "3", "10"])
