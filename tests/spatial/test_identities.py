"""Every identity of [S], and what spatial algebra rests on, on random inputs."""

import numpy as np
import pytest

from diffsim_ros import spatial as sp
from diffsim_ros.rotation import skew
from tests.spatial.exact import BOUND, rigid, rotation, symmetric, transform

SEEDS = range(8)
KINDS = [sp.Plx, sp.Plxb]


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=BOUND * max(1.0, np.abs(b).max()))


def blocks(a, b, c, d):
    return np.block([[a, b], [c, d]])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_transform_turns_after_it_translates(seed):
    """plx(E, r) = rot(E) xlt(r); plxb(E, r) = rot(E^T) xlt(r)."""
    rng = np.random.default_rng(seed)
    E, r = rotation(rng), rng.normal(size=3)
    one, zero = np.eye(3), np.zeros((3, 3))
    translation = blocks(one, zero, -skew(r), one)
    same(sp.Plx(E, r).motion_matrix(), blocks(E, zero, zero, E) @ translation)
    same(sp.Plxb(E, r).motion_matrix(), blocks(E.T, zero, zero, E.T) @ translation)
    same(sp.Plx(E, r).motion_matrix(), blocks(E, zero, -E @ skew(r), E))
    same(sp.Plx(np.eye(3), r).motion_matrix(), translation)


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_product_matrices(seed):
    """(a + b)x = ax + bx and (E a)x = E ax E^-1, with which [S] derives its products."""
    rng = np.random.default_rng(seed)
    a, b, E = rng.normal(size=3), rng.normal(size=3), rotation(rng)
    same(skew(a + b), skew(a) + skew(b))
    same(skew(E @ a), E @ skew(a) @ E.T)


@pytest.mark.parametrize("seed", SEEDS)
def test_left_associative_products(seed):
    """plx(E1, r1) plx(E2, r2) = plx(E1 E2, E2^T r1 + r2): X2 acts first."""
    rng = np.random.default_rng(seed)
    X1, X2 = transform(rng), transform(rng)
    product = X1 * X2
    same(product.E, X1.E @ X2.E)
    same(product.r, X2.E.T @ X1.r + X2.r)
    same(product.motion_matrix(), X1.motion_matrix() @ X2.motion_matrix())
    m = rng.normal(size=6)
    same(product.apply(m), X1.apply(X2.apply(m)))


