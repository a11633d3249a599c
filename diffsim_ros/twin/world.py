"""A twin that advances in time, without ROS: joints by their controller, then the bodies.

Time stands still where the engine is not ready yet.  An attempt begins when the joints first move
after a reset: until then bodies are as the scene has them at its start.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..robots.command import NANO
from ..robots.controller import Controller, Outcome
from ..robots.gripper import Gripper
from ..robots.trajectory import JointTrajectory
from .record import TwinRecord
from .twin import Episode, Twin

TICK = 2_000_000
"""Steps of time [ns]: 500 Hz."""
STILL = 1e-9
"""Speed below which joints do not move [rad/s or m/s]."""
AHEAD = 30.0
"""How far a motion is foreseen at most [s]."""
RECENT = 64
"""Samples of the joints in the last moments."""


class World:
    """A twin at a time [ns]; `controller` and `gripper` get commands from outside.

    number   of the attempt;  origin  time [ns] at which it began, `moved` once it did
    release  [s] after the origin, without jitter, None: not yet
    begins   times [ns] at which the controller was at the start of trajectories
    """

    def __init__(self, twin: Twin, time: int = 0) -> None:
        self.twin, self.config = twin, twin.config
        self.time, self.number = time, -1
        self.controller: Controller
        self.gripper: Gripper
        self.reset()

    def reset(self) -> None:
        """The robot at its start at once, bodies in their places, the next attempt's draws."""
        config = self.config
        self.number += 1
        self.episode: Episode = self.twin.episode(self.number)
        self.controller = Controller(
            config.arm.robot.joint_names, config.start, config.controller, self.time
        )
        self.gripper = Gripper(config.latency[0])
        self.origin, self.moved = self.time, False
        self.release: float | None = None
        self.begins: list[int] = []
        self._samples = [_Sample(0.0, *_joints(self.controller))]
        self._past = deque([_joints(self.controller)], maxlen=RECENT)
        self._readings = 0
        self._foreseen: list[_Sample] = []
        self._record: TwinRecord | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the attempt began."""
        return (self.time - self.origin) / NANO

    def advance(self) -> Outcome | None:
        """One tick: the joints move, the gripper opens; returns how a trajectory ended, if so."""
        time = self.time + TICK
        outcome = self.controller.advance(time)
        opened = [stamp for stamp, is_open in self.gripper.advance(time) if is_open]
        self.follow(opened)
        return outcome

    def follow(self, opened: Sequence[int] = ()) -> None:
        """One tick that controller and gripper have done; opened: stamps [ns] of the gripper."""
        before, self.time = self.time, self.time + TICK
        begun = self.controller.begun
        if begun is not None and begun not in self.begins[-1:]:
            self.begins.append(begun)
        sample = _Sample(self.elapsed, *_joints(self.controller))
        self._past.append((sample.position, sample.velocity))
        if not self.moved:
            self.origin, self.moved = before, bool(opened) or sample.moves
            sample = replace(sample, time=self.elapsed)
        if opened and self.release is None and self.config.grasp is not None:
            self.release = (opened[0] - self.origin) / NANO
            self._record = None
        self._append(sample)

    def _append(self, sample: _Sample) -> None:
        """Remember where the joints are, and whether that was foreseen."""
        if not self.moved:
            self._samples = [replace(sample, time=0.0)]
            return
        foreseen = self._foreseen.pop(0) if self._foreseen else None
        if self.config.drives and not (sample.same(foreseen) if foreseen else not sample.moves):
            self._foreseen, self._record = [], None
        last = self._samples[-1]
        if not sample.moves and np.abs(sample.position - last.position).max() < STILL:
            return  # at rest: nothing new
        if sample.time - last.time > 1.5 * TICK / NANO:
            self._samples.append(replace(last, time=sample.time - TICK / NANO))
        self._samples.append(sample)

    def efforts(self) -> np.ndarray | None:
        """A reading (n,) of the joints' efforts, None where the twin has none; see `exerted`."""
        found = self.config.efforts
        if found is None:
            return None
        self._readings += 1
        clean = found.read(self.exerted())
        return clean + found.noise(self.config.seed, self.number, self._readings)

    def exerted(self) -> np.ndarray:
        """By the drives (n,) when the controller is a tick ahead (before `follow`): what an arm in
        the engine's do, else what the motion needs.

        Its velocity and acceleration are means over a cycle before and after: the drives' currents
        are filtered, and a joint's loop answers each command with more at its beginning.
        """
        own = self.controller.efforts
        if own is not None:
            return own
        assert self.config.efforts is not None
        ticks = max(1, round(NANO / self.config.controller.rate / TICK))
        ticks = min(ticks, len(self._past))
        (q0, v0), (q1, v1) = self._past[-ticks], self.controller.soon(ticks * TICK)
        span = 2 * ticks * TICK / NANO
        rates = (q1 - q0) / span, (v1 - v0) / span
        return self.config.efforts.exerted(self.controller.position, *rates)

    def motion(self) -> JointTrajectory:
        """The joints' motion since the attempt began."""
        return self._motion(self._samples)

    def _motion(self, samples: Sequence[_Sample]) -> JointTrajectory:
        if len(samples) == 1:
            samples = [*samples, replace(samples[0], time=samples[0].time + TICK / NANO)]
        times, *rows = (np.array([getattr(s, key) for s in samples])
                        for key in ("time", "position", "velocity"))  # fmt: skip
        return JointTrajectory(self.controller.names, times, *rows)

    @property
    def known(self) -> bool:
        """Whether `record` needs no run of the engine."""
        return self._record is not None and self._covered(self._record)

    def ahead(self) -> Controller | None:
        """A copy of the controller, for `record` in another thread than that of its commands."""
        return copy.deepcopy(self.controller) if self.config.drives and self.moved else None

    def record(self, ahead: Controller | None = None, cancel: Any = None) -> TwinRecord:
        """What bodies do now; runs the engine where that is not known yet.

        Its motion is that of the last moments only. Raises NotConverged where the engine fails.
        """
        if not self.known:
            self._record = self._played(ahead or self.ahead(), cancel)
        motion, held = self._motion(self._samples[-RECENT:]), self._record.held
        return replace(self._record, motion=motion, held=held and replace(held, motion=motion))

    def history(self) -> TwinRecord:
        """The whole attempt until now."""
        now, motion = self.record(), self.motion()
        held = now.held and replace(now.held, motion=motion)
        return replace(now, motion=motion, held=held, until=min(now.until, self.elapsed))

    def _covered(self, record: TwinRecord) -> bool:
        """Whether a record covers the present; one with a release does to its end, and after that
        bodies stay where they are."""
        if record.release is not None:
            return True
        return not self._freed() and (record.held is None or self.elapsed <= record.until)

    def _freed(self) -> bool:
        return self.release is not None and self.elapsed >= self.release + self.episode.jitter

    def _played(self, ahead: Controller | None, cancel) -> TwinRecord:
        motion = self._motion(self._samples[-RECENT:])
        if ahead is not None:
            self._predict(ahead)
            motion = self._motion([*self._samples, *self._foreseen])
        release, until = (self.release, None) if self._freed() else (None, None)
        if self.config.grasp is not None and release is None:
            until = max(self.config.scene.description["world"]["duration"], 2 * self.elapsed)
        return self.episode.play(motion, release, until, cancel, taken=False)

    def _predict(self, ahead: Controller) -> None:
        """Let a copy of the controller run until the joints rest."""
        self._foreseen = []
        for k in range(1, round(AHEAD * NANO) // TICK):
            ahead.advance(self.time + k * TICK)
            elapsed = (ahead.time - self.origin) / NANO
            self._foreseen.append(_Sample(elapsed, *_joints(ahead)))
            if not ahead.active and not self._foreseen[-1].moves:
                break


@dataclass(frozen=True, eq=False)
class _Sample:
    """Joints at a time [s] of the attempt: position and velocity (n,)."""

    time: float
    position: np.ndarray
    velocity: np.ndarray

    @property
    def moves(self) -> bool:
        return float(np.abs(self.velocity).max()) > STILL

    def same(self, other: _Sample) -> bool:
        """Bit by bit."""
        return np.array_equal(self.position, other.position) and np.array_equal(
            self.velocity, other.velocity
        )  # fmt: skip


def _joints(controller: Controller) -> tuple[np.ndarray, np.ndarray]:
    return controller.position.copy(), controller.velocity.copy()
