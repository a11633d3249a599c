"""Keys of a PLAN.yaml that refines a robot's gait (printed with the others by planning.schema)."""

from __future__ import annotations

from ...fields import REQUIRED, Field, Section


def _number(doc: str, unit: str, default: float | None) -> Field:
    return Field("number", doc, unit, default, minimum=0, strict=True)


PLAN: Section = {
    "name": Field("text", "title for reports", default="gait"),
    "scene": Field(
        "any", "scene YAML (relative to this file), or a scene mapping: the robot on its ground",
        default=REQUIRED,
    ),
    "estimated": Field(
        "any", "result.yaml of `diffsim estimate`, or a list of them (of motors, feet, ground), "
        "each a file or {file, sets}",
    ),
    "compliant": Field("mapping", "the gait that is refined", default=REQUIRED),
    "search": Field("mapping", "optimiser and samples", default={}),
}  # fmt: skip
ESTIMATED: Section = {
    "file": Field("text", "result.yaml of `diffsim estimate`", default=REQUIRED),
    "sets": Field(
        "mapping", "parameter of this scene -> the estimation's that it takes the value of, e.g. "
        "FL_foot.young: foot.young; absent: each its own name",
        of_names=True,
    ),
}  # fmt: skip
COMPLIANT: Section = {
    "nominal": Field(
        "any", "the motors' targets over one cycle at equal intervals: a table (.csv: time, then a "
        "column per joint), the first row at its start; or the motion.npz of a `locomotion`",
        default=REQUIRED,
    ),
    "period": _number("of a cycle; absent: that of the file's equal intervals", "s", None),
    "body": Field("text", "rigid body of the scene whose motion counts: the trunk",
                  default=REQUIRED),
    "speed": Field("number", "mean speed that is wanted over `cycles`", "m/s", REQUIRED),
    "direction": Field("vector3", "of it, world frame", "1", [1.0, 0.0, 0.0]),
    "cycles": Field("integer", "that count", default=5, minimum=1),
    "lead_in": Field("integer", "cycles before them, over which targets come in from where the "
                     "scene's motors stand", default=1, minimum=0),
    "knots": Field("integer", "of a joint's periodic cubic spline that is added to its targets; "
                   "absent: every target by itself", minimum=4),
    "range": _number("of a change, +-", "rad", 0.5),
    "height": _number("of the trunk that is wanted; absent: its mean in the nominal motion", "m",
                      None),
    "tolerances": Field("mapping", "what deviations are usual", default={}),
}  # fmt: skip
TOLERANCES: Section = {
    "speed": _number("mean speed over all cycles: reached within this share of it", "1", 0.02),
    "each_cycle": _number("mean speed of each cycle, share of the wanted one", "1", 0.1),
    "upright": _number("roll and pitch, root of the mean square", "rad", 0.05),
    "heading": _number("turn away from `direction`, likewise", "rad", 0.1),
    "height": _number("of the trunk, likewise", "m", 0.01),
    "drift": _number("across `direction`, likewise", "m", 0.02),
    "repeat_height": _number("change of the height from cycle to cycle", "m", 0.004),
    "repeat_turn": _number("of roll, pitch and yaw", "rad", 0.03),
    "repeat_velocity": _number("of the velocity", "m/s", 0.05),
    "repeat_spin": _number("of the angular velocity", "rad/s", 0.5),
    "near": _number("change of the nominal targets, root of the mean square", "rad", 0.3),
    "smooth": _number("second difference of that change, likewise", "rad", 0.1),
}
SEARCH: Section = {
    "iterations": Field("integer", "trial steps of Gauss-Newton", default=30, minimum=1),
    "gain": _number("relative decrease of the objective that is worth going on for", "1", 1e-2),
    "enough": _number(
        "objective, half the sum of squares of deviations over tolerances, below which "
        "the search ends",
        "1",
        0.5,
    ),
    "threads": Field("integer", "of the engine, 0: every core", default=0, minimum=0),
    "robust": Field("mapping", "samples over which the gait is to hold (`spread`, `estimated`)"),
}
SECTIONS = {
    "PLAN (of a gait)": PLAN,
    "estimated[i] (of a gait)": ESTIMATED,
    "compliant": COMPLIANT,
    "compliant.tolerances": TOLERANCES,
    "search (of a gait)": SEARCH,
}
