"""Greatest speeds of the robots of [G Table 3.3] from rest, with the servos that the thesis names.

AgileBot's and the SkaterBots' joints are Dynamixel XM430-W210-T servos [G 3.5.1], told the plan's
angles 60 times a second. By their maker's data sheet a servo gives 3.0 N m at stall and turns at
77 rev/min without a load (12 V), its position P gain is 800 as delivered. What gain the thesis used
is not written: the delivered one, twice and four times it are tried. The rotor's inertia behind its
gear is not published; RANGE halves and doubles it.

Robots stand at rest, and follow the plan of a period over and over in open loop; their speed is the
mean of the last seconds. Passive wheels have no greatest speed of their own in a plan, here they
have one: what is lost in a period must be given by the legs.

goes  greatest speed ahead [m/s] of any plan of PLANNED under which the robot stays up;  at  the
      plan's;  up_to  greatest plan's speed up to which it stays up and goes ahead at half of it
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .common import judged
from .locomotion_mujoco import FASTEST, MEASURED, Row, planned
from .locomotion_simulator import STEP, Servos, followed

STALL, NO_LOAD = 3.0, 77 * 2 * math.pi / 60
"""[N m], [rad/s] of an XM430-W210-T at 12 V."""
PWM = 885
"""Units of the servo's full voltage."""
COUNT, SPEED_UNIT = 4096 / (2 * math.pi), 0.229 * 2 * math.pi / 60
"""Units of an angle per rad; rad/s of a unit of speed."""
DELIVERED = 800
"""Position P gain; 128 of it are one unit of voltage per unit of angle."""
SPEED_P, SPEED_I = 100 / 128, 1920 / 65536 * 1000
"""Gains of speed as delivered, units of voltage per unit of speed, and per second."""
ROTOR = 0.005
"""[kg m^2] behind the gear, of its size."""
GAINS = (1, 2, 4)
"""Position gains, times the delivered one."""
RANGE = (0.5, 2.0)
"""Times ROTOR."""
PLANNED = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
"""Speeds of plans [m/s]."""
LASTS, COUNTS = 12.0, 4.0
"""[s] of a run, and at its end those that count."""


def servos(gain: float = 1.0, rotor: float = 1.0) -> Servos:
    """XM430-W210-T with `gain` times its position gain and `rotor` times ROTOR."""
    return Servos(
        STALL, NO_LOAD, gain * DELIVERED / 128 * COUNT / PWM, SPEED_P / SPEED_UNIT / PWM,
        SPEED_I / SPEED_UNIT / PWM, rotor * ROTOR, 1 / 60,
    )  # fmt: skip


def steady(row: Row, motors: Servos, lasts: float = LASTS, counts: float = COUNTS) -> dict:
    """Speed ahead [m/s] at the end of a run from rest, and whether it stays up; {}: no plan."""
    config, motion = planned(row)
    if motion.status != "reached":
        return {}
    seen = followed(
        config.robot, motion, math.ceil(lasts / motion.duration), motors=motors, at_rest=True
    )
    last = round(math.ceil(counts / motion.duration) * motion.duration / STEP)
    ahead = float(seen.com[-1, 0] - seen.com[-1 - last, 0]) / (last * STEP)
    height = float(seen.base[:, 2].min() / motion.base[:, 2].min())
    up = height > 0.8 and float(seen.tilt.max()) < math.radians(30)
    return {"planned": row.travel / row.duration, "ahead": ahead, "up": up}


def greatest(runs: Sequence[dict]) -> dict[str, float]:
    """`goes`, `at` and `up_to` of runs in the order of their plans' speeds."""
    best = max((one for one in runs if one["up"]), key=lambda one: one["ahead"])
    up_to = 0.0
    for one in runs:
        if not (one["up"] and one["ahead"] >= 0.5 * one["planned"]):
            break
        up_to = one["planned"]
    return {"goes": max(best["ahead"], 0.0), "at": best["planned"], "up_to": up_to}


def table(motors: Servos, plans: Sequence[float] = PLANNED) -> dict[str, dict[str, float]]:
    """`greatest` of each robot of the thesis' table."""
    found = {}
    for name, row in FASTEST.items():
        rows = [replace(row, travel=speed * row.duration) for speed in plans]
        runs = [one for one in (steady(row, motors) for row in rows) if one]
        found[name] = {**greatest(runs), "thesis": MEASURED[name]}
        print(f"{name}: {found[name]}", flush=True)
    return found


def out_of_order(found: dict[str, dict[str, float]]) -> list[str]:
    """Pairs of neighbours in the thesis' table of which the slower is not slower here."""
    return [
        f"{slow}, {quick}" for slow, quick in pairwise(found)
        if found[slow]["goes"] >= found[quick]["goes"]
    ]  # fmt: skip


def study(fraction: float = 1.0) -> dict:
    """Tables by gain, and by the rotor's inertia at twice the delivered gain."""
    tables = {f"gain {n * DELIVERED}": table(servos(n)) for n in GAINS}
    for factor in RANGE if fraction >= 1 else ():
        tables[f"gain {2 * DELIVERED}, rotor x {factor:g}"] = table(servos(2, factor))
    orders = {name: out_of_order(found) for name, found in tables.items()}
    return judged({"tables": tables, "out_of_order": orders}, [])
