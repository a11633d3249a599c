"""Arms from positions and efforts: what is made up is found again, and a UR5's log is predicted."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.pseudo_inertia import ten
from diffsim_ros.real2sim.efforts import (
    EffortOptions,
    base_parameters,
    errors_of,
    identify,
)
from diffsim_ros.real2sim.efforts.physical import (
    Divergence,
    is_physical,
    pseudo_inertia,
    thickened,
)
from diffsim_ros.real2sim.efforts.regression import Regression
from diffsim_ros.real2sim.efforts.samples import Samples
from diffsim_ros.real2sim.efforts.signals import band_of, low_passed, motion_of, velocity_lag
from diffsim_ros.real2sim.sensors.effort.parameters import parameters_of, payload_of
from diffsim_ros.robots.dynamics import inertial_parameters, regressor
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.joints import read_arrays, trials
from tests.real2sim.arm_synthetic import (
    DRY,
    GAINS,
    OFFSETS,
    VISCOUS,
    recording,
    true_inertias,
)

pytest.importorskip("urchin")
ROOT = Path(__file__).resolve().parents[2]
UR5 = ROOT / "urdf" / "ur5.urdf"


@pytest.fixture(scope="module")
def ur5():
    return load_robot(UR5)


@pytest.fixture(scope="module")
def made_up(ur5):
    """A model of made-up logs."""
    logs = [recording(ur5, seed) for seed in (1, 2)]
    gains = {ur5.joint_names[1]: GAINS[1]}
    return identify(ur5, logs, EffortOptions(gains=gains, friction=("coulomb_viscous",)))


def test_gains_with_signs_friction_and_base_parameters_are_found(ur5, made_up):
    p, n = 10 * len(ur5.joints), len(ur5.joints)
    gain, sigma = made_up.coefficients.gain, np.sqrt(np.diag(made_up.covariance)[p : p + n])
    # the last one's body is a disc about its axis, which asks for nothing: no gain can be seen
    assert gain[:5] == pytest.approx(GAINS[:5], rel=0.05)
    assert sigma[1] == 0.0 and gain[5] == 0.0
    assert "efforts do not tell the gain of wrist_3_joint" in made_up.notes[0]
    assert np.all(np.abs(gain - GAINS)[sigma > 0] < 4 * sigma[sigma > 0])
    for j, (armature, offset, viscous, dry) in enumerate(made_up.coefficients.friction):
        assert (viscous, dry) == pytest.approx((VISCOUS * GAINS[j], DRY * GAINS[j]), rel=0.1)
        assert offset == pytest.approx(OFFSETS[j], abs=0.02)
        assert armature == pytest.approx(0.0, abs=0.05)
    base = base_parameters(ur5)
    own = base.combination @ (made_up.coefficients.phi - true_inertias(ur5)).ravel()
    spread = base.combination @ made_up.covariance[:p, :p] @ base.combination.T
    beyond = np.abs(own) / np.sqrt(np.diag(spread))
    assert np.mean(beyond < 2) > 0.8 and beyond.max() < 5


def test_unseen_motion_is_predicted_and_bodies_are_physical(ur5, made_up):
    errors = errors_of(made_up, made_up.samples([recording(ur5, 3)]))
    assert [e.joint for e in errors] == list(ur5.joint_names)
    for e in errors[:5]:
        assert e.ratio < 0.5 and e.rms < 0.1 * e.constant
        assert e.ratio == pytest.approx(e.rms / e.five) and 0 < e.ratio_sigma < 0.2
    assert is_physical(made_up.coefficients.phi)
    assert np.isfinite(made_up.coefficients.gamma)


def test_the_law_of_friction_is_recognised(ur5):
    logs = [recording(ur5, seed, law="load") for seed in (1, 2)]
    laws = [law.name for law in identify(ur5, logs, EffortOptions(gammas=(0.01,))).laws]
    assert all("load" in law for law in laws[1:3])  # of the shoulder and the elbow, which carry
    logs = [recording(ur5, seed) for seed in (1, 2)]
    laws = [law.name for law in identify(ur5, logs, EffortOptions(gammas=(0.01,))).laws]
    assert laws[:4] == ["coulomb_viscous"] * 4


def test_a_log_without_commands_or_velocities_tells_a_ur5s_tool():
    """MuJoCo's log, whose flange carries what the URDF lacks; efforts read 1.06 times too large."""
    robot = load_robot(UR5)
    logs = [
        replace(log, values={k: log.values[k] for k in ("position", "effort")})
        for log in trials(read_arrays(ROOT / "data" / "ur5_log" / "ur5_log.npz")[0])
    ]
    gains = dict.fromkeys(robot.joint_names, 1.06)
    model = identify(robot, logs[:3], EffortOptions(gains=gains))
    assert model.coefficients.gain == pytest.approx(np.full(6, 1.06), abs=1e-12)
    assert all(e.ratio < 0.3 for e in errors_of(model, model.samples(logs[3:])))
    moment = model.coefficients.phi[5, 1:3]
    sigma = np.sqrt(np.diag(model.covariance)[51:53])
    assert moment == pytest.approx([1.8 * 0.025, -1.8 * 0.015], abs=0.004)
    assert np.all(sigma < 0.004)


