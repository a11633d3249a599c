"""Misprints of [S] and [Qa App. G]: the printed form fails, the corrected one holds.

The numbers of docs/explanation/spatial_algebra.md.  Gradients are judged by `disagreement`, which
compares the printed one with the exact derivative (exact.py) along random directions.
"""

import numpy as np
import pytest

from diffsim_ros import rotation as so3
from diffsim_ros import spatial as sp
from diffsim_ros.rotation import skew
from tests.spatial.exact import BOUND, inner, rotation

VISIBLE = 1e-2
"""A printed form is wrong by more than this on numbers of size one."""


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def far(a, b):
    return np.abs(np.asarray(a) - np.asarray(b)).max() > VISIBLE


def near(a, b):
    return np.abs(np.asarray(a) - np.asarray(b)).max() <= 10 * BOUND


def disagreement(function, x, bar, gradient, seed=0):
    """Largest |<bar, df> - <gradient, d>| over five directions d; exact for degree two."""
    worst = 0.0
    for d in np.random.default_rng(seed).normal(size=(5, *np.shape(x))):
        change = (np.asarray(function(x + d)) - np.asarray(function(x - d))) / 2
        worst = max(worst, abs(inner(bar, change) - inner(gradient, d)))
    return worst


def judge(function, x, bar, printed, corrected):
    assert disagreement(function, x, bar, printed) > VISIBLE
    assert disagreement(function, x, bar, corrected) <= 100 * BOUND


# --- [S] ---------------------------------------------------------------------------------------


def test_s_translation_acts_on_omega_first(rng):
    """S1: with the vectors stacked (v, omega) as [S] introduces them, its block leaves v alone."""
    r, omega, v = rng.normal(size=(3, 3))
    block = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(r), np.eye(3)]])
    moved = v - np.cross(r, omega)
    assert far((block @ np.concatenate([v, omega]))[:3], moved)
    assert near((block @ np.concatenate([omega, v]))[3:], moved)


def test_s_motion_of_plx(rng):
    """S2: the lower left block is -E rx, not -rx E."""
    E, r, m = rotation(rng), rng.normal(size=3), rng.normal(size=6)
    printed = np.block([[E, np.zeros((3, 3))], [-skew(r) @ E, E]])
    result = np.concatenate([E @ m[:3], E @ (m[3:] - np.cross(r, m[:3]))])
    assert far(printed @ m, result)
    assert near(sp.Plx(E, r).motion_matrix() @ m, result)


def test_s_product_of_plxb(rng):
    """S3: + r1x inside the bracket.  S4: E2^T E1^T before it, not E1^T E2^T."""
    (E1, E2), (r1, r2) = (rotation(rng), rotation(rng)), rng.normal(size=(2, 3))
    lower = -E2.T @ skew(r2) @ E1.T - E2.T @ E1.T @ skew(r1)
    assert far(-E2.T @ E1.T @ (E1 @ skew(r2) @ E1.T - skew(r1)), lower)
    assert near(-E2.T @ E1.T @ (E1 @ skew(r2) @ E1.T + skew(r1)), lower)
    assert far(-E1.T @ E2.T @ skew(E1 @ r2 + r1), lower)
    assert near(-E2.T @ E1.T @ skew(E1 @ r2 + r1), lower)
    assert near((sp.Plxb(E1, r1) * sp.Plxb(E2, r2)).motion_matrix()[3:, :3], lower)


def test_s_duals(rng):
    """S5: X^-T = [E, -E rx; 0, E], and S6: Y^-T = [E^T, -E^T rx; 0, E^T]."""
    E, r, zero = rotation(rng), rng.normal(size=3), np.zeros((3, 3))
    dual = np.linalg.inv(sp.Plx(E, r).motion_matrix()).T
    assert far(np.block([[E.T, -skew(r) @ E.T], [zero, E.T]]), dual)
    assert near(np.block([[E, -E @ skew(r)], [zero, E]]), dual)
    dual = np.linalg.inv(sp.Plxb(E, r).motion_matrix()).T
    assert far(np.block([[E, skew(r) @ E], [zero, E]]), dual)
    assert near(np.block([[E.T, -E.T @ skew(r)], [zero, E.T]]), dual)
    # the printed ones do not even keep power
    m, f = rng.normal(size=(2, 6))
    printed = np.block([[E.T, -skew(r) @ E.T], [zero, E.T]])
    assert abs((sp.Plx(E, r).motion_matrix() @ m) @ (printed @ f) - m @ f) > VISIBLE


