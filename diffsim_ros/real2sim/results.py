"""What an estimation found, and how it is written."""

from __future__ import annotations

import hashlib
import math
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from .. import __version__
from ..errors import InputError
from ..inverse.bands import TrialBand
from ..inverse.one_sided import Bound
from ..inverse.profile import Profile
from ..output import OutputFolder, write_json, write_yaml

RESULT_FILES = ("result.yaml", "metrics.json")
REPORT_FILES = ("report.html", "motion.mcap")


@dataclass(frozen=True)
class ParameterResult:
    """One parameter: value and standard deviation in `unit`, bounds, and what the data say of it.

    std_dev       None if it was held, or cannot be given
    identifiable  False: the data do not determine it (alone, or apart from another: see note)
    at_bound      it ended at a bound
    note          one sentence, "" if all is well
    start         first guess
    bound         where the data leave one side open: the other side's
    """

    name: str
    unit: str
    value: float
    std_dev: float | None
    lower: float | None
    upper: float | None
    identifiable: bool
    at_bound: bool
    note: str = ""
    fixed: bool = False
    start: float | None = None
    bound: Bound | None = None


@dataclass(frozen=True)
class Step:
    """One line of the optimisation's history."""

    phase: str
    iteration: int
    objective: float
    parameters: Mapping[str, float]


GRADES = ("good", "usable", "misleading")
"""Of a verdict: what is left is noise; the motion is explained, but not down to the noise;
predictions are little better than a curve without physics."""


@dataclass(frozen=True)
class Verdict:
    """Whether a model explains its data (verdict.py): grade, why, what to try, and the figures."""

    grade: str
    reason: str
    advice: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict:
        """Section `verdict` of result.yaml."""
        return {"grade": self.grade, "reason": self.reason, "advice": list(self.advice)}

    def metrics(self) -> dict:
        """Section `verdict` of metrics.json."""
        return {"grade": self.grade, "reason": self.reason, **self.figures}

    def __str__(self) -> str:
        return "; ".join([f"{self.grade}: {self.reason}", *self.advice])


@dataclass(frozen=True)
class EstimationResult:
    """Everything that was estimated.

    kind         what was recorded (experiment.py)
    status       "converged", "not_converged" or "cancelled" (the best so far is in `parameters`)
    message      the optimiser's sentence
    correlation  of the free parameters, in the order of `correlated` (nf, nf)
    scene        parameters of the scene that the parameters set, by name
    derived      what groups of parameters mean: mass, centre and inertia of payloads
    metrics      nested figures, as in metrics.json
    predictions  of the validated recordings (of the trained ones where none are validated)
    dropped      reason -> how many samples or rollouts were left out
    notes        what a reader should know: overlap, missing comparison, failures
    provenance   files with their hashes, versions, seeds
    profiles     profile likelihoods that the YAML asked for
    bands        prediction bands (inverse.bands), likewise
    at_rest      predictions of loads under which the scene rests (sensors/statics)
    verdict      whether the model explains the data, None: cancelled
    """

    name: str
    status: str
    message: str
    parameters: tuple[ParameterResult, ...]
    correlated: tuple[str, ...]
    correlation: np.ndarray
    metrics: Mapping
    history: tuple[Step, ...]
    predictions: tuple[Any, ...]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    provenance: Mapping
    config: Mapping
    scene: Mapping[str, float] = field(default_factory=dict)
    kind: str = "poses"
    derived: tuple[ParameterResult, ...] = ()
    profiles: tuple[Profile, ...] = ()
    bands: tuple[TrialBand, ...] = ()
    at_rest: tuple[Any, ...] = ()
    verdict: Verdict | None = None

    @property
    def converged(self) -> bool:
        """True if the optimiser met its criterion."""
        return self.status == "converged"

    def values(self) -> dict[str, float]:
        """Parameter values by name, held ones included."""
        return {p.name: p.value for p in self.parameters}

    def document(self) -> dict:
        """The content of result.yaml: no times in it, so equal inputs give equal files."""
        parameters = {}
        for p in self.parameters:
            entry = asdict(p)
            entry.pop("name")
            if p.bound is None:
                entry.pop("bound")
            entry["bounds"] = [entry.pop("lower"), entry.pop("upper")]
            parameters[p.name] = {key: finite(value) for key, value in entry.items()}
        matrix = {
            row: {
                column: finite(float(self.correlation[i, j]))
                for j, column in enumerate(self.correlated)
            }
            for i, row in enumerate(self.correlated)
        }
        profiles = {p.name: p.document() for p in self.profiles}
        return {
            "command": "estimate",  # first, by which `--force` knows what it may replace
            "name": self.name,
            "kind": self.kind,
            **({} if self.verdict is None else {"verdict": self.verdict.document()}),
            "status": self.status,
            "message": self.message,
            "parameters": parameters,
            "scene": dict(self.scene),
            "derived": {
                p.name: {"unit": p.unit, "value": p.value, "std_dev": finite(p.std_dev)}
                for p in self.derived
            },
            "correlation": matrix,
            **({"profiles": profiles} if profiles else {}),
            **{k: self.metrics[k] for k in ("step", "mesh", "element") if k in self.metrics},
            "notes": list(self.notes),
            "dropped": dict(self.dropped),
            "provenance": dict(self.provenance),
            "config": dict(self.config),
        }


