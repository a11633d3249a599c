"""The scene in the engine: values, parameter paths, surfaces, energy, examples."""

import copy
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import rotation
from diffsim_ros.errors import InputError
from diffsim_ros.output import yaml_text
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.targets import targets
from tests.scene.edits import changed

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
EXAMPLES = sorted((Path(__file__).parents[2] / "config" / "scenes").glob("*.yaml"))

SCENE = yaml.safe_load(
    """
world: {step: 0.002, duration: 0.1, gravity: [1, 0, -9]}
bodies:
  cube:
    shape: {box: {size: [0.1, 0.2, 0.3]}}
    density: 1000
    pose: {position: [0.1, 0.2, 0.5], rotation: [0.3, -0.2, 0.9]}
    velocity: [1, 2, 3]
    angular_velocity: [4, 5, 6]
  ball: {shape: {sphere: {radius: 0.05}}, mass: 0.2, pose: {position: [0, 0, 1.5]}}
  block: {mass: 2, inertia: 0.01, contact_spheres: {points: {positions: [[0, 0, 0], [0.1, 0, 0]]}},
          pose: {position: [1, 0, 1]}}
  dot: {type: particle, mass: 0.1, pose: {position: [0.3, 0, 1]}}
contact:
  - {name: floor, points: cube, against: {plane: {}}, k_n: 5000, c_n: 0.1, c_f: 0.4}
  - {name: hit, points: block, against: {box: {half_extents: [1, 1, 0.1]}}, k_n: 100, k_d: 2,
     damping: thesis}
links:
  - {name: string, pairs: [{a: {body: ball, point: [0, 0, 0.05]}, b: {body: dot}}], stiffness: 10}
"""
)


def resolved(scene):
    return load_scene(scene).description


def test_rollouts_without_options_have_the_step_of_the_file():
    scene = {**SCENE, "world": {"step": 0.005, "duration": 0.1, "record_every": 2}}
    model = load_scene(scene)
    p = model.engine.values
    asked = _engine.rollout(model.engine, p, model.steps, model.options)
    plain = _engine.rollout(model.engine, p, model.steps)
    (batch,) = _engine.rollout_batch(model.engine, p[None], model.steps)
    for run in (plain, batch):
        assert run.time[-1] == pytest.approx(0.1) and len(run.time) == 11
        assert np.array_equal(run.position, asked.position)
    assert _engine.rollout(model.engine, p, 2, _engine.Options(step=0.25)).time[-1] == 0.5


def test_engine_values_are_those_of_the_file():
    model = load_scene(SCENE)
    value = dict(zip((i.name for i in model.engine.parameters), model.engine.values, strict=True))
    assert value["cube.mass"] == pytest.approx(6)
    assert value["cube.inertia.xx"] == pytest.approx(6 / 12 * (0.2**2 + 0.3**2))
    assert [value[f"cube.rotation.{a}"] for a in "xyz"] == pytest.approx([0.3, -0.2, 0.9])
    assert [value[f"cube.angular_velocity.{a}"] for a in "xyz"] == [4, 5, 6]
    assert [value[f"gravity.{a}"] for a in "xyz"] == [1, 0, -9]
    assert value["cube_contact_spheres.radius"] == pytest.approx(0.05 * 0.05)
    assert (value["floor.k_n"], value["hit.k_d"], value["hit.c_f"]) == (5000, 2, 0)
    assert value["ball.inertia.yy"] == pytest.approx(0.4 * 0.2 * 0.05**2)
    assert value["block.inertia.zz"] == 0.01
    assert value["string.rest_length"] == pytest.approx(math.hypot(0.3, 0.55))
    assert model.engine.body_names == list(model.bodies) == ["cube", "ball", "block", "dot"]
    assert model.steps == 50 and model.options.order == 2 and model.options.step == 0.002


