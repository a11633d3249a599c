"""Ground by heights on a grid."""

from __future__ import annotations

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import Named, Sdf


@part
class HeightFieldSdf(Sdf):
    WORD, ENGINE = "height_field", "HeightField"
    heights: list = key(
        "list",
        "rows along x of heights along y, at least 2 of 2: z of the ground at the points of a "
        "grid, smooth and monotone between them",
        "m",
        REQUIRED,
    )
    size: list[float] = key(
        "numbers", "lengths of the grid along x and y, its centre the origin; level beyond", "m",
        REQUIRED, minimum=0, strict=True,
    )  # fmt: skip

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        heights, size = values["heights"], values["size"]
        if len(size) != 2:
            raise reader.error(join(key, "size"), size, "two lengths, along x and y")
        place, rule = join(key, "heights"), "rows of equally many finite numbers, at least 2 of 2"
        try:
            grid = np.array(heights, float)
        except (TypeError, ValueError):
            raise reader.error(place, "no numbers in equal rows", rule) from None
        if grid.ndim != 2 or min(grid.shape) < 2 or not np.isfinite(grid).all():
            raise reader.error(place, f"an array of shape {grid.shape}", rule)
        values["heights"] = grid.tolist()

    def arguments(self, named: Named) -> tuple:
        return np.array(self.heights), self.size[0] / 2, self.size[1] / 2

    def bounds(self, named):
        heights, half = np.array(self.heights), np.array(self.size) / 2
        low, high = float(heights.min()), float(heights.max())
        thick = max(high - low, 0.05 * float(half.max()))
        return np.array([*-half, low - thick]), np.array([*half, high])
