"""The bodies of a scene as trees that joints span; joints that close loops are left over."""

from __future__ import annotations

from dataclasses import dataclass, field

from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.parts import Parts

FIXED = ""
"""The world and all kinematic bodies: nothing moves them."""


@dataclass(frozen=True)
class Hanging:
    """How a body hangs in its tree.

    joint   that carries it, None of a root;  parent  the body that carries it, None: the world
    turned  whether it is the joint's body_a
    """

    joint: JointLink | None = None
    parent: str | None = None
    turned: bool = False


@dataclass
class Tree:
    """held  body -> Hanging, parents before children;  loops  joints that are not in it."""

    held: dict[str, Hanging] = field(default_factory=dict)
    loops: list[JointLink] = field(default_factory=list)

    def root(self, name: str) -> str | None:
        """The body at the root of its tree; None where that hangs on the world."""
        while self.held[name].joint is not None:
            parent = self.held[name].parent
            if parent is None:
                return None
            name = parent
        return name

    def children(self, name: str | None) -> list[str]:
        """Bodies that this one, or the world, carries."""
        return [n for n, h in self.held.items() if h.joint is not None and h.parent == name]

    def roots(self) -> list[str]:
        """Bodies that no joint carries."""
        return [name for name, held in self.held.items() if held.joint is None]


def tree_of(parts: Parts) -> Tree:
    """Trees of rigid and kinematic bodies and particles.

    Joints in reduced coordinates are in them before others, the others in the file's order.
    """
    names = [n for n, body in parts.bodies.items() if not body.SOFT]
    fixed = {n for n in names if not parts.bodies[n].MOVES}
    joints = [link for link in parts.links if isinstance(link, JointLink)]
    joints.sort(key=lambda joint: not joint.reduced)  # stable
    group = {n: FIXED if n in fixed else n for n in names}
    chosen, tree = [], Tree()
    for joint in joints:
        a = FIXED if joint.body_a is None else group[joint.body_a]
        b = group[joint.body_b]
        if a == b:
            tree.loops.append(joint)
            continue
        chosen.append(joint)
        kept, gone = (a, b) if FIXED in (a,) else (b, a)
        group = {n: kept if g == gone else g for n, g in group.items()}
    carried = {joint.body_b for joint in chosen if joint.reduced}
    for name in names:
        if name in fixed:
            tree.held[name] = Hanging()
    _hang(tree, [None, *fixed], chosen)
    for name in [n for n in names if n not in carried] + names:
        if name not in tree.held:
            tree.held[name] = Hanging()
            _hang(tree, [name], chosen)
    return tree


def _hang(tree: Tree, ready: list[str | None], joints: list[JointLink]) -> None:
    """Hang on these bodies what joints connect with them, and so on."""
    while ready:
        parent = ready.pop(0)
        for joint in joints:
            for own, other, turned in (
                (joint.body_a, joint.body_b, False), (joint.body_b, joint.body_a, True),
            ):  # fmt: skip
                if own == parent and other is not None and other not in tree.held:
                    tree.held[other] = Hanging(joint, parent, turned)
                    ready.append(other)
