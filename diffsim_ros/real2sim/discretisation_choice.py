"""Time step and mesh of a first scene, chosen before the fit by a short study of one recording.

At the first guess, what half the step and a mesh twice as fine change (discretisation.py) is held
against the noise of the measurement; as long as one of them would move a parameter by more than its
standard deviation, it is made finer, within a time that is given.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .._engine import CancelToken
from ..errors import InputError
from ..inverse.solution import Solution
from ..inverse.uncertainty import gauss_newton_covariance
from ..scene.finer import RESOLUTION, finer, solids
from ..scene.model import load_scene
from ..units import read_number
from .config import load_estimation
from .discretisation import Check, checks_at, times_finer
from .experiment import Experiment, experiment_of
from .first_guess import First

KINDS = ("clouds", "markers")
"""Of recordings whose first scene has a solid."""
SECONDS = 60.0
"""Of the study, if nothing else is given."""
MOST_ROUNDS = 4
"""Of it."""
SPARE = 2.0
"""By which shifts at the guess are taken larger: they are not those at the end of the fit."""
GROWTH = 16.0
"""Times that rollouts take on a mesh twice as fine, about."""
LITTLE = 1.5
"""By which a mesh is made finer that needs no more than that: its error falls about as h^2."""


@dataclass
class _Tried:
    """A step [s], and by how much finer than the guess the mesh is.

    most     kind of check -> what it would move at most, SPARE std_dev;  worst  whose that is
    seconds  that each took;  skipped  that the mesh's would take, too long (0: it was done)
    """

    step: float
    times: float
    most: dict[str, float] = field(default_factory=dict)
    worst: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    skipped: float = 0.0


def chosen(
    made: First, folder: Path, seconds: float = SECONDS,
    report: Callable[[str], object] | None = None, cancel: Any = None,
) -> First:  # fmt: skip
    """The first estimation with the step and mesh that a study of its first recording chooses.

    folder   that its paths start from;  seconds  after which the study ends, 0: there is none
    report   called with sentences on what is done
    cancel   engine.CancelToken that ends the study; what it has found by then is taken

    A scene without solids is left as it is; so is one that cannot be simulated, with a note.
    """
    content = yaml.safe_load(made.estimation) if made.estimation else {}
    if not made.scene or seconds <= 0 or made.missing or content.get("kind") not in KINDS:
        return made
    described = yaml.safe_load(made.scene)
    if not any(body.get("type") == "solid" for body in described["bodies"].values()):
        return made
    tried: list[_Tried] = []
    begun, note = time.monotonic(), ""
    token = cancel or CancelToken()
    timer = threading.Timer(seconds, token.cancel)
    timer.daemon = True
    timer.start()
    try:
        _study(content, described, folder, _Limits(begun + seconds, token), tried, report or str)
    except (InputError, np.linalg.LinAlgError) as error:
        note = "" if token.cancelled else f"the study ended early ({error}); "
    finally:
        timer.cancel()
    took = time.monotonic() - begun
    if token.cancelled:
        note = f"the study was stopped after {took:.0f} s (--study); "
    if not tried:
        text = f"{note}step and mesh are guesses that were not tried"
        return replace(made, notes=(*made.notes, text))
    return replace(
        made, scene=_written(made.scene, described, tried[-1]),
        notes=(*made.notes, *_notes(tried, described, took, note)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Limits:
    """When the study ends (time.monotonic), and what ends it before."""

    until: float
    token: Any


def _study(
    content: Mapping, described: dict, folder: Path, limits: _Limits, tried: list[_Tried],
    report: Callable[[str], object],
) -> None:  # fmt: skip
    """Try steps and meshes, each finer than the last, until the first that is fine enough."""
    own = dict(content)
    files = content["data"]["train"]["files"]
    own["data"] = {**content["data"], "train": {**content["data"]["train"], "files": files[:1]}}
    own["data"].pop("validate", None)
    own["fit"] = {**content.get("fit", {}), "horizons": [0]}
    trials: list | None = None
    step, times = float(_number(described["world"]["step"])), 1.0
    for _ in range(MOST_ROUNDS):
        report(f"trying steps of {step:.3g} s and a mesh {times:g} times as fine as the guess")
        changed = _changed(described, step, times)
        experiment = experiment_of(load_estimation({**own, "scene": changed}, base=folder))
        if trials is None:
            trials = experiment.read({}).train
        one = _Tried(step, times)
        for check in _checks(experiment, trials, one, limits):
            if check.over:
                name, size = next(iter(check.over.items()))
                one.most[check.of.kind] = SPARE * abs(size) * math.sqrt(len(files))
                one.worst[check.of.kind] = name
        if limits.token.cancelled and not one.most:
            break
        tried.append(one)
        now, known = time.monotonic(), sum(one.seconds.values())
        shorter = one.most.get("step", 0.0) > 1.0 and now + 3.0 * known < limits.until
        factor = LITTLE if one.most.get("mesh", 0.0) < LITTLE**2 else 2.0
        longer = GROWTH ** math.log2(factor) * known
        smaller = one.most.get("mesh", 0.0) > 1.0 and now + longer < limits.until
        if shorter:
            step /= times_finer(one.most["step"])
        if smaller:
            times *= factor
        if not shorter and not smaller:
            break


def _checks(experiment: Experiment, trials: list, one: _Tried, limits: _Limits) -> Iterator[Check]:
    """What finer models change at the first guess, by the measurement's noise: half the step, and,
    if there is time, a mesh twice as fine."""
    model = experiment.model
    z = np.clip(model.map.start, model.map.lower, model.map.upper)
    problem = model.problem(trials, z)
    named = dict(zip(problem.names, problem.values(z).tolist(), strict=True))
    y = np.zeros(problem.nuisance_shape)
    solution = Solution(z, y, 0.0, named, "objective", "first guess", 0, 0, at_bound={})
    found = gauss_newton_covariance(problem, solution)
    for kind in ("step", "mesh"):
        spent = GROWTH / 2.0 * one.seconds.get("step", 0.0)  # half the step: two rollouts' time
        if kind == "mesh" and time.monotonic() + spent > limits.until:
            one.skipped = spent
            return
        begun = time.monotonic()
        checks, _ = checks_at(
            model, problem, solution, trials, found, (z, 0), limits.token, only=(kind,)
        )
        one.seconds[kind] = time.monotonic() - begun
        yield from checks


def _number(value: object) -> float:
    """Seconds of a YAML: a number, or a text such as 1/480."""
    return read_number(str(value), "s")[0]


def _changed(described: dict, step: float, times: float) -> dict:
    """The scene with another step, its rows where they were, and a finer mesh."""
    world = dict(described["world"])
    before = _number(world["step"])
    if "record_every" in world:
        world["record_every"] = round(world["record_every"] * before / step)
    changed = {**described, "world": {**world, "step": step}}
    if times == 1:
        return changed
    resolved = load_scene(changed).description
    return finer({**resolved, "world": changed["world"]}, times)


def _written(text: str, described: dict, best: _Tried) -> str:
    """The text of the scene with the step and mesh that were chosen."""
    before = _number(described["world"]["step"])
    if best.step != before:
        old = str(described["world"]["step"])
        inverse = 1.0 / best.step
        new = f"1/{inverse:.0f}" if "/" in old else f"{best.step:.9g}"
        text = re.sub(r"(?m)^(  step: )\S+", rf"\g<1>{new}", text, count=1)
        times = round(before / best.step)
        if "record_every" in described["world"]:
            rows = described["world"]["record_every"] * times
            text = re.sub(r"(?m)^(  record_every: )\S+", rf"\g<1>{rows}", text, count=1)
    if best.times > 1:
        changed = _changed(described, before, best.times)
        for name in solids(changed):
            ((kind, shape),) = changed["bodies"][name]["shape"].items()
            for key in (*RESOLUTION[kind], *(("radius",) if kind == "ball" else ())):
                value = shape[key]
                new = f"{value:.5g}" if isinstance(value, float) else str(value)
                text = re.sub(rf"({key}: )(\[[^\]]*\]|[^,}}\s]+)", rf"\g<1>{new}", text, count=1)
    return text


def _notes(tried: list[_Tried], described: dict, took: float, before: str) -> list[str]:
    """Sentences on what was chosen and why."""
    best, words = tried[-1], []
    for kind, finer_one in (("step", "half of it"), ("mesh", "one twice as fine")):
        if kind in best.most:
            size, name = best.most[kind] / SPARE, best.worst[kind]
            words.append(f"{finer_one} would move {name} by {size:.2g} std_dev")
    changed = _changed(described, best.step, best.times)
    shapes = []
    for name in solids(changed):
        ((kind, shape),) = changed["bodies"][name]["shape"].items()
        shapes += [f"{key}: {shape[key]}" for key in RESOLUTION[kind] if key in shape]
    if best.skipped:
        words.append(f"a mesh twice as fine was not tried, it would take {best.skipped:.0f} s")
    text = (
        f"{before}steps of {best.step:.3g} s and a mesh of {', '.join(shapes)} were chosen, of "
        f"{len(tried)} tried in {took:.0f} s: {'; '.join(words)} at the first guess"
    )
    rest = [kind for kind, size in best.most.items() if size > SPARE]
    if rest:
        text += (
            f"; a finer {' and '.join(rest)} would take too long to try, the fit says what it costs"
        )
    return [text]
