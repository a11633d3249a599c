"""Before any optimisation: are the recordings sound, and do they determine the parameters?

Three checks, none of which changes the estimation: the clock, units, axis and gravity of the
recordings; what happens in a rollout at the first guess (free flight, impacts, sticking, sliding,
oscillation); and the Fisher information of the sensor's noise at the first guess, with the starts
unknown.  All are local to that guess, so they are advice, by name, and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..inverse.identifiability import identifiability
from ..inverse.problem import Evaluation
from ..inverse.simulation_problem import SimulationProblem
from ..sensing.check import Examined, examine
from .model import Model

MOST = 16
"""Trials at most that are looked at; evenly spread over all."""
RARE = 1e-3
"""Share of the contact points times steps below which a mode counts as absent."""
NEEDS = {
    "c_f": "slip", "c_s": "slip", "k_t": "stick", "k_n": "contact", "k_d": "contact",
    "c_n": "contact", "d_0": "contact", "f_0": "slip",
}  # fmt: skip
"""Parameter of a contact -> what must happen for the data to depend on it."""
LOCKS_LEAST = "p2_p0"
"""Element of solids that hardly locks."""
MISSING = {
    "slip": ("no sliding", "push or throw it along the ground"),
    "stick": ("no sticking", "let it come to rest, or roll"),
    "contact": ("no contact", "record until it touches the ground"),
}


@dataclass(frozen=True)
class Preflight:
    """Sentences for the result, and figures for metrics.json's `preflight`.

    problem  of all trials, evaluated with its derivatives at the first guess: where the model is
             that of the fit, the fit's first step needs the same; None: it is another
    """

    notes: tuple[str, ...]
    figures: dict
    problem: SimulationProblem | None = None


def preflight(model: Model, trials: Sequence, cancel: Any = None) -> Preflight:
    """Figures and notes of recordings and first guess, before these trials are fitted."""
    chosen = [trials[i] for i in np.unique(np.linspace(0, len(trials) - 1, MOST).astype(int))]
    notes, figures = _data(model, trials)
    notes += _locking(model)
    noisy, z = noise_model(model), np.clip(model.map.start, model.map.lower, model.map.upper)
    problem = noisy.problem(chosen, z)
    evaluation = problem.evaluate(z, want="equations", cancel=cancel)
    if evaluation.cancelled:
        return Preflight(tuple(notes), figures)
    runs = []
    if not evaluation.ok or model.scene.engine.contact_names:
        runs = problem.watched().rollouts(z, cancel=cancel)
        if any(run.status == "cancelled" for run in runs):
            return Preflight(tuple(notes), figures)
    failed = sum(not run.ok for run in runs)
    if failed:
        notes.append(f"{failed} of {len(runs)} trials cannot be simulated at the first guess")
        chosen = [trial for trial, run in zip(chosen, runs, strict=True) if run.ok]
        runs = [run for run in runs if run.ok]
        if chosen:
            evaluation = noisy.problem(chosen, z).evaluate(z, want="equations", cancel=cancel)
    if chosen:
        shares = _modes(model, [run for run in runs if len(run.time) > 1])  # not those at rest
        figures["excitation"] = shares
        notes += _excitation(model, shares, len(chosen))
        sentences, more = model.look(chosen)
        notes += sentences
        figures |= more
        share = len(trials) / len(chosen)
        sentences, figures["identifiability"] = _information(problem, z, evaluation, share)
        notes += sentences
    same = noisy is model and evaluation.ok and len(chosen) == len(trials)
    texts = tuple(f"pre-flight: {note}" for note in notes)
    return Preflight(texts, figures, problem if same else None)


def noise_model(model: Model) -> Model:
    """The model whose residuals are in the sensor's sigmas, starts unknown where it has any."""
    if getattr(model.config.fit, "initial_state", "nuisance") == "nuisance":
        return model
    options: Any = model.config.fit
    fit = replace(options, initial_state="nuisance")
    return replace(model, config=replace(model.config, fit=fit))


# ---------------------------------------------------------------------------- the recordings


def _data(model: Model, trials: Sequence) -> tuple[list[str], dict]:
    """Verdicts of `diffsim check` on the very samples that are fitted."""
    streams = model.streams(trials)
    if not streams:
        return [], {}
    notes, figures = [], {}
    for stream in streams:
        one: Examined = examine(stream, assess=False)
        name = ": ".join(filter(None, [stream.path.name, stream.sensor]))
        figures[name] = one.figures()
        for finding in one.found:
            if finding.level == "warning":
                advice = f"; {finding.advice}" if finding.advice else ""
                notes.append(f"{name}: {finding.text}{advice}")
    return notes, {"recordings": figures}


