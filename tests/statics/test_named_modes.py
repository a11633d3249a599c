"""Frequencies without a derivative: the message names what opens or closes."""

import pytest

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds  # noqa: E402
from diffsim_ros.statics import modes  # noqa: E402


def test_a_string_about_to_pull_is_named():
    builder = ds.SceneBuilder("slack", step=0.01, duration=0.1, gravity=[0, 0, 0])
    builder.body("ball", shape={"sphere": {"radius": 0.05}}, mass=1.0)
    pairs = [
        {"a": {"body": "ball", "point": at}, "b": {"world": at}}
        for at in ([0.05, 0, 0], [0, 0.05, 0], [0, 0, 0])
    ]
    builder.link("hold", "spring", stiffness=100.0, pairs=pairs)
    builder.link("rope", "cable", stiffness=100.0, via=[{"body": "ball"}, {"world": [0, 0, 1]}])
    found = modes(builder.build().engine, count=6)
    with pytest.raises(ds.NotConverged, match=r"'rope'.* opening or closing"):
        found.derivatives()
