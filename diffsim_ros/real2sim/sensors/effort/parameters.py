"""What efforts told of a robot, as parameters of a result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....robots.dynamics import PARAMETERS, inertial_parameters
from ...efforts import EffortModel, base_parameters
from ...efforts.identify import CLEAR
from ...efforts.signs import OWN
from ...results import ParameterResult

HELD = {
    "given": "given",
    "reference": "held at its value with the URDF's inertias: efforts alone do not tell heavier "
    "bodies from larger gains",
    "unseen": "not told by the efforts: taken as 0",
    "stuck": "its efforts have one value at most samples: taken as 0",
}
"""Kinds of gains that are not estimated -> what a reader is told."""
STUCK_NOTE = "its efforts have one value at most samples"
BESIDE = "beside a gain of 0"
BACKWARD = "came out with the wrong sign: taken as 0"
MOMENTS = dict.fromkeys(PARAMETERS[4:], "kg m^2")
UNITS = {PARAMETERS[0]: "kg", **dict.fromkeys(PARAMETERS[1:4], "kg m"), **MOMENTS}
"""Unit of an inertial parameter."""


def parameters_of(model: EffortModel, unit: str) -> tuple[ParameterResult, ...]:
    """Those of the payload, then of every joint: gain, armature, offset, and the coefficients of
    its law of friction.

    unit  of the efforts
    """
    return (*payload_of(model), *_listed(model, unit))


def _listed(model: EffortModel, unit: str) -> Iterator[ParameterResult]:
    c, sigma = model.coefficients, deviations(model)
    for j, joint in enumerate(model.robot.joints):
        kind, stuck = model.kinds[j], model.kinds[j] == "stuck"
        slides = joint.kind == "prismatic"
        place, gain = ("m", f"{unit}/N") if slides else ("rad", f"{unit}/(N m)")
        gain = "1" if model.kinds[j] == "given" and c.gain[j] == 1.0 else gain
        units = {
            "armature": f"{unit} s^2/{place}", "viscous": f"{unit} s/{place}", "by_load": gain
        }  # fmt: skip
        note = HELD.get(kind, "")
        dry = c.friction[j][terms_of(model, j).index("coulomb")]
        sure = CLEAR * sigma[f"coulomb_{joint.name}"]
        if kind == "unseen" and abs(dry) > sure:
            note += f"; its friction says that it is {'positive' if dry > 0 else 'negative'}"
        yield _one(
            f"gain_{joint.name}", gain, c.gain[j],
            sigma[f"gain_{joint.name}"] if kind == "estimated" else None, note,
            kind in ("unseen", "stuck"), kind != "estimated",
        )  # fmt: skip
        for term, value, kept in zip(terms_of(model, j), c.friction[j], model.kept[j], strict=True):
            key = "viscous" if term.startswith("viscous") else term
            name = f"{term}_{joint.name}"
            note = STUCK_NOTE if stuck else BESIDE if kind == "unseen" else ""
            note = note if kept else BACKWARD
            yield _one(name, units.get(key, unit), value, sigma[name], note, stuck, not kept)


def _one(
    name: str, unit: str, value: float, std_dev: float | None, note: str, unseen: bool, held: bool
) -> ParameterResult:
    good = std_dev if std_dev is not None and np.isfinite(std_dev) and std_dev > 0 else None
    return ParameterResult(
        name, unit, float(value), good, None, None, not unseen, False, note, held
    )


def terms_of(model: EffortModel, j: int) -> tuple[str, ...]:
    """Names of a joint's coefficients beside its gain."""
    return (*OWN, *model.laws[j].terms)


def names_of(model: EffortModel) -> list[str]:
    """Names of what `EffortModel.covariance` is of, behind the inertial parameters."""
    joints = model.robot.joint_names
    found = [f"gain_{name}" for name in joints]
    for j, name in enumerate(joints):
        found += [f"{term}_{name}" for term in terms_of(model, j)]
    return found


def deviations(model: EffortModel) -> dict[str, float]:
    """Name -> standard deviation, enlarged where halves of the logs disagree."""
    p = model.coefficients.phi.size
    own = np.sqrt(np.maximum(np.diagonal(model.covariance)[p:], 0.0)) * model.enlargement
    return dict(zip(names_of(model), own.tolist(), strict=True))


def correlation_of(model: EffortModel) -> tuple[tuple[str, ...], np.ndarray]:
    """Names (k,) and correlations (k, k) of the estimated gains and friction."""
    p, names = model.coefficients.phi.size, names_of(model)
    held = [
        f"gain_{name}"
        for name, kind in zip(model.robot.joint_names, model.kinds, strict=True)
        if kind != "estimated"
    ]
    kept = [i for i, name in enumerate(names) if name not in held]
    own = model.covariance[np.ix_([p + i for i in kept], [p + i for i in kept])]
    spread = np.sqrt(np.maximum(np.diagonal(own), 0.0))
    scale = np.where(spread > 0, spread, 1.0)
    found = np.where(np.eye(len(kept), dtype=bool), 1.0, own / np.outer(scale, scale))
    return tuple(names[i] for i in kept), found


def derived_of(model: EffortModel) -> tuple[ParameterResult, ...]:
    """Where inertias were estimated: the combinations that efforts depend on, then those of every
    body, to which the URDF's count as a measurement."""
    c = model.coefficients
    if not np.isfinite(c.gamma) or model.options.payload:
        return ()
    p, factor = c.phi.size, model.enlargement
    base = base_parameters(model.robot, model.options.gravity)
    start = inertial_parameters(model.robot).ravel()
    own = model.covariance[:p, :p]
    found = [
        _inertial(f"base.{name}", name, *row)
        for name, *row in zip(
            base.names, base.combination @ c.phi.ravel(),
            factor * np.sqrt(np.diagonal(base.combination @ own @ base.combination.T)),
            base.combination @ start, strict=True,
        )
    ]  # fmt: skip
    bodies = [f"{joint.body}.{what}" for joint in model.robot.joints for what in PARAMETERS]
    spread = factor * np.sqrt(np.maximum(np.diagonal(own), 0.0))
    rows = zip(bodies, c.phi.ravel(), spread, start, strict=True)
    return (*found, *(_inertial(name, name, *row) for name, *row in rows))


def payload_of(model: EffortModel) -> tuple[ParameterResult, ...]:
    """Mass and first moment (axes of the link) beside what the URDF has there: below 0 where that
    is too heavy.  None where no payload is estimated."""
    if not model.options.payload:
        return ()
    frame, c = model.robot.frame(model.options.payload), model.coefficients
    own = slice(10 * frame.carrier, 10 * frame.carrier + 4)
    turn, at = frame.pose[:3, :3], frame.pose[:3, 3]
    seen = np.zeros((4, 4))  # of (m, m c) about the body's frame: about the link's
    seen[0, 0], seen[1:, 0], seen[1:, 1:] = 1.0, -turn.T @ at, turn.T
    more = seen @ (c.phi.ravel() - inertial_parameters(model.robot).ravel())[own]
    spread = model.enlargement * np.sqrt(np.diagonal(seen @ model.covariance[own, own] @ seen.T))
    return tuple(
        _inertial(f"payload.{what}", what, value, sigma, 0.0)
        for what, value, sigma in zip(PARAMETERS[:4], more, spread, strict=True)
    )


def _inertial(
    name: str, parameter: str, value: float, std_dev: float, start: float
) -> ParameterResult:
    unit = UNITS[parameter.rpartition(".")[2]]
    return ParameterResult(
        name, unit, float(value), float(std_dev), None, None, True, False, start=float(start)
    )
