"""Logs of outputs: load cells, strain gauges, motor torques, measured and simulated.

A column of a log is one number of an output of the scene, by a scale and an offset. The scene's own
motion is that of the experiment; a recording's t = 0 is the start of the scene, or
`measurement.delay` later.
"""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import REQUIRED, Reader
from ...inverse.clock import Clock, NamedNumbers
from ...inverse.output_track import OutputTrack
from ...inverse.simulation_problem import SimulationProblem
from ...inverse.trial import Trial
from ...sensing.observation import Observation
from ...sensing.output import unit_of
from ...sensing.read import read_trials
from ..experiment import Experiment, RecordingPrediction, refuse_twice
from ..model import Model, scene_and_map
from ..options import EstimationConfig, SquaresOptions, option, positive, read_options
from ..recordings import Recordings
from .wrench.experiment import check_start


@dataclass(frozen=True)
class OutputFiles(Recordings):
    """Recordings of a role; every trial of a file counts."""

    accepted = "a CSV file"


@dataclass(frozen=True, kw_only=True)
class OutputMeasurementOptions:
    """Section `measurement` of outputs."""

    columns: dict = option("mapping", "column of the files -> what it measures", REQUIRED)
    delay: object = option("any", "of the sensors [s]: a number, or the name of a parameter", 0.0)
    drift: object = option(
        "any", "seconds that their clock loses per second of its own, likewise", 0.0
    )


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Section `measurement.columns.NAME`."""

    output: str = option(
        "text", "one number of an output of the scene: rest.force.z, rope.tension[0]", REQUIRED
    )
    sigma: float = positive("noise, in the column's unit", REQUIRED)
    scale: object = option(
        "any", "column = scale * output + offset: a number, or the name of a parameter", 1.0
    )
    offset: object = option("any", "likewise, in the column's unit", 0.0)


@dataclass(frozen=True)
class Column:
    """One column of the files: what it measures, its noise, scale and offset."""

    name: str
    options: ColumnOptions
    unit: str
    gauge: NamedNumbers

    @property
    def error_key(self) -> str:
        """Of its root mean square among a prediction's errors; a dot there would mean a body."""
        return f"{self.name.replace('.', '_')}_rms"

    @property
    def scaled(self) -> bool:
        """Whether its unit may be another than the output's."""
        return bool(self.gauge.names[0]) or self.gauge.numbers[0] != 1.0

    def of(self, seen: Observation) -> tuple[np.ndarray, str]:
        """Its samples (n,), NaN: not measured, and its unit; InputError for no such column, and
        for one in another unit than the output's."""
        names = {**{bare(name): name for name in seen.names}, **{name: name for name in seen.names}}
        if self.name not in names:
            rule = f"columns with {self.name!r}, as in `measurement.columns`"
            near = nearest(self.name, names)
            raise InputError(seen.place, "header", list(seen.names)[:12], rule, near)
        header = names[self.name]
        unit = unit_of(header)
        if unit and unit != self.unit and not self.scaled:
            rule = f"[{self.unit}], the unit of {self.options.output}"
            remedy = f"or measurement.columns.{self.name}.scale: {unit} per {self.unit}"
            raise InputError(seen.place, "header", header, rule, remedy)
        table = seen.values["value"][:, seen.names.index(header), 0]
        return table, unit or ("" if self.scaled else self.unit)


def bare(column: str) -> str:
    """A column's name without its unit."""
    unit = unit_of(column)
    return column.removesuffix(f"[{unit}]").strip() if unit else column


@dataclass(frozen=True)
class OutputPrediction(RecordingPrediction):
    """One trial, measured and simulated at the same samples.

    t          stamps of the recording [s] (n,)
    columns    names (m,);  units, sigma (m,)
    rms        (m,) root mean squares of the differences, in the columns' units
    measured, simulated  (n, m);  before: the same at the first guess, or None
    vertices, triangles  surface of the body at the samples, world (n, k, 3) [m], (l, 3), if soft
    """

    t: np.ndarray
    columns: tuple[str, ...]
    units: tuple[str, ...]
    sigma: np.ndarray
    rms: np.ndarray
    measured: np.ndarray
    simulated: np.ndarray
    before: np.ndarray | None
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None


