"""Node `planner`: a task in, a motion that reaches its goals out.

action  ~/plan                  diffsim_interfaces/Plan: feedback, can be cancelled
out     ~/trajectory            trajectory_msgs/JointTrajectory, latched: of the last plan
        ~/predicted             nav_msgs/Path, latched: of the first goal's body
        ~/markers               visualization_msgs/MarkerArray, latched: bodies, forces, targets
        ~/preview/joint_states  sensor_msgs/JointState: the trajectory, played in a loop

It calls diffsim_ros.planning in one worker thread, as the command line does; a second goal while it
works is answered BUSY at once.  Nothing is sent to a robot: the driver does that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diffsim_interfaces.action import Plan
from nav_msgs.msg import Path as PathMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from diffsim_ros._engine import CancelToken
from diffsim_ros.commands import plan as command
from diffsim_ros.commands import plan_excitation
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, STREAM, Declared, run_node
from diffsim_ros.nodes.convert_motion import joint_state_message
from diffsim_ros.nodes.convert_plan import PlanAnswer, plan_feedback, plan_result
from diffsim_ros.nodes.jobs import (
    JobNode,
    answered,
    explained,
    feedback_of,
    finish,
    goal_name,
    shown,
)
from diffsim_ros.output import OutputFolder
from diffsim_ros.planning import PlanConfig, load_plan, plan, results
from diffsim_ros.planning.excitation import design, load_excitation
from diffsim_ros.planning.excitation.result import figures as excitation_figures
from diffsim_ros.planning.replan import replan, retargeted
from diffsim_ros.planning.result import PlanResult
from diffsim_ros.real2sim.config import read_content
from diffsim_ros.scene.model import load_scene
from diffsim_ros.scene.vertices import centre_of
from diffsim_ros.viz.markers import Action, Marker
from diffsim_ros.viz.scene_markers import force_markers, picture_markers, target_markers

STATUS_CODES = {
    "reached": "SUCCESS",
    "not_reached": "NOT_CONVERGED",
    "refused": "REFUSED",
    "cancelled": "CANCELED",
}


@dataclass
class Last:
    """The last plan and the task that it was made for: the beginning of a warm start."""

    task: tuple = ()
    result: PlanResult | None = None


def solve(goal: Plan.Goal, last: Last, progress: Any, cancel: CancelToken | None) -> PlanAnswer:
    """Serve a goal; every failure becomes an answer with its code and one line."""
    folder = None
    try:
        task = (goal.task, goal.parameters, tuple(goal.set))
        warm = goal.warm_start and last.result is not None and last.task == task
        target = tuple(goal.target) or None
        content, place, base = read_content(goal.task, tuple(goal.set))
        if isinstance(content, Mapping) and "excitation" in content:
            base = Path(place) if Path(place).is_file() else base
            return _excitation(goal, content, base, progress, cancel)
        if goal.out or not warm:  # pages take seconds: no quick answer waits for them
            folder = OutputFolder(goal.out or None, command.FILES, command="plan")
        if warm:
            result = replan(last.result, target, goal.goal or None, cancel=cancel)
        else:
            config = retargeted(_configured(goal), target, goal.goal or None)
            result = plan(config, progress=progress, cancel=cancel)
        last.task, last.result = task, result
        if folder is not None:
            with folder.staging() as stage:
                command.write_all(stage, result, f"planner: {shown(goal.task)}")
    except Exception as error:
        if isinstance(error, NotConverged) and getattr(cancel, "cancelled", False):
            return PlanAnswer("CANCELED", "cancelled before a motion was found")
        return PlanAnswer(*explained(error, "INVALID_CONFIGURATION"))
    finally:
        if folder is not None:
            folder.discard_if_empty()
    return _answer(result, "" if folder is None else str((folder / "report.html").absolute()))


def _excitation(
    goal: Plan.Goal, content: Mapping, base: Any, progress: Any, cancel: CancelToken | None
) -> PlanAnswer:
    """A motion that tells most of an arm; there is nothing that moves but the arm."""
    if goal.parameters or len(goal.target):
        rule = "empty: an excitation has no scene that is estimated, and no target"
        raise InputError("request", "parameters, target", [goal.parameters, *goal.target], rule)
    config = load_excitation(content, base=base)
    with OutputFolder(goal.out or None, plan_excitation.FILES, command="plan") as folder:
        result = design(config, progress=progress, cancel=cancel)
        with folder.staging() as stage:
            plan_excitation.write_all(stage, result)
    code = "SUCCESS" if result.status == "designed" else "CANCELED"
    notes = "" if code == "SUCCESS" else "; ".join(result.notes)
    told = excitation_figures(result)
    motion, best = result.carried.trajectory, result.objective[0]
    return PlanAnswer(code, notes, motion, objective=best, metrics=told)


def _configured(goal: Plan.Goal) -> PlanConfig:
    content, place, base = read_content(goal.task, tuple(goal.set))
    if Path(place).is_file():
        base = Path(place)
    return load_plan(content, base=base, estimated=goal.parameters or None)


def _text(result: PlanResult) -> str:
    """The answer's message: why there is no plan, or what a plan misses as executed."""
    if result.status == "reached":
        return results.warning(result)
    return "; ".join(results.notes(result)) or result.status


