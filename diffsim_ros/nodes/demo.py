"""`./run demo`: from handbook values of a ball, through its recorded throws, to a throw that hits.

A twin (node simulator) stands for the lab: a UR5 holds a soft ball before a depth camera and a
tracker; what its ball and table are like is hidden in the twin. The loop, all over ROS 2:
planner plans a throw with handbook values, driver checks it and has it executed: it
misses. observer has recorded that throw, estimator finds the contact's parameters in it, and the
same task is planned and executed again; and once more with what all throws show, until one hits.
`--truth` changes what is hidden. `./run demo cube`: real tosses.
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
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import demo_cube
from diffsim_ros.nodes.commander import CallFailed, Commander, Gone
from diffsim_ros.nodes.common import share_folder
from diffsim_ros.nodes.convert import Answer, values_of
from diffsim_ros.nodes.convert_plan import predicted
from diffsim_ros.nodes.demo_cube import parameter_table
from diffsim_ros.nodes.demo_truth import RANDOM, changed_twin, described, read_truth
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.nodes.rehearsal import Rehearsal
from diffsim_ros.nodes.session import overload, session
from diffsim_ros.output import write_bytes, write_json, write_yaml
from diffsim_ros.viz.fit_plots import with_sigma
from diffsim_ros.viz.style import png_bytes
from diffsim_ros.viz.trajectory_plots import ThrowPath, throws_figure
from diffsim_ros.yaml_file import read_yaml

NAME = "foam_throw"
PICTURE = "throws.png"
THROWS = 4
"""At most: with handbook values, then with what one, two, three throws show."""
ESTIMATES = tuple(f"estimate_{k}" for k in range(1, THROWS))
PLANS = tuple(f"plan_{k}" for k in range(THROWS))
FILES = ("metrics.json", "twin.yaml", PICTURE, "recorded", "truth", *ESTIMATES, *PLANS)
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
AFTER = 0.3
"""Seconds that a throw is watched after the time of its goal."""
SHOWN = 0.1
"""Seconds of that in the picture."""
BEYOND = 2.0
"""Standard deviations from the truth from which on the summary says why."""
ATTEMPTS = 3
"""At a throw: a busy machine may keep a controller from answering in time."""


@dataclass(frozen=True)
class ExecutedThrow:
    """A throw as it was executed: the ball's path, and how far off joints were [rad]."""

    path: ThrowPath
    tracking_error: float


