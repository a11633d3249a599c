"""A foam ball thrown onto a floor before a depth camera: material, friction and start from clouds.

No inverse crime: recordings come from a mesh with edges half as long, a quarter of the step, the
contact points of that mesh and stiffer contact, rendered by Open3D with noise along the ray, rims
that fly, holes and the floor in view.  The floor that the estimate bounces on is the one that the
pipeline found.  Estimated together: Young's modulus, viscosity, friction, place and velocity of
the start, and, as a nuisance, the contact's stiffness; known: mass, radius, Poisson's ratio,
gravity, no spin before the first contact.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from diffsim_ros import _engine, meshes
from diffsim_ros.inverse import (
    EARLY,
    Huber,
    LMOptions,
    Loss,
    Parameter,
    ParameterMap,
    SimulationProblem,
    Trial,
    continuation,
    gauss_newton_covariance,
    levenberg_marquardt,
)
from diffsim_ros.real2sim.clouds.cloud import Cloud
from diffsim_ros.real2sim.clouds.options import read_cloud_options
from diffsim_ros.real2sim.clouds.pipeline import CloudPipeline, stage_table
from diffsim_ros.real2sim.clouds.placing import free_flight, placed
from diffsim_ros.real2sim.clouds.planes import Plane
from diffsim_ros.real2sim.clouds.skin import skin_of
from diffsim_ros.real2sim.clouds.track import cloud_track, sightings
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.model import SceneModel

from .common import share
from .depth_camera import KINECT, DepthCamera, floor_mesh

RADIUS, DENSITY, POISSON = 0.1, 150.0, 0.35  # m, kg/m^3
K_N, K_T = 1e6, 4e3  # N/m, N s/m over the whole surface
GRAVITY = np.array([0.0, 0.0, -9.81])
RATE, DURATION = 30.0, 14 / 30  # Hz, s: a flight, a bounce, and most of the next flight
SAMPLE = 150
CLEAR = 0.02  # m above the floor: still in free flight
CAMERA = DepthCamera((0.7, -1.5, 0.9), (0.6, 0.0, 0.15))
TRUTH = {"young": 2.2e4, "viscosity": 40.0, "c_f": 0.25}
NAMES = {"ball.young": "young", "ball.viscosity": "viscosity", "ground.c_f": "c_f"}
VECTORS = ("position", "velocity")
HORIZONS = (0.5, 0.75)  # of a recording
FINAL = LMOptions(max_iterations=20, cost_tolerance=1e-6)


def equal_volume(layers: int) -> float:
    """Radius [m] at which a mesh of flat faces has the ball's volume."""
    vertices, tets = meshes.ball(layers, 1.0)
    volume = meshes.determinants(vertices, tets).sum() / 6
    return float(RADIUS * (4 / 3 * np.pi / volume) ** (1 / 3))


@dataclass(frozen=True)
class Numerics:
    """How a ball is simulated: layers and kind of its tets, step [s], rows of the rollout per step,
    factor on the contact's stiffness."""

    layers: int = 3
    element: str = "p2"  # linear tets of the same cost are 10 % too stiff
    step: float = 1 / 480
    every: int = 1
    stiffer: float = 1.0

    def finer(self) -> Numerics:
        """Edges half as long, a quarter of the step, stiffer contact; rows at the camera's rate."""
        step = self.step / 4
        return Numerics(2 * self.layers, self.element, step, round(1 / (step * RATE)), 2.0)

    def same(self) -> Numerics:
        """The inverse crime, as a control: the same, with rows at the camera's rate."""
        return replace(self, every=round(1 / (self.step * RATE)))


def scene(truth: Mapping, how: Numerics, floor: Mapping) -> SceneModel:
    """The throw; truth: young, viscosity, c_f, position, velocity."""
    ball = {"radius": equal_volume(how.layers), "layers": how.layers}
    return load_scene({
        "world": {"step": how.step, "duration": DURATION, "record_every": how.every},
        "bodies": {"ball": {
            "type": "solid", "shape": {"ball": ball}, "element": how.element, "density": DENSITY,
            "young": float(truth["young"]), "poisson": POISSON,
            "viscosity": float(truth["viscosity"]),
            "pose": {"position": [float(v) for v in truth["position"]]},
            "velocity": [float(v) for v in truth["velocity"]],
        }},
        "sdfs": {"floor": floor},
        "contact": [{"name": "ground", "points": "ball", "against": "floor",
                     "k_n": K_N * how.stiffer, "k_t": K_T * how.stiffer,
                     "c_f": float(truth["c_f"])}],
    })  # fmt: skip


