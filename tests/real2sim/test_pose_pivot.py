"""A tracker's pivot away from the body: given, it changes nothing; unknown, it is estimated."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import check_problem
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.rotation import quat_exp, quat_multiply, quat_rotate
from tests.real2sim.test_poses import elbow, elbow_arrays

OFFSET = [0.03, -0.02, 0.015, 0.2, -0.1, 0.4]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same tosses as poses of the bodies' centres, and of a pivot on link_1."""
    folder, content = tmp_path_factory.mktemp("pivot"), elbow_arrays(tosses=4)
    np.savez(folder / "plain.npz", **content)
    state = content["state"].copy()
    q = state[:, 0, [4, 5, 6, 3]]
    state[:, 0, :3] += quat_rotate(q, np.array([OFFSET[:3]]))
    turned = quat_multiply(q, quat_exp(np.array([OFFSET[3:]])))
    state[:, 0, 3:] = turned[:, [3, 0, 1, 2]]
    np.savez(folder / "pivot.npz", **{**content, "state": state})
    return folder


def estimation(path, offset, **parameters):
    raw = elbow(path, measurement={"body_offset": offset})
    raw["parameters"] = {**raw["parameters"], **parameters}
    return raw


def free(value):
    return {"value": value, "unit": "m", "bounds": [-0.1, 0.1], "sets": {}}


def test_a_given_pivot_is_the_same_as_poses_of_the_body(files):
    flights = []
    for name, offset in (("plain", {}), ("pivot", {"link_1": OFFSET})):
        config = load_estimation(estimation(files / f"{name}.npz", offset))
        experiment = PoseExperiment(config)
        trial = experiment.read({}).train[0]
        flights.append(experiment.model.flown(trial, experiment.model.map.start))
    for a, b in zip(flights[0].starts, flights[1].starts, strict=True):
        # the noise of positions weighs a little otherwise at another point of the body
        assert np.linalg.norm(a.position - b.position) < 3e-4
        assert np.linalg.norm(a.angular_velocity - b.angular_velocity) < 0.1


def test_an_unknown_pivot_is_estimated_and_its_derivatives_are_exact(files):
    offset = {"link_1": ["ox", "oy", "oz", *OFFSET[3:]]}
    parameters = {name: free(0.0) for name in ("ox", "oy", "oz")}
    raw = estimation(files / "pivot.npz", offset, **parameters)
    model = PoseExperiment(load_estimation(raw)).model
    data = PoseExperiment(load_estimation(raw)).read({})
    problem = model.problem(data.train[:1], model.map.start, horizon=8)
    assert check_problem(problem, directions=3, seed=2).passed
    result = estimate(raw)
    found = {p.name: p for p in result.parameters}
    for name, truth in zip(("ox", "oy", "oz"), OFFSET, strict=False):
        assert abs(found[name].value - truth) < max(3.5 * found[name].std_dev, 2e-4), found[name]
    assert result.metrics["validate"]["position_error_m"] < 3e-3


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ({"link_3": OFFSET}, "a body of `body`"),
        ({"link_1": OFFSET[:3]}, "six numbers or names"),
        ({"link_1": ["o", *OFFSET[1:]]}, "a number or a parameter"),
    ],
)
def test_offsets_that_cannot_be_are_refused(files, offset, words):
    with pytest.raises(InputError, match=words):
        PoseExperiment(load_estimation(estimation(files / "plain.npz", offset)))
