"""The silicone beam, each load predicted from recordings with the other loads.

Beside it Young's modulus from the sag alone and from the first frequency alone.

Recordings are those of data/silicone_beam, and of a folder named in DIFFSIM_BEAM if it is set; a
load is a pattern of the YAML's data.conditions.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate

from . import silicone_beam_rest
from .common import ROOT, judged

CONFIG = ROOT / "config" / "estimation" / "silicone_beam.yaml"
DATA = ROOT / "data" / "silicone_beam"
REQUIRED = {
    "static_deflection_error": 0.05,
    "frequency_error": 0.03,
    "decay_error": 0.20,
    "mean_marker_error_m": 2e-3,
}
AIM = {
    "static_deflection_error": 0.03,
    "frequency_error": 0.02,
    "decay_error": 0.15,
    "mean_marker_error_m": 1.5e-3,
}
LINES = 161
"""Of a recording, that its beginning has: the header, and a second after the release."""
PUBLISHED_YOUNG = 263_824.0
"""[Pa], of the data's authors (arXiv 2201.12560)."""


def recordings() -> list[Path]:
    """All recordings there are, by name."""
    folders = [DATA, *filter(None, [os.environ.get("DIFFSIM_BEAM")])]
    found = {file.stem: file for folder in folders for file in sorted(Path(folder).glob("*.csv"))}
    return [found[name] for name in sorted(found)]


def by_load(files: list[Path]) -> dict[str, list[Path]]:
    """Recordings of each load, by its pattern."""
    config = load_estimation(CONFIG)
    groups: dict[str, list[Path]] = {}
    for file in files:
        sets = config.train.condition(file.stem)
        pattern = next(c.records for c in config.train.conditions if c.sets == sets)
        groups.setdefault(pattern, []).append(file)
    return groups


def split(train: list[Path], validate: list[Path], changes=()) -> dict:
    """Figures of one estimation."""
    result = estimate(load_estimation(CONFIG, train=train, validate=validate, set=changes))
    keys = (*REQUIRED, "measured", "simulated", "marker_error_m")
    return {
        "status": result.status,
        "train": [file.stem for file in train],
        "parameters": {p.name: {"value": p.value, "std_dev": p.std_dev} for p in result.parameters},
        "validate": {
            name: {key: figures[key] for key in keys}
            for name, figures in result.metrics["validate"].items()
        },
        "rollouts": result.metrics["train"]["rollouts"],
        "seconds": round(result.metrics["timing"]["total"], 1),
    }


def repeat(one: Path, other: Path) -> dict:
    """Figures of a recording predicted from its repeat: the first swings, one iteration."""
    changes = ["fit.iterations=1", "measurement.window=0.8", "measurement.swing_span=0.8"]
    changes += ["scene.world.step=1/200", "scene.world.record_every=2"]
    with tempfile.TemporaryDirectory() as folder:
        short = [Path(folder) / file.name for file in (one, other)]
        for file, part in zip((one, other), short, strict=True):
            part.write_text("".join(file.read_text().splitlines(True)[:LINES]))
        return split(short[:1], short[1:], changes)


def study(fraction: float = 1.0) -> dict:
    """The whole item; raises AssertionError naming every figure beyond the required bars.

    fraction  below 1: one iteration from the YAML's guess on the beginning of one recording without
              a weight, with twice the time step, its repeat predicted; at rest on a coarse mesh;
              bars doubled
    """
    groups, slack = by_load(recordings()), 1.0
    if fraction < 1:
        splits, slack = {"repeat": repeat(*groups["gravity_*"][:2])}, 2.0
        rest = silicone_beam_rest.moduli(CONFIG, groups["gravity_*"][:1], silicone_beam_rest.COARSE)
    else:
        splits, rest = {}, silicone_beam_rest.moduli(CONFIG, recordings())
        for pattern, files in groups.items():
            others = [file for key, some in groups.items() if key != pattern for file in some]
            splits[pattern] = split(others, files)
    entries = {n: e for figures in splits.values() for n, e in figures["validate"].items()}
    missed = [
        f"{name}: {key} {entry[key]:.3g}, required {bar * slack:g}"
        for name, entry in entries.items()
        for key, bar in REQUIRED.items()
        if not entry[key] <= bar * slack
    ]
    missed += silicone_beam_rest.beyond(rest, slack)
    worst = {key: max(entry[key] for entry in entries.values()) for key in REQUIRED}
    figures = {"splits": splits, "rest": rest, "worst": worst, "required": REQUIRED, "aim": AIM}
    return judged(figures | {"published_young_pa": PUBLISHED_YOUNG}, missed)
