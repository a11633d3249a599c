"""What `check`, `init` and `estimate` make of recordings that they have not seen, as they come.

Synthetic recordings (first_recordings.py) of cubes tossed, thrown from a hand and pushed, of
released beams with markers and of joint logs: noise 0.1 to 2 mm, 60 to 1000 Hz, m and mm, z and y
up, w where the format has it and where it has not, rad and degrees. The size and mass of bodies
are given, as a lab would. Each outcome is one of

    usable   an estimate whose friction is near the truth; of beams the first guess, whose
             estimates are silicone_beam's; of joints an estimation that reads its log, as these
             have no dynamics
    vague    an estimate off the truth that says so: by its standard deviation, status or verdict
    refused  rightly: pushes and impacts begin no toss, a swing shows no unit, degrees
    wrong    anything else: a usable recording refused, a wrong one taken, a file of init that
             estimate refuses, a parameter off without a word

and the recordings of `data/`, each with the outcome that it deserves.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.executors import InProcess
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.sensing.check import Examined, check

from .common import ROOT, judged, share, side_by_side
from .first_recordings import Case, drawn, write

RECORDINGS, GOAL = 36, 0.95
NEAR, SIGMAS = 0.5, 3.0
"""A parameter is near its truth within this share of it; off it within so many of its standard
deviations, it says so."""
GUESS = 3.0
"""Factor within which a first guess of Young's modulus is of use."""
UNTRIED = ("--study", "0")
"""Of what is not estimated here: step and mesh are not chosen."""
DATA = {
    "cube_toss/tosses.npz": "init",
    "cube_toss/example_toss_001.csv": "init",
    "cube_toss/anchor_errors_per_toss.csv": "no recording",
    "cube_toss": "a folder",
    "elbow_toss/tosses.npz": "several bodies",
    "planar_drop/square.npz": "init",
    "planar_drop/ellipse.npz": "no toss",
    "tennis_ball_collision/two_balls.npz": "several bodies",
    "foam_ball/throw_a.npz": "init",
    "foam_ball/throw_b.npz": "init",
    "bob/bob.obj": "a mesh",
    "kinect_clouds/capture0001_160x120.pcd": "nothing moves",
    "kinect_clouds/object_template_0_ascii.pcd": "no floor",
    "ros2_bags": "a folder",
    "ros2_bags/cube_toss_pose_mcap": "init",
    "ros2_bags/kinect_xyz_mcap": "nothing moves",
    "ros2_bags/beam_markers_db3": "no labels",
    "silicone_beam/gravity_a.csv": "init",
    "silicone_beam/gravity_a.c3d": "init",
    "silicone_beam/gravity_b.csv": "init",
    "silicone_beam/load52_a.csv": "init",
    "soft_arm/step_100mbar.csv": "no swing",
    "soft_arm/step_200mbar.csv": "no swing",
    "soft_arm/step_300mbar.csv": "no swing",
    "soft_arm/step_400mbar.csv": "no swing",
    "ur5_log/ur5_log.npz": "init",
}
"""Recording -> "init" where a first estimation can be made of it, else why not."""
WORDS = {
    "several bodies": "exactly one body", "no toss": "free flight", "no swing": "that grows",
    "nothing moves": "frames that show a moving body", "no floor": "let the camera see the floor",
    "no labels": "Record them with labels", "no recording": "header", "a folder": "give it by name",
    "a mesh": "a mesh is a body's shape",
}  # fmt: skip


def study(fraction: float = 1.0) -> dict:
    """Outcomes of all recordings; fraction: of the synthetic ones, and of those of data/.

    A part of it reads the estimations that init writes, and does not run them.
    """
    seeds = range(share(RECORDINGS, fraction))
    # one after the other here: what commands print is caught
    rows = side_by_side(
        _synthetic, seeds, fraction >= 1, here=InProcess(1), what="synthetic recordings"
    )
    shipped = list(DATA.items())[:: max(1, round(1 / fraction))]
    rows += [_shipped(name, wanted) for name, wanted in shipped]
    counts = Counter(row["outcome"] for row in rows)
    right = 1.0 - counts["wrong"] / len(rows)
    figures = {
        "recordings": len(rows), "outcomes": dict(counts),
        "usable_or_rightly_refused": (counts["usable"] + counts["refused"]) / len(rows),
        "not_wrong": right, "rows": rows,
    }  # fmt: skip
    missed = [] if right >= GOAL else [f"{right:.0%} are not wrong, wanted {GOAL:.0%}"]
    return judged(figures, missed)


def _synthetic(run: bool, seed: int, cancel: Any) -> dict:
    return outcome(drawn(seed), run=run)


