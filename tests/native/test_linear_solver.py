"""Linear solvers of step matrices against SciPy's sparse LU."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from diffsim_ros import _engine
from tests.native.fem_matrices import elastic_ball, pack


def assemble(sizes, pairs, values):
    """The engine's blocks as a SciPy matrix."""
    dof = np.concatenate([[0], np.cumsum(sizes)])
    order = [(i, i) for i in range(len(sizes))]
    for i, j in pairs:
        order += [(i, j), (j, i)]
    rows, cols = [], []
    for i, j in order:
        col, row = np.meshgrid(np.arange(dof[j], dof[j + 1]), np.arange(dof[i], dof[i + 1]))
        rows.append(row.T.ravel())
        cols.append(col.T.ravel())
    return sparse.csc_matrix((values, (np.concatenate(rows), np.concatenate(cols))))


def bodies_and_points(seed, bodies=7, points=40, skew=0.3):
    """Nodes of 6 and 3 degrees of freedom, coupled at random, nonsymmetric, diagonal strong."""
    rng = np.random.default_rng(seed)
    sizes = rng.permutation([6] * bodies + [3] * points)
    n = len(sizes)
    blocks = {}
    for i, j in {tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(3 * n)}:
        coupling = rng.normal(size=(sizes[i], sizes[j]))
        blocks[int(i), int(j)] = coupling
        blocks[int(j), int(i)] = coupling.T + skew * rng.normal(size=coupling.T.shape)
    for i, size in enumerate(sizes):
        blocks[i, i] = 9 * np.eye(size) + skew * rng.normal(size=(size, size))
    return pack(sizes.tolist(), blocks)


def solve(system, rhs, symmetric=False, method="krylov", **options):
    return _engine.linear_solve(*system, rhs, method, symmetric=symmetric, **options)


def residuals(matrix, x, rhs):
    return np.linalg.norm(rhs - matrix @ x, axis=0) / np.linalg.norm(rhs, axis=0)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize("step", [1 / 240, 1 / 60])
@pytest.mark.parametrize("contact", [False, True])
@pytest.mark.parametrize("tets", [480, 2688])
def test_krylov_reaches_the_tolerance_asked_for(tets, contact, step, rng):
    *system, symmetric = elastic_ball(tets, step, contact=contact)
    A = assemble(*system)
    rhs = rng.normal(size=(A.shape[0], 1))
    for tolerance in (1e-1, 1e-3, 1e-6, 1e-10):
        for transposed in (False, True):
            got = solve(system, rhs, symmetric, tolerance=tolerance, transposed=transposed)
            assert got["reached"]
            # Loose tolerances are tested in single precision.
            assert residuals(A.T if transposed else A, got["x"], rhs) < tolerance * 1.01


@pytest.mark.parametrize("contact", [False, True])
def test_krylov_solution_is_that_of_sparse_lu(contact, rng):
    *system, symmetric = elastic_ball(2688, contact=contact)
    A = assemble(*system)
    rhs = rng.normal(size=(A.shape[0], 1))
    lu = splu(A)
    for transposed, trans in ((False, "N"), (True, "T")):
        exact = lu.solve(rhs, trans)
        got = solve(system, rhs, symmetric, tolerance=1e-12, transposed=transposed)["x"]
        assert np.linalg.norm(got - exact) < 1e-10 * np.linalg.norm(exact)


def test_friction_makes_the_ball_nonsymmetric():
    A = assemble(*elastic_ball(480)[:3])
    assert abs(A - A.T).max() > 0.1 * abs(A).max()


@pytest.mark.parametrize("columns", [2, 6, 8, 9, 13])
@pytest.mark.parametrize("contact", [False, True])
def test_krylov_many_right_hand_sides(columns, contact, rng):
    *system, symmetric = elastic_ball(480, contact=contact)
    A = assemble(*system)
    rhs = rng.normal(size=(A.shape[0], columns)) * 10.0 ** rng.integers(-9, 9, columns)
    for transposed in (False, True):
        got = solve(system, rhs, symmetric, tolerance=1e-9, transposed=transposed)
        assert got["reached"]
        assert residuals(A.T if transposed else A, got["x"], rhs).max() < 1e-9


