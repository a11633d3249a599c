"""The keys of `bodies`: one table per type of body, its shapes, regions and contact points."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section

TYPES = ("rigid", "particle", "solid", "cloth", "string", "kinematic")
DENSITY = Field("number", "mass per volume of the shape", "kg/m^3", minimum=0, strict=True)
YOUNG = Field("number", "Young's modulus; absent: the material's", "Pa", minimum=0, strict=True)
POISSON = Field("number", "Poisson's ratio, below 0.5; absent: the material's", "1", minimum=0)
VISCOSITY = Field("number", "viscosity; absent: the material's, else 0", "Pa s", minimum=0)

POSE: Section = {
    "position": Field("vector3", "centre of mass at the start, world frame", "m", [0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "x, y, z, w; body to world; absent: identity", "1"),
    "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
}

TYPE = Field(
    "choice",
    "kind of body, see the tables of each",
    default="rigid",
    choices=TYPES,
    renamed=(("handle", "kinematic"),),
)
MASS = Field("number", "mass; or give a density", "kg", minimum=0, strict=True)
MATERIAL_NAME = Field("name", "material that gives values left out elsewhere")
START = Field("mapping", "pose at the start", default={})
VELOCITY = Field("vector3", "of the centre of mass, world frame", "m/s", [0.0, 0.0, 0.0])
SPIN = Field("vector3", "world frame", "rad/s", [0.0, 0.0, 0.0])
COLOUR = Field("rgba", "red, green, blue and opacity for pictures", "1", [0.2, 0.4, 0.8, 1.0])
GLUE = Field(
    "list", "vertices that a rigid body or kinematic body carries: {to, where}", default=[]
)
PINNED = Field("list", "regions whose vertices rest where they start", default=[])
SURFACE = Field("any", "contact points: `surface`; absent: all of it, radius 0", formerly="proxies")

BODY: Section = {
    "type": TYPE,
    "shape": Field("any", "one of `box`, `sphere`"),
    "mass": MASS,
    "density": DENSITY,
    "inertia": Field(
        "inertia",
        "about the centre of mass, body frame: `uniform` (of the shape), one number, "
        "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]",
        "kg m^2",
    ),
    "material": MATERIAL_NAME,
    "pose": START,
    "velocity": VELOCITY,
    "angular_velocity": SPIN,
    "contact_spheres": Field(
        "any",
        "contact points: `corners`, `face_grid`, `sphere`, `points`, `point`",
        formerly="proxies",
    ),
    "colour": COLOUR,
}

PLACED: Section = {
    "material": MATERIAL_NAME,
    "pose": START,
    "velocity": VELOCITY,
    "angular_velocity": SPIN,
    "glue": GLUE,
    "pinned": PINNED,
    "contact_spheres": SURFACE,
    "colour": COLOUR,
}

SOLID: Section = {
    "type": TYPE,
    "shape": Field("any", "one of `ball`, `box`, `cylinder`, `mesh`", default=REQUIRED),
    "density": DENSITY,
    "young": YOUNG,
    "poisson": POISSON,
    "viscosity": VISCOSITY,
    "model": Field(
        "choice",
        "energy; `neo_hookean_safe` stays finite for inverted tets",
        default="neo_hookean",
        choices=("neo_hookean", "neo_hookean_safe"),
    ),
    "viscosity_model": Field(
        "choice",
        "`invariant` leaves rotations alone, `linear` damps them too",
        default="invariant",
        choices=("invariant", "linear"),
    ),
    "element": Field(
        "choice",
        "linear tets (they lock near Poisson 0.5), locking-free linear ones, or quadratic ones",
        default="p1",
        choices=("p1", "p1_fbar", "p2"),
    ),
    "mass_matrix": Field(
        "choice", "mass matrix", default="lumped", choices=("lumped", "consistent")
    ),
    **PLACED,
}

MASS_OF_WEB = Field("number", "mass of all of it", "kg", minimum=0, strict=True)
SPRINGS_OF = "springs {}: {{stiffness, damping}} of each one"
REST_SCALE = Field(
    "number",
    "rest lengths as a share of the lengths in the shape",
    "1",
    1.0,
    minimum=0,
    strict=True,
)
CLOTH: Section = {
    "type": TYPE,
    "shape": Field("any", "one of `rectangle`, `mesh`", default=REQUIRED),
    "mass": MASS_OF_WEB,
    "mass_per_area": Field("number", "instead of mass", "kg/m^2", minimum=0, strict=True),
    "stretch": Field("mapping", SPRINGS_OF.format("along the edges"), default=REQUIRED),
    "shear": Field("mapping", SPRINGS_OF.format("along the diagonals of a rectangle's cells")),
    "bend": Field("mapping", SPRINGS_OF.format("across two neighbouring cells or triangles")),
    "rest_scale": REST_SCALE,
    **PLACED,
}

STRING: Section = {
    **{key: field for key, field in CLOTH.items() if key not in ("mass_per_area", "shear")},
    "shape": Field("any", "`line`", default=REQUIRED),
    "mass": Field("number", "mass of all of it", "kg", REQUIRED, minimum=0, strict=True),
    "bend": Field("mapping", SPRINGS_OF.format("between every second mass")),
}

KINEMATIC: Section = {
    "type": TYPE,
    "pose": Field("mapping", "where it rests; or give keys, or waypoints"),
    "keys": Field("mapping", "poses at equal intervals: {interval, positions, rotations}"),
    "waypoints": Field("list", "poses at times: {time, position, rotation or orientation}"),
    "shape": Field("any", "one of `box`, `sphere`, for pictures"),
    "colour": COLOUR,
}

SPRING_VALUES: Section = {
    "stiffness": Field("number", "of each spring", "N/m", REQUIRED, minimum=0),
    "damping": Field("number", "of each spring, along its axis", "N s/m", 0.0, minimum=0),
}
KEYS: Section = {
    "interval": Field("number", "time between keys", "s", 1.0, minimum=0, strict=True),
    "positions": Field("points", "of the kinematic body's origin, world frame", "m", REQUIRED),
    "rotations": Field("points", "rotation vectors, shorter than 6.2 rad; absent: none", "rad"),
    "count": Field("integer", "of keys, all alike, where one is given", minimum=1),
}
WAYPOINT: Section = {
    "time": Field("number", "a whole number of steps; the first is 0", "s", REQUIRED, minimum=0),
    "position": Field("vector3", "of the kinematic body's origin, world frame", "m", REQUIRED),
    "rotation": Field("vector3", "rotation vector; absent: none", "rad"),
    "orientation": Field("quaternion", "instead of rotation: x, y, z, w", "1"),
}
GLUED: Section = {
    "to": Field("name", "rigid body or kinematic body that carries the vertices", default=REQUIRED),
    "where": Field(
        "any",
        "region of the body at its start, body frame, or a list of vertices",
        default=REQUIRED,
    ),
}

SIZE = Field("vector3", "edge lengths along body x, y, z", "m", minimum=0, strict=True)
HALF = Field("vector3", "instead of size: half of it", "m", minimum=0, strict=True)
SHAPES: dict[str, Section] = {
    "box": {"size": SIZE, "half_extents": HALF},
    "sphere": {"radius": Field("number", "radius", "m", REQUIRED, minimum=0, strict=True)},
}
EDGE = Field("number", "instead: about this edge length", "m", minimum=0, strict=True)
FILE = Field("text", "file, relative to this one", default=REQUIRED)
UNIT = Field(
    "number",
    "factor on the file's coordinates; absent: 1, and odd sizes are refused",
    "1",
    minimum=0,
    strict=True,
)
SOLID_SHAPES: dict[str, Section] = {
    "ball": {
        "radius": SHAPES["sphere"]["radius"],
        "layers": Field("integer", "20 layers^3 tets", minimum=1),
        "edge": EDGE,
    },
    "box": {
        "size": SIZE,
        "half_extents": HALF,
        "cells": Field("integers", "cubes along x, y, z, of six tets each", minimum=1),
        "edge": EDGE,
    },
    "cylinder": {
        "radius": SHAPES["sphere"]["radius"],
        "height": Field("number", "along body z", "m", REQUIRED, minimum=0, strict=True),
        "rings": Field(
            "integer", "about the axis: 6 rings^2 triangles", default=REQUIRED, minimum=1
        ),
        "layers": Field("integer", "along z: 18 rings^2 layers tets", default=REQUIRED, minimum=1),
    },
    "mesh": {
        "file": FILE,
        "edge": Field(
            "number",
            "of the tets of a meshed surface; absent: a tenth of its diagonal",
            "m",
            minimum=0,
            strict=True,
        ),
        "scale": UNIT,
        "centred": Field("flag", "move the centre of the volume to the origin", default=True),
        "least_angle": Field(
            "number", "dihedral angle of the worst tet allowed", "deg", 5.0, minimum=0
        ),
        "digest": Field("text", "fingerprint of the tets; written into the resolved scene"),
    },
}
CLOTH_SHAPES: dict[str, Section] = {
    "rectangle": {
        "size": Field("vector2", "edges along body x, y", "m", REQUIRED, minimum=0, strict=True),
        "cells": Field("integers", "cells along x, y", default=REQUIRED, minimum=1),
    },
    "mesh": {
        "file": FILE,
        "scale": UNIT,
        "centred": Field("flag", "move the centre of the area to the origin", default=True),
    },
}
STRING_SHAPES: dict[str, Section] = {
    "line": {
        "length": Field("number", "along body x", "m", REQUIRED, minimum=0, strict=True),
        "masses": Field("integer", "equal masses, one at each end", default=REQUIRED, minimum=2),
    },
}
CENTRE = Field("vector3", "body frame", "m", [0.0, 0.0, 0.0])
REGIONS: dict[str, Section] = {
    "all": {},
    "box": {
        "centre": CENTRE,
        "size": Field("vector3", "edges", "m", REQUIRED, minimum=0, strict=True),
    },
    "sphere": {
        "centre": CENTRE,
        "radius": Field("number", "radius", "m", REQUIRED, minimum=0, strict=True),
    },
    "plane": {
        "normal": Field("vector3", "points away from the region", "1", REQUIRED),
        "offset": Field("number", "the region is normal . x <= offset", "m", 0.0),
    },
    "vertices": {
        "numbers": Field("integers", "vertices of the mesh, from 0", default=REQUIRED, minimum=0)
    },
}

RADIUS = Field("number", "radius of the contact spheres", "m", minimum=0)
SCALE = Field("number", "factor on the nominal shape", "1", 1.0, minimum=0, strict=True)
CONTACT_SPHERES: dict[str, Section] = {
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
SOFT_CONTACT_SPHERES: dict[str, Section] = {
    "surface": {
        "radius": Field("number", "radius of a sphere around each vertex", "m", 0.0, minimum=0)
    },
    "none": {},
}

BODIES = {
    "rigid": BODY,
    "particle": BODY,
    "solid": SOLID,
    "cloth": CLOTH,
    "string": STRING,
    "kinematic": KINEMATIC,
}
TABLES: dict[str, Section] = {
    "bodies.NAME": BODY,
    **{f"bodies.NAME (type: {kind})": BODIES[kind] for kind in TYPES[2:]},
    "bodies.NAME.pose": POSE,
    "bodies.NAME.stretch, .shear, .bend": SPRING_VALUES,
    "bodies.NAME.glue[i]": GLUED,
    **{f"bodies.NAME.glue[i].where.{kind}, .pinned[i].{kind}": s for kind, s in REGIONS.items()},
    "bodies.NAME.keys": KEYS,
    "bodies.NAME.waypoints[i]": WAYPOINT,
    **{f"bodies.NAME.shape.{kind}": section for kind, section in SHAPES.items()},
    **{f"bodies.NAME.shape.{kind} (solid)": section for kind, section in SOLID_SHAPES.items()},
    **{f"bodies.NAME.shape.{kind} (cloth)": section for kind, section in CLOTH_SHAPES.items()},
    **{f"bodies.NAME.shape.{kind} (string)": section for kind, section in STRING_SHAPES.items()},
    **{f"bodies.NAME.contact_spheres.{kind}": section for kind, section in CONTACT_SPHERES.items()},
    **{
        f"bodies.NAME.contact_spheres.{kind} (soft)": section
        for kind, section in SOFT_CONTACT_SPHERES.items()
    },
}
