"""Distances of points to a simulated surface: values, partials, visible side, and a whole fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros import _engine, meshes
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    CloudTrack,
    Huber,
    Parameter,
    ParameterMap,
    RigidSkin,
    SimulationProblem,
    SoftSkin,
    Trial,
    check_gradient,
    check_problem,
    continuation,
    gauss_newton_covariance,
)
from diffsim_ros.inverse.clock import Clock
from diffsim_ros.inverse.objectives import BodySlot
from diffsim_ros.scene import load_scene
from tests.inverse.partials import moved

VERTICES, TETS = meshes.ball(2, 0.1)
FACES = meshes.surface(TETS)
INTERVAL = 0.05
EYE = np.array([0.3, -1.0, 0.6])


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def soft_skin():
    used, numbers = np.unique(FACES, return_inverse=True)
    return SoftSkin(
        numbers.reshape(-1, 3), used[:, None], np.ones((len(used), 1)), np.zeros((len(used), 3))
    )


def deformed(generator, frames=4):
    """Rollout of a soft ball (node 1 on) and a rigid body (node 0): smooth, random, not round."""
    n = len(VERTICES)
    position = np.zeros((frames, n + 1, 3))
    velocity = np.zeros_like(position)
    for f in range(frames):
        stretch = np.eye(3) + 0.2 * generator.normal(size=(3, 3))
        position[f, 1:] = VERTICES @ stretch + 0.003 * generator.normal(size=(n, 3)) + 0.1 * f
        velocity[f, 1:] = 2.0 + 0.3 * generator.normal(size=(n, 3))
        position[f, 0], velocity[f, 0] = 0.1 * f, generator.normal(size=3)
    q = generator.normal(size=(frames, n + 1, 4))
    return SimpleNamespace(
        position=position, velocity=velocity,
        orientation=q / np.linalg.norm(q, axis=-1, keepdims=True),
        angular_velocity=generator.normal(size=(frames, n + 1, 3)),
    )  # fmt: skip


def measured(generator, t, count=60):
    """Points around a body that moves 0.1 per row along all axes: on, in and off its surface."""
    frame = np.repeat(np.arange(len(t)), count)
    u = generator.normal(size=(len(frame), 3))
    u *= (0.1 + 0.03 * generator.normal(size=len(u)))[:, None] / np.linalg.norm(u, axis=1)[:, None]
    return u + 0.1 * (np.asarray(t) / INTERVAL)[frame, None], frame


TIMES = np.array([0.0, 0.02, 0.05, 0.13])
SLOTS = {"soft": BodySlot(1, 6, 3 * len(VERTICES), len(VERTICES)), "rigid": BodySlot(0, 0, 6)}


def track(kind, generator, **more):
    skin = soft_skin()
    if kind == "rigid":
        used = np.unique(FACES)
        skin = RigidSkin(skin.triangles, VERTICES[used] * [1.0, 0.8, 1.3])
    points, frame = measured(generator, TIMES)
    given = {"eye": EYE, "along": 0.01, "across": 0.004, "loss": Huber(1.5), **more}
    return CloudTrack("ball", TIMES, INTERVAL, skin, points, frame, **given)


def brute_distance(x, triangles, p):
    """Unsigned distance by dense sampling of every triangle, refined once."""
    best = np.inf
    for a, b, c in x[triangles]:
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n)
        foot = p - n * (n @ (p - a))
        inside = all(n @ np.cross(v - u, foot - u) >= 0 for u, v in ((a, b), (b, c), (c, a)))
        if inside:
            best = min(best, abs(n @ (p - a)))
        for u, v in ((a, b), (b, c), (c, a)):
            s = np.clip((p - u) @ (v - u) / ((v - u) @ (v - u)), 0, 1)
            best = min(best, np.linalg.norm(p - u - s * (v - u)))
    return best


@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_distances_are_those_to_the_nearest_triangle(kind, generator):
    run, objective = deformed(generator), track(kind, generator, eye=None)
    found = objective.nearest(run, SLOTS[kind])
    x = objective.surface(run, SLOTS[kind])
    for i in range(0, len(objective.points), 7):
        brute = brute_distance(x[objective.frame[i]], objective.skin.triangles, objective.points[i])
        assert abs(found.distance[i]) == pytest.approx(brute, abs=1e-12)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    assert np.linalg.norm(found.push, axis=1) == pytest.approx(1.0)
    assert (found.distance < 0).any() and (found.distance > 0).any()


def test_the_camera_counts_what_it_sees():
    """Two balls one behind the other: points of the far one count to the near one's front."""
    used = np.unique(FACES)
    skin = soft_skin()
    both = np.concatenate([VERTICES[used], VERTICES[used] + [0, 1, 0]])
    triangles = np.concatenate([skin.triangles, skin.triangles + len(used)])
    run = SimpleNamespace(
        position=np.zeros((1, 1, 3)), velocity=np.zeros((1, 1, 3)),
        orientation=np.array([[[0, 0, 0, 1.0]]]), angular_velocity=np.zeros((1, 1, 3)),
    )  # fmt: skip
    points = np.array([[0, -0.1, 0], [0, 0.1, 0], [0, 0.9, 0], [0.0, 1.1, 0]])
    common = ([0.0], INTERVAL, RigidSkin(triangles, both), points, [0, 0, 0, 0])
    near = CloudTrack("ball", *common, eye=[0, -2.0, 0]).nearest(run, BodySlot(0, 0, 6))
    assert abs(near.distance[0]) < 0.01
    assert np.all(near.place[:, 1] < 0.01), "a hidden or turned away triangle was taken"
    free = CloudTrack("ball", *common).nearest(run, BodySlot(0, 0, 6))
    assert np.abs(free.distance).max() < 0.01


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_partials_on_random_deformed_surfaces(kind, observed, generator):
    """By the project's protocol: the cost of all points along random motions of all nodes."""
    run, slot = deformed(generator), SLOTS[kind]
    incidence = generator.uniform(0.3, 1.0, size=60 * len(TIMES))
    objective = track(kind, generator, eye=EYE if observed else None, incidence=incidence)
    frames, size = len(run.position), slot.size
    scale = np.concatenate([np.full(frames * size, 0.01), np.full(frames * size, 0.1)])

    def cost(d):
        x, v = np.split(scale * d, 2)
        new = moved(run, slot, x.reshape(frames, size), v.reshape(frames, size))
        term = objective.term(new, slot, {})
        return 0.5 * objective.loss(term.residual[:, 0] ** 2)[0].sum(), term.signature

    term = objective.term(run, slot, {})
    weight = term.residual * objective.loss(term.residual**2)[1]
    gx, gv = np.zeros((2, frames, slot.dof + size))
    term.pull(slot, weight, gx, gv)
    gradient = scale * np.concatenate([gx[:, slot.dof :].ravel(), gv[:, slot.dof :].ravel()])
    zero = np.zeros(len(scale))
    along = generator.normal(size=(6, len(scale))) / np.sqrt(len(scale))
    report = check_gradient(
        lambda D: tuple(zip(*map(cost, D), strict=True)), zero, gradient, along=along
    )
    assert report.passed, report.summary()
    dx, dv = (generator.normal(size=(frames, slot.dof + size, 2)) for _ in range(2))
    direct = np.einsum("mq,mqa->a", weight, term.through(slot, dx, dv))
    adjoint = np.einsum("fd,fda->a", gx, dx) + np.einsum("fd,fda->a", gv, dv)
    np.testing.assert_allclose(direct, adjoint, rtol=1e-9)


