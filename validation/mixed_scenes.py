"""Random scenes that mix all bodies, elements, surfaces and controls, for derivative studies.

A scene is one to three actors (mixed_scenes_actors), each above an obstacle of its own that stands
still, or is carried by a driven handle or a rigid body (mixed_scenes_contact), with contact of any
law between them, and with springs, cables and loads on top. Scenes are short and small: central
differences of long or stiff ones would measure chaos and rounding.
"""

from __future__ import annotations

import numpy as np

from .mixed_scenes_actors import ACTORS
from .mixed_scenes_builder import Actor, Builder, MixedScene, Watch, handle
from .mixed_scenes_contact import SOFT, add_contact

FIRST = ("soft", "linkage", "soft", "linkage", "cloth", "string", "box", "ball", "particle")


def add_spring(b: Builder, actor: Actor) -> None:
    """A spring from an actor to a handle or the world, sometimes without length."""
    points, index = actor.hooks[0]
    if b.sometimes("spring to a handle", 0.5):
        host = handle(b, b.rng.normal(size=3) * 0.1 + [0, 0, 0.3], 0.02, 0.2)
    else:
        host = ""
    anchor = b.name("points")
    far = b.rng.normal(size=(1, 3)) * 0.05 + (0 if host else np.array([0, 0, 0.3]))
    b.s.add_points(anchor, bodies=[host], local=far)
    bare = b.sometimes("spring of no length", 0.3)
    b.s.add_springs(
        b.name("spring"), points_a=anchor, index_a=[0], points_b=points, index_b=[index],
        stiffness=b.log_uniform(3, 30), damping=b.rng.uniform(0.02, 0.3),
        rest_length=0.0 if bare else b.rng.uniform(0.1, 0.3),
    )  # fmt: skip


def add_cable(b: Builder, actors: list[Actor]) -> None:
    """A cable from the world through points of all actors, about taut."""
    anchor = b.name("points")
    b.s.add_points(anchor, bodies=["", ""], local=[[-0.3, 0.05, 0.3], [0.9, -0.05, 0.35]])
    stops = [(anchor, 0), *(actor.hooks[0] for actor in actors), (anchor, 1)]
    if len(actors) == 1 and len(actors[0].hooks) > 1:
        stops.insert(2, actors[0].hooks[1])
    stiffness, length = b.log_uniform(20, 200), 1.5 + b.rng.uniform(-0.3, 0.1)
    b.s.add_cable(
        b.name("cable"), points=[p for p, _ in stops], index=[i for _, i in stops],
        stiffness=stiffness, damping=b.rng.uniform(0.02, 0.3), rest_length=length,
    )  # fmt: skip
    b.watch.append(Watch("cable", 1))


def add_loads(b: Builder, actor: Actor) -> None:
    """Drag, keyed point forces and, on rigid bodies, keyed torques."""
    if b.sometimes("drag", 0.4):
        b.s.add_drag(
            b.name("drag"), points=actor.points, c_linear=b.log_uniform(0.02, 0.5),
            c_quadratic=b.log_uniform(0.02, 0.5), wind=b.rng.normal(size=3),
        )  # fmt: skip
    if b.sometimes("point force", 0.4):
        points, index = actor.hooks[-1]
        frame = "body" if actor.rolls and b.rng.random() < 0.5 else "world"
        interval, keys = b.keys([0.0, 0, 0], 1.0 if actor.body else 0.3)
        b.s.add_point_force(
            b.name("force"), points=points, index=[index], force=keys[1:], interval=interval,
            frame=frame,
        )  # fmt: skip
    if actor.body and b.sometimes("torque", 0.5):
        interval, keys = b.keys([0.0, 0, 0], 0.05)
        frame = b.draw("torque frame", ("world", "body"), tag=False)
        b.s.add_torque(
            b.name("torque"), body=actor.body, torque=keys[1:], interval=interval, frame=frame
        )


def random_mixed_scene(seed: int) -> MixedScene:
    """The scene of this seed."""
    b = Builder(seed)
    b.s.set_gravity(np.array([*b.rng.normal(size=2) * 0.3, -9.81]))
    kinds = [b.draw("actor", FIRST, tag=False)]
    b.turn = b.turns["actor"]  # what a kind of actor is made of is dealt among its own scenes
    if b.sometimes("two actors", 0.8):
        soft = kinds[0] in SOFT
        pool = ("linkage", "box", "ball", "particle") if soft else ("soft", *SOFT)
        kinds.append(b.draw("second", pool, tag=False))
    actors = []
    for i, kind in enumerate(kinds):
        place = np.array([0.6 * i, 0.0, 0.0])
        actors.append(ACTORS[kind](b, place))
        b.turn = seed
        add_contact(b, actors[-1], place)
        add_loads(b, actors[-1])
    if b.sometimes("extra spring", 0.4):
        add_spring(b, actors[int(b.rng.integers(len(actors)))])
    if b.sometimes("cable", 0.4):
        add_cable(b, actors)
    order = b.draw("order", (1, 2), tag=False)
    b.tags.add(f"bdf{order}")
    return MixedScene(b.s, b.steps, b.step, order, b.tags, b.watch)
