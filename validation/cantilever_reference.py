"""Tip deflections and frequencies of the cantilever, refined and extrapolated to zero brick size.

Whatever solid is tested against them (docs/results/cantilever_reference.json), the reference is
from other code (reference_fem.py, scikit-fem). Each figure is q(n) = q + C n^-order through the
three finest levels; `uncertainty` is the relative distance of q from the finest level.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import brentq

POISSON = (0.45, 0.499)
STATIC_LEVELS = (1, 2, 3, 4, 5)  # bricks per half width; 4 times as many along
MODAL_LEVELS = (1, 2, 3, 4, 6)
BAR = 1e-3  # relative distance of the extrapolated figures from the finest level
METHODS = 6e-3  # of the displacement method on bricks of medium size from the limit
FIRST = 5  # frequencies that are asked for


def extrapolated(levels, values) -> dict:
    """Limit, order and relative uncertainty of values at the three last levels."""
    (n1, n2, n3), (a, b, c) = levels[-3:], values[-3:]
    wanted = (b - a) / (c - b)

    def excess(p):
        return (n1**-p - n2**-p) / (n2**-p - n3**-p) - wanted

    low, high = 0.3, 12.0
    if not excess(low) < 0 < excess(high):
        raise AssertionError(f"no order of convergence in {list(values)} at {list(levels)}")
    order = brentq(excess, low, high)
    limit = c + (c - b) * n3**-order / (n2**-order - n3**-order)
    return {"value": limit, "order": order, "uncertainty": abs(c / limit - 1)}


def table(levels, rows: list[dict]) -> dict:
    """Per figure: its values at all levels, and the limit."""
    return {
        name: extrapolated(levels, [row[name] for row in rows])
        | {"levels": {f"n_{n}": row[name] for n, row in zip(levels, rows, strict=True)}}
        for name in rows[0]
    }


def flattened(modes: dict) -> dict:
    """frequencies() as bending_1 .. axial_3."""
    return {f"{kind}_{k + 1}_hz": f for kind, fs in modes.items() for k, f in enumerate(fs)}


def first_modes(vibrations: dict, count: int = FIRST) -> list[dict]:
    """The lowest `count` modes of the whole bar; bending ones come in pairs."""
    found = []
    for name, row in vibrations.items():
        copies = 2 if name.startswith("bending") else 1
        found += [{"mode": name.removesuffix("_hz"), "hz": row["value"]}] * copies
    return sorted(found, key=lambda mode: mode["hz"])[:count]


def one(poisson: float, static_levels, modal_levels) -> dict:
    """Deflections and vibrations at one Poisson ratio, with their refinement tables."""
    from .reference_fem import frequencies, tip_deflections  # scikit-fem is for tests only

    statics, seconds = [], []
    for n in static_levels:
        begin = time.process_time()
        statics.append(tip_deflections(n, poisson))
        seconds.append(round(time.process_time() - begin, 1))
    modes = [flattened(frequencies(n, poisson)) for n in modal_levels]
    plain = tip_deflections(3, poisson, pressure=False) if poisson < 0.46 else None
    vibrations = table(modal_levels, modes)
    figures = {
        "deflections": table(static_levels, statics), "vibrations": vibrations,
        "first_modes": first_modes(vibrations), "static_cpu_s": seconds,
    }  # fmt: skip
    if plain:
        # Without the pressure projection the same limit is approached from below.
        figures["displacement_method_at_n_3"] = plain
    return figures


def study(
    poisson=POISSON, static_levels=STATIC_LEVELS, modal_levels=MODAL_LEVELS, bar: float = BAR
) -> dict:
    """All references; asserts that the extrapolation is small and both methods agree."""
    from .reference_fem import DENSITY, GRAVITY, LENGTH, TIP_LOAD, WIDTH, YOUNG

    figures: dict = {
        "width_m": WIDTH, "length_m": LENGTH, "young_pa": YOUNG, "density_kg_m3": DENSITY,
        "gravity_m_s2": GRAVITY, "tip_load_n": TIP_LOAD,
        "element": "triquadratic brick, linear discontinuous pressure",
    }  # fmt: skip
    for ratio in poisson:
        found = figures[f"poisson_{ratio}"] = one(ratio, static_levels, modal_levels)
        asked = [m["mode"] + "_hz" for m in found["first_modes"]]
        rows = found["deflections"] | {name: found["vibrations"][name] for name in asked}
        worst = max(rows, key=lambda name: rows[name]["uncertainty"])
        assert rows[worst]["uncertainty"] <= bar, (
            f"Poisson {ratio}: {worst} is {rows[worst]['uncertainty']:.2%} from its limit"
        )
        for name, value in found.get("displacement_method_at_n_3", {}).items():
            distance = abs(value / rows[name]["value"] - 1)
            assert distance <= METHODS, f"displacement method: {name} off by {distance:.2%}"
        assert np.all(np.diff([m["hz"] for m in found["first_modes"]]) >= 0)
    return figures
