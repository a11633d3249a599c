"""Published robots and scenes: each is taken or refused rightly, right, named, simulated, derived.

Every URDF and MJCF of a folder (`--models DIR`), or of the packages PACKAGES that are installed,
is loaded, held beside Pinocchio or MuJoCo and simulated by both steppers (zoo_model.py). A worker
does the models one after the other; one that crashes it or hangs is recorded, and a new worker goes
on. `--resume DIR` keeps the rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .common import Executors, Models, judged, share
from .zoo_model import CLOSE, ROW_MARK, kind_of, unsaid

PACKAGES = {
    "cmeel.prefix": "example-robot-data", "dm_control": "dm-control", "gymnasium": "gymnasium",
    "gymnasium_robotics": "gymnasium-robotics", "robosuite": "robosuite",
    "mujoco.mjx": "mujoco-mjx", "mujoco_playground": "playground",
}  # fmt: skip
"""Module, or folder beside the modules -> what pip installs it as."""
LONGEST = 120.0
"""Seconds that a model may take."""
TAKEN = {"mjcf": 0.98, "urdf": 0.97}
OFF = 1e-6
FINITE = 0.99


def study(fraction: float = 1.0, folder: Path | None = None) -> dict[str, Any]:
    """Rows and summary of every model, or of an even share of them; Missed below the bars."""
    folder = folder or Models.folder
    files = models_of(folder)
    chosen = files[:: max(1, len(files) // share(len(files), fraction))]
    bases = [root.parent for root in package_folders()] if folder is None else [folder]
    rows = [relative(row, bases) for row in examined(chosen)]
    figures = {"summary": summary(rows), "models": [compact(row) for row in rows]}
    return judged(figures, missed_bars(figures["summary"]))


def models_of(folder: Path | None) -> list[Path]:
    """URDFs and MJCFs below a folder, or of the packages; InputError where there are none."""
    roots = package_folders() if folder is None else [folder]
    names = sorted({f for root in roots for end in ("urdf", "xml") for f in root.rglob(f"*.{end}")})
    files = [file for file in names if file.is_file() and kind_of(file)]
    if not files:
        rule = "a folder with .urdf or .xml files, or installed packages that have some"
        remedy = "pip install " + " ".join(PACKAGES.values())
        raise InputError("zoo", "--models", str(folder or "packages"), rule, remedy)
    return files


def relative(row: dict[str, Any], bases: Sequence[Path]) -> dict[str, Any]:
    """The row with its paths from the packages, or from the folder, on: no machine's own."""
    text = json.dumps(row)
    for base in {str(place) for given in bases for place in (given, given.resolve())}:
        text = text.replace(f"{base}/", "").replace(base, ".")
    return json.loads(text)


def compact(row: dict[str, Any]) -> dict[str, Any]:
    """What a record keeps: shares to three digits, how many things are named, no empty word."""
    kept = {k: float(f"{v:.3g}") if isinstance(v, float) else v for k, v in row.items()}
    kept["named"] = len(row.get("named", []))
    kept["kinks"] = [[k[0], *(f"{v:.4g}" for v in k[1:])] for k in row.get("kinks", [])]
    return {k: v for k, v in kept.items() if v not in ("", [], None) and "seconds" not in k}


def package_folders() -> list[Path]:
    """Of the packages that are installed."""
    found = []
    for name in PACKAGES:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            spec = None
        if spec is not None and spec.submodule_search_locations:
            found += [Path(place) for place in spec.submodule_search_locations]
        else:
            found += [
                p / name for p in map(Path, sys.path) if name[0] == "c" and (p / name).is_dir()
            ]
    return found


