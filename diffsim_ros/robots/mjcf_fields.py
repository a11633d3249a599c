"""What becomes of every field of MuJoCo's compiled model and of its options.

A field that no pattern here has is of a MuJoCo that is newer: where it is not zero it is named.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

USED = (
    r"body_(dofadr|dofnum|gravcomp|inertia|ipos|iquat|jntadr|jntnum|mass|mocapid|parentid|pos|quat|"
    r"rootid|subtreemass|weldid)|flg_gravcomp|ngravcomp|nmocap",
    r"jnt_(axis|bodyid|dofadr|limited|pos|qposadr|range|solimp|solref|stiffness|type)",
    r"dof_(armature|damping|frictionloss|invweight0|M0)|qpos0|qpos_spring",
    r"eq_(active0|data|obj1id|obj2id|objtype|type)|site_(bodyid|pos|quat)",
    r"actuator_(actadr|actlimited|actrange|biasprm|biastype|ctrladr|ctrllimited|ctrlnum|ctrlrange|"
    r"delay|dyntype|forcelimited|forcerange|gainprm|gaintype|gear|group|plugin|trnid|trntype)",
    r"jnt_(actfrclimited|actfrcrange)",
    r"tendon_(adr|damping|lengthspring|num|stiffness|type)|wrap_(objid|prm|type)",
    r"key_(act|ctrl|mpos|mquat|qpos|qvel)",
    r"geom_(bodyid|conaffinity|contype|group|pos|quat|rgba|size|type)",
    r"opt\.(disableactuator|disableflags|enableflags|gravity|timestep)",
)
"""Read, or named by a word for what they make (mjcf_ignored)."""
NAMED = {
    "jnt_margin": "margin of limits",
    "jnt_springyield": "springyield of joints",
    "jnt_stiffnesspoly": "polynomial stiffness of joints",
    "dof_dampingpoly": "polynomial damping of joints",
    "dof_solref": "solreffriction of joints",
    "dof_solimp": "solimpfriction of joints",
    "actuator_armature": "armature of actuators",
    "actuator_damping": "damping of actuators",
    "actuator_dampingpoly": "polynomial damping of actuators",
    "actuator_history": "history of actuators",
    "geom_surfacevel": "surface velocity of geoms",
    "geom_adhesion": "adhesion of geoms",
    "pair_adhesion": "adhesion of contact pairs",
    "opt.density": "density of the medium",
    "opt.viscosity": "viscosity of the medium",
}
"""What changes a motion and is not used: field -> words for a warning, where it is not neutral."""
COUNTED = (
    r"n(exclude|flex|plugin|tendon|sensor|site|cam|light|skin|numeric|text|tuple|"
    r"pair|eq|actuator|hfield|plastic)",
    r"(flex|flexedge|pair|exclude|plugin|skin|sensor|cam|light|numeric|text|tuple|hfield)_?\w*",
    r"tendon_\w+|ten_\w+|eq_(solimp|solref)|body_plugin|geom_plugin",
    r"actuator_(acc0|actearly|actnum|cranklength|dynprm|historyadr|lengthrange)",
    r"jnt_(actgravcomp|plasticadr)|key_plastic",
)
"""Named with what has them: by the number of tendons, flexes, pairs, sensors, actuators, ..."""
CONTACT = (
    r"geom_(aabb|condim|dataid|fluid|friction|gap|margin|matid|plugin|priority|rbound|sameframe|"
    r"solimp|solmix|solref)|body_(conaffinity|contype|margin)|flg_(adhesion|surfacevel)",
    r"mesh_?\w*|opt\.(cone|impratio|o_\w+|ccd_\w+|sdf_\w+|noslip_\w+)",
)
"""Of contact alone, which a scene's `contact` says."""
WITHOUT = (
    r"n(M|D|B|C|q|v|u|a|body|jnt|geom|key|mesh\w*|mat|tex\w*|wrap|tree|out|names|names_map|user\w*|"
    r"buffer|arena|emax|jmax|conmax|paths|bvh\w*|oct|J\w+|efm\w+|flex\w+|hfielddata|history|"
    r"numericdata|pluginattr|pluginstate|polygonmax|sensordata|skin\w+|textdata|tupledata|userdata)",
    r"names?|names_map|name_\w+|paths|signature|stat|vis|opt|\w+_user|(?!mesh)\w+_pathadr|narena",
    r"(B|D|M)_\w+|map\w+|efm\w+|bvh_\w+|oct_\w+|mat_\w+|tex_\w+",
    r"body_(bvhadr|bvhnum|geomadr|geomnum|invweight0|sameframe|simple|treeid)",
    r"dof_(Madr|bodyid|jntid|length|parentid|simplenum|treeid)|jnt_(actuatorid|group)",
    r"site_(dataid|group|matid|rgba|sameframe|size|type)|geom_castshadow|tree_\w+|key_time",
    r"actuator_(ctrlspec|length0|outadr|outnum)",
    r"actuator|body|camera|equality|geom|jnt|joint|key|keyframe|material|site|tex|texture|mat|dof",
    r"opt\.(integrator|iterations|jacobian|ls_\w+|magnetic|sleep_tolerance|solver|tolerance|wind)",
)
"""Sizes, addresses, pictures, what MuJoCo's own solver needs; wind and magnetic act through a
medium and on sensors, sleep_tolerance where a flag lets bodies sleep, which are named."""
NEUTRAL = {
    "dof_solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
    "dof_solref": (0.02, 1.0),
}  # fmt: skip
"""Values that change nothing, where they are not zero."""
ONLY = {
    "jnt_margin": "jnt_limited", "dof_solref": "dof_frictionloss",
    "dof_solimp": "dof_frictionloss",
}  # fmt: skip
"""Fields that matter only in rows where another one is not zero."""


@cache
def use_of(name: str) -> tuple[str, ...]:
    """The classes that a field is in: used, named, counted, contact, without; options `opt.NAME`.

    One alone of every field that is known here; none of one that is not.
    """
    classes = {"used": USED, "named": tuple(map(re.escape, NAMED)), "contact": CONTACT,
               "without": WITHOUT}  # fmt: skip
    found = tuple(use for use, patterns in classes.items() if _matches(patterns, name))
    return found or (("counted",) if _matches(COUNTED, name) else ())


def fields_of(model: Any) -> list[str]:
    """Every field of a compiled model, and of its options."""
    own = [n for n in dir(model) if not n.startswith("_") and not callable(getattr(model, n))]
    return own + [f"opt.{n}" for n in dir(model.opt) if not n.startswith("_")]


def named_fields(model: Any) -> list[str]:
    """Words for every field of NAMED that is not neutral, and for unknown ones that are not zero.

    Fields of actuators count with those that are used (mjcf_ignored).
    """
    found = [word for name, word in NAMED.items()
             if not name.startswith("actuator_") and _acts(model, name)]  # fmt: skip
    for name in fields_of(model):
        if not use_of(name) and np.any(np.asarray(_value(model, name)) != 0):
            found.append(f"{name}, which is unknown here")
    return found


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _value(model: Any, name: str) -> Any:
    return getattr(model.opt, name[4:]) if name.startswith("opt.") else getattr(model, name, 0)


def _acts(model: Any, name: str) -> bool:
    values = np.asarray(_value(model, name), float)
    if name in ONLY:
        values = values[np.asarray(getattr(model, ONLY[name]), bool)]
    return bool(np.any(values != np.array(NEUTRAL.get(name, 0.0))))
