"""What `diffsim export` writes for MuJoCo moves as the scene does, and says what it lacks."""

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros
from diffsim_ros import _engine
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.export import CONTROLS, exported

mujoco = pytest.importorskip("mujoco")

STEP, DURATION = 2e-4, 0.3
BOX = {"shape": {"box": {"size": [0.2, 0.1, 0.06]}}, "mass": 0.5}
ARM = {**BOX, "pose": {"position": [0.12, 0.03, 1], "rotation": [0.2, 0.4, -0.3]}}
FORE = {**BOX, "mass": 0.3, "pose": {"position": [0.35, 0.05, 1.02], "rotation": [0, -0.5, 0.1]}}
LINK = {"type": "joint", "name": "one", "body_b": "arm", "position": [0, 0, 1]}
ELBOW = {"type": "joint", "name": "two", "body_a": "arm", "body_b": "fore",
         "position": [0.23, 0.04, 1.0]}  # fmt: skip
HINGE = {"kind": "hinge", "axis": [0.1, 1, 0.2]}
EXACT = {"coordinates": "reduced"}
SPIN = {"angular_velocity": [1.0, -2.0, 3.0]}
LOOP = {"kind": "ball", "coordinates": "constrained"}


def scene(bodies, links, **more):
    return {"world": {"step": STEP, "duration": DURATION, "record_every": 50},
            "bodies": bodies, "links": links, **more}  # fmt: skip


