"""Animations of legged robots: what is drawn, and how long it is shown."""

import io

import numpy as np
from PIL import Image

from diffsim_ros.viz import style
from diffsim_ros.viz.legged_animation import DPI, SIZE, animation


def frame(x, touches, turned=0.0):
    """A table of two legs on a wheel and a foot, at x."""
    top = np.array([[x - 0.2, 0.0, 0.4], [x + 0.2, 0.0, 0.4]])
    ends = top - [0.0, 0.0, 0.3]
    return {
        "segments": np.stack([np.stack([top[0], top[1]]), np.stack([top[0], ends[0]]),
                              np.stack([top[1], ends[1]])]),
        "centres": ends, "wheel_axes": np.array([[0.0, 1.0, 0.0]] * 2), "radii": np.array([0.1, 0]),
        "points": ends * [1, 1, 0], "centre_of_mass": np.array([x, 0.0, 0.3]),
        "contact": np.array(touches), "forces": np.array([[0.0, 0.0, 0.5]] * 2),
        "turned": np.array([turned, 0.0]),
    }  # fmt: skip


def shown(picture):
    """Frames of a GIF as arrays (h, w, 3), and how long each is shown [ms]."""
    image, found, lasts = Image.open(io.BytesIO(picture)), [], []
    for k in range(image.n_frames):
        image.seek(k)
        lasts.append(image.info["duration"])
        found.append(np.asarray(image.convert("RGB")).astype(int))
    assert image.info["loop"] == 0
    return found, lasts


def near(picture, colour):
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return np.abs(picture - wanted).max(axis=-1) < 3


def count(picture, colour):
    return int(np.sum(near(picture, colour)))


def test_frames_follow_the_robot_and_show_forces_of_feet_in_contact():
    both, one, none = (True, True), (False, True), (False, False)
    frames = [frame(0.0, both), frame(0.3, one), frame(0.6, none, turned=0.8)]
    pictures, lasts = shown(animation(frames, 12.5, "a table"))
    assert len(pictures) == 3 and lasts == [80, 80, 80]
    assert pictures[0].shape == (round(SIZE[1] * DPI), round(SIZE[0] * DPI), 3)
    arrows = [count(picture, style.WARN) for picture in pictures]
    # the wheel's axis has the colour of forces, and stays
    assert arrows[0] > arrows[1] > arrows[2] > 0
    # the view goes with it: the centre of mass stays where it is, to pixels
    middles = [np.argwhere(near(p, style.PINK)).mean(axis=0) for p in pictures]
    assert np.ptp(middles, axis=0).max() < 2.0
    assert np.any(pictures[1] != pictures[2])


def test_a_picture_has_the_colours_of_the_palette_and_white():
    (picture,), _ = shown(animation([frame(0.0, (True, True))], 10.0, ""))
    for colour in (style.INK, style.SIMULATED, style.MEASURED, style.WARN, style.GREEN, style.PINK):
        assert count(picture, colour) > 5, colour
    assert count(picture, "#ffffff") > 0.5 * picture[..., 0].size
