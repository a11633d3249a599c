"""Options of an estimation: one dataclass per section of the YAML, whose fields are its keys."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np

from ..errors import InputError, nearest
from ..fields import REQUIRED, Field, Reader
from ..parameter import SCALE, SETS, UNIT

T = TypeVar("T")

KINDS = {
    "poses": ".sensors.pose.experiment.PoseExperiment",
    "markers": ".sensors.marker.experiment.MarkerExperiment",
    "clouds": ".sensors.cloud.experiment.CloudExperiment",
    "sensors": ".sensors.cloud.experiment.CloudExperiment",
    "joints": ".sensors.joint.experiment.JointExperiment",
    "efforts": ".sensors.effort.experiment.EffortExperiment",
    "wrenches": ".sensors.wrench.experiment.WrenchExperiment",
    "outputs": ".sensors.output.OutputExperiment",
    "statics": ".sensors.statics.experiment.StaticsExperiment",
}
"""Kind of an estimation -> its experiment (experiment.py)."""


def option(kind: str, doc: str, default: object, unit: str = "", **rules: Any) -> Any:
    """A dataclass field that is also a checked key of the YAML (estimation_keys.md in docs/)."""
    return keyed(Field(kind, doc, unit, default=default, **rules))


def keyed(key: Field) -> Any:
    """A dataclass field that is this key of the YAML."""
    if isinstance(key.default, dict):
        return dataclasses.field(default_factory=dict, metadata={"field": key})
    default = None if key.default is REQUIRED else key.default
    return dataclasses.field(default=default, metadata={"field": key})


def positive(doc: str, default: object, unit: str = "") -> Any:
    """An option that is a number > 0."""
    return option("number", doc, default, unit, minimum=0, strict=True)


def fields_of(section: type) -> dict[str, Field]:
    """Keys of a section: name -> Field."""
    return {f.name: f.metadata["field"] for f in dataclasses.fields(section)}


def read_options(section: type[T], reader: Reader, value: object, key: str) -> T:
    """Read one section of the YAML into its dataclass; InputError on unknown or wrong keys."""
    values = reader.section(fields_of(section), value, key)
    return section(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Section `data`: the recordings of training and of validation."""

    train: dict = option("mapping", "recordings that are trained on", REQUIRED)
    validate: dict = option("mapping", "recordings that are predicted", None)


