"""Motions of a body that every impact turns by chance: what no law of contact explains of it.

An irregular corner, a grain of dust: the impulse acts beside the point of contact.  So each new
touch adds to the angular velocity, about the two axes at right angles to its force, a random
part of standard deviation `kick` times the speed of approach.  A rollout is begun again before
every touch with the state it has there; its first step is of first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..rotation import quat_log
from .engine_options import options_like

Array = np.ndarray
WINDOW = 64
"""Steps that are simulated at once until the next touch."""
LATER = 3
"""Steps by which a kick may put a touch off."""
LEAST = 0.3
"""Slowest approach of a point that is an impact [m/s]."""
KINDS = ("position", "rotation", "velocity", "angular_velocity")


class Kicked:
    """Random motions of a scene of one rigid body with contact.

    scene    scene.model.SceneModel;  kick  [rad/s by m/s]
    options  of the engine; recorded are all multiples of its `record_every`
    """

    def __init__(self, scene: Any, kick: float, options: Any = None) -> None:
        check_kick(scene, kick)
        self.engine, self.kick = scene.engine, kick
        given = options or scene.options
        self.every = given.record_every
        self.options = options_like(given, record_every=1, record_modes=True)
        (body,) = self.engine.body_names
        names = [f"{body}.{kind}.{axis}" for kind in KINDS for axis in "xyz"]
        self.start = np.array([self.engine.index(name) for name in names])

    def run(
        self, P: Array, steps: Array, rng: np.random.Generator | Sequence[np.random.Generator], *,
        threads: int = 0, cancel: Any = None,
    ) -> tuple[list[Array], Array]:  # fmt: skip
        """Poses (frames, 7) of every row of parameters P (n, np), and which rows came to their end.

        steps  of each (n,); of a motion that failed or was cancelled, the frames that there are not
               are the last one again
        rng    one for all, in turn; or one of each, whose kicks do not depend on the others'
        """
        own: Any = rng if isinstance(rng, Sequence) else [rng] * len(P)
        P, steps = np.array(P, float), np.broadcast_to(np.asarray(steps, int), len(P))
        poses = [np.full((s // self.every + 1, 7), np.nan) for s in steps]
        done, ok = np.zeros(len(P), int), np.ones(len(P), bool)
        touching: list[Array | None] = [None] * len(P)
        while not getattr(cancel, "cancelled", False):
            left = np.flatnonzero(ok & (done < steps))
            if not len(left):
                break
            counts = np.minimum(WINDOW, steps[left] - done[left])
            runs = self._runs(P[left], counts, threads, cancel)
            for i, run in zip(left, runs, strict=True):
                if not run.ok:
                    ok[i] = False
                    continue
                end, kick, touching[i] = self._until_touch(run, touching[i], own[i])
                self._record(poses[i], run, done[i], end)
                P[i, self.start] = np.concatenate([
                    run.position[end, 0], quat_log(run.orientation[end, 0]),
                    run.velocity[end, 0], run.angular_velocity[end, 0] + kick,
                ])  # fmt: skip
                done[i] += end
        ok &= done >= steps
        for i in np.flatnonzero(~ok):
            there = np.flatnonzero(np.isfinite(poses[i][:, 0]))
            poses[i][len(there) :] = poses[i][there[-1]] if len(there) else np.nan
        return poses, ok

    def _runs(self, P: Array, counts: Array, threads: int, cancel: Any) -> list[Any]:
        from diffsim_ros import _engine

        return _engine.rollout_batch(
            self.engine, P, counts, self.options, threads=threads, cancel=cancel
        )

    def _record(self, poses: Array, run: Any, done: int, end: int) -> None:
        frames = np.arange(done, done + end + 1)
        kept = np.flatnonzero(frames % self.every == 0)
        rows = frames[kept] // self.every
        poses[rows, :3], poses[rows, 3:] = run.position[kept, 0], run.orientation[kept, 0]

    def _until_touch(
        self, run: Any, before: Array | None, rng: np.random.Generator
    ) -> tuple[int, Array, Array]:
        """Frame before the first impact or the last one, the kick there, and points that touch.

        before  those that touched, or are about to: their kick was given
        """
        touch = (np.asarray(run.modes) & 3) != 0  # (steps, points)
        first = touch[0] if before is None else before
        fresh = touch & ~np.concatenate([first[None], touch[:-1]])
        fresh[:LATER] &= ~first
        for step in np.flatnonzero(fresh.any(axis=1)):
            points = np.flatnonzero(fresh[step])
            # where they touch is known once they do, how fast they came from the frame before
            arm = run.contact_point[step + 1, points] - run.position[step + 1, 0]
            velocity = run.velocity[step, 0] + np.cross(run.angular_velocity[step, 0], arm)
            force = run.contact_force[step + 1, points].sum(axis=0)
            size = np.linalg.norm(force)
            if size == 0:
                continue
            along = force / size
            speed = float((-velocity @ along).max())
            if speed > LEAST:
                return int(step), self._kick(along, speed, rng), touch[step]
        return len(touch), np.zeros(3), touch[-1]

    def _kick(self, along: Array, speed: float, rng: np.random.Generator) -> Array:
        drawn = self.kick * speed * rng.standard_normal(3)
        return drawn - along * (along @ drawn)


def check_kick(scene: Any, kick: float) -> None:
    """InputError for a scene that has no such motions, or a kick below 0."""
    if not (np.isfinite(kick) and kick >= 0):
        raise InputError(scene.place, "kick", kick, "a number >= 0 [rad/s by m/s]")
    kinds = {name: scene.description["bodies"][name]["type"] for name in scene.bodies}
    if list(kinds.values()) != ["rigid"] or scene.parts.links or not scene.parts.contacts:
        rule = "one rigid body with contact and nothing else, for random impacts"
        raise InputError(scene.place, "bodies", kinds, rule)
