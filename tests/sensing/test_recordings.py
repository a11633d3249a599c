"""`diffsim check` and `diffsim init`: every verdict on a small recording that deserves it."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.sensing import bags
from diffsim_ros.sensing.check import check
from diffsim_ros.sensing.read import read
from tests.real2sim import synthetic

ROOT = Path(__file__).resolve().parents[2]
RATE = 148.0
TURN = {"y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]]}  # z up -> y up


def bounces(tosses=6, frames=90, g=9.81, noise=2e-5):
    """Arrays of a toss file: flights that end at rest, 0.05 m high."""
    arrays = synthetic.arrays(tosses, frames, 7)
    rng, t = np.random.default_rng(1), np.arange(frames) / RATE
    for k in range(tosses):
        rows = slice(k * frames, (k + 1) * frames)
        height = 0.45 + (0.3 + 0.05 * k) * t - 0.5 * g * t**2
        state = arrays["state"][rows]
        state[:, 2] = np.maximum(height, 0.05)
        state[height < 0.05, :2] = state[height < 0.05][0, :2]
        state[:, :3] += noise * rng.standard_normal((frames, 3))
    return arrays


def saved(folder, arrays, name="tosses.npz"):
    path = folder / name
    np.savez(path, **arrays)
    return path


def about(path):
    """Verdicts of the only stream of a recording: about -> (level, text); and the stream."""
    examined, unreadable = check([path])
    assert not unreadable and len(examined) == 1
    return {f.about: (f.level, f.text) for f in examined[0].found}, examined[0]


def test_a_clean_recording_is_usable_and_says_its_gravity_and_ground(tmp_path):
    found, one = about(saved(tmp_path, bounces()))
    assert one.refusal is None
    assert {level for key, (level, _) in found.items() if key != "quaternions"} == {"good"}
    assert one.gravity.axis == "+z" and one.gravity.unit == "m" and one.gravity.flights == 6
    deviation = np.linalg.norm(one.gravity.acceleration - [0, 0, -9.81])
    assert deviation < 4 * np.linalg.norm(one.gravity.sigma) + 1e-3
    figures = one.figures()
    assert figures["rate_hz"] == pytest.approx(RATE) and figures["trials"] == 6
    assert figures["ground"]["lowest"] == pytest.approx(0.05, abs=1e-4)
    assert figures["ground"]["rests"] == 6


def test_millimetres_are_seen_in_free_flight_and_refused(tmp_path):
    arrays = bounces()
    arrays["state"][:, :3] *= 1000.0
    found, one = about(saved(tmp_path, arrays))
    assert found["units"][1] == "places are in mm" and one.refusal is not None
    assert "millimetres" in str(one.refusal)


def test_another_axis_up_is_seen_and_refused(tmp_path):
    arrays = bounces()
    arrays["state"][:, :3] = arrays["state"][:, :3] @ np.transpose(TURN["y"])
    found, one = about(saved(tmp_path, arrays))
    assert found["axis"] == ("warning", "+y is up, not z")
    assert "Y-up" in str(one.refusal)


def test_gravity_in_no_unit_is_a_wrong_clock(tmp_path):
    arrays = bounces()
    arrays["dt"] = 2.0 * arrays["dt"]
    found, one = about(saved(tmp_path, arrays))
    level, text = found["gravity"]
    assert level == "warning" and "gravity in no unit" in text
    assert one.gravity.size == pytest.approx(9.81 / 4, rel=0.02) and one.refusal is not None


def test_a_tracker_with_another_metre_is_told(tmp_path):
    arrays = bounces()
    arrays["state"][:, :3] /= 1.05
    found, one = about(saved(tmp_path, arrays))
    assert one.refusal is None and found["scale"][0] == "note"
    assert float(found["scale"][1].split()[4]) == pytest.approx(1.05, abs=0.002)


def test_gaps_are_counted_and_the_longest_is_named(tmp_path):
    arrays = bounces(tosses=4)
    keep = np.ones(len(arrays["state"]), bool)
    keep[40:52] = False  # within the first toss
    t = np.tile(np.arange(90) / RATE, 4)
    arrays |= {"state": arrays["state"][keep], "t": t[keep]}
    arrays["length"] = np.array([78, 90, 90, 90])
    arrays["start"] = np.array([0, 78, 168, 258])
    found, one = about(saved(tmp_path, arrays))
    assert found["gaps"][0] == "warning" and "before sample 40" in found["gaps"][1]
    assert one.figures()["missing_frames"] == 12
    assert one.figures()["longest_gap_s"] == pytest.approx(13 / RATE)


@pytest.mark.parametrize(("change", "word"), [(0.0, "duplicate"), (-0.02, "backward")])
def test_stamps_that_repeat_or_go_back_are_named_by_sample(tmp_path, change, word):
    arrays = bounces(tosses=2)
    t = np.tile(np.arange(90) / RATE, 2)
    t[33] = t[32] + change
    found, one = about(saved(tmp_path, arrays | {"t": t}))
    assert found[f"{word} stamps"][0] == "warning"
    assert "sample 33" in found[f"{word} stamps"][1] and word in str(one.refusal)
    assert "sample 33" in str(one.refusal) or "sample 34" in str(one.refusal)


def test_jitter_outliers_and_norms_are_told_with_their_first_sample(tmp_path):
    arrays = bounces(tosses=3)
    rng = np.random.default_rng(0)
    t = np.tile(np.arange(90) / RATE, 3) + rng.uniform(-0.2, 0.2, 270) / RATE
    arrays["state"][100, 0] += 0.2
    arrays["state"][50, 3:7] *= 1.1
    found, _ = about(saved(tmp_path, arrays | {"t": t}))
    assert found["jitter"][0] == "warning"
    assert "sample 100 by" in found["outliers"][1] and found["outliers"][1].startswith("1 ")
    assert "sample 50" in found["orientation"][1] and "norm 1.1" in found["orientation"][1]


def marker_table(folder, change=lambda p: p, name="beam.csv"):
    """A beam with two markers on its clamp and two at its free end, released after 0.4 s."""
    t = np.arange(250) / 100.0
    places = np.array([[0, 0, 0], [0, 0.03, 0], [0.1, 0, 0.01], [0.1, 0.03, 0.0]])
    p = np.repeat(places[None], len(t), axis=0)
    s = np.maximum(t - 0.4, 0.0)
    drop = 0.01 * (1 - np.exp(-3 * s) * np.cos(2 * np.pi * 6 * s))
    p[:, 2:, 2] -= drop[:, None]
    p[:, 3, 2] -= 0.1 * drop
    p = change(p + 1e-5 * np.random.default_rng(2).standard_normal(p.shape))
    header = ["t", *(f"{m}_{a}" for m in ("c1", "c2", "e1", "e2") for a in "xyz")]
    rows = np.concatenate([t[:, None], p.reshape(len(t), -1)], axis=1)
    path = folder / name
    np.savetxt(path, rows, delimiter=",", header=",".join(header), comments="")
    return path


def hide(p):
    p[100:180, 3] = np.nan
    return p


def test_markers_that_are_hidden_are_counted(tmp_path):
    found, one = about(marker_table(tmp_path, hide))
    assert found["occlusion"][0] == "warning" and "e2" in found["occlusion"][1]
    assert "first: 100" in found["occlusion"][1] and one.refusal is None
    shares = {"c1": 0, "c2": 0, "e1": 0, "e2": 0.32}
    assert one.figures()["unseen_share"] == pytest.approx(shares)
    assert found["gravity"][0] == "note"  # a swing is no flight


def test_a_marker_never_seen_is_left_out_and_millimetres_are_suspected(tmp_path):
    def never(p):
        p[:, 3] = np.nan
        return p

    _, one = about(marker_table(tmp_path, never))
    assert one.stream.names == ("c1", "c2", "e1") and one.refusal is None
    assert [(lost.name, lost.reason) for lost in one.stream.lost] == [("e2", "never measured")]
    found, _ = about(marker_table(tmp_path, lambda p: 1000 * p, "mm.csv"))
    assert "hardly metres" in found["units"][1]


def bag(path, t, position=None):
    """A bag of poses at times t."""
    n = len(t)
    fall = np.zeros((n, 3))
    fall[:, 2] = 0.5 + 0.5 * t - 0.5 * 9.81 * t**2
    q = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
    track = bags.RecordedPoses("/cube/pose", "map", t, fall if position is None else position, q)
    return bags.write_motion(path, [track], transforms=False)


def test_a_bag_is_read_by_topic_and_a_half_written_one_is_refused(tmp_path, capsys):
    whole = bag(tmp_path / "whole.mcap", np.arange(40) / 100)
    stream = read(whole)[0]
    assert (stream.kind, stream.sensor, stream.frame, len(stream)) == (
        "poses",
        "/cube/pose",
        "map",
        40,
    )
    half = tmp_path / "half.mcap"
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for path, word in ((half, "half.mcap"), (tmp_path / "none.npz", "no such file")):
        out = tmp_path / "out"
        assert main(["check", str(path), "--out", str(out)]) == 2
        error = capsys.readouterr().err.strip().splitlines()[-1]
        assert error.startswith("diffsim: ") and word in error and not out.exists()


@pytest.mark.parametrize("content", [b"", b"garbage"])
@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.mcap", "a.pcd", "a.txt"])
def test_empty_and_damaged_files_are_one_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}.*accepted") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_check_writes_its_results_says_what_is_unusable_and_exits_2(tmp_path, capsys):
    good = saved(tmp_path, bounces())
    bad = bounces()
    bad["state"][7, 1] = np.nan
    out = tmp_path / "out"
    assert main(["check", str(good), "--out", str(out)]) == 0
    assert {p.name for p in out.iterdir()} == {"result.yaml", "metrics.json", "report.html"}
    assert json.loads((out / "metrics.json").read_text())["usable"] == 1
    assert main(["check", str(good), "--out", str(out)]) == 2  # never overwritten
    capsys.readouterr()
    bad_path, other = saved(tmp_path, bad, "bad.npz"), tmp_path / "other"
    assert main(["check", str(good), str(bad_path), "--out", str(other)]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "bad.npz: toss 10: sample 7, py: got nan" in error
    result = yaml.safe_load((other / "result.yaml").read_text())
    assert result["status"] == "unusable"
    assert [s["usable"] for s in result["streams"]] == [True, False]


def test_figures_of_two_files_of_one_name_are_kept(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    paths = [str(saved(tmp_path / folder, bounces())) for folder in "ab"]
    assert main(["check", *paths, "--out", str(tmp_path / "out"), "--no-report"]) == 0
    assert list(json.loads((tmp_path / "out" / "metrics.json").read_text())["streams"]) == paths


# ---------------------------------------------------------------------------- init


@pytest.mark.parametrize("change", ["none", "mm", "y"])
def test_init_gives_an_estimation_that_reads_its_recording(tmp_path, change):
    """Units and axes are put right; the estimation's own reader and gravity check take it."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.experiment import kind_of

    arrays = bounces()
    if change == "mm":
        arrays["state"][:, :3] *= 1000.0
    if change == "y":
        arrays["state"][:, :3] = arrays["state"][:, :3] @ np.transpose(TURN["y"])
    path, out = saved(tmp_path, arrays), tmp_path / "out"
    assert main(["init", "--from", str(path), "--mass", "0.4", "--out", str(out)]) == 0
    converted = change != "none"
    assert (out / "tosses.npz").exists() == converted
    config = load_estimation(out / "estimation.yaml")
    data = kind_of(config.kind)(config).read({})
    assert len(data.train) == 4 and len(data.validate) == 2
    assert data.train[0].position[:, 2].max() == pytest.approx(0.46, abs=0.02)
    size = yaml.safe_load((out / "scene.yaml").read_text())["bodies"]["body"]["shape"]["box"][
        "size"
    ]
    assert size == pytest.approx([0.1] * 3, abs=1e-3)
    assert main(["init", "--from", str(path), "--out", str(out)]) == 2  # never overwritten


