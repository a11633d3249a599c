"""A scene for other simulators: MJCF, URDF, SDF, with what each of them lacks.

A new format is a file with a function of Exported, and its line in FORMATS.
"""

from __future__ import annotations

import math

from diffsim_ros.errors import InputError
from diffsim_ros.scene.export.laws import IMPACT, damping_ratio, dissipation, restitution
from diffsim_ros.scene.export.mjcf import mjcf
from diffsim_ros.scene.export.mjcf_links import controls_csv
from diffsim_ros.scene.export.numbers import Exported
from diffsim_ros.scene.export.sdf import sdf
from diffsim_ros.scene.export.urdf import urdf
from diffsim_ros.scene.model import SceneModel

__all__ = [
    "CONTROLS",
    "FORMATS",
    "IMPACT",
    "damping_ratio",
    "dissipation",
    "exported",
    "restitution",
]
FORMATS = {"scene.mjcf.xml": mjcf, "scene.urdf": urdf, "scene.sdf": sdf}
KNOWN = ("rigid", "particle", "solid")
CONTROLS = "controls.csv"
"""MuJoCo's controls over time, where motors have keys."""


def exported(
    model: SceneModel, impact: float = IMPACT
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Name of every file -> its content; of every format -> what of the scene it lacks.

    impact  as of Exported
    Raises InputError for a speed that is not above 0, or a scene without such a body.
    """
    if not 0.0 < impact < math.inf:
        raise InputError(model.place, "impact", impact, "a speed above 0 [m/s]")
    if not any(body.WORD in KNOWN for body in model.parts.bodies.values()):
        rule = "a scene with a rigid body, a particle or a solid"
        raise InputError(model.place, "bodies", sorted(model.bodies), rule)
    data, files, lacks = Exported(model, impact), {}, {}
    rigid = any(not body.SOFT for body in model.parts.bodies.values())
    for name, write in FORMATS.items():
        if not (rigid or write is mjcf):
            continue  # no links: neither URDF nor SDF
        files[name], lacks[name] = write(data)
    controls = controls_csv(data)
    if controls is not None:
        files[CONTROLS] = controls
    return files | data.meshes(), lacks
