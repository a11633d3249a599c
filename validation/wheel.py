"""The wheel as its user meets it: made, installed into an empty environment, first gradient.

`tools/wheel.sh` makes it (minutes, where build/wheel is empty); DIFFSIM_WHEEL names one that is
there already. Nothing of the checkout or of ROS is in sight of the environment. Times are of the
wall, with the seconds of the CPU beside: on a busy machine these are the ones to read.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .common import ROOT, judged

MOST_SECONDS, MOST_MB, MOST_IMPORT = 120.0, 400.0, 0.5
"""Of install and first gradient together; of site-packages; of `import diffsim_ros`."""
LISTED = 12
"""Largest parts of site-packages that are recorded."""
GRADIENT = """
import diffsim_ros as ds

scene = ds.load_scene("config/scenes/bouncing_cube.yaml")
run = scene.rollout(wrt=["cube.velocity.x", "cube.mass"], sensitivities=True)
assert abs(run.sensitivity("cube.position")[-1]).max() > 0.1
"""


def study(fraction: float = 1.0) -> dict:
    """Make, install and use the wheel; `fraction` changes nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, made = _wheel(folder)
        python = folder / "venv" / "bin" / "python"
        _timed([sys.executable, "-m", "venv", folder / "venv"], folder)
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        steps = {"install": _timed([*pip, wheel], folder)}
        steps["examples"] = _timed([python.parent / "diffsim", "examples", "--out", "."], folder)
        steps["first_gradient"] = _timed([python, "-c", GRADIENT], folder)
        for key, command in _repeated(python).items():
            steps[key] = min((_timed(command, folder) for _ in range(3)), key=lambda t: t["wall_s"])
        sizes = _sizes(next((folder / "venv" / "lib").glob("python3*/site-packages")))
        own = {p.name for p in (folder / "venv" / "bin").iterdir() if p.name.startswith("diffsim")}
        _refuses_nodes(python, folder)
        figures = {
            "python": platform.python_version(), "wheel": wheel.name,
            "wheel_MB": wheel.stat().st_size / 1e6, "made": made, "commands": sorted(own),
            "site_packages_MB": sum(sizes.values()),
            "parts_MB": dict(list(sizes.items())[:LISTED]), "times": steps,
        }  # fmt: skip
    return judged(figures, _missed(figures))


def _missed(figures: dict) -> list[str]:
    times, missed = figures["times"], []
    first = times["install"]["wall_s"] + times["first_gradient"]["wall_s"]
    if first > MOST_SECONDS:
        missed.append(f"install and first gradient took {first:.0f} s, more than {MOST_SECONDS:g}")
    if figures["site_packages_MB"] > MOST_MB:
        missed.append(f"{figures['site_packages_MB']:.0f} MB installed, more than {MOST_MB:g}")
    if times["import"]["wall_s"] > MOST_IMPORT:
        missed.append(f"import diffsim_ros took {times['import']['wall_s']:.2f} s")
    if figures["commands"] != ["diffsim"]:
        missed.append(f"the package claims {figures['commands']}")
    return missed


def _wheel(folder: Path) -> tuple[Path, dict | None]:
    """The wheel, and what it took to make."""
    given = os.environ.get("DIFFSIM_WHEEL")
    if given:
        return Path(given).resolve(), None
    environment = {"PYTHON": sys.executable, "TMPDIR": str(folder)}
    took = _timed([ROOT / "tools" / "wheel.sh", folder / "dist"], ROOT, environment)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel, took


def _repeated(python: Path) -> dict[str, list]:
    """Commands whose best of three is recorded."""
    diffsim, scene = python.parent / "diffsim", "config/scenes/pendulum.yaml"
    run = [diffsim, "simulate", scene, "--force", "--out", "pendulum"]
    return {
        "python_alone": [python, "-c", "pass"],
        "import": [python, "-c", "import diffsim_ros"],
        "numpy": [python, "-c", "import numpy"],
        "help": [diffsim, "--help"],
        "help_of_simulate": [diffsim, "simulate", "--help"],
        "simulate_pendulum": run,
        "simulate_pendulum_no_report": [*run, "--no-report"],
    }


def _timed(command: list, folder: Path, more: dict[str, str] | None = None) -> dict[str, float]:
    """Run it outside of checkout and ROS; seconds of the wall and of the CPU."""
    hidden = ("PYTHON", "AMENT", "ROS", "COLCON", "CMAKE", "VIRTUAL_ENV", "_ROS", "LD_LIBRARY")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment | (more or {}), capture_output=True,
        text=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall, "cpu_s": spent}


def _refuses_nodes(python: Path, folder: Path) -> None:
    """Without ROS `diffsim node` is refused by one line that says what to do."""
    command = [str(python.parent / "diffsim"), "node", "planner"]
    environment = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "ROS 2" in done.stderr and done.stderr.count("\n") == 1


def _sizes(site: Path) -> dict[str, float]:
    """MB of each part of site-packages but pip and setuptools, the largest first; NAME.libs belong
    to NAME."""
    found: dict[str, float] = {}
    for path in site.iterdir():
        name = path.name.split(".libs")[0].split("-")[0]
        if name not in ("pip", "setuptools", "_distutils_hack"):
            files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
            found[name] = found.get(name, 0.0) + sum(p.stat().st_size for p in files) / 1e6
    return dict(sorted(found.items(), key=lambda item: -item[1]))
