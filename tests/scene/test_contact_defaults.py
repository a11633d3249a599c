"""Numbers of contacts that are given nowhere: by loads and sizes, by no step."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.scene.contacts.defaults import CREEP
from diffsim_ros.scene.damped_friction import damped_friction

G = 9.81
STEPS = (1 / 240, 1 / 480, 1 / 960)


def box(z, mass=1.0, size=0.1, **more):
    return {"shape": {"box": {"size": [size] * 3}}, "mass": mass,
            "pose": {"position": [0, 0, z]}, **more}  # fmt: skip


def scene(bodies, contact, step=1 / 240, duration=1.0, gravity=(0, 0, -G)):
    world = {"step": step, "duration": duration, "gravity": list(gravity)}
    world["record_every"] = max(1, round(duration / step / 100))
    return ds.load_scene({"world": world, "bodies": bodies, "sdfs": {"floor": {"plane": {}}},
                          "contact": contact})  # fmt: skip


def values(model):
    return {c.name: (c.k_n, c.k_t, c.c_n) for c in model.parts.contacts}


def test_no_step_is_in_them_and_the_resolved_scene_has_them():
    scenes = [
        scene({"b": box(0.05)}, [{"points": "b", "against": "floor", "c_f": 0.5}], step)
        for step in STEPS
    ]
    first = values(scenes[0])
    assert all(values(one) == first for one in scenes)
    k_n, k_t, c_n = first["b_floor"]
    assert k_n == pytest.approx(2 * G / (0.001 * 0.1))  # on four of eight corners
    assert k_t == pytest.approx(2 * 0.5 * G / CREEP) and c_n == 1
    assert values(ds.load_scene(scenes[0].description)) == first


def test_written_numbers_keep_their_meaning():
    law = {"k_n": 2e4, "k_t": 40.0, "c_n": 0.0}
    model = scene({"b": box(0.05)}, [{"points": "b", "against": "floor", **law}])
    assert values(model)["b_floor"] == (2e4, 40.0, 0.0)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("law", [{}, {"friction": "tanh"}, {"friction": "hybrid"}, {"k_n": 2e4}],
                         ids=["linear", "tanh", "hybrid", "k_n"])  # fmt: skip
def test_a_box_holds_on_a_ramp(law, step):
    tilt = np.radians(15)
    gravity = G * np.sin(tilt), 0, -G * np.cos(tilt)
    model = scene({"b": box(0.05)}, [{"points": "b", "against": "floor", "c_f": 0.5, **law}],
                  step, 2.0, gravity)  # fmt: skip
    rollout = model.rollout()
    later = rollout.time >= 1.0
    x = rollout["b"].position[later, 0]
    assert rollout.ok and abs(x[-1] - x[0]) < CREEP and not rollout.warnings


@pytest.mark.parametrize("ratio", [100.0, 1000.0])
def test_a_heavy_box_stands_on_a_light_one(ratio):
    contact = [{"pairs": [["low", "high"]], "c_f": 0.5},
               {"points": "low", "against": "floor", "c_f": 0.5}]  # fmt: skip
    rollout = scene({"low": box(0.05), "high": box(0.15, ratio)}, contact, duration=2.0).rollout()
    low, high = (rollout[name].position[-1] for name in ("low", "high"))
    assert rollout.ok and np.abs([low[:2], high[:2]]).max() < 1e-4
    assert abs(low[2] - 0.05) < 1e-3 and abs(high[2] - 0.15) < 2e-3


@pytest.mark.parametrize("kind", ["small", "large", "particle", "solid", "weightless", "linked"])
def test_what_rests_has_sunk_by_less_than_a_hundredth(kind):
    pose = {"position": [0, 0, 0.1]}
    ball = {"type": "solid", "shape": {"ball": {"radius": 0.1, "layers": 2}}, "density": 100,
            "young": 1e6, "poisson": 0.3, "pose": pose}  # fmt: skip
    bodies, size = {
        "small": ({"a": box(0.001, 1e-5, 0.002)}, 0.002),
        "large": ({"a": box(5.0, 5e5, 10.0)}, 10.0),
        "particle": (
            {"a": {"type": "particle", "mass": 0.1, "pose": {"position": [0, 0, 0]}}},
            0.1,
        ),
        "solid": ({"a": ball}, 0.2),
        "weightless": ({"a": box(0.05)}, 0.1),
        "linked": ({"a": box(0.05), "b": box(0.2, 20.0)}, 0.1),
    }[kind]
    gravity = (0, 0, 0) if kind == "weightless" else (0, 0, -G)
    contact = [{"points": "a", "against": "floor", "c_f": 0.3}]
    world = {"step": 1 / 480, "duration": 1.5, "gravity": list(gravity), "record_every": 60}
    weld = {"name": "weld", "type": "joint", "kind": "weld", "body_a": "a", "body_b": "b",
            "position": [0, 0, 0.1]}  # fmt: skip
    links = [weld] if kind == "linked" else []
    model = ds.load_scene({"world": world, "bodies": bodies, "sdfs": {"floor": {"plane": {}}},
                           "contact": contact, "links": links})  # fmt: skip
    rollout = model.rollout()
    height = rollout.vertices("a")[..., 2].min(1) if kind == "solid" else (
        rollout["a"].position[:, 2])  # fmt: skip
    assert rollout.ok and abs(height[-1] - height[0]) < 0.01 * size and not rollout.warnings


def test_a_slide_converges_when_the_step_is_halved():
    """What a careful person does first; k_t = k_n * step took the friction away."""
    ends = []
    for step in (1 / 240, 1 / 480, 1 / 960, 1 / 1920):
        slide = {"b": box(0.05 - 5e-5, velocity=[1, 0, 0])}
        rollout = scene(slide, [{"points": "b", "against": "floor", "c_f": 0.3}], step).rollout()
        ends.append(rollout["b"].position[-1, 0])
    change = np.abs(np.diff(ends))
    assert change.max() < 5e-5
    assert ends[-1] == pytest.approx(1 / (2 * 0.3 * G), rel=0.02)


def test_values_that_are_too_soft_are_named_with_what_mends_them():
    def texts(**law):
        return scene({"b": box(0.05)}, [{"points": "b", "against": "floor", "c_f": 0.5, **law}],
                     duration=0.02).rollout().warnings  # fmt: skip

    (creeps,) = texts(k_n=2e4, k_t=40.0)
    assert "acts like a damper below 0.25 m/s" in creeps and "k_t: 9800 " in creeps
    (sinks,) = texts(k_n=2e3)
    assert "sinks 9.8 mm, 9.8 % of its size" in sinks and "k_n: 200000 " in sinks
    assert not texts(k_n=2e4, k_t=9800.0) and not texts()


def test_a_written_k_t_that_lets_a_box_creep_down_a_ramp_is_named():
    gravity = (G * np.sin(np.radians(15)), 0, -G * np.cos(np.radians(15)))
    model = scene({"b": box(0.05)}, [{"points": "b", "against": "floor", "c_f": 0.5, "k_t": 490.0}],
                  duration=0.02, gravity=gravity)  # fmt: skip
    (text,) = model.rollout().warnings
    assert "friction acts like a damper below 0.02 m/s" in text


@pytest.mark.parametrize("masses", [[1.0] * 10, [1.0, 100.0], [1.0, 1000.0]],
                         ids=["ten", "1:100", "1:1000"])  # fmt: skip
def test_stacks_that_are_not_aligned_stand_for_ten_seconds(masses):
    """Boxes a millimetre and a degree off: an aligned stack could not buckle in exact numbers."""
    rng = np.random.default_rng(0)
    bodies = {}
    for k, mass in enumerate(masses):
        x, y = 1e-3 * rng.uniform(-1, 1, 2)
        pose = {"position": [x, y, 0.05 + 0.1 * k], "rotation": [0, 0, rng.uniform(-0.02, 0.02)]}
        bodies[f"b{k}"] = {**box(0.0, mass), "pose": pose}
    pairs = [[f"b{k}", f"b{k + 1}"] for k in range(len(masses) - 1)]
    contact = [{"points": "b0", "against": "floor", "c_f": 0.5}, {"pairs": pairs, "c_f": 0.5}]
    rollout = scene(bodies, contact, duration=10.0).rollout()
    moved = [rollout[name].position[-1] - rollout[name].position[0] for name in bodies]
    assert rollout.ok and np.abs(moved).max() < 5e-3


@pytest.mark.parametrize(("heavy", "light", "sinks"), [(0.5, 1.5, False), (1.5, 0.5, True)])
def test_what_rests_on_the_other_is_the_upper_body(heavy, light, sinks):
    """1000 kg below 1 kg does not sink into it; above, it does."""
    box = {"type": "rigid", "shape": {"box": {"size": [1.0, 1.0, 1.0]}}}
    bodies = {"heavy": {**box, "mass": 1000.0, "pose": {"position": [0, 0, heavy]}},
              "light": {**box, "mass": 1.0, "pose": {"position": [0, 0, light]}}}  # fmt: skip
    contact = [{"pairs": [["heavy", "light"]], "c_f": 0.3, "k_n": 1e4}]
    world = {"step": 0.004, "duration": 0.02}
    model = ds.load_scene({"world": world, "bodies": bodies, "contact": contact})
    assert any("sinks" in text for text in damped_friction(model.parts)) == sinks
