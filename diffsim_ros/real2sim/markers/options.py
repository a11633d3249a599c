"""Sections of an estimation YAML that are those of markers."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from dataclasses import dataclass

from ...fields import REQUIRED
from ..options import option


@dataclass(frozen=True, kw_only=True)
class MarkerDataOptions:
    """Section `data` of markers."""

    train: dict = option("mapping", "recordings that are fitted: {files}", REQUIRED)
    validate: dict = option("mapping", "recordings that are predicted: {files}", None)
    conditions: tuple = option(
        "list", "what differs between recordings, by the names of their files", ()
    )


@dataclass(frozen=True, kw_only=True)
class MarkerFilesOptions:
    """Sections `data.train` and `data.validate` of markers."""

    files: tuple = option("list", "CSV, C3D or rosbag2 files, relative to the YAML", REQUIRED)


@dataclass(frozen=True, kw_only=True)
class ConditionOptions:
    """One of `data.conditions`; the first whose pattern fits counts."""

    records: str = option("text", "pattern of file names without extension, * and ?", REQUIRED)
    sets: dict = option(
        "mapping", "scene parameter -> value in these recordings", {}, of_names=True
    )


@dataclass(frozen=True, kw_only=True)
class MarkerMeasurementOptions:
    """Section `measurement` of markers."""

    markers: dict = option(
        "mapping", "name -> place at the start of the scene [m, world]", REQUIRED
    )
    still: tuple = option(
        "list", "names of those that stay where they are: for the rigid fit alone", ()
    )
    sigma: float = option(
        "number",
        "error of a marker's coordinate, model and sensor",
        1e-3,
        "m",
        minimum=0,
        strict=True,
    )
    position_count: float = option(
        "number",
        "independent ones that all marker coordinates of a recording count as: model errors are "
        "alike over time and markers",
        20.0,
        minimum=0,
        strict=True,
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
    fit_tolerance: float = option(
        "number",
        "largest distance of a held marker from its place after the rigid fit",
        5e-3,
        "m",
        minimum=0,
        strict=True,
    )
    labels: str = option(
        "choice",
        "given: as recorded; repaired: swaps undone, outliers left out; none: points without names",
        "given",
        choices=("given", "repaired", "none"),
    )
    label_gate: float = option(
        "number",
        "a marker is looked for this near to where its motion takes it, per frame since it was "
        "seen",
        0.02,
        "m",
        minimum=0,
        strict=True,
    )
    release_marker: str = option("text", "marker whose motion shows the release", REQUIRED)
    release_distance: float = option(
        "number", "motion from where it was held that counts", 5e-4, "m", minimum=0, strict=True
    )
    loading: float = option(
        "number",
        "time that the scene takes to bring the body to where it is held: its release is looked "
        "for after it; 0: the scene starts with the release",
        0.0,
        "s",
        minimum=0,
    )
    release_after: float = option(
        "number",
        "with loading: stamp of a recording after which the release is looked for; it begins with "
        "the body at rest all the same",
        0.0,
        "s",
        minimum=0,
    )
    before: float = option(
        "number",
        "with loading: frames of so long before the release count too",
        0.0,
        "s",
        minimum=0,
    )
    align_distance: float = option(
        "number",
        "motion at which the clocks of recording and simulation are made to agree",
        2e-3,
        "m",
        minimum=0,
        strict=True,
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
    window: float = option(
        "number",
        "marker errors are those of this time after the release",
        2.0,
        "s",
        minimum=0,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class MarkerSimulationOptions:
    """Section `simulation` of markers; steps are the scene's."""

    threads: int = option("integer", "0 uses every core; results do not change", 0, minimum=0)
