"""The keys of a scene file: one table per section, with unit, default and meaning.

docs/scene.md prints these tables (`python -m diffsim_ros.scene.schema`); a test compares them.
"""

from __future__ import annotations

from diffsim_ros.scene.fields import REQUIRED, Field, Section

# From here on, a name's unit is the unit it has in the engine (SI, radians).
K_N = Field("number", "normal stiffness of the whole set", "N/m", minimum=0, strict=True)
K_T = Field(
    "number",
    "tangential stiffness of the whole set; absent: k_n * step, evaluated once and then held",
    "N s/m",
    minimum=0,
    strict=True,
)
C_F = Field(
    "number", "Coulomb friction coefficient; absent: the material's, else 0", "1", minimum=0
)
C_N = Field("number", "continuous normal damping; absent: the material's, else 0", "s/m", minimum=0)
K_D = Field(
    "number", "normal damping of `damping: ramped` and `thesis`; absent: 0", "N s/m", minimum=0
)
D_0 = Field(
    "number", "depth over which `damping: ramped` comes on; absent: the material's, else 5e-4",
    "m", minimum=0, strict=True,
)  # fmt: skip
C_S = Field("number", "friction coefficient at no load, with f_0; absent: c_f at any load", "1",
            minimum=0, strict=True)  # fmt: skip
F_0 = Field("number", "load at one point over which friction falls from c_s to c_f", "N",
            minimum=0, strict=True)  # fmt: skip
DENSITY = Field("number", "mass per volume of the shape", "kg/m^3", minimum=0, strict=True)

SCENE: Section = {
    "name": Field("text", "title for reports", default=""),
    "world": Field("mapping", "gravity and time", default=REQUIRED),
    "materials": Field("mapping", "material name -> material", default={}),
    "bodies": Field("mapping", "body name -> body", default=REQUIRED),
    "sdfs": Field("mapping", "surface name -> surface (signed distance field)", default={}),
    "contact": Field("list", "contacts of a body's proxies against a surface", default=[]),
    "links": Field("list", "springs between points of bodies and of the world", default=[]),
    "parameters": Field("mapping", "path into the scene -> parameter", default={}),
}

WORLD: Section = {
    "gravity": Field("vector3", "acceleration, world frame", "m/s^2", [0.0, 0.0, -9.81]),
    "step": Field("number", "time step", "s", REQUIRED, minimum=0, strict=True),
    "duration": Field("number", "simulated time, rounded to whole steps", "s", REQUIRED, minimum=0),
    "scheme": Field("choice", "time scheme", default="bdf2", choices=("bdf1", "bdf2")),
    "record_every": Field("integer", "steps between recorded frames", default=1, minimum=1),
    "tolerance": Field("number", "Newton's relative tolerance", "1", 1e-8, minimum=0, strict=True),
    "max_iterations": Field("integer", "Newton iterations per step", default=50, minimum=1),
    "max_halvings": Field("integer", "times a failing step may be halved", default=4, minimum=0),
}

CONTACT_VALUES: Section = {
    "k_n": K_N,
    "k_t": K_T,
    "c_f": C_F,
    "c_n": C_N,
    "k_d": K_D,
    "d_0": D_0,
    "c_s": C_S,
    "f_0": F_0,
}
"""Keys of a contact that its body's material may give instead."""

MATERIAL: Section = {"density": DENSITY, **CONTACT_VALUES}

