"""The assembled cost, gradient and equations: definition, derivatives, blocks, failures, bits."""

from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    Cauchy,
    Huber,
    InitialState,
    LinearFunctional,
    Parameter,
    ParameterMap,
    PoseTrack,
    SimulationProblem,
    SoftL1,
    StudentT,
    Trial,
    check_problem,
)
from diffsim_ros.rotation import quat_exp

PARAMETERS = [
    Parameter("cube.drag", "kg/s", 0.4, 0.01, 5.0, "log"),
    Parameter(
        "g", "m/s^2", 9.81, sets={"gravity.z": (-1, 1)}, prior_mean=9.7, prior_sigma=0.1, typical=1
    ),
]


@pytest.fixture
def build(scene, options, engine, trials):
    def make(parameters=PARAMETERS, trials=trials, **settings):
        settings = {"nuisance": True, "simulator": engine, **settings}
        return SimulationProblem(
            scene, options, ParameterMap(parameters, scene), trials, **settings
        )

    return make


def point(problem, seed=3):
    generator = np.random.default_rng(seed)
    return problem.start + 0.1, 0.5 * generator.normal(size=problem.nuisance_shape)


def all_kinds(trials):
    """The trials with every loss, an estimated pivot, slopes, extra entries and functionals."""
    names = tuple(f"pivot{i}" for i in range(6))
    slope = np.zeros(12)
    slope[8], slope[3] = 0.05, 0.01
    out = []
    for k, trial in enumerate(trials):
        loss = [Huber(1.5), SoftL1(2.0)][k % 2]
        pose = replace(trial.objectives[0], offset_names=names, loss=loss)
        ball = PoseTrack("ball", [1, 2], np.ones((2, 3)), None, 0.3)
        start = replace(trial.starts[0], slopes={"g": (9.8, slope)})
        end = LinearFunctional("cube", (1, 0.5, 0.25), (1, 2, 3), (0.1, 0.2, 0.3))
        out.append(
            replace(
                trial, objectives=(pose, ball, end), starts=(start,), weight=1.0 + k,
                loss=[StudentT(4.0, 90.0), Cauchy(9.0)][k // 2],
                parameters={"ball.velocity.x": 0.1 * k},
            )
        )  # fmt: skip
    pivots = [Parameter(n, "m", 0.01 * i, typical=0.1) for i, n in enumerate(names)]
    return out, [*PARAMETERS, *pivots]


def test_cost_is_its_definition(build, trials, scene, options, engine):
    problem = build()
    z, y = point(problem)
    total = 0.5 * ((problem.map.named(z)["g"] - 9.7) / 0.1) ** 2 + 0.5 * np.sum(y**2)
    for trial, run in zip(trials, problem.rollouts(z, y), strict=True):
        pose = trial.objectives[0]
        residual = (run.position[pose.frames, 1] - pose.position) / pose.sigma_position[:, None]
        rotation = pose.term(run, problem._slots["cube"], {}).residual[:, 3:]
        total += 0.5 * np.sum(residual**2) + 0.5 * np.sum(rotation**2)
    assert problem.evaluate(z, y).value == pytest.approx(total, rel=1e-12)
    assert engine.calls == 2, "one engine call per evaluation"


def test_starts_are_the_belief_moved_by_the_nuisance(build):
    problem = build()
    z, y = point(problem)
    for trial, row, (estimated,), run in zip(
        problem.trials, y, problem.starts(z, y), problem.rollouts(z, y), strict=True
    ):
        prior = trial.starts[0]
        offset = prior.factor @ row
        np.testing.assert_allclose(estimated.position, prior.position + offset[:3])
        np.testing.assert_allclose(run.position[0, 1], estimated.position, atol=1e-14)
        np.testing.assert_allclose(run.velocity[0, 1], estimated.velocity, atol=1e-14)
        np.testing.assert_allclose(run.angular_velocity[0, 1], estimated.angular_velocity)
        dot = abs(run.orientation[0, 1] @ estimated.orientation)
        assert dot == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("nuisance", [True, False])
def test_gradients_of_the_reported_cost_are_exact(build, trials, nuisance):
    many, parameters = all_kinds(trials)
    problem = build(parameters, many, nuisance=nuisance)
    report = check_problem(problem, *point(problem), directions=12, seed=2)
    assert report.passed, report.summary() + str(report.failed[:2])
    assert report.adjoint < 1e-13 and len(report.counted) == 12


def test_curvature_is_the_hessian_up_to_gauss_newton(build, trials):
    """Residuals linear in a velocity: "curvature" is the gradient's change, losses included."""
    sharp = [
        replace(t, loss=Cauchy(4.0), objectives=(replace(t.objectives[0], loss=Huber(2.5)),))
        for t in trials
    ]
    pull = [Parameter("cube.velocity.z", "m/s", 0.0, typical=1e-2)]
    drop = [replace(t, starts=()) for t in sharp]
    problem = build(pull, drop, nuisance=False)
    z, eps = np.array([1.3]), 1e-6
    curved = problem.evaluate(z, want="curvature").equations.Hzz.sum()
    plain = problem.evaluate(z, want="equations").equations.Hzz.sum()
    up, down = (problem.evaluate(z + s, want="gradient").gradient[0][0] for s in (eps, -eps))
    assert curved == pytest.approx((up - down) / (2 * eps), rel=1e-5), "linear in the velocity"
    assert abs(plain / curved - 1) > 0.1, "the losses have no curvature here"


def test_weights_repeat_trials(build, trials):
    z, y = point(build())
    twice = build(trials=[trials[0], trials[0], trials[2]])
    weighted = build().weighted([2.0, 0.0, 1.0, 0.0])
    a = twice.evaluate(z, y[[0, 0, 2]], want="equations")
    b = weighted.evaluate(z, y, want="equations")
    assert a.value == pytest.approx(b.value)
    np.testing.assert_allclose(a.equations.gradient_z, b.equations.gradient_z)
    np.testing.assert_allclose(a.equations.reduced()[1], b.equations.reduced()[1])


def test_compliant_parameters(build, scene):
    problem = build().compliant(0.5, ["cube.drag"])
    z, y = point(problem)
    assert problem._vector(0, z, y[0])[scene.index("cube.drag")] == pytest.approx(
        0.5 * problem.map.named(z)["cube.drag"]
    )
    assert check_problem(problem, z, y, directions=4).passed


def test_same_bits_every_time_and_alone(build):
    problem = build()
    points = [point(problem, seed) for seed in range(3)]
    together = problem.evaluate_many(*zip(*points, strict=True), want="equations")
    for (z, y), many in zip(points, together, strict=True):
        alone = build().evaluate(z, y, want="equations")
        assert alone.value == many.value and alone.signature == many.signature
        np.testing.assert_array_equal(alone.equations.Hyz, many.equations.Hyz)
        np.testing.assert_array_equal(alone.equations.gradient_z, many.equations.gradient_z)


def test_a_failed_rollout_is_named_and_never_nan(build):
    problem = build()
    z = problem.map.scaled({"cube.drag": 40.0})
    found = problem.evaluate(z, want="equations")
    assert not found.ok and found.value == np.inf and found.equations is None
    assert found.failures[0] == "toss 0: non_finite: step 3: cube" and len(found.failures) == 4


def test_signature_names_the_branches(build):
    problem = build([Parameter("cube.velocity.x", "m/s", 0.1)], nuisance=False, trials=[
        replace(t, starts=()) for t in build().trials
    ])  # fmt: skip
    signatures = [problem.evaluate(np.array([s])).signature for s in (1.0, -1.0)]
    assert signatures == [(1,) * 4, (0,) * 4]


def particle():
    return InitialState("ball", [0, 0, 1.0], None, [1.0, 0, 0], covariance=np.eye(6) * 0.01)


def test_particle_starts(build, scene):
    track = PoseTrack("ball", [1, 3, 5], np.zeros((3, 3)), None, 0.1)
    problem = build(PARAMETERS[1:], [Trial("drop", 12, (track,), (particle(),))])
    assert problem.nuisance_shape == (1, 6)
    assert check_problem(problem, *point(problem), directions=6).passed
    assert problem.starts(*point(problem))[0][0].orientation is None


def test_bad_problems_are_named(build, trials):
    one = trials[0]
    bare = replace(one.starts[0], covariance=None)
    pose = one.objectives[0]
    late = replace(pose, frames=pose.frames + 10)
    lost = replace(pose, body="cub")
    sloped = replace(one.starts[0], slopes={"gg": (1.0, np.zeros(12))})
    cases = [
        (dict(trials=[]), "at least one trial"),
        (dict(trials=[replace(one, starts=(bare,))]), "covariance"),
        (dict(trials=[replace(one, objectives=(late,))]), r"frames.*0\.\.15"),
        (dict(trials=[replace(one, objectives=(lost,))]), "cube"),
        (dict(trials=[replace(one, starts=(sloped,))]), "did you mean"),
        (dict(trials=[one, replace(one, starts=())]), "same bodies"),
        (dict(trials=[replace(one, starts=(replace(one.starts[0], body="x"),))]), "starts"),
        (dict(parameters=[Parameter("cube.position.x", "m", 0.0)]), "not both"),
        (dict(parameters=[Parameter("cube.dragg", "", 1.0)]), r"cube\.drag"),
    ]
    for change, says in cases:
        with pytest.raises(InputError, match=says):
            build(**change)
    start = dict(position=[0, 0, 0], velocity=[0, 0, 0])
    q = quat_exp(np.zeros(3))
    with pytest.raises(InputError, match="finite"):
        InitialState("cube", [0, 0, np.nan], None, [0, 0, 0])
    with pytest.raises(InputError, match="together with orientation"):
        InitialState("cube", orientation=q, **start)
    for covariance in (np.eye(5), -np.eye(6), np.arange(36.0).reshape(6, 6)):
        with pytest.raises(InputError, match="positive definite"):
            InitialState("cube", orientation=None, covariance=covariance, **start)
