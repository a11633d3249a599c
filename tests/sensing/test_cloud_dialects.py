"""PCD and PLY as programs write them, and as nobody should: read right, or refused by one line."""

import struct
import tracemalloc

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.clouds import lzf
from diffsim_ros.sensing.clouds.files import read_cloud
from validation import fuzz_clouds
from validation.fuzz_clouds import COLOUR, EVERY, HOLES, PADDED, POINTS, XYZ, pcd, ply


@pytest.mark.parametrize("name", EVERY)
def test_every_dialect_is_read_right(name, tmp_path):
    file, data = EVERY[name]
    (tmp_path / file).write_bytes(data)
    cloud = read_cloud(tmp_path / file)
    wanted = POINTS
    if name.startswith("mixed"):
        wanted = POINTS * [1, 0, 1] + [0, 3, 0]
    if name.startswith("organised"):
        good = np.isfinite(HOLES).all(axis=1)
        wanted = POINTS[good]
        assert (cloud.dropped, cloud.shape) == ({"not finite": 5}, (4, 5))
        np.testing.assert_array_equal(cloud.pixel, np.flatnonzero(good))
    np.testing.assert_allclose(cloud.points, wanted, rtol=1e-6, atol=1e-7)
    coloured = ("padded", "mixed", "double", "lists", "crlf, ascii")
    assert (cloud.colour is not None) == name.startswith(coloured)
    if cloud.colour is not None:
        np.testing.assert_allclose(cloud.colour, COLOUR / 255)
    assert (cloud.notes != ()) == (name == "turned")


def test_a_turned_viewpoint_is_named(tmp_path):
    (tmp_path / "a.pcd").write_bytes(pcd(XYZ, viewpoint="1 2 3 0 1 0 0"))
    cloud = read_cloud(tmp_path / "a.pcd")
    assert "turns the sensor by 180.0 deg" in cloud.notes[0]
    np.testing.assert_array_equal(cloud.eye, [1, 2, 3])


HEADERS = {
    "COUNT 0": (b"COUNT 1 1 1", b"COUNT 1 0 1", "field y, COUNT: got '0'.*at least 1"),
    "COUNT huge": (b"COUNT 1 1 1 4", b"COUNT 1 1 1 4000000000", "data"),
    "COUNT of x": (b"COUNT 1 1 1", b"COUNT 3 1 1", "field x, COUNT: got 3"),
    "COUNT short": (b"COUNT 1 1 1 4 1 12", b"COUNT 1 1", "COUNT: got '1 1'.*each of the 6"),
    "COUNT negative": (b"COUNT 1 1 1 4", b"COUNT 1 1 1 -4", "field _, COUNT"),
    "SIZE": (b"SIZE 4 4 4", b"SIZE 4 3 4", "field y, SIZE: got 3.*4, 8 for TYPE F"),
    "TYPE": (b"TYPE F F F", b"TYPE F Q F", "field y, TYPE: got 'Q'.*F, I or U"),
    "WIDTH huge": (b"WIDTH 20", b"WIDTH 4000000000", "WIDTH x HEIGHT"),
    "WIDTH, POINTS huge": (b"WIDTH 20", b"WIDTH 268435456\n#", "POINTS"),
    "x twice": (b"FIELDS x y z", b"FIELDS x x z", "fields|field"),
    "z twice": (b"FIELDS x y z _", b"FIELDS x y z z", "field z: got 'given twice'"),
    "WIDTH twice": (b"WIDTH 20", b"WIDTH 20\nWIDTH 20", "WIDTH twice"),
    "no numbers": (b"VIEWPOINT 0 0 0 1", b"VIEWPOINT 0 0 nan 1", "VIEWPOINT: got"),
}


@pytest.mark.parametrize("data", ["ascii", "binary", "binary_compressed"])
@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_lie_are_named(name, data, tmp_path):
    old, new, says = HEADERS[name]
    whole = pcd(PADDED, data)
    assert old in whole
    path = tmp_path / "a.pcd"
    path.write_bytes(whole.replace(old, new, 1))
    with pytest.raises(InputError, match=says) as caught:
        read_cloud(path)
    assert str(caught.value).startswith(f"{path}: ")


