"""Footfall patterns: which end effectors touch the ground, sample by sample [G 2.7, 2.9]."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.fields import Field, Reader
from diffsim_ros.yaml_file import read_mapping

from . import schema
from .legged_robot import LeggedRobot

MIDDLE = 0.005
"""Feet nearer than this [m] to the middle are on no side of the robot."""
SHARE = Field("number", "", "1")
MOST = 100_000
"""Most samples of a pattern."""


@dataclass(frozen=True, eq=False)
class FootfallPattern:
    """Contact flags.

    names     (m) end effectors
    contact   (samples, m) bool; of a period, samples are at shares k / samples of it
    periodic  whether the first sample follows the last one
    """

    names: tuple[str, ...]
    contact: np.ndarray
    periodic: bool = True

    @property
    def samples(self) -> int:
        """How many samples it has."""
        return len(self.contact)

    def heights(self, height: float | Sequence[float]) -> np.ndarray:
        """(samples, m) [m] of the end effectors over the ground: 0 in contact, in a swing of k
        samples height sin^2(pi (i - 1/2) / k) for i = 1 ... k: from half a step before its first
        sample to half a step after its last, gently.

        height  of all, or (m,) of each [m].  An end effector that is never in contact stays at
        `height`.
        """
        most = np.broadcast_to(np.asarray(height, float), (len(self.names),))
        out = np.zeros(self.contact.shape)
        for j in range(len(self.names)):
            for swing in self.swings(j):
                k = len(swing)
                share = (np.arange(k) + 0.5) / k
                whole = k == self.samples
                out[swing, j] = most[j] * (1.0 if whole else np.sin(math.pi * share) ** 2)
        return out

    def swings(self, effector: int) -> list[np.ndarray]:
        """Samples of every swing of an end effector, in their order; one that goes over the end of
        a period is one swing."""
        up = ~self.contact[:, effector]
        if up.all():
            return [np.arange(self.samples)]
        first = 0
        if self.periodic:
            first = int(np.argmin(up))  # begin in contact
        order = (first + np.arange(self.samples)) % self.samples
        edges = np.flatnonzero(np.diff(up[order].astype(int))) + 1
        return [run for run in np.split(order, edges) if up[run[0]]]

    def closed(self) -> FootfallPattern:
        """With the first sample once more at the end, for motions whose last sample is the first
        one of the next period."""
        if not self.periodic:
            return self
        return FootfallPattern(self.names, np.vstack([self.contact, self.contact[:1]]), False)

    def repeated(self, periods: int, before: int = 0, after: int = 0) -> FootfallPattern:
        """Periods one after the other, not periodic, with samples of standing before and after."""
        for key, value, least in (
            ("periods", periods, 1),
            ("before", before, 0),
            ("after", after, 0),
        ):
            if not isinstance(value, int) or not least <= value <= MOST:
                rule = f"a whole number from {least} to {MOST}"
                raise InputError("footfall", key, value, rule)
        _check_samples(before + periods * self.samples + after)
        standing = [np.ones((count, len(self.names)), bool) for count in (before, after)]
        parts = [standing[0], *[self.contact] * periods, standing[1]]
        return FootfallPattern(self.names, np.vstack(parts), False)

    def text(self) -> str:
        """The pattern as lines of text, # in contact."""
        width = max(map(len, self.names))
        rows = (
            f"{name:<{width}} {''.join('#' if on else '.' for on in self.contact[:, j])}"
            for j, name in enumerate(self.names)
        )
        return "\n".join(rows)


