"""Node `estimator`: recordings in, parameters with their uncertainty out.

action    ~/estimate            diffsim_interfaces/Estimate: feedback, can be cancelled
service   ~/estimate_material   diffsim_interfaces/EstimateMaterial: answers when done
in        `observer`/saved      std_msgs/String: the recording that source "buffer" means
out       ~/result              diffsim_interfaces/MaterialEstimate, latched: the last result

Both call diffsim_ros.real2sim.estimate.estimate in one worker thread, as the command line
does; a second request while it works is answered BUSY at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from diffsim_interfaces.action import Estimate
from diffsim_interfaces.msg import MaterialEstimate
from diffsim_interfaces.srv import EstimateMaterial
from std_msgs.msg import String

from diffsim_ros._engine import CancelToken
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, Declared, run_node
from diffsim_ros.nodes.convert import Answer
from diffsim_ros.nodes.jobs import (
    JobNode,
    answered,
    explained,
    feedback_of,
    finish,
    goal_name,
    shown,
)
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.results import EstimationResult, open_folder

SOURCES = ("recorded", "buffer")
Request = Estimate.Goal | EstimateMaterial.Request
"""Both have the same fields."""
STATUS_CODES = {
    "converged": "SUCCESS",
    "not_converged": "NOT_CONVERGED",
    "cancelled": "CANCELED",
}


def solve(goal: Request, progress: Callable | None, cancel: CancelToken | None) -> Answer:
    """Serve a goal; every failure becomes an answer with its code and one line."""
    stage = "INVALID_CONFIGURATION"
    try:
        config = load_estimation(
            goal.configuration,
            train=tuple(goal.train) or None,
            validate=tuple(goal.validate) or None,
            set=tuple(goal.set),
            parameters=tuple(goal.parameters) or None,
        )
        folder = open_folder(goal.out or None)
        stage = "INVALID_DATA"
        result = estimate(config, out=folder, progress=progress, cancel=cancel)
    except Exception as error:
        return Answer(*explained(error, stage))
    return _answer(result, (folder / "report.html").absolute())


def _answer(result: EstimationResult, report: Path) -> Answer:
    """The answer of a result: the free parameters, in the order of their correlation matrix."""
    by_name = {parameter.name: parameter for parameter in result.parameters}
    return Answer(
        STATUS_CODES[result.status],
        "" if result.converged else result.message,
        [by_name[name] for name in result.correlated],
        result.correlation,
        result.metrics,
        str(report) if report.is_file() else "",
        str(result.verdict or ""),
    )


class Estimator(JobNode):
    """One estimation at a time, in a thread; the executor stays free for everything else."""

    PARAMETERS = (
        Declared("configuration", "", "estimation YAML for requests that name none"),
        Declared("observer", "observer", "node whose ~/saved file is the source 'buffer'"),
        Declared("feedback_rate", 10.0, "most feedback messages per second", 0.1, 1000.0),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("estimator", "estimation", **options)
        self._recording = ""
        self.create_subscription(String, f"{self['observer']}/saved", self._on_saved, LATCHED)
        self._result = self.create_publisher(MaterialEstimate, "~/result", LATCHED)
        self.create_service(
            EstimateMaterial, "~/estimate_material", self._on_service, callback_group=self.together
        )
        self.offer(Estimate, "~/estimate", self._on_goal)

    def _on_saved(self, message: String) -> None:
        self._recording = message.data

    async def _on_service(self, request, response):
        work = self._work(request, "service", lambda progress: None)
        answer = await answered(work, Answer)
        return convert.answer_message(answer, response)

    async def _on_goal(self, handle):
        how = (self["feedback_rate"], lambda progress: progress.phase)
        feedback = feedback_of(self, handle, convert.feedback_message, *how)
        work = self._work(handle.request, goal_name(handle), feedback)
        answer = await answered(work, Answer)
        finish(handle, answer.code)
        return convert.answer_message(answer, Estimate.Result())

    async def _work(self, goal: Request, name: str, feedback: Callable) -> Answer:
        """Run one estimation in a thread and publish its result; BUSY if there is one already."""
        if busy := self._job.busy():
            return Answer("BUSY", busy)
        try:
            self._complete(goal)
        except InputError as error:
            return Answer("INVALID_CONFIGURATION", str(error))
        self.get_logger().info(f"estimating {shown(goal.configuration)} for {name}")
        answer = await self._job.run(name, partial(solve, goal, feedback))
        self._result.publish(convert.estimate_message(goal.configuration, answer))
        self.get_logger().info(f"{name}: {answer.code} {answer.message}".rstrip())
        return answer

    def _complete(self, goal: Request) -> None:
        """Complete a request from parameters and the observer; raises InputError."""
        if goal.source not in ("", *SOURCES):
            raise InputError("request", "source", goal.source, " or ".join(SOURCES))
        if goal.source == "buffer":
            if len(goal.train):
                raise InputError(
                    "request", "train", list(goal.train), "empty where source is buffer"
                )
            if not self._recording:
                remedy = "call ~/save of the observer first"
                raise InputError("request", "source", "buffer", "a saved recording", remedy)
            goal.train = [self._recording]
        goal.configuration = goal.configuration or self["configuration"]
        if not goal.configuration:
            raise InputError("request", "configuration", "", "an estimation YAML: path or text")


main = partial(run_node, Estimator)
"""Console script `estimator`."""

if __name__ == "__main__":
    raise SystemExit(main())
