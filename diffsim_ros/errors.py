"""The two errors that a user meets: unusable input, and a computation that did not converge."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Unusable input; `str()` is one line: place, key, value, what is accepted, remedy.

    place     file, topic or object in which the value stands ("" if there is none)
    key       path of the value inside that place, e.g. "bodies.cube.mass" ("" if there is none)
    value     what was found; written with `repr` and shortened
    accepted  the rule that it breaks, e.g. "a number > 0 [kg]"
    remedy    what to do about it ("" if the rule already says so)
    """

    def __init__(
        self, place: object, key: object, value: object, accepted: str, remedy: str = ""
    ) -> None:
        self.place, self.key, self.value = str(place), str(key), value
        self.accepted, self.remedy = accepted, remedy
        head = ": ".join(part for part in (self.place, self.key) if part)
        tail = f"; {remedy}" if remedy else ""
        text = f"{head or 'input'}: got {shown(value)}; accepted: {accepted}{tail}"
        super().__init__(" ".join(text.split()))

    def __reduce__(self):
        return type(self), (self.place, self.key, self.value, self.accepted, self.remedy)


class NotConverged(RuntimeError):
    """A rollout or an optimisation ended without converging; the message says where and why."""


def shown(value: object, length: int = 120) -> str:
    """`repr(value)` on one line, at most `length` characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= length else text[: length - 4] + " ..."


def nearest(word: object, known: Iterable[object]) -> str:
    """Return "did you mean 'x'?" for the nearest known word, or the list of all known words."""
    names = [str(name) for name in known]
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(word).lower(), lowered, n=1, cutoff=0.5)
    if close:
        return f"did you mean {lowered[close[0]]!r}?"
    return "known: " + (", ".join(sorted(names)) or "none")
