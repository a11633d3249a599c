"""Scene files with soft bodies, kinematic bodies, links and more surfaces: defaults, and errors by
name."""

import copy
import math

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.fields import REQUIRED
from diffsim_ros.output import yaml_text
from diffsim_ros.scene import resolve as parts
from diffsim_ros.scene.bodies.regions import region
from tests.scene.edits import check_refused, replaced, resolve

SCENE = yaml.safe_load(
    """
world: {step: 0.01, duration: 1}
materials:
  gel: {density: 1000, young: 3.0e+4, poisson: 0.45, viscosity: 5, k_n: 1.0e+4, c_f: 0.3}
bodies:
  cube:
    type: solid
    shape: {box: {size: [0.1, 0.1, 0.2], edge: 0.05}}
    material: gel
    element: p2
    glue: [{to: hand, where: {plane: {normal: [0, 0, -2], offset: -0.1}}}]
  ball: {type: solid, shape: {ball: {radius: 0.1, edge: 0.05}}, material: gel, young: 1.0e+5,
         pose: {position: [0, 0, 1], rotation: [0.1, 0.2, 0.3]}}
  sheet:
    type: cloth
    shape: {rectangle: {size: [0.4, 0.2], cells: [4, 2]}}
    mass_per_area: 0.5
    stretch: {stiffness: 100, damping: 0.1}
    pose: {position: [1, 0, 1], rotation: [0, 0.5, 0]}
    pinned: [{box: {centre: [-0.2, 0, 0], size: [0.01, 1, 1]}}, [14]]
  rope: {type: string, shape: {line: {length: 1, masses: 5}}, mass: 0.1, stretch: {stiffness: 50},
         glue: [{to: rod, where: [0]}], pose: {position: [2, 0, 2]}}
  rod: {shape: {box: {size: [0.1, 0.1, 0.5]}}, mass: 1, pose: {position: [2, 0, 3]}}
  bob: {shape: {sphere: {radius: 0.05}}, mass: 1, pose: {position: [2, 0, 3.5]}}
  hand:
    type: kinematic
    waypoints:
      - {time: 0, position: [0, 0, 0.1]}
      - {time: 0.2, position: [0, 0, 0.3], rotation: [0, 0, 3]}
      - {time: 0.5, position: [0, 0, 0.3], orientation: [0, 0, -0.3, 0.954]}
sdfs:
  ring: {torus: {ring_radius: 0.5, tube_radius: 0.1}}
  cup: {difference: {of: [{cylinder: {height: 1, radius: 0.5}}, ring], width: 0.01}}
  wedge: {half_spaces: {normals: [[0, 0, 2], [1, 0, 1]], offsets: [0, 0.5]}}
contact:
  - {name: touch, points: ball, against: cup}
  - {name: carried, points: ball, against: {sphere: {radius: 0.1}}, carrier: rod, friction: tanh}
links:
  - {name: knee, type: joint, kind: hinge, body_a: rod, body_b: bob, position: [2, 0, 3.3],
     axis: [0, 2, 0], limits: {upper: 1, stiffness: 5}}
  - {name: drive, type: motor, joint: knee, keys: [0, 1, 0.5], interval: 0.2, stiffness: 3}
  - {name: stay, type: cable, stiffness: 100,
     via: [{world: [0, 0, 3]}, {body: bob, point: [0, 0, 0.05]}, {body: rope, vertex: 4}]}
  - {name: push, type: force, body: ball, where: {all: {}}, force: [0, 0, 3]}
  - {name: twist, type: torque, body: rod, torque: [[0, 0, 1], [0, 0, 0]], interval: 0.5}
  - {name: air, type: drag, body: sheet, c_quadratic: 0.1}
"""
)


def changed(path, value):
    """SCENE with the value at a path of keys and numbers replaced."""
    return replaced(SCENE, path, value)


