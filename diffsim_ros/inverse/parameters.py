"""Parameters, and how together they set the engine's [Eqs. 1, 2].

Solvers use only z: one number per free parameter, of order one, in which a parameter is
linear (value = typical * z) or logarithmic (value = exp(z)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.parameter import Parameter, Sets, follows_of, goes_with


class Group(Protocol):
    """Parameters that set parameters of the engine together, by a formula of their own.

    names     of its parameters, all of which the map must have
    scene_parameters  that they set
    values    theta (m,), the parameters' natural values -> those of the scene (k,)
    jacobian  theta (m,) -> d(values)/d(theta) (k, m), exact
    """

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        ...

    @property
    def scene_parameters(self) -> tuple[str, ...]:
        """Names of the scene's parameters."""
        ...

    def values(self, theta: Sequence[float]) -> np.ndarray:
        """Values of the scene's parameters."""
        ...

    def jacobian(self, theta: Sequence[float]) -> np.ndarray:
        """Their slopes by the parameters."""
        ...


def _completed(
    parameters: tuple[Parameter, ...], groups: tuple[Group, ...], scene: Any
) -> tuple[Parameter, ...]:
    """Parameters that also set what goes with what they set, as a uniform inertia with its mass;
    not what something sets itself, or what has a value of its own."""
    follows = follows_of(scene)
    if not follows:
        return parameters
    values = {i.name: v for i, v in zip(scene.parameters, scene.values.tolist(), strict=True)}
    own = [dict(p.sets or ({p.name: (1.0, 1.0)} if p.name in values else {})) for p in parameters]
    taken = {name for sets in own for name in sets}
    taken.update(name for group in groups for name in group.scene_parameters)
    for leader, others in follows.items():
        setting = [sets for sets in own if leader in sets]
        for name, factor in others.items():
            if name in taken or not goes_with(values[name], values[leader], factor):
                continue
            for k, sets in enumerate(setting):
                own_factor, power = sets[leader]
                sets[name] = (own_factor * (1.0 if k else factor), power)
    return tuple(
        replace(p, sets=sets) if len(sets) > max(len(p.sets), 1) else p
        for p, sets in zip(parameters, own, strict=True)
    )


