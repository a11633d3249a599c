"""Robots of a scene as the rigid bodies, joints, motors and payload that they are made of.

Of a URDF bodies carry the names of the links, their axes are the links' axes and their positions
the centres of mass; joints carry the names of the URDF's, their coordinates are the joint values.
What is fixed to the base is the world, or the body of a free base. Of an MJCF: see mjcf_parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.robots.kinematics import body_motions
from diffsim_ros.robots.mjcf import load_mjcf
from diffsim_ros.robots.robot import FrameMotion, Robot
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.scene import robot_pieces as pieces
from diffsim_ros.scene import schema_robots
from diffsim_ros.scene.mjcf_gravity import gravity_of_files
from diffsim_ros.scene.mjcf_parts import mjcf_parts
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.rigid_shape import drawn_triangles
from diffsim_ros.scene.robot_pieces import ModelTouching, OneRobot, RobotParts
from diffsim_ros.scene.urdf_names import by_new_names, renamed
from diffsim_ros.scene.urdf_start import UrdfStart, start_of, warn

if TYPE_CHECKING:
    from diffsim_ros.robots.link_shapes import LinkPart

SOURCES = ("urdf", "mjcf")
HOLDING = ("joints", "held")
"""What says which joints of a URDF move."""
WORDS = {
    "box": {"size": "size"}, "sphere": {"radius": "radius"},
    "cylinder": {"radius": "radius", "length": "height"},
    "capsule": {"radius": "radius", "length": "length"},
}  # fmt: skip
"""Keys of a shape of a scene by those of a URDF's."""
LARGEST_PICTURE = 4_000_000
"""Bytes of a mesh that a picture of a link is read from: a scene is to load at once."""


def add_robots(reader: Reader, scene: dict, world: dict) -> dict[str, OneRobot]:
    """Put the parts of every robot into bodies, links and sdfs (links before those of the file).

    world  of the scene, resolved; where the scene writes no gravity, it gets that of the MJCF files
    """
    links: list[dict] = []
    found: dict[str, OneRobot] = {}
    given, files = {}, {}
    for name, value in scene.pop("robots").items():
        given[name] = options = reader.section(schema_robots.ROBOT, value, f"robots.{name}")
        if _source(reader, options, f"robots.{name}") == "mjcf":
            files[name] = load_mjcf(absolute(reader, options["mjcf"]))
    changed = gravity_of_files(reader, scene["world"], world, files)
    for name, options in given.items():
        key = f"robots.{name}"
        if name in files:
            parts = mjcf_parts(reader, files[name], options, key, world, changed.get(name, ""))
        else:
            parts = _urdf_parts(reader, options, key, world["gravity"])
        for group, what in (("bodies", "links whose names no body has"),
                            ("sdfs", "planes whose names no surface has")):  # fmt: skip
            for own, part in getattr(parts, group).items():
                if own in scene[group]:
                    raise reader.error(join(key, "prefix"), own, what)
                scene[group][own] = part
        links += parts.links
        found[name] = OneRobot(
            tuple(parts.bodies), tuple(parts.sdfs), parts.touching, options["lift"]
        )
    scene["links"] = links + scene["links"]
    return found


def _source(reader: Reader, options: dict, key: str) -> str:
    """urdf or mjcf, whichever is given; InputError unless it is one of them."""
    given = [word for word in SOURCES if options[word] is not None]
    if len(given) != 1:
        got = present({word: options[word] for word in SOURCES})
        raise reader.error(key, got, "either urdf or mjcf, a file", "give exactly one")
    for name, default in (("keyframe", None), ("close", True), ("mocap", {})):
        if given[0] == "urdf" and options[name] != default:
            raise reader.error(join(key, name), options[name], "none: of an MJCF alone")
    for name in (*HOLDING, "inertia"):
        if given[0] == "mjcf" and options[name] is not None:
            raise reader.error(join(key, name), options[name], "none: of a URDF alone")
    return given[0]


def _loaded(reader: Reader, options: Mapping) -> Robot:
    """A URDF with the joints that move, by names that a scene can have."""
    held = {name: options.get(name) for name in HOLDING}
    path = absolute(reader, options["urdf"])
    inertia = options.get("inertia") or "refuse"
    robot = load_robot(path, meshes=options.get("meshes", "ignore"), **held, least_joints=0,
                       inertia=inertia, quiet=True)  # fmt: skip
    return renamed(robot)


def _urdf_parts(reader: Reader, options: dict, key: str, gravity: object) -> RobotParts:
    robot = _loaded(reader, options)
    options["base"] = options["base"] or ("free" if robot.floating else "fixed")
    by_new_names(robot, options)
    if not robot.joints and options["base"] == "fixed":
        rule = "free, as no joint of the URDF moves"
        raise reader.error(join(key, "base"), options["base"], rule)
    start = start_of(reader, robot, options, key)
    bodies = _bodies(reader, start, options, key)
    links = _links(reader, start, options, key, gravity)
    touching, lacking = _touching(reader, robot, options, key)
    warn(reader, start, options, key, lacking)
    return RobotParts(bodies, links, touching=touching)


