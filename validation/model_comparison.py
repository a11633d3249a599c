"""A deliberately wrong law of viscosity is recognised by `diffsim compare`.

A soft bar clamped at one end is held straight and let go, and swings about its new rest by up to
40 degrees; markers on it are recorded, held level and askew.  Its viscosity is either one of the
Green strain rate, which leaves rotations alone, or one of dF/dt + dF/dt^T, which damps them.  Both
are fitted to recordings made with either one, and the comparison has to name the one that made
them.  A bar ten times as stiff hardly turns: there it must report that they cannot be
distinguished.

No inverse crime: recordings come from cells half as long, a quarter of the step, with noise.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.marker_track import interpolated
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.model_choice import ModelComparison, compare_models
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing.observation import Observation

MODELS = ("invariant", "linear")
LENGTH, WIDTH = 0.1, 0.02  # m
STEP, RATE = 1 / 200, 100.0  # s, Hz
SIGMA, NOISE = 1e-3, 3e-4  # m: of the estimation (model and sensor), of the sensor
HELD = 0.3037  # s before the release, between two frames
PLACES = {
    "tip": (0.5 * LENGTH, 0.0, 0.5 * WIDTH),
    "side": (0.45 * LENGTH, -0.5 * WIDTH, 0.0),
    "middle": (0.0, 0.5 * WIDTH, 0.25 * WIDTH),
    "near": (-0.3 * LENGTH, -0.5 * WIDTH, -0.25 * WIDTH),
}
CLAMP = {"plane": {"normal": [1, 0, 0], "offset": -0.5 * LENGTH}}


class Bar:
    """One kind of bar: what it is made of by law of viscosity, and how it is let go.

    angles  of gravity from the bar's axis at the release, one per recording [rad]
    window  that is simulated after it [s];  align: motion at which clocks are made to agree [m]
    cells   along the bar
    """

    def __init__(
        self, truth: Mapping[str, Mapping], angles, window: float, align: float, cells: int = 5
    ) -> None:
        self.truth, self.angles, self.window = truth, tuple(angles), window
        self.align, self.cells = align, cells

    def scene(self, law: str, values: Mapping[str, float], finer: int = 1) -> dict:
        """Scene under a law of viscosity; cells and steps `finer` and its square times as fine."""
        return {
            "world": {"step": STEP / finer**2, "duration": self.window,
                      "record_every": 2 * finer**2, "scheme": "bdf2"},
            "bodies": {"bar": {
                "type": "solid", "element": "p2", "density": 1000, "poisson": 0.45,
                "shape": {"box": {"size": [LENGTH, WIDTH, WIDTH],
                                  "cells": [self.cells * finer, finer, finer]}},
                "young": values["young"], "viscosity": values["viscosity"],
                "viscosity_model": law, "pinned": [CLAMP], "contact_spheres": "none",
            }},
        }  # fmt: skip

    def gravity(self, angle: float) -> dict[str, float]:
        """Gravity in the scene, whose x is the bar's axis at the release."""
        return {"gravity.x": 9.81 * np.cos(angle), "gravity.z": -9.81 * np.sin(angle)}

    def recording(self, law: str, k: int, seed: int) -> Observation:
        """Markers of recording k of a bar of this law, measured by a tracker."""
        model = load_scene(self.scene(law, self.truth[law], finer=2))
        engine, p = model.engine, model.engine.values
        for name, value in self.gravity(self.angles[k]).items():
            p[engine.index(name)] = value
        options = model.options
        interval = options.step * options.record_every
        steps = (round((self.window + 0.1) / interval) + 2) * options.record_every
        run = _engine.rollout(engine, p, steps, options)
        assert run.ok, run.message
        t = np.arange(int((HELD + self.window + 0.1) * RATE)) / RATE
        carrier = carrier_of(model, "bar", np.array(list(PLACES.values())))
        clock = np.maximum(t - HELD, 0.0)
        x = interpolated(carrier, run, body_slots(engine)["bar"], clock, interval)[0]
        x = x + NOISE * np.random.default_rng([seed, k]).normal(size=x.shape)
        names = tuple(PLACES)
        return Observation(
            kind="markers", t=t, frame="tracker", names=names, values={"position": x},
            sigma=np.array([NOISE]), source=f"swing_{k}",
        )  # fmt: skip

    def estimation(self, law: str) -> dict:
        """An estimation under a law, as a user would write it; its guesses are far off."""
        guess = {"young": 1e5, "viscosity": 20.0}
        return {
            "name": law, "kind": "markers", "body": "bar", "scene": self.scene(law, guess),
            "data": {
                "train": {"files": ["handed-over.csv"]},
                "conditions": [{"records": f"swing_{k}", "sets": self.gravity(angle)}
                               for k, angle in enumerate(self.angles)],
            },
            "measurement": {
                "markers": {name: list(place) for name, place in PLACES.items()}, "sigma": SIGMA,
                "release_marker": "tip", "release_distance": 2e-3, "align_distance": self.align,
                "swing_marker": "tip", "swing_axis": "z", "swing_after": 0.05,
                "window": self.window,
            },
            "parameters": {
                "young": {"value": guess["young"], "unit": "Pa", "bounds": [1e4, 1e7],
                          "scale": "log", "sets": {"bar.young": 1}},
                "viscosity": {"value": guess["viscosity"], "unit": "Pa s", "bounds": [0.01, 5e3],
                              "scale": "log", "sets": {"bar.viscosity": 1}},
            },
            "fit": {"loss": "squared", "iterations": 15, "tolerance": 1e-3},
            "uncertainty": {"method": "covariance"},
            "simulation": {"threads": 1},
        }  # fmt: skip


