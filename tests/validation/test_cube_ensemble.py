"""Random impacts of the cube: their size, the forecasts' calibration, and refitted peers."""

import numpy as np
import pytest

from diffsim_ros.rotation import quat_exp
from diffsim_ros.sensing.tosses import read_tosses
from validation import cube_ensemble, cube_kicked, cube_peers
from validation.cube_ensemble import Fold, beside, calibration, face, forecasts, kick_of
from validation.cube_laws import FILE, folds
from validation.cube_prototype import GRAVITY, SCALE
from validation.cube_whole import WHOLE


def random_fold(kick):
    """Tosses that the law made itself, with random impacts."""
    law = WHOLE["present"][0]
    fold = Fold.of(read_tosses(FILE, folds(0.12)[0]))
    (made,) = fold.ensemble(law, kick, 1, seed=9)
    measured = [p[: len(m)] for p, m in zip(made, fold.measured, strict=True)]
    return law, Fold(fold.ids, fold.start, measured, fold.frames)


def test_the_score_is_least_for_impacts_as_random_as_those_of_the_tosses():
    law, fold = random_fold(1.4)
    low, right, high = (fold.score(fold.ensemble(law, k, 10, 3)) for k in (0.3, 1.4, 5.6))
    assert right < 0.98 * min(low, high)


@pytest.mark.parametrize("best", [0.9, 1.5, 2.2])
def test_the_random_part_is_where_a_parabola_through_the_scores_is_least(best):
    class Scored:
        def ensemble(self, law, kick, members, seed):
            return kick

        def score(self, kick):
            return 1.2 + np.log(kick / best) ** 2

    assert kick_of(WHOLE["present"][0], Scored()) == pytest.approx(best)


def test_forecasts_of_what_made_the_tosses_are_calibrated_and_too_narrow_ones_are_not():
    law, fold = random_fold(2.0)
    right, narrow = (
        calibration(forecasts(fold, fold.ensemble(law, kick, 24, seed=4))) for kick in (2.0, 0.2)
    )
    assert right["position_inside_90"] >= 0.7 and right["orientation_inside_90"] >= 0.7
    assert narrow["position_inside_90"] < 0.6 and narrow["orientation_inside_90"] < 0.6
    assert sum(one["tosses"] for one in right["faces"]) == len(fold.ids)


def test_every_face_is_told_from_the_others_and_from_turns_about_the_vertical():
    about = [[0, 0, 0], [2, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]
    q = quat_exp(np.pi / 2 * np.array(about))
    assert len(set(face(q).tolist())) == 6
    near = quat_exp(np.array([[0.1, -0.1, 0.05]]))
    assert face(near) == face(q[:1])


def test_differences_are_paired():
    rng = np.random.default_rng(0)
    reference = rng.gamma(2.0, 1.0, (300, 3))
    found = beside(reference - [0.05, 0.0, -0.05] + 0.1 * rng.normal(size=(300, 3)), reference)
    assert found["excludes_equality"] == [True, False, True]


def test_a_tenth_has_every_prediction_of_the_development_half():
    figures = cube_ensemble.study(0.05)
    assert set(figures) >= {"development", "kick", "calibration"} and "other_half" not in figures
    kinds = ("one motion", *cube_ensemble.CENTRES)
    assert set(figures["development"]) == {f"present, {what}" for what in kinds}
    assert all(1.0 <= k <= 2.0 for k in figures["kick"]["present"])


def test_a_tenth_by_the_engine_is_near_the_prototype():
    figures = cube_kicked.study(0.05)
    single, middle = figures["one motion"], figures["middle"]
    assert single["position_error_widths"] < 0.2 and single["rotation_error_deg"] < 30
    assert middle["position_error_widths"] < 1.3 * single["position_error_widths"]


FLAT = np.array([[0, 0, 0.3, 0, 0, 0, 1, 0.5, 0, 0, 0, 0, 3.0]])


@pytest.mark.parametrize("name", list(cube_peers.PEERS))
def test_a_peer_flies_as_we_do_and_comes_to_rest(name):
    if not cube_peers.installed(name):
        pytest.skip(f"{cube_peers.PEERS[name].module} is not installed")
    (poses,) = cube_peers.PEERS[name].simulate(cube_peers.PEERS[name].first, FLAT, 120)
    t = np.arange(10) / 148
    np.testing.assert_allclose(poses[:10, 0], 0.5 * t, atol=1e-4)
    fallen = 0.3 - 0.5 * GRAVITY / SCALE * t**2
    np.testing.assert_allclose(poses[:10, 2], fallen, atol=3e-3)
    np.testing.assert_allclose(2 * np.arctan2(poses[:10, 5], poses[:10, 6]), 3.0 * t, atol=1e-3)
    assert poses[-1, 2] == pytest.approx(cube_peers.EDGE, abs=2e-3)


def test_a_peer_is_fitted_to_what_it_made():
    pytest.importorskip("mujoco")
    pytest.importorskip("cma")
    from validation.cube_laws import benchmark

    fold, peer = Fold.of(read_tosses(FILE, folds(0.06)[0])), cube_peers.PEERS["mujoco"]
    truth = np.array(peer.first) * [1.3, 1, 1, 1, 1]
    made = peer.simulate(truth, fold.start, fold.frames)
    judge = lambda p: benchmark(p, list(made))  # noqa: E731
    at_first = judge(peer.simulate(peer.first, fold.start, fold.frames)).mean(axis=0)
    numbers, _ = cube_peers.fitted("mujoco", fold.start, fold.frames, judge, 60)
    found = judge(peer.simulate(numbers, fold.start, fold.frames)).mean(axis=0)
    assert found[0] < 0.8 * at_first[0]


def test_peers_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(cube_peers, "installed", lambda name: False)
    figures = cube_peers.study(0.03)
    assert figures["fits"]["drake"] == "left out: pydrake is not installed"
    assert "drake, published" in figures["development"]
