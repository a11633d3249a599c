"""Options of an estimation: one dataclass per section of the YAML, whose fields are its keys."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..fields import REQUIRED, Field, Reader
from ..parameter import SCALE, SETS, UNIT

T = TypeVar("T")

KINDS = {
    "tosses": ".toss_kind",
    "poses": ".poses.kind",
    "markers": ".markers.kind",
    "clouds": ".clouds.kind",
    "sensors": ".clouds.kind",
    "joints": ".joints.kind",
}
"""Kind of an estimation -> module with its KIND (kinds.py)."""


def option(kind: str, doc: str, default: object, unit: str = "", **rules) -> object:
    """A dataclass field that is also a checked key of the YAML (docs/real2sim.md lists them)."""
    return keyed(Field(kind, doc, unit, default=default, **rules))


def keyed(key: Field) -> object:
    """A dataclass field that is this key of the YAML."""
    if isinstance(key.default, dict):
        return dataclasses.field(default_factory=dict, metadata={"field": key})
    default = None if key.default is REQUIRED else key.default
    return dataclasses.field(default=default, metadata={"field": key})


def fields_of(section: type) -> dict[str, Field]:
    """Keys of a section: name -> Field."""
    return {f.name: f.metadata["field"] for f in dataclasses.fields(section)}


def read_options(section: type[T], reader: Reader, value: object, key: str) -> T:
    """Read one section of the YAML into its dataclass; InputError on unknown or wrong keys."""
    values = reader.section(fields_of(section), value, key)
    return section(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def read_paths(reader: Reader, names: tuple, base: Path, key: str, what: str) -> tuple[Path, ...]:
    """Files of a section, relative to `base`; InputError unless there is one. what: "npz file"."""
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise reader.error(f"{key}.files[{i}]", name, f"the path of {what}")
    if not names:
        raise reader.error(f"{key}.files", [], f"at least one {what.split(' ', 1)[1]}")
    return tuple(base / name for name in names)


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Section `data`: the recordings of training and of validation."""

    train: dict = option("mapping", "files, and which of their tosses are trained on", REQUIRED)
    validate: dict = option("mapping", "files, and which of their tosses are predicted", None)


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Sections `data.train` and `data.validate` of tosses."""

    files: tuple = option("list", "npz files, or bags, relative to the YAML", REQUIRED)
    trials: object = option("any", "all, a list of ids, or {random: COUNT, seed: SEED}", "all")
    exclude_train: bool = option("flag", "leave out tosses that the YAML trains on", True)
    published: object = option(
        "any", "beside (a table next to each file), none, or a list of tables", "beside"
    )


@dataclass(frozen=True, kw_only=True)
class RandomOptions:
    """Section `data.*.trials` when tosses are drawn."""

    random: int = option("integer", "how many tosses", REQUIRED, minimum=1)
    seed: int = option("integer", "seed of the draw", 0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class TossMeasurementOptions:
    """Section `measurement` of tosses: what was recorded, and how a prediction is judged."""

    sigma_position: float = option(
        "number", "noise of a position", 1e-3, "m", minimum=0, strict=True
    )
    sigma_rotation: float = option(
        "number", "noise of a rotation, per axis", 0.5, "deg", minimum=0, strict=True
    )
    half_edge: float = option(
        "number", "half edge of the cube, recorded lengths", 0.0524, "m", minimum=0, strict=True
    )
    start_gravity: float = option(
        "number", "gravity of the metric's refit of v_z", 9.81, "m/s^2", minimum=0
    )
    own_gravity: bool = option(
        "flag",
        "refit v_z with the model's gravity (the metric's figures are reported too)",
        False,
    )
    frames_before: int = option(
        "integer", "frames from the start to the first below sqrt(3) half edges", 3, minimum=0
    )
    body_offset: tuple = option(
        "numbers",
        "the tracker's pivot in the body: x, y, z [m, recorded lengths] and a rotation vector "
        "[rad]; one that is to be estimated: kind poses",
        (),
    )
    check_gravity: bool = option("flag", "compare free flight with the world's gravity", True)


@dataclass(frozen=True, kw_only=True)
class TossSimulationOptions:
    """Section `simulation` of tosses."""

    steps_per_frame: int = option("integer", "time steps per frame", 8, minimum=1)
    validate_steps_per_frame: int = option(
        "integer", "the same when predicting (default: as in training)", None, minimum=1
    )
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
    loss_scale: float = option(
        "number", "root of the total beyond which a trial counts less", 0.1, minimum=0, strict=True
    )
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


@dataclass(frozen=True, kw_only=True)
class TossFitOptions(FitOptions):
    """Section `fit` of tosses."""

    initial_state: str = option(
        "choice",
        "metric: open loop from the metric's start; nuisance: 12 numbers per toss are fitted too",
        "metric",
        choices=("metric", "nuisance"),
    )
    position_weight: float = option(
        "number",
        "factor on the square of the position error in a toss's e_q (1: the metric's e_q)",
        1.0,
        minimum=0,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class UncertaintyOptions:
    """Section `uncertainty`: where the standard deviations come from."""

    method: str = option(
        "choice",
        "bootstrap or sandwich: over trials; correlated: from the residuals, alike over time; "
        "covariance: from the noise of the sensor alone",
        "bootstrap",
        choices=("bootstrap", "sandwich", "correlated", "covariance", "none"),
    )
    samples: int = option("integer", "resampled sets of trials for bootstrap", 200, minimum=10)
    seed: int = option("integer", "seed of the resampling", 0, minimum=0)
    profile: tuple = option(
        "list", "parameters whose profile likelihood, and interval by it, is wanted", ()
    )
    bands: int = option(
        "integer", "validated trials whose prediction bands are wanted", 0, minimum=0
    )


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
    reach: float = option(
        "number", "bounds of the centre's coordinates", 0.3, "m", minimum=0, strict=True
    )
    stretch_sigma: float = option(
        "number",
        "prior of the logarithms of the three radii, and of their shears as shares of these",
        0.7,
        minimum=0,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class TopOptions:
    """Top level of an estimation YAML."""

    name: str = option("name", "name of the estimation", "estimation")
    kind: str = option("choice", "what was recorded, see above", "tosses", choices=tuple(KINDS))
    scene: object = option(
        "any", "scene YAML (relative to this file), or a scene mapping", REQUIRED
    )
    body: object = option(
        "any", "the body that was tracked; of kind poses also a list of bodies", REQUIRED
    )
    data: dict = option("mapping", "recordings", REQUIRED)
    measurement: dict = option("mapping", "noise and metric", None)
    simulation: dict = option("mapping", "time steps", None)
    parameters: dict = option("mapping", "what is estimated, and derived from it", REQUIRED)
    inertias: dict = option("mapping", "payload of the scene -> its whole inertia is estimated", {})
    fit: dict = option("mapping", "objective and optimiser", None)
    uncertainty: dict = option("mapping", "standard deviations", None)