SCENES = {
    "ball": scene({"arm": {**ARM, "velocity": [-0.09, 0.36, 0.27], **SPIN}},
                  [{**LINK, "kind": "ball", "friction_damping": 0.01, "stiffness": 1e8}]),
    "universal": scene({"arm": ARM}, [{**LINK, **EXACT, "kind": "universal", "axis": [0, 1, 0],
                                       "second_axis": [1, 0, 0]}]),
    "universal, seen from its other body": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, **HINGE, **EXACT, "body_b": "fore"},
         {**ELBOW, "kind": "universal", "body_a": "arm", "axis": [0, 1, 0],
          "second_axis": [0, 0, 1], "stiffness": 1e8}]),
    "planar": scene({"arm": {**ARM, "velocity": [0.3, 0, 0.2], "angular_velocity": [0, 2.0, 0]}},
                    [{**LINK, "kind": "planar", "axis": [0, 1, 0], "stiffness": 1e7}]),
    "slider and spring": scene(
        {"arm": {**ARM, "velocity": [0, 0, 0.5]}},
        [{**LINK, **EXACT, "kind": "slider", "axis": [0, 0, 1], "coordinate": 0.1},
         {"type": "spring", "name": "coil", "stiffness": 60, "damping": 0.4, "rest_length": 0.3,
          "pairs": [{"a": {"world": [0.3, 0, 0.7]}, "b": {"body": "arm", "point": [0.1, 0, 0]}}]}]),
    "weld of a chain": scene({"arm": ARM, "fore": FORE}, [
        {**LINK, **HINGE, **EXACT}, {**ELBOW, **EXACT, "kind": "weld"}]),
    "chain whose hinge is turned round": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, **HINGE, "coordinate": 0.3, "stiffness": 1e8, "limits": {
            "upper": 3.0, "stiffness": 5}},
         {**ELBOW, "kind": "hinge", "axis": [1, 0, 0], "body_a": "fore", "body_b": "arm",
          "coordinate": -0.4, "friction_damping": 0.003, "armature": 0.002, "stiffness": 1e8}]),
    "free chain with motors": scene(
        {"arm": {**ARM, "velocity": [0.2, 0, 1]}, "fore": {**FORE, "velocity": [0.2, 0, 1]}},
        [{**ELBOW, **EXACT, "kind": "hinge", "axis": [0, 1, 0], "coordinate": 0.2},
         {"type": "motor", "name": "drive", "joint": "two", "stiffness": 8, "damping": 0.1,
          "keys": [0.2, 0.8, 0.1], "interval": 0.15},
         {"type": "motor", "name": "push", "joint": "two", "kind": "torque",
          "keys": [0.0, 0.1], "interval": 0.3}]),
    "motors at their limits": scene(
        {"arm": {**ARM, "velocity": [0.2, 0, 1]}, "fore": {**FORE, "velocity": [0.2, 0, 1]}},
        [{**ELBOW, **EXACT, "kind": "hinge", "axis": [0, 1, 0], "coordinate": 0.2},
         {"type": "motor", "name": "drive", "joint": "two", "stiffness": 8, "damping": 0.1,
          "keys": 1.2, "effort_lower": -0.05, "effort_upper": 0.04},
         {"type": "motor", "name": "push", "joint": "two", "kind": "torque",
          "keys": 0.1, "effort_upper": 0.02}]),
    "motor on a hinge that is turned round": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, **HINGE, **EXACT},
         {**ELBOW, "kind": "hinge", "axis": [0, 1, 0], "body_a": "fore", "body_b": "arm",
          "coordinate": 0.2, "stiffness": 1e8},
         {"type": "motor", "name": "drive", "joint": "two", "stiffness": 8, "damping": 0.1,
          "keys": 0.6}]),
    "planar, started elsewhere": scene(
        {"arm": {**ARM, "pose": {"position": [0.12, 0, 1]}, "velocity": [0.3, 0, 0.2],
                 "angular_velocity": [0, 2.0, 0]}},
        [{**LINK, "kind": "planar", "axis": [0, 1, 0], "stiffness": 1e7},
         {"type": "spring", "name": "coil", "stiffness": 60, "rest_length": 0.3,
          "pairs": [{"a": {"world": [0.3, 0, 0.7]}, "b": {"body": "arm", "point": [0.1, 0, 0]}}]}],
        values={"arm.position.x": 0.2, "arm.position.z": 0.9, "arm.rotation.y": 0.5}),
    "stiff rod": scene(
        {"bob": {"type": "particle", "mass": 0.2, "pose": {"position": [0.3, 0, 1]}}},
        [{"type": "spring", "name": "rod", "stiffness": 1e8, "damping": 100, "rest_length": 0.3,
          "pairs": [{"a": {"world": [0, 0, 1]}, "b": {"body": "bob"}}]}]),
    "loop of hinges": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, "kind": "hinge", "axis": [0, 1, 0], "coordinates": "constrained"},
         {**LINK, **EXACT, "name": "three", "body_b": "fore", "kind": "ball",
          "position": [0.45, 0.06, 1.07]},
         {**ELBOW, **EXACT, "kind": "hinge", "axis": [0, 1, 0], "body_a": "fore",
          "body_b": "arm"}]),
    "loop": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, **EXACT, "kind": "hinge", "axis": [0, 1, 0]},
         {**ELBOW, **EXACT, "kind": "hinge", "axis": [0, 1, 0]},
         {**LINK, **LOOP, "name": "three", "body_b": "fore", "position": [0.45, 0.06, 1.07]}]),
    "mimic": scene(
        {"arm": ARM, "fore": FORE},
        [{**LINK, **EXACT, "kind": "hinge", "axis": [0, 1, 0], "coordinate": 0.1},
         {**ELBOW, **EXACT, "kind": "hinge", "axis": [0, 1, 0], "coordinate": -0.1,
          "mimic": "one", "ratio": -2, "shift": 0.1}]),
    "payload": scene(
        {"arm": ARM},
        [{**LINK, **EXACT, **HINGE},
         {"type": "payload", "name": "tool", "body": "arm", "mass": 0.4, "origin": [0.1, 0, 0],
          "centre": [0, 0.02, 0.05], "inertia": [1e-3, 2e-3, 1.5e-3]}]),
    "particle on a cable": scene(
        {"bob": {"type": "particle", "mass": 0.2, "pose": {"position": [0.3, 0, 1]}}},
        [{"type": "cable", "name": "rope", "stiffness": 400, "rest_length": 0.32,
          "via": [{"world": [0, 0, 1]}, {"body": "bob"}]}]),
    "estimated start and mass": scene(
        {"arm": ARM}, [{**LINK, **EXACT, **HINGE}],
        values={"arm.mass": 0.7, "one.friction_damping": 0.02, "gravity.z": -9.0}),
}  # fmt: skip
WITHIN = {"universal, seen from its other body": 5e-5, "free chain with motors": 5e-5}
"""[m], where 1e-5 is too little: a joint is a spring here, a motor's control held for a step."""


LACKS = {
    "chain whose hinge is turned round": ["the stiffness of the limits of joint one"],
    "stiff rod": ["the stretch of spring rod, too stiff for steps of this size"],
}


def written(description, folder):
    model = load_scene(description)
    files, lacks = exported(model)
    for name, content in files.items():
        (folder / name).write_text(content)
    there = mujoco.MjModel.from_xml_path(str(folder / "scene.mjcf.xml"))
    return model, there, lacks["scene.mjcf.xml"]


