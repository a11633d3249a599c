"""Stepping: the same motion as a rollout's, and exact derivatives of every step."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from tests.simulation.scenes import BALL_AND_CUBE, pendulum

WORLDS = {
    "bdf1": {"scheme": "bdf1"},
    "bdf2": {"scheme": "bdf2"},
    "velocity": {"stepper": "velocity"},
}
OBSERVED = ["hinge.coordinate", "hinge.rate", "box.position", "box.angular_velocity"]


@pytest.mark.parametrize("world", WORLDS)
def test_steps_go_where_a_rollout_goes(world):
    scene = pendulum(**WORLDS[world]).build()
    whole = scene.rollout(outputs=OBSERVED)
    states = list(scene.stream(every=1))
    assert len(states) == len(whole.time) and states[0].time == 0.0
    for k in (0, 1, 20, -1):
        expected = np.concatenate([whole.outputs[name][k].ravel() for name in OBSERVED])
        assert states[k].observe(OBSERVED) == pytest.approx(expected, abs=1e-10)
        assert states[k].time == pytest.approx(whole.time[k])
    again = scene.step(scene.start(), steps=7)
    assert again.observe(OBSERVED) == pytest.approx(states[7].observe(OBSERVED), abs=1e-10)


def test_a_stream_ends_with_the_motion():
    times = [state.time for state in pendulum().build().stream(duration=0.05, every=4)]
    assert times == pytest.approx([0.0, 0.02, 0.04, 0.05])
    for every in (0, 2.5):
        with pytest.raises(ds.InputError, match=f"every: got {every}; accepted: a whole number"):
            next(pendulum().build().stream(every=every))


def test_controls_hold_for_one_call():
    scene = pendulum().build()
    start = scene.start(joints={"hinge": (0.3, 0.0)})
    assert start.observe("hinge.coordinate") == pytest.approx([0.3])
    keys = [name for name in scene.values if name.startswith("drive")]
    pushed = scene.step(start, dict.fromkeys(keys, 3.0), steps=10)
    free = scene.step(start, steps=10)
    assert pushed.observe("hinge.rate")[0] > free.observe("hinge.rate")[0] + 0.1
    assert pushed.values is start.values
    with pytest.raises(ds.InputError, match="at the start alone"):
        scene.step(start, {"box.position.x": 1.0})
    with pytest.raises(ds.InputError, match="one of its names"):
        scene.step(start, {"drive.torqe": 1.0})
    with pytest.raises(ds.InputError, match="steps"):
        scene.step(start, steps=0)
    with pytest.raises(ds.InputError, match="of this scene"):
        scene.step(pendulum(gravity=[0, 0, -9]).build().start())


@pytest.mark.parametrize("world", WORLDS)
def test_the_linearization_is_that_of_differences(world):
    scene = pendulum(**WORLDS[world]).build()
    wrt = [name for name in scene.values if name.startswith("drive") or name == "rod.mass"]
    first = {"hinge": (0.4, 1.3)}
    state = scene.start(joints=first)
    found = scene.linearize(state, steps=3, wrt=wrt, observe=OBSERVED)
    d = len(found.names)
    assert d == 7 and "hinge" in " ".join(found.names)
    assert found.A.shape == ((4 * d,) * 2 if world == "bdf2" else (2 * d,) * 2)
    assert found.B.shape == (len(found.A), len(wrt)) and found.C.shape == (8, len(found.A))
    hinge = next(k for k, name in enumerate(found.names) if "hinge" in name)

    def observed(joints, values=None):
        return scene.step(scene.start(values, joints=joints), steps=3).observe(OBSERVED)

    step = 1e-6
    for column, shift in ((hinge, (step, 0.0)), (d + hinge, (0.0, step))):
        up, down = ({"hinge": (0.4 + s * shift[0], 1.3 + s * shift[1])} for s in (1, -1))
        slope = (observed(up) - observed(down)) / (2 * step)
        assert found.C[:, column] == pytest.approx(slope, abs=2e-7 * max(1, np.abs(slope).max()))
        rates = [k for k, name in enumerate(found.names) if "hinge" in name]
        assert found.A[rates[0], column] == pytest.approx(slope[0], abs=1e-6)
        assert found.A[d + rates[0], column] == pytest.approx(slope[1], abs=1e-6)
    for k, name in enumerate(wrt):
        value = scene.values[name]
        ends = [observed(first, {name: value + s * step}) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert found.D[:, k] == pytest.approx(slope, abs=2e-7 * max(1, np.abs(slope).max())), name
    assert np.abs(found.D).max() > 1e-4


def test_the_linearization_of_a_box_in_contact_is_that_of_differences():
    scene = ds.load_scene(BALL_AND_CUBE)
    state = scene.step(scene.start(), steps=40)
    with_contact = scene.linearize(state, wrt="hard.c_f", observe="cube.position")
    assert len(with_contact.names) == len(scene.engine.state_dofs)
    by_cube = [k for k, name in enumerate(with_contact.names) if name.startswith("cube.position")]
    assert with_contact.C[:, by_cube] == pytest.approx(np.eye(3), abs=0.6)


def test_vjps_of_steps_chain_to_the_gradient_of_the_whole():
    scene = pendulum(scheme="bdf2").build()
    wrt = ["rod.mass", "hinge.friction_damping"]
    state, backs = scene.start(), []
    for _ in range(6):
        state, observed, back = scene.vjp(state, steps=10, wrt=wrt, observe=OBSERVED)
        backs.append(back)
    by_observed = np.random.default_rng(0).normal(size=len(observed))
    total, by_state = backs[-1](by_observed)
    total = total.array
    for back in backs[-2::-1]:
        more, by_state = back(None, by_state)
        total = total + more.array
    whole = scene.rollout(wrt=wrt, outputs=OBSERVED)
    by, row = {}, 0
    for name in OBSERVED:
        size = whole.outputs[name][-1].size
        by[name] = np.zeros_like(whole.outputs[name])
        by[name][-1] = by_observed[row : row + size].reshape(whole.outputs[name][-1].shape)
        row += size
    assert total == pytest.approx(whole.gradient(by).array, rel=1e-8, abs=1e-12)
    with pytest.raises(ds.InputError, match=r"shape \(8,\)"):
        backs[0](np.ones(3))


def test_feedback_holds_a_pendulum_upright():
    scene = pendulum(scheme="bdf1").build()
    keys = {name: 0.0 for name in scene.values if name.startswith("drive")}
    state = scene.start(joints={"hinge": (np.pi - 0.2, 0.0)})
    for _ in range(400):
        angle, rate = state.observe(["hinge.coordinate", "hinge.rate"])
        torque = 30.0 * (np.pi - angle) - 4.0 * rate
        state = scene.step(state, dict.fromkeys(keys, torque))
    assert abs(state.observe("hinge.coordinate")[0] - np.pi) < 1e-3


def test_hard_contacts_press_nothing_at_the_start():
    """No spring either, though the contact's k_n is there for the implicit stepper."""
    builder = pendulum(stepper="velocity")
    shelf = {"transform": {"of": {"box": {"size": [0.5, 0.5, 0.1]}}, "position": [2, 0, 0.905]}}
    builder.contact("box", shelf, name="shelf", k_n=1e4, c_n=0)
    scene = builder.build()
    names = [name for name in scene.observables if name.startswith(("shelf", "hinge"))]
    whole = scene.rollout(outputs=names)
    for state, k in ((scene.start(), 0), (scene.step(scene.start()), 1)):
        expected = np.concatenate([np.ravel(whole.outputs[name][k]) for name in names])
        assert state.observe(names) == pytest.approx(expected, abs=1e-9)
    assert np.abs(whole.outputs["shelf.force"][0]).max() == 0.0


