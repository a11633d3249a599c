"""Verdicts on the figures of a stream, each with the sample and a remedy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from . import shape
from .clock import Timing
from .flight import UNITS, G, Gravity
from .lost import BLANK, FIXED, FLIPPED, FROZEN, IDENTITY, NEVER, TWICE, ZERO
from .observation import MIN_SAMPLES, UNIT_TOLERANCE, Observation
from .quaternion_order import Order

LEVELS = ("good", "note", "warning", "unusable")
JITTER = 0.1
MISSING = 0.02
OCCLUDED = 0.2
FAR = 20.0
"""Extent [recorded units] beyond which they are hardly metres."""
SIZE_OFF = 0.01
"""Relative difference of gravity's magnitude from 9.81 m/s^2 that is counted, beyond its noise."""
PLANE_FRAMES, PLANE_POINTS = 3, 1000
"""Frames in which planes are searched, and the fewest points for that."""
DEGREES = 180.0 / np.pi
STUCK = 0.5
"""An effort with one value at more than this share of the samples in which its joint moves is no
measurement."""
TURNS = 4.0 * np.pi
"""A joint beyond two turns is a wheel's, or in degrees."""
FEW_POINTS = 64
"""Clouds of at most so many points, always as many, are markers without labels."""

HARMLESS = (TWICE,)
"""Samples whose loss loses nothing."""
CAUSES = {
    **dict.fromkeys((ZERO, IDENTITY, FIXED), "the source sends this where it loses its target"),
    FROZEN: "the source repeats itself where it loses its target",
    FLIPPED: "the mirrored solution of a tag or of a symmetric set of markers",
    BLANK: "blank cells, or a sensor that was off",
}


@dataclass(frozen=True)
class Finding:
    """One verdict: a key of LEVELS, the subject, a sentence, and a remedy ("": none)."""

    level: str
    about: str
    text: str
    advice: str = ""

    def plain(self) -> dict:
        """For result.yaml."""
        return {key: value for key, value in vars(self).items() if value}


def of_clock(clock: Timing, t: np.ndarray) -> list[Finding]:
    """Rate, jitter, missing frames, stamps."""
    found = []
    for about, rows in (("duplicate stamps", clock.duplicates), ("backward stamps", clock.backward),
                        ("undefined stamps", clock.undefined)):  # fmt: skip
        if len(rows):
            k = int(rows[0])
            before = f" after {t[k - 1]:.9g} s" if k and about != "undefined stamps" else ""
            text = f"{len(rows)} {about}, the first at sample {k} ({t[k]:.9g} s{before})"
            advice = "use the tracker's own clock, and record each message once"
            found.append(Finding("warning", about, text, advice))
    if clock.jitter > JITTER:
        text = f"spacings jitter by {clock.jitter:.2g} frames (rms)"
        advice = "are stamps those of arrival? Use those of the sensor"
        found.append(Finding("warning", "jitter", text, advice))
    missing = clock.plain()["missing_share"]
    if clock.missing:
        level = "warning" if missing > MISSING else "note"
        text = (
            f"{clock.missing} frames missing ({100 * missing:.2g} %), the longest gap "
            f"{clock.longest:.3g} s before sample {clock.hole}"
        )
        advice = "record on the tracker's computer, or reliably" if level == "warning" else ""
        found.append(Finding(level, "gaps", text, advice))
    if np.isfinite(clock.dt) and not found:
        text = f"{clock.rate:.4g} Hz without gaps, jitter {clock.jitter:.1g} frames"
        found.append(Finding("good", "clock", text))
    return found


def of_lost(stream: Observation) -> list[Finding]:
    """Samples that stood for no measurement, of each kind how many and when."""
    found = []
    for lost in stream.lost:
        level = "warning" if lost.share > MISSING and lost.reason not in HARMLESS else "note"
        of = f" of {lost.name}" if lost.name else ""
        if lost.reason == NEVER:
            text = f"{lost.name} was never measured: no number in {lost.of} samples; it is left out"
            found.append(Finding("note", "lost", text))
            continue
        span = f"sample {lost.first} at {lost.t:.6g} s"
        span += f", the last at {lost.until:.6g} s" if lost.count > 1 else ""
        text = (
            f"{lost.count} of {lost.of} samples{of} left out as lost: {lost.reason} (first: {span})"
        )
        advice = CAUSES.get(lost.reason, "") if level == "warning" else ""
        found.append(Finding(level, "lost", text, advice))
    return found