def apart(model, there, controls, steps):
    """Largest distance [m] and angle [rad] of all bodies at the end, and of the start."""
    run = _engine.rollout(model.engine, model.engine.values, steps, model.options)
    assert run.ok, run.message
    there.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4  # the file has a faster one, of order 1
    data = mujoco.MjData(there)
    mujoco.mj_resetDataKeyframe(there, data, 0)
    found = []
    for k in (0, -1):
        if k:
            for step in range(steps):
                if len(controls):
                    data.ctrl[:] = controls[step]
                mujoco.mj_step(there, data)
        mujoco.mj_kinematics(there, data)
        distance, angle = [], []
        for name, body in model.parts.bodies.items():
            row = model.engine.nodes_of(name)[0]
            distance.append(np.linalg.norm(data.body(name).xpos - run.position[k, row]))
            if body.TURNS:
                cosine = abs(data.body(name).xquat[[1, 2, 3, 0]] @ run.orientation[k, row])
                angle.append(2 * np.arccos(min(cosine, 1.0)))
        found.append((max(distance), max(angle, default=0.0)))
    return found


@pytest.mark.parametrize("name", SCENES)
def test_mujoco_moves_as_the_scene(name, tmp_path):
    model, there, lacks = written(SCENES[name], tmp_path)
    table = tmp_path / CONTROLS
    controls = np.loadtxt(table, delimiter=",", skiprows=1)[:, 1:] if table.exists() else []
    start, end = apart(model, there, controls, model.steps)
    assert start == pytest.approx((0, 0), abs=1e-7)
    most = WITHIN.get(name, 1e-5)
    assert end[0] < most and end[1] < 10 * most, end
    assert lacks == LACKS.get(name, [])


TOUCHING = """
world: {step: 0.001, duration: 0.6, record_every: 20}
bodies:
  ball: {shape: {sphere: {radius: 0.05}}, mass: 0.2, pose: {position: [0.02, 0, 0.36]}}
  tray: {shape: {box: {size: [0.18, 0.18, 0.1]}}, mass: 2, pose: {position: [0, 0, 0.2505]}}
  foot: {mass: 1, inertia: [0.01, 0.01, 0.01], pose: {position: [2, 0, 0.051]},
         contact_spheres: {points: {radius: 0.02, positions: [[0.1, 0.1, -0.03],
             [-0.1, 0.1, -0.03], [0.1, -0.1, -0.03], [-0.1, -0.1, -0.03]]}}}
  stand: {type: kinematic, pose: {position: [0, 0, 0.1]}, shape: {box: {size: [0.2, 0.2, 0.2]}}}
sdfs: {floor: {plane: {offset: 0.001}}}
contact:
  - {pairs: [[ball, tray]], k_n: 8000, c_n: 1, c_f: 0.5}
  - {pairs: [[tray, stand]], k_n: 60000, c_n: 1, c_f: 0.5}
  - {name: sole, points: foot, against: floor, k_n: 20000, c_n: 1, c_f: 0.5}
  - {name: post, points: ball, k_n: 5000, c_f: 0.2,
     against: {transform: {of: {capsule: {length: 0.4, radius: 0.03}}, position: [1, 0, 0.2]}}}
"""


def test_what_touches_comes_to_rest_where_it_does_in_the_scene(tmp_path):
    model, there, lacks = written(yaml.safe_load(TOUCHING), tmp_path)
    assert lacks == [] and there.npair == 1 + 1 + 4 + 1
    assert there.geom("post_geom").size[:2] == pytest.approx([0.03, 0.2])
    assert there.geom("post_geom").pos == pytest.approx([1, 0, 0.2])
    _, end = apart(model, there, [], model.steps)
    assert end[0] < 2e-3 and end[1] < 0.01  # what presses sinks less in MuJoCo


LAWS = """
world: {step: 0.001, duration: 0.1}
bodies:
  one: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 1, pose: {position: [0, 0, 1]}}
  two: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 3, pose: {position: [0, 0, 2]}}
  tip: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 2, pose: {position: [0.2, 0, 2]}}
sdfs: {floor: {plane: {offset: 0.1}}, post: {sphere: {radius: 0.05}}}
contact:
  - {pairs: [[one, two]], k_n: 6000, c_n: 0, c_f: 0.5, c_spin: 0.01, c_roll: 0.002}
  - {name: low, points: tip, against: floor, k_n: 4000, c_n: 0, c_f: 0.5}
  - {name: high, points: one, against: post, damping: thesis, k_n: 1000, k_d: 20}
links: [{type: joint, name: bond, kind: weld, body_a: two, body_b: tip, position: [0.1, 0, 2],
         coordinates: reduced}]
values: {low.surface_offset: 0.02, low.surface_scale: 2, high.surface_scale: 3}
"""


