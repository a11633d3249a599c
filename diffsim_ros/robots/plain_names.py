"""Names of a file's things in a scene: letters, digits, _ and -, no two the same."""

from __future__ import annotations

import re


def plain(name: str) -> str:
    """A name as a scene may have it, but for others that are the same."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


class Names:
    """The names given so far.

    renamed  (kind, name in the file, name here) of what another name is needed for
    """

    def __init__(self, *taken: str) -> None:
        self.renamed: list[tuple[str, str, str]] = []
        self._taken = set(taken)
        self._made: dict[str, str] = {}

    def take(self, kind: str, given: str, otherwise: str, again: str = "") -> str:
        """A name that nothing else has: the file's, where it has none `otherwise`.

        again  what is put after a name that something else has
        """
        name = plain(given) or otherwise
        if again and name in self._taken:
            name += again
        name = self._free(name)
        self._taken.add(name)
        if given and name != given:
            self.renamed.append((kind, given, name))
        return name

    def made(self, name: str) -> str:
        """A name of what is made for a scene alone; the same one whenever it is asked for."""
        if name not in self._made:
            self._made[name] = self._free(name)
            self._taken.add(self._made[name])
        return self._made[name]

    def _free(self, name: str) -> str:
        free, count = name, 1
        while free in self._taken:
            count += 1
            free = f"{name}_{count}"
        return free
