"""An estimation YAML, read strictly: what is estimated, from which recordings, tested on which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..fields import Reader, deprecated
from ..files import is_regular
from ..yaml_file import assigned, copied, parse_yaml, read_yaml
from .experiment import ALONE, Experiment, kind_of
from .inertias import inertia_parameters
from .options import (
    ChoiceOptions,
    EstimationConfig,
    FitOptions,
    ParameterOptions,
    TopOptions,
    UncertaintyOptions,
    fields_of,
    is_number,
    read_options,
)
from .sensors.statics.loads import read_statics

TEXT = "YAML text"
FORMER_KIND = "tosses"


def load_estimation(
    source: str | Path | Mapping,
    *,
    train: Sequence[str | Path] | None = None,
    validate: Sequence[str | Path] | None = None,
    set: Iterable[str] = (),
    parameters: Sequence[str] | None = None,
    base: Path | None = None,
) -> EstimationConfig:
    """Read an estimation from a file, YAML text or a mapping.

    train, validate  files that replace the whole list of the YAML; all that is in them is used
    set              "KEY=VALUE" with dotted keys, e.g. "fit.iterations=5", 'a."b.c"=1' for key b.c
    parameters       names to estimate; all others are fixed at their values
    base             folder from which paths in text or a mapping start, by default the present one
    Raises InputError naming file, key, value and rule.
    """
    content, place, folder = read_content(source, set)
    base = folder if base is None else base
    reader = Reader(place)
    present = _with_present_kind(reader, content)
    named = reader.value(fields_of(TopOptions)["kind"], present.get("kind", "poses"), "kind")
    kind = kind_of(str(named))
    if kind.top is not TopOptions:
        return _without_scene(reader, kind, content, base, (train, validate, parameters))
    top = read_options(TopOptions, reader, present, "")
    grouped = inertia_parameters(reader, top.inertias)
    chosen = _parameters(reader, top.parameters, grouped, parameters)
    bodies = _bodies(reader, kind, top.body)
    statics = None
    if top.statics is not None or top.kind == ALONE:
        statics = read_statics(reader, top.statics, base, bodies[0])
    own, other = _roles(reader, kind, content, top.data, base, train, validate)
    return EstimationConfig(
        place=place,
        base=base,
        name=top.name,
        kind=top.kind,
        scene=_scene(reader, top.scene, base),
        bodies=bodies,
        train=own,
        validate=other,
        measurement=read_options(kind.measurement, reader, top.measurement, "measurement"),
        simulation=read_options(kind.simulation, reader, top.simulation, "simulation"),
        parameters=chosen,
        fit=_fit(reader, kind, top.fit, chosen),
        uncertainty=_uncertainty(reader, top.uncertainty, chosen),
        source=content,
        inertias=tuple(top.inertias),
        statics=statics,
        choice=None
        if top.choice is None
        else read_options(ChoiceOptions, reader, top.choice, "choice"),
    )


def _without_scene(
    reader: Reader, kind: type[Experiment], content: dict, base: Path, others: tuple
) -> EstimationConfig:
    """An estimation of a kind that has a robot and no scene; `others`: files that replace those of
    training and validation, and names of parameters, which it has not."""
    train, validate, parameters = others
    if parameters:
        rule = "none: a regression estimates all of its own (fit, measurement.gains)"
        raise reader.error("parameters", list(parameters), rule)
    top: Any = read_options(kind.top, reader, content, "")
    own, other = _roles(reader, kind, content, top.data, base, train, validate)
    return EstimationConfig(
        place=reader.place,
        base=base,
        name=top.name,
        kind=top.kind,
        scene={},
        bodies=(),
        train=own,
        validate=other,
        measurement=read_options(kind.measurement, reader, top.measurement, "measurement"),
        simulation=None,
        parameters={},
        fit=read_options(kind.fit, reader, top.fit, "fit"),
        uncertainty=UncertaintyOptions(),
        source=content,
        robot=kind.robot_of(reader, top.robot, base),
    )


def _roles(
    reader: Reader, kind: type[Experiment], content: dict, data: object, base: Path,
    train: Sequence | None, validate: Sequence | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Recordings to train on and to validate on, those of the command line in place of the
    YAML's."""
    own, other = kind.recordings.roles(reader, data, base)
    if train:
        own, content["data"]["train"] = own.others("--train", train)
    if validate:
        other, content["data"]["validate"] = (other or own).others("--validate", validate)
    return own, other


def _with_present_kind(reader: Reader, content: Mapping) -> dict:
    """The mapping without the former kind: tosses were poses that start by height, and the kind of
    a file that names none."""
    if content.get("kind", FORMER_KIND) != FORMER_KIND:
        return dict(content)
    if "kind" in content:
        new = "poses` with `measurement.start: height"
        deprecated(reader.place, f"kind: {FORMER_KIND}", new)
    measurement = reader.mapping(content.get("measurement"), "measurement")
    return {**content, "kind": "poses", "measurement": {"start": "height", **measurement}}


def read_content(source: str | Path | Mapping, set: Iterable[str] = ()) -> tuple[dict, str, Path]:
    """(mapping, place, folder) of a file, YAML text or mapping, with every KEY=VALUE of `set`."""
    content, place, base = _content(source)
    changed = assigned(Reader(place).mapping(content, ""), set, place, base)
    return Reader(place).mapping(changed, ""), place, base


