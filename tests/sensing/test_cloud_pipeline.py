"""The pipeline on scenes whose truth is known: planes with sigmas, an object followed, counts."""

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.options import read_cloud_options
from diffsim_ros.sensing.clouds.pipeline import CloudPipeline, stage_table
from diffsim_ros.sensing.clouds.planes import find_planes, refined, scene_snippet

pytest.importorskip("open3d", exc_type=ImportError)

PLANES = {
    "count": 3, "distance": 0.02, "share": 0.05, "iterations": 500, "frames": 1,
    "up": [0, 0, 1], "behind": False,
}  # fmt: skip
EYE = np.array([0.0, -1.0, 1.0])


def floor_points(generator, count, noise):
    """A level floor z = 0.1 under noise, 2 m x 2 m."""
    flat = generator.uniform(-1, 1, (count, 2))
    return np.column_stack([flat, 0.1 + noise * generator.normal(size=count)])


def test_planes_are_found_named_and_written_for_a_scene():
    generator = np.random.default_rng(0)
    floor = floor_points(generator, 4000, 0.003)
    wall = floor_points(generator, 3000, 0.003)[:, [0, 2, 1]] + [0, 1.9, 1]
    clutter = generator.uniform(-1, 1, (800, 3)) * [1, 1, 0.5] + [0, 0, 1]
    found = find_planes(np.concatenate([floor, wall, clutter]), EYE, PLANES)
    assert [plane.name for plane in found] == ["floor", "wall"]
    np.testing.assert_allclose(found[0].normal, [0, 0, 1], atol=2e-3)
    np.testing.assert_allclose(found[1].normal, [0, -1, 0], atol=2e-3)
    assert found[0].offset == pytest.approx(0.1, abs=5e-4)
    assert found[1].offset == pytest.approx(-2.0, abs=5e-3)
    assert found[0].distance([[0, 0, 0.4]]) == pytest.approx(0.3, abs=2e-3)
    scene = {
        "bodies": {"a": {"type": "particle", "mass": 1, "pose": {"position": [0, 0, 1]}}},
        "contact": [{"points": "a", "against": "floor", "k_n": 1e3, "c_n": 0, "c_f": 0.1}],
        "world": {"step": 0.01, "duration": 0.1}, **yaml.safe_load(scene_snippet(found)),
    }  # fmt: skip
    model = load_scene(scene)
    gap = model.surfaces["a_floor"].evaluate(np.array([[0.0, 0, 0.4]]))[0]
    assert gap == pytest.approx(0.3, abs=2e-3)


@pytest.mark.parametrize("patchy", [False, True])
def test_sigmas_of_planes_are_those_of_repeated_measurements(patchy):
    """Also where errors are correlated over patches, as a depth camera's are."""
    generator, z = np.random.default_rng(1), []
    for _ in range(120):
        points = floor_points(generator, 1200, 0.002)
        if patchy:
            bumps = 0.002 * generator.normal(size=(12, 12))
            cell = np.clip(6 * (points[:, :2] + 1), 0, 11.999).astype(int)
            points[:, 2] += bumps[cell[:, 0], cell[:, 1]]
        plane = refined(points, [0.01, 0, 1], 0.1, EYE, 0.02)
        place = np.array([0.0, 0.0, 0.1])
        z.append([
            plane.distance(place[None])[0] / plane.sigma_height(place),
            plane.normal[:2] @ plane.axes[0, :2] / np.sqrt(plane.covariance[0, 0]),
        ])  # fmt: skip
    spread = np.std(z, axis=0)
    np.testing.assert_allclose(spread, 1.0, atol=0.25)


def ball_frames(generator, frames=20, rate=30.0):
    """A ball that flies and hides for three frames over a floor, in the camera's frame, and truth.

    The camera faces along world y from (0, -1.5, 0.5): x right, y down, z forward.
    """
    turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # camera to world
    eye = np.array([0.0, -1.5, 0.5])
    clouds, truth = [], []
    for i in range(frames):
        t = i / rate
        centre = np.array([-0.6 + 1.5 * t, 0.0, 0.4 + 2.0 * t - 4.905 * t * t])
        u = generator.normal(size=(900, 3))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        ball = centre + 0.1 * u[(u @ (eye - centre)) > 0]
        floor = np.column_stack([generator.uniform(-1.5, 1.5, (3000, 2)), np.zeros(3000)])
        lonely = generator.uniform([-1, -1, 0.1], [1, 1, 2.1], (15, 3))
        parts = [floor, lonely] if 8 <= i < 11 else [ball, floor, lonely]
        points = np.concatenate(parts) + 0.002 * generator.normal(size=(sum(map(len, parts)), 3))
        red = np.zeros((len(points), 3))
        red[: len(parts[0]) * (len(parts) == 3)] = [0.9, 0.1, 0.1]
        red[red[:, 0] == 0] = [0.3, 0.4, 0.5]
        clouds.append(Cloud((points - eye) @ turn, red, stamp=t, frame="optical", source=f"f{i}"))
        truth.append(centre)
    return clouds, np.array(truth), turn, eye


