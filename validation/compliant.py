"""A quadruped with soft feet and motors of low gain: a gait refined as in [G 4.7.2].

In a lab's order: the feet's stiffness from a leg's drop, the nominal trot with it, the refined
one, longer than was planned, at smaller steps, with the feet that the drop was recorded with, over
bumps, over samples of what is uncertain, and in MuJoCo.
"""

from __future__ import annotations

import copy
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.gradient_check import GradientReport, check_problem
from diffsim_ros.inverse.parameters import ParameterMap
from diffsim_ros.inverse.simulation_problem import SimulationProblem
from diffsim_ros.inverse.trial import Trial
from diffsim_ros.parameter import Parameter
from diffsim_ros.planning.locomotion.compliant import figures, refine
from diffsim_ros.planning.locomotion.compliant_config import CompliantConfig, load_compliant
from diffsim_ros.planning.locomotion.compliant_results import summary
from diffsim_ros.real2sim.results import open_folder, write_results
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT, judged, share
from .compliant_drop import estimated, recorded
from .compliant_gait import LEGS
from .compliant_mujoco import pressed, speeds, walked

PLAN = ROOT / "config" / "planning" / "soft_foot_walk.yaml"
THESIS = {"degrees of freedom": 414, "iterations": 17, "seconds": 27 * 60 + 54}  # [G Table A.2]
SEED = 11
FINE = 4  # layers of the feet that are recorded
WITHIN = 0.02  # of the speed
GRADIENT = 1e-5
BUMPS = ((0.40, 0.003), (0.65, 0.004), (0.95, 0.003), (1.3, 0.004))  # [m] where, and how high
SPREAD = {"motors": 0.15, "feet": 0.2, "friction": 0.2}  # shares, +-


def plan(scene_changes: Any = None, **changes: Any) -> CompliantConfig:
    """The plan of the repository, its scene and keys changed."""
    content: Any = copy.deepcopy(read_yaml(PLAN))
    scene_file = (PLAN.parent / content["scene"]).resolve()
    scene: Any = copy.deepcopy(read_yaml(scene_file))
    for robot in scene["robots"].values():
        robot["urdf"] = str((scene_file.parent / robot["urdf"]).resolve())
    if scene_changes is not None:
        scene_changes(scene)
    content["scene"] = scene
    for key, value in changes.items():
        content[key] = {**content.get(key, {}), **value} if isinstance(value, dict) else value
    return load_compliant(content, base=PLAN)


def layered(count: int) -> Any:
    """A change of the scene: feet of so many layers."""

    def change(scene: dict) -> None:
        for leg in LEGS:
            scene["bodies"][f"{leg}_foot"]["shape"]["ball"]["layers"] = count

    return change


def bumpy(scene: dict) -> None:
    """Half-sunk rods across the way."""
    rods = [
        {"transform": {
            "of": {"capsule": {"radius": 0.05, "length": 2.0}},
            "position": [x, 0.0, high - 0.05], "rotation": [float(np.pi / 2), 0.0, 0.0],
        }}
        for x, high in BUMPS
    ]  # fmt: skip
    scene["sdfs"]["ground"] = {"union": {"of": [{"plane": {}}, *rods]}}


def gradient(config: CompliantConfig, directions: int, seed: int) -> tuple[int, GradientReport]:
    """Every target of every interval by itself (12 of 144), by the house's protocol."""
    engine = config.scene.engine
    P = config.map.engine(config.map.start, engine.values)
    rows = len(config.map.groups[0].first)
    names = [f"{m}.target[{k}]" for k in range(1, rows) for m in config.motors]
    parameters = [Parameter(n, "rad", float(P[engine.index(n)]), typical=0.1) for n in names]
    objectives = tuple(o for o in config.objectives if o.body)
    problem = SimulationProblem(
        engine, config.scene.options, ParameterMap(parameters, engine),
        [Trial(config.name, config.scene.steps, objectives)],
    )  # fmt: skip
    return len(names), check_problem(problem, directions=directions, seed=seed)


def replayed(config: CompliantConfig, targets: np.ndarray) -> dict[str, Any]:
    """Figures of targets of a cycle (n, m) in a config's scene."""
    motion = rollout(config, targets)
    return figures(config, motion).document() if motion.ok else {"failed": motion.message}


def rollout(config: CompliantConfig, targets: np.ndarray) -> Any:
    """The motion of the config's scene with these targets."""
    given = replace(config, nominal=replace(config.nominal, targets=targets))
    P = given.map.engine(given.map.start, given.scene.engine.values)
    return _engine.rollout(given.scene.engine, P, given.scene.steps, given.scene.options)


def drop(folder: Path, layers: int, seed: int, drops: int = 2) -> tuple[dict[str, Any], Path]:
    """A hidden foot's drop, recorded and estimated; figures and the result.yaml."""
    generator = np.random.default_rng(seed)
    truth = {
        "foot.young": float(generator.uniform(1.5e5, 2.5e5)),
        "foot.viscosity": float(generator.uniform(120.0, 260.0)),
    }
    result = estimated(recorded(folder, truth, layers=layers, seed=seed, drops=drops))
    with open_folder(folder / "out") as out:
        write_results(result, out)
    found: dict[str, Any] = {"layers": layers, "status": result.status}
    for p in result.parameters:
        true = truth[f"foot.{p.name}"]
        off = p.value / true - 1.0
        found[p.name] = {"true": true, "value": p.value, "std_dev": p.std_dev, "off": off}
    return found, folder / "out" / "result.yaml"


def feet(file: Path) -> list[dict[str, Any]]:
    """`estimated` of a plan: all four feet are the one that was dropped."""
    words = ("young", "viscosity")
    sets = {f"{leg}_foot.{w}": f"foot.{w}" for leg in LEGS for w in words}
    return [{"file": str(file), "sets": sets}]


