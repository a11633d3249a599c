"""Whether derivatives of the steps as run are those of the motion: other steps, other phases."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.commands.check_gradient import problems_of
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LinearFunctional,
    Parameter,
    ParameterMap,
    PoseTrack,
    SimulationProblem,
    Trial,
    check_settling,
)
from diffsim_ros.inverse.gradient_settling import percent, phases
from diffsim_ros.inverse.resampled import Refined, Steps
from tests.test_cli import SCENES

SAMPLED = {"onset": "sampled"}
"""Keys of a contact whose law sees only the ends of steps: the derivative depends on the phase."""
CONVERGED = 0.0947  # d(1, 1/2, 1/4).x_end/dv_z of the throw, by secants at h/16
TOUCH = (0.4578, 0.4764)  # [s]


def throw(folder, contact=None, **world):
    """The foam ball, thrown so that it touches the table once."""
    scene = yaml.safe_load((SCENES / "foam_throw.yaml").read_text())
    scene["bodies"]["ball"]["velocity"] = [1.5, 0.3, 1]
    scene["world"] |= world
    scene["contact"][0] |= SAMPLED if contact is None else contact
    for key in [key for key, value in scene["contact"][0].items() if value is None]:
        del scene["contact"][0][key]
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    return path


def checked(path):
    """SettlingReport of a scene's own objective."""
    ((label, problem),) = problems_of(str(path))
    return check_settling(problem, label=label)


def by_name(report):
    """Name -> Settling."""
    return {p.name: p for p in report.parameters}


def test_a_sampled_contact_is_named_with_its_time(tmp_path):
    report = checked(throw(tmp_path))
    assert not report.settled and report.limit and report.failed == 0
    assert report.cause.element == "table"
    assert TOUCH[0] - 0.006 < report.cause.time < TOUCH[1] + 0.006
    speed = by_name(report)["ball.velocity.z"]
    assert speed.verdict != "settled" and speed.spread > 0.2
    assert speed.reference == pytest.approx(CONVERGED, rel=0.02)
    assert by_name(report)["ball.velocity.x"].verdict == "settled"
    assert by_name(report)["table.k_t"].gradient == pytest.approx(-2.07e-4, rel=0.05)
    assert "NOT SETTLED" in report.summary() and "table" in report.summary()
    assert report.growth < 10


def test_a_contact_is_settled_by_default(tmp_path):
    report = checked(throw(tmp_path, {}))
    assert max(p.spread for p in report.parameters) < 0.05
    speed = by_name(report)["ball.velocity.z"]
    assert speed.verdict == "settled" and speed.gradient == pytest.approx(CONVERGED, rel=0.05)


def test_a_soft_contact_is_settled(tmp_path):
    report = checked(throw(tmp_path, {"k_n": 20, "k_t": 0.04, "c_n": 0} | SAMPLED, duration=0.6))
    assert report.settled and report.worst < 0.05 and report.cause is None
    assert abs(by_name(report)["table.k_n"].reference) > 0.01  # it touches
    assert "settled: all 30" in report.summary()


def test_a_scene_without_contact_is_settled(tmp_path):
    report = checked(throw(tmp_path, duration=0.4))
    assert report.settled and report.worst < 1e-3 and report.cause is None
    assert by_name(report)["ball.velocity.z"].reference == pytest.approx(0.4 / 4, rel=1e-6)


def test_a_force_that_jumps_at_touchdown_has_no_limit(tmp_path):
    report = checked(throw(tmp_path, SAMPLED | {"damping": "thesis", "c_n": None, "k_d": 4.0}))
    speed = by_name(report)["ball.velocity.z"]
    # nearly the same at all steps and phases, and still of the wrong sign
    change = max(speed.half, speed.quarter, speed.spread) * abs(speed.reference)
    assert change < 0.1 * abs(speed.gradient)
    assert speed.gradient < -0.9 and speed.reference == pytest.approx(CONVERGED, rel=0.05)
    assert not report.limit and report.jumps > 0.5 and report.lawless == ("table",)
    assert "does not converge" in report.summary() and "damping thesis" in report.summary()


def test_a_motion_that_grows_is_said_to(tmp_path):
    scene = yaml.safe_load((SCENES / "spring_chain.yaml").read_text())
    scene["world"] |= {"step": "1/500", "record_every": 5}  # an eighth of the scene's steps
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(scene))
    report = checked(tmp_path / "scene.yaml")
    assert report.growth > 300 and not report.settled
    assert sum(p.verdict == "grows" for p in report.parameters) > 30
    assert "grows" in report.summary() and "shorten the motion" in report.summary()


@pytest.fixture(scope="module")
def spinning():
    """A thrown, tumbling body that turns by springs, and an estimation problem of its poses."""
    scene = _engine.Scene()
    scene.set_gravity([0, 0, -9.81])
    scene.add_rigid_body(
        "body", mass=1.0, inertia=[0.02, 0.03, 0.05, 0, 0, 0], position=[0, 0, 1],
        velocity=[1, 0.5, 2], angular_velocity=[3, -2, 4], radius=0.1,
    )  # fmt: skip
    options = _engine.Options(step=1 / 200, record_every=5)
    frames = np.arange(1, 21)
    track = PoseTrack("body", frames, np.zeros((20, 3)), np.tile([0, 0, 0, 1.0], (20, 1)), 0.1, 0.1)
    parameters = ParameterMap(
        [Parameter("g", "m/s^2", -9.0, sets={"gravity.z": (1, 1)}),
         Parameter("w", "rad/s", 3.5, sets={"body.angular_velocity.x": (1, 1)})], scene,
    )  # fmt: skip
    return SimulationProblem(scene, options, parameters, [Trial("toss", 100, (track,))])


