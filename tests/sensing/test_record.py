"""A stream of poses becomes trials by its stamps alone; what is unusable is counted by name."""

import dataclasses

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_conjugate, quat_multiply, quat_rotate
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.check import contradiction
from diffsim_ros.sensing.observation import Observation, PoseSample
from diffsim_ros.sensing.read import read, read_beside, read_trials
from diffsim_ros.sensing.record import RESET_AFTER, MessageRecorder, PoseRecorder
from diffsim_ros.sensing.saving import save_trials
from diffsim_ros.sensing.tosses import read_tosses

DT = 1.0 / 148.0
SPIN = np.array([1.0, 2.0, 3.0])
START = 1_700_000_000 * NANO


def flight(count=40, start=START, gravity=(0.0, 0.0, -9.81), scale=1.0):
    """Samples of a body in free flight."""
    t = np.arange(count) * DT
    position = [0.1, 0.2, 0.5] + np.outer(t, [0.5, -0.3, 1.0]) + 0.5 * np.outer(t * t, gravity)
    half = 0.5 * np.linalg.norm(SPIN) * t[:, None]
    turn = np.hstack([np.sin(half) * SPIN / np.linalg.norm(SPIN), np.cos(half)])
    return [
        PoseSample(start + round(s * NANO), "world", "cube", tuple(scale * p), tuple(q))
        for s, p, q in zip(t, position, turn, strict=True)
    ]


def recorder(samples=(), **options):
    result = PoseRecorder("/cube/pose", **options)
    for sample in samples:
        result.add(sample)
    return result


def test_trials_are_split_at_holes_in_the_stamps():
    gap = round(0.5 * NANO)
    first = flight(30)
    second = flight(20, start=first[-1].stamp + gap + 1)
    trials = recorder([*first, *second]).trials()
    assert [len(t) for t in trials] == [30, 20] and [t.id for t in trials] == [1, 2]
    assert len(recorder([*first, *flight(20, start=first[-1].stamp + gap)]).trials()) == 1


def test_poses_pass_unchanged_and_the_grid_is_found():
    samples = flight()
    (trial,) = recorder(samples).trials()
    np.testing.assert_array_equal(trial.position, [s.position for s in samples])
    np.testing.assert_array_equal(trial.orientation, [s.orientation for s in samples])
    assert trial.dt == pytest.approx(DT, abs=1e-10)
    np.testing.assert_array_equal(trial.frames, np.arange(40))


def test_missing_frames_are_holes_in_the_grid():
    samples = flight(40)
    kept = samples[:10] + samples[13:]
    box = recorder(kept)
    (trial,) = box.trials()
    assert box.missing() == 3 and trial.frames[10] == 13
    assert trial.dt == pytest.approx(DT, abs=1e-10)


def test_jitter_averages_out():
    rng = np.random.default_rng(3)
    jitter = rng.integers(-500_000, 500_000, 40)
    samples = [
        dataclasses.replace(s, stamp=s.stamp + int(j))
        for s, j in zip(flight(), jitter, strict=True)
    ]
    (trial,) = recorder(samples).trials()
    assert trial.dt == pytest.approx(DT, rel=2e-3)
    np.testing.assert_array_equal(trial.frames, np.arange(40))


def bad(sample, reason):
    nan = float("nan")
    return {
        "not finite": dataclasses.replace(sample, position=(nan, 0.0, 0.0)),
        "not a rotation": dataclasses.replace(sample, orientation=(0.0, 0.0, 0.0, 0.0)),
        "unknown frame": dataclasses.replace(sample, frame="camera"),
        "duplicate stamp": dataclasses.replace(sample, stamp=sample.stamp - round(DT * NANO)),
        "backward stamp": dataclasses.replace(sample, stamp=sample.stamp - round(0.1 * NANO)),
    }[reason]