def options(turn, eye, **more):
    from scipy.spatial.transform import Rotation

    section = {
        "sensor_frame": "optical", "position": eye.tolist(),
        "orientation": Rotation.from_matrix(turn).as_quat().tolist(),
        "boxes": [{"low": [-2, -2, -0.5], "high": [2, 2, 2]}],
        "planes": {"distance": 0.015, "frames": 2},
        "outliers": {"radius": 0.05, "least": 5},
        "object": {"distance": 0.04, "gate": 0.15, "start": [-0.6, 0, 0.4],
                   "gravity": [0, 0, -9.81]},
        "sample": 250, **more,
    }  # fmt: skip
    return read_cloud_options(section, "test.yaml")


def test_a_ball_is_followed_over_a_hidden_stretch_and_all_is_counted():
    clouds, truth, turn, eye = ball_frames(np.random.default_rng(2))
    pipeline = CloudPipeline(options(turn, eye))
    frames = pipeline.run(clouds)
    np.testing.assert_allclose(pipeline.planes[0].normal, [0, 0, 1], atol=3e-3)
    observed = np.array([frame.cloud is not None for frame in frames])
    np.testing.assert_array_equal(observed, [not 8 <= i < 11 for i in range(20)])
    for frame, centre in zip(frames, truth, strict=True):
        if frame.cloud is not None:
            away = np.linalg.norm(frame.cloud.points - centre, axis=1)
            assert np.abs(away - 0.1).max() < 0.02
            np.testing.assert_allclose(frame.cloud.eye, eye)
            assert len(frame.cloud) == 250
    table = {row["stage"]: row for row in stage_table(frames)}
    assert list(table) == [
        "transform",
        "box 0",
        "planes",
        "outliers",
        "object",
        "whole",
        "sample",
    ]
    assert table["sample"]["frames"] == 17
    assert table["planes"]["points_in"] - table["planes"]["points_out"] > 2900
    for frame in frames:
        for before, after in zip(frame.stages, frame.stages[1:], strict=False):
            assert before.after == after.before


def test_colour_alone_finds_the_ball():
    clouds, truth, turn, eye = ball_frames(np.random.default_rng(3), frames=3)
    red = {"space": "hsv", "low": [0.95, 0.5, 0.2], "high": [0.05, 1, 1]}
    pipeline = CloudPipeline(
        options(turn, eye, colours=[red], object=None, planes=None, outliers=None, sample=None)
    )
    for frame, centre in zip(pipeline.run(clouds), truth, strict=True):
        away = np.linalg.norm(frame.cloud.points - centre, axis=1)
        assert len(away) > 300 and np.abs(away - 0.1).max() < 0.02
    other = {**red, "keep": False}
    pipeline = CloudPipeline(options(turn, eye, colours=[other], object=None, sample=None))
    assert len(pipeline.process(clouds[0]).cloud or ()) < 50
    plain = Cloud(clouds[0].points, None, frame="optical", source="grey")
    with pytest.raises(InputError, match="grey: colour"):
        pipeline.process(plain)


def test_voxels_average_points_and_colours():
    from diffsim_ros.sensing.clouds.pipeline import voxels

    points = np.array([[0.01, 0.01, 0.01], [0.03, 0.01, 0.01], [0.31, 0.01, 0.01]])
    thin = voxels(Cloud(points, np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])), 0.1)
    order = np.argsort(thin.points[:, 0])
    np.testing.assert_allclose(thin.points[order], [[0.02, 0.01, 0.01], [0.31, 0.01, 0.01]])
    np.testing.assert_allclose(thin.colour[order], [[0.5, 0.5, 0], [0, 0, 1]])


def test_the_wrong_frame_is_named():
    clouds, _, turn, eye = ball_frames(np.random.default_rng(4), frames=1)
    pipeline = CloudPipeline(options(turn, eye, sensor_frame="depth"))
    with pytest.raises(InputError, match=r"f0: frame_id: got 'optical'.*'depth'"):
        pipeline.process(clouds[0])


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"voxels": 0.1}, "cloud.voxels.*did you mean 'voxel'"),
        ({"voxel": -1}, "cloud.voxel.*> 0"),
        ({"boxes": [{"low": [0, 0, 0]}]}, r"cloud.boxes\[0\].high.*required"),
        ({"boxes": [{"low": [0, 2, 0], "high": [1, 1, 1]}]}, r"cloud.boxes\[0\].low\[1\]"),
        ({"planes": {"counts": 2}}, "cloud.planes.counts.*did you mean 'count'"),
        ({"object": {"gate": "10 kg"}}, "cloud.object.gate.*kg is no unit of this key; it has m"),
        ({"noise": {"sigma": 1}}, "cloud.noise.sigma"),
    ],
)
def test_bad_options_are_named(section, says):
    with pytest.raises(InputError, match=says) as caught:
        read_cloud_options(section, "ball.yaml")
    assert "ball.yaml" in str(caught.value)