def test_rows_between_steps_are_read_where_the_measurements_are(spinning):
    base = spinning.evaluate(spinning.start, want="equations")
    fine = spinning.simulated_by(Refined(16.0)).evaluate(spinning.start, want="equations")
    for factor in phases(1, 8):  # 5 steps between rows: none of them falls on the others' rows
        other = spinning.simulated_by(Refined(factor)).evaluate(spinning.start, want="equations")
        assert other.value == pytest.approx(fine.value, rel=2e-3)
        off = np.abs(other.gradient[0] - fine.gradient[0])
        assert np.all(off < 1.2 * np.abs(base.gradient[0] - fine.gradient[0]) + 1e-6)


def test_interpolated_sensitivities_are_those_of_interpolated_poses(spinning):
    simulator = Refined(1.13)
    problem = spinning.simulated_by(simulator)

    def rows(z):
        problem.evaluate(z, want="equations")
        (run,) = simulator.rollouts
        return run

    z, eps = spinning.start, 1e-5
    run = rows(z)
    for k in range(2):
        ahead, behind = (rows(z + s * eps * np.eye(2)[k]) for s in (1, -1))
        column = problem._slopes(0, z, None)[0][:, k]
        by_z = np.einsum("fda,a->fd", run.dx, column[: len(problem.active)])
        slope = (ahead.position - behind.position)[:, 0] / (2 * eps)
        np.testing.assert_allclose(by_z[:, :3], slope, atol=1e-7)
        turned = _turn(behind.orientation[:, 0], ahead.orientation[:, 0]) / (2 * eps)
        np.testing.assert_allclose(by_z[:, 3:], turned, atol=2e-3 * np.abs(turned).max() + 1e-7)
    assert simulator.factor == 1.13 and run.time[-1] == pytest.approx(0.5)


def _turn(a, b):
    from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply

    return quat_log(quat_multiply(b, quat_conjugate(a)))


def test_an_estimation_problem_is_settled_too(spinning):
    report = check_settling(spinning, label="toss")
    assert report.settled and report.summary().startswith("toss: settled")
    weighted = replace(spinning.trials[0], name="twice")
    both = SimulationProblem(
        spinning.scene, spinning.options, spinning.map, [spinning.trials[0], weighted]
    )
    twice = check_settling(both)
    for one, two in zip(report.parameters, twice.parameters, strict=True):
        assert two.gradient == pytest.approx(2 * one.gradient)
        assert two.error == pytest.approx(one.error, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ((100, 5, 0.01, 2.0), Steps(200, 10, 0.005)),
        ((100, 5, 0.01, 1.1), Steps(110, 1, 1 / 110)),
        ((100, 20, 0.01, 1.13), Steps(115, 23, 0.2 / 23)),
        ((103, 20, 0.01, 1.13), Steps(115, 23, 0.2 / 23)),  # the rows end before the steps
    ],
)
def test_other_steps_end_at_the_same_time(given, steps):
    got = Steps.refined(*given)
    assert (got.count, got.stride) == (steps.count, steps.stride)
    assert got.step == pytest.approx(steps.step)
    count, every, step, _ = given
    end = count if every < 16 else count // every * every
    assert got.count * got.step == pytest.approx(end * step)


def test_k_t_stays_when_the_step_changes(tmp_path):
    ((_, problem),) = problems_of(str(throw(tmp_path, {"k_t": None})))
    at = problem.scene.index("table.k_t")
    chosen = problem.scene.values[at]
    seen = []

    def simulator(scene, P, *rest):
        seen.append(P[0, at])
        return Refined(4.0)(scene, P, *rest)

    assert problem.simulated_by(simulator).evaluate(problem.start).ok
    assert seen == [chosen]


def test_phases_cover_a_step_and_percentages_read():
    for steps in (10, 33, 100, 1000, 5000):  # before a touchdown
        phase = np.sort(np.array(phases(1, 8)) * steps % 1.0)
        assert np.diff([*phase, phase[0] + 1]).max() < 0.5
    assert min(phases(1, 8)) >= 1.0  # a motor's keys may be no closer than a step
    texts = [percent(v) for v in (0, 0.00123, 0.0567, 0.123, 1.234, 20)]
    assert texts == ["< 0.01 %", "0.12 %", "5.7 %", "12.3 %", "123 %", "> 999 %"]


def test_what_cannot_be_simulated_is_said(tmp_path):
    ((_, problem),) = problems_of(str(throw(tmp_path)))
    token = _engine.CancelToken()
    token.cancel()
    with pytest.raises(InputError, match="cancelled"):
        check_settling(problem, cancel=token)
    problem.options.max_iterations, problem.options.max_halvings = 1, 0
    with pytest.raises(InputError, match="max_iterations: step"):
        check_settling(problem)


def test_objectives_of_the_last_row_need_few_rows(tmp_path):
    from diffsim_ros.inverse.gradient_settling import _thinned

    ((_, problem),) = problems_of(str(throw(tmp_path)))
    thin = _thinned(problem)
    assert thin.options.record_every == 25 and problem.options.record_every == 10
    early = replace(problem.trials[0], objectives=(LinearFunctional("ball", (1, 0, 0), frame=7),))
    problem.trials = (early,)
    assert _thinned(problem).options.record_every == 10
