"""One self-contained HTML page that plays a scene's modes of vibration; opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.output import yaml_text
from diffsim_ros.viz import style
from diffsim_ros.viz.html import Table, rendered, write_page
from diffsim_ros.viz.scene_report import scene_motion
from diffsim_ros.viz.still import Still

CYCLE = 0.5  # [s] that every mode takes at full speed
PHASES = 24  # frames of a cycle


class Cycle(Still):
    """Poses of all nodes over one cycle, the last one the first again."""

    @property
    def time(self) -> np.ndarray:
        """(F,) [s]."""
        return np.linspace(0, CYCLE, len(self.position))


def phases() -> np.ndarray:
    """(PHASES + 1,) shares of the amplitude at a cycle's frames."""
    return np.sin(2 * np.pi * np.arange(PHASES + 1) / PHASES)


def write_modes_page(
    path: Path, model: Any, cycles: Sequence[tuple[str, Cycle]], table: Table, picture: bytes,
    *, title: str, lead: str, message: str, command: str,
) -> Path:  # fmt: skip
    """Write the page of `diffsim modes`: what each mode is called and how it moves, and a table."""
    sections = [("motion", "Shapes"), ("modes", "Modes"), ("reproduce", "Reproduce")]
    context = {
        "title": title, "kind": "modes of vibration", "status": "found", "status_class": "good",
        "lead": lead, "message": message, "table": table, "command": command,
        "motions": [scene_motion(model, cycle, name, loop=True) for name, cycle in cycles],
        "picture": style.data_uri(picture), "config_text": yaml_text(model.description),
        "sections": sections, "version": __version__, "written": "",
    }  # fmt: skip
    return write_page(path, rendered("modes.html", context), {})[0]