def test_init_starts_a_box_that_is_no_cube_by_a_simulated_flight(tmp_path):
    """By height its spin would be taken for constant, which it is not."""
    from diffsim_ros.real2sim.config import load_estimation

    path = saved(tmp_path, bounces())
    for size, start in ((["0.1"], "height"), (["0.16", "0.12", "0.1"], "flight")):
        out = tmp_path / start
        assert main(["init", "--from", str(path), "--size", *size, "--out", str(out)]) == 0
        measurement = load_estimation(out / "estimation.yaml").measurement
        assert measurement.start == start
    assert tuple(measurement.flight_frames) == (4, 40) and measurement.clearance == 0.003


def test_init_cuts_what_a_hand_did_before_the_flight_and_lowers_the_ground(tmp_path):
    t = np.arange(120) / 100
    height = np.where(t < 0.3, 0.9, np.maximum(0.9 - 0.5 * 9.81 * (t - 0.3) ** 2, 0.35))
    tracks = np.stack([0.1 * np.minimum(t, 0.6), 0 * t, height], axis=1)
    tracks += 1e-7 * np.random.default_rng(0).normal(size=tracks.shape)  # no pose twice: no freeze
    path, out = bag(tmp_path / "held.mcap", t, tracks), tmp_path / "out"
    assert main(["init", "--from", str(path), "--size", "0.1", "--out", str(out)]) == 0
    with np.load(out / "held.npz") as data:
        state = data["state"]
    assert state[-1, 2] == pytest.approx(0.05, abs=1e-6)  # half the edge above the ground
    assert len(state) <= 91 and state[0, 2] == pytest.approx(0.6, abs=0.01)


