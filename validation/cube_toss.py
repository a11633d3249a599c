"""Contact of a real cube from 100 of its tosses, judged on all the others.

Runs `real2sim.estimate` on config/estimation/cube_toss.yaml as it stands, with one change: every
toss that is not trained on is predicted.  Required are lower means than the best of three published
simulators, by published numbers and on exactly these tosses.  Aims, medians, paired
intervals, and v_z refitted with the model's own gravity are reported beside them.

Then the physics is taken apart, one part at a time, each variant fitted again from the same first
guess with a reduced budget: the damping law, corner radius, the tracker's length scale, inertia,
load-dependent friction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict

import numpy as np

from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import EstimationConfig
from diffsim_ros.real2sim.results import EstimationResult
from diffsim_ros.real2sim.scenarios.height import HeightOptions, start_state
from diffsim_ros.sensing.observation import PoseTrial
from diffsim_ros.sensing.tosses import toss_ids
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT, judged, share
from .cube_benchmark import (
    LABELS,
    PUBLISHED,
    TossErrors,
    as_rows,
    best_of,
    compare,
    errors_of,
    evaluate,
    intervals,
    means,
    picture,
    read_published,
    toss_errors,
)

CONFIG = ROOT / "config" / "estimation" / "cube_toss.yaml"
REQUIRED = dict(zip(LABELS, (0.138, 16.3, 0.27), strict=True))
AIMS = dict(zip(LABELS, (0.12, 14.0, 0.22), strict=True))
NOMINAL_INERTIA = 0.00081  # kg m^2, the data's README
REDUCED = {"search_evaluations": 0, "starts": 1}  # of an ablation's fit
TINY = {"search_evaluations": 0, "starts": 1, "iterations": 4}  # of a tenth's fit
VALIDATED = 300
COUNTED = ("dropped", "objective", "evaluations", "rollouts", "failed_rollouts")
"""Figures of the fit that are kept."""


def configured(train: Sequence[int] | None = None, validate: Sequence[int] | None = None) -> dict:
    """The configuration as a mapping with absolute paths, and other tosses where ids are given."""
    content = read_yaml(CONFIG)
    for key, ids in (("train", train), ("validate", validate)):
        part = content["data"][key]
        part["files"] = [str((CONFIG.parent / name).resolve()) for name in part["files"]]
        if ids is not None:
            part["trials"] = list(ids)
    content["data"]["validate"]["exclude_train"] = False
    return content


def split(fraction: float, seed: int) -> tuple[list[int], list[int], set[int]]:
    """Ids trained on, ids predicted, and those of the latter that repeat no trained toss.

    The whole study trains on the configuration's tosses and predicts all others.
    """
    config = load_estimation(CONFIG)
    train = [i for _, i in config.train.keys()]
    assert len(train) <= 100, f"{len(train)} tosses trained on, at most 100 allowed"
    assert len(config.train.files) == 1, "one file, whose ids name its tosses"
    others = [i for i in toss_ids(config.train.files[0]) if i not in set(train)]
    content = configured()
    content["data"]["validate"] |= {"trials": "all", "exclude_train": True}
    apart = {i for _, i in load_estimation(content).validate.keys()}
    if fraction < 1:
        rng = np.random.default_rng(seed)
        train = sorted(rng.choice(train, share(len(train), fraction), replace=False).tolist())
        others = sorted(rng.choice(others, share(VALIDATED, fraction), replace=False).tolist())
    return train, others, apart


# ---------------------------------------------------------------------------- parts of the physics


def _contact(content: dict) -> dict:
    (contact,) = content["scene"]["contact"]
    return contact


def _forget(content: dict, *suffixes: str) -> None:
    """Drop scene entries from all parameters, and parameters that then set nothing."""
    for name, parameter in list(content["parameters"].items()):
        sets = {e: v for e, v in parameter["sets"].items() if not e.endswith(suffixes)}
        parameter["sets"] = sets
        if not sets:
            del content["parameters"][name]
            content["fit"].get("continuation", {}).pop(name, None)


def _setter(content: dict, suffix: str) -> dict:
    """The parameter that sets this entry."""
    section = content["parameters"].values()
    found = [p for p in section if any(entry.endswith(suffix) for entry in p["sets"])]
    assert len(found) == 1, f"one parameter must set *{suffix}, {len(found)} do"
    return found[0]


def _hold(content: dict, suffix: str, value: float) -> None:
    """Hold the parameter that sets this entry."""
    parameter = _setter(content, suffix)
    parameter |= {"value": value, "fixed": True}
    parameter.pop("bounds", None)


def _release(content: dict, suffix: str, low: float, high: float) -> None:
    """Estimate the parameter that sets this entry, if the configuration does not."""
    parameter = _setter(content, suffix)
    if parameter.pop("fixed", False):
        parameter.setdefault("bounds", [low, high])


def law(kind: str) -> Callable[[dict], None]:
    """The damping law: continuous (c_n), ramped or thesis (both k_d)."""

    def change(content: dict) -> None:
        contact = _contact(content)
        contact["damping"] = kind
        if kind != "ramped":
            contact.pop("d_0", None)
            _forget(content, ".d_0")
        if kind == "continuous":
            contact.pop("k_d", None)
            _forget(content, ".k_d")
            contact["c_n"] = 3.0
            content["parameters"]["normal_damping"] = {
                "value": 3.0, "unit": "s/m", "bounds": [0.05, 50.0], "scale": "log",
                "sets": {f"{contact['name']}.c_n": 1},
            }  # fmt: skip

    return change


def constant_friction(content: dict) -> None:
    """Coulomb's c_f at any load."""
    for key in ("c_s", "f_0"):
        _contact(content).pop(key, None)
    _forget(content, ".c_s", ".f_0")


