"""A user's program, for a strict type checker (`./run lint`); tests run it, too."""

import numpy as np

import diffsim_ros as ds
from diffsim_ros import engine


def main() -> tuple[float, float]:
    """Gradient of a landing, a controlled step, a batch: with the types that users see."""
    builder = ds.SceneBuilder("drop", step=0.005, duration=0.3, scheme="bdf1")
    builder.body("cube", shape={"box": {"size": [0.1, 0.1, 0.1]}}, mass=0.4)
    builder.link("push", "force", body="cube", force=[0.0, 0.0, 0.0])
    scene: ds.Scene = builder.build()
    rollout: ds.Rollout = scene.rollout({"cube.mass": 0.5}, wrt=["cube.velocity.*", "cube.mass"])
    end = np.zeros_like(rollout["cube"].position)
    end[-1, 0] = 1.0
    gradient: ds.Values = rollout.gradient({"cube.position": end})
    state: ds.State = scene.step(scene.start(), {"push.force[0].x": 2.0}, steps=10)
    snapshot: engine.Snapshot = state.snapshot
    gap, normal, _, _ = engine.Sphere(0.05).evaluate(np.zeros((1, 3)))
    linear: ds.Linearization = scene.linearize(state, wrt="push.force*", observe="cube.position")
    batch: ds.RolloutBatch = scene.rollout_batch({"cube.mass": np.linspace(0.3, 0.6, 4)})
    last: float = float(batch.stacked("cube.position")[-1, -1, 2])
    assert snapshot.t > 0 and gap[0] == -0.05 and normal.shape == (1, 3)
    assert scene.engine.masses(scene.values.array)[0] == 0.4
    assert linear.C.shape == (3, 12) and batch.ok.all()
    return gradient["cube.velocity.x"], last


if __name__ == "__main__":
    print(main())
