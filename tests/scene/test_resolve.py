"""Reading and resolving scene files: defaults, and an error for everything that is wrong."""

import copy
import itertools
import math

import numpy as np
import pytest
import yaml

from diffsim_ros import rotation
from diffsim_ros.errors import InputError
from diffsim_ros.fields import REQUIRED, Field, Reader
from diffsim_ros.output import yaml_text
from diffsim_ros.scene import build, schema, shapes
from diffsim_ros.yaml_file import read_yaml
from tests.scene.edits import check_refused, replaced, resolve

SCENE = yaml.safe_load(
    """
world: {step: 0.002, duration: 1}
materials:
  rubber: {density: 1000, k_n: 5000, c_f: 0.4}
bodies:
  cube:
    shape: {box: {size: [0.1, 0.2, 0.3]}}
    material: rubber
    pose: {position: [0, 0, 0.5]}
  ball:
    shape: {sphere: {radius: 0.05}}
    mass: 0.2
    pose: {position: [0, 0, 1.5]}
  dot: {type: particle, mass: 0.1, pose: {position: [0.3, 0, 1]}}
sdfs:
  table: {plane: {}}
contact:
  - {points: cube, against: table, c_n: 0.1}
  - {name: hit, points: ball, against: {box: {half_extents: [1, 1, 0.1]}}, k_n: 100}
links:
  - name: string
    pairs: [{a: {body: ball}, b: {body: dot}}]
    stiffness: 10
parameters:
  contact.hit.c_f: {name: mu}
"""
)


def changed(path, value):
    """SCENE with the value at a path of keys and numbers replaced."""
    return replaced(SCENE, path, value)


def test_defaults_are_evaluated_once_and_written():
    scene = resolve(SCENE, "x.yaml")
    cube, ball = scene["bodies"]["cube"], scene["bodies"]["ball"]
    assert cube["density"] == 1000 and "mass" not in cube  # from the material
    assert cube["contact_spheres"] == {"corners": {"radius": 0.05 * 0.05, "scale": 1.0}}
    assert ball["contact_spheres"] == {"sphere": {"radius": 0.05}}
    first, second = scene["contact"]
    assert first["name"] == "cube_table"
    assert (first["k_n"], first["c_f"]) == (5000, 0.4)
    assert second["c_f"] == 0 and second["c_n"] == 1
    assert second["against"] == {"box": {"size": [2.0, 2.0, 0.2]}}
    assert scene["links"][0]["rest_length"] == pytest.approx(math.hypot(0.3, 0.5), rel=1e-15)
    assert scene["links"][0]["damping"] == 0
    assert round(scene["world"]["duration"] / scene["world"]["step"]) == 500


def test_a_mass_wins_over_the_density_of_the_material():
    cube = resolve(changed("bodies/cube/mass", 1), "x.yaml")["bodies"]["cube"]
    assert cube["mass"] == 1 and "density" not in cube


def test_each_damping_law_gets_its_own_values():
    scene = copy.deepcopy(SCENE)
    scene["contact"][1] |= {"damping": "ramped", "k_d": 3}
    ramped = resolve(scene, "x.yaml")["contact"][1]
    assert (ramped["k_d"], ramped["d_0"]) == (3, 5e-4) and "c_n" not in ramped
    scene["contact"][1] |= {"damping": "thesis", "c_s": 0.4, "f_0": 2}
    thesis = resolve(scene, "x.yaml")["contact"][1]
    assert thesis["k_d"] == 3 and "d_0" not in thesis and "c_n" not in thesis
    assert (thesis["c_s"], thesis["f_0"]) == (0.4, 2)


def test_k_t_is_held_when_the_step_changes():
    resolved = resolve(SCENE, "x.yaml")
    finer = copy.deepcopy(resolved)
    finer["world"]["step"] = 0.001
    assert resolve(finer, "x.yaml")["contact"][0]["k_t"] == resolved["contact"][0]["k_t"]
    unresolved = changed("world/step", 0.001)
    assert resolve(unresolved, "x.yaml")["contact"] == resolved["contact"]  # no step is in it


@pytest.mark.parametrize("seed", range(20))
def test_a_resolved_scene_resolves_to_itself_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    scene = copy.deepcopy(SCENE)
    scene["bodies"]["cube"]["pose"]["rotation"] = rng.normal(0, 2, 3).tolist()
    quaternion = rng.normal(size=4)
    scene["bodies"]["ball"]["pose"]["orientation"] = (
        quaternion / np.linalg.norm(quaternion) * 1.0005
    ).tolist()
    scene["sdfs"]["table"] = {"plane": {"normal": rng.normal(size=3).tolist(), "offset": -9.0}}
    resolved = resolve(scene, "x.yaml")
    assert resolve(yaml.safe_load(yaml_text(resolved)), "x.yaml") == resolved


