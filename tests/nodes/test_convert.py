"""What goes into a message comes out of it; wrong types never do (ROS_PYTHON_CHECK_FIELDS=1)."""

import dataclasses
import math
import os
from types import SimpleNamespace

import numpy as np
import pytest

convert = pytest.importorskip("diffsim_ros.nodes.convert")
convert_poses = pytest.importorskip("diffsim_ros.nodes.convert_poses")

from diffsim_interfaces.srv import EstimateMaterial  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

from diffsim_ros.real2sim.progress import Progress  # noqa: E402
from diffsim_ros.sensing.clouds.cloud import Cloud  # noqa: E402
from diffsim_ros.sensing.clouds.files import LOOKED_AT  # noqa: E402
from diffsim_ros.sensing.observation import PoseSample  # noqa: E402
from diffsim_ros.viz.markers import Action, Marker, MarkerKind  # noqa: E402

RNG = np.random.default_rng(5)


def over_the_wire(message):
    """The message as a subscriber gets it."""
    return deserialize_message(serialize_message(message), type(message))


def samples(count):
    for k in range(count):
        q = RNG.normal(size=4)
        yield PoseSample(
            1_700_000_000_000_000_000 + 999_999_999 * k,
            f"frame{k % 2}",
            f"body{k}",
            tuple(RNG.normal(size=3)),
            tuple(q / np.linalg.norm(q)),
        )


def test_fields_are_checked_in_this_suite():
    from std_msgs.msg import Float64

    assert os.environ["ROS_PYTHON_CHECK_FIELDS"] == "1"
    with pytest.raises(AssertionError):
        Float64(data=3)


def test_pose_round_trip_keeps_every_bit():
    for sample in samples(20):
        message = over_the_wire(convert.pose_message(sample))
        assert convert.pose_sample(message, sample.body) == sample


def test_single_precision_and_integers_become_doubles():
    sample = PoseSample(5, "world", "cube", np.float32([1, 2, 3]), (0, 0, 0, 1))
    back = convert.pose_sample(over_the_wire(convert.pose_message(sample)), "cube")
    assert back.position == (1.0, 2.0, 3.0) and back.orientation == (0.0, 0.0, 0.0, 1.0)


def test_rigid_bodies_round_trip():
    pytest.importorskip("mocap4r2_msgs")
    group = [dataclasses.replace(s, stamp=7, frame="map") for s in samples(3)]
    message = over_the_wire(convert.bodies_message(group, 12))
    assert message.frame_number == 12
    assert list(convert_poses.samples_of(message, "")) == group