POSE: Section = {
    "position": Field("vector3", "centre of mass at the start, world frame", "m", [0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "x, y, z, w; body to world; absent: identity", "1"),
    "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
}

BODY: Section = {
    "type": Field(
        "choice", "6 or 3 degrees of freedom", default="rigid", choices=("rigid", "particle")
    ),
    "shape": Field("any", "one of `box`, `sphere`"),
    "mass": Field("number", "mass; or give a density", "kg", minimum=0, strict=True),
    "density": DENSITY,
    "inertia": Field(
        "inertia",
        "about the centre of mass, body frame: `uniform` (of the shape), one number, "
        "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]",
        "kg m^2",
    ),
    "material": Field("name", "material that gives density and contact values left out elsewhere"),
    "pose": Field("mapping", "pose at the start", default={}),
    "velocity": Field("vector3", "of the centre of mass, world frame", "m/s", [0.0, 0.0, 0.0]),
    "angular_velocity": Field("vector3", "world frame", "rad/s", [0.0, 0.0, 0.0]),
    "proxies": Field("any", "contact points: `corners`, `face_grid`, `sphere`, `points`, `point`"),
    "colour": Field("rgba", "red, green, blue and opacity for pictures", "1", [0.2, 0.4, 0.8, 1.0]),
}

SHAPES: dict[str, Section] = {
    "box": {
        "size": Field("vector3", "edge lengths along body x, y, z", "m", minimum=0, strict=True),
        "half_extents": Field(
            "vector3", "instead of size: half of it", "m", minimum=0, strict=True
        ),
    },
    "sphere": {"radius": Field("number", "radius", "m", REQUIRED, minimum=0, strict=True)},
}

RADIUS = Field("number", "radius of the contact spheres", "m", minimum=0)
SCALE = Field("number", "factor on the nominal shape", "1", 1.0, minimum=0, strict=True)
PROXIES: dict[str, Section] = {
    "corners": {
        "radius": Field(
            "number",
            "radius of the 8 inset spheres; absent: 5 % of the smallest half edge",
            "m",
            minimum=0,
        ),
        "scale": SCALE,
    },
    "face_grid": {
        "per_edge": Field("integer", "points along each edge", default=5, minimum=2),
        "radius": Field("number", "radius of the inset spheres", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "sphere": {"radius": Field("number", "absent: the shape's radius", "m", minimum=0)},
    "points": {
        "positions": Field("points", "points in the body frame", "m", REQUIRED),
        "radius": Field("number", "radius of a sphere around each", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "point": {},
}

SDFS: dict[str, Section] = {
    "plane": {
        "normal": Field(
            "vector3", "outward normal, world frame (normalised)", "1", [0.0, 0.0, 1.0]
        ),
        "offset": Field("number", "g(x) = normal . x - offset", "m", 0.0),
    },
    "box": {
        "size": Field(
            "vector3", "edge lengths, centred at the origin", "m", minimum=0, strict=True
        ),
        "half_extents": Field(
            "vector3", "instead of size: half of it", "m", minimum=0, strict=True
        ),
    },
    "sphere": {
        "radius": Field("number", "centred at the origin", "m", REQUIRED, minimum=0, strict=True)
    },
    "transform": {
        "of": Field("any", "surface: a name or an inline one", default=REQUIRED),
        "position": Field("vector3", "where its origin lies, world frame", "m", [0.0, 0.0, 0.0]),
        "orientation": Field("quaternion", "x, y, z, w; absent: identity", "1"),
        "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
    },
    "union": {"of": Field("list", "surfaces: names or inline ones", default=REQUIRED)},
}

CONTACT: Section = {
    "name": Field("name", "absent: BODY_SURFACE"),
    "points": Field("name", "body whose proxies touch", default=REQUIRED),
    "against": Field("any", "surface: a name of `sdfs` or an inline one", default=REQUIRED),
    **CONTACT_VALUES,
    "friction": Field("choice", "friction law", default="linear", choices=("linear", "tanh")),
    "damping": Field(
        "choice",
        "normal damping: `continuous` uses c_n; `ramped` k_d and d_0; `thesis` k_d (discontinuous "
        "at touchdown)",
        default="continuous",
        choices=("continuous", "ramped", "thesis"),
    ),
    "weights": Field(
        "numbers",
        "share of each proxy in k_n and k_t, sum 1; absent: equal",
        "1",
        minimum=0,
        strict=True,
    ),
}

LINK: Section = {
    "name": Field("name", "name of the batch of springs", default=REQUIRED),
    "type": Field("choice", "kind of link", default="spring", choices=("spring",)),
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
    "world": Field("vector3", "instead of body and point: a fixed point of the world", "m"),
}

PARAMETER: Section = {
    "name": Field("text", "name in results; absent: the path"),
    "unit": Field("text", "must be the unit of the path"),
    "value": Field("number", "start value; absent: what the scene has"),
    "bounds": Field("bounds", "lower and upper bound; absent: the physical ones"),
    "scale": Field("choice", "scale of the search", default="linear", choices=("linear", "log")),
    "prior": Field("mapping", "Gaussian prior: {mean, sigma}"),
    "support": Field(
        "choice", "must fit the path; absent: what the path has", choices=("always", "start")
    ),
    "factor": Field("number", "scene value = factor * value ** power", "", 1.0),
    "power": Field("number", "see factor", "1", 1.0),
    "also": Field(
        "mapping", "further paths with the same parameter: path -> {factor, power}", default={}
    ),
}

ALSO: Section = {"factor": PARAMETER["factor"], "power": PARAMETER["power"]}

PRIOR: Section = {
    "mean": Field("number", "in the unit of the parameter", default=REQUIRED),
    "sigma": Field(
        "number",
        "in the unit of the parameter; with scale log, sigma / mean is that of the logarithm",
        default=REQUIRED,
        minimum=0,
        strict=True,
    ),
}

TABLES: dict[str, Section] = {
    "scene": SCENE,
    "world": WORLD,
    "materials.NAME": MATERIAL,
    "bodies.NAME": BODY,
    "bodies.NAME.pose": POSE,
    **{f"bodies.NAME.shape.{kind}": section for kind, section in SHAPES.items()},
    **{f"bodies.NAME.proxies.{kind}": section for kind, section in PROXIES.items()},
    **{f"sdfs.NAME.{kind}": section for kind, section in SDFS.items()},
    "contact[i]": CONTACT,
    "links[i]": LINK,
    "links[i].pairs[j]": PAIR,
    "links[i].pairs[j].a, .b": END,
    "parameters.PATH": PARAMETER,
    "parameters.PATH.prior": PRIOR,
    "parameters.PATH.also.PATH": ALSO,
}


def markdown() -> str:
    """Every section as a Markdown table: key, accepted, default, meaning."""
    blocks = []
    for title, section in TABLES.items():
        rows = [f"### `{title}`", ""]
        if section:
            rows += ["| key | accepted | default | meaning |", "|---|---|---|---|"]
        else:
            rows += ["(no keys)"]
        for name, field in section.items():
            absent = field.default is None or field.default == ""
            default = "-" if absent else f"`{field.default}`"
            if field.default == REQUIRED:
                default = REQUIRED
            rows.append(f"| `{name}` | {field.rule()} | {default} | {field.doc} |")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
