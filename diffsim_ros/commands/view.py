"""`diffsim view`: motions in the browser, of results or of a scene while it is simulated."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.errors import InputError
from diffsim_ros.files import exists, is_folder

if TYPE_CHECKING:
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.viewer import Viewer

MOTION = "motion.mcap"
SUFFIXES = (".yaml", ".yml")
RATE = 60.0
"""Frames of a scene that is simulated, a second of its motion [Hz]."""
WIDE = 1.5
"""How far a plane is drawn beyond the start of a motion that is not known yet [m]."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim view`."""
    text = "a scene to simulate, folders of results, or their motion.mcap"
    command.add_argument("paths", nargs="+", metavar="SCENE.yaml|FOLDER", help=text)
    command.add_argument("--port", type=int, default=8080, help="of this machine [8080]")
    command.add_argument("--no-browser", action="store_true", help="open no page")
    command.add_argument("--speed", type=float, default=1.0, metavar="F",
                         help="seconds of the motion a second [1]")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Show them until Ctrl-C; 0, or InputError."""
    from diffsim_ros.viz.viewer import Viewer

    if not 1e-3 <= options.speed <= 1e3:
        raise InputError("view", "--speed", options.speed, "0.001 to 1000")
    if not 0 <= options.port <= 65535:
        raise InputError("view", "--port", options.port, "0 (a free one) to 65535")
    recorded = [one for path in options.paths for one in animations_of(Path(path))]
    scenes = [load(path) for path in options.paths if is_scene(Path(path))]
    with Viewer(port=options.port, browser=not options.no_browser, speed=options.speed) as viewer:
        print(f"the viewer is at {viewer.address}; Ctrl-C ends it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            if recorded:
                viewer.show(*recorded)
            for model in scenes:
                recorded.append(simulate(model, viewer, recorded))
                viewer.show(*recorded)
            viewer.wait()
    return 0


def is_scene(path: Path) -> bool:
    """True of what is simulated, False of what is read."""
    return path.suffix.lower() in SUFFIXES and not is_folder(path)


def load(path: str) -> Any:
    """The scene of a file."""
    from diffsim_ros.scene import load_scene

    return load_scene(path)


def animations_of(path: Path) -> list[Animation]:
    """The motions of results; none of a scene; InputError for anything else."""
    from diffsim_ros.viz.recorded import bag_animations

    if is_scene(path):
        return []
    if not exists(path):
        raise InputError(path, "", "nothing", "a scene's YAML, or a folder of results")
    if path.suffix.lower() == ".mcap":
        return bag_animations(path)
    if not is_folder(path) or not (path / MOTION).is_file():
        rule = f"a scene's YAML, a folder of results with {MOTION}, or such a file"
        raise InputError(path, "", "neither", rule)
    return bag_animations(path / MOTION, path.resolve().name)


def simulate(model: Any, viewer: Viewer, before: list[Animation]) -> Animation:
    """Simulate a scene while it is shown; its motion, as far as the engine went."""
    from diffsim_ros.scene.stepped import SteppedMotion
    from diffsim_ros.viz.animation import Animation, SceneFrames, scene_animation

    if model.options.spectral_radius is not None:
        return at_once(model)
    motion = SteppedMotion(model, RATE)
    drawn = SceneFrames(model, motion, wide=WIDE)
    name = str(model.description.get("name") or Path(model.place).stem)
    still = drawn.still()
    for frame in motion.frames():
        growing = Animation(name, motion.time[: frame + 1], drawn.at, still)
        text = f"simulated {growing.time[-1]:.2f} of {motion.end:.2f} s"
        viewer.show(*before, growing, until=motion.end, text=text)
    if motion.message:
        print(f"warning: {name}: {motion.message}", flush=True)
    return scene_animation(model, motion.known(), name=name, paths=True)


def at_once(model: Any) -> Animation:
    """The motion of a scene whose time scheme cannot go on from where it stands."""
    from diffsim_ros import _engine
    from diffsim_ros.scene.build import engine_options
    from diffsim_ros.viz.animation import scene_animation

    options = engine_options(model.parts.world, record_end=True)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, options)
    return scene_animation(model, rollout, paths=True)
