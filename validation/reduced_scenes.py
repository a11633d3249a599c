"""Random articulated scenes: trees of joints in reduced coordinates among everything else.

A scene is one or two trees on the world, a driven handle or a free body, of chains and branches of
boxes with general inertias, with motors, limits, friction and armature on their joints; loops are
closed by constrained joints and by stiff ones, soft solids and strings are glued to links, springs,
cables and loads pull at them, and obstacles stand still or are carried by links. Short and small,
as the scenes of mixed_scenes, whose parts these are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diffsim_ros import _engine, meshes

from .mixed_scenes_actors import DRIVEN, JOINTS, motion, placed
from .mixed_scenes_builder import Actor, Builder, MixedScene, Watch, handle
from .mixed_scenes_contact import OBSTACLES, law, obstacle, watch_contact
from .scenes import CORNERS, NO_TURN, quaternion, rotation_matrix

BASES = ("world", "handle", "free body")
CARRIERS = ("world", "handle", "link", "own link")
HALF = 0.035  # of a link's box [m]
FREEDOM = {"weld": 0, "hinge": 1, "slider": 1, "universal": 2, "ball": 3, "planar": 3}
CLOSING = {"ball": 3, "universal": 4, "hinge": 5, "slider": 5}  # what each of them holds


@dataclass
class Tree:
    """Links of one tree with their places at the start; the first joint is on `base`."""

    base: str
    driven: bool = False  # the base
    links: list[str] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)
    freedom: list[int] = field(default_factory=list)  # of each link's joint
    place: dict[str, np.ndarray] = field(default_factory=dict)
    turn: dict[str, np.ndarray] = field(default_factory=dict)  # rotation matrices

    def add(self, name: str, carrier: str, place, turn) -> None:
        """A link, or the base where it moves."""
        if name != self.base:
            self.links.append(name)
            self.carriers.append(carrier)
        self.place[name], self.turn[name] = np.asarray(place, float), turn


def add_box(b: Builder, place, velocity) -> tuple[str, np.ndarray]:
    """A rigid body of general inertia: its name and rotation matrix."""
    name, mass = b.name("rigid"), b.rng.uniform(0.2, 0.8)
    orientation = quaternion(b.rng.normal(size=3) * 0.8)
    moments = mass * 1e-3 * b.rng.uniform(0.85, 1.15, 3)
    b.s.add_rigid_body(
        name, mass=mass, inertia=[*moments, *0.05 * moments.min() * b.rng.normal(size=3)],
        radius=0.06, position=place, orientation=orientation, velocity=velocity,
        angular_velocity=b.rng.normal(size=3) * (2 if b.rng.random() < 0.5 else 0.3),
    )  # fmt: skip
    return name, rotation_matrix(orientation)


def add_tree(b: Builder, place, links: int) -> Tree:
    """A tree whose links lie around `place`, the last one there; the base is further up."""
    count = max(links, 1)
    root = np.asarray(place) + np.array([-0.1 * count, 0.0, 0.08 * count])
    kind = b.draw("base", BASES)
    velocity = np.append(b.rng.normal(size=2) * 0.3, -b.rng.uniform(0.0, 0.5))
    tree = Tree("")
    if kind == "handle":
        tree.base, tree.driven = handle(b, root, 0.01, 0.1), True
        tree.add(tree.base, "", root, np.eye(3))
    elif kind == "free body":
        tree.base, turn = add_box(b, root, velocity)
        tree.add(tree.base, "", root, turn)
    else:
        tree.place[""] = root
    branched = links > 2 and b.sometimes("branch", 0.5)
    for k in range(links):
        share = (k + 1) / links
        at = (1 - share) * root + share * np.asarray(place)
        carrier = tree.links[k - 1] if k else tree.base
        if branched and k == links - 2:
            at = at + np.array([0.0, 0.12, 0.0])
        elif branched and k == links - 1:
            carrier = tree.links[k - 2]
        name, turn = add_box(b, at, velocity)
        tree.add(name, carrier, at, turn)
        tree.freedom.append(FREEDOM[add_joint(b, tree, carrier, name)])
    b.tags.add(f"links {links}")
    return tree


def add_joint(b: Builder, tree: Tree, carrier: str, link: str) -> str:
    """A joint in reduced coordinates between a link and its carrier, driven where it can be: its
    kind."""
    kind = b.draw("joint", (*JOINTS, "slider"))
    more: dict = {}
    if kind not in ("ball", "weld"):
        more["axis"] = b.rng.normal(size=3)
    if kind == "universal":
        more["second_axis"] = np.cross(more["axis"], b.rng.normal(size=3))
    if kind != "weld":
        more["friction_damping"] = b.log_uniform(1e-3, 1e-2)
    if kind in DRIVEN and b.sometimes("start coordinate", 0.3):
        more["coordinate"] = b.rng.normal() * (0.01 if kind == "slider" else 0.5)
    middle = 0.5 * (tree.place[carrier] + tree.place[link]) + 0.01 * b.rng.normal(size=3)
    name = b.name("joint")
    b.s.add_joint(
        name, kind=kind, body_a=carrier, body_b=link, position=middle, reduced=True, **more
    )
    b.tags.add(f"{kind} to {'the world' if not carrier else 'a body'}")
    if kind in DRIVEN:
        drive(b, kind, name, more.get("coordinate", 0.0))
    return kind


def drive(b: Builder, kind: str, joint: str, start: float) -> None:
    """Motor, limit, dry friction and armature on a joint with a coordinate."""
    slides = kind == "slider"
    unit, effort = (0.02, "force") if slides else (0.5, "torque")
    motor = b.draw("motor", ("position", effort, ""), tag=False)
    if motor == "position":
        interval, keys = b.keys(start, unit)
        stiffness = b.log_uniform(100, 1000) if slides else b.log_uniform(1, 10)
        damping = b.rng.uniform(2, 20) if slides else b.rng.uniform(0.02, 0.2)
        b.s.add_motor(b.name("motor"), joint=joint, keys=keys, interval=interval,
                      stiffness=stiffness, damping=damping)  # fmt: skip
    elif motor:
        interval, keys = b.keys(0.0, 5.0 if slides else 0.5)
        b.s.add_motor(b.name("motor"), joint=joint, kind=motor, keys=keys, interval=interval)
    if motor:
        b.tags.add(f"motor {motor}")
    if b.sometimes("limit", 0.6):
        near = unit * b.rng.uniform(0.01, 0.06)
        low, high = (-near, 2 * near) if b.rng.random() < 0.5 else (-2 * near, near)
        stiffness = b.log_uniform(500, 3000) if slides else b.log_uniform(5, 30)
        b.s.add_joint_limit(b.name("limit"), joint=joint, lower=start + low, upper=start + high,
                            stiffness=stiffness, damping=b.rng.uniform(0.1, 1.0))  # fmt: skip
        b.watch.append(Watch("limit", 1))
    if b.sometimes("dry friction", 0.4):
        rate = b.rng.uniform(0.02, 0.2) if slides else b.rng.uniform(0.2, 2.0)
        b.s.add_joint_friction(b.name("friction"), joint=joint, slip_rate=rate,
                               coulomb=b.log_uniform(0.1, 2.0) if slides else
                               b.log_uniform(0.005, 0.05))  # fmt: skip
    if b.sometimes("armature", 0.4):
        inertia = b.log_uniform(0.05, 0.5) if slides else b.log_uniform(1e-4, 1e-3)
        b.s.add_armature(b.name("armature"), joint=joint, inertia=inertia)


def close_loop(b: Builder, first: tuple[Tree, str], second: tuple[Tree, str]) -> None:
    """A joint between two links, or a link and the world: constrained where the loop still moves,
    else, and sometimes, in maximal coordinates."""
    (tree, link), (other, carrier) = first, second
    far = other.place[carrier] if carrier else tree.place[link] + [0.05, 0.05, 0.05]
    free = freedom_of(tree, link) + (freedom_of(other, carrier) if carrier else 0)
    kinds = tuple(kind for kind, rows in CLOSING.items() if rows < free)
    if driven_apart(tree, other if carrier else None):
        kinds = ()
    constrained = bool(kinds) and b.sometimes("constrained loop", 0.9)
    kind = b.draw("closing joint", kinds if constrained else tuple(CLOSING), tag=False)
    more: dict = {} if kind == "ball" else {"axis": b.rng.normal(size=3)}
    if kind == "universal":
        more["second_axis"] = np.cross(more["axis"], b.rng.normal(size=3))
    middle = 0.5 * (tree.place[link] + far)
    if constrained:
        b.s.add_joint(
            b.name("joint"),
            kind=kind,
            body_a=carrier,
            body_b=link,
            position=middle,
            constrained=True,
            friction_damping=b.log_uniform(1e-3, 1e-2),
            **more,
        )
        b.tags.add(f"constrained {kind}")
        return
    if kind != "ball":
        more |= {"rotational_stiffness": b.log_uniform(3, 50), "rotational_damping": 0.05}
    b.s.add_joint(
        b.name("joint"), kind=kind, body_a=carrier, body_b=link,
        position=middle, stiffness=b.log_uniform(1e3, 1e4),
        damping=b.rng.uniform(2, 20), **more,
    )  # fmt: skip
    b.tags.add("loop")


def driven_apart(tree: Tree, other: Tree | None) -> bool:
    """Whether a loop between them (None: the world) can be pulled farther than it reaches: a driven
    base is in it, and none that is free."""
    ends = [tree] if other is None else [tree, other]
    if other is tree or any(end.base.startswith("rigid") for end in ends):
        return False
    return any(end.driven for end in ends)


def freedom_of(tree: Tree, link: str) -> int:
    """Degrees of freedom of a link: of the joints up to the base, and of a free one."""
    free = 6 if tree.base.startswith("rigid") else 0
    while link != tree.base:
        k = tree.links.index(link)
        free, link = free + tree.freedom[k], tree.carriers[k]
    return free


def link_actor(b: Builder, tree: Tree, link: str) -> Actor:
    """Corner spheres of a link, and two hooks on it."""
    radius = b.rng.uniform(0.002, 0.006)
    points, half = b.name("points"), np.full(3, HALF)
    b.s.add_points(points, bodies=[link] * 8, local=CORNERS * half, inset=-CORNERS, radius=radius)
    hooks = b.name("points")
    b.s.add_points(hooks, bodies=[link] * 2, local=b.rng.normal(size=(2, 3)) * 0.02)
    return Actor("link", points, 8, [(hooks, 0), (hooks, 1)], link, _engine.Box(half), rolls=True)


def carried(b: Builder, kind: str, shape, place) -> tuple[object, str]:
    """(sdf, carrier) of an obstacle with its top at `place`: standing, driven, or a link's."""
    place = np.asarray(place, float)
    if kind == "world":
        return _engine.Transformed(shape, place, NO_TURN), ""
    if kind == "handle":
        return shape, handle(b, place, 0.01, 0.1)
    at = place - [0, 0, 0.05]
    name, turn = add_box(b, at, 0.05 * b.rng.normal(size=3))
    joint = b.name("joint")
    hangs = b.draw("obstacle's joint", ("slider", "hinge", "ball"), tag=False)
    more = {} if hangs == "ball" else {"axis": [0.1, 0.2, 1.0] if hangs == "slider" else [0, 1, 0]}
    b.s.add_joint(joint, kind=hangs, body_b=name, position=at - [0.05, 0, 0.05], reduced=True,
                  friction_damping=0.02, **more)  # fmt: skip
    points = b.name("points")
    b.s.add_points(
        points, bodies=["", name], local=np.array([at + np.array([0.1, 0.1, 0.3]), [0.02] * 3])
    )
    b.s.add_springs(b.name("spring"), points_a=points, index_a=[0], points_b=points, index_b=[1],
                    stiffness=b.log_uniform(30, 300), damping=0.5, rest_length=0.2)  # fmt: skip
    # The shape is upright in the world at the start.
    turned = _engine.Transformed(shape, [0, 0, 0.05], NO_TURN)
    return _engine.Transformed(turned, [0, 0, 0], quaternion(_turn_of(turn.T))), name


