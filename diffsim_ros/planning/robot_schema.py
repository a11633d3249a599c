"""Keys of a PLAN.yaml's `robot` and of `search.robust`."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section
from diffsim_ros.scene.controllers import FOLLOWING

ROBOT: Section = {
    "arm": Field("any", "robots/*.yaml of the arm (relative to this file)", default=REQUIRED),
    "grasp": Field("mapping", "of a body that the tool holds and throws"),
    "release": Field("mapping", "of that body: the joints' state is what the plan chooses"),
    "end_effector": Field(
        "mapping", "instead: a kinematic body of the scene that the tool carries", formerly="hand"
    ),
    "margin": Field(
        "number",
        "share of the limits of velocity, acceleration and jerk that a plan may use, at most 1",
        "1",
        default=0.9,
        minimum=0,
        strict=True,
    ),
    "tracking": Field(
        "mapping",
        "how joints follow the controller, which is anticipated in what is sent; absent: not",
    ),
}

GRASP: Section = {
    "body": Field("text", "a rigid body or solid of the scene", default=REQUIRED),
    "in_tool": Field("mapping", "pose of its centre in the tool's frame", default={}),
}

RELEASE: Section = {
    "positions": Field("any", "joint values there, first guess: list or {joint: rad}; else home"),
    "rates": Field("any", "joint rates there, first guess [rad/s]", default=0.0),
    "chosen": Field("list", "joints whose values the plan chooses; absent: all"),
    "swung": Field("list", "joints whose rates it chooses; absent: all"),
    "range": Field(
        "number", "of a value from the first guess", "rad", default=0.5, minimum=0, strict=True
    ),
    "share": Field(
        "number", "of the velocity limits, at most", "1", default=0.9, minimum=0, strict=True
    ),
    "weight": Field(
        "number", "of the squares of (state - first guess) / range", default=1e-3, minimum=0
    ),
    "hold": Field("number", "constant velocity about the release", "s", default=0.04, minimum=0),
    "lead": Field("number", "of the gripper's command before it", "s", default=0.0, minimum=0),
    "jitter": Field("number", "standard deviation of its time", "s", default=0.0, minimum=0),
}

END_EFFECTOR: Section = {
    "body": Field(
        "text", "a kinematic body of the scene with keys", default=REQUIRED, formerly="handle"
    ),
    "in_tool": Field("mapping", "pose of the kinematic body in the tool's frame", default={}),
    "orientation": Field(
        "quaternion", "of the kinematic body held in the world x y z w, else its keys'"
    ),
    "stretch": Field(
        "number",
        "how many times as long the task may take where the arm's limits bind",
        "1",
        default=1.0,
        minimum=1,
    ),
}

POSE: Section = {
    "position": Field("vector3", "of the inner frame's origin", "m", default=[0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "of it x y z w", default=[0.0, 0.0, 0.0, 1.0]),
}

ROBUST: Section = {
    "samples": Field("integer", "the mean over which is minimised", default=6, minimum=1),
    "seed": Field("integer", "of the draws", default=0, minimum=0),
    "fresh": Field("integer", "other samples, on which it is judged", default=60, minimum=1),
    "spread": Field(
        "mapping",
        "parameter of the scene -> share of its value, each way",
        default={},
        of_names=True,
    ),
    "placement": Field(
        "number", "of what the arm holds, along each axis each way", "m", default=0.0, minimum=0
    ),
    "estimated": Field("flag", "draw from the covariance of `estimated` as well", default=False),
}

SECTIONS = {
    "robot": ROBOT,
    "robot.grasp": GRASP,
    "robot.grasp.in_tool, robot.end_effector.in_tool": POSE,
    "robot.release": RELEASE,
    "robot.end_effector": END_EFFECTOR,
    "robot.tracking": FOLLOWING,
    "search.robust": ROBUST,
}