def test_derivatives_by_what_acts_at_the_start_alone_are_refused():
    """They would be 0: a step begins with a state."""
    scene = pendulum().build()
    for call in (scene.linearize, scene.vjp):
        for wrt in ("box.velocity.x", ["rod.mass", "box.*"]):
            with pytest.raises(ds.InputError, match=r"wrt: got 'box\.\S+'; .*at the start alone"):
                call(scene.start(), wrt=wrt)
        call(scene.start(), wrt=["rod.mass", "hinge.friction_damping"])


def test_whole_numbers_of_numpy_are_taken_and_flags_are_not():
    scene = pendulum().build()
    one = scene.step(scene.start(), steps=2)
    for two in (np.int64(2), np.uint8(2), np.array(2)):
        assert scene.step(scene.start(), steps=two).time == one.time
        times = [state.time for state in scene.stream(duration=0.02, every=two)]
        assert times == pytest.approx([0, 0.01, 0.02])
        assert len(scene.rollout_batch({"box.mass": [0.5]}, duration=0.01, threads=two)) == 1
    for wrong in (True, np.True_, 2.0, np.float64(2), "2", None, -1):
        with pytest.raises(ds.InputError, match=r"steps: got .*accepted: a whole number >= 1"):
            scene.step(scene.start(), steps=wrong)
        with pytest.raises(ds.InputError, match=r"threads: got .*accepted: a whole number >= 0"):
            scene.rollout_batch({"box.mass": [0.5]}, threads=wrong)


def test_constrained_joints_are_refused():
    scene = pendulum(coordinates="constrained").build()
    with pytest.raises(ds.InputError, match="constrained joints"):
        scene.linearize(scene.start(), wrt="rod.mass")
