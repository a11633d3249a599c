"""The viewer in a browser without a GPU: frames a second, updates that arrive, and nothing else.

Chromium draws the page with the CPU that simulates, too. Counted are requestAnimationFrame, the
instants that the viewer has shown, and the updates that have come to the page; all that the page
asks for must come from this machine. Four motions: a soft ball, a cloth, a UR5's
throw (as planned), and an estimation of tosses under way, whose fit runs meanwhile.
"""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.commands.estimate_view import FitView
from diffsim_ros.commands.plan import write_all
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.scene import load_scene
from diffsim_ros.viz.animation import scene_animation
from diffsim_ros.viz.recorded import bag_animations
from diffsim_ros.viz.viewer import Viewer

from .chromium import SIZE, Page, program
from .common import ROOT, judged

SECONDS = 10.0
WARM = 8.0
BAR = 20.0
"""Frames, and updates, a second."""
LOADING = 90.0
"""[s] in which the page must have drawn the motion."""


def study(fraction: float = 1.0, only: Sequence[str] = ()) -> dict:
    """Measured figures; Missed below the bar, ImportError without Chromium or viser.

    fraction  of the time that is measured; below 1 rates are no bar
    only      motions that are measured [all]
    """
    program()
    seconds = max(1.0, SECONDS * fraction)
    figures: dict = {"page": list(SIZE), "seconds": seconds, "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        motions = {
            "soft_ball": scene_shown("soft_ball"), "cloth": scene_shown("cloth_on_sphere"),
            "ur5_throw": throw_shown(Path(folder)), "estimation": fit_shown,
        }  # fmt: skip
        for name in only or motions:
            figures[name] = measured(motions[name], seconds, fraction)
    missed = []
    for name, found in figures.items():
        if not isinstance(found, dict):
            continue
        assert not found["requests_elsewhere"], (name, found)
        assert found["picture_changes"], (name, found)
        for rate in ("frames_per_second", "updates_per_second"):
            if fraction == 1.0 and found[rate] < BAR:
                missed.append(f"{name}: {rate} {found[rate]:.1f}, at least {BAR:g}")
    return judged(figures, missed)


def measured(show: Callable[[Viewer], Callable[[], dict]], seconds: float, fraction: float) -> dict:
    """What a page sees of a viewer while it plays. `show` begins, and returns what ends it."""
    with Viewer(port=0, browser=False) as viewer:
        viewer.pause = 0.0
        end = show(viewer)
        with Page(viewer.address) as page:
            first = loaded(page)
            viewer.seek(0.0)
            viewer.play(True)
            page.rates(WARM * fraction)  # viser draws fewer pixels where a browser is slow
            shown = viewer.shown
            rate, updates = page.rates(seconds)
            shown = viewer.shown - shown
            changes = page.picture() != first
            elsewhere = [u for u in page.requested() if not u.startswith(viewer.address)]
        return {
            "frames_per_second": rate,
            "updates_per_second": updates,
            "sent_per_second": shown / seconds,
            "picture_changes": changes,
            "requests_elsewhere": sorted(elsewhere),
            **end(),
        }


def loaded(page: Page) -> bytes:
    """A picture of the page once the scene is in it."""
    from PIL import Image

    until = time.monotonic() + LOADING
    while time.monotonic() < until:
        time.sleep(0.5)
        try:
            picture = page.picture()
        except RuntimeError:  # nothing has been drawn yet
            continue
        pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
        left = pixels[SIZE[1] // 4 :, : SIZE[0] // 2]  # beside the controls and the message
        if len(np.unique(left.reshape(-1, 3), axis=0)) > 20:
            return picture
    raise AssertionError(f"the page has drawn nothing within {LOADING:g} s")


def scene_shown(name: str) -> Callable:
    """Shows a scene of config/scenes."""

    def show(viewer: Viewer) -> Callable[[], dict]:
        model = load_scene(ROOT / "config" / "scenes" / f"{name}.yaml")
        rollout = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
        animation = scene_animation(model, rollout, paths=True)
        viewer.show(animation)
        triangles = sum(len(info.triangles) for info in model.bodies.values())
        return lambda: {"triangles": triangles, "instants": len(animation.time)}

    return show


def throw_shown(folder: Path) -> Callable:
    """Shows the results of a UR5's throw."""

    def show(viewer: Viewer) -> Callable[[], dict]:
        config = ROOT / "config" / "planning" / "ur5_throw.yaml"
        write_all(folder, plan(load_plan(config)), "")
        viewer.show(*bag_animations(folder / "motion.mcap"))
        return lambda: {}

    return show


def fit_shown(viewer: Viewer) -> Callable[[], dict]:
    """Shows an estimation while it runs; it is stopped at the end."""
    file = ROOT / "config" / "estimation" / "cube_toss_demo.yaml"
    config = load_estimation(file, set=["simulation.threads=1"])  # a core for the browser
    watched, token = FitView(viewer, config), _engine.CancelToken()
    found: list = []
    work = threading.Thread(
        target=lambda: found.append(estimate(config, progress=watched, cancel=token))
    )
    work.start()
    until = time.monotonic() + LOADING
    while not watched.shown and time.monotonic() < until:
        time.sleep(0.1)
    before = watched.shown

    def end() -> dict:
        running = work.is_alive()
        token.cancel()
        work.join()
        shown = watched.shown
        watched.finish(found[0])
        return {"fit_still_running": running, "fits_shown_meanwhile": shown - before}

    return end