def test_init_refuses_what_it_cannot_know(tmp_path, capsys):
    arrays = bounces()
    arrays["state"][:, 2] -= 0.2  # rests below z = 0: no size without its ground
    path = saved(tmp_path, arrays)
    for arguments, word in (
        (["--from", str(path)], "give --size"),
        (["--from", str(path), "--size", "1", "2"], "one or three lengths"),
        (["--from", str(path), "--mass", "-1"], "--mass: got -1.0"),
    ):
        assert main(["init", *arguments, "--out", str(tmp_path / "out")]) == 2
        assert word in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_init_of_a_released_beam_guesses_frame_size_and_stiffness(tmp_path):
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.experiment import kind_of

    path, out = marker_table(tmp_path), tmp_path / "out"
    sizes = ["--size", "0.1", "0.03", "0.02", "--mass", "0.06", "--study", "0"]
    assert main(["init", "--from", str(path), *sizes, "--out", str(out)]) == 0
    scene = yaml.safe_load((out / "scene.yaml").read_text())
    beam = scene["bodies"]["beam"]
    assert beam["density"] == pytest.approx(1000)
    # a slender beam: omega = 1.8751^2 sqrt(E I / (rho A L^4))
    omega2 = (2 * np.pi * 6) ** 2 + 3**2
    wanted = 12 * 1000 * 0.1**4 * omega2 / (1.8751**4 * 0.02**2)
    assert float(beam["young"]) == pytest.approx(wanted, rel=0.02)
    config = load_estimation(out / "estimation.yaml")
    data = kind_of(config.kind)(config).read({})
    release = data.train[0]
    assert release.frame in (40, 41, 42) and np.max(release.fit_error) < 1e-5
    moved = release.world(release.position[-1]) - release.world(release.held)
    assert moved[3, 2] < -0.009 and np.abs(moved[3, :2]).max() < 1e-3  # it sinks along -z


