"""The keys of a scene file: one table per section, with unit, default and meaning.

`python -m diffsim_ros.scene.schema` prints the tables of docs/reference/scene.md; tests compare.
"""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables
from diffsim_ros.parameter import FACTOR_POWER, SCALE
from diffsim_ros.scene import schema_bodies, schema_links, schema_robots, schema_sdfs
from diffsim_ros.scene.schema_bodies import DENSITY, POISSON, VISCOSITY, YOUNG

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

SCENE: Section = {
    "name": Field("text", "title for reports", default=""),
    "world": Field("mapping", "gravity and time", default=REQUIRED),
    "materials": Field("mapping", "material name -> material", default={}),
    "bodies": Field("mapping", "body name -> body", default={}),
    "robots": Field("mapping", "robot name -> a URDF and how it stands", default={}),
    "sdfs": Field("mapping", "surface name -> surface (signed distance field)", default={}),
    "contact": Field("list", "contacts of a body's contact spheres against a surface", default=[]),
    "links": Field("list", "springs between points of bodies and of the world", default=[]),
    "estimated": Field("text", "result.yaml of `diffsim estimate`: its `scene` joins `values`"),
    "values": Field(
        "mapping", "parameter of the engine -> number, over all else", default={}, of_names=True
    ),
    "parameters": Field("mapping", "path into the scene -> parameter", default={}, of_names=True),
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
    "c_roll": Field(
        "number", "rolling friction torque per normal force; absent: 0", "m", minimum=0
    ),
    "c_spin": Field(
        "number", "torque about the normal per normal force; absent: 0", "m", minimum=0
    ),
    "k_roll": Field(
        "number",
        "slope of both, as k_t of friction; absent: k_t radius^2, evaluated once and then held",
        "N m s",
        minimum=0,
        strict=True,
    ),
}
"""Keys of a contact that its body's material may give instead."""

MATERIAL: Section = {
    "density": DENSITY,
    "young": YOUNG,
    "poisson": POISSON,
    "viscosity": VISCOSITY,
    **CONTACT_VALUES,
}

CONTACT: Section = {
    "name": Field("name", "absent: BODY_SURFACE"),
    "points": Field("name", "body whose contact spheres touch", default=REQUIRED),
    "against": Field("any", "surface: a name of `sdfs` or an inline one", default=REQUIRED),
    **CONTACT_VALUES,
    "carrier": Field("name", "rigid body or kinematic body in whose frame the surface stands"),
    "friction": Field(
        "choice",
        "friction law; `hybrid` holds sticking points exactly",
        default="linear",
        choices=("linear", "tanh", "hybrid"),
    ),
    "damping": Field(
        "choice",
        "normal damping: `continuous` uses c_n; `ramped` k_d and d_0; `thesis` k_d (discontinuous "
        "at touchdown)",
        default="continuous",
        choices=("continuous", "ramped", "thesis"),
    ),
    "weights": Field(
        "numbers",
        "share of each contact sphere in k_n and k_t, sum 1; absent: equal, of soft bodies by "
        "their areas",
        "1",
        minimum=0,
        strict=True,
    ),
}

PARAMETER: Section = {
    "name": Field("text", "name in results; absent: the path"),
    "unit": Field("text", "must be the unit of the path"),
    "value": Field("number", "start value; absent: what the scene has"),
    "bounds": Field("bounds", "lower and upper bound; absent: the physical ones"),
    "scale": SCALE,
    "prior": Field("mapping", "Gaussian prior: {mean, sigma}"),
    "support": Field(
        "choice", "must fit the path; absent: what the path has", choices=("always", "start")
    ),
    **FACTOR_POWER,
    "also": Field(
        "mapping",
        "further paths with the same parameter: path -> {factor, power}",
        default={},
        of_names=True,
    ),
}

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
    **schema_bodies.TABLES,
    **schema_sdfs.TABLES,
    "contact[i]": CONTACT,
    **schema_links.TABLES,
    **schema_robots.TABLES,
    "parameters.PATH": PARAMETER,
    "parameters.PATH.prior": PRIOR,
    "parameters.PATH.also.PATH": FACTOR_POWER,
}


def markdown() -> str:
    """Every section as a Markdown table: key, accepted, default, meaning."""
    return tables(TABLES)


if __name__ == "__main__":
    print(markdown(), end="")
