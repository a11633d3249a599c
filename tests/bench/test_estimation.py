"""bench/estimation.py on a few tosses: all methods see one objective, and all are counted."""

from __future__ import annotations

import pytest

from bench.estimation import main


def test_all_methods_minimise_the_same_objective():
    pytest.importorskip("cma")
    figures = main(tosses=3, horizons=(12,), evaluations=36)["frames_12"]
    n, tosses = len(figures["parameters"]), figures["tosses"]
    for kind in ("exact", "central", "forward"):
        assert figures[kind]["objective"] < figures["start_objective"]
    for kind, points in (("central", 2 * n + 1), ("forward", n + 1)):
        check = figures[kind]["objective_check"]
        assert figures[kind]["objective"] == pytest.approx(check, rel=1e-12)
        assert figures[kind]["rollouts"] >= points * tosses
    assert figures["cma"]["rollouts"] % tosses == 0
    assert figures["central_to_exact_rollouts"] > figures["forward_to_exact_rollouts"] > 1
