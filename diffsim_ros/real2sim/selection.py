"""Which tosses of which files: lists of ids, seeded draws, the rest, or whole files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest
from ..sensing.observation import MIN_SAMPLES, PoseTrial
from ..sensing.tosses import read_tosses, repeated, toss_ids
from .comparison import Published, beside, read_published
from .metric import TossErrors
from .options import RandomOptions

Key = tuple[Path, int]


@dataclass(frozen=True)
class Selection:
    """Tosses to train on, or to predict.

    place, key  the YAML and the key in it, for messages
    files       npz files, absolute
    trials      "all", ids, or a seeded draw
    published   "beside", "none" or tables of other simulators' errors
    excluded    selection whose tosses, and copies of them, are left out, if any
    """

    place: str
    key: str
    files: tuple[Path, ...]
    trials: str | tuple[int, ...] | RandomOptions
    exclude_train: bool = False
    published: str | tuple[Path, ...] = "beside"
    excluded: Selection | None = None

    @classmethod
    def whole_files(cls, place: str, key: str, files: Sequence[str | Path]) -> Selection:
        """Every toss of every file; relative paths start from the current folder."""
        return cls(place, key, tuple(Path(file).resolve() for file in files), "all")

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
            return self._listed(pool)
        if isinstance(self.trials, RandomOptions):
            return self._drawn(pool, self.trials)
        if not pool:
            got = "none left"
            raise InputError(self.place, f"{self.key}.trials", got, "at least one toss")
        return pool

    def _listed(self, pool: list[Key]) -> list[Key]:
        """The tosses whose ids are listed."""
        known = {i for _, i in pool}
        for i in self.trials:
            if i not in known:
                rule = "the id of a toss in " + ", ".join(str(f) for f in self.files)
                if self.excluded is not None:
                    rule += " that is not trained on"
                remedy = nearest(i, sorted(known))
                raise InputError(self.place, f"{self.key}.trials", i, rule, remedy)
        wanted = set(self.trials)
        return [key for key in pool if key[1] in wanted]

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

    def tables(self) -> list[Published]:
        """Published tables of this selection (empty if there are none)."""
        if self.published == "none":
            return []
        paths = beside(self.files) if self.published == "beside" else self.published
        return [read_published(path) for path in paths]

    def published_for(self, trials: Sequence[PoseTrial]) -> list[dict[str, TossErrors]]:
        """Per trial: simulator -> published errors; a table beside a file serves it alone."""
        tables = self.tables()
        result = []
        for trial in trials:
            folder = Path(trial.poses.source).parent
            near = [
                table
                for table in tables
                if self.published != "beside" or Path(table.source).parent == folder
            ]
            result.append(_merged(near, trial.id))
        return result


def _originals(keys: Sequence[Key], bodies: Sequence[str]) -> list[Key]:
    """Every key, a copy (tosses.repeated) replaced by the toss that it repeats."""
    copies = {file: repeated(file, bodies) for file in dict.fromkeys(file for file, _ in keys)}
    return [(file, copies[file].get(i, i)) for file, i in keys]


def _merged(tables: Sequence[Published], toss: int) -> dict[str, TossErrors]:
    """Errors of every simulator for one toss; the first table that has them counts."""
    found: dict[str, TossErrors] = {}
    for table in tables:
        errors: Mapping[str, Mapping[int, TossErrors]] = table.errors
        for name, rows in errors.items():
            if toss in rows:
                found.setdefault(name, rows[toss])
    return found


def overlap(train: Sequence[PoseTrial], validate: Sequence[PoseTrial]) -> list[PoseTrial]:
    """Validated trials that were trained on too (same file, same id)."""
    known = {(trial.poses.source, trial.id) for trial in train}
    return [trial for trial in validate if (trial.poses.source, trial.id) in known]
