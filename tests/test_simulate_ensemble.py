"""`diffsim simulate --ensemble`."""

import csv

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.output import write_yaml
from tests.real2sim.test_draws import RESULT, SCENE

ESTIMATED = {**RESULT, "scene": {"table.c_f": 0.3, "table.k_n": 4000.0, "table.c_n": 0.4}}
SHORT = ["--ensemble", "12", "--seed", "3"]


def simulated(folder, *options):
    scene = {**SCENE, "world": {"step": 0.002, "duration": 0.3, "record_every": 5}}
    write_yaml(folder / "scene.yaml", scene)
    write_yaml(folder / "estimated.yaml", ESTIMATED)
    return main(["simulate", str(folder / "scene.yaml"), "--out", str(folder / "out"), *options])


def columns(folder):
    with (folder / "out" / "ensemble.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_an_ensemble_is_written_with_its_middle_and_spread(tmp_path, capsys):
    assert simulated(tmp_path, *SHORT, "--kick", "2") == 0
    found = columns(tmp_path)
    assert len(found["t"]) == 31 and found["t"][-1] == pytest.approx(0.3)
    assert (found["x_5"] <= found["x"] + 1e-9).all() and (found["x"] <= found["x_95"] + 1e-9).all()
    assert found["angle_90"][0] == 0 and found["angle_90"][-1] > 0.02
    result = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())["ensemble"]
    assert (result["members"], result["failed"], result["kick"], result["seed"]) == (12, 0, 2.0, 3)
    assert result["final"]["z"] == pytest.approx(found["z"][-1])


def test_members_differ_by_what_the_estimate_leaves_open(tmp_path):
    assert simulated(tmp_path, *SHORT, "--estimated", str(tmp_path / "estimated.yaml")) == 0
    found = columns(tmp_path)
    assert found["distance_90"][0] == 0 and found["distance_90"][-1] > 1e-5


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--kick", "1"], "--ensemble"),
        (["--ray", "local"], "--ensemble"),
        (["--resume", "kept"], "--ensemble"),
        (["--ensemble", "4", "--kick", "1", "--ray", "nowhere"], "HOST:PORT"),
        (["--ensemble", "1", "--kick", "1"], "2 members"),
        (["--ensemble", "4"], "--estimated, --kick"),
        (["--ensemble", "4", "--kick", "-1"], "kick"),
    ],
)
def test_unusable_options_exit_2_in_one_line(tmp_path, capsys, options, hint):
    assert simulated(tmp_path, *options) == 2
    error = capsys.readouterr().err
    assert hint in error and error.count("\n") == 1
    assert not (tmp_path / "out" / "result.yaml").exists()


def table(folder, *options):
    """ensemble.csv of a run in a new folder."""
    scene = folder.parent / "scene.yaml"
    if not scene.exists():
        world = {"step": 0.002, "duration": 0.3, "record_every": 5}
        write_yaml(scene, {**SCENE, "world": world})
    run = ["simulate", str(scene), "--out", str(folder), *SHORT, "--kick", "2", *options]
    assert main(run) == 0
    return (folder / "ensemble.csv").read_bytes()


def test_a_stopped_ensemble_goes_on_with_the_same_digits(tmp_path):
    expected, kept = table(tmp_path / "plain"), ["--resume", str(tmp_path / "kept")]
    assert table(tmp_path / "whole", *kept) == expected
    (journal,) = (tmp_path / "kept").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) == 13
    journal.write_text("".join(lines[:6]) + lines[6][:50])
    assert table(tmp_path / "stopped", *kept) == expected
    assert sorted(journal.read_text().splitlines(keepends=True)) == sorted(lines)


@pytest.mark.filterwarnings("ignore")
def test_an_ensemble_on_ray_has_the_same_digits(tmp_path):
    pytest.importorskip("ray")
    assert table(tmp_path / "ray", "--ray", "local") == table(tmp_path / "plain")
