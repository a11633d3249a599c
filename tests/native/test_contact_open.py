"""Many points, few of them in contact: what an obstacle's bounds exclude is open, nothing else."""

import numpy as np
import pytest

from diffsim_ros import _engine

RADIUS, THICK, K_N = 0.3, 0.02, 500.0


def cloud(count, carrier):
    """Points around a ball, as contact spheres of radius THICK."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, size=(count, 3))
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_mass_points("cloud", vertices=X, mass=1.0)
    s.add_subset("spheres", points="cloud", index=list(range(count)), radius=THICK)
    sdf, centre = _engine.Sphere(RADIUS), np.array([0.1, -0.05, 0.02])
    if carrier:
        s.add_rigid_body("ball", mass=1.0, inertia=[0.1] * 3 + [0] * 3, position=centre,
                         orientation=[0.1, 0.2, 0.3, 0.9], radius=RADIUS)  # fmt: skip
    else:
        sdf = _engine.Transformed(sdf, centre)
    s.add_contact("touch", points="spheres", sdf=sdf, carrier="ball" if carrier else "", k_n=K_N,
                  k_t=1.0, c_f=0.5)  # fmt: skip
    return s, X - centre


@pytest.mark.parametrize("carrier", [False, True])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 300])
def test_forces_of_a_cloud_are_those_of_each_point(count, carrier):
    s, arm = cloud(count, carrier)
    r = _engine.rollout(s, s.values, 0)
    distance = np.linalg.norm(arm, axis=1, keepdims=True)
    depth = np.maximum(RADIUS + THICK - distance, 0)
    expected = K_N / count * depth * arm / distance
    assert r.contact_force[0] == pytest.approx(expected, abs=1e-12)
    if count == 300:
        assert 0 < np.count_nonzero(depth) < 0.3 * count


def test_a_cloud_in_contact_keeps_its_derivatives():
    s, _ = cloud(100, True)
    options = _engine.Options(step=1 / 200, stagnate=True)
    i = s.index("touch.k_n")
    r = _engine.rollout(s, s.values, 20, options, active=[i], mode="sensitivity")
    assert r.ok, r.message
    ends = []
    for sign in (1, -1):
        p = s.values
        p[i] += sign * 1e-3
        ends.append(_engine.rollout(s, p, 20, options).position[-1])
    exact = r.dx[-1, : 3 * 100, 0].reshape(100, 3)
    assert (ends[0] - ends[1])[:100] / 2e-3 == pytest.approx(exact, abs=1e-6 * np.abs(exact).max())
    assert np.abs(exact).max() > 0
