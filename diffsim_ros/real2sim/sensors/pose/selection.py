"""Which tosses of which files: lists of ids, seeded draws, the rest, or whole files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ....errors import InputError, nearest
from ....fields import Reader, dropped
from ....sensing.observation import MIN_SAMPLES, PoseTrial
from ....sensing.tosses import read_tosses, repeated, toss_ids
from ...options import read_options
from ...recordings import Recordings
from .options import RandomOptions, SelectionOptions

Key = tuple[Path, int]


@dataclass(frozen=True)
class Selection(Recordings):
    """Tosses to train on, or to predict.

    trials      "all", ids, or a seeded draw
    excluded    selection whose tosses, and copies of them, are left out, if any
    """

    trials: str | tuple[int, ...] | RandomOptions = "all"
    exclude_train: bool = False
    excluded: Selection | None = None

    section: ClassVar[type[SelectionOptions]] = SelectionOptions
    accepted: ClassVar[str] = "an npz file or a bag"

    @classmethod
    def roles(cls, reader: Reader, value: object, base: Path) -> tuple[Self, Self | None]:
        """Those to train on, and those to validate on, which may leave these out."""
        train, validate = super().roles(reader, _without_published(reader, value), base)
        if validate is not None and validate.exclude_train:
            validate = replace(validate, excluded=train)
        return train, validate

    @classmethod
    def details(
        cls, reader: Reader, options: SelectionOptions, base: Path, key: str, data: Any
    ) -> dict[str, Any]:
        """Which of the tosses."""
        trials: Any = options.trials
        if isinstance(trials, Mapping):
            trials = read_options(RandomOptions, reader, trials, f"{key}.trials")
        elif isinstance(trials, (list, tuple)):
            bad = [t for t in trials if isinstance(t, bool) or not isinstance(t, int)]
            if bad or not trials:
                raise reader.error(f"{key}.trials", bad or [], "whole numbers, at least one")
            trials = tuple(trials)
        elif trials != "all":
            rule = "all, a list of ids, or {random: COUNT, seed: SEED}"
            raise reader.error(f"{key}.trials", trials, rule)
        return {"trials": trials, "exclude_train": options.exclude_train}

    def whole(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Every toss."""
        fields = {"trials": "all", "exclude_train": False}
        return {**fields, "excluded": None}, fields

    def keys(self, bodies: Sequence[str] = ()) -> list[Key]:
        """(file, toss id) of every selected toss, in the order of files and ids.

        bodies  which are wanted of a bag with several
        """
        files = dict.fromkeys(self.files)
        pool = [(file.resolve(), i) for file in files for i in toss_ids(file, bodies)]
        if self.excluded is not None:
            gone = set(_originals(self.excluded.keys(bodies), bodies))
            originals = _originals(pool, bodies)
            pool = [k for k, o in zip(pool, originals, strict=True) if o not in gone]
        if isinstance(self.trials, tuple):
            return self._listed(pool, self.trials)
        if isinstance(self.trials, RandomOptions):
            return self._drawn(pool, self.trials)
        if not pool:
            got = "none left"
            raise InputError(self.place, f"{self.key}.trials", got, "at least one toss")
        return pool

    def _listed(self, pool: list[Key], ids: tuple[int, ...]) -> list[Key]:
        """The tosses whose ids are listed."""
        known = {i for _, i in pool}
        for i in ids:
            if i not in known:
                rule = "the id of a toss in " + ", ".join(str(f) for f in self.files)
                if self.excluded is not None:
                    rule += " that is not trained on"
                remedy = nearest(i, sorted(known))
                raise InputError(self.place, f"{self.key}.trials", i, rule, remedy)
        return [key for key in pool if key[1] in ids]

    def _drawn(self, pool: list[Key], draw: RandomOptions) -> list[Key]:
        """A seeded draw without repetition."""
        if draw.random > len(pool):
            rule = f"at most {len(pool)}, the tosses there are to draw from"
            raise InputError(self.place, f"{self.key}.trials.random", draw.random, rule)
        order = np.random.default_rng(draw.seed).permutation(len(pool))[: draw.random]
        return [pool[i] for i in sorted(order)]

    def read(
        self, body: str | Sequence[str], sigma: Sequence[float], least: int = MIN_SAMPLES
    ) -> list[PoseTrial]:
        """The selected tosses, read and checked (tosses.read_tosses)."""
        by_file: dict[Path, list[int]] = {}
        for file, i in self.keys((body,) if isinstance(body, str) else body):
            by_file.setdefault(file, []).append(i)
        trials: list[PoseTrial] = []
        for file, ids in by_file.items():
            trials += read_tosses(file, ids, body=body, sigma=sigma, least=least)
        return trials


def _originals(keys: Sequence[Key], bodies: Sequence[str]) -> list[Key]:
    """Every key, a copy (tosses.repeated) replaced by the toss that it repeats."""
    copies = {file: repeated(file, bodies) for file in dict.fromkeys(file for file, _ in keys)}
    return [(file, copies[file].get(i, i)) for file, i in keys]


def _without_published(reader: Reader, value: object) -> object:
    """Section `data` without tables of other simulators' errors, which former YAMLs name."""
    found = reader.mapping(value, "data")
    for role, part in found.items():
        if isinstance(part, Mapping) and "published" in part:
            dropped(reader.place, f"data.{role}.published")
            found[role] = {key: one for key, one in part.items() if key != "published"}
    return found
