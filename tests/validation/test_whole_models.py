"""validation/whole_models.py on a small legged model: beside MuJoCo, and what a bar says."""

import pytest

from validation import whole_models
from validation.whole_models import Whole

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
