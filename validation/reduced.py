"""Exact derivatives over random scenes of joints in reduced coordinates.

The protocol and its bars are those of validation.gradients_mixed; the scenes hold trees on the
world, driven and free bodies, with everything else around them (validation.reduced_scenes). Beside
derivatives: how far joints open, which they must not but for rounding.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine

from .common import judged
from .gradients import protocol_options
from .gradients_mixed import judge, measured, seeds_of
from .mixed_scenes_contact import FRICTIONS, OBSTACLES
from .reduced_scenes import BASES, CARRIERS, CLOSING, random_reduced_scene

SCENES = 220  # at least 200 of which can be simulated
BAR = 15  # scenes that reach each of these
OPEN = 1e-12  # [m, rad] that rounding may open and tilt a joint; scenes are about 1 m wide
PLACES = tuple(
    f"{kind} to {end}"
    for end in ("the world", "a body")
    for kind in ("hinge", "slider", "ball", "planar", "universal", "weld")
)
REACHED = (
    "contact", "sliding", "sticking", "held", "leaving", "rolling", *OBSTACLES, *FRICTIONS,
    "limit active", "limit free", "cable taut", "cable slack", "touching link",
    *(f"carried by {how}" for how in CARRIERS), *(f"base {base}" for base in BASES),
    *PLACES,
    "loop", *(f"constrained {kind}" for kind in CLOSING),
    "branch", "two trees", "glued solid", "glued string", "cable", "spring", "drag",
    "point force", "torque", "motor position", "motor torque", "motor force", "dry friction",
    "armature", "start coordinate", "bdf1", "bdf2",
)  # fmt: skip
# Rarer: spheres of an arm seldom come to rest, and a union is dealt to fewer scenes.
LEAST = {
    "glued string": 5, "sticking": 10, "held": 4, "union": 10, **dict.fromkeys(PLACES, 5),
    **{f"constrained {kind}": 3 for kind in CLOSING},
}  # fmt: skip
KINDS = (
    *(f"joint.{word}" for word in ("anchor_a", "anchor_b", "position", "axis_rotation",
                                   "friction_damping", "stiffness")),
    *(f"rigid.{word}" for word in ("mass", "inertia", "position", "rotation", "velocity",
                                   "angular_velocity")),
    *(f"motor.{word}" for word in ("stiffness", "damping", "target[]", "torque[]", "force[]")),
    *(f"limit.{word}" for word in ("lower", "upper", "stiffness")),
    "friction.coulomb", "armature.inertia", "handle.position[]", "handle.rotation[]", "gravity",
    "contact.k_n", "contact.c_f", "soft.young", "cable.stiffness", "spring.stiffness",
)  # fmt: skip


def opening(scene) -> tuple[float, float]:
    """Largest opening [m] and tilt [rad] of the joints in reduced coordinates of a scene."""
    engine = scene.engine
    r = _engine.rollout(engine, engine.values, scene.steps, protocol_options(scene))
    names = {info.name for info in engine.parameters}
    joints = {name.split(".")[0] for name in names if name.endswith(".anchor_b.x")}
    reports = [
        engine.joint_motion(joint, engine.values, r)
        for joint in joints if f"{joint}.stiffness" not in names
    ]  # fmt: skip
    worst = [max(np.abs(report[word]).max() for report in reports) for word in ("opening", "tilt")]
    return float(worst[0]), float(worst[1])


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All bars of the protocol, openings of joints, and the counts of what was reached."""
    seeds = seeds_of(fraction, seed, SCENES, random_reduced_scene)
    merged, figures, _ = measured(seeds, random_reduced_scene)
    open_, tilt = np.max([opening(random_reduced_scene(i)) for i in seeds], axis=0)
    figures |= {"largest_opening_m": float(open_), "largest_tilt_rad": float(tilt)}
    missed = []
    try:
        judge(merged, figures)
    except AssertionError as error:
        missed.append(str(error)[:500])
    if max(open_, tilt) > OPEN:
        missed.append(f"joints open by {open_:.1e} m, tilt by {tilt:.1e} rad")
    if fraction >= 1:
        found, felt = figures["scenes_reaching"], figures["scenes_feeling_kind"]
        short = {k: found.get(k, 0) for k in REACHED if found.get(k, 0) < LEAST.get(k, BAR)}
        few = {k: felt.get(k, 0) for k in KINDS if felt.get(k, 0) < BAR}
        missed += [f"too few scenes reached {short}"] * bool(short)
        missed += [f"kinds of parameter felt too seldom: {few}"] * bool(few)
    return judged(figures, missed)
