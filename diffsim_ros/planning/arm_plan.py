"""From a plan to the arm's motion: within its limits, or planned anew within tighter ones.

Where no motion of the arm has what the plan asks of a joint, the plan is made again with less of
that joint allowed, starting where it ended: the goal is still reached, by another throw or hand.
Only slowing the motion down would miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..inverse.guides import KeyLimit
from ..inverse.parameters import ParameterMap
from ..robots.arm import Arm
from ..robots.controlled import anticipated
from ..robots.obstacles import Clearance
from ..robots.robot import Capsule
from ..robots.time_scaling import peaks, through_state
from ..robots.trajectory import JointTrajectory
from ..robots.trajectory_check import check_trajectory
from .hand import hand_motion
from .release import rate_name, value_name
from .result import Carried, PlanResult
from .robot_config import ReleaseTask
from .stretch import stretched

if TYPE_CHECKING:
    from .config import PlanConfig

RATES = ("velocity", "acceleration", "jerk")
ROUNDS = 10
"""Plans that are made again, at most, because the arm cannot carry one out."""
ROOM = 0.999
"""Of the limits of rates, at most: points are sent in whole nanoseconds, and checked so."""
LONGER = 1.15
"""By which a hand's task takes longer in the next round, where it may."""
LESS = 0.9
"""Of the rate that a joint had, in the next round."""


def carried_out(
    result: PlanResult, again: Callable[[PlanConfig, Mapping[str, float]], PlanResult]
) -> PlanResult:
    """The plan with its arm's motion; status "refused" where there is none.

    again  (plan with tighter bounds, controls to start from) -> what is found then
    """
    said: list[str] = []
    for _ in range(ROUNDS):
        found, bound = _first_carried(result)
        if found is not None:
            return replace(found, rounds=tuple(said))
        try:
            config, change = tighter(result.config, bound, result.best.controls)
        except InputError as refused:
            said.append(f"the arm cannot do it: {refused}")
            break
        said.append(f"the arm cannot do it ({bound}); planned again with {change}")
        anew = again(config, result.best.controls)
        if anew.status != "reached":
            return replace(anew, rounds=tuple(said))
        result = anew
    return replace(result, status="refused", rounds=tuple(said))


def _first_carried(result: PlanResult) -> tuple[PlanResult | None, InputError | None]:
    """The result with the first candidate that the arm can carry out, or why it cannot the best."""
    first = None
    for candidate in (c for c in result.candidates if c.reached):
        try:
            carried = motion(result.config, candidate.controls)
        except InputError as error:
            first = first or error
            continue
        others = tuple(c for c in result.candidates if c is not candidate)
        return replace(result, candidates=(candidate, *others), carried=carried), None
    return None, first


def motion(config: PlanConfig, controls: Mapping[str, float]) -> Carried:
    """The arm's motion for these controls; InputError naming joint and limit if there is none."""
    z = config.map.scaled(controls)
    if isinstance(config.robot, ReleaseTask):
        return _thrown(config, config.map.named(z))
    values = config.map.engine(z, config.scene.engine.values)
    hand = replace(config.robot, arm=roomy(config.robot.arm, config.robot.margin))
    clear = clearance(config)
    trajectory, begins = hand_motion(hand, config.scene, values, clear)
    return _sent(config, trajectory, clear, {"scene_starts": begins})


def _thrown(config: PlanConfig, named: Mapping[str, float]) -> Carried:
    """Through the release at constant rates; the gripper is told `lead` before."""
    task, names = config.robot, config.robot.arm.robot.joint_names
    q, qd = (np.array([named[of(name)] for name in names]) for of in (value_name, rate_name))
    limits = roomy(task.arm, task.margin).limits
    trajectory = through_state(limits, task.arm.home, q, qd, names=names, hold=task.hold)
    if task.lead > trajectory.release:
        rule = f"at most the {trajectory.release:.3g} s until the release"
        raise InputError(config.place, "robot.release.lead", task.lead, rule)
    figures = {
        "scene_starts": trajectory.release,
        "release": trajectory.release,
        "gripper": trajectory.release - task.lead,
        "release_speed": task.release.tool_speed([named[n] for n in task.release.names]),
    }
    return _sent(config, trajectory, clearance(config), figures)