VARIANTS: Mapping[str, Callable[[dict], None]] = {
    "as_configured": lambda content: None,
    "damping_continuous": law("continuous"),
    "damping_ramped": law("ramped"),
    "damping_thesis": law("thesis"),
    "sharp_corners": lambda content: _hold(content, "_contact_spheres.radius", 0.0),
    "length_scale_fitted": lambda content: _release(content, "_contact_spheres.scale", 0.96, 1.06),
    "length_scale_1": lambda content: _hold(content, "_contact_spheres.scale", 1.0),
    "inertia_nominal": lambda content: _hold(content, ".inertia.xx", NOMINAL_INERTIA),
    "friction_constant": constant_friction,
}


def variant(name: str, content: Mapping, budget: Mapping) -> EstimationConfig:
    """The configuration with one part of the physics changed, at a budget."""
    changed = deepcopy(dict(content))
    changed["fit"] |= budget
    changed["uncertainty"] = {"method": "none"}
    VARIANTS[name](changed)
    return load_estimation(changed)


def ablations(content: Mapping, budget: Mapping, names: Sequence[str]) -> dict:
    """Errors of every variant, and its difference to the first with a paired 95 % interval."""
    table: dict = {}
    reference: dict = {}
    configured_as = variant("as_configured", content, budget).source
    for name in names:
        config = variant(name, content, budget)
        if table and config.source == configured_as:
            continue  # the configuration has this already
        result = estimate(config, report=False)
        errors = errors_of(result.predictions)
        reference = reference or errors
        common = sorted(errors.keys() & reference.keys())
        ours, theirs = (as_rows([one[i] for i in common]) for one in (errors, reference))
        difference = ours - theirs
        ranges = interval(difference, 0)
        table[name] = means(errors.values()) | {
            "difference": dict(zip(LABELS, difference.mean(axis=0).tolist(), strict=True)),
            "difference_interval": dict(zip(LABELS, ranges, strict=True)),
            "parameters": result.values(),
            "objective": result.metrics["train"]["objective"],
            "status": result.status,
        }
    return table


# ------------------------------------------------------------------------------------- figures


def flight_alone(trials: Sequence[PoseTrial], options: HeightOptions) -> dict:
    """Trivial baseline: free flight until the centre is half an edge high, then standing still."""
    errors: list[TossErrors] = []
    for trial in trials:
        start = start_state(trial, options)
        t = (trial.frames[start.sample :] - trial.frames[start.sample]) * trial.dt
        fall = start.velocity * t[:, None]
        fall[:, 2] -= 0.5 * options.gravity * t * t
        position = start.position + fall
        landed = np.flatnonzero(position[:, 2] < options.half)
        if len(landed):
            position[landed[0] :] = position[landed[0]]
        orientation = np.broadcast_to(start.orientation, (len(t), 4))
        measured = trial.position[start.sample :], trial.orientation[start.sample :]
        errors.append(toss_errors(position, orientation, *measured))
    return means(errors)


