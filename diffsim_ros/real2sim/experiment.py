"""An experiment reads recordings, makes trials of them, and assesses predictions.

What an estimation YAML's `kind` chooses is one of its subclasses (options.KINDS): it brings the
sections of the YAML that are its own, a Model, and predictions with their figures.  Everything else
is shared: parameters, optimiser, standard deviations, results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..fields import Reader
from .fit import Fit
from .options import KINDS, EstimationConfig, FitOptions, SimulationOptions, TopOptions
from .progress import Reporter
from .recordings import Recordings

ALONE = "statics"
"""The kind without recordings."""


@dataclass(frozen=True)
class Data:
    """Trials to train on and to predict, notes about them, and frames they lack.

    A trial has `place` (file and trial, for messages) and `source`; the rest is its kind's.
    """

    train: list
    validate: list
    notes: list[str]
    missing: int = 0


@dataclass(frozen=True)
class Assessment:
    """Predictions with their figures: metrics.json's train and validate, and notes.

    at_rest  predictions of loads under which the scene rests (sensors/statics)
    """

    predictions: list
    train: dict
    validate: dict | None
    notes: list[str]
    at_rest: list = field(default_factory=list)


@dataclass(frozen=True)
class RecordingPrediction:
    """What every prediction of a recording has; `errors` are figures of it, as in metrics.json."""

    name: str
    role: str
    source: str
    errors: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def id(self) -> str:
        """Name, as pictures sort by."""
        return self.name


class Experiment:
    """One estimation's recordings and how they are simulated.

    measurement, simulation, fit  options of these sections of the YAML
    recordings  what section `data` names
    several     several bodies may be tracked at once
    top         options of the YAML's top level; of kinds without a scene their own
    robot_of    of those: (reader, section robot, base folder) -> EstimationConfig.robot
    what        the trials' name in figures and notes;  named  what lists them there
    model_of    (config) -> Model
    """

    measurement: ClassVar[type]
    simulation: ClassVar[type] = SimulationOptions
    fit: ClassVar[type[FitOptions]] = FitOptions
    recordings: ClassVar[type[Recordings]]
    several: ClassVar[bool] = False
    top: ClassVar[type] = TopOptions
    robot_of: ClassVar[Any] = None
    what: str = "recordings"
    named: str = "names"

    model_of: ClassVar[Any]

    def __init__(self, config: EstimationConfig) -> None:
        self.config = config
        self.model = type(self).model_of(config)

    def __getstate__(self) -> dict[str, Any]:
        """Without recordings as they were read, which trials are made of."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    @classmethod
    def estimation(cls, config: EstimationConfig, progress: Any, cancel: Any) -> Any:
        """(observations) -> EstimationResult of kinds whose fit has no rollouts; None: it has."""
        return None

    @classmethod
    def check_fit(cls, reader: Reader, fit: Any) -> None:
        """Refuse section `fit` where it breaks rules between keys."""

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Recordings passed by role, else the YAML's; InputError if they contradict the
        scene."""
        notes: list[str] = []
        train = self.role(observations.get("train"), self.config.train, notes)
        validate: list = []
        if "validate" not in observations or observations["validate"]:
            given = observations.get("validate")
            validate = self.role(given, self.config.validate, notes)
        known = {trial.place for trial in train}
        both = [self.title(trial) for trial in validate if trial.place in known]
        notes += notes_on_validation(both, len(validate), self.what)
        return Data(train, validate, notes, sum(map(self.missing, (*train, *validate))))

    def role(self, given: Sequence | None, recordings: Any, notes: list[str]) -> list:
        """Trials of a role, passed or read; adds sentences to `notes`.

        recordings  of the YAML, None: it has none of this role
        """
        raise NotImplementedError

    def missing(self, trial: Any) -> int:
        """Samples that a trial lacks."""
        return 0

    def title(self, trial: Any) -> str:
        """What figures and notes call a trial."""
        return trial.place

    def flight_of(self, trial: Any) -> Any:
        """Samples of a trial before the first that counts, where that depends on the model; None:
        it does not."""
        return None

    def set_flight(self, trial: Any, flight: Any) -> None:
        """Take these samples of a trial instead (several models are compared)."""

    def counts(self, fit: Fit) -> dict:
        """Which trials were fitted, for metrics.json's `train`."""
        return {self.what: len(fit.kept), self.named: [self.title(trial) for trial in fit.kept]}

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel: Any) -> Assessment:
        """Predict the trials of training and validation at the end of the fit."""
        trained, notes = self.predictions(fit.kept, fit, "train", cancel)
        reporter.update(0.4, 1)
        train = self.figures(trained, len(notes), "train")
        if not data.validate:
            return Assessment(trained, train, None, notes)
        predicted, more = self.predictions(data.validate, fit, "validate", cancel)
        found = self.figures(predicted, len(more), "validate")
        return Assessment(self.shown(predicted, trained), train, found, notes + more)

    def shown(self, predicted: list, trained: list) -> list:
        """Which predictions the result keeps, of those validated and those trained on."""
        return [*predicted, *trained]

    def predictions(
        self, trials: Sequence, fit: Fit, role: str, cancel: Any
    ) -> tuple[list, list[str]]:
        """Predictions at the end of a fit, and sentences about trials without one.

        Here of a model with `simulated`: what its sensor would show at a trial's samples, by a
        rollout and the parameters of that.
        """
        model = self.model
        first = np.clip(model.map.start, model.map.lower, model.map.upper)
        runs, guesses = (
            model.problem(trials, z).rollouts(z, cancel=cancel) for z in (fit.z, first)
        )

        def predict(trial: Any, run: Any, guess: Any) -> RecordingPrediction:
            before = model.simulated(trial, guess, first) if guess.ok else None
            return self.prediction(trial, run, model.simulated(trial, run, fit.z), before, role)

        return predicted(predict, trials, runs, guesses)

    def prediction(
        self, trial: Any, run: Any, ours: Any, before: Any, role: str
    ) -> RecordingPrediction:
        """Of one trial: its rollout, what `simulated` says of it and of the first guess's."""
        raise NotImplementedError

    def compared(self, prediction: Any) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Quantity -> times (n,), measured and simulated curves (n, k) of a prediction.

        Numbers of one quantity have one unit; {} where nothing is measured as curves.
        """
        measured = getattr(prediction, "measured", None)
        if measured is None:
            return {}
        n = len(prediction.t)
        both = measured.reshape(n, -1), prediction.simulated.reshape(n, -1)
        return {"position": (prediction.t, *both)}

    def figures(self, predictions: Sequence, failed: int, role: str) -> dict:
        """Content of metrics.json for the predictions of a role, train or validate."""
        return {p.name: self.figures_of(p) for p in predictions}

    def figures_of(self, prediction: Any) -> dict:
        """Content of metrics.json for one recording."""
        return dict(prediction.errors)


def experiment_of(config: EstimationConfig) -> Experiment:
    """The experiment of a configuration: of its kind, with what it has of the scene at rest.

    InputError of a kind without a scene.
    """
    if not simulated(config):
        rule = "a kind whose scene is simulated"
        remedy = "it is fitted by regression, which compares its laws itself (diffsim estimate)"
        raise config.error("kind", config.kind, rule, remedy)
    found = kind_of(config.kind)(config)
    if config.statics is None or config.kind == ALONE:
        return found
    still: Any = kind_of(ALONE)
    return still.beside(found)


def simulated(config: EstimationConfig) -> bool:
    """Whether an estimation has a scene."""
    return kind_of(config.kind).top is TopOptions


def kind_of(name: str) -> type[Experiment]:
    """The experiment of a kind, one of KINDS."""
    module, _, title = KINDS[name].rpartition(".")
    return getattr(import_module(module, __package__), title)


def predicted(
    predict: Callable,
    trials: Sequence,
    runs: Sequence,
    *further: Sequence,
    notes: list[str] | None = None,
) -> tuple[list, list[str]]:
    """predict(trial, run, ...) of every trial that could be simulated, and sentences on others.

    runs  None for trials whose simulation was cancelled;  notes  sentences so far
    """
    found, sentences = [], [] if notes is None else notes
    for trial, run, *more in zip(trials, runs, *further, strict=True):
        if run is not None and run.ok:
            found.append(predict(trial, run, *more))
        else:
            what = "cancelled" if run is None else f"{run.status}: {run.message}"
            sentences.append(f"no prediction for {trial.place}: {what}")
    return found, sentences


def refuse_twice(names: Sequence[str], place: object, key: str) -> None:
    """InputError naming a recording's name that occurs twice: figures are by name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(place, key, twice[0], "recordings of different names")


def notes_on_validation(both: Sequence[str], validated: int, what: str = "recordings") -> list[str]:
    """Sentences on how meaningful the figures of validation are.

    both  validated trials that were trained on too;  validated  how many there are;  what  they are
    """
    if not validated:
        return [f"nothing to validate on: the figures are those of the trained {what}"]
    if not both:
        return []
    return [
        f"{len(both)} of {validated} validated {what} were trained on too (first: {both[0]}): the "
        "validation is no test for them"
    ]
