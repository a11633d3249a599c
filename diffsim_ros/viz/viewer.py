"""A live viewer of motions in the browser, served from this machine alone (library: viser).

from diffsim_ros.viz.viewer import view

view(model, rollout)            # opens the browser, returns when Ctrl-C is pressed

with Viewer() as viewer:        # a motion under way, or one after the other
    viewer.show(animation)
    ...
"""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import time
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.viz import style
from diffsim_ros.viz.animation import Animation, scene_animation
from diffsim_ros.viz.meshes import Viewpoint, extent, project
from diffsim_ros.viz.render import camera_for
from diffsim_ros.viz.viewer_shapes import SceneNodes, group_of

PORT = 8080
HOST = "127.0.0.1"
"""Only this machine is listened to."""
TICK = 1.0 / 35.0
"""Between two looks at the clock while a motion plays [s]."""
CLOCK = 0.1
"""Between two times that the page's clock shows while a motion plays [s]: it costs the browser as
much as a simple scene."""
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
PAUSE = 0.5
"""At the end of a motion, before it is played again [s]."""
FIELD_OF_VIEW = 35.0
"""Of the first camera, vertical [deg]."""
SIGHT = (1200, 800)
"""Width and height of a page [pixels], to tell what leaves it."""
BACK = 1.35
"""How much farther away than camera_for the camera stands: the controls hide a part of the page."""
SKY, SHADE = (255, 255, 255), (150, 155, 165)
"""Of the light from everywhere."""
UNMOVED = 1e-3
"""Distance [m] of a camera from where it was placed that nobody has moved."""


def view(
    model: Any, rollout: Any, *, name: str = "", targets: Mapping[str, Any] | None = None,
    port: int = PORT, browser: bool = True, speed: float = 1.0, block: bool = True,
) -> Viewer:  # fmt: skip
    """Show a simulated motion in the browser.

    model    scene.SceneModel, of `load_scene`;  rollout  _engine.Rollout of its engine
    name     title; default: the scene's;  targets  name -> place (3,) [m] of marks in the world
    port     on which the viewer serves, on this machine only; a free one if it is taken
    browser  open the page;  speed  of the motion, 1: as it happened
    block    return when Ctrl-C is pressed, the viewer closed; else at once, the viewer open
    Raises InputError without the extra `viewer`.
    """
    viewer = Viewer(port=port, browser=browser, speed=speed)
    viewer.show(scene_animation(model, rollout, name=name, targets=targets, paths=True))
    if block:
        viewer.wait()
    return viewer


