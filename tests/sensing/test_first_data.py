"""First recordings as labs bring them: noise, units, axes, orders, walls, several bodies."""

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.first_guess import filled
from diffsim_ros.rotation import quat_exp, quat_multiply
from diffsim_ros.sensing.check import check, examine
from diffsim_ros.sensing.flight import GRAVITY, by_source, check_gravity, gravity_of
from diffsim_ros.sensing.read import read
from diffsim_ros.sensing.tosses import read_tosses
from diffsim_ros.yaml_file import parse_yaml
from tests.real2sim import synthetic
from tests.sensing.test_recordings import ROOT, about, bounces, marker_table, saved
from validation.first_recordings import drawn, write


def thrown(rate, noise, seed=0, throws=4, size=0.1):
    """Arrays of throws that land on a side of a cube and stay, each with a heading of its own."""
    rng, rows, frames = np.random.default_rng(seed), [], int(1.0 * rate)
    t = np.arange(frames) / rate
    for _ in range(throws):
        v, spin = rng.uniform([0.3, -0.3, 1.0], [1.0, 0.3, 2.0]), rng.normal(0.0, 6.0, 3)
        fall = 0.3 + v[2] * t - 0.5 * 9.81 * t**2
        lands = int(np.argmax(fall < size / 2))
        position = np.stack([v[0] * t, v[1] * t, np.maximum(fall, size / 2)], axis=1)
        position[lands:, :2] = position[lands, :2]
        side = quat_multiply(quat_exp([0.0, 0.0, rng.uniform(-3, 3)]), _sides(rng))
        q = quat_multiply(quat_exp((t - t[lands])[:, None] * spin), side)
        q[lands:] = side
        position += noise * rng.standard_normal(position.shape)
        q = quat_multiply(quat_exp(5.0 * noise * rng.standard_normal((frames, 3))), q)
        rows.append(np.concatenate([position, q[:, [3, 0, 1, 2]]], axis=1))
    return {
        "toss_id": np.arange(throws), "start": frames * np.arange(throws),
        "length": np.full(throws, frames), "state": np.concatenate(rows), "dt": 1.0 / rate,
    }  # fmt: skip


def _sides(rng):
    """A quaternion that puts one of a cube's sides down."""
    k, turns = rng.integers(0, 2), rng.integers(0, 4)
    return quat_exp(0.5 * np.pi * turns * np.eye(3)[k])


@pytest.mark.parametrize("rate", [60.0, 120.0, 1000.0])
@pytest.mark.parametrize("noise", [1e-4, 5e-4, 2e-3])
def test_throws_are_seen_at_any_rate_and_noise(tmp_path, rate, noise):
    found, one = about(saved(tmp_path, thrown(rate, noise)))
    assert one.refusal is None and found["gravity"][0] == "good", one.found
    assert one.gravity.axis == "+z" and one.gravity.unit == "m"
    assert one.gravity.size == pytest.approx(9.81, rel=0.06)
    assert found["ground"][0] in ("good", "note") and len(one.heights) == 4


@pytest.mark.parametrize("change", ["mm", "y"])
def test_units_and_axes_are_refused_under_noise_too(tmp_path, change):
    """Eight samples at 400 Hz show no acceleration under 0.6 mm; whole flights do."""
    arrays = thrown(400.0, 6e-4)
    place = arrays["state"][:, :3]
    place[:] = 1000.0 * place if change == "mm" else place[:, [0, 2, 1]] * [1, 1, -1]
    found, one = about(saved(tmp_path, arrays))
    words = {"mm": "millimetres", "y": "Y-up"}
    assert words[change] in str(one.refusal)
    assert found["units" if change == "mm" else "axis"][0] == "warning"


def swing(amplitude, noise, seconds=6.0, rate=120.0):
    t = np.arange(int(seconds * rate)) / rate
    angle = amplitude * np.exp(-0.05 * t) * np.cos(4.4 * t)
    p = 0.5 * np.stack([np.sin(angle), 0 * t, 1 - np.cos(angle)], axis=1)
    return t, p + noise * np.random.default_rng(0).standard_normal(p.shape)


def slide(seconds=1.0, rate=120.0, trials=4):
    t = np.tile(np.arange(int(seconds * rate)) / rate, trials)
    x = np.where(t < 0.4, 1.2 * t - 1.5 * t**2, 0.24)
    p = np.stack([x, 0 * t, 0 * t + 0.05], axis=1)
    return t, p + 2e-4 * np.random.default_rng(0).standard_normal(p.shape)


