"""A joint's place as parameters: batteries, gradients, the period of a pendulum, refusals."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import modes
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import DRIVEN, KINDS, axes, two_links

GRAVITY = 9.81
AXES = [f".{axis}" for axis in "xyz"]


def place_names(s, joint):
    """The engine's parameters of a joint's place."""
    words = ("position", "anchor_a", "anchor_b", "axis_rotation")
    names = [f"{joint}.{word}{axis}" for word in words for axis in AXES]
    known = {info.name for info in s.parameters}
    return [name for name in names if name in known]


def displaced(s, joints, rng):
    """The scene's values with every joint's place moved and turned."""
    p = s.values
    for name in (name for joint in joints for name in place_names(s, joint)):
        p[s.index(name)] += 0.3 * rng.normal()
    return p


@pytest.mark.parametrize("kind", KINDS)
def test_battery_of_a_joint_elsewhere(kind):
    rng = np.random.default_rng(1)
    s = two_links()
    more = {} if kind == "ball" else {"rotational_stiffness": 3.0, "rotational_damping": 0.2}
    more |= axes(kind) | ({"coordinate": 0.4} if kind in DRIVEN else {})
    more |= {} if kind == "weld" else {"friction_damping": 0.3}
    ends = {"joint": ("a", "b"), "to": ("", "a"), "from": ("b", "")}
    for name, (a, b) in ends.items():
        s.add_joint(name, kind=kind, body_a=a, body_b=b, position=[0.2, 0.1, 0.02],
                    stiffness=30.0, damping=0.7, **more)  # fmt: skip
    p = displaced(s, ends, rng)
    assert len(place_names(s, "joint")) == (9 if kind in ("ball", "weld") else 12)
    for name in ends:
        check_element(s, name, p, random_instants(rng, 3, 1), rng, frames=[0, 1])


@pytest.mark.parametrize("kind", DRIVEN)
def test_battery_of_forces_on_the_coordinate_of_a_joint_elsewhere(kind):
    """Motor, limit, friction and armature see the joint's place too."""
    rng = np.random.default_rng(2)
    s = two_links()
    s.add_joint("j", kind=kind, body_a="a", body_b="b", position=[0.2, 0.1, 0], coordinate=0.3,
                **axes(kind))  # fmt: skip
    s.add_motor("servo", joint="j", keys=[0.3, -0.4], interval=0.1, stiffness=5.0, damping=0.4)
    s.add_joint_limit("stop", joint="j", lower=-0.1, upper=0.1, stiffness=20.0, damping=0.1)
    s.add_joint_friction("rub", joint="j", coulomb=0.7, slip_rate=0.9)
    s.add_armature("rotor", joint="j", inertia=0.3)
    p = displaced(s, ["j"], rng)
    for name in ("servo", "stop", "rub", "rotor"):
        for _ in range(2):
            check_element(s, name, p, random_instants(rng, 3, 2), rng, frames=[0, 1], t=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_a_joints_place(kind):
    rng = np.random.default_rng(5)
    s = _engine.Scene()
    s.add_kinematic_body("a", interval=0.1, position=0.05 * rng.normal(size=(3, 3)), radius=0.1,
                         rotation=0.2 * rng.normal(size=(3, 3)))  # fmt: skip
    s.add_rigid_body("b", mass=0.4, inertia=[0.004, 0.005, 0.006, 0, 0, 0.0005], radius=0.1,
                     position=[0.3, 0.2, 0], angular_velocity=[1, -2, 1.5])  # fmt: skip
    more = {} if kind == "ball" else {"rotational_stiffness": 5.0, "rotational_damping": 0.02}
    s.add_joint("j", kind=kind, body_a="a", body_b="b", position=[0.2, 0.1, 0], stiffness=400.0,
                damping=2.0, **more, **axes(kind))  # fmt: skip
    if kind in DRIVEN:
        s.add_motor("servo", joint="j", keys=[0.3, -0.4], interval=0.1, stiffness=5.0, damping=0.01)
        s.add_armature("rotor", joint="j", inertia=0.003)
    options = _engine.Options(step=0.01, stagnate=True)
    check_gradients(s, 25, options, [*place_names(s, "j"), "j.stiffness", "b.mass"])


def pendulum(arm):
    """A rod that hangs on a hinge, `arm` above its centre: (scene, mass, inertia)."""
    s, mass, inertia = _engine.Scene(), 0.6, 0.02
    s.set_gravity([0, 0, -GRAVITY])
    s.add_rigid_body("rod", mass=mass, inertia=[inertia, inertia, 1e-3, 0, 0, 0], radius=0.3,
                     position=[0, 0, 1.0])  # fmt: skip
    s.add_joint("pivot", kind="hinge", body_b="rod", position=[0, 0, 1.0 + arm], axis=[0, 1, 0],
                stiffness=1e9)  # fmt: skip
    return s, mass, inertia


@pytest.mark.parametrize("arm", [0.1, 0.3])
def test_a_physical_pendulums_period_follows_its_anchor(arm):
    """omega^2 = m g d/(I + m d^2), d moved by the pivot, or in the rod, not by the world's end."""
    s, mass, inertia = pendulum(0.2)
    s.set_value("pivot.position.z", 1.0 + arm)
    found = modes(s, count=1)
    total = inertia + mass * arm**2
    omega = np.sqrt(mass * GRAVITY * arm / total)
    assert found.frequency[0] == pytest.approx(omega / (2 * np.pi), rel=1e-6)
    by_arm = omega / (4 * np.pi) * (1 / arm - 2 * mass * arm / total)
    by = found.derivatives(["pivot.position.z", "pivot.anchor_b.z", "pivot.anchor_a.z"])[0]
    assert by == pytest.approx([by_arm, by_arm, 0], rel=1e-5, abs=1e-6)


def test_a_tilted_axis_slows_a_pendulum():
    """Gravity across an axis that is tilted by 0.5 rad: omega^2 falls by cos 0.5."""
    s, mass, inertia = pendulum(0.2)
    upright = modes(s, count=1).frequency[0]
    s.set_value("pivot.axis_rotation.x", 0.5)
    # the inertia of the rod about the tilted axis through its centre, and the arm across that
    c, sn = np.cos(0.5), np.sin(0.5)
    total = inertia * c**2 + 1e-3 * sn**2 + mass * (0.2 * c) ** 2
    wanted = np.sqrt(mass * GRAVITY * 0.2 * c * c / total) / (2 * np.pi)
    found = modes(s, count=1).frequency[0]
    assert found == pytest.approx(wanted, rel=1e-6)
    assert found != pytest.approx(upright, rel=1e-3)


SCENE = """
world: {step: 0.01, duration: 0.1}
bodies:
  rod:
    mass: 0.6
    inertia: [0.02, 0.02, 0.001]
    pose: {position: [0, 0, 1]}
links:
  - {name: pivot, type: joint, kind: hinge, body_b: rod, position: [0, 0, 1.2], axis: [0, 1, 0]}
parameters:
  links.pivot.position.z: {bounds: [1.1, 1.3]}
  links.pivot.anchor_b.x: {prior: {mean: 0, sigma: 0.01}}
  links.pivot.axis_rotation.x: {}
"""


def test_a_joints_place_has_paths(tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    model = load_scene(tmp_path / "scene.yaml")
    by_name = {p.name: p for p in model.parameters}
    assert by_name["links.pivot.position.z"].value == 1.2
    assert by_name["links.pivot.anchor_b.x"].unit == "m"
    assert by_name["links.pivot.axis_rotation.x"].unit == "rad"
    assert model.engine.values[model.engine.index("pivot.anchor_b.z")] == pytest.approx(0.2)


@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_a_position_as_a_value_and_as_a_parameter_is_the_same_motion(kind):
    """And an axis that is turned is that axis."""
    turn = Rotation.from_rotvec([0.2, -0.1, 0.3])
    starts = []
    for position, axis in (([0.1, 0, 0.2], [0, 1, 0]), ([0.12, 0, 0.2], turn.apply([0, 1, 0]))):
        s = two_links()
        s.add_joint("j", kind=kind, body_a="a", body_b="b", position=position, axis=axis,
                    coordinate=0.3, stiffness=1e3, damping=1, rotational_stiffness=10,
                    rotational_damping=0.1)  # fmt: skip
        starts.append(s)
    p = starts[0].values
    p[starts[0].index("j.position.x")] = 0.12
    first = starts[0].index("j.axis_rotation.x")
    p[first : first + 3] = turn.as_rotvec()
    options = _engine.Options(step=0.01)
    a = _engine.rollout(starts[0], p, 20, options)
    b = _engine.rollout(starts[1], starts[1].values, 20, options)
    assert a.position == pytest.approx(b.position, abs=1e-9)
    assert a.orientation == pytest.approx(b.orientation, abs=1e-9)


def test_a_particles_joint_has_no_place_to_move():
    s = two_links()
    s.add_joint("j", kind="ball", body_a="a", body_b="c", position=[0.2, 0.1, 0.3])
    assert place_names(s, "j") == [f"j.anchor_a{axis}" for axis in AXES]
