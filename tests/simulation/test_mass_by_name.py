"""A name means in Python what the key means in a file: the mass of a uniform body is its inertia
too, in motions, batches, steps, `values:` and every derivative."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.inverse.parameters import ParameterMap
from diffsim_ros.parameter import Parameter

SLOPE = np.radians(10)
FORMS = {
    "uniform": {"mass": 1.0},
    "density": {"density": 1900.0, "mass": None},
    "given": {"mass": 1.0, "inertia": [0.001, 0.001, 0.001, 0, 0, 0]},
}


def ball(stepper="implicit", mass=None, values=None, **body):
    """A ball that rolls down a slope, with a spring of its own so that mass matters."""
    keys = {"shape": {"sphere": {"radius": 0.05}}, "pose": {"position": [0, 0, 0.05]}, **body}
    if mass is not None and keys.pop("density", None) is not None:
        keys["density"] = mass / (4 / 3 * np.pi * 0.05**3)
    elif mass is not None:
        keys["mass"] = mass
    law = {"k_n": 1e5, "c_n": 1.0} if stepper == "implicit" else {}
    return ds.load_scene(
        {
            "world": {
                "step": 1e-3, "duration": 0.1, "record_every": 20, "stepper": stepper,
                "gravity": [9.81 * np.sin(SLOPE), 0, -9.81 * np.cos(SLOPE)], "tolerance": 1e-12,
            },
            "bodies": {"b": {k: v for k, v in keys.items() if v is not None}},
            "sdfs": {"f": {"plane": {}}},
            "contact": [{"points": "b", "against": "f", "c_f": 0.8, "k_t": 300.0, **law}],
            "links": [{"name": "push", "type": "torque", "body": "b", "torque": [0.1, 0.2, 0.3]}],
            "values": values or {},
        }
    )  # fmt: skip


def end(motion):
    return np.concatenate([motion["b"].position[-1], motion["b"].angular_velocity[-1]])


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
@pytest.mark.parametrize("form", FORMS)
def test_a_mass_by_name_is_the_mass_in_the_file(form, stepper):
    scene = ball(stepper, **FORMS[form])
    mass = 2 * scene.values["b.mass"]
    keys = {k: v for k, v in FORMS[form].items() if k != "mass"}
    heavy = ball(stepper, mass=mass, **keys)
    assert heavy.values.array == pytest.approx(scene.values.replaced({"b.mass": mass}).array)
    expected = end(heavy.rollout())
    assert abs(end(scene.rollout()) - expected).max() > 1e-3
    at = {"b.mass": mass}
    close = pytest.approx(expected, rel=1e-9, abs=1e-10)
    assert end(scene.rollout(at)) == close
    assert end(scene.rollout_batch({"b.mass": [1.0, mass]})[1]) == close
    assert end(ball(stepper, values=at, **FORMS[form]).rollout()) == close
    state = scene.step(scene.start(), at, steps=100)
    assert state.observe(["b.position", "b.angular_velocity"]) == close
    assert scene.start(at).values["b.inertia.yy"] == pytest.approx(heavy.values["b.inertia.yy"])
    parameters = ParameterMap([Parameter("m", "kg", mass, sets={"b.mass": (1, 1)})], scene.engine)
    p = parameters.engine(parameters.start, scene.engine.values)
    assert p == pytest.approx(heavy.values.array)
    slopes = parameters.jacobian(parameters.start)[:, 0]
    moved = heavy.values.array - scene.values.array
    assert slopes == pytest.approx(moved[list(parameters.active)] * 2, rel=1e-9)


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
@pytest.mark.parametrize("form", FORMS)
def test_the_derivative_by_name_is_the_difference_of_files(form, stepper):
    scene = ball(stepper, **FORMS[form])
    mass, h = scene.values["b.mass"], 1e-5
    keys = {k: v for k, v in FORMS[form].items() if k != "mass"}
    ends = [end(ball(stepper, mass=mass + d, **keys).rollout()) for d in (h, -h)]
    expected = pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-6)
    rng = np.random.default_rng(0)
    weight = rng.normal(size=6)
    for names in (["b.mass"], ["gravity.x", "b.mass"], "b.mass"):
        motion = scene.rollout(wrt=names, sensitivities=True, outputs=["b.angular_velocity"])
        found = [motion.sensitivity(f"b.{k}")[-1] for k in ("position", "angular_velocity")]
        column = motion.wrt.index("b.mass")
        assert np.concatenate(found)[:, column] == expected
        by_output = motion.sensitivity("b.angular_velocity")[-1][:, column]
        assert by_output == pytest.approx(found[1][:, column])
        by = {"b.position": np.zeros((6, 3)), "b.angular_velocity": np.zeros((6, 3))}
        by["b.position"][-1], by["b.angular_velocity"][-1] = weight[:3], weight[3:]
        adjoint = scene.rollout(wrt=names).gradient(by)
        assert list(adjoint) == list(motion.wrt)
        assert adjoint.array == pytest.approx(motion.gradient(by).array, rel=1e-9, abs=1e-12)
        both = {name: np.stack([0 * one, one]) for name, one in by.items()}
        batch = scene.rollout_batch({"b.mass": [1.3, mass]}, wrt=names)
        assert batch.gradient(both)[1] == pytest.approx(adjoint.array, rel=1e-9, abs=1e-12)
    ends, back = scene.start(), []
    _, _, back = scene.vjp(
        scene.start(), steps=100, wrt=["b.mass"], observe=["b.position", "b.angular_velocity"]
    )
    assert [back(row)[0]["b.mass"] for row in np.eye(6)] == expected


def test_what_is_given_too_stays_and_what_has_its_own_value():
    scene = ball(**FORMS["uniform"])
    inertia = {f"b.inertia.{k}": 0.004 for k in ("xx", "yy", "zz")}
    values = scene.values.replaced({"b.mass": 2.0, **inertia})
    assert values["b.inertia.xx"] == 0.004 and values["b.mass"] == 2
    assert values.replaced({"b.mass": 3.0})["b.inertia.xx"] == 0.004  # its own by now
    written = ball(values={"b.mass": 2.0, **inertia}, **FORMS["uniform"])
    assert written.values.array == pytest.approx(values.array)
    every = scene.values.array.copy()
    every[scene.values.index("b.mass")] = 2.0
    assert scene.values.replaced(every)["b.inertia.xx"] == scene.values["b.inertia.xx"]
    batch = scene.rollout_batch({"b.mass": [1.0, 2.0], **inertia})
    assert [one.values["b.inertia.yy"] for one in batch] == [0.004, 0.004]
    assert batch[1].position == pytest.approx(scene.rollout(values)["b"].position[:, None])


def test_derivatives_by_names_beside_each_other_are_partial_ones():
    """Chosen together they are a function of all of them; a pattern takes what a file would."""
    scene = ball(**FORMS["uniform"])
    names = ["b.mass", "b.inertia.xx", "b.inertia.yy", "b.inertia.zz"]
    own = scene.rollout(wrt=names, sensitivities=True).sensitivity("b.position")[-1]
    whole = scene.rollout(wrt="b.mass", sensitivities=True).sensitivity("b.position")[-1]
    ratio = [1.0, *(scene.values[name] / scene.values["b.mass"] for name in names[1:])]
    assert own @ ratio == pytest.approx(whole[:, 0], rel=1e-9, abs=1e-15)
    wrt = scene.rollout(wrt="b.*").wrt
    assert "b.mass" in wrt and not {*names[1:]} & {*wrt}
    assert scene.rollout(wrt="b.inertia.*").wrt[0] == "b.inertia.xx"


def test_parameters_that_share_a_mass_move_the_inertia_once():
    scene = ball(**FORMS["uniform"])
    pair = [
        Parameter("a", "kg", 2.0, sets={"b.mass": (1, 1)}),
        Parameter("s", "1", 3.0, sets={"b.mass": (0.5, 2)}),
    ]
    own = Parameter("i", "kg m^2", 0.01, sets={"b.inertia.xx": (1, 1)})
    shared = ParameterMap(pair, scene.engine)
    p = shared.engine(shared.start, scene.engine.values)
    mass = 2 * 0.5 * 9
    assert p == pytest.approx(scene.values.replaced({"b.mass": mass}).array)
    assert shared.holding({}).engine(shared.start, scene.engine.values) == pytest.approx(p)
    held = ParameterMap([*pair, own], scene.engine)
    at = scene.engine.index("b.inertia.xx")
    assert held.engine(held.start, scene.engine.values)[at] == 0.01