def _touching(
    reader: Reader, robot: Robot, options: dict, key: str
) -> tuple[ModelTouching | None, list[str]]:
    """The file's collisions on the bodies of the scene; what of them is not used, in words."""
    if not options["contact"]:
        return None, []
    from diffsim_ros.robots.collision_geoms import CollisionContact  # with SciPy

    found, geoms = CollisionContact(robot, free=options["base"] == "free"), {}
    turn, at = pieces.placed(reader, options, key)
    for g, geom in found.geoms.items():
        pose, body = np.eye(4), None
        if geom.body is None:
            pose[:3, :3], pose[:3, 3] = turn, at
        else:
            body = options["prefix"] + geom.body
            pose[:3, 3] = -_carrier(robot, found.carriers[g])[1]
        geoms[g] = geom.carried(body, pose, options["prefix"])
    return ModelTouching(geoms, found.pairs()), found.lacking


def _motions(reader: Reader, start: UrdfStart, options: dict, key: str) -> list[FrameMotion]:
    """Of every body's frame at the start, world frame."""
    turn, at = pieces.placed(reader, options, key)
    spin, velocity = _base_motion(reader, options, key)
    found = []
    for pose, w, v in body_motions(start.robot, start.q, start.rates):
        own = FrameMotion(pose[:3, :3], pose[:3, 3], w, v).seen(turn, at)
        drift = velocity + np.cross(spin, own.position - at)
        found.append(FrameMotion(own.turn, own.position, spin + own.omega, drift + own.velocity))
    return found