def thrown(seed: int) -> dict:
    """Truth of a recording: the same ball, thrown a little differently every time."""
    generator = np.random.default_rng([seed, 1])
    start = np.array([0.0, 0.0, 0.4]) + generator.uniform(-0.03, 0.03, 3)
    velocity = np.array([2.0, 0.2, -1.0]) + generator.uniform(-0.2, 0.2, 3)
    return {**TRUTH, "position": start, "velocity": velocity}


def recorded(seed: int, how: Numerics) -> tuple[list[Cloud], dict, float]:
    """Clouds of a throw in the camera's frame, its truth, and seconds that simulating it took."""
    truth, begin = thrown(seed), time.perf_counter()
    model = scene(truth, how, {"plane": {}})
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    seconds = time.perf_counter() - begin
    skin = skin_of(model, "ball", 1, RADIUS)
    slot = _slot(model)
    places, _ = skin.motion(run, slot, np.arange(len(run.time)))
    generator = np.random.default_rng([seed, 2])
    clouds = [
        CAMERA.frame([(x, skin.triangles), floor_mesh(0.0)], float(t), generator)
        for x, t in zip(places, run.time, strict=True)
    ]
    return clouds, truth, seconds


def _slot(model):
    return SimulationProblem(
        model.engine, model.options, ParameterMap([], model.engine), [Trial("none", 1, ())]
    )._slots["ball"]


def pipeline() -> CloudPipeline:
    """From the camera's frames to the ball's points in the world, SAMPLE of each."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(CAMERA.rotation).as_quat()
    noise = {"constant": KINECT.constant, "quadratic": KINECT.quadratic,
             "reference": KINECT.reference, "lateral": CAMERA.jitter / CAMERA.focal}  # fmt: skip
    return CloudPipeline(read_cloud_options({
        "sensor_frame": "camera", "position": list(CAMERA.eye), "orientation": turn.tolist(),
        "boxes": [{"low": [-1, -1, -0.3], "high": [3, 1, 1.5]}],
        "planes": {"distance": 0.02, "frames": 3},
        "outliers": {"radius": 0.025, "least": 6},
        "object": {"distance": 0.025, "gravity": GRAVITY.tolist()},
        "sample": SAMPLE, "noise": noise,
    }, "foam_ball"))  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """What one recording gave: values, sigmas and Cramer-Rao bounds by parameter, and its cost."""

    truth: dict
    value: dict
    sigma: dict
    bound: dict
    chi_square: float
    points: int
    rollouts: int
    seconds: float
    status: str
    floor: Plane
    stages: list
    solution: object = None
    problem: SimulationProblem | None = None


def estimated(clouds: Sequence[Cloud], truth: Mapping, how: Numerics) -> Fit:
    """Fit one recording; the truth is used for nothing but the bound and the comparison."""
    begin = time.perf_counter()
    steps = pipeline()
    frames = steps.run(clouds)
    floor = next(plane for plane in steps.planes if plane.name == "floor")
    seen = sightings(frames)
    guess = first_guess(seen, floor)
    model = scene(guess, how, floor.sdf())
    problem = _problem(model, seen, steps.options.noise, clouds[0].stamp, guess)
    final, solution, count = _solved(problem)
    found = gauss_newton_covariance(final, solution)
    bound = _bound(final, truth)
    points = sum(len(c) for c in seen)
    values, right = final.values(solution.z), _true_values(truth)
    named = {name: i for i, name in enumerate(final.names) if name in right}
    return Fit(
        {n: right[n] for n in named}, {n: float(values[i]) for n, i in named.items()},
        {n: float(found.std_dev[i]) for n, i in named.items()},
        {n: float(bound[i]) for n, i in named.items()},
        2 * solution.value / points, points, count,
        time.perf_counter() - begin, solution.status, floor, stage_table(frames), solution, final,
    )  # fmt: skip


def first_guess(seen: Sequence[Cloud], floor: Plane) -> dict:
    """Start values: place and velocity by the free flight, material off by a factor of two."""
    vertices, tets = meshes.ball(4, RADIUS)
    triangles = meshes.surface(tets)
    t, places = [], []
    for cloud in seen:
        place = placed(vertices, triangles, cloud)
        if floor.distance(place) - RADIUS < CLEAR:
            break
        t.append(cloud.stamp - seen[0].stamp)
        places.append(place)
    start, velocity, _ = free_flight(t, places, GRAVITY)
    return {
        "young": TRUTH["young"] / 2, "viscosity": TRUTH["viscosity"] / 2, "c_f": 0.5,
        "position": start, "velocity": velocity,
    }  # fmt: skip


def _problem(model, seen, noise, stamp, guess) -> SimulationProblem:
    track = cloud_track(
        "ball", seen, skin_of(model, "ball", 2, RADIUS), noise, start=stamp,
        interval=model.options.step, loss=Huber(2.0),
    )  # fmt: skip
    parameters = [
        Parameter("ball.young", "Pa", guess["young"], 2e3, 5e5, "log"),
        Parameter("ball.viscosity", "Pa s", guess["viscosity"], 0.5, 2e3, "log"),
        Parameter("ground.c_f", "1", guess["c_f"], 0.01, 1.5, typical=0.1),
        # how hard floor and skin are is not known: a factor of e either way
        Parameter("ground.k_n", "N/m", K_N, K_N / 50, 50 * K_N, "log", K_N, K_N),
    ]
    for kind, unit in zip(VECTORS, ("m", "m/s"), strict=True):
        for axis, value in zip("xyz", guess[kind], strict=True):
            parameters.append(Parameter(f"ball.{kind}.{axis}", unit, float(value), typical=0.01))
    return SimulationProblem(
        model.engine, model.options, ParameterMap(parameters, model.engine),
        [Trial("throw", model.steps, (track,))], threads=1,
    )  # fmt: skip


def _solved(problem):
    """Short to long: to a little after the first contact, further, all of it, weighed anew."""
    steps = problem.trials[0].steps
    stages = [problem.shortened(round(share * steps)) for share in HORIZONS]
    early = continuation(stages, options=EARLY)
    final = _reweighted(problem, early[-1].z)
    last = levenberg_marquardt(final, early[-1].z, options=FINAL)
    return final, last, last.evaluations + sum(s.evaluations for s in early)


def _reweighted(problem, z) -> SimulationProblem:
    """The problem with every point's incidence taken from the motion at z."""
    run, trial = problem.rollouts(z)[0], problem.trials[0]
    track = trial.objectives[0].reweighted(run, problem._slots["ball"])
    return SimulationProblem(
        problem.scene, problem.options, problem.map,
        [replace(trial, objectives=(track,))], threads=1,
    )  # fmt: skip


