"""`./run demo`: from handbook values of a ball, through its recorded throws, to a throw that hits.

A twin (node simulator) stands for the lab: a UR5 holds a soft ball before a depth camera and a
tracker; what its ball and table are like is hidden in the twin. The loop, all over ROS 2:
planner plans a throw with handbook values, driver checks it and has it executed: it
misses. observer has recorded that throw and another one, estimator finds the contact's parameters
in them, and the same task is planned and executed again. `./run demo cube`: real tosses.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import Estimate, Execute, Plan

from diffsim_ros.commands.running import seconds
from diffsim_ros.commands.table import table
from diffsim_ros.nodes import demo_cube
from diffsim_ros.nodes.commander import CallFailed, Commander
from diffsim_ros.nodes.common import share_folder
from diffsim_ros.nodes.convert import Answer, values_of
from diffsim_ros.nodes.convert_plan import predicted
from diffsim_ros.nodes.demo_cube import parameter_table
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.nodes.rehearsal import Rehearsal
from diffsim_ros.nodes.session import session
from diffsim_ros.output import write_bytes, write_json
from diffsim_ros.viz.style import png_bytes
from diffsim_ros.viz.trajectory_plots import ThrowPath, throws_figure
from diffsim_ros.yaml_file import read_yaml

NAME = "foam_throw"
PICTURE = "throws.png"
FILES = ("metrics.json", PICTURE, "recorded", "truth", "prior", "aside", "estimate", "plan")
CLOUDS, POSES = "/camera/points", "/ball/pose"
RADIUS = 0.05
"""Of the ball in the picture [m]."""
QUIET = 3
"""Diagnostics in a row without a new message: the observer has caught up."""
LAG = 0.012
"""Seconds by which the arm follows its commands, as its joint states show."""
DELAY = 0.008
"""Seconds of that from the controller's time to where the twin's arm is."""
LEAD = 0.03
"""Seconds that the gripper needs to open (config/twin), as in a data sheet."""
RATE_FACTOR = 0.25
"""Simulated seconds per second: commands come on time on a busy machine as well."""
ASIDE = (-0.05, 0.15, -0.03)
"""From the task's target to that of the second recorded throw [m]."""
AFTER = 0.3
"""Seconds that a throw is watched after the time of its goal."""
SHOWN = 0.1
"""Seconds of that in the picture."""


@dataclass(frozen=True)
class ExecutedThrow:
    """A throw as it was executed: the ball's path, and how far off joints were [rad]."""

    path: ThrowPath
    tracking_error: float


class Loop(Rehearsal):
    """The stages of the demo, in the order of `run`."""

    def __init__(self, folder: Path, processes: NodeProcesses, commander: Commander) -> None:
        super().__init__(folder, processes, commander)
        config = share_folder() / "config"
        self.twin = config / "twin" / f"{NAME}.yaml"
        self.task = config / "planning" / f"{NAME}.yaml"
        self.estimation = config / "estimation" / f"{NAME}.yaml"
        (goal,) = read_yaml(self.task)["goals"]
        self.target, self.tolerance = np.array(goal["position"], float), float(goal["tolerance"])
        self.goal_time = float(goal["at"])
        self.released: dict[Path, float] = {}  # recording -> stamp [s] at which the ball was free

    def run(self) -> tuple[Answer, ExecutedThrow, ExecutedThrow]:
        """Everything: what was estimated, the throw before, the throw after."""
        self.begin()
        before = self.throw("handbook values", self.plan(self.task, "prior"))
        self.throw("aside", self.plan(self.task, "aside", target=self.target + ASIDE))
        self.ros.trigger("/simulator/pause")  # the estimator has the machine to itself
        answer = self.estimate()
        self.ros.trigger("/simulator/play")
        found = self.folder / "estimate" / "result.yaml"
        after = self.throw("estimated values", self.plan(self.task, "plan", estimated=found))
        return answer, before, after

    def begin(self) -> None:
        """Start the nodes and wait until they have found each other."""
        lab = {"twin": str(self.twin), "rate_factor": RATE_FACTOR, "cloud_quality": "reliable"}
        observer = {"cloud_topics": [CLOUDS], "pose_topics": [POSES], "reliability": "reliable",
                    "autostart": False, "period": 0.2}  # fmt: skip
        others = {"observer": observer, "planner": {}, "estimator": {}}
        self.start(lab, {"lead": LEAD, "lag": LAG}, others)
        self.diagnostics = self.ros.listen(DiagnosticArray, "/diagnostics", 10)

    def throw(self, label: str, plan: Plan.Result) -> ExecutedThrow:
        """Have the driver execute a plan, record it, and read the twin's truth."""
        number = 1 + len(self.released)
        path = self.folder / "recorded" / f"throw_{number}.mcap"
        self.ros.set_parameters("/observer", {"path": str(path)})
        self.ros.trigger("/observer/start")
        goal = Execute.Goal(trajectory=plan.trajectory, release=plan.release)
        result = self.carry_out(goal, f"throw {number}")
        self.released[path] = result.release_stamp + LEAD
        self.watch(self.released[path] + self.goal_time + AFTER)  # the ball flies on
        self._caught_up()
        self.ros.trigger("/observer/stop")
        print(f"throw {number}: {self.ros.trigger('/observer/save')}", flush=True)
        truth = self.finish()
        executed = evaluated(
            label, truth, predicted(plan), plan.release, self.target, self.goal_time
        )
        return ExecutedThrow(executed, result.tracking_error)

    def _caught_up(self) -> None:
        """Wait until the observer has worked through what was sent to it."""
        self.diagnostics.clear()
        counts: list[list[str]] = []

        def still() -> bool:
            while self.diagnostics:
                statuses = self.diagnostics.pop(0).status
                values = [values_of(status) for status in statuses]
                counts.append([v["received"] for v in values if v.get("topic") in (CLOUDS, POSES)])
            return len(counts) > QUIET and all(c == counts[-1] for c in counts[-QUIET:])

        self.ros.wait(still, "the observer to catch up", 60.0)

    def estimate(self) -> Answer:
        """Have the estimator find the contact's parameters in the throws so far."""
        files = json.dumps([str(path) for path in self.released])
        stamps = json.dumps(list(self.released.values()))
        goal = Estimate.Goal(
            configuration=str(self.estimation), out=str(self.folder / "estimate"),
            set=[f"data.train.files={files}", f"data.train.begin={stamps}"],
        )  # fmt: skip

        answer = self.ros.estimate(goal, self.line)
        self.line.close()
        if answer.code not in ("SUCCESS", "NOT_CONVERGED"):
            raise CallFailed(f"estimate: {answer.message}")
        return answer


