"""Sheets of springs that wrinkle: search directions without negative curvature, Newton, gradients.

A compressed spring has the negative stiffness T/l across itself, and a sheet in compression many
states of equilibrium; derivatives always are those at the one that was reached.
"""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import _engine, meshes
from tests.native.batteries import random_instants
from tests.native.fem_matrices import pack
from tests.native.gradients import check_gradients
from tests.native.test_linear_solver import assemble


def sheet(n, squeeze, bump, clamped=True, **springs):
    """n x n particles 2 cm apart, started shortened by `squeeze` [-] along x and uneven [m].

    Two opposite sides are held by points of the world where `clamped`.
    """
    vertices, triangles = meshes.sheet(n, 0.02 * (n - 1))
    edges = meshes.edges(triangles)
    lengths = np.linalg.norm(np.subtract(*vertices[edges.T]), axis=1)
    start = vertices + bump * np.random.default_rng(3).normal(size=vertices.shape)
    start[:, 0] *= 1 - squeeze
    s = _engine.Scene()
    fixed = clamped & (np.abs(vertices[:, 0]) > 0.02 * (n - 1) / 2 - 1e-9)
    names = [f"v{i}" if not held else "" for i, held in enumerate(fixed)]
    for name, x in zip(names, start, strict=True):
        if name:
            s.add_particle(name, mass=5e-5, position=x)
    s.add_points("on", bodies=names, local=np.where(fixed[:, None], start, 0.0))
    values = {"stiffness": 200.0, "damping": 0.1} | springs
    s.add_springs("net", points_a="on", index_a=edges[:, 0], points_b="on", index_b=edges[:, 1],
                  rest_length=lengths, **values)  # fmt: skip
    return s


def test_compression_takes_away_negative_curvature_and_nothing_else():
    rng = np.random.default_rng(4)
    s = sheet(4, 0.0, 0.0, clamped=False, damping=0.0)
    x = 0.9 * s_positions(s) + 1e-3 * rng.normal(size=(16, 3))
    instants = random_instants(rng, 16, 1, c=x)
    found = {
        share: s.evaluate_element("net", s.values, instants, 0.01, compression=share)
        for share in (1.0, 0.5, 0.0)
    }
    K = {share: out["K"] for share, out in found.items()}
    assert all(out["compressed"] for out in found.values())
    assert np.array_equal(found[0.0]["r"], found[1.0]["r"])
    least = {share: np.linalg.eigvalsh(k).min() for share, k in K.items()}
    assert least[1.0] < -5 and least[0.0] > -1e-9 and least[1.0] < least[0.5] < least[0.0]
    assert pytest.approx(K[0.5], abs=1e-9) == (K[0.0] + K[1.0]) / 2
    taut = random_instants(rng, 16, 1, c=1.2 * s_positions(s))
    outs = [s.evaluate_element("net", s.values, taut, 0.01, compression=k) for k in (0.0, 1.0)]
    assert not outs[0]["compressed"] and np.array_equal(outs[0]["K"], outs[1]["K"])


def s_positions(s):
    return _engine.rollout(s, s.values, 0, _engine.Options(step=0.01)).position[0]


@pytest.mark.parametrize("skew", [0.0, 0.05])
def test_solver_of_positive_matrices_stops_at_negative_curvature(skew):
    """A chain's matrix, positive and with half of its diagonal too small, symmetric or not."""
    n, rng = 40, np.random.default_rng(5)
    pairs = [(i, i + k) for k in (1, 2) for i in range(n - k)]
    blocks = {pair: -np.eye(3) + skew * rng.normal(size=(3, 3)) for pair in pairs}
    blocks |= {(j, i): B.T + skew * rng.normal(size=(3, 3)) for (i, j), B in blocks.items()}
    right = rng.normal(size=3 * n)

    def solve(diagonal):
        sizes, pairs, values = pack(
            [3] * n, blocks | {(i, i): d * np.eye(3) for i, d in enumerate(diagonal)}
        )
        solver = _engine.LinearSolver(sizes, pairs)
        out = solver.solve_positive(values, right, symmetric=not skew)
        return assemble(sizes, pairs, values), out

    A, out = solve(np.full(n, 4.5))
    assert out["reached"] and not out["indefinite"]
    assert np.linalg.norm(A @ out["x"].ravel() - right) <= 2e-3 * np.linalg.norm(right)
    _, out = solve(np.where(np.arange(n) < n // 2, 4.5, 1.0))
    assert out["indefinite"] and not out["reached"]


@pytest.mark.parametrize("rate, most", [(240, 12), (60, 30)])
def test_newton_converges_on_a_sheet_that_buckles(rate, most):
    """Squeezed by a tenth between two held sides; `most`: mean iterations of a step.

    Which way it buckles, and whether its first step is halved, is a matter of rounding.
    """
    means = []
    for bump in (0.7e-4, 1e-4, 1.3e-4, 2e-4):
        s = sheet(16, 0.1, bump)
        r = _engine.rollout(s, s.values, rate // 5, _engine.Options(step=1 / rate, order=2))
        assert r.ok and r.halvings <= 1, r.message
        assert np.ptp(r.position[-1][:, 2]) > 0.02  # it did buckle
        means.append(np.mean(r.iterations))
    assert np.mean(means) <= most


def test_gradients_of_a_wrinkling_sheet():
    s = sheet(7, 0.1, 2e-3)
    options = _engine.Options(step=1 / 100, order=2, stagnate=True, gradient_tolerance=1e-12)
    r = check_gradients(s, 8, options, ["net.stiffness", "net.damping", "net.rest_scale"])
    x = r.position[-1]
    assert np.ptp(x[:, 2]) > 0.01
    lengths = np.linalg.norm(x[1:] - x[:-1], axis=1)
    assert lengths.min() < 0.01998  # some springs still are compressed