def _turn_of(R) -> np.ndarray:
    return np.asarray(_engine.log_rotation(R))


def lowest_corner(tree: Tree, link: str) -> np.ndarray:
    """(3,) the corner of a link's box that is lowest at the start."""
    corners = tree.place[link] + (CORNERS * HALF) @ tree.turn[link].T
    return corners[np.argmin(corners[:, 2])]


def add_contact(b: Builder, tree: Tree, link: str, actor: Actor) -> None:
    """An obstacle of any shape below a link, standing, driven or carried by another tree."""
    kind, how = b.draw("obstacle", OBSTACLES, tag=False), b.draw("carried", CARRIERS, tag=False)
    values, traits = law(b, True)
    place = lowest_corner(tree, link)
    place[2] += b.rng.uniform(-0.003, 0.003)
    if how == "own link" and tree.links[0] not in (link, tree.base):
        other = tree.links[0]  # an obstacle carried within the same tree
        R, c = tree.turn[other], tree.place[other]
        sdf = _engine.Transformed(
            obstacle(b, kind, False), R.T @ (place - c), quaternion(_turn_of(R.T))
        )
        carrier = other
    else:
        how = "link" if how == "own link" else how
        sdf, carrier = carried(b, how, obstacle(b, kind, False), place)
    b.s.add_contact(b.name("contact"), points=actor.points, sdf=sdf, carrier=carrier, **values)
    watch_contact(b, actor, actor.count, traits | {kind, f"carried by {how}"})


