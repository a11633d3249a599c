"""Logs of a robot's joints, of files and bags, for estimation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....errors import InputError
from ....sensing.bags import is_bag
from ....sensing.observation import Observation
from ....sensing.read import read_trials


@dataclass(frozen=True)
class Topics:
    """Topics of bags that a user names: measured JointState, and commands ("none": none are
    read); "": by the robot's joints."""

    topic: str = ""
    commands: str = ""


def logs_of(
    file: str | Path,
    topics: Topics,
    joints: Collection[str] = (),
    trials: Sequence[int] | None = None,
) -> list[Observation]:
    """Trials of a log, all or these, with the joints of a robot (empty: all).

    Raises InputError as sensing.read.read_trials, and for topics of what is no bag.
    """
    reading: dict[str, Any] = {}
    if is_bag(file):
        reading = {"joints": tuple(joints), "commands": topics.commands}
    elif topics.topic or topics.commands:
        got = topics.topic or topics.commands
        raise InputError(file, "topic", got, "topics of bags alone")
    wanted = {"wanted": trials, "joints": joints}
    return read_trials(file, "joints", topics.topic, reading=reading, **wanted)
