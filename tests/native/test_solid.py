"""Solids: the kernels against an independent witness, balances, closed forms, derivatives."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.meshes import ball, box, quadratic
from tests.native.batteries import check_element, random_instants
from tests.native.solid_witness import Witness
from validation.closed_forms import first_piola

STEP = 0.01
ELEMENTS = ("p1", "p1_fbar", "p2", "p2_p0")
MODELS = ("neo_hookean", "neo_hookean_safe")
VARIANTS = [(e, m, v) for e in ELEMENTS for m in MODELS for v in ("invariant", "linear")]
variants = pytest.mark.parametrize(("element", "model", "viscosity"), VARIANTS)


def mesh_for(element, mesh):
    return quadratic(*mesh) if element.startswith("p2") else mesh


def solid(vertices, tets, **more):
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    material = {"density": 900.0, "young": 5e3, "poisson": 0.35, "viscosity": 40.0}
    s.add_solid("body", vertices=vertices, tets=tets, **(material | more))
    return s


def deformed(rng, vertices, amount=0.1):
    """A finite smooth deformation with a little noise, turned; and velocities."""
    A = np.eye(3) + amount * rng.normal(size=(3, 3))
    turn = _engine.exp_rotation(rng.normal(size=3))
    size = np.abs(vertices).max()
    bend = amount * np.sin(2 * vertices / size) @ rng.normal(size=(3, 3)) * size * 0.3
    x = (vertices @ A.T + bend) @ turn.T + 0.002 * size * rng.normal(size=vertices.shape)
    return x, size * rng.normal(size=vertices.shape)


def instants_at(rng, x, v, order=1):
    instants = random_instants(rng, len(x), order)
    instants[0][0], instants[0][2] = x, v
    return instants


def forces(s, p, x, v):
    rng = np.random.default_rng(0)
    return s.evaluate_element("body", p, instants_at(rng, x, v), STEP)["r"].reshape(-1, 3)


@variants
@pytest.mark.parametrize("fields", [[], ["young", "poisson", "viscosity"]])
def test_battery_of_solid_body(element, model, viscosity, fields):
    rng = np.random.default_rng(1)
    vertices, tets = mesh_for(element, box((0.2, 0.1, 0.2), (1, 1, 1) if fields else (2, 1, 2)))
    if element.startswith("p2"):  # curved elements too
        vertices = vertices + 0.003 * rng.normal(size=vertices.shape)
    s = solid(vertices, tets, element=element, model=model, viscosity_model=viscosity,
              fields=[] if element == "p1_fbar" else fields,
              young_field=rng.uniform(0.5, 2, len(tets)))  # fmt: skip
    for _ in range(1 if fields else 2):
        instants = instants_at(rng, *deformed(rng, vertices))
        check_element(s, "body", s.values, instants, rng, frames=())
    p = s.values
    for j, q in enumerate(s.parameters):
        p[j] *= not q.name.startswith("body.viscosity")
    out = check_element(s, "body", p, instants, rng, frames=())
    assert np.all(out["B"] == 0)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("element", ELEMENTS)
def test_battery_of_consistent_mass(element, order):
    rng = np.random.default_rng(8)
    vertices, tets = mesh_for(element, box((0.2, 0.1, 0.2), (2, 1, 2)))
    s = solid(vertices, tets, element=element, mass="consistent")
    s.set_gravity([1.0, 2.0, -9.0])
    instants = random_instants(rng, len(vertices), order)
    check_element(s, "body (mass)", s.values, instants, rng, frames=())


@variants
def test_forces_are_derivatives_of_energy_and_dissipation(element, model, viscosity):
    """An independent witness: nothing but det, log and traces, differenced."""
    rng = np.random.default_rng(2)
    vertices, tets = mesh_for(element, ball(1, 0.1))
    if element.startswith("p2"):
        vertices = vertices + 0.002 * rng.normal(size=vertices.shape)
    young, thick = rng.uniform(0.5, 2, (2, len(tets)))
    s = solid(vertices, tets, element=element, model=model, viscosity_model=viscosity,
              young_field=young, viscosity_field=thick)  # fmt: skip
    w = Witness(element, vertices, tets, 5e3 * young, 0.35, 40 * thick, model, viscosity)
    x, v = deformed(rng, vertices)
    f = forces(s, s.values, x, v)
    for _ in range(5):
        d, eps = rng.normal(size=x.shape), 1e-7
        work = (w.energy(x + eps * d) - w.energy(x - eps * d)) / (2 * eps)
        lost = (w.loss(x, v + eps * d) - w.loss(x, v - eps * d)) / (2 * eps)
        assert (f * d).sum() == pytest.approx(work + lost, rel=1e-6, abs=1e-7 * abs(f).sum())


@variants
def test_no_net_force_and_torque(element, model, viscosity):
    """At any state; the linear viscosity has a torque: it damps spin."""
    rng = np.random.default_rng(3)
    vertices, tets = mesh_for(element, ball(2, 0.1))
    s = solid(vertices, tets, element=element, model=model, viscosity_model=viscosity)
    for _ in range(3):
        x, v = deformed(rng, vertices, 0.2)
        f = forces(s, s.values, x, v)
        size = np.linalg.norm(f, axis=1).sum()
        assert np.linalg.norm(f.sum(0)) <= 1e-12 * size
        torque = np.linalg.norm(np.cross(x, f).sum(0)) / (np.abs(x).max() * size)
        assert torque <= 1e-12 if viscosity == "invariant" else torque > 1e-6


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_patch_test_and_closed_forms(element, model):
    """Affine maps: no force inside, and P = sum f X^T / V is the law's closed form."""
    vertices, tets = mesh_for(element, box((0.2, 0.3, 0.2), (2, 3, 2)))
    rng = np.random.default_rng(6)
    inside = np.all(np.abs(vertices) < 0.99 * vertices.max(0), axis=1)
    assert inside.any()
    vertices = vertices + 0.01 * inside[:, None] * rng.normal(size=vertices.shape)
    if element.startswith("p2"):  # straight edges
        corners = len(np.unique(tets[:, :4]))
        vertices, tets = quadratic(vertices[:corners], tets[:, :4])
        inside = np.all(np.abs(vertices) < 0.099 + 0 * vertices, axis=1)
    s = solid(vertices, tets, element=element, model=model, viscosity=0.0, poisson=0.4)
    shear = np.eye(3)
    shear[0, 1] = 0.4
    any_map = np.eye(3) + rng.normal(size=(3, 3)) / 9
    for F in (np.diag([1.3, 0.9, 0.95]), 0.8 * np.eye(3), shear, any_map):
        f = forces(s, s.values, vertices @ F.T, 0 * vertices)
        P = first_piola(F, 5e3, 0.4, model)
        assert abs(f[inside]).max() <= 1e-12 * abs(f).max()
        assert f.T @ vertices / 0.012 == pytest.approx(P, rel=1e-10, abs=1e-10 * abs(P).max())


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_masses_fall_and_spin_as_a_whole(element, mass):
    """The total weight is that of the volume, with fields; free fall is exact."""
    rng = np.random.default_rng(7)
    vertices, tets = mesh_for(element, box((0.2, 0.1, 0.2), (2, 1, 2)))
    field = rng.uniform(0.5, 2, len(tets))
    s = solid(vertices, tets, element=element, mass=mass, density_field=field)
    s.set_gravity([0, 0, -10])
    instants = instants_at(rng, vertices, 0 * vertices)
    for k in (0, 1):
        instants[k][2] = np.tile([1.0 - k, 0, 0], (len(vertices), 1))  # acceleration 1/STEP
    total = np.zeros(3)
    for name in s.element_names:
        if name != "body":
            total += s.evaluate_element(name, s.values, instants, STEP)["r"].reshape(-1, 3).sum(0)
    weight = 900 * 0.2 * 0.1 * 0.2 * field.mean()
    assert total == pytest.approx([weight / STEP, 0, weight * 10], rel=1e-12)


