"""A first estimation of a soft beam with markers, clamped at one end and released from rest.

The first guess follows from the tracker's own frame: markers that stay are on the clamp, the one
that goes farthest is at the free end, and it comes to rest below where it was held.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....errors import InputError
from ....inverse.swing import Oscillation, damped_sinusoid
from ....sensing.check import Examined
from ....sensing.findings import FAR
from ....sensing.flight import G, noise_of
from ....sensing.observation import Observation
from ...first_guess import First, Given, filled, last_apart
from ...scenarios.release import release_frame

DENSITY = 1070.0
"""Guess [kg/m^3] where no mass is given: silicone rubber."""
STILL = 1.3
"""A marker stays whose places spread by so many times the noise of one."""
STAYS = 0.1
"""Markers that move less than this share of the farthest's displacement are on the clamp."""
STRAIGHT = np.cos(np.radians(25.0))
"""Directions nearer than this to an axis are the axis."""
RELEASE, ALIGN, NOISES = 5e-4, 2e-3, 8.0
"""Motion [m] that counts as released, and by which clocks are aligned, as the kind's defaults; the
first is at least so many times the noise of a place."""
AFTER = 0.15
"""The swing is measured from so long after the release [s]."""
STEP = 2.5e-3
"""Longest time step [s]."""
CYCLES = 2.0
"""Fewest cycles in a recording that are a swing whose frequency is measured."""
YOUNG = (1e3, 1e11)
"""Young's moduli [Pa] of solids, from gels to steel."""
GROWS = 0.5
"""Growth of a swing over its recording beyond which it is not one that was let go."""
FALLBACK = 3e5, 1e-3
"""Young's modulus [Pa] of silicone rubber, and its viscosity over that [s], where no swing shows
them."""
FIRST_MODE = 1.875104**2
"""Of a slender clamped beam: omega = FIRST_MODE sqrt(E I / (rho A L^4))."""


@dataclass(frozen=True)
class Beam:
    """A beam as a recording shows it; world frame: x along it, z up, the free end at x = 0.

    place     of the recording, for messages;  distance: motion that counts as released [m]
    places    of the markers while held [m] (m, 3);  names
    size      length, width, height [m];  centre (3,)
    release   marker that goes farthest;  axis: the tracker's coordinate in which it swings
    swing     fitted to that coordinate
    span      recorded time after the release [s];  dt [s]
    """

    place: str
    distance: float
    names: tuple[str, ...]
    places: np.ndarray
    size: np.ndarray
    centre: np.ndarray
    release: str
    axis: str
    swing: Oscillation
    span: float
    dt: float


def make(examined: Sequence[Examined], folder: Path, given: Given) -> First:
    """See first.first."""
    for one in examined:
        if one.refusal is not None:
            raise one.refusal
        low, high = np.nanmin(one.stream.position), np.nanmax(one.stream.position)
        if high - low > FAR:
            rule = f"metres: places within {FAR:g} m"
            raise InputError(one.stream.place, "extent", float(high - low), rule, "millimetres?")
        if sum(other.stream.path == one.stream.path for other in examined) > 1:
            rule = "one topic of markers in a bag"
            raise InputError(one.stream.path, "topics", one.stream.sensor, rule, "record it alone")
    beam = beam_of(_first_trial(examined[0]), given)
    density = DENSITY if given.mass is None else given.mass / float(np.prod(beam.size))
    paths = [os.path.relpath(one.stream.path.resolve(), folder.resolve()) for one in examined]
    young, viscosity, why = _material(beam, density)
    notes = [
        f"clamped at x = {beam.centre[0] - beam.size[0] / 2:.4g} m; world x is along the beam, "
        f"gravity along the path {beam.release} has sunk",
        f"the swing of {beam.release} is {beam.swing.frequency:.4g} Hz, decay "
        f"{beam.swing.decay:.3g} 1/s: "
        + (f"{why}; Young's modulus starts at a guess, {young:.3g} Pa, viscosity at "
           f"{viscosity:.3g} Pa s" if why else
           "stiffness and viscosity are first a slender beam's"),
    ]  # fmt: skip
    if not given.size:
        size = " x ".join(f"{1e3 * edge:.3g}" for edge in beam.size)
        notes.append(
            f"a box of {size} mm, as wide as its markers reach, is assumed: measure it (--size); "
            "stiffness goes with the third power of its height"
        )
    if given.mass is None:
        notes.append(f"the density is a guess, {DENSITY:g} kg/m^3: weigh the body (--mass)")
    return First(_scene(beam, density), _estimation(beam, density, paths), {}, tuple(notes))


def _first_trial(one: Examined) -> Observation:
    """The stream until its first trial ends."""
    own = one.clock.trial == one.clock.trials[0]
    return one.stream.kept(own)