def test_what_swings_or_slides_does_not_fly():
    for amplitude in (0.3, 0.9, 1.2):
        for noise in (1e-4, 1e-3):
            t, p = swing(amplitude, noise)
            found = gravity_of(t, p, np.zeros(len(t), int), 1 / 120.0)
            assert found is None, (amplitude, noise, found)
    t, p = slide()
    assert gravity_of(t, p, np.repeat(np.arange(4), 120), 1 / 120.0) is None


@pytest.mark.parametrize("last", [False, True])
def test_rests_show_where_w_is_and_the_wrong_order_is_refused(tmp_path, last):
    arrays = thrown(120.0, 5e-4)
    if last:
        arrays["state"][:, 3:] = arrays["state"][:, [4, 5, 6, 3]]
    found, one = about(saved(tmp_path, arrays))
    level, text = found["quaternions"]
    assert text.startswith("w is last, not first" if last else "w is first: with w first the")
    assert level == ("warning" if last else "good") and (one.refusal is not None) == last
    out = tmp_path / "out"
    path = str(tmp_path / "tosses.npz")
    assert main(["init", "--from", path, "--size", "0.1", "--out", str(out)]) == 0
    if last:
        assert "w is last: move it" in str(one.refusal)
        assert about(out / "tosses.npz")[1].order.right
    # the estimation's own reader refuses what it was not told
    refused = _read(tmp_path, path, out)
    assert ("w last" in refused) == last


def _read(folder, path, out):
    from diffsim_ros.real2sim.experiment import kind_of

    both = [f"data.{role}.files=['{path}']" for role in ("train", "validate")]
    config = load_estimation(out / "estimation.yaml", set=both)
    try:
        kind_of(config.kind)(config).read({})
    except InputError as error:
        return str(error)
    return ""


def test_a_table_with_w_first_in_columns_named_otherwise_is_seen(tmp_path):
    arrays = thrown(120.0, 2e-4)
    frames = int(arrays["length"][0])
    table = np.column_stack([
        np.repeat(arrays["toss_id"], frames), np.tile(np.arange(frames) / 120.0, 4), arrays["state"]
    ])  # fmt: skip
    for header, right in (("qw,qx,qy,qz", True), ("qx,qy,qz,qw", False)):
        path = tmp_path / f"{right}.csv"
        np.savetxt(path, table, delimiter=",", header=f"toss_id,t,px,py,pz,{header}", comments="")
        assert about(path)[1].order.right is right


def test_recorded_spin_shows_the_order_without_any_rest(tmp_path):
    arrays = synthetic.arrays(4, 60, 13)
    turn = quat_exp(np.random.default_rng(0).normal(0.0, 1.0, (4, 3)))
    for k in range(4):
        rows = slice(60 * k, 60 * k + 60)
        q = arrays["state"][rows][:, [4, 5, 6, 3]]
        q = quat_multiply(turn[k], q)
        arrays["state"][rows, 3:7] = q[:, [3, 0, 1, 2]]
    assert about(saved(tmp_path, arrays))[1].order.right
    arrays["state"][:, 3:7] = arrays["state"][:, [4, 5, 6, 3]]
    _, one = about(saved(tmp_path, arrays, "last.npz"))
    assert one.order.right is False and "angular velocity" in one.order.why


