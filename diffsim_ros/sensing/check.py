"""`diffsim check`: every stream of recordings with its figures, verdicts, and whether it is usable.

Whether a stream is usable is decided by the reader that `estimate` has for it: what that refuses is
the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import InputError
from . import findings, shape
from .clock import Timing, clock
from .findings import Finding
from .flight import GRAVITY, UNITS, Gravity, check_gravity, gravity_of
from .observation import MIN_SAMPLES, Observation
from .poses import TRANSFORMS
from .quaternion_order import Order, check_order, contradicted, order_of
from .read import read, sensors
from .record import MarkerRecorder, PoseRecorder, StreamRecorder
from .resting import resting
from .toss_file import TOSSES
from .tosses import tosses_in

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Examined:
    """One stream examined.

    gravity  from free flight, None if there is none;  metre: recorded units in a metre
    heights  of the rests along up, recorded units (k,)
    refusal  why `estimate` refuses it, None if it does not
    counts   False for a frame of /tf if something else is usable: it need not be a body's
    order    of the quaternions of poses, None of others
    """

    stream: Observation
    clock: Timing
    gravity: Gravity | None
    metre: float
    heights: np.ndarray
    found: tuple[Finding, ...]
    refusal: InputError | None
    counts: bool = True
    order: Order | None = None

    @property
    def level(self) -> str:
        """The worst of its verdicts."""
        return max((f.level for f in self.found), key=findings.LEVELS.index, default="good")

    @property
    def barring(self) -> InputError | None:
        """The refusal, where it makes the whole recording unusable."""
        return self.refusal if self.counts else None

    def figures(self) -> dict:
        """Figures for metrics.json."""
        figures = {**self.clock.plain(), "usable": int(self.refusal is None)}
        if self.stream.kind == "clouds":
            counts = [len(cloud) for cloud in self.stream.clouds]
            return {**figures, "points": {"least": min(counts), "most": max(counts)}}
        if self.stream.position is None:
            return figures
        low, high = shape.extent(self.stream.position)
        hidden = shape.missing(self.stream.position)
        figures["extent"] = {"low": low, "high": high}
        figures["unseen_share"] = dict(zip(self.stream.names, hidden.tolist(), strict=True))
        figures["lost"] = {
            f"{one.reason} ({one.name})" if one.name else one.reason: one.count
            for one in self.stream.lost
        }
        figures["outliers"] = len(shape.outliers(self.stream.position, self.clock.trial))
        if self.stream.orientation is not None:
            off = np.abs(shape.norms(self.stream.orientation) - 1.0)
            figures["quaternion_norm_error"] = float(np.nanmax(off, initial=0.0))
        g = self.gravity
        figures["gravity"] = None if g is None else {
            "vector": g.acceleration, "std_dev": g.sigma, "size": g.size, "flights": g.flights,
            "unit": g.unit, "up": g.axis, "tilt_deg": float(np.degrees(g.tilt)),
        }  # fmt: skip
        figures["ground"] = None if not len(self.heights) else {
            "rests": len(self.heights), "lowest": float(self.heights.min()),
            "median": float(np.median(self.heights)), "highest": float(self.heights.max()),
        }  # fmt: skip
        return figures

    def document(self) -> dict:
        """Its part of result.yaml."""
        return {
            "place": self.stream.place,
            "kind": self.stream.kind,
            "format": self.stream.format,
            "frame": self.stream.frame,
            "names": list(self.stream.names),
            "usable": self.refusal is None,
            "findings": [finding.plain() for finding in self.found],
        }


def examine(stream: Observation, *, assess: bool = True) -> Examined:
    """Figures and verdicts of a stream; `assess`: also whether estimation's readers accept it."""
    ticks = clock(stream.t, stream.numbers)
    found = [Finding("note", "reading", note) for note in stream.notes]
    found += findings.of_clock(ticks, stream.t) + findings.of_lost(stream)
    gravity, metre, heights, order = None, 1.0, np.zeros(0), None
    if stream.position is not None:
        found += findings.of_places(stream, ticks)
        path = _path(stream)
        strict = stream.kind != "poses"
        args = stream.t, path, ticks.trial, ticks.dt
        gravity = gravity_of(*args, strict=strict)
        metre = UNITS.get(gravity.unit, 1.0) if gravity else 1.0
        found += findings.of_gravity(stream, gravity)
    if stream.kind == "poses":
        found += findings.of_length(ticks, flying=gravity is not None)
        up = gravity.upright if gravity else UP
        heights, _ = resting(*args, up, metre)
        found += findings.of_ground(heights, metre)
        first, spin = stream.format == TOSSES, stream.values.get("spin")
        spin = None if spin is None else spin[:, 0]
        order = order_of(
            stream.t, path, stream.orientation, ticks.trial, ticks.dt, up, metre, spin, first=first
        )
        found += findings.of_order(order, first=first)
    elif stream.kind == "clouds":
        found += findings.of_clouds(stream) + findings.of_planes(stream)
    elif stream.kind == "joints":
        found += findings.of_joints(stream)
    refusal = _refusal(stream, gravity, order) if assess else None
    if refusal is not None:
        found.insert(0, Finding("unusable", "estimate", str(refusal)))
    return Examined(stream, ticks, gravity, metre, heights, tuple(found), refusal, order=order)


