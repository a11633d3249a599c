"""Rollouts of a scene from Python: what they hold, and their gradients."""

import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.executors import InProcess, Processes, executor_of
from tests.simulation.scenes import BALL_AND_CUBE, pendulum

WRT = ["ball.young", "ball.velocity.*", "cube.mass", "cube.rotation.x", "hard.c_f"]
KINDS = ("position", "velocity", "orientation", "angular_velocity")


@pytest.fixture(scope="module")
def scene():
    return ds.load_scene(BALL_AND_CUBE)


def weights(motion, names, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=motion.observed(name).shape) for name in names}


def test_a_motion_by_body(scene):
    motion = scene.rollout(outputs=["hard.force", "energy"])
    assert set(motion) == {"ball", "cube"} and motion.ok and len(motion) == 2
    frames = len(motion.time)
    assert frames == 11 and motion.time[-1] == pytest.approx(0.2)
    cube, ball = motion["cube"], motion["ball"]
    assert cube.position.shape == (frames, 3) and cube.orientation.shape == (frames, 4)
    assert cube.position[0] == pytest.approx([1, 0, 0.1])
    assert ball.position.ndim == 3 and ball.orientation is None
    assert motion.vertices("ball").shape[1] >= ball.position.shape[1]
    assert motion.centre("ball")[0] == pytest.approx([0, 0, 0.15], abs=1e-12)
    assert motion.outputs["hard.force"].shape == (frames, 3)
    assert motion.energy["kinetic"].shape == (frames,)
    assert motion.position is motion.position  # made once
    text = repr(motion)
    assert "11 frames to 0.2 s" in text and "output hard.force (11, 3)" in text
    assert "cube: position (11, 3) [m]" in text
    assert "cube (box), ball (soft)" in repr(scene)


def test_the_end_is_recorded_where_it_is(scene):
    """12 steps, of which every 5th is recorded: the 12th is too, with its derivatives."""
    motion = scene.rollout(duration=0.048, wrt=WRT, outputs=["hard.force"])
    assert motion.time == pytest.approx([0, 0.02, 0.04, 0.048])
    assert len(motion.outputs["hard.force"]) == len(motion.position) == 4
    assert motion.energy["total"].shape == (4,)
    every = scene.rollout(duration=0.048)
    assert every.position[-1] == pytest.approx(motion.position[-1], abs=1e-9)
    assert scene.rollout(duration=0.008).time == pytest.approx([0, 0.008])
    assert len(scene.rollout(duration=0.04).time) == 3  # none is there twice
    batch = scene.rollout_batch({"cube.mass": [0.3, 0.4]}, duration=0.048)
    assert batch.stacked("cube.position")[0] == pytest.approx(motion["cube"].position, abs=1e-9)
    by = {"cube.position": np.eye(4)[3][:, None] * [1.0, -2.0, 0.5]}
    forward = scene.rollout(duration=0.048, wrt=WRT, sensitivities=True)
    assert motion.gradient(by).array == pytest.approx(forward.gradient(by).array, rel=1e-8)
    sent = scene.rollout_batch({"cube.mass": [0.3]}, duration=0.048, executor=InProcess(1))
    assert sent.time == pytest.approx(motion.time)


