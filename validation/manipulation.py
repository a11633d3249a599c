"""Manipulation [G 4.7.4.2]: objects moved through strings, bands, springs and cloth, beside CMA-ES.

Every task is a file of config/planning: Gauss-Newton from its first guess, one thread, then
CMA-ES from the same guess with a multiple of the time.
"""

from __future__ import annotations

from .planned import CMA_FACTOR, beside_cma, missed

TASKS = {
    "drag_cube": "dragged 11 cm by a string, 16 coordinates of 8 keys",
    "drag_cube_5cm": "dragged 5 cm by two strings, six coordinates every 1/60 s [4.14a]",
    "tip_cube": "tipped through four rubber bands [4.14c]",
    "turn_three_bodies": "the lowest of three bodies on springs turned by half a turn [4.15]",
    "flip_cloth": "cloth flipped and flipped back [4.17]",
    "catapult": "rigid body with a level set catapulted by a cloth [4.16]",
}
THESIS = {
    "drag_cube": {"seconds": 3.3, "iterations": 20},
    "drag_cube_5cm": {"seconds": 3.3, "iterations": 20},
    "flip_cloth": {"seconds": 54.0, "iterations": 25},
}
"""[G Table A.2]: the whole optimisation, on 4 cores at 3.5 GHz."""
CMA_CAP = 15.0
"""CPU seconds of CMA-ES on one task at most, unless the plan itself takes longer."""
SPREAD = 0.05
"""First spread of CMA-ES: a few centimetres for a hand; with 0.3 it finds nothing."""
QUICK = ("drag_cube",)


def study(fraction: float = 1.0) -> dict:
    """Every task reached within its tolerances, and no worse than by CMA-ES."""
    names = TASKS if fraction >= 1 else QUICK
    found, cap = {}, fraction**2 * CMA_CAP  # of a tenth nothing is asked but that it runs
    for name in names:
        found[name] = {"task": TASKS[name], **beside_cma(name, cap, SPREAD)}
        if name in THESIS:
            found[name]["thesis"] = THESIS[name]
    assert not missed(found), f"not within the tolerances: {', '.join(missed(found))}"
    worse = [n for n, f in found.items() if f["objective"] > f["cma"]["objective"]]
    assert not worse, f"CMA-ES ends lower: {', '.join(worse)}"
    return {"cma_budget_factor": CMA_FACTOR, "cma_cap_seconds": cap, "tasks": found}