# --- [Qa App. G] -------------------------------------------------------------------------------


def test_qa_27_norm(rng):
    """Q1: the middle of (27) has a minus too many; its end is right."""
    b, d = rng.normal(size=(2, 3))
    length, step = np.linalg.norm(b), 1e-30
    slope = np.sqrt(np.sum((b + 1j * step * d) ** 2)).imag / step
    assert far(-0.5 / length * 2 * (d @ b), slope)
    assert near(sp.norm_adjoint(b, 1.0) @ d, slope)


ACTIONS = ("apply", "apply_transpose", "apply_inverse_transpose")


@pytest.mark.parametrize("action", ACTIONS)
def test_qa_gradients_by_e_are_by_its_transpose(action, rng):
    """Q2: (29), (33) and (35) print the gradient by E^T; (31) prints that by E."""
    X, (a, bar) = sp.Plx(rotation(rng), rng.normal(size=3)), rng.normal(size=(2, 6))
    a1, a2, b1, b2, r = a[:3], a[3:], bar[:3], bar[3:], X.r
    printed = {
        "apply": np.outer(a1, b1) + np.outer(a2 - np.cross(r, a1), b2),
        "apply_transpose": np.outer(b1, a1) + np.outer(np.cross(b1, r) + b2, a2),
        "apply_inverse_transpose": np.outer(a1 - np.cross(r, a2), b1) + np.outer(a2, b2),
    }[action]
    (on_E, _), _ = getattr(X, action + "_adjoint")(a, bar)
    judge(lambda E: getattr(sp.Plx.unchecked(E, r), action)(a), X.E, bar, printed, on_E)
    assert near(on_E, printed.T)


def test_qa_34_and_35_inverse_transpose(rng):
    """Q3: (34) has E^T for E; (35) has bars for the transpose in the gradients by r and a."""
    E, r, (a, bar) = rotation(rng), rng.normal(size=3), rng.normal(size=(2, 6))
    X, (a1, a2), (b1, b2) = sp.Plx(E, r), np.split(a, 2), np.split(bar, 2)
    dual = np.linalg.inv(X.motion_matrix()).T @ a
    assert far(np.concatenate([E.T @ (a1 - np.cross(r, a2)), E.T @ a2]), dual)
    assert near(X.apply_inverse_transpose(a), dual)
    (on_E, on_r), on_a = X.apply_inverse_transpose_adjoint(a, bar)
    for Ebar in (E, on_E):  # whatever the bar was to mean but the transpose
        by_r = np.cross(Ebar @ b1, a2)
        by_a = np.concatenate([Ebar @ b1, -np.cross(Ebar @ b1, r) + Ebar @ b2])
        judge(lambda x: sp.Plx(E, x).apply_inverse_transpose(a), r, bar, by_r, on_r)
        judge(X.apply_inverse_transpose, a, bar, by_a, on_a)
    assert near(on_r, np.cross(E.T @ b1, a2))
    assert near(on_a, np.concatenate([E.T @ b1, -np.cross(E.T @ b1, r) + E.T @ b2]))


def test_qa_42_to_45_products_with_a_dyad(rng):
    """Q4: (42) bears the name mul-inv, but is M m.  Q5: (44) is neither M^-1 m nor M^T m, and (45)
    is its gradient; with the off-diagonal blocks exchanged they are those of M^T m."""
    M, (m, bar) = rng.normal(size=(6, 6)) + 3 * np.eye(6), rng.normal(size=(2, 6))
    m11, m12, m21, m22 = M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:]
    (w, v), (w0, v0) = np.split(m, 2), np.split(bar, 2)
    of_42 = np.concatenate([m11 @ w + m12 @ v, m21 @ w + m22 @ v])
    assert far(of_42, np.linalg.solve(M, m))
    assert near(of_42, sp.dyad_multiply(M, m))
    of_44 = np.concatenate([m11.T @ w + m12.T @ v, m21.T @ w + m22.T @ v])
    assert far(of_44, np.linalg.solve(M, m)) and far(of_44, M.T @ m)
    exchanged = np.concatenate([m11.T @ w + m21.T @ v, m12.T @ w + m22.T @ v])
    assert near(exchanged, sp.dyad_multiply_transpose(M, m)) and near(exchanged, M.T @ m)
    by_M = np.block([[np.outer(w, w0), np.outer(v, w0)], [np.outer(w, v0), np.outer(v, v0)]])
    by_m = np.concatenate([m11 @ w0 + m21 @ v0, m12 @ w0 + m22 @ v0])
    on_M, on_m = sp.dyad_multiply_transpose_adjoint(M, m, bar)
    judge(lambda x: x.T @ m, M, bar, by_M, on_M)
    judge(lambda x: M.T @ x, m, bar, by_m, on_m)


