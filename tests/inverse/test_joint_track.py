"""Joint logs as objectives: what is read, and derivatives by everything that is fitted."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import Parameter, ParameterMap
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.inverse.joint_track import JointTrack, Reading, Scaled, Servo
from diffsim_ros.inverse.simulation_problem import SimulationProblem, body_slots
from diffsim_ros.inverse.trial import Trial
from tests.native.links import hinged_arm

STEP, STEPS, KEYS = 0.005, 60, 31
TARGETS = {"top": 0.4 * np.sin(np.linspace(0, 3, KEYS)), "elbow": np.linspace(0, -0.5, KEYS) ** 3}
WEAK = {"effort_lower": -2.5, "effort_upper": 1.5}


@pytest.fixture(scope="module", params=[{}, WEAK], ids=["strong", "weak"])
def arm(request):
    """Two links on hinges with position motors that follow keys 0.01 s apart; `weak`: the lower
    one's torque is cut off for a part of the motion."""
    s = hinged_arm(elbow=[0, 1, 0.5])
    for joint, keys in TARGETS.items():
        limits = request.param if joint == "elbow" else {}
        s.add_motor(f"{joint}_drive", joint=joint, keys=keys, interval=0.01, stiffness=60.0,
                    damping=3.0, **limits)  # fmt: skip
    return s


def weak(arm):
    """Whether the lower motor has limits."""
    return "elbow_drive.effort_upper" in {info.name for info in arm.parameters}


def servo(arm, joint, stiffness):
    """The motor of a joint at the steps of a rollout."""
    t = np.arange(STEPS + 1) * STEP
    at = [np.interp(t - k * STEP, np.arange(KEYS) * 0.01, TARGETS[joint]) for k in range(3)]
    rate = (1.5 * at[0] - 2 * at[1] + 0.5 * at[2]) / STEP
    rate[1] = (at[0] - at[1])[1] / STEP  # the first step is BDF1
    limits = (Scaled(-2.5), Scaled(1.5, "most")) if weak(arm) and joint == "elbow" else (None, None)
    return Servo(stiffness, Scaled(3.0), at[0], rate, True, *limits)


def track(arm, joint, rng, readings=None):
    """A joint's log with noise on all three signals, one sample missing."""
    t = np.arange(0.0, 0.27, 0.013)
    readings = readings or {
        "position": Reading(0.01, delay="delay"),
        "velocity": Reading(0.1, delay="delay", gain=0.9, drift="drift"),
        "effort": Reading(0.5, delay=0.004, gain="gain", bias="bias"),
    }
    measured = {signal: rng.normal(size=len(t)) * 0.1 for signal in readings}
    measured["position"][3] = np.nan
    stiffness = Scaled(60.0, "k", 2.0, 1.0) if joint == "top" else Scaled(60.0)
    other = None if joint == "top" else arm.dof_offset("a")
    return JointTrack("a" if joint == "top" else "b", joint, arm, other, t, STEP, measured,
                      readings, servo(arm, joint, stiffness))  # fmt: skip


def problem(arm, **extra):
    """A fit of both joints' logs."""
    rng = np.random.default_rng(0)
    parameters = [
        Parameter("k", "N m/rad", 30.0, sets={"top_drive.stiffness": (2.0, 1.0)}, scale="log"),
        Parameter("a.mass", "kg", 0.5),
        Parameter("delay", "s", 0.006, typical=0.01),
        Parameter("gain", "1", 1.1),
        Parameter("bias", "N m", 0.2),
        Parameter("drift", "1", 0.02, typical=0.01),
    ]
    if weak(arm):
        parameters.append(Parameter("most", "N m", 1.5, sets={"elbow_drive.effort_upper": (1, 1)}))
    objectives = (track(arm, "top", rng), track(arm, "elbow", rng))
    trial = Trial("log", STEPS, objectives, **extra)
    options = _engine.Options(step=STEP)
    return SimulationProblem(arm, options, ParameterMap(parameters, arm), [trial], threads=1)


def test_gradients_by_the_arm_and_by_the_measurement(arm):
    """By the protocol of docs/design.md, S against the adjoint too."""
    report = check_problem(problem(arm))
    assert report.passed, report
    single = problem(arm)
    z = single.start + np.array([0.1, 0.05, -0.1, 0.2, 0.1, -0.3, 0.05])[: len(single.start)]
    exact = np.concatenate(single.evaluate(z, want="gradient").gradient[0:1])
    for i in range(len(z)):
        d = 1e-6 * np.eye(len(z))[i]
        slope = (single.evaluate(z + d).value - single.evaluate(z - d).value) / 2e-6
        assert exact[i] == pytest.approx(slope, rel=2e-5, abs=1e-5 * np.abs(exact).max())


