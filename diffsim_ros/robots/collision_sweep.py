"""The whole of a motion against pairs of solids and obstacles, between its points too.

Between two instants a solid moves no further than the sum of its joints' displacements times their
moment arms; where the distances at both ends leave that much room the motion between is clear,
elsewhere it is halved [conservative advancement: Mirtich 1996].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm
from .collision_distance import Sign, above
from .collision_solids import Solid
from .obstacles import segment_distances
from .trajectory import JointTrajectory

RESOLUTION = 2e-4
"""[m] of movement below which a motion is not halved any more."""
TINY = 1e-9
"""[m] beyond rounding."""
LEAVING = 1e-3
"""[m] by which a path that begins too near may come nearer (what distances are uncertain by) ..."""
LEAVING_SHARE = 0.05
"""... and this share of the depth."""
CHUNK = 512
"""Points of a trajectory that are checked together."""
MOST_INTERVALS = 200_000
"""Open at once: a motion that needs more keeps to its margin for long, and is refused."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A solid and another one, or an obstacle, that keep `margin` [m].

    joints  those that move them relative to each other
    """

    solid: Solid
    other: Solid | None
    name: str
    sdf: Any
    plane: tuple[np.ndarray, float] | None
    joints: frozenset[int]
    margin: float

    @property
    def names(self) -> tuple[str, str]:
        return self.solid.name, self.name


class PairDistances(Protocol):
    """The sweep's interface to the arm and its pairs (CollisionCheck)."""

    arm: Arm

    def world(self, q: np.ndarray) -> np.ndarray:
        """Poses (m, bodies + 1, 4, 4) at joint positions (m, joints)."""
        ...

    def exact(
        self, pair: Pair, world: np.ndarray, enough: np.ndarray, ask: Sign = ...
    ) -> np.ndarray:
        """Distances (m,) [m] of a pair; those beyond `enough` may be less than they are."""
        ...

    def levers(self, pair: Pair, travel: np.ndarray) -> np.ndarray:
        """[m] that a joint's unit of movement moves the pair, at most."""
        ...


