"""Joints at the start of a motion: refused where they begin far open.

A joint's ends are where the scene's poses have them, together; `values`, `estimated` and `start`
may move a body or an end away, and the joint's stiff spring would throw the bodies.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from diffsim_ros.rotation import matrix_angle
from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.parts import Parts

Array = np.ndarray
OPEN = 0.01
"""Opening that is accepted, as a share of the farthest end's distance from its body's centre."""
TILTED = 0.1
"""Angle [rad] between what a joint holds parallel that is accepted."""
LOADS = 10.0
"""Weights of the heavier body by which a joint may be opened, as at rest."""
FAR = 5.0
"""Of a body's bounding radius: how far from its surface a weld is expected to be at most."""
MOVED = (1e-6, 1e-6, 1e-6, 1e-6)
"""[m, rad, m/s, rad/s]: how far from what a joint that holds exactly lets it a body starts."""
WORLD = (np.zeros(3), np.eye(3))


def check_joints(
    parts: Parts, values: Mapping[str, float], pose: Callable[[str], tuple[Array, Array]]
) -> None:
    """InputError for a joint that is open by more than OPEN or LOADS, or tilted more than TILTED.

    values  of the engine's parameters
    pose    position (3,) and rotation (3, 3) of a body at the start
    """
    for i, link, found, rule in _open(parts, values, pose):
        bodies = " and ".join(n for n in (link.body_a, link.body_b) if n is not None)
        raise parts.reader.error(
            f"links[{i}]",
            f"the ends of {link.kind} {link.name!r} {found} at the start",
            rule,
            f"move {bodies} there in `pose`, from which a joint has its ends",
        )


def open_joints(
    parts: Parts, values: Mapping[str, float], pose: Callable[[str], tuple[Array, Array]]
) -> list[str]:
    """One sentence for each joint that `check_joints` would refuse."""
    return [
        f"{link.kind} {link.name!r}: its ends are {found} at the start, not {rule}: it pulls "
        "them together"
        for _, link, found, rule in _open(parts, values, pose)
    ]


def _open(
    parts: Parts, values: Mapping[str, float], pose: Callable[[str], tuple[Array, Array]]
) -> Iterator[tuple[int, JointLink, str, str]]:
    """Number and joint, how far it is open, and what is accepted."""
    gravity = math.hypot(*parts.world["gravity"])
    for i, link in enumerate(parts.links):
        if not isinstance(link, JointLink) or link.coordinates != "maximal":
            continue
        bodies = [n for n in (link.body_a, link.body_b) if n is not None]
        distance, angle, arm = _opening(parts, link, values, pose)
        mass = max(parts.bodies[n].total_mass() for n in bodies if parts.bodies[n].MOVES)
        sag = LOADS * mass * gravity / link.stiffness if link.stiffness else math.inf
        limit = max(OPEN * arm, sag)
        found, rule = "", ""
        if distance > limit:
            found, rule = f"{distance:.4g} m apart", f"at most {limit:.3g} m"
        elif angle > TILTED:
            found, rule = f"{angle:.3g} rad apart", f"at most {TILTED:g} rad"
        if found:
            yield i, link, found, rule


def check_reduced(parts: Parts, moved: Mapping[str, tuple[float, float, float, float]]) -> None:
    """InputError for a body that a joint in reduced coordinates would start elsewhere, and for a
    constrained joint that is open.

    moved  joint -> distance, angle, velocity, angular velocity by which they do and are (SI)
    """
    for i, link, word, amount, unit, most in _moved(parts, moved):
        rule = f"at most {most:g} {unit}"
        if link.constrained:
            bodies = " and ".join(n for n in (link.body_a, link.body_b) if n is not None)
            raise parts.reader.error(
                f"links[{i}]",
                f"constrained {link.kind} {link.name!r} is open at the start: {bodies} are "
                f"{amount:.3g} {unit} apart in {word}",
                rule,
                f"give {bodies} a start at which the joint is closed",
            )
        raise parts.reader.error(
            f"links[{i}]",
            f"{_no_such(link, word)}: {amount:.3g} {unit} apart",
            rule,
            f"give {link.body_b} the {word} that the joint allows it",
        )