def test_marker_frame_keeps_names_and_forgets_indices():
    mocap = pytest.importorskip("mocap4r2_msgs.msg")
    message = mocap.Markers(frame_number=3)
    message.header.stamp.sec = 2
    for k, kind in enumerate((mocap.Marker.USE_NAME, mocap.Marker.USE_INDEX)):
        one = mocap.Marker(id_type=kind, marker_index=k, marker_name=f"m{k}")
        one.translation.x = float(k)
        message.markers.append(one)
    frame = convert.marker_frame(over_the_wire(message))
    assert frame.stamp == 2_000_000_000 and frame.names == ("m0", "")
    np.testing.assert_array_equal(frame.points, [[0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("stamp", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789])
def test_stamps_are_exact(stamp):
    assert convert.nanoseconds(convert.time_message(stamp)) == stamp


def every_marker():
    points = RNG.normal(size=(6, 3))
    colours = RNG.uniform(size=(6, 4)).astype(np.float32)
    yield Marker("box", 1, MarkerKind.CUBE, position=(1, 2, 3), scale=(0.1, 0.2, 0.3))
    yield Marker("line", 2, MarkerKind.LINE_STRIP, scale=(0.01, 0.0, 0.0), points=points)
    yield Marker("mesh", 3, MarkerKind.TRIANGLE_LIST, points=points, colours=colours)
    yield Marker("text", 4, MarkerKind.TEXT, text="½ m", scale=(0.0, 0.0, 0.1), lifetime=1.25)
    yield Marker("gone", 5, MarkerKind.ARROW, Action.DELETE, frame_id="map")


@pytest.mark.parametrize("marker", list(every_marker()), ids=lambda m: m.ns)
def test_marker_round_trip(marker):
    array = over_the_wire(convert.marker_array([marker], 1_500_000_000))
    assert convert.nanoseconds(array.markers[0].header.stamp) == 1_500_000_000
    (back,) = convert.markers(array)
    for field in dataclasses.fields(Marker):
        want, got = getattr(marker, field.name), getattr(back, field.name)
        if field.name == "colour" or isinstance(want, np.ndarray):
            np.testing.assert_allclose(got, want, rtol=1e-7)
        else:
            assert got == want, field.name


def test_path_holds_poses_and_stamps():
    poses = RNG.normal(size=(4, 7))
    path = over_the_wire(convert.path_message([1, 2, 3, 4], poses, "world"))
    assert path.header.frame_id == "world"
    assert [convert.nanoseconds(p.header.stamp) for p in path.poses] == [1, 2, 3, 4]
    back = [convert.pose_sample(p, "") for p in path.poses]
    np.testing.assert_array_equal([[*s.position, *s.orientation] for s in back], poses)


def parameter(**changes):
    values = {"name": "c_f", "unit": "1", "value": 0.2, "std_dev": None, "lower": 0, "upper": 1}
    values |= {"identifiable": np.True_, "at_bound": False, "note": ""}
    return SimpleNamespace(**(values | changes))


def test_answer_round_trip_in_all_three_messages():
    metrics = {
        "validate": {"position_error_m": 0.2, "best": {"name": "drake", "mean": None}},
        "range": [1, 2],
        "per_recording": [{"position_error_m": 1.0}],
    }
    answer = convert.Answer(
        "NOT_CONVERGED",
        "why",
        [parameter(), parameter(name="k_n", unit="N/m", std_dev=np.float64(3))],
        np.array([[1.0, 0.5], [0.5, 1.0]]),
        metrics,
        "/x/report.html",
    )
    for message in (
        convert.answer_message(answer, EstimateMaterial.Response()),
        convert.answer_message(answer, convert.Estimate.Result()),
        convert.estimate_message("a.yaml", answer),
    ):
        back = convert.answer(over_the_wire(message))
        assert (back.code, back.message, back.report) == ("NOT_CONVERGED", "why", "/x/report.html")
        first, second = back.parameters
        assert (first.value, first.lower, first.identifiable) == (0.2, 0.0, True)
        assert math.isnan(first.std_dev) and second.std_dev == 3.0 and second.unit == "N/m"
        np.testing.assert_array_equal(back.correlation, answer.correlation)
        assert back.metrics["validate.position_error_m"] == 0.2 and back.metrics["range.1"] == 2.0
        assert math.isnan(back.metrics["validate.best.mean"])
        assert "validate.best.name" not in back.metrics
        assert not [name for name in back.metrics if name.startswith("per_recording")]


def test_feedback_carries_what_is_known():
    progress = Progress("fit", 3, None, 0.25, None, {"c_f": 0.2})
    message = over_the_wire(convert.feedback_message(progress))
    assert (message.phase, message.iteration, message.fraction_done) == ("fit", 3, 0.25)
    assert math.isnan(message.objective) and math.isnan(message.seconds_left)
    assert [(p.name, p.value) for p in message.parameters] == [("c_f", 0.2)]


def test_every_error_code_has_a_name():
    names = {n for n in dir(convert.ErrorCode) if n.isupper() and not n.startswith("_")}
    assert names - {"SLOT_TYPES"} == set(convert.CODES)


def test_diagnostic_values_are_texts():
    status = over_the_wire(convert.diagnostic("warn", "a", "b", {"n": 3, "rate": 1 / 3}))
    assert convert.values_of(status) == {"n": "3", "rate": "0.333333"}
    assert status.level == convert.DiagnosticStatus.WARN


def test_a_cloud_comes_back_from_its_message():
    from diffsim_ros.errors import InputError

    points = RNG.normal(size=(7, 3)).astype(np.float32).astype(float)
    colour = RNG.integers(0, 256, (7, 3)) / 255.0
    sent = Cloud(points, colour, stamp=1_700_000_000.25, frame="depth")
    message = over_the_wire(convert.cloud_message(sent))
    found = convert.cloud(message, "/camera/points")
    np.testing.assert_array_equal(found.points, points)
    np.testing.assert_allclose(found.colour, colour, atol=1e-12)
    assert (found.stamp, found.frame) == (sent.stamp, "depth")
    message.fields = message.fields[:2]
    with pytest.raises(InputError, match=r"/camera/points: stamp 1700000000\.25.*'z'"):
        convert.cloud(message, "/camera/points")


def test_a_large_cloud_is_sound_if_any_of_its_points_is():
    """Only some points are checked, unless these alone show nothing."""
    points = np.ones((2 * LOOKED_AT, 3))
    points[::2] = np.nan  # just those that are checked first
    message = convert.cloud_message(Cloud(points))
    assert convert.defect_of(message, "/points") == ""
    points[:] = np.nan
    message = convert.cloud_message(Cloud(points))
    assert "at least one finite point" in convert.defect_of(message, "/points")
    message.fields = message.fields[:2]
    assert "a field 'z'" in convert.defect_of(message, "/points")
