"""PCD, PLY and NPZ: every encoding is read right, cut and odd files are named."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import read_cloud, read_sequence, write_sequence

pytest.importorskip("open3d", exc_type=ImportError)

N = 12
POINTS = np.random.default_rng(0).normal(size=(N, 3))
POINTS[3] = np.nan
GOOD = np.delete(np.arange(N), 3)
BYTES = np.random.default_rng(1).integers(0, 256, (N, 3))
RGB = (BYTES[:, 0] << 16 | BYTES[:, 1] << 8 | BYTES[:, 2]).astype(np.uint32)
VALUES = dict(zip("xyz", POINTS.T, strict=True)) | {
    "rgb": RGB, "rgba": RGB, "_": np.full((N, 3), 7), "i": np.arange(N),
}  # fmt: skip


def pcd(path, fields, data="binary", *, width=N, height=1, version="0.7", points=None, keep=None):
    """A PCD of fields [(name, size, type, count)]; keep: bytes or lines of its body, else all."""
    names, sizes, types, counts = zip(*fields, strict=True)
    head = (
        f"# .PCD v{version} - Point Cloud Data file format\nVERSION {version}\n"
        f"FIELDS {' '.join(names)}\nSIZE {' '.join(map(str, sizes))}\nTYPE {' '.join(types)}\n"
        f"COUNT {' '.join(map(str, counts))}\nWIDTH {width}\nHEIGHT {height}\n"
        f"VIEWPOINT 0.1 0.2 0.3 1 0 0 0\nPOINTS {points or width * height}\nDATA {data}\n"
    )
    letter = {"F": "f", "U": "u", "I": "i"}
    kind = [
        (n, f"<{letter['U' if n.startswith('rgb') else t]}{s}", (c,) if c > 1 else ())
        for n, s, t, c in fields
    ]
    table = np.zeros(N, kind)
    for name in names:
        table[name] = VALUES[name]
    if data == "ascii":
        rows = [" ".join(str(v) for cell in row for v in np.ravel(cell)) for row in table.tolist()]
        body = ("\n".join(rows[:keep]) + "\n").encode()
    else:
        body = table.tobytes()[:keep]
    path.write_bytes(head.encode() + body)
    return path


XYZ = [("x", 4, "F", 1), ("y", 4, "F", 1), ("z", 4, "F", 1)]
MIXED = [("i", 2, "U", 1), XYZ[2], ("_", 4, "F", 3), XYZ[0], XYZ[1], ("rgb", 4, "U", 1)]
FILES = {
    "binary": (XYZ, {}),
    "ascii": (XYZ, {"data": "ascii"}),
    "organised": ([*XYZ, ("rgb", 4, "U", 1)], {"width": 4, "height": 3}),
    "rgb as float": ([*XYZ, ("rgb", 4, "F", 1)], {}),
    "rgba": ([*XYZ, ("rgba", 4, "U", 1)], {}),
    "doubles": ([(n, 8, "F", 1) for n in "xyz"], {}),
    "any order": (MIXED, {}),
    "any order, ascii": (MIXED, {"data": "ascii"}),
    "padding field, old version": ([*XYZ, ("_", 1, "U", 3)], {"data": "ascii", "version": ".7"}),
}


@pytest.mark.parametrize("name", FILES)
def test_every_pcd_is_read(name, tmp_path):
    fields, how = FILES[name]
    cloud = read_cloud(pcd(tmp_path / "a.pcd", fields, **how))
    np.testing.assert_allclose(cloud.points, POINTS[GOOD], rtol=1e-6)
    np.testing.assert_allclose(cloud.eye, [0.1, 0.2, 0.3])
    assert cloud.dropped == {"not finite": 1}
    if any(field[0].startswith("rgb") for field in fields):
        np.testing.assert_allclose(cloud.colour, BYTES[GOOD] / 255, atol=1e-6)
    if "width" in how:
        assert cloud.shape == (3, 4)
        np.testing.assert_array_equal(cloud.pixel, GOOD)


@pytest.mark.parametrize("suffix", [".pcd", ".ply"])
@pytest.mark.parametrize("how", [{"compressed": True}, {"write_ascii": True}])
def test_what_open3d_writes_is_read(suffix, how, tmp_path):
    import open3d as o3d

    cloud = o3d.t.geometry.PointCloud()
    cloud.point.positions = o3d.core.Tensor(POINTS.astype(np.float32))
    cloud.point.colors = o3d.core.Tensor(BYTES.astype(np.uint8))
    path = tmp_path / f"a{suffix}"
    o3d.t.io.write_point_cloud(str(path), cloud, **how)
    found = read_cloud(path)
    np.testing.assert_allclose(found.points, POINTS[GOOD], atol=1e-5)
    np.testing.assert_allclose(found.colour, BYTES[GOOD] / 255, atol=1e-6)
    whole = path.read_bytes()
    cut = tmp_path / f"cut{suffix}"
    cut.write_bytes(whole[:-60])
    with pytest.raises(InputError, match="cut"):
        read_cloud(cut)


BAD = {
    "no z": (XYZ[:2], {}, "a field 'z'"),
    "cut binary": (XYZ, {"keep": 100}, "data.*100 bytes.*144"),
    "cut ascii": (XYZ, {"data": "ascii", "keep": 9}, "data.*9 points.*12"),
    "empty": (XYZ, {"width": 0}, "at least one point"),
    "counts": (XYZ, {"points": 5}, "POINTS.*5.*12"),
}


@pytest.mark.parametrize("name", BAD)
def test_broken_files_are_named(name, tmp_path):
    fields, how, says = BAD[name]
    path = pcd(tmp_path / "broken.pcd", fields, **how)
    with pytest.raises(InputError, match=says) as caught:
        read_cloud(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("given", ["VIEWPOINT 0.1 0.2\n", "VIEWPOINT\n"])
def test_a_viewpoint_that_is_no_place_is_refused(given, tmp_path):
    path = pcd(tmp_path / "a.pcd", XYZ)
    path.write_bytes(path.read_bytes().replace(b"VIEWPOINT 0.1 0.2 0.3 1 0 0 0\n", given.encode()))
    with pytest.raises(InputError, match="VIEWPOINT: got"):
        read_cloud(path)


def test_other_files_are_refused(tmp_path):
    for name, says in (("a.xyz", ".pcd, .ply"), ("none.pcd", "no such file")):
        with pytest.raises(InputError, match=says):
            read_cloud(tmp_path / name)
    for name in ("a.pcd", "a.ply"):
        (tmp_path / name).write_bytes(b"hello")
        with pytest.raises(InputError, match="header"):
            read_cloud(tmp_path / name)


def test_sequences_of_files_and_npz(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for stamp in ("10.5", "9.25"):
        pcd(folder / f"{stamp}.pcd", XYZ)
    assert [c.stamp for c in read_sequence(folder)] == [9.25, 10.5]
    pcd(folder / "last.pcd", XYZ)
    with pytest.raises(InputError, match=r"last\.pcd"):
        read_sequence(folder)
    assert [c.stamp for c in read_sequence(folder, rate=20)] == [0, 0.05, 0.1]
    clouds = [
        Cloud(POINTS[GOOD][: 5 + k], BYTES[GOOD][: 5 + k] / 255, stamp=0.1 * k, frame="cam")
        for k in range(3)
    ]
    write_sequence(tmp_path / "s.npz", clouds)
    for before, after in zip(clouds, read_sequence(tmp_path / "s.npz"), strict=True):
        np.testing.assert_allclose(after.points, before.points, rtol=1e-6)
        np.testing.assert_allclose(after.colour, before.colour, atol=1e-6)
        assert (after.stamp, after.frame) == (before.stamp, "cam")
    write_sequence(tmp_path / "back.npz", clouds[::-1])
    with pytest.raises(InputError, match=r"frame 1.*increase"):
        read_sequence(tmp_path / "back.npz")
    for content in (b"", b"hello", b"PK\x03\x04 and no more"):
        (tmp_path / "half.npz").write_bytes(content)
        with pytest.raises(InputError, match="readable"):
            read_sequence(tmp_path / "half.npz")
    np.savez(tmp_path / "odd.npz", points=POINTS)
    with pytest.raises(InputError, match="'count'"):
        read_sequence(tmp_path / "odd.npz")
