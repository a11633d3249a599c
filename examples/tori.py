"""Three tori in one soft body dropped on a slope and against a wall  [G Fig. 4.4, Table A.1].

three_tori.vtk (fTetWild's mesh of the zero set of three tori across each other), E 2.1e4 Pa,
viscosity 0.1 Pa s, rho 150 kg/m^3; ground inclined by 20 degrees with c_f 0.4, wall with 0.8; BDF2.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from diffsim_ros.scene.vertices import centre_of
from examples.common import Outcome, curves, instants, run

MESH = Path(__file__).parent / "three_tori.vtk"
SLOPE = math.radians(20)
MODELS = ("linear", "tanh", "hybrid")
THESIS = {"linear": 119.19, "tanh": 178.5, "hybrid": 180.75}  # t_sim [s] of Table A.1


def scene(friction: str, duration: float) -> dict:
    """The body falls onto the slope, rolls down and comes to lie at the wall."""
    contact = {"points": "tori", "k_n": 5e4, "c_n": 0.1, "friction": friction}
    return {
        "name": f"three tori, {friction} friction",
        "world": {"step": 1 / 240, "duration": duration, "record_every": 2},
        "bodies": {
            "tori": {
                "type": "solid", "shape": {"mesh": {"file": str(MESH)}}, "density": 150,
                "young": 2.1e4, "poisson": 0.4, "viscosity": 0.1, "viscosity_model": "invariant",
                "pose": {"position": [-0.35, 0, 0.5], "rotation": [0.3, 0.2, 0.1]},
            }
        },
        "sdfs": {
            "ground": {"plane": {"normal": [math.sin(SLOPE), 0, math.cos(SLOPE)]}},
            "wall": {"plane": {"normal": [-1, 0, 0], "offset": -0.5}},
        },
        "contact": [
            {"name": "floor", "against": "ground", "c_f": 0.4, **contact},
            {"name": "side", "against": "wall", "c_f": 0.8, **contact},
        ],
    }  # fmt: skip


def study(quick: bool = False) -> Outcome:
    """The three models agree on where the body goes and ends."""
    found, paths, iterations = Outcome(), {}, {}
    for friction in MODELS[:1] + MODELS[2:] if quick else MODELS:
        done = run(scene(friction, 0.6 if quick else 2.0))
        state = centre_of(done.model, done.rollout, "tori")
        paths[friction] = state["position"]
        iterations[friction] = (np.arange(len(done.iterations)) / 240, done.iterations)
        found.figures[friction] = {
            "tets": done.model.meshes["tori"].tets,
            "final_position": state["position"][-1].tolist(),
            "newton_iterations_mean": float(done.iterations.mean()),
            "newton_iterations_max": int(done.iterations.max()),
            "cpu_seconds": done.seconds,
            "thesis_t_sim": THESIS[friction],
        }
        found.check(f"{friction}: at most 50 Newton iterations in every step",
                    done.iterations.max() <= 50)  # fmt: skip
        if friction == "linear":
            frames = np.linspace(0, len(done.rollout.time) - 1, 5).astype(int)
            found.pictures["tori.png"] = instants(done, frames, "Three tori", azimuth=-80.0)
    first = paths["linear"]
    moved = np.linalg.norm(first[-1] - first[0])
    for friction, path in paths.items():
        apart = float(np.abs(path - first).max())
        found.figures[friction]["largest_distance_from_linear"] = apart
        found.check(
            f"{friction}: within a tenth of the way of linear friction", apart < 0.1 * moved
        )
    found.pictures["tori_iterations.png"] = curves(
        iterations, ("time [s]", "Newton iterations a step")
    )
    return found