@pytest.mark.parametrize("first", [False, True])
def test_krylov_either_side_first(first, rng):
    *system, symmetric = elastic_ball(480)
    A = assemble(*system)
    rhs = rng.normal(size=(450, 1))
    solver = _engine.LinearSolver(*system[:2], "krylov")
    for _ in range(2):
        assert solver.factor(system[2], symmetric, transposed=first)
        for transposed in (first, not first, first):
            got = solver.solve(rhs, 1e-9, transposed)
            assert got["reached"]
            assert residuals(A.T if transposed else A, got["x"], rhs) < 1e-9


@pytest.mark.parametrize("transposed", [False, True])
def test_krylov_new_diagonal_blocks_beside_kept_couplings(transposed, rng):
    sizes, pairs, values, symmetric = elastic_ball(480, 1 / 240)
    rhs = rng.normal(size=(3 * len(sizes), 1))
    other = values.copy()
    other[: 9 * 40] += np.tile(40 * np.eye(3).ravel(), 40)  # of the first nodes
    kept, anew = (_engine.LinearSolver(sizes, pairs, "krylov") for _ in range(2))
    for given in (values, other, values):
        assert kept.factor(given, symmetric, kept=given is other)
        assert anew.factor(given, symmetric)
        found = [one.solve(rhs, 1e-10, transposed)["x"] for one in (kept, anew)]
        np.testing.assert_array_equal(*found)


def test_krylov_zero_right_hand_sides(rng):
    *system, symmetric = elastic_ball(480)
    rhs = rng.normal(size=(450, 3))
    rhs[:, 1] = 0
    got = solve(system, rhs, symmetric)
    assert got["reached"] and not got["x"][:, 1].any() and got["x"][:, 0].any()
    got = solve(system, 0 * rhs, symmetric)
    assert got["reached"] and not got["x"].any() and got["products"] == 0


@pytest.mark.parametrize("seed", range(4))
def test_krylov_bodies_and_points(seed, rng):
    system = bodies_and_points(seed)
    A = assemble(*system)
    rhs = rng.normal(size=(A.shape[0], 1 + 4 * (seed % 2)))
    for transposed in (False, True):
        got = solve(system, rhs, tolerance=1e-10, transposed=transposed)
        assert got["reached"]
        assert residuals(A.T if transposed else A, got["x"], rhs).max() < 1e-10


def test_krylov_needs_few_products(rng):
    """The sweeps precondition as SGS in RCM order does (counts of a SciPy model, and a margin)."""
    for contact, most in ((False, 25), (True, 40)):
        *system, symmetric = elastic_ball(2688, contact=contact)
        rhs = rng.normal(size=(3 * len(system[0]), 1))
        got = solve(system, rhs, symmetric, tolerance=1e-6)
        assert got["products"] <= most


def test_krylov_strong_friction_leaves_diagonal_blocks_indefinite(rng):
    system = elastic_ball(480, k_n=2e5, c_f=3.0)[:3]
    A = assemble(*system)
    blocks = [A[k : k + 3, k : k + 3].toarray() for k in range(0, A.shape[0], 3)]
    assert min(np.linalg.eigvalsh(b + b.T).min() for b in blocks) < 0
    rhs = rng.normal(size=(A.shape[0], 1))
    got = solve(system, rhs, tolerance=1e-9)
    assert got["reached"]
    assert residuals(A, got["x"], rhs) < 1e-9


