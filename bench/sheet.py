"""Square sheets of 25 x 25 and 100 x 100 vertices: this engine beside MuJoCo, with growth.

Hanging by two corners, and falling on a sphere (sheet_scene.py); one thread, CPU times, building
the scene left out. MuJoCo takes part as a membrane with the springs' elasticity, and (on the small
sheet) with the very same springs at the largest step at which they stay stable.

    step             CPU ms of a step at 1/240 s, forward and with an exact gradient by the springs'
                     stiffnesses; unconverged: steps at which MuJoCo's solver reported failure
    work_precision   on the small sheet: CPU seconds of 0.5 s, and distance of the final centre [mm]
                     from this simulator's own limit (its motion at a quarter of the finest step)
"""

from __future__ import annotations

import sys
from pathlib import Path

from .chain import growth
from .sheet_scene import DURATION, SCENES, Sheet, error_mm

SIZES = (25, 100)  # vertices along a side
RATES = (60, 120, 240, 480, 960, 1920)
STEP_RATE = 240
LARGE_DURATION = 0.2  # s of the sheets without work-precision: it wrinkles, and touches the sphere
STABLE_RATES = (480, 960, 1920, 3840, 7680, 15360, 30720)  # tried in turn for MuJoCo's springs


def simulators() -> dict:
    """Name -> function (sheet, dt, duration) -> Fall of all that are there; others are named."""
    found = {}
    try:
        from .sheet_engine import Cloth

        found["engine"] = lambda sheet, dt, duration: Cloth(sheet, dt).fall(duration)
    except ImportError as error:
        print(f"sheet: engine is left out: {error}", file=sys.stderr, flush=True)
    try:
        from .sheet_mujoco import simulate

        found["mujoco"] = lambda sheet, dt, duration: simulate(sheet, dt, duration=duration)
    except ImportError as error:
        print(f"sheet: mujoco is left out: {error}", file=sys.stderr, flush=True)
    return found


def step_costs(name: str, fall, sheet: Sheet, repeats: int, duration: float) -> dict:
    """CPU ms per step at 1/240 s."""
    falls = [fall(sheet, 1 / STEP_RATE, duration) for _ in range(repeats)]
    figures = {
        "duration_s": duration,
        "forward_ms": min(f.cpu_per_step for f in falls) * 1e3,
        "unconverged": falls[0].unconverged,
        "final_centre_m": falls[0].final.mean(axis=0).tolist(),
    }
    if name == "engine":
        from .sheet_engine import Cloth

        cloth = Cloth(sheet, 1 / STEP_RATE)
        cost = min(cloth.gradient(duration=duration)[1] for _ in range(repeats))
        figures["forward_and_gradient_ms"] = cost * 1e3
    return figures


def work_precision(fall, sheet: Sheet, rates) -> dict:
    """Cost and error of the centre at every rate."""
    limit = fall(sheet, 1 / (4 * max(rates)), DURATION)
    near = fall(sheet, 1 / (2 * max(rates)), DURATION)
    figures: dict = {"limit_uncertainty_mm": error_mm(near, limit)}
    for rate in rates:
        try:
            one = fall(sheet, 1 / rate, DURATION)
        except RuntimeError as error:
            figures[f"rate_{rate}"] = {"failed": str(error)}
            continue
        figures[f"rate_{rate}"] = {
            "cpu_s": one.cpu_per_step * DURATION * rate,
            "centre_mm": error_mm(one, limit) if one.ok else None,
        }
    return figures


def explicit_springs(sheet: Sheet, rates=STABLE_RATES) -> dict:
    """The least rate at which MuJoCo's explicit springs stay finite, and what 0.5 s then cost."""
    from .sheet_mujoco import simulate

    for rate in rates:
        fall = simulate(sheet, 1 / rate, "springs")
        if fall.ok:
            return {"stable_rate": rate, "cpu_s": fall.cpu_per_step * DURATION * rate}
    return {"stable_rate": None, "cpu_s": None}


def measure(found: dict, n: int, scene: str, *, repeats: int, rates, limits: bool) -> dict:
    """All figures of one sheet in one scene."""
    sheet, duration = Sheet.of(n, scene), DURATION if limits else LARGE_DURATION
    figures: dict = {
        "step": {
            name: step_costs(name, fall, sheet, repeats, duration) for name, fall in found.items()
        }
    }
    steps = figures["step"]
    if {"engine", "mujoco"} <= steps.keys():
        for key in ("forward", "forward_and_gradient"):
            figures[f"our_{key}_to_mujoco_forward"] = (
                steps["engine"][f"{key}_ms"] / steps["mujoco"]["forward_ms"]
            )
    if limits:
        figures["work_precision"] = {
            name: work_precision(fall, sheet, rates) for name, fall in found.items()
        }
        if "mujoco" in found:
            figures["mujoco_springs"] = explicit_springs(sheet)
    return figures


def main(
    out: Path | None = None, *, sizes=SIZES, rates=RATES, repeats: int = 3, limits_up_to: int = 25
) -> dict:
    """Run the comparison; returns the figures. limits_up_to: sizes with work-precision."""
    found, figures = simulators(), {"step_s": 1 / STEP_RATE}
    for scene in SCENES:
        for n in sizes:
            small = n <= limits_up_to
            figures[f"{scene}_{n}"] = measure(
                found, n, scene, repeats=repeats if small else 1, rates=rates, limits=small
            )
        if len(sizes) > 1:
            for name in found:
                costs = [figures[f"{scene}_{n}"]["step"][name]["forward_ms"] for n in sizes]
                figures[f"{scene}_growth_exponent_{name}"] = growth([n * n for n in sizes], costs)
    return figures
