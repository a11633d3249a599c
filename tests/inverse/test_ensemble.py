"""The middle of an ensemble, and its score."""

import numpy as np
import pytest

from diffsim_ros.inverse.ensemble import (
    centre,
    centre_of_orientations,
    centre_of_positions,
    distances,
    energy_score,
)
from diffsim_ros.rotation import quat_angle, quat_exp

LINE = np.array([[0.0, 0, 0], [1.0, 0, 0], [1.1, 0, 0], [1.2, 0, 0], [9.0, 0, 0]])


def about_z(*angles):
    return quat_exp(np.array([[0.0, 0.0, a] for a in angles]))


def test_the_middle_is_between_median_and_mean():
    np.testing.assert_allclose(centre_of_positions(LINE, 0.0)[0], 1.1, atol=1e-3)
    np.testing.assert_allclose(centre_of_positions(LINE, np.inf)[0], LINE[:, 0].mean())
    x = np.linspace(0, 9, 9001)
    d = np.abs(LINE[:, 0] - x[:, None])
    best = x[(d + d**2).sum(axis=1).argmin()]
    assert centre_of_positions(LINE, 1.0)[0] == pytest.approx(best, abs=2e-3)


def test_orientations_have_theirs_on_the_rotations():
    q = about_z(0.1, 0.2, 0.3, 0.4, 3.0)
    median, mean = (centre_of_orientations(q, s) for s in (0.0, np.inf))
    assert quat_angle(median, about_z(0.3)[0]) < 1e-3
    assert quat_angle(mean, about_z(0.8)[0]) < 1e-6
    # q and -q are one rotation
    signs = np.array([1, -1, 1, -1, 1])[:, None]
    assert quat_angle(centre_of_orientations(signs * q), centre_of_orientations(q)) < 1e-7


def test_the_median_stays_with_most_members_where_they_lie_on_two_faces():
    q = about_z(0.0, 0.01, -0.01, 1.57, 1.58)
    assert quat_angle(centre_of_orientations(q, 0.0), about_z(0.0)[0]) < 0.02


def test_a_centre_of_motions_is_by_time():
    rng = np.random.default_rng(0)
    poses = np.concatenate(
        [rng.normal(size=(6, 4, 3)), quat_exp(0.3 * rng.normal(size=(6, 4, 3)))], axis=-1
    )
    whole = centre(poses)
    assert whole.shape == (4, 7)
    np.testing.assert_allclose(whole[2], centre(poses[:, 2:3])[0])
    away, turned = distances(poses, whole)
    assert away.shape == turned.shape == (6, 4)


def test_the_score_is_least_for_members_as_scattered_as_the_truth():
    rng = np.random.default_rng(1)

    def poses(n, scale):
        return np.concatenate(
            [scale * rng.normal(size=(n, 400, 3)), quat_exp(scale * rng.normal(size=(n, 400, 3)))],
            axis=-1,
        )

    (truth,) = poses(1, 0.3)
    scores = {s: [x.mean() for x in energy_score(poses(40, s), truth)] for s in (0.1, 0.3, 0.9)}
    for k in range(2):
        assert scores[0.3][k] < min(scores[0.1][k], scores[0.9][k])
