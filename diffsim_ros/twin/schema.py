"""Keys of a TWIN.yaml, printed by `python -m ...twin.schema`: docs/reference/twin_keys.md."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables
from diffsim_ros.scene.controllers import ARM_TABLES, FOLLOWING
from diffsim_ros.scene.schema_robots import CARRIED, PER_JOINT, UNITS

TWIN: Section = {
    "name": Field("text", "title", default="twin"),
    "scene": Field(
        "any", "scene YAML (relative to this file), or a scene mapping: the truth", default=REQUIRED
    ),
    "robot": Field(
        "any", "robots/*.yaml (relative to this file), or its mapping", default=REQUIRED
    ),
    "start": Field("any", "joint values at the start [rad or m]; absent: the robot's home"),
    "grasp": Field("mapping", "the body that the gripper holds until it opens; absent: none"),
    "kinematic_bodies": Field(
        "mapping",
        "kinematic body of the scene -> the link that drives it",
        default={},
        formerly="handles",
    ),
    "spread": Field("mapping", "body -> how differently it is placed each time", default={}),
    "gripper": Field("mapping", "how it opens", default={}),
    "controller": Field("mapping", "how the robot follows", default={}),
    "efforts": Field("mapping", "of its joints, as joint states have them; absent: none"),
    "sensors": Field("mapping", "name -> sensor", default={}),
    "seed": Field("integer", "of all that is drawn", default=0, minimum=0),
}

GRASP: Section = {
    "body": Field("text", "a rigid body or solid of the scene", default=REQUIRED),
    "in_tool": Field("mapping", "its pose in the robot's tool frame", default={}),
    "kick_velocity": Field(
        "number", "sigma per axis of what the opening fingers add", "m/s", 0.0, minimum=0
    ),
    "kick_spin": Field("number", "the same", "rad/s", 0.0, minimum=0),
}

KINEMATIC: Section = {
    "link": Field("text", "link of the robot; absent: its tool"),
    "in_link": Field("mapping", "pose of the kinematic body in it", default={}),
    "interval": Field(
        "number", "between keys; absent: the whole steps nearest to 4 ms", "s", minimum=0,
        strict=True,
    ),
}  # fmt: skip

SPREAD: Section = {
    "position": Field(
        "vector3", "sigma along the tool's axes (of what is held) or the world's", "m",
        [0.0, 0.0, 0.0], minimum=0,
    ),
    "rotation": Field("vector3", "sigma about them", "rad", [0.0, 0.0, 0.0], minimum=0),
}  # fmt: skip

GRIPPER: Section = {
    "latency": Field("number", "from the command until the body is free", "s", 0.0, minimum=0),
    "jitter": Field("number", "sigma of the latency", "s", 0.0, minimum=0),
}

CONTROLLER: Section = {
    **FOLLOWING,
    "path": Field("number", "path tolerance [rad or m]", default=0.2, minimum=0, strict=True),
    "goal": Field("number", "goal tolerance [rad or m]", default=0.1, minimum=0, strict=True),
    "goal_time": Field("number", "until the goal must be reached; 0: forever", "s", 0.0,
                       minimum=0),
    "deceleration": Field("number", "when it holds; absent: left to the drives",
                          "rad/s^2 or m/s^2", minimum=0, strict=True),
}  # fmt: skip

EFFORT = "N m or N"
EFFORTS: Section = {
    "damping": Field("any", f"viscous [{UNITS['damping']}]; absent: the URDF's; {PER_JOINT}"),
    "friction": Field("any", f"Coulomb [{UNITS['friction']}]; absent: the URDF's; {PER_JOINT}"),
    "slip_rate": Field(
        "number", "at which it is at 71 % of its level", "rad/s or m/s", 0.002, minimum=0,
        strict=True,
    ),
    "armature": Field("any", f"geared rotors [{UNITS['armature']}]; absent: none; {PER_JOINT}"),
    "payload": Field("mapping", "what a link carries, as of a scene's robot (scene.md)"),
    "gain": Field("any", f"what is read per {EFFORT}: {PER_JOINT}", default=1.0),
    "offset": Field("any", f"added to it [{EFFORT}]: {PER_JOINT}", default=0.0),
    "sigma": Field("any", f"noise of a reading [{EFFORT}]: {PER_JOINT}", default=0.0),
}  # fmt: skip

RATE = Field("number", "samples per second", "Hz", REQUIRED, minimum=0, strict=True)
TOPIC = Field("text", "of its messages")
FRAME = Field("text", "frame of its messages", default="world")
LOST = Field("number", "share of samples that are missing", "1", 0.0, minimum=0)

SENSORS: dict[str, Section] = {
    "poses": {
        "body": Field("text", "of a soft one: the rigid pose nearest to it", default=REQUIRED),
        "rate": RATE,
        "topic": TOPIC,
        "frame": FRAME,
        "sigma_position": Field("number", "noise per axis", "m", 0.0, minimum=0),
        "sigma_rotation": Field("number", "noise per axis", "rad", 0.0, minimum=0),
        "dropout": LOST,
        "pivot": Field("vector3", "tracked point in the body's frame", "m", [0.0, 0.0, 0.0]),
    },
    "markers": {
        "body": Field("text", "that carries them", default=REQUIRED),
        "points": Field("points", "in the body's frame; of a soft one the nearest nodes", "m",
                        REQUIRED),
        "rate": RATE,
        "topic": TOPIC,
        "frame": FRAME,
        "sigma": Field("number", "noise per axis", "m", 0.0, minimum=0),
        "dropout": LOST,
    },
    "depth_camera": {
        "eye": Field("vector3", "its place, world", "m", REQUIRED),
        "target": Field("vector3", "what it looks at; its top is towards +z", "m", REQUIRED),
        "size": Field("integers", "pixels: width, height", default=[320, 240], minimum=1),
        "view": Field("number", "horizontal angle", "deg", 58.0, minimum=1),
        "rate": RATE,
        "topic": TOPIC,
        "frame": Field("text", "optical frame of its clouds", default="camera"),
        "noise": Field("mapping", "along the ray: constant [m], quadratic [1/m], reference [m]; "
                       "absent: the first Kinect's"),
        "jitter": Field("number", "of the rays, in pixels", "1", 0.3, minimum=0),
        "grazing": Field("number", "least |cosine| that returns", "1", 0.15, minimum=0),
        "missing": LOST,
        "holes": Field("number", "share of the image lost in blobs", "1", 0.0, minimum=0),
        "surfaces": Field("flag", "whether the scene's surfaces are visible too", default=True),
        "radius": Field("number", "of a soft ball whose mesh was made with another", "m", minimum=0,
                        strict=True),
    },
    "wrench": {
        "body": Field("text", "that presses on it", default=REQUIRED),
        "contacts": Field("list", "of the scene, by which it does", default=REQUIRED),
        "rate": RATE,
        "topic": TOPIC,
        "frame": Field("text", "its frame; absent: the sensor's name"),
        "position": Field("vector3", "of that frame in the scene", "m", [0.0, 0.0, 0.0]),
        "orientation": Field("quaternion", "of its axes, x, y, z, w",
                             default=[0.0, 0.0, 0.0, 1.0]),
        "sigma_force": Field("number", "noise per axis", "N", 0.0, minimum=0),
        "sigma_torque": Field("number", "noise per axis", "N m", 0.0, minimum=0),
        "dropout": LOST,
    },
    "output": {
        "output": Field("text", "one number of an output of the scene: rope.tension[0], "
                        "motor.torque, foam.strain[12].xx", default=REQUIRED),
        "rate": RATE,
        "topic": TOPIC,
        "sigma": Field("number", "noise, in the output's unit", default=0.0, minimum=0),
        "dropout": LOST,
    },
}  # fmt: skip

SECTIONS = {
    "TWIN": TWIN,
    "grasp": GRASP,
    "kinematic_bodies.NAME": KINEMATIC,
    "spread.BODY": SPREAD,
    "gripper": GRIPPER,
    "controller": CONTROLLER,
    **{f"controller.{key}": section for key, section in ARM_TABLES.items()},
    "efforts": EFFORTS,
    "efforts.payload": CARRIED,
    **{f"sensors.NAME.{kind}": section for kind, section in SENSORS.items()},
}


def markdown() -> str:
    """The tables of docs/reference/twin_keys.md."""
    return tables(SECTIONS)


if __name__ == "__main__":
    print(markdown())
