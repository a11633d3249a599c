"""`./run demo cube`: measured tosses go through the nodes, on real ROS 2, and become a report.

replay publishes a cube's recorded tosses as a motion capture driver would, observer buffers and
saves what it hears, estimator fits the contact parameters to some tosses and predicts the others,
visualizer shows both. Each is a process of its own; this program only calls their services.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from diffsim_interfaces.action import Estimate
from visualization_msgs.msg import MarkerArray

from diffsim_ros.commands.running import ProgressLine, seconds
from diffsim_ros.commands.table import table
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.commander import CallFailed, Commander
from diffsim_ros.nodes.common import LATCHED, STREAM, share_folder
from diffsim_ros.nodes.convert import Answer
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.nodes.session import session
from diffsim_ros.real2sim.results import REPORT_FILES, RESULT_FILES
from diffsim_ros.sensing.tosses import toss_ids
from diffsim_ros.viz.fit_plots import with_sigma
from diffsim_ros.viz.markers import Action, Marker
from diffsim_ros.viz.render import render_png
from diffsim_ros.viz.style import MEASURED, SIMULATED

NODES = ("replay", "observer", "estimator", "visualizer")
RECORDED = {"validate": "recorded/validate.npz", "train": "recorded/train.npz"}
PICTURE = "markers.png"
FILES = (*RESULT_FILES, *REPORT_FILES, *RECORDED.values(), PICTURE)
TOPIC = "/cube/pose"
RATE_FACTOR = 10.0
GAP = 0.6
"""Seconds between two tosses, in stamps; more than the observer's trial_gap."""
SETTINGS = ("fit.search_evaluations=300",)
"""Changes of config/estimation/cube_toss.yaml that keep the demo short."""
FIGURES = {
    "position_error_m": ("position [mm]", 1e3),
    "rotation_error_deg": ("rotation [deg]", 1.0),
}
"""Figure of metrics.json -> how it is shown, and factor."""


class Demo:
    """The steps of the demo, in the order of `run`."""

    def __init__(self, folder: Path, processes: NodeProcesses, commander: Commander) -> None:
        self.folder, self.processes, self.ros = folder, processes, commander
        self.data = share_folder() / "data" / "cube_toss" / "tosses.npz"
        self.line = ProgressLine()
        self.diagnostics = commander.listen(DiagnosticArray, "/diagnostics", 10)
        self.status = commander.listen(DiagnosticStatus, "/replay/status", LATCHED)

    def run(self, train: int, validate: int, settings: Sequence[str]) -> Answer:
        """Everything; returns the estimator's answer."""
        order = np.random.default_rng(2).permutation(toss_ids(self.data)).tolist()
        chosen = {"train": order[:train], "validate": order[train : train + validate]}
        self.start()
        for role, path in RECORDED.items():
            self.record(chosen[role], self.folder / path)
        answer = self.estimate(settings)
        if answer.report:
            self.picture()
        return answer

    def start(self) -> None:
        """Start the nodes and wait until the observer hears the replay."""
        self.line.show("starting replay, observer, estimator, visualizer", "start")
        self.processes.start("observer", {"reliability": "reliable", "period": 0.2})
        replay = {"data": str(self.data), "rate_factor": RATE_FACTOR, "gap": GAP}
        self.processes.start("replay", {**replay, "autostart": False, "settle": 0.0})
        self.processes.start("estimator")
        self.processes.start("visualizer", {"pause": 0.5})
        names = self.ros.node.get_node_names
        self.ros.wait(lambda: set(NODES) <= set(names()), "the nodes", 60.0)
        self.ros.wait(lambda: self.diagnostic("publishers") == 1, "the observer to find the replay")

    def diagnostic(self, key: str) -> int:
        """A figure of the observer's last diagnostic; -1 before the first."""
        for message in self.diagnostics[-1:]:
            for status in message.status:
                values = convert.values_of(status)
                if values["topic"] == TOPIC:
                    return int(values.get(key, -1))
        return -1

    def record(self, ids: Sequence[int], path: Path) -> None:
        """Replay tosses and have the observer save what it receives of them."""
        self.ros.set_parameters("/observer", {"path": str(path), "trial_ids": list(ids)})
        self.ros.set_parameters("/replay", {"trials": list(ids)})
        self.ros.trigger("/observer/start")
        self.status.clear()
        self.ros.trigger("/replay/play")
        self.ros.wait(lambda: self._played(path.stem), "the end of the replay", 120.0)
        sent = int(convert.values_of(self.status[-1])["sent"])
        # what was sent last may still be on its way
        with contextlib.suppress(CallFailed):
            self.ros.wait(lambda: self.diagnostic("received") >= sent, "the last samples", 20.0)
        saved = self.ros.trigger("/observer/save")
        self.line.close()
        lost = sent - self.diagnostic("received")
        print(f"replay sent {sent} poses on {TOPIC}, {lost} were lost; observer saved", flush=True)
        print(f"  {saved}", flush=True)

    def _played(self, role: str) -> bool:
        """Show how far the replay is; true when all was sent."""
        if not self.status:
            return False
        values = convert.values_of(self.status[-1])
        percent = 100.0 * float(values["fraction"])
        words = f"replay, to {role} on: toss {values['trial']}, {percent:.0f} %"
        self.line.show(f"{words}, {RATE_FACTOR:g} times as fast as it happened", role)
        return values["state"] == "done"

    def estimate(self, settings: Sequence[str]) -> Answer:
        """Have the estimator fit and predict what the observer saved."""
        files = {role: [str(self.folder / path)] for role, path in RECORDED.items()}
        goal = Estimate.Goal(
            configuration=str(share_folder() / "config" / "estimation" / "cube_toss.yaml"),
            **files,
            out=str(self.folder),
            set=list(settings),
        )
        answer = self.ros.estimate(goal, self.line)
        self.line.close()
        return answer

    def picture(self) -> None:
        """Receive the visualizer's markers and render the moment with most of them."""
        self.line.show("receiving the visualizer's markers", "markers")
        scene = self.ros.listen(MarkerArray, "/visualizer/scene", LATCHED)
        motion = self.ros.listen(MarkerArray, "/visualizer/motion", STREAM)
        self.ros.wait(lambda: scene and len(motion) >= 20, "markers", 60.0)
        frames = [convert.markers(message) for message in motion]
        best = max(frames, key=lambda markers: sum(m.action is Action.ADD for m in markers))
        shown: list[Marker] = [*convert.markers(scene[-1]), *best]
        legend = [("measured", MEASURED), ("simulated", SIMULATED)]
        render_png(shown, self.folder / PICTURE, title="what rviz shows", legend=legend)
        self.line.close()


