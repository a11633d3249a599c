"""Errors of the cube benchmark; published ones, paired by toss, and their bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.rotation import quat_exp, quat_multiply
from tests.real2sim.synthetic import TRUTH, estimation, recorded
from validation.cube_benchmark import (
    PUBLISHED,
    TossErrors,
    best_of,
    compare,
    evaluate,
    means,
    picture,
    read_published,
    toss_errors,
)


def test_errors_of_a_known_offset_and_turn():
    q = quat_exp(np.array([[0.4, 0.0, 0.0]] * 5))
    p = np.zeros((5, 3))
    turn = np.array([0.0, 0.0, np.radians(10.0)])
    turned = quat_multiply(quat_exp(turn), q)
    errors = toss_errors(p + np.array([0.01048, 0.0, 0.0]), -turned, p, q)
    assert errors.position == pytest.approx(0.1)
    assert errors.rotation == pytest.approx(10.0)
    assert errors.e_q == pytest.approx(0.01048**2 / 0.0524 + np.radians(10.0) ** 2)


def of_exact_tosses(folder, **measurement):
    """An estimation of three tosses without noise, of both roles."""
    path = str(folder / "tosses.npz")
    np.savez(path, **recorded(3, seed=2, noise=(0.0, 0.0)))
    common = {"start": "height", "half_edge": 0.05}
    return load_estimation(estimation(path, path, measurement=common | measurement))


def test_the_truth_predicts_exact_tosses_of_either_role(tmp_path):
    config = of_exact_tosses(tmp_path)
    for role in ("train", "validate"):
        errors, failures = evaluate(config, TRUTH, role)
        assert list(errors) == [1, 2, 3] and not failures
        assert means(errors.values())["position_error_widths"] < 0.02
    wrong, _ = evaluate(config, TRUTH | {"friction": 0.05})
    assert means(wrong.values())["e_q"] > 10 * means(errors.values())["e_q"]


def test_the_refit_may_have_the_models_own_gravity(tmp_path):
    right, _ = evaluate(of_exact_tosses(tmp_path), TRUTH)
    config = of_exact_tosses(tmp_path, start_gravity=8.0)
    other, _ = evaluate(config, TRUTH)
    own, _ = evaluate(config, TRUTH, own_gravity=True)
    for toss, errors in right.items():
        assert own[toss].position == pytest.approx(errors.position, rel=1e-6)
        assert other[toss].position != pytest.approx(errors.position, rel=1e-2)


def test_published_means_are_those_of_the_table():
    table = read_published(PUBLISHED)
    assert sorted(table) == ["bullet", "drake", "mujoco"]
    assert all(len(rows) == 400 for rows in table.values())
    # the bars are the best of the three
    position = {n: np.mean([e.position for e in rows.values()]) for n, rows in table.items()}
    assert min(position, key=position.get) == "drake" and min(position.values()) == pytest.approx(
        0.138, abs=1e-3
    )


def test_only_tosses_with_published_errors_are_paired():
    ours = {
        4: TossErrors(0.1, 5.0, 0.02), 7: TossErrors(0.3, 9.0, 0.2), 8: TossErrors(0.9, 90.0, 3.0)
    }  # fmt: skip
    theirs = {7: TossErrors(0.4, 8.0, 0.1), 4: TossErrors(0.2, 6.0, 0.03), 9: TossErrors(1, 1, 1)}
    found = compare(ours, {"a": theirs})["a"]
    assert found["tosses"] == 2
    assert found["position_error_widths"] == pytest.approx(0.3)
    assert found["position_error_widths_difference"] == pytest.approx(-0.1)
    assert found["rotation_error_deg_difference"] == pytest.approx(0.0)
    assert compare(ours, {"a": {9: theirs[9]}}) == {}
    assert best_of({}) == {}


def test_a_constant_difference_has_no_width_and_excludes_equality():
    ours = {k: TossErrors(0.1 + 0.01 * k, 5.0 + k, 0.1 * k) for k in range(20)}
    theirs = {k: TossErrors(e.position + 0.05, e.rotation, e.e_q) for k, e in ours.items()}
    found = compare(ours, {"a": theirs})
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


def test_the_picture_replaces_the_one_before(tmp_path):
    rng = np.random.default_rng(0)
    names = ("drake", "bullet")
    table = {name: {k: TossErrors(*rng.random(3)) for k in range(5)} for name in names}
    path = tmp_path / "errors.png"
    for ours in ({1: table["drake"][1]}, table["drake"]):
        before = path.read_bytes() if path.exists() else b""
        picture(ours, table, path)
        assert path.read_bytes().startswith(b"\x89PNG") and path.read_bytes() != before


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
