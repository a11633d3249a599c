"""`./run experiment NAME`: a plan with a robot arm, rehearsed in its twin over ROS, and evaluated.

The planner plans it, the driver has it executed by the twin's controller, and the plan's own
goals evaluate the twin's true motion. NAME is one of config/planning/ur5_*.yaml, or a PLAN.yaml.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from diffsim_interfaces.action import Execute, Plan
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path as PathMessage
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from visualization_msgs.msg import MarkerArray

from diffsim_ros.commands.running import seconds
from diffsim_ros.commands.table import table
from diffsim_ros.commands.twin import twin_at
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import excitation_run
from diffsim_ros.nodes.bag_recorder import BagRecorder
from diffsim_ros.nodes.commander import Commander
from diffsim_ros.nodes.common import DRIVER, LATCHED, STATIC_TF, STREAM, experiments, plan_file
from diffsim_ros.nodes.convert_frames import TFMessage
from diffsim_ros.nodes.convert_motion import command
from diffsim_ros.nodes.convert_plan import predicted
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.nodes.rehearsal import DryRun, Rehearsal
from diffsim_ros.nodes.session import session
from diffsim_ros.output import write_bytes, write_json
from diffsim_ros.planning import plan_kind
from diffsim_ros.planning.evaluation import places, tolerances
from diffsim_ros.planning.executed import distances
from diffsim_ros.planning.load import load_plan
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.twin.execution import limit_shares
from diffsim_ros.viz.style import png_bytes
from diffsim_ros.viz.trajectory_plots import BodyPath, execution_figure
from diffsim_ros.yaml_file import read_yaml

PICTURE, BAG = "experiment.png", "experiment.mcap"
FILES = ("metrics.json", PICTURE, BAG, "plan", "truth")
AFTER = 0.4
"""Seconds that bodies are watched after the end of the plan's scene: when a motion's end is
answered, the last joint states received may be 0.1 s old."""
RATES = {"release": 0.25, "end_effector": 1.0}
"""Simulated seconds per second: a gripper is commanded in time on a busy machine as well."""


@dataclass(frozen=True)
class Execution:
    """A plan as it was executed in the twin.

    figures  for metrics.json;  reached  every required goal, by the truth
    truth    of the attempt, as the twin writes it;  begins  [s] of it when the plan's scene begins
    """

    figures: Mapping
    reached: bool
    truth: Mapping[str, np.ndarray]
    begins: float


class ExperimentRun(Rehearsal):
    """One plan, from the task to its result.

    twin  TWIN.yaml or PLAN.yaml that replaces the lab
    """

    def __init__(
        self,
        folder: Path,
        processes: NodeProcesses | None,
        commander: Commander,
        task: Path,
        twin: Path | None = None,
    ) -> None:
        super().__init__(folder, processes, commander)
        self.task, self.place = task, twin or task
        self.config = load_plan(task)
        if self.config.task is None:
            raise InputError(task, "robot", None, "an arm that executes the plan")
        self.twin = twin_at(self.place).config
        self.lag = self.twin.controller.dynamics.delay
        self.lead = getattr(self.config.task, "lead", 0.0)

    def begin(self, rate: float | None = None, planner: bool = True) -> None:
        """Start the nodes; rate [1] simulated seconds per second."""
        kind = "release" if self.twin.grasp is not None else "end_effector"
        lab = {"twin": str(self.place), "rate_factor": float(rate or RATES[kind])}
        driver = {"lead": self.lead, "lag": self.lag}
        self.start(lab, driver, {"planner": {}} if planner else {})

    def topics(self) -> list[tuple]:
        """Content of an experiment's bag: (topic, type, quality of service)."""
        found = [
            ("joint_states", JointState, STREAM), ("robot_description", String, LATCHED),
            ("planner/trajectory", TrajectoryMessage, LATCHED),
            ("planner/predicted", PathMessage, LATCHED),
            ("planner/markers", MarkerArray, LATCHED),
        ]  # fmt: skip
        if TFMessage is not None:
            found += [("/tf", TFMessage, STREAM), ("/tf_static", TFMessage, STATIC_TF)]
        for body in dict.fromkeys(goal.body for goal in self.config.goals):
            found.append((f"{body}/pose", PoseStamped, DRIVER))
        named = self.ros.node.resolve_topic_name
        return [(named(topic), kind, profile) for topic, kind, profile in found]

    def record(self) -> BagRecorder:
        """Begin to record the bag, at the twin's time."""
        return BagRecorder(self.ros.node, self.topics(), lambda: round(self.now * NANO))

    def solved(self, changes: Sequence[str] = ()) -> Plan.Result:
        """Have it planned into `plan/`; `config` is what was solved (an end-effector task may have
        got more time)."""
        self.ros.trigger("simulator/pause")  # the planner has the machine to itself
        plan = self.plan(self.task, "plan", changes=changes)
        self.ros.trigger("simulator/play")
        source = read_yaml(self.folder / "plan" / "result.yaml")["config"]
        self.config = load_plan(source, base=self.task)
        return plan

    def carried_out(
        self, trajectory: TrajectoryMessage, release: float, scene_starts: float, label: str
    ) -> Execution:
        """Have a motion executed; evaluate it when the plan's scene is over.

        release, scene_starts  [s] from the motion's start, NaN: nothing is released
        """
        goal = Execute.Goal(trajectory=trajectory, release=release)
        report = self.carry_out(goal, label)
        sent = command(trajectory).trajectory(self.twin.arm.robot.joint_names)
        scene = self.config.scene
        end = scene_starts + scene.steps * scene.options.step
        self.watch(self.now + max(end + self.lag - sent.duration, 0.0) + AFTER)
        truth = self.finish()
        begun = float(truth["begins"][0])
        begins = begun + scene_starts + self.lag
        away, reached = distances(self.config, truth, begins)
        moved = JointTrajectory(
            sent.names, truth["time"], truth["joint_positions"], truth["joint_velocities"]
        )
        figures = {
            "executed": away, "reached": reached, "tracking_error": report.tracking_error,
            "limits": limit_shares(self.twin, moved),
        }  # fmt: skip
        if np.isfinite(release):
            late = float(truth["release"]) - begun - release - self.lag
            figures["release_late_s"] = late
        return Execution(figures, reached, truth, begins)


