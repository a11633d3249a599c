"""The keys of `sdfs`: one table per kind of surface."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, Field, Section

LENGTH = {"minimum": 0, "strict": True}
MEMBERS = Field("list", "surfaces: names or inline ones", default=REQUIRED)
WIDTH = Field("number", "gaps that differ by less are blended; 0: sharp", "m", 0.0, minimum=0)

SDFS: dict[str, Section] = {
    "plane": {
        "normal": Field(
            "vector3", "outward normal, world frame (normalised)", "1", [0.0, 0.0, 1.0]
        ),
        "offset": Field("number", "g(x) = normal . x - offset", "m", 0.0),
    },
    "box": {
        "size": Field("vector3", "edge lengths, centred at the origin", "m", **LENGTH),
        "half_extents": Field("vector3", "instead of size: half of it", "m", **LENGTH),
    },
    "sphere": {"radius": Field("number", "centred at the origin", "m", REQUIRED, **LENGTH)},
    "capsule": {
        "length": Field(
            "number", "between the centres of its ends, along z", "m", REQUIRED, **LENGTH
        ),
        "radius": Field("number", "about the z axis", "m", REQUIRED, **LENGTH),
    },
    "cylinder": {
        "height": Field("number", "along z, centred at the origin", "m", REQUIRED, **LENGTH),
        "radius": Field("number", "about the z axis", "m", REQUIRED, **LENGTH),
    },
    "torus": {
        "ring_radius": Field(
            "number", "of the tube's centre line about z", "m", REQUIRED, **LENGTH
        ),
        "tube_radius": Field("number", "of the tube", "m", REQUIRED, **LENGTH),
    },
    "half_spaces": {
        "normals": Field("points", "outward normals, at least one (normalised)", "1", REQUIRED),
        "offsets": Field("numbers", "inside is where every normal . x <= offset", "m", REQUIRED),
    },
    "mesh": {
        "file": Field(
            "text", ".obj, .stl or .ply of a closed surface, relative to this one", default=REQUIRED
        ),
        "scale": Field(
            "number",
            "factor on the file's coordinates; absent: 1, and odd sizes are refused",
            "1",
            **LENGTH,
        ),
        "voxel": Field(
            "number", "of the level set; absent: a 64th of the longest extent", "m", **LENGTH
        ),
        "band": Field("integer", "half width of the fine grid, in voxels", default=6, minimum=5),
        "smoothing": Field(
            "number", "width of a Gaussian, at most 1.5 voxels", "m", 0.0, minimum=0
        ),
    },
    "vdb": {"file": Field("text", "a .vdb that diffsim wrote", default=REQUIRED)},
    "transform": {
        "of": Field("any", "surface: a name or an inline one", default=REQUIRED),
        "position": Field("vector3", "where its origin lies, world frame", "m", [0.0, 0.0, 0.0]),
        "orientation": Field("quaternion", "x, y, z, w; absent: identity", "1"),
        "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
    },
    "offset": {
        "of": Field("any", "surface: a name or an inline one", default=REQUIRED),
        "distance": Field("number", "by which it grows outwards", "m", REQUIRED),
    },
    "union": {"of": MEMBERS, "width": WIDTH},
    "intersection": {"of": MEMBERS, "width": WIDTH},
    "difference": {
        "of": Field("list", "the first without all others", default=REQUIRED),
        "width": WIDTH,
    },
    "complement": {
        "of": Field("list", "outside of all of them: walls of a container", default=REQUIRED),
        "width": WIDTH,
    },
}
TABLES: dict[str, Section] = {f"sdfs.NAME.{kind}": section for kind, section in SDFS.items()}
