"""Cells of mesh files: every one with a volume is read, or refused by kind and number."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene, mesh_files, tets
from diffsim_ros.scene.mesh_report import check_tets
from diffsim_ros.scene.tets import TetMesh

meshio = pytest.importorskip("meshio", reason="pip install diffsim_ros[mesh]")
FORMATS = {"gmsh": ".msh", "gmsh22": ".msh", "vtk": ".vtk", "vtu": ".vtu", "medit": ".mesh"}
EDGE = 0.1
DIMENSION = {"line": 1, "triangle": 2}
GMSH = {"line": 1, "triangle": 2, "tetra": 4, "hexahedron": 5, "pyramid": 7}
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1],
                    [0, 1, 1]]) * EDGE  # fmt: skip
OTHERS = {
    "hexahedron": CORNERS,
    "wedge": CORNERS[[0, 1, 2, 4, 5, 6]],
    "pyramid": np.vstack([CORNERS[:4], [[0.05, 0.05, 0.1]]]),
    "tetra10": tets.quadratic(TetMesh(CORNERS[[0, 1, 2, 5]], np.array([[0, 1, 2, 3]]))).vertices,
    "hexahedron20": np.vstack([CORNERS, np.linspace(0.02, 0.08, 36).reshape(12, 3)]),
}


def moved(points, x, y=0.0, z=0.0):
    return points + np.array([x, y, z])


def block(at=0.0, cells=(2, 1, 1)):
    """A box of tets whose lower corner is at x = `at`."""
    mesh = tets.box([0.2, EDGE, EDGE], cells)
    return TetMesh(moved(mesh.vertices, 0.1 + at, EDGE / 2, EDGE / 2), mesh.tets)


def write(path, form, points, cells):
    if form == "gmsh":
        path.write_text(gmsh41(points, cells))
        return path
    options = {"binary": False} if form == "gmsh22" else {}
    meshio.Mesh(points, cells).write(path, file_format=form, **options)
    return path


def gmsh41(points, cells):
    """Text of Gmsh's format 4.1; meshio writes one kind of cells alone."""
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes"]
    lines += [f"1 {len(points)} 1 {len(points)}", f"3 1 0 {len(points)}"]
    lines += [str(k + 1) for k in range(len(points))]
    lines += [" ".join(map(str, row)) for row in points.tolist()]
    total, number = sum(len(data) for _, data in cells), 0
    lines += ["$EndNodes", "$Elements", f"{len(cells)} {total} 1 {total}"]
    for kind, data in cells:
        lines.append(f"{DIMENSION.get(kind, 3)} 1 {GMSH[kind]} {len(data)}")
        for row in data.tolist():
            number += 1
            lines.append(" ".join(str(k) for k in (number, *(i + 1 for i in row))))
    return "\n".join([*lines, "$EndElements", ""])


def read(path):
    return mesh_files.read_tets(path, None, "x", "k")


FILES = [(form, kind) for form in FORMATS for kind in OTHERS
         if form[:3] == "vtk" or form == "vtu" or kind in ("hexahedron", "pyramid")]  # fmt: skip


@pytest.mark.parametrize(("form", "kind"), FILES)
def test_a_cell_that_is_no_tetrahedron_is_refused_by_kind_and_number(form, kind, tmp_path):
    mesh, other = block(), OTHERS[kind]
    points = np.vstack([mesh.vertices, moved(other, 0.2), moved(other, 0.5)])
    own = np.arange(len(other)) + len(mesh.vertices)
    cells = [("tetra", mesh.tets), (kind, np.stack([own, own + len(other)]))]
    path = write(tmp_path / f"a{FORMATS[form]}", form, points, cells)
    with pytest.raises(InputError, match=rf"cells: (12 tetra, )?2 {kind}\b"):
        read(path)


@pytest.mark.parametrize("form", FORMATS)
def test_blocks_of_tetrahedra_are_read_whole_and_flat_cells_are_left(form, tmp_path):
    mesh = block(cells=(4, 2, 2))
    cells = [("triangle", mesh.boundary()), ("line", mesh.tets[:3, :2]), ("tetra", mesh.tets[:30]),
             ("triangle", mesh.boundary()[:2]), ("tetra", mesh.tets[30:])]  # fmt: skip
    found = read(write(tmp_path / f"a{FORMATS[form]}", form, mesh.vertices, cells))
    assert found.volumes().sum() == pytest.approx(0.2 * EDGE**2)
    assert len(found.tets) == len(mesh.tets)


@pytest.mark.parametrize(
    ("number", "name"),
    [(42, "polyhedron"), (11, r"1 cells of type 11 \(voxel\)"), (72, "VTK_LAGRANGE")],
)
def test_cells_without_a_name_of_their_own_are_refused(number, name, tmp_path):
    """A polyhedron, a voxel, a Lagrange hexahedron."""
    path = write(tmp_path / "a.vtk", "vtk", CORNERS, [("hexahedron", np.arange(8)[None])])
    content = path.read_bytes()
    assert content.count(b"\x00\x00\x00\x0c") == 1
    path.write_bytes(content.replace(b"\x00\x00\x00\x0c", bytes([0, 0, 0, number])))
    with pytest.raises(InputError, match=name):
        read(path)


