"""The simulated log: the scene's robot driven by the log's commands, read as its sensors read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError, nearest
from ....fields import Reader
from ....inverse.joint_track import JointTrack, Reading, Servo
from ....inverse.simulation_problem import SimulationProblem, body_slots
from ....inverse.trial import InitialState, Trial
from ....robots.kinematics import body_motions
from ....robots.published import joints_of
from ....robots.robot import Robot
from ....rotation import quat_from_matrix, quat_matrix, quat_multiply
from ....scene.links.joint import PLACE
from ....scene.model import SceneModel
from ....scene.placing import absolute
from ....scene.robot_parts import robot_of
from ....scene.robot_pieces import motor_name
from ....scene.schema import WORLD
from ....sensing.joints import SIGNALS
from ....sensing.observation import Observation
from ....yaml_file import read_mapping
from ...model import Model, scene_and_map
from ...options import EstimationConfig, read_options
from .options import ReadingOptions

STEADY = 0.1
"""Shares of the usual spacing by which a log's stamps may differ from an even clock."""
MOVED = 6.0
"""A joint stands still if its readings spread by less than so many sigmas."""


def joints_of_scene(config: EstimationConfig) -> tuple[str, ...]:
    """Names in the scene of the joints of its robot's URDF; none where it cannot be told."""
    raw: Any
    raw, place = read_mapping(config.scene, config.base)
    robots = raw.get("robots") if isinstance(raw, Mapping) else None
    if not isinstance(robots, Mapping) or len(robots) != 1:
        return ()
    robot = next(iter(robots.values()))
    file = robot.get("urdf") if isinstance(robot, Mapping) else None
    if not isinstance(file, str):
        return ()
    prefix = str(robot.get("prefix") or "")
    try:
        known = joints_of(absolute(Reader(place), file))
    except InputError:  # build names it
        return ()
    return tuple(prefix + name for name in known)


