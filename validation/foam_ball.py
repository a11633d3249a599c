"""A foam ball thrown onto a floor before a depth camera: material, friction and start from clouds.

No inverse crime: recordings come from a mesh with edges half as long, a quarter of the step, the
contact points of that mesh and stiffer contact, rendered by Open3D with noise along the ray, rims
that fly, holes and the floor in view.  They go through the estimation of kind `clouds`, which puts
them onto the floor that it finds.  Estimated together: Young's modulus, viscosity, friction, place
and velocity of the start, and, as a nuisance, the contact's stiffness; known: mass, radius,
Poisson's ratio, gravity, no spin before the first contact.

`python -m validation.foam_ball FOLDER` writes the recordings that data/foam_ball has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.inverse import Loss, SimulationProblem, gauss_newton_covariance
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.inverse.solution import Solution
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.fit import Fit, fit_trials
from diffsim_ros.real2sim.progress import Reporter
from diffsim_ros.real2sim.sensors.cloud.detections import skin_of
from diffsim_ros.real2sim.sensors.cloud.model import ThrowRecording
from diffsim_ros.real2sim.spread import StartEstimate, start_estimates
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import observation_of, write_sequence
from diffsim_ros.twin.depth_camera import KINECT, DepthCamera, floor_mesh

from .common import Missed, judged, share
from .coverage import THESIS, coverage, pair, reported
from .thrown import GRAVITY, TRUTH, Numerics, ball
from .thrown import scene as throw_scene

RADIUS, LAYERS = 0.1, 3  # m, of tets at fineness 1
K_N, K_T = 1e6, 4e3  # N/m, N s/m over the whole surface
RATE, DURATION = 30.0, 14 / 30  # Hz, s: a flight, a bounce, and most of the next flight
SAMPLE = 150
CAMERA = DepthCamera((0.7, -1.5, 0.9), (0.6, 0.0, 0.15))
SMALL = DepthCamera((0.5, -1.5, 0.7), (0.5, 0.0, 0.2), size=(96, 72), view=45.0)
SHIPPED = {"throw_a": 10, "throw_b": 11}  # name -> seed
ENTRIES = {"young": "ball.young", "viscosity": "ball.viscosity", "c_f": "ground.c_f"}
VECTORS = ("position", "velocity")
HORIZONS = [8, 11, 0]  # frames: to a little after the first contact, further, all of it


def scene(truth: Mapping, how: Numerics) -> dict:
    """The throw; truth: young, viscosity, c_f, position, velocity."""
    shape = ball(RADIUS, LAYERS * how.fine)
    return throw_scene("ball", shape, how, truth, duration=DURATION, k_n=K_N, k_t=K_T)


def thrown(seed: int) -> dict:
    """Truth of a recording: the same ball, thrown a little differently every time."""
    generator = np.random.default_rng([seed, 1])
    start = np.array([0.0, 0.0, 0.4]) + generator.uniform(-0.03, 0.03, 3)
    velocity = np.array([2.0, 0.2, -1.0]) + generator.uniform(-0.2, 0.2, 3)
    return {**TRUTH, "position": start, "velocity": velocity}


def recorded(seed: int, how: Numerics, camera: DepthCamera = CAMERA) -> tuple[list[Cloud], dict]:
    """Clouds of a throw in the camera's frame, and its truth."""
    truth = thrown(seed)
    model = load_scene(scene(truth, how))
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    skin = skin_of(model, "ball", 1, RADIUS)
    places, _ = skin.motion(run, body_slots(model.engine)["ball"], np.arange(len(run.time)))
    generator = np.random.default_rng([seed, 2])
    clouds = [
        camera.frame([(x, skin.triangles), floor_mesh(0.0)], float(t), generator)
        for x, t in zip(places, run.time, strict=True)
    ]
    return clouds, truth


def estimation(how: Numerics) -> dict:
    """The estimation of kind clouds; material off by a factor of two."""
    guess = {"young": TRUTH["young"] / 2, "viscosity": TRUTH["viscosity"] / 2, "c_f": 0.5}
    turn = Rotation.from_matrix(CAMERA.rotation).as_quat()
    noise = {"constant": KINECT.constant, "quadratic": KINECT.quadratic,
             "reference": KINECT.reference, "lateral": CAMERA.jitter / CAMERA.focal}  # fmt: skip
    bounds = {"young": [2e3, 5e5], "viscosity": [0.5, 2e3], "c_f": [0.01, 1.5]}
    parameters = {
        name: {"value": guess[name], "bounds": bounds[name], "sets": {entry: 1},
               "scale": "linear" if name == "c_f" else "log"}
        for name, entry in ENTRIES.items()
    }  # fmt: skip
    # how hard floor and skin are is not known: a factor of e up or down
    parameters["k_n"] = {"value": K_N, "bounds": [K_N / 50, 50 * K_N], "sets": {"ground.k_n": 1},
                         "scale": "log", "prior_mean": K_N, "prior_sigma": K_N}  # fmt: skip
    cloud = {
        "sensor_frame": "camera", "position": list(CAMERA.eye), "orientation": turn.tolist(),
        "boxes": [{"low": [-1, -1, -0.3], "high": [3, 1, 1.5]}],
        "planes": {"distance": 0.02, "frames": 3},
        "outliers": {"radius": 0.025, "least": 6},
        "object": {"distance": 0.025, "gravity": GRAVITY.tolist()},
        "sample": SAMPLE, "noise": noise,
    }  # fmt: skip
    somewhere = {**guess, "position": [0.0, 0.0, 0.4], "velocity": [0.0, 0.0, 0.0]}
    return {
        "name": "foam_ball", "kind": "clouds", "scene": scene(somewhere, how), "body": "ball",
        "data": {"train": {"files": ["rendered"]}},
        "measurement": {"cloud": cloud, "floor": "floor", "radius": RADIUS},
        "simulation": {"threads": 1}, "parameters": parameters,
        "fit": {"horizons": HORIZONS, "iterations": 20, "tolerance": 1e-6},
        "uncertainty": {"method": "covariance"},
    }  # fmt: skip


