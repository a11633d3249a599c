"""Predicted tosses as a bag: one after the other, and what rviz shows meanwhile."""

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from diffsim_ros.sensing.bags import MARKERS, POSE, topics
from diffsim_ros.sensing.read import read_kind
from diffsim_ros.viz.markers import Action, MarkerKind
from diffsim_ros.viz.pages import sections_of
from diffsim_ros.viz.playback import MARKER_TOPIC, write_playback


@pytest.fixture(scope="module")
def path(result, tmp_path_factory):
    """The playback of twelve tosses of 0.26 s."""
    file = tmp_path_factory.mktemp("playback") / "motion.mcap"
    return write_playback(file, sections_of(result).play)


def test_tosses_follow_each_other_with_a_pause(path, result):
    counts = {name: count for name, (kind, count) in topics(path).items() if kind == POSE}
    assert counts == {"/cube/measured": 12 * 40, "/cube/simulated": 12 * 40}
    track = read_kind(path, "poses", "/cube/simulated")
    gaps = np.flatnonzero(np.diff(track.t) > 0.1)
    assert gaps.tolist() == [40 * i - 1 for i in range(1, 12)]
    assert np.diff(track.t)[gaps] == pytest.approx(0.5)
    for i, prediction in enumerate(result.predictions):
        part = slice(40 * i, 40 * (i + 1))
        assert np.array_equal(track.position[part, 0], prediction.simulated[:, 0, :3])
        assert np.array_equal(track.orientation[part], prediction.simulated[:, 0, 3:])


def test_markers_start_every_toss_clean(path):
    with AnyReader([path]) as reader:
        chosen = [c for c in reader.connections if c.topic == MARKER_TOPIC]
        assert [c.msgtype for c in chosen] == [MARKERS]
        frames = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages(chosen)]
    clears = [i for i, f in enumerate(frames) if f.markers[0].action == Action.DELETE_ALL]
    assert len(clears) == 12 and clears[0] == 0
    names = {marker.ns for marker in frames[0].markers}
    assert {"table", "path/measured", "measured/cube", "simulated/cube", "label"} <= names
    assert 8 <= clears[1] <= 10  # 0.26 s at 30 Hz
    cube = next(m for m in frames[1].markers if m.ns == "simulated/cube")
    arrows = [m for m in frames[clears[1] - 1].markers if m.ns == "contact_force"]
    assert [m.action for m in arrows] == [Action.ADD] * 4 + [Action.DELETE] * 4
    assert cube.type == MarkerKind.CUBE and cube.color.a == 1.0 and cube.header.frame_id == "world"
