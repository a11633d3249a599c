"""Exact derivatives against central differences over random scenes that mix everything.

The protocol is that of validation.gradients (docs/design.md). A scene's random direction moves
a sample of all its parameters; further ones move one kind of parameter alone. A kind counts for a
scene only where it is felt: the norm of its part of the gradient g is above the floor of 1e-3 |g|
that errors are compared with.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.gradient_check import GradientReport

from .common import share
from .gradients import NotSimulated, check_motion, protocol_options
from .mixed_scenes import MixedScene, random_mixed_scene
from .mixed_scenes_contact import FRICTIONS, OBSTACLES

SCENES = 303  # at least 300 of which can be simulated
BAR = 20  # scenes that reach each of these, and that feel each kind of parameter; 1 in a part
ALONE = 4  # directions in each kind of parameter alone
REACHED = (
    "contact", "sliding", "sticking", "held", "leaving", "clamped damping", "rolling",
    "limit active", "limit free", "strand taut", "strand slack", "cable taut", "cable slack",
    *OBSTACLES, *FRICTIONS, "continuous", "ramped",
    "touching soft", "touching cloth", "touching string", "touching rigid", "touching particle",
    "touching linkage", "carried by world", "carried by handle", "carried by body",
    "pair forwards", "pair backwards", "bdf1", "bdf2",
)  # fmt: skip
HELD = (
    "element p1", "element p1_fbar", "element p2", "element p2_p0",
    "model neo_hookean", "model neo_hookean_safe",
    "mass lumped", "mass consistent", "viscosity invariant", "viscosity linear",
    "parameters per element", "field of stiffness", "glued solid", "glued cloth", "glued string",
    "glued to handle", "glued to rigid body", "glued to world", "natural lengths",
    "joint hinge", "joint slider", "joint ball", "joint weld", "joint planar", "joint universal",
    "joint on a handle", "motor position", "motor torque", "motor force", "limit", "handle",
    "extra spring", "spring of no length", "cable", "drag", "point force", "torque",
    "load-dependent", "rolling friction", "spheres at vertices",
)  # fmt: skip
KINDS = (*(
    f"{owner}.{word}" for owner, words in {
        "cable": "damping rest_length stiffness",
        "contact": "c_f c_n c_roll c_s c_spin d_0 f_0 k_d k_n k_roll k_t surface_offset"
                   " surface_scale surface",
        "drag": "c_linear c_quadratic wind", "force": "force[]", "torque": "torque[]",
        "handle": "position[] rotation[]",
        "joint": "anchor_a anchor_b axis_rotation damping friction_damping position"
                 " rotational_damping rotational_stiffness stiffness",
        "limit": "damping lower stiffness upper",
        "masses": "angular_velocity mass position rotation velocity",
        "motor": "damping force[] stiffness target[] torque[]",
        "particle": "mass position velocity", "points": "radius scale",
        "rigid": "angular_velocity inertia mass position rotation velocity",
        "soft": "angular_velocity density poisson poisson[] position rotation velocity viscosity"
                " viscosity[] young young[]",
        "spring": "damping rest_length rest_scale stiffness",
        "strand": "damping rest_scale stiffness",
    }.items() for word in words.split()
), "gravity")  # fmt: skip
PER_KIND = 8  # parameters of one kind that a scene's sample holds at most
STUCK = 0.01  # share of scenes that may not be simulated (listed, not counted)
OWN = 2  # kinds that get a direction of their own, per scene
UNITS = {  # size of a parameter that is a place, a start or nothing yet
    "position": 0.01, "rotation": 0.1, "velocity": 0.1, "angular_velocity": 1.0, "gravity": 1.0,
    "anchor_a": 0.01, "anchor_b": 0.01, "wind": 1.0, "target": 0.05, "torque": 0.05, "force": 0.3,
    "motor.torque": 0.3, "motor.force": 3.0,
}  # fmt: skip


def kind_of(name: str) -> str:
    """Kind of a parameter: its owner's kind and its name without axis, '[]' for keys."""
    owner, _, rest = name.partition(".")
    owner = re.sub(r"\d+$", "", owner)
    word = re.sub(r"\[\d+\]", "[]", rest.split(".")[0])
    owner = {"cloth": "masses", "string": "masses"}.get(owner, owner)
    return "gravity" if owner == "gravity" else f"{owner}.{word}"


def scales_of(scene: _engine.Scene) -> np.ndarray:
    """Typical size of each parameter (np,): of the kind where it has one, else its value's."""
    scales = np.abs(scene.values)
    for i, info in enumerate(scene.parameters):
        kind = kind_of(info.name)
        word = kind.split(".")[-1].removesuffix("[]")
        own = kind.removesuffix("[]")
        if kind == "rigid.inertia":  # products of inertia in the size of the moments
            scales[i] = scene.values[scene.index(info.name.split(".")[0] + ".inertia.xx")]
        elif own in UNITS or word in UNITS:
            scales[i] = UNITS.get(own, UNITS.get(word))
        elif scales[i] == 0:
            scales[i] = 0.01
    return scales


def sample(scene: _engine.Scene, rng) -> list[int]:
    """Active parameters: at random up to PER_KIND of each kind that may move both ways."""
    kinds: dict[str, list[int]] = {}
    for i, info in enumerate(scene.parameters):
        if info.lower < scene.values[i] < info.upper:
            kinds.setdefault(kind_of(info.name), []).append(i)
    chosen = [rng.permutation(group)[:PER_KIND] for group in kinds.values()]
    return sorted(int(i) for i in np.concatenate(chosen))


