"""What a search has reached, simulated and shown in the browser while it goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffsim_ros.errors import NotConverged

if TYPE_CHECKING:
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.viewer import Viewer


class LiveView:
    """Shows the latest report, simulated in a thread of its own.

    Reports that come meanwhile are skipped, and the search does not wait. Kinds have `animations`
    and `words`.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._latest: Any = None
        self._new, self._closed = threading.Event(), False
        self.shown = 0
        """Reports that were simulated and shown."""
        self._thread = threading.Thread(target=self._work, name="diffsim-live-view", daemon=True)
        self._thread.start()

    def animations(self, report: Any) -> Sequence[Animation]:
        """The motions that a report stands for; NotConverged where they cannot be simulated."""
        raise NotImplementedError

    def words(self, report: Any) -> str:
        """What is said of it, Markdown."""
        raise NotImplementedError

    def tell(self, report: Any) -> None:
        """Show a report, as soon as the one before is shown."""
        self._latest = report
        self._new.set()

    def end(self, animations: Sequence[Animation], text: str) -> None:
        """Show what the search has ended with."""
        self._closed = True
        self._new.set()
        self._thread.join()
        if animations:
            self._viewer.show(*animations, text=text)

    def wait(self) -> None:
        """Return when Ctrl-C is pressed."""
        self._viewer.wait()

    def _work(self) -> None:
        while self._new.wait() and not self._closed:
            self._new.clear()
            report = self._latest
            try:
                animations = self.animations(report)
            except NotConverged:
                continue
            if animations and not self._closed:
                self._viewer.show(*animations, text=self.words(report))
                self.shown += 1


def opened(stack: contextlib.ExitStack) -> Viewer:
    """A viewer that is closed with the stack; its address is printed."""
    from diffsim_ros.viz.viewer import Viewer

    viewer = stack.enter_context(Viewer())
    print(f"the viewer is at {viewer.address}; it stays until Ctrl-C", flush=True)
    return viewer


def table(head: str, values: Mapping[str, float]) -> str:
    """A sentence and numbers by name, Markdown."""
    rows = "\n".join(f"| {name} | {value:.5g} |" for name, value in values.items())
    return f"{head}\n\n| parameter | value |\n|---|---|\n{rows}"
