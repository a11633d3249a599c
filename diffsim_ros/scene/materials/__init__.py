"""Materials: numbers for bodies and their contacts where they have none of their own."""

from __future__ import annotations

from diffsim_ros.fields import Field, Section
from diffsim_ros.scene.part import Part, key, part, shared

DENSITY = Field("number", "mass per volume of the shape", "kg/m^3", minimum=0, strict=True)
YOUNG = Field("number", "Young's modulus; absent: the material's", "Pa", minimum=0, strict=True)
POISSON = Field("number", "Poisson's ratio, below 0.5; absent: the material's", "1", minimum=0)
VISCOSITY = Field("number", "viscosity; absent: the material's, else 0", "Pa s", minimum=0)


@part
class ContactValues(Part):
    """Numbers of a contact that its body's material may give instead."""

    k_n: float | None = key(
        "number",
        "normal stiffness of the whole set; absent: the material's, else by loads and sizes; "
        "`stepper: velocity` needs none",
        "N/m",
        minimum=0,
        strict=True,
    )
    k_t: float | None = key(
        "number",
        "tangential damping of the whole set; absent: the material's, else such that what sticks "
        "creeps below 1 mm/s under all that could rest on it",
        "N s/m",
        minimum=0,
        strict=True,
    )
    c_f: float | None = key(
        "number", "Coulomb friction coefficient; absent: the material's, else 0", "1", minimum=0
    )
    c_n: float | None = key(
        "number", "continuous normal damping; absent: the material's, else 1", "s/m", minimum=0
    )
    k_d: float | None = key(
        "number", "normal damping of `damping: ramped` and `thesis`; absent: 0", "N s/m", minimum=0
    )
    d_0: float | None = key(
        "number",
        "depth over which `damping: ramped` comes on; absent: the material's, else 5e-4",
        "m",
        minimum=0,
        strict=True,
    )
    c_s: float | None = key(
        "number",
        "friction coefficient at no load, with f_0; absent: c_f at any load",
        "1",
        minimum=0,
        strict=True,
    )
    f_0: float | None = key(
        "number",
        "load at one point over which friction falls from c_s to c_f",
        "N",
        minimum=0,
        strict=True,
    )
    c_roll: float | None = key(
        "number",
        "rolling friction torque per normal force; absent: 0; given as 0 it can be a parameter",
        "m",
        minimum=0,
    )
    c_spin: float | None = key(
        "number",
        "torque about the normal per normal force; absent: 0; given as 0 it can be a parameter",
        "m",
        minimum=0,
    )
    k_roll: float | None = key(
        "number",
        "slope of both, as k_t of friction; absent: k_t radius^2, evaluated once and then held",
        "N m s",
        minimum=0,
        strict=True,
    )
    restitution: float | None = key(
        "number",
        "speed after an impact over speed before, of hard contacts (`stepper: velocity`), 0 ... 1; "
        "absent: 0",
        "1",
        minimum=0,
    )


@part
class Material(ContactValues):
    """See the module."""

    density: float | None = shared(DENSITY)
    young: float | None = shared(YOUNG)
    poisson: float | None = shared(POISSON)
    viscosity: float | None = shared(VISCOSITY)


NO_MATERIAL = Material(**dict.fromkeys(Material.section()))
TABLES: dict[str, Section] = {"materials.NAME": Material.section()}
