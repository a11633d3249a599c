"""Line drawings of legged robots and of footfall patterns."""

import numpy as np

from diffsim_ros.viz.legged_robot import footfall_picture, standing_picture


def test_a_wheel_is_a_circle_about_its_axis_and_the_polygon_is_the_hull():
    axis = np.array([0.0, 0.6, 0.8])
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 0]])
    centres = points + np.array([0, 0, 0.2])
    figure = standing_picture(
        "robot", segments=np.array([[[0.0, 0, 1], [1, 1, 0.2]]]), centres=centres,
        wheel_axes=np.tile(axis, (5, 1)), radii=np.array([0.2, 0, 0, 0, 0]), points=points,
        centre_of_mass=np.array([0.5, 0.5, 0.6]), names="abcde",
    )  # fmt: skip
    assert len(figure.axes) == 4
    lines = [np.array(line.get_data_3d()).T for line in figure.axes[0].lines]
    circle = next(line for line in lines if len(line) == 33) - [0, 0, 0.2]
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 0.2)
    np.testing.assert_allclose(circle @ axis, 0, atol=1e-12)
    hull = next(line for line in lines if len(line) == 5)
    assert {tuple(corner) for corner in hull[:, :2].tolist()} == {(0, 0), (1, 0), (1, 1), (0, 1)}


def test_bars_are_where_the_feet_touch():
    contact = np.array([[1, 0], [1, 1], [0, 1], [0, 1]], bool)
    bars = footfall_picture(["left", "right"], contact, "gait").axes[0].patches
    found = {(bar.get_x(), round(bar.get_y() + bar.get_height() / 2)) for bar in bars}
    assert found == {(0.0, 0), (0.25, 0), (0.25, 1), (0.5, 1), (0.75, 1)}
