"""An EstimationResult, read as plain data for the report; anything missing is simply not shown.

Only attributes and keys are used (see real2sim/results.py), so a result that was read from a file,
or made up in a test, serves as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.viz.fit_plots import ParameterRow
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.plots import QUANTITIES


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
    """What the report shows of an estimation.

    held          parameters that were not estimated
    motions       predicted trials; roles[i] is "train" or "validate"
    judged        indices of the trials that errors are reported of
    errors        quantity -> simulator -> values of the judged trials that all simulators have
    error_ids     names of those trials
    means         quantity -> (mean, median) of ours, as in metrics.json where it says so
    comparisons   quantity -> simulators, the best first
    profiles      inverse.profile.Profile of the parameters that it was asked for
    bands         inverse.bands.TrialBand of the trials that it was asked for
    """

    name: str
    status: str
    message: str
    rows: tuple[ParameterRow, ...]
    held: tuple[ParameterRow, ...]
    correlated: tuple[str, ...]
    correlation: np.ndarray
    history: tuple[dict, ...]
    motions: tuple[Motion, ...]
    roles: tuple[str, ...]
    judged: tuple[int, ...]
    trial_ids: tuple[object, ...]
    errors: Mapping[str, Mapping[str, np.ndarray]]
    error_ids: tuple[object, ...]
    means: Mapping[str, tuple[float, float | None]]
    comparisons: Mapping[str, tuple[Comparison, ...]]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    metrics: Mapping[str, Any]
    provenance: Mapping[str, Any]
    config: Mapping[str, Any]
    warnings: tuple[str, ...] = field(default=())
    profiles: tuple[Any, ...] = field(default=())
    bands: tuple[Any, ...] = field(default=())


def summarise(result: Any) -> Summary:
    """Return the Summary of an EstimationResult (or of anything with its attributes)."""
    config = dict(_get(result, "config", {}) or {})
    metrics = dict(_get(result, "metrics", {}) or {})
    predictions = tuple(_get(result, "predictions", ()))
    motions = tuple(motion_of(prediction) for prediction in predictions)
    roles = tuple(str(_get(p, "role", "validate")) for p in predictions)
    judged = tuple(i for i, role in enumerate(roles) if role == "validate")
    judged = judged or tuple(range(len(motions)))
    group = metrics.get("validate") or metrics.get("train") or {}
    ids = tuple(_get(p, "id", motions[i].name) for i, p in enumerate(predictions))
    errors, error_ids = _errors(motions, ids, judged, _published(predictions, group))
    parameters = [_row(p, config) for p in _get(result, "parameters", ())]
    fixed = [bool(_get(p, "fixed", False)) for p in _get(result, "parameters", ())]
    rows = tuple(row for row, held in zip(parameters, fixed, strict=True) if not held)
    return Summary(
        name=str(_get(result, "name", "estimation")),
        status=str(_get(result, "status", "unknown")),
        message=str(_get(result, "message", "")),
        rows=rows,
        held=tuple(row for row, held in zip(parameters, fixed, strict=True) if held),
        correlated=tuple(_get(result, "correlated", ())),
        correlation=np.asarray(_get(result, "correlation", np.zeros((0, 0))), dtype=float),
        history=tuple(_step(step) for step in _get(result, "history", ())),
        motions=motions,
        roles=roles,
        judged=judged,
        trial_ids=ids,
        errors=errors,
        error_ids=error_ids,
        means=_means(group, motions, judged),
        comparisons=_comparisons(group),
        dropped={str(k): int(v) for k, v in dict(_get(result, "dropped", {}) or {}).items()},
        notes=tuple(str(note) for note in _get(result, "notes", ())),
        metrics=metrics,
        provenance=dict(_get(result, "provenance", {}) or {}),
        config=config,
        warnings=_warnings(result, rows),
        profiles=tuple(_get(result, "profiles", ())),
        bands=tuple(_get(result, "bands", ())),
    )


def motion_of(prediction: Any) -> Motion:
    """Return the Motion of a Prediction (or of anything with its attributes)."""
    return Motion(
        name=str(_get(prediction, "name", "") or f"toss {_get(prediction, 'id', '')}"),
        t=prediction.t,
        measured_position=_get(prediction, "measured_position", None),
        measured_orientation=_get(prediction, "measured_orientation", None),
        simulated_position=_get(prediction, "simulated_position", None),
        simulated_orientation=_get(prediction, "simulated_orientation", None),
        size=tuple(float(edge) for edge in _get(prediction, "size", (0.1048,) * 3)),
        contact_point=_get(prediction, "contact_point", None),
        contact_force=_get(prediction, "contact_force", None),
        errors=dict(_get(prediction, "errors", {}) or {}),
    )


def _get(thing: Any, key: str, default: Any) -> Any:
    if isinstance(thing, Mapping):
        return thing.get(key, default)
    return getattr(thing, key, default)


def _row(parameter: Any, config: Mapping) -> ParameterRow:
    """A parameter, with first guess and prior from the configuration."""
    name = str(_get(parameter, "name", ""))
    option = dict((config.get("parameters") or {}).get(name) or {})
    return ParameterRow(
        name=name,
        unit=str(_get(parameter, "unit", "")),
        value=float(_get(parameter, "value", np.nan)),
        std_dev=_get(parameter, "std_dev", None),
        lower=_get(parameter, "lower", None),
        upper=_get(parameter, "upper", None),
        prior_mean=option.get("prior_mean"),
        prior_sigma=option.get("prior_sigma"),
        start=option.get("value", _get(parameter, "start", None)),
        identifiable=bool(_get(parameter, "identifiable", True)),
        at_bound=bool(_get(parameter, "at_bound", False)),
        note=str(_get(parameter, "note", "")) or str(option.get("doc", "") or ""),
    )


def _step(step: Any) -> dict:
    return {
        "phase": str(_get(step, "phase", "")),
        "iteration": int(_get(step, "iteration", 0)),
        "objective": float(_get(step, "objective", np.nan)),
        "parameters": dict(_get(step, "parameters", {}) or {}),
    }


def _warnings(result: Any, rows: Sequence[ParameterRow]) -> tuple[str, ...]:
    """Sentences that a reader must not miss, the gravest first."""
    status = str(_get(result, "status", ""))
    found = []
    if status != "converged":
        found.append(
            f"The estimation ended as “{status.replace('_', ' ')}”: "
            "the parameters are the best so far."
        )
    for row in rows:
        if row.at_bound:
            found.append(f"{row.name} ended at a bound; its true value may lie beyond.")
        if not row.identifiable:
            reason = f": {row.note}" if row.note else "."
            found.append(f"{row.name} cannot be identified from these data{reason}")
    return tuple(found)


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
            errors[quantity][name] = np.array([published[i][name][quantity] for i in keep])
    return errors, tuple(ids[i] for i in keep)


def _published(predictions: Sequence[Any], group: Mapping) -> list[dict[str, dict[str, float]]]:
    """Per prediction: simulator -> quantity -> published error.

    From the prediction's `published`, else from the table beside its source; only simulators that
    the metrics compare with.
    """
    named = set(_comparison_group(group) or {})
    if not named:
        return [{} for _ in predictions]
    tables = _tables({str(_get(p, "source", "")) for p in predictions})
    found = []
    for prediction in predictions:
        given = _get(prediction, "published", None)
        if given is None:
            table = tables.get(str(_get(prediction, "source", "")), {})
            given = {name: table[name].get(prediction.id) for name in table}
        found.append(
            {name: _figures_of(row) for name, row in given.items() if row and name in named}
        )
    return found


def _tables(sources: set[str]) -> dict[str, Mapping]:
    """source -> simulator -> trial id -> errors, where a published table lies beside the source."""
    from diffsim_ros.real2sim.comparison import PUBLISHED_NAME, read_published

    paths = {source: Path(source).parent / PUBLISHED_NAME for source in sources if source}
    return {s: read_published(path).errors for s, path in paths.items() if path.is_file()}


def _figures_of(row: Any) -> dict[str, float]:
    """Quantity -> number, of a mapping or of a TossErrors."""
    short = {"position_error_widths": "position", "rotation_error_deg": "rotation", "e_q": "e_q"}
    return {q: float(_get(row, q, None) or _get(row, short[q], np.nan)) for q in QUANTITIES}


def _comparison_group(group: Mapping) -> Mapping[str, Mapping] | None:
    """The mapping simulator -> figures inside metrics.validate, wherever it stands."""
    for value in group.values():
        if isinstance(value, Mapping) and value:
            entries = list(value.values())
            if all(isinstance(e, Mapping) and "e_q" in e and "tosses" in e for e in entries):
                return value
    return None


def _comparisons(group: Mapping) -> dict[str, tuple[Comparison, ...]]:
    found = _comparison_group(group) or {}
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
