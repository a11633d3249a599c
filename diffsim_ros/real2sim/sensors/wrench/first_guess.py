"""A first estimation of a foam block that a plate presses onto a force–torque sensor.

Forces show the noise, which axis of the sensor is the press's, how hard contacts are about. How the
plate moved, where the sensor is and what it carries they do not show: the user fills that in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ....errors import InputError
from ....rotation import quat_between
from ....sensing.bags import is_bag
from ....sensing.check import Examined
from ....sensing.flight import G
from ....sensing.observation import Observation
from ....sensing.read import read_trials
from ...first_guess import FILL_IN, First, Given, filled, last_apart
from .experiment import check_start

YOUNG = 2.0e4
"""Guess [Pa]: soft foam."""
DENSITY = 100.0
"""Guess [kg/m^3] where no mass is given: foam."""
SINKS, FACES = 1e-4, 6
"""How far the press sinks into a contact [m]; its k_n is that of all faces of the block."""
STEP = 1e-3, 5e-3
"""Shortest and longest time step [s]; between them the recording's."""
CLEAR = 10.0
"""A press is so many sigmas of a force."""
ALONG = 0.8
"""Least share of a press's force that one axis of an aligned sensor carries."""
LEAST = 1e-4, 1e-6
"""Noise [N], [N m] is not taken to be less than this: a file may have few digits."""


def make(examined: Sequence[Examined], folder: Path, given: Given) -> First:
    """See first.first."""
    streams = [one.stream for one in examined]
    topic, others = _topic(streams)
    files = list(dict.fromkeys(stream.path for stream in streams))
    trials = [one for file in files for one in read_trials(file, "wrench", topic)]
    for one in trials:
        check_start(one)
    noise = [max(np.median(s), least) for s, least in zip(_noise(trials), LEAST, strict=True)]
    hardest = max(trials, key=lambda one: _size(one).max())
    peak = float(_size(hardest).max())
    if peak < CLEAR * noise[0]:
        got = f"at most {peak:.3g} N, with a noise of {noise[0]:.3g} N"
        raise InputError(hardest.place, "force", got, "that of a press on the sensor")
    missing = [
        "scene.yaml: bodies.plate.waypoints: how the plate moved, from the recording's t = 0 on",
        "estimation.yaml: measurement.position: where the sensor is in the scene [m]",
    ]
    notes = [
        f"noise of {noise[0]:.3g} N and {noise[1]:.3g} N m, as the readings differ from sample to "
        f"sample; the hardest press, {hardest.name}, has {peak:.3g} N",
        f"stiffness starts at a guess, {YOUNG:g} Pa; its bounds span 1 kPa to 10 MPa",
        "the block lies on a table that the sensor carries: else change `contacts`",
    ]
    if others:
        notes.append(f"the sensor is {topic}, which shows the most force (not {', '.join(others)})")
    orientation = FILL_IN
    axis = _down(hardest)
    if axis is None:
        missing.append("estimation.yaml: measurement.orientation: no axis of the sensor has most "
                       "of the press's force")  # fmt: skip
    else:
        orientation = _row(quat_between(axis, (0.0, 0.0, -1.0)) + 0.0)  # no -0
        name = ("+" if axis.sum() > 0 else "-") + "xyz"[int(np.argmax(np.abs(axis)))]
        notes.append(
            f"the press is along {name} of the sensor, which so points down; how it is turned "
            "about the vertical forces do not show: set `orientation`"
        )
    shape = _shape(given, missing, notes)
    step = float(np.clip(trials[0].interval, *STEP))
    scene = filled(
        __file__, "first_scene.yaml", g=G, step=step, young=YOUNG, k_n=FACES * peak / SINKS,
        duration=max(float(one.t[-1]) for one in trials), **shape,
    )  # fmt: skip
    paths = [os.path.relpath(file.resolve(), folder.resolve()) for file in files]
    train, validate = last_apart(paths)
    estimation = filled(
        __file__, "first_estimation.yaml", train=train, validate=validate, young=YOUNG,
        topic=f"\n  topic: {topic}" if topic else "", orientation=orientation,
        sigma_force=noise[0], sigma_torque=noise[1],
    )  # fmt: skip
    return First(scene, estimation, {}, tuple(notes), tuple(missing))


