"""`diffsim init`: files of a first estimation of one's own recordings, by what these hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import InputError
from ...sensing.check import Examined, examine
from ...sensing.streams import TRANSFORMS, Stream, read_streams
from ...sensing.trials import chosen_bodies
from . import clouds, joints, markers, tosses
from .draft import First, Given

YAMLS = ("scene.yaml", "estimation.yaml")
KINDS = {
    "poses": "a tossed rigid body",
    "markers": "a body released from rest, with markers",
    "clouds": "a soft body thrown onto a floor, seen by a depth camera",
    "joints": "a robot that was commanded, of known URDF",
}


def streams_of(
    paths: Sequence[str | Path],
    on_progress: Callable[[str], None] | None = None,
    joints: bool = False,
    body: str = "",
) -> list[Stream]:
    """The streams of recordings that an estimation can be made of, all of one kind.

    joints  those of a robot's joints are wanted; else they count only where nothing else is there
    body    whose poses are wanted, where a recording has several bodies
    Raises InputError where there are none, several kinds, or several bodies and none is named.
    """
    found = [stream for path in paths for stream in _of_one_body(path, on_progress, body)]
    robots = [stream for stream in found if stream.kind == "joints"]
    others = [stream for stream in found if stream.kind in KINDS and stream not in robots]
    usable = robots if joints else others or robots
    place = ", ".join(map(str, paths))
    if not usable:
        got = ", ".join(f"{s.what} ({s.kind})" for s in found)
        rule = " or ".join(f"{kind} of {what}" for kind, what in KINDS.items())
        raise InputError(place, "streams", got, rule)
    kinds = sorted({stream.kind for stream in usable})
    if len(kinds) > 1:
        raise InputError(place, "streams", kinds, "recordings of one kind", "name them apart")
    return usable


def _of_one_body(
    path: str | Path, on_progress: Callable[[str], None] | None, body: str
) -> list[Stream]:
    """The streams of a recording, with the poses of one body; frames of /tf where they are all."""
    streams = read_streams(path, on_progress)
    others = [stream for stream in streams if stream.kind != "poses"]
    if len(others) == len(streams):
        return streams
    if not body and others and all(s in others or s.what == TRANSFORMS for s in streams):
        return others
    return [*others, *chosen_bodies(path, streams, (body,) if body else ())]


def first(streams: Sequence[Stream], folder: Path, given: Given) -> First:
    """The first estimation of streams of one kind, to be written into `folder`.

    Raises InputError for recordings that cannot be used even so, naming file, sample and value.
    """
    examined: list[Examined] = [examine(stream) for stream in streams]
    makers = {
        "poses": tosses.make, "markers": markers.make, "clouds": clouds.make,
        "joints": joints.make,
    }  # fmt: skip
    return makers[streams[0].kind](examined, folder, given)