@pytest.mark.parametrize("viscosity", [0.0, 2.0])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("element", ELEMENTS)
def test_angular_momentum_drifts_with_the_schemes_order(element, order, viscosity):
    vertices, tets = mesh_for(element, ball(1, 0.1))
    s = solid(vertices, tets, element=element, viscosity=viscosity, velocity=[1, 0, 0],
              angular_velocity=[4, -3, 2])  # fmt: skip
    m = 900 * s_shares(s)

    def drift(steps):
        r = _engine.rollout(s, s.values, steps, _engine.Options(step=0.1 / steps, order=order))
        assert r.ok, r.message
        L = [np.cross(x - [v.mean() * 0, 0, 0], m[:, None] * v).sum(0)
             for x, v in ((r.position[f], r.velocity[f]) for f in (0, -1))]  # fmt: skip
        P = [(m[:, None] * r.velocity[f]).sum(0) for f in (0, -1)]
        assert P[1] == pytest.approx(P[0], abs=1e-8 * np.linalg.norm(P[0]))
        return np.linalg.norm(L[1] - L[0]) / np.linalg.norm(L[0])

    coarse, fine = drift(40), drift(80)
    assert fine < coarse / (1.7 if order == 1 else 3.2)
    assert coarse < (0.2 if order == 1 else 0.02)


