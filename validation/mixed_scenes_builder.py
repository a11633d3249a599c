"""How mixed scenes are put together: names, draws, tags, and how to read their mode codes.

What occurs is drawn by `Builder.draw`, which deals: blocks of consecutive scenes see every option.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from diffsim_ros import _engine


@dataclass
class Watch:
    """Mode codes of one element, in the engine's order: its kind, number of codes and traits."""

    kind: str  # contact, limit, motor, strand, cable
    count: int
    traits: frozenset = frozenset()


@dataclass
class MixedScene:
    """An engine scene with how to run it, what it holds (tags) and how to read its mode codes."""

    engine: _engine.Scene
    steps: int
    step: float
    order: int
    tags: set
    watch: list[Watch]


@dataclass
class Actor:
    """A body or group of bodies: its contact points, and points that strings may be tied to."""

    kind: str
    points: str
    count: int  # of contact points
    hooks: list = field(default_factory=list)  # (point set, index)
    body: str = ""  # of a rigid body
    shape: object = None  # its sdf in its own frame, where it has one
    rolls: bool = False  # contact spheres on frames


class Builder:
    """The scene under construction, with names, draws and tags."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.turn, self.turns = seed, {}  # of this scene; and among those with the same choice
        self.s = _engine.Scene()
        self.tags, self.watch = set(), []
        self._names, self._draws = Counter(), Counter()
        self.step = float(self.rng.choice([1 / 300, 1 / 500, 1 / 1000]))
        self.steps = int(self.rng.integers(40, 70))

    @property
    def duration(self) -> float:
        """Time simulated [s]."""
        return self.step * self.steps

    def name(self, kind: str) -> str:
        """A new name: the kind and a number."""
        self._names[kind] += 1
        return f"{kind}{self._names[kind] - 1}"

    def draw(self, label: str, options, tag: bool = True):
        """One of the options, dealt out over consecutive turns: each draw of a scene for itself."""
        n = len(options)
        dealt = zlib.crc32(f"{label} {self._draws[label]}".encode())
        block, at = divmod(self.turn, n)
        order = np.random.default_rng([dealt, block]).permutation(n)
        choice = options[order[at]]
        before = sum(options[k] == choice for k in order[:at])
        self.turns[label] = block * sum(o == choice for o in options) + before
        self._draws[label] += 1
        if tag:
            self.tags.add(f"{label} {choice}" if isinstance(choice, str) else label)
        return choice

    def sometimes(self, label: str, share: float = 0.5) -> bool:
        """True for this share of the draws, dealt out like `draw`; tags the label where true."""
        parts = 10
        yes = self.draw(f"?{label}", range(parts), tag=False) < round(share * parts)
        if yes:
            self.tags.add(label)
        return yes

    def log_uniform(self, low: float, high: float) -> float:
        """A number between low and high, uniform in its logarithm."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def keys(self, middle, spread, least: int = 2) -> tuple[float, np.ndarray]:
        """(interval, keys (n, ...)) that begin at `middle` and wander by `spread`."""
        n = int(self.rng.integers(max(least, 2), 5))
        middle = np.asarray(middle, float)
        values = middle + spread * self.rng.normal(size=(n, *middle.shape))
        values[0] = middle
        return self.duration / (n - 0.5), values


def handle(b: Builder, place, wander: float, turn: float) -> str:
    """A driven handle at a place, moving and turning a little."""
    name = b.name("handle")
    interval, position = b.keys(place, wander)
    rotation = turn * b.rng.normal(size=position.shape)
    b.s.add_kinematic_body(
        name, interval=interval, position=position, rotation=rotation, radius=0.1
    )
    b.tags.add("handle")
    return name
