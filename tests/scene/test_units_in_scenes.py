"""Units of scenes: by the kind of joint, per joint of a robot, of parameters."""

import math
from pathlib import Path

import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.scene.edits import replaced, resolve

UR5 = Path(__file__).parents[2] / "urdf" / "ur5.urdf"
JOINTS = yaml.safe_load(
    """
world: {step: 1 ms, duration: 10 ms}
bodies: {arm: {mass: 2 kg, inertia: 100 g cm^2, pose: {position: [0, 0, 1]}}}
links:
  - {name: pin, type: joint, kind: hinge, body_b: arm, position: [0, 0, 1]}
  - {name: drive, type: motor, joint: pin, keys: 0, stiffness: 1}
"""
)


def joint(**values):
    pin = JOINTS["links"][0] | values
    return resolve(replaced(JOINTS, "links/0", pin), "x.yaml")["links"]


def test_the_kind_of_joint_says_which_unit():
    limits = {"lower": "-90 deg", "upper": "2 rad", "stiffness": "3 kN m/rad"}
    pin = joint(coordinate="30 deg", limits=limits, friction_damping="5 mN m s/rad")[0]
    assert pin["coordinate"] == pytest.approx(math.pi / 6, rel=1e-15)
    assert pin["limits"] == {"lower": -math.pi / 2, "upper": 2, "stiffness": 3000, "damping": 0}
    assert pin["friction_damping"] == 0.005
    assert joint(kind="slider", coordinate="3 cm", armature="20 g")[0]["coordinate"] == 0.03
    for kind, wrong in (("hinge", "3 cm"), ("planar", "3 cm"), ("slider", "30 deg")):
        with pytest.raises(InputError, match=r"x\.yaml: links\[0\]\.coordinate.*is no unit of"):
            joint(kind=kind, coordinate=wrong)
    with pytest.raises(InputError, match=r"links\[0\]\.limits\.upper.*it has m"):
        joint(kind="slider", limits={"upper": "90 deg", "stiffness": 1})


@pytest.mark.parametrize(
    ("kind", "motor", "given", "value"),
    [
        ("hinge", "position", "90 deg", math.pi / 2),
        ("slider", "position", "9 mm", 0.009),
        ("hinge", "torque", "30 N cm", 0.3),
        ("slider", "force", "30 mN", 0.03),
    ],
)
def test_keys_of_motors(kind, motor, given, value):
    def keys(text):
        scene = replaced(JOINTS, "links/0/kind", kind)
        drive = {**JOINTS["links"][1], "kind": motor, "keys": [0, text], "interval": "5 ms"}
        drive["stiffness"] = 1 if motor == "position" else None
        return resolve(replaced(scene, "links/1", drive), "x.yaml")["links"][1]["keys"]

    assert keys(given) == [0, pytest.approx(value, rel=1e-15)]
    with pytest.raises(InputError, match=r"links\[1\]\.keys\[1\].*kg is no unit"):
        keys("3 kg")


def test_angles_that_look_like_degrees_are_named():
    with pytest.warns(UserWarning, match=r"links\[0\]\.limits\.lower: -90 rad .*`-90 deg`"):
        joint(limits={"lower": -90, "stiffness": 1})
    with pytest.warns(UserWarning, match=r"links\[0\]\.coordinate: 45 rad"):
        joint(coordinate=45)
    joint(kind="slider", coordinate=45)


def robot(**options):
    base = {"urdf": str(UR5), **options}
    return resolve({"world": JOINTS["world"], "robots": {"arm": base}}, "x.yaml")


def test_numbers_of_a_robots_joints():
    degrees = [0, "-90 deg", "90 deg", 0.5, "-1.5 rad", "360 deg"]
    radians = [0, -math.pi / 2, math.pi / 2, 0.5, -1.5, 2 * math.pi]
    assert robot(angles=degrees, damping="2 N m s/rad") == robot(angles=radians, damping=2)
    assert robot(rates={"wrist_1_joint": "180 deg/s"}) == robot(rates={"wrist_1_joint": math.pi})
    drive = {"stiffness": "2 kN m/rad", "damping": "30 N m s/rad"}
    assert robot(drive=drive) == robot(drive={"stiffness": 2000, "damping": 30})
    for given, text in (
        ([0, -90, 90, 0, 0, 0], r"angles\.shoulder_lift_joint: got -90; .*`-90 deg`, or `-90 rad`"),
        ({"elbow_joint": "3 mm"}, r"angles\.elbow_joint.*\[rad\]; mm is no unit"),
        ("straight", r"angles\.\w+: got 'straight'; accepted: a number"),
        ([0, True, 0, 0, 0, 0], "angles: got .*a number, 6 numbers, or"),
    ):
        with pytest.raises(InputError, match=r"x\.yaml: robots\.arm\." + text):
            robot(angles=given)


def test_parameters_have_the_unit_of_their_path():
    scene = {
        **JOINTS,
        "parameters": {
            "bodies.arm.mass": {"bounds": ["500 g", "4 kg"], "prior": {"mean": 2, "sigma": "50 g"}},
        },
    }
    (mass,) = load_scene(scene).parameters
    assert (mass.lower, mass.upper, mass.prior_mean, mass.prior_sigma) == (0.5, 4, 2, 0.05)
    assert mass.unit == "kg"
    for wrong in ("4 m", "4 N"):
        with pytest.raises(
            InputError, match=r"parameters\.bodies\.arm\.mass\.bounds\[1\].*no unit"
        ):
            load_scene(replaced(scene, "parameters/bodies.arm.mass/bounds", [1, wrong]))
    scaled = {"bounds": [1, "4 kg"], "factor": 2.0}  # of its own unit
    with pytest.raises(InputError, match="it has none"):
        load_scene(replaced(scene, "parameters/bodies.arm.mass", scaled))