class ParameterMap:
    """All parameters of one estimation and the engine parameters that they set.

    names, lower, upper, start  of the free parameters, the last three in z (nz,)
    logarithmic                 (nz,) bool
    active                      engine indices that the free parameters move, ascending (na,)
    unset                       names of parameters that set no engine parameter
    groups                      parameters that set those of the scene together (`Group`)
    """

    def __init__(
        self, parameters: Iterable[Parameter], scene: Any, groups: Iterable[Group] = ()
    ) -> None:
        self.groups = tuple(groups)
        self.parameters = _completed(tuple(parameters), self.groups, scene)
        duplicates = {p.name for p in self.parameters if self._count(p.name) > 1}
        if duplicates:
            raise InputError("parameters", "name", sorted(duplicates), "each name once")
        self.scene = scene
        self.free = tuple(p for p in self.parameters if p.free)
        self.names = tuple(p.name for p in self.free)
        self.lower = np.array([p.to_z(p.lower) for p in self.free])
        self.upper = np.array([p.to_z(p.upper) for p in self.free])
        self.start = np.array([p.to_z(p.value) for p in self.free])
        self.logarithmic = np.array([p.scale == "log" for p in self.free], bool)
        self._step = np.array([p.step for p in self.free])
        # engine index -> [(position in self.parameters, factor, power)]
        self._factors: dict[int, list[tuple[int, float, float]]] = {}
        grouped = {name for group in self.groups for name in group.names}
        self.unset = tuple(
            p.name for p in self.parameters if p.name not in grouped and not self._sets(p)
        )
        for i, p in enumerate(self.parameters):
            for name, (factor, power) in self._sets(p).items():
                index = self._index(p, name)
                self._factors.setdefault(index, []).append((i, float(factor), float(power)))
        free = [i for i, p in enumerate(self.parameters) if p.free]
        self._column = {i: column for column, i in enumerate(free)}
        moving = {k for k, f in self._factors.items() if any(i in self._column for i, *_ in f)}
        # (group, positions of its parameters, engine indices)
        self._grouped = [self._bound(group) for group in self.groups]
        for _, members, indices in self._grouped:
            if any(i in self._column for i in members):
                moving.update(indices)
        self.active = tuple(sorted(moving))

    def _bound(self, group: Group) -> tuple[Group, list[int], list[int]]:
        """A group with the places of its parameters and the scene's; InputError if it clashes."""
        places = {p.name: i for i, p in enumerate(self.parameters)}
        missing = [name for name in group.names if name not in places]
        if missing:
            raise InputError(f"group {group.name}", "parameters", missing, "all of its parameters")
        members = [places[name] for name in group.names]
        first = self.parameters[members[0]]
        indices = [self._index(first, name) for name in group.scene_parameters]
        both = sorted(set(indices) & set(self._factors))
        if both:
            name = self.scene.parameters[both[0]].name
            rule = "a parameter that nothing else sets"
            raise InputError(f"group {group.name}", "sets", name, rule)
        return group, members, indices

    def _count(self, name: str) -> int:
        return sum(p.name == name for p in self.parameters)

    def _sets(self, parameter: Parameter) -> Sets:
        if parameter.sets:
            return parameter.sets
        try:
            self.scene.index(parameter.name)
        except KeyError:
            return {}
        return {parameter.name: (1.0, 1.0)}

    def _index(self, parameter: Parameter, name: str) -> int:
        try:
            return int(self.scene.index(name))
        except KeyError:
            known = [info.name for info in self.scene.parameters]
            raise InputError(
                f"parameter {parameter.name}", "sets", name, "a parameter of the scene",
                nearest(name, known),
            ) from None  # fmt: skip

    @classmethod
    def of_scene(
        cls, scene: Any, names: Iterable[str], typical: Mapping[str, float] | None = None
    ) -> ParameterMap:
        """One linear, unbounded parameter per engine parameter (for gradient checks)."""
        values, typical = np.asarray(scene.values, float), typical or {}
        units = {info.name: info.unit for info in scene.parameters}
        return cls(
            [
                Parameter(n, units[n], float(values[scene.index(n)]), typical=typical.get(n))
                for n in names
            ],
            scene,
        )

    def values(self, z: np.ndarray) -> np.ndarray:
        """Natural values (nz,) of the free parameters at z."""
        z, log = np.asarray(z, float), self.logarithmic
        return np.where(log, np.exp(np.where(log, z, 0.0)), self._step * z)

    def value_slopes(self, z: np.ndarray) -> np.ndarray:
        """Slopes dvalue/dz (nz,)."""
        return np.where(self.logarithmic, self.values(z), self._step)

    def named(self, z: np.ndarray) -> dict[str, float]:
        """Natural values of all parameters by name, fixed ones included."""
        out = {p.name: p.value for p in self.parameters}
        out.update(zip(self.names, self.values(z).tolist(), strict=True))
        return out

    def scaled(self, values: Mapping[str, float]) -> np.ndarray:
        """z (nz,) of named values; parameters not named keep their start."""
        unknown = set(values) - set(self.names)
        if unknown:
            name = sorted(unknown)[0]
            raise InputError("parameters", "", name, "a free parameter", nearest(name, self.names))
        return np.array([p.to_z(float(values.get(p.name, p.value))) for p in self.free])

    def engine(self, z: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Engine parameter vector (np,): `base` with the numbers that parameters set."""
        named, p = self.named(z), np.array(base, float)
        value = [named[q.name] for q in self.parameters]
        for index, factors in self._factors.items():
            p[index] = math.prod(f * value[i] ** power for i, f, power in factors)
        for group, members, indices in self._grouped:
            p[indices] = group.values([value[i] for i in members])
        return p

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """dp[active]/dz (na, nz)."""
        named, slopes = self.named(z), self.value_slopes(z)
        value = [named[q.name] for q in self.parameters]
        out = np.zeros((len(self.active), len(self.free)))
        rows = {index: row for row, index in enumerate(self.active)}
        for group, members, indices in self._grouped:
            free = [(k, self._column[i]) for k, i in enumerate(members) if i in self._column]
            if not free:
                continue
            by_theta = group.jacobian([value[i] for i in members])
            for k, column in free:
                out[[rows[i] for i in indices], column] = by_theta[:, k] * slopes[column]
        for row, index in enumerate(self.active):
            factors = self._factors.get(index, ())
            for k, (i, f, power) in enumerate(factors):
                if i not in self._column or power == 0:
                    continue
                rest = math.prod(g * value[j] ** q for m, (j, g, q) in enumerate(factors) if m != k)
                column = self._column[i]
                out[row, column] += rest * f * power * value[i] ** (power - 1) * slopes[column]
        return out

    def prior(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prior residual (nz,) and its diagonal Jacobian (nz,); zero where there is no prior."""
        residual, slope = np.zeros(len(self.free)), np.zeros(len(self.free))
        for i, p in enumerate(self.free):
            if p.prior_sigma is None or p.prior_mean is None:
                continue
            sigma = p.prior_sigma / (p.prior_mean if p.scale == "log" else p.step)
            residual[i], slope[i] = (z[i] - p.to_z(p.prior_mean)) / sigma, 1.0 / sigma
        return residual, slope

    def holding(self, values: Mapping[str, float]) -> ParameterMap:
        """Return the same map with other values of parameters that are not free."""
        held = {p.name for p in self.parameters if not p.free}
        for name in values:
            if name not in held:
                rule = "a parameter that is not free"
                raise InputError("parameters", "", name, rule, nearest(name, held))
        changed = [replace(p, value=float(values.get(p.name, p.value))) for p in self.parameters]
        return ParameterMap(changed, self.scene, self.groups)