def parameter_table(answer: Answer) -> str:
    """Parameters with their standard deviations."""
    rows = [["parameter", "value ± σ", "unit", "note"]]
    for p in answer.parameters:
        rows.append([p.name, with_sigma(p.value, p.std_dev), p.unit, p.note])
    return table(rows)


def error_table(metrics: Mapping[str, float]) -> str:
    """Mean errors of the predicted tosses, with the 95 % intervals of these means."""
    count = int(metrics["validate.recordings"])
    rows = [[f"error over {count} tosses not trained on", "mean", "95 % interval"]]
    for name, (title, factor) in FIGURES.items():
        keys = (name, f"{name}_interval.0", f"{name}_interval.1")
        mean, low, high = (f"{factor * metrics[f'validate.{key}']:.1f}" for key in keys)
        rows.append([title, mean, f"{low} to {high}"])
    return table(rows)


def show(answer: Answer, folder: Path, begun: float) -> None:
    """Print what was found and where to look at it."""
    print(f"\n{parameter_table(answer)}\n\n{error_table(answer.metrics)}\n")
    if answer.message:
        print(f"estimator: {answer.code}: {answer.message}")
    print(f"report    {answer.report}\nmarkers   {folder / PICTURE}")
    rviz = share_folder() / "config" / "rviz" / "real2sim.rviz"
    data = folder / RECORDED["train"]
    print(
        "With a ROS distribution the same nodes start by\n"
        f"  ros2 launch diffsim_ros real2sim.launch.py data:={data} rviz:=true\n"
        f"  ros2 run diffsim_ros visualizer --ros-args -p result:={folder}\n"
        f"  rviz2 -d {rviz}      (and ros2 bag play {folder / 'motion.mcap'})\n"
        f"done in {seconds(time.monotonic() - begun)}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 done, 1 a node failed, 2 unusable input, 3 not converged, 130 Ctrl-C."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    parser.add_argument("--train", type=int, default=24, metavar="N", help="tosses to fit [24]")
    parser.add_argument("--validate", type=int, default=60, metavar="N", help="to predict [60]")
    parser.add_argument("--set", nargs="+", default=list(SETTINGS), metavar="KEY=VALUE",
                        help="changes of config/estimation/cube_toss.yaml")  # fmt: skip
    options = parser.parse_args(arguments)
    begun = time.monotonic()

    def work(path: Path, processes: NodeProcesses, commander: Commander) -> int:
        answer = Demo(path, processes, commander).run(options.train, options.validate, options.set)
        if answer.report:
            show(answer, path, begun)
        else:
            print(f"demo: {answer.code}: {answer.message}", file=sys.stderr)
        return {"SUCCESS": 0, "NOT_CONVERGED": 3}.get(answer.code, 1)

    return session(options.out, FILES, work)


if __name__ == "__main__":
    raise SystemExit(main())
