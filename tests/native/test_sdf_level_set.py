"""Level sets: exactness in the band, derivatives, blends, far and deep points, files, speed."""

import math
import time

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native import surfaces
from tests.native.batteries import check_element, random_instants
from tests.native.sdf_battery import check_sdf

SHAPES = {
    "sphere": (surfaces.sphere(n=32), 1 / 16),
    "torus": (surfaces.torus(), 1 / 24),
    "box": (surfaces.box(), 1 / 40),
    "angle": (surfaces.angle(), 1 / 40),
}
CREASE = 4  # voxels from an edge from which on the bar holds
needs_openvdb = pytest.mark.skipif(not _engine.has_openvdb, reason="engine without OpenVDB")


@pytest.fixture(scope="module")
def made():
    """name -> (raw mesh, TriangleMesh, LevelSet), at a general pose, built once."""
    built = {}
    for name, (raw, voxel) in SHAPES.items():
        raw = surfaces.turned(raw)
        mesh = _engine.TriangleMesh(*raw)
        built[name] = raw, mesh, _engine.LevelSet(mesh, voxel)
    return built


def around(mesh, rng, count, margin):
    return rng.uniform(mesh.low - margin, mesh.high + margin, (count, 3))


def clearance(raw, x):
    """Distance to the nearest crease, infinite for a smooth shape  (n,)."""
    a, b = surfaces.creases(raw)
    if not len(a):
        return np.full(len(x), np.inf)
    parts = [surfaces.distance_to_segments(p, a, b).min(axis=1) for p in np.array_split(x, 8)]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", SHAPES)
def test_the_band_is_exact_to_a_twentieth_of_a_voxel(made, name):
    """Within 2 voxels of the surface, except within 4 of a crease."""
    raw, mesh, sdf = made[name]
    x = around(mesh, np.random.default_rng(2), 60000, 3 * sdf.voxel)
    exact = mesh.distance(x)
    x, exact = x[np.abs(exact) < 2 * sdf.voxel], exact[np.abs(exact) < 2 * sdf.voxel]
    smooth = clearance(raw, x) > CREASE * sdf.voxel
    g, n, _, _ = sdf.evaluate(x)
    error = np.abs(g - exact) / sdf.voxel
    assert smooth.sum() > 3000
    assert error[smooth].max() <= 0.05
    assert error.max() <= 0.4
    assert np.abs(np.linalg.norm(n[smooth], axis=1) - 1).max() < 0.12


@pytest.mark.parametrize("name", SHAPES)
def test_battery_of_level_set(made, name):
    """Value, normal and curvature are each other's derivatives in the band, the blends and far."""
    _, mesh, sdf = made[name]
    rng = np.random.default_rng(3)
    band = around(mesh, rng, 4000, 2 * sdf.voxel)
    band = band[np.abs(mesh.distance(band)) < 8 * sdf.voxel][:600]
    check_sdf(sdf, band, unit=False, smooth_share=0.999)
    check_sdf(sdf, around(mesh, rng, 300, 2.0), unit=False)


def test_curvature_is_that_of_the_sphere(made):
    """The mesh has 3968 facets and a voxel is R/16: the mean over many points is right."""
    _, _, sdf = made["sphere"]
    centre = (sdf.low + sdf.high) / 2
    x = np.random.default_rng(4).normal(size=(500, 3))
    x = centre + x / np.linalg.norm(x, axis=1, keepdims=True)
    _, _, kappa, _ = sdf.evaluate(x)
    assert np.trace(kappa, axis1=1, axis2=2).mean() == pytest.approx(2, rel=0.02)