@pytest.mark.parametrize(
    ("path", "value", "key", "hint"),
    [
        ("world/stepp", 1, "world.stepp", "did you mean 'step'?"),
        ("world/step", 0, "world.step", "> 0 [s]"),
        ("world/step", REQUIRED, "world.step", "required"),
        ("world/step", "2 mm", "world.step", "mm is no unit of this key; it has s"),
        ("world/step", "2 sec", "world.step", "sec is no known unit"),
        ("world/step", "1/0", "world.step", "> 0 [s]"),
        ("world/duration", 1e-5, "world.duration", "at least one step of 0.002 s"),
        ("world/scheme", "bdf3", "world.scheme", "bdf1 or bdf2 or generalized_alpha; did you mean"),
        ("world/tolerance", 2, "world.tolerance", "a number > 0, at most 1"),
        ("world/max_halvings", 17, "world.max_halvings", "a whole number from 0 to 16"),
        ("world/spectral_radius", 0.5, "world.spectral_radius", "scheme: generalized_alpha"),
        ("world/spectral_radius", -0.5, "world.spectral_radius", ">= 0 [1]"),
        ("world/record_every", 1.5, "world.record_every", "whole number >= 1"),
        ("world/record_every", 501, "world.record_every", "at most the 500 steps"),
        ("world/gravity", [0, 0], "world.gravity", "three finite numbers [m/s^2]"),
        ("world/gravity", [0, 0, math.nan], "world.gravity[2]", "a finite number [m/s^2]"),
        ("world", [], "world", "a mapping"),
        ("bodies", {}, "bodies", "at least one body"),
        ("bodies/cube/mas", 1, "bodies.cube.mas", "did you mean 'mass'?"),
        ("bodies/ball/mass", -0.2, "bodies.ball.mass", "> 0 [kg]"),
        ("bodies/ball/mass", True, "bodies.ball.mass", "> 0 [kg]"),
        ("bodies/ball/mass", math.inf, "bodies.ball.mass", "finite"),
        ("bodies/ball/mass", "0 g", "bodies.ball.mass", "> 0 [kg]"),
        ("bodies/ball/mass", "2 lb", "bodies.ball.mass", "lb is no known unit"),
        ("bodies/ball/mass", "heavy", "bodies.ball.mass", "> 0 [kg]"),
        ("bodies/ball/mass", REQUIRED, "bodies.ball.mass", "a material with a density"),
        ("bodies/ball/density", 3, "bodies.ball.density", "either mass or density"),
        ("bodies/ball/inertia", [1, 1, 3], "bodies.ball.inertia", "none above the sum"),
        ("bodies/ball/inertia", [1, 1, -1], "bodies.ball.inertia", "positive principal moments"),
        ("bodies/ball/inertia", "round", "bodies.ball.inertia", "'uniform'"),
        ("bodies/ball/shape", REQUIRED, "bodies.ball.inertia", "or give a shape"),
        ("bodies/ball/shape", {"cone": {}}, "bodies.ball.shape.cone", "'box:'"),
        ("bodies/ball/shape/sphere/radius", -1, "bodies.ball.shape.sphere.radius", "> 0 [m]"),
        ("bodies/cube/shape/box/half_extents", [1, 1, 1], "bodies.cube.shape.box", "exactly one"),
        ("bodies/cube/shape/box/size", [1, 1, 0], "bodies.cube.shape.box.size[2]", "> 0 [m]"),
        ("bodies/cube/material", "ruber", "bodies.cube.material", "did you mean 'rubber'?"),
        ("bodies/cube/pose/orientation", [0, 0, 0, 2], "bodies.cube.pose.orientation", "norm is 2"),
        ("bodies/cube/pose/orientation", [0, 0, 0, 0], "bodies.cube.pose.orientation", "not all"),
        ("bodies/cube/contact_spheres", {"corners": {"radius": 0.06}},
         "bodies.cube.contact_spheres.corners.radius", "at most the smallest half edge"),
        ("bodies/ball/contact_spheres", "corners", "bodies.ball.contact_spheres.corners",
         "a box as shape"),
        ("bodies/ball/contact_spheres", {"point": {}, "sphere": {}},
         "bodies.ball.contact_spheres", "exactly one"),
        ("bodies/dot/angular_velocity", [0, 0, 1], "bodies.dot.angular_velocity", "type: rigid"),
        ("bodies/dot/pose/rotation", [0, 0, 1], "bodies.dot.pose.rotation", "type: rigid"),
        ("bodies/bad name", {}, "bodies.bad name", "a name made of letters"),
        ("sdfs/table/plane", {"normal": [0, 0, 0]}, "sdfs.table.plane.normal", "not zero"),
        ("sdfs/table", {"transform": {"of": "table"}}, "sdfs.table.transform.of", "themselves"),
        ("sdfs/table", {"union": {"of": []}}, "sdfs.table.union.of", "at least one surface"),
        ("contact/0/points", "cub", "contact[0].points", "did you mean 'cube'?"),
        ("contact/0/against", "tabel", "contact[0].against", "did you mean 'table'?"),
        ("contact/1/k_n", -5, "contact[1].k_n", "> 0 [N/m]"),
        ("contact/0/k_d", 3, "contact[0].k_d", "c_n with damping: continuous"),
        ("contact/0/damping", "ramped", "contact[0].c_n", "k_d and d_0 with damping: ramped"),
        ("contact/1/d_0", 1e-3, "contact[1].d_0", "c_n with damping: continuous"),
        ("contact/1/damping", "rampd", "contact[1].damping", "did you mean 'ramped'?"),
        ("contact/1/c_s", 0.5, "contact[1].f_0", "c_s needs it; give both"),
        ("contact/1/f_0", 5, "contact[1].c_s", "f_0 needs it; give both"),
        ("contact/1/friction", "cone", "contact[1].friction", "linear or tanh"),
        ("contact/1/name", "string", "links[0].name", "contact[1].name has it already"),
        ("contact/1/weights", [0.5, 0.5], "contact[1].weights", "each of the 1 contact_spheres"),
        ("contact/0/weights", [0.1] * 8, "contact[0].weights", "their sum is 0.8"),
        ("links/0/stiffness", -10, "links[0].stiffness", ">= 0 [N/m]"),
        ("links/0/pairs", [], "links[0].pairs", "at least one"),
        ("links/0/pairs/0/a", {"body": "bal"}, "links[0].pairs[0].a.body", "did you mean 'ball'?"),
        ("links/0/pairs/0/a", {}, "links[0].pairs[0].a", "body (and point), or world"),
        ("links/0/pairs/0/b/point", [1, 0, 0], "links[0].pairs[0].b.point", "no point on a"),
    ],
)  # fmt: skip
def test_wrong_input_is_named_with_file_path_value_and_rule(path, value, key, hint):
    check_refused(changed(path, value), f"{key}: got ", hint)