@pytest.mark.parametrize("skew", [1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("columns", [1, 3])
def test_symmetric_is_a_hint_only(columns, skew, rng):
    """Nearly symmetric matrices, and one that is far from it, given out for symmetric."""
    sizes, pairs, values, _ = elastic_ball(480, contact=False)
    largest = abs(values).max()
    values[9 * 150 :] += skew * 0.02 * largest * rng.normal(size=len(values) - 9 * 150)
    A = assemble(sizes, pairs, values)
    assert 0.01 < abs(A - A.T).max() / (skew * largest) < 1
    rhs = rng.normal(size=(A.shape[0], columns))
    for tolerance in (1e-1, 1e-3, 1e-6, 1e-10):
        for transposed in (False, True):
            got = solve(
                (sizes, pairs, values), rhs, True, tolerance=tolerance, transposed=transposed
            )
            assert got["reached"]
            worst = residuals(A.T if transposed else A, got["x"], rhs).max()
            assert worst < tolerance * 1.01


def test_krylov_indefinite_matrix_is_solved_or_reported(rng):
    sizes, pairs, values, _ = elastic_ball(480, contact=False)
    A = assemble(sizes, pairs, values)
    values = values.copy()
    mean = A.diagonal().mean()
    for i in range(len(sizes)):  # shifted into the spectrum: CG must notice
        values[9 * i : 9 * i + 9 : 4] -= 0.5 * mean
    A = assemble(sizes, pairs, values)
    assert np.linalg.eigvalsh(A.toarray())[0] < 0
    rhs = rng.normal(size=(A.shape[0], 1))
    got = solve((sizes, pairs, values), rhs, True, tolerance=1e-8)
    assert np.isfinite(got["x"]).all()
    assert got["reached"] == bool(residuals(A, got["x"], rhs) <= 1e-8)
    assert got["residual"] == pytest.approx(residuals(A, got["x"], rhs)[0], rel=1e-6)


def test_krylov_stiff_contact_is_no_obstacle_to_cg(rng):
    *system, _ = elastic_ball(480, k_n=1e8, c_f=0.0)
    A = assemble(*system)
    assert abs(A - A.T).max() < 1e-12 * abs(A).max()
    rhs = rng.normal(size=(A.shape[0], 1))
    got = solve(system, rhs, True, tolerance=1e-10)
    assert got["reached"] and got["products"] < 50
    assert residuals(A, got["x"], rhs) < 1e-10


def test_krylov_reports_what_it_cannot_solve(rng):
    """A circulant of ones off the diagonal: no iteration of this kind gets anywhere."""
    n = 60
    blocks = {(i, i): 1e-3 * np.eye(3) for i in range(n)}
    for i in range(n):
        j = (i + 1) % n
        blocks[i, j], blocks[j, i] = np.eye(3), -np.eye(3)
    system = pack([3] * n, blocks)
    rhs = rng.normal(size=(3 * n, 1))
    got = solve(system, rhs, tolerance=1e-8)
    assert not got["reached"] and np.isfinite(got["x"]).all()
    assert got["residual"] <= 1


def test_krylov_refuses_singular_and_non_finite_diagonals():
    *system, _ = elastic_ball(480)
    for bad in (0.0, np.nan, np.inf):
        values = system[2].copy()
        values[9 * 17 : 9 * 18] = bad
        got = solve((*system[:2], values), np.ones((450, 1)))
        assert not got["regular"] and not got["reached"]
    values = system[2].copy()
    values[9 * 150 + 40] = np.nan
    got = solve((*system[:2], values), np.ones((450, 1)))
    assert not got["reached"]


@pytest.mark.parametrize("method", ["automatic", "krylov", "lagged", "direct"])
def test_same_input_same_bits(method, rng):
    *system, _ = elastic_ball(480)
    rhs = rng.normal(size=(450, 6))
    first, second = (solve(system, rhs, method=method)["x"] for _ in range(2))
    assert (first == second).all()


def test_krylov_refuses_odd_nodes():
    with pytest.raises(_engine.InvalidInput, match="3 or 6 degrees of freedom, got 4"):
        solve(pack([3, 4], {(0, 0): np.eye(3), (1, 1): np.eye(4)}), np.ones((7, 1)))


@pytest.mark.parametrize("tets", [480, 2688, 10368])
def test_direct_solution_is_that_of_sparse_lu(tets, rng):
    *system, symmetric = elastic_ball(tets, poisson=0.49)
    A = assemble(*system)
    rhs = rng.normal(size=(A.shape[0], 1))
    got = {t: solve(system, rhs, symmetric, "direct", transposed=t)["x"] for t in (False, True)}
    if tets < 10000:
        lu = splu(A)
        for transposed, trans in ((False, "N"), (True, "T")):
            exact = lu.solve(rhs, trans)
            assert np.linalg.norm(got[transposed] - exact) < 1e-10 * np.linalg.norm(exact)
    assert residuals(A, got[False], rhs) < 1e-13
    assert residuals(A.T, got[True], rhs) < 1e-13


@pytest.mark.parametrize("columns", [1, 2, 6, 17])
@pytest.mark.parametrize("seed", range(5))
def test_direct_bodies_and_points(seed, columns, rng):
    """Also where pivots must be exchanged: the diagonal is weak inside its blocks."""
    sizes, pairs, values = bodies_and_points(seed, bodies=10 + seed, points=50, skew=1.0)
    rotated = values.copy()
    at = 0
    for size in sizes:  # rows of diagonal blocks in reverse: zeros come to the diagonal
        block = rotated[at : at + size * size].reshape(size, size)
        rotated[at : at + size * size] = block[:, ::-1].ravel()
        at += size * size
    for entries in (values, rotated):
        A = assemble(sizes, pairs, entries)
        rhs = rng.normal(size=(A.shape[0], columns))
        for transposed in (False, True):
            got = solve((sizes, pairs, entries), rhs, method="direct", transposed=transposed)
            assert got["reached"]
            assert residuals(A.T if transposed else A, got["x"], rhs).max() < 1e-12


@pytest.mark.parametrize("length", [1, 2, 30, 300])
def test_direct_chains(length, rng):
    """Trees are left to the block LU."""
    blocks = {(i, i): 6 * np.eye(6) + rng.normal(size=(6, 6)) for i in range(length)}
    for i in range(1, length):
        j = int(rng.integers(max(0, i - 3), i))
        blocks[i, j], blocks[j, i] = rng.normal(size=(2, 6, 6))
    system = pack([6] * length, blocks)
    A = assemble(*system)
    rhs = rng.normal(size=(6 * length, 2))
    got = solve(system, rhs, method="automatic")
    assert got["method"] == "direct"
    assert residuals(A, got["x"], rhs).max() < 1e-10


def test_direct_unconnected_points(rng):
    system = pack([3] * 40, {(i, i): np.eye(3) * (i + 1) for i in range(40)})
    rhs = rng.normal(size=(120, 1))
    for method in ("automatic", "krylov", "lagged", "direct"):
        got = solve(system, rhs, method=method, tolerance=1e-10)
        assert got["x"] == pytest.approx(rhs / np.repeat(np.arange(1, 41), 3)[:, None])


@pytest.mark.parametrize("method", ["automatic", "lagged", "direct"])
def test_singular_and_non_finite_matrices_are_reported(method):
    sizes, pairs, values, _ = elastic_ball(480, contact=False)
    rhs = np.ones((450, 1))
    for bad in (np.nan, np.inf):
        broken = values.copy()
        broken[9 * 150 + 40] = bad
        got = solve((sizes, pairs, broken), rhs, method=method)
        # The Krylov solver checks diagonal blocks first and the others as it goes.
        assert not got["regular"] or method == "automatic"
        assert not got["reached"] and np.isfinite(got["x"]).all()
    touching = [k for k, pair in enumerate(pairs) if 17 in pair]
    broken = values.copy()
    broken[9 * 17 : 9 * 18] = 0
    for k in touching:
        broken[9 * 150 + 18 * k : 9 * 150 + 18 * (k + 1)] = 0
    assert not solve((sizes, pairs, broken), rhs, method=method)["regular"]


@pytest.mark.parametrize("columns", [1, 3])
def test_lagged_factor_serves_neighbouring_matrices(columns, rng):
    """Contacts come and go and the step changes; the factor is made again only when it is poor."""
    sizes, pairs, _, _ = elastic_ball(480)
    solver = _engine.LinearSolver(sizes, pairs, "lagged")
    products = []
    for step, contact in [(1 / 240, False), (1 / 220, False), (1 / 200, True), (1 / 20, True)] * 2:
        values = elastic_ball(480, step, contact=contact)[2]
        A = assemble(sizes, pairs, values)
        assert solver.factor(values)
        rhs = rng.normal(size=(450, columns))
        for transposed in (False, True):
            got = solver.solve(rhs, 1e-9, transposed)
            assert got["reached"] and got["method"] == "lagged"
            assert residuals(A.T if transposed else A, got["x"], rhs).max() < 1e-9
            products.append(got["products"])
    assert products[0] <= 3  # its own factor: refinement only
    assert 3 < max(products) <= 24 * 3


@pytest.mark.parametrize("method", ["lagged", "automatic"])
@pytest.mark.parametrize("columns", [4, 11])
def test_many_columns_are_solved_together(method, columns, rng):
    """Each to its own size; an old factor is used while few passes do, one for zeros not at all."""
    sizes, pairs, _, _ = elastic_ball(480)
    solver = _engine.LinearSolver(sizes, pairs, method)
    for step, poisson in [(1 / 240, 0.3), (1 / 235, 0.3), (1 / 200, 0.49), (1 / 20, 0.49)] * 2:
        values = elastic_ball(480, step, poisson)[2]
        A = assemble(sizes, pairs, values)
        rhs = rng.normal(size=(450, columns)) * np.logspace(-9, 6, columns)
        rhs[:, 1] = 0.0
        for transposed in (False, True):
            assert solver.factor(values)
            got = solver.solve(rhs, 1e-12, transposed)
            assert got["reached"] and got["products"] <= 24
            seen = np.arange(columns) != 1
            left = residuals(A.T if transposed else A, got["x"][:, seen], rhs[:, seen])
            assert left.max() < 3e-12 and not got["x"][:, 1].any()


def test_automatic_goes_on_where_krylov_ends(rng):
    """Nearly incompressible at a large step: products run out, a factor takes over and is kept."""
    sizes, pairs, values, _ = elastic_ball(480, 1 / 4, 0.4999, contact=True)
    A = assemble(sizes, pairs, values)
    rhs = rng.normal(size=(450, 2))
    assert not solve((sizes, pairs, values), rhs, tolerance=1e-10)["reached"]
    solver = _engine.LinearSolver(sizes, pairs)
    used = []
    for _ in range(12):
        assert solver.factor(values)
        got = solver.solve(rhs, 1e-10)
        assert got["reached"] and residuals(A, got["x"], rhs).max() < 1e-10
        used.append(got["method"])
    assert set(used) <= {"lagged", "direct"}
    easy = elastic_ball(480, 1 / 240)[2]
    for _ in range(20):
        assert solver.factor(easy)
        used.append(solver.solve(rhs, 1e-6)["method"])
    assert used[-1] == "krylov"


def test_automatic_indefinite_matrix(rng):
    sizes, pairs, values, _ = elastic_ball(480, contact=False)
    shift = 0.5 * assemble(sizes, pairs, values).diagonal().mean()
    for i in range(len(sizes)):
        values[9 * i : 9 * i + 9 : 4] -= shift
    A = assemble(sizes, pairs, values)
    rhs = rng.normal(size=(450, 1))
    got = solve((sizes, pairs, values), rhs, True, "automatic", tolerance=1e-9)
    assert got["reached"] and residuals(A, got["x"], rhs) < 1e-9


def test_linear_solve_refuses():
    system = elastic_ball(480)[:3]
    with pytest.raises(_engine.InvalidInput, match=r"method: must be .*got 'best'"):
        solve(system, np.ones((450, 1)), method="best")
    with pytest.raises(_engine.InvalidInput, match="values: must be"):
        solve((*system[:2], system[2][:-1]), np.ones((450, 1)))
    with pytest.raises(_engine.InvalidInput, match="rhs: must have 450 rows"):
        solve(system, np.ones((449, 1)))


@pytest.mark.parametrize("method", ["krylov", "lagged", "direct"])
@pytest.mark.parametrize("transposed", [False, True])
def test_what_is_not_finite_is_not_reached(method, transposed, rng):
    *system, symmetric = elastic_ball(480)
    rhs = rng.normal(size=(3 * len(system[0]), 9))
    rhs[7, 4] = np.nan
    assert not solve(system, rhs, symmetric, method, transposed=transposed)["reached"]
