"""Keys of a PLAN.yaml, printed by `python -m ...schema`: docs/reference/planning_keys.md."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables
from diffsim_ros.planning import tasks
from diffsim_ros.planning.controls import CONTROL
from diffsim_ros.planning.excitation import schema as excitation
from diffsim_ros.planning.goals import GOAL
from diffsim_ros.planning.locomotion import compliant_schema as compliant
from diffsim_ros.planning.robust import ROBUST

PLAN: Section = {
    "name": Field("text", "title for reports", default="plan"),
    "scene": Field(
        "any", "scene YAML (relative to this file), or a scene mapping", default=REQUIRED
    ),
    "estimated": Field("text", "result.yaml of `diffsim estimate`, whose values the scene takes"),
    "controls": Field("mapping", "name -> what the plan chooses", default={}),
    "goals": Field("list", "what the motion is to reach", default=REQUIRED),
    "search": Field("mapping", "optimiser and starts", default={}),
    "robot": Field("mapping", "an arm that executes it"),
}

KEYS: Section = {
    "body": Field(
        "text",
        "a kinematic body of the scene with keys or waypoints",
        default=REQUIRED,
        formerly="handle",
    ),
    "what": Field("choice", "of its keys", default="position", choices=("position", "rotation")),
    "axes": Field("list", "of them: x, y, z", default=["x", "y", "z"]),
    "first": Field("integer", "number of the first key that moves", default=1, minimum=1),
    "last": Field("integer", "and of the last; absent: the last there is", minimum=1),
    "bounds": Field("bounds", "of a key against the scene's [m or rad]", default=REQUIRED),
    "smooth": Field(
        "number",
        "usual difference of a key from the one before [m or rad]: keeps them together",
        minimum=0,
        strict=True,
    ),
    "weight": Field(
        "number",
        "of the square of (key - the scene's) / (half the bounds' distance): effort",
        default=0.0,
        minimum=0,
    ),
    "speed": Field(
        "number", "largest between two keys [m/s or rad/s]; checked", minimum=0, strict=True
    ),
    "acceleration": Field(
        "number",
        "largest change of that speed at a key, over the interval; at rest before the first key "
        "and after the last [m/s^2 or rad/s^2]; checked",
        minimum=0,
        strict=True,
    ),
    "jerk": Field(
        "number",
        "largest change of that acceleration, over the interval [m/s^3 or rad/s^3]; checked",
        minimum=0,
        strict=True,
    ),
}
"""A control that stands for many: the keys of a kinematic body."""


SEARCH: Section = {
    "solver": Field(
        "choice",
        "gauss_newton: sensitivities; lbfgs: the adjoint",
        default="gauss_newton",
        choices=("gauss_newton", "lbfgs"),
    ),
    "iterations": Field("integer", "of each start", default=60, minimum=1),
    "enough": Field(
        "number",
        "gain of the objective, 1/2 (distance/tolerance)^2, that is not worth another rollout",
        default=1e-300,
        minimum=0,
        strict=True,
    ),
    "gain": Field(
        "number",
        "relative decrease of the objective that is worth going on for",
        "1",
        default=1e-9,
        minimum=0,
        strict=True,
    ),
    "starts": Field(
        "integer", "the first guess, and draws within the bounds", default=1, minimum=1
    ),
    "seed": Field("integer", "of the draws", default=0, minimum=0),
    "continuation": Field(
        "list",
        "parameters of the scene that begin with other values, e.g. ground.k_n compliant",
        default=[],
        formerly="softened",
        of_names=True,
    ),
    "factors": Field(
        "numbers", "on these, stage by stage; a damping begins above 1", "1", default=[0.03, 0.2]
    ),
    "check_settling": Field(
        "flag",
        "note where the derivatives at the end depend on the phase of contacts within a step",
        default=True,
    ),
    "threads": Field("integer", "of the engine, 0: every core", default=0, minimum=0),
    "robust": Field("mapping", "samples over which the plan is to hold"),
}

SECTIONS = {
    "PLAN": PLAN,
    "controls.NAME": CONTROL,
    "controls.NAME (of a kinematic body)": KEYS,
    "goals[i]": GOAL,
    "search": SEARCH,
    **tasks.SECTIONS,
    "search.robust": ROBUST,
    **excitation.SECTIONS,
    **compliant.SECTIONS,
}


def markdown() -> str:
    """The tables of docs/reference/planning_keys.md."""
    return tables(SECTIONS)


if __name__ == "__main__":
    print(markdown())