def test_the_resolved_scene_has_the_same_numbers_to_the_bit():
    model = load_scene(SCENE)
    again = load_scene(yaml.safe_load(yaml_text(model.description)))
    assert again.engine.values.tobytes() == model.engine.values.tobytes()
    assert again.description == model.description


def test_a_parameter_path_means_what_the_file_means():
    """Changing the file at a path moves exactly the engine values that the path sets."""
    base = resolved(SCENE)
    model = load_scene(base)
    names = [i.name for i in model.engine.parameters]
    tried = 0
    for path, target in targets(model.parts, model.engine).items():
        if "rotation" in path or "[" in path or path == "world.gravity" or "gravity." in path:
            continue  # the file has a quaternion; [i] is the same path; gravity: below
        if path.startswith("bodies.cube.inertia") or ".surface_" in path:
            continue  # the size of a surface: test_contact_surface.py
        value = target.value * 1.25 + 1e-3
        if path.startswith("bodies.block.inertia."):
            continue
        other = load_scene(changed(base, path, value)).engine.values
        expected = model.engine.values
        for name, factor in target.sets.items():
            expected[names.index(name)] = factor * value
        assert other == pytest.approx(expected, rel=1e-12, abs=1e-15), path
        assert any(expected != model.engine.values), path
        tried += 1
    assert tried > 40


def test_units_of_the_tables_are_those_of_the_engine():
    """A key that is a path has the unit that the engine's parameter has."""
    tried = set()
    for scene in (SCENE, *EXAMPLES):
        parts = load_scene(scene)
        owners = {f"bodies.{name}": body for name, body in parts.parts.bodies.items()}
        owners |= {f"contact.{one.name}": one for one in parts.parts.contacts}
        owners |= {f"links.{one.name}": one for one in parts.parts.links}
        for path, target in targets(parts.parts, parts.engine).items():
            owner, _, key = path.rpartition(".")
            if owner in owners and key in owners[owner].section():
                unit = owners[owner].section()[key].unit
                assert target.unit in re.split(" or |, ", unit), path
                tried.add((type(owners[owner]), key))
    assert len(tried) > 25


def test_rolling_friction_at_zero_is_added_where_spheres_can_turn():
    """And changes no motion; a scene that has it all is itself."""
    scene = {
        "world": {"step": 0.002, "duration": 0.4},
        "materials": {"felt": {"k_n": 4000.0, "c_n": 0, "c_f": 0.5}},
        "bodies": {
            "ball": {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.2, "material": "felt",
                     "pose": {"position": [0, 0, 0.1]}, "velocity": [1, 0, 0]},
            "dot": {"type": "particle", "mass": 0.1, "pose": {"position": [1, 0, 0.1]},
                    "contact_spheres": {"points": {"positions": [[0, 0, 0]]}}},
        },
        "contact": [{"name": f"{name}_floor", "points": name, "against": {"plane": {}},
                     "k_n": 4000.0, "c_n": 0} for name in ("ball", "dot")],
    }  # fmt: skip
    plain = load_scene(scene)
    wider = plain.with_rolling()
    added = {i.name for i in wider.engine.parameters} - {i.name for i in plain.engine.parameters}
    assert added == {f"ball_floor.{word}" for word in ("c_roll", "c_spin", "k_roll")}
    assert wider.engine.values[wider.engine.index("ball_floor.c_roll")] == 0.0
    runs = [_engine.rollout(m.engine, m.engine.values, m.steps, m.options) for m in (plain, wider)]
    assert np.array_equal(runs[0].position, runs[1].position)
    assert not plain.parts.contacts[0].rolls and wider.with_rolling() is wider


def test_gravity_as_a_parameter_keeps_its_direction():
    model = load_scene(SCENE)
    target = targets(model.parts, model.engine)["world.gravity"]
    assert target.value == pytest.approx(math.hypot(1, 9))
    doubled = {name: factor * 2 * target.value for name, factor in target.sets.items()}
    assert doubled == pytest.approx({"gravity.x": 2, "gravity.z": -18})


