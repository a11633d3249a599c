"""Markers as pictures: the right colours in the right places."""

import io

import numpy as np
import pytest
from matplotlib.image import imread

from diffsim_ros.viz import style
from diffsim_ros.viz.kinds.poses import drawn
from diffsim_ros.viz.markers import Marker, MarkerKind, rgba, static_markers, strobe_markers
from diffsim_ros.viz.meshes import Viewpoint, focal_length, project
from diffsim_ros.viz.render import BACKDROP, camera_for, render, render_png

SIZE = (160, 120)
FRONT = Viewpoint(eye=(0.0, -2.0, 0.0), target=(0.0, 0.0, 0.0), fov=30.0)


def hue_share(picture, colour):
    """Share of the pixels whose colour points in the same direction as `colour`."""
    wanted = np.array(rgba(colour)[:3])
    pixels = picture.reshape(-1, 3) / 255.0
    cosine = pixels @ wanted / (np.linalg.norm(pixels, axis=1) * np.linalg.norm(wanted) + 1e-9)
    return float((cosine > 0.985).mean())


def cube(ns, y, colour, alpha=1.0):
    return Marker(
        ns, 0, MarkerKind.CUBE, position=(0, y, 0), scale=(0.4,) * 3, colour=rgba(colour, alpha)
    )


def test_a_point_projects_as_a_pinhole_does():
    pixels, depth = project(np.array([[0.1, 0.0, 0.2]]), FRONT, *SIZE)
    f = focal_length(FRONT, SIZE[1])
    assert depth[0] == pytest.approx(2.0)
    assert pixels[0] == pytest.approx([80 + f * 0.05, 60 - f * 0.1])


def test_nothing_leaves_the_backdrop():
    picture = render([], FRONT, SIZE) / 255.0
    assert picture[0].mean(axis=0) == pytest.approx(BACKDROP[0], abs=0.01)
    assert picture[-1].mean(axis=0) == pytest.approx(BACKDROP[1], abs=0.01)


def test_the_nearer_cube_hides_the_farther_one_whatever_their_order():
    near, far = cube("near", -0.5, style.SIMULATED), cube("far", 0.5, style.MEASURED)
    for markers in ([near, far], [far, near]):
        picture = render(markers, FRONT, SIZE)
        assert hue_share(picture[55:65, 75:85], style.SIMULATED) == 1.0


def test_a_ghost_lets_what_is_behind_it_shine_through():
    solid, ghost = cube("solid", 0.5, style.SIMULATED), cube("ghost", -0.5, style.MEASURED, 0.35)
    alone = render([solid], FRONT, SIZE)[60, 80].astype(float)
    behind = render([solid, ghost], FRONT, SIZE)[60, 80].astype(float)
    veil = render([ghost], FRONT, SIZE)[60, 80].astype(float)
    assert behind[0] > alone[0] + 20 and behind[2] < alone[2]  # tinted with orange
    assert not np.allclose(behind, veil, atol=5)


def test_a_cube_covers_the_pixels_that_its_front_face_projects_to():
    picture = render([cube("c", 0.0, style.SIMULATED)], FRONT, SIZE)
    wanted = (0.4 * focal_length(FRONT, SIZE[1]) / 1.8) ** 2 / (SIZE[0] * SIZE[1])
    assert hue_share(picture, style.SIMULATED) == pytest.approx(wanted, rel=0.06)


def test_a_cube_above_the_table_drops_a_shadow(motion):
    camera = Viewpoint(eye=(0.0, -2.0, 1.2), target=(0.0, 0.0, 0.0))
    table = Marker(
        "table", 0, position=(0, 0, -0.005), scale=(2, 2, 0.01), colour=(0.9,) * 3 + (1,)
    )
    body = Marker("c", 0, position=(0, 0, 0.3), scale=(0.2,) * 3, colour=rgba(style.SIMULATED))
    without, with_body = render([table], camera, SIZE), render([table, body], camera, SIZE)
    darker = with_body.astype(int).sum(axis=2) < without.astype(int).sum(axis=2) - 60
    grey = np.ptp(with_body.astype(int), axis=2) < 25
    assert (darker & grey).sum() > 50


def test_measured_against_simulated_as_a_png(motion, prediction, tmp_path):
    forces = [m for m in drawn(prediction, 39) if m.ns == "contact_force"]
    markers = static_markers(motion) + strobe_markers(motion) + forces
    path = tmp_path / "cubes.png"
    png = render_png(
        markers, path, size=(320, 240), title="Toss 1", legend=[("measured", style.MEASURED)]
    )
    assert path.read_bytes() == png
    picture = (255 * imread(io.BytesIO(png))[..., :3]).astype(np.uint8)
    assert picture.shape == (240, 320, 3)
    assert hue_share(picture, style.SIMULATED) > 0.02
    assert hue_share(picture, style.MEASURED) > 0.002
    assert hue_share(picture, "#009E73") > 0.0005  # contact forces


def test_equal_markers_give_equal_bytes(motion, prediction):
    markers = static_markers(motion) + drawn(prediction, 20)
    pictures = [render_png(markers, size=(160, 120)) for _ in range(2)]
    assert pictures[0] == pictures[1]


def test_the_camera_sees_every_marker(motion, prediction):
    camera = camera_for(drawn(prediction, 0))
    for track in (motion.measured_position, motion.simulated_position):
        pixels, depth = project(track, camera, *SIZE)
        assert (depth > 0).all()
        assert (pixels > 0).all() and (pixels < SIZE).all()


def test_every_kind_is_drawn_and_a_camera_may_stand_inside():
    triangle = [(0, 0, 0), (0.2, 0, 0), (0, 0, 0.2)]
    markers = [
        Marker("s", 0, MarkerKind.SPHERE, scale=(0.2,) * 3, colour=(1, 0, 0, 1)),
        Marker("p", 0, MarkerKind.POINTS, scale=(0.02,) * 3, points=triangle, colour=(0, 1, 0, 1)),
        Marker("t", 0, MarkerKind.TRIANGLE_LIST, points=triangle, colour=(0, 0, 1, 1)),
        Marker("a", 0, MarkerKind.ARROW, scale=(0.02, 0.04, 0.05), points=triangle[:2]),
        Marker("floor", 0, position=(0, 0, -0.3), scale=(9, 9, 0.1), colour=(0, 1, 1, 1)),
    ]
    picture = render(markers, FRONT, SIZE)
    assert hue_share(picture, "#FF0000") > 0.005
    assert hue_share(picture, "#00FFFF") > 0.2  # clipped at the camera, not lost
    with pytest.raises(ValueError, match="CYLINDER is not drawn"):
        render([Marker("c", 0, MarkerKind.CYLINDER)], FRONT, SIZE)