def test_qa_47_outer_product(rng):
    """Q6: the last row of (47) has m21^T for m12^T."""
    (f, g), M = rng.normal(size=(2, 6)), rng.normal(size=(6, 6))
    m11, m21, m22 = M[:3, :3], M[3:, :3], M[3:, 3:]
    (w1, v1) = np.split(f, 2)
    printed = np.concatenate([m11.T @ w1 + m21.T @ v1, m21.T @ w1 + m22.T @ v1])
    _, on_g = sp.dyad_outer_adjoint(f, g, M)
    judge(lambda x: np.outer(f, x), g, M, printed, on_g)


def test_qa_51_matrix_of_a_transform(rng):
    """Q7: (51) is by E^T and lacks the transpose of n21; its second row has a bar for E^T."""
    X, N = sp.Plx(rotation(rng), rng.normal(size=3)), rng.normal(size=(6, 6))
    n11, n21, n22, r = N[:3, :3], N[3:, :3], N[3:, 3:], X.r
    on_E, on_r = X.motion_matrix_adjoint(N)
    printed = n11.T + n22.T - skew(r) @ n21

    def by_E(E):
        return sp.Plx.unchecked(E, r).motion_matrix()

    judge(by_E, X.E, N, printed, on_E)
    assert disagreement(by_E, X.E, N, printed.T) > VISIBLE
    assert near(on_E.T, n11.T + n22.T - skew(r) @ n21.T)
    for Ebar in (on_E, X.E):
        printed = -sp.skew_adjoint(Ebar @ n21)
        judge(lambda x: sp.Plx(X.E, x).motion_matrix(), r, N, printed, on_r)
    assert near(on_r, -sp.skew_adjoint(X.E.T @ n21))


def test_qa_53_to_55_quaternion_times_vector(rng):
    """Q8: z of (53) has y v.z for y v.x.  Q9: (54) has three rows for four, the rows of (55).
    Q10: (55) has the signs of v (q) instead of q (v)."""
    q, v, bar = rng.normal(size=4), rng.normal(size=3), rng.normal(size=4)
    product = so3.quat_multiply(q, np.append(v, 0.0))
    (x, y, z, w), (a, b, c, d) = q, bar
    assert far(w * v[2] + x * v[1] - y * v[2], product[2])
    assert near(w * v[2] + x * v[1] - y * v[0], product[2])
    assert near(sp.quat_times_vector(q, v), product)
    printed = np.array(
        [a * w - b * z + c * y - d * x, a * z + b * w - c * x - d * y,
         -a * y + b * x + c * w - d * z]
    )  # fmt: skip
    on_q, on_v = sp.quat_times_vector_adjoint(q, v, bar)
    judge(lambda u: sp.quat_times_vector(u, v), q, bar, np.append(printed, 0.0), on_q)
    judge(lambda u: sp.quat_times_vector(q, u), v, bar, printed, on_v)
    assert near(
        on_q,
        [-b * v[2] + c * v[1] - d * v[0], a * v[2] - c * v[0] - d * v[1],
         -a * v[1] + b * v[0] - d * v[2], a * v[0] + b * v[1] + c * v[2]],
    )  # fmt: skip


