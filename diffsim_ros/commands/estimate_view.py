"""`diffsim estimate --view`: measured against simulated motion while a fit converges."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.commands.live_view import LiveView, table
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.experiment import experiment_of
from diffsim_ros.real2sim.results import EstimationResult

if TYPE_CHECKING:
    from diffsim_ros.real2sim.options import EstimationConfig
    from diffsim_ros.real2sim.progress import Progress
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.viewer import Viewer

SHOWN = 3
"""Recordings that are simulated anew and shown after every iteration, evenly among all."""


class FitView(LiveView):
    """A progress callback that shows where the fit is.

    Raises InputError for an estimation without a motion to be seen, or unusable recordings.
    """

    def __init__(self, viewer: Viewer, config: EstimationConfig) -> None:
        from diffsim_ros.viz.pages import sections_of

        self._config, self._experiment = config, experiment_of(config)
        if not sections_of(self._result([])).plays:
            rule = "of recordings with a motion that can be drawn"
            raise InputError(config.place, "--view", config.kind, rule)
        train = self._experiment.read({"validate": ()}).train
        rows = np.unique(np.linspace(0, len(train) - 1, SHOWN).round().astype(int))
        self._trials = [train[k] for k in rows]
        super().__init__(viewer)

    def __call__(self, progress: Progress) -> None:
        """Take a report, if it has parameters."""
        if progress.parameters:
            self.tell(progress)

    def animations(self, report: Progress) -> Sequence[Animation]:
        """The recordings that are shown, simulated with the report's parameters."""
        parameters = self._experiment.model.map
        free = {n: v for n, v in report.parameters.items() if n in parameters.names}
        z = parameters.scaled(free)  # reports name those that are held, too
        # as if they were validated: from what precedes the contact, without fitted starts
        fit: Any = SimpleNamespace(z=z, y=None, kept=self._trials)
        predictions, _ = self._experiment.predictions(self._trials, fit, "validate", None)
        return self._drawn(self._result(predictions))

    def words(self, report: Progress) -> str:
        """Phase, iteration, objective and parameters."""
        value = "" if report.objective is None else f", objective {report.objective:.5g}"
        return table(f"{report.phase}, iteration {report.iteration}{value}", report.parameters)

    def finish(self, result: EstimationResult) -> None:
        """Show the predictions of the finished estimation."""
        values = {p.name: p.value for p in result.parameters}
        self.end(self._drawn(result), table(result.status, values))

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