@pytest.mark.parametrize("kind", ["hinge", "weld", "slider"])
def test_joints_that_values_open_are_named(kind):
    """A stiff joint between two bodies, one of which is moved away; nothing where it stays."""
    builder = ds.SceneBuilder("pair", step=1e-3, duration=2e-3)
    for name, x in (("a", 0.0), ("b", 0.2)):
        builder.body(name, shape={"box": {"size": [0.1, 0.1, 0.1]}}, mass=1.0,
                     pose={"position": [x, 0, 0]})  # fmt: skip
    builder.link("pair", "joint", kind=kind, body_a="a", body_b="b", position=[0.1, 0, 0])
    scene = builder.build()
    assert not scene.rollout({"a.mass": 2.0, "b.velocity.x": 1.0}).warnings
    both = {"a.position.y": 0.4, "b.position.y": 0.4}
    assert not scene.rollout(both).warnings
    (text,) = scene.rollout({"b.position.y": 0.05}).warnings
    assert f"{kind} 'pair': its ends are 0.05 m apart at the start" in text
    (text,) = scene.rollout({"pair.anchor_b.y": 0.05}).warnings
    assert "0.05 m apart" in text
    batch = scene.rollout_batch({"b.position.y": [0.0, 0.05]})
    assert not batch[0].warnings and "0.05 m apart" in batch[1].warnings[0]
    if kind != "slider":
        (text,) = scene.rollout({"b.rotation.x": 0.3, "b.position.y": 0.0}).warnings
        assert "0.3 rad apart" in text


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_what_hangs_on_a_moving_kinematic_body_starts_with_it(coordinates):
    """A rod on a hand that moves at once, with its velocity: no force at the start."""
    builder = ds.SceneBuilder("hand", step=1e-3, duration=0.02, gravity=[0, 0, 0])
    builder.body("hand", type="kinematic", shape={"box": {"size": [0.1, 0.1, 0.1]}},
                 keys={"positions": [[0, 0, 0], [1, 0, 0]], "interval": 1.0})  # fmt: skip
    builder.body("rod", shape={"box": {"size": [0.05, 0.05, 0.3]}}, mass=1.0,
                 pose={"position": [0, 0, -0.2]}, velocity=[1, 0, 0])  # fmt: skip
    builder.link("pin", "joint", kind="hinge", body_a="hand", body_b="rod", position=[0, 0, 0],
                 axis=[0, 1, 0], coordinates=coordinates)  # fmt: skip
    scene = builder.build()
    motion = scene.rollout(outputs=["pin.force"])
    assert np.abs(motion.outputs["pin.force"]).max() < 1e-6 and not motion.warnings
    assert motion["hand"].velocity == pytest.approx(np.tile([1, 0, 0], (21, 1)), abs=1e-12)
    assert motion["rod"].velocity == pytest.approx(np.tile([1, 0, 0], (21, 1)), abs=1e-9)
    if coordinates == "reduced":
        (text,) = scene.rollout({"hand.position[1].x": 3.0}).warnings
        assert "hinge 'pin' leaves rod no such velocity at the start: it starts 2 m/s from" in text
        builder.description["bodies"]["rod"]["velocity"] = [0, 0, 0]
        with pytest.raises(ds.InputError, match="1 m/s apart"):
            builder.build()


def test_motors_without_stiffness_are_named_or_refused():
    builder = pendulum()
    builder.link("servo", "motor", joint="hinge", keys=[0.3])
    with pytest.raises(ds.InputError, match=r"links\[2\]\.stiffness: .*with which it follows"):
        builder.build()
    builder = pendulum()
    builder.link("servo", "motor", joint="hinge", keys=[0.3], stiffness=0.0)
    scene = builder.build()
    (text,) = scene.rollout().warnings
    assert text == "motor servo: its target has no effect with stiffness: 0: it does nothing"
    (text,) = scene.rollout({"servo.damping": 0.5}).warnings
    assert text.endswith("stiffness: 0: it only damps")
    assert not scene.rollout({"servo.stiffness": 0.5}).warnings
    builder = pendulum()
    builder.link("servo", "motor", joint="hinge", keys=[0.3, 1.3], interval=0.1, damping=0.5)
    assert not builder.build().rollout().warnings  # it follows the rate of its keys


def test_values_change_what_they_name(scene):
    heavy = scene.rollout({"cube.mass": 0.6, "cube.velocity.y": 0.0})
    assert heavy.values["cube.mass"] == 0.6 and scene.values["cube.mass"] == 0.3
    assert heavy["cube"].position[-1, 1] != pytest.approx(scene.rollout()["cube"].position[-1, 1])
    everything = scene.values.replaced({"cube.mass": 0.6, "cube.velocity.y": 0.0})
    again = scene.rollout(everything.array, duration=0.2)
    assert np.array_equal(again.position, heavy.position)
    assert len(scene.rollout(duration=0.1).time) == 6


def test_energy_and_centre_are_those_of_the_values_it_ran_with(scene):
    changes = {"cube.mass": 0.9, "ball.young": 5e4, "hard.k_n": 4e3, "gravity.z": -3.0}
    motion = scene.rollout(changes, outputs="energy")
    kinds = ("kinetic", "gravity", "springs", "elastic", "contact")
    for kind, expected in zip(kinds, motion.outputs["energy"].T, strict=True):
        assert motion.energy[kind] == pytest.approx(expected, abs=1e-9), kind
    sheet = {"type": "cloth", "shape": {"rectangle": {"size": [1, 1], "cells": [2, 1]}},
             "mass_per_area": 1, "stretch": {"stiffness": 10},
             "patches": [{"where": [0, 1, 2, 3], "factor": 1}]}  # fmt: skip
    world = {"step": 0.01, "duration": 0.01}
    model = ds.load_scene({"world": world, "bodies": {"sheet": sheet}})
    factor = model.values.matching("sheet.*factor").names[0]
    assert model.rollout().centre("sheet")[0] == pytest.approx([0, 0, 0], abs=1e-12)
    moved = model.rollout({factor: 3.0}).centre("sheet")[0]
    assert moved == pytest.approx([-0.125, 0, 0], abs=1e-12)  # (3 (-1/4) + 1/4) / 4


