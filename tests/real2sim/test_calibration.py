"""Static transforms from touched points and poses: covariance honest, refusals by name."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.calibration import from_bodies, from_flange, from_points
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_log, quat_multiply, quat_rotate
from diffsim_ros.sensing.frames import Frames, Transform, read_transform, write_transform

TURN = quat_exp(np.array([0.4, -1.1, 2.0]))
SHIFT = np.array([0.7, -0.4, 0.9])
OFFSET = np.array([0.03, -0.05, 0.12])
BODY = quat_exp(np.array([1.0, 0.5, -0.3]))
TRUTH = Transform("base_link", "world", SHIFT, TURN)


def places(rng, n):
    return rng.uniform(-0.4, 0.4, (n, 3))


def scene(rng, n, noise=0.0):
    """Poses of the flange, of a marker's place and of a body on it, as tracked."""
    turns = quat_exp(rng.normal(size=(n, 3)))
    flange = np.hstack([places(rng, n), turns])
    world = quat_rotate(turns, OFFSET) + flange[:, :3]
    observed = TRUTH.inverse().moved(world) + noise * rng.normal(size=(n, 3))
    q = quat_multiply(quat_conjugate(TURN), quat_multiply(turns, BODY))
    q = quat_multiply(quat_exp(noise * 5 * rng.normal(size=(n, 3))), q)
    return flange, observed, np.hstack([observed, q])


def error(found):
    """(dp, dphi) of a transform to the truth (6,)."""
    turn = quat_multiply(found.orientation, quat_conjugate(TURN))
    return np.concatenate([found.position - SHIFT, quat_log(turn)])


@pytest.mark.parametrize("n", [3, 12])
def test_exact_pairs_give_the_transform(n):
    rng = np.random.default_rng(n)
    flange, observed, bodies = scene(rng, max(n, 4))
    points = places(rng, n)
    pairs = {
        "points": from_points("base_link", "world", points, TRUTH.inverse().moved(points)),
        "flange": from_flange("base_link", "world", flange, observed),
        "bodies": from_bodies("base_link", "world", flange, bodies),
    }
    for name, found in pairs.items():
        np.testing.assert_allclose(error(found.transform), 0.0, atol=1e-9, err_msg=name)
        assert found.residual < 1e-9, name
        if name != "points":
            np.testing.assert_allclose(found.offset, OFFSET, atol=1e-9, err_msg=name)
    assert abs(abs(pairs["bodies"].offset_turn @ BODY) - 1.0) < 1e-12
    assert (pairs["bodies"].turns < 1e-9).all()


def test_the_covariance_is_that_of_the_errors():
    """Over noisy repetitions the errors' Mahalanobis distance has the mean of its law."""
    rng, noise = np.random.default_rng(0), 1e-3
    distances = {"points": [], "flange": [], "bodies": []}
    for _ in range(30):
        flange, observed, bodies = scene(rng, 12, noise)
        points = places(rng, 12)
        touched = TRUTH.inverse().moved(points) + noise * rng.normal(size=(12, 3))
        found = {
            "points": from_points("base_link", "world", points, touched),
            "flange": from_flange("base_link", "world", flange, observed),
            "bodies": from_bodies("base_link", "world", flange, bodies),
        }
        for name, one in found.items():
            e = error(one.transform)
            distances[name].append(e @ np.linalg.solve(one.transform.covariance, e))
            assert one.residual < 3 * noise
    for name, values in distances.items():  # 6 for known noise; its estimate widens that
        assert 4.6 < np.mean(values) < 8.2, (name, np.mean(values))


def test_what_does_not_determine_a_transform_is_refused_by_name():
    rng = np.random.default_rng(1)
    points = places(rng, 6)
    observed = TRUTH.inverse().moved(points)
    line = np.outer(np.arange(5.0), [0.1, 0.05, 0.0])
    flange, marker, bodies = scene(rng, 6)
    still = np.hstack([flange[:, :3], np.tile(flange[0, 3:], (6, 1))])
    swapped = observed[[1, 0, 2, 3, 4, 5]]
    quaternion = bodies.copy()
    quaternion[2, 3:] *= 1.1
    cases = [
        (from_points, points[:2], observed[:2], "parent_points: got 2; accepted: at least 3"),
        (from_points, line, TRUTH.inverse().moved(line), "parent_points: .*across a line"),
        (from_points, points, 1000.0 * observed, "child_points: got '1000 times'.*millimetres"),
        (from_points, points, observed[:5], "got 5; accepted: as many as parent_points"),
        (from_points, points, swapped, "residual: .*pair [01] .*swapped"),
        (from_points, points, np.where(points > 0.3, np.nan, observed), r"child_points\[\d\]"),
        (from_flange, still, marker, "flange_poses: .*second axis.*two axes"),
        (from_bodies, still, bodies, "flange_poses: .*second axis"),
        (from_bodies, flange, quaternion, r"child_poses\[2\]: got 'norm 1.1'"),
    ]
    for solve, parent, child, words in cases:
        with pytest.raises(InputError, match=words):
            solve("base_link", "world", parent, child)


def test_a_calibration_is_saved_and_read_and_never_overwritten(tmp_path):
    rng = np.random.default_rng(2)
    points = places(rng, 5)
    noisy = TRUTH.inverse().moved(points) + 1e-4 * rng.normal(size=(5, 3))
    found = from_points("base_link", "world", points, noisy)
    path = write_transform(tmp_path / "base.yaml", found.transform, found.document())
    back = read_transform(path)
    assert (back.parent, back.child, back.source) == ("base_link", "world", str(path))
    for name in ("position", "orientation", "covariance"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found.transform, name))
    assert back.residual == found.residual > 0.0 and "pairs: 5" in path.read_text()
    with pytest.raises(InputError, match="never overwritten"):
        write_transform(path, found.transform, {})
    path.write_text(path.read_text().replace("child_frame: world", "child_frame: 3"))
    with pytest.raises(InputError, match=r"base\.yaml: child_frame: got 3"):
        read_transform(path)


def test_frames_are_chained_and_an_unknown_one_is_refused(tmp_path):
    frames = Frames()
    camera = Transform("world", "camera", np.array([1.0, 0.0, 2.0]), quat_exp(SHIFT))
    frames.add([TRUTH, camera])
    x = np.array([0.1, 0.2, 0.3])
    expected = TRUTH.moved(camera.moved(x))
    np.testing.assert_allclose(frames.lookup("base_link", "camera", "t").moved(x), expected)
    np.testing.assert_allclose(frames.lookup("camera", "/base_link", "t").moved(expected), x)
    np.testing.assert_allclose(frames.lookup("tool", "tool", "t").moved(x), x)
    with pytest.raises(InputError, match=r"node driver: frame: got 'odom'.*'base_link'.*known: "
                       r"base_link, camera, world.*~/calibrate"):  # fmt: skip
        frames.lookup("base_link", "odom", "node driver")
    frames.add([Transform("camera", "base_link", x, TURN)])
    with pytest.raises(InputError, match="circle"):
        frames.lookup("odom", "camera", "t")