class Viewer:
    """A page with a scene, a time slider, and what hides parts of it.

    port, browser, speed  as in `view`
    `show` and `choose_from` may be called from any thread, also while a motion plays.
    As a context it is closed at the end.
    """

    def __init__(self, *, port: int = PORT, browser: bool = True, speed: float = 1.0) -> None:
        self._server = serve(port)
        self._nodes = SceneNodes(self._server)
        self._lock = threading.RLock()
        self._animations: list[Animation] = []
        self._chosen = 0
        self._framed = False
        self._camera: Viewpoint | None = None
        self._shown = -1
        self._playing = True
        self.shown = 0
        """Instants that have been shown."""
        self.pause = PAUSE
        self._until = self._now = 0.0
        self._controls = Controls(self, self._server, speed)
        self._closed = threading.Event()
        self._player = threading.Thread(target=self._play, name="diffsim-viewer", daemon=True)
        self._player.start()
        if browser:
            webbrowser.open(self.address)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://{HOST}:{self._server.get_port()}"

    @property
    def clients(self) -> int:
        """Number of browsers that look at it."""
        return len(self._server.get_clients())

    def show(self, *animations: Animation, until: float = 0.0, text: str = "") -> None:
        """Show motions; where there are several the page has a list, and the first is shown.

        Called again with motions of the same names it goes on where it is: a motion under way is
        shown again and again, each time with more instants, or a fit's after every iteration.
        until  [s] to which the last one will go: it is shown, and at its end waits for more
        text   a line below the title, Markdown
        """
        with self._lock:
            before = [animation.name for animation in self._animations]
            self._animations, names = list(animations), [one.name for one in animations]
            if names != before:
                self._chosen, self._now = len(animations) - 1 if until else 0, 0.0
                self._controls.list_motions(distinct(names), self._chosen)
                self._controls.forget_groups()
                self._framed = False
            self._until, self._shown = until, -1
            self._controls.describe(self._animation.name, text)
            if not (self._framed and self._in_sight()):
                self._look_at(self._animation)
            self._draw(min(self._now, self._end))

    def say(self, text: str) -> None:
        """Change the line below the title, Markdown."""
        self._controls.describe(self._animation.name, text)

    def wait(self) -> None:
        """Return when Ctrl-C is pressed, the viewer closed."""
        with contextlib.suppress(KeyboardInterrupt):
            self._closed.wait()
        self.close()

    def close(self) -> None:
        """End the server."""
        if not self._closed.is_set():
            self._closed.set()
            self._player.join(timeout=2.0)
            with silent():
                self._server.stop()

    @property
    def nodes(self) -> Mapping[tuple[str, int], Any]:
        """(namespace, id) -> viser's handle of everything in the scene."""
        return self._nodes.nodes

    # --- what the page's controls call ----------------------------------------------------------

    def play(self, playing: bool) -> None:
        """Go on, or stand still; at the end go on from the start."""
        with self._lock:
            self._playing = playing
            if playing and self._animations and self._now >= self._end and not self._grows:
                self._now = 0.0

    def seek(self, time: float) -> None:
        """Stand still at a time [s] of the motion."""
        with self._lock:
            self._playing = False
            self._now = time
            if self._animations:
                self._draw(time)

    def choose(self, number: int) -> None:
        """Play one of the motions, from its start."""
        with self._lock:
            self._chosen, self._now, self._shown = number, 0.0, -1
            self._playing, self._framed = True, False
            self._look_at(self._animation)
            self._draw(0.0)

    def hide(self, group: str, hidden: bool) -> None:
        """Hide or show what a box of the page stands for."""
        with self._lock:
            self._nodes.hide(group, hidden)

    # --------------------------------------------------------------------------------------------

    @property
    def _animation(self) -> Animation:
        return self._animations[self._chosen]

    @property
    def _end(self) -> float:
        return float(self._animation.time[-1])

    def _play(self) -> None:
        before = time.perf_counter()
        while not self._closed.wait(TICK):
            now = time.perf_counter()
            with self._lock:
                if self._playing and self._animations:
                    self._advance((now - before) * self._controls.speed)
            before = now

    @property
    def _grows(self) -> bool:
        """Whether more of the motion will come."""
        last = self._chosen == len(self._animations) - 1
        return last and self._until > self._end + 1e-9

    def _advance(self, by: float) -> None:
        """Go on by so many seconds of the motion, again from the start after its end."""
        self._now += by
        if self._grows:
            self._now = min(self._now, self._end)
        elif self._now > self._end + self.pause * self._controls.speed:
            self._now = 0.0
        self._draw(min(self._now, self._end))

    def _draw(self, now: float) -> None:
        """Show the last instant that is not after a time [s]."""
        times = self._animation.time
        number = max(0, int(np.searchsorted(times, now + 1e-9, side="right")) - 1)
        if number == self._shown:
            return
        self._shown = number
        self.shown += 1
        markers = self._animation.frame(number)
        self._nodes.show(markers)
        end = max(self._end, self._until) if self._grows else self._end
        self._controls.follow(float(times[number]), end, self._playing)
        self._controls.list_groups({group_of(marker.ns) for marker in markers})

    def _in_sight(self) -> bool:
        """Whether the last instant of what is shown is where the camera was placed to look."""
        moving = self._animation.at(len(self._animation.time) - 1)
        points = [extent(marker).mean(axis=0) for marker in moving]
        if not points or self._camera is None:
            return True
        pixels, depth = project(np.array(points), self._camera, *SIGHT)
        inside = (pixels > 0).all(axis=1) & (pixels < SIGHT).all(axis=1) & (depth > 0)
        return bool(inside.all())

    def _look_at(self, animation: Animation) -> None:
        """Place the camera so that it sees the motion, and those that nobody has moved since."""
        self._framed = True
        seen = animation.span() or list(animation.still)
        camera, before = farther(camera_for(seen, fov=FIELD_OF_VIEW), BACK), self._camera
        self._camera = camera
        first = self._server.initial_camera
        first.position, first.look_at = camera.eye, camera.target
        first.fov = np.radians(FIELD_OF_VIEW)
        for client in self._server.get_clients().values():
            there = client.camera.position
            if before is None or np.linalg.norm(there - before.eye) < UNMOVED:
                client.camera.position, client.camera.look_at = camera.eye, camera.target


