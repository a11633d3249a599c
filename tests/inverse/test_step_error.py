"""Errors of steps: estimates against runs of far smaller steps, and what has no estimate."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.inverse.step_error import StepError, step_errors, step_for

STEP, STEPS = 0.02, 100


def swinging():
    """A body on two springs that swings and turns, and a particle that falls freely."""
    s = _engine.Scene()
    s.add_rigid_body("body", mass=0.5, inertia=[1e-3, 2e-3, 3e-3, 0, 0, 0], radius=0.1,
                     angular_velocity=[0, 0, 3.0])  # fmt: skip
    s.add_points("hooks", bodies=["body"] * 2, local=[[0.1, 0, 0], [-0.1, 0.02, 0]])
    s.add_points("wall", bodies=["", ""], local=[[0.1, 0, 0.3], [-0.1, 0, 0.3]])
    s.add_springs("k", points_a="hooks", index_a=[0, 1], points_b="wall", index_b=[0, 1],
                  stiffness=20.0, damping=0.1, rest_length=0.2)  # fmt: skip
    return s


def bouncing():
    """A hard ball at steps as long as its contacts."""
    s = _engine.Scene()
    s.add_particle("body", mass=0.1, position=[0, 0, 0.2], velocity=[0.5, 0, 0])
    s.add_points("p", bodies=["body"], local=np.zeros((1, 3)), radius=0.02)
    s.add_contact("floor", points="p", sdf=_engine.Plane([0, 0, 1], 0), k_n=1e5, k_t=10.0,
                  c_f=0.4, c_n=0.02)  # fmt: skip
    return s


@pytest.mark.parametrize("radius", [None, 0.8])
def test_estimates_are_the_errors(radius):
    s, names = swinging(), ("k.stiffness", "body.mass", "body.angular_velocity.z")
    active = [s.index(n) for n in names]
    options = _engine.Options(step=STEP, record_every=5, spectral_radius=radius)
    found = step_errors(s, s.values, STEPS, options, active=active, names=names)
    fine = _engine.Options(step=STEP / 32, record_every=160, spectral_radius=radius)
    coarse, exact = (
        _engine.rollout(s, s.values, n, o, active=active, mode="sensitivity")
        for n, o in ((STEPS, options), (32 * STEPS, fine))
    )
    gap = np.linalg.norm(coarse.position - exact.position, axis=2)
    end, whole, turn, _ = found.poses
    assert found.falls and found.step == STEP
    assert end.error == pytest.approx(gap[-1].max(), rel=0.3)
    assert whole.error == pytest.approx(gap.max(), rel=0.3)
    assert found.position == whole.error
    assert turn.unit == "rad" and turn.order == pytest.approx(2, abs=0.5)
    slopes = np.linalg.norm(coarse.dx[-1, :3] - exact.dx[-1, :3], axis=0)
    true = slopes / np.linalg.norm(exact.dx[-1, :3], axis=0)
    assert [e.error for e in found.derivatives] == pytest.approx(true, rel=0.4)
    assert set(found.document()) == {"step", "poses", "derivatives"}


def test_what_does_not_fall_is_a_lower_bound():
    s = bouncing()
    found = step_errors(s, s.values, 100, _engine.Options(step=0.01))
    assert not found.falls
    assert ">=" in str(found.poses[0]) and "do not fall" in str(found.poses[0])
    exact = StepError.of("x", "m", 1e-3, 1e-3, 0.0)
    assert exact.error == 1e-3 and not exact.falls
    assert StepError.of("x", "m", 1e-12, 2e-12, 1e-11).falls  # rounding is no trouble


@pytest.mark.parametrize(("q", "factor"), [(4, 4 / 3), (2, 2), (8, 4 / 3)])
def test_the_error_is_extrapolated_from_the_differences_ratio(q, factor):
    """d_1 q/(q - 1); no better than order two whatever the differences say."""
    assert StepError.of("x", "m", 4e-3, 4e-3 / q, 0.0).error == pytest.approx(4e-3 * factor)


def test_the_step_is_halved_until_positions_are_near_enough():
    s, tolerance = swinging(), 2e-4
    options = _engine.Options(step=STEP)
    halvings, found = step_for(s, s.values, STEPS, options, tolerance)
    assert 0 < halvings < 6 and found.position <= tolerance
    assert found.step == pytest.approx(STEP / 2**halvings)
    n = 2**halvings
    run, exact = (
        _engine.rollout(s, s.values, k * STEPS, _engine.Options(step=STEP / k, record_every=k))
        for k in (n, 16 * n)
    )
    assert np.linalg.norm(run.position - exact.position, axis=2).max() < 1.1 * tolerance
    assert np.linalg.norm(run.position - exact.position, axis=2).max() > tolerance / 10
    assert step_for(s, s.values, STEPS, options, 1.0)[0] == 0


def test_no_step_is_a_refusal_with_the_reason():
    s = swinging()
    with pytest.raises(InputError, match="tolerance: got 0"):
        step_for(s, s.values, 10, _engine.Options(step=STEP), 0.0)
    with pytest.raises(NotConverged, match="no step down to"):
        step_for(s, s.values, 10, _engine.Options(step=STEP), 1e-13)
