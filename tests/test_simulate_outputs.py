"""Files of `diffsim simulate` with forces, torques, stresses: table, fields, topics."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
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
    with np.load(tmp_path / "soft_ball" / "outputs.npz") as fields:
        assert set(fields) == {"t", "ball.stress", "ball.strain", "ball.von_mises"}
        assert fields["ball.stress"].shape[::2] == (len(fields["t"]), 6)


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
    assert read_kind(out / "motion.mcap", "wrench").sensor == "/ground/wrench"
