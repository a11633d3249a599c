"""Section `statics` of an estimation YAML: what was measured of a scene at rest, load by load."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ....errors import InputError, nearest
from ....fields import REQUIRED, Reader
from ....tables import number_table, read_rows
from ...options import option, positive, read_options
from ...recordings import Recordings

PLACE_COLUMNS = ("point", "x", "y", "z")
NO_DATA = "none: all that `kind: statics` compares is in `statics`"


class Loads(Recordings):
    """Section `data` of `kind: statics`, which has none."""

    @classmethod
    def roles(cls, reader: Reader, value: object, base: Path) -> tuple[Loads, None]:
        """Nothing; InputError where something is given."""
        if value is not None:
            raise reader.error("data", value, NO_DATA)
        return cls(reader.place, "statics", ()), None

    def others(self, key: str, files: Any) -> NoReturn:
        """Refuse other files."""
        raise InputError(self.place, key, [str(file) for file in files], NO_DATA)


@dataclass(frozen=True, kw_only=True)
class StaticsOptions:
    """Section `statics`."""

    body: str = option("text", "on which it was measured; absent: `body`", "")
    points: dict = option(
        "mapping",
        "name -> place [m, world] in the body's shape as the scene places it",
        {},
    )
    loads: dict = option("mapping", "name -> what was measured under this load", REQUIRED)
    validate: tuple = option("list", "loads that are predicted, not fitted", ())
    sigma_position: float = positive("error of a place, per axis", 0.001, "m")
    sigma_frequency: float = positive(
        "error of a frequency; needed where there are any", None, "Hz"
    )
    count: int = option(
        "integer", "lowest modes among which the measured ones are looked for", 10, minimum=1
    )


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Section `statics.loads.NAME`."""

    sets: dict = option(
        "mapping", "parameter of the scene -> its value under this load", {}, of_names=True
    )
    positions: object = option(
        "any",
        "point -> place at rest [m, world], null: a coordinate that was not measured; or a CSV "
        "file with `point,x,y,z` and, if wanted, `sigma`",
        None,
    )
    frequencies: object = option(
        "any",
        "natural frequencies [Hz], undamped; or a CSV file with `frequency` and, if wanted, "
        "`sigma` and `mode`",
        None,
    )
    sigma_position: float = positive("in place of that of `statics`", None, "m")
    sigma_frequency: float = positive("in place of that of `statics`", None, "Hz")
    modes: tuple = option("integers", "their numbers, as `diffsim modes` counts", None, minimum=1)
    shapes: tuple = option(
        "list",
        "their shapes, a mapping each: point -> how it moves, of any length and sign",
        None,
    )


@dataclass(frozen=True)
class Load:
    """What was measured under one load.

    place, source  of messages, of the data
    sets           parameter of the scene -> value
    points         names (n,) of the places; position (n, 3) [m, world], NaN: not measured;
                   sigma (n, 1) [m]
    frequency      (m,) [Hz];  sigma_frequency (m,);  modes  their numbers, or None
    shapes         (m, points of the section, 3), or None
    """

    name: str
    place: str
    source: str
    sets: Mapping[str, float]
    points: tuple[str, ...]
    position: np.ndarray
    sigma: np.ndarray
    frequency: np.ndarray
    sigma_frequency: np.ndarray
    modes: tuple[int, ...] | None
    shapes: np.ndarray | None


@dataclass(frozen=True)
class Statics:
    """Section `statics`, checked as far as it can be without its scene.

    points  names -> places (3,) [m];  count  modes that are looked at
    """

    body: str
    points: Mapping[str, np.ndarray]
    train: tuple[Load, ...]
    validate: tuple[Load, ...]
    count: int


