"""A plan rehearsed over ROS by the session that demos, experiments and studies share."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from rclpy.parameter import Parameter

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import experiment
from diffsim_ros.nodes.commander import CallFailed, Commander
from diffsim_ros.nodes.common import Spinner, plan_file
from diffsim_ros.nodes.convert_motion import trajectory_message
from diffsim_ros.nodes.driver import Driver
from diffsim_ros.nodes.experiment import ExperimentRun
from diffsim_ros.nodes.rehearsal import DryRun
from diffsim_ros.nodes.simulator import Simulator
from diffsim_ros.planning import plan
from diffsim_ros.planning.executed import distances
from diffsim_ros.planning.load import load_plan
from diffsim_ros.sensing import bags
from diffsim_ros.twin.execution import executed
from diffsim_ros.twin.twin import Twin


@pytest.fixture
def lab(ros_domain, tmp_path):
    """A Commander, and simulator and driver of a plan in this process."""
    running, folder = [], tmp_path / "out"
    with Commander() as commander:

        def start(kind, **parameters):
            given = [Parameter(name, value=value) for name, value in parameters.items()]
            node = kind(parameter_overrides=given)
            running.append((node, Spinner(node)))

        start(Simulator, twin="ur5_drag", rate_factor=2.0, truth_path=str(folder / "truth"))
        start(Driver, use_sim_time=True, gripper="command")
        try:
            yield ExperimentRun(folder, None, commander, plan_file("ur5_drag"))
        finally:
            for node, spinner in reversed(running):
                node.close()
                spinner.end()
                node.destroy_node()
    assert not [spinner.failure for _, spinner in running if spinner.failure]


def test_a_plan_is_carried_out_over_ros_as_it_is_without(lab, tmp_path):
    found = plan(plan_file("ur5_drag"))
    lab.begin(planner=False)
    trajectory, figures = found.carried.trajectory, found.carried.figures
    asked = trajectory_message(trajectory), np.nan, figures["scene_starts"]
    with pytest.raises(DryRun, match="nothing was sent"):
        lab.carried_out(*asked, "dry")
    lab.ros.set_parameters("/driver", {"dry_run": False})
    bag = lab.record()
    done = lab.carried_out(*asked, "execution")
    twin = Twin(lab.twin)
    run = executed(twin.config, trajectory)
    record = twin.episode(0).play(run.motion)
    known, _ = distances(found.config, record.arrays(), figures["scene_starts"] + lab.lag)
    assert done.figures["executed"]["place"] == pytest.approx(known["place"], abs=1e-7)
    assert done.figures["tracking_error"] == pytest.approx(run.tracking_error, abs=0.005)
    assert done.figures["limits"]["velocity_share"] == pytest.approx(
        found.carried.figures["velocity_share"], rel=0.1
    )
    assert done.reached
    counts = bag.write(tmp_path / "a.mcap")
    assert counts["/joint_states"] > 50 and counts["/cube/pose"] > 50
    assert {topic: n for topic, (_, n) in bags.topics(tmp_path / "a.mcap").items()} == counts
    with pytest.raises(CallFailed, match="shoulder_pan_joint"):
        lab.carried_out(type(asked[0])(), np.nan, 0.0, "nothing")


@pytest.mark.parametrize("name", ["no_such_plan", "config/planning/drag_cube.yaml"])
def test_what_is_no_experiment_is_refused_before_a_node_starts(name, tmp_path, capsys):
    name = str(Path(__file__).parents[2] / name) if name.endswith("yaml") else name
    assert experiment.main([name, "--out", str(tmp_path / "a")]) == 2
    reported = capsys.readouterr().err
    assert "ur5_drag, ur5_" in reported or "an arm that executes the plan" in reported
    assert not (tmp_path / "a").exists()


def test_names_are_those_of_plans_with_an_arm():
    assert plan_file("ur5_throw").name == "ur5_throw.yaml"
    with pytest.raises(InputError, match="ur5_drag"):
        plan_file("throw_bob")


@pytest.mark.parametrize(("reached", "code"), [(True, 0), (False, 3)])
def test_whether_goals_were_reached_is_the_exit_code_and_in_the_metrics(
    reached, code, tmp_path, monkeypatch, capsys
):
    away = {"place": 0.001 if reached else 0.02, "rest velocity": 1e-4}
    shares = {f"{key}_share": 0.5 for key in ("position", "velocity", "acceleration")}
    reported = {"executed": away, "reached": reached, "tracking_error": 0.01, "limits": shares}
    planned = {"robot.scene_starts": 2.0} | {f"goals.{name}.distance": 3e-4 for name in away}
    metrics = [SimpleNamespace(name=name, value=value) for name, value in planned.items()]
    loop = SimpleNamespace(
        folder=tmp_path, config=load_plan(plan_file("ur5_drag")), begin=lambda rate: None,
        solved=lambda changes: SimpleNamespace(metrics=metrics, trajectory=None, release=np.nan),
        record=lambda: SimpleNamespace(write=lambda path: {"/joint_states": 3}),
        carried_out=lambda *asked: experiment.Execution(reported, reached, {}, 2.0),
    )  # fmt: skip
    monkeypatch.setattr(experiment, "picture", lambda *given: b"")
    assert experiment.run(loop, (), None) == code
    written = json.loads((tmp_path / "metrics.json").read_text())
    assert written["reached"] is reached and written["limits"] == shares
    assert written["goals"]["place"] == {
        "planned": 3e-4, "executed": away["place"], "tolerance": 0.002
    }  # fmt: skip
    assert ("reached in" if reached else "missed in") in capsys.readouterr().out
