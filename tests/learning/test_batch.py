"""Environments on the engine alone: their motion, their gradients, their files."""

from pathlib import Path

import numpy as np
import pytest
import yaml

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError  # noqa: E402
from diffsim_ros.learning import Batch, load_environment, schema  # noqa: E402
from tests.learning.environments import PENDULUM, pushed_block  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def config(name):
    if name == "pendulum":
        return load_environment(PENDULUM)
    block = pushed_block()
    if name == "hard block":  # contact forces have no derivatives with that stepper
        block["scene"]["world"]["stepper"] = "velocity"
        block["scene"]["bodies"]["block"]["pose"] = {"position": [0, 0, 0.05]}
        del block["reward"]["press"]
    return load_environment(block)


def content(**changes):
    """The pendulum's file with some keys changed."""
    return yaml.safe_load(PENDULUM.read_text()) | changes


def test_steps_of_a_constant_action_are_one_rollout():
    c = config("block")
    batch = Batch(c, 1, seed=1)
    batch.reset()
    p = batch.P[0].copy()
    action = np.array([[0.3, -0.2]])
    engine, value = c.scene.engine, [1.2, 1.2]
    p[engine.index("push.force[0].x")] = value[0]
    p[engine.index("push.force[0].y")] = 0.5 * value[1]
    p[engine.index("push.force[0].z")] = -0.1 * value[1]
    whole = _engine.rollout(engine, p, 15, c.scene.options)
    for k in range(1, 6):
        seen = batch.step(action).observation[0]
        x, v = whole.position[3 * k, 0], whole.velocity[3 * k, 0]
        assert seen[:3] == pytest.approx(x, abs=1e-11)
        assert seen[3:6] == pytest.approx(np.tanh(v), abs=1e-9)
        assert batch.snapshots[0].t == pytest.approx(whole.time[3 * k])


@pytest.mark.parametrize("name", ["pendulum", "block", "hard block"])
def test_gradients_go_back_through_many_steps(name):
    c, horizon, count = config(name), 5, 3
    rng = np.random.default_rng(2)
    actions = rng.uniform(-0.9, 0.9, (horizon, count, len(c.actions)))
    weight = rng.normal(size=(horizon, count, len(c.observation)))

    def rolled(actions):
        batch = Batch(c, count, seed=3, threads=2)
        batch.reset()
        return batch, [batch.step(a, gradient=True) for a in actions]

    def objective(actions):
        steps = rolled(actions)[1]
        total = sum(s.reward.sum() for s in steps)
        return total + sum((w * s.observation).sum() for w, s in zip(weight, steps, strict=True))

    batch, steps = rolled(actions)
    found, end = np.zeros_like(actions), np.zeros((count, 4, batch.ndof))
    for k in range(horizon - 1, -1, -1):
        found[k], end = steps[k].pull_back(weight[k], np.ones(count), end)
    differences = np.zeros_like(actions)
    for at in np.ndindex(actions.shape):
        moved = [actions.copy(), actions.copy()]
        for one, sign in zip(moved, (1, -1), strict=True):
            one[at] += sign * 1e-4
        differences[at] = (objective(moved[0]) - objective(moved[1])) / 2e-4
    assert np.abs(differences).min() > 1e-6  # each action matters
    assert found == pytest.approx(differences, rel=1e-5, abs=1e-6 * np.abs(differences).max())


def test_jacobians_of_a_step_are_its_differences():
    c, count = config("block"), 3
    action = np.random.default_rng(6).uniform(-0.8, 0.8, (count, 2))

    def stepped(action):
        batch = Batch(c, count, seed=7)
        batch.reset()
        return batch.step(action, gradient=True)

    by_observation, by_reward = stepped(action).jacobians()
    for k, along in enumerate(np.eye(2)):
        ends = [stepped(action + e * along) for e in (1e-4, -1e-4)]
        seen = (ends[0].observation - ends[1].observation) / 2e-4
        assert by_observation[..., k] == pytest.approx(seen, rel=1e-5, abs=1e-8)
        reward = (ends[0].reward - ends[1].reward) / 2e-4
        assert by_reward[:, k] == pytest.approx(reward, rel=1e-5, abs=1e-7)


def test_the_number_of_threads_changes_nothing():
    c = config("block")
    seen = []
    for threads in (1, 2):
        batch = Batch(c, 5, seed=4, threads=threads)
        batch.reset()
        steps = [batch.step(np.full((5, 2), a), gradient=True) for a in (0.1, -0.4)]
        end = np.zeros((5, 4, batch.ndof))
        for step in steps[::-1]:
            by, end = step.pull_back(np.ones((5, len(c.observation))), np.ones(5), end)
        seen.append((steps[1].observation, by, end))
    for one, two in zip(*seen, strict=True):
        assert np.array_equal(one, two)
    assert np.ptp(seen[0][0][:, 0]) > 1e-4  # episodes differ


def test_episodes_begin_where_reset_says_and_end_after_the_horizon():
    c = load_environment(
        content(
            reset={"joints": {"hinge": {"coordinate": "30 deg", "rate": 2, "spread": 0.1}}},
            ends=[{"of": "hinge.rate", "above": 2.4}],
        )
    )
    batch = Batch(c, 200, seed=5)
    seen = batch.reset()
    angle = np.arctan2(seen[:, 0], seen[:, 1])
    assert np.abs(angle - np.pi / 6).max() <= 0.1 < 2 * np.ptp(angle)
    assert seen[:, 2] == pytest.approx(2 / 5)
    kept = seen[7]
    step = batch.step(np.ones((200, 1)), only=np.arange(200) != 7)
    assert np.array_equal(step.observation[7], kept) and step.reward[7] == 0
    for _ in range(c.horizon):
        step = batch.step(np.zeros((200, 1)))
    assert (step.truncated | step.terminated).all()
    fresh = batch.reset(step.truncated)
    assert np.array_equal(fresh[step.terminated], step.observation[step.terminated])