def summed_up(errors: Mapping[int, TossErrors], failed: int) -> dict:
    """How many tosses, and means, medians and 95 % intervals of their errors."""
    figures = means(errors.values()) | intervals(as_rows(errors.values()))
    return {"tosses": len(errors), "failed": failed, **figures}


def predicted(result: EstimationResult, config: EstimationConfig, apart: set[int]) -> dict:
    """The figures that the bars are about."""
    values, errors = result.values(), errors_of(result.predictions)
    own, _ = evaluate(config, values, own_gravity=True)
    train, failures = evaluate(config, values, "train")
    published = compare(errors, read_published(PUBLISHED))
    unlike = {i: one for i, one in errors.items() if i in apart}
    validate = summed_up(errors, result.metrics["validate"]["failed"]) | {
        "start_gravity": config.measurement.start_gravity,
        "with_own_gravity": means(own.values()),
        "published": published,
        "best_published": best_of(published),
        "without_copies_of_trained_tosses": {"tosses": len(unlike), **means(unlike.values())},
    }
    return {
        "validate": validate,
        "aims": {
            label: {"aim": aim, "reached": bool(validate[label] <= aim)}
            for label, aim in AIMS.items()
        },
        "train": {
            **{key: result.metrics["train"][key] for key in COUNTED},
            **summed_up(train, len(failures)),
        },
        "parameters": {
            p.name: {k: v for k, v in asdict(p).items() if k != "name"} for p in result.parameters
        },
        "status": result.status,
        "message": result.message,
        "timing": result.metrics["timing"],
    }


def assert_required(figures: Mapping) -> None:
    """Lower means than the bars, and than the best simulator on the same tosses."""
    validate, missed = figures["validate"], []
    if validate["failed"]:
        missed.append(f"{validate['failed']} tosses have no prediction")
    for label, bar in REQUIRED.items():
        best = validate["best_published"][label]
        for what, limit in (("bar", bar), (best["simulator"], best["mean"])):
            if not validate[label] < limit:
                missed.append(f"{label}: {validate[label]:.4g}, {what} {limit:.4g}")
    judged(dict(figures), missed)


def assert_structure(figures: Mapping, baseline: Mapping, tosses: int) -> None:
    """A tenth: everything is there and finite, and the prediction beats no model at all."""
    validate = figures["validate"]
    assert validate["tosses"] + validate["failed"] == tosses
    assert validate["failed"] <= 0.1 * tosses
    own = validate["with_own_gravity"]
    for label in LABELS:
        assert np.isfinite([validate[label], own[label], validate[f"{label}_median"]]).all()
        assert validate[label] < baseline[label], f"{label}: worse than flight alone"
        assert validate["best_published"][label]["simulator"] in validate["published"]
    for row in figures["ablations"].values():
        assert all(np.isfinite(row[label]) for label in LABELS)


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; raises AssertionError naming every bar that is missed."""
    train, others, apart = split(fraction, seed)
    whole = fraction >= 1
    content = configured(train, others)
    if not whole:
        content["fit"] |= TINY
    config = load_estimation(content)
    result = estimate(config, report=False)
    figures = {"trained": len(train), **predicted(result, config, apart)}
    trials = config.validate.read(config.body, (1e-3, 1e-2))
    options = HeightOptions(half=config.measurement.half_edge)
    baseline = figures["flight_alone"] = flight_alone(trials, options)
    names = list(VARIANTS) if whole else ["as_configured", "friction_constant"]
    figures["ablations"] = ablations(content, REDUCED if whole else TINY, names)
    assert_structure(figures, baseline, len(others))
    if whole:
        ours = errors_of(result.predictions)
        picture(ours, read_published(PUBLISHED), ROOT / "docs" / "images" / "errors.png")
        assert_required(figures)
    return figures
