"""The keys of a scene file: one table per section, with unit, default and meaning.

`python -m diffsim_ros.scene.schema` prints the tables of docs/reference/scene.md; tests compare.
"""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section, tables
from diffsim_ros.parameter import FACTOR_POWER, SCALE
from diffsim_ros.scene import bodies, contacts, links, materials, schema_robots, sdfs
from diffsim_ros.scene.contacts import pairs
from diffsim_ros.scene.start import START

SCENE: Section = {
    "name": Field("text", "title for reports", default=""),
    "world": Field("mapping", "gravity and time", default=REQUIRED),
    "materials": Field("mapping", "material name -> material", default={}),
    "bodies": Field("mapping", "body name -> body", default={}),
    "robots": Field("mapping", "robot name -> a URDF or an MJCF and how it stands", default={}),
    "sdfs": Field("mapping", "surface name -> surface (signed distance field)", default={}),
    "contact": Field("list", "contacts of a body's contact spheres against a surface", default=[]),
    "links": Field("list", "springs between points of bodies and of the world", default=[]),
    "estimated": Field("text", "result.yaml of `diffsim estimate`: its `scene` joins `values`"),
    "start": START,
    "strict": Field(
        "flag", "whether bodies inside each other are an error, not a warning", default=False
    ),
    "values": Field(
        "mapping",
        "parameter of the engine -> number, over all else; a uniform inertia goes with its mass",
        default={},
        of_names=True,
    ),
    "parameters": Field("mapping", "path into the scene -> parameter", default={}, of_names=True),
}

WORLD: Section = {
    "gravity": Field(
        "vector3",
        "acceleration, world frame; not written: that of an MJCF among the robots",
        "m/s^2",
        [0.0, 0.0, -9.81],
    ),
    "step": Field("number", "time step", "s", REQUIRED, minimum=0, strict=True),
    "duration": Field("number", "simulated time, rounded to whole steps", "s", REQUIRED, minimum=0),
    "stepper": Field(
        "choice",
        "`implicit`: all forces at the end of a step; `velocity`: semi-implicit Euler with hard "
        "contacts, for rigid bodies and joints in reduced coordinates",
        default="implicit",
        choices=("implicit", "velocity"),
    ),
    "friction_cone": Field(
        "choice",
        "of hard contacts: Coulomb's cone, or a pyramid along two tangents",
        default="cone",
        choices=("cone", "pyramid"),
    ),
    "scheme": Field(
        "choice",
        "time scheme of the implicit stepper",
        default="bdf2",
        choices=("bdf1", "bdf2", "generalized_alpha"),
    ),
    "spectral_radius": Field(
        "number",
        "of generalized_alpha at infinite frequency, 0 ... 1, with joints that hold exactly "
        "0 ... 0.95: how little it damps; default 0.8",
        "1",
        minimum=0,
    ),
    "record_every": Field(
        "integer",
        "steps between recorded frames; a simulation records its end too",
        default=1,
        minimum=1,
    ),
    "tolerance": Field("number", "Newton's relative tolerance", "1", 1e-8, minimum=0, strict=True),
    "max_iterations": Field("integer", "Newton iterations per step", default=50, minimum=1),
    "max_halvings": Field("integer", "times a failing step may be halved", default=4, minimum=0),
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
    **materials.TABLES,
    **bodies.TABLES,
    **sdfs.TABLES,
    **contacts.TABLES,
    **pairs.TABLES,
    **links.TABLES,
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
