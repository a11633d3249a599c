"""What the examples share: running a scene, and an outcome with figures, checks and pictures."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import diffsim_ros as ds
from diffsim_ros.viz import style
from diffsim_ros.viz.render import camera_for, render_png
from diffsim_ros.viz.scene_markers import body_markers, surroundings


@dataclass
class Outcome:
    """Figures of an experiment, statements that were checked, and pictures (name -> PNG)."""

    figures: dict[str, Any] = field(default_factory=dict)
    checks: list[tuple[str, bool]] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)

    def check(self, statement: str, holds: bool) -> None:
        """Record whether a statement holds."""
        self.checks.append((statement, bool(holds)))

    @property
    def passed(self) -> bool:
        """True if every statement holds."""
        return all(holds for _, holds in self.checks)


@dataclass
class Run:
    """A scene rolled out: model, motion, and CPU seconds that it took."""

    model: ds.Scene
    rollout: ds.Rollout
    seconds: float

    @property
    def iterations(self) -> np.ndarray:
        """Newton iterations of every step."""
        return np.asarray(self.rollout.iterations)


def run(scene: dict, *, modes: bool = False) -> Run:
    """Load and roll out a scene; NotConverged if a step did not converge."""
    model = ds.load_scene(scene)
    start = time.process_time()
    rollout = model.rollout(contact_modes=modes)
    seconds = time.process_time() - start
    return Run(model, rollout, seconds)


def instants(done: Run, frames: Any, title: str, **camera: float) -> bytes:
    """Picture of all bodies at some recorded frames, the last one solid."""
    frames = np.atleast_1d(frames)
    bodies = []
    for name in done.model.bodies:
        bodies += body_markers(done.model, done.rollout, name, frames[:-1], alpha=0.3)
        bodies += body_markers(done.model, done.rollout, name, frames[-1:])
    view = camera_for(bodies, **camera)
    return render_png(surroundings(done.model, done.rollout) + bodies, camera=view, title=title)


def curves(lines: dict[str, tuple], labels: tuple[str, str], **axes: Any) -> bytes:
    """Picture of curves: label -> (x, y); `axes` as for matplotlib's Axes.set."""
    with style.styled():
        figure = style.new_figure(7.2, 4.0)
        plot = figure.subplots()
        for (label, (x, y)), colour in zip(lines.items(), colours(), strict=False):
            plot.plot(x, y, label=label, color=colour)
        plot.set(xlabel=labels[0], ylabel=labels[1], **axes)
        plot.legend(loc="best")
    return style.png_bytes(figure)


def colours() -> tuple[str, ...]:
    """Colours of curves, in order."""
    return (*style.SERIES, style.INK)
