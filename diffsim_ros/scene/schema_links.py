"""The keys of `links`, one table per type: springs, joints, motors, cables, forces, drag."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section

LINK_TYPES = (
    "spring", "joint", "motor", "payload", "cable", "bundle", "force", "torque", "drag",
)  # fmt: skip
JOINTS = ("ball", "hinge", "slider", "weld", "planar", "universal")
TYPE = Field("choice", "kind of link, see the tables of each", default="spring", choices=LINK_TYPES)
NAME = Field("name", "name of the link", default=REQUIRED)
INTERVAL = Field("number", "between keys, where there are several", "s", minimum=0, strict=True)
FRAME = Field("choice", "axes of the keys", default="world", choices=("world", "body"))

LINK: Section = {
    "name": Field("name", "name of the batch of springs", default=REQUIRED),
    "type": TYPE,
    "pairs": Field("list", "springs of the batch: {a: END, b: END}", default=REQUIRED),
    "stiffness": Field("number", "of each spring", "N/m", REQUIRED, minimum=0),
    "damping": Field("number", "of each spring, along its axis", "N s/m", 0.0, minimum=0),
    "rest_length": Field(
        "number", "absent: the length at the start, the same for all pairs", "m", minimum=0
    ),
}

PAIR: Section = {
    "a": Field("mapping", "one end", default=REQUIRED),
    "b": Field("mapping", "other end", default=REQUIRED),
}

END: Section = {
    "body": Field("name", "body to which the end is attached"),
    "point": Field("vector3", "where, body frame; absent: its centre of mass", "m"),
    "vertex": Field("integer", "of a solid, cloth or string, in cables only", minimum=0),
    "world": Field("vector3", "instead of body and point: a fixed point of the world", "m"),
}

JOINT: Section = {
    "name": NAME,
    "type": TYPE,
    "kind": Field("choice", "what it leaves free", default=REQUIRED, choices=JOINTS),
    "body_a": Field("name", "rigid body or kinematic body; absent: the world"),
    "body_b": Field("name", "rigid body or kinematic body", default=REQUIRED),
    "position": Field("vector3", "where, at the start, world frame", "m", REQUIRED),
    "axis": Field(
        "vector3", "of hinge and slider; normal of planar; world frame", "1", [0.0, 0.0, 1.0]
    ),
    "second_axis": Field("vector3", "of a universal joint, fixed in body_b, across `axis`", "1"),
    "stiffness": Field(
        "number", "absent: by the masses, see docs/explanation/engine.md", "N/m", minimum=0
    ),
    "damping": Field("number", "absent: critical", "N s/m", minimum=0),
    "rotational_stiffness": Field(
        "number", "of held rotations; absent: likewise", "N m/rad", minimum=0
    ),
    "rotational_damping": Field(
        "number", "of held rotations; absent: likewise", "N m s/rad", minimum=0
    ),
    "friction_damping": Field("number", "of the free motion", "N m s/rad or N s/m", 0.0, minimum=0),
    "coulomb_friction": Field(
        "number", "of the coordinate of hinge, slider, planar; absent: none", "N m or N", minimum=0
    ),
    "slip_rate": Field(
        "number",
        "with coulomb_friction c: -c tanh(rate / slip_rate)",
        "rad/s or m/s",
        0.01,
        minimum=0,
        strict=True,
    ),
    "armature": Field(
        "number",
        "inertia of the coordinate alone, a geared rotor's; absent: none",
        "kg m^2 or kg",
        minimum=0,
    ),
    "coordinate": Field("number", "angle or displacement that the start pose has", "rad or m", 0.0),
    "limits": Field("mapping", "of a hinge's angle or a slider's displacement"),
}
LIMITS: Section = {
    "lower": Field("number", "absent: none", "rad or m"),
    "upper": Field("number", "absent: none", "rad or m"),
    "stiffness": Field("number", "beyond them", "N m/rad or N/m", REQUIRED, minimum=0),
    "damping": Field("number", "continuous, as in contact", "s/rad or s/m", 0.0, minimum=0),
}
MOTOR: Section = {
    "name": NAME,
    "type": TYPE,
    "joint": Field("name", "a hinge or slider", default=REQUIRED),
    "kind": Field(
        "choice",
        "follow keys, or apply them (force: on sliders)",
        default="position",
        choices=("position", "torque", "force"),
    ),
    "keys": Field(
        "controls", "one value, or several `interval` apart", "rad or m, N m, N", REQUIRED
    ),
    "interval": INTERVAL,
    "stiffness": Field("number", "of kind position", "N m/rad or N/m", 0.0, minimum=0),
    "damping": Field("number", "of kind position", "N m s/rad or N s/m", 0.0, minimum=0),
}
PAYLOAD: Section = {
    "name": NAME,
    "type": TYPE,
    "body": Field("name", "a rigid body, which carries it besides its own mass", default=REQUIRED),
    "mass": Field("number", "of the payload", "kg", REQUIRED, minimum=0, strict=True),
    "origin": Field("vector3", "where `centre` counts from, body frame", "m", [0.0, 0.0, 0.0]),
    "centre": Field("vector3", "its centre of mass, from `origin`", "m", [0.0, 0.0, 0.0]),
    "inertia": Field("inertia", "about its own centre, body axes", "kg m^2", REQUIRED),
}
CABLE: Section = {
    "name": NAME,
    "type": TYPE,
    "via": Field(
        "list", "ends and what it runs over without friction: two or more ENDs", default=REQUIRED
    ),
    "stiffness": Field("number", "of the whole cable, tension only", "N/m", REQUIRED, minimum=0),
    "damping": Field("number", "continuous, as in contact", "s/m", 0.0, minimum=0),
    "rest_length": Field("number", "absent: its length at the start", "m", minimum=0),
}
BUNDLE: Section = {
    "name": NAME,
    "type": TYPE,
    "body": Field("name", "a solid, cloth or string", default=REQUIRED),
    "where": Field("any", "region of it: one spring from each of its vertices", default=REQUIRED),
    "to": Field(
        "mapping",
        "an END; or {body: another soft body}: each to its vertex in the same place, if any",
        default=REQUIRED,
    ),
    "stiffness": Field("number", "of all springs together", "N/m", REQUIRED, minimum=0),
    "damping": Field(
        "number", "of all together; of threads in s/m, as of cables", "N s/m or s/m", 0.0, minimum=0
    ),
    "acts": Field(
        "choice",
        "springs (to twins: in all directions, without length), or threads that only pull",
        default="springs",
        choices=("springs", "threads"),
    ),
}
FORCE: Section = {
    "name": NAME,
    "type": TYPE,
    "body": Field("name", "any body but a kinematic body", default=REQUIRED),
    "point": Field("vector3", "of a rigid body; absent: its centre of mass", "m"),
    "where": Field(
        "any", "region of a solid, cloth or string: the force is shared by its vertices"
    ),
    "force": Field("controls3", "one, or several `interval` apart", "N", REQUIRED),
    "interval": INTERVAL,
    "frame": FRAME,
}
TORQUE: Section = {
    "name": NAME,
    "type": TYPE,
    "body": Field("name", "a rigid body", default=REQUIRED),
    "torque": Field("controls3", "one, or several `interval` apart", "N m", REQUIRED),
    "interval": INTERVAL,
    "frame": FRAME,
}
DRAG: Section = {
    "name": NAME,
    "type": TYPE,
    "body": Field(
        "name", "a body with contact spheres; on a soft one areas are the shares", default=REQUIRED
    ),
    "c_linear": Field("number", "of the whole body", "N s/m", 0.0, minimum=0),
    "c_quadratic": Field("number", "of the whole body", "N s^2/m^2", 0.0, minimum=0),
    "wind": Field("vector3", "velocity of the medium, world frame", "m/s", [0.0, 0.0, 0.0]),
}

LINKS: dict[str, Section] = {
    "spring": LINK,
    "joint": JOINT,
    "motor": MOTOR,
    "payload": PAYLOAD,
    "cable": CABLE,
    "bundle": BUNDLE,
    "force": FORCE,
    "torque": TORQUE,
    "drag": DRAG,
}
TABLES: dict[str, Section] = {
    "links[i]": LINK,
    "links[i].pairs[j]": PAIR,
    "links[i].pairs[j].a, .b": END,
    **{f"links[i] (type: {kind})": LINKS[kind] for kind in LINK_TYPES[1:]},
    "links[i].limits": LIMITS,
}
