"""One closed surface as different programs write it: the same topology, mass and inertia."""

import contextlib
import struct

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.robots import collision_solids
from diffsim_ros.scene import load_scene, mesh_files, tets, tetwild
from diffsim_ros.scene.mesh_mass import moments
from diffsim_ros.scene.mesh_report import check_surface
from diffsim_ros.scene.rigid_shape import outward_triangles
from diffsim_ros.surfaces import merge_surface
from tests.scene.mesh_writing import box_surface

pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
EDGE = np.array([0.1, 0.12, 0.3])


def torus():
    """Rings of 0.1 and 0.04 m: every vertex of six triangles."""
    n, m = 9, 6
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    ring = 0.1 + 0.04 * np.cos(v)
    vertices = np.stack([ring * np.cos(u), ring * np.sin(u), 0.04 * np.sin(v)], -1).reshape(-1, 3)
    at = np.arange(n * m).reshape(n, m)
    a, b = at, np.roll(at, -1, 0)
    c, d = np.roll(b, -1, 1), np.roll(a, -1, 1)
    quads = [np.stack(three, -1).reshape(-1, 3) for three in ((a, b, c), (a, c, d))]
    return vertices, np.concatenate(quads)


def two(offset):
    """Two boxes, whose vertices are their own."""
    vertices, triangles = box_surface(EDGE)
    return np.vstack([vertices, vertices + offset]), np.vstack([triangles, triangles + 8])


SURFACES = {
    "box": (lambda: box_surface(EDGE), 0.0036),
    "torus": (torus, None),
    "two boxes apart": (lambda: two([0.25, 0, 0]), 0.0072),
    "two boxes that share a face": (lambda: two([0.1, 0, 0]), 0.0072),
}


def faces(triangles, form):
    return [" ".join(form(k, i + 1) for k, i in enumerate(t)) for t in triangles.tolist()]


def places(vertices):
    return "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in vertices.tolist())