@dataclass(frozen=True)
class OutputModel(Model):
    """Scene and parameters, and the columns that are compared;  clock  of the sensors."""

    clock: Clock
    columns: tuple[Column, ...]

    @classmethod
    def build(cls, config: EstimationConfig) -> OutputModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        scene, parameters = scene_and_map(config)
        options, key = config.measurement, "measurement.columns"
        if not options.columns:
            raise config.error(key, {}, "at least one column")
        delay, late = config.number(options.delay, "measurement.delay")
        drift, loses = config.number(options.drift, "measurement.drift")
        if not drift > -1:
            raise config.error("measurement.drift", drift, "a number > -1")
        clock = Clock(delay, drift, late, loses)
        model = cls(config, scene, parameters, clock, ())
        columns = [
            model.column(name, value, f"{key}.{name}") for name, value in options.columns.items()
        ]
        keys = [column.error_key for column in columns]
        if len(set(keys)) < len(keys):
            rule = "names that differ by more than dots and underscores"
            raise config.error(key, list(options.columns), rule)
        return cls(config, scene, parameters, clock, tuple(columns))

    def column(self, name: str, value: object, key: str) -> Column:
        """One entry of `measurement.columns`, checked against the scene."""
        config = self.config
        options = read_options(ColumnOptions, Reader(config.place), value, key)
        pairs = [config.number(getattr(options, k), f"{key}.{k}") for k in ("scale", "offset")]
        numbers, names = zip(*pairs, strict=True)
        if numbers[0] == 0:
            raise config.error(f"{key}.scale", 0.0, "a number other than 0")
        try:
            probe = OutputTrack(
                scene=self.scene.engine, output=options.output, t=np.zeros(1), measured=np.zeros(1),
                interval=self.interval, sigma=options.sigma,
            )  # fmt: skip
        except InputError as error:
            raise config.error(
                f"{key}.output", options.output, error.accepted, error.remedy
            ) from None
        return Column(name, options, probe.value.unit, NamedNumbers(numbers, names))

    def tracks(self, seen: Observation) -> tuple[OutputTrack, ...]:
        """The objectives of a recording, one a column."""
        return tuple(
            OutputTrack(
                body=self.config.body, scene=self.scene.engine, output=column.options.output,
                t=seen.t, interval=self.interval, measured=column.of(seen)[0],
                sigma=column.options.sigma, gauge=column.gauge, clock=self.clock, name=column.name,
            )
            for column in self.columns
        )  # fmt: skip

    def fitted(self, seen: Observation, horizon: int = 0) -> Trial:
        """The recording as a trial of the inverse layer; horizon: samples that count, 0: all."""
        kept = seen.kept(slice(horizon or None))
        steps = self.rows(kept.t[-1]) * self.scene.options.record_every
        return Trial(seen.name, steps, self.tracks(kept), (), self.loss)

    def problem(
        self, trials: Sequence[Observation], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these trials."""
        return self.of_trials([self.fitted(seen, horizon) for seen in trials])

    def simulated(self, seen: Observation, run: Any, z: np.ndarray) -> np.ndarray:
        """What the sensors would show (n, m), in the columns' units."""
        values: Mapping[str, float] = self.map.named(z)
        return np.stack([one.predicted(run, values) for one in self.tracks(seen)], axis=1)


class OutputExperiment(Experiment):
    """See experiment.Experiment; trials are Observations."""

    measurement, fit = OutputMeasurementOptions, SquaresOptions
    recordings = OutputFiles
    model_of = OutputModel.build
    what = "trials"
    model: OutputModel

    def role(
        self, given: Sequence[Observation] | None, recordings: Any, notes: list[str]
    ) -> list[Observation]:
        """Trials of one role, none before the start of the scene, all with every column."""
        if not given and recordings is None:
            return []
        seen = list(given or ()) or [
            one for file in recordings.files for one in read_trials(file, "outputs")
        ]
        for one in seen:
            check_start(one)
            for column in self.model.columns:
                if np.isnan(column.of(one)[0]).all():
                    raise InputError(one.place, column.name, "nothing", "at least one number")
        key = recordings.key if recordings else "observations"
        refuse_twice([one.name for one in seen], self.config.place, key)
        return seen

    def missing(self, trial: Observation) -> int:
        """Cells without a number."""
        return sum(int(np.isnan(column.of(trial)[0]).sum()) for column in self.model.columns)

    def title(self, trial: Observation) -> str:
        """Name of the file and number of the trial."""
        return trial.name

    def compared(self, prediction: OutputPrediction) -> dict:
        """Every column by itself."""
        both = prediction.measured, prediction.simulated
        return {
            name: (prediction.t, *(b[:, k : k + 1] for b in both))
            for k, name in enumerate(prediction.columns)
        }

    def prediction(
        self, trial: Observation, run: Any, ours: np.ndarray, before: np.ndarray | None, role: str
    ) -> OutputPrediction:
        """See Experiment.prediction."""
        columns = self.model.columns
        names = tuple(column.name for column in columns)
        tables, units = zip(*(column.of(trial) for column in columns), strict=True)
        measured = np.stack(tables, axis=1)
        rms = np.sqrt(np.nanmean((ours - measured) ** 2, axis=0))
        return OutputPrediction(
            trial.name, role, trial.source, trial.t, names, units,
            np.array([column.options.sigma for column in columns]), rms, measured, ours, before,
            *self.model.surface(run, trial.t),
            errors={column.error_key: float(one) for column, one in zip(columns, rms, strict=True)},
        )  # fmt: skip
