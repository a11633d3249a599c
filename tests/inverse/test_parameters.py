"""Parameters: scales, bounds, links, priors, and errors that name what is wrong."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import Parameter, ParameterMap


@pytest.fixture
def linked(scene):
    """A tracker's length scale: gravity.z = -g/kappa; and drag = 2 g^2 kappa^3 for good measure."""
    return ParameterMap(
        [
            Parameter("g", "m/s^2", 9.81, sets={"gravity.z": (-1.0, 1.0), "cube.drag": (1, 2)}),
            Parameter(
                "kappa", "1", 1.02, 0.5, 2.0, "log",
                sets={"gravity.z": (1.0, -1.0), "cube.drag": (2.0, 3.0)},
            ),
            Parameter("cube.mass", "kg", 0.37, scale="log", free=False),
            Parameter("cube.velocity.y", "m/s", 0.0),
        ],
        scene,
    )  # fmt: skip


def test_links_are_products_of_powers(linked, scene):
    p = linked.engine(linked.start, scene.values)
    assert p[scene.index("gravity.z")] == pytest.approx(-9.81 / 1.02)
    assert p[scene.index("cube.drag")] == pytest.approx(9.81**2 * 2 * 1.02**3)
    assert p[scene.index("cube.mass")] == 0.37
    assert linked.names == ("g", "kappa", "cube.velocity.y")
    assert scene.index("cube.mass") not in linked.active


def test_jacobian_is_the_derivative(linked, scene):
    z, eps = linked.start + np.array([0.1, 0.05, 0.3]), 1e-6
    exact = linked.jacobian(z)
    for i in range(3):
        d = eps * np.eye(3)[i]
        difference = (linked.engine(z + d, scene.values) - linked.engine(z - d, scene.values)) / eps
        np.testing.assert_allclose(exact[:, i], difference[list(linked.active)] / 2, rtol=1e-7)
        slope = (linked.values(z + d) - linked.values(z - d))[i] / (2 * eps)
        assert linked.value_slopes(z)[i] == pytest.approx(slope, rel=1e-8)


def test_zero_value_keeps_its_derivative(scene):
    one = ParameterMap([Parameter("cube.velocity.y", "m/s", 0.0, typical=2.0)], scene)
    np.testing.assert_allclose(one.jacobian(one.start), [[2.0]])


def test_scaled_variables_and_bounds(linked):
    z = linked.scaled({"g": 10.0})
    assert linked.named(z)["g"] == pytest.approx(10.0)
    assert linked.named(z)["kappa"] == pytest.approx(1.02)
    np.testing.assert_allclose(linked.lower, [-np.inf, np.log(0.5), -np.inf])
    np.testing.assert_allclose(linked.upper, [np.inf, np.log(2.0), np.inf])
    open_below = Parameter("cube.drag", "1/s", 1.0, 0.0, 5.0, "log")
    assert open_below.to_z(open_below.lower) == -np.inf


def test_prior_is_a_standardised_residual(scene):
    prior = ParameterMap(
        [
            Parameter("cube.drag", "1", 1.0, prior_mean=2.0, prior_sigma=0.5),
            Parameter("cube.mass", "kg", 0.4, scale="log", prior_mean=0.4, prior_sigma=0.04),
            Parameter("gravity.z", "m/s^2", -9.81),
        ],
        scene,
    )
    z = prior.scaled({"cube.drag": 3.0, "cube.mass": 0.4 * np.exp(0.1)})
    residual, slope = prior.prior(z)
    np.testing.assert_allclose(residual, [2.0, 1.0, 0.0])
    moved = prior.prior(z + 1e-6)[0]
    np.testing.assert_allclose((moved - residual) / 1e-6, slope, rtol=1e-8, atol=1e-8)


def test_of_scene(scene):
    all_entries = ParameterMap.of_scene(scene, ["cube.mass", "gravity.z"], {"cube.mass": 0.1})
    np.testing.assert_allclose(all_entries.start, [5.0, -1.0])
    assert all_entries.active == (scene.index("gravity.z"), scene.index("cube.mass"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scale": "cubic"}, "scale"),
        ({"value": np.nan}, "finite"),
        ({"lower": 2.0}, "bounds"),
        ({"lower": 2.0, "upper": 1.0}, "less than upper"),
        ({"value": -1.0, "scale": "log"}, "log"),
        ({"prior_mean": 1.0}, "prior_sigma"),
        ({"prior_mean": 1.0, "prior_sigma": 0.0}, "> 0"),
        ({"prior_mean": -1.0, "prior_sigma": 1.0, "scale": "log"}, "prior_mean"),
        ({"typical": -1.0}, "typical"),
    ],
)
def test_bad_parameters_are_named(change, says):
    with pytest.raises(InputError, match=says) as caught:
        Parameter(**{"name": "c_f", "unit": "1", "value": 1.0, **change})
    assert "c_f" in str(caught.value) and "\n" not in str(caught.value)


def test_unknown_names_come_with_the_nearest(scene, linked):
    with pytest.raises(InputError, match=r"cube\.mass"):
        ParameterMap([Parameter("m", "kg", 1.0, sets={"cube.mas": (1, 1)})], scene)
    with pytest.raises(InputError, match="kappa"):
        linked.scaled({"kapa": 1.0})
    with pytest.raises(InputError, match="once"):
        ParameterMap([Parameter("g", "", 1.0)] * 2, scene)