def _sent(
    config: PlanConfig, wanted: JointTrajectory, clear: Clearance, figures: Mapping[str, Any]
) -> Carried:
    """What makes the joints do what is wanted; both are checked."""
    arm, tracking = config.robot.arm, config.robot.tracking
    check_trajectory(wanted, arm)
    _check_clear(clear, wanted)
    figures = {**shares(arm, wanted), **figures}
    if tracking is None:
        return Carried(wanted, wanted, figures)
    sent = anticipated(wanted, tracking)
    check_trajectory(sent, arm)
    _check_clear(clear, sent)
    figures["anticipated"] = float(np.abs(sent.positions - wanted.at(sent.times)[0]).max())
    return Carried(sent, wanted, figures)


def clearance(config: PlanConfig) -> Clearance:
    """Distances of the arm, and of what it throws, to the scene's surfaces that stand still."""
    scene, task = config.scene, config.robot
    carried = {c["name"] for c in scene.description["contact"] if c.get("carrier") is not None}
    still = {name: sdf for name, sdf in scene.surfaces.items() if name not in carried}
    held = []
    if isinstance(task, ReleaseTask):
        info, frame = scene.bodies[task.release.body], task.arm.robot.frame(task.arm.tool)
        centre = (frame.pose @ task.release.in_tool)[:3, 3]
        radius = 0.5 * (max(info.size) if info.kind == "sphere" else np.linalg.norm(info.size))
        held = [Capsule(task.release.body, frame.carrier, np.stack([centre, centre]), radius)]
    return Clearance(task.arm, still, held)


def _check_clear(clear: Clearance, trajectory: JointTrajectory) -> None:
    """InputError naming what comes into what, when and how deep."""
    distances, near = clear(trajectory.positions)
    k = int(np.argmin(distances))
    if distances[k] < 0:
        place = f"{near[k]} at {trajectory.times[k]:.3f} s"
        raise InputError("motion", place, f"{distances[k]:.4f} m", "a distance of at least 0 m")


def roomy(arm: Arm, margin: float) -> Arm:
    """The arm with limits of rates that leave room for a controller's overshoot, and rounding.

    margin  share of them that is used
    """
    share = min(margin, ROOM)
    rates = {name: share * getattr(arm.limits, name) for name in RATES}
    return replace(arm, limits=replace(arm.limits, **rates))


def shares(arm: Arm, trajectory: JointTrajectory) -> dict[str, Any]:
    """Duration [s] and peaks as shares of the limits, each of the joint that has the largest."""
    found, out = peaks(trajectory), {"duration": trajectory.duration}
    for name in RATES:
        share = found[name] / getattr(arm.limits, name)
        out[f"{name}_share"] = float(share.max())
        out[f"{name}_joint"] = trajectory.names[int(share.argmax())]
    return out


def tighter(
    config: PlanConfig, bound: InputError, controls: Mapping[str, float]
) -> tuple[PlanConfig, str]:
    """The plan with less allowed of what a limit stopped, and that in words.

    Raises `bound` itself where less of it would not help.
    """
    if isinstance(config.robot, ReleaseTask):
        return _slower_release(config, bound, controls)
    rates = [name for name in RATES if name in bound.key]
    if rates and config.robot.stretch > 1.0 + 1e-9:
        longer = min(LONGER, config.robot.stretch)
        return stretched(config, longer), f"{longer:.3g} times the time"
    together, changed, named = [], [], config.map.named(config.map.scaled(controls))
    for kept in config.together:
        if rates and isinstance(kept, KeyLimit):
            less = LESS * min(kept.limit, kept.peak(named))
            kept = replace(kept, limit=less, usual=kept.usual or kept.limit)
            changed.append(f"{kept.name} <= {kept.limit:.3g}")
        together.append(kept)
    if not changed:
        raise bound
    return replace(config, together=tuple(together)), ", ".join(changed)


def _slower_release(
    config: PlanConfig, bound: InputError, controls: Mapping[str, float]
) -> tuple[PlanConfig, str]:
    """Less of the rate of the joint that a limit stopped; of all where no joint is named."""
    joints = config.robot.arm.robot.joint_names
    meant = [name for name in joints if name in bound.key] or list(joints)
    rates = {rate_name(name) for name in meant}
    parameters, changed = [], []
    for p in config.map.parameters:
        if p.name in rates and p.free:
            most = LESS * abs(controls[p.name])
            low, high = max(p.lower, -most), min(p.upper, most)
            p = replace(p, lower=low, upper=high, value=float(np.clip(p.value, low, high)))
            changed.append(f"|{p.name}| <= {most:.3g} {p.unit}")
        parameters.append(p)
    if not changed:
        raise bound
    tight = ParameterMap(parameters, config.scene.engine, config.map.groups)
    return replace(config, map=tight), ", ".join(changed)