def examined(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Their rows, those that were kept included."""
    worker = _Worker()
    try:
        for done, file in enumerate(files):
            kept = None
            if Executors.resume is not None:
                mark = hashlib.sha256(str(file).encode() + file.read_bytes()).hexdigest()[:16]
                kept = Executors.resume / f"zoo_{mark}.json"
            if kept is not None and kept.is_file():
                yield json.loads(kept.read_text())
                continue
            row = worker.row(file)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(row))
            if done % 20 == 19:
                print(f"{done + 1} of {len(files)} models", file=sys.stderr, flush=True)
            yield row
    finally:
        worker.end()


class _Worker:
    """A process that examines models, started anew after a crash or a hang."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def row(self, file: Path) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "validation.zoo_model"], text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        process = self.process
        late = threading.Event()
        clock = threading.Timer(LONGEST, lambda: (late.set(), process.kill()))
        clock.start()
        try:
            process.stdin.write(f"{file}\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith(ROW_MARK):
                    return json.loads(line.removeprefix(ROW_MARK))
        except BrokenPipeError:
            pass
        finally:
            clock.cancel()
        code = process.wait()
        self.end()
        why = f"longer than {LONGEST:g} s" if late.is_set() else f"ended by {code}"
        return {"file": str(file), "kind": kind_of(file), "crash": why}

    def end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()


def verdict(row: dict[str, Any]) -> str:
    """taken, refused rightly (the peer refuses it too, or nothing moves), refused, or crash."""
    reasons = [row[word] for word in ("tree", "scene") if row.get(word)]
    rightly = row.get("peer") or not row.get("moves")
    if "crash" in row and "scene" not in row:
        return "crash"
    if reasons:
        return "refused rightly" if rightly else "refused"
    return "crash" if "crash" in row else "taken"


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts of every kind, and the largest differences."""
    found: dict[str, Any] = {}
    for kind in ("mjcf", "urdf"):
        own = [row for row in rows if row["kind"] == kind]
        if not own:
            continue
        counts = Counter(verdict(row) for row in own)
        due = len(own) - counts["refused rightly"]
        off = {
            word: [row[word] for row in own if row.get(word) is not None]
            for word in ("mass", "acceleration", "gradient")
        }
        ran = [row["velocity"] for row in own if "velocity" in row]
        ended = Counter(status.partition(":")[0] for status in ran)
        ran = [status for status in ran if not status.startswith("refused")]
        found[kind] = {
            "models": len(own), **{word.replace(" ", "_"): n for word, n in counts.items()},
            "mended": sum(bool(row.get("mended")) and verdict(row) == "taken" for row in own),
            "taken_share": counts["taken"] / due if due else None,
            "implicit": dict(Counter(row["implicit"] for row in own if "implicit" in row)),
            "velocity": dict(ended),
            "velocity_finite": ran.count("ok") / len(ran) if ran else None,
            **{f"{word}_compared": len(v) for word, v in off.items()},
            **{f"{word}_median": float(np.median(v)) for word, v in off.items() if v},
            **{f"{word}_off": sum(x > (CLOSE if word == "gradient" else OFF) for x in v)
               for word, v in off.items()},
            "gradient_at_kinks": sum("kinks" in row for row in own),
            "off_unsaid": [row["file"] for row in own if unsaid(row, OFF)],
            "reasons": dict(Counter(_reason(row) for row in own if verdict(row) in
                                    ("refused", "crash")).most_common()),
        }  # fmt: skip
    return found


def _reason(row: dict[str, Any]) -> str:
    """What refuses a model, without the names and numbers that are its own."""
    text = row.get("tree") or row.get("scene") or row.get("crash") or ""
    return " ".join(text.replace("FILE: ", "").split())[:160]


def missed_bars(found: dict[str, Any]) -> list[str]:
    """One sentence for each bar that is missed."""
    missed = []
    for kind, own in found.items():
        taken, finite = own["taken_share"], own["velocity_finite"]
        if taken is not None and taken < TAKEN[kind]:
            missed.append(f"{kind}: {taken:.1%} taken for {TAKEN[kind]:.0%}")
        if finite is not None and finite < FINITE:
            missed.append(f"{kind}: the velocity stepper is finite in {finite:.1%}")
        if own["off_unsaid"]:
            missed.append(f"{kind}: {len(own['off_unsaid'])} off by more than {OFF:g}, unsaid")
    return missed
