"""What a thrown body's recording needs: its beginning, whole objects, the end of its flight."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.scenarios.throw import free_frames
from diffsim_ros.real2sim.sensors.cloud.camera import Camera
from diffsim_ros.real2sim.sensors.cloud.detections import RegisteredSurface
from diffsim_ros.real2sim.sensors.cloud.options import CloudFiles
from diffsim_ros.sensing.clouds.cloud import checked
from diffsim_ros.sensing.clouds.crop import at_rim, cut_by
from diffsim_ros.sensing.clouds.files import write_sequence
from diffsim_ros.sensing.clouds.options import read_cloud_options

GRAVITY = np.array([0.0, 0.0, -9.81])
BOX = {"low": [-1, -1, -1], "high": [1, 1, 1], "keep": True}


def placed(place):
    return RegisteredSurface(
        *(np.asarray(place) if name == "place" else np.eye(3) for name in RegisteredSurface._fields)
    )


def bouncing(t):
    """Height of a point that falls from 0.5 m with 1 m/s and bounces off z = 0 elastically."""
    touch = (-1.0 + np.sqrt(1.0 + 2 * 9.81 * 0.5)) / 9.81
    speed = 1.0 + 9.81 * touch
    down = 0.5 - t - 0.5 * 9.81 * t**2
    up = speed * (t - touch) - 0.5 * 9.81 * (t - touch) ** 2
    return np.where(t < touch, down, up), touch


def test_a_bounce_between_two_frames_ends_the_flight():
    t = (np.arange(12) + 0.5) / 30.0
    heights, touch = bouncing(t)
    assert heights.min() > 0.04, "no frame shows the contact"
    found = [placed([0.3 * s, 0.0, z]) for s, z in zip(t, heights, strict=True)]
    count = free_frames(found, lambda one: one.place[2], 0.02, t, GRAVITY)
    assert t[count - 1] < touch < t[count]


def test_a_flight_without_contact_has_all_frames():
    t = np.arange(8) / 30.0
    found = [placed([s, 0.0, 2.0 - 0.5 * 9.81 * s**2]) for s in t]
    assert free_frames(found, lambda one: one.place[2], 0.02, t, GRAVITY) == 8


@pytest.mark.parametrize(("x", "cut"), [(0.5, False), (0.97, True), (-0.97, True)])
def test_an_object_at_a_face_of_a_box_may_be_cut(x, cut):
    points = np.array([[0.0, 0.0, 0.0], [x, 0.0, 0.0]])
    assert cut_by(points, BOX, 0.05) is cut
    assert not cut_by(points, {**BOX, "keep": False}, 0.05)


@pytest.mark.parametrize(("pixel", "cut"), [((2, 2), False), ((0, 2), True), ((2, 0), True),
                                            ((4, 3), True), ((3, 5), True)])  # fmt: skip
def test_an_object_at_the_images_rim_may_be_cut(pixel, cut):
    points = np.full((5, 6, 3), np.nan)
    points[pixel] = [0.1, 0.2, 1.0]
    cloud = checked(points.reshape(-1, 3), source="test", shape=(5, 6))
    assert at_rim(cloud) is cut
    assert not at_rim(checked(np.ones((3, 3)), source="test"))


def test_a_recording_counts_from_its_beginning(tmp_path):
    clouds = [checked(np.full((4, 3), 1.0 + k), source="test", stamp=10.0 + 0.1 * k)
              for k in range(6)]  # fmt: skip
    path = tmp_path / "throw.npz"
    write_sequence(path, clouds)
    cameras = [Camera("cloud", read_cloud_options({}, "plan.yaml"))]
    (throw,) = CloudFiles("plan.yaml", "data.train", (path,), begin=(10.25,)).read(cameras)
    assert [round(cloud.stamp, 3) for cloud in throw["cloud"].clouds] == [10.3, 10.4, 10.5]
    with pytest.raises(InputError, match=r"data.train.begin\[0\].*from 10.000 to 10.500 s"):
        CloudFiles("plan.yaml", "data.train", (path,), begin=(11.0,)).read(cameras)
