"""Robots of a scene as the rigid bodies, joints, motors and payload that they are made of.

Bodies carry the names of the URDF's links, their axes are the links' axes and their positions the
centres of mass; joints carry the names of the URDF's, their coordinates are the joint values.
What is fixed to the base is the world, or the body of a free base.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffsim_ros.fields import Reader, join
from diffsim_ros.robots.kinematics import body_motions
from diffsim_ros.robots.robot import Frame, Inertial, Robot
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_from_matrix, quat_matrix
from diffsim_ros.scene import schema_robots
from diffsim_ros.scene.placing import absolute, resolve_pose
from diffsim_ros.scene.shapes import six_of, symmetric


def add_robots(reader: Reader, scene: dict) -> None:
    """Put the parts of every robot into bodies and links (before those of the file)."""
    links: list[dict] = []
    for name, value in scene.pop("robots").items():
        key = f"robots.{name}"
        options = reader.section(schema_robots.ROBOT, value, key)
        robot = load_robot(absolute(reader, options["urdf"]), meshes=options["meshes"])
        for body, part in _bodies(reader, robot, options, key).items():
            if body in scene["bodies"]:
                raise reader.error(join(key, "prefix"), body, "links whose names no body has")
            scene["bodies"][body] = part
        links += _links(reader, robot, options, key)
    scene["links"] = links + scene["links"]


def _placed(reader: Reader, options: dict, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and position (3,) of the base."""
    pose = resolve_pose(reader, options["pose"], join(key, "pose"))
    return quat_matrix(pose["orientation"]), np.array(pose["position"])


def _motions(reader: Reader, robot: Robot, options: dict, key: str) -> list[tuple]:
    """(turn, position, omega, velocity) of every body's frame at the start, world frame."""
    turn, at = _placed(reader, options, key)
    q = _values(reader, robot, options, key, "angles")
    qd = _values(reader, robot, options, key, "rates")
    spin, velocity = _base_motion(reader, options, key)
    found = []
    for pose, w, v in body_motions(robot, q, qd):
        arm = turn @ pose[:3, 3]
        drift = velocity + np.cross(spin, arm)
        found.append((turn @ pose[:3, :3], at + arm, spin + turn @ w, drift + turn @ v))
    return found