def test_the_covariance_is_that_of_blocks_left_out(ur5):
    """With the URDF's bodies the fit is linear: one step is the whole way."""
    log = recording(ur5, 1, seconds=20.0, noise=0.05)
    options = EffortOptions(gammas=(np.inf,), friction=("coulomb_viscous",), bandwidth=2.0)
    model = identify(ur5, [log], options)
    samples = model.samples([log])
    told = np.where(np.array(model.kinds) == "estimated", np.nan, 0.0)
    regression = Regression(
        samples.rows(model.laws), thickened(samples.inertias), model.sigma, told, None,
        samples.block,
    )  # fmt: skip
    assert len(np.unique(samples.block)) == 10 and samples.block[0] == 0  # of 2 s

    def values(c):
        return np.concatenate([c.gain, *c.friction])

    found = regression.fitted(np.inf)
    p = found.phi.size
    assert values(found) == pytest.approx(values(model.coefficients), abs=1e-12)
    moved = np.array([
        values(regression.fitted(np.inf, regression.blocks == k)) - values(found)
        for k in np.unique(regression.blocks)
    ])  # fmt: skip
    wanted = moved.T @ moved * 0.9
    got = regression.covariance(found)
    assert got[p:, p:] == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    assert not got[:p].any()


def test_slow_motions_have_long_blocks(ur5):
    motion = motion_of(recording(ur5, 1, seconds=20.0), ur5.joint_names, 1.2)
    samples = Samples(ur5, (motion, motion), np.ones(6), (0.0, 0.0, -9.81))
    assert samples.block.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, *[5, 5, 6, 6, 7, 7, 8, 8, 9, 9]]


def test_a_payload_is_told_where_gains_are_known(ur5):
    own = inertial_parameters(ur5)
    mass, centre = 1.2, np.array([0.03, -0.02, 0.05])
    own[5, :4] += [mass, *(mass * centre)]
    own[5, 4:7] += mass * (centre @ centre - centre**2)
    own[5, 7:] -= mass * centre[[0, 0, 1]] * centre[[1, 2, 2]]
    logs = [recording(ur5, seed, inertias=own, noise=0.02) for seed in (1, 2)]
    gains = dict(zip(ur5.joint_names, GAINS, strict=True))
    options = EffortOptions(gains=gains, friction=("coulomb_viscous",), payload="tool0")
    model = identify(ur5, logs, options)
    frame = ur5.frame("tool0")
    found = payload_of(model)
    assert parameters_of(model, "A")[:4] == found
    assert [one.name for one in found] == [f"payload.{w}" for w in ("mass", "mx", "my", "mz")]
    assert [one.unit for one in found] == ["kg", "kg m", "kg m", "kg m"]
    there = frame.pose[:3, :3].T @ (centre - frame.pose[:3, 3])
    for one, truth in zip(found, (mass, *(mass * there)), strict=True):
        assert abs(one.value - truth) < 4 * one.std_dev and one.std_dev < 0.1
    held = model.coefficients.phi[:5] - thickened(inertial_parameters(ur5))[:5]
    assert not held.any()
    for link, message in (("base_link", "a link that a joint moves"), ("tool", "did you mean")):
        with pytest.raises(InputError, match=message):
            identify(ur5, logs, EffortOptions(payload=link))