def moved_by_joints(
    parts: Parts, moved: Mapping[str, tuple[float, float, float, float]]
) -> list[str]:
    """One sentence for each body that a joint in reduced coordinates starts elsewhere than asked.

    moved  as of `check_reduced`
    """
    return [
        f"{_no_such(link, word)}: it starts {amount:.3g} {unit} from it, where the joint lets it"
        for _, link, word, amount, unit, _ in _moved(parts, moved)
        if not link.constrained
    ]


def _no_such(link: JointLink, word: str) -> str:
    return f"{link.kind} {link.name!r} leaves {link.body_b} no such {word} at the start"


def _moved(
    parts: Parts, moved: Mapping[str, tuple[float, float, float, float]]
) -> Iterator[tuple[int, JointLink, str, float, str, float]]:
    """Number and joint, what is moved, by how much, unit and what is accepted."""
    words = ("position", "orientation", "velocity", "angular_velocity")
    units = ("m", "rad", "m/s", "rad/s")
    for i, link in enumerate(parts.links):
        if not isinstance(link, JointLink) or link.name not in moved:
            continue
        for word, amount, most, unit in zip(words, moved[link.name], MOVED, units, strict=True):
            if amount > most:
                yield i, link, word, amount, unit, most


def warn_of_far_welds(parts: Parts) -> None:
    """Warn of welds whose point is far from a body that it holds; InputError if `strict`.

    Far: more than FAR bounding radii from the surface. Other joints have arms, as pendulums.
    """
    for i, link in enumerate(parts.links):
        if not isinstance(link, JointLink) or link.kind != "weld":
            continue
        for name in (link.body_a, link.body_b):
            form = parts.bodies[name].form if name else None
            if form is None:
                continue
            away = math.dist(link.position, parts.bodies[name].start_pose()[0]) - form.reach
            if away > FAR * form.reach:
                text = f"weld {link.name!r} is {away:.3g} m away from {name}"
                remedy = f"nothing is between them; is its position or the pose of {name} right?"
                key = f"links[{i}].position"
                if parts.strict:
                    rule = f"at most {FAR * form.reach:.3g} m, because the scene is strict"
                    raise parts.reader.error(key, text, rule, remedy)
                place = parts.reader.place
                warnings.warn(f"{place}: {key}: {text}: {remedy}", UserWarning, stacklevel=3)


def _opening(
    parts: Parts, link: JointLink, values: Mapping[str, float], pose: Callable
) -> tuple[float, float, float]:
    """Distance [m] and angle [rad] by which what it holds is apart; its longest arm [m]."""

    axis, zero = np.array(link.axis), np.zeros(3)
    turned = link.turned(values, axis)
    shift = link.vector(values, "position", link.position) - np.array(link.position)
    slid = link.coordinate * (turned - axis) if link.kind == "slider" else zero
    points, turns, arm = [], [], 0.0
    for name, word, moved in (
        (link.body_a, "anchor_a", shift),
        (link.body_b, "anchor_b", shift + slid),
    ):
        own = np.eye(3) if name is None else parts.bodies[name].start_pose()[1]
        at, turn = WORLD if name is None else pose(name)
        anchor = link.vector(values, word, zero) + own.T @ moved
        points.append(at + turn @ anchor)
        turns.append(turn @ own.T)
        if name is not None:
            extent = np.linalg.norm(parts.bodies[name].outline()[1]) / 2
            arm = max(arm, float(np.linalg.norm(anchor)), float(extent))
    apart, along = points[1] - points[0], turns[0] @ turned
    if link.kind in ("slider", "planar"):
        inside = (apart @ along) * along
        apart = inside if link.kind == "planar" else apart - inside
    angle = 0.0
    if link.kind in ("weld", "slider"):
        angle = float(matrix_angle(turns[0].T @ turns[1]))
    elif link.kind in ("hinge", "planar"):
        angle = float(np.arccos(np.clip(along @ turns[1] @ turned, -1, 1)))
    return float(np.linalg.norm(apart)), angle, arm
