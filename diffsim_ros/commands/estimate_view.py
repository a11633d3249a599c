"""`diffsim estimate --view`: measured against simulated motion while a fit converges."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.real2sim.experiment import experiment_of
from diffsim_ros.real2sim.results import EstimationResult

if TYPE_CHECKING:
    from diffsim_ros.real2sim.options import EstimationConfig
    from diffsim_ros.real2sim.progress import Progress
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.viewer import Viewer

SHOWN = 3
"""Recordings that are simulated anew and shown after every iteration, evenly among all."""


class FitView:
    """A progress callback that shows where the fit is.

    Recordings are simulated with the parameters of the latest report in a thread of their own:
    reports that come meanwhile are skipped, and the fit does not wait.
    Raises InputError for an estimation without a motion to be seen, or unusable recordings.
    """

    def __init__(self, viewer: Viewer, config: EstimationConfig) -> None:
        from diffsim_ros.viz.pages import sections_of

        self._viewer, self._config = viewer, config
        self._experiment = experiment_of(config)
        if not sections_of(self._result([])).plays:
            rule = "of recordings with a motion that can be drawn"
            raise InputError(config.place, "--view", config.kind, rule)
        train = self._experiment.read({"validate": ()}).train
        rows = np.unique(np.linspace(0, len(train) - 1, SHOWN).round().astype(int))
        self._trials = [train[k] for k in rows]
        self._latest: Progress | None = None
        self._new, self._closed = threading.Event(), False
        self.shown = 0
        """Reports that were simulated and shown."""
        self._thread = threading.Thread(target=self._work, name="diffsim-fit-view", daemon=True)
        self._thread.start()

    def __call__(self, progress: Progress) -> None:
        """Show a report, as soon as the one before is shown."""
        if progress.parameters:
            self._latest = progress
            self._new.set()

    def end(self, result: EstimationResult) -> None:
        """Show the predictions of the finished estimation."""
        self._closed = True
        self._new.set()
        self._thread.join()
        found = self._drawn(result)
        if found:
            values = {p.name: p.value for p in result.parameters}
            self._viewer.show(*found, text=table(result.status, values))

    def wait(self) -> None:
        """Return when Ctrl-C is pressed."""
        self._viewer.wait()

    def _work(self) -> None:
        while self._new.wait() and not self._closed:
            self._new.clear()
            progress = self._latest
            assert progress is not None
            try:
                animations = self.animations(progress)
            except (InputError, NotConverged):
                continue  # parameters of a stage with another model, or that cannot be simulated
            if animations and not self._closed:
                objective = progress.objective
                value = "" if objective is None else f", objective {objective:.5g}"
                head = f"{progress.phase}, iteration {progress.iteration}{value}"
                self._viewer.show(*animations, text=table(head, progress.parameters))
                self.shown += 1

    def animations(self, progress: Progress) -> list[Animation]:
        """The recordings that are shown, simulated with the report's parameters."""
        z = self._experiment.model.map.scaled(progress.parameters)
        # as if they were validated: from what precedes the contact, without fitted starts
        fit: Any = SimpleNamespace(z=z, y=None, kept=self._trials)
        predictions, _ = self._experiment.predictions(self._trials, fit, "validate", None)
        return self._drawn(self._result(predictions))

    def _drawn(self, result: EstimationResult) -> list[Animation]:
        from diffsim_ros.viz.pages import sections_of
        from diffsim_ros.viz.playback import Reel
        from diffsim_ros.viz.recorded import reel_animations

        if not result.predictions:
            return []
        reel = Reel()
        sections_of(result).play(reel)
        return reel_animations(reel, self._config.name)

    def _result(self, predictions: Sequence[Any]) -> EstimationResult:
        """What pages draw predictions from."""
        return EstimationResult(
            self._config.name, "under way", "", (), (), np.zeros((0, 0)), {}, (),
            tuple(predictions), {}, (), {}, {}, kind=self._config.kind,
        )  # fmt: skip


def table(head: str, values: Any) -> str:
    """A sentence and the parameters, Markdown."""
    rows = "\n".join(f"| {name} | {value:.5g} |" for name, value in values.items())
    return f"{head}\n\n| parameter | value |\n|---|---|\n{rows}"
