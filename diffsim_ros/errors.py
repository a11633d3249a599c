"""The two errors for users: unusable input, and a computation that did not converge."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass

BRACKETS = ((list, "[]"), (tuple, "()"), (dict, "{}"), (set, "{}"))
"""Containers whose parts are shown one by one."""
LONGEST = 4000
"""Characters of a message; the keys and names in it may come from a file."""
KNOWN = 40
"""Most names that a list of known ones holds."""
MOST_COMPARED, WORD = 1000, 200
"""Most names that a word is compared with, and how much of each: comparing takes quadratic time."""


class InputError(ValueError):
    """Unusable input; `str()` is one line: place, key, value, what is accepted, remedy.

    place     file, topic or object in which the value stands ("" if there is none)
    key       path of the value inside that place, e.g. "bodies.cube.mass" ("" if there is none)
    value     what was found; written with `repr` and shortened
    accepted  the rule that it breaks, e.g. "a number > 0 [kg]"
    remedy    what to do about it ("" if the rule already has it)
    """

    def __init__(
        self, place: object, key: object, value: object, accepted: str, remedy: str = ""
    ) -> None:
        self.place, self.key, self.value = str(place), str(key), value
        self.accepted, self.remedy = accepted, remedy
        head = ": ".join(_cut(part, LONGEST // 4) for part in (self.place, self.key) if part)
        tail = f"; {remedy}" if remedy else ""
        text = f"{head or 'input'}: got {shown(value)}; accepted: {accepted}{tail}"
        super().__init__(_cut(" ".join(text.split()), LONGEST))

    def __reduce__(self):
        return type(self), (self.place, self.key, self.value, self.accepted, self.remedy)


class EngineInputError(InputError):
    """Unusable input that the engine has found; its message is one line like the others."""

    def __init__(self, text: str) -> None:
        ValueError.__init__(self, text)
        self.place, self.key, self.value, self.accepted, self.remedy = "", "", None, text, ""

    def __reduce__(self):
        return type(self), (str(self),)


class NotConverged(RuntimeError):
    """A rollout or an optimisation ended without converging; the message has where and why."""


def shown(value: object, length: int = 120) -> str:
    """`repr(value)` on one line, at most `length` characters.

    Time and memory are bounded by `length`, whatever the value is: only as much of it is looked
    at as is shown.  Arrays of more than a few numbers are shown by type and shape.
    """
    text, size = [], 0
    for part in _pieces(value, length):
        text.append(part)
        size += len(part)
        if size > 4 * length:  # what is white space may still go
            break
    line = " ".join("".join(text).split())
    return line if len(line) <= length else line[: length - 4] + " ..."


def _pieces(value: object, length: int, level: int = 0) -> Iterator[str]:
    """Parts of a repr, made one by one as they are asked for; no part is much above `length`."""
    brackets = next((b for kind, b in BRACKETS if type(value) is kind), None)
    if level > length:
        yield "..."
    elif isinstance(value, (str, bytes, bytearray)):
        cut = len(value) > 4 * length
        yield repr(value[: 4 * length]) + " ..." if cut else repr(value)
    elif isinstance(value, int) and value.bit_length() > 4 * length:
        yield f"a whole number of {value.bit_length()} bits"
    elif brackets is not None and value:
        yield brackets[0]
        yield from _row(value, length, level, ": " if type(value) is dict else "")
        yield "," + brackets[1] if type(value) is tuple and len(value) == 1 else brackets[1]
    elif isinstance(value, BaseException):
        yield type(value).__name__ + "("
        yield from _row(value.args, length, level)
        yield ")"
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__ + "("
        for i, entry in enumerate(fields(value)):
            yield f"{', ' if i else ''}{entry.name}="
            yield from _pieces(getattr(value, entry.name, None), length, level + 1)
        yield ")"
    else:
        yield _other(value, length)


def _row(values: Collection, length: int, level: int, sign: str = "") -> Iterator[str]:
    """Parts of values one after the other; with a sign they are the keys of a dict."""
    for i, key in enumerate(values):
        yield ", " if i else ""
        yield from _pieces(key, length, level + 1)
        if sign:
            yield sign
            yield from _pieces(values[key], length, level + 1)


def _other(value: object, length: int) -> str:
    """Arrays by their shape, other objects by their own repr, if they have a sound one."""
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and kind is not None:
        few = getattr(value, "nbytes", length) <= 8 * length
        if shape and (not few or getattr(kind, "hasobject", False)):
            return f"array of shape {shape} of {str(kind)[:length]}"
    if isinstance(value, (Mapping, Sequence, Set)) and len(value) > length:
        return f"{type(value).__name__} of {len(value)}"
    try:
        return repr(value)[: 4 * length]
    except Exception as error:  # of any object's own repr
        return f"<{type(value).__name__} without a repr: {type(error).__name__}>"


def nearest(word: object, known: Iterable[object]) -> str:
    """Return "did you mean 'x'?" for the nearest known word, or the list of all known words."""
    names = [_cut(str(name), WORD) for name in known]
    lowered = {name.lower(): name for name in names[:MOST_COMPARED]}
    close = difflib.get_close_matches(_cut(str(word), WORD).lower(), lowered, n=1, cutoff=0.5)
    if close:
        return f"did you mean {lowered[close[0]]!r}?"
    some = sorted(names)[:KNOWN] + [f"and {len(names) - KNOWN} more"] * (len(names) > KNOWN)
    return "known: " + (", ".join(some) or "none")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a row: the first `most`, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 4] + " ..."
