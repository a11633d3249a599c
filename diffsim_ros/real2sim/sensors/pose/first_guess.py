"""A first estimation of a tossed rigid body: contact with the ground that its rests show."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....errors import InputError
from ....sensing import findings
from ....sensing.check import UP, Examined
from ....sensing.flight import GRAVITY, WINDOW, G, check_gravity
from ....sensing.observation import PoseTrial
from ....sensing.quaternion_order import LEAST, NEAR, faced, swapped
from ....sensing.resting import rests
from ....sensing.toss_file import TOSSES
from ....sensing.tosses import from_flights, listed, turned
from ...first_guess import First, Given, filled, listing
from .slides import all_slide

DENSITY = 500.0
"""Guess [kg/m^3] where no mass is given."""
SIZES = (0.004, 1.0)
"""Edges [m] that a rest above ground level is taken to show."""
STIFFNESS = 1.35e5
"""k_n per mass [1/s^2]: a body at rest sinks in by 0.07 mm."""
STEP = 0.9e-3
"""Longest time step [s]."""
LOW = 5.0
"""Percentile of the rests' heights that counts as the lowest."""
FEW, APART = 4, 0.25
"""Fewer tosses are all trained on; of others so large a share is predicted only."""
CORNER, REACH = 0.03, 0.03
"""First guess of the corners' radius, and how far the ground may lie from z = 0, over the smallest
edge; rests that scatter give it more room."""
CLEARANCE = 2e-3
"""Least gap [m] of what flies; and as much as the ground may lie higher."""
HORIZONS = (0.2, 0.4)
"""Of the fit [s], after the start: the first impacts, and a few more."""
MOST = 60
"""Tosses trained on, and predicted, at most: a first look should not take an hour."""
BY_HEIGHT = """\
  start: height              # as measured, a little before the first contact
  half_edge: {half:.6g}       # m; tosses start when their centre falls below sqrt(3) of it
  start_gravity: {gravity:.6g}      # m/s^2, recorded lengths: what free flight shows
"""
BY_FLIGHT = """\
  start: flight              # simulated up to the first contact, as what is no cube spins unevenly
  flight_frames: [4, 40]     # fewest of it, and the most that are looked at
  clearance: {clearance:.3g}          # m: a nearer corner ends the flight
"""
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
"""Quaternion of no turn."""
SLIDING = (
    "no free flight shows units and axes: metres and z up are assumed; every recording begins in "
    "motion and comes to rest, so it is taken for a slide or roll that only the ground brakes"
)
HELD = "\n    fixed: true              # a slide does not show it"
CHOICE = """
# before the fit: damping and friction law, and start, by short fits of a few tosses
choice: {{laws: [damping, friction], starts: 3, trials: 6, horizon: {short}}}
"""
BY_FILE = """\
  start: file                # no flight: the first frame; place and velocity there are fitted
"""
VALIDATE = """
  validate:                  # tosses that are not trained on
    files: {files}
    trials: {rest}
"""