def glue_soft(b: Builder, tree: Tree, link: str) -> None:
    """A small soft solid with its upper vertices in a link, or a string tied to it."""
    if b.sometimes("glued string", 0.3):
        vertices = np.linspace([0, 0, 0], [0.09, 0, -0.03], 4) + tree.place[link]
        name = b.name("string")
        b.s.add_mass_points(name, vertices=vertices - vertices[0], position=vertices[0],
                            mass=0.05, glued=[(link, [0])])  # fmt: skip
        b.s.add_springs(b.name("spring"), points_a=name, index_a=[0, 1, 2], points_b=name,
                        index_b=[1, 2, 3], stiffness=b.log_uniform(50, 400), damping=0.05,
                        rest_length=0.03)  # fmt: skip
        return
    vertices, tets = meshes.box((0.08, 0.06, 0.05), (1, 1, 1))
    start = motion(b, tree.place[link] - [0, 0, 0.03], vertices, turn=0.3)
    start |= {"velocity": 0.2 * start["velocity"], "angular_velocity": np.zeros(3)}
    high = np.argsort(placed(start, vertices)[:, 2])[-3:].tolist()
    b.s.add_solid(b.name("soft"), vertices=vertices, tets=tets, density=b.rng.uniform(400, 1200),
                  young=b.log_uniform(1e4, 1e5), poisson=b.rng.uniform(0.2, 0.45),
                  glued=[(link, high)], **start)  # fmt: skip
    b.tags.add("glued solid")