def test_poses_that_never_fly_are_no_tosses(tmp_path):
    """Single impacts and pushes: usable by the starts that need no flight, as init writes them."""
    impacts = ROOT / "data" / "planar_drop" / "ellipse.npz"
    found, one = about(impacts)
    assert one.refusal is None and "measurement.start: scene" in one.found[1].advice
    assert "length" not in found
    p = slide()[1]
    arrays = thrown(120.0, 0.0)
    arrays["state"][:, :3], arrays["state"][:, 3:] = p, [1, 0, 0, 0]
    path = saved(tmp_path, arrays)
    assert about(path)[1].refusal is None
    assert main(["init", "--from", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "start: file" in (tmp_path / "out" / "estimation.yaml").read_text()


def test_numbers_with_an_exponent_are_numbers():
    text = "{a: [1e-05, 2e+04, -3E5, .5e-3], b: x1e5, c: '1e5', d: 1e5x}"
    expected = {"a": [1e-5, 2e4, -3e5, 5e-4], "b": "x1e5", "c": "1e5", "d": "1e5x"}
    assert parse_yaml(text, "") == expected


def test_what_init_writes_are_numbers_for_every_reader(tmp_path):
    """PyYAML's 1.1 too: 1e-05 would be a text, and 2e+04 another."""
    (tmp_path / "t.yaml").write_text('{a: ${a:.4g}, b: ${b:.0g}, c: "2e-05.npz"}', "utf-8")
    text = filled(str(tmp_path / "x.py"), "t.yaml", a=1e-5, b=-2e4)
    assert yaml.safe_load(text) == {"a": 1e-5, "b": -2e4, "c": "2e-05.npz"}


def test_the_last_of_several_joint_logs_is_predicted(tmp_path):
    with np.load(ROOT / "data" / "ur5_log" / "ur5_log.npz") as data:
        arrays = dict(data)
    for name, chosen in (("a", [0, 1]), ("b", [0, 2])):
        rows = np.isin(arrays["trial"], chosen)
        whole = {k: v[rows] if len(v) == len(rows) else v for k, v in arrays.items()}
        np.savez(tmp_path / f"{name}.npz", **whole)
    logs = [str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]
    urdf, out = str(ROOT / "urdf" / "ur5.urdf"), tmp_path / "out"
    assert main(["init", "--from", *logs, "--urdf", urdf, "--out", str(out)]) == 0
    config = load_estimation(out / "estimation.yaml")
    assert [f.name for f in config.train.files] == ["a.npz"] and config.train.trials is None
    assert [f.name for f in config.validate.files] == ["b.npz"]


def test_joints_in_degrees_are_told_and_refused(tmp_path, capsys):
    with np.load(ROOT / "data" / "ur5_log" / "ur5_log.npz") as data:
        arrays = dict(data)
    arrays["q"], arrays["t"] = np.degrees(arrays["q"]), 10.0 * arrays["t"]
    arrays["qd"] = arrays["qd"] / 10.0
    path = saved(tmp_path, arrays)
    found, _ = about(path)
    assert found["units"][0] == "warning" and "degrees?" in found["units"][1]
    urdf, out = str(ROOT / "urdf" / "ur5.urdf"), str(tmp_path / "out")
    assert main(["init", "--from", str(path), "--urdf", urdf, "--out", out]) == 2
    assert "is the log in degrees?" in capsys.readouterr().err


def test_bodies_that_an_npz_names_need_columns_of_their_own(tmp_path):
    arrays = bounces() | {"bodies": np.array(["cup", "ball"])}
    with pytest.raises(InputError, match=r"bodies: got 'cup, ball, and state of shape"):
        read(saved(tmp_path, arrays))


def test_one_of_several_bodies_is_written_alone(tmp_path):
    """The estimation has one body, `body`; the file of two would not fit it."""
    arrays = thrown(120.0, 2e-4)
    arrays["state"] = np.stack([arrays["state"], arrays["state"]], axis=1)
    path, out = saved(tmp_path, arrays | {"bodies": np.array(["cup", "ball"])}), tmp_path / "out"
    found = ["--from", str(path), "--body", "cup", "--size", "0.1", "--out", str(out)]
    assert main(["init", *found]) == 0
    assert read(out / "tosses.npz")[0].names == ("body",)


def test_a_wall_is_no_ground(tmp_path):
    from diffsim_ros.sensing.clouds.cloud import Cloud
    from diffsim_ros.sensing.clouds.files import write_sequence

    pytest.importorskip("open3d")
    flat = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    wall = np.column_stack([flat, np.full(3000, 2.0)])  # optical frame: z forward, y down
    ceiling, floor = wall[:, [0, 2, 1]] * [1, -0.5, 1], wall[:, [0, 2, 1]] * [1, 0.5, 1]
    ahead = np.array([0.0, 0.0, 2.0])
    for name, points, level in (
        ("wall", wall, "note"), ("ceiling", ceiling + ahead, "note"),
        ("floor", np.concatenate([np.repeat(wall, 2, axis=0), floor + ahead]), "good"),
    ):  # fmt: skip
        path = tmp_path / f"{name}.npz"
        write_sequence(path, [Cloud(points, stamp=0.0)])
        assert about(path)[0]["ground"][0] == level, name


def test_a_table_of_no_known_columns_is_told_of_all_formats(tmp_path):
    path = tmp_path / "pendulum.csv"
    for header in ("t,bob_x,bob_z", "t,angle"):
        path.write_text(f"{header}\n0,0,0\n", "utf-8")
        with pytest.raises(InputError, match=r"JOINT.position \[rad\]"):
            read(path)


def test_what_is_no_recording_is_refused_with_the_way_on(tmp_path):
    """A folder of recordings, a mesh, markers in a plane, tosses stacked, another npz."""
    arrays = thrown(120.0, 2e-4)
    stacked = {"toss_id": arrays["toss_id"], "state": arrays["state"].reshape(4, 120, 7)}
    saved(tmp_path, stacked | {"dt": arrays["dt"]}, "stacked.npz")
    saved(tmp_path, {"traj_id": arrays["toss_id"], "state": arrays["state"]}, "other.npz")
    (tmp_path / "flat.csv").write_text("t,m1_x,m1_y\n0,0,0\n", "utf-8")
    (tmp_path / "bob.obj").write_text("", "utf-8")
    for name, words in (
        ("", r"a folder of other.npz, stacked.npz, flat.csv'; .* by name: .*other.npz"),
        ("stacked.npz", r"state as \(480, 7\), start = 120 \* arange\(4\)"),
        ("other.npz", "pack the recording as one of these"),
        ("flat.csv", "lacks m1_z.*give the other coordinate as a column of zeros"),
        ("bob.obj", "a mesh is a body's shape"),
    ):
        with pytest.raises(InputError, match=words):
            read(tmp_path / name)


def test_throws_from_a_hand_in_millimetres_are_refused(tmp_path):
    """Their first samples are a hand's, of any acceleration; their flights tell the unit."""
    (one,), _ = check([write(drawn(118), tmp_path)])
    assert one.gravity.unit == "mm" and "millimetres" in str(one.refusal)


@pytest.mark.parametrize("pull", [[0.0, 6.0, 3.0], [-14.0, 0.0, 4.0], [0.0, 1.0, 0.5]])
def test_throws_that_begin_in_a_hand_are_named_so_and_not_turned(tmp_path, pull):
    """A hand accelerates the body by `pull` for 0.25 s; the flights fall along -z."""
    arrays = thrown(120.0, 2e-4)
    whole = []
    for rows in arrays["state"].reshape(4, 120, 7):
        before = np.arange(-30, 0)[:, None] / 120.0
        held = np.repeat(rows[:1], 30, axis=0)
        speed = (rows[4, :3] - rows[0, :3]) * 30.0
        held[:, :3] += before * speed + 0.5 * np.array(pull) * before**2
        whole.append(np.concatenate([held, rows]))
    arrays |= {"state": np.concatenate(whole), "start": 150 * np.arange(4), "length": [150] * 4}
    (one,), _ = check([saved(tmp_path, arrays)])
    assert one.gravity.unit == "m" and one.gravity.up[2] == pytest.approx(1.0, abs=0.01)
    refused = str(one.refusal)
    assert "they begin before the flight, in a hand say" in refused and "-up" not in refused


def test_windows_that_are_hardly_precise_leave_no_flights_out(tmp_path):
    """Only those that exceed gravity by chance were counted: 3 flights, 10.3 m/s^2, 4 deg off."""
    (one,), _ = check([write(drawn(28), tmp_path)])
    assert one.gravity.flights >= 8 and one.gravity.size == pytest.approx(9.81, abs=0.1)
    assert "axis" not in {finding.about for finding in one.found}
    assert np.ptp(one.heights) < 0.002


def test_single_tosses_in_files_of_their_own_are_judged_together(tmp_path, capsys):
    """One of them begins in contact, as some of any recorded tosses do."""
    arrays, files = thrown(120.0, 2e-4, throws=3), []
    for k in range(3):
        rows = arrays["state"][120 * k : 120 * (k + 1)][60 if k == 1 else 0 :]
        whole = {"toss_id": [k], "start": [0], "length": [len(rows)], "state": rows}
        files.append(saved(tmp_path, whole | {"dt": arrays["dt"]}, f"toss_{k}.npz"))
    trials = [trial for path in files for trial in read_tosses(path)]
    assert [len(own) for own in by_source(trials)] == [3]
    check_gravity(by_source(trials)[0], GRAVITY)
    with pytest.raises(InputError, match="do not begin in free flight"):
        check_gravity([trials[1]], GRAVITY)
    out, start = tmp_path / "out", ["init", "--size", "0.1", "--from"]
    assert main([*start, *map(str, files), "--out", str(out)]) == 0
    assert "toss_1.npz is left out: no free flight is seen" in capsys.readouterr().out
    assert "toss_1" not in (out / "estimation.yaml").read_text("utf-8")
    assert main([*start, str(files[1]), "--out", str(tmp_path / "none")]) == 2


def test_a_swing_that_grows_or_is_none_gives_no_stiffness(tmp_path, capsys):
    def loaded(p):  # bent after 0.5 s and let go 2 s later: no free swing
        s = np.clip((np.arange(250) / 100.0 - 0.5) / 1.9, 0.0, 1.0)
        p[:, 2:] = p[:1, 2:] - 0.02 * (s**3)[:, None, None] * [0.0, 0.0, 1.0]
        return p + 1e-5 * np.random.default_rng(0).standard_normal(p.shape)

    path = marker_table(tmp_path, loaded)
    assert main(["init", "--from", str(path), "--out", str(tmp_path / "grows")]) == 2
    assert "that grows" in capsys.readouterr().err

    def creeps(p):
        s = np.maximum(np.arange(250) / 100.0 - 0.4, 0.0)
        p[:, 2:] = p[:1, 2:] - 0.02 * (1 - np.exp(-2 * s))[:, None, None] * [0.0, 0.0, 1.0]
        return p + 1e-5 * np.random.default_rng(0).standard_normal(p.shape)

    path, out = marker_table(tmp_path, creeps, "creeps.csv"), tmp_path / "creeps"
    assert main(["init", "--from", str(path), "--out", str(out), "--study", "0"]) == 0
    assert "starts at a guess" in capsys.readouterr().out
    beam = yaml.safe_load((out / "scene.yaml").read_text())["bodies"]["beam"]
    assert beam["young"] == pytest.approx(3e5) and beam["viscosity"] == pytest.approx(300)


def test_markers_have_no_order_of_quaternions(tmp_path):
    assert examine(read(marker_table(tmp_path))[0]).order is None


def test_every_trial_may_have_its_own_release_time():
    from types import SimpleNamespace

    from diffsim_ros.real2sim.sensors.marker.model import MarkerModel

    path = ROOT / "config" / "estimation" / "soft_arm.yaml"

    def after(value, name):
        config = load_estimation(path, set=[f"measurement.release_after={value}"])
        return MarkerModel._release_after(SimpleNamespace(config=config), name)

    assert after("4.2", "arm_1") == 4.2
    assert after("{arm_1: 4.2, arm_2: 9}", "arm_2") == 9.0
    for value, words in (
        ("{arm_1: 4.2}", "arm_2 among its trials"),
        ("{arm_2: -1}", "release_after.arm_2: got -1"),
        ("soon", "a finite number >= 0"),
    ):
        with pytest.raises(InputError, match=words):
            after(value, "arm_2")


def test_of_files_of_single_tosses_those_that_begin_in_contact_are_left_out(tmp_path, capsys):
    files = [str(ROOT / "data" / "cube_toss" / f"example_toss_00{k}.csv") for k in (1, 3, 4)]
    out, found = tmp_path / "out", ["init", "--size", "0.1048", "--from"]
    assert main([*found, *files, "--out", str(out)]) == 0
    assert "example_toss_004.csv is left out: the tosses do not begin" in capsys.readouterr().out
    assert sorted(one.name for one in out.glob("*.npz")) == [
        "example_toss_001.npz", "example_toss_003.npz"
    ]  # fmt: skip
    # 9.82 and 9.26 m/s^2 by two short flights each show no scale
    assert "length_scale" not in load_estimation(out / "estimation.yaml").parameters
    assert main([*found, files[2], "--out", str(tmp_path / "none")]) == 2
    assert "do not begin in free flight" in capsys.readouterr().err


@pytest.mark.parametrize("along", [0.001, 0.004])
def test_a_cameras_noise_is_guessed_along_its_rays_and_across(along):
    """A floor 0.7 m below a camera that looks 25 degrees down, pixels of 9 mrad."""
    from diffsim_ros.real2sim.sensors.cloud import first_guess
    from diffsim_ros.sensing.clouds.cloud import Cloud
    from diffsim_ros.sensing.clouds.planes import refined

    rng, pixel, normal = np.random.default_rng(0), 0.009, np.array([0.0, -0.906, -0.423])
    u, v = np.meshgrid(np.arange(-40, 41), np.arange(-20, 31))
    grid = pixel * np.stack([u.ravel(), v.ravel()], axis=1)

    def rays(flat):
        away = np.column_stack([flat, np.ones(len(flat))])
        return away / np.linalg.norm(away, axis=1, keepdims=True)

    seen = rays(grid + pixel * rng.uniform(-0.5, 0.5, grid.shape))
    distance = -0.7 / (seen @ normal) + along * rng.standard_normal(len(seen))
    points = rays(grid) * distance[:, None]
    floor = refined(points, normal, -0.7, np.zeros(3), 0.05)
    found = first_guess._noise(Cloud(points), points, floor, np.array([1.0, 1.8]))
    assert found.lateral == pytest.approx(pixel / np.sqrt(12), rel=0.15)
    assert found.constant == pytest.approx(along, rel=0.4)