def make(examined: Sequence[Examined], folder: Path, given: Given) -> First:
    """See first.first."""
    notes: list[str] = []
    examined = [_ordered(one, notes) for one in _flying(examined, notes)]
    sliding = all_slide(examined)
    if sliding:
        notes.append(SLIDING)
    turns = [LEVEL if sliding else _turn(one, notes) for one in examined]
    rest = _rest(examined)
    edges = _edges(given, rest, examined[0].stream.place, notes)
    ground = 0.0 if rest is None or not given.size else rest - min(edges) / 2.0
    if given.size and rest is None:
        notes.append("the body never rests: the ground is taken to be at z = 0")
    if abs(ground) > 1e-9:
        moved = "lowered" if ground > 0 else "raised"
        notes.append(f"heights are {moved} by {abs(ground):.4g} m, so that the ground is at z = 0")
    files: list[str] = []
    tosses: dict[str, list[PoseTrial]] = {}
    count, dt = 0, np.inf
    for k, (one, turn) in enumerate(zip(examined, turns, strict=True)):
        plain = np.allclose(turn, [0, 0, 0, 1]) and one.metre == 1.0 and abs(ground) <= 1e-9
        # of a file of several bodies, the one is written alone
        plain = plain and one.refusal is None and not one.stream.sensor
        if plain and one.stream.format == TOSSES:
            files.append(os.path.relpath(one.stream.path.resolve(), folder.resolve()))
            count, dt = count + len(one.clock.trials), min(dt, one.clock.dt)
            continue
        name = _name(one, k, tosses)
        tosses[name] = _converted(one, turn, ground, notes)
        files.append(name)
        count, dt = count + len(tosses[name]), min(dt, tosses[name][0].dt)
    for name in [] if sliding else _not_begun(tosses, len(files), notes):
        files.remove(name)
        del tosses[name]
        count -= 1
    mass = given.mass or DENSITY * float(np.prod(edges))
    if given.mass is None:
        notes.append(f"the mass is a guess, {DENSITY:g} kg/m^3: weigh the body (--mass)")
    scale = _scale(examined)
    scene = _scene(edges, mass, dt)
    sizes = edges, mass, scale, dt
    longest = max(int(np.ptp(one.stream.t) / dt) for one in examined) if sliding else 0
    scatter = max((float(np.ptp(h / one.metre)) for one in examined if len(h := one.heights)),
                  default=0.0)  # fmt: skip
    reach = max(REACH * min(edges), 2.0 * min(scatter, min(edges) / 4.0))
    estimation = _estimation(files, count, *sizes, longest, reach)
    return First(scene, estimation, tosses, tuple(notes))


def _flying(examined: Sequence[Examined], notes: list[str]) -> Sequence[Examined]:
    """Those in which a flight is seen, or all if none is."""
    flying = [one for one in examined if one.gravity is not None]
    if flying:
        without = [one.stream.place for one in examined if one.gravity is None]
        notes.extend(f"{place} is left out: no free flight is seen" for place in without)
    return flying or examined


def _name(one: Examined, k: int, known: dict) -> str:
    name = f"{one.stream.path.stem}.npz"
    return name if name not in known else f"{one.stream.path.stem}_{k}.npz"


def _ordered(one: Examined, notes: list[str]) -> Examined:
    """The recording with quaternions in the order that the data show."""
    if one.order is None or one.order.right is not False:
        return one
    first = one.stream.format == TOSSES
    notes.append(
        f"{one.stream.place}: quaternions are read with w {'last' if first else 'first'}: "
        f"{one.order.why}"
    )
    orientation = swapped(one.stream.values["orientation"], first=first)
    values = {**one.stream.values, "orientation": orientation}
    # written anew, whatever else is right
    refusal = one.refusal or InputError(one.stream.place, "orientation", "", "")
    return replace(one, stream=replace(one.stream, values=values), refusal=refusal)


def _turn(one: Examined, notes: list[str]) -> np.ndarray:
    """Quaternion (x, y, z, w) that brings up to z; the identity where up is z within its noise.

    Raises InputError for poses that never fly: nothing shows unit and axes, and no toss begins.
    """
    if one.gravity is None:
        rule = "a toss: free flight before the first contact, 0.1 s or more of it"
        remedy = (
            "what is pushed, swings or is held needs a scene of its own, with measurement.start: "
            "scene (docs/how-to/poses.md)"
        )
        raise InputError(one.stream.place, "free flight", "none", rule, remedy)
    tilted = findings.of_axis(one.gravity)
    if not tilted:
        return LEVEL
    notes.append(f"{one.stream.place}: {tilted[0].text}; it is turned")
    up = _floor(one, notes)
    quaternion = np.array([*np.cross(up, UP), 1.0 + up @ UP])
    if np.linalg.norm(quaternion) < 1e-6:  # upside down
        quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    return quaternion / np.linalg.norm(quaternion)


