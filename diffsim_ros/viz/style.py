"""One look for every picture: colours that colour-blind readers tell apart, fonts, saving."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # nodes need the colours, and not the half second that matplotlib takes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: distinct under the three common kinds of colour blindness.
MEASURED = "#E69F00"
SIMULATED = "#0072B2"
PINK, GREEN, WARN = "#CC79A7", "#009E73", "#D55E00"
SPARE = ("#56B4E9", "#8C6D31", "#7B7B7B")
SERIES = (SIMULATED, MEASURED, PINK, GREEN, WARN, *SPARE)
"""Of curves that are alike."""
INK = "#1F2933"
MUTED = "#6B7785"
GRID = "#E4E8EC"

RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Inter", "Helvetica Neue", "Arial", "DejaVu Sans"],
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "semibold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.labelsize": 10.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#B8C1CA",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply the look to figures made inside the block; global matplotlib state stays untouched."""
    import matplotlib as mpl

    with mpl.rc_context():
        with _quiet_fonts():
            mpl.rcParams.update(RC)
            yield


@contextmanager
def _quiet_fonts() -> Iterator[None]:
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    logger.setLevel(logging.ERROR)  # absent first-choice fonts are expected, not news
    try:
        yield
    finally:
        logger.setLevel(level)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of width x height inches on no display (constrained layout)."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png_bytes(figure: Figure, dpi: int = 144) -> bytes:
    """Return the figure as PNG; equal figures give equal bytes (no date inside).

    Without savefig, which draws twice: once to lay the figure out, once in earnest.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    buffer = io.BytesIO()
    with styled():
        figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])  # all are opaque
        drawn.save(buffer, "png", dpi=(dpi, dpi))
    return buffer.getvalue()


def data_uri(png: bytes) -> str:
    """Return the PNG as a data URI for an <img> of a self-contained page."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