@pytest.mark.parametrize(
    "reason",
    ["not finite", "not a rotation", "unknown frame", "duplicate stamp", "backward stamp"],
)
def test_unusable_samples_are_dropped_counted_and_named(reason):
    samples = flight()
    box = recorder(samples[:20])
    wrong = bad(samples[20], reason)
    if reason == "duplicate stamp":
        wrong = dataclasses.replace(wrong, stamp=samples[19].stamp)
    assert box.add(wrong) == reason
    for sample in samples[21:]:
        assert box.add(sample) == ""
    assert box.drops[reason].count == 1 and box.dropped == 1
    assert "sample 20 at 1700000000." in box.drops[reason].first
    assert reason in box.summary() and "sample 20" in box.summary()
    (trial,) = box.trials()
    assert len(trial) == 39 and np.isfinite(trial.position).all()


def test_a_stamp_beyond_64_bits_is_dropped():
    samples = flight()
    box = recorder(samples[:20])
    assert box.add(dataclasses.replace(samples[20], stamp=2**63)) == "unreadable"
    assert box.add(samples[21]) == "" and len(box) == 21


def test_nan_quaternion_counts_as_not_finite():
    nan = (float("nan"),) * 4
    assert recorder().add(dataclasses.replace(flight(1)[0], orientation=nan)) == "not finite"


def test_a_given_frame_is_enforced_from_the_first_sample():
    box = recorder(frame="map")
    assert box.add(flight(1)[0]) == "unknown frame"


def test_a_clock_that_is_set_back_begins_a_new_trial():
    first, again = flight(30), flight(30, start=START - 5 * NANO)
    box = recorder([*first, *again])
    assert box.resets == 1 and box.drops["backward stamp"].count == RESET_AFTER
    assert [len(t) for t in box.trials()] == [30, 30 - RESET_AFTER]


def test_one_wild_stamp_does_not_end_a_recording():
    samples = flight(60)
    samples[30] = dataclasses.replace(samples[30], stamp=START + 1000 * NANO)
    box = recorder(samples)
    assert sum(len(t) for t in box.trials()) == 60 - 1 - RESET_AFTER


def test_y_up_is_turned_to_z_up():
    upright = flight()
    turn = quat_conjugate(np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]))
    lying = [
        dataclasses.replace(
            s,
            position=tuple(quat_rotate(turn, np.array(s.position))),
            orientation=tuple(quat_multiply(turn, np.array(s.orientation))),
        )
        for s in upright
    ]
    assert lying[0].position[1] == pytest.approx(0.5)  # the height is in y
    warning = contradiction(recorder(lying))
    assert "Y-up" in warning and "/cube/pose" in warning
    box = recorder(lying, up_axis="y")
    assert contradiction(box) == ""
    (trial,) = box.trials()
    np.testing.assert_allclose(trial.position, [s.position for s in upright], atol=1e-12)
    np.testing.assert_allclose(trial.orientation, [s.orientation for s in upright], atol=1e-12)


def test_millimetres_are_noticed():
    assert "millimetres" in contradiction(recorder(flight(scale=1000.0)))


def test_nothing_to_say_without_trials():
    assert contradiction(recorder()) == "" and recorder().summary() == "0 of 0 samples in 0 trials"
    with pytest.raises(InputError, match="at least one trial of 8 samples"):
        recorder(flight(5)).trials()


def test_ids_are_given_in_order_and_continue_free():
    parts = [flight(10, start=START + k * 10 * NANO) for k in range(4)]
    box = recorder([s for part in parts for s in part])
    assert [t.id for t in box.trials([7, 2])] == [7, 2, 1, 3]


def test_the_buffer_is_bounded():
    box = recorder(flight(30), limit=20)
    assert len(box) == 20 and box.overflow == 10 and "buffer of 20" in box.summary()


def test_options_are_checked():
    with pytest.raises(InputError, match="up_axis"):
        recorder(up_axis="x")
    with pytest.raises(InputError, match="trial_gap"):
        recorder(trial_gap=0.0)


