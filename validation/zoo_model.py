"""One published URDF or MJCF beside Pinocchio or MuJoCo: what the study `zoo` does with each.

`python -m validation.zoo_model` reads paths, one a line, and writes one line of JSON for each: a
crash or a hang costs one model alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.tree import load_tree
from diffsim_ros.simulation.scene import load_scene

STEP, SHORT = 0.002, 0.1
"""Step and length of the motions [s]."""
TINY = 1e-9
"""Step [s] over which, and over half of which, velocities change by nearly the acceleration: what
is left is (h d/I)^2, 3e-8 for fingers that their damping stops in 5 us."""
DIFFERENCES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Changes, one after the other, of the differences that a gradient is held against."""
TIGHT = 1e-12
"""Newton's tolerance below a difference: what 1e-8 leaves is as large as the motion's change."""
CLOSE = 1e-4
"""Share by which a gradient may differ from its difference."""
STEADY = 0.1
"""Share by which the two one-sided slopes' gap may vary over a kink's first three changes."""
GRADIENT_STEPS = 10
LIGHT = 1e-9
"""Mass [kg] below which a body only stands between joints."""
MENDS = "`inertia: mend`"
"""In the refusal of an inertia that no body has: what takes it."""
ROW_MARK = "ZOO-ROW "
"""Before a row on stdout, where libraries write too."""
SAYS = re.compile(
    "tendon|equality|actuator|gravity|fluid|density|viscosity|armature|frictionloss|stiffness|"
    "damping|spring|plugin|mocap|flex|range|limit|mimic|motor|delay|inertia|light bod"
)
"""Words of a named thing that changes accelerations."""


def kind_of(path: Path) -> str | None:
    """`urdf` or `mjcf` by the file's first element; None for another file, or a part of one."""
    text = path.read_text(errors="replace")
    first = re.search(r"<\s*(robot|mujoco)\b", re.sub(r"<!--.*?-->", "", text, flags=re.S))
    if first is None:
        return None
    return {"robot": "urdf", "mujoco": "mjcf"}[first[1]]


def examine(path: Path) -> dict[str, Any]:
    """The row of a model; a stage that was not reached is absent.

    file, kind; peer: "" or why Pinocchio or MuJoCo refuses it; moves: whether something moves;
    tree, scene: "" or why it is refused; mended: why it was, until the option that the refusal
    prints was taken; crash: an exception that is no InputError; named: what is
    named as unused; mass, acceleration: largest differences as shares of the largest entry;
    implicit, velocity: status of 0.1 s; gradient: share by which it differs from a difference;
    change: of that difference, where not the first; kinks: quantities at which the motion has no
    derivative, each with its slopes for less and more of it, and the gradient between
    """
    kind = kind_of(path)
    row: dict[str, Any] = {"file": str(path), "kind": kind}
    if kind is None:
        return row
    begin = time.perf_counter()
    try:
        (_urdf if kind == "urdf" else _mjcf)(path, row)
    except Exception as error:
        row["crash"] = f"{type(error).__name__}: {error}"[:300]
    row["seconds"] = round(time.perf_counter() - begin, 2)
    return row


def _urdf(path: Path, row: dict[str, Any]) -> None:
    import pinocchio as pin

    try:
        peer = pin.buildModelFromUrdf(str(path))
        row["peer"], row["moves"] = "", peer.nv > 0
    except Exception as error:
        peer, row["peer"], row["moves"] = None, str(error)[:200], False
    robot = {"urdf": str(path)}
    tree = _taken(row, "tree", lambda: load_tree(path))
    if tree is None and MENDS in row["tree"]:
        row["mended"], robot["inertia"] = row["tree"], "mend"
        tree = _taken(row, "tree", lambda: load_tree(path, inertia="mend"))
    if tree is not None and peer is not None and peer.nv:
        row["mass"], row["acceleration"] = _beside_pinocchio(tree.model, peer)
    _scene(path, row, robot, np.array([0, 0, -9.81]))


