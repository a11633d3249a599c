"""Bodies that touch each other by `pairs`."""

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.scene.edits import replaced, resolve

STACK = yaml.safe_load(
    """
world: {step: 2 ms, duration: 0.6}
materials:
  wood: {density: 600, k_n: 60000, c_n: 1, c_f: 0.6}
  rubber: {density: 1000, k_n: 30000, c_n: 4, c_f: 0.9}
bodies:
  lower: {shape: {box: {size: [0.1, 0.1, 0.1]}}, material: wood, pose: {position: [0, 0, 0.05]}}
  upper: {shape: {box: {size: [0.1, 0.1, 0.1]}}, material: rubber, pose: {position: [0, 0, 0.15]}}
  ball: {shape: {sphere: {radius: 0.03}}, mass: 0.1, pose: {position: [0.5, 0, 0.03]}}
contact:
  - {points: lower, against: {plane: {}}}
  - {points: ball, against: {plane: {}}, k_n: 1000}
  - pairs: [[upper, lower]]
"""
)


def contacts(pairs, **law):
    scene = replaced(STACK, "contact/2", {"pairs": pairs, **law})
    return {c["name"]: c for c in resolve(scene, "x.yaml")["contact"][2:]}


def test_materials_are_combined_and_shared_by_both_ways():
    found = contacts([["upper", "lower"]])
    assert list(found) == ["upper_lower", "lower_upper"]
    for points, carrier in (("upper", "lower"), ("lower", "upper")):
        one = found[f"{points}_{carrier}"]
        assert (one["points"], one["carrier"]) == (points, carrier)
        assert one["against"]["box"]["size"] == [0.1, 0.1, 0.1]
        assert one["k_n"] == pytest.approx(0.5 * 60000 * 30000 / 90000)
        assert one["c_n"] == pytest.approx((30000 * 1 + 60000 * 4) / 90000)
        assert one["c_f"] == pytest.approx(2 * 0.6 * 0.9 / 1.5)
    given = contacts([["upper", "lower"]], k_n="8 kN/m", k_t=4, c_f=0.1)["lower_upper"]
    assert (given["k_n"], given["k_t"], given["c_f"]) == (4000, 2, 0.1)


def test_a_sphere_touches_with_the_whole():
    found = contacts([["upper", "ball"]])
    assert list(found) == ["ball_upper"]
    assert found["ball_upper"]["k_n"] == 30000  # of the one material that there is
    scene = replaced(STACK, "bodies/upper/material", None)
    scene = replaced(scene, "bodies/upper/mass", 0.5)
    pair = {"pairs": [["upper", "ball"]], "damping": "ramped", "k_d": 3}
    one = resolve(replaced(scene, "contact/2", pair), "x.yaml")["contact"][2]
    assert one["k_n"] == pytest.approx(0.5 * 9.81 / (0.001 * 0.06))  # it lies on one sphere
    assert (one["c_f"], one["k_d"]) == (0, 3)


def test_all_leaves_out_what_a_joint_connects():
    assert set(contacts("all")) == {"upper_lower", "lower_upper", "ball_upper", "ball_lower"}
    pin = {"name": "pin", "type": "joint", "kind": "hinge", "body_a": "lower", "body_b": "upper",
           "position": [0, 0, 0.1]}  # fmt: skip
    scene = replaced({**STACK, "links": [pin]}, "contact/2", {"pairs": "all"})
    names = [c["name"] for c in resolve(scene, "x.yaml")["contact"][2:]]
    assert names == ["ball_lower", "ball_upper"]
    spring = {"name": "spring", "type": "torsion", "body_a": "lower", "body_b": "upper",
              "stiffness": 1}  # fmt: skip
    scene = replaced(scene, "links", [spring])
    assert len(resolve(scene, "x.yaml")["contact"][2:]) == 4
    with pytest.raises(InputError, match=r"links\[0\]"):
        resolve(replaced(scene, "links", [3]), "x.yaml")


def test_a_stack_stands_with_one_line():
    model = load_scene(STACK)
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.ok
    height = run.position[-1, :, 2]
    upper, lower = (model.engine.nodes_of(name)[0] for name in ("upper", "lower"))
    weight = 1.0 * 9.81  # of the rubber; the contact's four and four corners are half of k_n
    gap = height[upper] - height[lower] - 0.1
    assert gap == pytest.approx(-weight / (0.5 * 20000), rel=0.02)
    assert np.abs(run.velocity[-1, [upper, lower]]).max() < 2e-3


