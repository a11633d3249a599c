"""Laws the engine must keep: momentum of coupled bodies, energy only lost, rest stays at rest."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.tets import TetMesh, quadratic

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


def linked() -> _engine.Scene:
    """Springs, strings, a cable, joints of every energy and a payload between two bodies."""
    s = coupled_bodies(damping=0.5)
    s.set_gravity([1, 2, -9])
    ends = {"points_a": "hooks_a", "points_b": "hooks_b", "index_a": [0], "index_b": [1]}
    s.add_springs("none", **ends, stiffness=30.0, damping=0.2, rest_length=0.0)
    s.add_springs(
        "strings", **ends, stiffness=40.0, damping=0.1, rest_length=0.1, tension_only=True
    )
    s.add_cable("cable", points=["hooks_a", "hooks_b", "hooks_a"], index=[0, 0, 1], stiffness=20.0,
                rest_length=0.2)  # fmt: skip
    for kind, more in {"weld": {}, "slider": {}, "hinge": {},
                       "universal": {"second_axis": [1, 0, 0]}}.items():  # fmt: skip
        s.add_joint(kind, kind=kind, body_a="a", body_b="b", position=[0, 0, 0], stiffness=50.0,
                    rotational_stiffness=3.0, **more)  # fmt: skip
    s.add_payload(
        "load", body="b", mass=0.3, first_moment=[0.01, 0.02, -0.03], inertia=INERTIAS["b"]
    )
    return s


def touching() -> _engine.Scene:
    """A body inside a sphere by some of its points."""
    s = _engine.Scene()
    s.add_rigid_body("a", mass=1.0, inertia=INERTIAS["a"], position=[0, 0, 0], radius=0.1)
    s.add_points("points", bodies=["a"] * 20, local=np.random.default_rng(2).normal(size=(20, 3)))
    s.add_contact("ball", points="points", sdf=_engine.Sphere(1.0), k_n=80.0, k_t=5.0, c_f=0.3)
    return s


def solid(element: str, model: str) -> _engine.Scene:
    vertices, tets = meshes.box([0.1, 0.1, 0.2], (1, 1, 2))
    if element.startswith("p2"):
        mesh = TetMesh(vertices, tets)
        vertices, tets = quadratic(mesh).vertices, quadratic(mesh).tets
    s = _engine.Scene()
    s.add_solid("s", vertices=vertices, tets=tets, density=500.0, young=1e3, poisson=0.3,
                viscosity=2.0, model=model, element=element)  # fmt: skip
    return s


ELEMENTS, MODELS = ("p1", "p1_fbar", "p2", "p2_p0"), ("neo_hookean", "neo_hookean_safe")
SOLIDS = [(e, m) for e in ELEMENTS for m in MODELS]


@pytest.mark.parametrize(
    "make", [linked, touching, *(lambda e=e, m=m: solid(e, m) for e, m in SOLIDS)]
)
def test_forces_at_rest_are_the_slope_of_the_energy_told(make):
    """r = dE/dx of all elements together, along random directions."""
    s, rng = make(), np.random.default_rng(6)
    options = _engine.Options(step=1e-3)
    start = _engine.rollout(s, s.values, 1, options)
    c = np.array(start.position[0])
    nodes, rest = len(c), np.zeros_like(c)
    turn = Rotation.from_quat(start.orientation[0]) * Rotation.from_rotvec(
        0.2 * rng.normal(size=(nodes, 3))
    )
    c = c + 0.01 * rng.normal(size=(nodes, 3))

    def energy(c, turn):
        frame = SimpleNamespace(position=c[None], orientation=turn.as_quat()[None],
                                velocity=rest[None], angular_velocity=rest[None])  # fmt: skip
        return s.energies(frame)["total"][0]

    instant = [c, turn.as_rotvec(), rest, rest]
    r = sum(s.evaluate_element(n, s.values, [instant] * 2, 1e-3)["r"] for n in s.element_names)
    for _ in range(4):
        dx, dturn = rng.normal(size=(nodes, 3)), rng.normal(size=(nodes, 3))
        eps = 1e-6
        ends = [
            energy(c + sign * eps * dx, Rotation.from_rotvec(sign * eps * dturn) * turn)
            for sign in (1, -1)
        ]
        d = np.hstack([dx, dturn]) if len(r) == 6 * nodes else dx
        assert (ends[0] - ends[1]) / (2 * eps) == pytest.approx(r @ d.ravel(), rel=1e-6, abs=1e-7)