def of_places(stream: Observation, clock: Timing) -> list[Finding]:
    """Occlusion, outliers, orientations."""
    found = []
    hidden = shape.missing(stream.position)
    for name, share in zip(stream.names, hidden, strict=True):
        known = sum(one.share for one in stream.lost if one.name in ("", name))
        if share - known > 1e-9:  # others are named by `of_lost`
            level = "warning" if share > OCCLUDED else "note"
            visible = np.isfinite(stream.position[:, stream.names.index(name)]).all(axis=1)
            first = int(np.argmin(visible))
            text = (
                f"{name} has no numbers in {100 * share:.3g} % of the samples (first: {first}): "
                "missing frames"
            )
            advice = "not seen, or cells left blank by the export?" if level == "warning" else ""
            found.append(Finding(level, "occlusion", text, advice))
    off = shape.outliers(stream.position, clock.trial)
    if off:
        sample, point, distance = off[0]
        text = (
            f"{len(off)} single samples off their neighbours, the farthest {stream.names[point]} "
            f"at sample {sample} by {distance:.3g}"
        )
        found.append(Finding("warning", "outliers", text, "swapped markers, or reflections?"))
    if stream.orientation is not None:
        found += _of_norms(stream.orientation)
    return found


def _of_norms(orientation: np.ndarray) -> list[Finding]:
    length = shape.norms(orientation)
    bad = np.flatnonzero(np.abs(length - 1.0) > UNIT_TOLERANCE)  # what is missing is no wrong one
    if not len(bad):
        return []
    k = int(bad[0])
    text = (
        f"{len(bad)} orientations are no rotations, the first at sample {k} (norm {length[k]:.4g})"
    )
    return [Finding("warning", "orientation", text, "send unit quaternions")]


def of_gravity(stream: Observation, gravity: Gravity | None) -> list[Finding]:
    """Units, axis and gravity, from free flight; from the extent where there is none."""
    low, high = shape.extent(stream.position)
    size = float(np.max(high - low))
    if gravity is None:
        text = "no free flight was found, so units and axes are not known"
        advice = "throw the body once, or give them in the YAML"
        if stream.kind == "poses":
            text += ", and rollouts cannot start in one"
            advice += "; measurement.start: scene, or file with velocities, needs none"
        found = [Finding("note", "gravity", text, advice)]
        if size > FAR:
            text = f"places extend over {size:.4g}: hardly metres"
            advice = "millimetres? `diffsim init --from` cannot know without a flight: scale them"
            found.append(Finding("warning", "units", text, advice))
        return found
    a, sigma = gravity.acceleration, float(np.linalg.norm(gravity.sigma))
    vector = f"({a[0]:.4g}, {a[1]:.4g}, {a[2]:.4g})"
    if not gravity.unit:
        text = (
            f"flights agree on {gravity.size:.4g} +- {sigma:.1g} /s^2, which is gravity in no unit"
        )
        advice = (
            f"are stamps in seconds (a factor {np.sqrt(G / gravity.size):.3g}), places in metres?"
        )
        return [Finding("warning", "gravity", f"{text}: {vector}", advice)]
    metre = UNITS[gravity.unit]
    text = (
        f"gravity {gravity.size / metre:.4g} +- {sigma / metre:.1g} m/s^2, {vector} in recorded "
        f"units, from {gravity.flights} flights of {gravity.seconds:.3g} s together"
    )
    found = [Finding("good", "gravity", text)]
    if gravity.unit != "m":
        text = f"places are in {gravity.unit}"
        found.append(
            Finding("warning", "units", text, f"divide them by {metre:g}; `diffsim init` does")
        )
    off = abs(gravity.size / metre - G)
    if off > SIZE_OFF * G and off > 3.0 * sigma / metre:
        scale = G * metre / gravity.size
        text = f"a recorded metre is {scale:.4g} m by free flight"
        found.append(Finding("note", "scale", text, "calibrate the tracker, or estimate its scale"))
    return found + of_axis(gravity)