def test_saved_trials_are_read_back(tmp_path):
    trials = recorder(flight()).trials([9])
    npz, table = save_trials(tmp_path / "new" / "toss.npz", trials)
    (back,) = read_tosses(npz)
    assert back.id == 9 and back.velocity is None
    np.testing.assert_array_equal(back.position, trials[0].position)
    np.testing.assert_allclose(back.orientation, trials[0].orientation, atol=1e-15)
    assert len(table.read_text().splitlines()) == 41
    before = sorted(p.name for p in npz.parent.iterdir())
    with pytest.raises(InputError, match=r"toss\.npz.*exists"):
        save_trials(npz, trials)
    assert sorted(p.name for p in npz.parent.iterdir()) == before == ["toss.csv", "toss.npz"]


def test_a_saved_table_keeps_the_stamps_of_the_source(tmp_path):
    """Without them its tosses are no sensor beside a camera: each would begin at 0."""
    second = flight(start=START + 7 * NANO)
    samples = [*flight(), *second]
    trials = recorder(samples).trials()
    _, table = save_trials(tmp_path / "toss.npz", trials)
    beside = read_beside(table, "poses")
    np.testing.assert_allclose(beside.t, [s.stamp / NANO for s in samples], atol=3e-7)
    assert read(table)[0].epoch == START
    for one, again in zip(trials, read_tosses(table), strict=True):
        np.testing.assert_array_equal(one.frames, again.frames)
        np.testing.assert_array_equal(one.poses.t, again.poses.t)
        assert one.dt == again.dt
    text = table.read_text()
    table.write_text(text.replace("1700000007.000000000", "soon"))
    with pytest.raises(InputError, match=r"line 42, stamp: got 'soon'"):
        read(table)
    table.write_text(text.replace("1700000007.000000000", "1700000006.000000000"))
    with pytest.raises(InputError, match=r"line 43, stamp: got '1.0067\d* s later, t 0.0067"):
        read(table)


def test_markers_are_saved_beside_the_poses_as_the_estimator_reads_them(tmp_path):
    value = np.arange(2 * 20 * 6).reshape(2, 20, 6) / 100
    value[1, 3, :3] = np.nan
    t = np.arange(20) / 100
    names = (("a", "b"), ("b", "c"))
    markers = [
        Observation(
            kind="markers",
            t=t,
            frame="map",
            names=names[k],
            source="",
            trial=k + 1,
            values={"position": value[k].reshape(20, 2, 3)},
        )
        for k in range(2)
    ]
    paths = save_trials(tmp_path / "toss.npz", recorder(flight()).trials(), markers)
    assert paths[-1].name == "toss_markers.csv"
    (alone,) = save_trials(tmp_path / "beam.csv", [], markers)
    for path in (paths[-1], alone):
        first, second = read_trials(path, "markers")
        assert (first.names, first.name) == (("a", "b", "c"), f"{path.stem}_1")
        np.testing.assert_array_equal(first.value[:, :6], value[0])
        np.testing.assert_array_equal(second.value[:, 3:], value[1])
        assert np.isnan(first.value[:, 6:]).all() and np.isnan(second.value[:, :3]).all()


@pytest.mark.parametrize("back", [5, 0.3])
def test_messages_of_trials_whose_stamps_overlap_stay_in_order_of_arrival(back):
    """A bag is sorted by time: that would mix a trial with one that repeats its stamps."""
    box = MessageRecorder("/ft", msgtype="geometry_msgs/msg/WrenchStamped")
    stamps = START + np.arange(100) * (NANO // 100)
    stamps[50:] -= round(back * NANO)
    for k, stamp in enumerate(stamps.tolist()):
        box.add(stamp, "ft", bytes([k]))
    assert box.resets == 1 and box.trial_count == 2
    found = box.messages("/ft")
    after, before = stamps[50 + RESET_AFTER :].tolist(), stamps[:50].tolist()
    ordered = [one.data[0] for one in sorted(found, key=lambda one: one.stamp)]
    if back == 5:  # the second is wholly before the first
        assert [one.stamp for one in found] == before + after
        assert ordered == [*range(50 + RESET_AFTER, 100), *range(50)]
    else:
        assert ordered == [*range(50), *range(50 + RESET_AFTER, 100)]
