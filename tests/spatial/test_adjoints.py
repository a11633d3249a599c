"""Every adjoint of [Qa App. G] and those of inertias, against exact derivatives (exact.py)."""

import numpy as np
import pytest

from diffsim_ros import rotation as so3
from diffsim_ros import spatial as sp
from tests.spatial.exact import BOUND, check_gradient, inner, rigid, rotation, symmetric, transform

KINDS = [sp.Plx, sp.Plxb]
SEEDS = range(5)
ACTIONS = ["apply", "apply_inverse", "apply_transpose", "apply_inverse_transpose"]


def parts(X):
    return X.E, X.r


def check_transform(kind, X, function, bar, gradient, rng):
    """The gradient (E, r) of function(X), by the entries of E (rotation or not) and of r."""
    on_E, on_r = gradient
    direction, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    check_gradient(lambda E: function(kind.unchecked(E, X.r)), X.E, direction, bar, on_E)
    check_gradient(lambda r: function(kind.unchecked(X.E, r)), X.r, shift, bar, on_r)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS)
def test_actions_on_vectors(action, kind, seed):
    """[Qa (29), (31), (33), (35)]."""
    rng = np.random.default_rng(seed)
    X, a, bar, d = transform(rng, kind), *rng.normal(size=(3, 6))
    on_X, on_a = getattr(X, action + "_adjoint")(a, bar)
    check_transform(kind, X, lambda x: getattr(x, action)(a), bar, on_X, rng)
    check_gradient(lambda x: getattr(X, action)(x), a, d, bar, on_a)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_product_and_inverse(kind, seed):
    """[Qa (37)]."""
    rng = np.random.default_rng(seed)
    X1, X2 = transform(rng, kind), transform(rng, kind)
    bar = rng.normal(size=(3, 3)), rng.normal(size=3)
    on_1, on_2 = X1.multiply_adjoint(X2, bar)
    check_transform(kind, X1, lambda x: parts(x * X2), bar, on_1, rng)
    check_transform(kind, X2, lambda x: parts(X1 * x), bar, on_2, rng)
    on_X = X1.inverse_adjoint(bar)
    check_transform(kind, X1, lambda x: parts(x.inverse()), bar, on_X, rng)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_motion_matrix(kind, seed):
    """[Qa (51)]."""
    rng = np.random.default_rng(seed)
    X, bar = transform(rng, kind), rng.normal(size=(6, 6))
    on_X = X.motion_matrix_adjoint(bar)
    check_transform(kind, X, lambda x: x.motion_matrix(), bar, on_X, rng)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_displacement_of_a_frame(kind, seed):
    """d exp(t m) of frame B in its own axes: its motion matrix is exp(-t [m x])."""
    rng = np.random.default_rng(seed)
    X, d, bar = transform(rng, kind), *rng.normal(size=(2, 6))
    weights = rng.normal(size=(6, 6))
    slope = -sp.crossm_matrix(d) @ X.motion_matrix()
    force = X.on_displacement(X.motion_matrix_adjoint(weights))
    assert abs(force @ d - inner(weights, slope)) <= BOUND * 40
    (on_X, _) = X.apply_adjoint(d, bar)
    rate = -sp.crossm_matrix(d) @ X.motion_matrix() @ d
    assert abs(X.on_displacement(on_X) @ d - bar @ rate) <= BOUND * 40


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("function", "adjoint"),
    [(sp.crossm, sp.crossm_adjoint), (sp.crossf, sp.crossf_adjoint),
     (sp.dyad_outer, sp.dyad_outer_adjoint)],
)  # fmt: skip
def test_products_of_vectors(function, adjoint, seed):
    """[Qa (39), (41), (47)]."""
    rng = np.random.default_rng(seed)
    a, b, d = rng.normal(size=(3, 6))
    bar = rng.normal(size=np.shape(function(a, b)))
    on_a, on_b = adjoint(a, b, bar)
    check_gradient(lambda x: function(x, b), a, d, bar, on_a)
    check_gradient(lambda x: function(a, x), b, d, bar, on_b)


@pytest.mark.parametrize("seed", SEEDS)
def test_dyads(seed):
    """[Qa (43), (45), (52)]."""
    rng = np.random.default_rng(seed)
    M, D, N = rng.normal(size=(3, 6, 6))
    m, d, bar = rng.normal(size=(3, 6))
    for name in ("dyad_multiply", "dyad_multiply_transpose"):
        function, adjoint = getattr(sp, name), getattr(sp, name + "_adjoint")
        on_M, on_m = adjoint(M, m, bar)
        check_gradient(lambda x, f=function: f(x, m), M, D, bar, on_M)
        check_gradient(lambda x, f=function: f(M, x), m, d, bar, on_m)
    X = sp.Plx(rotation(rng), rng.normal(size=3))
    on_X, on_M = sp.dyad_shift_adjoint(X, M, N)
    check_transform(sp.Plx, X, lambda x: sp.dyad_shift(x, M), N, on_X, rng)
    check_gradient(lambda x: sp.dyad_shift(X, x), M, D, N, on_M)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS[2:])
