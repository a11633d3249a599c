"""A user's program, for a strict type checker (`./run lint`); tests run it, too."""

import numpy as np

import diffsim_ros as ds


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
    linear: ds.Linearization = scene.linearize(state, wrt="push.force*", observe="cube.position")
    batch: ds.RolloutBatch = scene.rollout_batch({"cube.mass": np.linspace(0.3, 0.6, 4)})
    last: float = float(batch.stacked("cube.position")[-1, -1, 2])
    assert linear.C.shape == (3, 12) and batch.ok.all()
    return gradient["cube.velocity.x"], last


if __name__ == "__main__":
    print(main())
