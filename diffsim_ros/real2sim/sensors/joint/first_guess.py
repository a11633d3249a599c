"""A first estimation of a robot from its joint log: friction, rotors and gains of its drives.

The URDF gives geometry and masses; first guesses of the rest are shares of the joints' torque
limits, and a drive's gains are those that the logged efforts follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ....errors import InputError, nearest
from ....robots.published import joints_of
from ....robots.robot import Robot
from ....robots.urdf import load_robot
from ....sensing.check import Examined
from ....sensing.observation import Observation
from ...first_guess import First, Given, filled, listing
from ..effort.first_guess import without_commands
from .angles import check_angles
from .effort_gains import EffortGain, effort_gains
from .logs import Topics, logs_of

STILL = 0.1
"""A log begins at rest for so long [s], as the kind's default: its spread there is the noise."""
SHARES = {"damping": 0.02, "friction": 0.013, "armature": 0.002}
"""First guesses as shares of a joint's torque limit: N m s/rad, N m, kg m^2 for 1 N m."""
UNKNOWN = 50.0
"""Torque limit [N m] of a joint whose URDF has none and whose efforts are not logged."""
STIFFNESS, RATIO = 10.0, 0.05
"""Of a drive whose efforts are not logged: per N m of its limit [1/rad]; damping over it [s]."""
PAYLOAD = 0.5, 0.05, 1e-3
"""First guess of what the last link carries: mass [kg], distance [m], moments [kg m^2]."""
RANGE = 30.0
"""Bounds are so many times off a first guess."""
STEP = 2e-3
"""Longest time step [s]."""
LEAST = {"position": 1e-5, "velocity": 1e-4, "effort": 1e-3}
"""Noise is not taken to be less than this: a log at rest may show the last digit alone."""


@dataclass(frozen=True)
class FirstJoint:
    """First guesses of one joint; gains None: its drive is given torques; reading: gain of its
    logged efforts, None: there are none."""

    name: str
    limit: float
    gains: tuple[float, float] | None
    reading: EffortGain | None = None


def make(examined: Sequence[Examined], folder: Path, given: Given) -> First:
    """See first.first."""
    if given.urdf is None:
        rule = "the URDF of the robot that the log is of"
        raise InputError("diffsim init", "--urdf", None, rule)
    files = list(dict.fromkeys(one.stream.path for one in examined))
    topics, known = Topics(given.topic, given.commands), tuple(joints_of(given.urdf))
    logs = [log for file in files for log in logs_of(file, topics, known)]
    notes = list(dict.fromkeys(note for log in logs for note in log.notes))
    if not any(log.command for log in logs):  # nothing can be simulated
        found = without_commands(logs, files, folder, given)
        return replace(found, notes=(*notes, *found.notes))
    robot = load_robot(given.urdf, meshes="ignore")
    follows = _commanded(logs)
    for log in logs:
        for name in robot.joint_names:
            if name not in log.names:
                rule, near = "columns of all joints of the URDF", nearest(name, log.names)
                raise InputError(log.place, "joints", name, rule, near)
    check_angles(robot, logs)
    readings: Mapping[str, EffortGain] = {}
    if "effort" in logs[0].measured:
        readings = effort_gains(given.urdf, robot.joint_names, logs)
    joints = [
        _joint(robot, i, logs, follows, readings.get(name))
        for i, name in enumerate(robot.joint_names)
    ]
    urdf, *paths = (
        os.path.relpath(Path(path).resolve(), folder.resolve()) for path in (given.urdf, *files)
    )
    notes += [
        "damping, friction and rotors are first guessed from the joints' torque limits",
        f"{robot.joints[-1].body} carries something of {PAYLOAD[0]:g} kg, whose inertia is "
        "estimated: take `inertias` out (and the payload of the scene) where nothing is there",
    ]
    if follows and "effort" not in logs[0].measured:
        notes.append("efforts are not logged: gains of the drives are guesses")
    notes += [
        f"efforts of {j.name} do not tell their gain: that of {j.reading.of} is taken"
        for j in joints
        if j.reading and j.reading.of != j.name
    ]
    steps = max(1, int(np.ceil(logs[0].interval / STEP)))
    scene = _scene(urdf, robot.joints[-1].body, joints, logs[0].interval / steps)
    return First(scene, _estimation(robot, joints, logs, paths, given.data), {}, tuple(notes))


def _commanded(logs: Sequence[Observation]) -> bool:
    """True where drives follow positions; InputError for logs without commands."""
    for log in logs:
        if not log.command:
            rule = "commands (q_command or effort_command; JOINT.command_position)"
            remedy = "name apart the logs that have some: others are of kind efforts"
            raise InputError(log.place, "commands", "none", rule, remedy)
    return all("position" in log.command for log in logs)


def _joint(
    robot: Robot, i: int, logs: Sequence[Observation], follows: bool, reading: EffortGain | None
) -> FirstJoint:
    name, gain = robot.joint_names[i], reading.value if reading else 1.0
    limit = float(robot.joints[i].effort or 0.0)
    efforts = [log.column(log.measured["effort"], name) for log in logs if "effort" in log.measured]
    if not (limit > 0 and np.isfinite(limit)):
        most = float(np.nanmax(np.abs(np.concatenate(efforts)))) if efforts else 0.0
        limit = 1.5 * most / abs(gain) if efforts else UNKNOWN
    limit = limit if limit > 0 else UNKNOWN
    gains = None
    if follows:
        stiffness = STIFFNESS * limit
        gains = (stiffness, RATIO * stiffness)
        if efforts:
            gains = _gains(name, logs, gain) or gains
    return FirstJoint(name, limit, gains, reading)


