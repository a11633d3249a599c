"""Thrown soft ball: this engine beside MuJoCo's flex and Drake's deformables, on the same meshes.

Every simulator throws the same ball (ball_scene.py) on one thread, in this process and in turn;
times are CPU times per step, building the scene left out. Three questions:

    step             CPU ms of a step at 1/240 s, and of a step with its part of the gradient of
                     the final centre by the six start velocities: exact here, 12 rollouts in MuJoCo
    work_precision   at steps of 1/60 to 1/1920 s: cost of a throw, and its distance from *this
                     simulator's own* limit on this mesh (its throw at a quarter of the finest
                     step; `limit_uncertainty` is how far that still was from twice that step)
    equal_error      what the peer's throw costs over what this engine's costs at the same error

Errors: of the final centre [mm], of place [mm] and time [ms] of the landing after the bounce
(null: the ball did not rise above its radius again, so it never landed).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np

from diffsim_ros import meshes

from .ball_scene import DURATION, Mesh, Throw
from .chain import growth

SIZES = (3, 5, 8)  # subdivisions: 540, 2500 and 10240 tetrahedra
RATES = (60, 120, 240, 480, 960, 1920)  # steps per second
STEP_RATE = 240
MATERIALS = 1000  # parameters of a second gradient: Young's moduli of tetrahedra
LONG = 15.0  # CPU seconds after which a measurement is not repeated


def simulators() -> dict:
    """Name -> function (mesh, dt) -> Ball, of all that are installed; the others are named."""
    found = {}
    try:
        from .ball_engine import Ball as Engine

        found["engine"] = Engine
        found["engine_light_viscosity"] = partial(Engine, relaxation=1e-3)
    except ImportError as error:
        skip("engine", error)
    try:
        from .peers_mujoco import Ball as Mujoco

        found["mujoco"] = Mujoco
    except ImportError as error:
        skip("mujoco", error)
    try:
        from .peers_drake import Ball as Drake

        found["drake"] = Drake
        found["drake_neo_hookean"] = partial(Drake, material="neo_hookean")
    except ImportError as error:
        skip("drake", error)
    return found


def skip(name: str, error: Exception) -> None:
    """Print one line: a simulator is left out."""
    print(f"ball: {name} is left out: {error}", file=sys.stderr, flush=True)


def repeated(repeats: int, work) -> tuple[float, object]:
    """Least CPU seconds per step of several runs, and the last answer; `work() -> (answer, s)`."""
    least, spent = np.inf, 0.0
    for _ in range(repeats):
        answer, seconds = work()
        least = min(least, seconds)
        spent += seconds * DURATION * STEP_RATE
        if spent > LONG:
            break
    return least, answer


def step_costs(name: str, ball, repeats: int) -> dict:
    """CPU ms per step at 1/240 s, forward and with the gradient where there is one."""

    def throw():
        answer = ball.throw()
        return answer, answer.cpu_per_step

    seconds, answer = repeated(repeats, throw)
    figures = {"forward_ms": seconds * 1e3, "final_centre_m": answer.final.tolist()}
    if name.startswith("engine"):
        from .ball_engine import MODES

        for mode in MODES:
            seconds, slopes = repeated(repeats, lambda mode=mode: ball.gradient(mode))
            figures[f"{mode}_ms"] = seconds * 1e3
            figures["gradient"] = slopes.tolist()
        figures["parts_ms"] = ball.parts()
        many = ball.with_materials(MATERIALS)
        for mode in MODES:
            seconds, _ = repeated(repeats, lambda mode=mode: many.gradient(mode))
            figures[f"{mode}_materials_ms"] = seconds * 1e3
    return figures


def differences(mesh: Mesh, epsilons) -> dict:
    """MuJoCo's gradient by 12 rollouts: cost, and how far the difference steps agree."""
    from .peers_mujoco import EPSILONS, gradient

    found = [gradient(mesh, 1 / STEP_RATE, e) for e in epsilons or EPSILONS]
    slopes = np.array([slope for slope, _ in found])
    return {
        "differences_ms": min(cpu for _, cpu in found) * 1e3,
        "differences": slopes.tolist(),
        "differences_spread": float(
            np.ptp(slopes, axis=0).max() / np.linalg.norm(slopes, axis=1).max()
        ),
    }