def test_numbers_with_units_are_those_in_si():
    def described(size, mass, turn, k_n):
        scene = changed("bodies/cube/shape/box/size", size)
        for path, value in (("bodies/ball/mass", mass), ("bodies/cube/pose/rotation", turn),
                            ("contact/1/k_n", k_n)):  # fmt: skip
            scene = replaced(scene, path, value)
        return resolve(scene, "x.yaml")

    units = described(["100 mm", "10cm", 0.1], "200 g", [0, 0, "90 deg"], "3 kN/m")
    assert units == described([0.1, 0.1, 0.1], 0.2, [0, 0, math.pi / 2], 3000.0)


def test_numbers_may_be_fractions_or_carry_a_unit():
    read = Reader("x").value
    step = Field("number", "", "s")
    assert read(step, "1/480", "k") == 1 / 480
    assert read(step, "2e-3 s", "k") == 0.002
    assert read(step, "2e-3", "k") == 0.002  # PyYAML reads this one as a text
    for wrong in ("1 /2 s", "1//2", "s", "", "0x10", "1 2", "1" * 10**6 + "..", "1 s" * 10**5):
        with pytest.raises(InputError):
            read(step, wrong, "k")


def test_angles_beyond_a_turn_without_a_unit_are_taken_for_degrees():
    angle = Field("vector3", "", "rad")
    with pytest.warns(UserWarning, match=r"x: k\[2\]: -90 rad .* `-90 deg`") as caught:
        assert Reader("x").value(angle, [0, 0, -90], "k") == [0, 0, -90]
    assert len(caught) == 1
    assert Reader("x").value(angle, [0, "720 deg", "9 rad"], "k") == [0, 4 * math.pi, 9]


