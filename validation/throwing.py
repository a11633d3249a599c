"""Throwing [G 4.7.4.1, A.1, A.2.4]: bounces, spin, walls, a pose; beside CMA-ES; by continuation.

Every task is a file of config/planning, planned by Gauss-Newton on one thread; CMA-ES has the same
first guess and a multiple of the time.
"""

from __future__ import annotations

from typing import Any

from diffsim_ros.planning.config import PlanConfig

from .planned import (
    CMA_FACTOR,
    altered,
    beside_cma,
    budget,
    by_cma,
    candidate_figures,
    missed,
    read,
    solved,
)

CMA_CAP = 20.0
"""CPU seconds of CMA-ES on one task at most, unless the plan itself takes longer."""
THESIS = {
    "bounces": {"objective_ratio": 1e-25, "rollouts": {"0": 4, "1": 24, "2": 28},
                "cma": {"objective_ratio": 1e-6, "rollouts": 1042}},
    "pose": {"objective_ratio": 4e-4, "rollouts": 319,
             "cma": {"objective_ratio": 1e-2, "rollouts": 8000}},
}  # fmt: skip
"""[G 4.7.4.1, Table A.1]."""
EXACT = 1e-20
"""O/O_first of a throw that meets its point: nothing but round-off is left."""
STAGES = (0.1, 0.3)
POSE_STAGES = (0.1, 0.2, 0.4, 0.8)
"""[G Fig. 4.3]."""


def study(fraction: float = 1.0) -> dict:
    """All throws; each within its tolerance, exact where it can be."""
    cap = fraction**2 * CMA_CAP  # of a tenth nothing is asked but that it runs
    found: dict[str, Any] = {"cma_budget_factor": CMA_FACTOR, "cma_cap_seconds": cap}
    found["continuation"] = continuation()
    found["stiff_cube"] = stiff_cube(fraction)
    if fraction < 1:
        found["bounces_deformable"] = bounces(read("throw_soft_ball", starts=1), cap, ("1",))
        return found
    found["bounces_rigid"] = bounces(read("throw_bounces"), cap, ("0", "1", "2"))
    soft = read("throw_soft_ball", starts=25)  # nine find no second bounce
    found["bounces_deformable"] = bounces(soft, cap, ("0", "1", "2"))
    found["wall_and_floor"] = {law: patterns(law) for law in ("linear", "tanh")}
    alone = {"backspin": "throw_backspin", "pose": "throw_bob"}
    found |= {key: beside_cma(name, cap) for key, name in alone.items()}
    lacking = missed({key: found[key] for key in alone})
    assert not lacking, f"not within the tolerances: {', '.join(lacking)}"
    found["pose_in_stages"] = in_stages()
    return found | {"thesis": THESIS}


def bounces(config: PlanConfig, cap: float, wanted: tuple[str, ...]) -> dict:
    """The best throw for each number of bounces, and CMA-ES from the first guess."""
    result, seconds = solved(config)
    best: dict[str, dict] = {}
    for candidate in result.candidates:  # best first
        count = str(len(candidate.pattern))
        if candidate.reached and count not in best:
            best[count] = candidate_figures(candidate)
    lacking = [n for n in wanted if n not in best]
    assert not lacking, f"no throw with {', '.join(lacking)} bounces"
    rough = [n for n in wanted if best[n]["objective_ratio"] > EXACT]
    assert not rough, f"throws with {', '.join(rough)} bounces stop above O/O_first {EXACT:g}"
    return {
        "starts": result.starts,
        "cpu_seconds": round(seconds, 3),
        "bounces": best,
        "cma": by_cma(result.config, budget(seconds / result.starts, cap)),
    }


def patterns(law: str) -> dict:
    """The throw over wall and floor under a law of friction: patterns of touches that reach it."""

    def change(raw: dict) -> None:
        for contact in raw["scene"]["contact"]:
            contact["friction"] = law
        raw["search"]["starts"] = 24

    result, seconds = solved(altered("throw_wall_floor", change))
    reached: dict[str, dict] = {}
    for candidate in result.candidates:
        name = " ".join(candidate.pattern)
        if candidate.reached and name not in reached:
            reached[name] = candidate_figures(candidate)
    assert reached, f"no throw over wall and floor with {law} friction"
    return {"cpu_seconds": round(seconds, 3), "patterns": reached}


def in_stages() -> dict:
    """The throw to a pose through softer floors and walls first, as the thesis has it."""
    stages = {"continuation": ["floor.k_n", "wall.k_n"], "factors": list(POSE_STAGES)}
    result, seconds = solved(read("throw_bob", **stages))
    return candidate_figures(result.best) | {"cpu_seconds": round(seconds, 3)}


def continuation() -> dict:
    """A contact of few steps, whose cost has kinks where its force is sampled: directly, and by
    continuation; and directly with the force integrated over the step of touchdown."""
    found = {}
    variants = (("direct", (), "sampled"), ("continuation", STAGES, "sampled"),
                ("integrated", (), "integrated"))  # fmt: skip
    for name, stages, onset in variants:

        def change(raw: dict, stages=stages, onset=onset) -> None:
            raw["scene"]["world"] |= {"step": 1e-3, "record_every": 5}
            raw["scene"]["contact"][0] |= {"k_n": 3e3, "onset": onset}
            raw["search"] = {"continuation": ["floor.k_n", "floor.k_t"] if stages else [],
                             "factors": list(stages) or [1.0]}  # fmt: skip

        result, seconds = solved(altered("throw_one_bounce", change))
        found[name] = candidate_figures(result.best) | {"cpu_seconds": round(seconds, 3)}
    return _helped(found, ("continuation", "integrated"))


def _helped(found: dict, names: tuple[str, ...]) -> dict:
    """The figures, where these variants end below the direct search."""
    direct = found["direct"]["objective"]
    for name in names:
        end = found[name]["objective"]
        assert end < direct, f"{name} ends at {end:.3g}, the direct search at {direct:.3g}"
    return found


def stiff_cube(fraction: float = 1.0) -> dict:
    """A stiff cube that drops and slides [G Fig. A.5]: directly, and as the floor's stiffness
    doubles; directly with BDF1 too, which takes the bounces away.  A tenth: without continuation.
    """
    variants = {"direct": [], "continuation": None, "direct_bdf1": []}
    if fraction < 1:
        del variants["continuation"]
    found = {}
    for name, continuation in variants.items():

        def change(raw: dict, name=name, continuation=continuation) -> None:
            if continuation is not None:
                raw["search"]["continuation"] = continuation
            raw["scene"]["world"]["scheme"] = "bdf1" if name.endswith("bdf1") else "bdf2"

        result, seconds = solved(altered("throw_stiff_cube", change))
        found[name] = candidate_figures(result.best) | {"cpu_seconds": round(seconds, 3)}
    return _helped(found, ("continuation",)) if fraction >= 1 else found
