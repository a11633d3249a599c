"""Section `inertias`: the whole inertia of a payload as ten parameters, and how it is reported."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, nearest
from ..fields import Reader
from ..inverse.parameters import ParameterMap
from ..inverse.pseudo_inertia import SHEARS, WORDS, InertiaGroup, physical, root, theta_of
from .options import InertiaOptions, ParameterOptions, read_options

if TYPE_CHECKING:
    from .options import EstimationConfig

STRETCH = 3.0  # the radii's logarithms, and shears as shares, are bounded by so many prior sigmas
PHYSICAL = (
    ("mass", "kg"), *((f"centre.{axis}", "m") for axis in "xyz"),
    *((f"inertia.{k}", "kg m^2") for k in ("xx", "yy", "zz", "xy", "xz", "yz")),
)  # fmt: skip


def inertia_parameters(reader: Reader, section: Mapping) -> dict[str, ParameterOptions]:
    """Ten ParameterOptions for each payload of the section."""
    found = {}
    for name, value in section.items():
        key = f"inertias.{name}"
        options = read_options(InertiaOptions, reader, value, key)
        if len(options.inertia) not in (3, 6):
            rule = "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]"
            raise reader.error(f"{key}.inertia", list(options.inertia), rule)
        xx, yy, zz, xy, xz, yz = (*options.inertia, 0.0, 0.0, 0.0)[:6]
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        try:
            theta = theta_of(options.mass, options.centre, matrix)
        except InputError as error:
            raise reader.error(f"{key}.inertia", list(options.inertia), error.accepted) from None
        for word, number in zip(WORDS, _options(theta, options), strict=True):
            found[f"{name}.{word}"] = number
    return found


def _options(theta: np.ndarray, options: InertiaOptions) -> Iterator[ParameterOptions]:
    """ParameterOptions of theta's numbers around a first guess."""
    heavy, sigma = 0.5 * math.log(options.mass_factor), options.stretch_sigma
    reach = STRETCH * sigma
    yield _one(theta[0], heavy, "half the logarithm of the mass [kg]")
    for d in theta[1:4]:
        yield _one(d, reach, "logarithm of a radius [m]", sigma)
    radii = np.diagonal(root(theta))
    for (i, _), s in zip(SHEARS, theta[4:7], strict=True):
        yield _one(s, reach * radii[i], "shear of the radii", sigma * radii[i], "m")
    for t in theta[7:]:
        yield _one(t, options.reach, "centre of mass", unit="m")


def _one(
    value: float, reach: float, doc: str, sigma: float | None = None, unit: str = "1"
) -> ParameterOptions:
    bounds = (float(value - reach), float(value + reach))
    prior: dict[str, Any] = (
        {} if sigma is None else {"prior_mean": float(value), "prior_sigma": float(sigma)}
    )
    return ParameterOptions(unit=unit, value=float(value), bounds=bounds, sets={}, doc=doc, **prior)


def inertia_groups(config: EstimationConfig, description: Mapping) -> list[InertiaGroup]:
    """The groups of an estimation, bound to the payloads of its resolved scene."""
    payloads = {link["name"]: link for link in description["links"] if link["type"] == "payload"}
    groups = []
    for name in config.inertias:
        if name not in payloads:
            rule = "a payload of the scene (links of type payload, or of a robot)"
            raise config.error("inertias", name, rule, nearest(name, payloads))
        groups.append(InertiaGroup(name, name, tuple(payloads[name]["origin"])))
    return groups


def read_back(map_: ParameterMap, z: np.ndarray, covariance: np.ndarray | None) -> list[tuple]:
    """(name, unit, value, standard deviation or None) of every group in physical terms.

    covariance  (nz, nz) of the scaled variables, None: unknown
    """
    named, slopes, found = map_.named(z), map_.value_slopes(z), []
    for group in map_.groups:
        values, by_theta = physical([named[name] for name in group.names])
        J = np.zeros((10, len(map_.names)))
        for k, name in enumerate(group.names):
            if name in map_.names:
                i = map_.names.index(name)
                J[:, i] = by_theta[:, k] * slopes[i]
        spread = [None] * 10
        if covariance is not None:
            # a parameter at its bound has no covariance of its own: it is held there
            variance = np.einsum("ai,ij,aj->a", J, np.nan_to_num(covariance), J)
            spread = np.sqrt(np.maximum(variance, 0.0)).tolist()
        for (word, unit), value, sigma in zip(PHYSICAL, values.tolist(), spread, strict=True):
            found.append((f"{group.name}.{word}", unit, value, sigma))
    return found
