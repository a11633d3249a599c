"""Each objective's partials against finite differences of its residual in intrinsic coordinates."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LinearFunctional,
    PoseTrack,
    TwistTrack,
    metric_track,
)
from diffsim_ros.inverse.objectives import BodySlot
from diffsim_ros.rotation import quat_log, quat_multiply
from tests.inverse.partials import check_own, check_partials

FRAMES = np.array([1, 3, 4])
SLOT, BALL = BodySlot(1, 3, 6), BodySlot(0, 0, 3)
OFFSET = ("ox", "oy", "oz", "ax", "ay", "az")


@pytest.fixture
def generator():
    return np.random.default_rng(11)


def rollout(generator):
    q = generator.normal(size=(5, 2, 4))
    return SimpleNamespace(
        position=generator.normal(size=(5, 2, 3)),
        orientation=q / np.linalg.norm(q, axis=-1, keepdims=True),
        velocity=generator.normal(size=(5, 2, 3)),
        angular_velocity=generator.normal(size=(5, 2, 3)),
    )


def objectives(generator):
    q = generator.normal(size=(3, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    x, sigma = generator.normal(size=(3, 3)), np.array([0.1, 0.2, 0.3])
    return {
        "pose": (PoseTrack("cube", FRAMES, x, q, sigma, 0.05), SLOT),
        "pivot": (PoseTrack("cube", FRAMES, x, q, 0.1, sigma, offset=tuple(x.ravel()[:6])), SLOT),
        "estimated pivot": (PoseTrack("cube", FRAMES, x, q, sigma, 0.1, offset_names=OFFSET), SLOT),
        "position": (PoseTrack("cube", FRAMES, x, None, sigma), SLOT),
        "rotation": (PoseTrack("cube", FRAMES, None, q, sigma_rotation=sigma), SLOT),
        "metric": (metric_track("cube", FRAMES, x, q, 0.0524), SLOT),
        "velocities": (TwistTrack("cube", FRAMES, x, x[::-1], sigma, 0.3), SLOT),
        "particle": (PoseTrack("ball", FRAMES, x, None), BALL),
        "functional": (LinearFunctional("cube", (1, 0.5, 0.25), (2, 0, 1), (0, 3, 1)), SLOT),
        "particle's": (LinearFunctional("ball", (1, 0.5, 0.25), (2, 0, 1), frame=2), BALL),
    }


VALUES = dict(zip(OFFSET, [0.02, -0.03, 0.1, 0.4, -0.2, 0.1], strict=True))
KINDS = list(objectives(np.random.default_rng(0)))


def test_a_soft_body_is_judged_by_its_mean(generator):
    run = SimpleNamespace(
        position=generator.normal(size=(5, 4, 3)), velocity=generator.normal(size=(5, 4, 3))
    )
    objective = LinearFunctional("jelly", (1, 0.5, 0.25), (2, 0, 1))
    term = objective.term(run, BodySlot(1, 6, 9, 3), {})
    mean = run.position[-1, 1:].mean(axis=0) @ (1, 0.5, 0.25)
    mean += run.velocity[-1, 1:].mean(axis=0) @ (2, 0, 1)
    assert term.residual == pytest.approx(mean) and term.jx.shape == (1, 1, 9)
    dx, dv = generator.normal(size=(2, 3, 3))
    run.position[-1, 1:] += dx
    run.velocity[-1, 1:] += dv
    change = objective.term(run, BodySlot(1, 6, 9, 3), {}).residual - term.residual
    assert change == pytest.approx(term.jx[0, 0] @ dx.ravel() + term.jv[0, 0] @ dv.ravel())


@pytest.mark.parametrize("kind", KINDS)
def test_partials_by_the_state(kind, generator):
    objective, slot = objectives(generator)[kind]
    check_partials(objective, rollout(generator), slot, VALUES, atol=1e-8)


def test_partials_by_an_estimated_pivot(generator):
    objective, slot = objectives(generator)["estimated pivot"]
    assert set(check_own(objective, rollout(generator), slot, VALUES)) == set(OFFSET)


def test_residuals_are_what_they_say(generator):
    run = rollout(generator)
    objective, _ = objectives(generator)["pose"]
    residual = objective.term(run, SLOT, {}).residual
    dp = run.position[FRAMES, 1] - objective.position
    np.testing.assert_allclose(residual[:, :3], dp / [[0.1], [0.2], [0.3]])
    inverse = objective.orientation * [-1, -1, -1, 1]
    angle = np.linalg.norm(quat_log(quat_multiply(run.orientation[FRAMES, 1], inverse)), axis=1)
    np.testing.assert_allclose(np.linalg.norm(residual[:, 3:], axis=1), angle / 0.05)


def test_metric_track_is_e_q(generator):
    run = rollout(generator)
    objective, _ = objectives(generator)["metric"]
    residual = objective.term(run, SLOT, {}).residual
    dp = np.linalg.norm(run.position[FRAMES, 1] - objective.position, axis=1)
    relative = quat_multiply(run.orientation[FRAMES, 1], objective.orientation * [-1, -1, -1, 1])
    angle = 2 * np.arctan2(np.linalg.norm(relative[:, :3], axis=1), np.abs(relative[:, 3]))
    assert np.sum(residual**2) == pytest.approx(np.mean(dp**2 / 0.0524 + angle**2))


def test_functional_value(generator):
    run = rollout(generator)
    functional = LinearFunctional("cube", (1, 0.5, 0.25), (0, 0, 1), (0, 3, 0))
    value = run.position[-1, 1] @ [1, 0.5, 0.25] + run.velocity[-1, 1, 2]
    value += 3 * run.angular_velocity[-1, 1, 1]
    term = functional.term(run, SLOT, {})
    assert term.linear and term.frames[0] == 4
    assert term.residual[0, 0] == pytest.approx(value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"position": np.full((3, 3), np.nan)}, "non-finite value in row 0"),
        ({"position": np.zeros((2, 3))}, "shape"),
        ({"position": None, "orientation": None}, "a position or an orientation"),
        ({"orientation": np.ones((3, 4))}, "unit quaternions"),
        ({"sigma_position": 0.0}, "> 0"),
        ({"offset_names": ("a",)}, "6 names"),
        ({"offset": (1.0, 2.0)}, "shape"),
    ],
)
def test_bad_tracks_are_named(change, says):
    q = np.tile([0, 0, 0, 1.0], (3, 1))
    given = {"body": "cube", "frames": FRAMES, "position": np.zeros((3, 3)), "orientation": q}
    with pytest.raises(InputError, match=says) as caught:
        PoseTrack(**{**given, **change})
    assert "cube" in str(caught.value)
