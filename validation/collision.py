"""Random motions of two arms among random things: collisions by Pinocchio and coal, and by ours.

The peer checks 2 ms steps of the same motion with its own kinematics, shapes and distances. A
motion collides where any of its distances is below 0, and is clear where all are at least those
that our check asks for.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.planning import plan_kind
from diffsim_ros.planning.tasks.release_task import ReleaseTask
from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.branches import spline_states
from diffsim_ros.robots.collision import OWN, Around, CollisionCheck
from diffsim_ros.robots.collision_solids import Convex, ball
from diffsim_ros.robots.time_scaling import fastest, stretched
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.scene.standing import own_surroundings, still_surfaces, together

from .common import ROOT, judged, share
from .planned import read, solved

MOTIONS = {"ur5": 1000, "stanford": 500}
MARGIN = 0.01
STEP = 0.002
"""[s] between the peer's checks."""
CLEAR = 0.98
"""Least share of clear motions that is accepted."""
PERIOD = 0.008
HELD, OFFSET = 0.05, (0.0, 0.0, 0.1)
PLACED = {"position": [0.1, -0.2, 0.3], "orientation": [0, 0, 0.5, 1]}
SHAPES = {
    "base": ('<box size="0.2 0.2 0.05"/>', "0 0 0"),
    "link1": ('<cylinder radius="0.06" length="0.3"/>', "0 0 0.17"),
    "link2": ('<mesh filename="hub.stl"/>', "0 0 0.05"),
    "link3": ('<cylinder radius="0.025" length="1.1"/>', "0 0 -0.6"),
    "link4": ('<sphere radius="0.045"/>', "0 0 0"),
    "link6": ('<cylinder radius="0.03" length="0.16"/>', "0 0 0.15"),
    "tool": ('<mesh filename="hand.stl" scale="0.001 0.001 0.001"/>', "0 0 0"),
}
"""<collision> of the second arm's links: geometry, place of its origin in the link's frame [m]."""


def ur5() -> Arm:
    """As it is shipped."""
    return load_arm(ROOT / "config" / "robots" / "ur5.yaml")


def stanford(folder: Path) -> Arm:
    """An arm with a slider, links of every kind of shape, and its base turned and moved."""
    import trimesh

    trimesh.creation.box((0.14, 0.16, 0.18)).export(folder / "hub.stl")
    trimesh.creation.icosphere(2, 40.0).export(folder / "hand.stl")  # millimetres
    tree = ElementTree.parse(ROOT / "tests" / "robots" / "stanford.urdf")
    for link in tree.getroot().findall("link"):
        if link.get("name") in SHAPES:
            shape, place = SHAPES[link.get("name")]
            text = f'<collision><origin xyz="{place}"/><geometry>{shape}</geometry></collision>'
            link.append(ElementTree.fromstring(text))
    tree.write(folder / "stanford.urdf")
    given = {
        "urdf": "stanford.urdf", "tool": "tool", "base": PLACED, "home": [0, 0.9, 0.7, 0, 0.5, 0],
        "limits": {"acceleration": [10, 10, 5, 15, 15, 15], "jerk": [200, 200, 100, 400, 400, 400]},
    }  # fmt: skip
    return load_arm(given, folder)


class Peer:
    """Distances of an arm's links by Pinocchio and coal."""

    def __init__(self, arm: Arm) -> None:
        import pinocchio as pin

        self.arm, path = arm, arm.robot.place
        self.model = pin.buildModelFromUrdf(path)
        self.data = self.model.createData()
        self.links = pin.buildGeomFromUrdf(
            self.model, path, pin.GeometryType.COLLISION, package_dirs=[str(Path(path).parent)]
        )
        for thing in self.links.geometryObjects:
            if hasattr(thing.geometry, "buildConvexHull"):  # the meshes here are convex
                thing.geometry.buildConvexHull(True, "Qt")
                thing.geometry = thing.geometry.convex

    def distances(self, motion: JointTrajectory, things: list, held: bool) -> np.ndarray:
        """Distances (instants, pairs) [m], and what our check asks of them (pairs,) [m]."""
        import coal
        import pinocchio as pin

        world = pin.SE3(self.arm.base).inverse()
        geometry, asked, parents = self.links.copy(), [], self.model.parents
        own = range(len(geometry.geometryObjects))
        if held:
            tool = self.model.frames[self.model.getFrameId(self.arm.tool)]
            place = tool.placement * pin.SE3(np.eye(3), np.array(OFFSET))
            thing = pin.GeometryObject("held", tool.parentJoint, 0, place, coal.Sphere(HELD))
            geometry.addGeometryObject(thing)
        count = len(geometry.geometryObjects)
        joint = [thing.parentJoint for thing in geometry.geometryObjects]
        for i in range(count):
            for j in range(i):
                apart = {joint[i], joint[j]}
                near = joint[i] == joint[j] or parents[max(apart)] == min(apart)
                if not near:
                    geometry.addCollisionPair(pin.CollisionPair(i, j))
                    asked.append(OWN * MARGIN if i in own else MARGIN)
        for k, (shape, pose, _) in enumerate(things):
            thing = pin.GeometryObject(f"thing {k}", 0, 0, world * pin.SE3(pose), shape)
            last = geometry.addGeometryObject(thing)
            for i in range(count):
                if joint[i] > (1 if k == 0 else 0):  # the arm stands on the first
                    geometry.addCollisionPair(pin.CollisionPair(i, last))
                    asked.append(MARGIN)
        found, data = [], geometry.createData()
        steps = int(np.ceil(motion.duration / STEP)) + 1
        for q in motion.at(np.linspace(0, motion.duration, steps))[0]:
            pin.updateGeometryPlacements(self.model, self.data, geometry, data, q)
            pin.computeDistances(geometry, data)
            found.append([result.min_distance for result in data.distanceResults])
        return np.array(found), np.array(asked)