@dataclass
class _Open:
    """Intervals (m,) that are not decided: times [s], distances [m] at both ends, what is asked.

    known  whether the distances at the ends are more than those of capsules
    """

    begin: np.ndarray
    end: np.ndarray
    near: np.ndarray
    pair: np.ndarray
    piece: np.ndarray
    least: np.ndarray
    known: np.ndarray

    def __getitem__(self, rows) -> _Open:
        return _Open(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class Sweep:
    """One motion's check."""

    def __init__(
        self,
        model: PairDistances,
        trajectory: JointTrajectory,
        pairs: Sequence[Pair],
        ask: Sign,
    ) -> None:
        self.model, self.trajectory, self.pairs, self.ask = model, trajectory, pairs, ask
        self.times = np.asarray(trajectory.times, float)
        if len(self.times) > 1:
            q, qd, _ = trajectory.splines
            self.speeds = np.abs(qd.c).max(axis=0)  # (pieces, joints): of the control points
            travel = np.abs(q.c).max(axis=(0, 1))
        else:
            self.speeds, travel = np.zeros((0, len(trajectory.names))), trajectory.positions[0]
        sliders = [not joint.turns for joint in model.arm.robot.joints]
        travel = np.where(sliders, np.abs(travel), 0.0)
        levers = [model.levers(pair, travel) for pair in pairs]
        self.levers = np.array(levers).reshape(len(pairs), -1)
        self.capsules = _Capsules(model, pairs)

    def sentences(self) -> list[str]:
        """What was not checked; InputError for what comes too near."""
        least, notes = self._start()
        for begin in range(0, max(len(self.times) - 1, 1), CHUNK):
            self.ask()
            rows = np.arange(begin, min(begin + CHUNK + 1, len(self.times)))
            self._chunk(rows, least)
        return notes

    def _q(self, times: np.ndarray) -> np.ndarray:
        if len(self.times) == 1:
            return np.repeat(self.trajectory.positions, len(times), axis=0)
        return self.trajectory.splines[0](times)

    def _start(self) -> tuple[dict[int, np.ndarray], list[str]]:
        """Least distances (points,) of pairs that begin nearer than the margin, and sentences.

        Those may move apart: until the margin is kept each point's least is the largest distance
        before, less what distances are uncertain by.
        """
        found, notes = {}, []
        world = self.model.world(self._q(self.times[:1]))
        for p, pair in enumerate(self.pairs):
            first, margin = self.capsules.near(world, [p])[0, 0], pair.margin
            if first >= margin:
                continue
            enough = np.array([margin])
            first = float(self.model.exact(pair, world, enough, self.ask)[0])
            if first >= margin:
                continue
            found[p] = self._leaving(p, pair, first)
            notes.append(f"{pair.solid.name} and {pair.name} are {first:.4f} m apart at the start, "
                        f"less than {margin:g} m: only that they part was checked")  # fmt: skip
        return found, notes

    def _leaving(self, p: int, pair: Pair, first: float) -> np.ndarray:
        margin, far = pair.margin, []
        for i in range(0, len(self.times), CHUNK):
            self.ask()
            world = self.model.world(self._q(self.times[i : i + CHUNK]))
            far.append(self.model.exact(pair, world, np.full(len(world), margin), self.ask))
            if far[-1].max() >= margin:
                break
        far = np.concatenate(far)
        slack = LEAVING + LEAVING_SHARE * abs(first)
        out = np.full(len(self.times), margin)
        kept = int(np.argmax(far >= margin)) if far.max() >= margin else len(far)
        out[:kept] = np.maximum.accumulate(far[:kept]) - slack
        if kept == len(self.times):
            at = float(self.times[-1])
            raise self._error(p, at, float(far[-1]), "it begins nearer: move away from it first")
        return out

    def _chunk(self, rows: np.ndarray, least: Mapping[int, np.ndarray]) -> None:
        world = self.model.world(self._q(self.times[rows]))
        near = self.capsules.near(world, range(len(self.pairs)))  # (points, pairs)
        asked = np.tile([pair.margin for pair in self.pairs], (len(rows), 1))
        for p, floor in least.items():
            asked[:, p] = floor[rows]
        if len(self.times) == 1:
            rows, near, asked = np.array([0, 0]), near[[0, 0]], asked[[0, 0]]
        pieces = rows[:-1]
        moved = self._moved(pieces, np.arange(len(self.pairs)), np.diff(self.times[rows]))
        open_ = near[:-1] + near[1:] - moved < 2 * asked[:-1]
        i, p = np.nonzero(open_)
        ends = np.stack([near[i, p], near[i + 1, p]], axis=1)
        known = np.repeat(self.capsules.exact[p][:, None], 2, axis=1)
        times = self.times[rows]
        self._decide(_Open(times[i], times[i + 1], ends, p, pieces[i], asked[i, p], known))

    def _moved(self, pieces, pairs, spans) -> np.ndarray:
        """Most [m] that pairs move in spans (m,) [s] of pieces (m,): (m, pairs)."""
        if not len(self.speeds):
            return np.zeros((len(pieces), len(pairs)))
        return (self.speeds[pieces] * spans[:, None]) @ self.levers[pairs].T

    def _decide(self, work: _Open) -> None:
        """Halve intervals until they are clear; InputError at the first that is not."""
        while len(work.begin):
            self.ask()
            moved = self._moved_each(work)
            work = self._refined(work, moved)
            low = work.near.min(axis=1)
            bad = low < work.least
            stuck = ~bad & (moved <= 2 * RESOLUTION)
            room = work.near.sum(axis=1) - moved
            stuck &= room < 2 * work.least
            if bad.any() or stuck.any():
                self._refuse(work, bad, stuck, room / 2)
            work = work[room < 2 * work.least]
            if len(work.begin) > MOST_INTERVALS:
                at = int(np.argmin(work.begin))
                raise self._error(work.pair[at], float(work.begin[at]), float(room.min() / 2),
                                  "it keeps to the margin for long: stay further off")  # fmt: skip
            work = _halves(work)

    def _moved_each(self, work: _Open) -> np.ndarray:
        if not len(self.speeds):
            return np.zeros(len(work.begin))
        spans = (work.end - work.begin)[:, None]
        return np.sum(self.speeds[work.piece] * spans * self.levers[work.pair], axis=1)

    def _refined(self, work: _Open, moved: np.ndarray) -> _Open:
        """With distances at the ends as near as they are needed; each instant once."""
        times = np.concatenate([work.begin, work.end])
        pair, known = np.tile(work.pair, 2), work.known.T.ravel()
        enough = np.tile(work.least + moved / 2 + TINY, 2)
        near = work.near.T.ravel().copy()
        todo = ~known & (near < enough)
        if not todo.any():
            return work
        instants, back = np.unique(times[todo], return_inverse=True)
        world = self.model.world(self._q(instants))
        rows, want = np.flatnonzero(todo), enough[todo]
        for p in np.unique(pair[todo]):
            mine = pair[rows] == p
            each, inverse = np.unique(back[mine], return_inverse=True)
            most = np.full(len(each), -np.inf)
            np.maximum.at(most, inverse, want[mine])
            found = self.model.exact(self.pairs[p], world[each], most, self.ask)
            near[rows[mine]] = np.maximum(near[rows[mine]], found[inverse])
        known[todo] = True
        shape = (2, len(work.begin))
        return _Open(work.begin, work.end, near.reshape(shape).T, work.pair, work.piece, work.least,
                     known.reshape(shape).T)  # fmt: skip

    def _refuse(self, work: _Open, bad: np.ndarray, stuck: np.ndarray, room: np.ndarray) -> None:
        end = work.near[:, 1] < work.near[:, 0]
        times = np.where(bad & end & (work.near[:, 0] >= work.least), work.end, work.begin)
        values = np.where(bad, np.where(times == work.end, work.near[:, 1], work.near[:, 0]), room)
        rows = np.flatnonzero(bad | stuck)
        row = rows[np.lexsort((values[rows], times[rows]))[0]]
        remedy = ""
        if work.least[row] < self.pairs[work.pair[row]].margin - 1e-12:
            remedy = "it begins nearer: move away from it first"
        raise self._error(int(work.pair[row]), float(times[row]), float(values[row]), remedy)

    def _error(self, p: int, time: float, value: float, remedy: str = "") -> InputError:
        one, other = self.pairs[p].names
        rule = f"at least {self.pairs[p].margin:g} m"
        key = f"{one} and {other} at {time:.3f} s"
        shown = math.floor(1e4 * value) / 1e4  # not up to what is accepted
        return InputError("trajectory", key, shown, rule, remedy)


class _Capsules:
    """Lower bounds of distances by capsules about solids, for many instants and pairs at once.

    exact  (pairs,) where the bound is the distance
    """

    def __init__(self, model: PairDistances, pairs: Sequence[Pair]) -> None:
        self.model, self.pairs = model, pairs
        self.exact = np.array([self._is_exact(pair) for pair in pairs], bool)
        self._of = {id(s): s.capsule() for pair in pairs for s in (pair.solid, pair.other) if s}

    @staticmethod
    def _is_exact(pair: Pair) -> bool:
        if pair.other is not None:
            return pair.solid.rounded and pair.other.rounded
        return pair.plane is not None

    def near(self, world: np.ndarray, chosen) -> np.ndarray:
        """(m, chosen) [m] at poses (m, bodies + 1, 4, 4)."""
        out, ends = np.zeros((len(world), len(chosen))), {}
        for solid in self._of:
            made = self._of[solid]
            pose = world[:, made.carrier]
            turned = made.ends @ np.swapaxes(pose[:, :3, :3], 1, 2)
            ends[solid] = turned + pose[:, None, :3, 3]
        both = [k for k, p in enumerate(chosen) if self.pairs[p].other is not None]
        if both:
            pairs = [self.pairs[chosen[k]] for k in both]
            one, other = ([id(getattr(p, side)) for p in pairs] for side in ("solid", "other"))
            radii = sum(np.array([self._of[s].radius for s in side]) for side in (one, other))
            lines = (np.stack([ends[s] for s in side], 1) for side in (one, other))
            out[:, both] = segment_distances(*lines) - radii
        for k, p in enumerate(chosen):
            if self.pairs[p].other is None:
                out[:, k] = self._to_obstacle(self.pairs[p], world, ends[id(self.pairs[p].solid)])
        return out

    def _to_obstacle(self, pair: Pair, world: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Exact of a half-space; else by balls that cover the capsule."""
        if pair.plane is not None:
            return above(pair.solid, world[:, pair.solid.carrier] @ pair.solid.pose, *pair.plane)
        capsule = self._of[id(pair.solid)]
        length = float(np.linalg.norm(capsule.ends[1] - capsule.ends[0]))
        count = int(np.ceil(length / capsule.radius)) + 1
        share = np.linspace(0, 1, count)[:, None]
        points = ends[:, :1] + share * (ends[:, 1:] - ends[:, :1])
        gaps = pair.sdf.evaluate(points.reshape(-1, 3))[0].reshape(len(ends), -1).min(axis=1)
        apart = length / max(count - 1, 1)
        return gaps - np.hypot(capsule.radius, apart / 2)


def _halves(work: _Open) -> _Open:
    """Each interval as two; what is between is not known yet."""
    middle = (work.begin + work.end) / 2
    none = np.full(len(middle), -np.inf)
    unknown = np.zeros(len(middle), bool)
    first = _Open(work.begin, middle, np.stack([work.near[:, 0], none], 1), work.pair, work.piece,
                  work.least, np.stack([work.known[:, 0], unknown], 1))  # fmt: skip
    last = _Open(middle, work.end, np.stack([none, work.near[:, 1]], 1), work.pair, work.piece,
                 work.least, np.stack([unknown, work.known[:, 1]], 1))  # fmt: skip
    both = {name: np.concatenate([getattr(first, name), getattr(last, name)])
            for name in work.__dataclass_fields__}  # fmt: skip
    return _Open(**both)
