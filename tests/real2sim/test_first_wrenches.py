"""`diffsim init` of forces and torques: what they show is used, what they do not is asked for."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.first_guess import FILL_IN, streams_of
from diffsim_ros.rotation import quat_rotate
from diffsim_ros.sensing.bags import write_motion
from diffsim_ros.sensing.messages import Entry, write_bag
from diffsim_ros.sensing.wrench import WRENCH
from tests.real2sim.wrench_synthetic import HEAD, SIGMA, bag_of, record, wrench_message

YOUNG = 2.9e4
MOTION = (
    "[{time: 0, position: [0, 0, 0.0601]}, {time: 0.1, position: [0, 0, 0.0571]}, "
    "{time: 0.2, position: [0.001, 0, 0.0541]}]"
)
BLOCK = ("--size", "0.06", "--mass", "0.0432")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Two tables, the first of two trials, and it as a bag, of one sensor and of two."""
    folder = tmp_path_factory.mktemp("lab")
    record(folder / "press.csv", YOUNG, 3, 2)
    record(folder / "held.csv", YOUNG, 4)
    bag_of(folder / "press.mcap", folder / "press.csv")
    return folder


def init(out, *arguments):
    return main(["init", "--from", *map(str, arguments), "--out", str(out)])


def fill(out, **filled):
    """Replace what is to be filled in: KEY=VALUE of either file, each once."""
    for name in ("scene.yaml", "estimation.yaml"):
        text = (out / name).read_text()
        for key in list(filled):
            if f"{key}: {FILL_IN}" in text:
                assert text.count(f"{key}: {FILL_IN}") == 1
                text = text.replace(f"{key}: {FILL_IN}", f"{key}: {filled.pop(key)}")
        (out / name).write_text(text)
    assert not filled
    return load_estimation(out / "estimation.yaml")


def left(out):
    """Lines of both files, comments apart, in which something is to be filled in."""
    text = "".join((out / name).read_text() for name in ("scene.yaml", "estimation.yaml"))
    return [s for line in text.splitlines() if FILL_IN in (s := line.partition("#")[0].strip())]


@pytest.mark.parametrize("name", ["press.csv", "press.mcap"])
def test_what_is_written_is_an_estimation_once_it_is_filled_in(lab, tmp_path, capsys, name):
    out = tmp_path / "out"
    assert init(out, lab / name, lab / "held.csv", *BLOCK) == 0
    said = capsys.readouterr().out
    assert "fill in: scene.yaml: bodies.plate.waypoints" in said
    assert "fill in: estimation.yaml: measurement.position" in said
    assert said.count("fill in: ") == 2 == len(left(out))
    assert "next: fill in what is named above, then diffsim estimate" in said
    assert main(["estimate", str(out / "estimation.yaml"), "--out", str(tmp_path / "no")]) == 2
    refused = capsys.readouterr().err
    assert "measurement.position: got 'FILL_IN'; accepted: three finite numbers" in refused
    fill(out, position="[0, 0, -0.02]")
    assert main(["estimate", str(out / "estimation.yaml"), "--out", str(tmp_path / "no")]) == 2
    assert "plate.waypoints: got 'FILL_IN'; accepted: a list" in capsys.readouterr().err
    config = fill(out, waypoints=MOTION)
    assert (config.free, len(config.train.files)) == (("young", "delay"), 1)
    assert config.validate.files[0].name == "held.csv"
    assert config.measurement.sigma_force == pytest.approx(SIGMA[0], rel=0.2)
    assert config.measurement.sigma_torque == pytest.approx(SIGMA[1], rel=0.2)
    assert config.measurement.orientation == (0.0, 0.0, 0.0, 1.0)
    # mesh and contacts as in the twin that was recorded
    text = re.sub(r"k_n: \S+,", "k_n: 2.0e+4, k_t: 50,", (out / "scene.yaml").read_text())
    (out / "scene.yaml").write_text(text.replace("cells: [3, 3, 3]", "cells: [2, 2, 2]"))
    config = load_estimation(out / "estimation.yaml")
    own = replace(config, fit=replace(config.fit, check_mesh=False))  # the truth is of this mesh
    result = estimate(own, report=False)
    assert result.status == "converged"
    found = {p.name: p for p in result.parameters}
    assert abs(found["young"].value - YOUNG) < 4 * found["young"].std_dev < 0.01 * YOUNG
    assert abs(found["delay"].value) < 4 * found["delay"].std_dev


def test_without_size_and_mass_these_are_asked_for(lab, tmp_path, capsys):
    assert init(tmp_path / "out", lab / "press.csv") == 0
    said = capsys.readouterr().out
    assert "block.shape.box.size: the block's edges [m] (--size)" in said
    assert "fill in: scene.yaml: bodies.block.pose.position" in said
    assert "the density is a guess, 100 kg/m^3" in said
    assert said.count("fill in: ") == 4 == len(left(tmp_path / "out"))
    assert init(tmp_path / "mass", lab / "press.csv", "--mass", "0.0432") == 0
    assert "bodies.block.density: 0.0432 kg over its volume" in capsys.readouterr().out
    assert len(left(tmp_path / "mass")) == 5