def _base_motion(reader: Reader, options: dict, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and velocity (3,) of the base's origin, world frame."""
    if options["base"] == "fixed":
        for name in ("velocity", "angular_velocity"):
            if any(options[name]):
                raise reader.error(join(key, name), options[name], "zero, as the base is fixed")
    return np.array(options["angular_velocity"]), np.array(options["velocity"])


def _six(inertia: np.ndarray) -> list[float]:
    return inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()


def _body(inertial: Inertial, motion: tuple, options: dict) -> dict:
    turn, position, w, v = motion
    arm = turn @ inertial.centre
    return {
        "mass": inertial.mass,
        "inertia": _six(inertial.inertia),
        "pose": {
            "position": (position + arm).tolist(),
            "orientation": quat_from_matrix(turn).tolist(),
        },
        "velocity": (v + np.cross(w, arm)).tolist(),
        "angular_velocity": w.tolist(),
        "colour": options["colour"],
    }


def _bodies(reader: Reader, robot: Robot, options: dict, key: str) -> dict[str, dict]:
    bodies, prefix = {}, options["prefix"]
    if options["base"] == "free":
        inertial = robot.base_inertial
        if inertial.mass <= 0.0 or np.linalg.eigvalsh(inertial.inertia)[0] <= 0.0:
            rule = f"fixed, as link {robot.base} has no mass and inertia"
            raise reader.error(join(key, "base"), "free", rule, "give it an <inertial>")
        motion = (*_placed(reader, options, key), *_base_motion(reader, options, key))
        bodies[prefix + robot.base] = _body(inertial, motion, options)
    for joint, motion in zip(robot.joints, _motions(reader, robot, options, key), strict=True):
        body = _body(joint.inertial, motion, options)
        if joint.size is not None:
            body["shape"] = {"box": {"size": list(joint.size)}}
        bodies[prefix + joint.body] = body
    for name, points in _contact_spheres(reader, robot, options, key).items():
        bodies[name]["contact_spheres"] = {"points": points}
    return bodies


def _carrier(robot: Robot, frame: Frame) -> tuple[str, np.ndarray]:
    """Name and centre of mass (3,) of the body that a link's frame is fixed in."""
    if frame.carrier < 0:
        return robot.base, robot.base_inertial.centre
    joint = robot.joints[frame.carrier]
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
        body, centre = _carrier(robot, frame)
        own = found.setdefault(
            options["prefix"] + body, {"radius": spheres["radius"], "positions": []}
        )
        if own["radius"] != spheres["radius"]:
            rule = f"{own['radius']:g}, as of the other links fixed to {body}"
            raise reader.error(join(place, "radius"), spheres["radius"], rule)
        turn, at = frame.pose[:3, :3], frame.pose[:3, 3] - centre
        own["positions"] += [(at + turn @ p).tolist() for p in np.array(spheres["positions"])]
    return found


def _links(reader: Reader, robot: Robot, options: dict, key: str) -> list[dict]:
    prefix, links = options["prefix"], []
    q = _values(reader, robot, options, key, "angles")
    numbers = {
        "friction_damping": _given(reader, robot, options, key, "damping"),
        "coulomb_friction": _given(reader, robot, options, key, "friction"),
        "armature": _values(reader, robot, options, key, "armature"),
    }
    motions = _motions(reader, robot, options, key)
    coordinates = _coordinates(reader, options, key)
    for i, (joint, (turn, position, *_)) in enumerate(zip(robot.joints, motions, strict=True)):
        # the point of a slider is where body_a has it: at a displacement of 0
        slid = 0.0 if joint.turns else q[i]
        axis = turn @ joint.axis
        link = {
            "name": prefix + joint.name,
            "type": "joint",
            "kind": "hinge" if joint.turns else "slider",
            "body_b": prefix + joint.body,
            "position": (position - slid * axis).tolist(),
            "axis": axis.tolist(),
            "coordinate": float(q[i]),
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
        links.append(link)
    if options["drive"] is not None:
        links += _motors(reader, robot, options, q, join(key, "drive"))
    if options["payload"] is not None:
        links.append(_payload(reader, robot, options, join(key, "payload")))
    return links


def _coordinates(reader: Reader, options: dict, key: str) -> str:
    stiffness = options["joint_stiffness"]
    chosen = options["coordinates"] or ("reduced" if stiffness is None else "maximal")
    if chosen == "reduced" and stiffness is not None:
        rule = "none: reduced coordinates hold exactly"
        raise reader.error(join(key, "joint_stiffness"), stiffness, rule)
    return str(chosen)


def _given(reader: Reader, robot: Robot, options: dict, key: str, name: str) -> np.ndarray:
    """Numbers of the scene, else those of the URDF."""
    if options[name] is None:
        return np.array([getattr(joint, name) for joint in robot.joints])
    return _values(reader, robot, options, key, name)


def _values(reader: Reader, robot: Robot, options: dict, key: str, name: str) -> np.ndarray:
    """Numbers per joint of an option whose unit schema_robots.UNITS has."""
    unit = schema_robots.UNITS[name]
    return robot.values(options[name], join(key, name), place=reader.place, unit=unit)


def motor_name(joint: str) -> str:
    """Name of the motor on a robot's joint."""
    return f"{joint}_drive"


def _motors(reader: Reader, robot: Robot, options: dict, q: np.ndarray, key: str) -> list[dict]:
    drive = reader.section(schema_robots.DRIVE, options["drive"], key)
    follows = drive["kind"] == "position"
    gains = {name: robot.values(drive[name], join(key, name), place=reader.place,
                                unit=schema_robots.DRIVE_UNITS[name])
             for name in schema_robots.DRIVE_UNITS}  # fmt: skip
    if not follows and any(drive[name] is not None for name in gains):
        raise reader.error(join(key, "kind"), drive["kind"], "position, with stiffness and damping")
    if drive["keys"] > 1 and drive["interval"] is None:
        raise reader.error(join(key, "interval"), None, "seconds between the keys")
    motors = []
    for i, joint in enumerate(robot.joints):
        name = options["prefix"] + joint.name
        motor = {"name": motor_name(name), "type": "motor", "joint": name}
        motor["kind"] = "position" if follows else "torque" if joint.turns else "force"
        motor["keys"] = [float(q[i]) if follows else 0.0] * drive["keys"]
        if follows:
            motor |= {name: float(values[i]) for name, values in gains.items()}
        if drive["interval"] is not None:
            motor["interval"] = drive["interval"]
        motors.append(motor)
    return motors


def _payload(reader: Reader, robot: Robot, options: dict, key: str) -> dict:
    """The link's frame seen from the body that it is fixed in, whose node is its centre."""
    carried = reader.section(schema_robots.CARRIED, options["payload"], key)
    frame: Frame = robot.frame(carried["link"])
    if frame.carrier < 0 and options["base"] == "fixed":
        raise reader.error(join(key, "link"), carried["link"], "a link that a joint moves")
    body, centre = _carrier(robot, frame)
    turn = frame.pose[:3, :3]
    inertia = carried["inertia"]
    if inertia == "uniform":
        raise reader.error(join(key, "inertia"), inertia, "numbers: a payload has no shape")
    return {
        "name": options["prefix"] + carried["name"],
        "type": "payload",
        "body": options["prefix"] + body,
        "mass": carried["mass"],
        "origin": (frame.pose[:3, 3] - centre).tolist(),
        "centre": (turn @ carried["centre"]).tolist(),
        "inertia": _six(turn @ symmetric(six_of(inertia)) @ turn.T),
    }


def robot_of(value: dict, base: str | Path) -> Robot:
    """Robot of one entry of `robots`, its file relative to `base` (a folder or a scene file)."""
    return load_robot(absolute(Reader(base), value["urdf"]), meshes=value.get("meshes", "ignore"))