def test_what_is_read_is_the_engines(arm):
    """Without delay at the steps: coordinate, rate, and the torque that the motor applies."""
    torques = ["top_drive.torque", "elbow_drive.torque"]
    run = _engine.rollout(arm, arm.values, STEPS, _engine.Options(step=STEP), outputs=torques)
    t = np.arange(1, STEPS - 1) * STEP
    readings = {signal: Reading(1.0) for signal in ("position", "velocity", "effort")}
    measured = dict.fromkeys(readings, np.zeros(len(t)))
    for joint, body in (("top", "a"), ("elbow", "b")):
        one = JointTrack(body, joint, arm, None, t, STEP, measured, readings,
                         servo(arm, joint, Scaled(60.0)))  # fmt: skip
        motion, found = arm.joint_motion(joint, arm.values, run), one.predicted(run, {"most": 1.5})
        assert found["position"] == pytest.approx(motion["coordinate"][1:-2], abs=1e-8)
        assert found["velocity"] == pytest.approx(motion["rate"][1:-2], abs=1e-6)
        acts = run.outputs[f"{joint}_drive.torque"][1:-2]
        assert found["effort"][1:] == pytest.approx(acts[1:], abs=1e-6)
        if joint == "elbow" and weak(arm):
            assert np.count_nonzero(acts == 1.5) > 3 and np.count_nonzero(abs(acts) < 1.4) > 3
        if joint == "elbow":
            continue
        # momentum of both links about the top hinge: all that acts is the motor and gravity
        axis, place = np.array([0, 1.0, 0]), np.asarray(run.position)
        v, w = np.asarray(run.velocity), np.asarray(run.angular_velocity)
        turn = 0.5 * np.cross(place, v).sum(axis=1)
        turn += _spin(run.orientation, w).sum(axis=1)
        rate = (1.5 * turn[2:] - 2 * turn[1:-1] + 0.5 * turn[:-2]) / STEP
        pulled = np.cross(place, [0, 0, -9.81 * 0.5]).sum(axis=1)[2:]
        wanted = (rate - pulled) @ axis
        assert found["effort"][1:] == pytest.approx(wanted[: len(t) - 1], abs=0.02 * np.ptp(wanted))


def _spin(q, w):
    """Angular momentum (F, 2, 3) of the links about their centres."""
    from diffsim_ros.rotation import quat_matrix

    R = quat_matrix(np.asarray(q))
    own = np.diag([0.01, 0.01, 0.005])
    return np.einsum("fbij,jk,fblk,fbl->fbi", R, own, R, w)


def test_late_and_scaled_readings(arm):
    """A delay moves the curve, before the start it is at rest; gain and bias scale and shift it."""
    run = _engine.rollout(arm, arm.values, STEPS, _engine.Options(step=STEP))
    t = np.arange(0, 40) * STEP
    zero = {"position": np.zeros(len(t))}
    plain, late = (
        JointTrack("a", "top", arm, None, t, STEP, zero, {"position": reading})
        for reading in (Reading(1.0), Reading(1.0, delay="T", gain="g", bias=0.1))
    )
    here = plain.predicted(run, {})["position"]
    there = late.predicted(run, {"T": 3 * STEP, "g": 2.0})["position"]
    assert there[3:] == pytest.approx(2 * here[:-3] + 0.1, abs=1e-8)
    assert there[:3] == pytest.approx(2 * here[0] + 0.1, abs=1e-8)
    fast = JointTrack("a", "top", arm, None, 2 * t[:15], STEP, {"position": np.zeros(15)},
                      {"position": Reading(1.0, drift=-0.5)})  # fmt: skip
    assert fast.predicted(run, {})["position"] == pytest.approx(here[:15], abs=1e-8)


def test_bad_logs_are_refused(arm):
    t, slots = np.arange(5) * 0.01, body_slots(arm)
    assert set(slots) == {"a", "b"}
    reading = {"position": Reading(0.0), "effort": Reading(1.0)}
    with pytest.raises(InputError, match="sigma"):
        JointTrack("a", "top", arm, None, t, STEP, {"position": np.zeros(5)}, reading)
    with pytest.raises(InputError, match=r"position: got \(4,\)"):
        JointTrack("a", "top", arm, None, t, STEP, {"position": np.zeros(4)}, reading)
    with pytest.raises(InputError, match="a motor, whose effort is measured"):
        JointTrack("a", "top", arm, None, t, STEP, {"effort": np.zeros(5)}, reading)


def test_a_shortened_log_ends_where_it_should(arm):
    whole = problem(arm).trials[0].objectives[0]
    short = whole.until(20)
    assert short.t[-1] <= 20 * STEP
    assert len(short.measured["effort"]) == len(short.t)
    assert whole.until(STEPS) is whole
    assert whole.until(0) is None