def pattern_of(
    robot: LeggedRobot, samples: int, duty: Mapping[str, float], phase: Mapping[str, float],
    *, periodic: bool = True,
) -> FootfallPattern:  # fmt: skip
    """The pattern of one period in which end effectors are in contact from their phase on for their
    duty factor, both as shares of the period; those without a phase are always in contact.

    duty, phase  end effector, or leg -> share
    InputError: unknown names, a duty outside 0 < duty <= 1.
    """
    _check_samples(samples)
    starts = _by_effector(robot, phase, "phase")
    shares = _by_effector(robot, duty, "duty")
    contact = np.ones((samples, len(robot.end_effectors)), bool)
    for j, effector in enumerate(robot.end_effectors):
        if effector.name not in starts:
            continue
        share = shares.get(effector.name, 1.0)
        if not 0.0 < share <= 1.0:
            rule = "a share of the period, 0 < duty <= 1"
            raise InputError("footfall", f"duty.{effector.name}", share, rule)
        since = np.mod(np.arange(samples) / samples - starts[effector.name] + 1e-9, 1.0)
        contact[:, j] = since < share - 1e-9 if share < 1.0 else True
    return FootfallPattern(tuple(e.name for e in robot.end_effectors), contact, periodic)


def named_gait(
    robot: LeggedRobot, gait: str, samples: int, *, duty: float | Mapping[str, float] | None = None,
    periodic: bool = True,
) -> FootfallPattern:  # fmt: skip
    """The pattern of a gait by its name, for one period.

    walk, wave         legs lift one after the other, in their order; duty 0.75, or 1 - 1/legs
    trot, pace, bound  neighbours along and across the robot take turns; sides; front and back;
                       duty 0.5
    roll, none         all end effectors are always in contact
    End effectors on the body itself are always in contact.  InputError: an unknown gait, a robot
    whose feet do not stand as a trot, pace or bound needs (with the leg that is in the way).
    """
    if gait not in schema.GAITS:
        rule = " or ".join(schema.GAITS)
        raise InputError("footfall", "gait", gait, rule, nearest(gait, schema.GAITS))
    legs = lifting_legs(robot)
    if gait in ("roll", "none"):
        phase: dict[str, float] = {}
        usual = 1.0
    elif gait in ("walk", "wave"):
        if len(legs) < 2:
            rule = "at least two legs with joints"
            raise InputError("footfall", f"gait {gait}", list(legs), rule)
        phase = {leg: k / len(legs) for k, leg in enumerate(legs)}
        usual = 0.75 if gait == "walk" else 1.0 - 1.0 / len(legs)
    else:
        phase, usual = _by_place(robot, gait), 0.5
    if duty is None or not isinstance(duty, Mapping):
        duty = dict.fromkeys(phase, usual if duty is None else float(duty))
    return pattern_of(robot, samples, duty, phase, periodic=periodic)


def lifting_legs(robot: LeggedRobot) -> tuple[str, ...]:
    """Legs that joints move, in their order."""
    found = [e.leg for e in robot.end_effectors if robot.robot.frame(e.link).carrier >= 0]
    return tuple(dict.fromkeys(found))


def load_footfall(
    source: str | Path | Mapping, robot: LeggedRobot, samples: int, *,
    base: str | Path | None = None,
) -> FootfallPattern:  # fmt: skip
    """Read a pattern from a YAML file or mapping: `gait`, `phase` and `duty`, or `contact`.

    samples  of the motion; `contact` must have as many.  InputError naming file, key and value.
    """
    content, place = read_mapping(source, base)
    reader = Reader(place if place != "scene" else "footfall")
    read = reader.section(schema.FOOTFALL, content)
    ways = [name for name in ("gait", "phase", "contact") if read[name] is not None]
    if len(ways) != 1:
        raise reader.error("", ways, "exactly one of `gait`, `phase` and `contact`")
    periodic = read["periodic"]
    if ways[0] == "contact":
        return _explicit(reader, robot, read["contact"], samples, periodic)
    duty = _duty(reader, read["duty"])
    if ways[0] == "gait":
        return named_gait(robot, read["gait"], samples, duty=duty, periodic=periodic)
    phase = {name: _share(reader, f"phase.{name}", v) for name, v in read["phase"].items()}
    if duty is None:
        raise reader.error("duty", None, "a duty factor beside `phase`")
    by_leg = duty if isinstance(duty, Mapping) else dict.fromkeys(phase, duty)
    return pattern_of(robot, samples, by_leg, phase, periodic=periodic)


