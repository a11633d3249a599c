"""A handle that an arm's tool carries: smooth ways between the controls' keys.

The keys of the plan are knots of quintic splines (at rest at both ends, continuous up to the
fourth derivative); the scene's handle gets their values at small intervals.  So the planned motion
is one that an arm can carry out, and slopes go through the spline's constant matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from ..errors import InputError
from ..inverse.parameters import Parameter
from ..inverse.rotation import quat_exp, quat_matrix
from ..robots.time_scaling import point_to_point, stretched
from ..robots.trajectory import JointTrajectory
from ..scene.fields import Reader
from ..scene.model import SceneModel, load_scene
from .robot_config import Hand

PERIOD = 0.024
"""Longest interval of the handle's keys and of the tool's poses [s]."""
GENTLE = 2.0
"""How much longer than it must the way from home to the first pose takes."""
STEMS = ("position", "rotation")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Spline:
    """Knots that are parameters set all keys of a handle: entries = offset + matrix theta."""

    names: tuple[str, ...]
    entries: tuple[str, ...]
    matrix: np.ndarray
    offset: np.ndarray
    name: str = "hand"

    def values(self, theta: Sequence[float]) -> np.ndarray:
        """Keys' coordinates (k,)."""
        return self.offset + self.matrix @ np.asarray(theta, float)

    def jacobian(self, theta: Sequence[float]) -> np.ndarray:
        """Return the matrix (k, m)."""
        return self.matrix


def splined(count: int, interval: float) -> tuple[np.ndarray, float]:
    """Matrix (fine keys, count) of the spline through knots `interval` apart; fine interval [s]."""
    parts = int(np.ceil(interval / PERIOD - 1e-9))
    knots = interval * np.arange(count)
    fine = interval / parts * np.arange(parts * (count - 1) + 1)
    rest = [(1, np.zeros(count)), (2, np.zeros(count))]
    spline = make_interp_spline(knots, np.eye(count), k=5, bc_type=(rest, rest))
    return spline(fine), interval / parts


def smoothed(
    reader: Reader, scene: SceneModel, hand: Hand, parameters: Sequence[Parameter]
) -> tuple[SceneModel, list[Parameter], Spline]:
    """The scene with small intervals, the parameters without entries, and what sets the entries.

    InputError where no control moves the hand.
    """
    keys = scene.description["bodies"][hand.handle]["keys"]
    knots = {"position": np.array(keys["positions"], float),
             "rotation": np.array(keys["rotations"], float)}  # fmt: skip
    matrix, interval = splined(len(knots["position"]), keys["interval"])
    moved = _knots_of(hand.handle, parameters)
    if not moved:
        raise reader.error("controls", [p.name for p in parameters], "keys of the hand's handle")
    names = tuple(dict.fromkeys(moved.values()))
    entries, rows, offsets, fine = [], [], [], {}
    for stem in STEMS:
        fine[stem] = matrix @ knots[stem]
        for a, axis in enumerate(AXES):
            chosen = {k: n for (s, k, x), n in moved.items() if (s, x) == (stem, a)}
            if not chosen:
                continue
            still = knots[stem][:, a].copy()
            still[list(chosen)] = 0.0
            by_name = np.zeros((len(matrix), len(names)))
            for k, name in chosen.items():
                by_name[:, names.index(name)] = matrix[:, k]
            entries += [f"{hand.handle}.{stem}[{k}].{axis}" for k in range(len(matrix))]
            rows.append(by_name)
            offsets.append(matrix @ still)
    refined = _refined(scene, hand.handle, fine, interval)
    free = [replace(p, sets={}) if p.name in names else p for p in parameters]
    spline = Spline(names, tuple(entries), np.vstack(rows), np.concatenate(offsets))
    return refined, free, spline


def _knots_of(handle: str, parameters: Sequence[Parameter]) -> dict[tuple[str, int, int], str]:
    """(stem, knot, axis) -> name of the parameter that is this coordinate."""
    found = {}
    for p in parameters:
        for entry in p.sets:
            for stem in STEMS:
                if entry.startswith(f"{handle}.{stem}["):
                    number, axis = entry[len(handle) + len(stem) + 2 :].split("].")
                    found[stem, int(number), AXES.index(axis)] = p.name
    return found


def _refined(scene: SceneModel, handle: str, fine: Mapping, interval: float) -> SceneModel:
    """The scene with other keys of a handle."""
    keys = {"interval": interval, "positions": fine["position"].tolist(),
            "rotations": fine["rotation"].tolist()}  # fmt: skip
    bodies = scene.description["bodies"]
    bodies = {**bodies, handle: {**bodies[handle], "keys": keys}}
    return load_scene({**scene.description, "bodies": bodies}, base=Path(scene.place))


def tool_way(hand: Hand, scene: SceneModel, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) from the scene's start, and poses (k, 4, 4) of the tool in the world.

    values  entries of the engine (np,) of the plan
    """
    keys = scene.description["bodies"][hand.handle]["keys"]
    index, count = scene.engine.index, len(keys["positions"])

    def read(stem: str) -> np.ndarray:
        names = [[f"{hand.handle}.{stem}[{k}].{axis}" for axis in AXES] for k in range(count)]
        return np.array([[values[index(name)] for name in row] for row in names])

    poses = np.tile(np.eye(4), (count, 1, 1))
    turns = quat_matrix(quat_exp(read("rotation")))
    poses[:, :3, :3] = turns if hand.turn is None else hand.turn
    poses[:, :3, 3] = read("position")
    return keys["interval"] * np.arange(count), poses @ np.linalg.inv(hand.in_tool)


def hand_motion(hand: Hand, scene: SceneModel, values: np.ndarray) -> tuple[JointTrajectory, float]:
    """The arm's motion: from home to the first pose, then along the way; when that begins [s].

    InputError names joint, time, value and limit.
    """
    from ..robots.inverse_kinematics import follow

    times, poses = tool_way(hand, scene, values)
    way = follow(hand.arm, times, poses).trajectory
    names = hand.arm.robot.joint_names
    first = point_to_point(hand.arm.limits, hand.arm.home, way.positions[0], names=names)
    first = stretched(first, GENTLE)
    return _after(first, way), first.duration


def _after(first: JointTrajectory, second: JointTrajectory) -> JointTrajectory:
    """Both in turn: the second begins at rest where the first ends."""
    if second.velocities is None or second.accelerations is None:
        raise InputError("trajectory", "accelerations", None, "given: quintics are joined")
    pairs = ("positions", "velocities", "accelerations")
    rows = [np.concatenate([getattr(first, p), getattr(second, p)[1:]]) for p in pairs]
    times = np.concatenate([first.times, first.duration + second.times[1:]])
    return JointTrajectory(first.names, times, *rows)
