"""Packs the source recordings of data/planar_drop, elbow_toss and tennis_ball_collision.

    python tools/pack_drops.py SOURCE TARGET      folders with one folder per data set

Every file becomes one npz as sensing.tosses reads it: 3-D poses, quaternions scalar first.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

SQUARES, ELBOWS, ELLIPSES = 150, 120, 1000
"""How many trials are kept of each, drawn with seed 0."""
GLITCH = 0.8
"""Turn between two frames [rad] that no square makes: 20 rad/s are 0.08."""
HINGE, ARM = np.array([-0.035, 0.06, 0.0]), np.array([0.035, 0.0, 0.0])
"""Hinge in link 1 and centre of link 2 relative to it [m], nominal (URDF of the source)."""


def drawn(count: int, wanted: int) -> np.ndarray:
    """Sorted indices of a seeded draw."""
    return np.sort(np.random.default_rng(0).permutation(count)[:wanted])


def planar(state: np.ndarray) -> np.ndarray:
    """Rows (n, 13) of planar ones (n, 6): x z theta vx vz vtheta, theta from x to z, about -y."""
    x, z, theta, vx, vz, spin = state.T.astype(float)
    out = np.zeros((len(state), 13))
    out[:, 0], out[:, 2], out[:, 7], out[:, 9] = x, z, vx, vz
    out[:, 3], out[:, 5], out[:, 11] = np.cos(theta / 2), -np.sin(theta / 2), -spin
    return out


def save(path: Path, ids, state: np.ndarray, frames: int, dt: float, bodies=()) -> None:
    """One file of trials of the same length; bodies: names, where state is (rows, bodies, .)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    several = {"bodies": np.array(bodies)} if bodies else {}
    np.savez_compressed(
        path,
        toss_id=np.asarray(ids, np.int32),
        start=np.arange(len(ids), dtype=np.int32) * frames,
        length=np.full(len(ids), frames, np.int32),
        state=state.astype(np.float32),
        dt=np.float64(dt),
        **several,
    )


def squares(source: Path, target: Path) -> None:
    """Poses of the first 0.6 s; the file's velocities are left out (filtered).

    Drops whose angle jumps by more than GLITCH between two frames are left out: the tracker took
    one side for another.  The square lies flat at the end, so angles are measured from there.
    """
    with np.load(source / "planar_drop" / "square_drops.npz") as data:
        state, ids, dt = data["state"].astype(float), data["traj_id"], data["dt"]
    jump = np.abs(np.diff(np.unwrap(state[:, :, 2], axis=1), axis=1)).max(axis=1)
    state, ids = state[jump < GLITCH], ids[jump < GLITCH]
    flat = np.angle(np.exp(4j * state[:, -1, 2]).mean()) / 4
    print(f"{np.sum(jump >= GLITCH)} of {len(jump)} drops jump; flat at {np.degrees(flat):.2f} deg")
    state[..., 2] -= flat
    kept = drawn(len(ids), SQUARES)
    frames = 150
    rows = planar(state[kept, :frames].reshape(-1, 6))[:, :7]
    save(target / "planar_drop" / "square.npz", ids[kept], rows, frames, dt)


def ellipses(source: Path, target: Path) -> None:
    """Two frames per impact: before (moved onto the ground) and after; flagged rows are dropped.

    x is turned round: changes of spin follow from those of vx and vz only with theta from -x to z.
    """
    with (source / "planar_drop" / "ellipse_impacts.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    rows, ids = [], []
    for line in table:
        if any(float(value) for key, value in line.items() if key.startswith("flag_")):
            continue
        states = [
            [float(line[f"{when}_{key}"]) for key in ("x", "z", "th", "vx", "vz", "vth")]
            for when in ("pre", "post")
        ]
        for state in states:
            state[0], state[3] = -state[0], -state[3]
        states[0][1] = float(line["d3"])  # height of the centre when the ellipse touches
        rows.append(states)
        ids.append(int(line["bounce_id"]))
    kept = drawn(len(ids), ELLIPSES)
    state = planar(np.array(rows)[kept].reshape(-1, 6))
    save(target / "planar_drop" / "ellipse.npz", np.array(ids)[kept], state, 2, 0.004)


def elbows(source: Path, target: Path) -> None:
    """Poses of both links; link 2 from link 1 and the joint's angle."""
    with np.load(source / "elbow_toss" / "tosses.npz") as data:
        kept = drawn(len(data["toss_id"]), ELBOWS)
        state, ids, dt = data["state"][kept].astype(float), data["toss_id"][kept], data["dt"]
    frames = state.shape[1]
    q, position, joint = state[..., :4], state[..., 4:7], state[..., 7]
    turn = np.zeros((*joint.shape, 4))
    turn[..., 0], turn[..., 2] = np.cos(joint / 2), np.sin(joint / 2)
    q2 = product(q, turn)
    second = position + turned(q, HINGE) + turned(q2, ARM)
    links = [np.concatenate(pose, axis=-1) for pose in ((position, q), (second, q2))]
    rows = np.stack(links, axis=2).reshape(-1, 2, 7)
    rows[..., 3:] /= np.linalg.norm(rows[..., 3:], axis=-1, keepdims=True)
    save(target / "elbow_toss" / "tosses.npz", ids, rows, frames, dt, ("link_1", "link_2"))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternion a b, scalar first (..., 4)."""
    w = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def turned(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vector (3,) turned by quaternions (..., 4), scalar first."""
    inner = np.cross(q[..., 1:], vector) + q[..., :1] * vector
    return vector + 2.0 * np.cross(q[..., 1:], inner)


def balls(source: Path, target: Path) -> None:
    """Centres of both balls; their orientations were not measured and are the identity here."""
    table = np.genfromtxt(
        source / "tennis_ball_collision" / "two_balls.csv", delimiter=",", names=True
    )
    rows = np.zeros((len(table), 2, 7))
    rows[..., 3] = 1.0
    for k in range(2):
        rows[:, k, :3] = np.stack([table[f"b{k + 1}_{axis}"] for axis in "xyz"], axis=1)
    path = target / "tennis_ball_collision" / "two_balls.npz"
    save(path, [1], rows, len(table), 1.0 / 60.0, ("ball_1", "ball_2"))


if __name__ == "__main__":
    folders = Path(sys.argv[1]), Path(sys.argv[2])
    for pack in (squares, ellipses, elbows, balls):
        pack(*folders)