def picture(loop: ExperimentRun, plan: Plan.Result, scene_starts: float, done: Execution) -> bytes:
    """PNG of the first goal's body, planned and executed, and of the joints' differences."""
    config, truth, body = loop.config, done.truth, loop.config.goals[0].body
    times, predicted_path = predicted(plan)
    time = truth["time"] - done.begins
    last = config.scene.steps * config.scene.options.step + AFTER
    shown = time <= last
    allowed, targets = tolerances(config), {}
    interval = config.scene.options.step * config.scene.options.record_every
    for goal in (g for g in config.goals if g.body == body):
        found = places(goal)
        if goal.row is not None and len(found) == 1:
            targets[goal.name] = goal.row * interval, found[0][1], allowed[goal.name]
    sent = command(plan.trajectory).trajectory(loop.twin.arm.robot.joint_names)
    clock = time + scene_starts  # of the trajectory
    inside = (clock >= 0.0) & (clock <= sent.duration)
    away = truth["joint_positions"][inside] - sent.at(clock[inside])[0]
    figure = execution_figure(
        config.name,
        BodyPath(times - scene_starts, predicted_path),
        BodyPath(time[shown], truth[f"{body}.position"][shown]),
        targets, (time[inside], away),
    )  # fmt: skip
    return png_bytes(figure)


def run(loop: ExperimentRun, changes: Sequence[str], rate: float | None) -> int:
    """Plan, execute, evaluate, write; 0: reached, 3: missed."""
    begun = time.monotonic()
    loop.begin(rate)
    plan = loop.solved(changes)
    bag = loop.record()
    planned = {metric.name: metric.value for metric in plan.metrics}
    starts = planned["robot.scene_starts"]
    try:
        done = loop.carried_out(plan.trajectory, plan.release, starts, "execution")
    except DryRun as reason:
        print(f"planned: {loop.folder / 'plan' / 'report.html'}; {reason}")
        return 0
    allowed = tolerances(loop.config)
    goals = {
        name: {"planned": planned[f"goals.{name}.distance"], "executed": away,
               "tolerance": allowed[name]}
        for name, away in done.figures["executed"].items()
    }  # fmt: skip
    figures = {"name": loop.config.name, **done.figures}
    del figures["executed"]
    write_json(loop.folder / "metrics.json", {**figures, "goals": goals})
    write_bytes(loop.folder / PICTURE, picture(loop, plan, starts, done))
    counts = bag.write(loop.folder / BAG)
    rows = [["goal", "planned", "executed", "tolerance"]]
    rows += [[name, *(f"{goal[k]:.3g}" for k in rows[0][1:])] for name, goal in goals.items()]
    print(f"\n{table(rows)}\n")
    share = done.figures["limits"]
    print(
        f"of the limits: positions {share['position_share']:.2f}, speeds "
        f"{share['velocity_share']:.2f}, accelerations {share['acceleration_share']:.2f}; "
        f"tracking error {done.figures['tracking_error']:.3g} rad"
    )
    print(f"picture   {loop.folder / PICTURE}\nreport    {loop.folder / 'plan' / 'report.html'}")
    print(f"bag       {loop.folder / BAG} ({sum(counts.values())} messages)")
    print(f"{'reached' if done.reached else 'missed'} in {seconds(time.monotonic() - begun)}")
    return 0 if done.reached else 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment; 0 reached, 1 a node failed, 2 unusable input, 3 missed, 130 Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="experiment", description=__doc__.splitlines()[0],
        epilog=f"NAME: {', '.join(experiments())}",
    )  # fmt: skip
    parser.add_argument("name", metavar="NAME|PLAN.yaml", help="what is planned and executed")
    parser.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    parser.add_argument(
        "--twin",
        type=Path,
        metavar="TWIN.yaml",
        help="the lab [the plan's own scene]: diffsim twin",
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", metavar="KEY=VALUE", default=[],
        help="replace values of the plan, e.g. search.robust.samples=6",
    )  # fmt: skip
    parser.add_argument(
        "--here", action="store_true", help="the nodes run already, in this domain (a launch file)"
    )
    parser.add_argument("--rate", type=float, help="simulated seconds per second [0.25 to 1]")
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(remove_ros_args(given))

    def work(path: Path, processes: NodeProcesses | None, commander: Commander) -> int:
        twin, task = plan_file(options.twin) if options.twin else None, plan_file(options.name)
        if plan_kind(task) == "excitation":
            excited = excitation_run.ExcitationRun(path, processes, commander, task, twin)
            return excitation_run.run(excited, options.set, options.rate)
        loop = ExperimentRun(path, processes, commander, task, twin)
        return run(loop, options.set, options.rate)

    files = [name for name in FILES if not (options.here and name == "truth")]
    return session(options.out, files, work, "experiment", here=options.here, arguments=given)


if __name__ == "__main__":
    sys.exit(main())
