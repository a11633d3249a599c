"""Solids at rest: no force, the stiffness of linear elasticity, no negative energy."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.meshes import ball, box
from tests.native.solid_witness import Witness, lame
from tests.native.test_solid import ELEMENTS, MODELS, deformed, mesh_for, solid

YOUNG = 5e3
TET = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.12, 0], [0, 0, 0.08]])
MESHES = {
    "tet": (TET, np.array([[0, 1, 2, 3]])),
    "six": box((0.2, 0.1, 0.2), (2, 1, 1)),
    "five": box((0.1, 0.1, 0.1), (1, 1, 1), "five"),
    "ball": ball(1, 0.1),
}
kinds = [
    pytest.mark.parametrize("element", ELEMENTS),
    pytest.mark.parametrize("model", MODELS),
]


def every_kind(test):
    for mark in kinds:
        test = mark(test)
    return test


def linear_energy(w: Witness, u, young, poisson):
    """mu eps:eps + lambda/2 (tr eps)^2 over the witness's points and patches, u (n, 3)."""
    mu, lam = lame(young, poisson)
    gradient = w.gradients(u)
    if w.element == "p1_fbar":
        edge, node = w.edges.sum(1), w.nodes.sum(1)
        trace = w.nodes @ np.trace(gradient, axis1=1, axis2=2) / node
        gradient = np.einsum("pe,eij->pij", w.edges, gradient) / edge[:, None, None]
        shear, volume = edge, node
    else:
        shear, volume = w.volume, w.volume
        trace = np.trace(gradient, axis1=1, axis2=2)
    if w.element == "p2_p0":
        volume = w.volume.reshape(4, -1)
        trace = (volume * trace.reshape(4, -1)).sum(0) / volume.sum(0)
        volume = volume.sum(0)
    strain = (gradient + np.swapaxes(gradient, 1, 2)) / 2
    return mu * (shear * (strain**2).sum((1, 2))).sum() + lam / 2 * (volume * trace**2).sum()


def stiffness(s, vertices):
    """r (n,) and K (n, n) of the elastic element where nothing is deformed."""
    still = 0 * vertices
    instant = [vertices, still, still, still]
    found = s.evaluate_element("body", s.values, [instant, instant], 0.01)
    return found["r"], found["K"]


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45, 0.499])
@pytest.mark.parametrize("mesh", MESHES)
@every_kind
def test_stiffness_at_rest_is_that_of_linear_elasticity(element, model, mesh, poisson):
    """Of any displacement, so every modulus; and only rigid motions cost nothing."""
    rng = np.random.default_rng(3)
    vertices, tets = mesh_for(element, MESHES[mesh])
    if element.startswith("p2"):  # curved elements too
        vertices = vertices + 0.002 * rng.normal(size=vertices.shape)
    s = solid(vertices, tets, element=element, model=model, young=YOUNG, poisson=poisson)
    r, K = stiffness(s, vertices)
    size = np.abs(K).max()
    assert np.abs(r).max() <= 1e-12 * size * 0.2
    assert pytest.approx(K.T, abs=1e-12 * size) == K
    w = Witness(element, vertices, tets, YOUNG, poisson, 0.0, model, "invariant")
    for _ in range(5):
        u = rng.normal(size=vertices.shape)
        assert u.ravel() @ K @ u.ravel() == pytest.approx(
            2 * linear_energy(w, u, YOUNG, poisson), rel=1e-9
        )
    eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
    assert np.abs(eigenvalues[:6]).max() <= 1e-12 * eigenvalues[-1]
    assert eigenvalues[6] >= 1e-5 * eigenvalues[-1]