def _said(what: str, found: Any) -> None:
    print(f"{what}: {found}", flush=True)


def study(fraction: float = 1.0) -> dict[str, Any]:
    """Figures of everything; a fraction has coarser feet, shorter motions, no variants."""
    whole = fraction >= 1.0
    short = {} if whole else {"compliant": {"cycles": 2, "knots": 4}, "search": {"iterations": 8}}
    found: dict[str, Any] = {"thesis": THESIS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["drop"], file = drop(folder, FINE if whole else 2, SEED, 2 if whole else 1)
        measured = feet(file)
        config = plan(None if whole else layered(1), estimated=measured, **short)
        found["degrees_of_freedom"] = int(config.scene.engine.ndof)
        cpu = time.process_time()
        result = refine(config)
        found["refined"] = {
            "seconds": result.seconds, "cpu_seconds": time.process_time() - cpu,
            "iterations": result.solution.iterations, "rollouts": result.rollouts,
            "status": result.status, "search": result.solution.status,
            "objective": [result.objective_first, result.objective],
            "nominal": result.before.document(), "after": result.after.document(),
            "objectives": [round(one.value, 4) for one in result.solution.history],
            "largest_change_rad": float(np.abs(result.targets - config.nominal.targets).max()),
        }  # fmt: skip
        config, targets = result.config, result.targets
        _said("refined", found["refined"])
        found["longer"] = replayed(config.lasting(12 if whole else 4), targets)
        found["gradient"] = _gradient_figures(config, share(4, fraction))
        _said("gradient", found["gradient"])
        found["mujoco"] = _in_mujoco(config, targets)
        _said("mujoco", found["mujoco"])
        if whole:
            found |= _variants(config, targets, measured, found["drop"])
    return judged(found, _missed(found))


def _gradient_figures(config: CompliantConfig, directions: int) -> dict[str, Any]:
    count, report = gradient(config, directions, SEED)
    return {
        "parameters": count, "directions": directions, "worst": report.worst,
        "adjoint": report.adjoint, "passed": report.passed, "summary": report.summary(),
    }  # fmt: skip


def _in_mujoco(config: CompliantConfig, targets: np.ndarray) -> dict[str, Any]:
    foot = pressed(config)
    pairs = {"nominal": config.nominal.targets, "refined": targets}
    both = {name: speeds(config, walked(config, one, foot)) for name, one in pairs.items()}
    return {"foot": {k: float(v) for k, v in vars(foot).items()}, **both}


def _variants(
    config: CompliantConfig, targets: np.ndarray, measured: list, dropped: dict
) -> dict[str, Any]:
    """Smaller steps; the feet as recorded; bumps, refined anew; robust over samples."""
    found: dict[str, Any] = {"smaller_steps": {}}
    for parts in (240, 480):

        def finer(scene: dict, parts: int = parts) -> None:
            scene["world"]["step"] = 1 / parts

        found["smaller_steps"][f"1/{parts}"] = replayed(plan(finer, estimated=measured), targets)
    true = {
        f"{leg}_foot.{word}": dropped[word]["true"]
        for leg in LEGS for word in ("young", "viscosity")
    }  # fmt: skip

    def as_recorded(scene: dict) -> None:
        layered(FINE)(scene)
        scene["world"]["step"] = 1 / 240
        scene["values"] = true

    found["feet_as_recorded"] = replayed(plan(as_recorded), targets)
    _said("feet as recorded", found)
    bumps = plan(bumpy, estimated=measured)
    flat = replayed(bumps, targets)
    bumps = replace(bumps, nominal=replace(bumps.nominal, targets=targets), height=config.height)
    result = refine(bumps)
    found["bumps"] = {
        "flat_plan": flat, "refined": result.after.document(),
        "iterations": result.solution.iterations, "seconds": result.seconds,
    }  # fmt: skip
    _said("bumps", found["bumps"])
    found["robust"] = _robust(config, targets, measured)
    return found


def _robust(config: CompliantConfig, targets: np.ndarray, measured: list) -> dict[str, Any]:
    """From the refined targets on, over samples of gains, feet and friction."""
    spread = {f"{motor}.stiffness": SPREAD["motors"] for motor in config.motors}
    for leg in LEGS:
        spread |= {f"{leg}_foot.young": SPREAD["feet"], f"{leg}_ground.c_f": SPREAD["friction"]}
    robust = {"samples": 3, "fresh": 8, "spread": spread}
    given = plan(estimated=measured, search={"robust": robust, "iterations": 4})
    given = replace(given, nominal=replace(given.nominal, targets=targets), height=config.height)
    result = refine(given)
    assert result.robust is not None
    wanted = given.options["speed"]
    before, after = (summary(one, wanted) for one in result.robust)
    return {"spread": SPREAD, "seconds": result.seconds, "before": before, "after": after}


def _missed(found: dict[str, Any]) -> list[str]:
    """Bars that are missed."""
    missed, refined = [], found["refined"]
    if not abs(refined["nominal"]["missed"]) > WITHIN:
        missed.append(f"the nominal plan reaches its speed: {refined['nominal']['speed']:.4f} m/s")
    for name, one in (("refined", refined["after"]), ("longer", found["longer"])):
        if not abs(one.get("missed", np.inf)) <= WITHIN:
            missed.append(f"{name}: {one} is not within {WITHIN:.0%} of the speed")
    if not (found["gradient"]["passed"] and found["gradient"]["worst"] <= GRADIENT):
        missed.append(f"gradient: {found['gradient']['summary']}")
    return missed
