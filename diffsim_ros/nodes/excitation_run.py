"""An excitation over ROS: designed by the planner, executed by the driver, recorded and fitted.

The bag has /joint_states with the twin's efforts; real2sim.efforts fits what it tells, beside the
twin's truth.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from diffsim_interfaces.action import Execute, Plan
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from diffsim_ros.commands.running import seconds
from diffsim_ros.commands.table import table
from diffsim_ros.commands.twin import twin_at
from diffsim_ros.errors import InputError
from diffsim_ros.nodes.bag_recorder import BagRecorder
from diffsim_ros.nodes.commander import Commander
from diffsim_ros.nodes.common import LATCHED, STREAM
from diffsim_ros.nodes.processes import NodeProcesses
from diffsim_ros.nodes.rehearsal import DryRun, Rehearsal
from diffsim_ros.output import write_json
from diffsim_ros.planning.excitation import load_excitation
from diffsim_ros.real2sim.efforts import EffortModel, EffortOptions, identify
from diffsim_ros.robots.command import NANO
from diffsim_ros.sensing.read import read_trials
from diffsim_ros.twin.efforts import JointEfforts

BAG = "experiment.mcap"
RATE = 0.5
"""Simulated seconds per second: joint states with efforts take time."""
AFTER = 0.2
"""Seconds that joints are watched after the end."""
LAWS = ("coulomb_viscous",)


class ExcitationRun(Rehearsal):
    """One excitation, from its file to what its efforts tell.

    twin  TWIN.yaml with `efforts` in place of the plan's
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
        self.config = load_excitation(task)
        self.twin = twin_at(self.place).config
        if self.twin.efforts is None:
            raise InputError(self.place, "efforts", None, "the efforts of the twin's joints")

    def begin(self, rate: float | None = None) -> None:
        """Start the nodes; rate [1] simulated seconds per second."""
        lab = {
            "twin": str(self.place), "rate_factor": float(rate or RATE),
            "state_rate": float(self.config.rate),
        }  # fmt: skip
        driver = {"lead": 0.0, "lag": self.twin.controller.dynamics.delay}
        self.start(lab, driver, {"planner": {}})

    def record(self) -> BagRecorder:
        """Begin to record joint states, at the twin's time."""
        topics = [
            ("joint_states", JointState, STREAM), ("robot_description", String, LATCHED),
            ("planner/trajectory", TrajectoryMessage, LATCHED),
        ]  # fmt: skip
        named = self.ros.node.resolve_topic_name
        found = [(named(topic), kind, profile) for topic, kind, profile in topics]
        return BagRecorder(self.ros.node, found, lambda: round(self.now * NANO))

    def executed(self, trajectory: TrajectoryMessage) -> float:
        """Have it executed; the largest tracking error [rad or m]."""
        goal = Execute.Goal(trajectory=trajectory, release=float("nan"))
        report = self.carry_out(goal, "execution")
        self.watch(self.now + AFTER)
        return float(report.tracking_error)


def fitted(loop: ExcitationRun, bag: Path) -> EffortModel:
    """What the recorded efforts tell; those of the twin are in N m."""
    robot = loop.config.arm.robot
    gains = dict.fromkeys(robot.joint_names, 1.0)
    options = EffortOptions(friction=LAWS, gains=gains)
    topic = loop.ros.node.resolve_topic_name("joint_states")
    trials = read_trials(bag, "joints", topic)
    return identify(robot, trials, options)


def beside_truth(model: EffortModel, true: JointEfforts) -> dict[str, dict[str, float]]:
    """JOINT.viscous and .coulomb -> value, sigma, truth."""
    found, names = {}, model.robot.joint_names
    spread = np.sqrt(np.diagonal(model.covariance))
    at = model.coefficients.phi.size + len(names)
    for j, own in enumerate(model.coefficients.friction):
        # armature, offset, then the law's terms
        for k, (word, values) in enumerate((("viscous", true.damping), ("coulomb", true.friction))):
            found[f"{names[j]}.{word}"] = {
                "value": float(own[2 + k]), "sigma": float(spread[at + 2 + k]),
                "truth": float(values[j] * true.gain[j]),
            }  # fmt: skip
        at += len(own)
    return found


def run(loop: ExcitationRun, changes: list[str], rate: float | None) -> int:
    """Design, execute, record, fit, write; 0."""
    begun = time.monotonic()
    loop.begin(rate)
    loop.ros.trigger("simulator/pause")  # the planner has the machine to itself
    plan: Plan.Result = loop.plan(loop.task, "plan", changes=changes)
    loop.ros.trigger("simulator/play")
    bag = loop.record()
    try:
        away = loop.executed(plan.trajectory)
    except DryRun as reason:
        print(f"designed: {loop.folder / 'plan' / 'result.yaml'}; {reason}")
        return 0
    counts = bag.write(loop.folder / BAG)
    loop.finish()
    model = fitted(loop, loop.folder / BAG)
    assert loop.twin.efforts is not None
    found = beside_truth(model, loop.twin.efforts)
    inertias = "held" if np.isinf(model.coefficients.gamma) else "estimated"
    figures: dict[str, Any] = {
        "name": loop.config.name, "tracking_error": away, "inertias": inertias,
        "bandwidth": model.bandwidth, "parameters": found, "notes": list(model.notes),
    }  # fmt: skip
    write_json(loop.folder / "metrics.json", figures)
    rows = [["parameter", "estimate", "sigma", "truth"]]
    rows += [[name, *(f"{row[k]:.3g}" for k in ("value", "sigma", "truth"))]
             for name, row in found.items()]  # fmt: skip
    print(f"\n{table(rows)}\n")
    print(f"inertias {inertias}; filter {model.bandwidth:.3g} Hz; tracking error {away:.3g} rad")
    print(f"bag       {loop.folder / BAG} ({sum(counts.values())} messages)")
    print(f"fitted in {seconds(time.monotonic() - begun)}")
    return 0
