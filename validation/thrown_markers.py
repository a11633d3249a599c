"""A soft sphere and a soft cube thrown onto a floor, six markers on each: material and starts.

No inverse crime: recordings come from a mesh with edges half as long, a quarter of the step, the
contact points of that mesh and stiffer contact; six markers stand 5 mm off the surface, and video
at 60 Hz gives each with noise, and loses some.  Estimated together: Young's modulus, viscosity,
friction, and the twelve numbers of the start, which the flight before the first contact finds; as
nuisances the contact's stiffness, normal and tangential.  Known: mass, shape, Poisson's ratio,
gravity, where the markers are in the body at rest.  The fit is not given the noise:
residuals do, and standard deviations follow them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.inverse import (
    EARLY,
    LMOptions,
    Parameter,
    ParameterMap,
    Pinned,
    SimulationProblem,
    Trial,
    continuation,
    gauss_newton_covariance,
    levenberg_marquardt,
)
from diffsim_ros.inverse.marker_track import MarkerTrack, interpolated
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.inverse.trial import InitialState
from diffsim_ros.real2sim.scenarios.throw import free_flight, free_spin
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of, rigid_fit
from diffsim_ros.real2sim.spread import STATES, start_estimates
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.model import SceneModel

from .common import Missed, judged, share
from .coverage import THESIS, coverage, pair, reported
from .thrown import GRAVITY, TRUTH, Numerics, ball
from .thrown import scene as throw_scene

HALF = 0.1  # radius of the sphere, half edge of the cube [m]
OFF = 0.005  # markers off the surface [m]
PLACES = (HALF + OFF) * np.concatenate([np.eye(3), -np.eye(3)])  # in the body's frame
RATE, DURATION = 60.0, 0.35  # Hz, s
NOISE = 4e-3  # m; finer, and the model's own errors are no longer below it
LOST = 0.05  # share of missing markers
# N/m, N s/m over the whole surface: a floor hard enough that its own give takes little of a bounce,
# or viscosity and contact stiffness trade places
K_N, K_T = 4e6, 4e3
BODIES = ("sphere", "cube")
LAYERS = {"sphere": 3, "cube": 4}  # of cells, at fineness 1
ENTRIES = {"young": "body.young", "viscosity": "body.viscosity", "c_f": "ground.c_f"}
START_PRIOR = np.repeat([0.03, 0.3, 0.3, 3.0], 3) ** 2  # of place, orientation, velocity, spin
LOWEST = {"sphere": HALF, "cube": np.sqrt(3) * HALF}  # of the centre in free flight at any turn
CLEAR = 0.01  # [m]
HORIZON = 0.65  # of a recording, fitted first
FINAL = LMOptions(max_iterations=25, cost_tolerance=1e-5)


def shape(kind: str, fine: int) -> dict:
    """Sphere of equal volume (540 tets at fineness 1), or cube (384)."""
    layers = LAYERS[kind] * fine
    if kind == "cube":
        return {"box": {"size": [2 * HALF] * 3, "cells": [layers] * 3}}
    return ball(HALF, layers)


def scene(kind: str, how: Numerics, truth: Mapping) -> SceneModel:
    """The throw; truth: young, viscosity, c_f, position, turn, velocity, angular_velocity."""
    parts = shape(kind, how.fine)
    throw = throw_scene("body", parts, how, truth, duration=DURATION, k_n=K_N, k_t=K_T)
    return load_scene(throw)


def thrown(kind: str, seed: int) -> dict:
    """Truth of a recording: the same body, thrown differently every time."""
    generator = np.random.default_rng([seed, 3])
    height = {"sphere": 0.35, "cube": 0.42}[kind]
    return {
        **TRUTH,
        "position": np.array([0, 0, height]) + generator.uniform(-0.03, 0.03, 3),
        "turn": Rotation.from_rotvec(generator.uniform(-0.5, 0.5, 3)),
        # fast enough to slide: rolling or sticking does not determine friction
        "velocity": np.array([3.0, 0.2, -1.2]) + generator.uniform(-0.2, 0.2, 3),
        "angular_velocity": generator.uniform(-3, 3, 3),
    }


def recorded(kind: str, seed: int, how: Numerics) -> tuple[np.ndarray, np.ndarray, dict]:
    """Times (M,) [s], markers (M, 6, 3) [m], NaN where lost, and the truth."""
    truth = thrown(kind, seed)
    model = scene(kind, how, truth)
    run = _engine.rollout(model.engine, model.engine.values, model.steps + 1, model.options)
    assert run.ok, run.message
    t = np.arange(round(DURATION * RATE)) / RATE
    slot = body_slots(model.engine)["body"]
    x, _ = interpolated(_carrier(model, truth), run, slot, t, how.step * how.every)
    generator = np.random.default_rng([seed, 4])
    x = x + NOISE * generator.normal(size=x.shape)
    x[generator.random(x.shape[:2]) < LOST] = np.nan
    return t, x, truth


def _carrier(model: SceneModel, at: Mapping):
    """The markers, on the body as it stands when the scene starts."""
    return carrier_of(model, "body", at["position"] + at["turn"].apply(PLACES))


def first_start(kind: str, t, x) -> tuple[dict, InitialState]:
    """The start from the flight: rigid fits of all frames before the first contact."""
    turns, places = [], []
    for observed in x:
        known = np.isfinite(observed).all(axis=1)
        turn, place = rigid_fit(PLACES[known], observed[known])
        if place[2] - LOWEST[kind] < CLEAR:
            break
        turns.append(turn)
        places.append(place)
    n = len(places)
    place, velocity, _ = free_flight(t[:n], places, GRAVITY)
    turn, spin = free_spin(t[:n], turns)
    turn = Rotation.from_matrix(turn)
    guess = {"young": TRUTH["young"] / 2, "viscosity": TRUTH["viscosity"] / 2, "c_f": 0.5,
             "position": place, "turn": turn, "velocity": velocity,
             "angular_velocity": spin}  # fmt: skip
    return guess, InitialState("body", place, turn.as_quat(), velocity, spin, np.diag(START_PRIOR))


def problem_of(kind: str, how: Numerics, t, x) -> SimulationProblem:
    """Parameters and start of one recording."""
    guess, start = first_start(kind, t, x)
    model = scene(kind, how, guess)
    interval = how.step * how.every
    track = MarkerTrack("body", t, interval, _carrier(model, guess), x, NOISE)
    parameters = [
        Parameter("young", "Pa", guess["young"], 2e3, 5e5, "log", sets=_sets("young")),
        Parameter("viscosity", "Pa s", guess["viscosity"], 0.5, 2e3, "log",
                  sets=_sets("viscosity")),
        Parameter("c_f", "1", guess["c_f"], 0.01, 1.5, typical=0.1, sets=_sets("c_f")),
        # how hard floor and skin are, and how stiffly they stick, is not known: a factor of e
        # either way
        *(Parameter(name, unit, k, k / 50, 50 * k, "log", k, k, sets={f"ground.{name}": (1.0, 1.0)})
          for name, unit, k in (("k_n", "N/m", K_N), ("k_t", "N s/m", K_T))),
    ]  # fmt: skip
    steps = (int(np.floor(t[-1] / interval + 1e-9)) + 1) * how.every
    return SimulationProblem(
        model.engine, model.options, ParameterMap(parameters, model.engine),
        [Trial("throw", steps, (track,), (start,))], nuisance=True, threads=1,
    )  # fmt: skip


def _sets(name: str) -> dict:
    return {ENTRIES[name]: (1.0, 1.0)}


def estimated(kind: str, t, x, truth: Mapping, how: Numerics) -> dict:
    """Figures of one recording; the truth is used for nothing but the bound and the comparison."""
    begin, cpu = time.perf_counter(), time.process_time()
    problem = problem_of(kind, how, t, x)
    rows = problem.trials[0].steps // problem.options.record_every
    # the contact's stiffness comes last: with the first guess of friction, far too high, a soft
    # tangential damping explains the slide as well, and that is a minimum of its own
    at_guess = {i: problem.start[i] for i in map(problem.names.index, ("k_n", "k_t"))}
    first = Pinned(problem.shortened(round(HORIZON * rows)), at_guess)
    early = continuation([first], options=EARLY)
    z = first.whole(early[-1].z)
    end = levenberg_marquardt(problem, z, early[-1].y, options=FINAL)
    found = gauss_newton_covariance(problem, end, noise="estimated")
    start = start_estimates(problem, end.z, end.y, found.noise)[0]
    spent = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
    at = _truth(problem, truth)
    _, H, _ = problem.evaluate(*at, want="equations").equations.reduced()
    bound = np.sqrt(np.diagonal(np.linalg.inv(H))) * np.abs(problem.value_slopes(at[0]))
    right = start_estimates(problem, *at)[0]
    pairs = {
        name: pair(TRUTH[name], end.parameters[name], found.std_dev[i], bound[i])
        for i, name in enumerate(problem.names) if name in TRUTH
    }  # fmt: skip
    for state in STATES:
        away = getattr(start.state, state) - getattr(right.state, state)
        if state == "orientation":
            turn = Rotation.from_quat(start.state.orientation) * truth["turn"].inv()
            away = turn.as_rotvec()
        for k, axis in enumerate("xyz"):
            sigmas = start.sigma[state][k], right.sigma[state][k]
            pairs[f"{state}.{axis}"] = pair(0.0, away[k], *sigmas)  # errors, not places
    count = 3 * int(np.isfinite(x).all(axis=2).sum())
    return {
        "parameters": pairs, "chi_square_per_number": 2 * end.value / count, "numbers": count,
        "rollouts": end.evaluations + sum(s.evaluations for s in early), **spent,
        "noise_m": NOISE * found.noise, "status": end.status,
        **{name: end.parameters[name] for name in ("k_n", "k_t")},
    }  # fmt: skip


def _truth(problem: SimulationProblem, truth: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """(z, y) of the true parameters and start."""
    start = problem.trials[0].starts[0]
    turn = (truth["turn"] * Rotation.from_quat(start.orientation).inv()).as_rotvec()
    away = np.concatenate([
        truth["position"] - start.position, turn, truth["velocity"] - start.velocity,
        truth["angular_velocity"] - start.angular_velocity,
    ])  # fmt: skip
    return problem.map.scaled(TRUTH), np.linalg.solve(start.factor, away)[None]


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Five recordings of each body (a tenth: one); criteria of `coverage` for each."""
    how, figures, missed = Numerics(), {"thesis": THESIS}, []
    for kind in BODIES:
        fits = []
        for k in range(share(5, fraction)):
            recording = recorded(kind, seed + k, how.finer(RATE))
            fits.append(reported(f"{kind} {k}", estimated(kind, *recording, how)))
        try:
            figures[kind] = {**coverage(fits), "recordings": fits}
        except Missed as error:  # the other body is still evaluated
            figures[kind] = {**error.figures, "recordings": fits}
            missed += [f"{kind}: {one}" for one in error.missed]
    return judged(figures, missed)