def finite(value: object) -> object:
    """None for a number that is not finite; everything else unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def open_folder(
    out: str | Path | None, *, report: bool = True, force: bool = False
) -> OutputFolder:
    """The folder for the results; InputError before any work if a result is already there.

    force  the results of an earlier estimation are replaced, its report too
    """
    names: tuple[str, ...] = RESULT_FILES
    if report or force:
        from ..viz import PICTURES

        names += REPORT_FILES + PICTURES
    return OutputFolder(out, names, command="estimate", force=force)


def write_results(
    result: EstimationResult, out: OutputFolder | str | Path | None, *, report: bool = True
) -> OutputFolder:
    """Write result.yaml, metrics.json, and (report) report.html, PNGs and motion.mcap: all or none.

    Raises InputError if one of them exists already, OSError on a full disk; nothing half-written.
    """
    folder = out if isinstance(out, OutputFolder) else open_folder(out, report=report)
    with folder.staging() as stage:
        write_yaml(stage / "result.yaml", result.document())
        write_json(stage / "metrics.json", result.metrics)
        if report:
            # drawing and bags need matplotlib, jinja2 and rosbags: only where they are wanted
            from ..viz.pages import write_pages

            write_pages(result, stage)
    return folder


def load_parameters(path: str | Path) -> dict[str, float]:
    """Parameter values by name of a result.yaml."""
    from ..yaml_file import read_yaml

    content = read_yaml(path)
    entries = content.get("parameters") if isinstance(content, Mapping) else None
    if not isinstance(entries, Mapping):
        raise InputError(path, "parameters", entries, "a result.yaml of diffsim estimate")
    values = {}
    for name, entry in entries.items():
        value = entry.get("value") if isinstance(entry, Mapping) else None
        if not isinstance(value, (int, float)):
            raise InputError(path, f"parameters.{name}.value", value, "a number")
        values[str(name)] = float(value)
    return values


def median_and_mean(rows: np.ndarray, names: Sequence[str]) -> dict[str, float | None]:
    """Mean (NAME) and median (NAME_median) of every column of rows (n, k); None without rows."""
    result: dict[str, float | None] = {}
    for k, name in enumerate(names):
        column = rows[:, k] if len(rows) else None
        result[name] = None if column is None else float(column.mean())
        result[f"{name}_median"] = None if column is None else float(np.median(column))
    return result


def count_by(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, in the order of first occurrence."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def labels_of(keys: Sequence[tuple[str, str, bool]]) -> list[str]:
    """What figures call trials (source, name, whether it is validated): no more of these than
    tells them apart."""
    forms = (
        [name for _, name, _ in keys],
        [f"{Path(source).name}: {name}" for source, name, _ in keys],
        [f"{source}: {name}" for source, name, _ in keys],
    )
    whole = [f"{source}: {name}{' (validated)' * new}" for source, name, new in keys]
    return next((form for form in forms if len(set(form)) == len(form)), whole)


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, "" if it cannot be read (a topic, say)."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def provenance(place: str, sources: Iterable[str]) -> dict:
    """Plain data that names every input and version."""
    return {
        "configuration": place,
        "data": [
            {"source": source, "sha256": file_hash(source) or None}
            for source in dict.fromkeys(sources)
        ],
        "diffsim_ros": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
        "platform": sys.platform,
    }