def _floor(one: Examined, notes: list[str]) -> np.ndarray:
    """Up (3,) of a recording that is turned: normal to the floor on which a box's faces rest, where
    gravity agrees with it within its noise; by gravity else."""
    g = one.gravity
    assert g is not None  # _turn
    begins, length = rests(
        one.stream.t, one.stream.position[:, 0], one.clock.trial, one.clock.dt, one.metre
    )
    normals = [faced(one.stream.orientation[k : k + length], g.up) for k in begins]
    normals = [u for u in normals if np.arccos(np.clip(u @ g.up, -1.0, 1.0)) < NEAR]
    if len(normals) < LEAST:
        return g.upright
    mean = np.mean(normals, axis=0)
    mean /= np.linalg.norm(mean)
    off = float(np.arccos(np.clip(mean @ g.up, -1.0, 1.0)))
    sigma = float(np.linalg.norm(g.sigma)) / g.size
    spread = float(np.sqrt(np.mean(np.sum((np.array(normals) - mean) ** 2, axis=1))))
    spread /= np.sqrt(len(normals))
    if spread > sigma or off > 3.0 * float(np.hypot(sigma, spread)):
        return g.upright
    notes.append(
        f"{one.stream.place}: the floor is level by {len(normals)} rests, "
        f"{np.degrees(off):.2g} deg from measured gravity, whose noise is "
        f"{np.degrees(sigma):.2g} deg"
    )
    return mean


def _rest(examined: Sequence[Examined]) -> float | None:
    """Lowest rest of all recordings [m], None if the body never rests."""
    heights = [one.heights / one.metre for one in examined]
    every = np.concatenate(heights)
    return float(np.percentile(every, LOW)) if len(every) else None


def _edges(given: Given, rest: float | None, place: str, notes: list[str]) -> list[float]:
    """Edges of the box [m]; without any given, a cube that rests on one of its faces at z = 0."""
    if given.size:
        return list(given.size) if len(given.size) == 3 else list(given.size) * 3
    edge = 2.0 * rest if rest is not None else np.nan
    if rest is None or not SIZES[0] < edge < SIZES[1]:
        got = "it never rests" if rest is None else f"its origin rests at {rest:.4g} m"
        raise InputError(place, "--size", got, "the body's edge, or three [m]", "give --size")
    notes.append(
        f"a cube of {1e3 * edge:.4g} mm is assumed: its origin rests {1e3 * rest:.4g} mm high, on "
        "a ground at z = 0; measure it (--size)"
    )
    return [edge] * 3


def _converted(one: Examined, turn: np.ndarray, ground: float, notes: list[str]) -> list[PoseTrial]:
    """Trials of a stream, z up from the ground, in metres, each begun in free flight."""
    stream = turned(one.stream, turn, one.metre, (0.0, 0.0, -ground))
    trials = listed(stream)
    if one.metre != 1.0:
        notes.append(f"{one.stream.place}: lengths are divided by {one.metre:g}")
    if one.gravity is None:  # a slide
        return trials
    flying = from_flights(stream, one.gravity)
    before = len(stream) - len(flying)
    if before > WINDOW * len(one.clock.trials):  # a hand, in most of them
        trials = listed(flying)
        notes.append(f"{one.stream.place}: every trial begins at its first free flight")
    return trials


def _not_begun(
    tosses: Mapping[str, Sequence[PoseTrial]], files: int, notes: list[str]
) -> list[str]:
    """Files of a single toss that does not begin in free flight, where others of `files` do.

    Raises InputError for a file of several, or where none is left.
    """
    left: list[str] = []
    for name, trials in tosses.items():
        try:
            check_gravity(trials, GRAVITY)
        except InputError as error:
            if len(trials) > 1 or len(left) + 1 == files:
                raise
            left.append(name)
            notes.append(f"{trials[0].source} is left out: {error.remedy}")
    return left


def _scale(examined: Sequence[Examined]) -> float | None:
    """True length over recorded length, where free flight shows it beyond its noise: that of the
    recordings together, which may differ by more than each one's."""
    seen = [(one.gravity, one.metre) for one in examined if one.gravity and one.gravity.unit]
    if not seen:
        return None
    sizes = np.array([gravity.size / metre for gravity, metre in seen])
    sigmas = np.array([np.linalg.norm(gravity.sigma) / metre for gravity, metre in seen])
    weights = 1.0 / np.maximum(sigmas, 1e-3 * G) ** 2
    size = float(weights @ sizes / weights.sum())
    scatter = np.std(sizes, ddof=1) / np.sqrt(len(sizes)) if len(sizes) > 1 else 0.0
    sigma = max(float(1.0 / np.sqrt(weights.sum())), float(scatter))
    off = abs(size - G)
    return G / size if off > findings.SIZE_OFF * G and off > 3.0 * sigma else None