def errors(throw: Throw, limit: Throw) -> dict:
    """Distances of one throw from the limit: mm and ms."""
    landed = throw.landing_time is not None and limit.landing_time is not None
    return {
        "centre_mm": float(np.linalg.norm(throw.final - limit.final)) * 1e3,
        "landing_place_mm": float(np.linalg.norm(throw.landing_place - limit.landing_place)) * 1e3
        if landed
        else None,
        "landing_time_ms": abs(throw.landing_time - limit.landing_time) * 1e3 if landed else None,
    }


def work_precision(make, mesh: Mesh, rates, gradient: bool) -> dict:
    """Cost of a throw and its errors at every rate; a throw that fails is named."""
    finest = max(rates)
    limit = make(mesh, 1 / (4 * finest)).throw()
    figures: dict = {
        "limit_centre_m": limit.final.tolist(),
        "limit_landing_s": limit.landing_time,
        "limit_uncertainty": errors(make(mesh, 1 / (2 * finest)).throw(), limit),
    }
    for rate in rates:
        try:
            ball = make(mesh, 1 / rate)
            throw = ball.throw()
            row = {"throw_cpu_s": throw.cpu_per_step * DURATION * rate} | errors(throw, limit)
            if gradient:
                row["throw_and_gradient_cpu_s"] = ball.gradient("store")[1] * DURATION * rate
        except RuntimeError as error:
            row = {"failed": str(error)}
        figures[f"rate_{rate}"] = row
    return figures


def cost_at(error: float, rows: list[dict], cost: str) -> float | None:
    """Least cost of reaching an error, on the polyline through the rows in logarithms.

    Coarser errors than any measured are charged the cheapest row; finer ones are not answered.
    """
    rows = [r for r in rows if r.get("centre_mm") and r.get(cost)]
    rows = sorted(rows, key=lambda r: r[cost])
    front: list[dict] = []
    for row in rows:
        if not front or row["centre_mm"] < front[-1]["centre_mm"]:
            front.append(row)
    if not front or error < front[-1]["centre_mm"]:
        return None
    x = np.log([r["centre_mm"] for r in reversed(front)])
    y = np.log([r[cost] for r in reversed(front)])
    return float(np.exp(np.interp(np.log(error), x, y)))


def equal_error(engine: dict, peer: dict, rates) -> dict:
    """At each rate of the peer: its cost over the engine's at the peer's error."""
    ours = [engine[f"rate_{rate}"] for rate in rates]
    figures = {}
    for rate in rates:
        row = peer[f"rate_{rate}"]
        if not row.get("centre_mm"):
            continue
        for cost in ("throw_cpu_s", "throw_and_gradient_cpu_s"):
            own = cost_at(row["centre_mm"], ours, cost)
            what = cost.removesuffix("_cpu_s")
            figures[f"rate_{rate}_over_our_{what}"] = row["throw_cpu_s"] / own if own else None
    return figures


def ratios(steps: dict) -> dict:
    """The figures that issues ask for, of those simulators that are there."""
    ours, found = steps.get("engine"), {}
    if ours is None:
        return found
    exact = min(ours["store_ms"], ours["checkpoint_ms"])
    if "mujoco" in steps:
        found["our_step_and_gradient_to_mujoco_step"] = exact / steps["mujoco"]["forward_ms"]
        found["mujoco_differences_to_our_step_and_gradient"] = (
            steps["mujoco"]["differences_ms"] / exact
        )
    for name in ("drake", "drake_neo_hookean"):
        if name in steps:
            found[f"{name}_to_our_forward"] = steps[name]["forward_ms"] / ours["forward_ms"]
    return found


