"""What happens in each execution of the fault study: motion, faults and their instants, at random.

Motions begin where the arm stands and end in a box about home in which it is clear of itself and
of the table, so that one may follow another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.interpolation import VERSIONS
from diffsim_ros.robots.trajectory import JointTrajectory

from .common import ROOT

REACH = 0.35
"""[rad] from home, of every joint: the box where motions end."""
LEAST, MOST = 0.4, 1.2
"""[s] of a motion."""
SLOPE, BEND = 15 / 8, 10 / np.sqrt(3)
"""Extreme slope and curvature of 10 s^3 - 15 s^4 + 6 s^5."""

FAULTS: dict[str, float] = {
    "none": 2.0,
    "cancel": 2.0,
    "client_SIGINT": 1.0,
    "client_SIGTERM": 1.0,
    "client_SIGHUP": 1.0,
    "client_SIGKILL": 1.0,
    "driver_SIGTERM": 0.7,
    "driver_SIGINT": 0.6,
    "driver_SIGHUP": 0.6,
    "driver_SIGKILL": 0.7,
    "controller_SIGTERM": 0.5,
    "controller_SIGKILL": 0.4,
    "replaced_by_topic": 1.5,
    "replaced_by_goal": 1.5,
    "states_late": 1.5,
    "states_silent": 1.0,
    "states_stale": 1.0,
    "states_nan": 1.0,
    "states_no_velocity": 1.0,
    "states_missing": 1.0,
    "states_reordered": 0.8,
    "states_overtaken": 0.8,
    "states_zero_stamp": 0.8,
    "states_second": 1.0,
    "clock_back": 1.2,
    "clock_ahead": 0.8,
    "clock_pause": 1.2,
    "scaling_stop": 0.8,
    "scaling_stop_and_go": 1.5,
    "scaling_slow": 1.5,
    "second_goal": 1.2,
    "huge_goals": 1.0,
    "driver_stopped": 2.0,
    "unsafe_goal": 1.5,
    "release_unset": 1.0,
}
"""Faults and how often each comes, in proportion."""
UNSAFE = ("limits", "table", "jump", "nan")
ENDS_CLIENT = tuple(f"client_{s}" for s in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"))
ENDS_DRIVER = tuple(f"driver_{s}" for s in ("SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"))
ENDS_ROBOT = ("controller_SIGTERM", "controller_SIGKILL")
OF_GOAL = ("none", "unsafe_goal", "release_unset")
"""Of the goal itself: nothing happens at an instant."""


@dataclass(frozen=True)
class Fault:
    """name, at [s] of wall time after the goal was sent, and what it needs to be known."""

    name: str
    at: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """One execution: a motion, what happens, and how.

    wall      the robot's time is the wall's, else simulated, `factor` times as fast
    output, gripper  parameters of the driver;  lead [s]
    process   the client is `execute` as a process
    blend     [s] as the goal has it
    """

    motion: JointTrajectory
    kind: str
    faults: tuple[Fault, ...]
    version: str
    factor: float
    process: bool
    blend: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Of its faults."""
        return tuple(fault.name for fault in self.faults)

    def has(self, *names: str) -> bool:
        """Whether one of these faults is among its own."""
        return bool(set(names) & set(self.names))


def ur5() -> Arm:
    """The arm of the study."""
    return load_arm(ROOT / "config" / "robots" / "ur5.yaml")


def smooth(
    arm: Arm, begin: np.ndarray, end: np.ndarray, peak: float, least: float = LEAST
) -> JointTrajectory:
    """From rest to rest at `peak` of the velocity or the acceleration limit, or in `least` [s]."""
    away = end - begin
    duration = max(
        least,
        float(np.max(SLOPE * np.abs(away) / arm.limits.velocity) / peak),
        float(np.sqrt(np.max(BEND * np.abs(away) / arm.limits.acceleration) / peak)),
    )
    s = np.linspace(0.0, 1.0, 21)
    q = 10 * s**3 - 15 * s**4 + 6 * s**5
    qd = 30 * s**2 * (1 - s) ** 2 / duration
    qdd = 60 * s * (1 - s) * (1 - 2 * s) / duration**2
    rows = [begin + np.outer(q, away), np.outer(qd, away), np.outer(qdd, away)]
    return JointTrajectory(arm.robot.joint_names, s * duration, *rows)


def target(rng: np.random.Generator, arm: Arm, begin: np.ndarray) -> np.ndarray:
    """A place in the box, not too near."""
    while True:
        found = arm.home + rng.uniform(-REACH, REACH, len(arm.home))
        if np.abs(found - begin).max() > 0.2:
            return found


def motion(rng: np.random.Generator, arm: Arm, begin: np.ndarray) -> tuple[JointTrajectory, str]:
    """A sound motion from (about) where the arm stands, and of what kind its beginning is."""
    kind = str(rng.choice(["at_start", "late", "blend"], p=[0.5, 0.3, 0.2]))
    peak = float(rng.choice([rng.uniform(0.4, 0.9), rng.uniform(0.93, 0.985)]))
    first, shift = begin + rng.uniform(-5e-4, 5e-4, len(begin)), 0.0
    if kind == "late":
        shift = float(rng.uniform(0.15, 0.4))
        reach = np.minimum(0.12, 0.5 * arm.limits.acceleration * shift**2 / BEND)
        first = begin + rng.uniform(-reach, reach)
    elif kind == "blend":
        first = begin + rng.uniform(-0.15, 0.15, len(begin))
    found = smooth(arm, first, target(rng, arm, first), peak)
    found = replace(found, times=found.times + shift)
    if rng.random() < 0.25:
        found = replace(found, accelerations=None)  # the controller's cubics
    release = None
    if rng.random() < 0.85:
        release = float(rng.uniform(0.08, found.duration))
        release = found.duration if rng.random() < 0.05 else release
    return replace(found, release=release), kind