def _content(source: str | Path | Mapping) -> tuple[object, str, Path]:
    """(parsed content, place, base folder) of a file, YAML text or mapping."""
    if isinstance(source, Mapping):
        return copied(source), "estimation", Path.cwd()
    if isinstance(source, str) and ("\n" in source or ": " in source):
        return parse_yaml(source, TEXT), TEXT, Path.cwd()
    path = Path(source)
    return read_yaml(path), str(path), path.resolve().parent


def _bodies(reader: Reader, kind: type[Experiment], value: object) -> tuple[str, ...]:
    """Names of the tracked bodies; several only where the kind knows them."""
    names = tuple(value) if kind.several and isinstance(value, tuple) else (value,)
    if not names or not all(isinstance(name, str) and name for name in names):
        rule = "the name of a body of the scene" + (", or a list of such" if kind.several else "")
        raise reader.error("body", value, rule)
    return names


def _fit(
    reader: Reader,
    kind: type[Experiment],
    value: object,
    parameters: Mapping[str, ParameterOptions],
) -> FitOptions:
    """Section fit, its rules between keys checked."""
    fit = read_options(kind.fit, reader, value, "fit")
    kind.check_fit(reader, fit)
    if not fit.horizons or any(h != int(h) for h in fit.horizons):
        raise reader.error("fit.horizons", list(fit.horizons), "whole numbers, at least one")
    for name, values in fit.continuation.items():
        key = f"fit.continuation.{name}"
        options = parameters.get(name)
        if options is None or options.fixed:
            free = [n for n, p in parameters.items() if not p.fixed]
            raise reader.error(key, name, "an estimated parameter", nearest(name, free))
        low, high = options.bounds
        good = isinstance(values, (list, tuple)) and values
        if not good or not all(is_number(v) and low <= v <= high for v in values):
            raise reader.error(key, values, f"a list of numbers from {low:g} to {high:g}")
    if len({len(values) for values in fit.continuation.values()}) > 1:
        raise reader.error("fit.continuation", fit.continuation, "lists of one length")
    return fit


def _choice(reader: Reader, value: object) -> ChoiceOptions | None:
    """Section choice, None without one."""
    return None if value is None else read_options(ChoiceOptions, reader, value, "choice")


def _uncertainty(
    reader: Reader, value: object, parameters: Mapping[str, ParameterOptions]
) -> UncertaintyOptions:
    """Section uncertainty; profiles are of parameters that are estimated."""
    options = read_options(UncertaintyOptions, reader, value, "uncertainty")
    free = [n for n, p in parameters.items() if not p.fixed]
    for i, name in enumerate(options.profile):
        if name not in free:
            rule, near = "an estimated parameter", nearest(str(name), free)
            raise reader.error(f"uncertainty.profile[{i}]", name, rule, near)
    return options


def _scene(reader: Reader, value: object, base: Path) -> Mapping | Path:
    """Scene mapping, or the absolute path of a scene file."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        raise reader.error("scene", value, "a scene mapping, or the path of a scene YAML")
    path = base / value
    if not is_regular(path):
        raise reader.error("scene", value, "an existing scene YAML", f"looked for {path}")
    return path


def _parameters(
    reader: Reader,
    section: Mapping,
    grouped: Mapping[str, ParameterOptions],
    wanted: Sequence[str] | None,
) -> dict[str, ParameterOptions]:
    """Options of every parameter, those of inertias behind; with `wanted` only those are free."""
    result = {}
    for name, value in section.items():
        key = f"parameters.{name}"
        entry = read_options(ParameterOptions, reader, value, key)
        if entry.bounds is None and not entry.fixed:
            raise reader.error(
                f"{key}.bounds", None, "two numbers, lower < upper", "it is estimated"
            )
        if not entry.fixed:
            low, high = entry.bounds
            if not low <= entry.value <= high:
                rule = f"a number within the bounds {low:g} to {high:g} [{entry.unit}]"
                raise reader.error(f"{key}.value", entry.value, rule)
            if entry.scale == "log" and low <= 0.0:
                raise reader.error(f"{key}.bounds", [low, high], "numbers > 0 on a log scale")
        if (entry.prior_mean is None) != (entry.prior_sigma is None):
            got = [entry.prior_mean, entry.prior_sigma]
            raise reader.error(key, got, "prior_mean and prior_sigma together, or neither")
        result[name] = entry
    for name, entry in grouped.items():
        if name in result:
            raise reader.error(f"parameters.{name}", name, "a name that no inertia has")
        result[name] = entry
    if wanted:
        for name in wanted:
            if name not in result:
                raise reader.error("parameters", name, "a parameter", nearest(name, result))
        result = {n: replace(p, fixed=n not in wanted) for n, p in result.items()}
        for name in wanted:
            if result[name].bounds is None:
                raise reader.error(f"parameters.{name}.bounds", None, "bounds of an estimated one")
    if not any(not p.fixed for p in result.values()):
        raise reader.error("parameters", sorted(result), "at least one that is not fixed")
    return result