def _gains(name: str, logs: Sequence[Observation], gain: float) -> tuple[float, float] | None:
    """Stiffness and damping that efforts over their gain follow by least squares; None: not both
    positive."""
    rows = []
    for log in logs:
        q, sent = (log.column(t["position"], name) for t in (log.measured, log.command))
        error = sent - q
        columns = [error, np.gradient(error, log.t), np.ones_like(error)]
        torque = log.column(log.measured["effort"], name) / gain
        rows.append(np.stack([*columns, torque], axis=1))
    table = np.concatenate(rows)
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < 4:
        return None
    (stiffness, damping, _), *_ = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)
    return (float(stiffness), float(damping)) if min(stiffness, damping) > 0 else None


def _noise(logs: Sequence[Observation], signal: str, name: str) -> float:
    """Spread of a signal's readings at rest."""
    spread = []
    for log in logs:
        rest = log.column(log.measured[signal], name)[log.t <= STILL]
        if np.isfinite(rest).sum() > 2:
            spread.append(float(np.nanstd(rest, ddof=1)))
    return max(float(np.median(spread)) if spread else 0.0, LEAST[signal])


def _payload() -> str:
    """What the last link is first thought to carry."""
    mass, reach, moment = PAYLOAD
    return (
        f"mass: {mass:g}, centre: [0, 0, {reach:g}], inertia: [{moment:g}, {moment:g}, {moment:g}]"
    )


def _scene(urdf: str, link: str, joints: Sequence[FirstJoint], step: float) -> str:
    def each(values: Iterable[float]) -> str:
        pairs = (f"{j.name}: {value:.4g}" for j, value in zip(joints, values, strict=True))
        return "{" + ", ".join(pairs) + "}"

    drive = "{kind: torque}"
    gains = [joint.gains for joint in joints if joint.gains is not None]
    if gains:
        stiffness, damping = (each(pair) for pair in zip(*gains, strict=True))
        drive = (
            f"\n      stiffness: {stiffness}   # N m/rad\n      damping: {damping}   # N m s/rad"
        )
    shares = {key: each(share * j.limit for j in joints) for key, share in SHARES.items()}
    payload = _payload()
    return filled(
        __file__, "first_scene.yaml", step=step, urdf=urdf, drive=drive, link=link, payload=payload,
        **shares,
    )  # fmt: skip


def _estimation(
    robot: Robot, joints: Sequence[FirstJoint], logs: Sequence[Observation], paths: Sequence[str],
    topics: str,
) -> str:  # fmt: skip
    body = robot.joints[-1].body
    numbers = sorted({log.trial for log in logs if log.trial is not None})
    train, validate = f"{{files: {listing(paths)}}}", ""
    if len(paths) > 1:  # each file numbers its own trials: whole files are held out
        train = f"{{files: {listing(paths[:-1])}}}"
        validate = f"\n  validate: {{files: {listing(paths[-1:])}}}"
    elif len(numbers) > 1:
        train = f"{{files: {listing(paths)}, trials: {numbers[:-1]}}}"
        validate = f"\n  validate: {{files: {listing(paths)}, trials: {numbers[-1:]}}}"
    signals, extra = [], ["  delay: {unit: s, value: 0.002, bounds: [0, 0.03], sets: {}}"]
    for signal in ("position", "velocity", "effort"):
        if signal in logs[0].measured:
            noise = ", ".join(f"{j.name}: {_noise(logs, signal, j.name):.3g}" for j in joints)
            late = "delay" if signal != "effort" else "delay_effort"
            named = ", ".join(f"{j.name}: effort_gain_{j.reading.of}" for j in joints if j.reading)
            gain = f",\n    gain: {{{named}}}" if signal == "effort" else ""
            signals.append(f"  {signal}: {{sigma: {{{noise}}}, delay: {late}{gain}}}")
    if "effort" in logs[0].measured:
        extra.append("  delay_effort: {unit: s, value: 0.002, bounds: [0, 0.03], sets: {}}")
        extra += [_reading(j.reading) for j in joints if j.reading and j.reading.of == j.name]
    parameters = "\n".join(text for joint in joints for text in _parameters(joint))
    return filled(
        __file__, "first_estimation.yaml", body=body, topics=topics, train=train, validate=validate,
        signals="\n".join(signals), parameters=parameters, extra="\n".join(extra),
        payload=_payload(),
    )  # fmt: skip


def _reading(gain: EffortGain) -> str:
    """The gain of a joint's logged efforts, with its sign."""
    low, high = gain.bounds
    held = ", fixed: true" if gain.held else ""
    ends = f"bounds: [{low:.4g}, {high:.4g}]{held}"
    return f"  effort_gain_{gain.of}: {{value: {gain.value:.4g}, {ends}, sets: {{}}}}"


def _parameters(joint: FirstJoint) -> Iterator[str]:
    """One line per parameter of a joint."""
    rows = [
        ("damping", "N m s/rad", SHARES["damping"] * joint.limit, "{}.friction_damping"),
        ("friction", "N m", SHARES["friction"] * joint.limit, "{}_friction.coulomb"),
        ("armature", "kg*m^2", SHARES["armature"] * joint.limit, "{}_armature.inertia"),
    ]
    if joint.gains is not None:
        rows += [
            ("stiffness", "N m/rad", joint.gains[0], "{}_drive.stiffness"),
            ("gain", "N m s/rad", joint.gains[1], "{}_drive.damping"),
        ]
    for what, unit, value, target in rows:
        bounds = f"[{value / RANGE:.4g}, {value * RANGE:.4g}]"
        yield (
            f"  {what}_{joint.name}: {{unit: {unit}, value: {value:.4g}, bounds: {bounds}, "
            f"scale: log,\n    sets: {{{target.format(joint.name)}: 1}}}}"
        )