@pytest.mark.parametrize("names", [
    ["ball.position", "cube.orientation", "hard.force"],
    ["ball.velocity", "cube.angular_velocity", "cube.position"],
    ["position", "orientation"],
])  # fmt: skip
def test_gradients_are_those_of_differences_and_of_sensitivities(scene, names):
    outputs = [name for name in names if name == "hard.force"]
    motion = scene.rollout(wrt=WRT, outputs=outputs)
    by = weights(motion, names)
    exact = motion.gradient(by)
    assert list(exact) == ["ball.young", "ball.velocity.x", "ball.velocity.y", "ball.velocity.z",
                           "cube.mass", "cube.rotation.x", "hard.c_f"]  # fmt: skip
    forward = scene.rollout(wrt=WRT, outputs=outputs, sensitivities=True).gradient(by)
    assert exact.array == pytest.approx(forward.array, rel=1e-8)

    def objective(values):
        moved = scene.rollout(values, outputs=outputs)
        return sum(float((w * moved.observed(name)).sum()) for name, w in by.items())

    scale = np.abs(exact.array * np.maximum(np.abs(motion.values.subset(list(exact)).array), 1))
    for name, slope in exact.items():
        size = max(abs(scene.values[name]), 1.0)
        value, least = scene.values[name], np.inf
        for epsilon in (1e-5, 1e-6, 1e-7):
            up, down = (objective({name: value + s * epsilon * size}) for s in (1, -1))
            least = min(least, abs((up - down) / (2 * epsilon) - slope * size))
        assert least < 2e-6 * scale.max(), name


def test_the_adjoint_of_an_arm_of_three_hinges_beside_a_box():
    """One block of six and one of three among five nodes: as many numbers as five blocks of three,
    for which the adjoint once took them."""
    builder = ds.SceneBuilder("arm", step=1 / 480, duration=0.1, tolerance=1e-12)
    builder.body("box", shape={"box": {"size": [0.1, 0.2, 0.1]}}, mass=0.7,
                 pose={"position": [2, 0, 1]}, angular_velocity=[1, 2, -1])  # fmt: skip
    for k in range(3):
        builder.body(f"rod{k}", shape={"box": {"size": [0.05, 0.05, 0.2]}}, mass=1.0,
                     pose={"position": [0, 0, 1.9 - 0.2 * k]})  # fmt: skip
        builder.link(f"hinge{k}", "joint", kind="hinge", body_b=f"rod{k}",
                     position=[0, 0, 2 - 0.2 * k], axis=[int(k == 2), int(k < 2), 0],
                     coordinates="reduced", **({"body_a": f"rod{k - 1}"} if k else {}))  # fmt: skip
    builder.contact("box", {"plane": {"offset": 0.88}}, name="floor", k_n=1e4, c_f=0.3, c_n=0.2)
    builder.link("drive", "motor", joint="hinge0", kind="torque", keys=[1.0, 2.0], interval=0.1)
    scene = builder.build()
    wrt = ["box.velocity.x", "box.angular_velocity.y", "drive.torque[1]", "rod2.mass"]
    motion = scene.rollout(wrt=wrt)
    by = weights(motion, KINDS)
    exact = motion.gradient(by)
    forward = scene.rollout(wrt=wrt, sensitivities=True).gradient(by)
    assert forward.array == pytest.approx(exact.array, rel=1e-9)
    assert exact.array == pytest.approx(differences(scene, wrt, by), rel=1e-5)


def differences(scene, names, by):
    """Central differences of sum(by * observed)."""

    def value(changes):
        motion = scene.rollout(changes)
        return sum(np.sum(own * motion.observed(name)) for name, own in by.items())

    found = []
    for name in names:
        ends = [value({name: scene.values[name] + change}) for change in (1e-5, -1e-5)]
        found.append((ends[0] - ends[1]) / 2e-5)
    return np.array(found)


