"""What contacts do whose numbers are given nowhere: ours, MuJoCo's defaults and Drake's formulas.

Cases: a box on a ramp of 15 degrees with c_f 0.5 (creep from 1 to 3 s); a box at rest; ten boxes on
each other, and 100 kg and 1000 kg on 1 kg, for 10 s; a ball dropped 0.5 m; a bowl (mesh) of 8 kg on
its foot; a ball that rolls. Each by steps of 1/240, 1/480 and 1/960 s.

Drake's are the documented ones of its point contact, put into our contacts: k = m g/d with the
heaviest body's mass and a penetration allowance d of 1 mm, dissipation 1/(d w) of critical damping
with w = sqrt(g/d), friction regularised at 1 mm/s.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffsim_ros as ds
from diffsim_ros.rotation import quat_matrix

from .common import judged

G = 9.81
STEPS = (1 / 240, 1 / 480, 1 / 960)
SIZE, C_F = 0.1, 0.5
ALLOWANCE, STICTION = 1e-3, 1e-3
"""Drake's penetration allowance [m] and stiction tolerance [m/s]."""
TILT = math.radians(15)
RATIOS = (100.0, 1000.0)
REST, CREEP = 0.01, 1e-3
"""Bars: of the size, how deep what rests has sunk; [m/s] of what sticks."""
FOOT = 0.015
"""Height [m] at which the bowl's half sphere is cut."""
MOVED = 0.01
"""[m] sideways that a stack may move in 10 s."""
Case = Callable[[float, str], dict[str, float]]


def box(z: float, mass: float = 1.0) -> dict:
    """A cube of SIZE."""
    return {"shape": {"box": {"size": [SIZE] * 3}}, "mass": mass, "pose": {"position": [0, 0, z]}}


def law_of(by: str, heaviest: float, points: int) -> dict[str, Any]:
    """What a contact is given: of ours nothing but friction."""
    if by != "drake":
        return {"c_f": C_F}
    k_n, rate = heaviest * G / ALLOWANCE, math.sqrt(G / ALLOWANCE)
    return {
        "c_f": C_F, "k_n": points * k_n, "c_n": 1 / (ALLOWANCE * rate),
        "k_t": points * C_F * heaviest * G / STICTION,
    }  # fmt: skip


def motion(
    by: str, step: float, duration: float, bodies: dict, pairs: list, floor: list[str],
    points: int = 8, gravity: tuple[float, float, float] = (0.0, 0.0, -G), base: Path | None = None,
) -> Any:  # fmt: skip
    """A rollout of bodies that touch each other by `pairs` and the floor."""
    law = law_of(by, max(body.get("mass", 0.0) for body in bodies.values()), points)
    contact: list[dict] = [{"points": name, "against": "floor", **law} for name in floor]
    if pairs:
        contact.append({"pairs": pairs, **law})
    world = {
        "step": step, "duration": duration, "gravity": list(gravity),
        "stepper": "velocity" if by == "velocity" else "implicit",
        "record_every": max(1, round(duration / step / 240)),
    }  # fmt: skip
    scene = {"world": world, "bodies": bodies, "sdfs": {"floor": {"plane": {}}}, "contact": contact}
    return ds.load_scene(scene, base=base).rollout()


def mujoco_motion(
    step: float, duration: float, bodies: str, gravity: Any = (0, 0, -G), speed: Any = ()
) -> dict[str, np.ndarray]:  # fmt: skip
    """Positions (F, n, 3) and times of MuJoCo's bodies on a plane, all at its defaults but c_f."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="{gravity[0]} {gravity[1]} {gravity[2]}"/>'
        f'<default><geom friction="{C_F}"/></default><worldbody><geom type="plane" size="5 5 .1"/>'
        f"{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[: len(speed)] = speed
    at, time = [data.qpos.reshape(-1, 7)[:, :3].copy()], [0.0]
    for _ in range(round(duration / step)):
        mujoco.mj_step(model, data)
        at.append(data.qpos.reshape(-1, 7)[:, :3].copy())
        time.append(data.time)
    return {"time": np.array(time), "position": np.array(at)}


def mujoco_body(z: float, mass: float, geom: str = "") -> str:
    """A free body of MuJoCo's XML, a cube unless another geom is given."""
    geom = geom or f'type="box" size="{SIZE / 2} {SIZE / 2} {SIZE / 2}"'
    return f'<body pos="0 0 {z}"><freejoint/><geom {geom} mass="{mass}"/></body>'