def of_axis(gravity: Gravity) -> list[Finding]:
    """Another axis than z up (warning), or one that is tilted (note)."""
    if gravity.axis != "+z":
        text = f"{gravity.axis} is up, not z"
        return [Finding("warning", "axis", text, "turn the recording; `diffsim init` does")]
    if gravity.upright[2] != 1.0:
        text = f"up is {np.degrees(gravity.tilt):.2g} deg from z"
        return [Finding("note", "axis", text, "level the tracker's floor, or set world.gravity")]
    return []


def of_ground(heights: np.ndarray, metre: float) -> list[Finding]:
    """Rests of the body's origin above the ground."""
    if not len(heights):
        return [Finding("note", "ground", "the body comes to rest in no trial")]
    low, high = heights.min() / metre, heights.max() / metre
    text = f"lowest rest at {low:.4g} m, highest {high:.4g} m, of {len(heights)} trials"
    advice = "more than one ground, or face?" if high - low > 0.02 else ""
    return [Finding("note" if advice else "good", "ground", text, advice)]


def of_length(clock: Timing, *, flying: bool) -> list[Finding]:
    """Trials too short to be used; of poses that never fly two samples suffice."""
    least = MIN_SAMPLES if flying else 2
    numbers, counts = np.unique(clock.trial, return_counts=True)
    short = numbers[counts < least]
    if not len(short):
        return []
    text = f"{len(short)} of {len(numbers)} trials have fewer than {least} samples"
    return [Finding("warning", "length", f"{text} (first: trial {short[0]})", "they are left out")]


def of_order(order: Order, *, first: bool) -> list[Finding]:
    """Which order of quaternions was taken, and what shows it."""
    read, other = ("first", "last") if first else ("last", "first")
    if order.right is None:
        # other formats name the components; that they are named right is not seen either
        said = f"to be {read}, as the format has it" if first else "where the recording names it"
        text = f"w is taken {said}: {order.why}"
        return [Finding("note", "quaternions", text)]
    if order.right:
        return [Finding("good", "quaternions", f"w is {read}: {order.why}")]
    text = f"w is {other}, not {read}: {order.why}"
    return [Finding("warning", "quaternions", text, "`diffsim init` puts it right")]


def of_clouds(stream: Observation) -> list[Finding]:
    """Returns that are not points, and clouds that are markers."""
    counts = np.array([len(cloud) for cloud in stream.clouds])
    dropped: dict[str, int] = {}
    for cloud in stream.clouds:
        for reason, count in cloud.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    text = f"{int(np.median(counts))} points a frame ({counts.min()} to {counts.max()})"
    found = [Finding("good", "points", text)]
    if dropped:
        counted = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        found.append(Finding("note", "returns", f"returns that are not points: {counted}"))
    if counts.max() <= FEW_POINTS and counts.min() == counts.max():
        text = f"always {counts[0]} points: markers without labels?"
        found.append(
            Finding("note", "markers", text, "labelled markers carry more: CSV, C3D, Markers")
        )
    return found


def of_planes(stream: Observation) -> list[Finding]:
    """The largest planes of the first frames: which of them may be the floor."""
    clouds = stream.clouds[:PLANE_FRAMES]
    points = np.concatenate([cloud.points for cloud in clouds])
    if len(points) < PLANE_POINTS:
        return []
    from .clouds.options import read_cloud_options
    from .clouds.planes import find_planes, is_floor

    options = read_cloud_options({"planes": {"count": 3}}, stream.place).planes
    try:
        planes = find_planes(points, clouds[0].eye, options)
    except InputError as error:  # without Open3D, or of points on a line
        return [Finding("note", "ground", f"no plane was searched: {error}")]
    if not planes:
        return [Finding("note", "ground", "no plane was found in the first frames")]
    floor = next((plane for plane in planes if is_floor(plane)), None)
    plane = floor or planes[0]
    normal = ", ".join(f"{x:.3f}" for x in plane.normal)
    text = (
        f"{100 * plane.inliers / len(points):.2g} % of the points, normal "
        f"({normal}) +- {np.degrees(plane.sigma_normal):.2g} deg, offset {plane.offset:.4g} +- "
        f"{plane.sigma_height(np.zeros(3)):.1g} m, rms {1e3 * plane.rms:.2g} mm"
    )
    if floor is not None:
        text = f"a plane that faces up (optical frame: -y; level: z) has {text}"
        return [Finding("good", "ground", text, "is it the ground? cloud.planes drops its points")]
    text = (
        f"no plane faces up (optical frame: -y; level: z); the largest is a wall or ceiling: {text}"
    )
    advice = "let the camera see the floor, or give its pose (cloud.position, orientation)"
    if np.median(points[:, 2]) < 0.0:
        advice = "all depths are negative: is z backward and y up? An optical frame is z forward"
    return [Finding("note", "ground", text, advice)]