def _share(reader: Reader, key: str, given: object) -> float:
    number: Any = reader.value(SHARE, given, key)
    return float(number)


def _duty(reader: Reader, given: object) -> float | dict[str, float] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {str(name): _share(reader, f"duty.{name}", v) for name, v in given.items()}
    return _share(reader, "duty", given)


def _explicit(
    reader: Reader, robot: LeggedRobot, given: Mapping, samples: int, periodic: bool
) -> FootfallPattern:
    _check_samples(samples)
    by_name = _by_effector(robot, given, "contact")
    contact = np.ones((samples, len(robot.end_effectors)), bool)
    for j, effector in enumerate(robot.end_effectors):
        if effector.name not in by_name:
            continue
        flags = by_name[effector.name]
        if not isinstance(flags, str) or len(flags) != samples or set(flags) - {"0", "1"}:
            rule = f"a text of {samples} characters 0 and 1, in quotes"
            raise reader.error(f"contact.{effector.name}", flags, rule)
        contact[:, j] = [flag == "1" for flag in flags]
    return FootfallPattern(tuple(e.name for e in robot.end_effectors), contact, periodic)


def _check_samples(samples: int) -> None:
    if not isinstance(samples, int) or not 1 <= samples <= MOST:
        raise InputError("footfall", "samples", samples, f"a whole number from 1 to {MOST}")


def _by_effector(robot: LeggedRobot, given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Values by the names of end effectors, of values by those or by legs."""
    legs: dict[str, list[str]] = {}
    for effector in robot.end_effectors:
        legs.setdefault(effector.leg, []).append(effector.name)
    names = [effector.name for effector in robot.end_effectors]
    found = {}
    for name, value in given.items():
        if name not in names and name not in legs:
            rule = "an end effector or leg of the robot"
            raise InputError(
                "footfall", f"{key}.{name}", value, rule, nearest(name, [*names, *legs])
            )
        for one in legs.get(name, [name]) if name not in names else [name]:
            found[one] = value
    return found


def _by_place(robot: LeggedRobot, gait: str) -> dict[str, float]:
    """Phases of trot, pace and bound by where feet stand: along each side from front to back."""
    points = robot.contact_points(robot.stance, robot.standing_base())
    lifted = lifting_legs(robot)
    feet = {
        leg: np.mean(
            [p for e, p in zip(robot.end_effectors, points, strict=True) if e.leg == leg], axis=0
        )
        for leg in lifted
    }
    middle = np.mean(list(feet.values()), axis=0) if feet else np.zeros(3)
    sides: dict[str, list[str]] = {"left": [], "right": []}
    for leg, foot in feet.items():
        across = foot[1] - middle[1]
        if abs(across) < MIDDLE:
            rule = f"feet to the left and to the right: leg {leg} stands in the middle"
            raise InputError("footfall", f"gait {gait}", f"y = {across:+.3g} m", rule)
        sides["left" if across > 0 else "right"].append(leg)
    least = 1 if gait == "pace" else 2
    counts = {side: len(legs) for side, legs in sides.items()}
    if min(counts.values()) < least or len(set(counts.values())) != 1:
        rule = f"as many legs on the left as on the right, at least {least}"
        raise InputError("footfall", f"gait {gait}", {k: sides[k] for k in sides}, rule)
    phase = {}
    for right, legs in enumerate(sides.values()):
        for rank, leg in enumerate(sorted(legs, key=lambda one: -feet[one][0])):
            turn = {"trot": rank + right, "pace": right, "bound": rank}[gait]
            phase[leg] = 0.5 * (turn % 2)
    return {leg: phase[leg] for leg in lifted}
