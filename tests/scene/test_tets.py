"""Tetrahedral meshes: primitives, surfaces, checks that refuse, files and the mesher."""

import re

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.scene import cloth, mesh_files, tets
from diffsim_ros.scene.mesh_report import check_extent, check_surface, check_tets
from diffsim_ros.scene.tets import TetMesh


def enclosed(vertices, triangles):
    """Volume [m^3] by the divergence theorem: > 0 if normals point outwards."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_a_ball_has_20_layers_cubed_tets_on_its_radius(layers):
    mesh = tets.ball(0.1, layers)
    assert len(mesh.tets) == 20 * layers**3 and mesh.volumes().min() > 0
    surface = mesh.boundary()
    assert len(surface) == 20 * layers**2
    on = np.linalg.norm(mesh.vertices[np.unique(surface)], axis=1)
    assert on == pytest.approx(0.1)
    assert enclosed(mesh.vertices, surface) == pytest.approx(mesh.volumes().sum())
    assert mesh.centroid() == pytest.approx(np.zeros(3), abs=1e-15)
    if layers > 2:  # nothing like a sliver, and the volume comes near the ball's
        assert tets.dihedral_angles(mesh).min() > 39
        assert 0.93 < mesh.volumes().sum() / (4 / 3 * np.pi * 1e-3) < 1


def test_a_box_is_filled_and_its_surface_closed():
    mesh = tets.box([0.1, 0.2, 0.3], [2, 3, 4])
    assert len(mesh.tets) == 6 * 24 and mesh.volumes() == pytest.approx(0.006 / 144)
    surface = mesh.boundary()
    check_surface(mesh.vertices, surface, "x", "k")
    assert tets.triangle_areas(mesh.vertices, surface).sum() == pytest.approx(0.22)
    assert tets.vertex_areas(mesh.vertices, surface).sum() == pytest.approx(0.22)
    assert enclosed(mesh.vertices, surface) == pytest.approx(0.006)
    angles = tets.dihedral_angles(mesh)
    assert angles.shape == (144, 6) and angles.min() > 30


def test_a_cylinder_of_prisms():
    mesh = tets.cylinder(0.1, 0.04, 5, 2)
    assert len(mesh.tets) == 18 * 25 * 2 and mesh.volumes().min() > 0
    surface = mesh.boundary()
    check_surface(mesh.vertices, surface, "x", "k")
    assert enclosed(mesh.vertices, surface) == pytest.approx(mesh.volumes().sum())
    assert mesh.volumes().sum() == pytest.approx(0.04 * 15 * np.sin(np.pi / 15) * 0.01)  # 30-gon
    assert mesh.centroid() == pytest.approx(np.zeros(3), abs=1e-15)
    assert tets.dihedral_angles(mesh).min() > 25


def test_dihedral_angles_of_a_regular_tet():
    corners = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1.0]])
    angles = tets.dihedral_angles(TetMesh(corners, np.array([[0, 1, 2, 3]])))
    assert angles == pytest.approx(np.degrees(np.arccos(1 / 3)))


def test_quadratic_meshes_share_their_middles():
    flat = tets.box([1, 1, 1], [2, 1, 1])
    mesh = tets.quadratic(flat)
    edges = np.unique(np.sort(flat.tets[:, tets.EDGES], axis=2).reshape(-1, 2), axis=0)
    assert len(mesh.vertices) == len(flat.vertices) + len(edges)
    middles = mesh.vertices[mesh.tets[:, 4:]]
    assert middles == pytest.approx(mesh.vertices[mesh.corners[:, tets.EDGES]].mean(axis=2))
    surface = mesh.boundary()
    assert len(surface) == 4 * len(flat.boundary())
    assert enclosed(mesh.vertices, surface) == pytest.approx(1)
    assert set(np.unique(surface)) > set(np.unique(flat.boundary()))


def broken(change):
    mesh = tets.box([0.1, 0.1, 0.1], [1, 1, 1])
    vertices, cells = mesh.vertices.copy(), mesh.tets.copy()
    return TetMesh(*change(vertices, cells))


def inverted(vertices, cells):
    cells[3] = cells[3][[1, 0, 2, 3]]
    return vertices, cells


def flat(vertices, cells):
    vertices[:, 2] = 0
    return vertices, cells


def sliver(vertices, cells):
    vertices[:, 2] *= 1e-3
    return vertices, cells


def in_two(vertices, cells):
    return np.concatenate([vertices, vertices + 1]), np.concatenate([cells, cells + 8])


def not_there(vertices, cells):
    cells[0, 0] = 8
    return vertices, cells


def not_finite(vertices, cells):
    vertices[2, 1] = np.nan
    return vertices, cells


def in_millimetres(vertices, cells):
    return vertices * 1000, cells


@pytest.mark.parametrize(
    ("change", "got", "remedy"),
    [
        (inverted, "1 inverted tets, the first is number 3", "mesh again"),
        (flat, "6 degenerate tets", "merge or remove"),
        (sliver, "6 slivers", "least_angle"),
        (in_two, "2 loose parts", "a body of its own"),
        (not_there, "vertex numbers from 0 to 8", "0 to 7"),
        (not_finite, "vertex 2", "finite"),
        (in_millimetres, "an extent of 100 m", "scale: 0.001"),
        (lambda v, c: (v, c[:0]), "no tets", "at least one"),
    ],
)
def test_unusable_meshes_are_refused_with_place_value_and_remedy(change, got, remedy):
    with pytest.raises(InputError) as caught:
        check_tets(broken(change), "x.yaml", "bodies.a.shape.mesh.file")
    text = str(caught.value)
    assert text.startswith("x.yaml: bodies.a.shape.mesh.file: got ") and "\n" not in text
    assert got in text and remedy in text


def test_the_worst_tets_are_named():
    corners = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1.0]])
    regular = TetMesh(corners, np.array([[0, 1, 3, 2]]))
    assert tets.radius_ratios(regular) == pytest.approx(1)
    corner = TetMesh(np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 1, 2, 3]]))
    inner, outer = 1 / (3 + np.sqrt(3)), np.sqrt(3) / 2
    assert tets.radius_ratios(corner) == pytest.approx(3 * inner / outer)
    mesh = tets.box([0.1, 0.1, 0.1], [3, 3, 3])
    centre = np.flatnonzero(np.abs(mesh.vertices - [0.1 / 6] * 3).max(axis=1) < 1e-9)
    mesh.vertices[centre] += [0.02, 0, 0]
    _, report = check_tets(mesh, "x", "k")
    first = report.worst[0]
    assert first.radius_ratio == report.radius_ratio_min == tets.radius_ratios(mesh).min()
    assert first.radius_ratio < 0.7 * tets.radius_ratios(tets.box([1, 1, 1], [3, 3, 3])).min()
    assert centre[0] in mesh.tets[first.tet] and len(report.worst) == 3
    assert first.centre == pytest.approx(mesh.vertices[mesh.tets[first.tet]].mean(axis=0))
    assert report.plain()["worst"][0]["tet"] == first.tet and report.surface_volume is None


def test_what_can_be_mended_is_mended_and_reported():
    mesh = tets.box([0.1, 0.1, 0.1], [1, 1, 1])
    turned = TetMesh(np.vstack([mesh.vertices, [[9, 9, 9]]]), mesh.tets[:, [1, 0, 2, 3]])
    found, report = check_tets(turned, "x", "k")
    assert found.volumes() == pytest.approx(mesh.volumes()) and len(found.vertices) == 8
    assert (report.flipped, report.unused, report.parts, report.slivers) == (6, 1, 1, 0)
    assert report.volume == pytest.approx(1e-3) and report.area == pytest.approx(0.06)
    assert report.extent == pytest.approx((0.1, 0.1, 0.1)) and report.tets == 6
    assert report.edge_min == pytest.approx(0.1) and report.dihedral_min == pytest.approx(45)
    both = tets.quadratic(mesh)
    order = [0, 1, 3, 2, 4, 8, 7, 6, 5, 9]
    again, _ = check_tets(TetMesh(both.vertices, both.tets[:, order]), "x", "k")
    assert np.array_equal(again.tets, both.tets)  # the middles are turned with their corners
    check_tets(broken(sliver), "x", "k", least_angle=0.01)
    check_tets(broken(in_millimetres), "x", "k", any_size=True)
    with pytest.raises(InputError, match="scale: 1000"):
        check_extent(np.full(3, 1e-4), "x", "k")


def test_surfaces_are_checked():
    mesh = tets.box([0.1, 0.1, 0.1], [1, 1, 1])
    surface = mesh.boundary()
    turned = check_surface(mesh.vertices, surface[:, ::-1], "x", "k")
    assert enclosed(mesh.vertices, turned) > 0
    one = surface.copy()
    one[0] = one[0, ::-1]
    for triangles, rule in (
        (surface[1:], "3 open edges"),
        (np.concatenate([surface, surface[:1, ::-1]]), "more than two"),
        (one, "turned against each other"),
        (surface[:0], "no triangles"),
        (np.concatenate([surface, [[0, 0, 1]]]), "without area"),
    ):
        with pytest.raises(InputError, match=rule):
            check_surface(mesh.vertices, triangles, "x", "k")


@pytest.mark.parametrize("suffix", [".vtk", ".msh", ".mesh", ".vtu"])
def test_files_of_tets_come_back_as_they_were(suffix, tmp_path):
    pytest.importorskip("meshio", reason="pip install diffsim_ros[mesh]")
    mesh, path = tets.ball(0.1, 2), tmp_path / f"ball{suffix}"
    mesh_files.write_tets(path, mesh)
    again = mesh_files.read_tets(path, None, "x", "k")
    assert again.vertices == pytest.approx(mesh.vertices) and np.array_equal(again.tets, mesh.tets)
    assert mesh_files.read_tets(path, 0.001, "x", "k").vertices == pytest.approx(
        0.001 * mesh.vertices
    )
    if suffix in (".vtk", ".vtu"):
        both = tets.quadratic(mesh)
        mesh_files.write_tets(path, both)
        assert mesh_files.digest_of(mesh_files.read_tets(path, None, "x", "k")) == (
            mesh_files.digest_of(both)
        )


def test_unreadable_files_are_named(tmp_path):
    pytest.importorskip("meshio", reason="pip install diffsim_ros[mesh]")
    pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
    for name in ("broken.msh", "broken.vtk", "broken.stl", "broken.obj"):
        path = tmp_path / name
        path.write_text("this is no mesh\n")
        read = mesh_files.read_tets if name[-1] in "hk" else mesh_files.read_triangles
        with pytest.raises(InputError, match=name):
            read(path, None, "x.yaml", "k")
    with pytest.raises(InputError, match="a file ending in"):
        mesh_files.read_tets(tmp_path / "a.step", None, "x", "k")
    with pytest.raises(InputError, match="that exists"):
        mesh_files.read_triangles(tmp_path / "none.obj", None, "x", "k")


def test_a_file_of_tets_whose_elements_are_cut_is_refused(tmp_path):
    pytest.importorskip("meshio", reason="pip install diffsim_ros[mesh]")
    mesh, path = tets.box([0.1, 0.1, 0.1], [1, 1, 1]), tmp_path / "cut.msh"
    mesh_files.write_tets(path, mesh)
    content = path.read_bytes()
    last = content.index(b"$EndElements") - 1  # before the end of the line
    for count in (1, 6, 12, 6 * 5):  # numbers of 8 bytes
        path.write_bytes(content[: last - 8 * count])
        with pytest.raises(InputError, match=r"cut\.msh|cells: none"):
            mesh_files.read_tets(path, None, "x", "k")


def test_a_missing_library_says_what_to_install(monkeypatch, tmp_path):
    import sys

    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(InputError, match="pip install trimesh meshio"):
        mesh_files.read_triangles(path, None, "x.yaml", "k")


def obj(path, vertices, triangles):
    lines = [f"v {x} {y} {z}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    path.write_text("\n".join(lines) + "\n")


def test_a_surface_is_meshed_once_and_kept(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pytetwild", reason="pip install diffsim_ros[mesh]")
    pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    solid, path = tets.box([0.1, 0.1, 0.2], [1, 1, 1]), tmp_path / "block.obj"
    obj(path, solid.vertices, solid.boundary()[:, ::-1])  # inside out: it is turned
    mesh, surface = mesh_files.mesh_surface(path, None, None, "x", "k")
    assert surface.volume == pytest.approx(0.002)
    mesh, report = check_tets(mesh, "x", "k", surface=surface)
    assert report.volume == pytest.approx(0.002, rel=0.01) and report.tets > 50
    assert report.surface_volume == surface.volume
    again, _ = mesh_files.mesh_surface(path, None, None, "x", "k")
    assert mesh_files.digest_of(check_tets(again, "x", "k")[0]) == mesh_files.digest_of(mesh)
    assert len(list(mesh_files.cache_folder().iterdir())) == 1
    assert main(["mesh", str(path), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"worst +\d+ at \(\S+ \S+ \S+\): [\d.]+ deg, 0\.\d+, \d+ at", shown), shown
    assert "surface_volume" in shown and "0.002" in shown and "warning" not in shown
    with pytest.raises(InputError, match="shorter than the surface"):
        mesh_files.mesh_surface(path, None, 5.0, "x", "k")
    obj(path, solid.vertices, solid.boundary()[1:])
    with pytest.raises(InputError, match="fill its holes"):
        mesh_files.mesh_surface(path, None, None, "x", "k")


def test_a_rectangle_of_cloth():
    web = cloth.rectangle([0.3, 0.2], [3, 2])
    assert web.vertices.shape == (12, 3) and web.shares.sum() == pytest.approx(1)
    assert np.sort(web.shares)[[0, -1]] == pytest.approx([1 / 24, 4 / 24])
    assert tets.triangle_areas(web.vertices, web.triangles).sum() == pytest.approx(0.06)
    assert len(web.pairs["stretch"]) == 3 * 3 + 4 * 2 and web.lengths("stretch") == pytest.approx(
        0.1
    )
    assert len(web.pairs["shear"]) == 12 and web.lengths("shear") == pytest.approx(0.02**0.5)
    assert len(web.pairs["bend"]) == 2 * 3 + 4 * 1 and web.lengths("bend") == pytest.approx(0.2)


def test_cloth_of_triangles_bends_across_inner_edges():
    flat_web = cloth.rectangle([0.2, 0.2], [2, 2])
    web = cloth.sheet_of_triangles(flat_web.vertices, flat_web.triangles)
    assert len(web.pairs["stretch"]) == 16 and len(web.pairs["bend"]) == 8
    assert web.shares.sum() == pytest.approx(1)
    for pair in web.pairs["bend"].tolist():  # the corners face each other across one edge
        faces = [set(t) for t in web.triangles.tolist() if set(t) & set(pair)]
        assert any(len((a - {pair[0]}) & (b - {pair[1]})) == 2 for a in faces for b in faces)


def test_a_string():
    web = cloth.line(1.0, 5)
    assert web.lengths("stretch") == pytest.approx(np.full(4, 0.25))
    assert web.lengths("bend") == pytest.approx(np.full(3, 0.5))
    assert web.shares @ web.vertices == pytest.approx(np.zeros(3), abs=1e-15)
