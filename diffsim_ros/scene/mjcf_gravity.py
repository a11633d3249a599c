"""Gravity of a scene that writes none: that of its MJCF files, which have one of their own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffsim_ros.fields import Reader
from diffsim_ros.robots.mjcf import Mjcf

SAME = 1e-9
"""[m/s^2] up to which two gravities are one."""


def gravity_of_files(
    reader: Reader, written: Mapping, world: dict, files: Mapping[str, Mjcf]
) -> dict[str, str]:
    """Robot -> a sentence on its file's gravity, where the world gets it instead of the default.

    written  `world` as the scene has it
    world    resolved; its gravity becomes that of the files if `written` has none
    files    of the robots that are MJCFs; their axes count as the world's, however they are placed
    Raises InputError where files differ and the scene has no gravity of its own.
    """
    if not files or written.get("gravity") is not None:
        return {}
    (first, mjcf), *others = files.items()
    for name, other in others:
        if not _same(other.gravity, mjcf.gravity):
            got = f"none, and {_words(mjcf)} of robots.{first} but {_words(other)} of robots.{name}"
            rule = "three finite numbers [m/s^2] where the files of robots differ"
            raise reader.error("world.gravity", got, rule, "write world.gravity")
    if _same(mjcf.gravity, world["gravity"]):
        return {}
    world["gravity"] = mjcf.gravity.tolist()
    return {first: f"the scene has {_words(mjcf)} of the file, as it writes no world.gravity"}


def _same(one: object, other: object) -> bool:
    return np.allclose(one, other, rtol=0, atol=SAME)


def _words(mjcf: Mjcf) -> str:
    """The gravity, and whether it is a flag that says so."""
    why = "" if mjcf.flags.gravity else ' (flag gravity="disable")'
    return f"gravity {mjcf.gravity.tolist()}{why}"
