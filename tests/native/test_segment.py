"""Motions that go on from snapshots: the same as whole ones, and poses as outputs."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_outputs
from tests.native.reduced import tree
from tests.native.test_contact_moving import cube_on

EXACT = {"tolerance": 1e-13, "gradient_tolerance": 1e-14}


def test_derivatives_of_poses_axes_and_joint_coordinates():
    s = tree("free body", seed=3)
    names = [o.name for o in s.motion_outputs]
    assert {"base.position", "base.z_axis", "base.angular_velocity"} <= set(names)
    assert {name.rpartition(".")[2] for name in names} >= {"coordinate", "rate", "velocity"}
    active = ["base.position.x", "base.rotation.y", "base.velocity.z", "base.mass", "gravity.x"]
    check_outputs(s, 6, _engine.Options(step=2e-3, **EXACT), active, names)


@pytest.mark.parametrize(
    ("scene", "stepper"),
    [("tree", "implicit"), ("hybrid", "implicit"), ("linear", "implicit"),
     ("tree", "velocity"), ("linear", "velocity")],
)  # fmt: skip
def test_segments_join_to_one_motion_and_its_gradient(scene, stepper):
    s = tree("free body", seed=4) if scene == "tree" else cube_on("rigid", scene)
    body = s.body_names[-1] if scene == "tree" else "cube"
    names = [f"{body}.position", f"{body}.angular_velocity"]
    options = _engine.Options(step=1 / 400, stepper=stepper, **EXACT)
    active = [s.index(n) for n in ("gravity.x", f"{body}.mass")]
    more = {"options": options, "active": active, "mode": "checkpoint", "outputs": names}
    whole = _engine.rollout(s, s.values, 24, **more)
    assert whole.ok, whole.message
    at, segments = [s.snapshot()], []
    for _ in range(3):
        segments.append(_engine.Segment(s, at, s.values[None], 8, **more))
        at = segments[-1].ends
    y = np.concatenate([whole.outputs[n][-1] for n in names])
    assert segments[-1].outputs[0] == pytest.approx(y, abs=1e-10)
    assert at[0].t == pytest.approx(24 / 400)
    weight = np.random.default_rng(0).normal(size=6)
    gy = {n: np.zeros((25, 3)) for n in names}
    gy[names[0]][-1], gy[names[1]][-1] = weight[:3], weight[3:]
    none = np.zeros((25, s.ndof))
    expected = whole.gradient(none, none, gy)
    found, end, by_y = np.zeros(2), np.zeros((1, 4, s.ndof)), weight[None]
    for segment in segments[::-1]:
        by_p, end = segment.gradient(by_y, end)
        found, by_y = found + by_p[0], np.zeros((1, 6))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max())


def test_a_start_takes_coordinates_of_joints():
    s = tree("world", seed=5)
    names = [o.name for o in s.motion_outputs if o.name.endswith(("coordinate", "rate"))]
    joint = names[0].rpartition(".")[0]
    at = s.snapshot(joints={joint: [0.7, -0.2]})
    both = [f"{joint}.coordinate", f"{joint}.rate"]
    assert s.outputs_at(at, s.values, both) == pytest.approx([0.7, -0.2], abs=1e-15)
    with pytest.raises(ValueError, match="must be one of"):
        s.snapshot(joints={"nothing": [0, 0]})
    with pytest.raises(ValueError, match="must be finite"):
        s.snapshot(joints={joint: [0, np.nan]})


def test_what_a_segment_cannot_go_on_from_is_refused():
    s, other = tree("free body", seed=6), cube_on("rigid", "linear")
    at, P = [s.snapshot()], s.values[None]
    with pytest.raises(ValueError, match="snapshot: must be of this scene"):
        _engine.Segment(other, at, other.values[None], 1)
    with pytest.raises(ValueError, match="snapshot: must be of this scene"):
        other.outputs_at(at[0], other.values, [])
    with pytest.raises(ValueError, match=r"another than 'sensitivity'"):
        _engine.Segment(s, at, P, 1, mode="sensitivity")
    with pytest.raises(ValueError, match="row per snapshot, 1, got 2"):
        _engine.Segment(s, at, np.tile(P, (2, 1)), 1)
    segment = _engine.Segment(s, at, P, 1, mode="store", active=[0], outputs=["base.position"])
    with pytest.raises(ValueError, match=r"must have shape \(motions, outputs\) = \(1, 3\)"):
        segment.gradient(np.zeros((1, 2)), np.zeros((1, 4, s.ndof)))
    with pytest.raises(ValueError, match=r"must have shape \(motions, 4, ndof\)"):
        segment.gradient(np.zeros((1, 3)), np.zeros((1, 4, 2)))
