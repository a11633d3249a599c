"""Newton ends where rounding stops it, wherever a body is: neither before, nor never."""

import numpy as np
import pytest

from diffsim_ros import _engine, meshes

DENSITY, SPIN = 1000.0, 2.0  # kg/m^3, rad/s
VERTICES, TETS = meshes.ball(3, 0.1)
MASS = DENSITY * meshes.lumped_masses(VERTICES, TETS, 1.0)
PLACES = [0.0, 1.0, 10.0, 100.0]  # m


def turning(young: float, height: float, velocity=(0, 0, 0), rate=240):
    """48 steps of a stiff ball that turns without loads: below its spin stresses are rounding."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("ball", vertices=VERTICES, tets=TETS, density=DENSITY, young=young, poisson=0.3,
                position=[0, 0, height], velocity=list(velocity),
                angular_velocity=[0, 0, SPIN])  # fmt: skip
    r = _engine.rollout(s, s.values, 48, _engine.Options(step=1 / rate))
    assert r.ok, r.message
    return r


def momenta(r) -> tuple[np.ndarray, np.ndarray]:
    """Linear and angular momentum (about the centre of mass) of every frame."""
    linear = np.einsum("i,tij->tj", MASS, r.velocity)
    x = r.position - np.einsum("i,tij->tj", MASS, r.position)[:, None] / MASS.sum()
    v = r.velocity - linear[:, None] / MASS.sum()
    return linear, np.einsum("i,tij->tj", MASS, np.cross(x, v))


@pytest.mark.parametrize("rate", [240, 480])
@pytest.mark.parametrize("young", [2e9, 2e11])
@pytest.mark.parametrize("height", PLACES)
def test_a_stiff_ball_takes_its_steps_wherever_it_is(height, young, rate):
    r = turning(young, height, rate=rate)
    assert r.halvings == 0
    assert max(r.iterations) <= 12
    assert np.mean(r.iterations) < 6


@pytest.mark.parametrize("young", [2e9, 2e11])
@pytest.mark.parametrize("height", PLACES)
def test_rounding_leaves_free_motion_alone(height, young):
    """Rounding fills the stiff directions of r; the soft ones, rigid motion, are solved as well."""
    linear, angular = momenta(turning(young, height, velocity=(0.3, -0.2, 0.1)))
    drift = np.abs(linear - linear[0]).max() / np.linalg.norm(linear[0])
    assert drift < (1e-10 if height else 1e-9)
    _, elsewhere = momenta(turning(young, 3.0))
    assert angular[-1, 2] == pytest.approx(elsewhere[-1, 2], rel=2e-8)  # BDF2's error and all