def test_init_of_the_cube_tosses_is_an_estimation_that_runs(tmp_path):
    """The real recording, few tosses and iterations; the YAML as it was written."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.estimate import estimate

    out = tmp_path / "out"
    path = ROOT / "data" / "cube_toss" / "tosses.npz"
    assert main(["init", "--from", str(path), "--mass", "0.37", "--out", str(out)]) == 0
    few = ["data.train.trials.random=3", "data.validate.trials={random: 2}", "fit.iterations=1",
           "fit.search_evaluations=0", "fit.continuation={}"]  # fmt: skip
    result = estimate(load_estimation(out / "estimation.yaml", set=few), report=False)
    assert result.values()["length_scale"] == pytest.approx(1.020, abs=0.002)
    assert result.metrics["validate"]["recordings"] == 2
    assert all(np.isfinite(value) for value in result.values().values())


def test_init_of_a_silicone_beam_is_an_estimation_that_runs(tmp_path):
    """The same of markers, on a mesh that is coarse enough for a test."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.estimate import estimate

    out = tmp_path / "out"
    lines = (ROOT / "data" / "silicone_beam" / "gravity_a.csv").read_text().splitlines(True)
    path = tmp_path / "gravity_a.csv"
    path.write_text("".join(lines[:180]))  # the first swings
    sizes = ["--size", "0.1", "0.03", "0.03", "--study", "0"]
    assert main(["init", "--from", str(path), *sizes, "--out", str(out)]) == 0
    guess = load_estimation(out / "estimation.yaml").parameters["young"].value
    assert 0.8 < guess / 263_824 < 1.25  # published; the guess is a slender beam's
    quick = ["scene.bodies.beam.element=p1_fbar", "fit.iterations=1", "fit.horizons=[0]",
             "scene.bodies.beam.shape.box.cells=[6, 1, 1]", "measurement.window=0.5"]  # fmt: skip
    result = estimate(load_estimation(out / "estimation.yaml", set=quick), report=False)
    assert np.isfinite(result.values()["young"])
    measured = result.metrics["train"]["gravity_a"]["measured"]
    assert measured["frequency"] == pytest.approx(7.7, abs=0.1)