def add_strings(b: Builder, actors: list[Actor]) -> None:
    """Springs between hooks of links, to the world, and cables through all of them."""
    anchor = b.name("points")
    b.s.add_points(anchor, bodies=["", ""], local=[[-0.3, 0.05, 0.4], [0.9, -0.05, 0.45]])
    hooks = [hook for actor in actors for hook in actor.hooks]
    if b.sometimes("spring", 0.5):
        (one, i), (two, j) = hooks[0], hooks[-1] if len(actors) > 1 else (anchor, 0)
        b.s.add_springs(b.name("spring"), points_a=one, index_a=[i], points_b=two, index_b=[j],
                        stiffness=b.log_uniform(3, 30), damping=b.rng.uniform(0.02, 0.3),
                        rest_length=b.rng.uniform(0.05, 0.3))  # fmt: skip
    if b.sometimes("cable", 0.4):
        stops = [(anchor, 0), *(actor.hooks[0] for actor in actors), (anchor, 1)]
        b.s.add_cable(b.name("cable"), points=[p for p, _ in stops], index=[i for _, i in stops],
                      stiffness=b.log_uniform(20, 200), damping=b.rng.uniform(0.02, 0.3),
                      rest_length=1.5 + b.rng.uniform(-0.3, 0.1))  # fmt: skip
        b.watch.append(Watch("cable", 1))


def add_loads(b: Builder, actor: Actor) -> None:
    """Drag, a keyed point force or a torque on a link."""
    if b.sometimes("drag", 0.3):
        b.s.add_drag(b.name("drag"), points=actor.points, c_linear=b.log_uniform(0.02, 0.5),
                     c_quadratic=b.log_uniform(0.02, 0.5), wind=b.rng.normal(size=3))  # fmt: skip
    if b.sometimes("point force", 0.3):
        points, index = actor.hooks[-1]
        interval, keys = b.keys([0.0, 0, 0], 1.0)
        b.s.add_point_force(b.name("force"), points=points, index=[index], force=keys[1:],
                            interval=interval)  # fmt: skip
    if b.sometimes("torque", 0.3):
        interval, keys = b.keys([0.0, 0, 0], 0.05)
        frame = b.draw("torque frame", ("world", "body"), tag=False)
        b.s.add_torque(b.name("torque"), body=actor.body, torque=keys[1:], interval=interval,
                       frame=frame)  # fmt: skip


def random_reduced_scene(seed: int) -> MixedScene:
    """The scene of this seed."""
    b = Builder(seed)
    b.s.set_gravity(np.array([*b.rng.normal(size=2) * 0.3, -9.81]))
    places = [np.zeros(3)]
    if b.sometimes("two trees", 0.3):
        places.append(np.array([0.6, 0.0, 0.0]))
    trees = [add_tree(b, place, b.draw("links", (1, 2, 3, 4), tag=False)) for place in places]
    actors = [link_actor(b, tree, tree.links[-1]) for tree in trees]
    tree, tip = trees[0], trees[0].links[-1]
    if b.sometimes("closed", 0.3):
        other = (trees[1], trees[1].links[0]) if len(trees) > 1 else (tree, "")
        close_loop(b, (tree, tip), other)
    if b.sometimes("glued", 0.3):
        glue_soft(b, tree, tree.links[0])
    add_strings(b, actors)
    for actor in actors:
        add_loads(b, actor)
    if b.sometimes("touching", 0.8):
        add_contact(b, tree, tip, actors[0])
    order = b.draw("order", (1, 2), tag=False)
    b.tags.add(f"bdf{order}")
    return MixedScene(b.s, b.steps, b.step, order, b.tags, b.watch)
