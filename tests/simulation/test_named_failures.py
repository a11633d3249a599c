"""A motion that cannot go on names element and body: stepper × failure × kind of element."""

import re

import numpy as np
import pytest

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds  # noqa: E402

BALL = {"shape": {"sphere": {"radius": 0.05}}, "mass": 1.0}
ROD = {
    "shape": {"box": {"size": [0.1, 0.1, 0.5]}},
    "mass": 1.0,
    "pose": {"position": [0, 0, -0.25]},
}
TIED = [{"a": {"body": "wild"}, "b": {"world": [0, 0, 1]}}]


def hinged(builder, **joint):
    builder.body("wild", **ROD)
    builder.link("hinge", "joint", kind="hinge", body_b="wild", position=[0, 0, 0], axis=[0, 1, 0],
                 **joint)  # fmt: skip


def driven(builder, **motor):
    hinged(builder, coordinates="reduced")
    builder.link("drive", "motor", joint="hinge", keys=[0.1, 0.1], interval=1.0, **motor)


def touching(builder, **contact):
    builder.body("wild", pose={"position": [0, 0, 0.049]}, velocity=[1, 0, -1], **BALL)
    builder.surface("floor", plane={})
    builder.contact("wild", "floor", name="hits", c_f=0.5, **contact)


def linked(builder, *link, **keys):
    builder.body("wild", pose={"position": [0, 0, 0.1]}, velocity=[3, 0, 0],
                 contact_spheres={"sphere": {}}, **BALL)  # fmt: skip
    if link:
        builder.link(*link, **keys)


def soft(builder, kind, **keys):
    builder.body("wild", type=kind, **keys)


MAKE = {
    "free": lambda b: linked(b),
    "spring": lambda b: linked(b, "pull", "spring", stiffness=10.0, damping=0.1, pairs=TIED),
    "cable": lambda b: linked(b, "rope", "cable", stiffness=100.0, damping=0.1,
                              via=[{"body": "wild"}, {"world": [0, 0, 1]}]),
    "force": lambda b: linked(b, "push", "force", body="wild", force=[1.0, 0, 0]),
    "torque": lambda b: linked(b, "turn", "torque", body="wild", torque=[1.0, 0, 0]),
    "drag": lambda b: linked(b, "air", "drag", body="wild", c_quadratic=1.0),
    "particle": lambda b: soft(b, "particle", mass=1.0),
    "reduced joint": lambda b: hinged(b, coordinates="reduced"),
    "soft joint": lambda b: hinged(b),
    "motor": lambda b: driven(b, kind="torque"),
    "servo": lambda b: driven(b, kind="position", stiffness=10.0),
    "contact": lambda b: touching(b, k_n=1e4),
    "hybrid": lambda b: touching(b, k_n=1e4, friction="hybrid"),
    "hard": lambda b: touching(b, k_n=1e4, restitution=0.5),
    "solid": lambda b: soft(b, "solid", shape={"box": {"size": [0.1] * 3, "cells": [1, 1, 1]}},
                            density=1000.0, young=1e5, poisson=0.3),
    "cloth": lambda b: soft(b, "cloth", shape={"rectangle": {"size": [0.2, 0.2], "cells": [2, 2]}},
                            mass=0.1, stretch={"stiffness": 100.0, "damping": 0.1}),
}  # fmt: skip
ELEMENTS = ("inertia", "gravity", "wild", "pull", "rope", "push", "turn", "air", "hinge", "drive",
            "hits")  # fmt: skip


def scene_of(kind, stepper, **world):
    builder = ds.SceneBuilder("scene", step=0.01, duration=0.05, max_halvings=0, stepper=stepper,
                              **world)  # fmt: skip
    builder.body("calm", pose={"position": [5, 0, 1]}, **BALL)
    MAKE[kind](builder)
    return builder.build()


def names_of(text):
    """(element, body or joint) that a message names."""
    found = re.search(r"worst element '([^']*)', worst dof ([\w.\[\]]+)", text)
    assert found, text
    element, owner = re.split(r"[._\[]", found[1])[0], re.split(r"[.\[]", found[2])[0]
    assert element in ELEMENTS or element == "calm", text
    assert owner in ("wild", "calm", "hinge"), text
    return element, owner


def failing(scene, values, **derivatives):
    """The motion, whose NotConverged, batch and step have the same names; None: it goes on."""
    run = scene.rollout(values, allow_failure=True, **derivatives)
    if run.ok:
        return None
    names = names_of(run.message)
    with pytest.raises(ds.NotConverged) as caught:
        scene.rollout(values, **derivatives)
    assert run.status in str(caught.value) and names_of(str(caught.value)) == names
    lists = {name: [number] for name, number in values.items()}
    batch = scene.rollout_batch(lists, allow_failure=True, threads=1, **derivatives)
    assert batch[0].status == run.status and names_of(batch[0].message) == names
    if not derivatives:
        with pytest.raises(ds.NotConverged) as caught:
            scene.step(scene.start(values), steps=scene.steps)
        names_of(str(caught.value))
    return run


def tried(scene, sizes=(1e30, 1e308), **derivatives):
    """Of every value at sizes that no motion bears: {(value, status): names}."""
    found = {}
    for name in scene.values:
        for size in sizes:
            if name.startswith("calm") or name.endswith("y") or ".inertia" in name:
                continue
            wrt = {"wrt": [name], **derivatives} if derivatives else {}
            try:
                run = scene.rollout({name: size}, allow_failure=True, **wrt)
            except ds.InputError:
                continue
            if not run.ok:
                found[name, size, run.status] = names_of(run.message)
    return found


