"""A force–torque sensor: files and bags read, the objective's partials, a pressed soft block."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.clock import Clock
from diffsim_ros.inverse.joint_track import Scaled
from diffsim_ros.inverse.optimizers import levenberg_marquardt
from diffsim_ros.inverse.parameters import Parameter, ParameterMap
from diffsim_ros.inverse.simulation_problem import SimulationProblem, body_slots
from diffsim_ros.inverse.trial import Trial
from diffsim_ros.inverse.uncertainty import gauss_newton_covariance
from diffsim_ros.inverse.wrench_track import WrenchTrack
from diffsim_ros.rotation import quat_exp
from diffsim_ros.scene.model import load_scene
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bags import EPOCH_NS
from diffsim_ros.sensing.check import check
from diffsim_ros.sensing.messages import BUILD, Entry, message
from diffsim_ros.sensing.read import read, read_trials
from diffsim_ros.sensing.wrench import COLUMNS, WRENCH

YOUNG, SIGMA, EDGE, MASS_DENSITY = 3.0e4, (0.02, 1e-3), 0.06, 200.0
HEAD = ",".join(("t", *COLUMNS))


def scene(young=YOUNG):
    """A foam block on a table, pressed by a plate that comes down by 6 mm and a little aside."""
    top = EDGE + 1e-4
    path = [[0, 0, top], [0, 0, top - 0.003], [0.001, 0, top - 0.006], [0.001, 0, top - 0.006]]
    return {
        "world": {"step": 1 / 200, "duration": 0.3},
        "bodies": {
            "block": {"type": "solid", "density": MASS_DENSITY, "young": young, "poisson": 0.3,
                      "viscosity": 50, "shape": {"box": {"size": [EDGE] * 3, "cells": [2, 2, 2]}},
                      "pose": {"position": [0, 0, EDGE / 2]}},
            "plate": {"type": "kinematic", "keys": {"interval": 0.1, "positions": path}},
        },
        "sdfs": {"table": {"plane": {}}, "press": {"plane": {"normal": [0, 0, -1]}}},
        "contact": [
            {"name": "rest", "points": "block", "against": "table", "k_n": 2e4, "c_n": 0, "k_t": 50,
             "c_f": 0.6},
            {"name": "push", "points": "block", "against": "press", "carrier": "plate",
             "k_n": 2e4, "c_n": 0, "k_t": 50, "c_f": 0.6},
        ],
    }  # fmt: skip


@cache
def pressed():
    model = load_scene(scene())
    steps = round(0.3 * 200)
    run = _engine.rollout(model.engine, model.engine.values, steps, model.options)
    assert run.ok, run.message
    return model, run


def track(model, t, seen, contacts=("push",), **changed):
    return WrenchTrack(
        body="block", contacts=contacts, scene=model.engine, t=t, interval=1 / 200,
        force=seen[:, :3], torque=seen[:, 3:], sigma_force=SIGMA[0], sigma_torque=SIGMA[1],
        **changed,
    )  # fmt: skip


def wrenches(t, contacts=("push",), **changed):
    model, run = pressed()
    slot = body_slots(model.engine)["block"]
    return track(model, t, np.zeros((len(t), 6)), contacts, **changed).predicted(run, slot, {})


def test_what_table_and_plate_feel_is_the_weight_and_the_press():
    """At rest the table carries the weight and the press; without friction at its centre."""
    t = np.array([0.295])
    table, plate = wrenches(t, ("rest",))[0], wrenches(t)[0]
    dragged = wrenches(np.array([0.18]))[0]
    weight = MASS_DENSITY * EDGE**3 * 9.81
    assert plate[2] > 5.0 and dragged[0] < -0.05  # the block holds the plate that goes to +x
    np.testing.assert_allclose(table[:3] + plate[:3], [0, 0, -weight], atol=1e-3 * plate[2])
    turned = wrenches(t, orientation=tuple(quat_exp([np.pi / 2, 0, 0])))[0]
    np.testing.assert_allclose(turned[:3], [plate[0], plate[2], -plate[1]], atol=1e-12)
    offset = wrenches(t, origin=(0.0, 0.0, 0.1))[0]
    moved = plate[3:] - np.cross([0, 0, 0.1], plate[:3])
    np.testing.assert_allclose(offset[3:], moved, atol=1e-12)


def test_partials_by_every_state_and_parameter():
    model, run = pressed()
    slot, t = body_slots(model.engine)["block"], np.array([0.093, 0.2])
    sets = {"push.k_n": Scaled(2e4, "stiffness", 2.0), "push.c_f": Scaled(0.6, "rub")}
    values = {"stiffness": 1e4, "rub": 0.6, "late": 0.002}
    clock = Clock(delay=0.002, delay_name="late")
    seen = np.random.default_rng(0).normal(size=(2, 6))
    one = track(model, t, seen, ("push", "rest"), sets=sets, clock=clock, origin=(0.01, 0, 0.07))
    term = one.term(run, slot, values)
    generator = np.random.default_rng(1)
    count = len(run.position)
    for _ in range(4):
        d = {k: 1e-3 * generator.normal(size=run.position.shape) for k in ("x", "v")}
        dx, dv = np.zeros((2, count, model.engine.ndof, 1))  # the plate, which is first, is driven
        for k, by in (("x", dx), ("v", dv)):
            d[k][:, 0] = 0.0
            by[:, slot.dof :, 0] = d[k][:, 1:].reshape(count, -1)
        exact = term.through(slot, dx, dv)[..., 0]

        def state(s, d=d):
            place, rate = run.position + s * d["x"], run.velocity + s * d["v"]
            return SimpleNamespace(position=place, velocity=rate, orientation=run.orientation,
                                   angular_velocity=run.angular_velocity)  # fmt: skip

        up, down = (one.term(state(s), slot, values).residual for s in (1e-4, -1e-4))
        np.testing.assert_allclose(
            (up - down) / 2e-4, exact, atol=1e-6 * np.abs(exact).max(), rtol=1e-6
        )
    assert set(term.own) == set(values)
    for name, by in term.own.items():
        h = 1e-3 * values[name]  # of a delay, less is lost in rounding
        up, down = (
            one.term(run, slot, {**values, name: values[name] + s}).residual for s in (h, -h)
        )
        np.testing.assert_allclose((up - down) / (2 * h), by, rtol=1e-6, atol=1e-7)


def test_stiffness_of_a_pressed_block_from_its_force(tmp_path):
    """Recorded as CSV with noise; Young's modulus and the contact's stiffness are found again."""
    t = np.arange(60) / 200
    noise = np.repeat(SIGMA, 3) * np.random.default_rng(2).normal(size=(60, 6))
    rows = np.column_stack([t, wrenches(t) + noise])
    np.savetxt(tmp_path / "press.csv", rows, delimiter=",", header=HEAD, comments="")
    options = {"sigma_force": SIGMA[0], "sigma_torque": SIGMA[1]}
    (seen,) = read_trials(tmp_path / "press.csv", "wrench", **options)
    guess = load_scene(scene(2 * YOUNG))
    measured = np.concatenate([seen.values["force"], seen.values["torque"]], axis=2)[:, 0]
    parameters = ParameterMap(
        [Parameter("young", "Pa", 2 * YOUNG, 1e3, 1e6, "log", sets={"block.young": (1.0, 1.0)}),
         Parameter("contact", "N/m", 1e4, 1e3, 1e6, "log", sets={"push.k_n": (1.0, 1.0)})],
        guess.engine,
    )  # fmt: skip
    sets = {"push.k_n": Scaled(1e4, "contact")}
    objective = track(guess, seen.t, measured, sets=sets)
    trial = Trial("press", 60, (objective,), ())
    problem = SimulationProblem(guess.engine, guess.options, parameters, [trial])
    z = problem.start + 0.01
    gradient = problem.evaluate(z, want="equations").gradient[0]
    for i in range(2):
        d = np.zeros(2)
        d[i] = 1e-5
        up, down = (problem.evaluate(z + s * d).value for s in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4)
    found = levenberg_marquardt(problem)
    sigma = gauss_newton_covariance(problem, found).std_dev / [YOUNG, 2e4]
    values = parameters.named(found.z)
    assert abs(np.log(values["young"] / YOUNG)) < 4 * sigma[0] and sigma[0] < 0.05
    assert abs(np.log(values["contact"] / 2e4)) < 4 * sigma[1]
    print("FIG", values, sigma)


def test_bags_of_wrenches_and_their_trials(tmp_path):
    t = np.concatenate([np.arange(20), 300 + np.arange(15)]) / 100
    value = np.random.default_rng(3).normal(size=(35, 6))

    def made(ns, row):
        vector = partial(message, "geometry_msgs/msg/Vector3")
        wrench = message("geometry_msgs/msg/Wrench", vector(*row[:3]), vector(*row[3:]))
        return message(WRENCH, BUILD.header(ns, "tool0"), wrench)

    stamps = [EPOCH_NS + round(1e9 * s) for s in t]
    entries = [
        Entry(ns, "/ft/wrench", WRENCH, partial(made, ns, row))
        for ns, row in zip(stamps, value, strict=True)
    ]
    path = tmp_path / "lab.mcap"
    build.write_bag(path, entries)
    first, second = read_trials(path, "wrench")
    assert (first.name, second.name, first.frame) == ("lab_1", "lab_2", "tool0")
    np.testing.assert_array_equal(second.values["torque"][:, 0], value[20:, 3:])
    np.testing.assert_allclose(second.t, t[20:] - 3.0, atol=1e-9)
    (one,), unreadable = check([path])
    assert one.stream.kind == "wrench" and one.refusal is None and not unreadable
    assert one.clock.plain()["trials"] == 2


@pytest.mark.parametrize(
    ("head", "row", "says"),
    [
        (HEAD.replace("tz", "t_z"), "1,0,0,0,0,0,0", "tz 0 times.*t fx fy fz tx ty tz"),
        (HEAD, "0,1,0,0,0,0,0", "increasing stamps"),
        (HEAD, "0,0,0,0,0,0,0", "samples: got 1"),  # an exact copy is no second sample
        (HEAD, "1,0,nan,0,0,0,0", "samples: got 1"),  # nor is a reading without numbers
        (HEAD, "1,0,x,0,0,0,0", "line 3: got '1,0,x"),
        (HEAD, "1", "line 3: got '1'; accepted: 7 numbers"),
    ],
)
def test_bad_tables_are_named(tmp_path, head, row, says):
    path = tmp_path / "bad.csv"
    path.write_text(f"{head}\n0,0,0,0,0,0,0\n{row}\n")
    with pytest.raises(InputError, match=says):
        read_trials(path, "wrench")
    if "stamps" in says:
        (stream,) = read(path)
        assert stream.kind == "wrench"
