"""Restitution of bouncing cubes against normal damping  [G Fig. 4.5], and of contact points [A.4].

A cube falls flat onto the ground, BDF2, 1/240 s, for several damping coefficients; then its
restitution with 2 ... 10 contact points per edge, which share the penalty: the same for a flat
impact, and not when a corner strikes first, where one of many points carries the load.
"""

from __future__ import annotations

import numpy as np

from examples.common import Outcome, Run, curves, run

EDGE, MASS, HEIGHT = 0.1, 0.3, 0.2
K_N = 1e3
DAMPING = (0.0, 0.05, 0.2, 0.6)  # c_n [s/m]
POINTS = (2, 3, 4, 6, 8, 10)


def scene(c_n: float, *, points: int = 2, turn: tuple = (0.0, 0.0, 0.0), **world: float) -> dict:
    """The cube `HEIGHT` above touching the ground; a face's points have K_N together  [A.4]."""
    count = points**3 - max(points - 2, 0) ** 3
    reach = EDGE / 2 * np.abs(_matrix(turn)).sum(axis=1)[2]
    return {
        "name": f"cube, c_n {c_n:g} s/m",
        "world": {"step": 1 / 240, "duration": 1.5, **world},
        "bodies": {
            "cube": {
                "shape": {"box": {"size": [EDGE] * 3}}, "mass": MASS,
                "contact_spheres": {"face_grid": {"per_edge": points}},
                "pose": {"position": [0, 0, float(HEIGHT + reach)], "rotation": list(turn)},
            }
        },
        "contact": [{"name": "ground", "points": "cube", "against": {"plane": {}},
                     "k_n": K_N * count / points**2,
                     "c_n": c_n}],
    }  # fmt: skip


def _matrix(turn: tuple) -> np.ndarray:
    from diffsim_ros.rotation import quat_exp, quat_matrix

    return quat_matrix(quat_exp(turn))


def restitution(done: Run) -> float:
    """Speed of the centre after the first contact over the speed before it."""
    z = done.rollout.velocity[:, 0, 2]
    force = np.linalg.norm(np.asarray(done.rollout.contact_force).sum(axis=1), axis=-1)
    touching = np.flatnonzero(force > 0)
    gaps = np.flatnonzero(np.diff(touching) > 1)
    last = touching[gaps[0]] if len(gaps) else touching[-1]
    return float(z[last + 1] / -z[touching[0] - 1])


def study(quick: bool = False) -> Outcome:
    """Energy over time for every damping; restitution over the number of contact points."""
    found, totals = Outcome(), {}
    for c_n in DAMPING:
        done = run(scene(c_n))
        total = done.rollout.energy["total"]
        totals[f"c_n = {c_n:g} s/m"] = (done.rollout.time, total)
        found.figures[f"c_n={c_n:g}"] = {"energy_kept": float(total[-1] / total[0])}
    kept = [found.figures[f"c_n={c:g}"]["energy_kept"] for c in DAMPING]
    found.check("the more damping, the less energy is left", bool(np.all(np.diff(kept) < 0)))
    found.check("without damping 95 % of the energy is left after 1.5 s at 1/240 s", kept[0] > 0.95)
    found.pictures["energy.png"] = curves(totals, ("time [s]", "energy [J]"), ylim=(0, None))
    _contact_points(found, POINTS[::2] if quick else POINTS)
    return found


def _contact_points(found: Outcome, counts: tuple) -> None:
    fine = {"step": 1 / 2000, "duration": 0.4}
    corner = (np.arctan(2**-0.5), 0.0, 0.0)  # tipped onto an edge's end: one point first
    corner = (float(corner[0]), 0.4, 0.0)
    flat = [restitution(run(scene(0.1, points=n, **fine))) for n in counts]
    first = [restitution(run(scene(0.1, points=n, turn=corner, **fine))) for n in counts]
    found.figures["contact_points"] = {"per_edge": list(counts), "flat": flat, "corner": first}
    found.check("flat impacts: the same restitution for any number of points, to 5e-3",
                np.ptp(flat) < 5e-3)  # fmt: skip
    found.check("corner first: it changes with the number of points (> 0.02)", np.ptp(first) > 0.02)
    found.pictures["contact_points.png"] = curves(
        {"flat impact": (counts, flat), "corner first": (counts, first)},
        ("contact points per edge", "restitution"), ylim=(0, 1),
    )  # fmt: skip
