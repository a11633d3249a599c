"""The layer on the real engine: gradients through bounces, recovery of parameters, same bits."""

from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.inverse import (
    EARLY,
    InitialState,
    LinearFunctional,
    Parameter,
    ParameterMap,
    PoseTrack,
    SimulationProblem,
    Trial,
    check_problem,
    continuation,
    gauss_newton_covariance,
    horizons,
    levenberg_marquardt,
)
from diffsim_ros.inverse.simulation_problem import engine_rollouts
from diffsim_ros.rotation import quat_exp, quat_multiply

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

STEP, EVERY, FRAMES = 1 / 592, 4, 45
SIGMA_P, SIGMA_R = 1e-3, np.deg2rad(0.5)
START_SIGMA = np.repeat([1e-3, 0.005, 0.015, 0.1], 3)
TRUE = {"k_n": 32e3, "c_f": 0.2, "c_n": 0.5}
STATE = ("position", "rotation", "velocity", "angular_velocity")


def cube_scene():
    scene = _engine.Scene()
    scene.set_gravity([0, 0, -9.81])
    scene.add_rigid_body(
        "cube", mass=0.37, inertia=[8.1e-4] * 3 + [0, 0, 0], position=[0, 0, 0.15],
        orientation=[0, 0, 0, 1], velocity=[0, 0, 0], angular_velocity=[0, 0, 0], radius=0.05,
    )  # fmt: skip
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    scene.add_points(
        "corners", bodies=["cube"] * 8, local=0.0524 * corners, inset=-corners, radius=0.005
    )
    scene.add_contact(
        "ground", points="corners", sdf=_engine.Plane([0, 0, 1], 0.0), k_n=TRUE["k_n"], k_t=66.0,
        c_f=TRUE["c_f"], c_n=TRUE["c_n"],
    )  # fmt: skip
    return scene


@pytest.fixture(scope="module")
def scene():
    return cube_scene()


@pytest.fixture(scope="module")
def options():
    return _engine.Options(step=STEP, order=2, record_every=EVERY, record_modes=True)


def parameters(scene):
    return ParameterMap(
        [
            Parameter("k_n", "N/m", 30e3, 1e3, 1e6, "log", sets={"ground.k_n": (1, 1)}),
            Parameter("c_f", "1", 0.25, 0.01, 1.0, "log", sets={"ground.c_f": (1, 1)}),
            Parameter("c_n", "s/m", 0.4, 0.01, 20.0, "log", sets={"ground.c_n": (1, 1)}),
        ],
        scene,
    )


def toss(generator, scene, options, name):
    """A toss with noise, and a prior of its start that is off by its own sigmas."""
    state = [
        np.array([0, 0, 0.11 + 0.05 * generator.random()]), generator.normal(size=3),
        generator.normal(size=3) * [1.2, 1.2, 0] - [0, 0, 1.5], 5 * generator.normal(size=3),
    ]  # fmt: skip
    p = scene.values
    for kind, vector in zip(STATE, state, strict=True):
        for axis, value in zip("xyz", vector, strict=True):
            p[scene.index(f"cube.{kind}.{axis}")] = value
    run = _engine.rollout(scene, p, FRAMES * EVERY, options)
    assert run.ok, run.message
    contact = run.modes & 3
    assert np.any(contact == 2) and np.any(contact[-20:] == 0), "no bounce with sliding"
    blur = generator.normal(size=(2, FRAMES, 3))
    track = PoseTrack(
        "cube", np.arange(1, FRAMES + 1), run.position[1:, 0] + SIGMA_P * blur[0],
        quat_multiply(quat_exp(SIGMA_R * blur[1]), run.orientation[1:, 0]), SIGMA_P, SIGMA_R,
    )  # fmt: skip
    off = START_SIGMA * generator.normal(size=12)
    start = InitialState(
        "cube", state[0] + off[:3], quat_multiply(quat_exp(off[3:6]), quat_exp(state[1])),
        state[2] + off[6:9], state[3] + off[9:], np.diag(START_SIGMA**2),
    )  # fmt: skip
    return Trial(name, FRAMES * EVERY, (track,), (start,))


@pytest.fixture(scope="module")
def tosses(scene, options):
    generator = np.random.default_rng(3)
    return [toss(generator, scene, options, f"toss {k}") for k in range(5)]


def test_gradients_through_bounces(scene, options, tosses):
    for mode in ("store", "checkpoint"):
        problem = SimulationProblem(
            scene, options, parameters(scene), tosses[:2], nuisance=True, adjoint=mode
        )
        y = 0.5 * np.random.default_rng(0).normal(size=problem.nuisance_shape)
        report = check_problem(problem, y=y, directions=4)
        assert report.passed, report.summary()


