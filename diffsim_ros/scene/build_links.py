"""Links of a resolved scene in the engine's scene: springs, joints, motors, cables, forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.scene.build_soft import glued_vertices
from diffsim_ros.scene.links import (
    place_of,
    placed_vertices,
    shared_vertices,
    six_of,
    symmetric,
)
from diffsim_ros.scene.soft_shapes import SOFT, region, soft_shape

JOINT_VALUES = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
"""What the engine chooses by the masses where the file says nothing."""


def limit_name(joint: str) -> str:
    """Name of a joint's limits in the engine: parameters NAME.lower, .upper, .stiffness ..."""
    return f"{joint}_limit"


def friction_name(joint: str) -> str:
    """Name of a joint's Coulomb friction in the engine: NAME.coulomb, NAME.slip_rate."""
    return f"{joint}_friction"


def armature_name(joint: str) -> str:
    """Name of a joint's armature in the engine: NAME.inertia."""
    return f"{joint}_armature"


def add_link(scene: Any, link: dict, bodies: dict, contact_spheres: Any) -> None:
    """Add one resolved link; `contact_spheres` names a body's contact points."""
    kind = link["type"]
    if kind == "spring":
        _springs(scene, link)
    elif kind == "joint":
        _joint(scene, link)
    elif kind == "motor":
        values = {k: link[k] for k in ("stiffness", "damping", "interval") if k in link}
        keys = link["keys"]
        keys = keys[0] if len(keys) == 1 else np.array(keys)
        scene.add_motor(link["name"], joint=link["joint"], kind=link["kind"], keys=keys, **values)
    elif kind == "payload":
        mass, moment, inertia = payload_numbers(link)
        numbers = {"mass": mass, "first_moment": moment, "inertia": inertia}
        scene.add_payload(link["name"], body=link["body"], **numbers)
    elif kind == "cable":
        _cable(scene, link)
    elif kind == "bundle":
        _bundle(scene, link, bodies)
    elif kind == "force":
        _force(scene, link, bodies[link["body"]])
    elif kind == "torque":
        scene.add_torque(link["name"], body=link["body"], **_controls(link, "torque"))
    else:
        _drag(scene, link, bodies[link["body"]], contact_spheres)


def _springs(scene: Any, link: dict) -> None:
    sides = {}
    for side in "ab":
        ends = [pair[side] for pair in link["pairs"]]
        sides[side] = f"{link['name']}_{side}"
        scene.add_points(
            sides[side],
            bodies=[end.get("body", "") for end in ends],
            local=np.array([end["world"] if "world" in end else end["point"] for end in ends]),
        )
    index = list(range(len(link["pairs"])))
    scene.add_springs(
        link["name"],
        points_a=sides["a"],
        index_a=index,
        points_b=sides["b"],
        index_b=index,
        stiffness=link["stiffness"],
        damping=link["damping"],
        rest_length=link["rest_length"],
    )


def _joint(scene: Any, link: dict) -> None:
    keys = (*JOINT_VALUES, "friction_damping", "second_axis", "coordinate")
    scene.add_joint(
        link["name"],
        kind=link["kind"],
        body_a=link.get("body_a", ""),
        body_b=link["body_b"],
        position=link["position"],
        axis=link["axis"],
        **{key: link[key] for key in keys if key in link},
    )
    name = link["name"]
    if "limits" in link:
        scene.add_joint_limit(limit_name(name), joint=name, **link["limits"])
    if "coulomb_friction" in link:
        values = {"coulomb": link["coulomb_friction"], "slip_rate": link["slip_rate"]}
        scene.add_joint_friction(friction_name(name), joint=name, **values)
    if "armature" in link:
        scene.add_armature(armature_name(name), joint=name, inertia=link["armature"])


