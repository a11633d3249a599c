"""Keys of ROBOT.yaml of a legged robot and of FOOTFALL; `markdown()` is what
docs/reference/locomotion_keys.md shows."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables

from .end_effector import KINDS

AXIS = "x, y, z, -x, -y, -z, or three numbers, in the zero position"
PER_JOINT = "a number for all, a list in the order of the joints, or {joint: number}"
LIKE = Field("text", "ROBOT.yaml (relative to this file) whose keys this one's are laid over")
FILE: Section = {
    "like": LIKE,
    "name": Field("name", "of the robot; absent: the file's"),
    "urdf": Field("text", "URDF (relative to this file); meshes are not searched"),
    "mjcf": Field("text", "or: MJCF (relative to this file)"),
    "end_effectors": Field("mapping", "name -> what touches the ground", default=REQUIRED),
    "stance": Field("any", f"positions of the joints when it stands: {PER_JOINT}", "rad or m", 0.0),
    "speed": Field("any", f"limits in place of the file's: {PER_JOINT}", "rad/s or m/s"),
    "held": Field("mapping", "joints that are held still -> position", default={}),
}
FILE_END: Section = {
    "kind": Field("choice", "what it is", default=REQUIRED, choices=KINDS),
    "joint": Field("name", "of a wheel that spins on the robot: its joint; axis and place are its"),
    "link": Field("text", "of the others, and of a wheel that the file does not have: its carrier"),
    "at": Field(
        "vector3", "the point, or the wheel's centre, in the link's frame", "m", [0.0, 0.0, 0.0]
    ),
    "axis": Field("any", f"of a wheel without a joint, in the link's frame: {AXIS}"),
    "radius": Field(
        "number", "of the wheel; of a point foot: of the ball about `at`, whose lowest point in "
        "the standing pose is the point", "m", 0.0, minimum=0,
    ),
    "speed": Field(
        "number", "largest of an actuated wheel; absent: the file's", "rad/s", minimum=0,
        strict=True,
    ),
    "leg": Field("name", "leg that it belongs to; absent: one of its own"),
}  # fmt: skip
DESCRIBED: Section = {
    "like": LIKE,
    "name": Field("name", "of the robot; absent: this file's"),
    "body": Field("mapping", "the body", default=REQUIRED),
    "joint": Field("mapping", "what joints have whose own entry does not say", default={}),
    "legs": Field("mapping", "name -> leg", default=REQUIRED),
}
BODY: Section = {
    "size": Field("vector3", "edges of a box, along x forward, y left, z up", "m", REQUIRED,
                  minimum=0, strict=True),
    "mass": Field("number", "without motors", "kg", REQUIRED, minimum=0, strict=True),
    "centre": Field("vector3", "of the box, in the body's frame", "m", [0.0, 0.0, 0.0]),
}  # fmt: skip
JOINT_DEFAULTS: Section = {
    "range": Field("bounds", "of the angle", "rad", [-2.0, 2.0]),
    "speed": Field("number", "largest", "rad/s", 7.0, minimum=0, strict=True),
    "effort": Field("number", "largest torque", "N m", 4.0, minimum=0, strict=True),
    "motor_mass": Field("number", "of the motor, carried by the parent", "kg", 0.06, minimum=0),
    "motor_size": Field("number", "edge of a cube that it is", "m", 0.03, minimum=0, strict=True),
    "density": Field(
        "number", "of the link, which goes to the next joint", "kg/m^3", 1100.0, minimum=0,
        strict=True,
    ),
    "thickness": Field("number", "of the link", "m", 0.02, minimum=0, strict=True),
    "mass": Field("number", "of the link; absent: of its density", "kg", minimum=0, strict=True),
}  # fmt: skip
JOINT: Section = {
    "at": Field("vector3", "in the frame of the link, or body, that carries it", "m", REQUIRED),
    "axis": Field("any", f"of the hinge: {AXIS}", default=REQUIRED),
    "stance": Field("number", "angle when the robot stands", "rad", 0.0),
    "tip": Field("vector3", "where its link ends; absent: at the next joint, or amid the end "
                 "effectors", "m"),
    **{
        name: Field(f.kind, f.doc, f.unit, None, f.minimum, f.strict)
        for name, f in JOINT_DEFAULTS.items()
    },
}  # fmt: skip
LEG: Section = {
    "joints": Field("mapping", "name -> joint, from the body outwards; {}: none", default={}),
    "end_effectors": Field("mapping", "name -> end effector on the last link; {}: a limb that "
                           "does not walk", default={}),
    "copies": Field(
        "mapping", "name of a leg of the robot -> how it is made of this one; absent: this one"
    ),
}  # fmt: skip
END: Section = {
    "kind": Field("choice", "what it is", default=REQUIRED, choices=KINDS),
    "at": Field("vector3", "the point, or the wheel's centre, in the last link's frame", "m",
                REQUIRED),
    "axis": Field("any", f"of the wheel: {AXIS}; absent: y"),
    "radius": Field("number", "of the wheel, or of a skate's curvature", "m", 0.0, minimum=0),
    "width": Field("number", "of the wheel, or twice the radius of a point foot's ball", "m", 0.01,
                   minimum=0, strict=True),
    "mass": Field("number", "of it", "kg", 0.02, minimum=0, strict=True),
    "speed": Field("number", "largest of an actuated wheel", "rad/s", 10.0, minimum=0, strict=True),
}  # fmt: skip
MIRRORS = ("none", "x", "y", "xy")
COPY: Section = {
    "mirror": Field(
        "choice", "axes along which places change their sign: y makes a left leg a right one",
        default="none", choices=MIRRORS,
    ),
    "turn": Field("number", "about z, after that", "rad", 0.0),
    "shift": Field("vector3", "after that", "m", [0.0, 0.0, 0.0]),
    "stance": Field("mapping", "joint -> angle in place of the leg's", "", {}),
}  # fmt: skip
GAITS = ("walk", "wave", "trot", "pace", "bound", "roll", "none")
FOOTFALL: Section = {
    "gait": Field("choice", "a gait by its name", choices=GAITS),
    "duty": Field("any", "share of the period in contact: a number, or {end effector or leg: "
                  "number}; absent: the gait's", "1"),
    "phase": Field("mapping", "or, without a gait: end effector or leg -> when its contact "
                   "begins, as a share of the period (others are always in contact)"),
    "contact": Field("mapping", "or: end effector or leg -> text of 1 (contact) and 0 (swing), "
                     "one a sample (others are always in contact)"),
    "periodic": Field("flag", "whether the first sample follows the last one", default=True),
}  # fmt: skip
PLAN: Section = {
    "name": Field("name", "of the motion; absent: this file's"),
    "locomotion": Field("mapping", "the motion", default=REQUIRED),
}
LOCOMOTION: Section = {
    "robot": Field("any", "ROBOT.yaml (relative to this file), or its content", default=REQUIRED),
    "footfall": Field("mapping", "the footfall pattern, below", default=REQUIRED),
    "duration": Field("number", "of a period, or of a motion that ends at rest", "s", REQUIRED,
                      minimum=0, strict=True),
    "samples": Field("integer", "of that duration; forces and poses are found at these", "", 24,
                     minimum=6),
    "swing_height": Field("number", "of end effectors in the air, above the ground", "m", REQUIRED,
                          minimum=0),
    "friction": Field("number", "coefficient of the ground", "1", 0.7, minimum=0, strict=True),
    "rolling_resistance": Field("number", "of wheels that turn freely: force over load", "1", 0.01,
                                minimum=0),
    "apart": Field("number", "least distance between end effectors of different legs, beside their "
                   "radii", "m", 0.02, minimum=0),
    "ground": Field("any", "a surface as in `sdfs` of a scene; absent: the plane z = 0"),
    "begin": Field("mapping", "of one that is not periodic: a motion that it goes on from, below; "
                   "absent: it begins at rest"),
    "goals": Field("mapping", "what the motion is for", default={}),
    "search": Field("mapping", "how it is searched for", default={}),
}  # fmt: skip
BEGIN: Section = {
    "motion": Field("text", "motion.npz (relative to this file) of the same robot, with the same "
                    "time between samples", default=REQUIRED),
    "sample": Field("integer", "of it; this one and the next are the first two", "", 0, minimum=0),
}  # fmt: skip
GOALS: Section = {
    "travel": Field("vector2", "of the centre of mass from the first sample to the last, or to a "
                    "period later, forward and left", "m"),
    "turn": Field("number", "about the vertical, likewise", "rad"),
    "height": Field("number", "of the centre of mass above the ground", "m", minimum=0,
                    strict=True),
    "stance": Field("flag", "joints end as the robot stands; of a motion from rest to rest",
                    default=False),
    "places": Field("list", "places at times, below", default=[]),
    "ceilings": Field("list", "greatest heights, below", default=[]),
    "tolerance": Field("number", "of travel, height and places", "m", 0.01, minimum=0, strict=True),
    "turn_tolerance": Field("number", "of the turn", "rad", 0.03, minimum=0, strict=True),
}  # fmt: skip
PLACE: Section = {
    "time": Field("number", "when", "s", REQUIRED, minimum=0),
    "of": Field("text", "an end effector; absent: the centre of mass"),
    "x": Field("number", "where; absent: anywhere", "m"),
    "y": Field("number", "likewise", "m"),
    "z": Field("number", "likewise", "m"),
}
CEILING: Section = {
    "height": Field("number", "that the centre of mass stays below", "m", REQUIRED),
    "begin": Field("number", "from this time on", "s", 0.0, minimum=0),
    "end": Field("number", "to this; absent: to the end", "s", minimum=0),
}
SEARCH: Section = {
    "iterations": Field("integer", "of Newton's method, of one attempt", "", 300, minimum=1),
    "attempts": Field("integer", "from standing, from a warm start, then from motions that sway at "
                      "random, until one reaches all goals", "", 4, minimum=1),
    "warm_start": Field("flag", "the first attempt begins with the warm start, in four steps from "
                        "a robot that stands", "", False),
    "seed": Field("integer", "of the random ones", "", 0, minimum=0),
}  # fmt: skip


def markdown() -> str:
    """All keys as Markdown tables."""
    return tables(
        {
            "ROBOT (of legs)": DESCRIBED,
            "body": BODY,
            "joint": JOINT_DEFAULTS,
            "legs.NAME": LEG,
            "legs.NAME.joints.NAME": JOINT,
            "legs.NAME.end_effectors.NAME": END,
            "legs.NAME.copies.NAME": COPY,
            "ROBOT (of a URDF or MJCF)": FILE,
            "end_effectors.NAME": FILE_END,
            "footfall": FOOTFALL,
            "PLAN": PLAN,
            "locomotion": LOCOMOTION,
            "locomotion.begin": BEGIN,
            "locomotion.goals": GOALS,
            "locomotion.goals.places[i]": PLACE,
            "locomotion.goals.ceilings[i]": CEILING,
            "locomotion.search": SEARCH,
        }
    )


if __name__ == "__main__":
    print(markdown(), end="")
