"""Numbers by name: a scene's parameters, and gradients by them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.parameter import Follows, follows_of, goes_with
from diffsim_ros.real_numbers import numbers

if TYPE_CHECKING:
    from diffsim_ros import _engine

Array = NDArray[np.float64]

SHOWN = 20
"""Most lines of a repr."""


class Values(Mapping[str, float]):
    """Numbers with names and units, in a fixed order: a read-only mapping that is also an array.

    >>> values = Values(["cube.mass", "ground.c_f"], [0.4, 0.3], ["kg", "1"])
    >>> values["cube.mass"], values.unit("cube.mass"), values.array
    (0.4, 'kg', array([0.4, 0.3]))
    >>> values.matching("ground.*")
    <1 values>
      ground.c_f   0.3         1
    """

    __slots__ = ("_follows", "_index", "array", "names", "units")

    def __init__(
        self, names: Sequence[str], array: ArrayLike, units: Sequence[str],
        follows: Follows | None = None,
    ) -> None:  # fmt: skip
        """names, units (n,);  array (n,);  follows: name -> names that go with it -> factor."""
        self.names, self.units = tuple(names), tuple(units)
        self.array: Array = np.array(array, float)
        self.array.flags.writeable = False
        self._index = {name: k for k, name in enumerate(self.names)}
        self._follows = {
            self._index[name]: {self._index[other]: factor for other, factor in others.items()}
            for name, others in (follows or {}).items()
        }

    def __getitem__(self, name: str) -> float:
        return float(self.array[self.index(name)])

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def get(self, name: str, default: Any = None) -> Any:
        """Its number, or `default` where there is no such name."""
        return self[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False and dtype not in (None, self.array.dtype):
            raise ValueError(f"an array of {self.array.dtype} cannot be one of {dtype} uncopied")
        return self.array if copy is not True and dtype is None else np.array(self.array, dtype)

    def __repr__(self) -> str:
        wide = max(map(len, self.names), default=0)
        lines = [
            f"  {name:<{wide}}  {value:< 12.6g} {unit}".rstrip()
            for name, value, unit in zip(self.names[:SHOWN], self.array, self.units, strict=False)
        ]
        if len(self) > SHOWN:
            lines.append(f"  ... {len(self) - SHOWN} more")
        return "\n".join([f"<{len(self)} values>", *lines])

    def index(self, name: str) -> int:
        """Place of a name in `array`; InputError for another name."""
        if name in self._index:
            return self._index[name]
        raise InputError("values", "", name, "one of its names", nearest(name, self.names))

    def unit(self, name: str) -> str:
        """Unit of a number, such as kg or m/s; InputError for another name."""
        return self.units[self.index(name)]

    def matching(self, pattern: str) -> Values:
        """Those whose names match a shell pattern, such as `cube.velocity.*`; may be none."""
        return self.subset([name for name in self.names if _matches(name, pattern)])

    def subset(self, names: Sequence[str]) -> Values:
        """Those of these names, in this order; InputError for another name."""
        rows = [self.index(name) for name in names]
        return Values(names, self.array[rows], [self.units[k] for k in rows])

    def replaced(self, changes: Mapping[str, float] | ArrayLike | None) -> Values:
        """The same names with other numbers: some by name, or all (n,); None: itself.

        What goes with a name that is given, as a uniform body's inertia with its mass, follows it;
        not what is given too, or has a value of its own, nor where all numbers are given.
        InputError: an unknown name, another shape, a number that is not finite.
        """
        if changes is None or changes is self:
            return self
        if isinstance(changes, Mapping):
            array = np.array(self.array)
            given = {self.index(name): number(name, value) for name, value in changes.items()}
            for k, value in given.items():
                array[k] = value
                for other, factor in self.followers(k).items():
                    if other not in given:
                        array[other] = factor * value
        else:
            array = numbers("values", "", changes)
            if array.shape != self.array.shape or not np.isfinite(array).all():
                rule = f"finite numbers of shape {self.array.shape}, or numbers by name"
                raise InputError("values", "", changes, rule)
        changed = object.__new__(Values)  # shares the names: steps call this
        changed.names, changed.units, changed._index = self.names, self.units, self._index
        changed._follows = self._follows
        changed.array = array
        array.flags.writeable = False
        return changed

    def followers(self, index: int) -> dict[int, float]:
        """Places of what goes with a number -> factor, unless they have values of their own."""
        others, value = self._follows.get(index, {}), self.array[index]
        return {k: f for k, f in others.items() if goes_with(self.array[k], value, f)}

    def with_followers(self, chosen: Sequence[int]) -> tuple[list[int], Array]:
        """Places of what derivatives by chosen names need, and the matrix that makes these of them.

        A change of a name moves what goes with it, unless that is chosen too.
        Returns n places, the chosen first, which do not depend on the numbers, and (n, chosen).
        """
        places, matrix = list(chosen), np.eye(len(chosen))
        for column, k in enumerate(chosen):
            follow = self.followers(k)
            for other in self._follows.get(k, {}).keys() - set(chosen):
                places.append(other)
                row = np.zeros((1, len(chosen)))
                row[0, column] = follow.get(other, 0.0)
                matrix = np.concatenate([matrix, row])
        return places, matrix

    def indices(self, names: str | Sequence[str]) -> list[int]:
        """Places of names or shell patterns, each once; InputError where one matches nothing.

        A pattern that matches a name leaves out what goes with it: `cube.*` has the mass of a
        uniform cube and not its inertia, which `cube.inertia.*` has.
        """
        found: dict[int, None] = {}
        rule = "names of the scene's values, or patterns such as cube.velocity.*"
        if not isinstance(names, Iterable):
            raise InputError("wrt", "", names, rule)
        for name in [names] if isinstance(names, str) else names:
            if not isinstance(name, str):
                raise InputError("wrt", "", name, rule)
            if name in self._index:
                found[self._index[name]] = None
                continue
            matched = [k for k, own in enumerate(self.names) if _matches(own, name)]
            if not matched:
                raise InputError("wrt", "", name, rule, nearest(name, self.names))
            moved = {other for k in matched for other in self.followers(k)}
            found.update(dict.fromkeys(k for k in matched if k not in moved))
        return list(found)


def _matches(name: str, pattern: str) -> bool:
    """Numbers in brackets, and [*], are those of names, such as hand.position[0].x."""
    own = re.sub(r"\[(\d+|\*)\]", r"[[]\1]", pattern)
    return fnmatch.fnmatchcase(name, own) or fnmatch.fnmatchcase(name, pattern)


def number(name: str, value: Any) -> float:
    """A finite number; InputError that names it."""
    try:
        found = numbers("values", name, value)
    except InputError as error:
        raise InputError("values", name, value, "a finite number", error.remedy) from None
    if found.ndim or not np.isfinite(found):
        raise InputError("values", name, value, "a finite number")
    return float(found)


def values_of(scene: _engine.Scene) -> Values:
    """The numbers of an engine's scene."""
    infos = scene.parameters
    names, units = [i.name for i in infos], [i.unit for i in infos]
    return Values(names, scene.values, units, follows_of(scene))
