"""Files of `diffsim simulate` with forces, torques, stresses: table, fields, topics."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing import bags
from diffsim_ros.sensing.read import read_kind

ROOT = Path(__file__).resolve().parent.parent


def test_simulated_motors_have_efforts_and_soft_bodies_fields(tmp_path):
    for name, more in (("motor_pendulum", []), ("soft_ball", ["--fields"])):
        scene = yaml.safe_load((ROOT / "config" / "scenes" / f"{name}.yaml").read_text())
        scene["world"]["duration"] = 0.05
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(scene))
        place = ["--out", str(tmp_path / name)]
        assert main(["simulate", str(tmp_path / f"{name}.yaml"), *place, *more]) == 0
    bag = tmp_path / "motor_pendulum" / "motion.mcap"
    last = bags.read_messages(bag, "sensor_msgs/msg/JointState")[1][-1][1]
    head, *_, end = (bag.parent / "outputs.csv").read_text().splitlines()
    row = dict(zip(head.split(","), end.split(","), strict=True))
    assert last.name == ["shoulder"] and last.effort[0] == float(row["drive.torque [N m]"]) != 0
    model = load_scene(tmp_path / "soft_ball.yaml")
    asked = ["ball.stress", "ball.strain", "ball.von_mises"]
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options,
                          outputs=asked)  # fmt: skip
    with np.load(tmp_path / "soft_ball" / "outputs.npz") as fields:
        assert set(fields) == {"t", *asked}
        for name in asked:
            np.testing.assert_array_equal(fields[name], run.outputs[name])


def test_the_table_holds_the_contact_forces_and_the_bag_the_wrench(tmp_path):
    scene, out = ROOT / "config" / "scenes" / "cube_toss.yaml", tmp_path / "out"
    assert main(["simulate", str(scene), "--out", str(out)]) == 0
    head, *lines = (out / "outputs.csv").read_text().splitlines()
    names = head.split(",")
    table = np.array([line.split(",") for line in lines], float)
    columns = [names.index(f"ground.force.{axis} [N]") for axis in "xyz"]
    peak = json.loads((out / "metrics.json").read_text())["contact_force_peak"]
    assert np.linalg.norm(table[:, columns], axis=1).max() == pytest.approx(peak)
    assert "normal force [N]" in (out / "report.html").read_text()
    bag = out / "motion.mcap"
    assert read_kind(bag, "wrench").sensor == "/ground/wrench"
    poses = {
        (t.header.stamp.sec, t.header.stamp.nanosec): t.transform.rotation
        for _, message in bags.read_messages(bag, "tf2_msgs/msg/TFMessage", "/tf")[1]
        for t in message.transforms
        if t.child_frame_id == "cube/simulated"
    }
    sent = [m for _, m in bags.read_messages(bag, "geometry_msgs/msg/WrenchStamped")[1]]
    assert len(sent) == len(table)
    for message, force in zip(sent, table[:, columns], strict=True):  # the body's axes, the world's
        q = poses[message.header.stamp.sec, message.header.stamp.nanosec]
        own = Rotation.from_quat([q.x, q.y, q.z, q.w]).inv().apply(force)
        f = message.wrench.force
        assert message.header.frame_id == "cube/simulated"
        assert [f.x, f.y, f.z] == pytest.approx(own, abs=1e-9 * peak)