def estimated(clouds: Sequence[Cloud], truth: Mapping, how: Numerics) -> dict:
    """Figures of one recording; the truth is used for nothing but the bound and the comparison."""
    begin, cpu = time.perf_counter(), time.process_time()
    experiment = kind_of("clouds")(load_estimation(estimation(how)))
    throw = experiment.read({"train": [observation_of("rendered", clouds)], "validate": ()}).train[
        0
    ]
    fit = fit_trials(experiment.model, [throw], Reporter(None, []), None)
    found = gauss_newton_covariance(fit.problem, _solution(fit))
    start = start_estimates(fit.problem, fit.z, fit.y)[0]
    spent = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
    bound, bound_start = _bound(fit, throw, truth)
    values = fit.problem.map.named(fit.z)
    pairs = {
        name: pair(TRUTH[name], values[name], found.std_dev[i], bound[i])
        for i, name in enumerate(fit.problem.names) if name in TRUTH
    }  # fmt: skip
    right = _true_start(throw, truth)
    for kind in VECTORS:
        for k, axis in enumerate("xyz"):
            pairs[f"{kind}.{axis}"] = pair(
                right[kind][k], getattr(start.state, kind)[k], start.sigma[kind][k],
                bound_start.sigma[kind][k],
            )  # fmt: skip
    points = sum(len(cloud) for cloud in throw.detections.clouds)
    floor = throw.detections.planes[0]
    return {
        "parameters": pairs, "chi_square_per_point": 2 * fit.value / points, "points": points,
        "rollouts": fit.evaluations, **spent, "status": fit.message,
        "pipeline": throw.detections.stages,
        "floor": {"offset_m": floor.offset, "sigma_m": floor.sigma_height(),
                  "tilt_deg": float(np.degrees(np.arccos(min(1.0, floor.normal[2]))))},
    }  # fmt: skip


def _solution(fit: Fit) -> Solution:
    return Solution(fit.z, fit.y, fit.value, {}, "objective", fit.message, 0, 0)


def _true_start(throw: ThrowRecording, truth: Mapping) -> dict[str, np.ndarray]:
    """Of the recording as it was put onto the floor found."""
    return {
        "position": throw.detections.turn @ truth["position"] + throw.detections.shift,
        "velocity": throw.detections.turn @ truth["velocity"],
    }


def _bound(fit: Fit, throw: ThrowRecording, truth: Mapping) -> tuple[np.ndarray, StartEstimate]:
    """Cramer-Rao bounds: inverse Fisher information of these points' noise at the truth."""
    problem = fit.problem
    trial, named = problem.trials[0], {**TRUTH, "k_n": K_N}
    plain = SimulationProblem(
        problem.scene, problem.options, problem.map,
        [replace(trial, objectives=(replace(trial.objectives[0], loss=Loss()),))],
        nuisance=True, threads=1,
    )  # fmt: skip
    z = problem.map.scaled(named)
    start, right = throw.start, _true_start(throw, truth)
    away = np.concatenate([right[kind] - getattr(start, kind) for kind in VECTORS])
    y = np.linalg.solve(start.factor, away)[None]
    _, H, _ = plain.evaluate(z, y, want="equations").equations.reduced()
    shared = np.sqrt(np.diagonal(np.linalg.inv(H))) * np.abs(plain.value_slopes(z))
    return shared, start_estimates(plain, z, y)[0]


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Five recordings (a tenth: one); 85 to 100 % of all parameters inside their intervals."""
    how = Numerics()
    fits = [
        reported(f"recording {k}", estimated(*recorded(seed + k, how.finer(RATE)), how))
        for k in range(share(5, fraction))
    ]
    rest, missed = {"thesis": THESIS, "recordings": fits}, []
    try:
        figures = coverage(fits)
    except Missed as error:
        figures, missed = error.figures, error.missed
    return judged({**rest, **figures}, missed)


def main(folder: Path) -> None:
    """Write the shipped recordings: millimetres, as a depth camera's driver gives them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed in SHIPPED.items():
        clouds, truth = recorded(seed, Numerics().finer(RATE), SMALL)
        whole = [replace(c, points=np.round(1e3 * c.points)) for c in clouds]
        write_sequence(folder / f"{name}.npz", whole, kind=np.int16)
        print(name, truth)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
