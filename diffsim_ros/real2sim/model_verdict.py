"""What a comparison of models found: fits, held-out trials, and the verdict that rests on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..inverse.model_comparison import Criteria, FitFigures, Paired
from ..inverse.time_correlation import TimeNoise
from ..inverse.uncertainty import Uncertainty
from .fit import Fit
from .options import EstimationConfig
from .results import finite, labels_of, provenance


@dataclass(frozen=True)
class HeldOut:
    """One held-out trial: mean square of its residuals, the kind's own figures.

    source     its file: trials of two files may have one name
    validated  it is one of those to validate on
    """

    name: str
    square: float
    errors: Mapping[str, float]
    source: str = ""
    validated: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """The same of no other trial."""
        return self.source, self.name, self.validated


@dataclass(frozen=True)
class ModelFit:
    """One model: its fit to all training trials, and its held-out errors.

    square  sum of squares at the end of the fit, as the losses count them, without priors
    noise   how its residuals are correlated over time
    """

    name: str
    config: EstimationConfig
    fit: Fit
    square: float
    uncertainty: Uncertainty | None
    noise: TimeNoise
    held: tuple[HeldOut, ...]
    notes: tuple[str, ...]

    @property
    def figures(self) -> FitFigures:
        """For the information criteria; starts that are fitted too count in every model."""
        count, effective = self.noise.count, self.noise.effective
        return FitFigures(self.square, count, effective, len(self.fit.problem.names))

    def parameters(self) -> dict[str, dict]:
        """Values with standard deviation, unit and note by name."""
        problem, z = self.fit.problem, self.fit.z
        found, units = {}, {p.name: p.unit for p in problem.map.parameters}
        for i, (name, value) in enumerate(zip(problem.names, problem.values(z), strict=True)):
            sigma = None if self.uncertainty is None else float(self.uncertainty.std_dev[i])
            note = "" if self.uncertainty is None else self.uncertainty.notes[i]
            found[name] = {
                "value": float(value), "std_dev": None if sigma is None else finite(sigma),
                "unit": units[name], "note": note,
            }  # fmt: skip
        return found

    def document(self) -> dict:
        """Its part of result.yaml."""
        return {
            "status": self.fit.status, "message": self.fit.message, "parameters": self.parameters(),
            "held_out": {
                label: finite(h.square)
                for label, h in zip(labels_of([h.key for h in self.held]), self.held, strict=True)
            },
            "notes": list(self.notes),
            "provenance": provenance(self.config.place, [t.source for t in self.fit.kept]),
            "config": dict(self.config.source),
        }  # fmt: skip


@dataclass(frozen=True)
class ModelComparison:
    """The verdict and its evidence.

    best        of the models by held-out error, else by AIC
    pairs       every other model's held-out error over the best's
    criteria    AIC, BIC by model;  effective: residuals that they count
    sentences   the verdict in words, the first sums it up
    folds       of the cross-validation, 0: none
    """

    models: tuple[ModelFit, ...]
    best: str
    pairs: Mapping[str, Paired]
    criteria: Mapping[str, Criteria]
    effective: float
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    folds: int
    status: str

    @property
    def distinguished(self) -> bool:
        """True when the data distinguish one model from all others."""
        return self.sentences[0].startswith("the data support")

    @property
    def held_out(self) -> tuple[list[str], np.ndarray]:
        """See `held_out_squares`."""
        return held_out_squares(self.models)

    def metrics(self) -> dict:
        """Content of metrics.json."""
        models = {}
        for m in self.models:
            figures, c = m.figures, self.criteria[m.name]
            models[m.name] = {
                "objective": figures.square / figures.count, "residuals": figures.count,
                "effective_residuals": figures.effective, "parameters": figures.parameters,
                "delta_aic": c.aic, "delta_bic": c.bic, "aic_weight": c.weight,
                "held_out": held_figures(m.held),
            }  # fmt: skip
        pairs = {name: asdict(pair) for name, pair in self.pairs.items()}
        return {
            "best": self.best, "distinguished": int(self.distinguished), "folds": self.folds,
            "effective_residuals": self.effective, "models": models, "against_best": pairs,
            "status": self.status,
        }  # fmt: skip

    def document(self) -> dict:
        """Content of result.yaml."""
        models = {m.name: m.document() for m in self.models}
        return {
            "verdict": list(self.sentences), "best": self.best, "distinguished": self.distinguished,
            "notes": list(self.notes), "status": self.status, "models": models,
        }  # fmt: skip


@dataclass(frozen=True)
class Unfinished:
    """A comparison that was cancelled: the fits so far, and no verdict.

    fits    name -> (its estimation, its fit so far)
    assessed  those that were assessed on held-out trials
    count   of models in all
    """

    fits: Mapping[str, tuple[EstimationConfig, Fit]]
    assessed: tuple[ModelFit, ...]
    count: int
    status: str = "cancelled"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict's sentences."""
        done = sum(fit.status != "cancelled" for _, fit in self.fits.values())
        names = ", ".join(m.name for m in self.assessed) or "none"
        return (
            f"no verdict: cancelled when {done} of {self.count} models were fitted and {names} "
            "evaluated on held-out trials",
        )

    def _parameters(self, name: str) -> dict[str, dict]:
        _, fit = self.fits[name]
        values = map(float, fit.problem.values(fit.z))
        return {n: {"value": v} for n, v in zip(fit.problem.names, values, strict=True)}

    def metrics(self) -> dict:
        """Content of metrics.json."""
        models = {
            name: {"status": fit.status, "objective": finite(fit.value)}
            for name, (_, fit) in self.fits.items()
        }
        for m in self.assessed:
            models[m.name]["held_out"] = held_figures(m.held)
        return {"status": self.status, "best": None, "models": models}

    def document(self) -> dict:
        """Content of result.yaml."""
        models = {}
        for name, (config, fit) in self.fits.items():
            models[name] = {
                "status": fit.status, "message": fit.message, "parameters": self._parameters(name),
                "provenance": provenance(config.place, [t.source for t in fit.kept]),
                "config": dict(config.source),
            }  # fmt: skip
        models |= {m.name: m.document() for m in self.assessed}
        verdict = list(self.sentences)
        return {"verdict": verdict, "best": None, "status": self.status, "models": models}


def held_out_squares(models: Sequence[ModelFit]) -> tuple[list[str], np.ndarray]:
    """Labels of all held-out trials, and their mean squares (models, trials), NaN: not predicted.

    A trial that one model cannot simulate others may have.
    """
    keys = list(dict.fromkeys(h.key for model in models for h in model.held))
    found = [{h.key: h.square for h in model.held} for model in models]
    rows = [[one.get(key, math.nan) for key in keys] for one in found]
    return labels_of(keys), np.array(rows, float).reshape(len(models), len(keys))


def held_figures(held: Sequence[HeldOut]) -> dict:
    """Mean over held-out trials: root of the mean square residual, and the kind's figures, each
    over the trials that have it (recordings and loads at rest have different ones)."""
    usable = [h for h in held if math.isfinite(h.square)]
    found: dict = {"trials": len(usable)}
    if usable:
        found["rms_residual"] = math.sqrt(float(np.mean([h.square for h in usable])))
        for key in sorted({key for h in usable for key in h.errors}):
            found[key] = float(np.mean([h.errors[key] for h in usable if key in h.errors]))
    return found
