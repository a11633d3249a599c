"""Videos: frames, sizes and times of the files, what they show, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml
from diffsim_ros.viz.animation import Animation
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.video import instants, write_video

SIZE = (96, 64)
SCENE = {
    "world": {"step": 1 / 100, "duration": 0.2},
    "bodies": {"ball": {"shape": {"sphere": {"radius": 0.1}}, "mass": 0.1,
                        "velocity": [1.0, 0.0, 0.0], "colour": [1.0, 0.0, 0.0, 1.0]}},
}  # fmt: skip


def red_ball():
    """A red ball that goes from left to right in 1 s, 11 instants."""

    def at(number):
        place = (0.1 * number - 0.5, 0.0, 0.0)
        return [Marker("ball", 0, MarkerKind.SPHERE, position=place, scale=(0.2,) * 3,
                       colour=(1.0, 0.0, 0.0, 1.0))]  # fmt: skip

    return Animation("ball", np.linspace(0.0, 1.0, 11), at)


def columns(pictures):
    """Mean column of the red pixels of each."""
    found = []
    for one in pictures:
        picture = np.asarray(one.convert("RGB")).astype(int)
        red = picture[..., 0] - picture[..., 1] > 60
        found.append(np.nonzero(red)[1].mean())
    return np.array(found)


def gif_frames(path):
    with Image.open(path) as picture:
        found, seconds = [], []
        for k in range(picture.n_frames):
            picture.seek(k)
            found.append(picture.copy())
            seconds.append(1e-3 * picture.info["duration"])
        return found, seconds, picture.size


def test_a_gif_shows_the_motion_in_its_time(tmp_path):
    # 10 Hz, half the speed: 21 frames over 2 s and 0.5 s for the last; Pillow joins equal ones
    count = write_video(red_ball(), tmp_path / "a.gif", fps=10, size=SIZE, speed=0.5,
                        direction=(-90.0, 10.0))  # fmt: skip
    frames, seconds, size = gif_frames(tmp_path / "a.gif")
    assert count == 26 and size == SIZE
    assert len(frames) == 11 and sum(seconds) == pytest.approx(2.6)
    across = columns(frames)
    assert np.all(np.diff(across) > 0) and np.ptp(across) > SIZE[0] / 3


def test_an_mp4_has_the_frames_and_the_size(tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    count = write_video(red_ball(), tmp_path / "a.mp4", fps=20, size=SIZE, direction=(-90.0, 10.0))
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"] and count == 31
    found, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert found == count and seconds == pytest.approx(count / 20, abs=0.05)
    line = [ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(tmp_path / "a.mp4"),
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]  # fmt: skip
    raw = subprocess.run(line, capture_output=True, check=True).stdout
    pictures = np.frombuffer(raw, np.uint8).reshape(count, SIZE[1], SIZE[0], 3)
    across = columns([Image.fromarray(one) for one in pictures])
    assert np.all(np.diff(across) > -0.5) and np.ptp(across) > SIZE[0] / 3


def test_instants_are_those_that_the_clock_shows():
    time = np.linspace(0.0, 1.0, 101)
    shown = instants(time, 10.0, 1.0)
    assert shown[:11].tolist() == list(range(0, 101, 10)) and set(shown[11:]) == {100}
    assert len(instants(time, 10.0, 0.5)) - len(shown) == 10


def test_the_command_makes_one_of_a_scene(tmp_path, capsys):
    write_yaml(tmp_path / "scene.yaml", SCENE)
    out = tmp_path / "scene.gif"
    line = ["export", "video", str(tmp_path / "scene.yaml"), "--out", str(out)]
    assert main([*line, "--fps", "20", "--size", "96", "64", "--camera", "-90", "10"]) == 0
    frames, _, size = gif_frames(out)
    assert size == SIZE and len(frames) == 5
    assert "frames a second" in capsys.readouterr().out
    assert main(line) == 2 and "a file that is there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "a.avi"], "ending in .gif or .mp4"),
        ([], "--out"),
        (["--out", "a.gif", "--fps", "0"], "1 to 60"),
        (["--out", "a.gif", "--camera", "0", "90"], "-89 to 89"),
        (["--out", "a.mp4", "--size", "99", "64"], "even numbers"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(tmp_path, capsys, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    write_yaml(tmp_path / "scene.yaml", SCENE)
    assert main(["export", "video", "scene.yaml", *options]) == 2
    assert said in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["scene.yaml"]


def test_without_the_extra_an_mp4_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r"not installed.*`video`.*pip install imageio-ffmpeg"):
        write_video(red_ball(), tmp_path / "a.mp4", size=SIZE)
