"""Scenes whose k_t lets friction act like a damper."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.scene.damped_friction import damped_friction


def slide(**contact):
    builder = ds.SceneBuilder("slide", step=1 / 500, duration=0.5)
    builder.body("box", shape={"box": {"size": [0.1, 0.1, 0.05]}}, mass=0.4, velocity=[1, 0, 0],
                 pose={"position": [0, 0, 0.025]})  # fmt: skip
    law = {"k_n": 4e3, "k_t": 8.0, "c_f": 0.3, "c_n": 0.5, **contact}
    return builder.contact("box", {"plane": {}}, name="ground", **law).build()


def test_it_is_said_with_a_stiffness_that_mends_it():
    soft = slide()
    (text,) = damped_friction(soft.parts)
    assert text.startswith("contact ground: friction acts like a damper below 0.29 m/s")
    assert "k_t: 2400 lowers" in text and text in soft.rollout().warnings
    assert text in repr(soft.rollout())
    mended = slide(k_t=2400.0)
    assert not damped_friction(mended.parts)
    # at rest after v^2 / (2 c_f g); the soft one still creeps
    assert mended.rollout()["box"].velocity[-1, 0] < 1e-3 < soft.rollout()["box"].velocity[-1, 0]


@pytest.mark.parametrize("contact", [{"friction": "hybrid"}, {"k_t": 50.0}, {"c_f": 0.0}])
def test_where_it_holds_nothing_is_said(contact):
    assert not damped_friction(slide(**contact).parts)