def test_an_armature_of_the_wrong_sign_is_told_or_taken_as_none(ur5):
    log = recording(ur5, 1, inertias=inertial_parameters(ur5))
    motion = motion_of(log, ur5.joint_names, 5.0)
    effort = log.values["effort"].copy()
    effort[:, 1] -= 0.7 * GAINS[1] * motion.qdd[:, 1]
    log = replace(log, values={**log.values, "effort": effort})
    own = {"gammas": (np.inf,), "friction": ("coulomb_viscous",), "bandwidth": 5.0}
    free = identify(ur5, [log], EffortOptions(**own))
    assert free.coefficients.friction[1][0] / GAINS[1] == pytest.approx(-0.7, abs=0.05)
    assert all(kept.all() for kept in free.kept)
    told = "wrong sign: .*armature_shoulder_lift_joint.*: no motion can be simulated with them"
    assert any(re.search(told, note) for note in free.notes)
    model = identify(ur5, [log], EffortOptions(**own, physical=True))
    assert not model.kept[1][0] and model.coefficients.friction[1][0] == 0.0
    signs = np.where(model.coefficients.gain != 0, model.coefficients.gain, GAINS)
    for c, s in zip(model.coefficients.friction, signs, strict=True):
        assert np.all(c[[0, 2, 3]] * s >= 0)  # armature, viscous, Coulomb
    one = next(p for p in parameters_of(model, "A") if p.name == "armature_shoulder_lift_joint")
    assert one.fixed and one.std_dev is None and "taken as 0" in one.note


def test_a_joint_at_its_end_stop_counts_less(ur5):
    """0.6 s of an effort that is no friction, as a torso's at its lower end."""
    robot = load_robot(UR5, joints=ur5.joint_names[:2])
    options = EffortOptions(friction=("coulomb_viscous",), gammas=(np.inf,))
    log, found = recording(robot, 1, seconds=20.0, inertias=inertial_parameters(robot)), []
    effort = log.values["effort"].copy()
    effort[500:560, 0] -= 3.0
    for values in (log.values["effort"], effort):
        found.append(identify(robot, [replace(log, values={**log.values, "effort": values})],
                              options))  # fmt: skip
    truth = np.array([VISCOUS * GAINS[0], DRY * GAINS[0]])
    assert found[0].coefficients.friction[0][2:] == pytest.approx(truth, rel=0.05)
    off = found[1].coefficients.friction[0][2:] - truth
    plain = found[1].baseline[0][1:3] - truth  # least squares
    assert np.linalg.norm(off) < 0.25 * np.linalg.norm(plain), (off, plain)


# ---------------------------------------------------------------------------- parts


def test_the_divergence_and_its_derivatives(ur5):
    phi0 = inertial_parameters(ur5)
    d = Divergence(phi0)
    assert d.value(phi0) == pytest.approx(0, abs=1e-9)
    assert pseudo_inertia(phi0)[2] == pytest.approx(pseudo_inertia(ten(pseudo_inertia(phi0[2]))))
    phi = true_inertias(ur5)
    assert d.value(phi) > 0.1
    outside = phi.copy()
    outside[3, 0] = -1.0
    assert d.value(outside) == np.inf
    gradient, hessian = d.derivatives(phi)
    rng = np.random.default_rng(1)
    for _ in range(5):
        direction = rng.normal(size=phi.shape) * phi[:, :1] * 1e-2
        e = 1e-6

        def at(s, direction=direction):
            return phi + s * direction

        slope = (d.value(at(e)) - d.value(at(-e))) / (2 * e)
        assert gradient @ direction.ravel() == pytest.approx(slope, rel=1e-5)
        bend = (d.derivatives(at(e))[0] - d.derivatives(at(-e))[0]) / (2 * e)
        assert hessian @ direction.ravel() == pytest.approx(
            bend, rel=1e-5, abs=1e-5 * abs(bend).max()
        )


