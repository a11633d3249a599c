"""The keys of `robots`: a URDF or an MJCF, where its base stands, its start and its drives."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section
from diffsim_ros.scene.links.joint import TREE_COORDINATES
from diffsim_ros.scene.links.payload import PayloadLink

UNITS = {
    "angles": "rad or m",
    "rates": "rad/s or m/s",
    "damping": "N m s/rad or N s/m",
    "friction": "N m or N",
    "armature": "kg m^2 or kg",
}
"""Of numbers per joint: of one that turns, of one that slides."""
DRIVE_UNITS = {"stiffness": "N m/rad or N/m", "damping": "N m s/rad or N s/m"}
EFFORT_UNIT = "N m or N"
LIMIT_UNITS = {
    "stiffness": "N m/rad or N/m", "damping": "s/rad or s/m", "damping_depth": "rad or m",
}  # fmt: skip
PER_JOINT = "one for all, a list in the order of the tree, or {joint: number}"

ROBOT: Section = {
    "urdf": Field("text", "file, relative to the scene; or give mjcf"),
    "mjcf": Field("text", "file, relative to the scene; needs MuJoCo; see docs/how-to/robots.md"),
    "keyframe": Field(
        "any", "of an MJCF: name or number (from 0) of the keyframe it starts as; absent: qpos0"
    ),
    "close": Field(
        "flag",
        "of an MJCF: whether a start that its equality constraints do not allow is moved to one "
        "that they do, with a warning, or refused",
        default=True,
    ),
    "mocap": Field(
        "mapping",
        "of an MJCF: mocap body -> its motion, world frame: pose, keys or waypoints of a kinematic "
        "body; of those not named: they stand",
        default={},
    ),
    "joints": Field(
        "list", "of a URDF: joints that move; the others are held still; absent: all move"
    ),
    "held": Field(
        "mapping", f"of a URDF: position [{UNITS['angles']}] of held joints, 0 of those not named"
    ),
    "pose": Field(
        "mapping",
        "of the base link, of an MJCF its world: position, orientation or rotation",
        default={},
    ),
    "base": Field(
        "choice",
        "of a URDF. fixed: to the world; free: a body of its own, of the base link's name; "
        "absent: free where the file's root is empty and floats, else fixed. Of an MJCF its free "
        "joints say",
        choices=("fixed", "free"),
    ),
    "velocity": Field("vector3", "of a free base's origin at the start", "m/s", [0.0, 0.0, 0.0]),
    "angular_velocity": Field(
        "vector3", "of a free base at the start, world frame", "rad/s", [0.0, 0.0, 0.0]
    ),
    "prefix": Field("text", "put before the names of its links and joints", default=""),
    "angles": Field("any", f"at the start [{UNITS['angles']}]: {PER_JOINT}"),
    "rates": Field("any", f"at the start [{UNITS['rates']}]: {PER_JOINT}"),
    "drive": Field("mapping", "motors on its joints; absent: those of an MJCF, else none"),
    "damping": Field("any", f"viscous [{UNITS['damping']}]; absent: the file's; {PER_JOINT}"),
    "friction": Field("any", f"Coulomb [{UNITS['friction']}]; absent: the file's; {PER_JOINT}"),
    "limits": Field(
        "any",
        "how limits of its joints press: a mapping, or none: they do not; absent: of an MJCF by "
        "their solref, of a URDF by loads and inertias, see docs/how-to/robots.md",
    ),
    "inertia": Field(
        "choice",
        "of a URDF: inertias that no body has, by more than 5 %; absent: refuse",
        choices=("refuse", "mend"),
    ),
    "slip_rate": Field(
        "number", "of the Coulomb friction", "rad/s or m/s", 0.01, minimum=0, strict=True
    ),
    "armature": Field(
        "any", f"geared rotors [{UNITS['armature']}]; absent: an MJCF's, else none; {PER_JOINT}"
    ),
    "coordinates": Field(
        "choice",
        "of its joints, see links of type joint; absent: reduced, with joint_stiffness maximal",
        choices=TREE_COORDINATES,
    ),
    "joint_stiffness": Field(
        "number",
        "of what joints in maximal coordinates hold; absent: by the masses, as of links",
        "N/m",
        minimum=0,
        strict=True,
    ),
    "payload": Field("mapping", "what a link carries"),
    "contact_spheres": Field(
        "mapping",
        "link, fixed ones too -> its contact points: feet, fingertips; instead of those of an "
        "MJCF's geoms",
        default={},
    ),
    "contact": Field(
        "choice",
        "`from the file`: an MJCF's geoms, a URDF's collisions touch each other, those of other "
        "robots, `bodies` with a shape and `sdfs`; absent: what the scene's `contact` has",
        choices=("from the file",),
    ),
    "lift": Field(
        "flag",
        "whether free bodies that start inside something are moved against gravity until they "
        "just touch it",
        default=False,
    ),
    "meshes": Field(
        "choice",
        "whether files of a URDF's meshes must exist; MuJoCo needs those of an MJCF",
        default="ignore",
        choices=("ignore", "require"),
    ),
    "colour": Field("rgba", "of its bodies", "1", [0.55, 0.6, 0.7, 1.0]),
}

DRIVE: Section = {
    "kind": Field(
        "choice",
        "follow angles, or apply torques (forces)",
        default="position",
        choices=("position", "torque"),
    ),
    "stiffness": Field("any", f"of kind position [{DRIVE_UNITS['stiffness']}]: {PER_JOINT}"),
    "damping": Field("any", f"of kind position [{DRIVE_UNITS['damping']}]: {PER_JOINT}"),
    "effort": Field(
        "any",
        f"where torques (forces) are cut off either way [{EFFORT_UNIT}], or `none`; absent: as in "
        f"the file; {PER_JOINT}",
    ),
    "keys": Field(
        "integer", "how many keys each motor has, all at the start", default=1, minimum=1
    ),
    "interval": Field(
        "number", "between keys, where there are several", "s", minimum=0, strict=True
    ),
}

LIMITS: Section = {
    name: Field("any", f"as of links of type joint [{unit}]; absent: the file's; {PER_JOINT}")
    for name, unit in LIMIT_UNITS.items()
}

CARRIED: Section = {
    "name": Field("name", "of the payload", default="payload"),
    "link": Field("name", "any link of the robot, fixed ones too", default=REQUIRED),
    "mass": PayloadLink.section()["mass"],
    "centre": Field("vector3", "its centre of mass, frame of the link", "m", [0.0, 0.0, 0.0]),
    "inertia": Field("inertia", "about its own centre, axes of the link", "kg m^2", REQUIRED),
}

SPHERES: Section = {
    "radius": Field("number", "of the spheres", "m", REQUIRED, minimum=0),
    "positions": Field("points", "their centres, frame of the link", "m", [[0.0, 0.0, 0.0]]),
}

TABLES: dict[str, Section] = {
    "robots.NAME": ROBOT,
    "robots.NAME.drive": DRIVE,
    "robots.NAME.limits": LIMITS,
    "robots.NAME.payload": CARRIED,
    "robots.NAME.contact_spheres.LINK": SPHERES,
}