@pytest.mark.parametrize("quadratic", [False, True], ids=["tetra", "tetra10"])
@pytest.mark.parametrize("noise", [0.0, 5e-9], ids=["equal", "rounded"])
def test_volumes_that_share_an_interface_are_one(quadratic, noise, tmp_path):
    """Two blocks with vertices of their own: joined, said once, of the mass of both."""
    one, other = block(), block(0.2)
    rng = np.random.default_rng(0)
    points = np.vstack([one.vertices, other.vertices + noise * rng.uniform(-1, 1, (12, 3))])
    both = TetMesh(points, np.vstack([one.tets, other.tets + len(one.vertices)]))
    if quadratic:
        both = tets.quadratic(both)
    _, report = check_tets(both, "x", "k")
    assert report.merged == (9 if quadratic else 4) and report.parts == 1
    assert report.volume == pytest.approx(0.4 * EDGE**2, rel=1e-6)
    assert report.area == pytest.approx(4 * 0.4 * EDGE + 2 * EDGE**2, rel=1e-6)
    mesh_files.write_tets(tmp_path / "a.vtk", both)
    body = {"type": "solid", "shape": {"mesh": {"file": "a.vtk"}}, "density": 1000, "young": 1e5,
            "poisson": 0.3, "element": "p2_p0"}  # fmt: skip
    scene = {"world": {"step": 0.01, "duration": 0.1}, "bodies": {"b": body}}
    with pytest.warns(UserWarning, match=r"vertices were merged where volumes.*share an interface"):
        model = load_scene(scene, base=tmp_path)
    assert model.parts.bodies["b"].total_mass() == pytest.approx(4.0, rel=1e-6)


def test_volumes_that_touch_in_an_edge_or_not_at_all_stay_loose():
    one = block()
    for other, text in (
        (moved(one.vertices, 0.2, EDGE), "2 loose parts, which touch in 2 vertices but in no face"),
        (moved(one.vertices, 0.5), "2 loose parts'"),
        (moved(one.vertices, 0.2 + 1e-6), "2 loose parts'"),
    ):
        points = np.vstack([one.vertices, other])
        both = TetMesh(points, np.vstack([one.tets, one.tets + len(one.vertices)]))
        with pytest.raises(InputError, match=text):
            check_tets(both, "x", "k")


def test_a_slit_in_one_volume_stays_open():
    mesh = block(cells=(4, 1, 1))
    middle = np.flatnonzero(np.abs(mesh.vertices[:, 0] - 0.1) < 1e-9)
    slit = middle[mesh.vertices[middle, 2] > 0.05]
    right = mesh.vertices[mesh.tets].mean(axis=1)[:, 0] > 0.1
    number = np.arange(len(mesh.vertices))
    number[slit] = len(mesh.vertices) + np.arange(len(slit))
    cut = np.where(right[:, None], number[mesh.tets], mesh.tets)
    open_mesh = TetMesh(np.vstack([mesh.vertices, mesh.vertices[slit]]), cut)
    found, report = check_tets(open_mesh, "x", "k")
    assert report.merged == 0 and len(found.vertices) == len(mesh.vertices) + len(slit)
    assert report.area == pytest.approx(4 * 0.2 * EDGE + 2 * EDGE**2 + 2 * EDGE**2)


def test_a_tetrahedron_twice_is_refused():
    mesh = block()
    again = TetMesh(mesh.vertices, np.vstack([mesh.tets, mesh.tets[3:5, [1, 2, 0, 3]]]))
    with pytest.raises(InputError, match=r"2 tets with the vertices of an earlier one.*number 12"):
        check_tets(again, "x", "k")


VOLUME_41 = """$MeshFormat\n4.1 0 8\n$EndMeshFormat
$PhysicalNames\n2\n3 1 "left"\n3 2 "right"\n$EndPhysicalNames
$Entities\n0 0 0 {count}\n{entities}$EndEntities
$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes
$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"""
VOLUME_22 = """$MeshFormat\n2.2 0 8\n$EndMeshFormat
$PhysicalNames\n{names}$EndPhysicalNames
$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes
$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n"""


@pytest.mark.parametrize("version", ["4.1", "2.2"])
def test_a_physical_volume_without_cells_is_refused(version, tmp_path):
    path = tmp_path / "a.msh"
    if version == "4.1":
        one = "1 0 0 0 1 1 1 1 1 0\n"
        empty = VOLUME_41.format(count=2, entities=one + "2 0 0 0 1 1 1 1 2 0\n")
        whole = VOLUME_41.format(count=1, entities="1 0 0 0 1 1 1 2 1 2 0\n")  # of both
    else:
        empty = VOLUME_22.format(names='2\n3 1 "left"\n3 2 "right"\n')
        whole = VOLUME_22.format(names='1\n3 1 "left"\n')
    path.write_text(empty)
    with pytest.raises(InputError, match="physical volume 'right' without cells"):
        read(path)
    path.write_text(whole)
    assert len(read(path).tets) == 1