@pytest.mark.parametrize("seed", SEEDS)
def test_right_associative_products(seed):
    """plxb(E1, r1) plxb(E2, r2) = plxb(E1 E2, r1 + E1 r2): Y1 acts first; poses multiply so."""
    rng = np.random.default_rng(seed)
    Y1, Y2 = transform(rng, sp.Plxb), transform(rng, sp.Plxb)
    product = Y1 * Y2
    same(product.E, Y1.E @ Y2.E)
    same(product.r, Y1.r + Y1.E @ Y2.r)
    same(product.motion_matrix(), Y2.motion_matrix() @ Y1.motion_matrix())
    m, x = rng.normal(size=6), rng.normal(size=3)
    same(product.apply(m), Y2.apply(Y1.apply(m)))
    same(product.E @ x + product.r, Y1.E @ (Y2.E @ x + Y2.r) + Y1.r)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_change_of_coordinates_in_both_notations(seed):
    """plx(E, r) = plxb(E^T, r); products in opposite order."""
    rng = np.random.default_rng(seed)
    X1, X2 = transform(rng), transform(rng)
    same(X1.to_plxb().motion_matrix(), X1.motion_matrix())
    same(X1.to_plxb().to_plx().E, X1.E)
    both = X2.to_plxb() * X1.to_plxb()
    same(both.motion_matrix(), (X1 * X2).motion_matrix())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_inverses(kind, seed):
    rng = np.random.default_rng(seed)
    X = transform(rng, kind)
    matrix, E, zero = X.motion_matrix(), X.to_plxb().E.T if kind is sp.Plx else X.E.T, 0 * X.E
    same(X.inverse().motion_matrix() @ matrix, np.eye(6))
    same(X.inverse().motion_matrix(), blocks(E.T, zero, skew(X.r) @ E.T, E.T))
    unit = X * X.inverse()
    same(unit.E, np.eye(3))
    same(unit.r, np.zeros(3))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_actions_are_those_of_the_matrices(kind, seed):
    """On motions X and X^-1; on forces the dual, X^-T and X^T, which [S] leaves to its reader."""
    rng = np.random.default_rng(seed)
    X, m, f = transform(rng, kind), rng.normal(size=6), rng.normal(size=6)
    matrix = X.motion_matrix()
    same(X.apply(m), matrix @ m)
    same(X.apply_inverse(m), np.linalg.solve(matrix, m))
    same(X.apply_transpose(f), matrix.T @ f)
    same(X.apply_inverse_transpose(f), np.linalg.solve(matrix.T, f))
    same(X.force_matrix(), np.linalg.inv(matrix).T)
    E = matrix[:3, :3]
    same(X.force_matrix(), blocks(E, -E @ skew(X.r), 0 * E, E))
    omega, v, n, force = m[:3], m[3:], f[:3], f[3:]
    same(X.apply(m), np.concatenate([E @ omega, E @ (v - np.cross(X.r, omega))]))
    same(
        X.apply_inverse_transpose(f),
        np.concatenate([E @ (n - np.cross(X.r, force)), E @ force]),
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_power_is_the_same_in_every_frame(kind, seed):
    rng = np.random.default_rng(seed)
    X, m, f = transform(rng, kind), rng.normal(size=6), rng.normal(size=6)
    same(X.apply(m) @ X.apply_inverse_transpose(f), m @ f)
    same(X.apply_inverse(m) @ X.apply_transpose(f), m @ f)


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_products(seed):
    rng = np.random.default_rng(seed)
    X, (a, b, c) = transform(rng), rng.normal(size=(3, 6))
    same(sp.crossm(a, b), sp.crossm_matrix(a) @ b)
    same(sp.crossf(a, b), sp.crossf_matrix(a) @ b)
    same(sp.crossf_matrix(a), -sp.crossm_matrix(a).T)
    same(sp.crossm(a, a), np.zeros(6))
    same(sp.crossm(a, b), -sp.crossm(b, a))
    jacobi = sp.crossm(a, sp.crossm(b, c)) + sp.crossm(b, sp.crossm(c, a))
    same(jacobi + sp.crossm(c, sp.crossm(a, b)), np.zeros(6))
    same(X.apply(sp.crossm(a, b)), sp.crossm(X.apply(a), X.apply(b)))
    moved = sp.crossf(X.apply(a), X.apply_inverse_transpose(b))
    same(X.apply_inverse_transpose(sp.crossf(a, b)), moved)
    same(sp.crossm(a, b) @ c, -(b @ sp.crossf(a, c)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_inertias_in_other_frames(kind, seed):
    rng = np.random.default_rng(seed)
    X, b, A = transform(rng, kind), rigid(rng), sp.ArticulatedInertia(symmetric(rng))
    matrix = X.motion_matrix()
    back = np.linalg.inv(matrix)
    for inertia in (b, A):
        I = inertia.matrix()  # noqa: E741
        same(X.apply_transpose(inertia).matrix(), matrix.T @ I @ matrix)
        same(X.apply_inverse_transpose(inertia).matrix(), back.T @ I @ back)
    same(sp.dyad_shift(sp.Plx(X.E, X.r), A.matrix()), sp.Plx(X.E, X.r).apply_transpose(A).matrix())
    m = rng.normal(size=6)
    # a momentum is a force: it moves as the inertia and the motion do
    momentum = X.apply_inverse_transpose(b).multiply(X.apply(m))
    same(momentum, X.apply_inverse_transpose(b.multiply(m)))


@pytest.mark.parametrize("seed", SEEDS)
def test_inertias(seed):
    rng = np.random.default_rng(seed)
    mass, center, a = rng.uniform(0.5, 2), rng.normal(size=3), rng.normal(size=(3, 3))
    about = a @ a.T
    b = sp.RigidInertia(mass, center, about)
    cx = skew(center)
    expected = blocks(about + mass * cx @ cx.T, mass * cx, mass * cx.T, mass * np.eye(3))
    same(b.matrix(), expected)
    m, U = rng.normal(size=(2, 6))
    same(b.multiply(m), expected @ m)
    same(sp.RigidInertia.from_parameters(b.parameters).matrix(), expected)
    other = rigid(rng)
    same((b + other).matrix(), expected + other.matrix())
    A = symmetric(rng)
    articulated = sp.ArticulatedInertia(A)
    same(articulated.multiply(m), A @ m)
    same((articulated + b).matrix(), A + expected)
    same((articulated + sp.ArticulatedInertia(b)).matrix(), A + expected)
    same(articulated.add_square(U, -0.3).matrix(), A - 0.3 * np.outer(U, U))
    same(sp.dyad_multiply(A, m), A @ m)
    M = rng.normal(size=(6, 6))
    same(sp.dyad_multiply_transpose(M, m), M.T @ m)
    same(sp.dyad_outer(m, U), np.outer(m, U))
    rate = sp.crossf_matrix(m) @ expected - expected @ sp.crossm_matrix(m)
    same(sp.inertia_rate(m, expected), rate)
    # kinetic energy is a half of m . I m; its gradient by the parameters is linear in them
    on_b, _ = b.multiply_adjoint(m, m)
    same(on_b @ b.parameters, m @ b.multiply(m))


def test_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match=r"Plx: E must be a rotation matrix.*from_matrix"):
        sp.Plx(2 * np.eye(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"Plxb: E must be a rotation"):
        sp.Plxb(np.diag([1.0, 1.0, -1.0]), np.zeros(3))
    with pytest.raises(ValueError, match=r"Plx: r must be finite"):
        sp.Plx(np.eye(3), [0, np.nan, 0])
    with pytest.raises(ValueError, match=r"RigidInertia: mass must be finite and not negative"):
        sp.RigidInertia(-1.0, np.zeros(3), np.eye(3))
    with pytest.raises(ValueError, match=r"RigidInertia: inertia must be symmetric"):
        sp.RigidInertia(1.0, np.zeros(3), np.triu(np.ones((3, 3))))
    with pytest.raises(ValueError, match=r"ArticulatedInertia: matrix must be symmetric"):
        sp.ArticulatedInertia(np.triu(np.ones((6, 6))))
    with pytest.raises(ValueError, match=r"product_adjoint: columns of a"):
        sp.product_adjoint(np.eye(3), np.eye(4), np.eye(3))
    with pytest.raises(ValueError, match=r"product_adjoint: bar must have .* 3 x 3"):
        sp.product_adjoint(np.eye(3), np.eye(3), np.eye(4))