def test_parameters_section():
    scene = copy.deepcopy(SCENE)
    scene["parameters"] = {
        "floor": None,
        "contact.floor.c_f": {
            "name": "mu",
            "bounds": [0.1, 1],
            "prior": {"mean": 0.3, "sigma": 0.1},
        },
        "bodies.cube.density": {"scale": "log", "also": {"bodies.dot.mass": {"factor": 1e-4}}},
        "world.gravity": {"name": "kappa", "value": 1, "factor": 9.0, "power": -1},
        "bodies.cube.velocity.x": {"support": "start"},
    }
    del scene["parameters"]["floor"]
    mu, density, kappa, velocity = load_scene(scene).parameters
    assert (mu.name, mu.unit, mu.value, mu.lower, mu.upper) == ("mu", "1", 0.4, 0.1, 1)
    assert (mu.prior_mean, mu.prior_sigma, mu.sets) == (0.3, 0.1, {"floor.c_f": (1.0, 1.0)})
    assert density.name == "bodies.cube.density" and density.unit == "kg/m^3"
    assert density.sets["cube.mass"] == pytest.approx((0.006, 1))
    assert density.sets["dot.mass"] == (1e-4, 1.0) and "cube.inertia.zz" in density.sets
    assert kappa.sets["gravity.z"] == pytest.approx((-9 * 9 / math.hypot(1, 9), -1))
    assert velocity.sets == {"cube.velocity.x": (1.0, 1.0)}
    assert density.value == 1000 and density.scale == "log"


@pytest.mark.parametrize(
    ("path", "entry", "hint"),
    [
        ("contact.flor.c_f", {}, "did you mean 'contact.floor.c_f'?"),
        ("contact.floor.c_f", {"unit": "N"}, "the unit of the path, 1"),
        ("contact.floor.c_f", {"bounds": [1, 2]}, "bounds around the value 0.4"),
        ("contact.floor.c_f", {"bounds": [-1, 2]}, "bounds within 0 to inf"),
        ("contact.floor.c_f", {"bounds": [2, 1]}, "lower < upper"),
        ("contact.floor.c_f", {"support": "start"}, "the path has 'always'"),
        ("contact.floor.c_f", {"prior": {"mean": 1}}, "required"),
        ("contact.floor.c_f", {"scal": "log"}, "did you mean 'scale'?"),
        ("contact.hit.c_f", {"scale": "log"}, "linear for a parameter that may be negative"),
        ("contact.floor.c_f", {"factor": 0}, "not zero"),
        ("contact.floor.c_f", {"also": {"contact.floor.c_f": {}}}, "not set already"),
        ("bodies.cube.pose.position.z", {"scale": "log", "bounds": [-1, 1]}, "may be negative"),
    ],
)
def test_wrong_parameters_are_named(path, entry, hint):
    scene = copy.deepcopy(SCENE)
    scene["parameters"] = {path: entry}
    with pytest.raises(InputError) as caught:
        load_scene(scene, base="x.yaml")
    assert str(caught.value).startswith(f"x.yaml: parameters.{path}")
    assert hint in str(caught.value)


def test_two_parameters_of_one_name_are_refused():
    scene = copy.deepcopy(SCENE)
    scene["parameters"] = {"contact.floor.c_f": {"name": "a"}, "contact.floor.k_n": {"name": "a"}}
    with pytest.raises(InputError, match="use `also`"):
        load_scene(scene)


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("contact.floor.c_f", "contact[0].c_f", "floor.c_f"),
        ("world.gravity", "world.gravity.z", "gravity.z"),
    ],
)
def test_two_paths_of_one_value_are_refused(first, second, name):
    """Parameters that set the same one are multiplied, which two values of it are not."""
    scene = copy.deepcopy(SCENE)
    scene["parameters"] = {first: {"name": "a"}, second: {"name": "b"}}
    with pytest.raises(InputError) as caught:
        load_scene(scene)
    assert f"parameters.{first} sets {name} too" in str(caught.value)
    scene["parameters"][second] |= {"value": 1, "factor": 1, "power": 2}  # meant as a factor
    assert len(load_scene(scene).parameters) == 2