def measure(found: dict, n: int, *, repeats: int, rates, limits: bool, epsilons) -> dict:
    """All figures of one mesh."""
    mesh = Mesh.of(n)
    q = meshes.quality(mesh.vertices, mesh.tets)
    figures: dict = {
        "vertices": len(mesh.vertices), "min_dihedral_deg": q.min_dihedral,
        "max_dihedral_deg": q.max_dihedral,
    }  # fmt: skip
    steps = figures["step"] = {
        name: step_costs(name, make(mesh, 1 / STEP_RATE), repeats) for name, make in found.items()
    }
    if "mujoco" in found:
        steps["mujoco"] |= differences(mesh, epsilons)
    figures["ratios"] = ratios(steps)
    if limits:
        figures["work_precision"] = curves = {
            name: work_precision(found[name], mesh, rates, name == "engine")
            for name in ("engine", "mujoco", "drake") if name in found
        }  # fmt: skip
        if "engine" in curves:
            figures["equal_error"] = {
                name: equal_error(curves["engine"], curve, rates)
                for name, curve in curves.items() if name != "engine"
            }  # fmt: skip
    return figures


def table(figures: dict) -> str:
    """The costs of a step as a table in Markdown."""
    columns = {key: f for key, f in figures.items() if key.startswith("tets_")}
    names = list(dict.fromkeys(name for f in columns.values() for name in f["step"]))
    lines = [
        "| CPU ms per step, 1/240 s | " + " | ".join(c.replace("_", " ") for c in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    rows = [(name, "forward_ms", "forward") for name in names]
    rows += [(n, f"{m}_ms", f"+ gradient, {m}") for n in names for m in ("store", "checkpoint")]
    rows += [
        (n, f"{m}_materials_ms", f"+ gradient by up to {MATERIALS} materials, {m}")
        for n in names for m in ("store", "checkpoint")
    ]  # fmt: skip
    rows += [("mujoco", "differences_ms", "gradient by 12 rollouts")]
    for name, key, what in rows:
        cells = [f["step"].get(name, {}).get(key) for f in columns.values()]
        if any(cells):
            shown = " | ".join(f"{c:.3g}" if c else "" for c in cells)
            lines.append(f"| {name} {what} | {shown} |")
    ours = [f["step"].get("engine", {}).get("parts_ms", {}) for f in columns.values()]
    for part in ours[0]:
        shown = " | ".join(f"{parts[part]:.3g}" for parts in ours)
        lines.append(f"| engine, of it: {part.replace('_', ' ')} | {shown} |")
    for key in dict.fromkeys(k for f in columns.values() for k in f["ratios"]):
        shown = " | ".join(f"{f['ratios'].get(key, np.nan):.3g}" for f in columns.values())
        lines.append(f"| {key.replace('_', ' ')} | {shown} |")
    return "\n".join(lines) + "\n"


def main(
    out: Path | None = None, *, sizes=SIZES, rates=RATES, repeats: int = 3,
    limits_up_to: int = 5, epsilons=None,
) -> dict:  # fmt: skip
    """Run the comparison; returns the figures, and writes its table to out/ball.md.

    limits_up_to: subdivisions up to which work-precision is measured; epsilons: difference steps.
    """
    found = simulators()
    figures: dict = {"step_s": 1 / STEP_RATE}
    for n in sizes:
        figures[f"tets_{20 * n**3}"] = measure(
            found, n, repeats=repeats, rates=rates, limits=n <= limits_up_to,
            epsilons=epsilons if n <= limits_up_to else (1e-2,),
        )  # fmt: skip
    for name in found:
        costs = [figures[f"tets_{20 * n**3}"]["step"][name]["forward_ms"] for n in sizes]
        if len(sizes) > 1:
            figures[f"growth_exponent_{name}"] = growth([20 * n**3 for n in sizes], costs)
    print(table(figures), file=sys.stderr, flush=True)
    if out is not None:
        (out / "ball.md").write_text(table(figures))
    return figures
