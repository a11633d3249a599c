"""Level sets of mesh files are kept by content in the user's cache, and the cache may fail."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.scene.sdfs.mesh import MeshSdf
from tests.native import surfaces

pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
pytestmark = pytest.mark.skipif(not _engine.has_openvdb, reason="engine without OpenVDB")
X = np.random.default_rng(0).uniform(-1, 1, (500, 3))


@pytest.fixture
def ball(tmp_path, monkeypatch):
    """Values of a `mesh` surface whose file is a ball; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    vertices, triangles = surfaces.sphere(0.5, n=12)
    lines = [f"v {x} {y} {z}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    (tmp_path / "ball.obj").write_text("\n".join(lines))
    path, rest = str(tmp_path / "ball.obj"), {"band": 6, "scale": None, "smoothing": 0.0}
    return {"file": path, "voxel": 0.05, **rest}


def level_set(values):
    return MeshSdf(**values).engine({})


def kept(tmp_path):
    return sorted((tmp_path / "cache").rglob("*.vdb"))


def test_a_second_use_reads_the_same_bits_without_sampling(ball, tmp_path, monkeypatch):
    first = level_set(ball)
    assert len(kept(tmp_path)) == 1
    monkeypatch.setattr(_engine, "TriangleMesh", None)
    second = level_set(ball)
    for one, other in zip(first.evaluate(X), second.evaluate(X), strict=True):
        assert np.array_equal(one, other)


def test_other_numbers_or_another_mesh_are_other_files(ball, tmp_path):
    level_set(ball)
    for change in ({"voxel": 0.06}, {"band": 7}, {"smoothing": 0.02}, {"scale": 2.0}):
        level_set({**ball, **change})
    assert len(kept(tmp_path)) == 5


def test_a_damaged_file_is_made_anew(ball, tmp_path):
    first = level_set(ball)
    (path,) = kept(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    again = level_set(ball)
    assert np.array_equal(first.evaluate(X)[0], again.evaluate(X)[0])
    assert len(path.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written_only_costs_time(ball, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert level_set(ball).voxel == 0.05
