"""Recordings of a force–torque sensor under a pressed foam block, of known stiffness and noise."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.inverse.wrench_track import WrenchTrack
from diffsim_ros.scene.model import load_scene
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bags import EPOCH_NS
from diffsim_ros.sensing.messages import BUILD, Entry, message
from diffsim_ros.sensing.wrench import COLUMNS, WRENCH
from diffsim_ros.yaml_file import read_mapping

ROOT = Path(__file__).resolve().parents[2]
SCENE = ROOT / "config" / "scenes" / "pressed_block.yaml"
SIGMA, INTERVAL = (0.02, 1e-3), 1 / 200
HEAD = ",".join(("t", *COLUMNS, "trial"))


def record(path: Path, young: float, seed: int, trials: int = 2, late: float = 0.0, **frame):
    """A CSV of a block of this stiffness: the same press several times, each with its own noise."""
    raw, _ = read_mapping(SCENE, ROOT)
    raw["bodies"]["block"]["young"] = young
    model = load_scene(raw)
    run = _engine.rollout(model.engine, model.engine.values, 60, model.options)
    assert run.ok, run.message
    t = np.arange(60) * INTERVAL
    sensor = WrenchTrack(
        body="block", contacts=("rest",), scene=model.engine, t=np.maximum(t - late, 0.0),
        interval=INTERVAL, force=np.zeros((60, 3)), torque=np.zeros((60, 3)),
        **{"origin": (0.0, 0.0, -0.02), **frame},
    )  # fmt: skip
    clean = sensor.predicted(run, body_slots(model.engine)["block"], {})
    generator, rows = np.random.default_rng(seed), []
    for k in range(trials):
        noisy = clean + np.repeat(SIGMA, 3) * generator.normal(size=clean.shape)
        rows.append(np.column_stack([t, noisy, np.full(60, k)]))
    np.savetxt(path, np.concatenate(rows), delimiter=",", header=HEAD, comments="")
    return path


def wrench_message(ns: int, row: np.ndarray, frame: str = "ft_sensor"):
    """A WrenchStamped (rosbags) of force and torque (6,)."""
    vector = partial(message, "geometry_msgs/msg/Vector3")
    wrench = message("geometry_msgs/msg/Wrench", vector(*row[:3]), vector(*row[3:]))
    return message(WRENCH, BUILD.header(ns, frame), wrench)


def bag_of(path: Path, table: Path, topics=("/ft/wrench",), gap: float = 2.0):
    """The recording of a CSV as a bag, its trials `gap` seconds apart, once per topic."""
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    stamps = EPOCH_NS + np.rint(1e9 * (rows[:, 0] + gap * rows[:, 7])).astype(np.int64)
    build.write_bag(path, [
        Entry(ns, topic, WRENCH, partial(wrench_message, ns, row[1:7]))
        for ns, row in zip(stamps.tolist(), rows, strict=True)
        for topic in topics
    ])  # fmt: skip
    return path