@dataclass(frozen=True, kw_only=True)
class FilesOptions:
    """Sections `data.train` and `data.validate`."""

    files: tuple = option("list", "files, folders or bags, relative to the YAML", REQUIRED)


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """Section `simulation`; steps are the scene's."""

    threads: int = option("integer", "0 uses every core; results do not change", 0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Section `fit`: what is minimised over the training tosses, and how."""

    loss: str = option(
        "choice",
        "how a trial's total counts: a toss's mean e_q, a recording's mean square over sigma",
        "soft_l1",
        choices=("squared", "soft_l1", "cauchy"),
    )
    loss_scale: float = positive("root of the total beyond which a trial counts less", 0.1)
    horizons: tuple = option(
        "numbers",
        "frames after the start that are fitted, stage by stage (0: all)",
        (0,),
        minimum=0,
    )
    continuation: dict = option(
        "mapping",
        "parameter -> values at which it is held, stage by stage, before it is free",
        {},
    )
    starts: int = option("integer", "starting points: the YAML's, then seeded draws", 1, minimum=1)
    seed: int = option("integer", "seed of every draw", 0, minimum=0)
    optimizer: str = option(
        "choice",
        "levenberg_marquardt; lbfgs and adam take one adjoint gradient per step",
        "levenberg_marquardt",
        choices=("levenberg_marquardt", "lbfgs", "adam"),
    )
    iterations: int = option("integer", "iterations per stage at most", 30, minimum=1)
    tolerance: float = option(
        "number", "relative decrease of the objective that ends a stage", 1e-5, minimum=0
    )
    search_evaluations: int = option(
        "integer",
        "objectives evaluated by the final search without gradients (0: none)",
        0,
        minimum=0,
    )
    check_settling: bool = option(
        "flag",
        "note where the derivatives at the end depend on the phase of contacts within a step",
        True,
    )
    check_step: bool = option(
        "flag",
        "simulate the end with half the time step too: how far parameters would move [std_dev]",
        True,
    )
    check_mesh: bool = option(
        "flag",
        "simulate the end on a mesh of solids twice as fine too, and with the other element",
        True,
    )


@dataclass(frozen=True, kw_only=True)
class SquaresOptions(FitOptions):
    """Section `fit` of readings: sums of squares over their sigmas."""

    loss: str = option(
        "choice",
        "how a trial's sum of squares counts",
        "squared",
        choices=("squared",),
    )


@dataclass(frozen=True, kw_only=True)
class UncertaintyOptions:
    """Section `uncertainty`: where the standard deviations come from."""

    method: str = option(
        "choice",
        "auto: covariance where residuals are noise, else sandwich, or correlated of few trials "
        "(after a search: bootstrap); bootstrap or sandwich: over trials; correlated: from the "
        "residuals and their correlation; covariance: from the noise of the sensor alone",
        "auto",
        choices=("auto", "bootstrap", "sandwich", "correlated", "covariance", "none"),
    )
    samples: int = option("integer", "resampled sets of trials for bootstrap", 200, minimum=10)
    seed: int = option("integer", "seed of the resampling", 0, minimum=0)
    halves: bool = option(
        "flag", "fit two halves of the trials too, and enlarge std_dev where they disagree", True
    )
    one_sided: bool = option(
        "flag", "where std_dev is of no use, look for a bound: at least, or at most", True
    )
    profile: tuple = option(
        "list", "parameters whose profile likelihood, and interval by it, is wanted", ()
    )
    bands: int = option(
        "integer", "validated trials whose prediction bands are wanted", 0, minimum=0
    )


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """Section `choice`: law and start, chosen by short fits of a few trials before the fit."""

    laws: tuple = option(
        "list", "laws of the scene whose others are tried too: damping, friction, rolling, "
        "viscosity, element, soft", (),
    )  # fmt: skip
    starts: int = option(
        "integer", "starting points of every law: the YAML's, then seeded draws", 1, minimum=1
    )
    seed: int = option("integer", "seed of the draws", 0, minimum=0)
    trials: int = option("integer", "trials that are fitted, spread evenly", 8, minimum=1)
    horizon: int = option(
        "integer", "frames after the start that are fitted, after half as many (0: all)", 0,
        minimum=0,
    )  # fmt: skip
    iterations: int = option("integer", "iterations of every short fit at most", 10, minimum=1)


@dataclass(frozen=True, kw_only=True)
class ParameterOptions:
    """Section `parameters.<name>`."""

    unit: str = keyed(UNIT)
    value: float = option("number", "first guess, or the value of a fixed parameter", REQUIRED)
    bounds: tuple = option("bounds", "smallest and largest value", None)
    scale: str = keyed(SCALE)
    fixed: bool = option("flag", "hold it at its value", False)
    prior_mean: float = option("number", "mean of a Gaussian prior", None)
    prior_sigma: float = option("number", "its standard deviation", None, minimum=0, strict=True)
    sets: dict = keyed(SETS)
    doc: str = option("text", "what it is, for the report", "")


@dataclass(frozen=True, kw_only=True)
class InertiaOptions:
    """Section `inertias.<payload>`: a first guess; ten parameters NAME.alpha ... are estimated."""

    mass: float = option("number", "first guess", REQUIRED, "kg", minimum=0, strict=True)
    centre: tuple = option(
        "vector3", "first guess, from the payload's origin, axes of its body", REQUIRED, "m"
    )
    inertia: tuple = option(
        "numbers",
        "first guess about its own centre, axes of the body: [xx, yy, zz] or with xy, xz, yz",
        REQUIRED,
        "kg m^2",
    )
    mass_factor: float = option(
        "number", "bounds of the mass are this factor off", 10.0, minimum=1, strict=True
    )
    reach: float = positive("bounds of the centre's coordinates", 0.3, "m")
    stretch_sigma: float = positive(
        "prior of the logarithms of the three radii, and of their shears as shares of these", 0.7
    )


@dataclass(frozen=True, kw_only=True)
class TopOptions:
    """Top level of an estimation YAML."""

    name: str = option("name", "name of the estimation", "estimation")
    kind: str = option("choice", "what was recorded, see above", "poses", choices=tuple(KINDS))
    scene: object = option(
        "any", "scene YAML (relative to this file), or a scene mapping", REQUIRED
    )
    body: object = option(
        "any", "the body that was tracked; of kind poses also a list of bodies", REQUIRED
    )
    data: dict = option("mapping", "recordings; of every kind but statics", None)
    statics: dict = option(
        "mapping",
        "places at rest and natural frequencies, of kind statics alone, else beside `data`",
        None,
    )
    measurement: dict = option("mapping", "noise, and where trials start", None)
    simulation: dict = option("mapping", "time steps", None)
    parameters: dict = option("mapping", "what is estimated, and derived from it", REQUIRED)
    inertias: dict = option("mapping", "payload of the scene -> its whole inertia is estimated", {})
    choice: dict = option("mapping", "law and start, chosen by short fits before the fit", None)
    fit: dict = option("mapping", "objective and optimiser", None)
    uncertainty: dict = option("mapping", "standard deviations", None)


@dataclass(frozen=True)
class EstimationConfig:
    """An estimation YAML, checked (config.py reads it).

    place         the file (or "YAML text") that messages name
    base          folder that relative paths of the YAML start from
    scene         scene mapping, or the path of a scene YAML
    bodies        names of the tracked bodies
    kind          what was recorded; train, validate, measurement and simulation are its
    train         recordings that are fitted;  validate: those that are predicted (None: none)
    parameters    name -> ParameterOptions, in the order of the YAML, those of inertias behind
    choice        how law and start are chosen before the fit, None: they are as written
    inertias      payloads whose ten parameters are among them
    statics       what was measured of the scene at rest (sensors/statics/loads.py), or None
    robot         of kind efforts (sensors/effort/options.py), which has no scene, body, simulation
                  or parameters of its own; else None
    source        the mapping as read, with every --set, --train and --validate in it (provenance)
    """

    place: str
    base: Path
    name: str
    kind: str
    scene: Mapping | Path
    bodies: tuple[str, ...]
    train: Any
    validate: Any
    measurement: Any
    simulation: Any
    parameters: Mapping[str, ParameterOptions]
    fit: FitOptions
    uncertainty: UncertaintyOptions
    source: Mapping
    inertias: tuple[str, ...] = ()
    statics: Any = None
    robot: Any = None
    choice: ChoiceOptions | None = None

    def error(self, key: str, value: object, accepted: str, remedy: str = "") -> InputError:
        """An InputError that names this estimation's file."""
        return InputError(self.place, key, value, accepted, remedy)

    @property
    def body(self) -> str:
        """The tracked body, of several the first."""
        return self.bodies[0]

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that are estimated."""
        return tuple(name for name, p in self.parameters.items() if not p.fixed)

    def number(
        self, value: object, key: str, rule: str = "a finite number, or the name of a parameter"
    ) -> tuple[float, str]:
        """(number, "") or (first guess, name of the parameter); InputError for anything else."""
        if is_number(value):
            return float(value), ""
        if not isinstance(value, str) or value not in self.parameters:
            raise self.error(key, value, rule, nearest(str(value), self.parameters))
        return self.parameters[value].value, value

    def places(self, markers: Mapping, key: str) -> np.ndarray:
        """Places of markers (n, 3) [m]; InputError naming one that is none."""
        for name, place in markers.items():
            good = isinstance(place, (list, tuple)) and len(place) == 3
            if not good or not all(is_number(x) for x in place):
                raise self.error(f"{key}.{name}", place, "three finite numbers [m]")
        return np.array(list(markers.values()), float).reshape(-1, 3)


def is_number(value: object) -> TypeGuard[float]:
    """True for a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