def test_rigid_inertias_in_other_frames(action, kind, seed):
    rng = np.random.default_rng(seed)
    X, b, bar, d = transform(rng, kind), rigid(rng), *rng.normal(size=(2, 10))
    on_X, on_b = getattr(X, action + "_adjoint")(b, bar)
    check_transform(kind, X, lambda x: getattr(x, action)(b).parameters, bar, on_X, rng)

    def moved(p):
        return getattr(X, action)(sp.RigidInertia.from_parameters(p)).parameters

    check_gradient(moved, b.parameters, d, bar, on_b)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS[2:])
def test_articulated_inertias_in_other_frames(action, kind, seed):
    rng = np.random.default_rng(seed)
    X, A, bar, D = transform(rng, kind), *(symmetric(rng) for _ in range(3))
    inertia = sp.ArticulatedInertia(A)
    on_X, on_A = getattr(X, action + "_adjoint")(inertia, bar)
    check_transform(kind, X, lambda x: getattr(x, action)(inertia).matrix(), bar, on_X, rng)
    check_gradient(lambda a: getattr(X, action)(sp.ArticulatedInertia(a)).matrix(), A, D, bar, on_A)


@pytest.mark.parametrize("seed", SEEDS)
def test_inertias_times_motions(seed):
    rng = np.random.default_rng(seed)
    b, (m, d, bar) = rigid(rng), rng.normal(size=(3, 6))
    on_b, on_m = b.multiply_adjoint(m, bar)
    step = rng.normal(size=10)
    check_gradient(
        lambda p: sp.RigidInertia.from_parameters(p).multiply(m), b.parameters, step, bar, on_b
    )
    check_gradient(b.multiply, m, d, bar, on_m)
    A, D = symmetric(rng), symmetric(rng)
    on_A, on_m = sp.ArticulatedInertia(A).multiply_adjoint(m, bar)
    check_gradient(lambda a: sp.ArticulatedInertia(a).multiply(m), A, D, bar, on_A)
    check_gradient(sp.ArticulatedInertia(A).multiply, m, d, bar, on_m)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_matrices(seed):
    """[Qa (20)-(25)]; shapes differ, so that no transpose can hide."""
    rng = np.random.default_rng(seed)
    a, da = rng.normal(size=(2, 2, 3))
    b, db = rng.normal(size=(2, 3, 4))
    c, dc = rng.normal(size=(2, 4, 5))
    bar = rng.normal(size=(2, 4))
    on_a, on_b = sp.product_adjoint(a, b, bar)
    check_gradient(lambda x: x @ b, a, da, bar, on_a)
    check_gradient(lambda x: a @ x, b, db, bar, on_b)
    bar = rng.normal(size=(2, 5))
    on_a, on_b, on_c = sp.triple_product_adjoint(a, b, c, bar)
    check_gradient(lambda x: x @ b @ c, a, da, bar, on_a)
    check_gradient(lambda x: a @ x @ c, b, db, bar, on_b)
    check_gradient(lambda x: a @ b @ x, c, dc, bar, on_c)
    square, dsquare = rng.normal(size=(2, 3, 3))
    bar = rng.normal(size=(4, 4))
    on_b, on_square = sp.congruence_adjoint(b, square, bar)
    check_gradient(lambda x: x.T @ square @ x, b, db, bar, on_b)
    check_gradient(lambda x: b.T @ x @ b, square, dsquare, bar, on_square)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_and_norm_by_complex_steps(seed):
    """[Qa (24), (27)], which are no polynomials."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, 4)) + 5 * np.eye(4)
    d, bar = rng.normal(size=(2, 4, 4))
    step = 1e-30
    slope = np.linalg.inv(a + 1j * step * d).imag / step
    found = inner(sp.matrix_inverse_adjoint(np.linalg.inv(a), bar), d)
    assert abs(found - inner(bar, slope)) <= BOUND
    b, e = rng.normal(size=(2, 3))
    slope = np.sqrt(np.sum((b + 1j * step * e) ** 2)).imag / step
    assert abs(sp.norm_adjoint(b, 0.7) @ e - 0.7 * slope) <= BOUND


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_products_and_quaternions(seed):
    """[Qa (26), (48), (53)-(58)]."""
    rng = np.random.default_rng(seed)
    a, b, d, bar = rng.normal(size=(4, 3))
    on_a, on_b = sp.cross_adjoint(a, b, bar)
    check_gradient(lambda x: np.cross(x, b), a, d, bar, on_a)
    check_gradient(lambda x: np.cross(a, x), b, d, bar, on_b)
    weights = rng.normal(size=(3, 3))
    check_gradient(so3.skew, a, d, weights, sp.skew_adjoint(weights))
    p, q, step, quat_bar = rng.normal(size=(4, 4))
    on_p, on_q = sp.quat_multiply_adjoint(p, q, quat_bar)
    check_gradient(lambda x: so3.quat_multiply(x, q), p, step, quat_bar, on_p)
    check_gradient(lambda x: so3.quat_multiply(p, x), q, step, quat_bar, on_q)
    product = so3.quat_multiply(p, np.append(a, 0.0))
    np.testing.assert_allclose(sp.quat_times_vector(p, a), product, rtol=0, atol=BOUND)
    on_p, on_a = sp.quat_times_vector_adjoint(p, a, quat_bar)
    check_gradient(lambda x: sp.quat_times_vector(x, a), p, step, quat_bar, on_p)
    check_gradient(lambda x: sp.quat_times_vector(p, x), a, d, quat_bar, on_a)