def _true_values(truth) -> dict:
    values = {name: truth[key] for name, key in NAMES.items()}
    for kind in VECTORS:
        values |= {f"ball.{kind}.{a}": v for a, v in zip("xyz", truth[kind], strict=True)}
    return {name: float(value) for name, value in values.items()}


def _bound(problem, truth) -> np.ndarray:
    """Cramer-Rao bound: inverse Fisher information of these points' noise at the truth."""
    right = {"ground.k_n": K_N, **_true_values(truth)}
    z = np.array([p.to_z(right[p.name]) for p in problem.map.free])
    track = replace(problem.trials[0].objectives[0], loss=Loss())
    plain = SimulationProblem(
        problem.scene, problem.options, problem.map,
        [replace(problem.trials[0], objectives=(track,))], threads=1,
    )  # fmt: skip
    e = plain.evaluate(z, want="equations").equations
    _, H, _ = e.reduced()
    return np.sqrt(np.diagonal(np.linalg.inv(H))) * np.abs(plain.value_slopes(z))


def summary(fit: Fit) -> dict:
    """Figures of one recording, plain data."""
    return {
        "parameters": {
            name: {
                "truth": fit.truth[name], "value": fit.value[name], "sigma": fit.sigma[name],
                "z": (fit.value[name] - fit.truth[name]) / fit.sigma[name],
                "sigma_over_bound": fit.sigma[name] / fit.bound[name],
            }
            for name in fit.value
        },
        "chi_square_per_point": fit.chi_square, "points": fit.points, "rollouts": fit.rollouts,
        "seconds": fit.seconds, "status": fit.status, "pipeline": fit.stages,
        "floor": {"offset_m": fit.floor.offset, "sigma_m": fit.floor.sigma_height(),
                  "tilt_deg": float(np.degrees(np.arccos(min(1.0, fit.floor.normal[2]))))},
    }  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Five recordings (a tenth: one); 85 to 100 % of all parameters inside their intervals."""
    how, fits = Numerics(), []
    for k in range(share(5, fraction)):
        clouds, truth, _ = recorded(seed + k, how.finer())
        fits.append(summary(estimated(clouds, truth, how)))
    z = np.abs([p["z"] for fit in fits for p in fit["parameters"].values()])
    ratio = max(p["sigma_over_bound"] for fit in fits for p in fit["parameters"].values())
    inside = float(np.mean(z <= norm.ppf(0.975)))
    figures = {
        "recordings": fits, "pairs": len(z), "inside_95": inside,
        "largest_z": float(z.max()), "largest_sigma_over_bound": float(ratio),
    }  # fmt: skip
    assert ratio <= 3, f"sigma over the Cramer-Rao bound: {ratio:.2f}"
    assert z.max() <= norm.ppf(0.9995), f"outside of its 99.9 % interval: {z.max():.2f} sigma"
    assert inside >= 0.85, f"inside 95 %: {100 * inside:.0f} %"
    return figures
