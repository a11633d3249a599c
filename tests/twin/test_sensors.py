"""Sensors: their noise is that of the file, and a sample depends on nothing but its number."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader
from diffsim_ros.scene import load_scene
from diffsim_ros.twin.sensors import generator, read_sensor
from diffsim_ros.twin.twin import Twin
from tests.twin.conftest import ROOT, ball_twin

RELEASE = 0.45
SENSORS = {
    "tracker": {
        "poses": {"body": "ball", "rate": 100, "sigma_position": 0.001, "sigma_rotation": 0.02,
                  "dropout": 0.2, "pivot": [0.0, 0.0, 0.05]}
    },
    "dots": {
        "markers": {"body": "ball", "points": [[0.04, 0, 0], [0, 0.04, 0]], "rate": 100,
                    "sigma": 0.001, "dropout": 0.25}
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def record(swing):
    twin = Twin(ball_twin(sensors=SENSORS), base=ROOT)
    return twin.config.sensors, twin.episode().play(swing, release=RELEASE)


def samples(record, name, count=300, time=0.5):
    sensors, played = record
    draws = (generator(1, 0, name, k) for k in range(count))
    return [sensors[name].sample(played, time, k, d) for k, d in enumerate(draws)]


def test_poses_scatter_as_told_about_the_pivot(record):
    published = samples(record, "tracker")
    received = [s for s in published if s is not None]
    assert 0.12 < 1 - len(received) / len(published) < 0.28
    state = record[1].state("ball", 0.5)
    turn = Rotation.from_quat(state.orientation[0])
    pivot = state.position[0] + turn.apply([0, 0, 0.05])
    away = np.array([s.position for s in received]) - pivot
    assert np.abs(away.mean(axis=0)).max() < 3e-4
    np.testing.assert_allclose(away.std(axis=0), 0.001, rtol=0.2)
    turned = turn.inv() * Rotation.from_quat([s.orientation for s in received])
    np.testing.assert_allclose(turned.as_rotvec().std(axis=0), 0.02, rtol=0.2)


def test_markers_are_on_the_body_and_sometimes_hidden(record):
    frames = samples(record, "dots")
    observed = sum(len(frame.names) for frame in frames)
    assert 0.68 < observed / 600 < 0.82
    state = record[1].state("ball", 0.5)
    first = state.position[0] + Rotation.from_quat(state.orientation[0]).apply([0.04, 0, 0])
    places = [f.points[f.names.index("ball_1")] for f in frames if "ball_1" in f.names]
    np.testing.assert_allclose(np.mean(places, axis=0), first, atol=3e-4)


def test_a_sample_does_not_depend_on_those_before(record):
    sensors, played = record
    alone = sensors["tracker"].sample(played, 0.5, 8, generator(1, 0, "tracker", 8))
    assert alone == samples(record, "tracker")[8]
    other = sensors["tracker"].sample(played, 0.5, 8, generator(1, 1, "tracker", 8))
    assert other != alone


def test_a_camera_sees_the_ball_where_it_is_and_the_table(swing):
    pytest.importorskip("open3d")
    noise = {"constant": 0, "quadratic": 0}
    camera = {"eye": [-0.5, -1.2, 0.6], "target": [-0.5, -0.2, 0.2], "size": [80, 60], "rate": 30,
              "noise": noise, "jitter": 0.0}  # fmt: skip
    twin = Twin(ball_twin(sensors={"camera": {"depth_camera": camera}}), base=ROOT)
    observed = twin.config.sensors["camera"]
    for time in (0.2, 0.7):  # in the hand, and free
        record = twin.episode().play(swing, release=RELEASE)
        cloud = observed.sample(record, time, 10**9, generator(0, 0, "camera", 0))
        assert cloud.frame == "camera" and cloud.stamp == 1.0
        points = cloud.moved(
            observed.camera.rotation, np.array(observed.camera.eye), "world"
        ).points
        centre = record.centre("ball", time)[0]
        apart = np.linalg.norm(points - centre, axis=1)
        ball = apart < 0.05
        assert ball.sum() > 10
        np.testing.assert_allclose(apart[ball], 0.04, atol=6e-4)
        assert np.abs(points[~ball, 2]).max() < 1e-5  # single precision


def test_a_camera_sees_bodies_of_every_shape():
    pair = [{"sphere": {"radius": 0.02}, "position": [x, 0, 0]} for x in (0, 0.1)]
    shapes = {
        "rod": {"capsule": {"radius": 0.01, "length": 0.1}},
        "can": {"cylinder": {"radius": 0.03, "height": 0.1}},
        "pair": pair,
    }
    bodies = {name: {"shape": shape, "mass": 1} for name, shape in shapes.items()}
    for k, body in enumerate(bodies.values()):
        body["pose"] = {"position": [0, k, 0]}
    scene = load_scene({"world": {"step": 0.01, "duration": 0.1}, "bodies": bodies})
    camera = {"eye": [-1, 0, 1], "target": [0, 0, 0], "size": [8, 6], "rate": 30}
    sensor = read_sensor(Reader("x"), "camera", {"depth_camera": camera}, scene)
    assert set(sensor.bodies) == set(shapes)
    assert np.ptp(sensor.bodies["pair"].fixed, axis=0) == pytest.approx(
        [0.14, 0.04, 0.04], rel=0.05
    )


def test_truth_is_saved_whole(record, tmp_path):
    record[1].save(tmp_path / "truth.npz", {"more": np.ones(2)})
    with np.load(tmp_path / "truth.npz") as data:
        assert data["release"] == RELEASE and data["more"].sum() == 2
        assert data["ball.position"].shape == (len(data["time"]), 3)
        np.testing.assert_array_equal(
            data["ball.position"], record[1].centre("ball", data["time"])
        )  # fmt: skip
        assert list(data["joints"]) == list(record[1].motion.names)
    with pytest.raises(FileExistsError):
        record[1].save(tmp_path / "truth.npz")


def test_a_soft_body_has_the_pose_that_is_nearest(swing):
    from diffsim_ros.twin.record import nearest_turn

    rng = np.random.default_rng(0)
    rest, weight = rng.normal(size=(20, 3)), np.full(20, 0.05)
    rest -= weight @ rest
    turns = Rotation.random(5, rng=rng)
    placed = np.stack([turn.apply(rest) for turn in turns])
    found = Rotation.from_quat(nearest_turn(rest, placed + 1e-4, weight))
    assert (turns.inv() * found).magnitude().max() < 1e-3


def test_executed_motions_lag_and_are_released_when_told(swing):
    from diffsim_ros.errors import InputError
    from diffsim_ros.twin.execution import executed, simulate_execution

    twin = Twin(ball_twin(gripper={"latency": 0.05}, controller={"bandwidth": 40}), base=ROOT)
    planned = replace(swing, release=RELEASE)
    run = executed(twin.config, planned)
    assert run.outcome.code == 0 and 1e-3 < run.tracking_error < 0.1
    np.testing.assert_allclose(run.motion.positions[-1], swing.positions[-1], atol=1e-4)
    assert simulate_execution(twin, planned).release == pytest.approx(RELEASE)
    late = simulate_execution(twin, planned, lead=0.02)
    assert late.release == pytest.approx(RELEASE + 0.03)
    moving = replace(planned, velocities=np.ones_like(swing.velocities))
    with pytest.raises(InputError, match="velocity of the last point"):
        simulate_execution(twin, moving)


PRESSED = {
    "cell": {
        "wrench": {"body": "ball", "contacts": ["table"], "rate": 100, "position": [0.1, 0, -0.02],
                   "orientation": [1, 0, 0, 0], "sigma_force": 0.01, "sigma_torque": 0.001}
    },
    "scale": {"output": {"output": "table.force.z", "rate": 100}},
    "total": {"output": {"output": "table.force", "rate": 100, "sigma": 0.02, "dropout": 0.2}},
}  # fmt: skip


@pytest.fixture(scope="module")
def pressed(swing):
    twin = Twin(ball_twin(sensors=PRESSED), base=ROOT)
    return twin.config.sensors, twin.episode().play(swing, release=RELEASE)


def test_forces_on_the_table_are_what_the_engine_reports(pressed):
    """Of a force-torque sensor about its own origin and axes, and of single numbers, with noise."""
    phase = pressed[1].phases[-1]
    force = phase.rollout.outputs["table.force"]
    hit = int(np.argmax(force[:, 2]))
    time, exact = phase.times[hit], force[hit]
    assert exact[2] > 1.0
    cell = samples(pressed, "cell", time=time)
    turn = np.diag([1.0, -1.0, -1.0])  # half a turn about x
    found = np.array([[*s.force, *s.torque] for s in cell])
    np.testing.assert_allclose(found[:, :3].mean(axis=0), -turn @ exact, atol=3e-3)
    np.testing.assert_allclose(found.std(axis=0), [0.01] * 3 + [0.001] * 3, rtol=0.2)
    centre = phase.rollout.position[hit, 0]
    about = phase.rollout.outputs["table.torque"][hit]
    torque = -turn @ (about + np.cross(centre - [0.1, 0, -0.02], exact))
    np.testing.assert_allclose(found[:, 3:].mean(axis=0), torque, atol=3e-4)
    assert samples(pressed, "scale", 1, time)[0] == pytest.approx(exact[2], rel=1e-12)
    total = samples(pressed, "total", time=time)
    received = [s for s in total if s is not None]
    assert 0.12 < 1 - len(received) / len(total) < 0.28
    assert np.mean(received) == pytest.approx(np.linalg.norm(exact), abs=6e-3)


def test_what_the_gripper_holds_presses_on_nothing(pressed):
    assert samples(pressed, "cell", 1, 0.2) == [None]
    assert samples(pressed, "scale", 1, 0.2) == [None]


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("wrench", {"contacts": ["tabel"]}, r"contacts\[0\]: got 'tabel'.*contacts of ball: table"),
        ("wrench", {"contacts": []}, "contacts of ball: table"),
        ("wrench", {"body": "bal"}, "a body of the scene"),
        ("output", {"output": "tabel.force"}, "sensors.x.output.output: got 'tabel.force'"),
        ("output", {"output": "table.force.w"}, "a part of table.force"),
    ],
)
def test_sensors_of_forces_are_checked(kind, keys, message):
    given = {**PRESSED["cell" if kind == "wrench" else "scale"][kind], **keys}
    with pytest.raises(InputError, match=message):
        Twin(ball_twin(sensors={"x": {kind: given}}), base=ROOT)
