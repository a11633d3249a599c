"""Animations of scenes, of bags and of recordings that are drawn: the same markers everywhere."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing import bags
from diffsim_ros.viz.animation import Animation, scene_animation
from diffsim_ros.viz.markers import Action, Marker, MarkerKind
from diffsim_ros.viz.playback import Points, Reel, recorded_animation
from diffsim_ros.viz.recorded import bag_animations, reel_animations

SCENE = {
    "world": {"step": 1 / 100, "duration": 0.5},
    "bodies": {
        "box": {"shape": {"box": {"size": [0.2, 0.1, 0.1]}}, "mass": 0.2, "contact_spheres": {},
                "pose": {"position": [0.0, 0.0, 0.15]}, "velocity": [0.5, 0.0, 0.0],
                "colour": [1.0, 0.0, 0.0, 1.0]},
        "pin": {"shape": {"cylinder": {"radius": 0.02, "height": 0.1}}, "mass": 0.1,
                "pose": {"position": [0.3, 0.0, 1.5]}, "angular_velocity": [3.0, 0.0, 0.0]},
    },
    "sdfs": {"floor": {"plane": {}}},
    "contact": [{"points": "box", "against": "floor", "k_n": 1000, "c_n": 0.1}],
    "links": [{"name": "rope", "type": "spring", "stiffness": 0.1,
               "pairs": [{"a": {"body": "box"}, "b": {"body": "pin"}}]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def motion():
    model = load_scene(SCENE)
    return model, _engine.rollout(model.engine, model.engine.values, model.steps)


def named(markers):
    return {(m.ns, m.id): m for m in markers}


def test_bodies_links_and_forces_are_where_they_are(motion):
    model, rollout = motion
    animation = scene_animation(model, rollout)
    touching = int(np.linalg.norm(rollout.contact_force.sum(axis=1), axis=1).argmax())
    for frame in (0, touching, len(rollout.time) - 1):
        seen = named(animation.frame(frame))
        for body in ("box", "pin"):
            row, marker = model.engine.nodes_of(body)[0], seen[f"body/{body}", 0]
            np.testing.assert_array_equal(marker.position, rollout.position[frame, row])
            np.testing.assert_array_equal(marker.orientation, rollout.orientation[frame, row])
        rows = [model.engine.nodes_of(body)[0] for body in ("box", "pin")]
        rope = next(m for (ns, _), m in seen.items() if ns == "link/rope")
        np.testing.assert_allclose(rope.points, rollout.position[frame, rows])
        arrows = [m for (ns, _), m in seen.items() if ns == "contact_force"]
        assert bool(arrows) == bool(rollout.contact_force[frame].any())
        assert all(abs(arrow.points[0, 2]) < 0.03 for arrow in arrows)  # on the floor, upwards
        assert all(arrow.points[1, 2] > arrow.points[0, 2] for arrow in arrows)


def test_a_bag_has_what_is_seen_of_rigid_bodies(motion, tmp_path):
    """Shapes, colours and poses, frames at 30 Hz; arrows of contacts that end are gone."""
    model, rollout = motion
    animation = scene_animation(model, rollout)
    chosen = animation.instants(30.0)
    bags.write_motion(tmp_path / "motion.mcap", [], markers=[recorded_animation(animation)])
    (read,) = bag_animations(tmp_path / "motion.mcap", "name")
    assert read.name == "name"
    np.testing.assert_allclose(read.time, rollout.time[chosen], atol=1e-6)
    counts = []
    for k, frame in enumerate(chosen):
        one, other = named(read.frame(k)), named(animation.frame(int(frame)))
        assert one.keys() == other.keys()
        for key, marker in other.items():
            back = one[key]
            assert back.kind is marker.kind and back.scale == pytest.approx(marker.scale)
            assert back.colour == pytest.approx(marker.colour, abs=1e-6)
            np.testing.assert_allclose(back.position, marker.position, atol=1e-12)
            np.testing.assert_allclose(back.points, marker.points, atol=1e-12)
        counts.append(sum(ns == "contact_force" for ns, _ in one))
    assert max(counts) > 0 and min(counts) == 0
    assert "table" in {marker.ns for marker in read.still}  # read once, drawn once


def test_a_bag_without_pictures_is_refused(tmp_path):
    t = np.array([0.0, 0.1])
    poses = [("/box", "world", t, np.zeros((2, 3)), np.tile([0.0, 0, 0, 1], (2, 1)))]
    bags.write_motion(tmp_path / "a.mcap", poses)
    with pytest.raises(InputError, match=r"with pictures on /markers"):
        bag_animations(tmp_path / "a.mcap")


def test_recordings_one_after_the_other_become_animations_of_their_own():
    reel = Reel()
    for word in ("one", "two"):
        frames = [[Marker("body", 0, position=(0.1 * k, 0, 0)),
                   Marker("label", 0, MarkerKind.TEXT, text=f"{word}  t = {k} s")]
                  for k in range(3)]  # fmt: skip
        frames[2].append(Marker("body", 0, action=Action.DELETE))
        reel.draw([0.0, 0.1, 0.2], frames)
        reel.cloud(0.1, Points(np.ones((4, 3)), np.zeros((4, 3))))
        reel.end(0.2)
    first, second = reel_animations(reel)
    assert (first.name, second.name) == ("one", "two")
    for found in (first, second):
        np.testing.assert_allclose(found.time, [0.0, 0.1, 0.2], atol=1e-9)
        seen = [named(found.frame(k)) for k in range(3)]
        assert [sorted(ns for ns, _ in one) for one in seen] == [
            ["body", "label"], ["body", "label", "points"], ["label", "points"]
        ]  # fmt: skip
        assert seen[1]["body", 0].position[0] == pytest.approx(0.1)


def test_what_never_changes_is_drawn_once():
    ground, ball = Marker("table", 0), Marker("ball", 0)
    moving = [ball.moved((0.1 * k, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)) for k in range(3)]
    found = Animation("a", np.arange(3.0), lambda k: [ground, moving[k]]).settled()
    assert list(found.still) == [ground]
    assert [found.at(k) for k in range(3)] == [[one] for one in moving]