def _base_motion(reader: Reader, options: dict, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and velocity (3,) of the base's origin, world frame."""
    if options["base"] == "fixed":
        for name in ("velocity", "angular_velocity"):
            if any(options[name]):
                raise reader.error(join(key, name), options[name], "zero, as the base is fixed")
    return np.array(options["angular_velocity"]), np.array(options["velocity"])


def _bodies(reader: Reader, start: UrdfStart, options: dict, key: str) -> dict[str, dict]:
    robot = start.robot
    bodies, prefix, pictures = {}, options["prefix"], _pictures(robot)
    if options["base"] == "free":
        inertial = robot.base_inertial
        if inertial.mass <= 0.0 or np.linalg.eigvalsh(inertial.inertia)[0] <= 0.0:
            rule = f"fixed, as link {robot.base} has no mass and inertia"
            raise reader.error(join(key, "base"), "free", rule, "give it an <inertial>")
        place = pieces.placed(reader, options, key)
        motion = FrameMotion(*place, *_base_motion(reader, options, key))
        bodies[prefix + robot.base] = pieces.body_part(inertial, motion, options)
        bodies[prefix + robot.base] |= pictures.get(robot.base, {})
    motions = _motions(reader, start, options, key)
    for joint, inertial, motion in zip(robot.joints, start.inertials, motions, strict=True):
        body = pieces.body_part(inertial, motion, options) | pictures.get(joint.body, {})
        if joint.size is not None:
            body["shape"] = {"box": {"size": list(joint.size)}}
        bodies[prefix + joint.body] = body
    for name, points in _contact_spheres(reader, robot, options, key).items():
        bodies[name]["contact_spheres"] = {"points": points}
    return bodies


def _pictures(robot: Robot) -> dict[str, dict[str, list[dict]]]:
    """Body -> its `picture`, from visuals that a scene can read."""
    from diffsim_ros.robots.link_shapes import link_parts  # with SciPy

    found: dict[str, dict[str, list[dict]]] = {}
    for one in link_parts(robot):
        body, centre = _carrier(robot, one.carrier)
        shape = _picture_shape(one)
        if shape is not None:
            member = pieces.placed_member(one.kind, shape, one.pose, centre)
            found.setdefault(body, {"picture": []})["picture"].append(member)
    return found


def _picture_shape(part: LinkPart) -> dict | None:
    """Keys of a scene's shape; None for what a scene cannot read or refuses: then it is a box."""
    if part.kind in WORDS:
        sizes = {name: np.asarray(part.values[key]) for key, name in WORDS[part.kind].items()}
        if not all(np.isfinite(size).all() and (size > 0).all() for size in sizes.values()):
            return None
        return {name: size.tolist() for name, size in sizes.items()}
    file, scale = part.values.get("file"), part.values.get("scale", np.zeros(3))
    if file is None or not file.is_file() or not 0 < scale.min() == scale.max():
        return None
    try:
        if file.stat().st_size <= LARGEST_PICTURE:
            shape = {"file": str(file.resolve()), "scale": float(scale[0])}
            drawn_triangles(shape["file"], shape["scale"], part.link, "mesh")
            return shape
    except InputError:
        pass  # bodies without a picture are shown as boxes
    return None


def _carrier(robot: Robot, carrier: int) -> tuple[str, np.ndarray]:
    """Name and centre of mass (3,) of the body that a joint moves; -1: of the base."""
    if carrier < 0:
        return robot.base, robot.base_inertial.centre
    joint = robot.joints[carrier]
    return joint.body, joint.inertial.centre


def _contact_spheres(reader: Reader, robot: Robot, options: dict, key: str) -> dict[str, dict]:
    """Body -> radius and positions of its contact spheres, from its centre of mass."""
    found: dict[str, dict] = {}
    for link, value in options["contact_spheres"].items():
        place = join(join(key, "contact_spheres"), link)
        spheres = reader.section(schema_robots.SPHERES, value, place)
        frame = robot.frame(link)
        if frame.carrier < 0 and options["base"] == "fixed":
            raise reader.error(place, link, "a link that a joint moves")
        body, centre = _carrier(robot, frame.carrier)
        own = found.setdefault(
            options["prefix"] + body, {"radius": spheres["radius"], "positions": []}
        )
        if own["radius"] != spheres["radius"]:
            rule = f"{own['radius']:g}, as of the other links fixed to {body}"
            raise reader.error(join(place, "radius"), spheres["radius"], rule)
        turn, at = frame.pose[:3, :3], frame.pose[:3, 3] - centre
        own["positions"] += [(at + turn @ p).tolist() for p in np.array(spheres["positions"])]
    return found


def _links(
    reader: Reader, start: UrdfStart, options: dict, key: str, gravity: object
) -> list[dict]:
    robot, q, prefix = start.robot, start.q, options["prefix"]
    links: list[dict] = []
    numbers = {
        "friction_damping": _given(reader, robot, options, key, "damping"),
        "coulomb_friction": _given(reader, robot, options, key, "friction"),
        "armature": start.armature,
    }
    motions, limits = _motions(reader, start, options, key), start.limits(reader, gravity)
    coordinates = pieces.coordinates(reader, options, key)
    start.check_coordinates(reader, coordinates)
    for i, (joint, motion) in enumerate(zip(robot.joints, motions, strict=True)):
        # the point of a slider is where body_a has it: at a displacement of 0
        slid = 0.0 if joint.turns else q[i]
        axis = motion.turn @ joint.axis
        link = {
            "name": prefix + joint.name,
            "type": "joint",
            "kind": "hinge" if joint.turns else "slider",
            "body_b": prefix + joint.body,
            "position": (motion.position - slid * axis).tolist(),
            "axis": axis.tolist(),
            "coordinate": pieces.coordinate_value(q[i], joint.turns),
            "coordinates": coordinates,
        }
        if joint.parent >= 0:
            link["body_a"] = prefix + robot.joints[joint.parent].body
        elif options["base"] == "free":
            link["body_a"] = prefix + robot.base
        link |= {name: float(values[i]) for name, values in numbers.items() if values[i] > 0}
        if "coulomb_friction" in link:
            link["slip_rate"] = options["slip_rate"]
        if options["joint_stiffness"] is not None:
            link["stiffness"] = options["joint_stiffness"]
        if joint.mimic is not None:
            leader = robot.joints[joint.mimic.leader]
            link |= {"mimic": prefix + leader.name, "ratio": joint.mimic.ratio,
                     "shift": joint.mimic.shift}  # fmt: skip
        elif i in limits:
            link["limits"] = limits[i]
        links.append(link)
    links.sort(key=lambda link: "mimic" in link)  # leaders before what follows them
    if options["drive"] is not None:
        free = [i for i, joint in enumerate(robot.joints) if joint.mimic is None]
        moved = [robot.joints[i] for i in free]
        links += pieces.motors(reader, moved, options, q[free], join(key, "drive"))
    if options["payload"] is not None:

        def carrier(link: str, place: str) -> tuple[str, np.ndarray]:
            frame = robot.frame(link)
            if frame.carrier < 0 and options["base"] == "fixed":
                raise reader.error(place, link, "a link that a joint moves")
            body, centre = _carrier(robot, frame.carrier)
            pose = frame.pose.copy()
            pose[:3, 3] -= centre
            return body, pose

        links.append(pieces.payload(reader, options, join(key, "payload"), carrier))
    return links


def _given(reader: Reader, robot: Robot, options: dict, key: str, name: str) -> np.ndarray:
    """Numbers of the scene, else those of the URDF."""
    if options[name] is None:
        return np.array([getattr(joint, name) for joint in robot.joints])
    return pieces.values(reader, robot.joints, options, key, name)


def robot_of(value: dict, base: str | Path) -> Robot:
    """Robot of one entry of `robots`, its file relative to `base` (a folder or a scene file).

    Raises InputError for one that is not from a URDF.
    """
    if "urdf" not in value:
        raise InputError(base, "robots", value, "a robot with `urdf`: a chain of known frames")
    return _loaded(Reader(base), value)
