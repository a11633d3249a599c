"""validation/whole_models.py on a small legged model: beside MuJoCo, and what a bar says."""

import pytest

from validation import whole_models
from validation.whole_models import Stance, Whole

pytest.importorskip("mujoco")

TABLE = """<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="2 2 0.1"/>
  <body name="torso" pos="0 0 0.28"><freejoint/>
    <geom type="box" size="0.2 0.1 0.04" mass="4"/>{legs}</body></worldbody>
  <actuator>{servos}</actuator></mujoco>"""
LEG = """<body name="leg{i}" pos="{x} {y} 0"><joint name="hip{i}" axis="0 1 0" damping="2"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.27" size="0.02" mass="0.3"/></body>"""


def test_a_standing_model_stands_where_mujoco_has_it(tmp_path):
    corners = [(0.15, 0.1), (0.15, -0.1), (-0.15, 0.1), (-0.15, -0.1)]
    legs = "".join(LEG.format(i=i, x=x, y=y) for i, (x, y) in enumerate(corners))
    servos = "".join(f'<position joint="hip{i}" kp="200"/>' for i in range(4))
    file = tmp_path / "table.xml"
    file.write_text(TABLE.format(legs=legs, servos=servos))
    row = whole_models.compared(file, Whole("table.xml", "torso"))
    assert row["mujoco"]["by_step"] < whole_models.SETTLED
    assert whole_models.missed_bars({"table": row}) == []
    for stepper in whole_models.STEP:  # 10 mm in the ground by the file: it was lifted
        assert row[stepper]["base"][2] == pytest.approx(0.29, abs=2e-3)
    row["implicit"]["off"] = 0.2
    row["velocity"] = {"status": "non_finite"}
    assert whole_models.missed_bars({"table": row, "other": "not installed"}) == [
        "table, implicit: off by 20.0% of its size", "table, velocity: non_finite",
    ]  # fmt: skip


URDF = """<robot name="r"><link name="base"><inertial><mass value="4"/>{moments}</inertial>
  <collision><geometry><box size="0.4 0.2 0.08"/></geometry></collision></link>{legs}</robot>"""
MOMENTS = '<inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/>'
SHANK = """<link name="leg{i}"><inertial><origin xyz="0 0 -0.2"/><mass value="0.3"/>
  <inertia ixx="0.002" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="foot{i}"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="hip{i}" type="revolute"><parent link="base"/><child link="leg{i}"/>
    <axis xyz="0 1 0"/><origin xyz="{x} {y} 0"/>
    <limit lower="-2" upper="2" effort="99" velocity="9"/></joint>
  <joint name="end{i}" type="fixed"><parent link="leg{i}"/><child link="foot{i}"/>
    <origin xyz="0 0 -0.3"/></joint>"""


def test_a_urdf_stands_on_its_servos_as_in_mujoco(tmp_path):
    corners = [(0.15, 0.1), (0.15, -0.1), (-0.15, 0.1), (-0.15, -0.1)]
    legs = "".join(SHANK.format(i=i, x=x, y=y) for i, (x, y) in enumerate(corners))
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(moments=MOMENTS, legs=legs))
    stance = Stance(0.31, (200.0, 4.0), {"calf": -1.8})
    assert (stance.angle("FL_calf_joint"), stance.angle("hip0")) == (-1.8, 0.0)
    row = whole_models.compared(file, Whole("r.urdf", "base", stance=stance))
    assert row["read"] == "URDF"
    assert row["mujoco"]["by_step"] < whole_models.SETTLED
    assert whole_models.missed_bars({"r": row}) == []
    for stepper in whole_models.STEP:
        assert row[stepper]["base"][2] == pytest.approx(row["mujoco"]["base"][2], abs=5e-3)