def test_points_and_rods_are_thickened_and_others_kept(ur5):
    phi = inertial_parameters(ur5)
    assert thickened(phi) == pytest.approx(phi, rel=1e-12, abs=1e-15)
    point = np.array([[2.0, 0.2, 0, 0, 0, 0.02, 0.02, 0, 0, 0]])
    assert not is_physical(point)
    thick = thickened(point)
    assert is_physical(thick) and thick[0, :4] == pytest.approx(point[0, :4])
    assert np.abs(thick - point).max() < 1e-4


def test_efforts_depend_on_base_parameters_alone(ur5):
    base = base_parameters(ur5)
    assert len(base.names) == 36
    assert "upper_arm_link.mass" not in base.names or "shoulder_link.mass" not in base.names
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.normal(size=(3, 200, 6))
    Y = regressor(ur5, q, qd, qdd).reshape(-1, 60)
    assert np.linalg.matrix_rank(Y, tol=1e-8 * np.linalg.norm(Y, 2)) == 36
    hidden = np.linalg.svd(base.combination)[2][36:]
    assert np.abs(Y @ hidden.T).max() < 1e-9 * np.abs(Y).max()


def test_the_filter_keeps_the_band_and_time(ur5):
    log = recording(ur5, 4)
    t = log.t
    wave = np.sin(2 * np.pi * 0.3 * t)[:, None]
    kept = low_passed(np.column_stack([wave, wave]) + np.sin(2 * np.pi * 20 * t)[:, None], 2, 100)
    assert kept[300:-300, 0] == pytest.approx(wave[300:-300, 0], abs=1e-3)
    band = band_of([log], ur5.joint_names)
    assert 1.0 < band < 4.0  # five times what is below 0.5 Hz
    motion = motion_of(log, ur5.joint_names, band)
    assert motion.qd[200:-200] == pytest.approx(
        np.gradient(log.values["position"], t, axis=0)[200 : len(motion.t) - 200], abs=0.02
    )
    assert velocity_lag(log, ur5.joint_names, band) is None
    rate = np.gradient(log.values["position"], t, axis=0)
    late = replace(log, values={**log.values, "velocity": np.roll(rate, 15, axis=0)})
    assert velocity_lag(late, ur5.joint_names, band) == pytest.approx(0.15, abs=0.011)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"effort": None}, {}, "log1: efforts: got 'none'; accepted: measured efforts"),
        ({}, {"bandwidth": 40.0}, "bandwidth: got 40.0; accepted: a number > 0, at most 0.2 of"),
        ({}, {"bandwidth": 0.01}, "duration: got '30 s'; accepted: trials longer than"),
        ({}, {"friction": ("coulom",)}, "friction: got 'coulom'.*did you mean"),
        ({}, {"gains": {"elbow": 1.0}}, "gains.elbow: got 1.0.*did you mean 'elbow_joint'"),
        ({}, {"gains": {"elbow_joint": 0.0}}, "gains.elbow_joint: got 0.0; .* other than 0"),
        ({}, {"gammas": (0.0,)}, "gammas: got .*accepted: numbers > 0"),
        ({"still": 2}, {}, "joint elbow_joint: got .*in which it moves; leave it out"),
        ({"hole": 1}, {}, "position of shoulder_lift_joint: got .*at least half"),
    ],
)
def test_logs_and_options_that_do_not_do_are_refused(ur5, change, options, message):
    log = recording(ur5, 1)
    values = {k: v.copy() for k, v in log.values.items() if change.get(k, 0) is not None}
    if "still" in change:
        values["position"][:, change["still"]] = 0.3
    if "hole" in change:
        values["position"][: len(log.t) * 3 // 4, change["hole"]] = np.nan
    with pytest.raises(InputError, match=message):
        identify(ur5, [replace(log, values=values)], EffortOptions(**options))