@pytest.mark.parametrize("depth", [0.004, 0.02])
def test_deep_penetration_at_the_start_is_refused(depth):
    """Deep is 10 % of 0.1 m here: resting is m g / k_n = 0.6 mm; the cube stands upright."""
    scene = copy.deepcopy(SCENE)
    scene["world"]["gravity"] = [0, 0, -0.5]
    scene["bodies"]["cube"]["pose"] = {"position": [0, 0, 0.15 - depth]}
    if depth < 0.01:
        load_scene(scene)
        return
    with pytest.raises(InputError) as caught:
        load_scene(scene, base="x.yaml")
    text = str(caught.value)
    assert text.startswith("x.yaml: bodies.cube.pose.position: got [0.0, 0.0, 0.13]")
    assert "0.02 m inside; move the body out" in text and "'floor'" in text


def test_pictures_of_surfaces_agree_with_the_engine():
    scene = copy.deepcopy(SCENE)
    turn = {"position": [0.3, -0.2, -2], "rotation": [0.4, 0.5, -0.6]}
    scene["sdfs"] = {
        "slab": {"box": {"size": [0.4, 0.6, 0.2]}},
        "wall": {"plane": {"normal": [0.6, 0, 0.8], "offset": -3}},
        "pile": {"union": {"of": ["slab", {"sphere": {"radius": 0.3}}, "wall"]}},
        "there": {"transform": {"of": {"transform": {"of": "pile", **turn}}, "position": [0, 0, -1],
                                "rotation": [0, 0.3, 0]}},
    }  # fmt: skip
    scene["contact"][0]["against"] = "there"
    model = load_scene(scene)
    infos = [s for s in model.sdfs if s.name == "there"]
    assert [s.kind for s in infos] == ["box", "sphere", "plane"]
    assert {s.name for s in model.sdfs} == {"there", "hit"}
    x = np.random.default_rng(0).normal(0, 3, (500, 3))
    gaps = []
    for info in infos:
        local = (x - info.position) @ rotation.quat_matrix(info.orientation)
        if info.kind == "plane":
            gaps.append(local[:, 2])
        elif info.kind == "sphere":
            gaps.append(np.linalg.norm(local, axis=1) - info.size[0] / 2)
        else:
            q = np.abs(local) - np.array(info.size) / 2
            outside = np.linalg.norm(np.maximum(q, 0), axis=1)
            gaps.append(outside + np.minimum(q.max(axis=1), 0))
    gap, *_ = model.surfaces["floor"].evaluate(x)
    assert gap == pytest.approx(np.min(gaps, axis=0), abs=1e-12)


def test_energy_of_an_undamped_chain_is_kept_and_flows():
    scene = {
        "world": {"step": 2e-4, "duration": 0.5, "record_every": 50},
        "bodies": {
            "ball": {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.5,
                     "pose": {"position": [0.2, 0, 1]}, "angular_velocity": [1, 2, 3]},
            "dot": {"type": "particle", "mass": 0.1, "pose": {"position": [0.4, 0, 1]}},
        },
        "links": [
            {"name": "upper", "stiffness": 500, "pairs": [
                {"a": {"world": [0, 0, 1]}, "b": {"body": "ball", "point": [-0.05, 0, 0.01]}}]},
            {"name": "lower", "stiffness": 200, "pairs": [
                {"a": {"body": "ball", "point": [0.05, 0, 0]}, "b": {"body": "dot"}}]},
        ],
    }  # fmt: skip
    model = load_scene(scene)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert rollout.ok
    energy = model.engine.energies(rollout)
    assert energy["total"] == pytest.approx(
        sum(energy[k] for k in ("kinetic", "gravity", "springs", "contact"))
    )
    assert np.ptp(energy["gravity"]) > 0.2 and np.ptp(energy["springs"]) > 0.01
    assert np.ptp(energy["total"]) < 2e-3 * np.ptp(energy["gravity"])


