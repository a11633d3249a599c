"""Published errors, paired by toss, and their bootstrap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.comparison import TossErrors, best_of, compare, interval, read_published

TABLE = Path(__file__).parents[2] / "data" / "cube_toss" / "anchor_errors_per_toss.csv"


def test_published_means_are_those_of_the_table():
    table = read_published(TABLE)
    assert sorted(table.errors) == ["bullet", "drake", "mujoco"]
    assert all(len(rows) == 400 for rows in table.errors.values())
    # the bars are the best of the three
    means = {n: np.mean([e.position for e in rows.values()]) for n, rows in table.errors.items()}
    assert min(means, key=means.get) == "drake" and min(means.values()) == pytest.approx(
        0.138, abs=1e-3
    )


def test_only_tosses_with_published_errors_are_paired():
    ours = [TossErrors(0.1, 5.0, 0.02), TossErrors(0.3, 9.0, 0.2), TossErrors(0.9, 90.0, 3.0)]
    theirs = [{"a": TossErrors(0.2, 6.0, 0.03)}, {"a": TossErrors(0.4, 8.0, 0.1)}, {}]
    found = compare(ours, theirs)["a"]
    assert found["tosses"] == 2
    assert found["position_error_widths"] == pytest.approx(0.3)
    assert found["position_error_widths_difference"] == pytest.approx(-0.1)
    assert found["rotation_error_deg_difference"] == pytest.approx(0.0)
    assert compare(ours, [{}, {}, {}]) == {}
    assert best_of({}) == {}


def test_a_constant_difference_has_no_width_and_excludes_equality():
    ours = [TossErrors(0.1 + 0.01 * k, 5.0 + k, 0.1 * k) for k in range(20)]
    theirs = [{"a": TossErrors(e.position + 0.05, e.rotation, e.e_q)} for e in ours]
    found = compare(ours, theirs)
    np.testing.assert_allclose(found["a"]["position_error_widths_difference_interval"], -0.05)
    best = best_of(found)
    assert best["position_error_widths"]["excludes_equality"]
    assert not best["rotation_error_deg"]["excludes_equality"]


def test_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(5)
    inside = 0
    for k in range(300):
        low, high = interval(rng.normal(1.0, 2.0, (60, 1)), seed=k)[0]
        inside += low <= 1.0 <= high
    assert 0.88 <= inside / 300 <= 0.98


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", "header"),
        ("a,b\n1,2\n", "header"),
        ("toss_id,x_e_q\n1,2\n", "header"),
        ("toss_id,x_mean_pos_err_cubewidths,x_mean_rot_err_deg,x_e_q\n1,2,oops,4\n", "line 2"),
        ("toss_id,x_mean_pos_err_cubewidths,x_mean_rot_err_deg,x_e_q\n1,2,nan,4\n", "line 2"),
    ],
)
def test_a_broken_table_is_refused(tmp_path, text, pattern):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=pattern):
        read_published(path)
