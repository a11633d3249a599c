"""A soft puck on an incline under every contact model  [G Fig. 4.1, Table A.1].

A cylinder (900 tets, E 2.1e4 Pa, rho 150 kg/m^3, c_f 0.4, BDF1) slides down a slope of tan = 0.3
until it sticks.  Under penalty friction a stuck body creeps at v = F_t / k_t; hybrid friction holds
it.  (The thesis' puck is dropped and ten times softer.)
"""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.scene.vertices import centre_of
from examples.common import Outcome, Run, curves, instants, run

SLOPE = math.atan(0.3)
MODELS = ("linear", "tanh", "hybrid")
THESIS = {"linear": 26.24, "tanh": 30.86, "hybrid": 31.2}  # t_sim [s] of Table A.1, 4 x 3.5 GHz
K_N, K_T = 4e4, 3e3  # [N/m], [N s/m], of all surface vertices together
STEP, HEIGHT, START = 1 / 120, 0.06, 0.5  # [s], [m], [m/s]
DOWN = np.array([math.cos(SLOPE), 0.0, -math.sin(SLOPE)])
NORMAL = np.array([math.sin(SLOPE), 0.0, math.cos(SLOPE)])


def scene(friction: str, duration: float) -> dict:
    """The puck lies on the slope and starts down it at START."""
    return {
        "name": f"puck, {friction} friction",
        "world": {"step": STEP, "duration": duration, "scheme": "bdf1"},
        "bodies": {
            "puck": {
                "type": "solid",
                "shape": {"cylinder": {"radius": 0.1, "height": HEIGHT, "rings": 5, "layers": 2}},
                "density": 150, "young": 2.1e4, "poisson": 0.4, "viscosity": 2.0,
                "pose": {"position": (NORMAL * HEIGHT / 2).tolist(), "rotation": [0, SLOPE, 0]},
                "velocity": (START * DOWN).tolist(),
            }
        },
        "sdfs": {"slope": {"plane": {"normal": NORMAL.tolist()}}},
        "contact": [{"name": "ground", "points": "puck", "against": "slope", "k_n": K_N,
                     "k_t": K_T, "c_f": 0.4, "c_n": 0.1, "friction": friction}],
    }  # fmt: skip


def study(quick: bool = False) -> Outcome:
    """All contact models: where the puck ends, how it creeps, and what a step costs."""
    found, runs = Outcome(), {}
    for friction in MODELS:
        runs[friction] = run(scene(friction, 1.2 if quick else 2.5), modes=True)
    speeds, places = {}, {}
    for friction, done in runs.items():
        state = centre_of(done.model, done.rollout, "puck")
        speeds[friction] = (done.rollout.time, np.abs(state["velocity"] @ DOWN))
        places[friction] = (done.rollout.time, state["position"] @ DOWN)
        found.figures[friction] = _figures(done, speeds[friction][1], places[friction][1], friction)
    mass = runs["linear"].model.engine.masses(runs["linear"].model.engine.values).sum()
    shape = runs["linear"].model.parts.bodies["puck"].mesh
    below = shape.vertices[shape.contact, 2] < -0.49 * HEIGHT
    share = shape.weights[below].sum()  # of k_t, which is that of all surface vertices
    creep = mass * 9.81 * math.sin(SLOPE) / (K_T * share)
    # penalties hold F_t = 0.75 L only in motion: L min(s, 1) or L tanh(s) with s = k_t v / L
    share = math.tan(SLOPE) / 0.4
    creeps = {"linear": creep, "tanh": creep * math.atanh(share) / share, "hybrid": 0.0}
    found.figures["creep_by_formula"] = creeps
    _checks(found, creeps, runs["linear"].rollout.time[-1])
    found.pictures["puck.png"] = instants(
        runs["hybrid"], np.linspace(0, len(places["hybrid"][0]) - 1, 4).astype(int),
        "Puck on an incline", azimuth=-75.0, elevation=14.0,
    )  # fmt: skip
    found.pictures["speed.png"] = curves(
        speeds, ("time [s]", "speed down the slope [m/s]"), yscale="log", ylim=(1e-9, 2)
    )
    iterations = {k: (r.rollout.time[1:], r.iterations) for k, r in runs.items()}
    found.pictures["iterations.png"] = curves(iterations, ("time [s]", "Newton iterations a step"))
    return found


def _figures(done: Run, speed: np.ndarray, place: np.ndarray, friction: str) -> dict:
    sliding = done.rollout.time[1:] < START / (9.81 * (0.4 * math.cos(SLOPE) - math.sin(SLOPE)))
    iterations = done.iterations
    return {
        "distance": float(place[-1] - place[0]),
        "final_speed": float(speed[-1]),
        "iterations_sliding": float(iterations[sliding].mean()),
        "iterations_sticking": float(iterations[~sliding].mean()),
        "cpu_seconds": done.seconds,
        "cpu_seconds_per_simulated_second": done.seconds / float(done.rollout.time[-1]),
        "thesis_t_sim": THESIS[friction],
    }


def _checks(found: Outcome, creeps: dict, duration: float) -> None:
    figures = found.figures
    # sliding at v0 with deceleration g (c_f cos - sin) ends after v0^2 / 2 a
    reach = START**2 / (2 * 9.81 * (0.4 * math.cos(SLOPE) - math.sin(SLOPE)))
    figures["distance_by_formula"] = reach
    for friction in MODELS:
        apart = abs(figures[friction]["distance"] - reach - creeps[friction] * duration / 2)
        found.check(f"{friction}: slides as far as by Coulomb, within 10 %", apart < 0.1 * reach)
    for friction in ("linear", "tanh"):
        near = abs(figures[friction]["final_speed"] / creeps[friction] - 1) < 0.15
        found.check(f"{friction}: creeps as its penalty predicts, within 15 %", near)
    found.check("hybrid: comes to rest (< 1e-6 m/s)", figures["hybrid"]["final_speed"] < 1e-6)
