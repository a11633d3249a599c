"""`diffsim init`: a commented scene and estimation for recordings of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from string import Template

import numpy as np

from ..errors import InputError, nearest
from ..sensing.check import Examined, examine
from ..sensing.observation import Observation, PoseTrial
from ..sensing.poses import TRANSFORMS, chosen_bodies
from ..sensing.read import read

YAMLS = ("scene.yaml", "estimation.yaml")
KINDS = {
    "poses": "a tossed rigid body",
    "markers": "a body released from rest, with markers",
    "clouds": "a soft body thrown onto a floor before a depth camera",
    "joints": "a robot of known URDF, commanded or with efforts",
    "wrench": "a block that is pressed onto a force-torque sensor",
}
ALWAYS_THERE = ("wrench", "joints")
"""What a robot publishes all the time counts only where nothing else is there, in this order."""
LARGEST = 5.0
"""Longest edge [m] of what is thrown, pressed or swings: a larger number is one of millimetres."""
FILL_IN = "FILL_IN"
"""Stands in the YAMLs for what no recording shows; whoever reads them refuses it by its key."""


@dataclass(frozen=True)
class Given:
    """What the user gives: edges of the body [m] (1 or 3), its mass [kg]; of a robot its URDF, and
    topics of its joints and of their commands in a bag."""

    size: tuple[float, ...] = ()
    mass: float | None = None
    urdf: Path | None = None
    topic: str = ""
    commands: str = ""

    def __post_init__(self) -> None:
        if len(self.size) not in (0, 1, 3) or not all(s > 0 and np.isfinite(s) for s in self.size):
            rule = "one or three lengths > 0 [m]"
            raise InputError("diffsim init", "--size", list(self.size), rule)
        if max(self.size, default=0.0) > LARGEST:
            metres = " ".join(f"{edge / 1e3:g}" for edge in self.size)
            rule, remedy = f"edges of at most {LARGEST:g} m", f"in millimetres? --size {metres}"
            raise InputError("diffsim init", "--size", list(self.size), rule, remedy)
        if self.mass is not None and not (self.mass > 0 and np.isfinite(self.mass)):
            raise InputError("diffsim init", "--mass", self.mass, "a number > 0 [kg]")

    @property
    def data(self) -> str:
        """Lines of `data` that name the topics, where they were given."""
        named = {"topic": self.topic, "commands": self.commands}
        return "".join(f'\n  {key}: "{value}"' for key, value in named.items() if value)


@dataclass(frozen=True)
class First:
    """Texts of the YAMLs ("" of a scene: there is none), recordings that were converted (name ->
    trials), what was assumed, what the user has to fill in: file, key and what it is, and further
    texts (name -> text)."""

    scene: str
    estimation: str
    tosses: dict[str, list[PoseTrial]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)


def streams_of(
    paths: Sequence[str | Path],
    on_progress: Callable[[str], None] | None = None,
    kind: str = "",
    body: str = "",
    topic: str = "",
) -> list[Observation]:
    """The streams of recordings that an estimation can be made of, all of one kind.

    kind   that is wanted, of KINDS; "": any, of ALWAYS_THERE only where nothing else is there
    body   whose poses are wanted, where a recording has several bodies
    topic  of the streams that are wanted, of bags
    Raises InputError where there are none, several kinds, or several bodies and none is named.
    """
    if kind and kind not in KINDS:
        raise InputError("diffsim init", "--kind", kind, "one of " + ", ".join(KINDS))
    found = [one for path in paths for one in _of_one_body(path, on_progress, body, kind, topic)]
    wanted = [{kind}] if kind else [set(KINDS) - set(ALWAYS_THERE), *({k} for k in ALWAYS_THERE)]
    groups = [[stream for stream in found if stream.kind in kinds] for kinds in wanted]
    usable = next((group for group in groups if group), [])
    place = ", ".join(map(str, paths))
    if not usable:
        got = ", ".join(f"{s.format} ({s.kind})" for s in found)
        rule = " or ".join(f"{k} of {what}" for k, what in KINDS.items() if kind in ("", k))
        raise InputError(place, "streams", got, rule)
    kinds = sorted({stream.kind for stream in usable})
    if len(kinds) > 1:
        remedy = "name the recordings apart, or the kind (--kind)"
        raise InputError(place, "streams", kinds, "recordings of one kind", remedy)
    return usable


def _of_one_body(
    path: str | Path, on_progress: Callable[[str], None] | None, body: str, kind: str, topic: str
) -> list[Observation]:
    """The streams of a recording, with the poses of one body; frames of /tf where they are all."""
    streams = read(path, on_progress)
    if topic:
        known = [stream.sensor.partition(" (")[0] for stream in streams]
        if topic not in known:
            got = ", ".join(dict.fromkeys(filter(None, known))) or "none"
            raise InputError(path, "topics", got, topic, nearest(topic, known))
        streams = [one for one, own in zip(streams, known, strict=True) if own == topic]
    others = [stream for stream in streams if stream.kind != "poses"]
    if len(others) == len(streams) or kind not in ("", "poses"):
        return streams
    if not body and others and all(s in others or s.format == TRANSFORMS for s in streams):
        return others
    return [*others, *chosen_bodies(path, streams, (body,) if body else ())]


def first(streams: Sequence[Observation], folder: Path, given: Given) -> First:
    """The first estimation of streams of one kind, to be written into `folder`.

    Raises InputError for recordings that cannot be used even so, naming file, sample and value.
    """
    examined: list[Examined] = [examine(stream) for stream in streams]
    sensor = streams[0].kind.removesuffix("s")
    maker = import_module(f".sensors.{sensor}.first_guess", __package__)
    return maker.make(examined, folder, given)


def listing(files: Sequence[str]) -> str:
    """A YAML list of file names."""
    return "[" + ", ".join(f'"{file}"' for file in files) + "]"


def last_apart(files: Sequence[str]) -> tuple[str, str]:
    """Files to train on as a YAML list, and a section `validate` of the last of several."""
    if len(files) == 1:
        return listing(files), ""
    return listing(files[:-1]), f"\n  validate:\n    files: {listing(files[-1:])}"


BARE = re.compile(r"""(?<![\w."'/-])(-?\d+)(e[-+]\d+)(?![\w."'/-])""")
"""1e-05, which YAML 1.1 takes for text."""


class _Template(Template):
    braceidpattern = r"[a-z_]+(?::[^}]*)?"


class _Formatted(dict):
    """Values by NAME or NAME:FORMAT."""

    def __missing__(self, key: str) -> str:
        name, _, spec = key.partition(":")
        return format(self[name], spec)


def filled(module: str, name: str, **values: object) -> str:
    """The text of a template beside a module, with ${NAME} and ${NAME:FORMAT} put in.

    Numbers are such as every reader of YAML takes for numbers: 1.0e-05.
    """
    text = Path(module).with_name(name).read_text(encoding="utf-8")
    return BARE.sub(r"\1.0\2", _Template(text).substitute(_Formatted(values)))