def test_a_limit_terminates_an_episode():
    c = load_environment(content(ends=[{"of": "hinge.rate", "below": -1, "above": 1}]))
    batch = Batch(c, 1, seed=0)
    batch.reset()
    for _ in range(50):
        step = batch.step(np.ones((1, 1)))
        if step.terminated[0]:
            break
    assert step.terminated[0] and not step.truncated[0] and abs(step.y[0, 1]) > 1


def test_to_be_alive_is_rewarded_until_the_episode_terminates():
    limits = {"ends": [{"of": "hinge.rate", "below": -1, "above": 1}]}
    batches = [
        Batch(load_environment(content(**limits, alive_reward=a)), 3, seed=0) for a in (0, 2)
    ]
    rewards, ended = [], np.zeros(3, bool)
    for batch in batches:
        batch.reset()
    for _ in range(50):
        steps = [b.step(np.ones((3, 1)), only=~ended) for b in batches]
        rewards.append([step.reward for step in steps])
        assert np.array_equal(steps[0].terminated, steps[1].terminated)
        gained = rewards[-1][1] - rewards[-1][0]
        assert gained == pytest.approx(2.0 * ~(ended | steps[0].terminated))
        ended |= steps[0].terminated
    assert ended.all()


def test_a_motion_that_fails_ends_its_episode_where_it_was():
    hopeless = {"max_iterations": 1, "max_halvings": 0, "tolerance": 1e-14}
    scene = content()["scene"] | {"world": {"step": 0.01, "duration": 1, **hopeless}}
    c = load_environment(content(scene=scene, failure_reward=-3.0, alive_reward=1.0))
    batch = Batch(c, 2, seed=0)
    before = batch.reset()
    step = batch.step(np.ones((2, 1)), gradient=True)
    assert step.terminated.all() and list(step.reward) == [-3.0, -3.0]
    assert np.array_equal(step.observation, before)
    assert "step 1" in step.failures[0]
    by, start = step.pull_back(np.ones((2, 3)), np.ones(2), np.ones((2, 4, batch.ndof)))
    assert not by.any() and not start.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observation": ["hinge.angle"]}, r"observation\[0\].of: got 'hinge.angle'.*hinge.rate"),
        ({"observation": []}, "observation: .*at least one term"),
        ({"reward": {"a": {"of": "action.torqe"}}}, "did you mean 'torque'"),
        ({"reward": {"a": {"of": "rod.position", "as": "sin_cos"}}}, "sin or cos in a reward"),
        ({"action": {}}, "at least one action"),
        ({"action": {"a": {"motor": "motr", "bounds": [0, 1]}}}, "did you mean 'motor'"),
        ({"action": {"a": {"motor": "motor", "bounds": [1, 0]}}}, "lower < upper"),
        ({"action": {"a": {"bounds": [0, 1]}}}, "either `motor` or `sets`"),
        ({"action": {"a": {"sets": {"rod.mass": 1}, "bounds": [-1, 1]}}}, r"to inf \[kg\]"),
        ({"action": {"a": {"sets": {"rod.velocity.x": 1}, "bounds": [-1, 1]}}}, "after the start"),
        ({"reset": {"joints": {"hing": {}}}}, "did you mean 'hinge'"),
        ({"reset": {"parameters": {"rod.mass": {"spread": 2}}}}, r"a range within 1e-12 to inf"),
        ({"reset": {"parameters": {"motor.torque[0]": {}}}}, "action 'torque' does not set"),
        ({"ends": [{"of": "rod.position", "below": 0}]}, "one number of the motion"),
        ({"ends": [{"of": "rod.position.z"}]}, "`below`, `above` or both"),
        ({"alive_reward": "yes"}, "alive_reward: got 'yes'"),
        ({"horizon": 0}, "horizon: got 0"),
        ({"horizn": 3}, "did you mean 'horizon'"),
    ],
)  # fmt: skip
def test_what_a_file_gets_wrong_is_named(changes, message):
    with pytest.raises(InputError, match=message):
        load_environment(content(**changes))


def test_the_reference_has_every_key():
    assert schema.markdown() in (ROOT / "docs" / "reference" / "learning_keys.md").read_text()


def test_actions_that_are_no_numbers_are_refused():
    batch = Batch(config("pendulum"), 2, seed=0)
    with pytest.raises(InputError, match=r"reset\(\) before"):
        batch.step(np.zeros((2, 1)))
    batch.reset()
    for actions in (np.full((2, 1), np.nan), np.zeros((1, 1)), np.zeros((2, 2))):
        with pytest.raises(InputError, match=r"finite numbers of shape \(2, 1\)"):
            batch.step(actions)
    for actions in (np.ones((2, 1), bool), np.ones((2, 1), complex), np.full((2, 1), "1")):
        with pytest.raises(InputError, match=r"actions: .*accepted: numbers"):
            batch.step(actions)
    made = batch.step(np.zeros((2, 1)), gradient=True)
    right = [np.zeros(made.observation.shape), np.zeros(2), np.zeros((2, 4, batch.ndof))]
    made.pull_back(*right)
    for k, name in enumerate(("by_observation", "by_reward", "by_end")):
        for wrong in (np.zeros(1), right[k][:1], right[k] + np.nan):
            with pytest.raises(InputError, match=f"{name}: .*finite numbers of shape"):
                made.pull_back(*right[:k], wrong, *right[k + 1 :])
