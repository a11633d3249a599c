"""From a plan to the arm's motion: within its limits, or planned anew within tighter ones.

Where no motion of the arm has what the plan asks of a joint, the plan is made again with less of
that joint allowed, starting where it ended: the goal is still reached, by another throw or hand.
Only slowing the motion down would miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..inverse.guides import KeyLimit
from ..inverse.parameters import ParameterMap
from ..robots.arm import Arm
from ..robots.time_scaling import peaks, through_state
from ..robots.trajectory import JointTrajectory
from .hand import hand_motion
from .release import rate_name, value_name
from .robot_config import Throw

if TYPE_CHECKING:
    from .config import PlanConfig
    from .plan import PlanResult

ROUNDS = 6
"""Plans that are made again, at most, because the arm cannot carry one out."""
LESS = 0.8
"""Of the rate that a joint had, in the next round."""


@dataclass(frozen=True)
class Carried:
    """How an arm carries a plan out.

    trajectory  from rest to rest; its `release` is when what it holds is let go
    figures     shares of limits, duration, speed at the release: plain data for metrics.json
    """

    trajectory: JointTrajectory
    figures: Mapping[str, Any]


def carried_out(
    result: PlanResult, again: Callable[[PlanConfig, Mapping[str, float]], PlanResult]
) -> PlanResult:
    """The plan with its arm's motion; status "refused" where there is none.

    again  (plan with tighter bounds, controls to start from) -> what is found then
    """
    said: list[str] = []
    for _ in range(ROUNDS):
        try:
            carried = motion(result.config, result.best.controls)
        except InputError as bound:
            try:
                config, change = tighter(result.config, bound, result.best.controls)
            except InputError as refused:
                said.append(f"the arm cannot do it: {refused}")
                break
            said.append(f"the arm cannot do it ({bound}); planned again with {change}")
        else:
            return replace(result, carried=carried, rounds=tuple(said))
        found = again(config, result.best.controls)
        if found.status != "reached":
            return replace(found, rounds=tuple(said))
        result = found
    return replace(result, status="refused", rounds=tuple(said))


def motion(config: PlanConfig, controls: Mapping[str, float]) -> Carried:
    """The arm's motion for these controls; InputError naming joint and limit if there is none."""
    z = config.map.scaled(controls)
    if isinstance(config.robot, Throw):
        return _thrown(config, config.map.named(z))
    values = config.map.engine(z, config.scene.engine.values)
    trajectory, begins = hand_motion(config.robot, config.scene, values)
    return Carried(trajectory, {**shares(config.robot.arm, trajectory), "scene_starts": begins})


def _thrown(config: PlanConfig, named: Mapping[str, float]) -> Carried:
    """Through the release at constant rates; the gripper is told `lead` before."""
    task, names = config.robot, config.robot.arm.robot.joint_names
    q, qd = (np.array([named[of(name)] for name in names]) for of in (value_name, rate_name))
    trajectory = through_state(task.arm.limits, task.arm.home, q, qd, names=names, hold=task.hold)
    if task.lead > trajectory.release:
        rule = f"at most the {trajectory.release:.3g} s until the release"
        raise InputError(config.place, "robot.release.lead", task.lead, rule)
    figures = {
        **shares(task.arm, trajectory),
        "scene_starts": trajectory.release,
        "release": trajectory.release,
        "gripper": trajectory.release - task.lead,
        "release_speed": task.release.tool_speed([named[n] for n in task.release.names]),
    }
    return Carried(trajectory, figures)


def shares(arm: Arm, trajectory: JointTrajectory) -> dict[str, Any]:
    """Duration [s] and peaks as shares of the limits, each of the joint that has the largest."""
    found, out = peaks(trajectory), {"duration": trajectory.duration}
    for name in ("velocity", "acceleration", "jerk"):
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
    if isinstance(config.robot, Throw):
        return _slower_release(config, bound, controls)
    rates = [name for name in ("velocity", "acceleration", "jerk") if name in bound.key]
    together, changed, named = [], [], config.map.named(config.map.scaled(controls))
    for kept in config.together:
        if rates and isinstance(kept, KeyLimit):
            kept = replace(kept, limit=LESS * min(kept.limit, kept.peak(named)))
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