def _scene(edges: Sequence[float], mass: float, dt: float) -> str:
    size = ", ".join(f"{edge:.6g}" for edge in edges)
    k_n = STIFFNESS * mass
    k_d = 2.0 * 1.2 * np.sqrt(k_n * mass)
    steps = _steps(dt)
    return filled(
        __file__, "first_scene.yaml", step=dt / steps, steps=steps, size=size, mass=mass,
        height=3 * max(edges), radius=CORNER * min(edges), k_n=k_n, k_t=0.002 * k_n, k_d=k_d,
    )  # fmt: skip


def _steps(dt: float) -> int:
    return max(4, int(np.ceil(dt / STEP)))


def _estimation(
    files: Sequence[str],
    count: int,
    edges: Sequence[float],
    mass: float,
    scale: float | None,
    dt: float,
    longest: int,
    reach: float,
) -> str:
    """The text; longest: frames of the longest slide, 0 of tosses; reach [m]: of the ground."""
    trained = min(count - max(1, round(APART * count)), MOST)
    train = f"{{random: {trained}, seed: 1}}" if count >= FEW else "all"
    rest = "all" if count - trained <= MOST else f"{{random: {MOST}, seed: 2}}"
    validate = "" if count < FEW else VALIDATE.format(files=listing(files), rest=rest)
    short, long = (int(np.ceil(span / dt)) for span in HORIZONS)
    start, choice, held = _start(edges, scale), CHOICE.format(short=short), ""
    if longest:  # which shows friction, and is not chaotic
        start, choice, short, long, held = BY_FILE, "", min(short, longest), 0, HELD
    k_n = STIFFNESS * mass
    return filled(
        __file__, "first_estimation.yaml", count=count, files=listing(files), train=train,
        validate=validate, start=start, choice=choice, held=held, steps=_steps(dt), k_n=k_n,
        low=0.1 * k_n, high=20 * k_n, damping=2.0 * np.sqrt(mass),
        further="" if longest else _inertia(edges, mass) + _length_scale(scale),
        short=short, long=long,
        radius=CORNER * min(edges), round=0.1 * min(edges), reach=reach,
    )  # fmt: skip


def _cube(edges: Sequence[float]) -> bool:
    return max(edges) - min(edges) <= 1e-9


def _start(edges: Sequence[float], scale: float | None) -> str:
    """Where tosses start: a start by height takes the spin for constant, which a cube's is."""
    if not _cube(edges):
        return BY_FLIGHT.format(clearance=max(CLEARANCE, REACH * min(edges)))
    half = float(np.linalg.norm(edges)) / (2.0 * np.sqrt(3.0))
    gravity = GRAVITY[2] if scale is None else GRAVITY[2] / scale
    return BY_HEIGHT.format(half=half, gravity=abs(gravity))


def _inertia(edges: Sequence[float], mass: float) -> str:
    """A cube has one moment of inertia; a box keeps those of its shape."""
    if not _cube(edges):
        return ""
    value = mass * edges[0] ** 2 / 6.0
    return f"""\
  inertia:
    doc: about each axis; the first guess is a uniform cube's
    value: {value:.6g}
    unit: kg*m^2
    bounds: [{0.5 * value:.6g}, {2.5 * value:.6g}]
    scale: log
    sets: {{body.inertia.xx: 1, body.inertia.yy: 1, body.inertia.zz: 1}}
"""


def _length_scale(scale: float | None) -> str:
    if scale is None:
        return ""
    return f"""\
  length_scale:
    doc: true over recorded length; held, as free flight shows it (gravity is 9.81 m/s^2)
    value: {scale:.6g}
    fixed: true
    bounds: [{0.9 * scale:.6g}, {1.1 * scale:.6g}]
    sets: {{body_contact_spheres.scale: -1, gravity.z: {{factor: -9.81, power: -1}}}}
"""