def test_sensitivities_are_those_of_differences(scene):
    names = ["cube.velocity.y", "cube.mass"]
    motion = scene.rollout(wrt=names, sensitivities=True, outputs=["hard.force"])
    by = {name: motion.sensitivity(f"cube.{name}") for name in ("position", "angular_velocity")}
    assert by["position"].shape == (11, 3, 2)
    assert motion.sensitivity("ball.position").shape == (*motion["ball"].position.shape, 2)
    assert motion.sensitivity("hard.force").shape == (11, 3, 2)
    for k, name in enumerate(names):
        step = 1e-6 * max(scene.values[name], 1.0)
        ends = [scene.rollout({name: scene.values[name] + s * step})["cube"] for s in (1, -1)]
        for kind, slopes in by.items():
            found = (getattr(ends[0], kind) - getattr(ends[1], kind)) / (2 * step)
            assert slopes[..., k] == pytest.approx(found, abs=2e-6 * np.abs(slopes).max())


def test_an_objective_gives_value_and_gradient(scene):
    def landing(motion):
        by = np.zeros_like(motion["cube"].position)
        by[-1, 1] = 1.0
        return motion["cube"].position[-1, 1], {"cube.position": by}

    value, gradient = scene.value_and_gradient(landing, {"cube.mass": 0.5}, wrt="cube.velocity.y")
    assert value == scene.rollout({"cube.mass": 0.5})["cube"].position[-1, 1]
    assert list(gradient) == ["cube.velocity.y"] and gradient["cube.velocity.y"] > 0


def test_batches_are_their_single_motions(scene):
    masses = np.array([0.2, 0.3, 0.5])
    batch = scene.rollout_batch({"cube.mass": masses, "hard.c_f": 0.3}, wrt=WRT, threads=2)
    assert len(batch) == 3 and batch.ok.all() and len(batch[1:]) == 2
    by = np.random.default_rng(1).normal(size=batch.stacked("cube.position").shape)
    gradients = batch.gradient({"cube.position": by})
    for k, mass in enumerate(masses):
        one = scene.rollout({"cube.mass": mass, "hard.c_f": 0.3}, wrt=WRT)
        assert np.array_equal(batch[k].position, one.position)
        assert np.array_equal(gradients[k], one.gradient({"cube.position": by[k]}).array)
    assert "batch of 3" in repr(batch)


def assert_same(found, expected):
    """Motions, outputs and derivatives of two batches."""
    for one, other in zip(found, expected, strict=True):
        assert one.values["cube.mass"] == other.values["cube.mass"] and one.status == other.status
        for name in ("ball.position", "cube.orientation", "hard.force"):
            assert np.array_equal(one.observed(name), other.observed(name)), name
            assert one.observed(name).any()
        for name in ("ball.position", "cube.rotation", "hard.force"):
            assert np.array_equal(one.sensitivity(name), other.sensitivity(name)), name
        names = ("cube.orientation", "hard.force")
        by = {name: np.ones_like(one.observed(name)) for name in names}
        assert np.array_equal(one.gradient(by).array, other.gradient(by).array)
        assert np.array_equal(one.vertices("ball"), other.vertices("ball"))
        assert np.array_equal(one.contact_force, other.contact_force)


RUN = {"wrt": WRT, "sensitivities": True, "outputs": ["hard.force"]}


