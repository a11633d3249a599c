"""`python -m validation.benchmarks`: docs/benchmarks.md from docs/results/*.json.

Every measured figure that is quoted outside a study's own page is quoted from that page.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from . import benchmarks_rows as rows
from .benchmarks_rows import Noted, Row
from .common import RESULTS, ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

<!-- Written by `python -m validation.benchmarks` (`./run docs`) from docs/results/. -->

Each figure was measured by the study or benchmark of its row, on the commit and CPU named there (a + means that files differed from the commit). `./run validate NAME` and
`./run bench NAME` repeat them. Times were taken on shared machines of 2 cores unless a page says otherwise, so they are upper bounds; ratios to a peer are of one run.
[G] and [Qa] are works whose examples were repeated; [design](design.md#sources) has their titles.
What the figures mean and where a study missed its own bar is on the pages that the rows link to.
"""  # noqa: E501
STUDIES = "explanation/estimation_studies.md"
PLANS = "explanation/planning_studies.md"
SECTIONS: dict[str, list[Row | Noted]] = {
    "Motion and derivatives": [
        Row("gradients against central differences, random rigid scenes in contact",
            "gradients", rows.gradients, "explanation/engine.md#4-derivatives-of-a-motion"),
        Row("the same, scenes of soft and rigid bodies, cloth, strings, joints, motors, moving "
            "obstacles", "gradients_mixed", rows.gradients),
        Row("the same, trees of joints in reduced coordinates",
            "reduced", rows.gradients, "explanation/reduced_coordinates.md"),
        Row("hard contact: directions of 100 random scenes of thrown and jointed boxes",
            "hard_contact", rows.hard_contact, "explanation/velocity_stepper.md"),
        Row("derivatives after a touchdown, over all phases of a step: rms error",
            "touchdown", rows.touchdown, "explanation/engine.md#5-contact"),
        Row("contact by defaults: a box, ten boxes, 100 and 1000 kg on 1 kg, a bowl at rest; a box "
            "on a ramp; steps of 1/240 to 1/960 s", "defaults", rows.contact_defaults,
            "reference/scene.md#what-the-defaults-mean"),
        Row("published URDFs and MJCFs of PyPI's packages: taken, beside Pinocchio and MuJoCo, "
            "simulated, derived", "zoo", rows.zoo, "how-to/robots.md"),
        Row("published robots and hands with their files' contact, one second, beside MuJoCo",
            "whole_models", rows.whole_models, "how-to/robots.md#contact-from-the-file"),
        Row("convergence on smooth motion, BDF1 / BDF2, also of the gradient",
            "physics", rows.orders, "explanation/engine.md#2-one-step"),
        Row("random drops: steps that converge within 50 iterations", "robustness",
            lambda d: f"{rows.percent(d['converged_share'], 2)} of {d['steps']} in {d['drops']} "
            "drops",
            "explanation/engine.md#3-newton-and-statuses"),
        Row("recursive dynamics of 5 robots and 200 random trees, beside Pinocchio",
            "dynamics", rows.dynamics, "explanation/articulated.md"),
    ],
    "Speed": [
        Noted("soft ball of 540, 2500, 10 240 tets: step with exact gradient, beside MuJoCo's "
              "step alone in the same run", "0.36, 0.30, 0.32 of it", "./run bench ball",
              "2026-11-21", "explanation/engine.md#speed"),
        Noted("the same ball, forward, beside Drake's linear deformables",
              "13, 26, 91 times faster", "./run bench ball", "2026-11-21",
              "explanation/engine.md#speed"),
        Noted("a UR5, and Solo12 landing on its feet, in reduced coordinates: implicit step and "
              "exact gradient, beside MuJoCo's step and `mjd_transitionFD`",
              "0.6 to 0.8 and 0.2 of it, three runs; the step alone 3.5 to 5 and 4 to 6 times "
              "MuJoCo's explicit one", "./run bench articulated", "2026-11-25",
              "explanation/reduced_coordinates.md"),
        Noted("forward dynamics of a UR5, and its derivatives, beside Pinocchio's (wheel)",
              "0.53 and 0.28 of its time", "./run bench dynamics", "2026-11-25",
              "explanation/articulated.md"),
        Noted("exact gradient of a 20-body chain by 120 start velocities, beside MuJoCo's "
              "central differences", "88 times cheaper", "./run bench chain", "2026-11-21",
              "explanation/engine.md#speed"),
    ],
    "Real2sim": [
        Row("cube tosses not trained on (300): position, rotation, e_q; ours, and MuJoCo, Drake, "
            "Bullet with published parameters", "cube_toss", rows.cube,
            f"{STUDIES}#which-physics-matters-cube_toss"),
        Row("all 400 in two halves, each fold of 100 predicted by a fit to another; the three "
            "simulators refitted to the same tosses", "cube_peers", rows.cube_peers, STUDIES),
        Row("held-out recordings beside rigid impacts or the like", "real_tosses",
            rows.real_tosses, f"{STUDIES}#four-real-objects"),
        Row("estimates from disjoint sets of real recordings: rms difference in standard "
            "deviations (1 if these are right)", "halves", rows.halves,
            f"{STUDIES}#estimates-from-disjoint-sets-of-real-recordings"),
        Row("a measured silicone beam, each load predicted from the other alone",
            "silicone_beam", rows.silicone_beam, f"{STUDIES}#the-silicone-beam"),
        Row("landings of a real compliant biped, predicted after a fit to others",
            "cassie_landing", rows.cassie,
            f"{STUDIES}#a-biped-that-lands-run-validate-cassie_landing"),
        Row("a real arm's motor currents and motions, held out", "arm_body", rows.arm_body,
            "how-to/joints.md"),
        Row("a foam ball before a depth camera, rendered from a model with half the mesh size: "
            "pairs of parameter and recording", "foam_ball", rows.foam_ball,
            f"{STUDIES}#a-foam-ball-run-validate-foam_ball"),
        Row("soft balls and boxes before a depth camera whose truth has another mesh or element: "
            "parameters within 2.5 σ", "mesh_numbers", rows.mesh_numbers,
            f"{STUDIES}#numbers-of-a-mesh-run-validate-mesh_numbers"),
        Row("a UR5's joint log made in MuJoCo, 44 parameters, held-out positions (noise 0.300 "
            "mrad): ours at 2 ms, MuJoCo's own sysid at 2 and at 0.5 ms", "sysid", rows.sysid,
            f"{STUDIES}#beside-mujocos-sysid"),
        Row("a verdict on every fit: tosses by ten kinds of wrong model, 20 recordings each, and "
            "100 by the right one", "verdicts", rows.verdicts, "how-to/real2sim.md"),
        Row("a wrong law of viscosity, held out", "model_comparison", rows.model_comparison,
            "how-to/real2sim.md"),
        Row("first recordings that the tools have not seen", "first_data", rows.first_data,
            f"{STUDIES}#first-recordings-run-validate-first_data"),
    ],
    "Planning and execution": [
        Row("`./run demo --truth random`: the same throw of a twin's UR5 with handbook values, "
            "and with those estimated (tolerance 3 cm)", "demo", rows.demo, "tutorials/demo.md"),
        Row("plans of a UR5 (throws by bounces, back-spin, wall, a soft body to a pose; drags, "
            "tip, turn, cloth, catapult) executed over ROS in their twins",
            "executed_plans", rows.executed_plans, f"{PLANS}#plans-executed"),
        Row("the same with friction ±20 %, ±1 cm, 4 ms of release jitter: attempts within "
            "tolerance, → with the robust plan", "executed_plans", rows.uncertain_plans,
            f"{PLANS}#plans-executed"),
        Row("a changed target planned again over ROS", "executed_plans", rows.replanning,
            f"{PLANS}#plans-executed"),
        Row("throws planned to a point: direct, one bounce, two", "throwing", rows.throwing,
            "how-to/planning.md"),
        Row("inverse kinematics of 1000 random tool paths: UR5, Stanford arm, seven axes",
            "inverse_kinematics", rows.inverse_kinematics, "how-to/robots.md"),
        Row("trajectories corrupted at random: refused by the controller's own rules, and by the "
            "driver", "driver", rows.driver, "explanation/safety.md"),
        Row("faults at random instants while an arm moves", "faults", rows.faults,
            "explanation/safety.md"),
    ],
    "Legged robots and learning": [
        Row("motions of walking, driving, swizzling and skating robots like [G Table 2.1], from "
            "standing", "locomotion", rows.locomotion, "explanation/locomotion.md#measured"),
        Row("planned motions in MuJoCo", "locomotion_mujoco", rows.in_mujoco,
            f"{PLANS}#plans-of-legged-robots-in-mujoco"),
        Row("a gait of a quadruped with soft feet, refined through the full dynamics",
            "compliant", rows.compliant, "how-to/compliant_robots.md"),
        Row("pendulums of one to seven links on geared motors rise and stay: mean best height "
            "over five seeds, of at most n²/2", "learning_pendulum", rows.pendulums,
            "explanation/learning.md#pendulums-of-one-to-seven-links-qa-table-4"),
        Row("Gymnasium's Ant, learned here in two minutes of CPU, then in MuJoCo as it is, 20 "
            "episodes of each of three seeds", "learning_ant", rows.ant, "how-to/learning.md"),
        Row("a network learns to throw a ball into a cup after one bounce, 100 test cups",
            "learning", rows.cups,
            "explanation/learning.md#a-ball-into-a-cup-after-one-bounce-g-475"),
    ],
    "Untrusted files": [
        Row("hostile files of every format", "security",
            lambda d: f"{d['refused']} of {d['cases']} refused, {d['read_at_no_cost']} read at no "
            f"cost, each within {d['worst_cpu_s']:.1f} CPU s and {d['worst_memory_mb']:.0f} MB",
            "explanation/security.md"),
    ],
}  # fmt: skip