def _answer(result: PlanResult, report: str) -> PlanAnswer:
    """The answer of a result; the path counts from the trajectory's start."""
    config, motion = result.config, result.best.motion
    state = centre_of(config.scene, motion, config.goals[0].body)
    turns = state.get("orientation", np.tile([0.0, 0.0, 0.0, 1.0], (len(motion.time), 1)))
    carried = result.carried
    begins = 0.0 if carried is None else carried.figures["scene_starts"]
    return PlanAnswer(
        STATUS_CODES[result.status],
        _text(result),
        None if carried is None else carried.trajectory,
        begins + np.asarray(motion.time),
        np.hstack([state["position"], turns]),
        result.best.objective,
        results.figures(result),
        report,
    )


def drawn(result: PlanResult, frame: str) -> list[Marker]:
    """Pictures of a plan in a frame: bodies, forces, targets, in the place of the last plan's."""
    model = load_scene(results.planned_scene(result), base=result.config.place)
    motion = result.best.motion
    found = [Marker("", 0, action=Action.DELETE_ALL)]
    found += picture_markers(model, motion) + force_markers(motion)
    found += target_markers(result.targets)
    return [replace(marker, frame_id=frame) for marker in found]


class Planner(JobNode):
    """One plan at a time, in a thread; the executor stays free for everything else."""

    PARAMETERS = (
        Declared("task", "", "PLAN.yaml for goals that name none"),
        Declared("world_frame", "world", "frame of the path and the markers"),
        Declared("feedback_rate", 10.0, "most feedback messages per second", 0.1, 1000.0),
        Declared("frame_rate", 30.0, "preview messages per second", 1.0, 240.0),
        Declared("speed", 0.5, "speed of the preview: 1 is real time", 0.001, 100.0),
        Declared("pause", 1.0, "seconds between two previews", 0.0, 60.0),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("planner", "plan", **options)
        self._last = Last()
        self._trajectory, self._begun = None, 0.0
        publish = self.create_publisher
        self._trajectories = publish(JointTrajectory, "~/trajectory", LATCHED)
        self._predicted = publish(PathMessage, "~/predicted", LATCHED)
        self._markers = publish(MarkerArray, "~/markers", LATCHED)
        self._preview = publish(JointState, "~/preview/joint_states", STREAM)
        self.create_timer(1.0 / self["frame_rate"], self._tick)
        self.offer(Plan, "~/plan", self._on_goal)

    async def _on_goal(self, handle):
        feedback = feedback_of(self, handle, plan_feedback, self["feedback_rate"])
        work = self._work(handle.request, goal_name(handle), feedback)
        answer = await answered(work, PlanAnswer)
        finish(handle, answer.code)
        return plan_result(answer, self["world_frame"])

    async def _work(self, goal: Plan.Goal, name: str, feedback: Any) -> PlanAnswer:
        """Plan in a thread and publish the result; BUSY if a plan is being made already."""
        if busy := self._job.busy():
            return PlanAnswer("BUSY", busy)
        goal.task = goal.task or self["task"]
        if not goal.task:
            error = InputError("request", "task", "", "a PLAN.yaml: path or text")
            return PlanAnswer("INVALID_CONFIGURATION", str(error))
        self.get_logger().info(f"planning {shown(goal.task)} for {name}")
        answer, markers = await self._job.run(name, partial(self._solved, goal, feedback))
        if answer.trajectory is not None or markers is not None:
            self._publish(answer, markers)
        self.get_logger().info(f"{name}: {answer.code} {answer.message}".rstrip())
        return answer

    def _solved(
        self, goal: Plan.Goal, feedback: Any, cancel: CancelToken
    ) -> tuple[PlanAnswer, MarkerArray | None]:
        """The answer and its picture, made in the job's thread: scenes take a while to load."""
        answer = solve(goal, self._last, feedback, cancel)
        if answer.code not in STATUS_CODES.values() or not len(answer.poses):
            return answer, None
        return answer, convert.marker_array(drawn(self._last.result, self["world_frame"]), 0)

    def _publish(self, answer: PlanAnswer, markers: MarkerArray | None) -> None:
        """Latch the plan, and begin to play it; None: nothing but the arm moves."""
        message = plan_result(answer, self["world_frame"])
        self._trajectories.publish(message.trajectory)
        self._predicted.publish(message.predicted)
        if markers is not None:
            self._markers.publish(markers)
        self._trajectory, self._begun = answer.trajectory, time.monotonic()

    def _tick(self) -> None:
        """The preview's next joint states."""
        motion = self._trajectory
        if motion is None:
            return
        passed = self["speed"] * (time.monotonic() - self._begun)
        at = min(passed % (motion.duration + self["pause"] * self["speed"]), motion.duration)
        q, qd, _ = motion.at(at)
        stamp = self.get_clock().now().nanoseconds
        self._preview.publish(joint_state_message(motion.names, q, qd, stamp))


main = partial(run_node, Planner)
"""Console script `planner`."""

if __name__ == "__main__":
    raise SystemExit(main())
