"""The record of a twin: the robot's motion, and every body's, at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from .. import output
from ..robots.arm import Arm
from ..robots.kinematics import body_motions, link_pose
from ..robots.trajectory import JointTrajectory
from ..scene.model import SceneModel

MOVES = 0.01
"""Speed [m/s] above which a body moves."""
KEYS = ("position", "orientation", "velocity", "spin")


@dataclass(frozen=True, eq=False)
class BodyState:
    """position [m], velocity [m/s] of the centre of mass, orientation (x, y, z, w) (k, 4), spin
    [rad/s], at k times, world. Of a soft body the rigid pose nearest to it, spin NaN in flight."""

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray


@dataclass(frozen=True, eq=False)
class Held:
    """A body that moves with the tool.

    in_tool   its pose (4, 4);  rest  its nodes (m, 3) if it is soft, in its own frame
    motion    of the joints, columns in the robot's order
    """

    arm: Arm
    body: str
    in_tool: np.ndarray
    motion: JointTrajectory
    rest: np.ndarray | None = None

    def poses(self, times: np.ndarray) -> np.ndarray:
        """(k, 4, 4), world."""
        q, *_ = self.motion.at(times)
        return link_pose(self.arm.robot, q, self.arm.tool, self.arm.base) @ self.in_tool

    def state(self, times: np.ndarray) -> BodyState:
        """Pose and twist at times (k,)."""
        q, qd, _ = self.motion.at(times)
        frame, turn = self.arm.robot.frame(self.arm.tool), self.arm.base[:3, :3]
        carrier, spin, rate = body_motions(self.arm.robot, q, qd)[frame.carrier]
        poses = self.arm.base @ carrier @ frame.pose @ self.in_tool
        spin, rate = spin @ turn.T, rate @ turn.T
        arm = poses[:, :3, 3] - (self.arm.base @ carrier)[:, :3, 3]
        return BodyState(
            poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]).as_quat(),
            rate + np.cross(spin, arm), spin,
        )  # fmt: skip

    def nodes(self, times: np.ndarray) -> np.ndarray:
        """Nodes (k, m, 3) of a soft body; of a rigid one its centre (k, 1, 3)."""
        poses = self.poses(times)
        rest = np.zeros((1, 3)) if self.rest is None else self.rest
        return poses[:, None, :3, 3] + rest @ np.swapaxes(poses[:, :3, :3], -1, -2)


@dataclass(frozen=True, eq=False)
class Phase:
    """A motion of the engine that begins at `begin` [s], with the values p that it was run with."""

    model: SceneModel
    rollout: Any
    begin: float
    values: np.ndarray

    @cached_property
    def times(self) -> np.ndarray:
        """(F,) [s] of its frames."""
        return self.begin + np.asarray(self.rollout.time)

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        keys = ("position", "velocity", "orientation", "angular_velocity")
        return {key: np.asarray(getattr(self.rollout, key)) for key in keys}

    def _between(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frames before times (k,), the share [0, 1] behind them, and the frames' distance [s]."""
        inside = np.clip(times, self.times[0], self.times[-1])
        at = np.clip(np.searchsorted(self.times, inside, "right") - 1, 0, len(self.times) - 2)
        span = self.times[at + 1] - self.times[at]
        return at, (inside - self.times[at]) / span, span

    def nodes(self, body: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places [m] and velocities [m/s] (k, m, 3) of a body's nodes: cubics between frames."""
        first, count = self.model.engine.nodes_of(body)
        x, v = (self._arrays[key][:, first : first + count] for key in ("position", "velocity"))
        at, share, span = self._between(times)
        s, h = share[:, None, None], span[:, None, None]
        x0, x1, v0, v1 = x[at], x[at + 1], h * v[at], h * v[at + 1]
        place = (
            x0 + s * v0 + s * s * (3 * (x1 - x0) - 2 * v0 - v1)
            + s**3 * (2 * (x0 - x1) + v0 + v1)
        )  # fmt: skip
        rate = v0 + 2 * s * (3 * (x1 - x0) - 2 * v0 - v1) + 3 * s * s * (2 * (x0 - x1) + v0 + v1)
        return place, rate / h

    def output(self, name: str, time: float) -> np.ndarray | None:
        """An output at a time [s], linear between frames; None where the scene has none such."""
        values = self._outputs.get(name)
        if values is None:
            return None
        (at,), (share,), _ = self._between(np.array([time]))
        return values[at] + share * (values[at + 1] - values[at])

    @cached_property
    def _outputs(self) -> dict[str, np.ndarray]:
        return dict(self.rollout.outputs)

    def state(self, body: str, times: np.ndarray) -> BodyState:
        """See BodyState."""
        x, v = self.nodes(body, times)
        described = self.model.parts.bodies[body]
        first, count = self.model.engine.nodes_of(body)
        if not described.SOFT:
            at, share, _ = self._between(times)
            q = self._arrays["orientation"][:, first]
            w = self._arrays["angular_velocity"][:, first]
            turn = Slerp(np.arange(len(q)), Rotation.from_quat(q))(at + share).as_quat()
            spin = w[at] + share[:, None] * (w[at + 1] - w[at])
            return BodyState(x[:, 0], turn, v[:, 0], spin)
        mass = self.model.engine.masses(self.values)[first : first + count]
        weight = mass / mass.sum()
        centre, rest = weight @ x, described.rest_nodes()
        turn = nearest_turn(rest - weight @ rest, x - centre[:, None], weight)
        return BodyState(centre, turn, weight @ v, np.full_like(centre, np.nan))


def nearest_turn(rest: np.ndarray, placed: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Quaternions (k, 4) of the rotations that take rest (m, 3) nearest to placed (k, m, 3)."""
    u, _, vt = np.linalg.svd(np.einsum("m,kmi,mj->kij", weight, placed, rest))
    sign = np.linalg.det(u @ vt)
    u[:, :, 2] *= sign[:, None]
    return Rotation.from_matrix(u @ vt).as_quat()


@dataclass(frozen=True, eq=False)
class TwinRecord:
    """One attempt.

    motion    of the joints as executed, columns in the robot's order
    release   [s] when the body was free, None: never;  until  [s] how far bodies were simulated
    held      what moved with the tool, and how;  phases  what the engine simulated, in order
    """

    motion: JointTrajectory
    release: float | None
    until: float
    held: Held | None
    phases: tuple[Phase, ...]

    @property
    def bodies(self) -> tuple[str, ...]:
        """Every body of the record."""
        names = [name for phase in self.phases for name in phase.model.engine.body_names]
        names += [] if self.held is None else [self.held.body]
        return tuple(dict.fromkeys(names))

    def _parts(self, body: str, times: np.ndarray):
        """(mask (k,), Held or Phase) of who knows a body when; times beyond are the last one's."""
        knows: list[tuple[float, Any]] = []
        if self.held is not None and body == self.held.body:
            knows.append((-np.inf, self.held))
        for phase in self.phases:
            if body in phase.model.bodies:
                knows.append((phase.begin if knows else -np.inf, phase))
        starts = np.array([start for start, _ in knows])
        which = np.searchsorted(starts, times, "right") - 1
        return [(which == i, one) for i, (_, one) in enumerate(knows) if np.any(which == i)]

    def state(self, body: str, times: np.ndarray | float) -> BodyState:
        """A body at times (k,) [s], kept within what was simulated."""
        times = np.atleast_1d(np.asarray(times, float))
        out = {key: np.empty((len(times), 4 if key == "orientation" else 3)) for key in KEYS}
        for mask, one in self._parts(body, times):
            at = times[mask]
            part = one.state(at) if isinstance(one, Held) else one.state(body, at)
            for key in KEYS:
                out[key][mask] = getattr(part, key)
        return BodyState(**out)

    def stopped(self, time: float) -> tuple[str, ...]:
        """Bodies that stand still at a time [s] only because the scene had ended before, while they
        moved."""
        if self.release is None or time <= self.until:
            return ()
        ends = {body: self.state(body, self.until).velocity for body in self.bodies}
        return tuple(body for body, v in ends.items() if np.linalg.norm(v) > MOVES)

    def output(self, name: str, time: float) -> np.ndarray | None:
        """An output of the scene at a time [s], kept within what was simulated; None where nothing
        was, or of what the gripper still holds."""
        begun = [phase for phase in self.phases if phase.begin <= time]
        if not begun and self.held is None:
            begun = list(self.phases[:1])  # bodies rest until the links take them
        return begun[-1].output(name, time) if begun else None

    def nodes(self, body: str, time: float) -> np.ndarray:
        """Nodes (m, 3) [m] of a soft body, the centre (1, 3) of another, at a time [s]."""
        return self.node_paths(body, np.array([float(time)]))[0]

    def node_paths(self, body: str, times: np.ndarray) -> np.ndarray:
        """The same at times (n,): (n, m, 3)."""
        parts = [
            (mask, one.nodes(times[mask]) if isinstance(one, Held)
             else one.nodes(body, times[mask])[0])
            for mask, one in self._parts(body, times)
        ]  # fmt: skip
        out = np.empty((len(times), *parts[0][1].shape[1:]))
        for mask, places in parts:
            out[mask] = places
        return out

    def centre(self, body: str, times: np.ndarray | float) -> np.ndarray:
        """Centre of mass (k, 3) [m] at times (k,) [s]."""
        return self.state(body, times).position

    def distance(self, body: str, target: np.ndarray, time: float) -> float:
        """From the centre of mass to a place (3,) at a time [m]."""
        return float(np.linalg.norm(self.centre(body, time)[0] - np.asarray(target, float)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the engine: points that may have passed through a surface."""
        return tuple(text for phase in self.phases for text in phase.rollout.warnings)

    def arrays(self, rate: float = 500.0) -> dict[str, np.ndarray]:
        """Everything at a rate [Hz], by names such as `ball.position`; for files.

        Of soft bodies `BODY.nodes` (n, m, 3) too, in single precision.
        """
        times = np.arange(0.0, self.until, 1.0 / rate)
        q, qd, _ = self.motion.at(times)
        found: dict[str, np.ndarray] = {
            "time": times, "joints": np.array(self.motion.names), "joint_positions": q,
            "joint_velocities": qd,
            "release": np.array(np.nan if self.release is None else self.release),
        }  # fmt: skip
        for body in self.bodies:
            state = self.state(body, times)
            found |= {f"{body}.{key}": getattr(state, key) for key in KEYS}
            if self._is_soft(body):
                found[f"{body}.nodes"] = self.node_paths(body, times).astype(np.float32)
        return found

    def _is_soft(self, body: str) -> bool:
        if self.held is not None and body == self.held.body:
            return self.held.rest is not None
        models = (phase.model for phase in self.phases if body in phase.model.bodies)
        return next(models).parts.bodies[body].SOFT

    def save(self, path: str | Path, more: Mapping[str, np.ndarray] | None = None) -> None:
        """Write `arrays` (and more) as an .npz; an existing file is not overwritten."""
        import io

        data = io.BytesIO()
        np.savez_compressed(data, **self.arrays(), **(more or {}))
        output.write_bytes(path, data.getvalue())