def recorded(study: str) -> dict:
    """The figures of a study with its commit, date and CPU."""
    return json.loads((RESULTS / f"{study}.json").read_text())


def line(row: Row | Noted) -> str:
    """A row of the table."""
    what = f"[{row.what}]({row.page})" if row.page else row.what
    if isinstance(row, Noted):
        return f"| {what} | {row.figures} | `{row.command}`, {row.date}, noted by hand |"
    d = recorded(row.study)
    run = f"[{row.study}](results/{row.study}.json), {d['date']}, {d['commit']}, {d['cpu']}"
    return f"| {what} | {row.figures(d)} | {run} |"


def every_study() -> Iterator[str]:
    """A row for each file of docs/results/: what the study does, when it ran, what it missed."""
    for path in sorted(RESULTS.glob("*.json")):
        d = json.loads(path.read_text())
        source = (ROOT / "validation" / path.name).with_suffix(".py")
        about = (ast.get_docstring(ast.parse(source.read_text())) or "").split("\n\n")[0]
        missed = len(d.get("missed", ()))
        minutes = d["seconds"] / 60
        yield (
            f"| [{path.stem}](results/{path.name}) | {about} | {d['date']}, {d['commit']} | "
            f"{minutes:.0f} min | {missed or ''} |".replace("\n", " ")
        )


def markdown() -> str:
    """The page."""
    parts = [HEAD]
    for title, listed in SECTIONS.items():
        table = "\n".join(line(row) for row in listed)
        parts.append(f"## {title}\n\n| what | figure | run |\n|---|---|---|\n{table}\n")
        if title == "Real2sim":
            parts.append(
                "![Prediction errors with 95 % intervals](images/errors.png)\n\n"
                f"{rows.significance(recorded('cube_toss'), recorded('cube_peers'))}\n"
            )
    parts.append(
        "## Every study\n\n`./run validate NAME` runs one whole; a tenth of each is in the tests. "
        "The last column counts the bars of its own that a study missed.\n\n"
        "| study | what | run | took | missed |\n|---|---|---|---|---|\n"
        + "\n".join(every_study())
        + "\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(markdown())