def test_nothing_jumps_between_the_grids(made):
    """A line from the inside out through band, blend and all coarse grids."""
    _, mesh, sdf = made["torus"]
    middle = (mesh.low + mesh.high) / 2
    # Even steps in the logarithm: the outermost grid ends at about 60 times the mesh.
    r = np.geomspace(0.02, 60, 200001)[:, None]
    along = np.array([0.62, 0.55, 0.56])
    g, n, kappa, _ = sdf.evaluate(middle + r * along)
    # C2: what changes from one point to the next, per length, stays bounded.
    step = np.diff(r[:, 0]) * np.linalg.norm(along)
    assert (np.abs(np.diff(g)) / step).max() < 1.5
    assert (np.abs(np.diff(n, axis=0)).max(axis=1) / step).max() < 60
    assert np.abs(np.diff(kappa, axis=0)).max() < 0.6


@pytest.mark.parametrize("name", SHAPES)
def test_far_points_have_a_valid_gap(made, name):
    """Within 3 % of the distance up to 6 times the size; beyond, a positive bound."""
    _, mesh, sdf = made[name]
    rng = np.random.default_rng(5)
    size = np.linalg.norm(mesh.high - mesh.low)
    middle = (mesh.low + mesh.high) / 2
    along = rng.normal(size=(3000, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    x = middle + along * np.exp(rng.uniform(np.log(0.6), np.log(6), (3000, 1))) * size
    exact = mesh.distance(x)
    outside = exact > 6 * sdf.voxel
    g = sdf.evaluate(x)[0]
    assert np.abs(g / exact - 1)[outside].max() < 0.03
    very_far = middle + 1e4 * size * along[:100]
    g, n, _, _ = sdf.evaluate(very_far)
    assert np.all(g > 0)
    assert np.all(g <= mesh.distance(very_far) + 1e-9)
    assert np.linalg.norm(n, axis=1) == pytest.approx(1)


@pytest.mark.parametrize("name", SHAPES)
def test_deep_points_feel_a_force_outwards(made, name):
    """Down to the medial axis the gap falls with the exact distance."""
    _, mesh, sdf = made[name]
    x = around(mesh, np.random.default_rng(6), 20000, 0)
    exact = mesh.distance(x)
    deep = exact < -4 * sdf.voxel
    g, n, _, _ = sdf.evaluate(x[deep])
    assert deep.sum() > 500
    assert np.all(g < -3 * sdf.voxel)
    assert np.abs(g - exact[deep]).max() < 1.0 * sdf.voxel
    assert np.quantile(np.linalg.norm(n, axis=1), 0.05) > 0.4


def test_smoothing_rounds_off_and_bounds_the_curvature():
    raw, voxel = surfaces.turned(surfaces.box()), 1 / 40
    mesh = _engine.TriangleMesh(*raw)
    rng = np.random.default_rng(7)
    x = around(mesh, rng, 20000, 0.01)
    x = x[np.abs(mesh.distance(x)) < 0.2 * voxel]
    sharpest = []
    for smoothing in (0.0, 0.75 * voxel, 1.5 * voxel):
        sdf = _engine.LevelSet(mesh, voxel, smoothing=smoothing)
        sharpest.append(np.abs(np.linalg.eigvalsh(sdf.evaluate(x)[2])).max())
    assert sharpest[1] < 0.75 * sharpest[0]
    assert sharpest[2] < 0.6 * sharpest[1]


def test_smoothing_shifts_a_sphere_by_its_curvature(made):
    """A Gaussian of standard deviation s moves the level set by s^2/2 times the Laplacian, 2/R."""
    _, mesh, plain = made["sphere"]
    s = 1.5 * plain.voxel
    sdf = _engine.LevelSet(mesh, plain.voxel, smoothing=s)
    x = around(mesh, np.random.default_rng(8), 3000, 0)
    x = x[np.abs(mesh.distance(x)) < 1.5 * plain.voxel]
    shift = sdf.evaluate(x)[0] - plain.evaluate(x)[0]
    assert shift.mean() == pytest.approx(s * s, rel=0.05)


def test_thickness_is_that_of_the_mesh(made):
    for _, mesh, sdf in made.values():
        assert sdf.thickness == mesh.thickness
    assert made["angle"][2].thickness == pytest.approx(0.4, rel=1e-6)


@needs_openvdb
@pytest.mark.parametrize("name", ["torus", "angle"])
def test_a_file_gives_the_same_bits(made, name, tmp_path):
    _, mesh, sdf = made[name]
    sdf.save(str(tmp_path / "shape.vdb"))
    assert [p.name for p in tmp_path.iterdir()] == ["shape.vdb"]
    read = _engine.LevelSet.load(str(tmp_path / "shape.vdb"))
    rng = np.random.default_rng(9)
    x = np.concatenate([around(mesh, rng, 5000, 0.2), around(mesh, rng, 500, 30)])
    for one, other in zip(sdf.evaluate(x), read.evaluate(x), strict=True):
        assert np.array_equal(one, other)
    assert (read.voxel, read.band, read.thickness) == (sdf.voxel, sdf.band, sdf.thickness)


@needs_openvdb
def test_unusable_files_are_refused(made, tmp_path):
    with pytest.raises(_engine.InvalidInput, match=r"none.vdb: must be a readable .vdb file"):
        _engine.LevelSet.load(str(tmp_path / "none.vdb"))
    broken = tmp_path / "broken.vdb"
    made["box"][2].save(str(broken))
    broken.write_bytes(broken.read_bytes()[:2000])
    with pytest.raises(_engine.InvalidInput, match=r"broken.vdb: must be a readable .vdb file"):
        _engine.LevelSet.load(str(broken))
    with pytest.raises(_engine.InvalidInput, match="can be written"):
        made["box"][2].save(str(tmp_path / "absent" / "x.vdb"))


@pytest.mark.skipif(_engine.has_openvdb, reason="engine with OpenVDB")
def test_without_openvdb_files_are_refused_with_a_remedy(made, tmp_path):
    for use in (made["box"][2].save, _engine.LevelSet.load):
        with pytest.raises(_engine.InvalidInput, match="libopenvdb-dev"):
            use(str(tmp_path / "x.vdb"))


def test_a_query_takes_less_than_a_microsecond(made):
    """CPU time of the best of five, in the band, in the blend and far."""
    _, mesh, sdf = made["torus"]
    rng = np.random.default_rng(10)
    x = around(mesh, rng, 100000, 4 * sdf.voxel)
    d = np.abs(mesh.distance(x)) / sdf.voxel
    places = {"band": x[d < 3], "blend": x[(d > 3) & (d < 6)], "far": around(mesh, rng, 5000, 9)}
    for where, points in places.items():
        spent = []
        for _ in range(5):
            start = time.process_time()
            sdf.evaluate(points)
            spent.append((time.process_time() - start) / len(points))
        assert min(spent) < 1e-6, where


@pytest.mark.parametrize("kind", ["level set", "smooth union"])
def test_battery_of_contact_on_bounds(made, kind):
    """Contact's derivatives hold where the gradient of g is not of length one."""
    if kind == "level set":
        sdf = _engine.Transformed(made["angle"][2], [0, 0.05, -0.35])
    else:
        ball = _engine.Transformed(_engine.Sphere(0.3), [0.05, 0, -0.1])
        sdf = _engine.Union([_engine.Plane([0, 0, 1], -0.05), ball], width=0.2)
    rng = np.random.default_rng(11)
    s = _engine.Scene()
    s.add_particle("a", mass=0.4)
    s.add_rigid_body("b", mass=0.7, inertia=[0.01, 0.012, 0.015, 0, 0, 0], radius=0.2)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    s.add_points("a", bodies=["a"], local=np.zeros((1, 3)), radius=0.02)
    s.add_points("b", bodies=["b"] * 8, local=0.1 * corners, inset=-corners, radius=0.02)
    for name in "ab":
        s.add_contact(f"contact_{name}", points=name, sdf=sdf, k_n=4000.0, k_t=30.0, c_f=0.4,
                      c_n=0.3)  # fmt: skip
    touched = 0
    for name in "aabb" * 6:
        c = rng.normal(size=(2, 3)) * 0.1
        instants = random_instants(rng, 2, 1, c)
        out = check_element(s, f"contact_{name}", s.values, instants, rng, frames=[1])
        touched += np.count_nonzero(out["modes"])
    assert touched > 20


def test_a_throw_onto_a_level_set_has_the_gradient_of_finite_differences(made):
    """A box tumbles over the torus: adjoint against central differences, friction on."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    s = _engine.Scene()
    s.add_rigid_body("box", mass=0.3, inertia=[0.002] * 3 + [0] * 3, position=[0.75, 0.55, 0.75],
                     orientation=[0.1, 0.2, 0.3, 0.9], velocity=[-0.4, 0.2, -1],
                     angular_velocity=[1, -2, 3], radius=0.15)  # fmt: skip
    s.add_points("corners", bodies=["box"] * 8, local=0.1 * corners, inset=-corners, radius=0.03)
    s.add_contact("torus", points="corners", sdf=made["torus"][2], k_n=900.0, k_t=3.0, c_f=0.4,
                  c_n=0.3)  # fmt: skip
    options = _engine.Options(step=1 / 240, tolerance=1e-12, record_modes=True)
    names = [f"box.{kind}.{axis}" for kind in ("velocity", "angular_velocity") for axis in "xyz"]
    active = [s.index(name) for name in names]
    weight = np.array([1, 0.5, 0.25])
    run = _engine.rollout(s, s.values, 60, options, active=active, mode="store")
    assert run.ok, run.message
    assert np.linalg.norm(run.contact_force, axis=-1).max() > 1
    by_x = np.zeros((len(run.time), 6))
    by_x[-1, :3] = weight
    gradient = run.gradient(by_x, np.zeros_like(by_x))
    for i, index in enumerate(active):
        ends = []
        for sign in (1, -1):
            p = s.values
            p[index] += sign * 1e-6
            ends.append(_engine.rollout(s, p, 60, options))
        assert {e.mode_hash for e in ends} == {run.mode_hash}
        slope = weight @ (ends[0].position[-1, 0] - ends[1].position[-1, 0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_wall_of_two_voxels_is_seen_everywhere():
    """No point of the middle of the thinnest plate that is accepted lies outside."""
    mesh = _engine.TriangleMesh(*surfaces.turned(surfaces.box((0.5, 0.4, 0.025))))
    sdf = _engine.LevelSet(mesh, 0.0249)
    rng = np.random.default_rng(12)
    flat = rng.uniform(-0.35, 0.35, (20000, 3)) * [1, 1, 0]
    turn = surfaces.turned((np.eye(3), None))[0] - surfaces.turned((np.zeros((1, 3)), None))[0]
    middle = flat @ turn + surfaces.turned((np.zeros((1, 3)), None))[0]
    assert mesh.distance(middle) == pytest.approx(-0.025, abs=1e-12)
    assert sdf.evaluate(middle)[0].max() < -0.5 * 0.025


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"voxel": 0}, "level set: voxel"),
        ({"voxel": math.nan}, "level set: voxel"),
        ({"voxel": 0.7}, "level set: voxel: must be at most half the mesh's thickness"),
        ({"voxel": 1e-5}, "level set: voxel: must not be too small for memory"),
        ({"voxel": 0.05, "band": 4}, "level set: band: must be 5 to 32"),
        ({"voxel": 0.05, "smoothing": 0.1}, "level set: smoothing: must be 0 to 1.5 voxels"),
        ({"voxel": 0.05, "smoothing": -0.1}, "level set: smoothing"),
    ],
)
def test_unusable_options_are_refused(options, names):
    mesh = _engine.TriangleMesh(*surfaces.box())
    with pytest.raises(_engine.InvalidInput, match=names):
        _engine.LevelSet(mesh, **options)
