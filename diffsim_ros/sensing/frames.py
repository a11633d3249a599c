"""Static transforms between frames; an unknown one is refused here.

A Transform means x_parent = R(orientation) x_child + position, as geometry_msgs/TransformStamped
does.  They come from /tf_static, live or of a bag, and from calibrations (calibration.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..output import write_yaml
from ..rotation import quat_conjugate, quat_multiply, quat_rotate
from ..yaml_file import read_yaml
from . import bags
from .messages import STATIC, TF
from .observation import PoseSample

REMEDY = "publish it on /tf_static, or call ~/calibrate of the observer and give its file"


@dataclass(frozen=True)
class Transform:
    """x_parent = R(orientation) x_child + position; quaternion x, y, z, w; position [m].

    source      where it comes from, for messages
    covariance  of position [m] and of a turn about the parent's axes [rad] (6, 6), or None
    residual    of a calibration, rms [m], or None
    """

    parent: str
    child: str
    position: np.ndarray
    orientation: np.ndarray
    source: str = ""
    covariance: np.ndarray | None = None
    residual: float | None = None

    def moved(self, points: np.ndarray) -> np.ndarray:
        """Places (..., 3) of the child's frame in the parent's."""
        return quat_rotate(self.orientation, np.asarray(points, float)) + self.position

    def of_sample(self, sample: PoseSample) -> PoseSample:
        """A pose given in the child's frame, in the parent's; non-finite numbers stay so."""
        turn = quat_multiply(self.orientation, np.array(sample.orientation))
        place = self.moved(np.array(sample.position))
        return replace(
            sample, frame=self.parent, position=tuple(place.tolist()),
            orientation=tuple(turn.tolist()),
        )  # fmt: skip

    def inverse(self) -> Transform:
        """The same from parent to child (its covariance is not turned along)."""
        back = quat_conjugate(self.orientation)
        place = -quat_rotate(back, self.position)
        return Transform(self.child, self.parent, place, back, self.source, None, self.residual)

    def after(self, inner: Transform) -> Transform:
        """From the child of `inner` to the parent of this one."""
        turn = quat_multiply(self.orientation, inner.orientation)
        source = " and ".join(dict.fromkeys(filter(None, (self.source, inner.source))))
        return Transform(self.parent, inner.child, self.moved(inner.position), turn, source)


@dataclass(frozen=True)
class Edge:
    """A moving transform that is wanted: of a child frame, in a parent or ("") in whichever."""

    child: str
    parent: str = ""

    @classmethod
    def parse(cls, text: str, place: str) -> Edge:
        """ "child" or "parent->child"; InputError naming `place` for other texts."""
        parts = [part.strip().lstrip("/") for part in text.split("->")]
        if len(parts) > 2 or not all(parts):
            raise InputError(place, "", text, "the name of a child frame, or PARENT->CHILD")
        return cls(parts[-1], "" if len(parts) == 1 else parts[0])

    def __str__(self) -> str:
        return f"{self.parent}->{self.child}" if self.parent else self.child

    def fits(self, parent: str, child: str) -> bool:
        """True for the names of a transform that is wanted; a leading slash does not count."""
        return child.lstrip("/") == self.child and self.parent in ("", parent.lstrip("/"))


@dataclass
class Frames:
    """Known static transforms; a later one of the same child replaces an earlier."""

    by_child: dict[str, Transform] = field(default_factory=dict)

    def add(self, transforms: Iterable[Transform]) -> None:
        """Add transforms; names as in tf, a leading slash does not count."""
        for one in transforms:
            self.by_child[one.child.lstrip("/")] = one

    @property
    def names(self) -> list[str]:
        """Every known frame."""
        parents = {one.parent.lstrip("/") for one in self.by_child.values()}
        return sorted(parents | set(self.by_child))

    def lookup(self, target: str, source: str, place: str) -> Transform:
        """The transform with parent `target` and child `source`; equal names are one frame.

        Planner, driver and observer call this to refuse unknown frames.
        Raises InputError naming `place` (the caller), both frames, the known ones, and a
        remedy.
        """
        up, down = self._chain(source), self._chain(target)
        common = next((name for name in up if name in down), None)
        if common is None:
            known = ", ".join(self.names) or "none"
            rule = f"a frame with a static transform to {target!r} (known: {known})"
            raise InputError(place, "frame", source, rule, REMEDY)
        found = up[common] if down[common].child == common else (
            down[common].inverse().after(up[common])
        )  # fmt: skip
        return Transform(
            target, source, found.position, found.orientation, found.source, found.covariance,
            found.residual,
        )  # fmt: skip

    def _chain(self, name: str) -> dict[str, Transform]:
        """Ancestors of a frame, itself first, and the transform from it to each."""
        name = name.lstrip("/")
        here = Transform(name, name, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
        found = {name: here}
        while name in self.by_child:
            step = self.by_child[name]
            name = step.parent.lstrip("/")
            if name in found:
                raise InputError(step.source or "tf", "frame", name, "no circle of transforms")
            here = step if here.child == here.parent else step.after(here)
            found[name] = here
        return found


def bag_frames(path: str | Path) -> Frames:
    """Static transforms of a bag, none if it has no /tf_static; InputError as bags.topics."""
    frames = Frames()
    if bags.topics(path).get(STATIC, ("", 0))[0] == TF:
        _, samples = bags.read_messages(path, TF, STATIC)
        for _, message in samples:
            frames.add(from_messages(message.transforms, f"{path}: {STATIC}"))
    return frames


def static_frames(path: str | Path) -> Frames | None:
    """Static transforms recorded along with a file, None: none."""
    found = bag_frames(path) if bags.is_bag(path) else None
    return found if found is not None and found.by_child else None


def from_messages(messages: Iterable, source: str) -> list[Transform]:
    """Transforms of TransformStamped messages (rclpy's, rosbags'); InputError for unusable ones."""
    found = []
    for message in messages:
        p, q = message.transform.translation, message.transform.rotation
        position, turn = np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w])
        names = message.header.frame_id, message.child_frame_id
        norm = float(np.linalg.norm(turn))
        if not np.isfinite([*position, norm]).all() or abs(norm - 1.0) > 1e-3 or "" in names:
            got = f"{names[0]!r} -> {names[1]!r}, {position.tolist()}, {turn.tolist()}"
            raise InputError(source, "transform", got, "two names, numbers, a unit quaternion")
        found.append(Transform(*names, position, _unit(turn), source))
    return found


def write_transform(path: str | Path, transform: Transform, more: Mapping) -> Path:
    """Write a transform as YAML that read_transform reads; `more`: its further keys.

    Raises InputError if the file exists already.
    """
    content = {
        "parent_frame": transform.parent,
        "child_frame": transform.child,
        "position": transform.position,
        "orientation": transform.orientation,
        "residual_m": transform.residual,
        "covariance": transform.covariance,
        **more,
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_yaml(path, content)
    except FileExistsError:
        got = "a file that exists already"
        raise InputError(path, "", got, "calibrations are never overwritten") from None
    return path


def read_transform(path: str | Path) -> Transform:
    """The transform of a calibration's file; InputError naming file and key."""
    content = read_yaml(path)
    if not isinstance(content, Mapping):
        raise InputError(path, "", content, "a calibration, as ~/calibrate writes it")
    for key in ("parent_frame", "child_frame"):
        if not isinstance(content.get(key), str) or not content[key]:
            raise InputError(path, key, content.get(key), "the name of a frame")
    numbers = {}
    for key, count in (("position", 3), ("orientation", 4)):
        try:
            numbers[key] = np.array(content.get(key), float)
        except (TypeError, ValueError):
            numbers[key] = np.zeros(0)
        if numbers[key].shape != (count,) or not np.isfinite(numbers[key]).all():
            raise InputError(path, key, content.get(key), f"{count} finite numbers")
    norm = float(np.linalg.norm(numbers["orientation"]))
    if abs(norm - 1.0) > 1e-3:
        raise InputError(
            path, "orientation", content["orientation"], "a unit quaternion x, y, z, w"
        )
    covariance = content.get("covariance")
    return Transform(
        content["parent_frame"], content["child_frame"], numbers["position"],
        _unit(numbers["orientation"]), str(path),
        None if covariance is None else np.array(covariance, float), content.get("residual_m"),
    )  # fmt: skip


def _unit(quaternion: np.ndarray) -> np.ndarray:
    """Of length 1; one that has it within rounding keeps its bits, as saved values must."""
    norm = np.linalg.norm(quaternion)
    return quaternion if abs(norm - 1.0) < 1e-15 else quaternion / norm
