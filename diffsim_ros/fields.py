"""Checked reading of YAML mappings: tables of fields in, plain values or an InputError out.

A *section* is a dict name -> Field.  `Reader(place).section(fields, mapping, key)` returns a dict
with exactly the names of the section: checked, converted to plain Python values, defaults filled
in.  Every error names the file (`place`), the path inside it (`key`), the value and the rule.
"""

from __future__ import annotations

import copy
import math
import operator
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.units import MOST_TURNED, read_number

REQUIRED = "required"
FORMER_PARAMETERS = (("_proxies.", "_contact_spheres."), (".proxies.", ".contact_spheres."))
"""Parts of names of parameters that have changed."""


@dataclass(frozen=True)
class Field:
    """One key of a section.

    kind      number, integer, integers, flag, vector2, vector3, quaternion, rgba, bounds, inertia,
              numbers, points, controls, controls3, text, name, choice, mapping, list or any
    doc       one line for docs/reference/scene.md
    unit      unit of the number ("" = none, "1" = dimensionless)
    default   REQUIRED, None (absent) or the value
    minimum   smallest value accepted; `strict` excludes the minimum itself
    choices   words accepted, for kind "choice"
    formerly  what the key was called; a file that uses it is read, with a FutureWarning
    renamed   (old, new) words of a choice, likewise
    of_names  True: keys (of a mapping) or items (of a list) are names of parameters of a scene,
              of which a file may have former ones
    """

    kind: str
    doc: str
    unit: str = ""
    default: object = None
    minimum: float | None = None
    strict: bool = False
    choices: tuple[str, ...] = ()
    formerly: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    of_names: bool = False

    def rule(self) -> str:
        """What is accepted, in words, e.g. "a finite number > 0 [kg]"."""
        if self.kind == "choice":
            return " or ".join(self.choices)
        what = {
            "number": "a finite number",
            "integer": "a whole number",
            "integers": "a list of whole numbers",
            "flag": "true or false",
            "vector2": "two finite numbers",
            "vector3": "three finite numbers",
            "quaternion": "four finite numbers x, y, z, w that are not all zero",
            "rgba": "three or four finite numbers",
            "bounds": "two numbers, lower < upper",
            "inertia": "'uniform', a number, 3 [xx, yy, zz] or 6 [xx, yy, zz, xy, xz, yz] numbers",
            "numbers": "a list of finite numbers",
            "points": "a list of points of three finite numbers each",
            "controls": "a finite number or a list of them",
            "controls3": "three finite numbers or a list of such",
            "text": "a text",
            "name": "a name made of letters, digits, _ and -",
            "mapping": "a mapping of keys to values",
            "list": "a list",
            "any": "a value",
        }[self.kind]
        limit = ""
        if self.minimum is not None:
            limit = f" {'>' if self.strict else '>='} {self.minimum:g}"
        if self.kind == "rgba":
            limit = " from 0 to 1"
        return f"{what}{limit}{f' [{self.unit}]' if self.unit else ''}"


Section = Mapping[str, Field]