def evaluated(
    label: str,
    truth: Mapping[str, np.ndarray],
    expected: tuple[np.ndarray, np.ndarray],
    release: float,
    target: np.ndarray,
    goal_time: float,
) -> ThrowPath:
    """The ball's true place at the goal's time, with the plan and the target.

    truth     an attempt as the twin writes it
    expected  times (n,) [s] from the trajectory's start and places (n, 3) [m], as planned
    release   [s] from there, as planned; the arm passes its state DELAY later
    """
    times, places = truth["time"] - (truth["begins"][0] + release + DELAY), truth["ball.position"]
    at = np.array([np.interp(goal_time, times, column) for column in places.T])
    last = goal_time + SHOWN
    return ThrowPath(
        label, expected[1][expected[0] - release <= last],
        places[(times >= 0) & (times <= last)], at, float(np.linalg.norm(at - target)),
    )  # fmt: skip


def figures(answer: Answer, before: ExecutedThrow, after: ExecutedThrow, tolerance: float) -> dict:
    """metrics.json: how far off, with handbook values and with those estimated."""
    return {
        "hit_error_m": after.path.error,
        "miss_error_m": before.path.error,
        "tolerance_m": tolerance,
        "tracking_error_rad": {"before": before.tracking_error, "after": after.tracking_error},
        "verdict": answer.verdict,
        "estimated": {p.name: {"value": p.value, "std_dev": p.std_dev} for p in answer.parameters},
    }


def show(
    loop: Loop, answer: Answer, before: ExecutedThrow, after: ExecutedThrow, begun: float
) -> None:
    """Write the picture and metrics.json, print the result and where the files are."""
    folder, throws = loop.folder, [before.path, after.path]
    figure = throws_figure(throws, loop.target, loop.tolerance, RADIUS)
    write_bytes(folder / PICTURE, png_bytes(figure))
    metrics = figures(answer, before, after, loop.tolerance)
    write_json(folder / "metrics.json", metrics)
    rows = [["the same task, planned with", "from the target [cm]", "tolerance [cm]"]]
    for throw in throws:
        rows.append([throw.label, f"{100 * throw.error:.1f}", f"{100 * loop.tolerance:.1f}"])
    print(f"\n{parameter_table(answer)}\n\n{table(rows)}\n")
    print(f"verdict   {answer.verdict}")
    if answer.code != "SUCCESS":
        print(f"estimate  {answer.code}: {answer.message}")
    print(f"picture   {folder / PICTURE}")
    for stage in ("prior", "estimate", "plan"):
        print(f"report    {folder / stage / 'report.html'}")
    print(
        "With a ROS distribution the same lab starts by\n"
        f"  ros2 launch diffsim_ros twin.launch.py twin:={loop.twin} rviz:=true\n"
        f"done in {seconds(time.monotonic() - begun)}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loop; 0 hit, 1 a node failed, 2 unusable input, 3 missed, 130 Ctrl-C."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["cube"]:
        return demo_cube.main(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="demo", description=__doc__.splitlines()[0],
        epilog="`demo cube`: measured tosses of a real cube; see `demo cube --help`",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    options = parser.parse_args(arguments)
    begun = time.monotonic()

    def work(path: Path, processes: NodeProcesses, commander: Commander) -> int:
        loop = Loop(path, processes, commander)
        answer, missed, hit = loop.run()
        show(loop, answer, missed, hit, begun)
        return 0 if hit.path.error <= loop.tolerance else 3

    return session(options.out, FILES, work)


if __name__ == "__main__":
    raise SystemExit(main())