def read_statics(reader: Reader, value: object, base: Path, body: str) -> Statics:
    """The section; InputError naming the load, key and value that cannot be used."""
    options = read_options(StaticsOptions, reader, value, "statics")
    points = {
        name: _vector(reader, f"statics.points.{name}", place)
        for name, place in options.points.items()
    }
    if not options.loads:
        raise reader.error("statics.loads", {}, "at least one load")
    reading = _Reading(reader, base, options, points)
    loads = {name: reading.load(name, one) for name, one in options.loads.items()}
    for i, name in enumerate(options.validate):
        if name not in loads:
            near = nearest(str(name), loads)
            raise reader.error(f"statics.validate[{i}]", name, "the name of a load", near)
    train = tuple(load for name, load in loads.items() if name not in options.validate)
    if not train:
        raise reader.error("statics.validate", list(options.validate), "a load less: none is left")
    predicted = tuple(load for name, load in loads.items() if name in options.validate)
    return Statics(options.body or body, points, train, predicted, options.count)


@dataclass(frozen=True)
class _Reading:
    """Reads the loads of one section."""

    reader: Reader
    base: Path
    options: StaticsOptions
    points: Mapping[str, np.ndarray]

    def load(self, name: str, value: object) -> Load:
        key = f"statics.loads.{name}"
        one = read_options(LoadOptions, self.reader, value, key)
        if one.positions is None and one.frequencies is None:
            raise self.reader.error(key, value, "positions, frequencies, or both")
        for target, number in one.sets.items():
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self.reader.error(f"{key}.sets.{target}", number, "a finite number")
        names, position, sigma = self.positions(one, key)
        frequency, spread, modes = self.frequencies(one, key)
        if modes is not None and one.shapes is not None:
            raise self.reader.error(f"{key}.shapes", one.shapes, "numbers (modes) or shapes")
        shapes = None if one.shapes is None else self.shapes(one.shapes, len(frequency), key)
        files = [v for v in (one.positions, one.frequencies) if isinstance(v, str)]
        source = str(self.base / files[0]) if files else self.reader.place
        return Load(
            name, f"{self.reader.place}: {key}", source, one.sets, names, position, sigma,
            frequency, spread, modes, shapes,
        )  # fmt: skip

    def positions(
        self, one: LoadOptions, key: str
    ) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Names (n,), places (n, 3) and sigmas (n, 1)."""
        key, usual = f"{key}.positions", one.sigma_position or self.options.sigma_position
        rows: dict[str, Any] = {}
        sigma: dict[str, float] = {}
        if isinstance(one.positions, str):
            path = self.base / one.positions
            head, lines = read_rows(path, "a CSV file with point,x,y,z")
            if tuple(head[:4]) != PLACE_COLUMNS or head[4:] not in ([], ["sigma"]):
                raise InputError(path, "header", ",".join(head), "point,x,y,z or point,x,y,z,sigma")
            for i, line in enumerate(lines):
                numbers = number_table(path, head[1:], [line[1:]])[0]
                if line[0] in rows:
                    raise InputError(path, f"line {i + 2}", line[0], "every point once")
                rows[line[0]] = numbers[:3].tolist()
                sigma[line[0]] = float(numbers[3]) if len(numbers) > 3 else usual
        else:
            rows = self.reader.mapping(one.positions, key, "point -> place, or a CSV file")
        for name, spread in sigma.items():
            if not (np.isfinite(spread) and spread > 0):
                raise self.reader.error(f"{key}: sigma of {name}", spread, "a number > 0")
        for name in rows:
            self.known(name, key)
        places = [_vector(self.reader, f"{key}.{name}", row, True) for name, row in rows.items()]
        spreads = [[sigma.get(name, usual)] for name in rows]
        return tuple(rows), np.reshape(places, (-1, 3)), np.reshape(spreads, (-1, 1))

    def frequencies(
        self, one: LoadOptions, key: str
    ) -> tuple[np.ndarray, np.ndarray, tuple[int, ...] | None]:
        """Frequencies (m,), sigmas (m,) and numbers of the modes."""
        given, modes, sigma = one.frequencies, one.modes, None
        key = f"{key}.frequencies"
        if isinstance(given, str):
            path = self.base / given
            head, lines = read_rows(path, "a CSV file with frequency")
            if "frequency" not in head or not set(head) <= {"frequency", "sigma", "mode"}:
                raise InputError(path, "header", ",".join(head), "frequency[,sigma][,mode]")
            table = dict(zip(head, number_table(path, head, lines).T, strict=True))
            given, sigma = table["frequency"].tolist(), table.get("sigma")
            if "mode" in table:
                if not all(n >= 1 and n == int(n) for n in table["mode"]):
                    raise InputError(path, "mode", table["mode"].tolist(), "whole numbers >= 1")
                modes = tuple(int(n) for n in table["mode"])
        given = [] if given is None else given
        if not isinstance(given, (list, tuple)):
            raise self.reader.error(key, given, "a list of numbers > 0 [Hz], or a CSV file")
        found = np.array([_positive(self.reader, f"{key}[{i}]", f) for i, f in enumerate(given)])
        if sigma is None and len(found):
            usual = one.sigma_frequency or self.options.sigma_frequency
            if usual is None:
                remedy = "how well frequencies were measured"
                raise self.reader.error(
                    "statics.sigma_frequency", None, "a number > 0 [Hz]", remedy
                )
            sigma = np.full(len(found), usual)
        spread = np.array(
            [_positive(self.reader, f"{key}: sigma {i}", s) for i, s in enumerate(sigma)]
            if sigma is not None else []
        )  # fmt: skip
        if len(found) > self.options.count:
            rule = f"at most {self.options.count}, the modes that are looked at (statics.count)"
            raise self.reader.error(key, len(found), rule)
        if modes is not None and (
            len(set(modes)) != len(found) or max(modes, default=1) > self.options.count
        ):
            rule = f"{len(found)} different numbers from 1 to {self.options.count} (statics.count)"
            raise self.reader.error(key.replace("frequencies", "modes"), list(modes), rule)
        return found, spread, modes

    def shapes(self, given: Any, count: int, key: str) -> np.ndarray:
        """(m, points of the section, 3), NaN where nothing was measured."""
        key = f"{key}.shapes"
        if len(given) != count:
            raise self.reader.error(key, len(given), f"{count}, one for each frequency")
        found = np.full((count, len(self.points), 3), np.nan)
        for i, shape in enumerate(given):
            for name, motion in self.reader.mapping(shape, f"{key}[{i}]").items():
                self.known(name, f"{key}[{i}]")
                row = _vector(self.reader, f"{key}[{i}].{name}", motion, True)
                found[i, list(self.points).index(name)] = row
            if not np.nanmax(np.abs(found[i]), initial=0.0) > 0:
                raise self.reader.error(f"{key}[{i}]", shape, "how points move, not all zero")
        return found

    def known(self, name: str, key: str) -> None:
        if name not in self.points:
            rule, near = "a point of statics.points", nearest(name, self.points)
            raise self.reader.error(f"{key}.{name}", name, rule, near)


def _vector(reader: Reader, key: str, value: object, partly: bool = False) -> np.ndarray:
    """Three numbers; partly: null and NaN are coordinates that were not measured, not all."""
    good = isinstance(value, (list, tuple)) and len(value) == 3
    row = [np.nan if partly and x is None else x for x in value] if good else []  # type: ignore
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in row)
    found = np.array(row, float) if good and numbers else np.full(3, np.inf)
    seen = ~np.isnan(found) if partly else np.ones(3, bool)
    if not seen.any() or not np.isfinite(found[seen]).all():
        rule = "three finite numbers [m]"
        raise reader.error(key, value, rule + (", null where not measured" if partly else ""))
    return found


def _positive(reader: Reader, key: str, value: object) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 < value < np.inf:  # type: ignore[operator]
        raise reader.error(key, value, "a finite number > 0 [Hz]")
    return float(value)  # type: ignore[arg-type]