def s_shares(s):
    """Nodal volumes, read off gravity."""
    s.set_gravity([0, 0, -1])
    first, count = s.nodes_of("body")
    rng = np.random.default_rng(0)
    r = s.evaluate_element("gravity", s.values, random_instants(rng, count, 1), STEP)["r"]
    s.set_gravity([0, 0, 0])
    return r.reshape(-1, 3)[first : first + count, 2] / 900


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_gradients_of_a_bounce_match_differences(element, mass):
    """All parameters of a ball that hits the floor: S, lambda, central differences."""
    vertices, tets = mesh_for(element, ball(1, 0.1))
    s = solid(vertices, tets, element=element, mass=mass, young=2e4, position=[0, 0, 0.11],
              velocity=[0.5, 0.2, -1.5], angular_velocity=[1, 2, 3], viscosity=5.0,
              viscosity_model="linear" if mass == "consistent" else "invariant",
              model="neo_hookean_safe" if element.startswith("p2") else "neo_hookean")  # fmt: skip
    s.set_gravity([0, 0, -9.81])
    s.add_contact("floor", points="body", sdf=_engine.Plane([0, 0, 1], 0.0), k_n=3e3, k_t=10.0,
                  c_f=0.4, c_n=0.1)  # fmt: skip
    p, steps = s.values, 40
    o = _engine.Options(step=1 / 400, stagnate=True, tolerance=1e-10)
    active = [i for i, q in enumerate(s.parameters) if not q.name.startswith("floor")]
    r = _engine.rollout(s, p, steps, o, active=active, mode="sensitivity")
    assert r.ok, r.message
    weights = np.random.default_rng(5).normal(size=(len(vertices), 3))
    gx = np.zeros((steps + 1, s.ndof))
    gx[-1] = weights.ravel()
    exact = gx[-1] @ r.dx[-1]
    for mode in ("store", "checkpoint"):
        again = _engine.rollout(s, p, steps, o, active=active, mode=mode)
        assert again.gradient(gx, 0 * gx) == pytest.approx(exact, rel=1e-9, abs=1e-12)
    for k, i in enumerate(active):
        unit = 1e-6 * max(abs(p[i]), 1e-1)
        ends = [
            _engine.rollout(s, p + e * np.eye(len(p))[i], steps, o).position[-1]
            for e in (unit, -unit)
        ]
        size = abs(exact[k]) + 1e-3 / max(abs(p[i]), 1e-1)
        difference = (weights * (ends[0] - ends[1])).sum() / (2 * unit)
        assert difference == pytest.approx(exact[k], abs=3e-6 * size), s.parameters[i].name