# The velocity stepper takes rigid bodies, particles and joints in reduced coordinates.
SOFT = ("soft joint", "solid", "cloth", "hybrid")
CASES = [
    (kind, stepper)
    for kind in MAKE
    for stepper in ("implicit", "velocity")
    if stepper == "implicit" or kind not in SOFT
]


@pytest.mark.parametrize(("kind", "stepper"), CASES)
def test_every_failure_names_element_and_body(kind, stepper):
    scene = scene_of(kind, stepper)
    found = tried(scene)
    assert {status for *_, status in found} & {"non_finite", "max_iterations"}
    assert tried(scene, (1e308,), sensitivities=True)


@pytest.mark.parametrize("kind", MAKE)
def test_one_iteration_names_element_and_body(kind):
    tried(scene_of(kind, "implicit", max_iterations=1, tolerance=1e-15), (1e4,))


# stepper, kind, value, its size, its status, the element and the owner of the worst row
CULPRITS = [
    ("implicit", "spring", "pull.stiffness", 1e30, "singular", "pull", "wild"),
    ("implicit", "drag", "air.c_linear", 1e30, "singular", "air", "wild"),
    ("implicit", "soft joint", "hinge.stiffness", 1e30, "singular", "hinge", "wild"),
    ("implicit", "force", "push.force[0].x", 1e308, "non_finite", "push", "wild"),
    ("implicit", "free", "wild.angular_velocity.x", 1e4, "line_search_stalled", "inertia", "wild"),
    ("velocity", "force", "push.force[0].x", 1e160, "max_iterations", "push", "wild"),
    ("velocity", "torque", "turn.torque[0].x", 1e308, "max_iterations", "turn", "wild"),
    ("velocity", "spring", "pull.stiffness", 1e30, "max_iterations", "pull", "wild"),
    ("velocity", "motor", "wild.mass", 1e308, "max_iterations", "drive", "hinge"),
    ("velocity", "reduced joint", "wild.mass", 1e308, "max_iterations", "gravity", "hinge"),
]  # fmt: skip


@pytest.mark.parametrize("case", CULPRITS, ids=lambda c: "-".join(c[:3]))
def test_what_is_named_is_the_culprit(case):
    stepper, kind, value, size, status, element, owner = case
    run = failing(scene_of(kind, stepper), {value: size})
    assert run is not None and run.status in (status, "non_finite"), run
    assert names_of(run.message) == (element, owner), run.message


@pytest.mark.parametrize("kind", ["free", "force", "contact", "motor"])
def test_a_body_out_of_bounds_is_named_itself(kind):
    run = failing(scene_of(kind, "velocity"), {"calm.position.x": 1e160})
    assert "worst dof calm.position" in run.message, run.message


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
def test_derivatives_that_cannot_be_computed_are_named(stepper):
    seen = set()
    for kind in ("free", "soft joint", "reduced joint", "contact", "motor", "spring"):
        if (kind, stepper) not in CASES:
            continue
        scene = scene_of(kind, stepper)
        for name in ("gravity.x", "gravity.z", "wild.velocity.x", "calm.velocity.x"):
            for size in (1e30, 1e160, 1e308):
                if name not in scene.values:
                    continue
                wrt = {"wrt": [name], "sensitivities": True}
                run = failing(scene, {name: size}, **wrt)
                if run is not None and "derivatives" in run.message:
                    assert re.match(r"step \d+ \(t = [\d.]+ s\)", run.message)
                    seen.add(kind)
    assert seen


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
def test_the_adjoint_names_where_it_overflows(stepper):
    """A particle between two compressed springs stays; cotangents grow a thousandfold a step."""
    scheme = {"scheme": "bdf1"} if stepper == "implicit" else {}
    builder = ds.SceneBuilder("scene", step=0.1, duration=20, stepper=stepper, gravity=[0, 0, 0],
                              **scheme)  # fmt: skip
    builder.body("calm", pose={"position": [5, 0, 1]}, **BALL)
    builder.body("wild", type="particle", mass=1.0)
    pairs = [{"a": {"body": "wild"}, "b": {"world": [x, 0, 0]}} for x in (-1, 1)]
    stiffness = 49.95 if stepper == "implicit" else 1e5
    builder.link("pull", "spring", stiffness=stiffness, rest_length=2.0, pairs=pairs)
    scene = builder.build()
    run = scene.rollout(wrt=["wild.velocity.y"])
    seed = np.zeros_like(run["wild"].position)
    seed[-1] = 1
    with pytest.raises(ds.InputError, match=r"the step to t = [\d.]+ s: ") as refused:
        run.gradient({"wild.position": seed})
    assert names_of(str(refused.value)) == ("pull", "wild")
    seed[-1], seed[5] = 0, 1
    assert np.isfinite(run.gradient({"wild.position": seed}).array).all()


def test_the_adjoint_names_the_value_whose_derivative_overflows():
    """After 20 s, d(velocity)/d(gravity) is 20 s."""
    builder = ds.SceneBuilder("scene", step=0.1, duration=20, stepper="velocity")
    builder.body("calm", **BALL)
    run = builder.build().rollout(wrt=["gravity.z"])
    seed = np.zeros_like(run["calm"].velocity)
    seed[-1, 2] = 1e307
    with pytest.raises(ds.InputError, match=r"must be finite, got .* for 'gravity\.z'"):
        run.gradient({"calm.velocity": seed})