def test_gradient_of_a_functional_by_every_kind_of_entry(scene, options, tosses):
    names = [info.name for info in scene.parameters if not info.name.startswith("gravity.x")]
    typical = {n: 1e-4 for n in names if "inertia" in n} | {"corners.radius": 0.01}
    end = LinearFunctional("cube", (1, 0.5, 0.25), (0.1, 0.2, 0.3), (0.01, 0.02, 0.03))
    start = tosses[0].starts[0]
    numbers, _ = start.parameter_values(np.zeros(12))
    values = dict(zip(start.parameter_names(), numbers, strict=True))
    known = ParameterMap.of_scene(scene, names, typical).parameters
    base = ParameterMap([replace(p, value=values.get(p.name, p.value)) for p in known], scene)
    problem = SimulationProblem(scene, options, base, [Trial("end", 120, (end,))])
    report = check_problem(problem, directions=6)
    assert report.passed, report.summary()


def test_true_parameters_come_back_within_their_intervals(scene, options, tosses):
    problem = SimulationProblem(scene, options, parameters(scene), tosses, nuisance=True)
    stages = [problem.shortened(n) for n in horizons(FRAMES)]
    solution = continuation([*stages, problem], early={"options": EARLY})[-1]
    assert solution.converged, solution.message
    expected = 0.5 * problem.evaluate(solution.z, solution.y).count
    assert solution.value == pytest.approx(expected, rel=0.12), "the valley of the truth"
    found = gauss_newton_covariance(problem, solution)
    score = (problem.values(solution.z) - list(TRUE.values())) / found.std_dev
    assert np.all(np.abs(score) < 4), score
    assert all(found.identifiable)
    assert np.all(found.std_dev < 0.05 * np.array(list(TRUE.values())))


def test_same_bits_whatever_the_threads(scene, options, tosses):
    results = []
    for threads in (1, 2):
        problem = SimulationProblem(
            scene, options, parameters(scene), tosses, nuisance=True, threads=threads
        )
        results.append(problem.evaluate(problem.start, want="equations"))
    one, two = results
    assert one.value == two.value
    np.testing.assert_array_equal(one.equations.gradient_z, two.equations.gradient_z)
    np.testing.assert_array_equal(one.equations.reduced()[1], two.equations.reduced()[1])


def test_what_judges_the_end_of_a_fit_is_simulated_once(scene, options, tosses):
    problem = SimulationProblem(scene, options, parameters(scene), tosses[:2])
    counted, z = [], problem.start
    again = problem.simulated_by(lambda *a, **k: counted.append(a) or engine_rollouts(*a, **k))
    for want in ("equations", "curvature", "equations", "curvature"):
        again.evaluate(z, want=want)
    assert len(counted) == 2
    again.evaluate(z + 0.01, want="curvature")
    again.evaluate(z, want="equations")
    assert len(counted) == 3
    for want in ("equations", "curvature"):
        one, other = again.evaluate(z, want=want), problem.evaluate(z, want=want)
        np.testing.assert_array_equal(one.equations.reduced()[1], other.equations.reduced()[1])


def test_an_unusable_parameter_vector_is_a_rejected_step(scene, options, tosses):
    wild = ParameterMap([Parameter("corners.radius", "m", 0.005, typical=0.005)], scene)
    problem = SimulationProblem(scene, options, wild, tosses[:1])
    good, bad = problem.evaluate_many([problem.start, np.array([-3.0])], [None, None])
    assert good.ok and not bad.ok and "radius" in bad.failures[0]


def test_cancelling_the_engine_keeps_the_best(scene, options, tosses):
    problem = SimulationProblem(scene, options, parameters(scene), tosses, nuisance=True)
    token = _engine.CancelToken()

    def stop(progress):
        if progress.iteration == 3:
            token.cancel()

    solution = levenberg_marquardt(problem, callback=stop, cancel=token)
    assert solution.status == "cancelled" and solution.iterations == 3
    assert solution.value == problem.evaluate(solution.z, solution.y).value < np.inf
    assert problem.evaluate(solution.z, cancel=token).cancelled


def test_a_fixed_start_that_moves_with_gravity(scene, options, tosses):
    slope = np.zeros(12)
    slope[8] = 0.05
    g = Parameter("g", "m/s^2", 9.7, sets={"gravity.z": (-1, 1)}, typical=1.0)
    start = replace(tosses[0].starts[0], slopes={"g": (9.81, slope)})
    problem = SimulationProblem(
        scene, options, ParameterMap([g], scene), [replace(tosses[0], starts=(start,))]
    )
    assert check_problem(problem, directions=2).passed
    moved = problem.starts(problem.start, None)[0][0]
    assert moved.velocity[2] - start.velocity[2] == pytest.approx(0.05 * (9.7 - 9.81))
