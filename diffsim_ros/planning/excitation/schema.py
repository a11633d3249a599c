"""Keys of a PLAN.yaml whose arm is to be excited (printed with the others by planning.schema)."""

from __future__ import annotations

from ...fields import REQUIRED, Field, Section

PER_JOINT = "a number for all, a list in the order of the joints, or {joint: number}"
PLAN: Section = {
    "name": Field("text", "title for reports", default="excitation"),
    "robot": Field("mapping", "the arm: `arm`, `margin`", default=REQUIRED),
    "excitation": Field("mapping", "the motion that is designed", default=REQUIRED),
    "scene": Field(
        "any", "scene YAML, or a mapping, whose surfaces stand around beside `surroundings`"
    ),
    "search": Field("mapping", "starts of the search", default={}),
    "twin": Field("text", "TWIN.yaml with `efforts` in which `./run experiment` executes it"),
}
EXCITATION: Section = {
    "duration": Field(
        "number", "of a period: from home to home, at rest", "s", REQUIRED, minimum=0, strict=True
    ),
    "periods": Field("integer", "that follow one another", default=1, minimum=1),
    "harmonics": Field("integer", "of every joint's Fourier series", default=5, minimum=2),
    "range": Field("any", f"of a joint from home, at most [rad or m]: {PER_JOINT}", default=1.5),
    "clearance": Field("number", "kept from what stands around, half of it by the arm from itself",
                       "m", 0.01, minimum=0),
    "rate": Field("number", "of the readings of efforts", "Hz", 125.0, minimum=0, strict=True),
    "sigma": Field(
        "any", f"noise of the efforts [N m or N]: {PER_JOINT}; absent: a 300th of the URDF's limits"
    ),
    "gains": Field("list", "joints whose effort per N m (or N) is to be found too", default=[]),
    "parameters": Field(
        "list", "armature, viscous, coulomb, offset or gain (of all joints), or JOINT.viscous ..., "
        "that count more: the logs of their variances are added to the criterion",
        default=[],
    ),
    "criterion": Field(
        "choice", "of all that efforts tell: mean of the variances, in units of those of random "
        "motions (A-optimal), volume of their ellipsoid (D-optimal), or `parameters` alone",
        default="mean", choices=("mean", "volume", "chosen"),
    ),
}  # fmt: skip
SEARCH: Section = {
    "starts": Field("integer", "that are improved: the best of eight times as many drawn ones",
                    default=2, minimum=1),
    "iterations": Field("integer", "of each start", default=60, minimum=1),
    "seed": Field("integer", "of the draws", default=0, minimum=0),
}  # fmt: skip
SECTIONS = {
    "PLAN (of an excitation)": PLAN,
    "excitation": EXCITATION,
    "search (of an excitation)": SEARCH,
}
