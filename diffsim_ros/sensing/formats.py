"""Descriptions of sensors: their formats, and how trials are checked.

Every module of a sensor ends with its `SENSOR`; read.py finds the sensor of a recording. Every
module of `exports/` ends with its `EXPORT`: files of another program, which may hold several
sensors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..tables import Sheet
from .observation import Observation

Reader = Callable[..., list[Observation]]


class Format(NamedTuple):
    """One format of files.

    suffixes  of its files ("" of folders)
    holds     (names of its columns or arrays): a file with such a suffix is of this sensor
    read      (path, **options) -> observations as in the file, nothing dropped
    """

    suffixes: tuple[str, ...]
    holds: Callable[[Collection[str]], bool]
    read: Reader


class Export(NamedTuple):
    """Files of another program, told by what stands in them.

    name       of the program or format, for messages
    kinds      of sensors that it may hold
    suffixes   of its files
    holds      (first lines): they are of this format
    read       path -> observations, lost samples as NaN; units, axes, names and rate as the file
               states them, each of which is a note
    guessed    True: asked only where no sensor's own format is found
    """

    name: str
    kinds: tuple[str, ...]
    suffixes: tuple[str, ...]
    holds: Callable[[Sheet], bool]
    read: Callable[[Path], list[Observation]]
    guessed: bool = False


class SensorKind(NamedTuple):
    """One kind of sensor.

    kind      of its observations;  accepted  its formats, for messages
    formats   of files
    topics    message type -> reader of (path, topic) of a bag
    bag       (path, topic, **options): the one recording of a bag; topic "": the only one
    trials    (observation, **options) -> its trials, as estimation takes them; InputError naming
              file, trial, sample and value of the first defect
    sound     (message, place): InputError for a live message whose content is unusable; None: no
              message is, or each of its samples is judged by itself
    framed    False: the frame that its messages name means nothing
    """

    kind: str
    accepted: str
    formats: tuple[Format, ...]
    topics: Mapping[str, Reader]
    bag: Reader
    trials: Callable[..., list[Any]]
    sound: Callable[[Any, str], None] | None = None
    framed: bool = True