def _taken(row: dict[str, Any], word: str, load: Any) -> Any:
    """What `load` gives; None, and the reason in the row, where it refuses."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = load()
            row[word] = ""
        except InputError as error:
            found, row[word] = None, str(error).replace(row["file"], "FILE")[:400]
    row.setdefault("named", []).extend(str(w.message)[:600] for w in said)
    return found


def _beside_pinocchio(model: Any, peer: Any) -> tuple[float, float] | tuple[None, None]:
    """Shares by which mass matrix and accelerations differ at a random state."""
    import pinocchio as pin

    if model.velocity_size != peer.nv:
        return None, None
    rng, data = np.random.default_rng(1), peer.createData()
    order = []
    for j in range(1, peer.njoints):
        name, size = peer.names[j], peer.joints[j].nv
        if size != 1:
            return None, None  # planar, floating: other coordinates
        order.append(model.velocity_at(name))
    shift = rng.uniform(-0.7, 0.7, peer.nv)
    velocity, effort = rng.normal(size=(2, peer.nv))
    q = pin.integrate(peer, pin.neutral(peer), shift)
    peer.armature = np.zeros(peer.nv)
    M = pin.crba(peer, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    a = pin.aba(peer, data, q, velocity, effort).copy()
    own = {}
    for word, given in (("shift", shift), ("velocity", velocity), ("effort", effort)):
        own[word] = np.zeros(peer.nv)
        own[word][order] = given
    at = model.moved(model.neutral(), own["shift"])[None]
    ours = np.asarray(model.mass_matrix(at))[0][np.ix_(order, order)]
    found = model.forward_dynamics(at, own["velocity"][None], own["effort"][None])
    return _share(ours, M), _share(np.ravel(found)[order], a)


def _share(found: np.ndarray, right: np.ndarray) -> float:
    scale = max(float(np.abs(right).max(initial=0)), 1e-9)
    return float(np.abs(found - right).max(initial=0) / scale)


def _mjcf(path: Path, row: dict[str, Any]) -> None:
    import mujoco

    try:
        peer = mujoco.MjModel.from_xml_path(str(path))
        row["peer"], row["moves"] = "", peer.nv > 0
    except Exception as error:
        peer, row["peer"], row["moves"] = None, str(error)[:200], False
    gravity = np.array([0, 0, -9.81]) if peer is None else peer.opt.gravity
    scene = _scene(path, row, {"mjcf": str(path)}, gravity)
    if scene is not None and peer is not None:
        row["acceleration"] = _beside_mujoco(path, peer)


def _description(robot: dict, gravity: np.ndarray, step: float, steps: int, stepper: str) -> dict:
    return {
        "world": {"step": step, "duration": steps * step, "gravity": gravity.tolist(),
                  "stepper": stepper},
        "robots": {"r": robot},
    }  # fmt: skip


def _scene(path: Path, row: dict[str, Any], robot: dict, gravity: np.ndarray) -> Any:
    """The scene, simulated by both steppers, with a gradient; None where it is refused."""
    steps, kept = round(SHORT / STEP), None
    for stepper in ("implicit", "velocity"):
        if stepper == "velocity" and kept is None:
            break
        word = "scene" if stepper == "implicit" else "scene_velocity"
        given = _description(robot, gravity, STEP, steps, stepper)
        scene = _taken(row, word, lambda given=given: load_scene(given, base=path.parent))
        if scene is None:
            continue
        kept = kept or scene
        begin = time.perf_counter()
        try:
            run = scene.rollout(allow_failure=True)
        except InputError as error:  # a loop closed by rows is none of the velocity stepper's
            row[stepper] = f"refused: {error}"[:200]
            continue
        finite = bool(np.isfinite(run.position).all())
        row[stepper] = "not finite" if not finite else "ok" if run.ok else str(run.status)
        row[f"{stepper}_seconds"] = round(time.perf_counter() - begin, 3)
        if stepper == "implicit" and run.ok:
            _gradient(scene, given | {"world": given["world"] | {"tolerance": TIGHT}}, path, row)
    row["named"] = sorted(set(row["named"]))
    return kept


def _gradient(scene: Any, given: dict, path: Path, row: dict[str, Any]) -> None:
    """Put into the row how d(sum of places, weighted at random)/dp differs from differences.

    p      gravity along x, mass and angular velocity of the last body
    given  the scene with Newton's tolerance TIGHT; where it fails at that, `scene` stands
    """
    last = list(scene.bodies)[-1]
    wanted = ("gravity.x", f"{last}.mass", f"{last}.angular_velocity.x")
    names, span = [n for n in wanted if n in scene.values], GRADIENT_STEPS * STEP
    if scene.values.get(wanted[1], 1.0) < LIGHT:  # the least that the engine takes
        names.remove(wanted[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tight = load_scene(given, base=path.parent)
        if tight.rollout(duration=span, allow_failure=True).ok:
            scene = tight
    run = scene.rollout(duration=span, wrt=names)
    weight = np.zeros_like(run.position)
    weight[-1] = np.random.default_rng(2).normal(size=weight[-1].shape)
    slopes, row["gradient"] = run.gradient({"position": weight}), 0.0
    for name in names:
        own = scene.values[name]
        unit = abs(own) if name.endswith(".mass") else max(1.0, abs(own))

        def slope(by: float, name: str = name, own: float = own) -> float:
            moved = scene.rollout({name: own + by}, duration=span)
            return float(np.sum(weight[-1] * (moved.position[-1] - run.position[-1]))) / by

        off, change, kink = beside_differences(slopes[name], slope, unit)
        if kink:
            row.setdefault("kinks", []).append([name, *kink, slopes[name]])
        elif off > row["gradient"]:
            row["gradient"] = off
            row.pop("change", None)
            row |= {"change": change} if change != DIFFERENCES[0] else {}


def beside_differences(
    found: float, slope: Callable[[float], float], unit: float
) -> tuple[float, float, tuple[float, float] | None]:
    """A derivative beside slopes to both sides: its share off, at which change; a kink's slopes.

    slope  one-sided: (f(p + change) - f(p))/change
    unit   the changes are DIFFERENCES of it

    Rounding shrinks with a larger change, curvature with a smaller one: the first change at which
    the mean of both slopes agrees counts, else the best. It is a kink where the two slopes keep
    the same gap however small the change, and the derivative lies between them.
    """
    best, at, gaps, kink = np.inf, DIFFERENCES[0], [], None
    for change in DIFFERENCES:
        left, right = slope(-change * unit), slope(change * unit)
        mean = (left + right) / 2
        scale = max(abs(mean), abs(found), 1e-3)
        off = abs(found - mean) / scale
        if off < best:
            best, at = off, change
        if best <= CLOSE:
            return best, at, None
        slack = CLOSE * scale
        between = min(left, right) - slack <= found <= max(left, right) + slack
        gaps.append((right - left) / scale if between else 0.0)
        kink = kink or (left, right)
        if len(gaps) == 3:
            small, large = sorted(gaps, key=abs)[::2]
            if abs(small) > CLOSE and abs(large - small) <= STEADY * abs(large):
                return best, at, kink
    return best, at, None


def _beside_mujoco(path: Path, peer: Any) -> float | None:
    """Share by which the bodies' accelerations differ at the start, without contact.

    Ours are changes of velocity over TINY and over half of it, extrapolated to none: the implicit
    damping of a step h takes h d/I from the first, 1e-5 where a damper stops its body in 10 ms.
    """
    import mujoco

    changes = [_changes(path, peer, step) for step in (TINY, TINY / 2)]
    if None in changes:
        return None
    peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    if data.nefc:  # limits, dry friction and equalities are soft there: another law
        return None
    mujoco.mj_rnePostConstraint(peer, data)
    ours, right = [], []
    for b in range(1, peer.nbody):
        name = peer.body(b).name
        if name not in changes[0] or peer.body_weldid[b] != b:
            continue
        accelerations = np.zeros(6)
        mujoco.mj_objectAcceleration(peer, data, mujoco.mjtObj.mjOBJ_XBODY, b, accelerations, 0)
        spin = accelerations[:3]
        arm = changes[0][name][0] - data.xpos[b]
        right += [spin, accelerations[3:] + peer.opt.gravity + np.cross(spin, arm)]
        ours += list(2 * changes[1][name][1] - changes[0][name][1])
    if not ours or np.abs(data.qvel).max(initial=0) > 0:
        return None
    return _share(np.array(ours), np.array(right))


def _changes(path: Path, peer: Any, step: float) -> dict[str, tuple] | None:
    """Place, and change of angular velocity and velocity by time, of each body over one step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = _description({"mjcf": str(path)}, peer.opt.gravity, step, 1, "velocity")
        try:
            run = load_scene(given, base=path.parent).rollout(allow_failure=True)
        except InputError:
            return None
    if not run.ok:
        return None
    found = {}
    for b in range(1, peer.nbody):
        name = peer.body(b).name
        if name in run and run[name].orientation is not None:
            ends = np.array([run[name].angular_velocity, run[name].velocity])[:, -2:]
            found[name] = (run[name].position[0], np.diff(ends, axis=1)[:, 0] / step)
    return found


def unsaid(row: dict[str, Any], bar: float) -> bool:
    """Whether numbers differ by more than the bar and nothing named explains it."""
    off = max(row.get(word) or 0.0 for word in ("mass", "acceleration"))
    return off > bar and not any(SAYS.search(text) for text in row.get("named", []))


def main() -> int:
    """Rows of the paths on stdin."""
    for line in sys.stdin:
        row = examine(Path(line.rstrip("\n")))
        print(ROW_MARK + json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