def beam_of(stream: Observation, given: Given) -> Beam:
    """Frame, size and swing of a released beam.

    Raises InputError where it is not released, or no marker stays where it was held.
    """
    p, place = stream.position, stream.place
    displacement = np.nanmax(np.linalg.norm(p - np.nanmean(p[:20], axis=0), axis=2), axis=0)
    far = int(np.argmax(displacement))
    noise = noise_of(stream.t, p[:, far], np.zeros(len(p)), float(np.median(np.diff(stream.t))))
    distance = max(RELEASE, NOISES * noise)
    frame = release_frame(f"{place}: {stream.names[far]}", p[:, far], distance)
    held = np.nanmean(p[:frame], axis=0)
    spread = np.sqrt(np.nanmean(np.nanvar(p, axis=0), axis=1))
    stays = (displacement < STAYS * displacement[far]) | (spread < STILL * noise)
    if not stays.any() or not np.isfinite(held).all():
        got = {name: float(w) for name, w in zip(stream.names, displacement, strict=True)}
        rule = "at least one marker that stays: on the clamp, so that its end is known"
        raise InputError(place, "displacement of markers [m]", got, rule)
    t = stream.t - stream.t[frame]
    later = t >= AFTER
    sunk = np.nanmean(p[-max(len(t) // 5, 1) :, far], axis=0) - held[far]
    axis = int(np.argmax(np.nanmax(p[later, far], axis=0) - np.nanmin(p[later, far], axis=0)))
    swing = damped_sinusoid(f"{place}: {stream.names[far]}", t[later], p[later, far, axis])
    along = held[~stays].mean(axis=0) - held[stays].mean(axis=0)
    turn = _frame(along, _straight(-sunk))
    places = (held - held[~stays].mean(axis=0)) @ turn.T
    low, high = places.min(axis=0), places.max(axis=0)
    length = float(np.linalg.norm(along))
    size = np.array(given.size if len(given.size) == 3 else [length, *(high - low)[1:]])
    if len(given.size) == 1:
        size[1:] = given.size[0]
    centre = np.array([-size[0] / 2.0, *((low + high) / 2.0)[1:]])
    return Beam(
        place, distance, stream.names, places, size, centre, stream.names[far], "xyz"[axis], swing,
        float(t[-1]), float(np.median(np.diff(t))),
    )  # fmt: skip


def _straight(direction: np.ndarray) -> np.ndarray:
    """The direction as a unit vector, an axis where it is near to one."""
    unit = direction / np.linalg.norm(direction)
    k = int(np.argmax(np.abs(unit)))
    return np.sign(unit[k]) * np.eye(3)[k] if abs(unit[k]) > STRAIGHT else unit


def _frame(along: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Rotation (3, 3), tracker to world: z up, x along the beam's level part."""
    x = along - (along @ up) * up
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(up, x), up])


def _material(beam: Beam, density: float) -> tuple[float, float, str]:
    """Young's modulus [Pa] and viscosity [Pa s] of a slender beam that swings like this one.

    Where no swing shows them, FALLBACK and why.  Raises InputError for a swing that grows.
    """
    length, _, height = beam.size
    swing, moduli = beam.swing, YOUNG
    w2 = (2.0 * np.pi * swing.frequency) ** 2 + swing.decay**2
    if swing.decay < 0.0 and np.expm1(-swing.decay * beam.span) > GROWS:
        got = f"a swing of {swing.frequency:.3g} Hz that grows (decay {swing.decay:.3g} 1/s)"
        rule = "a free swing after one release from rest"
        remedy = (
            "cut the recording at its last release; one that is loaded and let go is estimated "
            "with measurement.loading and release_after (config/estimation/soft_arm.yaml)"
        )
        raise InputError(beam.place, beam.release, got, rule, remedy)
    young = 12.0 * density * length**4 * w2 / (FIRST_MODE**2 * height**2)
    # decay = w^2 eta / (2 E) for bending, where a stretch rate feels 3 viscosities
    viscosity = max(2.0 * young * swing.decay / w2 / 3.0, 1e-4 * young)
    if swing.frequency * beam.span < CYCLES:
        why = f"fewer than {CYCLES:g} cycles in {beam.span:.3g} s are no swing"
    elif not moduli[0] < young < moduli[1]:
        why = f"the {young:.3g} Pa of such a beam are no solid's"
    else:
        return young, viscosity, ""
    return FALLBACK[0], FALLBACK[0] * FALLBACK[1], why


def _scene(beam: Beam, density: float) -> str:
    young, viscosity, _ = _material(beam, density)
    count = int(np.ceil(beam.dt / STEP))
    size = ", ".join(f"{edge:.6g}" for edge in beam.size)
    centre = ", ".join(f"{x:.6g}" for x in beam.centre)
    return filled(
        __file__, "first_scene.yaml", g=G, step=beam.dt / count, duration=min(beam.span, 2.0),
        count=count, size=size, density=density, young=young, viscosity=viscosity, centre=centre,
        end=-beam.size[0] / 2.0,
    )  # fmt: skip


def _estimation(beam: Beam, density: float, paths: Sequence[str]) -> str:
    young, viscosity, why = _material(beam, density)
    wide = 300.0 if why else 20.0
    train, validate = last_apart(paths)
    rows = [
        f"    {name}: [{', '.join(f'{x:.5f}' for x in place)}]"
        for name, place in zip(beam.names, beam.places, strict=True)
    ]
    places = "\n".join(rows)
    return filled(
        __file__, "first_estimation.yaml", train=train, validate=validate, places=places,
        release=beam.release, distance=beam.distance,
        align=max(ALIGN, 2.0 * beam.distance), axis=beam.axis, after=AFTER,
        window=min(beam.span - 0.1, 2.0),
        young=young, young_low=young / wide, young_high=young * wide, viscosity=viscosity,
        viscosity_low=viscosity / 50, viscosity_high=viscosity * 50, first=int(0.4 / beam.dt),
    )  # fmt: skip
