"""Animations of every gait by name: `python -m validation.locomotion_pictures [FOLDER]`.

Writes FOLDER/gait_NAME.gif (docs/images), planned by the rule of locomotion_robots.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from diffsim_ros.commands.plan_locomotion import animated
from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)

from .common import ROOT

ROBOTS = ROOT / "config" / "locomotion" / "robots"
GAITS = {
    "walk": ("solo12", 1.2, 0.08), "wave": ("hexapod", 1.2, 0.08), "trot": ("anymal", 1.0, 0.2),
    "pace": ("go1", 0.8, 0.1), "bound": ("quadruped", 0.6, 0.06),
    "roll": ("swizzlebot", 1.2, 0.3),
}  # fmt: skip
"""Robot, period [s] and travel [m] of one."""


def planned(gait: str) -> tuple[LocomotionConfig, bytes]:
    """What was asked for, and its GIF; RuntimeError where it misses its goals."""
    name, period, travel = GAITS[gait]
    robot = load_legged_robot(ROBOTS / f"{name}.yaml")
    height = float(robot.standing_pose()[0][2])
    goals = LocomotionGoals(travel=(travel, 0.0), turn=0.0, tolerance=max(0.01, travel / 50))
    config = LocomotionConfig(
        gait, f"{name}, {gait}", robot, named_gait(robot, gait, 24), period, 0.12 * height,
        goals=goals,
    )  # fmt: skip
    motion = generate(config)
    if motion.status != "reached":
        raise RuntimeError(f"{gait} of {name}: {motion.status}")
    return config, animated(config, motion)


def main() -> int:
    """Write all of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    for gait in GAITS:
        _, picture = planned(gait)
        path = folder / f"gait_{gait}.gif"
        path.write_bytes(picture)
        print(f"{path}: {len(picture) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
