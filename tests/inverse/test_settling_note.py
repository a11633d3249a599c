"""The note of a fit or a plan whose last derivatives depend on the phase of contacts."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.inverse import Parameter, ParameterMap, PoseTrack, SimulationProblem, Trial
from diffsim_ros.inverse.settling_note import unsettled

ENOUGH = 1000  # rollouts


def bounces(onset, trials=1):
    """Where a ball is after it has bounced, by its start's velocity and the contact's stiffness."""
    s = _engine.Scene()
    s.add_rigid_body("ball", mass=0.2, inertia=[3e-5] * 3 + [0] * 3, radius=0.02,
                     position=[0, 0, 0.3], velocity=[1.0, 0, 0])  # fmt: skip
    s.add_points("p", bodies=["ball"], local=np.zeros((1, 3)), radius=0.02)
    s.add_contact("floor", points="p", sdf=_engine.Plane([0, 0, 1], 0), k_n=2000.0, k_t=2.0,
                  c_f=0.0, c_n=0.02, onset=onset)  # fmt: skip
    frames = np.arange(120, 240, 10)
    flat = np.tile([0, 0, 0, 1.0], (len(frames), 1))
    track = PoseTrack("ball", frames, np.zeros((len(frames), 3)), flat, 0.01, 0.1)
    up = Parameter("up", "m/s", 0.1, sets={"ball.velocity.z": (1, 1)})
    along = Parameter("along", "m/s", 1.0, sets={"ball.velocity.x": (1, 1)})
    return SimulationProblem(
        s, _engine.Options(step=1 / 400), ParameterMap([along, up], s),
        [Trial(f"toss {k}", 240, (track,)) for k in range(trials)],
    )  # fmt: skip


def test_a_sampled_contact_is_named_with_its_time():
    problem = bounces("sampled")
    before = problem.evaluate(problem.start, want="equations").gradient[0]
    found = unsettled(problem, problem.start, None, ENOUGH)
    assert found.names == ("up",) and found.error > 0.25 and found.trial == ""
    assert found.cause.element == "floor" and 0.2 < found.cause.time < 0.6
    assert "derivatives by up are not settled" in str(found) and "floor" in str(found)
    assert np.array_equal(problem.evaluate(problem.start, want="equations").gradient[0], before)


def test_it_is_silent_where_derivatives_are_settled():
    problem = bounces("integrated")
    assert unsettled(problem, problem.start, None, ENOUGH) is None


@pytest.mark.parametrize(("rollouts", "ran"), [(1, 3), (59, 3), (60, 6), (10**6, 9)])
def test_it_costs_a_tenth_of_the_run_or_three_rollouts(rollouts, ran):
    problem = bounces("sampled", trials=5)
    engine, inner = _engine.rollout_batch, []

    def counting(scene, P, *args, **more):
        inner.append(len(P))
        return engine(scene, P, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_engine, "rollout_batch", counting)
        found = unsettled(problem, problem.start, None, rollouts)
    assert sum(inner) == ran
    assert found.trial in {t.name for t in problem.trials}
