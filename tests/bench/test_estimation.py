"""bench/estimation.py on a few tosses: all methods see one objective, and all are counted."""

from __future__ import annotations

import pytest

from bench.estimation import main


def test_all_methods_minimise_the_same_objective():
    pytest.importorskip("cma")
    found = main(tosses=3, horizons=(8, 12), against=(12,), evaluations=36, draws=9)
    before, figures = found["frames_8"], found["frames_12"]
    n, tosses = len(figures["parameters"]), figures["tosses"]
    for kind in ("exact", "central", "forward"):
        assert figures[kind]["objective"] < figures["start_objective"]
        assert figures[kind]["rollouts"] > before[kind]["rollouts"]  # both stages count
    for kind, points in (("central", 2 * n + 1), ("forward", n + 1)):
        check = figures[kind]["objective_check"]
        assert figures[kind]["objective"] == pytest.approx(check, rel=1e-12)
        assert figures[kind]["rollouts"] >= points * tosses
    assert figures["cma"]["rollouts"] % tosses == 0
    assert figures["staged"]["rollouts"] > before["staged"]["rollouts"]
    assert figures["drawn"]["objective"] < figures["start_objective"]
    assert figures["drawn"]["rollouts"] >= figures["exact"]["rollouts"] + 9 * tosses
    assert figures["central_to_exact_rollouts"] > figures["forward_to_exact_rollouts"] > 1
