"""Keys of an ENVIRONMENT.yaml; `markdown()` is what docs/reference/learning_keys.md shows."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables

ENVIRONMENT: Section = {
    "name": Field("text", "title for reports", default="environment"),
    "scene": Field(
        "any", "scene YAML (relative to this file), or a scene mapping", default=REQUIRED
    ),
    "estimated": Field("text", "result.yaml of `diffsim estimate`, whose values the scene takes"),
    "action": Field("mapping", "name -> what the policy commands", default=REQUIRED),
    "steps": Field(
        "integer", "of the engine per action, which is held meanwhile", default=1, minimum=1
    ),
    "horizon": Field(
        "integer", "actions of an episode, which is truncated then", default=REQUIRED, minimum=1
    ),
    "observation": Field("list", "what the policy sees: names, or terms", default=REQUIRED),
    "reward": Field(
        "mapping", "name -> a term; their weighted sum after every action", default=REQUIRED
    ),
    "reset": Field("mapping", "where episodes start", default={}),
    "ends": Field("list", "what terminates an episode early", default=[]),
    "alive_reward": Field(
        "number", "added for every action that does not terminate the episode", default=0.0
    ),
    "failure_reward": Field(
        "number",
        "of an action whose motion the engine cannot follow; it terminates the episode",
        default=0.0,
    ),
}
ACTION: Section = {
    "motor": Field("name", "a motor of the scene, all of whose keys are set"),
    "sets": Field(
        "mapping",
        "or: parameter of the scene -> factor of the value",
        of_names=True,
    ),
    "bounds": Field(
        "bounds", "smallest and largest value; a policy's action is from -1 to 1", default=REQUIRED
    ),
}
SHAPES = ("value", "square", "sin", "cos", "sin_cos", "tanh", "gaussian")
TERM: Section = {
    "of": Field(
        "text",
        "an output of the scene (docs/how-to/outputs.md), or BODY.position, .velocity, .x_axis, "
        ".y_axis, .z_axis, .angular_velocity, JOINT.coordinate, .rate, action.NAME; with a part "
        "(.z) or all of them",
        default=REQUIRED,
    ),
    "as": Field(
        "choice",
        "f(d) of d = (number - target) / scale: d, d^2, sin d, cos d, both (observations), tanh d, "
        "exp(-d^2 / 2)",
        default="value",
        choices=SHAPES,
    ),
    "target": Field("number", "see as", "", 0.0),
    "scale": Field("number", "see as", "", 1.0, minimum=0, strict=True),
}
REWARD: Section = {**TERM, "weight": Field("number", "of the term in the sum", "", 1.0)}
RESET: Section = {
    "joints": Field(
        "mapping", "joint in reduced coordinates -> its coordinate and rate", default={}
    ),
    "parameters": Field(
        "mapping", "parameter of the scene -> its value and spread", default={}, of_names=True
    ),
}
JOINT: Section = {
    "coordinate": Field("number", "absent: the scene's", "rad or m"),
    "rate": Field("number", "absent: the scene's", "rad/s or m/s"),
    "spread": Field(
        "number", "uniform, so much either way, of coordinate", "rad or m", 0.0, minimum=0
    ),
    "rate_spread": Field("number", "the same of the rate", "rad/s or m/s", 0.0, minimum=0),
}
PARAMETER: Section = {
    "value": Field("number", "absent: the scene's"),
    "spread": Field("number", "uniform, so much either way", "", 0.0, minimum=0),
}
END: Section = {
    "of": TERM["of"],
    "below": Field("number", "the episode ends where it is less"),
    "above": Field("number", "or where it is more"),
}


def markdown() -> str:
    """All keys as Markdown tables."""
    return tables(
        {
            "ENVIRONMENT": ENVIRONMENT,
            "action.NAME": ACTION,
            "observation[]": TERM,
            "reward.NAME": REWARD,
            "reset": RESET,
            "reset.joints.NAME": JOINT,
            "reset.parameters.NAME": PARAMETER,
            "ends[]": END,
        }
    )