class Loop(Rehearsal):
    """The stages of the demo, in the order of `run`.

    truth     what is hidden in the twin, see demo_truth; `hidden` is the same in SI units
    executed  the throws at the target, in order;  answer  the estimator's, None before
    """

    def __init__(
        self,
        folder: Path,
        processes: NodeProcesses,
        commander: Commander,
        truth: Mapping[str, float],
    ) -> None:
        super().__init__(folder, processes, commander)
        config = share_folder() / "config"
        twin, self.hidden = changed_twin(config / "twin" / f"{NAME}.yaml", truth)
        self.twin = folder / "twin.yaml"
        write_yaml(self.twin, twin)
        self.task = config / "planning" / f"{NAME}.yaml"
        self.estimation = config / "estimation" / f"{NAME}.yaml"
        (goal,) = read_yaml(self.task)["goals"]
        self.target, self.tolerance = np.array(goal["position"], float), float(goal["tolerance"])
        self.goal_time = float(goal["at"])
        self.released: dict[Path, float] = {}  # recording -> stamp [s] at which the ball was free
        self.executed: list[ExecutedThrow] = []
        self.answer: Answer | None = None

    def run(self) -> None:
        """Everything; what was done so far is there also where a stage fails (CallFailed)."""
        self.begin()
        self._try("handbook values", self.plan(self.task, PLANS[0]))
        for k, (estimate, plan) in enumerate(zip(ESTIMATES, PLANS[1:], strict=True), 1):
            self.ros.trigger("/simulator/pause")  # the estimator has the machine to itself
            self.answer = self.estimate(estimate)
            print(f"verdict on the estimate: {self.answer.verdict}", flush=True)
            self.ros.trigger("/simulator/play")
            found = self.folder / estimate / "result.yaml"
            words = f"estimated from {k} throw{'s' if k > 1 else ''}"
            self._try(words, self.plan(self.task, plan, estimated=found))
            if self.hit:
                break

    @property
    def hit(self) -> bool:
        """Whether the last throw was within the tolerance."""
        return self.executed[-1].path.error <= self.tolerance

    def _try(self, label: str, plan: Plan.Result) -> None:
        """Throw at the target, and say how near."""
        self.executed.append(self.throw(label, plan))
        error = 100.0 * self.executed[-1].path.error
        print(f"throw {len(self.executed)}, {label}: {error:.1f} cm from the target", flush=True)

    def begin(self) -> None:
        """Start the nodes and wait until they have found each other."""
        lab = {"twin": str(self.twin), "rate_factor": RATE_FACTOR, "cloud_quality": "reliable"}
        observer = {"cloud_topics": [CLOUDS], "pose_topics": [POSES], "reliability": "reliable",
                    "autostart": False, "period": 0.2}  # fmt: skip
        others = {"observer": observer, "planner": {}, "estimator": {}}
        self.start(lab, {"lead": LEAD, "lag": LAG}, others)
        self.diagnostics = self.ros.listen(DiagnosticArray, "/diagnostics", 10)

    def throw(self, label: str, plan: Plan.Result, attempt: int = 1) -> ExecutedThrow:
        """Have the driver execute a plan, record it, and read the twin's truth.

        A throw that fails on a busy machine is begun again, with all back at its start.
        """
        number = 1 + len(self.released)
        again = "" if attempt == 1 else f"_attempt_{attempt}"
        try:
            return self._attempt(label, plan, number, f"throw_{number}{again}.mcap")
        except CallFailed as error:
            if attempt == ATTEMPTS or isinstance(error, Gone):
                raise
            print(f"{error}{overload()}; attempt {attempt + 1} of {ATTEMPTS}", flush=True)
        self.finish()
        return self.throw(label, plan, attempt + 1)

    def _attempt(self, label: str, plan: Plan.Result, number: int, name: str) -> ExecutedThrow:
        path = self.folder / "recorded" / name
        self.ros.set_parameters("/observer", {"path": str(path)})
        self.ros.trigger("/observer/start")
        goal = Execute.Goal(trajectory=plan.trajectory, release=plan.release)
        try:
            result = self.carry_out(goal, f"throw {number}")
            free = result.release_stamp + LEAD
            self.watch(free + self.goal_time + AFTER)  # the ball flies on
            self._caught_up()
        finally:  # what was seen so far
            self.ros.trigger("/observer/stop")
            print(f"throw {number}: {self.ros.trigger('/observer/save')}", flush=True)
        self.released[path] = free
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

    def estimate(self, folder: str) -> Answer:
        """Have the estimator find the contact's parameters in the throws so far."""
        files = json.dumps([str(path) for path in self.released])
        stamps = json.dumps(list(self.released.values()))
        goal = Estimate.Goal(
            configuration=str(self.estimation), out=str(self.folder / folder),
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


def figures(loop: Loop, failed: str = "") -> dict:
    """metrics.json: how far off, with handbook values and with those estimated, and the truth.

    failed  the stage that ended the demo early, and why; then what is missing is None
    """
    errors, answer = [throw.path.error for throw in loop.executed], loop.answer
    return {
        "hit_error_m": errors[-1] if len(errors) > 1 else None,
        "miss_error_m": errors[0] if errors else None,
        "tolerance_m": loop.tolerance,
        "errors_m": errors,
        "tracking_errors_rad": [throw.tracking_error for throw in loop.executed],
        "verdict": answer and answer.verdict,
        "estimated": {
            p.name: {"value": p.value, "std_dev": p.std_dev}
            for p in (answer.parameters if answer else ())
        },
        "truth": loop.hidden,
        "failed": failed,
    }  # fmt: skip


def show(loop: Loop, begun: float, failed: str = "") -> None:
    """Write the picture and metrics.json, print the result and where the files are."""
    folder, throws = loop.folder, [throw.path for throw in loop.executed]
    write_json(folder / "metrics.json", figures(loop, failed))
    if throws:
        figure = throws_figure(throws, loop.target, loop.tolerance, RADIUS)
        write_bytes(folder / PICTURE, png_bytes(figure))
    if loop.answer is not None:
        print(f"\n{parameter_table(loop.answer)}\n{_truth_line(loop)}\n")
    rows = [["the same task, planned with", "from the target [cm]", "tolerance [cm]"]]
    for throw in throws:
        rows.append([throw.label, f"{100 * throw.error:.1f}", f"{100 * loop.tolerance:.1f}"])
    print(f"{table(rows)}\n")
    if loop.answer is not None:
        print(f"verdict   {loop.answer.verdict}")
        if loop.answer.code != "SUCCESS":
            print(f"estimate  {loop.answer.code}: {loop.answer.message}")
    if throws:
        print(f"picture   {folder / PICTURE}")
    for path in sorted((folder / "recorded").glob("*.mcap")):
        print(f"recorded  {path}")
    for stage in (*ESTIMATES, *PLANS):
        if (report := folder / stage / "report.html").exists():
            print(f"report    {report}")
    print(
        "With a ROS distribution the same lab starts by\n"
        f"  ros2 launch diffsim_ros twin.launch.py twin:={loop.twin} rviz:=true\n"
        f"done in {seconds(time.monotonic() - begun)}",
        flush=True,
    )


def _truth_line(loop: Loop) -> str:
    """What was hidden, beside the estimate where the model has the same parameter."""
    found = {p.name: p for p in (loop.answer.parameters if loop.answer else ())}
    hidden = loop.hidden
    text = (
        f"hidden in the twin: friction {hidden['friction']:.3g}, a solid ball of "
        f"{hidden['young']:.3g} Pa, {hidden['viscosity']:.3g} Pa s, {hidden['density']:.3g} kg/m^3"
    )
    if "friction" not in found:
        return text
    value, sigma = found["friction"].value, found["friction"].std_dev
    text += f"; friction was estimated as {with_sigma(value, sigma)}"
    off = abs(value - hidden["friction"]) / sigma if sigma > 0.0 else 0.0
    if off > BEYOND:
        text += f", {off:.1f} sigma off: sigma does not include that the model's ball is rigid"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loop; 0 hit, 1 a node ended, 2 unusable input, 3 missed or given up, 130 Ctrl-C."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["cube"]:
        return demo_cube.main(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="demo", description=__doc__.splitlines()[0],
        epilog="`demo cube`: measured tosses of a real cube; see `demo cube --help`",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    parser.add_argument("--truth", nargs="+", default=[], metavar="KEY=VALUE",
                        help=f"what is hidden in the twin: {described()}; "
                             f"`{RANDOM}` draws what is not given")  # fmt: skip
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    try:
        truth = read_truth(options.truth)
    except InputError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2

    def work(path: Path, processes: NodeProcesses, commander: Commander) -> int:
        loop = Loop(path, processes, commander, truth)
        failed = ""
        try:
            loop.run()
        except Gone:
            raise
        except CallFailed as error:
            failed = f"{error}{overload()}"
            print(f"\ndemo: {failed}", file=sys.stderr)
        show(loop, begun, failed)
        return 0 if not failed and loop.hit else 3

    return session(options.out, FILES, work)


if __name__ == "__main__":
    raise SystemExit(main())
