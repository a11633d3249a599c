"""Ctrl-C in calls that last: each is cut short, and the next call works as before."""

import signal
import threading

import numpy as np
import pytest

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError  # noqa: E402
from tests.simulation.scenes import pendulum  # noqa: E402

HOURS = 10**9
"""Steps that no test could wait for."""


@pytest.fixture(scope="module")
def scene():
    return pendulum().build()


CALLS = {
    "rollout": lambda s: s.rollout(duration=HOURS * s.time_step),
    "batch": lambda s: s.rollout_batch({"rod.mass": [1, 2]}, duration=HOURS * s.time_step),
    "step": lambda s: s.step(s.start(), steps=HOURS),
    "stream": lambda s: list(s.stream(duration=HOURS * s.time_step, every=HOURS)),
}


@pytest.mark.parametrize("name", CALLS)
def test_control_c_ends_it(scene, name):
    here = threading.get_ident()
    timer = threading.Timer(0.1, signal.pthread_kill, [here, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        CALLS[name](scene)
    timer.join()
    assert scene.step(scene.start(), steps=2).time == pytest.approx(0.01)


@pytest.mark.parametrize("mode", ["store", "checkpoint"])
def test_a_cancelled_adjoint_goes_no_further(scene, mode):
    token, engine = _engine.CancelToken(), scene.engine
    run = _engine.rollout(engine, engine.values, 20, scene.options, active=[0], mode=mode)
    at = np.zeros((len(run.time), engine.ndof))
    assert run.gradient(at, at, {}, token).shape == (1,)
    segment = _engine.Segment(
        engine, [engine.snapshot()], engine.values[None], 20, scene.options, active=[0], mode=mode
    )
    ends = np.zeros((1, 4, engine.ndof))
    segment.gradient(np.zeros((1, 0)), ends, 1, token)
    token.cancel()
    with pytest.raises(InputError, match="cancelled"):
        run.gradient(at, at, {}, token)
    with pytest.raises(InputError, match="cancelled"):
        segment.gradient(np.zeros((1, 0)), ends, 1, token)


def test_gradients_of_programs_hand_their_token_on(scene, monkeypatch):
    """The Python side of it: with a token that is cancelled at once, no gradient is returned."""
    motion = scene.rollout(wrt="rod.mass")
    batch = scene.rollout_batch({"rod.mass": [1.0, 2.0]}, wrt="rod.mass")
    pull = scene.vjp(scene.start(), steps=1000, wrt="rod.mass")[2]

    def cancelled(work):
        token = _engine.CancelToken()
        token.cancel()
        return work(token)

    for module in ("rollout", "batch", "state"):
        monkeypatch.setattr(f"diffsim_ros.simulation.{module}.interruptible", cancelled)
    by = np.zeros((len(motion.time), 3))
    calls = (
        lambda: motion.gradient({"rod.position": by}),
        lambda: batch.gradient({"rod.position": np.stack([by, by])}),
        lambda: pull(),
    )
    for call in calls:
        with pytest.raises(InputError, match="cancelled"):
            call()
