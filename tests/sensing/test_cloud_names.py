"""Stamps in file names, clouds of bags in millimetres, bags of depth images, sparse clouds."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.sensors.cloud import first_guess
from diffsim_ros.sensing import bags, read
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import read_sequence
from diffsim_ros.sensing.clouds.names import stamps_of
from validation.fuzz_clouds import XYZ, pcd

BEGIN = 1_700_000_000_900_000_000
"""Stamp [ns] of the first frame."""


def stamps(rate, count, begin=BEGIN, lost=()):
    every = [begin + round(i * 1e9 / rate) for i in range(count)]
    return [ns for i, ns in enumerate(every) if i not in lost]


def unpadded(ns):
    return f"{ns // 10**9}.{ns % 10**9}"


@pytest.mark.parametrize("seed", range(20))
def test_names_of_pcl_ros_are_read_as_they_are_meant(seed):
    rng = np.random.default_rng(seed)
    rate, count = rng.uniform(5.0, 90.0), int(rng.integers(10, 60))
    lost = set(rng.integers(1, count - 1, count // 10).tolist())
    ns = stamps(rate, count, BEGIN + int(rng.integers(0, 10**9)), lost)
    found = stamps_of([unpadded(one) for one in ns])
    np.testing.assert_allclose(found.stamps, np.array(ns) * 1e-9, rtol=0, atol=1e-6)
    differ = len({len(unpadded(one)) for one in ns}) > 1
    assert (found.notes != ()) == differ
    if differ:
        assert "pcl_ros" in found.notes[0]
    padded = stamps_of([f"{one // 10**9}.{one % 10**9:09d}" for one in ns])
    np.testing.assert_allclose(padded.stamps, found.stamps)
    assert padded.notes == ()
    short = stamps_of([str(round(one * 1e-9 - 1.7e9, 6)) for one in ns])  # decimal, no zeros
    np.testing.assert_allclose(short.stamps, np.array(ns) * 1e-9 - 1.7e9, atol=1e-6)


def test_whole_numbers_of_names_have_the_unit_of_their_digits():
    for digits, unit in ((19, 1e-9), (16, 1e-6), (13, 1e-3)):
        whole = [ns // 10 ** (19 - digits) for ns in stamps(30, 5)]
        found = stamps_of([str(one) for one in whole])
        np.testing.assert_allclose(found.stamps, np.array(whole) * unit, rtol=1e-15)
        assert bool(found.notes) == (digits < 19)
    assert stamps_of(["frame_1", "frame_2"]).stamps == [None, None]


def test_a_folder_says_how_its_names_were_read(tmp_path):
    for ns in stamps(30, 12):
        (tmp_path / f"{unpadded(ns)}.pcd").write_bytes(pcd(XYZ))
    clouds = read_sequence(tmp_path)
    np.testing.assert_allclose(np.diff([c.stamp for c in clouds]), 1 / 30, atol=1e-6)
    (found,) = read.read(tmp_path)
    assert "pcl_ros" in found.notes[0]


def test_a_bag_in_millimetres_is_scaled_and_says_so(tmp_path):
    points = np.random.default_rng(0).normal((0, 0, 2), 0.5, (50, 3))
    clouds = [Cloud(1000 * points)] * 3
    track = bags.RecordedClouds("/points", "camera", [0.0, 0.1, 0.2], clouds)
    path = bags.write_motion(tmp_path / "a.mcap", [], clouds=[track])
    (found,) = read.read(path)
    assert found.scale == 1e-3
    assert "scale: 0.001" in found.notes[-1]
    np.testing.assert_allclose(found.clouds[0].points, points, atol=1e-6)
    same = read.read_kind(path, "clouds", scale=1e-3)
    np.testing.assert_allclose(same.clouds[0].points, points, atol=1e-6)
    with pytest.raises(InputError, match=r"give scale: 0\.001"):
        read.read_kind(path, "clouds", scale=1.0)


def test_depth_images_are_refused_with_the_next_step(tmp_path):
    kind = "sensor_msgs/msg/Image"
    message = bags.RawMessage(BEGIN, "/camera/depth/image_rect_raw", kind, bytes(64))
    path = bags.write_raw(tmp_path / "a.mcap", [message])
    for reader in (read.read, lambda p: read.read_kind(p, "clouds")):
        with pytest.raises(InputError, match=r"depth images are not read.*depth_image_proc"):
            reader(path)


def test_init_and_pipeline_count_the_same_points():
    for counts, least in (([200] * 9, 30), ([20] * 9, 10), ([40] * 5 + [20] * 5, 10)):
        assert first_guess._enough(counts) == least
    assert first_guess.ENOUGH == first_guess.OBJECT["points"].default
