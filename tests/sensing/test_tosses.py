"""Reading tosses: every defect of a recording is refused, naming file, toss and sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply
from diffsim_ros.sensing.flight import check_gravity
from diffsim_ros.sensing.toss_file import write_tosses
from diffsim_ros.sensing.tosses import read_tosses, toss_ids
from tests.real2sim.synthetic import arrays
from validation.calibration import Thrower

DATA = Path(__file__).parents[2] / "data" / "cube_toss" / "tosses.npz"
GRAVITY = (0.0, 0.0, -9.81)


def save(folder: Path, **changes) -> Path:
    """A file with some arrays replaced; None leaves an array out."""
    content = {**arrays(), **changes}
    path = folder / "tosses.npz"
    np.savez(path, **{k: v for k, v in content.items() if v is not None})
    return path


def test_reads_the_published_file_in_its_own_order():
    trials = read_tosses(DATA)
    assert len(trials) == 400
    assert [t.id for t in trials] == toss_ids(DATA)
    first = trials[0]
    with np.load(DATA) as data:
        np.testing.assert_allclose(first.position[0], data["state"][0, :3])
        # scalar first in the file, (x, y, z, w) here
        np.testing.assert_allclose(first.orientation[0], data["state"][0, [4, 5, 6, 3]], atol=1e-6)


def test_angular_velocity_is_turned_from_body_to_world(tmp_path):
    trial = read_tosses(save(tmp_path))[0]
    turn = quat_multiply(trial.orientation[1:], quat_conjugate(trial.orientation[:-1]))
    world = quat_log(turn) / trial.dt
    np.testing.assert_allclose(trial.velocity[:-1, 3:], world, atol=1e-9)


def test_chosen_trials_come_sorted_and_an_unknown_id_is_named(tmp_path):
    path = save(tmp_path)
    assert [t.id for t in read_tosses(path, [12, 10])] == [10, 12]
    with pytest.raises(InputError, match=r"tosses.npz: toss_id: got 99"):
        read_tosses(path, [99])


def with_value(row: int, column: int, value: float) -> dict:
    state = arrays()["state"]
    state[row, column] = value
    return {"state": state}


def with_stamps(change) -> dict:
    t = np.tile(np.arange(30) / 148.0, 3)
    change(t)
    return {"t": t}


DEFECTS = {
    "missing array": ({"length": None}, "length: got .* missing"),
    "no dt": ({"dt": None}, "dt: got .* missing"),
    "dt of zero": ({"dt": np.float64(0.0)}, "dt: got 0.0"),
    "dt not finite": ({"dt": np.float64(np.nan)}, "dt: got nan"),
    "state of 9 columns": ({"state": np.zeros((90, 9))}, r"state: got .*\(90, 9\)"),
    "state of text": ({"state": np.full((90, 13), "x")}, "state: got .*<U1"),
    "fractional lengths": ({"length": np.full(3, 30.0)}, "length: got .*float64"),
    "ids twice": ({"toss_id": np.array([10, 10, 11])}, "toss_id: got 10"),
    "starts of another count": ({"start": np.array([0, 30])}, "start: got"),
    "rows beyond the end": ({"length": np.array([30, 30, 31])}, "toss 12: start/length"),
    "negative start": ({"start": np.array([-1, 30, 60])}, "toss 10: start/length"),
    "NaN pose": (with_value(35, 1, np.nan), "toss 11: sample 5, py: got nan"),
    "infinite velocity": (with_value(60, 12, np.inf), "toss 12: sample 0, wz: got inf"),
    "quaternion not unit": (with_value(31, 3, 2.0), "toss 11: sample 1, qw qx qy qz"),
    "a jump": (with_value(40, 0, 5.0), "toss 11: sample 10, position: .*jump"),
    "too few frames": ({"length": np.array([30, 3, 30])}, "toss 11: length: got 3"),
    "no tosses": (
        {name: np.zeros(0, int) for name in ("toss_id", "start", "length")},
        "toss_id: got 'no tosses'",
    ),
    "empty state": ({"state": np.zeros((0, 13))}, "no tosses|start/length"),
    "duplicate stamp": (
        with_stamps(lambda t: t.__setitem__(33, t[32])),
        "toss 11: sample 3, t: .*duplicate",
    ),
    "backward stamp": (
        with_stamps(lambda t: t.__setitem__(33, t[31])),
        "toss 11: sample 3, t: .*backward",
    ),
    "stamps off the grid": (
        with_stamps(lambda t: t.__setitem__(slice(31, 60), t[31:60] + 0.5 / 148)),
        "toss 11: sample 1, t",
    ),
    "stamps of another length": ({"t": np.arange(5.0)}, "t: got"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_refused_by_name(tmp_path, name):
    changes, pattern = DEFECTS[name]
    path = save(tmp_path, **changes)
    with pytest.raises(InputError, match=pattern) as caught:
        read_tosses(path)
    text = str(caught.value)
    assert str(path) in text and "accepted" in text and "\n" not in text


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_unreadable_file_is_refused(tmp_path, content):
    path = tmp_path / "tosses.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="readable"):
        read_tosses(path)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_tosses(tmp_path / "none.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    path = save(tmp_path, state=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="readable"):
        read_tosses(path)


def test_missing_frames_leave_holes_in_the_grid(tmp_path):
    content = arrays(tosses=1)
    keep = np.delete(np.arange(30), [7, 8, 20])
    t = np.arange(30) / 148.0
    path = save(
        tmp_path,
        toss_id=content["toss_id"],
        start=content["start"],
        length=np.array([27]),
        state=content["state"][keep],
        t=t[keep] + 100.0,
    )
    (trial,) = read_tosses(path)
    np.testing.assert_array_equal(trial.frames, keep)


@pytest.mark.parametrize("columns", [7, 13])
def test_written_tosses_read_back_the_same(tmp_path, columns):
    path = save(tmp_path, state=arrays(columns=columns)["state"])
    before = read_tosses(path)
    write_tosses(tmp_path / "again.npz", before)
    after = read_tosses(tmp_path / "again.npz")
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a.poses.value, b.poses.value, atol=1e-14)
        assert (a.velocity is None) == (b.velocity is None) == (columns == 7)
        if columns == 13:
            np.testing.assert_allclose(a.velocity, b.velocity, atol=1e-12)


def test_free_flight_of_the_real_tosses_points_down():
    flight = check_gravity(read_tosses(DATA), GRAVITY)
    assert abs(flight.median[2] + 9.62) < 0.05  # tracker's scale: not 9.81


def turned(state: np.ndarray) -> np.ndarray:
    """The same motion with y up."""
    out = state.copy()
    out[:, 1], out[:, 2] = state[:, 2], -state[:, 1]
    return out


def in_units(state: np.ndarray, factor: float) -> np.ndarray:
    out = state.copy()
    out[:, :3] *= factor
    return out


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (turned, "Y-up"),
        (lambda s: in_units(s, 30.0), "centimetres|metres"),
        (lambda s: in_units(s, 0.01), "do not begin in free flight"),
    ],
)
def test_flight_that_contradicts_gravity_is_refused(tmp_path, change, pattern):
    trials = read_tosses(save(tmp_path, state=change(arrays()["state"])))
    with pytest.raises(InputError, match=pattern) as caught:
        check_gravity(trials, GRAVITY)
    assert "toss" in str(caught.value) and "tosses.npz" in str(caught.value)


def test_millimetres_are_refused_at_reading(tmp_path):
    path = save(tmp_path, state=in_units(arrays()["state"], 1000.0))
    with pytest.raises(InputError, match="millimetres"):
        read_tosses(path)


def test_noise_of_a_real_tracker_passes_the_check_of_gravity(tmp_path):
    rng = np.random.default_rng(1)
    state = arrays(tosses=3)["state"]
    state[:, :3] += rng.normal(0.0, 1e-3, (90, 3))
    check_gravity(read_tosses(save(tmp_path, state=state)), GRAVITY)


def mapped(trials, matrix):
    """The same tosses, positions (n, 3) times a matrix."""
    matrix, out = np.asarray(matrix, float), []
    for trial in trials:
        values = trial.poses.values
        values = values | {"position": values["position"] @ matrix.T}
        out.append(replace(trial, poses=replace(trial.poses, values=values)))
    return out


@pytest.mark.parametrize("extra", [0.0, 1.5e-3])
def test_flights_shorter_than_the_bounces_show_up_and_unit_under_noise(extra):
    """Windows across the bounces of these share an upward acceleration of 10 m/s^2."""
    thrower, rng = Thrower(), np.random.default_rng(0)
    for seed in (2, 18, 81):
        trials, _ = thrower.tosses(seed, 5)
        for trial in trials:
            trial.poses.values["position"] += extra * rng.standard_normal((len(trial), 1, 3))
        check_gravity(trials, GRAVITY)
        check_gravity(trials[:1], GRAVITY)
        for words, matrix in (
            ("-Z-up", np.diag([1, -1, -1])),
            ("Y-up", [[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
            ("millimetres", 1000 * np.eye(3)),
        ):
            with pytest.raises(InputError, match=words):
                check_gravity(mapped(trials, matrix), GRAVITY)