def places(
    by: str, step: float, duration: float, boxes: list[tuple[float, float]], **more
) -> tuple:
    """Times (F,) and positions (F, n, 3) of cubes (z, mass) on each other."""
    if by == "mujoco":
        run = mujoco_motion(step, duration, "".join(mujoco_body(z, m) for z, m in boxes), **more)
        return run["time"], run["position"]
    bodies = {f"b{k}": box(z, mass) for k, (z, mass) in enumerate(boxes)}
    pairs = [[f"b{k}", f"b{k + 1}"] for k in range(len(boxes) - 1)]
    run = motion(by, step, duration, bodies, pairs, ["b0"], **more)
    return run.time, np.stack([run[name].position for name in bodies], axis=1)


def ramp(step: float, by: str) -> dict[str, float]:
    """Creep [m/s]."""
    gravity = (G * math.sin(TILT), 0.0, -G * math.cos(TILT))
    time, at = places(by, step, 3.0, [(SIZE / 2, 1.0)], gravity=gravity)
    later = np.flatnonzero(time >= 1.0)
    x = at[later, 0, 0]
    return {"creep": float(abs(x[-1] - x[0]) / (time[later[-1]] - time[later[0]]))}


def standing(boxes: list[tuple[float, float]], duration: float) -> Case:
    """How far the bodies have sunk, each in its own layer, as a share of SIZE, and moved [m]."""

    def case(step: float, by: str) -> dict[str, float]:
        _, at = places(by, step, duration, boxes)
        height = np.array([z for z, _ in boxes])
        sunk = np.diff(np.r_[0.0, height - at[-1, :, 2]])
        return {
            "sunk": float(np.abs(sunk).max() / SIZE),
            "moved": float(np.abs(at[-1, :, :2]).max()),
        }

    return case


