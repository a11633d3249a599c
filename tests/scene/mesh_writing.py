"""Meshes for tests, as files."""

from diffsim_ros import meshes


def write_obj(path, vertices, triangles):
    """An .obj that reads to the same bits."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def box_surface(size, cells=(1, 1, 1)):
    """Vertices and outward triangles of a box about the origin."""
    vertices, tets = meshes.box(size, cells)
    return vertices, meshes.surface(tets)
