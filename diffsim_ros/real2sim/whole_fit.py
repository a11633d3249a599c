"""A fit without parts of its own as one task of an executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..errors import NotConverged
from .fit import Fit, fit_trials
from .model import Model
from .progress import Reporter
from .results import Step


def whole_fit(shared: Mapping[str, tuple[Model, Sequence]], name: str, cancel: Any) -> dict:
    """A fit as one task: its `plain`, or {"failed": message}.

    shared  name -> (model, trials)
    """
    model, trials = shared[name]
    try:
        return plain(fit_trials(model, trials, Reporter(None, []), cancel), trials)
    except NotConverged as error:
        return {"failed": str(error)}


def plain(fit: Fit, trials: Sequence) -> dict:
    """A fit without a search as plain data, of which `fit_of` makes it again."""
    whole = {id(trial): i for i, trial in enumerate(trials)}
    kept = [whole[id(trial)] for trial in fit.kept]
    names = ("z", "y", "value", "status", "message", "dropped", "failures", "evaluations", "taken")
    found = {name: getattr(fit, name) for name in names}
    return found | {"kept": kept, "history": [asdict(step) for step in fit.history]}


def fit_of(model: Model, trials: Sequence, found: Mapping[str, Any]) -> Fit:
    """The fit of `plain` data; raises NotConverged where there was none."""
    if "failed" in found:
        raise NotConverged(found["failed"])
    kept = [trials[i] for i in found["kept"]]
    problem = model.problem(kept, found["taken"], horizon=int(model.config.fit.horizons[-1]))
    history = [Step(**step) for step in found["history"]]
    return Fit(**{**found, "kept": kept, "history": history, "problem": problem})
