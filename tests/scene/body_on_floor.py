"""A rigid body of any shape over a floor, for tests."""

from diffsim_ros import _engine

G = 9.81


def scene(shape, *, step=1 / 480, duration=0.8, gravity=(0, 0, -G), law=None, **body):
    """A body `a` over the plane z = 0."""
    body = {"mass": 0.5, "pose": {"position": [0, 0, 0.35]}, **body}
    law = {"k_n": 2500, "c_n": 0.4, "c_f": 0.2, **(law or {})}
    return {
        "world": {"step": step, "duration": duration, "gravity": list(gravity)},
        "bodies": {"a": {"shape": shape, **body}},
        "contact": [{"name": "floor", "points": "a", "against": {"plane": {}}, **law}],
    }


def run(model):
    motion = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert motion.ok, motion.message
    return motion