def random_things(rng, arm: Arm) -> list[tuple]:
    """(coal shape, pose (4, 4) in the world, our Sdf): a table under the arm, and three more."""
    import coal

    table = np.eye(4)
    table[:3, :3] = arm.base[:3, :3]
    table[:3, 3] = arm.base[:3, 3]
    found = [(coal.Halfspace(np.array([0.0, 0, 1]), 0.0), table, _engine.Plane((0, 0, 1), 0.0))]
    for kind in rng.choice(["box", "sphere", "cylinder"], 3):
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 31))).as_matrix()
        away = Rotation.from_euler("z", rng.uniform(-np.pi, np.pi)).apply(
            [rng.uniform(0.4, 1), 0, 0]
        )
        pose[:3, 3] = arm.base[:3, 3] + away + [0, 0, rng.uniform(0, 0.9)]
        if kind == "box":
            size = rng.uniform(0.03, 0.3, 3)
            pair = coal.Box(*size), _engine.Box(size / 2)
        elif kind == "sphere":
            radius = rng.uniform(0.03, 0.15)
            pair = coal.Sphere(radius), _engine.Sphere(radius)
        else:
            radius, length = rng.uniform(0.02, 0.1), rng.uniform(0.05, 0.5)
            pair = coal.Cylinder(radius, length), _engine.Cylinder(length / 2, radius)
        found.append((pair[0], pose, pair[1]))
    turned = Rotation.from_matrix
    return [
        (shape, pose, Convex(_engine.Transformed(sdf, pose[:3, 3], turned(pose[:3, :3]).as_quat())))
        for shape, pose, sdf in found
    ]


def random_motion(arm: Arm, rng) -> JointTrajectory:
    """From about home through 1 to 4 places, each up to 0.8 rad on, at 0.3 to 0.9 of full speed.

    Every second one has points 8 ms apart, the others their few knots.
    """
    low, high = np.maximum(arm.limits.lower, -2 * np.pi), np.minimum(arm.limits.upper, 2 * np.pi)
    low, high = low + 0.05 * (high - low), high - 0.05 * (high - low)
    middle, half = (low + high) / 2, (high - low) / 2
    while True:
        q = [arm.home + rng.normal(size=len(low)) * np.minimum(0.5, half / 2)]
        for _ in range(rng.integers(1, 5)):
            q.append(q[-1] + rng.uniform(-1, 1, len(low)) * np.minimum(0.8, half))
        q = middle + np.clip(np.stack(q) - middle, -half, half)
        times = np.arange(len(q), dtype=float)
        motion = JointTrajectory(arm.robot.joint_names, times, *spline_states(times, q, True))
        try:
            motion = stretched(fastest(motion, arm.limits), 1 / rng.uniform(0.3, 0.9))
            break
        except InputError:  # between its knots it leaves the range of a joint
            continue
    if rng.integers(2):
        count = int(np.ceil(motion.duration / PERIOD)) + 1
        times = np.linspace(0, motion.duration, count)
        motion = JointTrajectory(motion.names, times, *motion.at(times))
    return motion


