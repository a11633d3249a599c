"""What a program may give by mistake, at every place that takes numbers: one line names it."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.errors import InputError

FRAMES = 6


@pytest.fixture(scope="module")
def scene():
    builder = ds.SceneBuilder("toss", step=0.002, duration=0.02, record_every=2)
    builder.body("b", shape={"sphere": {"radius": 0.05}}, mass=1.0, velocity=[1, 0, 0])
    builder.link("rod", "joint", kind="hinge", body_b="arm", axis=[0, 1, 0], position=[2, 0, 0])
    builder.body("arm", shape={"box": {"size": [0.1, 0.1, 0.3]}}, mass=1.0,
                 pose={"position": [2, 0, -0.15]})  # fmt: skip
    return builder.build()


def one(scene, given):
    return scene.rollout(wrt="b.mass").gradient({"b.position": given})


def forward(scene, given):
    return scene.rollout(wrt="b.mass", sensitivities=True).gradient({"b.position": given})


def of_output(scene, given):
    motion = scene.rollout(wrt="b.mass", outputs=["b.velocity"])
    return motion.gradient({"b.velocity": given})


def of_nodes(scene, given):
    motion = scene.rollout(wrt="b.mass")
    whole = motion.position.shape
    given = np.broadcast_to(given[:, None], whole) if np.shape(given) == (FRAMES, 3) else given
    return motion.gradient({"position": given})


def by_objective(scene, given):
    return scene.value_and_gradient(lambda m: (1.0, {"b.position": given}), wrt="b.mass")


def batched(scene, given):
    batch = scene.rollout_batch({"b.mass": [1.0, 2.0]}, wrt="b.mass")
    shape = np.shape(given)
    return batch.gradient({"b.position": np.stack([given] * 2) if len(shape) else given})


COTANGENTS = (one, forward, of_output, of_nodes, by_objective, batched)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (FRAMES, 1), (FRAMES,), (3, FRAMES)])
@pytest.mark.parametrize("entry", COTANGENTS)
def test_a_cotangent_has_exactly_the_shape_of_what_it_is_of(scene, entry, shape):
    entry(scene, np.zeros((FRAMES, 3)))
    with pytest.raises(InputError, match=r"shape \("):
        entry(scene, np.ones(shape))


DEFECTS = {
    "NaN": lambda n: np.full(n, np.nan),
    "infinite": lambda n: np.full(n, np.inf),
    "complex": lambda n: np.ones(n, complex),
    "flags": lambda n: np.ones(n, bool),
    "text": lambda n: np.full(n, "1"),
    "None": lambda n: np.full(n, None),
    "objects": lambda n: np.full(n, object()),
    "dates": lambda n: np.full(n, np.datetime64("2026-01-01")),
    "masked": lambda n: np.ma.masked_all(n),
}


def value(scene, given):
    return scene.rollout({"b.mass": given[0]})


def values(scene, given):
    return scene.rollout(np.resize(given, len(scene.values)))


def values_of_batch(scene, given):
    return scene.rollout_batch({"b.mass": given})


def batch_of_values(scene, given):
    return scene.rollout_batch(np.resize(given, (2, len(scene.values))))


def control(scene, given):
    return scene.step(scene.start(), {"b.mass": given[0]})


def started(scene, given):
    return scene.start(joints={"rod": given[:2]})


def pulled(scene, given):
    pull = scene.vjp(scene.start(), wrt="b.mass", observe=["b.position"])[2]
    return pull(given[:3])


def pulled_state(scene, given):
    pull = scene.vjp(scene.start(), wrt="b.mass")[2]
    shape = (4, scene.engine.ndof)
    return pull(None, DEFECT[0](shape) if DEFECT else np.zeros(shape))


DEFECT: list = []
NUMBERS = (value, values, values_of_batch, batch_of_values, control, started, pulled, pulled_state)


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("entry", [*NUMBERS, *COTANGENTS])
def test_every_place_that_takes_numbers_refuses_what_is_none(scene, entry, defect):
    make = DEFECTS[defect]
    if defect == "masked" and entry in (values, batch_of_values, batched, of_nodes):
        pytest.skip("NumPy's own functions drop the mask before the call")
    if defect == "masked" and entry in (value, control):
        make = lambda n: [np.ma.masked]  # noqa: E731
    given = make((FRAMES, 3) if entry in COTANGENTS else (4,))
    DEFECT[:] = [make]
    try:
        with pytest.raises(InputError, match="accepted: "):
            entry(scene, given)
    finally:
        DEFECT.clear()


def test_whole_numbers_and_other_real_types_are_numbers(scene):
    own = scene.rollout({"b.mass": 2.0})["b"].position
    from fractions import Fraction

    for two in (2, np.int32(2), np.float32(2), np.uint8(2), Fraction(2), np.array(2)):
        assert np.array_equal(scene.rollout({"b.mass": two})["b"].position, own)
    ones = np.ones((FRAMES, 3), int)
    assert one(scene, ones).array == pytest.approx(one(scene, ones.astype(float)).array)
    assert one(scene, ones.tolist()).array == pytest.approx(one(scene, ones).array)


@pytest.mark.parametrize(
    "given", [1.0, None, (1.0,), (1.0, np.ones(3)), (1.0, None), (np.ones(2), {}), (True, {}),
              (float("nan"), {}), {}, "text"],
)  # fmt: skip
def test_an_objective_returns_its_value_and_cotangents(scene, given):
    with pytest.raises(InputError, match=r"objective: got .*accepted: "):
        scene.value_and_gradient(lambda motion: given, wrt="b.mass")


@pytest.mark.parametrize("given", [None, np.ones((FRAMES, 3)), ["b.position"], 1.0])
def test_cotangents_are_by_name(scene, given):
    motion = scene.rollout(wrt="b.mass")
    with pytest.raises(InputError, match="name of what is observed"):
        motion.gradient(given)
    with pytest.raises(InputError, match="name of what is observed"):
        scene.rollout_batch({"b.mass": [1.0]}, wrt="b.mass").gradient(given)
