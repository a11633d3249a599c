"""A PLAN.yaml with `locomotion`, read strictly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader
from diffsim_ros.scene.sdfs import resolve_surface, surface_of
from diffsim_ros.yaml_file import read_mapping

from . import schema
from .begin import Begin
from .footfall import FootfallPattern, load_footfall
from .legged_robot import LeggedRobot
from .load import inside, load_legged_robot
from .motion import LocomotionMotion


@dataclass(frozen=True)
class PlaceGoal:
    """A place wanted at a sample; effector -1: of the centre of mass; nan: any coordinate."""

    sample: int
    effector: int
    place: tuple[float, float, float]


@dataclass(frozen=True)
class Ceiling:
    """The centre of mass stays below a height [m] in samples first to last."""

    first: int
    last: int
    height: float


@dataclass(frozen=True)
class LocomotionGoals:
    """What a motion is for; None: anything.

    travel  (2,) [m];  turn [rad];  height [m] of the centre of mass above the ground
    stance  joints end as the robot stands: of a motion from rest to rest
    tolerance, turn_tolerance  within which goals count as reached [m], [rad]
    """

    travel: tuple[float, float] | None = None
    turn: float | None = None
    height: float | None = None
    places: tuple[PlaceGoal, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    stance: bool = False
    tolerance: float = 0.01
    turn_tolerance: float = 0.03


@dataclass(frozen=True, eq=False)
class LocomotionConfig:
    """A checked motion of a legged robot.

    footfall     its pattern; of a motion that repeats itself samples are at shares k / samples of
                 the duration, else at k / (samples - 1)
    swing_height [m];  friction, rolling_resistance [1];  apart [m]
    ground       an engine's signed distance, None: the plane z = 0
    begin        what a motion that does not repeat itself goes on from, None: a robot that stands
    iterations, attempts, warm_start, seed  of the search;  source  the mapping as read
    """

    place: str
    name: str
    robot: LeggedRobot
    footfall: FootfallPattern
    duration: float
    swing_height: float
    friction: float = 0.7
    rolling_resistance: float = 0.01
    apart: float = 0.02
    ground: Any = None
    begin: Begin | None = None
    goals: LocomotionGoals = LocomotionGoals()
    iterations: int = 300
    attempts: int = 4
    warm_start: bool = False
    seed: int = 0
    source: Mapping | None = None

    @property
    def periodic(self) -> bool:
        """Whether the motion repeats itself; else it goes from rest, or from `begin`, to rest."""
        return self.footfall.periodic

    @property
    def step(self) -> float:
        """Time between samples [s]."""
        return self.duration / (self.footfall.samples - (0 if self.periodic else 1))


def load_locomotion(
    source: str | Path | Mapping, *, base: str | Path | None = None, set: Iterable[str] = ()
) -> LocomotionConfig:
    """Read a file or mapping (paths relative to `base`), with every "KEY=VALUE" of `set`;
    InputError naming file, key and rule."""
    content, place = read_mapping(source, base, set)
    reader = Reader(place)
    raw = reader.mapping(content, "")
    top = reader.section(schema.PLAN, raw)
    own = reader.section(schema.LOCOMOTION, top["locomotion"], "locomotion")
    folder = Path(place) if not isinstance(source, Mapping) else base
    robot = load_legged_robot(own["robot"], base=folder)
    footfall = load_footfall(own["footfall"], robot, own["samples"], base=folder)
    samples = footfall.samples - (0 if footfall.periodic else 1)
    search = reader.section(schema.SEARCH, own["search"], "locomotion.search")
    ground = None
    if own["ground"] is not None:
        surface = resolve_surface(reader, {}, own["ground"], "locomotion.ground")
        ground = surface_of(surface, {}).engine({})
    goals = _goals(reader, own["goals"], robot, own["duration"], samples)
    if goals.stance and footfall.periodic:
        rule = "false, or absent, where a motion repeats itself: it has no end"
        raise reader.error("locomotion.goals.stance", True, rule)
    if goals.turn and ground is not None and footfall.periodic:
        rule = "0, or absent, where a periodic motion goes over a `ground`"
        raise reader.error("locomotion.goals.turn", goals.turn, rule)
    begin = None
    if own["begin"] is not None:
        given = reader.section(schema.BEGIN, own["begin"], "locomotion.begin")
        begin = Begin(LocomotionMotion.load(inside(folder, given["motion"])), given["sample"])
        step = own["duration"] / max(1, footfall.samples - 1)
        begin.check(f"{place}: locomotion", footfall, robot.joint_names, step)
    return LocomotionConfig(
        place, top["name"] or Path(place).stem, robot, footfall, own["duration"],
        own["swing_height"], own["friction"], own["rolling_resistance"], own["apart"], ground,
        begin, goals, search["iterations"], search["attempts"], search["warm_start"],
        search["seed"], source=dict(raw),
    )  # fmt: skip


def _goals(
    reader: Reader, given: object, robot: LeggedRobot, duration: float, intervals: int
) -> LocomotionGoals:
    key = "locomotion.goals"
    own = reader.section(schema.GOALS, given, key)

    def sample(time: float, at: str) -> int:
        if time > duration:
            raise reader.error(at, time, f"a time of the motion, 0 to {duration:g} s")
        return min(round(time / duration * intervals), intervals - 1)

    names = [effector.name for effector in robot.end_effectors]
    places, ceilings = [], []
    for k, one in enumerate(own["places"]):
        at = f"{key}.places[{k}]"
        read = reader.section(schema.PLACE, one, at)
        if read["of"] is not None and read["of"] not in names:
            rule = "an end effector of the robot"
            raise reader.error(f"{at}.of", read["of"], rule, nearest(read["of"], names))
        x, y, z = (math.nan if read[axis] is None else float(read[axis]) for axis in "xyz")
        if all(map(math.isnan, (x, y, z))):
            raise reader.error(at, one, "at least one of x, y and z")
        effector = -1 if read["of"] is None else names.index(read["of"])
        places.append(PlaceGoal(sample(read["time"], f"{at}.time"), effector, (x, y, z)))
    for k, one in enumerate(own["ceilings"]):
        at = f"{key}.ceilings[{k}]"
        read = reader.section(schema.CEILING, one, at)
        end = duration if read["end"] is None else read["end"]
        first, last = sample(read["begin"], f"{at}.begin"), sample(end, f"{at}.end")
        if last < first:
            raise reader.error(f"{at}.end", end, f"after `begin`, {read['begin']:g} s")
        ceilings.append(Ceiling(first, last, read["height"]))
    travel = None if own["travel"] is None else (own["travel"][0], own["travel"][1])
    return LocomotionGoals(
        travel, own["turn"], own["height"], tuple(places), tuple(ceilings), own["stance"],
        own["tolerance"], own["turn_tolerance"],
    )  # fmt: skip