class Controls:
    """What the page has beside the scene: time, speed, motions and boxes."""

    def __init__(self, viewer: Viewer, server: Any, speed: float) -> None:
        self._viewer, self._gui = viewer, server.gui
        self._title = self._gui.add_markdown("")
        self._play = self._gui.add_button("Pause")
        self._time = self._gui.add_slider("Time [s]", 0.0, 1.0, 0.001, 0.0)
        speeds = sorted({*SPEEDS, speed})
        self._speed = self._gui.add_dropdown(
            "Speed", [words(one) for one in speeds], initial_value=words(speed)
        )
        self._factors = {words(one): one for one in speeds}
        self._motions: Any = None
        self._folder: Any = None
        self._boxes: dict[str, Any] = {}
        self._playing, self._end, self._told = True, 1.0, 0.0
        self._play.on_click(lambda _: self._toggle())
        self._time.on_update(self._dragged)

    @property
    def speed(self) -> float:
        """Seconds of the motion a second."""
        return self._factors[self._speed.value]

    def describe(self, name: str, text: str) -> None:
        """Title and the line below it."""
        content = f"### {name}\n{text}"
        if self._title.content != content:
            self._title.content = content

    def follow(self, now: float, end: float, playing: bool) -> None:
        """Show a time of a motion that ends at another [s]."""
        if end != self._end:
            self._end = end
            self._time.max = max(1e-3 * round(1e3 * end + 0.5), 1e-3)
        moment = time.perf_counter()
        if not playing or now in (0.0, end) or moment - self._told > CLOCK:
            self._time.value, self._told = now, moment
        if playing != self._playing:
            self._playing = playing
            self._play.label = "Pause" if playing else "Play"

    def list_motions(self, names: Sequence[str], chosen: int) -> None:
        """A list to choose from where there are several."""
        if self._motions is not None:
            self._motions.remove()
            self._motions = None
        if len(names) > 1:
            self._motions = self._gui.add_dropdown(
                "Motion", list(names), initial_value=names[chosen], order=0.5
            )
            self._motions.on_update(lambda event: self._chose(names, event))

    def forget_groups(self) -> None:
        """Remove the boxes: what they hid is shown again."""
        for group, box in self._boxes.items():
            if not box.value:
                self._viewer.hide(group, False)
        self._boxes = {}
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def list_groups(self, groups: set[str]) -> None:
        """A box for every group that has been seen."""
        for group in sorted(groups - set(self._boxes)):
            if self._folder is None:
                self._folder = self._gui.add_folder("Shown")
            with self._folder:
                box = self._gui.add_checkbox(group, True)
            box.on_update(lambda event: self._ticked(event))
            self._boxes[group] = box

    def _ticked(self, event: Any) -> None:
        self._viewer.hide(event.target.label, not event.target.value)

    def _chose(self, names: Sequence[str], event: Any) -> None:
        self._viewer.choose(list(names).index(event.target.value))

    def _toggle(self) -> None:
        playing = not self._playing
        self._viewer.play(playing)
        self._playing = playing
        self._play.label = "Pause" if playing else "Play"

    def _dragged(self, event: Any) -> None:
        if event.client_id is not None:  # else we moved it ourselves
            self._viewer.seek(float(self._time.value))


def distinct(names: Sequence[str]) -> list[str]:
    """The names, those that are there already with a number."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name} ({number})"
        found.append(unique)
    return found


def words(speed: float) -> str:
    """A speed as the page says it."""
    return f"{speed:g} x"


def farther(camera: Viewpoint, factor: float) -> Viewpoint:
    """A camera that looks at the same place from so many times as far."""
    eye, target = np.array(camera.eye), np.array(camera.target)
    return replace(camera, eye=tuple(target + factor * (eye - target)))


def silent() -> contextlib.AbstractContextManager:
    """viser prints where it serves, and that it has stopped: commands say so themselves."""
    return contextlib.redirect_stdout(io.StringIO())


def serve(port: int) -> Any:
    """A viser server on this machine, with our lights; InputError without the extra `viewer`."""
    try:
        import viser
    except ImportError as error:
        rule = "viser, of the extra `viewer`"
        remedy = "pip install viser"
        raise InputError("view", "library", "not installed", rule, remedy) from error
    # browsers open connections that they do not use, at which websockets logs an error each
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with silent():
        server = viser.ViserServer(host=HOST, port=port, label="diffsim", verbose=False)
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, control_width="small",
        brand_color=tuple(int(style.SIMULATED[i : i + 2], 16) for i in (1, 3, 5)),
    )  # fmt: skip
    server.scene.set_up_direction("+z")
    server.scene.world_axes.visible = False
    # without them pages of software renderers keep up, too
    server.scene.configure_default_lights(True, cast_shadow=False)
    server.scene.configure_environment_map(None)
    server.scene.add_light_hemisphere("/sky", sky_color=SKY, ground_color=SHADE, intensity=2.0)
    return server