def tables(sections: Mapping[str, Section]) -> str:
    """Sections as Markdown tables: key, accepted, default, meaning; title -> section."""
    parts = []
    for title, section in sections.items():
        rows = [f"### `{title}`", ""]
        head = ["| key | accepted | default | meaning |", "|---|---|---|---|"]
        rows += head if section else ["(no keys)"]
        for name, field in section.items():
            shown = "-" if field.default in (None, "", {}, []) else f"`{field.default}`"
            shown = "required" if field.default is REQUIRED else shown
            rows.append(f"| `{name}` | {field.rule()} | {shown} | {field.doc} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


class Reader:
    """Reads sections of one file; `place` is its name in errors."""

    def __init__(self, place: object) -> None:
        self.place = str(place)
        self._warned: set[str] = set()

    def error(self, key: str, value: object, accepted: str, remedy: str = "") -> InputError:
        """Return (not raise) the InputError for a value of this file."""
        return InputError(self.place, key, value, accepted, remedy)

    def mapping(self, value: object, key: str, what: str = "a mapping of keys to values") -> dict:
        """Return `value` as a dict with text keys; None is empty."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.error(key, value, what)
        for name in value:
            if not isinstance(name, str):
                raise self.error(key, name, "a text as key", "put the key in quotes")
        return dict(value)

    def section(self, fields: Section, value: object, key: str = "") -> dict:
        """Read one mapping: unknown keys are refused, defaults filled in (absent ones are None)."""
        given = self._with_new_names(fields, self.mapping(value, key), key)
        for name in given:
            if name not in fields:
                accepted = "one of " + ", ".join(fields)
                raise self.error(join(key, name), given[name], accepted, nearest(name, fields))
        read = {}
        for name, field in fields.items():
            if given.get(name) is None:
                if field.default is REQUIRED:
                    raise self.error(join(key, name), None, field.rule(), "this key is required")
                read[name] = copy.deepcopy(field.default)
            else:
                read[name] = self.value(field, given[name], join(key, name))
        return read

    def _with_new_names(self, fields: Section, given: dict, key: str) -> dict:
        """The mapping with keys that are not called so any more under their new names."""
        for name, field in fields.items():
            if field.formerly in given and field.formerly not in fields:
                if name in given:
                    old = join(key, field.formerly)
                    raise self.error(old, given[field.formerly], f"`{name}` alone, its new name")
                deprecated(self.place, join(key, field.formerly), name)
                given[name] = given.pop(field.formerly)
        return given

    def variant(self, variants: Mapping[str, Section], value: object, key: str) -> tuple[str, dict]:
        """Read a mapping with exactly one key out of `variants`: {kind: section}."""
        accepted = "a mapping with one of " + ", ".join(f"'{name}:'" for name in variants)
        given = self.mapping({value: None} if isinstance(value, str) else value, key, accepted)
        for name in given:
            if name not in variants:
                raise self.error(join(key, name), given[name], accepted, nearest(name, variants))
        if len(given) != 1:
            raise self.error(key, sorted(given), accepted, "give exactly one")
        (kind, content), *_ = given.items()
        return kind, self.section(variants[kind], content, join(key, kind))

    def value(self, field: Field, value: object, key: str) -> object:
        """Check one value against its field and return it as a plain Python value."""
        read = getattr(self, f"_{field.kind}", None)
        value = value if read is None else read(field, value, key)
        return self.present_names(value, key) if field.of_names else value

    def present_names(self, value: Any, key: str) -> Any:
        """A mapping by, or a list of, names of parameters of a scene, under their present names."""
        if isinstance(value, list):
            return [self._present_name(key, one) for one in value]
        found: dict = {}
        for name, one in value.items():
            new = self._present_name(key, name)
            if new in found:
                raise self.error(join(key, name), one, f"`{new}` once, by its present name")
            found[new] = one
        return found

    def _present_name(self, key: str, name: object) -> object:
        new = name
        for old, now in FORMER_PARAMETERS if isinstance(name, str) else ():
            new = new.replace(old, now)
        if new != name:
            deprecated(self.place, f"{key}: {name}", new)
        return new

    def _fail(self, field: Field, value: object, key: str, remedy: str = "") -> InputError:
        return self.error(key, value, field.rule(), remedy)

    def _number(self, field: Field, value: object, key: str) -> float:
        number = self._plain_number(field, value, key)
        if not math.isfinite(number):
            raise self._fail(field, value, key)
        low = field.minimum
        if low is not None and (number < low or (field.strict and number == low)):
            raise self._fail(field, value, key)
        return number

    def _plain_number(self, field: Field, value: object, key: str) -> float:
        """A float, in the field's unit, from a number, '1e-3', '1/480', '0.37 kg' or '90 deg'."""
        if isinstance(value, str):
            try:
                number, with_unit = read_number(value, field.unit)
            except ValueError as error:
                raise self._fail(field, value, key, str(error)) from error
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._fail(field, value, key)
        else:
            number, with_unit = float(value), False
        if field.unit == "rad" and not with_unit and MOST_TURNED < abs(number) < math.inf:
            self._warn_of_degrees(number, key)
        return number

    def _warn_of_degrees(self, number: float, key: str) -> None:
        """Once for the numbers of a list."""
        whole = key.rpartition("[")[0] if key.endswith("]") else key
        if whole not in self._warned:
            self._warned.add(whole)
            text = f"{number:g} rad is more than a turn: write `{number:g} deg` or `{number:g} rad`"
            warnings.warn(f"{self.place}: {key}: {text}", UserWarning, stacklevel=2)

    def _integer(self, field: Field, value: object, key: str) -> int:
        number = self._number(field, value, key)
        if number != int(number):
            raise self._fail(field, value, key)
        return int(number)

    def _integers(self, field: Field, value: object, key: str) -> list[int]:
        numbers = self._list_of(field, value, key)
        if any(number != int(number) for number in numbers):
            raise self._fail(field, value, key)
        return [int(number) for number in numbers]

    def _flag(self, field: Field, value: object, key: str) -> bool:
        if not isinstance(value, bool):
            raise self._fail(field, value, key)
        return value

    def _list_of(self, field: Field, value: object, key: str, lengths: tuple = ()) -> list[float]:
        if not isinstance(value, (list, tuple)) or (lengths and len(value) not in lengths):
            raise self._fail(field, value, key)
        item = Field("number", "", field.unit, minimum=field.minimum, strict=field.strict)
        return [self._number(item, entry, f"{key}[{i}]") for i, entry in enumerate(value)]

    def _vector2(self, field: Field, value: object, key: str) -> list[float]:
        return self._list_of(field, value, key, (2,))

    def _vector3(self, field: Field, value: object, key: str) -> list[float]:
        return self._list_of(field, value, key, (3,))

    def _quaternion(self, field: Field, value: object, key: str) -> list[float]:
        numbers = self._list_of(field, value, key, (4,))
        norm = math.sqrt(sum(x * x for x in numbers))
        if norm == 0:
            raise self._fail(field, value, key)
        if abs(norm - 1) > 0.01:
            raise self._fail(field, value, key, f"its norm is {norm:g}; a unit quaternion has 1")
        return numbers if abs(norm - 1) < 1e-15 else [x / norm for x in numbers]

    def _rgba(self, field: Field, value: object, key: str) -> list[float]:
        numbers = self._list_of(field, value, key, (3, 4))
        if min(numbers) < 0 or max(numbers) > 1:
            raise self._fail(field, value, key)
        return numbers + [1.0] * (4 - len(numbers))

    def _bounds(self, field: Field, value: object, key: str) -> list[float]:
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise self._fail(field, value, key)
        low, high = (
            self._plain_number(field, entry, f"{key}[{i}]") for i, entry in enumerate(value)
        )
        if not low < high:
            raise self._fail(field, value, key)
        return [low, high]

    def _inertia(self, field: Field, value: object, key: str) -> str | float | list[float]:
        if value == "uniform":
            return "uniform"
        if isinstance(value, (list, tuple)):
            return self._list_of(field, value, key, (3, 6))
        return self._number(replace(field, minimum=0, strict=True), value, key)

    def _numbers(self, field: Field, value: object, key: str) -> list[float]:
        return self._list_of(field, value, key)

    def _points(self, field: Field, value: object, key: str) -> list[list[float]]:
        if not isinstance(value, (list, tuple)) or not value:
            raise self._fail(field, value, key)
        return [self._list_of(field, entry, f"{key}[{i}]", (3,)) for i, entry in enumerate(value)]

    def _controls(self, field: Field, value: object, key: str) -> list[float]:
        values = value if isinstance(value, (list, tuple)) and value else [value]
        return self._list_of(field, values, key)

    def _controls3(self, field: Field, value: object, key: str) -> list[list[float]]:
        single = (
            isinstance(value, (list, tuple)) and value and not isinstance(value[0], (list, tuple))
        )
        return self._points(field, [value] if single else value, key)

    def _text(self, field: Field, value: object, key: str) -> str:
        if not isinstance(value, str):
            raise self._fail(field, value, key)
        return value

    def _name(self, field: Field, value: object, key: str) -> str:
        if not isinstance(value, str) or re.fullmatch(r"[A-Za-z0-9_-]+", value) is None:
            raise self._fail(field, value, key)
        return value

    def _choice(self, field: Field, value: object, key: str) -> str:
        for old, new in field.renamed:
            if value == old:
                deprecated(self.place, f"{key}: {old}", new)
                value = new
        if value not in field.choices:
            raise self._fail(field, value, key, nearest(value, field.choices))
        return str(value)

    def _mapping(self, field: Field, value: object, key: str) -> dict:
        return self.mapping(value, key)

    def _list(self, field: Field, value: object, key: str) -> list:
        if not isinstance(value, (list, tuple)):
            raise self._fail(field, value, key)
        return list(value)


def whole_number(place: object, key: str, value: object, least: int) -> int:
    """An integer of Python or NumPy as an int; InputError for other things, flags and floats too,
    and for less than `least`."""
    try:
        found = least - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore
    except TypeError:
        found = least - 1
    if found < least:
        raise InputError(place, key, value, f"a whole number >= {least}")
    return found


def deprecated(place: object, old: str, new: str) -> None:
    """Warn that a file uses a former name, which a later release will not read."""
    warnings.warn(f"{place}: {old}: is called `{new}` now", FutureWarning, stacklevel=2)


def dropped(place: object, key: str) -> None:
    """Warn that a file has a key that is not read any more."""
    warnings.warn(f"{place}: {key}: is not read any more", FutureWarning, stacklevel=2)


def print_warnings_in_one_line() -> None:
    """For programs: what `deprecated` and `dropped` warn of, without the place in our code."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"


def join(key: str, name: object) -> str:
    """Path of `name` inside `key`, e.g. join("bodies", "cube") = "bodies.cube"."""
    return f"{key}.{name}" if key else str(name)


def for_motion(section: Section, turns: bool) -> dict[str, Field]:
    """The section of what turns or slides: `rad or m` of a key is rad, or m."""
    return {
        name: replace(field, unit=field.unit.split(" or ")[0 if turns else -1])
        for name, field in section.items()
    }


def present(values: dict) -> dict:
    """The entries that are not None."""
    return {key: value for key, value in values.items() if value is not None}