def _topic(streams: Sequence[Observation]) -> tuple[str, list[str]]:
    """The topic to name and those that are not used; ("", []) where every bag has one alone.

    Raises InputError where no topic is in all bags that have several sensors or share them.
    """
    bags: dict[Path, list[Observation]] = {}
    for stream in streams:
        if is_bag(stream.source):
            bags.setdefault(stream.path, []).append(stream)
    if all(len(own) == 1 for own in bags.values()):
        return "", []
    shared = set.intersection(*({one.sensor for one in own} for own in bags.values()))
    every = sorted({one.sensor for own in bags.values() for one in own})
    if not shared:
        rule = "one that all bags have"
        raise InputError(", ".join(map(str, bags)), "topics", ", ".join(every), rule)
    most = {
        name: max(
            float(np.nan_to_num(_size(one)).max(initial=0.0))
            for own in bags.values() for one in own if one.sensor == name
        ) for name in sorted(shared)
    }  # fmt: skip
    chosen = max(most, key=lambda name: most[name])
    return chosen, [name for name in every if name != chosen]


def _size(one: Observation) -> np.ndarray:
    """Magnitude of the force [N] (n,)."""
    return np.linalg.norm(one.values["force"][:, 0], axis=1)


def _noise(trials: Sequence[Observation]) -> tuple[list[float], list[float]]:
    """Spread of force [N] and torque [N m] per axis by second differences, of every trial."""

    def spread(rows: np.ndarray) -> float:
        if len(rows) < 3:
            return 0.0
        middle = np.median(np.abs(np.diff(rows, 2, axis=0)), axis=0)
        # of a normal distribution 0.6745 sigma; a second difference has sqrt(6) sigma
        return float(np.sqrt(np.mean((middle / 0.6745 / np.sqrt(6.0)) ** 2)))

    force, torque = (
        [spread(one.values[signal][:, 0]) for one in trials] for signal in ("force", "torque")
    )
    return force, torque


def _down(trial: Observation) -> np.ndarray | None:
    """The sensor's axis (3,) along which the press is, None where none is nearly."""
    force, size = trial.values["force"][:, 0], _size(trial)
    mean = force[size >= 0.5 * size.max()].mean(axis=0)
    mean /= np.linalg.norm(mean) or 1.0
    k = int(np.argmax(np.abs(mean)))
    if abs(mean[k]) < ALONG:
        return None
    return np.sign(mean[k]) * np.eye(3)[k]


def _shape(given: Given, missing: list[str], notes: list[str]) -> dict[str, str]:
    """Size, density and place of the block as far as they are given; others go to `missing`."""
    if not given.size:
        missing.append("scene.yaml: bodies.block.shape.box.size: the block's edges [m] (--size)")
        missing.append("scene.yaml: bodies.block.pose.position: half its height above the table")
        density = f"{DENSITY:g}" if given.mass is None else FILL_IN
        if given.mass is not None:
            what = f"bodies.block.density: {given.mass:g} kg over its volume [kg/m^3]"
            missing.append(f"scene.yaml: {what}")
        size = position = FILL_IN
    else:
        edges = np.array(given.size * (3 // len(given.size)))
        density = f"{DENSITY if given.mass is None else given.mass / np.prod(edges):.5g}"
        size, position = _row(edges), _row((0.0, 0.0, edges[2] / 2))
    if given.mass is None:
        notes.append(f"the density is a guess, {DENSITY:g} kg/m^3: weigh the block (--mass)")
    return {"size": size, "position": position, "density": density}


def _row(values: Iterable[float]) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in values) + "]"
