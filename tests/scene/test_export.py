"""Snippets for other simulators: the numbers of the scene, in forms that others can read."""

from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.export import damping_ratio, dissipation, restitution
from diffsim_ros.scene.export.laws import bounce

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
    for e in (0.01, 0.13, 0.14, 0.5, 0.999):
        assert bounce(damping_ratio(e)) == pytest.approx(e, rel=1e-9)
    assert damping_ratio(1.0) == 0.0


@pytest.mark.parametrize("zeta", [0.05, 0.4, 0.99, 1.0, 1.01, 2.0])
def test_bounce_is_that_of_a_dashpot_which_only_pushes(zeta):
    x, v, h = 0.0, 1.0, 1e-5
    while True:  # x'' = -x - 2 zeta v, by the midpoint rule, until the force ends
        force = -x - 2 * zeta * v
        if force > 0 and v < 0 and x > 0:
            break
        middle = x + 0.5 * h * v, v + 0.5 * h * force
        x, v = x + h * middle[1], v + h * (-middle[0] - 2 * zeta * middle[1])
        if v < 0 and -x - 2 * zeta * v >= 0:
            break
    assert bounce(zeta) == pytest.approx(-v, rel=1e-3)


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


@pytest.mark.parametrize("impact", [1.0, 3.0])
def test_mujoco_bounces_alike(folder, impact):
    mujoco = pytest.importorskip("mujoco")
    arguments = [folder.parent / "scene.yaml", "--out", folder.parent / "fast", "--set"]
    arguments += [f"bodies.ball.velocity=[0, 0, -{impact}]", "--impact", impact]
    assert main(["export", *map(str, arguments)]) == 0
    model = mujoco.MjModel.from_xml_path(str(folder.parent / "fast" / "scene.mjcf.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    assert data.qvel[2] == -impact
    while data.qvel[2] < 0 or data.ncon:
        mujoco.mj_step(model, data)
    assert data.qvel[2] == pytest.approx(impact * restitution(0.3, impact), rel=0.02)
    text = (folder / "scene.mjcf.xml").read_text()
    assert '<elasticity young="20000" poisson="0.4" damping="0.0042" />' in text


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf"])
def test_an_impact_without_a_speed_is_refused(folder, speed, capsys):
    out = folder.parent / "none"
    assert main(["export", str(folder.parent / "scene.yaml"), f"--impact={speed}",
                 "--out", str(out)]) == 2  # fmt: skip
    assert "a speed above 0" in capsys.readouterr().err
    assert not out.exists()


def test_a_scene_without_bodies_that_others_know_is_refused(tmp_path, capsys):
    sheet = "config/scenes/cloth_on_sphere.yaml"
    assert main(["export", sheet, "--out", str(tmp_path / "o")]) == 2
    assert "a rigid body, a particle or a solid" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
