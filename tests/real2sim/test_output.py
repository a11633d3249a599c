"""Estimations of kind outputs: a block on a load cell, with a strain gauge, from file to page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.commands import simulate_outputs
from diffsim_ros.commands.estimate import summary
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.output import (
    ColumnOptions,
    OutputExperiment,
    OutputFiles,
    OutputMeasurementOptions,
)
from diffsim_ros.scene.model import load_scene
from diffsim_ros.yaml_file import read_mapping
from tests.pages import keys_of_kind

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "config" / "estimation" / "pressed_block_outputs.yaml"
SCENE = ROOT / "config" / "scenes" / "pressed_block.yaml"
SIGMA, TARE, GAIN, STEPS = (0.02, 1e-3), 0.7, 1.1, 60


def record(path: Path, young: float, seed: int, trials: int = 2, head: str = "force [N],strain"):
    """The same press several times, each with its own noise; some samples are missing."""
    raw, _ = read_mapping(SCENE, ROOT)
    raw["bodies"]["block"]["young"] = young
    model, names = load_scene(raw), ["rest.force", "block.strain"]
    run = _engine.rollout(model.engine, model.engine.values, STEPS, model.options, outputs=names)
    assert run.ok, run.message
    force, strain = (run.outputs[name] for name in names)
    clean = np.stack([force[:STEPS, 2] + TARE, GAIN * strain[:STEPS, 0, 2]], axis=1)
    generator, rows = np.random.default_rng(seed), []
    for k in range(trials):
        noisy = clean + SIGMA * generator.normal(size=clean.shape)
        noisy[4 + k, 0] = np.nan
        rows.append(np.column_stack([run.time[:STEPS], noisy, np.full(STEPS, k)]))
    lines = [",".join("" if np.isnan(x) else f"{x:.9g}" for x in row) for row in np.vstack(rows)]
    path.write_text("\n".join([f"t [s],{head},trial", *lines]) + "\n")
    return path


def config(folder: Path, *further: str):
    files = [f"scene={SCENE}", f"data.train.files=['{folder / 'press.csv'}']"]
    return load_estimation(EXAMPLE, set=[*files, *further])


@pytest.mark.parametrize(("young", "seed"), [(1.8e4, 3)])
def test_youngs_modulus_by_a_load_cell_and_a_strain_gauge(tmp_path, young, seed):
    """Found again beside the cell's tare and the gauge's gain, predicted to the noise, shown."""
    record(tmp_path / "press.csv", young, seed, 2)
    held = record(tmp_path / "held.csv", young, seed + 1)
    result = estimate(
        config(tmp_path, f"data.validate.files=['{held}']"), out=tmp_path / "out", report=True
    )
    found = {p.name: p for p in result.parameters}
    for name, value in {"young": young, "tare": TARE, "gain": GAIN}.items():
        p = found[name]
        assert abs(p.value - value) < 3 * p.std_dev and p.std_dev < 0.05 * value, p
    figures = json.loads((tmp_path / "out" / "metrics.json").read_text())["validate"]
    assert list(figures) == ["held_0", "held_1"]
    for one in figures.values():
        assert one["force_rms"] == pytest.approx(SIGMA[0], rel=0.25)
        assert one["strain_rms"] == pytest.approx(SIGMA[1], rel=0.25)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "held_1" in page and "force [N]" in page and "RMS error in strain" in page
    assert (tmp_path / "out" / "motion.mcap").stat().st_size > 1000


def test_gradients_with_a_late_clock(tmp_path):
    record(tmp_path / "press.csv", 3e4, 5, 1)
    given = config(
        tmp_path, "measurement.delay=late",
        "parameters.late={unit: s, value: 0.001, bounds: [-0.02, 0.02], sets: {}}",
    )  # fmt: skip
    experiment = OutputExperiment(given)
    data = experiment.read({})
    assert data.missing == 1
    problem = experiment.model.problem(data.train, experiment.model.map.start)
    report = check_problem(problem, problem.start + 0.02, directions=2)
    assert report.passed, report.summary()


def test_the_table_of_a_simulation_is_such_a_log(tmp_path):
    """outputs.csv of `diffsim simulate`, its columns by their names; what is printed has them."""
    model = load_scene(SCENE)
    engine = model.engine
    asked = simulate_outputs.names(engine, fields=False)
    run = _engine.rollout(engine, engine.values, STEPS, model.options, outputs=asked)
    simulate_outputs.write(tmp_path, engine, run)
    given = config(
        tmp_path, f"data.train.files=['{tmp_path}/outputs.csv']",
        "measurement.columns={rest.force.z: {output: rest.force.z, sigma: 0.02}}",
        "parameters={young: {value: 6.0e+4, bounds: [5.0e+3, 5.0e+5], scale: log, "
        "sets: {block.young: 1}}}",
    )  # fmt: skip
    result = estimate(given)
    assert {p.name: p for p in result.parameters}["young"].value == pytest.approx(3e4, rel=1e-6)
    assert "rest_force_z_rms" in summary(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("measurement.columns={}", "columns: got {}"),
        (
            "measurement.columns={a.b: {output: rest.force.z, sigma: 1}, "
            "a_b: {output: rest.force.x, sigma: 1}}",
            "more than dots",
        ),
        ("measurement.columns.force.output=rest.forse.z", "force.output: got 'rest.forse.z'"),
        ("measurement.columns.force.output=block.von_mises", r"one of them: block.von_mises\[0\]"),
        ("measurement.columns.force.sigma=0", "force.sigma: got 0"),
        ("measurement.columns.force.scale=gian", "force.scale: got 'gian'.*gain"),
        ("measurement.columns.force.scale=0", "force.scale: got 0.0"),
        ("measurement.drift=-2", "drift: got -2.*> -1"),
        ("measurement.delay=lte", "delay: got 'lte'"),
        ("measurement.colums={}", "colums.*columns"),
    ],
)
def test_what_does_not_fit_the_scene_is_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        OutputExperiment(config(tmp_path, change))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("forse [N],strain", r"header: got .*'force'"),
        ("force [kN],strain", r"got 'force \[kN\]'; accepted: \[N\].*scale"),
    ],
)
def test_what_does_not_fit_the_files_is_named(tmp_path, head, message):
    record(tmp_path / "press.csv", 3e4, 1, 1, head)
    with pytest.raises(InputError, match=message):
        OutputExperiment(config(tmp_path)).read({})


@pytest.mark.parametrize("section", [OutputMeasurementOptions, ColumnOptions, OutputFiles.section])
def test_keys_are_documented(section):
    text = keys_of_kind("outputs")
    for name in fields_of(section):
        assert f"| `{name}` |" in text, f"estimation_keys.md does not list {section}.{name}"