def bounce(step: float, by: str) -> dict[str, float]:
    """Height [m] of a ball's first rebound after a fall of 0.5 m."""
    radius, fall = 0.05, 0.5
    if by == "mujoco":
        ball = mujoco_body(radius + fall, 0.5, f'type="sphere" size="{radius}"')
        run = mujoco_motion(step, 0.8, ball)
        z = run["position"][:, 0, 2]
    else:
        body = {"shape": {"sphere": {"radius": radius}}, "mass": 0.5,
                "pose": {"position": [0, 0, radius + fall]}}  # fmt: skip
        z = motion(by, step, 0.8, {"b": body}, [], ["b"], points=1)["b"].position[:, 2]
    low = int(np.argmin(z[: len(z) // 2]))
    return {"rebound": float(z[low:].max() - radius)}


def roll(step: float, by: str) -> dict[str, float]:
    """Speed [m/s] after 1 s of a ball that slides at 1 m/s at first: 5/7."""
    radius = 0.05
    if by == "mujoco":
        ball = mujoco_body(radius, 0.5, f'type="sphere" size="{radius}"')
        run = mujoco_motion(step, 1.0, ball, speed=(1.0,))
        x = run["position"][:, 0, 0]
        return {"speed": float((x[-1] - x[-2]) / step), "x": float(x[-1])}
    body = {"shape": {"sphere": {"radius": radius}}, "mass": 0.5, "velocity": [1, 0, 0],
            "pose": {"position": [0, 0, radius]}}  # fmt: skip
    run = motion(by, step, 1.0, {"b": body}, [], ["b"], points=1)
    return {"speed": float(run["b"].velocity[-1, 0]), "x": float(run["b"].position[-1, 0])}


def bowl(step: float, by: str) -> dict[str, float]:
    """How deep the lowest vertex of a bowl of 8 kg is, as a share of its height; not by others,
    whose meshes are convex hulls."""
    if by in ("mujoco", "drake"):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        height = bowl_mesh(Path(folder) / "bowl.obj")
        body = {"shape": {"mesh": {"file": "bowl.obj"}}, "mass": 8.0,
                "pose": {"position": [0, 0, 0.2]}}  # fmt: skip
        world = {"step": step, "duration": step}
        still = ds.load_scene({"world": world, "bodies": {"bowl": body}}, base=folder)
        vertices, _ = still.parts.bodies["bowl"].form.mesh
        body["pose"] = {"position": [0, 0, -float(vertices[:, 2].min())]}
        at = motion(by, step, 2.0, {"bowl": body}, [], ["bowl"], base=Path(folder))["bowl"]
        low = (vertices @ quat_matrix(at.orientation[-1]).T + at.position[-1])[:, 2].min()
    return {"sunk": float(-low / height)}


def bowl_mesh(path: Path, around: int = 32, rows: int = 10) -> float:
    """A half sphere of radius 0.2 m with a flat foot, its wall 0.02 m thick below, as an OBJ file;
    its height [m]."""
    angle = np.linspace(0, math.pi / 2, rows)[1:]
    inner = [(0.2 * math.sin(a), 0.22 - 0.2 * math.cos(a)) for a in angle]
    outer = [(0.22 * math.sin(a), max(0.22 - 0.22 * math.cos(a), FOOT)) for a in angle[::-1]]
    rings = inner + outer
    turns = [2 * math.pi * k / around for k in range(around)]
    vertices = [(0.0, 0.0, 0.02)]
    vertices += [(r * math.cos(t), r * math.sin(t), z) for r, z in rings for t in turns]
    vertices.append((0.0, 0.0, FOOT))
    at = [[1 + j * around + k % around for k in range(around + 1)] for j in range(len(rings))]
    faces = []
    for k in range(around):
        faces += [(0, at[0][k], at[0][k + 1]), (len(vertices) - 1, at[-1][k + 1], at[-1][k])]
        for low, high in itertools.pairwise(at):
            faces += [(low[k], high[k], high[k + 1]), (low[k], high[k + 1], low[k + 1])]
    x = np.array(vertices)
    corners = x[np.array(faces)]
    if np.einsum("ni,ni->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) < 0:
        faces = [face[::-1] for face in faces]
    lines = [f"v {a} {b} {c}" for a, b, c in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n")
    return 0.22 - FOOT


def cases(duration: float) -> dict[str, Case]:
    """Name -> (step, by) -> figures."""
    ten = [(SIZE * (k + 0.5), 1.0) for k in range(10)]
    ratios = {f"ratio_{q:g}": [(SIZE / 2, 1.0), (1.5 * SIZE, q)] for q in RATIOS}
    return {
        "ramp": ramp, "rest": standing(ten[:1], 2.0), "stack": standing(ten, duration),
        **{name: standing(boxes, duration) for name, boxes in ratios.items()},
        "bounce": bounce, "bowl": bowl, "roll": roll,
    }  # fmt: skip


def study(fraction: float = 1.0) -> dict:
    """Figures by case, by whom and by step; Missed where ours miss a bar."""
    whole = fraction == 1.0
    bys = ("implicit", "velocity", "mujoco", "drake") if whole else ("implicit",)
    table: dict[str, dict] = {}
    missed: list[str] = []
    for name, case in cases(10.0 if whole else 10.0 * fraction).items():
        table[name] = {by: {f"1/{1 / step:.0f}": case(step, by) for step in STEPS} for by in bys}
        for step, got in table[name]["implicit"].items():
            missed += [f"{name} at {step} s: {text}" for text in _over(got)]
    for name, word in (("bounce", "rebound"), ("roll", "x")):
        ends = [got[word] for got in table[name]["implicit"].values()]
        change = np.abs(np.diff(ends))
        table[name]["change_by_halving"] = change.tolist()
        if change[1] > max(0.6 * change[0], 1e-4):
            missed.append(f"{name}: halving the step changes {word} by {change.tolist()}")
    return judged(table, missed)


def _over(got: dict[str, float]) -> list[str]:
    bars = {"creep": CREEP, "sunk": REST, "moved": MOVED}
    return [f"{word} {got[word]:.3g}, bar {bars[word]:g}" for word in got
            if word in bars and not got[word] <= bars[word]]  # fmt: skip