def three_boxes(poses, **more):
    """Boxes of 0.6 kg on the table, by one line for the two pairs, with the pairs' own k_n."""
    box = {"shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 0.6, **more}
    table = {"name": "table", "points": "a", "against": {"plane": {}}, "k_n": 60000}
    return load_scene({
        "world": {"step": "2 ms", "duration": 2},
        "bodies": {name: {**box, "pose": pose} for name, pose in zip("abc", poses, strict=True)},
        "contact": [{**table, "c_n": 2, "c_f": 0.6},
                    {"pairs": [["a", "b"], ["b", "c"]], "c_n": 2, "c_f": 0.6}],
        "strict": True,
    })  # fmt: skip


def test_three_boxes_stand_and_each_contact_carries_what_is_above_it_once():
    model = three_boxes([{"position": [0, 0, z]} for z in (0.05, 0.15, 0.25)])
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.ok and model.crossings(run) == [] and not run.warnings
    assert np.abs(run.velocity[-1]).max() < 1e-4
    weight, force, first = 0.6 * 9.81, {}, 0
    for contact in model.parts.contacts:  # of each: on the body whose points these are
        force[contact.name] = run.contact_force[-1, first : first + 8].sum(axis=0)
        first += 8
    assert force["table"] == pytest.approx([0, 0, 3 * weight], abs=1e-2)
    assert force["b_a"] == pytest.approx([0, 0, weight], abs=1e-2)  # half of what lies on a
    assert force["b_a"] == pytest.approx(-force["a_b"], abs=1e-3)
    assert force["c_b"] == pytest.approx([0, 0, weight / 2], abs=1e-2)
    k = 2 * model.engine.values[model.engine.index("b_a.k_n")]
    gap = run.position[-1, 1, 2] - run.position[-1, 0, 2]
    assert gap == pytest.approx(0.1 - 2 * weight / (k / 2), abs=1e-7)  # as on the floor: k/2
    energy = model.engine.energies(run)["total"]
    settled = energy[len(energy) // 2 :]
    assert np.ptp(settled) < 1e-5 and energy[-1] < energy[0]
    sunk = 3 * weight / 3e4  # of all, on half of the table's k_n
    assert run.position[-1, 0, 2] == pytest.approx(0.05 - sunk, abs=1e-6)


def test_a_crooked_stack_stands_on_face_grids():
    """Edges cross: of the corners none is in the other box."""
    poses = [{"position": [0, 0, 0.05]}, {"position": [0.01, 0, 0.15]},
             {"position": [0, 0.01, 0.25], "rotation": [0, 0, 0.4]}]  # fmt: skip
    model = three_boxes(poses, contact_spheres={"face_grid": {"per_edge": 5}})
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.ok and model.crossings(run) == []
    assert np.abs(run.velocity[-1]).max() < 5e-3
    moved = run.position[-1] - run.position[0]
    assert np.abs(moved[:, :2]).max() < 1e-2 and np.abs(moved[:, 2]).max() < 2e-3


def test_gradients_of_a_stack():
    """S of a body's height by the other body's mass and k_n against differences."""
    model = load_scene(replaced(STACK, "world/duration", 0.1))
    engine, names = model.engine, ("upper.mass", "upper_lower.k_n", "lower_upper.c_n")
    columns = [engine.index(name) for name in names]
    options = _engine.Options(step=model.options.step, stagnate=True)

    def height(p, **more):
        return _engine.rollout(engine, p, model.steps, options, **more)

    run = height(engine.values, active=columns, mode="sensitivity")
    node = engine.nodes_of("upper")[0]
    row = engine.node_dofs[node] + 2
    for k, column in enumerate(columns):
        ends, h = [], 1e-5 * engine.values[column]
        for sign in (1, -1):
            p = engine.values
            p[column] += sign * h
            ends.append(height(p).position[-1, node, 2])
        slope = (ends[0] - ends[1]) / (2 * h)
        assert slope != 0
        assert run.dx[-1, row, k] == pytest.approx(slope, rel=1e-5), names[k]


@pytest.mark.parametrize(
    ("pairs", "key", "hint"),
    [
        ([["upper", "lowr"]], "contact[2].pairs[0]", "did you mean 'lower'?"),
        ([["upper", "upper"]], "contact[2].pairs[0]", "two different names"),
        ([["upper"]], "contact[2].pairs[0]", "two different names"),
        ([[["upper"], "lower"]], "contact[2].pairs[0]", "two different names"),
        ([["upper", "lower"], ["lower", "upper"]], "contact[2].pairs[1]", "every pair once"),
        ([["upper", "dot"]], "contact[2].pairs[0]", "the other a shape"),
        ("some", "contact[2].pairs", "a list"),
    ],
)
def test_wrong_pairs_are_named(pairs, key, hint):
    scene = replaced(STACK, "contact/2", {"pairs": pairs})
    scene["bodies"]["dot"] = {"mass": 1, "inertia": 1}
    with pytest.raises(InputError) as caught:
        resolve(scene, "x.yaml")
    assert str(caught.value).startswith(f"x.yaml: {key}: got ") and hint in str(caught.value)
    with pytest.raises(InputError, match=r"contact\[2\]\.against"):
        resolve(replaced(scene, "contact/2", {"pairs": [], "against": "x"}), "x.yaml")


PLATE = {"shape": {"box": {"size": [0.4, 0.4, 0.02]}}, "mass": 1,
         "pose": {"position": [0.03, 0, 0.35]}}  # fmt: skip
POSTS = {
    "box": ({"box": {"size": [0.1, 0.1, 0.3]}}, 0.3),
    "cylinder": ({"cylinder": {"radius": 0.08, "height": 0.3}}, 0.3),
    "sphere": ({"sphere": {"radius": 0.15}}, 0.3),
    "compound": ([{"box": {"size": [0.1, 0.1, 0.1]}},
                  {"box": {"size": [0.1, 0.1, 0.1]}, "position": [0.05, 0, 0.1]}], 0.3),
}  # fmt: skip


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
@pytest.mark.parametrize("post", POSTS)
def test_kinematic_bodies_hold_with_their_own_points(post, stepper):
    """A plate over a post: none of the plate's corners is over it."""
    shape, top = POSTS[post]
    pose = {"position": [0, 0, 0.15]}
    scene = {
        "world": {"step": "2 ms", "duration": 0.3, "stepper": stepper},
        "bodies": {"plate": PLATE, "post": {"type": "kinematic", "shape": shape, "pose": pose}},
        "contact": [{"pairs": [["plate", "post"]], "k_n": 4e4, "c_n": 1, "c_f": 0.5}],
    }
    model = load_scene(scene)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok and run.position[-1, 0, 2] > top - 0.02 and model.crossings(run) == []
    again = load_scene(model.description)
    assert again.engine.values.tolist() == model.engine.values.tolist()


def test_points_of_kinematic_bodies_come_in_addition_and_need_what_moves():
    lower = {"type": "kinematic", "shape": {"box": {"size": [0.1, 0.1, 0.1]}},
             "pose": {"position": [0, 0, 0.05]}}  # fmt: skip
    scene = replaced(STACK, "bodies/lower", lower)
    scene = {**scene, "contact": [{"pairs": [["upper", "lower"]], "k_n": 8000}]}
    found = {c["name"]: c for c in resolve(scene, "x.yaml")["contact"]}
    assert found["upper_lower"]["k_n"] == found["lower_upper"]["k_n"] == 8000
    still = {"points": "lower", "against": {"plane": {}}, "k_n": 1}
    with pytest.raises(InputError, match="a body that moves"):
        resolve({**scene, "contact": [still]}, "x.yaml")


def test_all_names_what_it_leaves_out_once():
    scene = replaced(STACK, "contact/2", {"pairs": "all"})
    scene["bodies"]["dot"] = {"mass": 1, "inertia": 1}
    with pytest.warns(UserWarning, match="all leaves out dot: without a shape") as caught:
        resolve(scene, "x.yaml")
    assert len(caught) == 1


APART = replaced(replaced(STACK, "contact/2", {"pairs": []}), "world/record_every", 10)


def test_what_starts_inside_a_body_or_a_surface_is_warned_of():
    inside = replaced(APART, "bodies/ball/pose/position", [0.03, 0, 0.12])
    with pytest.warns(UserWarning) as caught:
        load_scene(inside)
    texts = [str(one.message) for one in caught]
    assert len(texts) == 2 and all(text.startswith("scene: ball is 0.0") for text in texts)
    assert "inside upper" in texts[0] or "inside lower" in texts[0]
    assert "at 0 s: nothing keeps it out; `contact` has no `pairs: [[ball, " in texts[0]
    with pytest.raises(InputError, match=r"scene: bodies: got 'ball is 0\.0\d+ m inside"):
        load_scene({**inside, "strict": True})
    free = replaced(APART, "contact", [])
    free = replaced(free, "bodies/ball/pose/position", [0.03, 0, -0.03])
    load_scene({**free, "strict": True})  # no surface, nobody inside it
    under = {**free, "contact": [{"points": "upper", "against": {"plane": {}}, "name": "floor"}]}
    with pytest.warns(
        UserWarning, match=r"ball is 0\.0\d+ m inside floor.*{points: ball, against: fl"
    ):
        load_scene(under)


def test_joints_and_glue_may_overlap():
    pin = {"name": "pin", "type": "joint", "kind": "hinge", "body_a": "upper", "body_b": "ball",
           "position": [0, 0, 0.15]}  # fmt: skip
    scene = replaced(APART, "bodies/ball/pose/position", [0, 0, 0.15])
    load_scene({**scene, "links": [pin], "strict": True})


def test_what_passes_through_in_a_motion_is_reported():
    model = load_scene(APART)  # the upper box rests on the lower one, without a contact
    run = _engine.rollout(model.engine, model.engine.values, 200)
    bodies, floor = model.crossings(run)
    assert "upper is 0." in bodies or "lower is 0." in bodies
    assert "`pairs: [[" in bodies and "`{points: upper, against: lower_surface}`" in floor
    touching = load_scene(STACK)
    run = _engine.rollout(touching.engine, touching.engine.values, 50)
    assert touching.crossings(run) == []
    soft = replaced(STACK, "contact/2", {"pairs": [["upper", "lower"]], "k_n": 300})
    model = load_scene({**soft, "strict": True})
    run = _engine.rollout(model.engine, model.engine.values, 200)
    with pytest.raises(InputError, match="in spite of their contact"):
        model.crossings(run)
