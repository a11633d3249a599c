"""Hostile files of every format, each refused in time and memory that do not hurt.

Every case is read in a child process; a case passes if it ends with InputError within
`hostile.SECONDS` of CPU time and `hostile.MEMORY` more than before.  Files are written, processes
started and no addresses looked up: an audit hook reports it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import hostile_bags, hostile_binary, hostile_text
from .common import judged as judged_figures
from .hostile import MEMORY, SECONDS, Case, Outcome, judged, verdict

LEAST = 300
BUILDERS = (
    hostile_text.yaml_cases, hostile_text.urdf_cases, hostile_text.table_cases,
    hostile_text.path_cases, hostile_bags.mcap_cases, hostile_bags.sqlite_cases,
    hostile_bags.folder_cases, *hostile_binary.BUILDERS,
)  # fmt: skip
HEAVY_MODULES = (
    "diffsim_ros.scene", "diffsim_ros.real2sim.config", "diffsim_ros.sensing.read",
    "diffsim_ros.planning.config", "diffsim_ros.twin.config", "diffsim_ros.robots.urdf",
    "urchin", "trimesh", "meshio", "rosbags.rosbag2", "rosbags.typesys", "open3d",
    "scipy.spatial.transform", "scipy.interpolate",
)  # fmt: skip


def cases(seed: int = 0) -> list[Case]:
    """All cases, in the same order for the same seed."""
    rng = random.Random(seed)
    return [case for build in BUILDERS for case in build(rng)]


def warm() -> None:
    """Import what readers import, and read each format once: that is no case's cost."""
    import importlib
    import warnings

    from .hostile import READERS
    from .hostile_seeds import SEEDS

    warnings.simplefilter("ignore")
    for name in HEAVY_MODULES:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(SEEDS.values()):
            path = Path(folder) / str(number) / seed.name
            path.parent.mkdir()
            path.write_bytes(seed.make())
            READERS[seed.kind](path)


def outcomes(some: Sequence[Case]) -> list[tuple[Case, Outcome]]:
    """Each case and how it ended."""
    with tempfile.TemporaryDirectory(prefix="security_") as folder:
        return judged(some, Path(folder))


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Figures of the cases, or of every (1 / fraction)-th; Missed where one was not refused."""
    warm()
    every = cases(seed)
    some = every[:: round(1 / fraction)]
    found = outcomes(some)
    wrong = [f"{c.kind}: {c.name}: {text}" for c, o in found if (text := verdict(c, o))]
    kinds: dict[str, dict] = {}
    for case, outcome in found:
        own = kinds.setdefault(
            case.kind, {"cases": 0, "refused": 0, "worst_cpu_s": 0.0, "worst_memory_mb": 0.0}
        )
        own["cases"] += 1
        own["refused"] += outcome.end == "refused"
        own["worst_cpu_s"] = round(max(own["worst_cpu_s"], outcome.seconds), 2)
        own["worst_memory_mb"] = round(max(own["worst_memory_mb"], outcome.memory / 2**20), 1)
    if len(every) < LEAST:
        wrong.append(f"{len(every)} cases, fewer than {LEAST}")
    figures = {
        "cases": len(some),
        "refused": sum(o.end == "refused" for _, o in found),
        "read_at_no_cost": sum(o.end == "read" for _, o in found),
        "bound_cpu_s": SECONDS,
        "bound_memory_mb": MEMORY // 2**20,
        "worst_cpu_s": round(max(o.seconds for _, o in found), 2),
        "worst_memory_mb": round(max(o.memory for _, o in found) / 2**20, 1),
        "kinds": kinds,
    }
    return judged_figures(figures, wrong)