def test_laws_of_contacts_are_per_mass_of_what_they_carry(tmp_path):
    _, there, _ = written(yaml.safe_load(LAWS), tmp_path)
    found = {}
    for k in range(there.npair):
        names = {there.geom(g).name for g in (there.pair_geom1[k], there.pair_geom2[k])}
        found[frozenset(names)] = there.pair_solref[k], there.pair_friction[k], there.pair_dim[k]
    stiffness, friction, size = found[frozenset({"one_geom", "two_geom"})]
    # bodies two and tip are one of 5 kg, of which both touch: a half each
    assert stiffness[0] == pytest.approx(-6000 * (1 / 1 + 1 / 2.5) / 0.95)
    assert friction == pytest.approx([0.5, 0.5, 0.01, 0.002, 0.002]) and size == 6
    stiffness, _, size = found[frozenset({"tip_geom", "floor_geom"})]
    assert stiffness[0] == pytest.approx(-4000 / 2.5 / 0.95) and size == 3
    stiffness, _, _ = found[frozenset({"one_geom", "post_geom"})]
    assert stiffness == pytest.approx([-1000 / 0.95, -20 / 0.95])  # a linear dashpot as it is
    assert there.geom("floor_geom").pos[2] == pytest.approx(2 * 0.1 + 0.02)
    assert there.geom("post_geom").size[0] == pytest.approx(3 * 0.05)


def test_files_that_exist_are_not_replaced(tmp_path):
    scene_ = diffsim_ros.load_scene("config/scenes/pendulum.yaml")
    assert scene_.export(tmp_path) == exported(scene_)[1]
    first = (tmp_path / "scene.urdf").stat().st_mtime_ns
    (tmp_path / "scene.mjcf.xml").unlink()
    with pytest.raises(FileExistsError, match=r"scene\.urdf"):
        scene_.export(tmp_path)
    assert not (tmp_path / "scene.mjcf.xml").exists()
    assert (tmp_path / "scene.urdf").stat().st_mtime_ns == first


def test_a_walking_robot_stands(tmp_path):
    model, there, _ = written("config/scenes/quadruped.yaml", tmp_path)
    steps = round(0.5 / model.options.step)
    _, end = apart(model, there, [], steps)
    assert end[0] < 0.02 and end[1] < 0.1


def test_a_thin_plate_and_an_open_picture_compile(tmp_path):
    inertia = [0.1 / 12, 0.2 / 12, 0.3 / 12]
    plate = {"mass": 0.1, "inertia": inertia, "pose": {"position": [0, 0, 1]}}
    _, there, _ = written(scene({"plate": plate}, []), tmp_path)
    assert there.body_inertia[1].max() == pytest.approx(0.025)
    _, there, _ = written("config/scenes/ur5.yaml", tmp_path)
    assert there.ngeom >= 6 and there.nmesh == 6  # links are seen


LACKING = """
world: {step: 0.001, duration: 0.01}
bodies:
  arm: {shape: {box: {size: [0.2, 0.1, 0.06]}}, mass: 0.5, pose: {position: [0, 0, 1]}}
  gel: {type: solid, shape: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}}, density: 1000,
        young: 2.0e+4, poisson: 0.4, pose: {position: [1, 0, 1]}}
  moved: {type: kinematic, keys: {interval: 1, positions: [[0, 2, 0], [0, 3, 0]]}}
contact:
  - {name: soft, points: gel, against: {plane: {}}, k_n: 1000, c_n: 0}
  - {name: funnel, points: arm, k_n: 1000,
     against: {transform: {of: {cone: {height: 0.1, bottom_radius: 0.1}}, position: [3, 0, 0]}}}
links:
  - {type: force, name: wind, body: arm, force: [1, 0, 0]}
  - {type: drag, name: air, body: arm, c_quadratic: 0.1}
  - {type: joint, name: pin, kind: slider, body_b: arm, position: [0, 0, 1]}
  - {type: joint, name: again, kind: slider, body_b: arm, position: [0, 0, 1]}
  - {type: motor, name: push, joint: again, kind: force, keys: 1}
"""


def test_what_mujoco_has_no_place_for_is_named(tmp_path):
    _, there, lacks = written(yaml.safe_load(LACKING), tmp_path)
    assert lacks == [
        "the motion of moved: set data.mocap_pos and mocap_quat",
        "contact soft: of a solid", "contact funnel: a surface of kind cone",
        "joint again: a slider that closes a loop", "force wind", "drag air",
        "motor push: its joint closes a loop",
        "solid gel: its elasticity stands at the end, for a flexcomp",
    ]  # fmt: skip
    assert there.nv == 1
    text = (tmp_path / "scene.mjcf.xml").read_text()
    assert all(f"<!-- lacks {note} -->" in text for note in lacks)
