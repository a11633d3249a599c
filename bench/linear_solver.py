"""Linear solvers on step matrices of an elastic ball: CPU milliseconds, one thread.

python -m bench.linear_solver prints the table of engine.md in docs/. The ball (r 0.1 m, E 2e4 Pa,
rho 150, BDF2) lies on frictional ground, so its matrix is nonsymmetric, or flies free (symmetric).
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine
from tests.native.fem_matrices import elastic_ball

TETS = (480, 2688, 10368)
CASES = (  # step [1/s], Poisson's ratio, contact
    (240, 0.4, False),
    (240, 0.4, True),
    (240, 0.49, True),
    (60, 0.4, False),
    (60, 0.4, True),
    (60, 0.49, True),
)


def row(tets: int, rate: float, poisson: float, contact: bool) -> list[str]:
    """One line of the table: solve times with products, preparation times."""
    *pattern, values, symmetric = elastic_ball(tets, 1 / rate, poisson, contact)
    rng, repeat = np.random.default_rng(1), 30 if tets < 10000 else 10
    cells = [str(tets), f"1/{rate:g}", str(poisson), "contact" if contact else "free"]
    for method in ("krylov", "lagged", "direct"):
        solver = _engine.LinearSolver(*pattern, method)
        solver.factor(values, symmetric, repeat)
        if method == "lagged":  # the factor of the step before
            solver = _engine.LinearSolver(*pattern, method)
            solver.factor(elastic_ball(tets, 1 / rate, poisson, False)[2], True)
            solver.factor(values, symmetric)
        tolerances = {"krylov": (1e-1, 1e-3, 1e-6, 1e-10), "lagged": (1e-6,), "direct": (1e-10,)}
        for tolerance in tolerances[method]:
            got = solver.solve(rng.normal(size=(3 * len(pattern[0]), 1)), tolerance, False, repeat)
            products = f" ({got['products']})" if got["products"] else ""
            cells.append(f"{got['solve_ms']:.2f}{products}{'' if got['reached'] else ' -'}")
        if method == "krylov":
            got = solver.solve(rng.normal(size=(3 * len(pattern[0]), 6)), 1e-6, False, repeat)
            cells.append(f"{got['solve_ms']:.2f}")
        if method != "lagged":
            cells.insert(4 if method == "krylov" else len(cells) - 1, f"{got['factor_ms']:.3g}")
    return cells


def main() -> None:
    """Prints the table."""
    head = "tets, h, Poisson, motion, prepare, 1e-1, 1e-3, 1e-6, 1e-10, 6 rhs 1e-6, lagged 1e-6"
    print("| " + " | ".join([*head.split(", "), "LU factor", "LU solve"]) + " |")
    print("|" + "---|" * 13)
    for tets in TETS:
        for case in CASES:
            print("| " + " | ".join(row(tets, *case)) + " |", flush=True)


if __name__ == "__main__":
    main()
