"""Section `cloud` of an estimation: how a depth camera's frames become points of one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...fields import REQUIRED, Field, Reader, Section, tables
from ...rotation import quat_matrix

LENGTH: dict[str, Any] = {"minimum": 0, "strict": True}

CLOUD: Section = {
    "sensor_frame": Field("text", "frame that clouds must be given in; absent: any"),
    "frame": Field("text", "frame that they are moved to", default="world"),
    "position": Field("vector3", "of the sensor in that frame", "m", [0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "of the sensor, x, y, z, w", "1", [0.0, 0.0, 0.0, 1.0]),
    "scale": Field("number", "metres per unit of the clouds", "m", 1.0, **LENGTH),
    "boxes": Field("list", "boxes {low, high, keep}, in `frame`, one after the other"),
    "colours": Field("list", "boxes {low, high, space, keep} in colour, one after the other"),
    "voxel": Field("number", "edge of the cells whose points are averaged", "m", **LENGTH),
    "planes": Field("mapping", "floor and walls; absent: none is searched"),
    "outliers": Field("mapping", "isolated points"),
    "object": Field("mapping", "the cluster that is followed; absent: all points are the object"),
    "sample": Field("integer", "points kept of each frame at most, drawn evenly", minimum=1),
    "noise": Field("mapping", "standard deviation of a point"),
}
BOX: Section = {
    "low": Field("vector3", "lowest corner", "m", REQUIRED),
    "high": Field("vector3", "highest corner", "m", REQUIRED),
    "keep": Field("flag", "true: only what is inside stays; false: only what is outside", "", True),
}
COLOUR: Section = {
    "space": Field("choice", "what the three numbers are", default="hsv", choices=("rgb", "hsv")),
    "low": Field("vector3", "lowest, from 0 to 1", "1", REQUIRED),
    "high": Field("vector3", "highest; a hue below low's runs through red", "1", REQUIRED),
    "keep": Field("flag", "true: only these colours stay; false: only others", "", True),
}
PLANES: Section = {
    "count": Field("integer", "planes at most", default=1, minimum=1),
    "distance": Field("number", "points this near belong to a plane", "m", 0.01, **LENGTH),
    "share": Field("number", "least share of all points in a plane", "1", 0.05, minimum=0),
    "iterations": Field("integer", "RANSAC's draws", default=1000, minimum=1),
    "frames": Field("integer", "first frames that planes are found in", default=3, minimum=1),
    "up": Field("vector3", "up in `frame`: planes within 20 deg of level are floors", "1",
                [0.0, 0.0, 1.0]),
    "behind": Field("flag", "also drop what lies behind a plane", "", False),
}  # fmt: skip
OUTLIERS: Section = {
    "neighbours": Field("integer", "nearest points that count", default=20, minimum=1),
    "ratio": Field("number", "standard deviations above the mean distance", "1", **LENGTH),
    "radius": Field("number", "a point needs as many neighbours within this", "m", **LENGTH),
    "least": Field("integer", "neighbours that it needs", default=5, minimum=1),
}
OBJECT: Section = {
    "distance": Field("number", "points this near are of one cluster", "m", 0.02, **LENGTH),
    "least": Field("integer", "neighbours of a core point (DBSCAN)", default=10, minimum=1),
    "points": Field("integer", "points of the object at least", default=30, minimum=1),
    "start": Field("vector3", "where it is at first; absent: the largest cluster", "m"),
    "gate": Field("number", "largest accepted distance from the prediction", "m", 0.3, **LENGTH),
    "gravity": Field("vector3", "used to predict", "m/s^2", [0.0, 0.0, 0.0]),
    "whole": Field(
        "flag",
        "leave out frames in which a box (nearer than `distance`) or the image's rim may cut it",
        default=True,
    ),
    "patience": Field("integer", "frames without it before it is lost", default=10, minimum=0),
}
NOISE: Section = {
    "constant": Field("number", "along the ray", "m", 0.002, minimum=0),
    "quadratic": Field("number", "times (distance - reference)^2, along the ray", "1/m", 0.0,
                       minimum=0),
    "reference": Field("number", "distance of the least noise", "m", 0.0, minimum=0),
    "lateral": Field("number", "times distance, across the ray", "rad", 0.0, minimum=0),
}  # fmt: skip
SECTIONS: dict[str, Section] = {
    "cloud": CLOUD, "cloud.boxes[i]": BOX, "cloud.colours[i]": COLOUR, "cloud.planes": PLANES,
    "cloud.outliers": OUTLIERS, "cloud.object": OBJECT, "cloud.noise": NOISE,
}  # fmt: skip


@dataclass(frozen=True)
class DepthNoise:
    """A point's standard deviation: along the ray constant + quadratic (r - reference)^2 [m],
    across it lateral r [m], r the distance from the sensor."""

    constant: float = 0.002
    quadratic: float = 0.0
    reference: float = 0.0
    lateral: float = 0.0

    def along(self, distance: np.ndarray | float) -> np.ndarray:
        """[m], (n,)."""
        return self.constant + self.quadratic * (np.asarray(distance) - self.reference) ** 2

    def across(self, distance: np.ndarray | float) -> np.ndarray:
        """[m], (n,)."""
        return self.lateral * np.asarray(distance)


@dataclass(frozen=True)
class CloudOptions:
    """The section, checked: `values` with all defaults, `boxes`, `colours` and sub-sections read.

    A sub-section that is absent is None; planes, outliers and object are mappings of plain values.
    """

    values: Mapping
    boxes: tuple[Mapping, ...]
    colours: tuple[Mapping, ...]
    # `Any` where None is meant that who asks for it never meets
    planes: Mapping | Any
    outliers: Mapping | Any
    object: Mapping | Any
    noise: DepthNoise

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3), sensor to frame."""
        return quat_matrix(np.array(self.values["orientation"]))


def read_cloud_options(mapping: object, place: object, key: str = "cloud") -> CloudOptions:
    """Read the section; raises InputError naming file, key, value and what is accepted."""
    reader = Reader(place)
    values = reader.section(CLOUD, mapping, key)
    lists: dict[str, Any] = {
        name: tuple(
            _box(reader, section, one, f"{key}.{name}[{i}]")
            for i, one in enumerate(values[name] or ())
        )
        for name, section in (("boxes", BOX), ("colours", COLOUR))
    }
    parts: dict[str, Any] = {
        name: None
        if values[name] is None
        else reader.section(section, values[name], f"{key}.{name}")
        for name, section in (("planes", PLANES), ("outliers", OUTLIERS), ("object", OBJECT))
    }
    noise = DepthNoise(**reader.section(NOISE, values["noise"], f"{key}.noise"))
    return CloudOptions(values, noise=noise, **lists, **parts)


def _box(reader: Reader, section: Section, value: object, key: str) -> dict[str, Any]:
    box = reader.section(section, value, key)
    wraps = box.get("space") == "hsv"
    for i in range(1 if wraps else 0, 3):
        if not box["low"][i] < box["high"][i]:
            raise reader.error(f"{key}.low[{i}]", box["low"][i], f"less than {box['high'][i]:g}")
    return box


def markdown() -> str:
    """Every section as a Markdown table, for docs/reference/estimation_keys.md."""
    return tables(SECTIONS)


if __name__ == "__main__":
    print(markdown(), end="")