def test_defaults_are_evaluated():
    scene = resolve(SCENE, "x.yaml")
    cube, ball = scene["bodies"]["cube"], scene["bodies"]["ball"]
    assert cube["shape"] == {"box": {"size": [0.1, 0.1, 0.2], "cells": [2, 2, 4], "split": "six",
                                     "grading": [1.0, 1.0, 1.0]}}  # fmt: skip
    assert (cube["young"], cube["density"], cube["model"]) == (3e4, 1000, "neo_hookean")
    assert cube["glue"][0]["where"]["plane"] == {"normal": [0, 0, -1], "offset": -0.1}
    assert ball["shape"]["ball"] == {"radius": 0.1, "layers": 2} and ball["young"] == 1e5
    assert ball["contact_spheres"] == {"surface": {"radius": 0.0}}
    assert scene["contact"][0]["k_n"] == 1e4 and scene["contact"][0]["c_f"] == 0.3
    assert scene["contact"][1]["carrier"] == "rod"
    knee, drive, stay, *_ = scene["links"]
    assert knee["axis"] == [0, 1, 0] and "lower" not in knee["limits"]
    assert drive["kind"] == "position" and drive["keys"] == [0, 1, 0.5]
    end = np.linalg.norm(np.array([2.5, 0, 2]) - [2, 0, 3.55])
    assert stay["rest_length"] == pytest.approx(math.hypot(2, 0.55) + end)
    assert scene["sdfs"]["wedge"]["half_spaces"]["normals"][1] == pytest.approx(
        [0.5**0.5, 0, 0.5**0.5]
    )


def test_a_cylinder_is_cut_by_the_length_of_edges():
    cylinder = {"radius": 0.05, "height": 0.2, "edge": 0.025}
    scene = resolve(changed(f"{CUBE}/shape", {"cylinder": cylinder}), "x.yaml")
    shape = {"radius": 0.05, "height": 0.2, "rings": 2, "layers": 8}
    assert scene["bodies"]["cube"]["shape"] == {"cylinder": shape}


def test_pinned_vertices_are_held_by_the_world():
    sheet = parts.resolve(SCENE, "x.yaml").bodies["sheet"]
    ((world, edge), (again, corner)) = sheet.held_vertices()
    assert (world, again) == ("", "") and (edge, corner) == ([0, 1, 2], [14])


def test_waypoints_become_keys_at_the_greatest_common_interval():
    keys = resolve(SCENE, "x.yaml")["bodies"]["hand"]["keys"]
    assert keys["interval"] == pytest.approx(0.1) and len(keys["positions"]) == 6
    assert keys["positions"][1] == pytest.approx([0, 0, 0.2])
    assert keys["rotations"][2] == [0, 0, 3]
    turn = 2 * math.pi - 2 * math.atan2(0.3, 0.954)  # not back through zero
    assert keys["rotations"][5] == pytest.approx([0, 0, turn], abs=1e-3)
    assert keys["rotations"][3][2] == pytest.approx(3 + (turn - 3) / 3, abs=1e-3)


def test_a_resolved_scene_resolves_to_itself_to_the_bit():
    resolved = resolve(SCENE, "x.yaml")
    assert resolve(yaml.safe_load(yaml_text(resolved)), "x.yaml") == resolved


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"all": {}}, 27),
        ({"box": {"centre": [0.05, 0, 0], "size": [0.01, 1, 1]}}, 9),
        ({"sphere": {"radius": 0.051}}, 7),
        ({"plane": {"normal": [1, 0, 0], "offset": 0}}, 18),
        ({"vertices": {"numbers": [3, 1, 3]}}, 2),
    ],
)
def test_regions(where, count):
    scene = copy.deepcopy(SCENE)
    scene["bodies"]["cube"] |= {"shape": {"box": {"size": [0.1] * 3, "cells": [2, 2, 2]}},
                                "element": "p1", "glue": []}  # fmt: skip
    shape = parts.resolve(scene, "x").bodies["cube"].mesh
    ((kind, values),) = where.items()
    values = {"centre": [0, 0, 0], **values} if kind in ("box", "sphere") else values
    assert len(region({kind: values}, shape.vertices)) == count


CUBE, SHEET, ROPE, HAND = (f"bodies/{n}" for n in ("cube", "sheet", "rope", "hand"))


