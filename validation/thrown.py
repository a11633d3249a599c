"""What the studies of thrown soft bodies share: material, numerics, and the scene of a throw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros import meshes

DENSITY, POISSON = 150.0, 0.35  # kg/m^3
GRAVITY = np.array([0.0, 0.0, -9.81])
TRUTH = {"young": 2.2e4, "viscosity": 40.0, "c_f": 0.25}


@dataclass(frozen=True)
class Numerics:
    """How a body is simulated: fineness of its mesh and kind of its tets, step [s], rows of the
    rollout per step, factor on the contact's stiffness."""

    fine: int = 1
    element: str = "p2"  # linear tets of the same cost are 10 % too stiff
    step: float = 1 / 480
    every: int = 1
    stiffer: float = 1.0

    def finer(self, rate: float) -> Numerics:
        """Edges half as long, a quarter of the step, stiffer contact; rows at the sensor's rate."""
        step = self.step / 4
        return Numerics(2 * self.fine, self.element, step, round(1 / (step * rate)), 2.0)

    def same(self, rate: float) -> Numerics:
        """The inverse crime, as a control: the same, with rows at the sensor's rate [Hz]."""
        return replace(self, every=round(1 / (self.step * rate)))


def ball(radius: float, layers: int) -> dict:
    """A ball whose mesh of flat faces has the volume of the sphere of this radius [m]."""
    vertices, tets = meshes.ball(layers, 1.0)
    volume = meshes.determinants(vertices, tets).sum() / 6
    return {"ball": {"radius": float(radius * (4 / 3 * np.pi / volume) ** (1 / 3)),
                     "layers": layers}}  # fmt: skip


def scene(name: str, shape: dict, how: Numerics, truth: Mapping, **throw: float) -> dict:
    """A body thrown onto a floor.

    truth  young, viscosity, c_f, position, velocity, and turn with angular_velocity if it turns
    throw  duration [s], k_n [N/m], k_t [N s/m] over the whole surface
    """
    start = {
        "pose": {"position": np.asarray(truth["position"]).tolist()},
        "velocity": np.asarray(truth["velocity"]).tolist(),
    }
    if "turn" in truth:
        start["pose"]["orientation"] = truth["turn"].as_quat().tolist()
        start["angular_velocity"] = truth["angular_velocity"].tolist()
    world = {"step": how.step, "duration": throw["duration"], "record_every": how.every}
    return {
        "world": world,
        "bodies": {name: {
            "type": "solid", "shape": shape, "element": how.element, "density": DENSITY,
            "young": truth["young"], "poisson": POISSON, "viscosity": truth["viscosity"], **start,
        }},
        "sdfs": {"floor": {"plane": {}}},
        "contact": [{"name": "ground", "points": name, "against": "floor",
                     "k_n": throw["k_n"] * how.stiffer, "c_n": 0, "k_t": throw["k_t"] * how.stiffer,
                     "c_f": truth["c_f"]}],
    }  # fmt: skip
