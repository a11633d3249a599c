"""`diffsim plan --view`: the motion by the latest controls while a search converges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffsim_ros import _engine
from diffsim_ros.commands.live_view import LiveView, table
from diffsim_ros.commands.plan_motion import plan_motion
from diffsim_ros.errors import NotConverged
from diffsim_ros.planning.evaluation import places
from diffsim_ros.viz.animation import scene_animation

if TYPE_CHECKING:
    from diffsim_ros.planning.config import PlanConfig
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.viewer import Viewer

LISTED = 12
"""Controls that are shown as numbers."""


class PlanView(LiveView):
    """A callback, with controls by name, that shows the motion they lead to."""

    def __init__(self, viewer: Viewer, config: PlanConfig) -> None:
        self._config = config
        self._targets = {name: x for goal in config.goals for name, x in places(goal)}
        super().__init__(viewer)

    def __call__(self, controls: Mapping[str, float]) -> None:
        """Take controls."""
        self.tell(dict(controls))

    def animations(self, report: Mapping[str, float]) -> Sequence[Animation]:
        """The scene's motion by these controls."""
        scene, controls = self._config.scene, self._config.map
        values = controls.engine(controls.scaled(report), scene.engine.values)
        rollout = _engine.rollout(scene.engine, values, scene.steps, scene.options)
        if not rollout.ok:
            raise NotConverged(rollout.message)
        name = self._config.name
        return [scene_animation(scene, rollout, name=name, targets=self._targets, paths=True)]

    def words(self, report: Mapping[str, float]) -> str:
        """The first controls."""
        return table("search under way", dict(list(report.items())[:LISTED]))

    def finish(self, model: Any, result: Any) -> None:
        """Show the plan, with its arm."""
        controls = dict(list(result.best.controls.items())[:LISTED])
        self.end([plan_motion(model, result).animation()], table(result.status, controls))
