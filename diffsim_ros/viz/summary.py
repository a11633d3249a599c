"""Tosses of a cube beside published simulators' errors: an EstimationResult -> what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.plots import QUANTITIES

FIELDS = {"position_error_widths": "position", "rotation_error_deg": "rotation", "e_q": "e_q"}
"""Quantity -> its field of published TossErrors."""


@dataclass(frozen=True)
class Comparison:
    """One simulator's mean in one quantity, and ours minus it on the same trials.

    interval  paired 95 % interval of the difference, None if unknown
    """

    simulator: str
    trials: int
    mean: float
    median: float | None
    difference: float | None
    interval: tuple[float, float] | None

    @property
    def verdict(self) -> str:
        """ "better", "worse", or "equal" where the interval includes 0 or is unknown."""
        if self.interval is None or self.interval[0] <= 0.0 <= self.interval[1]:
            return "equal"
        return "better" if self.interval[1] < 0.0 else "worse"


@dataclass(frozen=True)
class Summary:
    """What is shown of an estimation from tosses.

    motions       predicted trials; roles[i] is "train" or "validate"
    judged        indices of the trials that errors are reported of
    errors        quantity -> simulator -> values of the judged trials that all simulators have
    error_ids     names of those trials
    means         quantity -> (mean, median) of ours, as in metrics.json where it says so
    comparisons   quantity -> simulators, the best first
    """

    motions: tuple[Motion, ...]
    roles: tuple[str, ...]
    judged: tuple[int, ...]
    errors: Mapping[str, Mapping[str, np.ndarray]]
    error_ids: tuple[object, ...]
    means: Mapping[str, tuple[float, float | None]]
    comparisons: Mapping[str, tuple[Comparison, ...]]
    metrics: Mapping[str, Any]
    config: Mapping[str, Any]


def summarise(result: Any) -> Summary:
    """Return the Summary of an EstimationResult of tosses."""
    predictions, metrics = tuple(result.predictions), result.metrics
    motions = tuple(motion_of(prediction) for prediction in predictions)
    roles = tuple(p.role for p in predictions)
    judged = tuple(i for i, role in enumerate(roles) if role == "validate")
    judged = judged or tuple(range(len(motions)))
    group = metrics.get("validate") or metrics.get("train") or {}
    ids = tuple(p.id for p in predictions)
    errors, error_ids = _errors(motions, ids, judged, _published(predictions, group))
    return Summary(
        motions,
        roles,
        judged,
        errors,
        error_ids,
        _means(group, motions, judged),
        _comparisons(group),
        metrics,
        result.config,
    )


def motion_of(prediction: Any) -> Motion:
    """Return the Motion of a results.Prediction."""
    return Motion(
        prediction.name,
        prediction.t,
        prediction.measured_position,
        prediction.measured_orientation,
        prediction.simulated_position,
        prediction.simulated_orientation,
        tuple(float(edge) for edge in prediction.size),
        prediction.contact_point,
        prediction.contact_force,
        dict(prediction.errors),
    )


def _errors(motions, ids, judged, published):
    """quantity -> simulator -> (trials,), over the judged trials that every simulator has."""
    keep = [i for i in judged if all(q in motions[i].errors for q in QUANTITIES)]
    names = dict.fromkeys(name for i in keep for name in published[i])
    names = [n for n in names if sum(n in published[i] for i in keep) >= 0.5 * len(keep)]
    keep = [i for i in keep if all(name in published[i] for name in names)]
    errors: dict[str, dict[str, np.ndarray]] = {}
    for quantity in QUANTITIES if keep else ():
        errors[quantity] = {"ours": np.array([float(motions[i].errors[quantity]) for i in keep])}
        for name in names:
            theirs = [float(getattr(published[i][name], FIELDS[quantity])) for i in keep]
            errors[quantity][name] = np.array(theirs)
    return errors, tuple(ids[i] for i in keep)


def _published(predictions: Sequence[Any], group: Mapping) -> list[dict[str, Any]]:
    """Per prediction: simulator -> its TossErrors, from the table beside the prediction's source;
    only simulators that the metrics compare with."""
    from diffsim_ros.real2sim.comparison import PUBLISHED_NAME, read_published

    named = group.get("published") or {}
    paths = {p.source: Path(p.source).parent / PUBLISHED_NAME for p in predictions if named}
    tables = {s: read_published(path).errors for s, path in paths.items() if path.is_file()}
    return [
        {
            name: rows[prediction.id]
            for name, rows in tables.get(prediction.source, {}).items()
            if name in named and prediction.id in rows
        }
        for prediction in predictions
    ]


def _comparisons(group: Mapping) -> dict[str, tuple[Comparison, ...]]:
    found = group.get("published") or {}
    table = {}
    for quantity in QUANTITIES:
        entries = [
            Comparison(
                simulator=name,
                trials=int(entry["tosses"]),
                mean=float(entry[quantity]),
                median=entry.get(f"{quantity}_median"),
                difference=entry.get(f"{quantity}_difference"),
                interval=_pair(entry.get(f"{quantity}_difference_interval")),
            )
            for name, entry in found.items()
            if entry.get(quantity) is not None
        ]
        table[quantity] = tuple(sorted(entries, key=lambda entry: entry.mean))
    return table


def _pair(value: Any) -> tuple[float, float] | None:
    return None if value is None else (float(value[0]), float(value[1]))


def _means(group: Mapping, motions, judged) -> dict[str, tuple[float, float | None]]:
    """Ours: mean and median, from the metrics, else over the judged trials."""
    means = {}
    for quantity in QUANTITIES:
        if group.get(quantity) is not None:
            means[quantity] = (float(group[quantity]), group.get(f"{quantity}_median"))
            continue
        values = [motions[i].errors[quantity] for i in judged if quantity in motions[i].errors]
        if values:
            means[quantity] = (float(np.mean(values)), float(np.median(values)))
    return means
