"""Sections of an estimation YAML that are those of markers."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from ....errors import InputError
from ....fields import REQUIRED, Field, Reader
from ...options import DataOptions, FilesOptions, option, positive, read_options
from ...recordings import Recordings

NUMBER = Field("number", "value of a scene parameter")


@dataclass(frozen=True, kw_only=True)
class MarkerDataOptions(DataOptions):
    """Section `data` of markers."""

    conditions: tuple = option(
        "list", "what differs between recordings, by the names of their files", ()
    )


@dataclass(frozen=True, kw_only=True)
class ConditionOptions:
    """One of `data.conditions`; the first whose pattern fits counts."""

    records: str = option("text", "pattern of file names without extension, * and ?", REQUIRED)
    sets: dict = option(
        "mapping", "scene parameter -> value in these recordings", {}, of_names=True
    )


@dataclass(frozen=True)
class MarkerFiles(Recordings):
    """Recordings of a role, and their conditions, by name."""

    conditions: tuple[ConditionOptions, ...] = ()

    data: ClassVar[type[DataOptions]] = MarkerDataOptions
    accepted: ClassVar[str] = "a CSV, C3D or rosbag2 file"

    @classmethod
    def details(
        cls, reader: Reader, options: FilesOptions, base: Path, key: str, data: MarkerDataOptions
    ) -> dict[str, Any]:
        """The conditions, those of both roles."""
        found = []
        for i, value in enumerate(data.conditions):
            place = f"data.conditions[{i}]"
            one = read_options(ConditionOptions, reader, value, place)
            for name, number in one.sets.items():
                one.sets[name] = reader.value(NUMBER, number, f"{place}.sets.{name}")
            found.append(one)
        return {"conditions": tuple(found)}

    def condition(self, name: str) -> Mapping[str, float]:
        """Engine parameters of a recording; InputError if no pattern fits its name."""
        if not self.conditions:
            return {}
        for condition in self.conditions:
            if fnmatchcase(name, condition.records):
                return condition.sets
        rule = "a name that fits " + " or ".join(c.records for c in self.conditions)
        raise InputError(self.place, self.key, name, rule, "add it to data.conditions")


@dataclass(frozen=True, kw_only=True)
class MarkerMeasurementOptions:
    """Section `measurement` of markers."""

    markers: dict = option(
        "mapping", "name -> place at the start of the scene [m, world]", REQUIRED
    )
    still: tuple = option(
        "list", "names of those that stay where they are: for the rigid fit alone", ()
    )
    sigma: float = positive("error of a marker's coordinate, model and sensor", 1e-3, "m")
    position_count: float = positive(
        "independent ones that all marker coordinates of a recording count as: model errors are "
        "correlated over time and markers",
        20.0,
    )
    swing_sigma: tuple = option(
        "numbers",
        "relative error of static deflection, frequency and decay, model and sensor; a fourth, of "
        "the static deflection, counts creep: what the swing leaves in its last quarter; none: "
        "positions alone count",
        (0.02, 0.01, 0.05),
        minimum=0,
        strict=True,
    )
    fit_tolerance: float = positive(
        "largest distance of a held marker from its place after the rigid fit", 5e-3, "m"
    )
    labels: str = option(
        "choice",
        "given: as recorded; repaired: swaps undone, outliers left out; none: points without names",
        "given",
        choices=("given", "repaired", "none"),
    )
    label_gate: float = positive(
        "a marker is searched this near to where its motion takes it, per frame since its last one",
        0.02,
        "m",
    )
    release_marker: str = option("text", "marker whose motion shows the release", REQUIRED)
    release_distance: float = positive("motion from where it was held that counts", 5e-4, "m")
    loading: float = option(
        "number",
        "time that the scene takes to bring the body to where it is held: its release is "
        "searched after it; 0: the scene starts with the release",
        0.0,
        "s",
        minimum=0,
    )
    release_after: object = option(
        "any",
        "with loading: stamp of a recording after which the release is searched [s]; it still "
        "begins with the body at rest. Or one for each trial, by name: {beam_1: 4.2}",
        0.0,
    )
    before: float = option(
        "number",
        "with loading: frames of so long before the release count too",
        0.0,
        "s",
        minimum=0,
    )
    align_distance: float = positive(
        "motion at which the clocks of recording and simulation are made to agree", 2e-3, "m"
    )
    swing_marker: str = option("text", "marker whose swing is measured", REQUIRED)
    swing_axis: str = option(
        "choice", "its coordinate, tracker's frame", REQUIRED, choices=("x", "y", "z")
    )
    swing_after: float = option(
        "number", "from this time after the release on", 0.15, "s", minimum=0
    )
    swing_span: float = option(
        "number", "for this long at most (0: to the end of the recording)", 0.0, "s", minimum=0
    )
    window: float = positive("marker errors are those of this time after the release", 2.0, "s")