def _path(stream: Observation) -> np.ndarray:
    """One point of the body over time (n, 3): its origin, or the mean of markers never missing."""
    if stream.kind == "poses":
        return stream.position[:, 0]
    hidden = shape.missing(stream.position)
    return stream.position[:, hidden <= max(0.05, hidden.min())].mean(axis=1)


def _refusal(
    stream: Observation, gravity: Gravity | None, order: Order | None
) -> InputError | None:
    """The error of estimation's own reader for the stream, None if it is usable.

    Poses that never fly are no tosses: they are judged as starts `scene` and `file` take them.
    """
    try:
        if stream.kind == "poses":
            flying = gravity is not None
            trials = tosses_in(stream, MIN_SAMPLES if flying else 2)
            if flying:
                check_gravity(trials, GRAVITY)
                check_order(trials, UP)
            if order is not None and order.right is False:
                return contradicted(stream.place, order, first=stream.format == TOSSES)
        elif stream.kind != "joints" or not stream.sensor:
            sensors()[stream.kind].trials(stream)
        elif "position" in stream.values:  # of a topic: those of a bag are told apart by holes
            sensors()["joints"].trials(replace(stream, numbers=clock(stream.t, None).trial))
    except InputError as error:
        return error
    return None


def check(
    paths: Sequence[str | Path], on_progress: Callable[[str], None] | None = None
) -> tuple[list[Examined], list[InputError]]:
    """Streams of all recordings examined, and the errors of those that cannot be read at all."""
    on_progress = on_progress or (lambda text: None)
    examined: list[Examined] = []
    unreadable: list[InputError] = []
    for path in paths:
        try:
            streams = read(path, on_progress, unreadable.append)
        except InputError as error:
            unreadable.append(error)
            continue
        own = []
        for stream in streams:
            on_progress(f"examining {stream.place}, {len(stream)} samples")
            own.append(examine(stream))
        if any(one.refusal is None for one in own):
            own = [replace(one, counts=one.stream.format != TRANSFORMS) for one in own]
        examined += own
    return examined, unreadable


def contradiction(recorder: StreamRecorder) -> str:
    """What the kept samples contradict: metres, z up, free flight; "" if nothing, or not known."""
    if isinstance(recorder, PoseRecorder):
        try:
            check_gravity(recorder.trials(), GRAVITY)
        except InputError as error:
            return "" if error.key == "samples" else str(error)
    if not isinstance(recorder, MarkerRecorder):
        return ""
    try:
        whole = recorder.recording()
    except InputError as error:
        return str(error)
    found = [
        f"{finding.text}; {finding.advice}"
        for finding in examine(whole, assess=False).found
        if finding.level == "warning" and finding.about in ("units", "axis", "gravity")
    ]
    return f"{recorder.source}: {'; '.join(found)}" if found else ""