def outcome(case: Case, *, run: bool = True) -> dict:
    """What comes of one synthetic recording: its words, outcome and why.

    run  the estimation; else it is only read
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write(case, folder)
        (examined,), _ = check([path])
        word, why = _checked(case, examined)
        if word is None:
            word, why = _estimated(case, path, folder, run)
    return {"recording": case.words, "outcome": word, "why": _without(why, f"{folder}/")}


def _checked(case: Case, one: Examined) -> tuple[str | None, str]:
    """The outcome where check decides it alone; None: go on."""
    if (
        one.order is not None
        and one.order.right is not None
        and one.order.right == case.wrong_order
    ):
        return "wrong", f"order of quaternions: {one.order.why}"
    if case.kind in ("tosses", "throws"):
        if one.gravity is None:
            return "wrong", "no free flight is seen"
        if (one.gravity.unit, one.gravity.axis) != (case.unit, case.up):
            return "wrong", f"taken for {one.gravity.unit}, {one.gravity.axis} up"
        odd = case.unit != "m" or case.up != "+z"
        if odd and one.refusal is None:
            return "wrong", "unit or axis passes"
        if case.wrong_order and one.order is not None and one.order.right is None:
            return "wrong", f"the order passes: {one.order.why}"
    elif one.gravity is not None:
        return "wrong", f"a flight is seen: {one.gravity.acceleration}"
    return None, ""


def _estimated(case: Case, path: Path, folder: Path, run: bool) -> tuple[str, str]:
    """The outcome of init and estimate."""
    given = {
        "tosses": ["--size", f"{case.body['edge']:.4f}", "--mass", f"{case.body['mass']:.3f}"],
        "pushes": ["--size", f"{case.body['edge']:.4f}"],
        "swings": ["--size", "0.1", "0.03", "0.02", "--mass", "0.0642", *UNTRIED],
        "joints": ["--urdf", str(ROOT / "urdf" / "ur5.urdf")],
    }  # fmt: skip
    given["throws"] = given["tosses"]
    code, text = called("init", "--from", str(path), *given[case.kind], "--out", str(folder / "i"))
    refusable = (
        (case.kind == "pushes" and "free flight: got 'none'")
        or (case.kind == "swings" and case.unit == "mm" and "millimetres?")
        or (case.kind == "joints" and case.degrees and "degrees")
    )
    if refusable:
        right = code == 2 and refusable in text
        return ("refused" if right else "wrong"), text
    if code:
        return "wrong", f"init: {text}"
    config = load_estimation(folder / "i" / "estimation.yaml")
    try:
        kind_of(config.kind)(config).read({})
    except InputError as error:
        return "wrong", f"estimate: {error}"
    if case.kind == "swings":
        guess = config.parameters["young"].value
        off = abs(np.log(guess / case.body["young"]))
        why = f"first guess of young {guess:.3g}, truth {case.body['young']:.3g}"
        return ("usable" if off < np.log(GUESS) else "wrong"), why
    if case.kind == "joints" or not run:
        return "usable", "read by its estimation"
    code, text = called("estimate", str(folder / "i" / "estimation.yaml"),
                        "--set", "simulation.threads=1", "--out", str(folder / "e"))  # fmt: skip
    if code not in (0, 3):
        return "wrong", f"estimate: {text}"
    result = yaml.safe_load((folder / "e" / "result.yaml").read_text("utf-8"))
    return _judged(case, result)


def _judged(case: Case, result: dict) -> tuple[str, str]:
    """The outcome of an estimate, by the parameter that motion shows best."""
    truth = case.body["friction"]
    found = result["parameters"]["friction"]
    value, sigma = float(found["value"]), float(found["std_dev"] or 0.0)
    off = abs(value - truth)
    why = f"friction {value:.4g} +- {sigma:.2g}, truth {truth:.4g}; {result['status'][:60]}"
    if off <= NEAR * truth:
        return "usable", why
    bound = found.get("bound") or {"side": "lower", "value": np.inf}
    within = (truth >= bound["value"]) == (bound["side"] == "lower")
    said = within or off <= SIGMAS * sigma or not str(result["status"]).startswith("converged")
    grade = (result.get("verdict") or {}).get("grade", "good")
    return ("vague" if said or grade != "good" else "wrong"), why


def _shipped(name: str, wanted: str) -> dict:
    """The outcome of a recording of data/: init as it should end."""
    urdf = ["--urdf", str(ROOT / "urdf" / "ur5.urdf")] if name.startswith("ur5") else []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "i")
        code, text = called(
            "init", "--from", str(ROOT / "data" / name), *urdf, *UNTRIED, "--out", out
        )
    text = _without(text, f"{folder}/", f"{ROOT}/")
    if wanted == "init":
        return {"recording": name, "outcome": "wrong" if code else "usable", "why": text}
    right = code == 2 and WORDS[wanted] in text
    return {"recording": name, "outcome": "refused" if right else "wrong", "why": text}


def _without(text: str, *folders: str) -> str:
    """Results name no folder of this machine."""
    for folder in folders:
        text = text.replace(folder, "")
    return text


def called(*arguments: str) -> tuple[int, str]:
    """Exit code of a command, and its last line: of an error, that."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    lines = (err if code == 2 else out).getvalue().strip().splitlines()
    return code, lines[-1] if lines else ""