def test_shortening_keeps_points_and_frames_together(generator):
    run, objective = deformed(generator), track("soft", generator)
    whole = objective.term(run, SLOTS["soft"], {}).residual
    short = objective.until(1)
    assert list(short.t) == [0.0, 0.02, 0.05] and objective.until(3) is objective
    kept = objective.frame < 3
    np.testing.assert_array_equal(short.term(run, SLOTS["soft"], {}).residual, whole[kept])
    with_none = CloudTrack("ball", [0.12], INTERVAL, soft_skin(), [[0, 0, 0]], [0])
    assert with_none.until(2) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"points": np.full((2, 3), np.nan)}, "non-finite"),
        ({"points": np.zeros((0, 3)), "frame": []}, "at least one point"),
        ({"frame": [0, 4]}, "frame.*one of the 1 times"),
        ({"t": [-0.1]}, "from the start"),
        ({"along": 0.0}, "> 0"),
    ],
)
def test_bad_tracks_are_named(change, says):
    given = {"t": [0.0], "points": np.zeros((2, 3)), "frame": [0, 0], **change}
    with pytest.raises(InputError, match=says) as caught:
        CloudTrack("ball", interval=INTERVAL, skin=soft_skin(), **given)
    assert "cloud" in str(caught.value) and "ball" in str(caught.value)


def bouncing(young, layers=2):
    return load_scene({
        "world": {"step": 1 / 240, "duration": 0.3, "record_every": 4},
        "bodies": {"ball": {
            "type": "solid", "shape": {"ball": {"radius": 0.1, "layers": layers}},
            "density": 150, "young": young, "poisson": 0.35, "viscosity": 20,
            "pose": {"position": [0, 0, 0.2]}, "velocity": [1.0, 0.2, -2.0],
        }},
        "sdfs": {"floor": {"plane": {}}},
        "contact": [{"name": "ground", "points": "ball", "against": "floor", "k_n": 3e5, "c_n": 0,
                     "k_t": 1e3, "c_f": 0.3}],
    })  # fmt: skip