def one(arm: Arm, check: CollisionCheck, peer: Peer, seed: int) -> dict | None:
    """Both answers for one motion; None where it begins in a collision."""
    rng = np.random.default_rng(seed)
    things, held = random_things(rng, arm), bool(rng.integers(2))
    motion = random_motion(arm, rng)
    distances, asked = peer.distances(motion, things, held)
    if distances[0].min() < 0:
        return None
    obstacles = {f"thing {k}": sdf for k, (_, _, sdf) in enumerate(things)}
    around = Around(obstacles, [ball(arm, "held", HELD, OFFSET)] if held else [])
    start, why = time.process_time(), ""
    try:
        check.check(motion, around)
    except InputError as error:
        why = str(error)
    return {
        "ms": 1e3 * (time.process_time() - start), "accepted": not why, "why": why, "seed": seed,
        "points": len(motion.times), "duration": motion.duration,
        "collides": bool(distances.min() < 0), "clear": bool((distances - asked).min() >= 0),
        "begins_near": bool((distances[0] - asked).min() < 0), "least": float(distances.min()),
    }  # fmt: skip


def figures_of(arm: Arm, motions: int) -> tuple[dict, list[str]]:
    """Figures of one arm, and the bars that it missed."""
    check, peer = CollisionCheck(arm, MARGIN), Peer(arm)
    found, seed = [], 0
    while len(found) < motions:
        result = one(arm, check, peer, seed)
        found += [result] if result else []
        seed += 1
    collide = [r for r in found if r["collides"]]
    clear = [r for r in found if r["clear"]]
    wrong = [r for r in collide if r["accepted"]]
    refused = [r for r in clear if not r["accepted"]]
    dense = [r for r in found if r["points"] > 20]
    figures = {
        "motions": len(found),
        "collide": len(collide),
        "collide_accepted": len(wrong),
        "clear": len(clear),
        "clear_accepted": (len(clear) - len(refused)) / max(len(clear), 1),
        "between": len(found) - len(collide) - len(clear),
        "between_accepted": sum(
            r["accepted"] for r in found if not r["collides"] and not r["clear"]
        ),
        "of_these_begin_too_near": sum(
            r["accepted"] and r["begins_near"] and not r["collides"] for r in found
        ),
        "points_median": float(np.median([r["points"] for r in dense])),
        "duration_s_median": round(float(np.median([r["duration"] for r in dense])), 3),
    }
    for name, chosen in {
        "accepted": [r for r in dense if r["accepted"]],
        "refused": [r for r in dense if not r["accepted"]],
        "accepted_few_points": [r for r in found if r["accepted"] and r["points"] <= 20],
    }.items():
        ms = np.percentile([r["ms"] for r in chosen] or [0], [50, 95])
        figures[f"cpu_ms_{name}_median_95_percent"] = [round(value, 1) for value in ms]
    missed = [f"seed {r['seed']} collides ({r['least']:.4f} m), accepted" for r in wrong]
    if figures["clear_accepted"] < CLEAR:
        whys = "; ".join(f"seed {r['seed']}: {r['why']}" for r in refused[:3])
        missed.append(f"{figures['clear_accepted']:.3f} of clear motions accepted: {whys}")
    return figures, missed


def plan_figures(name: str) -> dict:
    """Least distances [m] of a shipped plan's motion in its own scene and about the shipped arm.

    What it throws is held to the end; refused: why, where it is.
    """
    result, _ = solved(read(name))
    config, motion = result.config, result.carried.trajectory
    surfaces = together(own_surroundings(ur5()), still_surfaces(config.scene), "scene")
    held = []
    if isinstance(config.task, ReleaseTask):
        thrown = config.scene.bodies[config.task.release.body]
        across = max(thrown.size) if thrown.kind == "sphere" else np.linalg.norm(thrown.size)
        held = [ball(ur5(), thrown.name, across / 2, config.task.release.in_tool[:3, 3])]
    check, around, why = CollisionCheck(ur5(), MARGIN), Around(surfaces, held), ""
    try:
        check.check(motion, around)
    except InputError as error:
        why = str(error)
    distances, names = check.distances(motion.positions[::5], around)
    k = int(np.argmin(distances.min(axis=0)))
    return {"least_m": round(float(distances.min()), 4), "between": " and ".join(names[k]),
            "refused": why}  # fmt: skip


def study(fraction: float = 1.0) -> dict:
    """Figures of both arms and of the shipped plans; Missed where a bar is."""
    figures, missed = {"margin_m": MARGIN, "own_margin_m": OWN * MARGIN}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, arm in {"ur5": ur5(), "stanford": stanford(Path(folder))}.items():
            figures[name], bars = figures_of(arm, share(MOTIONS[name], fraction))
            missed += [f"{name}: {bar}" for bar in bars]
    files = (ROOT / "config" / "planning").glob("ur5_*.yaml")
    plans = sorted(path.stem for path in files if plan_kind(path) != "excitation")
    plans = plans if fraction == 1 else ["ur5_throw"]
    figures["plans"] = {name: plan_figures(name) for name in plans}
    missed += [f"{name}: {f['refused']}" for name, f in figures["plans"].items() if f["refused"]]
    return judged(figures, missed)
