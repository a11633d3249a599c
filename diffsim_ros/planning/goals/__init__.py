"""Goals of a plan: one file a kind of goal, and its name in KINDS.

A kind has ASKED, the keys of an entry that ask for it; KEYS, all that are its own; PASSES, whether
the nearest passage may count (`softness`); check(entry), rules between keys; read(entry), its
objective (config.GoalObjective).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...fields import Reader, Section
from ...scene.model import SceneModel
from ..config import GoalObjective
from . import axis, clear_of, orientation, output, places, position, spin, velocity
from .entry import HEAD, TAIL, GoalEntry

KINDS = (position, places, velocity, spin, orientation, axis, clear_of, output)
GOAL: Section = {**HEAD, **{k: f for kind in KINDS for k, f in kind.KEYS.items()}, **TAIL}
"""Keys of an entry of `goals`."""
MOVED = 0.05
"""Difference of a goal's time from a recorded instant, over their interval, that is noted."""
ASKED = tuple(key for kind in KINDS for key in kind.ASKED)


def read_goals(
    reader: Reader, values: Iterable, scene: SceneModel
) -> tuple[list[GoalObjective], set[str], list[str]]:
    """Objectives of all entries of `goals`, the names of those that only guide the search, and
    notes on times that are no recorded instants."""
    found: list[GoalObjective] = []
    guides: set[str] = set()
    names: set[str] = set()
    notes: list[str] = []
    for i, value in enumerate(values):
        key = f"goals[{i}]"
        goal = reader.section(GOAL, value, key)
        entry, objectives = _objectives(reader, goal, key, scene)
        for objective in objectives:
            if objective.name in names:
                rule = "another name than the goals before"
                raise reader.error(f"{key}.name", objective.name, rule, "give each one a `name`")
            names.add(objective.name)
        guides |= set() if goal["required"] else {o.name for o in objectives}
        found += objectives
        notes += _moved(entry, objectives[0].name)
    return found, guides, notes


def _moved(entry: GoalEntry, name: str) -> list[str]:
    """A sentence where a goal counts at another instant than it asks for."""
    options, at = entry.scene.options, entry.goal["at"]
    interval = options.step * options.record_every
    if at is None or abs(at - entry.frames[0] * interval) <= MOVED * interval:
        return []
    return [
        f"{name} counts at {entry.frames[0] * interval:.6g} s, the recorded instant nearest to "
        f"{at:.6g} s (one in {options.record_every} steps: world.record_every)"
    ]


def _objectives(
    reader: Reader, goal: dict, key: str, scene: SceneModel
) -> tuple[GoalEntry, list[GoalObjective]]:
    """An entry, and one objective for each kind that it has keys of."""
    asked = [name for name in ASKED if goal[name] is not None]
    entry = GoalEntry(reader, goal, key, scene, asked)
    if not asked:
        rule = "at least one of " + ", ".join(ASKED)
        raise reader.error(key, sorted(k for k, v in goal.items() if v), rule)
    for kind in KINDS:
        kind.check(entry)
    kinds = [kind for kind in KINDS if set(kind.ASKED) & set(asked)]
    if goal["softness"] is not None and not all(kind.PASSES for kind in kinds):
        raise entry.error("softness", "of a goal with `position`, `positions` or `pose` alone")
    return entry, [kind.read(entry) for kind in kinds]
