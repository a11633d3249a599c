"""Numbers per joint of a robot, as files give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.units import MOST_TURNED, read_number


class NamedJoint(Protocol):
    """What is asked of a joint: its name, and whether its coordinate is an angle."""

    @property
    def name(self) -> str: ...

    @property
    def turns(self) -> bool: ...


def joint_values(
    joints: Sequence[NamedJoint],
    given: object,
    key: str,
    default: float | np.ndarray = 0.0,
    place: object = "",
    unit: str = "",
) -> np.ndarray:
    """One number per joint (n,) of a number for all, a list, or {joint: number}.

    default  of joints that a mapping does not name, and of all where nothing is given: one, or (n,)
    unit     of a joint that turns and of one that slides: `rad or m`; a number may name its own
             (`90 deg`), and an angle beyond a turn must.
    InputError names `place` and key.
    """
    count, names = len(joints), [joint.name for joint in joints]
    absent = np.full(count, default) if np.ndim(default) == 0 else np.asarray(default, float)
    if given is None:
        return absent
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InputError(place, key, name, "a joint that moves", nearest(name, names))
        named = zip(joints, absent.tolist(), strict=True)
        numbers = [
            _in_unit(joint, given[joint.name], key, place, unit) if joint.name in given else own
            for joint, own in named
        ]
        return _checked(numbers, count, key, place)
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        given = [given] * count
    if len(given) == count:
        pairs = zip(joints, given, strict=True)
        given = [_in_unit(joint, g, key, place, unit) for joint, g in pairs]
    return _checked(list(given), count, key, place)


def _checked(given: list, count: int, key: str, place: object) -> np.ndarray:
    numbers = [g for g in given if isinstance(g, (int, float)) and not isinstance(g, bool)]
    if len(given) != count or len(numbers) != count or any(not abs(g) < 1e300 for g in numbers):
        rule = f"a number, {count} numbers, or a mapping joint -> number"
        raise InputError(place, key, given, rule)
    return np.array(numbers, float)


def _in_unit(joint: NamedJoint, given: object, key: str, place: object, unit: str) -> object:
    """A number as `unit` of the joint has it; InputError for an angle beyond a turn without one."""
    own = unit.split(" or ")[0 if joint.turns else -1]
    if isinstance(given, str):
        try:
            return read_number(given, own)[0]
        except ValueError as error:
            rule = f"a number [{own}]" if own else "a number"
            raise InputError(place, f"{key}.{joint.name}", given, rule, str(error)) from error
    if own == "rad" and isinstance(given, (int, float)) and abs(given) > MOST_TURNED:
        rule = f"an angle within a turn, `{given:g} deg`, or `{given:g} rad`"
        raise InputError(place, f"{key}.{joint.name}", given, rule)
    return given