def recorded(model, generator, noise):
    """A CloudTrack of points that a camera at EYE would have of the model's own motion."""
    from diffsim_ros import _engine
    from diffsim_ros.real2sim.sensors.cloud.detections import skin_of

    skin = skin_of(model, "ball", refine=1)
    slot = BodySlot(*_slot(model))
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    interval = model.options.step * model.options.record_every
    t = np.linspace(0, 0.29, 12)
    empty = CloudTrack("ball", t, interval, skin, np.zeros((1, 3)), [0])
    x = empty.surface(run, slot)
    corners = x[:, skin.triangles]
    middle = corners.mean(axis=2)
    normal = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    front = np.einsum("fmi,fmi->fm", normal, EYE - middle) > 0
    frame, _ = np.nonzero(front)
    ray = middle[front] - EYE
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    towards = normal[front] / np.linalg.norm(normal[front], axis=1, keepdims=True)
    incidence = np.abs(np.einsum("ni,ni->n", ray, towards))
    points = middle[front] + noise * generator.normal(size=(len(ray), 1)) * ray
    points += 5e-4 * np.cross(ray, generator.normal(size=ray.shape))
    return CloudTrack("ball", t, interval, skin, points, frame, EYE, along=noise, across=5e-4,
                      incidence=incidence)  # fmt: skip


def _slot(model):
    first, count = model.engine.nodes_of("ball")
    return first, model.engine.dof_offset("ball"), 3 * count, count


PARAMETERS = [
    Parameter("ball.young", "Pa", 1.4e4, 2e3, 2e5, "log"),
    Parameter("ground.c_f", "1", 0.2, 0.01, 1.0),
    Parameter("ball.velocity.x", "m/s", 0.98, typical=0.01),
    Parameter("ball.velocity.z", "m/s", -2.02, typical=0.01),
]


def problem_of(model, objective):
    return SimulationProblem(
        model.engine, model.options, ParameterMap(PARAMETERS, model.engine),
        [Trial("bounce", model.steps, (objective,))], threads=1,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_partials_by_the_clock(kind, generator):
    clock = Clock(0.003, 0.02, "late", "slow", reference=0.001)
    run, objective = deformed(generator), track(kind, generator, clock=clock)
    at = {"late": -0.011, "slow": 0.03}
    own = objective.term(run, SLOTS[kind], at).own
    for name in at:
        up, down = (
            objective.term(run, SLOTS[kind], {**at, name: at[name] + d}) for d in (1e-7, -1e-7)
        )
        same = up.signature == down.signature
        slope = (up.residual - down.residual) / 2e-7
        assert same
        np.testing.assert_allclose(own[name], slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())


def test_gradients_through_a_bouncing_soft_ball(generator):
    """End to end: the reported cost against central differences, S against the adjoint."""
    model = bouncing(2e4)
    objective = recorded(model, generator, 2e-3)
    problem = problem_of(model, objective)
    report = check_problem(problem, directions=3, seed=1)
    assert report.passed, report.summary()


def test_a_fit_finds_what_made_the_cloud():
    """From a start that is off by many sigmas, short to long; the residuals are the noise.

    With one noise in three, fits from that far off end in another valley of the cost.
    """
    generator, model = np.random.default_rng(1), bouncing(2e4)
    objective = recorded(model, generator, 4e-3)
    problem = problem_of(model, objective)
    solution = continuation([problem.shortened(8), problem.shortened(12), problem])[-1]
    found = gauss_newton_covariance(problem, solution)
    truth = np.array([2e4, 0.3, 1.0, -2.0])
    away = (problem.values(solution.z) - truth) / found.std_dev
    assert np.abs(away).max() < 3.3, away
    assert np.all(found.std_dev < [600, 0.03, 0.02, 0.02])
    count = len(objective.points)
    assert 2 * solution.value == pytest.approx(count, abs=5 * np.sqrt(2 * count))


@pytest.mark.parametrize("what", ["positions", "points", "eye"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e160])
def test_places_to_which_nothing_is_nearest_are_refused(what, value):
    """The engine read the triangle before the first."""
    given = {
        "positions": np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]]),
        "triangles": np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        "points": np.full((2, 3), 0.4), "frame": [0, 0], "eye": np.full(3, 5.0),
    }  # fmt: skip
    _engine.nearest_on_surface(**given)
    given[what].flat[-1] = value
    with pytest.raises(ValueError, match=rf"surface: {what}: must be finite"):
        _engine.nearest_on_surface(**given)
