"""Snippets for other simulators: the numbers of the scene, in forms that others can read."""

from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.export import damping_ratio, dissipation, restitution

SCENE = """
name: toy
world: {step: 0.0001, duration: 0.2, record_every: 10, gravity: [0, 0, 0]}
bodies:
  ball: {shape: {sphere: {radius: 0.05}}, mass: 0.2, pose: {position: [0, 0, 0.06]},
         velocity: [0, 0, -1]}
  gel: {type: solid, shape: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}}, density: 1000,
        young: 2.0e+4, poisson: 0.4, viscosity: 30, pose: {position: [1, 0, 1]}}
contact:
  - {name: floor, points: ball, against: {plane: {}}, k_n: 20000, c_n: 0.3, c_f: 0.4, c_roll: 0.001}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    (tmp_path / "result.yaml").write_text("scene: {floor.c_f: 0.25}\n")
    arguments = [tmp_path / "scene.yaml", "--estimated", tmp_path / "result.yaml"]
    assert main(["export", *map(str, arguments), "--out", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def test_restitution_is_that_of_the_simulated_law():
    model = load_scene(yaml.safe_load(SCENE))
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.velocity[-1, 0, 2] == pytest.approx(restitution(0.3), rel=2e-3)


def test_restitution_and_its_inverses():
    for c_n in (1e-4, 9.9e-4, 1.1e-3, 0.2, 1.0, 4.0):
        assert dissipation(restitution(c_n)) == pytest.approx(c_n, rel=1e-6)
    e, zeta = 0.5, damping_ratio(0.5)
    assert np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2)) == pytest.approx(e)


def test_drake_gets_the_law_and_the_estimated_friction(folder):
    text = (folder / "scene.urdf").read_text()
    robot = ElementTree.fromstring(text)
    drake = {n.tag.split("}")[-1]: float(n.get("value")) for n in robot.iter() if "drake" in n.tag
             and n.get("value")}  # fmt: skip
    assert drake == {"point_contact_stiffness": 2e4, "hunt_crossley_dissipation": 0.3,
                     "mu_static": 0.25, "mu_dynamic": 0.25}  # fmt: skip
    assert robot.find("link/inertial/mass").get("value") == "0.2"


def test_gazebo_gets_friction_bounce_and_contact(folder):
    surface = ElementTree.parse(folder / "scene.sdf").find("model/link/collision/surface")
    assert float(surface.find("friction/ode/mu").text) == 0.25
    bounce = float(surface.find("bounce/restitution_coefficient").text)
    assert bounce == pytest.approx(restitution(0.3), rel=1e-8)
    assert float(surface.find("contact/ode/kp").text) == 2e4


def test_mujoco_reads_it_and_bounces_alike(folder):
    mujoco = pytest.importorskip("mujoco")
    tree = ElementTree.parse(folder / "scene.mjcf.xml")
    world = tree.getroot().find("worldbody")
    ElementTree.SubElement(world, "geom", type="plane", size="1 1 1", condim="1",
                           solref="-1 -1", priority="-1")  # fmt: skip
    option = ElementTree.SubElement(tree.getroot(), "option", gravity="0 0 0", timestep="0.0001")
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    assert option is not None and model.body("ball").mass[0] == pytest.approx(0.2)
    data = mujoco.MjData(model)
    data.qpos[2], data.qvel[2] = 0.06, -1.0
    for _ in range(2000):
        mujoco.mj_step(model, data)
    assert data.qvel[2] == pytest.approx(restitution(0.3), rel=0.1)
    text = (folder / "scene.mjcf.xml").read_text()
    assert '<elasticity young="20000" poisson="0.4" damping="0.0042" />' in text


def test_a_scene_without_bodies_that_others_know_is_refused(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(
        "world: {step: 0.01, duration: 0.1}\nbodies: {dot: {type: particle, mass: 0.1}}\n"
    )
    assert main(["export", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "o")]) == 2
    assert "a rigid body or a solid" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