def reached(scene: MixedScene, rollout) -> set[str]:
    """What a scene holds and which regimes its motion came through."""
    found, at = set(scene.tags), 0
    for watch in scene.watch:
        codes = rollout.modes[:, at : at + watch.count]
        at += watch.count
        if watch.kind == "contact":
            found |= _contact_regimes(codes, watch.traits)
        elif watch.kind == "limit":
            found |= {"limit active"} if np.any(codes & 3) else set()
            found |= {"limit free"} if np.any((codes & 3) == 0) else set()
        elif watch.kind in ("strand", "cable"):
            found |= {f"{watch.kind} taut"} if np.any(codes & 1) else set()
            found |= {f"{watch.kind} slack"} if np.any(codes == 0) else set()
    assert at == rollout.modes.shape[1], "a scene's watches do not fit its codes"
    return found


def _contact_regimes(codes, traits) -> set[str]:
    mode = codes & 3
    if not mode.any():
        return set()
    found = {"contact", *traits}
    for name, code in {"sticking": 1, "sliding": 2, "held": 3}.items():
        if np.any(mode == code):
            found.add(name)
    if np.any((mode[:-1] > 0) & (mode[1:] == 0)):
        found.add("leaving")
    if np.any(codes & 4):
        found.add("clamped damping")
    return found


def check_mixed(scene: MixedScene, seed: int, alone: Counter):
    """(report, S against lambda, regimes, kinds felt); kinds least felt alone so far come first."""
    engine, rng = scene.engine, np.random.default_rng(seed + 10_000)
    active = sample(engine, rng)
    kinds = np.array([kind_of(engine.parameters[i].name) for i in active])
    felt: list[str] = []

    def along(gradient):
        norm = np.linalg.norm(gradient)
        for kind in dict.fromkeys(kinds):
            if np.linalg.norm(gradient[kinds == kind]) > 1e-3 * norm:
                felt.append(str(kind))
        own = sorted(felt, key=lambda k: alone[k])[:OWN]
        alone.update(own)
        each = [rng.normal(size=len(active)) * (kinds == k) for k in own]
        return np.array([rng.normal(size=len(active)), *each])

    report, pairing, base = check_motion(
        engine, scene.steps, protocol_options(scene), active, scales_of(engine)[active], rng, along,
        f"scene {seed}",
    )  # fmt: skip
    return report, pairing, reached(scene, base), felt


def seeds_of(
    fraction: float, seed: int, scenes: int = SCENES, make=random_mixed_scene
) -> list[int]:
    """Seeds of the scenes: all, or so chosen that a part, too, holds something of everything."""
    seeds = range(seed, seed + scenes)
    if fraction >= 1:
        return list(seeds)
    count = share(scenes, fraction)
    holds = {i: _holds(make(i)) for i in seeds[: 4 * count]}
    chosen, covered = [], Counter()
    while holds and len(chosen) < count:
        best = max(holds, key=lambda i: sum(0.25 ** covered[what] for what in holds[i]))
        covered.update(holds.pop(best))
        chosen.append(best)
    return chosen


def _holds(scene: MixedScene) -> set[str]:
    kinds = {kind_of(info.name) for info in scene.engine.parameters}
    return scene.tags.union(kinds, *(watch.traits for watch in scene.watch))


def measured(seeds: list[int], make=random_mixed_scene) -> tuple[GradientReport, dict, Counter]:
    """(all directions, figures, directions in one kind of parameter alone) of scenes make(seed)."""
    reports, stuck, pairing = [], [], 0.0
    found, kinds, alone = Counter(), Counter(), Counter()
    for i in seeds:
        scene = make(i)
        try:
            report, gap, regimes, felt = check_mixed(scene, i, alone)
        except NotSimulated as error:
            stuck.append(str(error))
            continue
        reports.append(report)
        found.update(regimes)
        kinds.update(felt)
        pairing = max(pairing, gap)
    merged = GradientReport.merged(reports)
    return merged, {
        "scenes": len(seeds), "not_simulated": stuck, "directions": len(merged.checks),
        "without_plateau": len(merged.lacking), "out_of_tolerance": len(merged.failed),
        "share_within_1e-6": merged.fine_share,
        "median_error": float(np.median([c.error for c in merged.counted])),
        "worst_error": merged.worst, "sensitivity_against_adjoint": pairing,
        "scenes_reaching": dict(sorted(found.items())),
        "scenes_feeling_kind": dict(sorted(kinds.items())),
    }, alone  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All bars of the protocol, and the counts of what was reached."""
    merged, figures, alone = measured(seeds_of(fraction, seed))
    figures["directions_in_kind_alone"] = dict(sorted(alone.items()))
    judge(merged, figures)
    _judge(figures, alone, fraction)
    return figures


def judge(merged: GradientReport, figures: dict) -> None:
    """AssertionError unless the bars of the protocol are met, whatever the scenes reach."""
    failed = [f"{c.label}: {c.error:.2e} (spread {c.spread:.1e})" for c in merged.failed[:5]]
    assert merged.passed, f"{merged.summary()}; {failed}"
    assert figures["sensitivity_against_adjoint"] <= 1e-9, figures
    assert len(figures["not_simulated"]) <= STUCK * figures["scenes"], figures["not_simulated"]


def _judge(figures: dict, alone: Counter, fraction: float) -> None:
    found, kinds = (Counter(figures[f"scenes_{word}"]) for word in ("reaching", "feeling_kind"))
    least = BAR if fraction >= 1 else 1
    short = {k: found[k] for k in (*REACHED, *HELD) if found[k] < least}
    assert not short, f"too few scenes reached {short}; {figures}"
    few = {k: kinds[k] for k in KINDS if kinds[k] < least}
    few |= {f"{k} alone": alone[k] for k in KINDS if fraction >= 1 and alone[k] < ALONE}
    assert not few, f"kinds of parameter checked too seldom: {few}; {figures}"
