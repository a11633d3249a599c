"""Scenes of these tests."""

import diffsim_ros as ds

BALL_AND_CUBE = {
    "world": {"step": 0.004, "duration": 0.2, "record_every": 5, "tolerance": 1e-11},
    "bodies": {
        "ball": {"type": "solid", "shape": {"ball": {"radius": 0.1, "layers": 1}}, "density": 150,
                 "young": 2e4, "poisson": 0.4, "viscosity": 5, "velocity": [1, 0.3, -2],
                 "pose": {"position": [0, 0, 0.15]}, "angular_velocity": [2, 5, 1]},
        "cube": {"shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 0.3,
                 "pose": {"position": [1, 0, 0.1], "rotation": [0.4, 0.3, 0.2]},
                 "velocity": [0, 1, -1], "angular_velocity": [3, -4, 2]},
    },
    "contact": [
        {"name": "soft", "points": "ball", "against": {"plane": {}}, "k_n": 2e4, "c_n": 0,
         "c_f": 0.4},
        {"name": "hard", "points": "cube", "against": {"plane": {}}, "k_n": 2e3, "c_n": 0.3,
         "c_f": 0.2},
    ],
}  # fmt: skip


def pendulum(coordinates="reduced", **world):
    """A rod on a motorised hinge beside a box that falls."""
    builder = ds.SceneBuilder("pendulum", step=0.005, duration=0.3, tolerance=1e-12, **world)
    builder.body("rod", shape={"box": {"size": [0.05, 0.04, 0.5]}}, mass=1.2,
                 pose={"position": [0, 0, -0.25]})  # fmt: skip
    builder.body("box", shape={"box": {"size": [0.1, 0.2, 0.1]}}, mass=0.7,
                 pose={"position": [2, 0, 1]}, angular_velocity=[1, 2, -1])  # fmt: skip
    builder.link("hinge", "joint", kind="hinge", body_b="rod", position=[0, 0, 0], axis=[0, 1, 0],
                 coordinates=coordinates, friction_damping=0.02)  # fmt: skip
    builder.link("drive", "motor", joint="hinge", kind="torque", keys=[0.3, 0.3], interval=0.3)
    return builder