def test_qa_56_to_58_quaternion_products(rng):
    """Q11: y, z, w of (56).  Q12: the end of (57).  Q13: (58) has five rows, the third too many."""
    q1, q2, bar = rng.normal(size=(3, 4))
    (x1, y1, z1, w1), (x2, y2, z2, w2), (x, y, z, w) = q1, q2, bar
    product = so3.quat_multiply(q1, q2)
    printed = [
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 + y1 * w2 + z1 * x2 - z1 * z2,
        w1 * z2 + z1 * w2 + z1 * y2 - y1 * z2,
        w1 * w2 - x1 * w2 - x1 * y2 - z1 * z2,
    ]
    assert near(printed[0], product[0])
    assert all(far(printed[i], product[i]) for i in (1, 2, 3))
    on_1, on_2 = sp.quat_multiply_adjoint(q1, q2, bar)
    end = x * x2 + y * y2 + z * z2 + w * z2
    judge(lambda u: so3.quat_multiply(u, q2), q1, bar, np.append(on_1[:3], end), on_1)
    rows = np.array([
        x * w1 + y * z1 - z * y1 - w * x1,
        -x * z1 + y * w1 + z * x1 - w * y1,
        x * y1 - y * w1 + z * w1 - w * y1,
        x * y1 - y * x1 + z * w1 - w * z1,
        x * x1 + y * y1 + z * z1 + w * w1,
    ])  # fmt: skip
    judge(lambda u: so3.quat_multiply(q1, u), q2, bar, rows[:4], on_2)
    assert near(rows[[0, 1, 3, 4]], on_2)


# --- [Qa Alg. 1] -------------------------------------------------------------------------------


def sweeps(A, b, count, *, printed=False):
    """x after `count` sweeps of [Qa Alg. 1] from 0; per sweep x before, x after, and the sums d."""
    n, x, before, after, sums = len(b), np.zeros_like(b), [], [], []
    for _ in range(count):
        before.append(x.copy())
        sums.append(np.zeros_like(b))
        for i in range(n):
            row = np.full(n, A[i, i]) if printed else A[i]
            sums[-1][i] = sum(row[j] * x[j] for j in range(n) if j != i)
            x[i] = (b[i] - sums[-1][i]) / A[i, i]
        after.append(x.copy())
    return x, before, after, sums


def adjoint_of_sweeps(A, b, x_bar, before, after, sums, *, factor=False):
    """Gradients by A and b.  factor: `A_bar(i, j) d` as printed."""
    n, x_bar, A_bar, b_bar = len(b), x_bar.copy(), np.zeros_like(A), np.zeros_like(b)
    for x_old, x_new, d in zip(before[::-1], after[::-1], sums[::-1], strict=True):
        for i in reversed(range(n)):
            d_bar = -x_bar[i] / A[i, i]
            b_bar[i] += x_bar[i] / A[i, i]
            A_bar[i, i] -= x_bar[i] * (b[i] - d[i]) / A[i, i] ** 2
            x_bar[i] = 0
            for j in (*range(n - 1, i, -1), *range(i - 1, -1, -1)):
                A_bar[i, j] *= d[i] if factor else 1.0
                A_bar[i, j] += d_bar * (x_old if j > i else x_new)[j]
                x_bar[j] += d_bar * A[i, j]
    return A_bar, b_bar


def test_qa_algorithm_1_forward(rng):
    """Q14: A(i, i) for A(i, j) in the sum d.  Q16: it solves A x = b, not A x + b = 0."""
    A, b = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=4)
    x = sweeps(A, b, 60)[0]
    assert near(A @ x, b) and far(A @ x + b, 0)
    assert far(sweeps(A, b, 60, printed=True)[0], x)


def test_qa_algorithm_1_backward(rng):
    """Q15: a factor d in the gradient by A.  Q17: b for b_bar(i), and V_x2 stored behind the loop
    over i, so for the last i alone."""
    n, count, step = 4, 3, 1e-30
    A, b, bar = rng.normal(size=(n, n)) + 4 * np.eye(n), rng.normal(size=n), rng.normal(size=n)
    _, before, after, sums = sweeps(A, b, count)
    dA, db = rng.normal(size=(n, n)), rng.normal(size=n)
    slope = bar @ sweeps(A + 1j * step * dA, b + 1j * step * db, count)[0].imag / step

    def along(gradients):
        return inner(gradients, (dA, db))

    corrected = adjoint_of_sweeps(A, b, bar, before, after, sums)
    assert near(along(corrected), slope)
    assert far(along(adjoint_of_sweeps(A, b, bar, before, after, sums, factor=True)), slope)
    assert far(along((corrected[0], np.zeros(n))), slope)  # b_bar stays 0 if `b` is changed
    last = [np.append(np.zeros(n - 1), x[-1]) for x in after]
    assert far(along(adjoint_of_sweeps(A, b, bar, before, last, sums)), slope)