def of_joints(stream: Observation) -> list[Finding]:
    """Present columns, and joints that do not move."""
    text = ", ".join(stream.measured) + f" of {len(stream.names)} joints"
    found = [Finding("good", "columns", text)]
    for key, table in stream.measured.items():
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            name = stream.names[bad[0][1]]
            text = f"{len(bad)} {key} values are no numbers, the first {name} at sample {bad[0][0]}"
            found.append(Finding("warning", "columns", text))
    found += _of_angles(stream)
    found += _of_efforts(stream)
    position = stream.values.get("position")
    if position is not None:
        still = [n for n, span in zip(stream.names, np.ptp(position, axis=0), strict=True)
                 if span < 1e-3]  # fmt: skip
        if still:
            text = f"hardly move: {', '.join(still)}"
            found.append(Finding("note", "excitation", text, "their friction cannot be estimated"))
    return found


def _of_efforts(stream: Observation) -> list[Finding]:
    """What a log can give, by its commands and efforts; efforts that have one value."""
    effort, found = stream.measured.get("effort"), []
    if not stream.command and effort is None:
        advice = "log efforts (torques or motor currents), or what the drives were commanded"
        text = "neither efforts nor commands: positions alone tell of no force"
        found.append(Finding("warning", "estimation", text, advice))
    elif not stream.command:
        text = (
            "efforts without commands: gains with their sign, friction and inertias by inverse "
            "dynamics (kind efforts)"
        )
        found.append(Finding("note", "estimation", text, "diffsim init --from LOG --urdf URDF"))
    if effort is None:
        return found
    moved = np.abs(np.diff(stream.values["position"], axis=0)) > 1e-9
    stuck = []
    for j, name in enumerate(stream.names):
        own = effort[1:, j][moved[:, j] & np.isfinite(effort[1:, j])]
        if len(own) and np.unique(own, return_counts=True)[1].max() > STUCK * len(own):
            stuck.append(name)
    if stuck:
        text = f"efforts of {', '.join(stuck)} have one value at most samples"
        advice = "currents within a dead band say nothing of these joints"
        found.append(Finding("note", "efforts", text, advice))
    return found


def _of_angles(stream: Observation) -> list[Finding]:
    """Joints in degrees: beyond two turns, or a rate that is not that of the logged places."""
    q, qd = (stream.measured.get(key) for key in ("position", "velocity"))
    advice = "joints are in rad, rad/s (of sliders m, m/s): divide by 57.2958"
    if q is None or len(q) < 3:
        return []
    if qd is not None:
        step = np.diff(stream.t)
        good = step > 0
        rate = np.abs(np.diff(q, axis=0)[good] / step[good][:, None])
        given = np.abs(qd[:-1][good])
        fast = given > np.nanmax(given) / 10.0
        ratio = float(np.nanmedian(rate[fast] / given[fast])) if fast.any() else 1.0
        for what, times in (("positions", ratio), ("velocities", 1.0 / max(ratio, 1e-9))):
            if DEGREES / 1.5 < times < DEGREES * 1.5:
                text = f"{what} are {times:.3g} times what the other column says: degrees?"
                return [Finding("warning", "units", text, advice)]
    far = int(np.argmax(np.nanmax(np.abs(q), axis=0)))
    most = float(np.nanmax(np.abs(q)))
    if most > TURNS:
        text = f"{stream.names[far]} goes to {most:.4g}: degrees, or turns of a wheel?"
        return [Finding("warning", "units", text, advice)]
    return []