def test_init_of_a_thrown_ball_finds_camera_floor_and_size(tmp_path, capsys):
    """The shipped recordings, in millimetres: the camera stands 0.7 m high, the ball has 0.2 m."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.experiment import kind_of

    pytest.importorskip("open3d")
    out = tmp_path / "out"
    files = [str(ROOT / "data" / "foam_ball" / f"throw_{k}.npz") for k in "ab"]
    start = ["init", "--from", *files, "--mass", "0.6", "--study", "0"]
    assert main([*start, "--out", str(out)]) == 0
    cloud = yaml.safe_load((out / "estimation.yaml").read_text())["measurement"]["cloud"]
    assert cloud["scale"] == 0.001 and cloud["position"] == pytest.approx([0, 0, 0.7], abs=0.005)
    turn = np.abs(np.dot(cloud["orientation"], [0.81124219, 0.0, 0.0, -0.58471028]))
    assert turn == pytest.approx(1.0, abs=1e-5)  # 0.5 deg
    body = yaml.safe_load((out / "scene.yaml").read_text())["bodies"]["body"]
    assert body["shape"]["ball"]["radius"] == pytest.approx(0.1, abs=0.005)
    config = load_estimation(out / "estimation.yaml")
    data = kind_of(config.kind)(config).read({})
    assert [len(throw.t) for throw in (*data.train, *data.validate)] == [15, 15]
    assert "wei" not in capsys.readouterr().out  # the mass is given


def test_init_of_clouds_without_floor_or_motion_is_refused(tmp_path, capsys):
    from diffsim_ros.sensing.clouds.cloud import Cloud
    from diffsim_ros.sensing.clouds.files import write_sequence

    pytest.importorskip("open3d")
    rng = np.random.default_rng(0)
    plane = np.column_stack([rng.uniform(-1, 1, (3000, 2)), np.full(3000, 2.0)])
    for name, points, words in (
        ("wall", plane, "let the camera see the floor"),
        ("still", plane[:, [0, 2, 1]] * [1, 0.5, 1] + [0, 0, 2], "0 of 8, at most 0 points"),
    ):
        write_sequence(tmp_path / f"{name}.npz", [Cloud(points, stamp=k / 30) for k in range(8)])
        path, out = str(tmp_path / f"{name}.npz"), str(tmp_path / name)
        assert main(["init", "--from", path, "--out", out]) == 2
        assert words in capsys.readouterr().err


def written(path, entries):
    """A bag of (topic, type, message fields by stamp) with Jazzy's definitions."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY)
    make = types.types
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, kind, messages in entries:
            connection = writer.add_connection(topic, kind, typestore=types)
            for ns, build in messages:
                time = make["builtin_interfaces/msg/Time"](ns // 10**9, ns % 10**9)
                header = make["std_msgs/msg/Header"](time, "base")
                writer.write(connection, ns, types.serialize_cdr(build(make, header), kind))
    return path


def test_joints_of_a_bag_are_sorted_by_name_and_empty_topics_left_out(tmp_path):
    kind = "sensor_msgs/msg/JointState"
    q = np.stack([0.01 * np.arange(30), 0.5 + 0.0 * np.arange(30)], axis=1)

    def build(k):
        order = [0, 1] if k % 2 else [1, 0]
        names = [("a", "b")[i] for i in order]
        none = np.zeros(0)
        return lambda make, header: make[kind](header, names, q[k, order], none, none)

    messages = [(10**9 + k * 10**7, build(k)) for k in range(30)]
    entries = [("/joints", kind, messages), ("/silent", kind, []), ("/other", bags.POSE, [])]
    path = written(tmp_path / "bag", entries)
    (stream,) = read(path)
    assert (stream.kind, stream.names) == ("joints", ("b", "a"))
    np.testing.assert_array_equal(stream.values["position"], q[:, ::-1])
    assert list(stream.values) == ["position"]
    found, one = about(path)
    assert one.refusal is None and found["excitation"][1] == "hardly move: b"
    silent = written(tmp_path / "silent", [("/silent", kind, [])])
    with pytest.raises(InputError, match=r"/silent.*no messages"):
        read(silent)


def test_what_is_of_no_use_to_an_estimation_is_refused_by_init(tmp_path, capsys):
    path = tmp_path / "log.npz"
    np.savez(path, t=np.arange(20) / 100, q=np.zeros((20, 2)))
    assert main(["init", "--from", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "--urdf: got None; accepted: the URDF of the robot" in capsys.readouterr().err
    robot = ["--urdf", str(ROOT / "urdf" / "ur5.urdf")]
    assert main(["init", "--from", str(path), *robot, "--out", str(tmp_path / "out")]) == 2
    assert "log.npz: arrays" in capsys.readouterr().err
    both = [str(saved(tmp_path, bounces())), str(marker_table(tmp_path))]
    assert main(["init", "--from", *both, "--out", str(tmp_path / "out")]) == 2
    assert "recordings of one kind" in capsys.readouterr().err


def test_a_table_of_poses_is_that_of_the_observer(tmp_path):
    """What the observer saves as CSV reads as the trials that it saves as NPZ."""
    from diffsim_ros.sensing.saving import save_trials
    from diffsim_ros.sensing.tosses import read_tosses

    trials = read_tosses(saved(tmp_path, bounces(3)))
    table, tosses = sorted(save_trials(tmp_path / "lab.npz", trials), key=lambda p: p.suffix)
    a, b = read(table)[0], read(tosses)[0]
    assert a.format == "table of poses" and b.format == "npz of tosses"
    np.testing.assert_array_equal(a.numbers, b.numbers)
    for key in ("t", "position", "orientation"):
        np.testing.assert_allclose(getattr(a, key), getattr(b, key), atol=1e-8)
    assert about(table)[1].refusal is None
