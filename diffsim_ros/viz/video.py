"""Animations as GIF (Pillow) or MP4 (imageio-ffmpeg, extra `video`), drawn without a display."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes
from diffsim_ros.viz.animation import Animation
from diffsim_ros.viz.meshes import Viewpoint
from diffsim_ros.viz.render import Renderer, camera_for

Array = np.ndarray
SUFFIXES = (".gif", ".mp4")
FRAMES, SIZE, CAMERA = 25.0, (640, 420), (-60.0, 22.0)
"""Frames a second [Hz]; width and height [pixels]; azimuth and elevation of the camera [deg]."""
HOLD = 0.5
"""How long the last picture is seen [s]."""
COLOURS = 255
"""Of a GIF, one palette for all of it."""
SHADES, SWATCH = (0.6, 0.8, 1.0), 6
"""Of the markers' colours that are surely in it, and the lines of pixels that each counts as."""
SAMPLES = 8
"""Pictures from which the palette is taken."""


def write_video(
    animation: Animation, path: str | os.PathLike[str], *, fps: float = FRAMES,
    size: tuple[int, int] = SIZE, direction: tuple[float, float] = CAMERA, speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None, cancel: Any = None,
) -> int:  # fmt: skip
    """Write a file ending in .gif or .mp4 and return its number of frames.

    fps        frames a second [Hz] of the video;  size  (width, height) [pixels], even for MP4
    direction  azimuth and elevation of the camera, which sees the whole motion [deg]
    speed      seconds of the motion a second
    progress   called with (frames drawn, of how many);  cancel  _engine.CancelToken
    Raises InputError: another ending, a size that cannot be encoded, a missing extra; OSError.
    The file appears whole or not at all; one of the same name is replaced.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise InputError(path, "", path.suffix, f"a file ending in {' or '.join(SUFFIXES)}")
    if kind == ".mp4":
        check_mp4(path, size)
    animation = animation.settled()
    shown = instants(animation.time, fps, speed)
    camera = camera_for(animation.span(), azimuth=direction[0], elevation=direction[1])
    pictures = draw(animation, shown, camera, size)

    def watched() -> Iterator[Array]:
        for number, picture in enumerate(pictures):
            if getattr(cancel, "cancelled", False):
                raise KeyboardInterrupt
            yield picture
            if progress is not None:
                progress(number + 1, len(shown))

    if kind == ".gif":
        drawn = (*animation.still, *animation.at(int(shown[-1])))
        colours = sorted({tuple(marker.colour[:3]) for marker in drawn})
        every = list(watched())
        write_bytes(path, gif_bytes(every, fps, palette_of(every, colours)), overwrite=True)
    else:
        _mp4(path, watched(), fps, size)
    return len(shown)


def instants(time: Array, fps: float, speed: float) -> Array:
    """Numbers of the instants (k,) that the frames of a video show, the last one for HOLD."""
    end = (time[-1] - time[0]) / speed
    wanted = time[0] + speed * np.arange(0.0, end + 1e-9, 1.0 / fps)
    found = np.searchsorted(time, wanted + 1e-9, side="right") - 1
    held = np.full(max(1, round(HOLD * fps)), len(time) - 1)
    return np.concatenate([np.maximum(found, 0), held])


def draw(
    animation: Animation, shown: Sequence[int], camera: Viewpoint, size: tuple[int, int]
) -> Iterator[Array]:
    """Pictures (height, width, 3) uint8 of these instants."""
    renderer = Renderer(camera, size, animation.still)
    before, picture = -1, np.zeros(0)
    for number in shown:
        if number != before:
            picture, before = renderer.picture(animation.at(int(number))), number
        yield picture


def palette_of(pictures: Sequence[Array], colours: Sequence[Any] = ()) -> Any:
    """A Pillow image whose palette is that of pictures (height, width, 3).

    colours  (red, green, blue) in 0 ... 1 that it has, however small what is drawn in them is
    """
    from PIL import Image

    rows = np.unique(np.linspace(0, len(pictures) - 1, SAMPLES).round().astype(int))
    sample = [pictures[k] for k in rows]
    width = sample[0].shape[1]
    for colour in colours:
        for shade in SHADES:
            pixel = np.rint(255 * shade * np.asarray(colour)).astype(np.uint8)
            sample.append(np.broadcast_to(pixel, (SWATCH, width, 3)))
    joined = Image.fromarray(np.concatenate(sample))
    return joined.quantize(COLOURS, method=Image.Quantize.MEDIANCUT)


def gif_bytes(pictures: Sequence[Array], fps: float, palette: Any) -> bytes:
    """A GIF of pictures (height, width, 3) that repeats itself, in the palette of an image."""
    from PIL import Image

    drawn = [
        Image.fromarray(one).quantize(palette=palette, dither=Image.Dither.NONE)
        for one in pictures
    ]  # fmt: skip
    out = io.BytesIO()
    drawn[0].save(out, "GIF", save_all=True, append_images=drawn[1:], loop=0, optimize=True,
                  duration=1000.0 / fps)  # fmt: skip
    return out.getvalue()


def check_mp4(path: Path, size: tuple[int, int]) -> None:
    """InputError for a size that H.264 has not, or without the extra `video`."""
    if size[0] % 2 or size[1] % 2:
        raise InputError(path, "size", list(size), "even numbers of pixels")
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        rule = "imageio-ffmpeg, of the extra `video`"
        remedy = "pip install imageio-ffmpeg, or write a .gif"
        raise InputError(path, "encoder", "not installed", rule, remedy) from error


def _mp4(path: Path, pictures: Iterator[Array], fps: float, size: tuple[int, int]) -> None:
    """H.264 that browsers play: 4:2:0, its index at the beginning."""
    import imageio_ffmpeg

    handle, name = tempfile.mkstemp(suffix=".mp4", prefix=".", dir=path.parent)
    os.close(handle)
    try:
        writer = imageio_ffmpeg.write_frames(
            name, size, fps=fps, codec="libx264", pix_fmt_out="yuv420p", macro_block_size=2,
            quality=None, output_params=["-crf", "20", "-movflags", "+faststart"],
        )  # fmt: skip
        writer.send(None)
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
        writer.close()
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
