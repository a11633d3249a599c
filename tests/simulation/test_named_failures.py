"""A motion that cannot go on: its message names the element and the body, whatever the status."""

import numpy as np
import pytest

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds  # noqa: E402

FAILS = {"max_halvings": 0, "tolerance": 1e-14}


def pair(**world):
    """Two balls: `calm` hangs on a spring, `wild` has what a test gives it; calm comes first."""
    builder = ds.SceneBuilder("pair", step=0.01, duration=0.1, **{**FAILS, **world})
    for k, name in enumerate(("calm", "wild", "last")):
        builder.body(name, shape={"sphere": {"radius": 0.05}}, mass=1.0,
                     pose={"position": [k, 0, 0]})  # fmt: skip
        pairs = [{"a": {"body": name}, "b": {"world": [k, 0, 1]}}]
        builder.link(f"spring_{name}", "spring", stiffness=10.0, damping=0.1, pairs=pairs)
    builder.link("push", "force", body="wild", force=[1.0, 0, 0])
    builder.link("turn", "torque", body="wild", torque=[0, 0, 1e-6])
    return builder.build()


def message(scene, values=None):
    run = scene.rollout(values, allow_failure=True)
    assert not run.ok
    with pytest.raises(ds.NotConverged) as caught:
        scene.rollout(values)
    assert run.message in str(caught.value) and run.status in str(caught.value)
    with pytest.raises(ds.NotConverged) as caught:
        scene.step(scene.start(values), steps=10)
    assert f"worst dof {run.message.rpartition('worst dof ')[2]}" in str(caught.value)
    return run.status, run.message


@pytest.mark.parametrize("order", ["bdf1", "bdf2"])
def test_what_overflows_is_named(order):
    scene = pair(scheme=order)
    force = next(name for name in scene.values if name.startswith("push."))
    status, text = message(scene, {force: 1e308})
    assert "'push'" in text and "wild.position.x" in text, (status, text)
    torque = next(name for name in scene.values if name.startswith("turn.") and name.endswith("z"))
    status, text = message(scene, {torque: 1e6})
    assert (
        status in ("line_search_stalled", "non_finite")
        and "'turn'" in text
        and "wild.rotation" in text
    ), text


def test_what_does_not_converge_is_named_by_what_pushes_it():
    scene = pair(max_iterations=1)
    values = {"wild.velocity.y": 300.0, "spring_wild.stiffness": 1e7}
    status, text = message(scene, values)
    assert status == "max_iterations" and "'spring_wild'" in text and "wild." in text, text


def test_a_stalled_search_names_its_contact():
    """A contact so stiff that no step lowers the residual, with too few iterations to slide."""
    builder = ds.SceneBuilder("wedge", step=0.02, duration=0.4, max_halvings=0, tolerance=1e-15)
    builder.body("ball", shape={"sphere": {"radius": 0.1}}, mass=1e-3, velocity=[3, 0, -50],
                 pose={"position": [0, 0, 0.2]})  # fmt: skip
    builder.surface("floor", plane={})
    builder.contact("ball", "floor", name="hits", k_n=1e12, c_f=0.9, c_n=5.0)
    run = builder.build().rollout(allow_failure=True)
    if not run.ok:
        assert "'hits'" in run.message and "dof ball." in run.message, run.message
    assert np.isfinite(run.position[-1]).all()
