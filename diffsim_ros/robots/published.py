"""URDFs as published: their joints before one is chosen, and their text with what is mended."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from .mending import physical_inertia
from .robot import KINDS
from .urdf import tree_of
from .urdf_file import number_of, read_urdf

AXES = (("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz"))


@dataclass(frozen=True)
class UrdfJoint:
    """A joint that is not fixed, as its file has it.

    lower, upper  [rad or m], infinite where there are none;  free: it may be one that moves
    """

    lower: float
    upper: float
    free: bool


def joints_of(path: str | Path) -> dict[str, UrdfJoint]:
    """Joints of a URDF that are not fixed, by name; InputError for a file that is none."""
    found = {}
    for joint in read_urdf(path, inertia="mend").root.findall("joint"):
        kind, limit = joint.get("type"), joint.find("limit")
        if kind == "fixed":
            continue
        lower = number_of(limit, "lower", -math.inf)
        upper = number_of(limit, "upper", math.inf)
        free = kind in KINDS and joint.find("mimic") is None
        found[joint.get("name") or ""] = UrdfJoint(lower, upper, free)
    return found


def mended_urdf(path: str | Path, folder: Path) -> str | None:
    """Text of a URDF, to be written into `folder`, with the inertias that load_robot takes in place
    of those that no body has; None where it mends none.

    Paths of meshes that are relative to the file stay those of the same files.  InputError for a
    file or an inertia that is refused.
    """
    path, changed = Path(path), False
    root = tree_of(path, comments=True)
    before = path.read_text(encoding="utf-8", errors="replace").partition("<robot")[0]
    for link in root.findall("link"):
        inertial = link.find("inertial")
        mass, own = (None, None) if inertial is None else map(inertial.find, ("mass", "inertia"))
        if mass is None or own is None:
            continue
        given = np.array([[_number(own.get(key)) for key in row] for row in AXES])
        key = f"link {link.get('name')}: inertial: inertia"
        taken, _ = physical_inertia(str(path), key, _number(mass.get("value")), given)
        if taken is not given:
            changed = True
            for row, names in zip(taken, AXES, strict=True):
                for value, name in zip(row, names, strict=True):
                    own.set(name, f"{value:.9g}")
    if not changed:
        return None
    for mesh in root.iter("mesh"):
        name = mesh.get("filename") or ""
        if name and "://" not in name and not os.path.isabs(name):
            mesh.set("filename", os.path.relpath(path.resolve().parent / name, folder.resolve()))
    return before + ElementTree.tostring(root, encoding="unicode") + "\n"  # licences are before


def _number(word: str | None) -> float:
    """A number of the file, 0 where it is absent or none: load_robot refuses those."""
    try:
        return float(word or 0.0)
    except ValueError:
        return 0.0
