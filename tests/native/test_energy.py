"""Laws the engine must keep: momentum of coupled bodies, energy only lost, rest stays at rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine

INERTIAS = {"a": [8e-4, 1.3e-3, 1.7e-3, 1e-4, -2e-4, 1e-4], "b": [2e-3, 1.5e-3, 1e-3, 0, 2e-4, 0]}
MASSES = {"a": 0.4, "b": 0.9}


def coupled_bodies(damping: float) -> _engine.Scene:
    """Two rigid bodies joined by two springs at off-centre hooks, spinning free of the world."""
    rng = np.random.default_rng(4)
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name, x in (("a", -0.15), ("b", 0.15)):
        s.add_rigid_body(
            name, mass=MASSES[name], inertia=INERTIAS[name], radius=0.06, position=[x, 0, 0],
            orientation=rng.normal(size=4), velocity=0.3 * rng.normal(size=3),
            angular_velocity=5 * rng.normal(size=3),
        )  # fmt: skip
        s.add_points(f"hooks_{name}", bodies=[name] * 2, local=0.05 * rng.normal(size=(2, 3)))
    s.add_springs(
        "link", points_a="hooks_a", index_a=[0, 1], points_b="hooks_b", index_b=[0, 1],
        stiffness=50.0, damping=damping, rest_length=0.2,
    )  # fmt: skip
    return s


def run(scene, h, duration=0.5, **options):
    steps = round(duration / h)
    r = _engine.rollout(scene, scene.values, steps, _engine.Options(step=h, **options))
    assert r.ok, r.message
    return r


def momenta(r) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear and angular momentum about the origin (F, 3), kinetic energy (F,), of both bodies."""
    P = np.zeros((len(r.time), 3))
    L, T = P.copy(), np.zeros(len(r.time))
    for i, name in enumerate("ab"):
        xx, yy, zz, xy, xz, yz = INERTIAS[name]
        I0 = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R, w, v = (
            Rotation.from_quat(r.orientation[:, i]),
            r.angular_velocity[:, i],
            r.velocity[:, i],
        )
        spin = R.apply(R.inv().apply(w) @ I0)
        P += MASSES[name] * v
        L += MASSES[name] * np.cross(r.position[:, i], v) + spin
        T += 0.5 * (MASSES[name] * np.sum(v * v, axis=1) + np.sum(w * spin, axis=1))
    return P, L, T


@pytest.mark.parametrize("order", [1, 2])
def test_springs_keep_total_linear_momentum_to_rounding(order):
    r = run(coupled_bodies(damping=0.5), 1e-3, order=order)
    P = momenta(r)[0]
    exchanged = np.ptp(r.velocity[:, 0], axis=0).max() * MASSES["a"]
    assert exchanged > 0.05  # the springs did pull
    assert np.abs(P - P[0]).max() < 1e-9 * exchanged


@pytest.mark.parametrize("order", [1, 2])
def test_total_angular_momentum_about_the_origin_errs_with_the_order_of_the_scheme(order):
    # Spin is kept exactly, c x m v only as well as the scheme differentiates a product.
    scene = coupled_bodies(damping=0.5)
    drifts = []
    for h in (1e-3, 5e-4, 2.5e-4):
        L = momenta(run(scene, h, order=order))[1]
        drifts.append(np.abs(L - L[0]).max() / np.linalg.norm(L[0]))
    slopes = np.log2(np.array(drifts[:-1]) / drifts[1:])
    assert np.all(np.abs(slopes - order) < 0.1), (drifts, slopes)


def test_a_spinning_contact_loses_energy_only():
    # A box dropped with spin, friction and damping; total energy counts the normal springs.
    half, k_n, mass = np.array([0.06, 0.05, 0.04]), 5e3, 0.5
    corners = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
    moments = mass / 3 * (half @ half - half**2)
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_rigid_body(
        "a", mass=mass, inertia=[*moments, 0, 0, 0], position=[0, 0, 0.15], radius=0.09,
        velocity=[0.5, 0.2, 0], angular_velocity=[6, -3, 4],
    )  # fmt: skip
    s.add_points("corners", bodies=["a"] * 8, local=corners * half)
    s.add_contact(
        "ground", points="corners", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=20.0, c_f=0.3,
        c_n=0.3,
    )  # fmt: skip
    r = run(s, 5e-4, duration=1.0, record_modes=True)
    assert {0, 1, 2} <= set(np.unique(r.modes & 3))  # flew, stuck and slid
    R, v, w = Rotation.from_quat(r.orientation[:, 0]), r.velocity[:, 0], r.angular_velocity[:, 0]
    body_rate = R.inv().apply(w)
    points = r.position + np.einsum("fij,pj->fpi", R.as_matrix(), corners * half)
    depth = np.maximum(-points[:, :, 2], 0)
    energy = (
        0.5 * mass * np.sum(v * v, axis=1) + 0.5 * np.sum(moments * body_rate**2, axis=1)
        + mass * 9.81 * r.position[:, 0, 2] + 0.5 * k_n / 8 * np.sum(depth**2, axis=1)
    )  # fmt: skip
    gain = np.diff(energy)[1:].max()
    assert gain < 1e-4 * energy[0], f"a step gained {gain:.1e} J of {energy[0]:.2f} J"
    assert energy[-1] < 0.5 * energy[0]


def test_a_body_at_rest_on_its_springs_stays_at_rest():
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_particle("a", mass=0.5, position=[0, 0, -0.5 * 9.81 / 1e3])
    s.add_points("point", bodies=["a"], local=np.zeros((1, 3)))
    s.add_contact(
        "ground", points="point", sdf=_engine.Plane([0, 0, 1], 0), k_n=1e3, k_t=5, c_f=0.5
    )
    r = run(s, 1e-3)
    assert np.abs(r.position - r.position[0]).max() < 1e-12