LAWS = {
    "invariant": {"young": 1.2e5, "viscosity": 200.0}, "linear": {"young": 1.2e5, "viscosity": 5.0},
}  # fmt: skip
SOFT = Bar(LAWS, np.radians([88.0, 28.0, 92.0, 32.0, 90.0, 30.0]), 0.6, 1e-2)
SMALL = Bar(LAWS, np.radians([88.0, 28.0]), 0.4, 1e-2, cells=3)
STIFF = Bar(
    {"invariant": {"young": 1.2e6, "viscosity": 600.0}},
    np.radians([88.0, 58.0, 92.0]), 0.3, 2e-3,
)  # fmt: skip


def compared(bar: Bar, law: str, trials: int, seed: int = 0) -> ModelComparison:
    """Recordings under a law, both models fitted to them and compared."""
    recordings = [bar.recording(law, k, seed) for k in range(trials)]
    configs = {name: load_estimation(bar.estimation(name)) for name in MODELS}
    return compare_models(configs, observations={"train": recordings})


def figures(found: ModelComparison) -> dict:
    """The comparison's figures, its verdict and the parameters, plain data."""
    parameters = {
        m.name: {n: {k: p[k] for k in ("value", "std_dev")} for n, p in m.parameters().items()}
        for m in found.models
    }
    return {**found.metrics(), "parameters": parameters, "verdict": list(found.sentences)}


def recognised(bar: Bar, law: str, seed: int) -> tuple[ModelComparison, dict]:
    """A comparison of data made under a law, which has to come out as the best; its figures."""
    found = compared(bar, law, len(bar.angles), seed)
    assert found.best == law, f"data of {law}: {found.sentences}"
    other = next(name for name in MODELS if name != law)
    assert found.criteria[other].aic > 10, f"data of {law}: {found.criteria}"
    return found, figures(found)


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Both laws in both directions, and the stiff bar; a tenth: one direction, two recordings."""
    if fraction < 1:
        return {"small_invariant": recognised(SMALL, "invariant", seed)[1]}
    done = {}
    for law in MODELS:
        found, done[f"soft_{law}"] = recognised(SOFT, law, seed)
        assert found.distinguished, f"data of {law}: {found.sentences}"
    found = compared(STIFF, "invariant", len(STIFF.angles), seed)
    done["stiff"] = figures(found)
    assert not found.distinguished, f"the stiff bar: {found.sentences}"
    return done