def obj(form, extra="", split=()):
    def write(vertices, triangles):
        lines = [f"f {words}\n" for words in faces(triangles, form)]
        for at, text in enumerate(split):
            lines.insert((at * len(triangles)) // len(split) + at, text)
        return (places(vertices) + extra + "".join(lines)).encode()

    return write


def obj_of_faces(noise=0.0):
    """Vertices of its own for each triangle."""

    def write(vertices, triangles):
        corners = vertices[triangles.ravel()]
        corners = corners + noise * np.random.default_rng(0).uniform(-1, 1, corners.shape)
        own = np.arange(len(corners)).reshape(-1, 3)
        return obj(lambda _, i: str(i))(corners, own)

    return write


def obj_counted_back():
    """Each triangle's vertices before it, and by their places from there back."""

    def write(vertices, triangles):
        return "".join(
            places(vertices[triangle]) + "f -3//-1 -2//-1 -1//-1\n" for triangle in triangles
        ).encode()

    return write


def binary_stl(header):
    def write(vertices, triangles):
        records = b"".join(
            struct.pack("<12fH", 0, 0, 0, *vertices[t].ravel(), 0) for t in triangles
        )
        return header.ljust(80)[:80] + struct.pack("<I", len(triangles)) + records

    return write


def ascii_stl(solids, words="%.9g"):
    def write(vertices, triangles):
        text = ""
        for number, part in enumerate(np.array_split(triangles, solids)):
            text += f"solid part{number}\n"
            for t in part:
                corners = "".join(f"vertex {' '.join(words % x for x in vertices[i])}\n" for i in t)
                text += f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n"
            text += f"endsolid part{number}\n"
        return text.encode()

    return write


def ply(split=False, textured=False):
    def write(vertices, triangles):
        x = vertices[triangles.ravel()] if split else vertices
        t = np.arange(len(x)).reshape(-1, 3) if split else triangles
        more = "property float nx\nproperty float ny\nproperty float nz\n" if split else ""
        more += "property float s\nproperty float t\n" if textured else ""
        rows = [
            " ".join(map(repr, row)) + (f" 0 0 {k % 7}" if split else "")
            + (f" {k / len(x)} 0.5" if textured else "")
            for k, row in enumerate(x.tolist())
        ]  # fmt: skip
        head = (
            f"ply\nformat ascii 1.0\nelement vertex {len(x)}\nproperty double x\n"
            f"property double y\nproperty double z\n{more}element face {len(t)}\n"
            "property list uchar int vertex_indices\nend_header\n"
        )
        return (head + "\n".join(rows + [f"3 {a} {b} {c}" for a, b, c in t]) + "\n").encode()

    return write


UV = "vt 0 0\nvt 1 0\nvt 1 1\n"
NORMALS = "vn 0 0 1\nvn 0 1 0\nvn 1 0 0\n"
DIALECTS = {
    "welded.obj": obj(lambda _, i: str(i)),
    "normals.obj": obj(lambda k, i: f"{i}//{(i + k) % 3 + 1}", NORMALS),
    "textured.obj": obj(lambda k, i: f"{i}/{k + 1}", UV),
    "both.obj": obj(lambda k, i: f"{i}/{k + 1}/{(i + k) % 3 + 1}", UV + NORMALS),
    "materials.obj": obj(lambda _, i: str(i), "mtllib none.mtl\n", ["usemtl a\n", "usemtl b\n"]),
    "textured_materials.obj": obj(
        lambda k, i: f"{i}/{k + 1}", UV, ["usemtl a\n", "usemtl b\n", "usemtl a\n"]
    ),
    "objects.obj": obj(lambda _, i: str(i), "", ["o a\n", "o b\ns off\n"]),
    "groups.obj": obj(lambda _, i: str(i), "", ["g a\n", "g b c\ns 1\n"]),
    "split.obj": obj_of_faces(),
    "rounded.obj": obj_of_faces(noise=1e-9),
    "counted_back.obj": obj_counted_back(),
    "binary.stl": binary_stl(b"made"),
    "called_solid.stl": binary_stl(b"solid of a CAD program"),
    "words.stl": ascii_stl(1),
    "three_solids.stl": ascii_stl(3),
    "short_words.stl": ascii_stl(2, "%.7g"),
    "welded.ply": ply(),
    "split.ply": ply(split=True),
    "textured.ply": ply(split=True, textured=True),
}
OWN_VERTICES = ("split.obj", "rounded.obj", "counted_back.obj")
"""Dialects whose triangles have vertices of their own, in another order."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surfaces")
    for shape, (make, _) in SURFACES.items():
        for name, write in DIALECTS.items():
            path = folder / shape.replace(" ", "_") / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(write(*make()))
    return folder


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("shape", SURFACES)
def test_what_is_for_pictures_does_not_decide_topology(shape, name, files):
    volume = SURFACES[shape][1]
    folder = files / shape.replace(" ", "_")
    rounded = pytest.warns(UserWarning, match="vertices on open edges became one with others up")
    with rounded if name == "rounded.obj" else contextlib.nullcontext():
        vertices, triangles = outward_triangles(str(folder / name), None, "x", "k")
    plain, wanted = outward_triangles(str(folder / "welded.obj"), None, "x", "k")
    assert vertices.shape == plain.shape and triangles.shape == wanted.shape
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    found, exact = moments(vertices, triangles), moments(plain, wanted)
    assert volume is None or exact[0] == pytest.approx(volume, rel=1e-12)
    for one, other in zip(found, exact, strict=True):
        size = max(np.abs(other).max(), 0.1)  # of a centre [m]
        assert one == pytest.approx(other, rel=2e-6, abs=2e-6 * size)
    if name.endswith(".obj") and name not in OWN_VERTICES:  # the file's numbers
        assert np.array_equal(vertices, plain) and np.array_equal(triangles, wanted)
    read = mesh_files.read_surface(folder / name, None, "x", "k", quiet=True)
    assert len(check_surface(read.vertices, read.triangles, "x", "k")) == len(wanted)
    assert (read.near > 0) == (name == "rounded.obj") and 0 <= read.apart < 4e-9
    field = collision_solids.mesh_field(read.vertices, read.triangles)
    a, b, c = np.moveaxis(plain[wanted], 1, 0)
    inwards = np.cross(b - a, c - a)
    inwards *= -1e-3 / np.linalg.norm(inwards, axis=1)[:, None]
    assert (field.evaluate((a + b + c) / 3 + inwards)[0] < 0).all()  # a solid of a robot, no sheet


@pytest.mark.parametrize(
    ("shape", "name", "merged", "joined", "walls"),
    [
        ("box", "welded.obj", 0, 0, 0), ("box", "words.stl", 28, 0, 0),
        ("box", "rounded.obj", 0, 28, 0), ("two_boxes_that_share_a_face", "words.stl", 60, 0, 4),
    ],
)  # fmt: skip
def test_what_was_merged_is_in_the_figures_of_a_meshed_surface(
    shape, name, merged, joined, walls, files, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("pytetwild", reason="pip install diffsim_ros[mesh]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    block = tets.box([0.1, 0.12, 0.3], [1, 1, 3])  # in place of fTetWild, which takes seconds
    monkeypatch.setattr(tetwild, "tetrahedralize", lambda *_: (block.vertices, block.tets))
    with pytest.warns(UserWarning, match="28 vertices") if joined else contextlib.nullcontext():
        assert main(["mesh", str(files / shape / name), "--edge", "0.1"]) == 0
    shown = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines() if " " in line)
    found = [int(shown[f"surface_{key}"]) for key in ("merged", "joined", "walls")]
    assert found == [merged, joined, walls]


def sheet(textured):
    """4 x 4 cells; textured: texture coordinates that differ along the middle."""
    n = 5
    lines = [f"v {0.1 * i} {0.1 * j} 0" for i in range(n) for j in range(n)]
    lines += [f"vt {i} {j}" for i in range(2 * n) for j in range(n)] if textured else []
    for i in range(n - 1):
        for j in range(n - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            numbers = [n * a + b + 1 for a, b in corners]
            words = [f"{k}/{k + (n * n if i >= 2 else 0)}" if textured else str(k)
                     for k in numbers]  # fmt: skip
            lines += [f"f {words[0]} {words[1]} {words[2]}", f"f {words[0]} {words[2]} {words[3]}"]
    return "\n".join(lines) + "\n"


def test_textured_cloth_keeps_its_springs_across_seams(tmp_path):
    found = []
    for textured in (False, True):
        (tmp_path / "sheet.obj").write_text(sheet(textured))
        body = {"type": "cloth", "shape": {"mesh": {"file": "sheet.obj"}}, "mass": 0.1,
                "stretch": {"stiffness": 100}, "bend": {"stiffness": 1}}  # fmt: skip
        world = {"step": 0.01, "duration": 0.1}
        model = load_scene({"world": world, "bodies": {"c": body}}, base=tmp_path)
        found.append(model.parts.bodies["c"].mesh.web)
    plain, seam = found
    assert len(plain.pairs["stretch"]) == 56 and len(plain.pairs["bend"]) == 40
    for kind in ("stretch", "bend"):
        assert np.array_equal(plain.pairs[kind], seam.pairs[kind])
    assert np.array_equal(plain.vertices, seam.vertices)


def test_cloth_of_two_layers_in_one_place_is_refused(tmp_path):
    text = sheet(textured=False)
    count = text.count("v ")
    again = [" ".join(["f", *(str(int(w) + count) for w in line.split()[:0:-1])])
             for line in text.splitlines() if line.startswith("f")]  # fmt: skip
    places_ = [line for line in text.splitlines() if line.startswith("v")]
    (tmp_path / "sheet.obj").write_text(text + "\n".join(places_ + again) + "\n")
    body = {"type": "cloth", "shape": {"mesh": {"file": "sheet.obj"}}, "mass": 0.1,
            "stretch": {"stiffness": 100}}  # fmt: skip
    scene = {"world": {"step": 0.01, "duration": 0.1}, "bodies": {"c": body}}
    with pytest.raises(InputError, match="32 triangles with the corners of earlier ones"):
        load_scene(scene, base=tmp_path)


def test_a_thin_closed_shell_keeps_its_two_sides():
    """1e-9 of its extent thin: no edge is open, so nothing is merged."""
    vertices, triangles = box_surface([1.0, 1.0, 1e-9])
    found = merge_surface(vertices, triangles)
    assert len(found.vertices) == 8 and np.array_equal(found.triangles, triangles)
    assert (found.same, found.near, found.apart) == (0, 0, 0.0)


def test_open_sheets_closer_than_their_cells_are_not_merged():
    """Vertices of one triangle are never one; nor are those of a rim 1e-6 of the extent apart."""
    rim = np.array([[0.0, 0, 0], [1e-8, 0, 0], [0, 1, 0]])
    assert len(merge_surface(rim, np.array([[0, 1, 2]])).vertices) == 3
    square = np.array(
        [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1e-6, 0], [0, 1 + 1e-6, 0], [1, 1, 0]]
    )
    for gap, left in ((1.0, 6), (0.01, 4)):
        x = square.copy()
        x[3:5, 1] = [gap * 1e-6, 1 + gap * 1e-6]
        assert len(merge_surface(x, np.array([[0, 1, 2], [3, 5, 4]])).vertices) == left


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t: np.vstack([t, t]), "edges with more than two triangles, 12 triangles with"),
        (lambda t: np.vstack([t, t[:, ::-1]]), "triangles that all lie on others"),
        (lambda t: np.vstack([t, t[:1, ::-1]]), "edges with more than two triangles"),
        (lambda t: t[2:], "open edges"),
    ],
    ids=["two layers", "two sides", "one face with two sides", "a hole"],
)
def test_layers_in_one_place_are_named(change, text, tmp_path):
    vertices, triangles = box_surface(EDGE)
    path = tmp_path / "a.obj"
    path.write_bytes(obj_of_faces()(vertices, change(triangles)))
    x, t = mesh_files.read_triangles(path, None, "x", "k")
    with pytest.raises(InputError, match=text):
        check_surface(x, t, "x", "k")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (lambda v, t: binary_stl(b"x")(v, t)[:-120], "9 triangles where 12 are announced"),
        (lambda v, t: binary_stl(b"x")(v, t)[:40], "without triangles"),
        (lambda v, t: ascii_stl(1)(v, t)[:600], "facets, .* ends of them"),
        (lambda v, t: ascii_stl(1)(v, t).replace(b".", b","), "decimals are written with points"),
        (lambda v, t: b"solid a\nendsolid a\n", "without triangles"),
        (lambda v, t: b"", "without triangles"),
    ],
    ids=["cut", "cut in the header", "cut words", "commas", "empty solid", "empty"],
)
def test_a_damaged_stl_says_what_is_wrong(content, text, tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(content(*box_surface(EDGE)))
    with pytest.raises(InputError, match=text):
        mesh_files.read_triangles(path, None, "x", "k")


def test_bytes_behind_an_stl_are_left_out(tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(binary_stl(b"x")(*box_surface(EDGE)) + b"\0" * 10)
    assert len(mesh_files.read_triangles(path, None, "x", "k")[1]) == 12


@pytest.mark.parametrize(
    "face", ["1 2 4", "0 1 2", "-1 -2 -4", "1 2 x", "1 2", " ", f"1 2 {10**20}"]
)
def test_a_face_of_vertices_that_are_not_there_is_named(face, tmp_path):
    path = tmp_path / "bad.obj"
    path.write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf {face}\n")
    with pytest.raises(InputError, match=r"bad.obj: face 'f .*numbers of its vertices, 1 to 3"):
        mesh_files.read_surface(path, None, "scene", "shape")