@every_kind
def test_small_strains_have_the_moduli_of_linear_elasticity(element, model):
    """Bulk, shear and uniaxial, by the energy of a finite small strain, to its square."""
    mu, lam = lame(YOUNG, 0.4)
    vertices, tets = mesh_for(element, MESHES["six"])
    s = solid(vertices, tets, element=element, model=model, young=YOUNG, poisson=0.4)
    size = 1e-4
    shear = np.zeros((3, 3))
    shear[0, 1] = 1
    for strain, modulus in (
        (np.eye(3), 9 * (lam + 2 * mu / 3) / 2),
        (shear, mu / 2),
        (np.diag([1, -0.4, -0.4]), YOUNG / 2),
    ):
        x = vertices @ (np.eye(3) + size * strain).T
        assert stored(s, x) == pytest.approx(modulus * size**2 * 0.004, rel=1e-2 * size + 3e-4)


def stored(s, x) -> float:
    """Elastic energy [J] at places x (n, 3)."""
    still = 0 * x[None]
    turn = np.tile([0.0, 0, 0, 1], (1, len(x), 1))
    frame = SimpleNamespace(position=x[None], orientation=turn, velocity=still,
                            angular_velocity=still)  # fmt: skip
    return s.energies(frame)["elastic"][0]


@pytest.mark.parametrize("mesh", ["tet", "six", "ball"])
@every_kind
def test_energy_is_never_negative(element, model, mesh):
    """Of strains up to 2, folded ones too; what the logarithm refuses is no number."""
    rng = np.random.default_rng(4)
    vertices, tets = mesh_for(element, MESHES[mesh])
    least, counted = np.inf, 0
    for poisson in (0.0, 0.45):
        s = solid(vertices, tets, element=element, model=model, young=YOUNG, poisson=poisson)
        assert stored(s, vertices) == pytest.approx(0, abs=1e-12)
        for amount in (1e-6, 1e-3, 0.05, 0.1, 0.3, 1.0):
            for _ in range(5):
                x = vertices + amount * 0.05 * rng.normal(size=vertices.shape)
                energy = stored(s, x)
                assert np.isfinite(energy) or model == "neo_hookean"
                if np.isfinite(energy):
                    least, counted = min(least, energy / amount**2), counted + 1
        energy = stored(s, vertices @ np.diag([1, 1, 0.01]))
        least = min(least, energy)
    assert counted >= 30 and least > 0


@pytest.mark.parametrize("poisson", [0.0, 0.4, 0.49])
@every_kind
def test_forces_at_a_finite_strain_are_slopes_of_the_energy_that_is_reported(
    element, model, poisson
):
    rng = np.random.default_rng(5)
    vertices, tets = mesh_for(element, MESHES["ball"])
    s = solid(vertices, tets, element=element, model=model, poisson=poisson)
    x, _ = deformed(rng, vertices)
    still = 0 * x
    instant = [x, still, still, still]
    r = s.evaluate_element("body", s.values, [instant, instant], 0.01)["r"]
    for _ in range(3):
        d, eps = rng.normal(size=x.shape), 1e-7
        slope = (stored(s, x + eps * d) - stored(s, x - eps * d)) / (2 * eps)
        assert r @ d.ravel() == pytest.approx(slope, rel=1e-6, abs=1e-8 * np.abs(r).sum())


def test_the_collapse_of_a_point_costs_energy():
    """Psi_mu of neo_hookean_safe, mu/2 (I - 4 J + J^2) >= mu/2 s^2 (s - 1)^2 (s^2 + 2 s + 3)."""
    vertices, tets = MESHES["tet"]
    s = solid(vertices, tets, model="neo_hookean_safe", young=YOUNG, poisson=0.0)
    mu, volume = YOUNG / 2, _volume(vertices)
    for stretch in (0.2, 0.5, 0.8, 1.2, 2.0):
        exact = mu / 2 * stretch**2 * (stretch - 1) ** 2 * (stretch**2 + 2 * stretch + 3)
        assert stored(s, stretch * vertices) == pytest.approx(exact * volume, rel=1e-12)


def _volume(tet) -> float:
    return float(np.linalg.det(tet[1:] - tet[0])) / 6