def test_a_trial_state_inside_out_is_rejected_not_passed_on():
    vertices, tets = ball(1, 0.1)
    s = solid(vertices, tets)
    x = vertices.copy()
    x[:, 0] *= -1
    assert not np.isfinite(forces(s, s.values, x, 0 * x)).all()
    safe = solid(vertices, tets, model="neo_hookean_safe")
    assert np.isfinite(forces(safe, safe.values, x, 0 * x)).all()
    # A throw against a wall too fast for the step: a status or a halved step, never NaN.
    s = solid(vertices, tets, velocity=[0, 0, -60.0], position=[0, 0, 0.11])
    s.add_contact("floor", points="body", sdf=_engine.Plane([0, 0, 1], 0.0), k_n=1e6, k_t=1e3,
                  c_f=0.4)  # fmt: skip
    r = _engine.rollout(s, s.values, 20, _engine.Options(step=1 / 60))
    assert np.isfinite(r.position).all()
    assert r.ok or r.message


TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tets": [[0, 1, 2, 4]]}, r"tets\[0\]: vertex index must be in \[0, 3\], got 4"),
        ({"tets": [[0, 2, 1, 3]]}, r"tets\[0\]: must be positively oriented.*swap two"),
        ({"tets": [[0, 1, 1, 3]]}, "must have different vertices"),
        ({"tets": np.zeros((0, 4), int)}, "at least one tetrahedron"),
        ({"tets": [[0, 1, 2]]}, "must have 4 vertices each"),
        ({"tets": [[0, 1, 2, 3], [1, 2, 0, 3]]}, r"tets\[1\]: must differ.*tets\[0\]"),
        ({"vertices": TET * [1, 1, 1e-5]}, r"tets\[0\]: must not be flat.*1e-3"),
        ({"vertices": np.vstack([TET, [2.0, 2, 2]])}, r"vertices\[4\]: must belong.*remove"),
        ({"vertices": TET * np.nan}, "vertices: must be finite"),
        ({"element": "p2"}, "must have 10 vertices each, got 4; meshes.quadratic"),
        ({"element": "p3"}, r"must be one of \[p1, p1_fbar, p2, p2_p0\], got 'p3'"),
        ({"model": "rubber"}, "model: must be one of"),
        ({"viscosity_model": "tar"}, "viscosity_model: must be one of"),
        ({"mass": "none"}, "mass: must be one of"),
        ({"young": 0.0}, "body.young"),
        ({"poisson": 0.5}, "body.poisson"),
        ({"density": -1.0}, "body.density"),
        ({"viscosity": -1.0}, "body.viscosity"),
        ({"young_field": [1.0, 2.0]}, r"young_field: must have one number per tetrahedron \(1\)"),
        ({"young_field": [-1.0]}, r"young_field\[0\]: must be finite and > 0"),
        ({"fields": ["colour"]}, "must be of young, poisson, viscosity"),
        ({"fields": ["young"], "element": "p1_fbar"}, "must be empty for p1_fbar"),
    ],
)
def test_bad_solids_are_refused(change, text):
    s = _engine.Scene()
    material = {"vertices": TET, "tets": [[0, 1, 2, 3]], "density": 1.0, "young": 1.0,
                "poisson": 0.3}  # fmt: skip
    with pytest.raises(ValueError, match=text):
        s.add_solid("body", **(material | change))


def test_a_folded_quadratic_tetrahedron_is_refused():
    vertices, tets = quadratic(TET, np.array([[0, 1, 2, 3]]))
    vertices[4] = [-0.6, 0, 0]
    with pytest.raises(ValueError, match=r"tets\[0\]: must not be folded"):
        solid(vertices, tets, element="p2")
