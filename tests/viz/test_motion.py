"""Errors between motions, and the geometry of the box that is drawn."""

import numpy as np
import pytest

from diffsim_ros.viz.motion import EDGES, FACES, Motion, corners


def about(axis, angle):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.append(axis * np.sin(angle / 2), np.cos(angle / 2))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.7, np.pi - 1e-7, np.pi, 4.0])
def test_the_rotation_error_is_exact_near_zero_and_pi_and_blind_to_the_sign(angle):
    a, b = about([1, 2, -1], 0.4), about([1, 2, -1], 0.4 + angle)
    expected = min(angle, 2 * np.pi - angle)
    place = np.zeros((2, 3))
    for sign in (1.0, -1.0):
        motion = Motion(
            "x", [0.0, 0.1], place, np.tile(sign * a, (2, 1)), place, np.tile(b, (2, 1))
        )
        assert motion.rotation_error() == pytest.approx(expected, rel=1e-6, abs=1e-15)


def test_faces_look_outwards_and_share_the_edges():
    box = corners((1.0, 2.0, 3.0))
    for face in FACES:
        normal = np.cross(box[face[1]] - box[face[0]], box[face[2]] - box[face[0]])
        assert normal @ box[list(face)].mean(axis=0) > 0
    sides = {frozenset(p) for f in FACES for p in zip(f, f[1:] + f[:1], strict=True)}
    assert sides == {frozenset(edge) for edge in EDGES} and len(EDGES) == 12


def test_errors_are_those_that_were_put_in(motion):
    assert motion.position_error()[-1] == pytest.approx(np.hypot(0.02, 0.01))
    assert motion.rotation_error()[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": [0.0, 0.1, 0.2]}, "measured_position: expected shape"),
        ({"measured_position": [[0, 0, np.nan]] * 2}, "measured_position: expected finite"),
    ],
)
def test_a_motion_that_contradicts_itself_is_refused(change, words):
    fields = {
        "name": "x", "t": [0.0, 0.1], "measured_position": np.zeros((2, 3)),
        "measured_orientation": np.tile([0.0, 0, 0, 1], (2, 1)),
        "simulated_position": np.zeros((2, 3)),
        "simulated_orientation": np.tile([0.0, 0, 0, 1], (2, 1)),
    }  # fmt: skip
    Motion(**fields)
    with pytest.raises(ValueError, match=words):
        Motion(**{**fields, **change})