# ---------------------------------------------------------------------------- excitation


def _modes(model: Model, runs: Sequence) -> dict:
    """Shares of contact points times steps by mode, and how many impacts, at the first guess."""
    codes = []
    if not runs:  # nothing touches anything
        return {}
    for run in runs:
        table = np.asarray(run.modes)
        columns = [
            table[:, first : first + count] & 3
            for first, count in map(model.scene.engine.modes_of, model.scene.engine.contact_names)
        ]
        codes.append(np.concatenate(columns, axis=1) if columns else np.zeros((0, 0), int))
    every = np.concatenate([c.ravel() for c in codes])
    if not every.size:
        return {}
    return {
        "free_flight": float(np.mean(np.concatenate([(c == 0).all(axis=1) for c in codes]))),
        "stick": float(np.mean((every == 1) | (every == 3))),
        "slip": float(np.mean(every == 2)),
        "contact": float(np.mean(every != 0)),
        "impacts_per_trial": float(np.mean([_impacts(c) for c in codes])),
    }


def _impacts(codes: np.ndarray) -> int:
    """Touchdowns of a trial: steps in which something touches after none did."""
    touching = (codes != 0).any(axis=1)
    return int(np.sum(touching[1:] & ~touching[:-1]) + touching[:1].sum())


def _excitation(model: Model, shares: dict, count: int) -> list[str]:
    """Parameters that need what does not happen."""
    notes = []
    contacts = set(model.scene.engine.contact_names)
    for need, (absent, advice) in MISSING.items():
        if not shares or shares[need] > RARE:
            continue
        names = [
            name
            for name in model.map.names
            if {NEEDS.get(key) for key in _contact_keys(model, name, contacts)} == {need}
        ]
        if names:
            notes.append(
                f"{absent} in {count} trials at the first guess: {', '.join(names)} will not be "
                f"identifiable; {advice}"
            )
    return notes


def _contact_keys(model: Model, name: str, contacts: set[str]) -> list[str]:
    """Last words of the contacts' parameters that a parameter sets."""
    sets = model.config.parameters[name].sets
    pairs = (target.rsplit(".", 1) for target in sets if "." in target)
    return [key for owner, key in pairs if owner in contacts]


def _locking(model: Model) -> list[str]:
    """Poisson's ratios of solids whose elements lock: their derivatives are the first to suffer."""
    notes = []
    for name in model.map.names:
        for target in model.config.parameters[name].sets:
            owner, _, key = target.rpartition(".")
            element = getattr(model.scene.parts.bodies.get(owner), "element", LOCKS_LEAST)
            if key == "poisson" and element != LOCKS_LEAST:
                notes.append(
                    f"{name} sets {target}, but element {element} locks: near 0.5 derivatives by "
                    f"Poisson's ratio may be several times too large; use element: {LOCKS_LEAST}"
                )
    return notes


# ---------------------------------------------------------------------------- information


def _information(
    problem: SimulationProblem, z: np.ndarray, evaluation: Evaluation, share: float
) -> tuple[list[str], dict | None]:
    """Sentences and figures on the Fisher information of all trials: `share` times that of those
    that were evaluated."""
    if not evaluation.ok:
        return [], None
    try:
        H = evaluation.equations.eliminated()[1].sum(axis=0) * share
    except np.linalg.LinAlgError:
        return ["derivatives at the first guess are too large to say what the data determine"], None
    H = 0.5 * (H + H.T)
    names = problem.names
    identified = identifiability(
        H, names, problem.lower, problem.upper, logarithmic=problem.logarithmic
    )
    notes = []
    paired = {name for pair in identified.pairs for name in pair[:2]}
    for a, b, correlation in identified.pairs:
        notes.append(
            f"{a} and {b} are correlated {correlation:+.3f} at the first guess: hold one, give a "
            "prior, or record other motions"
        )
    for name, note in zip(names, identified.notes, strict=True):
        if note and name not in paired:
            notes.append(f"{name}: {note} (at the first guess): hold it, or give a prior")
    sigma = identified.sigma * np.abs(problem.value_slopes(z))
    figures = {
        name: {"sigma_by_sensor_noise": float(s) if np.isfinite(s) else None, "seen": int(ok)}
        for name, s, ok in zip(names, sigma, identified.identifiable, strict=True)
    }
    return notes, figures
