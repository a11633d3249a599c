"""Young's modulus of the silicone beam from its sag alone, and from its first frequency alone.

No rollout: the sag is that of an equilibrium, the frequency that of a mode about it, of the beam
without its networks that relax; the weight hangs on a ball joint, as friction does not act at rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffsim_ros.inverse import (
    Parameter,
    ParameterMap,
    Trial,
    gauss_newton_covariance,
    levenberg_marquardt,
)
from diffsim_ros.inverse.swing import damped_sinusoid
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.real2sim.sensors.marker.experiment import MarkerExperiment
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import Frequencies, PlacesAtRest, rest_problem
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT

SCENE = ROOT / "config" / "scenes" / "silicone_beam.yaml"
BEAM = ("beam", "clamp", "tip", "weight")
EDGE = [0, 0.015, 0.03]  # of the free end, where the weight hangs [m]
GRAVITY = 9.81  # m/s^2
BARS = {"sag": 0.2, "frequency": 0.03, "sag and frequency": 0.3}  # moduli apart, relatively
COARSE = {"shape": {"box": {"size": [0.1, 0.03, 0.03], "cells": [4, 1, 2]}}}  # for tests


@dataclass(frozen=True)
class Measured:
    """A recording's marker: where it is held [m, world], and its swing.

    sag, frequency  (value, sigma) [m], [Hz], the frequency undamped
    weight          mass that hangs [kg], or 0
    """

    name: str
    held: np.ndarray
    sag: tuple[float, float]
    frequency: tuple[float, float]
    weight: float


def measured(config_file: Path, files: Sequence[Path]) -> list[Measured]:
    """Held place, sag and frequency of each recording, sigmas those of the YAML's swing_sigma."""
    experiment = MarkerExperiment(load_estimation(config_file, train=files))
    config, model, found = experiment.config, experiment.model, []
    marker = model.names.index(config.measurement.swing_marker)
    shares = config.measurement.swing_sigma
    for release in experiment.role(None, config.train, []):
        span = model.swing(release, release.position).span
        height = release.world(release.position)[:, marker, 2]
        fit = damped_sinusoid(release.place, release.t[span], height[span])
        held = release.world(release.held)[marker]
        sag = fit.offset - held[2]
        undamped = math.hypot(fit.frequency, fit.decay / (2 * math.pi))
        found.append(
            Measured(
                release.name,
                held,
                (sag, shares[0] * abs(sag)),
                (undamped, shares[1] * undamped),
                release.sets.get("weight.mass", 0.0),
            )
        )
    return found


def scene_of(mesh: Mapping, what: str, weight: float):
    """The beam without networks, with the weight as a force "hung", or as a body on a ball joint.

    The joint lets it swing below, which vibrations need, and costs the search for the equilibrium.
    """
    description = read_yaml(SCENE)
    bodies = {name: description["bodies"][name] for name in BEAM}
    bodies["beam"] |= mesh
    del bodies["weight"]["contact_spheres"]
    links: list[dict] = []
    if what == "sag":
        at = np.subtract(EDGE, bodies["tip"]["pose"]["position"]).tolist()
        links = [{"name": "hung", "type": "force", "body": "tip", "point": at, "force": [0, 0, 0]}]
    elif weight:
        links = [{"name": "hook", "type": "joint", "kind": "ball", "body_a": "tip",
                  "body_b": "weight", "position": EDGE}]  # fmt: skip
        bodies["weight"]["mass"] = weight
    if what == "sag" or not weight:
        del bodies["weight"]
    return load_scene(description | {"bodies": bodies, "contact": [], "links": links}, base=SCENE)


def fitted(mesh: Mapping, trials: Sequence[Measured], what: str) -> dict:
    """Young's modulus by "sag", or by "frequency" of recordings with one weight; its sigma.

    Angle of the clamp and mass of the tip have the priors of the YAML, and add to sigma.
    """
    scene = scene_of(mesh, what, trials[0].weight)
    parameters = [
        Parameter("young", "Pa", 2.3e5, 5e4, 1e6, "log", sets={"beam.young": (1.0, 1.0)}),
        Parameter("tip_mass", "kg", 1e-3, 1e-4, 5e-3, prior_mean=1e-3, prior_sigma=5e-4,
                  sets={"tip.mass": (1.0, 1.0)}),
        Parameter("clamp_angle", "rad", 0.0, -0.05, 0.05, typical=0.01, prior_mean=0.0,
                  prior_sigma=0.009, sets={"clamp.rotation[0].y": (-1.0, 1.0)}),
    ]  # fmt: skip
    loads = []
    for one in trials:
        point = carrier_of(scene, "beam", one.held[None])
        if what == "sag":
            rest = [[np.nan, np.nan, one.held[2] + one.sag[0]]]
            hung = {"hung.force[0].z": -GRAVITY * one.weight}
            place = PlacesAtRest("beam", point, rest, one.sag[1])
            loads.append(Trial(one.name, 0, (place,), parameters=hung))
        else:
            upward = [[[np.nan, 0, 1]]]
            tone = Frequencies("beam", *one.frequency, carrier=point, shape=upward)
            loads.append(Trial(one.name, 0, (tone,)))
    problem = rest_problem(scene.engine, ParameterMap(parameters, scene.engine), loads)
    solution = levenberg_marquardt(problem)
    assert solution.converged, solution.message
    sigma = gauss_newton_covariance(problem, solution).std_dev.tolist()
    return {
        name: {"value": value, "std_dev": std_dev}
        for (name, value), std_dev in zip(solution.parameters.items(), sigma, strict=True)
    }


def moduli(config_file: Path, files: Sequence[Path], mesh: Mapping | None = None) -> dict:
    """What was measured, and the moduli by sag and by frequency of each load, and by all sags.

    mesh  keys of the beam in place of the scene's
    One load's sag cannot distinguish the modulus from the angle of the clamp; two loads' do.
    """
    trials, mesh = measured(config_file, files), mesh or {}
    loads: dict[str, list[Measured]] = {}
    for one in trials:
        name = f"{1e3 * one.weight:.0f}_g" if one.weight else "own_weight"
        loads.setdefault(name, []).append(one)
    found: dict = {
        "recordings": {t.name: {"sag_m": t.sag, "frequency_hz": t.frequency} for t in trials},
        **{
            what: {load: fitted(mesh, some, what) for load, some in loads.items()}
            for what in ("sag", "frequency")
        },
    }
    if len(loads) > 1:
        found["sag"]["all"] = fitted(mesh, trials, "sag")
    return found


def beyond(figures: dict, slack: float = 1.0) -> list[str]:
    """Sentences on moduli that are apart by more than the bars."""
    missed = []
    for what, bar in BARS.items():
        parts = (figures[part].values() for part in what.split(" and "))
        some = [one["young"]["value"] for part in parts for one in part]
        apart = max(some) / min(some) - 1
        if not apart <= bar * slack:
            missed.append(f"moduli by {what} {apart:.3g} apart, required {bar * slack:g}")
    return missed