def test_batches_by_an_executor_are_those_of_the_threads(scene):
    masses = {"cube.mass": np.linspace(0.2, 0.5, 5)}
    expected = scene.rollout_batch(masses, **RUN)
    for executor in (InProcess(2), Processes(1)):
        found = scene.rollout_batch(masses, **RUN, executor=executor)
        assert_same(found, expected)
        assert np.array_equal(found.stacked("cube.position"), expected.stacked("cube.position"))
    with pytest.raises(ds.InputError, match="outputs="):
        _ = found[0].energy
    with pytest.raises(ds.InputError, match="sensitivities: got False; accepted: True"):
        scene.rollout_batch(masses, wrt="cube.mass", executor=InProcess(1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_batches_on_ray_are_those_of_the_threads(scene):
    pytest.importorskip("ray")
    masses = {"cube.mass": np.linspace(0.2, 0.5, 5)}
    with executor_of("local", 2) as executor:
        found = scene.rollout_batch(masses, **RUN, executor=executor)
    assert_same(found, scene.rollout_batch(masses, **RUN))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.rollout({"cube.mas": 1}), r"did you mean 'cube\.mass'"),
        (lambda s: s.rollout(wrt=["cube.mas"]), r"did you mean 'cube\.mass'"),
        (lambda s: s.rollout(outputs=["hard.forc"]), r"did you mean 'hard\.force'"),
        (lambda s: s.rollout(outputs=["energy", "energy"]), "each name once"),
        (lambda s: s.rollout(duration=-1.0), "at least a step"),
        (lambda s: s.rollout(duration=np.nan), "at least a step"),
        (lambda s: s.rollout(sensitivities=True), "wrt"),
        (lambda s: s.rollout({"cube.mass": -1.0}), "cube.mass"),
        (lambda s: s.rollout("cube.mass"), "values: got 'cube.mass'; accepted: numbers"),
        (lambda s: s.rollout(wrt=[3]), "wrt: got 3"),
        (lambda s: s.rollout(wrt=None), "wrt: got None"),
        (lambda s: s.rollout(duration="1"), "at least a step"),
        (lambda s: s.rollout(wrt="cube.mass").gradient({"cube.position": "x"}), "numbers"),
        (lambda s: s.rollout_batch({"cube.mass": ["a"]}), r"cube\.mass: got \['a'\]"),
        (lambda s: s.rollout_batch([[1.0, 2.0], [3.0]]), "batch: values"),
        (lambda s: s.rollout_batch({"cube.mass": []}).stacked("cube.position"), "at least one"),
        (lambda s: s.rollout()["cub"], "did you mean 'cube'"),
        (lambda s: s.rollout().gradient({}), "wrt="),
        (lambda s: s.rollout(wrt="cube.mass").gradient({"cube.pose": 1.0}), "cube.position"),
        (
            lambda s: s.rollout(wrt="cube.mass").gradient({"cube.position": np.ones(5)}),
            r"\(11, 3\)",
        ),
        (lambda s: s.rollout(wrt="cube.mass").gradient({"cube.position": np.nan}), "finite"),
        (lambda s: s.rollout(wrt="cube.mass").gradient({"ball.orientation": 1.0}), "not turn"),
        (lambda s: s.rollout(wrt="cube.mass").sensitivity("cube.position"), "sensitivities=True"),
        (lambda s: s.rollout().vertices("cube"), "a soft body"),
        (lambda s: s.rollout_batch({"cube.mass": 0.3}), r"one length \(B,\)"),
        (lambda s: s.rollout_batch({"cube.mass": [1, 2], "hard.c_f": [1]}), "one length"),
        (lambda s: s.rollout_batch(np.ones((2, 3))), r"\(B, "),
        (lambda s: s.rollout_batch({"cube.mass": [0.3]}, threads=-1), "threads"),
    ],
)
def test_what_is_wrong_is_named(scene, call, message):
    with pytest.raises(ds.InputError, match=message):
        call(scene)


def test_what_a_scene_has_but_nobody_asked_for_says_how_to_ask():
    scene = pendulum().build()
    motion = scene.rollout(wrt=["rod.mass"], sensitivities=True)
    for name in ("hinge.coordinate", "hinge.force"):
        for read in (motion.observed, motion.sensitivity):
            with pytest.raises(ds.InputError, match=rf"outputs=\['{name}'\]"):
                read(name)
    motion = scene.rollout(outputs=["hinge.coordinate"])
    assert motion.observed("hinge.coordinate").shape[0] == len(motion.time)


def test_a_motion_that_stops_early_is_an_error_unless_wanted():
    hard = ds.load_scene({**BALL_AND_CUBE, "world": {
        **BALL_AND_CUBE["world"], "max_iterations": 1, "max_halvings": 0, "tolerance": 1e-14,
    }})  # fmt: skip
    with pytest.raises(ds.NotConverged, match="max_iterations"):
        hard.rollout()
    part = hard.rollout(allow_failure=True)
    assert not part.ok and len(part.time) < 11 and "max_iterations" in repr(part)
    batch = hard.rollout_batch({"cube.mass": [0.3, 0.4]}, allow_failure=True)
    assert not batch.ok.any()
    with pytest.raises(ds.NotConverged, match=r"motion 0: .*max_iterations"):
        hard.rollout_batch({"cube.mass": [0.3, 0.4]}, executor=InProcess(1))


def test_control_c_ends_a_long_rollout():
    scene = pendulum().build()
    here = threading.get_ident()
    timer = threading.Timer(0.3, signal.pthread_kill, [here, signal.SIGINT])
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        scene.rollout(duration=50000.0)
    timer.join()
    assert time.monotonic() - began < 5.0  # the whole takes longer