@dataclass(frozen=True)
class JointModel(Model):
    """Scene and parameters of one robot whose joints were logged.

    robot     the robot;  prefix of its names in the scene;  base  quaternion and position
    readings  signal -> joint -> Reading
    keys      number of every motor's keys, a step of the scene apart
    sampling  usual time between samples of the logs [s]
    """

    robot: Robot
    prefix: str
    base: tuple[np.ndarray, np.ndarray]
    readings: Mapping[str, Mapping[str, Reading]]
    keys: int
    sampling: float

    @classmethod
    def build(cls, config: EstimationConfig, logs: Sequence[Observation]) -> JointModel:
        """Build the scene with room for the longest log's commands; InputError if it is unfit."""
        raw: Any
        raw, place = read_mapping(config.scene, config.base)
        robots = raw.get("robots") if isinstance(raw, Mapping) else None
        if not isinstance(robots, Mapping) or len(robots) != 1:
            raise config.error("scene.robots", list(robots or ()), "one robot")
        (name, robot), interval = next(iter(robots.items())), logs[0].interval
        if not isinstance(robot, Mapping) or not isinstance(robot.get("drive"), Mapping):
            raise config.error(f"scene.robots.{name}.drive", None, "a drive, which is commanded")
        step = Reader(place).section(WORLD, raw.get("world"), "world")["step"]
        keys = max(round(log.t[-1] / step) for log in logs) + 2
        drive = {**robot["drive"], "keys": keys, "interval": step}
        # joint values are counted from the start pose of the scene: that of zeros
        urdf = absolute(Reader(place), str(robot.get("urdf", "")))
        robot = {**robot, "urdf": urdf, "drive": drive, "angles": None, "rates": None}
        scene, parameters = scene_and_map(config, {**raw, "robots": {name: robot}})
        model = robot_of(robot, place)
        prefix = robot.get("prefix", "")
        places = {f"{prefix}{name}.{word}" for name in model.joint_names for word in PLACE}
        for parameter in parameters.parameters:
            for target in places.intersection(parameter.sets):
                rule = "no place of the robot's joints: its bodies start where the URDF has them"
                raise config.error(f"parameters.{parameter.name}.sets", target, rule)
        pose = _base(scene, model, prefix)
        readings = _readings(config, [prefix + n for n in model.joint_names])
        return cls(config, scene, parameters, model, prefix, pose, readings, keys, interval)

    @property
    def names(self) -> list[str]:
        """Names of the robot's joints in the scene."""
        return [self.prefix + name for name in self.robot.joint_names]

    @property
    def follows(self) -> bool:
        """True if the drives follow positions, False if they apply efforts."""
        return f"{motor_name(self.names[0])}.stiffness" in self._known

    @property
    def _known(self) -> set[str]:
        return {info.name for info in self.scene.engine.parameters}

    def check(self, log: Observation) -> None:
        """Refuse a log that the scene's drives cannot follow, or that moves at its start."""
        word = "position" if self.follows else "effort"
        if word not in log.command:
            rule = f"commanded {word}s, as the drive of the scene is of kind "
            rule += "position" if self.follows else "torque"
            raise InputError(log.place, "commands", sorted(log.command), rule)
        for name in self.names:
            log.column(log.command[word], name)
        if abs(log.interval - self.sampling) > STEADY * self.sampling:
            rule = f"{self.sampling:g} s between samples, as in the first trial"
            raise InputError(log.place, "t", log.interval, rule)
        for signal, joints in self.readings.items():
            if joints and signal not in log.measured:
                rule = f"readings of {signal}, as measurement.{signal} requires"
                raise InputError(log.place, "columns", sorted(log.measured), rule)
        if self.config.measurement.start == "measured":
            self._check_still(log)

    def _check_still(self, log: Observation) -> None:
        rows = log.t <= self.config.measurement.still
        for name in self.names:
            reading = self.readings["position"].get(name)
            q = log.column(log.measured["position"], name)[rows]
            spread = float(np.ptp(q[np.isfinite(q)])) if np.isfinite(q).any() else np.nan
            # the spread of n readings of noise alone grows with n, slowly
            allowed = 2 * MOVED * (reading.sigma if reading else 1e-2)
            if not spread <= allowed:
                key = f"position of {name} in the first {self.config.measurement.still:g} s"
                rule = f"a robot at rest: readings within {allowed:.3g}"
                remedy = "cut the log, or set measurement.still or measurement.start: command"
                raise InputError(log.place, key, f"a spread of {spread:.3g}", rule, remedy)

    def start(self, log: Observation) -> np.ndarray:
        """Joint values (n,) at which a trial begins."""
        if self.config.measurement.start == "command" and self.follows:
            return np.array([log.column(log.command["position"], n)[0] for n in self.names])
        rows = log.t <= self.config.measurement.still
        table = log.measured["position"]
        return np.array([np.nanmean(log.column(table, name)[rows]) for name in self.names])

    def commands(self, log: Observation) -> np.ndarray:
        """Keys (keys, n) of every motor: the log's commands at the steps, then constant."""
        t = np.minimum(np.arange(self.keys) * self.scene.options.step, log.t[-1])
        table = log.command["position" if self.follows else "effort"]
        columns = np.stack([log.column(table, name) for name in self.names], axis=1)
        if self.config.simulation.commands == "linear":
            return np.stack([np.interp(t, log.t, column) for column in columns.T], axis=1)
        from scipy.interpolate import CubicSpline

        return CubicSpline(log.t, columns)(t)

    def commands_of(self, log: Observation) -> dict[str, float]:
        """Engine parameters of a trial alone: its commands."""
        keys = self.commands(log)
        found: dict[str, float] = {}
        for joint, name, values in zip(self.robot.joints, self.names, keys.T, strict=True):
            word = "target" if self.follows else "torque" if joint.turns else "force"
            target = f"{motor_name(name)}.{word}"
            found |= {f"{target}[{k}]": float(value) for k, value in enumerate(values)}
        return found

    def starts(self, q: np.ndarray) -> tuple[InitialState, ...]:
        """Every body of the robot at rest at joint values q (n,)."""
        turn, at = self.base
        R, zero, found = quat_matrix(turn), np.zeros(3), []
        for joint, (pose, *_) in zip(
            self.robot.joints, body_motions(self.robot, q, 0 * q), strict=True
        ):
            place = at + R @ (pose[:3, 3] + pose[:3, :3] @ joint.inertial.centre)
            q_body = quat_multiply(turn, quat_from_matrix(pose[:3, :3]))
            found.append(InitialState(self.prefix + joint.body, place, q_body, zero, zero))
        return tuple(found)

    def fitted(self, log: Observation, horizon: int = 0) -> Trial:
        """The log as a trial of the inverse layer; horizon: samples that count, 0: all."""
        measurement = self.config.measurement
        rows = np.flatnonzero(log.t >= measurement.skip - 1e-9)
        rows = rows[:horizon] if horizon else rows
        if len(rows) < 2:
            raise InputError(log.place, "samples", len(rows), "two after measurement.skip")
        tracks = tuple(self.tracks(log, rows))

        steps = self.rows(log.t[rows[-1]]) * self.scene.options.record_every
        starts = self.starts(self.start(log))
        name = f"{Path(log.source).stem} {log.trial}"
        return Trial(name, steps, tracks, starts, self.loss, parameters=self.commands_of(log))

    def tracks(self, log: Observation, rows: np.ndarray) -> Iterator[JointTrack]:
        """One JointTrack per joint that has readings."""
        slots, servos = body_slots(self.scene.engine), self.servos(log)
        for i, (joint, name) in enumerate(zip(self.robot.joints, self.names, strict=True)):
            read = {s: r[name] for s, r in self.readings.items() if name in r}
            if not read:
                continue
            other = None
            if joint.parent >= 0:
                other = slots[self.prefix + self.robot.joints[joint.parent].body].dof
            measured = {s: log.column(log.measured[s], name)[rows] for s in read}
            yield JointTrack(
                self.prefix + joint.body, name, self.scene.engine, other, log.t[rows],
                self.interval, measured, read, servos[i] if "effort" in read else None,
                joint.turns,
            )  # fmt: skip

    def servos(self, log: Observation) -> list[Servo | None]:
        """Every motor's gains, and its targets at the rows of a rollout as the engine has them."""
        if not self.follows:
            return [None] * len(self.names)
        h = self.scene.options.step
        found: list[Servo | None] = []
        count = int(np.ceil(log.t[-1] / self.interval)) + 2
        t, clock = np.arange(count) * self.interval, np.arange(self.keys) * h
        known = {info.name for info in self.scene.engine.parameters}
        for joint, name, keys in zip(
            self.robot.joints, self.names, self.commands(log).T, strict=True
        ):
            at = [np.interp(t - k * h, clock, keys) for k in range(3)]
            rate = (1.5 * at[0] - 2 * at[1] + 0.5 * at[2]) / h
            rule = "one parameter at most for each gain, where efforts are measured"
            targets = [f"{motor_name(name)}.{word}" for word in ("stiffness", "damping")]
            stiffness, damping = (self.number_of(target, rule) for target in targets)
            ends = [f"{motor_name(name)}.{word}" for word in ("effort_lower", "effort_upper")]
            limits = (self.number_of(end, rule) if end in known else None for end in ends)
            found.append(Servo(stiffness, damping, at[0], rate, joint.turns, *limits))
        return found

    def problem(
        self, trials: Sequence[Observation], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these trials."""
        fitted = [self.fitted(log, horizon) for log in trials]
        return self.of_trials(fitted)

    def simulated(self, log: Observation, run: Any, z: np.ndarray) -> dict[str, np.ndarray]:
        """Readings (n, joints) of every signal that the sensors would give, NaN where none is
        asked."""
        named, rows = self.map.named(z), np.arange(len(log.t))
        found = {s: np.full((len(log.t), len(self.names)), np.nan) for s in log.measured}
        for track in self.tracks(log, rows):
            for signal, values in track.predicted(run, named).items():
                found[signal][:, self.names.index(track.joint)] = values
        return found


def _base(scene: SceneModel, robot: Robot, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """Quaternion and position of the robot's base, from where its first body stands at zeros."""
    first = robot.joints[0]
    ((pose, *_), *_) = body_motions(robot, np.zeros(len(robot.joints)), np.zeros(len(robot.joints)))
    body = scene.description["bodies"][prefix + first.body]["pose"]
    R = quat_matrix(body["orientation"]) @ pose[:3, :3].T
    at = np.array(body["position"]) - R @ (pose[:3, 3] + pose[:3, :3] @ first.inertial.centre)
    return quat_from_matrix(R), at


def _readings(config: EstimationConfig, joints: Sequence[str]) -> dict[str, dict[str, Reading]]:
    """Readings of every signal by joint; InputError for unknown joints and parameters."""
    reader, options = Reader(config.place), config.measurement
    chosen = options.joints or tuple(joints)
    for name in chosen:
        if name not in joints:
            rule = "a joint of the robot"
            raise config.error("measurement.joints", name, rule, nearest(name, joints))
    found: dict[str, dict[str, Reading]] = {}
    for signal in SIGNALS:
        value, key = getattr(options, signal), f"measurement.{signal}"
        found[signal] = {}
        if value is None:
            continue
        read = read_options(ReadingOptions, reader, value, key)
        for joint in chosen:
            one: dict[str, Any] = {
                word: _of_joint(config, getattr(read, word), joint, joints, f"{key}.{word}")
                for word in ("sigma", "delay", "gain", "bias", "drift")
            }
            if isinstance(one["sigma"], str) or not one["sigma"] > 0:
                raise config.error(f"{key}.sigma", one["sigma"], "a number > 0")
            if not isinstance(one["drift"], str) and not one["drift"] > -1:
                raise config.error(f"{key}.drift", one["drift"], "a number > -1")
            found[signal][joint] = Reading(**one)
        changed = any(r.gain != 1.0 or r.bias != 0.0 for r in found[signal].values())
        if signal == "position" and changed and options.start == "measured":
            rule = "start: command, as readings with a gain or bias do not give the start"
            raise config.error("measurement.start", "measured", rule)
    if not any(found.values()):
        raise config.error("measurement", None, "position, velocity or effort: {sigma: ...}")
    return found


def _of_joint(
    config: EstimationConfig, value: object, joint: str, joints: Sequence[str], key: str
) -> float | str:
    """The number, or the name of a parameter, that a joint has."""
    defaults = {"gain": 1.0}
    if isinstance(value, Mapping):
        for name in value:
            if name not in joints:
                raise config.error(key, name, "a joint of the robot", nearest(name, joints))
        value = value.get(joint, defaults.get(key.rsplit(".", 1)[-1], 0.0))
    number, name = config.number(value, key)
    return name or number
