"""The twin's core: what is held moves with the tool, what is free obeys the engine."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError
from diffsim_ros.twin.config import load_twin, tool_pose
from diffsim_ros.twin.twin import Twin, Variation, rotation_vectors
from tests.twin.conftest import ROOT, ball_twin

RELEASE = 0.4537
POSES = {"poses": {"body": "ball", "rate": 9}}


@pytest.fixture(scope="module")
def thrown(twin, swing):
    return twin.episode().play(swing, release=RELEASE)


def test_what_is_held_is_rigid_in_the_tool(twin, swing, thrown):
    times = np.linspace(0.0, RELEASE - 1e-9, 40)
    state = thrown.state("ball", times)
    tool = tool_pose(twin.config, swing.at(times)[0])
    inside = np.einsum("kji,kj->ki", tool[:, :3, :3], state.position - tool[:, :3, 3])
    np.testing.assert_allclose(inside, np.tile([0.01, 0.02, 0.1], (40, 1)), atol=1e-12)
    turned = Rotation.from_matrix(tool[:, :3, :3]).inv() * Rotation.from_quat(state.orientation)
    assert turned.magnitude().max() < 1e-12


def test_velocity_and_spin_of_what_is_held_are_those_of_its_pose(thrown):
    times, h = np.linspace(0.05, 0.4, 8), 1e-5
    before, state, after = (thrown.state("ball", times + s) for s in (-h, 0.0, h))
    rate = (after.position - before.position) / (2 * h)
    np.testing.assert_allclose(state.velocity, rate, atol=1e-6)
    turn = Rotation.from_quat(after.orientation) * Rotation.from_quat(before.orientation).inv()
    np.testing.assert_allclose(state.spin, turn.as_rotvec() / (2 * h), atol=1e-5)


def test_it_leaves_with_the_velocity_of_the_tool_at_its_centre(thrown):
    before = thrown.state("ball", RELEASE - 1e-12)
    first = thrown.phases[0]
    assert first.begin == RELEASE
    after = first.state("ball", np.array([RELEASE]))
    assert np.linalg.norm(before.velocity) > 0.5
    for key in ("position", "velocity", "spin", "orientation"):
        np.testing.assert_allclose(getattr(after, key), getattr(before, key), atol=1e-10)


def test_free_flight_is_a_parabola(thrown):
    begin = thrown.state("ball", RELEASE - 1e-12)
    after = np.linspace(0.0, 0.08, 9)
    expected = begin.position + after[:, None] * begin.velocity
    expected[:, 2] -= 4.905 * after**2
    # the first step is of first order: 9.81 h^2 / 2 at most
    np.testing.assert_allclose(thrown.centre("ball", RELEASE + after), expected, atol=1.5e-5)


def test_it_bounces(thrown):
    height = thrown.centre("ball", np.linspace(RELEASE, thrown.until, 400))[:, 2]
    lowest = height.argmin()
    assert 0.03 < height[lowest] < 0.0401
    assert height[lowest:].max() > height[lowest] + 0.02


def test_same_number_same_bits_another_number_other_draws(swing):
    config = ball_twin(
        spread={"ball": {"position": [0.002] * 3, "rotation": [0.1] * 3}},
        gripper={"latency": 0.03, "jitter": 0.002},
        grasp={**ball_twin()["grasp"], "kick_velocity": 0.01, "kick_spin": 0.5},
    )
    times = np.linspace(0.0, 1.2, 50)
    runs = [
        Twin(config, base=ROOT).episode(number).play(swing, release=RELEASE).state("ball", times)
        for number in (4, 4, 5)
    ]
    for key in ("position", "orientation", "velocity", "spin"):
        np.testing.assert_array_equal(getattr(runs[0], key), getattr(runs[1], key))
    assert np.abs(runs[0].position - runs[2].position).max() > 1e-3


def test_variations_change_what_they_name(twin, swing, thrown):
    def played(**what):
        return twin.episode(0, Variation(**what)).play(swing, release=RELEASE)

    assert played(delay=0.002).release == pytest.approx(RELEASE + 0.002)
    shifted = played(shift={"ball": (0, 0, 0.01)})
    apart = shifted.centre("ball", 0.1) - thrown.centre("ball", 0.1)
    assert np.linalg.norm(apart) == pytest.approx(0.01)
    end = thrown.centre("ball", thrown.until)
    assert np.linalg.norm(played(factors={"table.c_f": 0.8}).centre("ball", 1.2) - end) > 1e-4
    same = played(values={"table.c_f": 0.3})
    np.testing.assert_array_equal(same.centre("ball", thrown.until), end)
    with pytest.raises(InputError, match=r"table\.c_f"):
        played(factors={"table.cf": 0.8})


def test_what_comes_after_the_release_changes_nothing(twin, swing, thrown):
    stopped = replace(swing, positions=swing.positions.copy(), velocities=swing.velocities.copy())
    stopped.velocities[60:] = 0.0
    stopped.positions[60:] = swing.positions[59]
    again = twin.episode().play(stopped, release=RELEASE)
    times = np.linspace(0.0, thrown.until, 60)
    np.testing.assert_array_equal(again.centre("ball", times), thrown.centre("ball", times))


def pushed(**more):
    """A cube that the tool drags by a string."""
    scene = {
        "world": {"step": 0.002, "duration": 0.8, "record_every": 2},
        "bodies": {
            "hand": {"type": "kinematic", "pose": {"position": [-0.487, -0.109, 0.332]}},
            "cube": {"shape": {"box": {"size": [0.06] * 3}}, "mass": 0.2,
                     "pose": {"position": [-0.487, -0.109, 0.0295]}},
        },
        "contact": [{"name": "table", "points": "cube", "against": {"plane": {}}, "k_n": 4e3,
                     "c_n": 0.5, "c_f": 0.3}],
        "links": [{"name": "string", "type": "cable", "stiffness": 100, "damping": 0.5,
                   "via": [{"body": "cube", "point": [0, 0, 0.03]}, {"body": "hand"}]}],
    }  # fmt: skip
    return {
        "scene": scene, "robot": "config/robots/ur5.yaml",
        "kinematic_bodies": {"hand": {"in_link": {"position": [0, 0, 0.1]}}}, **more,
    }  # fmt: skip


def test_handles_follow_the_tool_and_a_late_cancel_keeps_the_past(swing):
    twin = Twin(pushed(), base=ROOT)
    config = twin.config
    # from home, up and sideways
    motion = replace(
        swing, positions=config.arm.home - 0.25 * (swing.positions - swing.positions[0]),
        velocities=-0.25 * swing.velocities,
    )  # fmt: skip
    whole = twin.episode().play(motion)
    begin = whole.phases[0].begin  # home is 0.3 mm beside the body's place, which it passes
    assert 0.0 < begin < 0.1
    times = np.linspace(begin, 0.8, 30)
    pose = tool_pose(config, motion.at(times)[0]) @ config.drives["hand"].in_link
    np.testing.assert_allclose(whole.centre("hand", times), pose[:, :3, 3], atol=1e-5)
    assert np.linalg.norm(np.diff(whole.centre("cube", [0.0, 0.8]), axis=0)) > 0.01
    late = 56  # of 101 points: 0.448 s
    held = [rows.copy() for rows in (motion.positions, motion.velocities)]
    held[0][late:], held[1][late:] = held[0][late], 0.0
    stopped = twin.episode().play(replace(motion, positions=held[0], velocities=held[1]))
    until = np.linspace(0.0, motion.times[late - 1] - 0.004, 30)
    for body in ("cube", "hand"):
        np.testing.assert_array_equal(stopped.centre(body, until), whole.centre(body, until))
    assert np.abs(stopped.centre("cube", 0.8) - whole.centre("cube", 0.8)).max() > 1e-3


def test_a_scene_waits_until_the_link_is_at_its_handle(swing):
    twin = Twin(pushed(), base=ROOT)
    away = 0.25 * (swing.positions - swing.positions[0])
    # from elsewhere to the kinematic body's place, and up again
    rows = np.concatenate([away[::-1], -away[1:]]) + twin.config.arm.home
    rates = 0.25 * np.concatenate([-swing.velocities[::-1], -swing.velocities[1:]])
    times = np.concatenate([swing.times, 0.8 + swing.times[1:]])
    motion = replace(swing, times=times, positions=rows, velocities=rates)
    record = twin.episode().play(motion)
    begin = record.phases[0].begin
    # where it comes no nearer, not 5 mm before that: a kinematic body taken there would pull at
    # once
    assert 0.75 < begin < 0.9
    hand = tool_pose(twin.config, motion.at(begin)[0]) @ twin.config.drives["hand"].in_link
    place = twin.config.scene.description["bodies"]["hand"]["keys"]["positions"][0]
    assert np.linalg.norm(hand[:3, 3] - place) < 5e-4
    at = record.centre("cube", [0.0, begin, 1.6])
    np.testing.assert_array_equal(at[0], at[1])
    assert np.linalg.norm(at[2] - at[1]) > 0.01
    # where it never comes there, bodies stay, or it is refused
    never = replace(motion, positions=motion.positions + np.eye(6)[1] * 0.2)
    still = twin.episode().play(never, taken=False).centre("cube", [0.0, 0.8, 1.6, 3.0])
    np.testing.assert_allclose(still, np.tile(still[0], (4, 1)), atol=1e-4)
    with pytest.raises(InputError, match=r"kinematic_bodies\.hand"):
        twin.episode().play(never)


def test_other_bodies_go_on_through_the_release(swing):
    config = ball_twin()
    scene = config["scene"]
    scene["bodies"]["box"] = {
        "shape": {"box": {"size": [0.1] * 3}}, "mass": 1.0, "pose": {"position": [2, 0, 0.049]},
        "velocity": [1.0, 0, 0],
    }  # fmt: skip
    scene["contact"].append({**scene["contact"][0], "name": "slide", "points": "box"})
    record = Twin(config, base=ROOT).episode().play(swing, release=RELEASE)
    assert set(record.bodies) == {"ball", "box"}
    x = record.centre("box", [0.0, RELEASE - 1e-9, RELEASE + 1e-9, 1.0])[:, 0]
    assert x[1] == pytest.approx(x[2], abs=1e-8) and x[3] > x[0] + 0.1
    rate = record.state("box", [RELEASE - 1e-9, RELEASE + 1e-9]).velocity
    np.testing.assert_allclose(rate[0], rate[1], atol=1e-6)


def test_a_soft_ball_is_thrown_too(swing):
    config = ball_twin()
    config["scene"] = {
        "world": {"step": 0.002, "duration": 0.3},
        "bodies": {"ball": {"type": "solid", "shape": {"ball": {"radius": 0.05, "layers": 1}},
                            "density": 150, "young": 3e4, "poisson": 0.35, "viscosity": 20,
                            "pose": {"position": [0, 0, 0.5]}}},
        "contact": [{"name": "table", "points": "ball", "against": {"plane": {}}, "k_n": 1e5,
                     "c_n": 0, "k_t": 400, "c_f": 0.4}],
    }  # fmt: skip
    record = Twin(config, base=ROOT).episode().play(swing, release=RELEASE)
    before = record.state("ball", RELEASE - 1e-9)
    after = record.state("ball", RELEASE + 1e-9)
    np.testing.assert_allclose(after.position, before.position, atol=1e-6)
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-3)
    turn = Rotation.from_quat(before.orientation).inv() * Rotation.from_quat(after.orientation)
    assert turn.magnitude()[0] < 1e-6
    # it goes on turning as the tool did
    later = Rotation.from_quat(record.state("ball", RELEASE + 0.02).orientation)
    turned = (later * Rotation.from_quat(after.orientation).inv()).as_rotvec()[0] / 0.02
    np.testing.assert_allclose(turned, before.spin[0], rtol=0.02, atol=0.05)


def test_rotation_vectors_do_not_jump_beyond_half_a_turn():
    angle = np.linspace(0.0, 6.0, 200)
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    matrices = Rotation.from_rotvec(angle[:, None] * axis).as_matrix()
    np.testing.assert_allclose(rotation_vectors(matrices), angle[:, None] * axis, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grasp": {"body": "bal"}}, "grasp.body: got 'bal'.*did you mean 'ball'"),
        ({"gripper": {"latency": -1}}, "gripper.latency: got -1"),
        ({"sensor": {}}, "sensor: got.*did you mean 'sensors'"),
        ({"sensors": {"eye": {"camera": {}}}}, "sensors.eye.camera"),
        ({"sensors": {"t": {"poses": {"body": "ball", "rate": 0}}}}, "sensors.t.poses.rate: got 0"),
        ({"sensors": {"t": {"poses": {"body": "x", "rate": 9}}}}, "sensors.t.poses.body: got 'x'"),
        (
            {"sensors": {"t": {"poses": {"body": "ball", "rate": 1e9}}}},
            "rate: got 1000000000.*1000 Hz",
        ),
        ({"sensors": {"t": {"poses": {"body": "ball", "rate": 9, "topic": "a b"}}}}, "topic: got"),
        ({"sensors": dict.fromkeys("ab", POSES)}, "sensors.b: got .ball/pose"),
        ({"controller": {"rate": 1e-9}}, "controller.rate: got 1e-09.*1 to 1000 Hz"),
        ({"controller": {"bandwidth": [1]}}, r"^((?!urdf).)*: controller.bandwidth"),
        ({"start": {"elbow_joint": 5}}, "start.elbow_joint: got 5.0; accepted: from -3"),
        ({"spread": {"cube": {}}}, "spread.cube: got 'cube'"),
        ({"kinematic_bodies": {"ball": {}}}, "kinematic_bodies.ball: got 'ball, a rigid'"),
        ({"start": [0, 1]}, "start: got"),
        ({"robot": 3}, "robot: got 3"),
    ],
)
def test_unusable_files_are_refused_by_name(change, message):
    with pytest.raises(InputError, match=message):
        load_twin(ball_twin(**change), base=ROOT)


def test_unusable_motions_are_refused_by_name(twin, swing):
    with pytest.raises(InputError, match="trajectory: joints"):
        twin.episode().play(replace(swing, names=("a", "b", "c", "d", "e", "f")))
    far = Twin(pushed(), base=ROOT)
    with pytest.raises(InputError, match=r"kinematic_bodies\.hand"):
        far.episode().play(swing)
    with pytest.raises(InputError, match="release"):
        far.episode().play(swing, release=0.1)


def test_documented_keys_are_those_accepted():
    from diffsim_ros.twin.schema import markdown

    assert markdown() in (ROOT / "docs" / "reference" / "twin_keys.md").read_text(), (
        "docs/reference/twin_keys.md is old: paste the output of python -m diffsim_ros.twin.schema"
    )


@pytest.mark.parametrize("name", ["ball", "ball_soft"])
def test_twins_of_the_repository_can_be_loaded(name):
    config = load_twin(ROOT / "config" / "twin" / f"{name}.yaml")
    assert config.grasp.body == "ball" and set(config.sensors) == {"tracker", "camera"}
