"""Numbers by name: a scene's parameters, and gradients by them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros.errors import InputError, nearest

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

    __slots__ = ("_index", "array", "names", "units")

    def __init__(self, names: Sequence[str], array: ArrayLike, units: Sequence[str]) -> None:
        """names, units (n,);  array (n,)."""
        self.names, self.units = tuple(names), tuple(units)
        self.array: Array = np.array(array, float)
        self.array.flags.writeable = False
        self._index = {name: k for k, name in enumerate(self.names)}

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

        InputError: an unknown name, another shape, a number that is not finite.
        """
        if changes is None or changes is self:
            return self
        if isinstance(changes, Mapping):
            array = np.array(self.array)
            for name, value in changes.items():
                array[self.index(name)] = number(name, value)
        else:
            array = numbers("values", "", changes)
            if array.shape != self.array.shape or not np.isfinite(array).all():
                rule = f"finite numbers of shape {self.array.shape}, or numbers by name"
                raise InputError("values", "", changes, rule)
        changed = object.__new__(Values)  # shares the names: steps call this
        changed.names, changed.units, changed._index = self.names, self.units, self._index
        changed.array = array
        array.flags.writeable = False
        return changed

    def indices(self, names: str | Sequence[str]) -> list[int]:
        """Places of names or shell patterns, each once; InputError where one matches nothing."""
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
            found.update(dict.fromkeys(matched))
        return list(found)


def _matches(name: str, pattern: str) -> bool:
    """Numbers in brackets, and [*], are those of names, such as hand.position[0].x."""
    own = re.sub(r"\[(\d+|\*)\]", r"[[]\1]", pattern)
    return fnmatch.fnmatchcase(name, own) or fnmatch.fnmatchcase(name, pattern)


def number(name: str, value: Any) -> float:
    """A finite number; InputError that names it."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not np.isfinite(found):
        raise InputError("values", name, value, "a finite number")
    return found


def numbers(place: str, key: str, given: Any) -> Array:
    """A copy as an array; InputError for what is no array of numbers."""
    try:
        return np.array(given, float)
    except (TypeError, ValueError):
        raise InputError(place, key, given, "numbers") from None


def values_of(scene: _engine.Scene) -> Values:
    """The numbers of an engine's scene."""
    infos = scene.parameters
    return Values([i.name for i in infos], scene.values, [i.unit for i in infos])
