"""`diffsim export video`: a GIF or MP4 of results, or of a scene that is simulated for it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.commands import view
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.errors import InputError, nearest
from diffsim_ros.files import exists

if TYPE_CHECKING:
    from diffsim_ros.viz.animation import Animation

LEAST, MOST = 16, 4096
"""Width and height [pixels]."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim export video`."""
    text = "a folder of results, or a scene to simulate"
    command.add_argument("source", metavar="FOLDER|SCENE.yaml", help=text)
    command.add_argument("--out", metavar="FILE", help="ending in .gif or .mp4")
    command.add_argument("--fps", type=float, default=25.0, help="frames a second [25]")
    command.add_argument("--size", type=int, nargs=2, default=(640, 420), metavar=("W", "H"),
                         help="pixels [640 420]")  # fmt: skip
    text = "azimuth and elevation from which it is seen, degrees [-60 22]"
    command.add_argument("--camera", type=float, nargs=2, default=(-60.0, 22.0),
                         metavar=("AZ", "EL"), help=text)  # fmt: skip
    text = "seconds of the motion a second [1]"
    command.add_argument("--speed", type=float, default=1.0, metavar="F", help=text)
    text = "which recording, of an estimation's results [the first]"
    command.add_argument("--motion", metavar="NAME", default="", help=text)


def run(options: argparse.Namespace) -> int:
    """Write the video; 0, or InputError."""
    from diffsim_ros.viz import video

    path = check(options)
    with ProgressLine() as line:
        animation = chosen(Path(options.source), options.motion, line)
        begun = time.perf_counter()
        count = run_cancellable(
            lambda token: video.write_video(
                animation, path, fps=options.fps, size=tuple(options.size),
                direction=tuple(options.camera), speed=options.speed, cancel=token,
                progress=lambda k, n: line.show(f"drawing frame {k} of {n}", "video"),
            ),
            line=line,
        )  # fmt: skip
    rate = count / (time.perf_counter() - begun)
    size = path.stat().st_size / 1e6
    print(f"{path}: {count} frames, {size:.2f} MB, drawn at {rate:.1f} frames a second")
    return 0


def check(options: argparse.Namespace) -> Path:
    """The file that is written; InputError for options that cannot be."""
    from diffsim_ros.viz import video

    if options.out is None:
        raise InputError("export video", "--out", None, "a file ending in .gif or .mp4")
    path = Path(options.out)
    if path.suffix.lower() not in video.SUFFIXES:
        rule = f"a file ending in {' or '.join(video.SUFFIXES)}"
        raise InputError("export video", "--out", options.out, rule)
    if exists(path):
        raise InputError(path, "", "a file that is there", "a new file", "move it, or name another")
    if not path.parent.is_dir():
        raise InputError("export video", "--out", options.out, "a file in a folder that exists")
    for name, value, low, high in (
        ("--fps", options.fps, 1.0, 60.0), ("--speed", options.speed, 1e-3, 1e3),
        ("--size", options.size[0], LEAST, MOST), ("--size", options.size[1], LEAST, MOST),
        ("--camera", options.camera[0], -360.0, 360.0),
        ("--camera", options.camera[1], -89.0, 89.0),
    ):  # fmt: skip
        if not low <= value <= high:
            raise InputError("export video", name, value, f"{low:g} to {high:g}")
    if path.suffix.lower() == ".mp4":
        video.check_mp4(path, tuple(options.size))
    return path


def chosen(source: Path, name: str, line: ProgressLine) -> Animation:
    """The motion of a scene, or the one of that name of results."""
    if view.is_scene(source):
        return simulated(view.load(str(source)), line)
    found = {one.name: one for one in view.animations_of(source)}
    if not name:
        return next(iter(found.values()))
    if name not in found:
        rule = f"one of {', '.join(found)}"
        raise InputError(source, "--motion", name, rule, nearest(name, found))
    return found[name]


def simulated(model: Any, line: ProgressLine) -> Animation:
    """A scene's motion as far as the engine goes."""
    from diffsim_ros import _engine
    from diffsim_ros.scene.build import engine_options
    from diffsim_ros.viz.animation import scene_animation

    line.show(f"simulating {model.steps} steps of {model.options.step:g} s", "simulate")
    options = engine_options(model.parts.world, record_end=True)
    rollout = run_cancellable(
        lambda token: _engine.rollout(
            model.engine, model.engine.values, model.steps, options, cancel=token
        ),
        line=line,
    )
    return scene_animation(model, rollout)