def test_energy_goes_through_the_contact_and_comes_back():
    model = load_scene(EXAMPLES[0].parent / "bouncing_cube.yaml")
    options = _engine.Options(step=model.options.step, order=2, record_every=1)
    rollout = _engine.rollout(model.engine, model.engine.values, 900, options)
    energy = model.engine.energies(rollout)
    assert energy["contact"].max() > 0.8 * 0.3 * 9.81 * 0.3  # nearly all of m g h is in the contact
    assert energy["contact"][-1] == 0 and rollout.velocity[-1, 0, 2] > 0
    assert energy["total"][-1] == pytest.approx(energy["total"][0], rel=0.005)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path):
    model = load_scene(path)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert rollout.ok, rollout.message
    assert len(rollout.time) == model.steps // model.options.record_every + 1
    energy = model.engine.energies(rollout)
    assert (energy["contact"].max() > 0) == bool(model.description["contact"])
    driven = {"motor", "force", "torque"} & {link["type"] for link in model.description["links"]}
    bodies = model.description["bodies"].values()
    driven_keys = [body["keys"]["positions"] for body in bodies if body["type"] == "kinematic"]
    if not driven and not any(np.ptp(keys, axis=0).any() for keys in driven_keys):
        assert energy["total"].max() <= energy["total"][0] + 0.01 * np.ptp(energy["kinetic"])


def test_the_incline_block_accelerates_as_coulomb_says():
    model = load_scene(next(p for p in EXAMPLES if p.stem == "incline"))
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    slope = math.radians(20)
    expected = 9.81 * (math.sin(slope) - 0.25 * math.cos(slope))
    along = rollout.velocity[:, 0] @ [math.cos(slope), 0, -math.sin(slope)]
    late = rollout.time > 0.2
    measured = np.polyfit(rollout.time[late], along[late], 1)[0]
    assert measured == pytest.approx(expected, rel=0.02)


def test_a_mapping_and_a_file_and_base(tmp_path):
    path = tmp_path / "deep" / "scene.yaml"
    path.parent.mkdir()
    path.write_text(yaml_text(SCENE))
    assert load_scene(path).path == path
    assert load_scene("deep/scene.yaml", base=tmp_path).path == path
    assert load_scene("deep/scene.yaml", base=tmp_path / "estimation.yaml").path == path
    assert load_scene(SCENE).path is None
    assert load_scene(path).engine.values.tobytes() == load_scene(SCENE).engine.values.tobytes()


def test_values_and_an_estimations_result_set_parameters_of_the_engine(tmp_path):
    result = tmp_path / "result.yaml"
    result.write_text("parameters: {}\nscene: {floor.c_f: 0.21, string.stiffness: 7}\n")
    scene = {**SCENE, "estimated": "result.yaml", "values": {"floor.c_f": 0.3}}
    model = load_scene(scene, base=tmp_path)
    values = model.engine.values
    assert values[model.engine.index("floor.c_f")] == 0.3  # the file's own value wins
    assert values[model.engine.index("string.stiffness")] == 7
    again = load_scene(model.description)
    np.testing.assert_array_equal(again.engine.values, values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"floor.cf": 0.3}, "a parameter of this scene's engine; .*floor.c_f"),
        ({"floor.c_f": -0.3}, "floor.c_f"),
        ({"floor.c_f": "much"}, "values.floor.c_f"),
    ],
)
def test_values_that_the_engine_has_not_are_refused(values, words):
    with pytest.raises(InputError, match=words):
        load_scene({**SCENE, "values": values})


def test_a_file_that_is_no_result_is_refused(tmp_path):
    (tmp_path / "other.yaml").write_text("scene: path.yaml\n")
    with pytest.raises(InputError, match=r"a result\.yaml of diffsim estimate"):
        load_scene({**SCENE, "estimated": "other.yaml"}, base=tmp_path)