@pytest.mark.parametrize(
    ("path", "value", "key", "hint"),
    [
        (f"{CUBE}/type", "solidd", "bodies.cube.type", "did you mean 'solid'?"),
        (f"{CUBE}/yung", 1, "bodies.cube.yung", "did you mean 'young'?"),
        (f"{CUBE}/mass", 1, "bodies.cube.mass", "one of type, shape"),
        (f"{CUBE}/poisson", 0.5, "bodies.cube.poisson", "below 0.5; 0.499"),
        (f"{CUBE}/poisson", -0.1, "bodies.cube.poisson", ">= 0"),
        (f"{CUBE}/young", -3, "bodies.cube.young", "> 0 [Pa]"),
        (f"{CUBE}/material", REQUIRED, "bodies.cube.density", "or a material with it"),
        (f"{CUBE}/element", "p3", "bodies.cube.element", "did you mean"),
        (f"{CUBE}/shape", {"boxx": {}}, "bodies.cube.shape.boxx", "did you mean 'box'?"),
        (f"{CUBE}/shape/box/cells", [1, 1, 1], "bodies.cube.shape.box", "either cells or edge"),
        (f"{CUBE}/shape", {"cylinder": {"radius": 1, "height": 2, "rings": 2, "edge": 0.5}},
         "bodies.cube.shape.cylinder", "either rings or edge"),
        (f"{CUBE}/shape", {"cylinder": {"radius": 1, "height": 2, "rings": 2}},
         "bodies.cube.shape.cylinder", "either layers or edge"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "cells": [1, 1]}, "bodies.cube.shape.box.cells",
         "3 whole numbers"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "cells": [1, 1, 1.5]},
         "bodies.cube.shape.box.cells", "whole numbers >= 1"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "edge": 0.5, "split": "fiv"},
         "bodies.cube.shape.box.split", "did you mean 'five'?"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "edge": 0.5, "grading": 2},
         "bodies.cube.shape.box.grading", "three finite numbers >= 0.001"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "edge": 0.5, "grading": [1, 0, 1]},
         "bodies.cube.shape.box.grading[1]", ">= 0.001"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "edge": 0.5, "grading": [1, 1, 1001]},
         "bodies.cube.shape.box.grading[2]", "from 0.001 to 1000"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "cells": [1, 2, 2], "grading": [2, 1, 1]},
         "bodies.cube.shape.box.grading[0]", "axis of one cell; give it more cells"),
        (f"{CUBE}/shape/box", {"size": [1, 1, 1], "cells": [2, 2, 2], "grading": [1, 1, 900]},
         "bodies.cube.shape.box", "change their numbers or the grading"),
        (f"{CUBE}/shape", {"mesh": {"file": "a.step"}}, "bodies.cube.shape.mesh.file", ".obj"),
        (f"{CUBE}/shape", {"mesh": {"file": "a.vtk", "edge": 1}}, "bodies.cube.shape.mesh.edge",
         "remove it"),
        (f"{CUBE}/contact_spheres", "corners", "bodies.cube.contact_spheres.corners", "'surface:'"),
        (f"{CUBE}/glue/0/to", "hnd", "bodies.cube.glue[0].to", "did you mean 'hand'?"),
        (f"{CUBE}/glue/0/to", "ball", "bodies.cube.glue[0].to", "a rigid body or kinematic body"),
        (f"{CUBE}/glue/0/where", {"sphere": {"centre": [9, 9, 9], "radius": 1}},
         "bodies.cube.glue[0].where", "its vertices lie within [-0.05, -0.05, -0.1]"),
        (f"{CUBE}/glue/0/where", {"all": {}}, "bodies.cube.glue", "at least one free vertex"),
        (f"{CUBE}/glue/0/where", [99999], "bodies.cube.glue[0].where.vertices", "vertices from 0"),
        (f"{CUBE}/glue/0/where", {"plane": {"normal": [0, 0, 0]}},
         "bodies.cube.glue[0].where.plane.normal", "not zero"),
        (f"{SHEET}/pinned/1", [0], "bodies.sheet.pinned[1]", "pinned holds it already"),
        (f"{SHEET}/mass", 1, "bodies.sheet.mass", "give exactly one"),
        (f"{SHEET}/stretch", REQUIRED, "bodies.sheet.stretch", "required"),
        (f"{SHEET}/stretch/damping", -1, "bodies.sheet.stretch.damping", ">= 0"),
        (f"{SHEET}/shape/rectangle/size", [1], "bodies.sheet.shape.rectangle.size", "two finite"),
        (f"{ROPE}/shear", {"stiffness": 1}, "bodies.rope.shear", "did you mean"),
        (f"{ROPE}/shape/line/masses", 1, "bodies.rope.shape.line.masses", ">= 2"),
        (f"{HAND}/pose", {}, "bodies.hand", "give exactly one"),
        (f"{HAND}/waypoints/1/time", 0.205, "bodies.hand.waypoints[1].time", "steps of 0.01 s"),
        (f"{HAND}/waypoints/1/time", 0.5, "bodies.hand.waypoints[2].time", "increase"),
        (f"{HAND}/waypoints/0/time", 0.1, "bodies.hand.waypoints[0].time", "0 s"),
        (f"{HAND}/waypoints/1/rotation", [0, 0, "7 rad"], "bodies.hand.waypoints",
         "shorter than 6.2"),
        ("contact/1/carrier", "ball", "contact[1].carrier", "one of the two must be rigid"),
        ("contact/1/carrier", "rodd", "contact[1].carrier", "did you mean 'rod'?"),
        ("contact/0/weights", [1], "contact[0].weights", "each of the 42 contact_spheres"),
        ("contact/0/friction", "hybird", "contact[0].friction", "did you mean 'hybrid'?"),
        ("contact/0/c_roll", -1, "contact[0].c_roll", ">= 0 [m]"),
        ("sdfs/ring/torus/tube_radius", 0.6, "sdfs.ring.torus.tube_radius", "thinner"),
        ("sdfs/wedge/half_spaces/offsets", [0], "sdfs.wedge.half_spaces.offsets", "one offset"),
        ("sdfs/cup/difference/of", [], "sdfs.cup.difference.of", "at least one"),
        ("sdfs/cup/difference/of/0", {"cyl": {}}, "sdfs.cup.difference.of[0].cyl", "did you mean"),
        ("sdfs/ring", {"mesh": {"file": "no.stl"}}, "sdfs.ring.mesh.file", "that exists"),
        ("sdfs/ring", {"vdb": {"file": "no.vdb"}}, "sdfs.ring.vdb.file", "that exists"),
        ("links/0/kind", "hing", "links[0].kind", "did you mean 'hinge'?"),
        ("links/0/type", "jont", "links[0].type", "did you mean 'joint'?"),
        ("links/0/body_a", "ball", "links[0].body_a", "glue soft bodies to a rigid body"),
        ("links/0/body_a", "bob", "links[0].body_b", "another body"),
        ("links/0/axis", [0, 0, 0], "links[0].axis", "not zero"),
        ("links/0/second_axis", [1, 0, 0], "links[0].second_axis", "for no other"),
        ("links/0/limits", {"stiffness": 1}, "links[0].limits", "a lower or upper limit"),
        ("links/0/limits/lower", 2, "links[0].limits.upper", "above the lower limit, 2"),
        ("links/0/kind", "ball", "links[0].limits", "a hinge, slider or planar joint"),
        ("links/1/joint", "kne", "links[1].joint", "did you mean 'knee'?"),
        ("links/1/kind", "force", "links[1].kind", "position or torque"),
        ("links/1/kind", "torque", "links[1].stiffness", "no stiffness for this kind"),
        ("links/1/interval", REQUIRED, "links[1].interval", "there are 3 keys"),
        ("links/1/keys", [1, "x"], "links[1].keys[1]", "a finite number"),
        ("links/2/via", [{"world": [0, 0, 0]}], "links[2].via", "at least two"),
        ("links/2/via/2/vertex", 5, "links[2].via[2]", "a vertex from 0 to 4"),
        ("links/2/via/1/vertex", 1, "links[2].via[1].vertex", "a point, not a vertex"),
        ("links/3/point", [0, 0, 0], "links[3]", "`where` and no `point`"),
        ("links/3/body", "hand", "links[3].body", "forces can move"),
        ("links/3/frame", "body", "links[3].frame", "has no frame"),
        ("links/3/force", [0, 1], "links[3].force[0]", "three finite numbers"),
        ("links/4/body", "ball", "links[4].body", "a rigid body"),
        ("links/5/body", "hand", "links[5].body", "a body with contact spheres"),
        ("links/5/name", "push", "links[5].name", "links[3].name has it already"),
    ],
)  # fmt: skip
def test_wrong_input_is_named_with_file_path_value_and_rule(path, value, key, hint):
    check_refused(changed(path, value), key, hint)


def test_a_spring_needs_a_rigid_end_and_names_the_way_out():
    scene = copy.deepcopy(SCENE)
    scene["links"].append({"name": "s", "stiffness": 1, "pairs": [
        {"a": {"body": "rope", "vertex": 1}, "b": {"world": [0, 0, 0]}}]})  # fmt: skip
    with pytest.raises(InputError, match=r"links\[6\]\.pairs\[0\]\.a\.vertex.*type: cable"):
        resolve(scene, "x.yaml")
