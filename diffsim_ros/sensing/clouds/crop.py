"""The part of a cloud inside (or outside) boxes in space and in colour."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import InputError
from .cloud import Cloud


def crop_space(cloud: Cloud, box: Mapping) -> Cloud:
    """Points inside low..high (with `keep` false, outside); box as options.BOX."""
    return cloud.kept(_inside(cloud.points, box) == box["keep"])


def cut_by(points: np.ndarray, box: Mapping, margin: float) -> bool:
    """Whether points of an object come so near a face of a box that it may have cut the object.

    For boxes whose inside is kept: a cut object would be detected at a wrong place.
    """
    if not box["keep"] or not len(points):
        return False
    low, high = np.array(box["low"]), np.array(box["high"])
    return bool(min((points - low).min(), (high - points).min()) < margin)


def at_rim(cloud: Cloud) -> bool:
    """Whether points lie in the outermost pixels of an organised cloud."""
    if cloud.pixel is None or cloud.shape is None:
        return False
    (height, width), (row, column) = cloud.shape, np.divmod(cloud.pixel, cloud.shape[1])
    last = np.maximum(row - (height - 2), column - (width - 2))
    return bool(((row == 0) | (column == 0) | (last > 0)).any())


def crop_colour(cloud: Cloud, box: Mapping) -> Cloud:
    """Points whose colour is inside low..high (with `keep` false, outside); as options.COLOUR.

    Raises InputError for a cloud without colour.
    """
    if cloud.colour is None:
        rule = "points with colour (a field rgb), as cloud.colours needs"
        raise InputError(cloud.source, "colour", None, rule)
    colour = cloud.colour
    if box["space"] == "hsv":
        from matplotlib.colors import rgb_to_hsv

        colour = rgb_to_hsv(np.clip(colour, 0, 1))
    return cloud.kept(_inside(colour, box) == box["keep"])


def _inside(values: np.ndarray, box: Mapping) -> np.ndarray:
    """(n,) bool; where low exceeds high (a hue), the interval runs over the end."""
    inside = np.ones(len(values), bool)
    for k, (low, high) in enumerate(zip(box["low"], box["high"], strict=True)):
        above, below = values[:, k] >= low, values[:, k] <= high
        inside &= (above & below) if low <= high else (above | below)
    return inside
