"""Estimations of kind wrenches: a block pressed on a force–torque sensor, from file to page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.wrench.experiment import (
    WrenchExperiment,
    WrenchFiles,
    WrenchMeasurementOptions,
)
from diffsim_ros.rotation import quat_exp
from tests.pages import keys_of_kind
from tests.real2sim.wrench_synthetic import HEAD, SCENE, SIGMA, record

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "config" / "estimation" / "pressed_block.yaml"
CONTACT = 2e4


def config(folder: Path, *further: str):
    files = [f"scene={SCENE}", f"data.train.files=['{folder / 'press.csv'}']"]
    return load_estimation(EXAMPLE, set=[*files, *further])


@pytest.mark.parametrize(("young", "seed"), [(1.8e4, 11), (5.0e4, 29)])
def test_youngs_modulus_of_a_pressed_block(tmp_path, young, seed):
    """Found again within its standard deviations, predicted to the noise, and shown."""
    record(tmp_path / "press.csv", young, seed, 3)
    held = record(tmp_path / "held.csv", young, seed + 1)
    result = estimate(
        config(tmp_path, f"data.validate.files=['{held}']"), out=tmp_path / "out", report=True
    )
    found = {p.name: p for p in result.parameters}
    truth = {"young": young, "contact_stiffness": CONTACT}
    for name, value in truth.items():
        p = found[name]
        assert abs(p.value - value) < p.std_dev and p.std_dev < 0.05 * value, p
    figures = json.loads((tmp_path / "out" / "metrics.json").read_text())["validate"]
    assert list(figures) == ["held_0", "held_1"]
    for one in figures.values():
        assert one["force_rms_N"] == pytest.approx(SIGMA[0], rel=0.15)
        assert one["torque_rms_Nm"] == pytest.approx(SIGMA[1], rel=0.15)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "held_1" in page and "torque [mN m]" in page and "force apart" in page
    assert (tmp_path / "out" / "motion.mcap").stat().st_size > 1000


def test_a_turned_sensor_that_is_late(tmp_path):
    """Its frame is the YAML's, its delay a parameter; gradients as by differences."""
    turn = tuple(float(x) for x in quat_exp([0.0, np.pi / 3, 0.0]))
    frame = {"origin": (0.02, 0.01, -0.05), "orientation": turn}
    record(tmp_path / "press.csv", 3e4, 5, late=0.004, **frame)
    given = config(
        tmp_path, "measurement.position=[0.02, 0.01, -0.05]",
        f"measurement.orientation={list(turn)}", "measurement.delay=late",
        "parameters.late={unit: s, value: 0.001, bounds: [-0.02, 0.02], sets: {}}",
    )  # fmt: skip
    experiment = WrenchExperiment(given)
    data = experiment.read({})
    model = experiment.model
    problem = model.problem(data.train, model.map.start)
    z = model.map.start + 0.01
    gradient = problem.evaluate(z, want="equations").gradient[0]
    for i in range(len(z)):
        step = 1e-5 * np.eye(len(z))[i]
        up, down = (problem.evaluate(z + s * step).value for s in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=2e-4)
    found = {p.name: p for p in estimate(given).parameters}
    for name, value in (("late", 0.004), ("young", 3e4)):
        assert abs(found[name].value - value) < 3 * found[name].std_dev
    assert found["late"].std_dev < 2e-4  # of 5 ms between samples


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("measurement.contacts=[rset]", r"contacts\[0\]: got 'rset'.*contacts of block.*'rest'"),
        ("measurement.contacts=[]", "contacts: got .*contacts of block: rest, push"),
        ("body=plate", "got 'rest'.*contacts of plate: push"),
        ("measurement.drift=-2", "drift: got -2.*> -1"),
        ("measurement.delay=lte", "delay: got 'lte'"),
        (
            "parameters.more={value: 1, fixed: true, sets: {rest.k_n: 1}}",
            "one parameter at most",
        ),
    ],
)
def test_what_does_not_fit_the_scene_is_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        WrenchExperiment(config(tmp_path, change))


def test_hybrid_friction_is_refused(tmp_path):
    """Its force at an instant depends on the step before."""
    scene = Path(SCENE).read_text().replace("c_f: 0.6}", "c_f: 0.6, friction: hybrid}")
    (tmp_path / "hybrid.yaml").write_text(scene)
    with pytest.raises(InputError, match=r"contacts\[0\]: got 'rest'.*linear or tanh friction"):
        WrenchExperiment(config(tmp_path, f"scene={tmp_path / 'hybrid.yaml'}"))


@pytest.mark.parametrize("start", ["-0.1", "1700000000.0"])
def test_stamps_before_the_scene_or_since_1970_are_refused(tmp_path, start):
    row = ",".join(["0"] * 6)
    later = float(start) + 0.1
    (tmp_path / "press.csv").write_text(f"{HEAD[:-6]}\n{start},{row}\n{later},{row}\n")
    with pytest.raises(InputError, match=rf"sample 0, t: got {start}; .*start of the scene"):
        WrenchExperiment(config(tmp_path)).read({})


@pytest.mark.parametrize("section", [WrenchMeasurementOptions, WrenchFiles.section])
def test_keys_are_documented(section):
    text = keys_of_kind("wrenches")
    for name in fields_of(section):
        assert f"| `{name}` |" in text, f"estimation_keys.md does not list {section}.{name}"
