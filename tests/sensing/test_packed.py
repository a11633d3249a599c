"""Bytes of PointCloud2: every layout is read right, every broken one named."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.packed import PointField, decode, encode

POINTS = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32).astype(np.float64)
BYTES = np.random.default_rng(4).integers(0, 256, (6, 3))
RGB = (BYTES[:, 0] << 16 | BYTES[:, 1] << 8 | BYTES[:, 2]).astype(np.uint32)


def table(fields, step, *, order="<", row_step=None, height=1, points=POINTS):
    """Bytes of points (and colour) laid out by fields [(name, offset, datatype)]."""
    width = len(points) // height
    row = row_step or width * step
    raw = np.full(height * row, 0xAB, np.uint8)
    letters = {1: "i1", 2: "u1", 4: "u2", 6: "u4", 7: "f4", 8: "f8"}
    columns = dict(zip("xyz", points.T, strict=True)) | {
        "rgb": RGB, "rgba": RGB | 0xFF000000, **dict(zip("rgb", BYTES.T, strict=True)),
        "intensity": np.full(len(points), 7),
    }  # fmt: skip
    for name, offset, datatype in fields:
        bits = name in ("rgb", "rgba")  # whatever their type
        kind = np.dtype(order + ("u4" if bits else letters[datatype]))
        view = np.ndarray((height, width), kind, raw, offset, (row, step))
        view[...] = columns[name].reshape(height, width)
    return raw.tobytes(), width, row


def named(fields):
    return [PointField(*f) for f in fields]


def read(fields, step, **layout):
    big = layout.get("order") == ">"
    data, width, row = table(fields, step, **layout)
    return decode(
        named(fields), data, width=width, height=layout.get("height", 1),
        point_step=step, row_step=row, is_bigendian=big, source="/camera: sample 3",
    )  # fmt: skip


XYZ = [("x", 0, 7), ("y", 4, 7), ("z", 8, 7)]
LAYOUTS = {
    "plain": (XYZ, 12, {}),
    "padded to 16": (XYZ, 16, {}),
    "organised": (XYZ, 16, {"height": 2}),
    "rows padded": (XYZ, 12, {"height": 3, "row_step": 40}),
    "big endian": (XYZ, 12, {"order": ">"}),
    "any order, gaps, others between": (
        [("intensity", 1, 4), ("z", 4, 7), ("x", 12, 7), ("y", 17, 7)], 23, {},
    ),
    "doubles and floats": ([("x", 0, 8), ("y", 8, 7), ("z", 12, 8)], 20, {}),
    "rgb as float at 16": ([*XYZ, ("rgb", 16, 7)], 32, {"height": 2}),
    "rgb as uint32": ([*XYZ, ("rgb", 12, 6)], 16, {}),
    "rgba, big endian": ([*XYZ, ("rgba", 12, 6)], 16, {"order": ">"}),
    "r, g, b bytes": ([*XYZ, ("r", 12, 2), ("g", 13, 2), ("b", 14, 2)], 16, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_read(name):
    fields, step, layout = LAYOUTS[name]
    cloud = read(fields, step, **layout)
    np.testing.assert_array_equal(cloud.points, POINTS)
    if layout.get("height", 1) > 1:
        assert cloud.shape == (layout["height"], 6 // layout["height"])
        np.testing.assert_array_equal(cloud.pixel, range(6))
    if len(fields) > 3 and "intensity" not in fields[0]:
        np.testing.assert_allclose(cloud.colour, BYTES / 255, atol=1e-12)


def test_nothing_returned_is_left_out_and_counted():
    points = POINTS.copy()
    points[1] = np.nan
    points[2, 1] = np.inf
    points[4] = 0
    cloud = read([*XYZ, ("rgb", 12, 6)], 16, height=2, points=points)
    assert cloud.dropped == {"not finite": 2, "zero": 1}
    np.testing.assert_array_equal(cloud.pixel, [0, 3, 5])
    np.testing.assert_array_equal(cloud.points, points[[0, 3, 5]])
    np.testing.assert_allclose(cloud.colour, BYTES[[0, 3, 5]] / 255)


def broken(fields=XYZ, step=12, change=None, **layout):
    data, width, row = table(fields, step, **layout)
    given = {
        "fields": named(fields), "data": data, "width": width, "height": 1,
        "point_step": step, "row_step": row, "is_bigendian": False,
        "source": "/camera: sample 3", **(change or {}),
    }  # fmt: skip
    return decode(given.pop("fields"), given.pop("data"), **given)


BAD = {
    "no z": ({"fields": XYZ[:2]}, "fields.*'z'.*FLOAT32"),
    "near name": (
        {"change": {"fields": named([*XYZ[:2], ("Z", 8, 7)])}}, "did you mean 'Z'"
    ),
    "wrong type": (
        {"change": {"fields": named([("x", 0, 9), *XYZ[1:]])}}, "field x.*datatype 9.*FLOAT32"
    ),
    "x twice": ({"change": {"fields": named([*XYZ, XYZ[0]])}}, "field x.*given twice"),
    "overlapping": (
        {"change": {"fields": named([*XYZ[:2], ("z", 6, 7)])}}, "field z.*offset 6.*at least 8"
    ),
    "cut": ({"change": {"data": bytes(70)}}, "70 bytes.*72 bytes"),
    "outside": ({"change": {"point_step": 10}}, "field z.*offset 8.*10 bytes"),
    "short rows": ({"change": {"row_step": 71, "data": bytes(71)}}, "row_step.*71.*72"),
    "empty": ({"change": {"width": 0, "data": b""}}, "at least one point"),
    "all NaN": ({"points": np.full((6, 3), np.nan)}, "6 not finite.*at least one finite point"),
    "millimetres": ({"points": 1000 * POINTS}, "metres.*scale: 0.001"),
    "rgb as bytes": (
        {"change": {"fields": named([*XYZ, ("rgb", 8, 2)])}}, "field rgb.*UINT8"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_broken_clouds_are_named(name):
    change, says = BAD[name]
    with pytest.raises(InputError, match=says) as caught:
        broken(**change)
    assert str(caught.value).startswith("/camera: sample 3")


def test_scale_and_eye_speak_of_the_same_unit():
    data, width, row = table(XYZ, 12, points=1000 * POINTS)
    cloud = decode(
        named(XYZ), data, width=width, height=1, point_step=12, row_step=row, is_bigendian=False,
        source="c", scale=0.001,
    )  # fmt: skip
    np.testing.assert_allclose(cloud.points, POINTS, rtol=1e-6)


def test_what_is_encoded_is_decoded():
    cloud = Cloud(POINTS, BYTES / 255.0)
    fields, data = encode(cloud)
    again = decode(
        fields, data, width=6, height=1, point_step=16, row_step=96, is_bigendian=False, source="c"
    )
    np.testing.assert_array_equal(again.points, POINTS)
    np.testing.assert_allclose(again.colour, cloud.colour, atol=1e-12)


def test_moving_a_cloud_moves_its_eye():
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = Cloud(POINTS).moved(turn, [1, 2, 3], "world")
    np.testing.assert_allclose(moved.points, POINTS @ turn.T + [1, 2, 3])
    np.testing.assert_array_equal(moved.eye, [1, 2, 3])
    assert moved.frame == "world"


@pytest.mark.parametrize("height", [1, 2, 3])
@pytest.mark.parametrize("row", [1, 71, 96 * 6, 4096])
def test_rows_without_padding_are_read_whatever_row_step_says(row, height):
    data, width, right = table(XYZ, 16, height=height)
    how = {"width": width, "height": height, "point_step": 16, "is_bigendian": False}
    cloud = decode(named(XYZ), data, row_step=row, source="c", **how)
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert ("row_step is wrong" in cloud.notes[0]) if row != right else not cloud.notes
    assert not decode(named(XYZ), data, row_step=right, source="c", **how).notes


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("kind", [7, 8])
def test_a_wrong_flag_of_byte_order_is_seen(kind, scale, order, recwarn):
    size = 4 if kind == 7 else 8
    fields = [(axis, size * i, kind) for i, axis in enumerate("xyz")]
    fields.append(("rgb", 3 * size, 6))
    step = 3 * size + 4
    data, width, row = table(fields, step, order=order, points=POINTS / scale)
    how = {"width": width, "height": 1, "point_step": step, "row_step": row, "source": "c"}
    for flag in (False, True):
        cloud = decode(named(fields), data, is_bigendian=flag, scale=scale, **how)
        np.testing.assert_allclose(cloud.points, POINTS, rtol=1e-6)
        np.testing.assert_allclose(cloud.colour, BYTES / 255)
        says = f"is_bigendian is {'set' if flag else 'not set'}"
        assert cloud.notes[0].startswith(says) if flag != (order == ">") else not cloud.notes
    assert not recwarn.list


@pytest.mark.parametrize("kind", ["i2", "u2", "i4", "i1"])
def test_whole_numbers_are_places_too(kind):
    places = np.abs(np.round(20 * POINTS)).astype(f"<{kind}")
    number = {"i1": 1, "i2": 3, "u2": 4, "i4": 5}[kind]
    fields = [PointField(a, i * places.itemsize, number) for i, a in enumerate("xyz")]
    step = 3 * places.itemsize
    cloud = decode(
        fields, places.tobytes(), width=6, height=1, point_step=step, row_step=6 * step,
        is_bigendian=False, source="c", scale=0.001,
    )  # fmt: skip
    np.testing.assert_allclose(cloud.points, 0.001 * places[places.any(axis=1)])
