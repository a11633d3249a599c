"""Joints that are open at the start are refused; those that hang far from a body are not."""

import math
import warnings

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.scene.edits import replaced

SCENE = yaml.safe_load(
    """
world: {step: 0.001, duration: 0.01}
bodies:
  base: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 1, pose: {position: [0, 0, 1]}}
  arm:
    shape: {box: {size: [0.1, 0.1, 0.1]}}
    mass: 2
    pose: {position: [0.5, 0, 1], rotation: [0, 0, 0.4]}
links:
  - {name: fixed, type: joint, kind: weld, body_b: base, position: [0, 0, 1]}
  - {name: elbow, type: joint, kind: hinge, body_a: base, body_b: arm, position: [0.2, 0, 1],
     axis: [0, 1, 0]}
"""
)


def with_values(kind="hinge", **values):
    scene = replaced(SCENE, "links/1/kind", kind)
    return load_scene({**scene, "values": {f"arm.{k}": v for k, v in values.items()}})


def test_a_joint_far_from_its_body_is_a_massless_arm():
    load_scene(SCENE)
    load_scene(replaced(SCENE, "bodies/arm/pose/position", [1.5, 0, 1]))


def test_a_weld_far_from_its_body_is_warned_of():
    """Also one to the world; a hinge is not, it may be a pendulum's."""
    weld = replaced(replaced(SCENE, "links/1/kind", "weld"), "bodies/arm/pose/rotation", [0.0] * 3)
    far = replaced(weld, "bodies/arm/pose/position", [1.2, 0, 1])
    told = r"links\[1\]\.position: weld 'elbow' is 0\.913 m away from arm: nothing is between"
    with pytest.warns(UserWarning, match=told):
        load_scene(far)
    with pytest.raises(InputError, match=r"0\.913 m away from arm.*at most 0\.433 m, because"):
        load_scene({**far, "strict": True})
    with pytest.warns(UserWarning, match=r"weld 'fixed' is 0\.913 m away from base"):
        load_scene(replaced(SCENE, "links/0/position", [0, 0, 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_scene(replaced(weld, "bodies/arm/pose/position", [0.4, 0, 1]))
        load_scene(replaced(SCENE, "bodies/arm/pose/position", [1.5, 0, 1]))


@pytest.mark.parametrize("kind", ["ball", "hinge", "slider", "weld", "planar"])
def test_a_joint_whose_ends_are_apart_is_refused(kind):
    along = {"planar": (0, 1, 0)}.get(kind, (1, 0, 0))  # what each holds
    start = np.array([0.5, 0, 1]) + 0.04 * np.array(along)
    values = {f"position.{a}": float(x) for a, x in zip("xyz", start, strict=True)}
    with pytest.raises(InputError) as caught:
        with_values(kind, **values)
    text = str(caught.value)
    assert text.startswith("scene: links[1]: got ")
    assert f"{kind} 'elbow' 0.04 m apart" in text
    assert "at most 0.003 m" in text  # a hundredth of the 0.3 m from the arm's centre
    nearer = start - 0.038 * np.array(along)
    with_values(kind, **{f"position.{a}": float(x) for a, x in zip("xyz", nearer, strict=True)})


def test_free_directions_may_be_open():
    with_values("slider", **{"position.y": 0.3})
    with_values("planar", **{"position.x": 0.8})


def test_a_tilted_joint_is_refused():
    def turned(kind, axis, angle):
        """The arm, turned about the joint, which stays closed."""
        scene = replaced(SCENE, "bodies/arm/pose/rotation", [0.0, 0.0, 0.0])
        at = {"position.x": 0.2 + 0.3 * math.cos(angle), f"rotation.{axis}": angle}
        side, sign = ("y", 1) if axis == "z" else ("z", -1)
        at[f"position.{side}"] = (side == "z") + sign * 0.3 * math.sin(angle)
        values = {f"arm.{k}": v for k, v in at.items()}
        return load_scene({**replaced(scene, "links/1/kind", kind), "values": values})

    for kind in ("weld", "slider", "hinge", "planar"):
        turned(kind, "z", 0.09)
        with pytest.raises(InputError, match=r"0\.2 rad apart at the start.*at most 0\.1 rad"):
            turned(kind, "z", 0.2)
    turned("ball", "z", 0.2)
    for kind in ("hinge", "planar"):  # its free direction
        turned(kind, "y", 1.0)


def test_a_soft_joint_may_sag():
    scene = replaced(SCENE, "links/1/stiffness", 500.0)
    load_scene({**scene, "values": {"arm.position.z": 1.0 - 2 * 9.81 / 500}})
