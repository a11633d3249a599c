"""The animation of a toss: `python -m validation.toss_picture [FILE]`.

Writes docs/images/toss.gif: of the tosses that `cube_toss` was not trained on those that go
farthest, a tenth of them, and of these the one of median error in position, measured and predicted
by the recorded parameters, at a third of its speed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.viz.kinds.poses import motions_of
from diffsim_ros.viz.markers import static_markers, strobe_markers
from diffsim_ros.viz.motion import POSES, Motion
from diffsim_ros.viz.render import camera_for, render

from .common import RESULTS, ROOT
from .cube_toss import configured, split

SIZE, COLOURS, ZOOM = (560, 330), 128, 0.62
EVERY, SHOWN_MS, HELD_MS = 2, 40, 1200
"""Every second sample of 1/148 s is shown for so long, the last one longer."""


def median_toss() -> Motion:
    """Of the predicted tosses that go farthest the one of median error."""
    train, validate, _ = split(1.0, 0)
    experiment = PoseExperiment(load_estimation(configured(train, validate)))
    trials = experiment.read({}).validate
    figures = json.loads((RESULTS / "cube_toss.json").read_text())["parameters"]
    free = experiment.model.map
    z = free.scaled({name: figures[name]["value"] for name in free.names})
    found, failed = experiment.predicted(trials, z, "validate")
    assert not failed, failed[0]
    motions = [motions_of(one)[0] for one in found]
    motions.sort(key=lambda one: -np.ptp(one.measured_position[:, :2], axis=0).max())
    far = motions[: len(motions) // 10]
    return sorted(far, key=lambda one: one.position_error().mean())[len(far) // 2]


def at(motion: Motion, k: int) -> Motion:
    """One instant of a motion."""
    poses = {key: getattr(motion, key)[k : k + 1] for key in POSES}
    return Motion(motion.name, motion.t[k : k + 1], size=motion.size, **poses)


def animation(motion: Motion, path: Path) -> None:
    """Write the GIF; the camera stands still, and sees all of it."""
    still = static_markers(motion)
    seen = camera_for([*still, *strobe_markers(motion)], azimuth=-70.0, elevation=16.0)
    camera = replace(seen, fov=ZOOM * seen.fov)
    rows = [*range(0, motion.frames, EVERY), motion.frames - 1]
    drawn = [render([*still, *strobe_markers(at(motion, k))], camera, SIZE) for k in rows]
    palette = Image.fromarray(np.vstack(drawn[::8])).quantize(COLOURS)
    none = Image.Dither.NONE
    frames = [Image.fromarray(one).quantize(palette=palette, dither=none) for one in drawn]
    shown = [SHOWN_MS] * (len(frames) - 1) + [HELD_MS]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], loop=0, duration=shown, optimize=True
    )


def main() -> int:
    """Write it."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "toss.gif"
    motion = median_toss()
    animation(motion, path)
    error = 1e3 * motion.position_error().mean()
    print(f"{path}: {motion.name}, {error:.0f} mm, {path.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