def test_broken_files_name_file_and_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("world:\n  step: 1\n  step: 2\n")
    with pytest.raises(InputError, match=r"a\.yaml: line 3: got .*'step' is given twice"):
        read_yaml(path)
    path.write_text("world: [1\n")
    with pytest.raises(InputError, match=r"a\.yaml: line 2"):
        read_yaml(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_yaml(path)
    with pytest.raises(InputError, match=r"b\.yaml: got .*did you mean .*a\.yaml"):
        read_yaml(tmp_path / "b.yaml")


def test_defaults_are_never_shared_between_scenes():
    first = resolve({"world": {"step": 1, "duration": 1}, "bodies": SCENE["bodies"],
                     "materials": SCENE["materials"]}, "x")  # fmt: skip
    first["world"]["gravity"][2] = 5.0
    assert schema.WORLD["gravity"].default == [0.0, 0.0, -9.81]


def test_uniform_inertia_and_volume_match_sampling():
    rng = np.random.default_rng(0)
    size = np.array([0.2, 0.3, 0.5])
    for kind in ("box", "sphere"):
        edges = size if kind == "box" else np.full(3, 0.3)
        x = rng.uniform(-0.5, 0.5, (400_000, 3)) * edges
        if kind == "sphere":
            inside = np.linalg.norm(x, axis=1) <= 0.15
            assert shapes.volume(kind, edges) == pytest.approx(inside.mean() * 0.027, rel=5e-3)
            x = x[inside]
        else:
            assert shapes.volume(kind, edges) == pytest.approx(0.03)
        square = (x**2).mean(axis=0)
        sampled = square.sum() - square
        assert shapes.uniform_inertia(kind, edges)[:3] == pytest.approx(sampled, rel=1e-2)
        assert not shapes.uniform_inertia(kind, edges)[3:].any()


def test_corner_spheres_touch_the_nominal_faces():
    size, radius, scale = np.array([0.1, 0.2, 0.3]), 0.01, 1.02
    corners = shapes.corner_contact_spheres(size, radius, scale)
    centres = corners.centres()
    assert len(np.unique(np.sign(centres), axis=0)) == 8
    assert np.abs(centres) + radius == pytest.approx(np.tile(scale * size / 2, (8, 1)))


@pytest.mark.parametrize("per_edge", [2, 3, 6])
def test_face_grid_covers_all_faces_once(per_edge):
    size, radius = np.array([0.1, 0.2, 0.3]), 0.01
    grid = shapes.face_grid_contact_spheres(size, per_edge, radius, 1.0)
    assert len(grid.local) == per_edge**3 - max(per_edge - 2, 0) ** 3
    assert len(np.unique(np.round(grid.local, 12), axis=0)) == len(grid.local)
    outermost = np.max(np.abs(grid.centres()) + radius - size / 2, axis=1)
    assert outermost == pytest.approx(0, abs=1e-15)  # every sphere touches a face, none sticks out


def test_rotation_round_trips_and_matrix():
    rng = np.random.default_rng(1)
    for vector in [*rng.normal(0, 1, (20, 3)), [0, 0, 0], [1e-12, 0, 0], [math.pi - 1e-9, 0, 0]]:
        q = rotation.quat_exp(vector)
        assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
        if np.linalg.norm(vector) < math.pi:
            assert rotation.quat_log(q) == pytest.approx(np.array(vector), abs=1e-12)
        matrix = rotation.quat_matrix(q)
        assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=1e-12)
        twice = rotation.quat_matrix(rotation.quat_multiply(q, q))
        assert twice == pytest.approx(matrix @ matrix, abs=1e-12)
    quarter = rotation.quat_exp([0, 0, math.pi / 2])
    assert rotation.quat_matrix(quarter) @ [1, 0, 0] == pytest.approx([0, 1, 0])
    for a, b in itertools.product(np.vstack([np.eye(3), -np.eye(3)]), repeat=2):
        turn = rotation.quat_matrix(rotation.quat_between(a, b))
        assert turn @ a == pytest.approx(b, abs=1e-12)


def test_generalized_alpha_has_a_spectral_radius():
    """0.8 where none is given; only numbers up to 1."""

    def world(scene):
        return resolve(scene, "x.yaml")["world"]

    alpha = replaced(SCENE, "world/scheme", "generalized_alpha")
    assert world(SCENE)["spectral_radius"] is None
    assert world(alpha)["spectral_radius"] == 0.8
    options = build.engine_options(world(replaced(alpha, "world/spectral_radius", 1)))
    assert (options.order, options.spectral_radius) == (2, 1.0)
    check_refused(replaced(alpha, "world/spectral_radius", 1.1), "world.spectral_radius", "0 and 1")
    hybrid = replaced(alpha, "contact/0/friction", "hybrid")
    check_refused(hybrid, "contact[0].friction", "linear or tanh with world.scheme")