@pytest.mark.parametrize(
    ("turn", "down"),
    [
        (np.diag([1.0, -1, -1]), "+z"),
        (np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]), "-x"),
        (None, ""),
    ],
)
def test_the_axis_of_the_press_turns_the_sensor(lab, tmp_path, capsys, turn, down):
    rows = np.loadtxt(lab / "press.csv", delimiter=",", skiprows=1)
    if turn is None:
        rows[:, 1:4] = rows[:, 3:4]  # as much force along every axis
    else:
        rows[:, 1:4], rows[:, 4:7] = rows[:, 1:4] @ turn.T, rows[:, 4:7] @ turn.T
    np.savetxt(tmp_path / "turned.csv", rows, delimiter=",", header=HEAD, comments="")
    assert init(tmp_path / "out", tmp_path / "turned.csv", *BLOCK) == 0
    said = capsys.readouterr().out
    if turn is None:
        assert "measurement.orientation: no axis of the sensor has most" in said
        assert f"orientation: {FILL_IN}" in left(tmp_path / "out")
        return
    assert f"the press is along {down} of the sensor, which so points down" in said
    config = fill(tmp_path / "out", position="[0, 0, 0]", waypoints=MOTION)
    orientation = np.array(config.measurement.orientation)
    hardest = rows[np.argmax(np.linalg.norm(rows[:, 1:4], axis=1)), 1:4]
    force = quat_rotate(orientation, hardest)
    assert force[2] < -0.99 * np.linalg.norm(force)


def test_of_several_sensors_the_one_that_is_pressed_is_named(lab, tmp_path, capsys):
    rows = np.loadtxt(lab / "press.csv", delimiter=",", skiprows=1)
    entries = []
    for k, row in enumerate(rows[:60]):
        for topic, factor in (("/a/idle", 0.01), ("/ft/wrench", 1.0)):

            def built(k=k, row=row, factor=factor):
                return wrench_message(10**18 + k * 5 * 10**6, factor * row[1:7])

            entries.append(Entry(10**18 + k * 5 * 10**6, topic, WRENCH, built))
    write_bag(tmp_path / "two.mcap", entries)
    assert init(tmp_path / "out", tmp_path / "two.mcap", *BLOCK) == 0
    said = capsys.readouterr().out
    assert "the sensor is /ft/wrench, which shows the most force (not /a/idle)" in said
    assert "  topic: /ft/wrench\n" in (tmp_path / "out" / "estimation.yaml").read_text()
    other = bag_of(tmp_path / "other.mcap", lab / "press.csv", ("/elsewhere",))
    assert init(tmp_path / "no", tmp_path / "two.mcap", other, *BLOCK) == 2
    assert "topics: got '/a/idle, /elsewhere, /ft/wrench'; accepted: one that" in (
        capsys.readouterr().err
    )


def test_wrenches_count_where_nothing_else_is_there_or_they_are_asked_for(lab, tmp_path, capsys):
    q = np.tile([0.0, 0.0, 0.0, 1.0], (60, 1))
    t = np.arange(60) / 100
    write_motion(tmp_path / "poses.mcap", [("/cube/pose", "map", t, np.zeros((60, 3)), q)])
    both = [str(tmp_path / "poses.mcap"), str(lab / "press.csv")]
    assert {stream.kind for stream in streams_of(both)} == {"poses"}
    assert init(tmp_path / "wrench", *both, "--kind", "wrench") == 0
    assert "kind: wrenches" in (tmp_path / "wrench" / "estimation.yaml").read_text()
    capsys.readouterr()
    assert init(tmp_path / "no", *both, "--kind", "wrenches") == 2
    assert "--kind: got 'wrenches'; accepted: one of poses, markers" in capsys.readouterr().err
    assert init(tmp_path / "no", both[0], "--kind", "wrench") == 2
    assert "accepted: wrench of a block that is pressed" in capsys.readouterr().err


def bad(rows, what):
    """A recording that no estimation can start from."""
    if what == "back":
        rows[9, 0] = rows[8, 0]
    elif what == "idle":
        rows[:, 1:7] = np.repeat(SIGMA, 3) * np.random.default_rng(0).normal(size=(len(rows), 6))
    elif what == "epoch":
        rows[:, 0] += 1.7e9
    return rows


def test_a_reading_without_numbers_is_left_out_and_counted(lab, tmp_path):
    rows = np.loadtxt(lab / "press.csv", delimiter=",", skiprows=1)[:60, :7]
    rows[7, 2] = np.nan
    head = HEAD.removesuffix(",trial")
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header=head, comments="", fmt="%.14g")
    (stream,) = streams_of([tmp_path / "a.csv"])
    (lost,) = stream.lost
    assert (lost.count, lost.first) == (1, 7) and len(stream) == 59
    assert init(tmp_path / "out", tmp_path / "a.csv", *BLOCK) == 0


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("back", "sample 9, t: got '0.04 s, then 0.04 s'; accepted: increasing stamps"),
        ("idle", "force: got 'at most 0.0"),
        (
            "epoch",
            "sample 0, t: got 1700000000.0; accepted: stamps [s] from the start of the scene",
        ),
    ],
)
def test_what_cannot_be_used_is_named(lab, tmp_path, capsys, what, words):
    rows = np.loadtxt(lab / "press.csv", delimiter=",", skiprows=1)[:60, :7]
    head = HEAD.removesuffix(",trial")
    table = bad(rows, what)
    np.savetxt(tmp_path / "bad.csv", table, delimiter=",", header=head, comments="", fmt="%.14g")
    assert init(tmp_path / "out", tmp_path / "bad.csv", *BLOCK) == 2
    refused = capsys.readouterr().err
    assert "bad.csv" in refused and words in refused
    assert not (tmp_path / "out").exists()