PLYS = {
    "count": (b"vertex 20", b"vertex 2000000000", "vertex|data"),
    "type": (b"float y", b"text y", "property y: got 'text'.*uchar"),
    "list": (b"float y", b"list uchar float y", "property y: got 'a list'"),
    "twice": (b"float y", b"float x", "field"),
    "format": (b"1.0", b"2.0", "format: got"),
    "no vertex": (b"element vertex", b"element point", "an element vertex"),
    "a word": (b"obj_info", b"objinfo", "header: got 'objinfo"),
    "no end": (b"end_header", b"endheader", "header"),
}


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("name", PLYS)
def test_ply_headers_that_lie_are_named(name, form, tmp_path):
    old, new, says = PLYS[name]
    path = tmp_path / "a.ply"
    path.write_bytes(ply(form, camera=True).replace(old, new, 1))
    with pytest.raises(InputError, match=says) as caught:
        read_cloud(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_row_that_is_no_row_is_named(tmp_path):
    path = tmp_path / "a.pcd"
    head, _, body = pcd(XYZ, "ascii").partition(b"ascii\n")
    rows = body.split(b"\n")
    for row, says in ((b"1 2", "point 3: got '1 2'.*3 numbers"), (b"1 2 x", "point 3: got 'x'")):
        path.write_bytes(head + b"ascii\n" + b"\n".join([*rows[:3], row, *rows[4:]]))
        with pytest.raises(InputError, match=says):
            read_cloud(path)


@pytest.mark.parametrize("data", ["ascii", "binary"])
def test_points_beyond_the_count_are_counted(data, tmp_path):
    path = tmp_path / "a.pcd"
    whole = pcd(XYZ, data)
    path.write_bytes(whole.replace(b"WIDTH 20", b"WIDTH 18").replace(b"POINTS 20", b"POINTS 18"))
    cloud = read_cloud(path)
    assert len(cloud) == 18
    assert cloud.dropped == {"beyond the count of the header": 2}
    path.write_bytes(whole + b"\n" if data == "ascii" else whole + bytes(4096))
    assert read_cloud(path).dropped == {}  # padding of pages


WHOLE = [one for one in EVERY if not one.startswith(("double", "camera", "cr"))]
"""Without the faces of a mesh, which are no points, and counted only."""


@pytest.mark.parametrize("name", [one for one in WHOLE if "ascii" not in one])
def test_cut_anywhere_it_is_refused(name, tmp_path):
    file, data = EVERY[name]
    path = tmp_path / file
    for end in range(0, len(data) - 1, 17):
        path.write_bytes(data[:end])
        with pytest.raises(InputError):
            read_cloud(path)


def test_memory_is_bounded_by_the_file(tmp_path):
    """Counts of 2^28 points, of lists and of fields in files of a kilobyte."""
    many = b"268435456"
    spoiled = [
        ply("binary_little_endian", camera=True).replace(b"camera 2", b"camera " + many),
        ply("binary_little_endian", lists=True).replace(b"vertex 20", b"vertex " + many),
        ply("ascii", lists=True).replace(b"vertex 20", b"vertex " + many),
        pcd(PADDED, "ascii").replace(b"COUNT 1 1 1 4", b"COUNT 1 1 1 " + many),
    ]
    tracemalloc.start()
    try:
        for data in spoiled:
            path = tmp_path / ("a.ply" if data[:3] == b"ply" else "a.pcd")
            path.write_bytes(data)
            with pytest.raises(InputError):
                read_cloud(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_lzf_is_unpacked_or_refused():
    raw = b"abc" * 100 + bytes(range(256)) + b"\0" * 1000
    assert lzf.unpack(fuzz_clouds.literal_runs(raw), len(raw)) == raw
    assert lzf.unpack(b"\x02abc\xe0\x07\x02", 19) == b"abc" * 6 + b"a"  # overlapping itself
    for packed, says in (
        (b"\x05ab", "cut"), (b"\x20", "cut"), (b"\x00a\x20\x05", "before"),
        (b"\x00a\xe0\xff\x00", "more"), (b"\x00a", "in place of 19"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            lzf.unpack(packed, 19)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_spoiled_clouds_are_read_or_refused(first):
    for seed in range(first, first + 100):
        fuzz_clouds.program(seed)


def test_a_signalling_nan_is_no_point(tmp_path, recwarn):
    data = pcd(XYZ)
    path = tmp_path / "a.pcd"
    path.write_bytes(data[:-4] + struct.pack("<I", 0x7F800001))
    assert read_cloud(path).dropped == {"not finite": 1}
    assert not recwarn.list


@pytest.mark.parametrize("turn", ["1e200 1e200 0 0", "0 0 1e-200 0"])
def test_a_viewpoint_of_any_length_is_a_rotation(turn, tmp_path, recwarn):
    (tmp_path / "a.pcd").write_bytes(pcd(XYZ, viewpoint=f"0 0 0 {turn}"))
    assert "turns the sensor by" in read_cloud(tmp_path / "a.pcd").notes[0]
    assert not recwarn.list