def unsafe(rng: np.random.Generator, arm: Arm, begin: np.ndarray) -> tuple[JointTrajectory, str]:
    """A motion that must be refused."""
    kind = str(rng.choice(UNSAFE))
    if kind == "table":
        end = arm.home + np.array([0.0, 0.9, 0.3, 0.0, 0.0, 0.0])
        return smooth(arm, begin, end, 0.8, 1.5), kind
    end = target(rng, arm, begin)
    if kind == "limits":
        return smooth(arm, begin, end, rng.uniform(1.05, 2.0), 0.05), kind
    if kind == "jump":
        return smooth(arm, begin + rng.choice([-0.7, 0.7]), end, 0.8), kind
    found = smooth(arm, begin, end, 0.8)
    found.positions[int(rng.integers(21)), int(rng.integers(6))] = np.nan
    return found, kind


def fault(rng: np.random.Generator, name: str, span: float) -> Fault:
    """One fault at a random instant of `span` [s]."""
    at, lasts = float(rng.uniform(0.0, span)), float(rng.uniform(0.05, 1.0))
    more: dict[str, Any] = {}
    if name.startswith("states_"):
        more = {"value": float(rng.uniform(0.05, 1.0)), "lasts": lasts}
        if name == "states_second":
            more["value"] = float(rng.uniform(-0.5, 0.5))
    elif name in ("scaling_stop_and_go", "scaling_slow"):
        slow = 0.0 if name == "scaling_stop_and_go" else float(rng.uniform(0.1, 0.9))
        more = {"value": slow, "lasts": lasts if slow == 0.0 else 3.0 * lasts}
    elif name == "clock_pause":
        more = {"lasts": float(rng.uniform(0.05, 1.5))}
    elif name == "clock_back":
        more = {"by": -float(rng.choice([1e-3, 0.05, 0.5, 5.0, 1e9]) * rng.uniform(0.5, 2.0))}
    elif name == "clock_ahead":
        more = {"by": float(rng.uniform(1.1, 60.0))}
    elif name == "driver_stopped":
        more = {"lasts": float(np.exp(rng.uniform(np.log(0.05), np.log(2.0))))}
    elif name.startswith("replaced_"):
        more = {"reach": float(rng.uniform(0.05, 0.4)), "seed": int(rng.integers(1 << 30))}
    return Fault(name, at, more)


def _beside(rng: np.random.Generator, first: str, wall: bool) -> str | None:
    """A second fault that may come with the first."""
    ends = (*ENDS_CLIENT, *ENDS_DRIVER, *ENDS_ROBOT)
    names = [name for name in FAULTS if name not in OF_GOAL and name != first
             and not (wall and name.startswith("clock_"))
             and not (first in ends and name in ends)
             and not (first.split("_")[0] == name.split("_")[0])]  # fmt: skip
    return str(rng.choice(names)) if names else None


def scene(rng: np.random.Generator, arm: Arm, begin: np.ndarray, name: str, *, wall: bool) -> Scene:
    """An execution with the fault `name`, and in a fifth of them a second one."""
    made, kind = (unsafe if name == "unsafe_goal" else motion)(rng, arm, begin)
    factor = 1.0 if wall else float(rng.choice([0.5, 1.0]))
    span = 0.2 + made.duration / factor
    faults = [fault(rng, name, span)]
    if name != "none" and rng.random() < 0.2:
        other = _beside(rng, name, wall)
        faults += [fault(rng, other, span)] if other else []
    names = {one.name for one in faults}
    alone = names & set(ENDS_DRIVER)
    process = bool(names & set(ENDS_CLIENT)) or (not alone and rng.random() < 0.05)
    if name == "release_unset":  # no trajectory.yaml can have that
        made, process = replace(made, release=0.0), False
    if names & set(ENDS_CLIENT) and names & {*ENDS_DRIVER, *ENDS_ROBOT, "release_unset"}:
        faults = faults[:1]
        process = faults[0].name in ENDS_CLIENT
    blend = float(rng.uniform(0.3, 0.8)) if kind == "blend" and rng.random() < 0.3 else 0.0
    version = str(rng.choice(VERSIONS))
    return Scene(made, kind, tuple(faults), version, factor, process, blend)


def queue(rng: np.random.Generator, count: int) -> list[str]:
    """Names of the main faults of `count` executions, each about as often as in FAULTS."""
    names, weights = list(FAULTS), np.array(list(FAULTS.values()))
    shares = np.floor(np.cumsum(weights / weights.sum()) * count + 0.5).astype(int)
    counts = np.diff(shares, prepend=0)
    found = [name for name, number in zip(names, counts, strict=True) for _ in range(number)]
    rng.shuffle(found)
    return found