def payload_numbers(link: dict) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass [kg], first moment (3,) [kg m] and inertia xx, yy, zz, xy, xz, yz (6,) [kg m^2].

    Moment and inertia are those about the body's centre of mass, in its axes.
    """
    mass, at = link["mass"], np.array(link["origin"]) + link["centre"]
    about = symmetric(six_of(link["inertia"])) + mass * (at @ at * np.eye(3) - np.outer(at, at))
    return mass, mass * at, about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _cable(scene: Any, link: dict) -> None:
    points, index = [], []
    name = f"{link['name']}_points"
    fixed = [end for end in link["via"] if "vertex" not in end]
    if fixed:
        scene.add_points(
            name,
            bodies=[end.get("body", "") for end in fixed],
            local=np.array([end["world"] if "world" in end else end["point"] for end in fixed]),
        )
    for end in link["via"]:
        points.append(end["body"] if "vertex" in end else name)
        index.append(end["vertex"] if "vertex" in end else points.count(name) - 1)
    values = {key: link[key] for key in ("stiffness", "damping", "rest_length")}
    scene.add_cable(link["name"], points=points, index=index, **values)


def _bundle(scene: Any, link: dict, bodies: dict) -> None:
    index, to = bundle_vertices(link, bodies), link["to"]
    values = {key: link[key] for key in ("stiffness", "damping")}
    values |= {"stiffness_factors": np.full(len(index), 1 / len(index))}
    if twins(link):
        values |= {"points_b": to["body"], "rest_length": 0.0}
    else:
        values |= {"rest_length": bundle_lengths(link, bodies)}
        if "vertex" in to:
            values |= {"points_b": to["body"]}
        else:
            place = to["world"] if "world" in to else to["point"]
            name = f"{link['name']}_end"
            scene.add_points(name, bodies=[to.get("body", "")], local=np.array([place]))
            values |= {"points_b": name}
    scene.add_springs(
        link["name"],
        points_a=link["body"],
        index_a=index[:, 0].tolist(),
        index_b=index[:, 1].tolist(),
        tension_only=link["acts"] == "threads",
        **values,
    )


def twins(link: dict) -> bool:
    """True if the springs of a bundle join vertices to those of another body in the same place."""
    return "body" in link["to"] and not {"point", "vertex"} & set(link["to"])


def bundle_vertices(link: dict, bodies: dict) -> np.ndarray:
    """Vertices of a bundle's springs (n, 2): of its body, and of the other end's points."""
    body, to = bodies[link["body"]], link["to"]
    chosen = forced_vertices(link, body)
    if not twins(link):
        return np.array([[vertex, to.get("vertex", 0)] for vertex in chosen])
    pairs = shared_vertices(body, bodies[to["body"]])
    return pairs[np.isin(pairs[:, 0], chosen)]


def bundle_lengths(link: dict, bodies: dict) -> np.ndarray:
    """Lengths of a bundle's springs at the start [m] (n,)."""
    here = placed_vertices(bodies[link["body"]])[bundle_vertices(link, bodies)[:, 0]]
    return np.linalg.norm(here - place_of({"bodies": bodies}, link["to"]), axis=1)


def forced_vertices(link: dict, body: dict) -> list[int]:
    """Vertices that a force or bundle on a soft body acts on; pinned ones feel none."""
    chosen = region(link["where"], soft_shape(body).vertices)
    return np.setdiff1d(chosen, pinned_vertices(body)).tolist()


def pinned_vertices(body: dict) -> list[int]:
    """Vertices of a soft body that the world holds."""
    held = glued_vertices(body, soft_shape(body))
    return [v for carrier, vertices in held for v in vertices if not carrier]


def _force(scene: Any, link: dict, body: dict) -> None:
    if body["type"] in SOFT:
        points, index = link["body"], forced_vertices(link, body)
    else:
        points, index = f"{link['name']}_point", [0]
        scene.add_points(points, bodies=[link["body"]], local=np.array([link["point"]]))
    controls = _controls(link, "force")
    controls["force"] = controls["force"] / len(index)
    scene.add_point_force(link["name"], points=points, index=index, **controls)


def _controls(link: dict, key: str) -> dict:
    keys = np.array(link[key])
    values = {key: keys[0] if len(keys) == 1 else keys, "frame": link["frame"]}
    return values | ({"interval": link["interval"]} if "interval" in link else {})


def _drag(scene: Any, link: dict, body: dict, contact_spheres: Any) -> None:
    values = {key: link[key] for key in ("c_linear", "c_quadratic", "wind")}
    if body["type"] in SOFT:
        shape = soft_shape(body)
        moving = ~np.isin(shape.contact, pinned_vertices(body))
        values |= {"index": shape.contact[moving].tolist(), "shares": shape.weights[moving]}
        scene.add_drag(link["name"], points=link["body"], **values)
    else:
        scene.add_drag(link["name"], points=contact_spheres(link["body"]), **values)


def fill_chosen(description: dict, scene: Any) -> None:
    """Write what the engine chose by masses and radii into the resolved joints and contacts."""
    known = {info.name for info in scene.parameters}
    values = scene.values
    for link in description["links"] + description["contact"]:
        for key in JOINT_VALUES if link.get("type") == "joint" else ("k_roll",):
            name = f"{link['name']}.{key}"
            if key not in link and name in known:
                link[key] = float(values[scene.index(name)])
