"""Derivatives after contact, over all phases of a step in which contact may begin.

Where within a step contact begins is chance. Each scene starts 32 times, so much higher each time
that touchdown moves through one step. D, the derivative of a body's mean position at the end by its
start velocity (3, 3), or the gradient of a plan, is compared with the converged one: by the same
engine at a step 8 or 16 times as small, which SciPy's DOP853 confirms for a ball and a box.

rms        |D - converged|_F over |converged|_F, root mean square over phases
of_itself  the same between neighbouring phases of the converged D: where it is large, no derivative
           predicts anything over these starts, whatever the scheme
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.planning.plan import _problem
from diffsim_ros.scene import load_scene
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT, judged, share
from .gradients import node_dofs
from .physics_orders import errors, thrown_ball, thrown_box
from .physics_reference import reference_with_gradient
from .planned import altered
from .touchdown_mujoco import fall, model_of, scatter

PHASES = 32
BAR = 0.10
COST_BAR = 1.2
ONSETS = ("integrated", "sampled")
SCENES = ROOT / "config" / "scenes"


@dataclass(frozen=True)
class Drop:
    """A scene whose body starts ever higher.

    scene    file of config/scenes, or the mapping itself
    speed    of the first touch [m/s]: a step's phase is speed * step high
    start    velocity and angular velocity in place of the scene's
    above    added to its height [m]
    finer    the converged derivative's step is the scene's over this
    chaotic  neighbouring starts end so differently that no bar is asked
    coarse   step [s] in place of the scene's, which resolves what this one should not
    mujoco   the shape in MuJoCo's words, where its differences are beside ours
    """

    scene: str | Mapping
    body: str
    speed: float
    start: Mapping[str, list[float]]
    duration: float
    finer: int = 16
    above: float = 0.0
    law: Mapping[str, Any] | None = None
    chaotic: bool = False
    coarse: str | None = None
    mujoco: str = ""

    def mapping(self) -> dict:
        """The scene as YAML gives it, with its start and duration."""
        raw = self.scene
        made = read_yaml(SCENES / f"{raw}.yaml") if isinstance(raw, str) else copy.deepcopy(raw)
        made["world"]["duration"] = self.duration
        made["world"]["step"] = self.coarse or made["world"]["step"]
        made["bodies"][self.body].update(self.start)
        made.pop("parameters", None)
        for contact in made["contact"]:
            contact.update(self.law or {})
        return made

    def step(self) -> float:
        """The scene's own step [s]."""
        return float(Fraction(str(self.mapping()["world"]["step"])))

    def derivative(self, onset: str, step: float, phase: float) -> tuple[np.ndarray, int]:
        """D (3, 3) and the Newton iterations of the motion."""
        raw = self.mapping()
        kept = [c.k_t for c in load_scene(raw, base=SCENES).parts.contacts]  # of the scene's step
        for contact, k_t in zip(raw["contact"], kept, strict=True):
            contact.update(onset=onset, k_t=k_t)
        steps = round(self.duration / step)
        raw["world"].update(step=self.duration / steps, duration=self.duration, record_every=steps)
        pose = raw["bodies"][self.body].setdefault("pose", {})
        place = [float(Fraction(str(x))) for x in pose.get("position", [0, 0, 0])]
        pose["position"] = [*place[:2], place[2] + self.above + phase * self.speed * self.step()]
        model = load_scene(raw, base=SCENES)
        engine = model.engine
        names = [info.name for info in engine.parameters]
        active = [names.index(f"{self.body}.velocity.{axis}") for axis in "xyz"]
        run = _engine.rollout(engine, engine.values, model.steps, model.options, active=active,
                              mode="sensitivity")  # fmt: skip
        assert run.ok, run.message
        first, count = engine.nodes_of(self.body)
        rows = node_dofs(engine)[0][first : first + count]
        mean = [run.dx[-1][rows + axis].mean(axis=0) for axis in range(3)]
        return np.stack(mean), int(sum(run.iterations))

    def beside_mujoco(self, phases: np.ndarray) -> dict:
        """`scatter` of MuJoCo's differences at the scene's step."""
        model = load_scene(self.mapping(), base=SCENES)
        names = [info.name for info in model.engine.parameters]
        values = dict(zip(names, model.engine.values.tolist(), strict=True))
        law = model.parts.contacts[0].name
        velocity = np.array([values[f"{self.body}.velocity.{axis}"] for axis in "xyz"])
        made = model_of(values, self.body, law, self.mujoco, self.speed)
        end = fall(made, values, self.body, self.duration)
        ups = self.above + phases * self.speed * self.step()
        return scatter(end, velocity, self.step(), ups)


@dataclass(frozen=True)
class Planned:
    """A plan of config/planning near its first guess: the gradient of its objective.

    shift  what the controls change by over all phases, times their span
    apart  how far from its first guess, likewise
    """

    name: str
    shift: float
    apart: float = 0.05
    finer: int = 8
    chaotic: bool = False

    def step(self) -> float:
        """The scene's own step [s]."""
        return altered(self.name, lambda raw: None).scene.options.step

    def derivative(self, onset: str, step: float, phase: float) -> tuple[np.ndarray, int]:
        """The gradient (n,), and 0 for iterations that nobody counts."""
        share = round(self.step() / step)

        def change(raw: dict) -> None:
            made = raw["scene"]
            kept = [c.k_t for c in load_scene(made, base=ROOT / "config/planning/x").parts.contacts]
            made["world"]["record_every"] = share * made["world"].get("record_every", 1)
            made["world"]["step"] = step
            for contact, k_t in zip(made["contact"], kept, strict=True):
                contact.update(onset=onset, k_t=k_t)

        config = altered(self.name, change)
        controls, rng = config.map, np.random.default_rng(0)
        width = controls.upper - controls.lower
        span = np.where(np.isfinite(width), width, 1.0)
        z = controls.start + self.apart * span * rng.normal(size=len(span))
        z = z + phase * self.shift * span * rng.normal(size=len(span))
        found = _problem(config).evaluate(z, want="gradient")
        assert found.ok, found.messages
        return np.asarray(found.gradient[0])[None], 0


Subject = Drop | Planned


def ball(**contact: Any) -> dict:
    """A ball of 0.1 kg on a plane."""
    return {
        "name": "ball", "world": {"step": "1/2000"},
        "bodies": {"ball": {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.1,
                            "pose": {"position": [0, 0, 0.3]}, "contact_spheres": {"sphere": {}}}},
        "contact": [{"points": "ball", "against": {"plane": {}}, "k_n": 5000, "k_t": 10,
                     **contact}],
    }  # fmt: skip


STACK = {
    "name": "a box falls onto a box", "world": {"step": "1/2000"},
    "bodies": {
        "low": {"shape": {"box": {"size": [0.3, 0.3, 0.1]}}, "mass": 2.0,
                "pose": {"position": [0, 0, 0.0497]}},
        "top": {"shape": {"box": {"size": [0.1, 0.1, 0.06]}}, "mass": 0.3,
                "pose": {"position": [0.01, 0, 0.16], "rotation": [0.1, 0.25, 0]}},
    },
    "contact": [
        {"points": "low", "against": {"plane": {}}, "k_n": 60000, "c_n": 0.5, "c_f": 0.5},
        {"points": "top", "against": {"plane": {"offset": 0.05}}, "carrier": "low", "k_n": 5000,
         "c_n": 0.8, "c_f": 0.4, "k_t": 20},
    ],
}  # fmt: skip
SOFT_CUBE = {
    "name": "soft cube", "world": {"step": "1/480"},
    "bodies": {"cube": {"type": "solid", "shape": {"box": {"size": [0.1] * 3, "cells": [4] * 3}},
                        "density": 300, "young": 5e4, "poisson": 0.4, "viscosity": 20,
                        "pose": {"position": [0, 0, 0.2], "rotation": [0.4, 0.3, 0.1]}}},
    "contact": [{"points": "cube", "against": {"plane": {}}, "k_n": 5e4, "k_t": 100, "c_n": 0.1,
                 "c_f": 0.4}],
}  # fmt: skip
SHEET = {
    "name": "a stiff sheet falls on its edge", "world": {"step": "1/480"},
    "bodies": {"sheet": {"type": "cloth",
                         "shape": {"rectangle": {"size": [0.2, 0.2], "cells": [8, 8]}},
                         "mass_per_area": 0.5, "stretch": {"stiffness": 500, "damping": 0.5},
                         "shear": {"stiffness": 300, "damping": 0.5},
                         "bend": {"stiffness": 200, "damping": 0.5},
                         "pose": {"position": [0, 0, 0.1], "rotation": [0.2, 0.1, 0]},
                         "contact_spheres": {"surface": {"radius": 0.004}}}},
    "contact": [{"points": "sheet", "against": {"plane": {}}, "k_n": 2000, "k_t": 5, "c_n": 0.2,
                 "c_f": 0.3}],
}  # fmt: skip
THROWN = {"velocity": [1.5, 0.3, 1.0]}
TOSSED = {"velocity": [0.5, 0.2, -1.0], "angular_velocity": [3, 1, 2]}
SPHERE = 'type="sphere" size="0.05"'
SIDE = {"velocity": [0.5, 0.1, 0.0]}
SUBJECTS: dict[str, Subject] = {
    "foam_throw": Drop("foam_throw", "ball", 3.4, THROWN, 0.75, mujoco=SPHERE),
    "tennis": Drop("tennis", "ball", 3.3, {"velocity": [-1.5, 0.3, 1.0]}, 0.8),
    "ball_three_bounces": Drop(ball(c_n=0.1, c_f=0.3), "ball", 2.2, SIDE, 1.2, mujoco=SPHERE),
    "ball_tanh": Drop(ball(c_n=0.1, c_f=0.3, friction="tanh"), "ball", 2.2, SIDE, 1.2),
    "ball_hybrid": Drop(ball(c_n=0.1, c_f=0.3, friction="hybrid"), "ball", 2.2, SIDE, 1.2),
    "bouncing_cube": Drop(
        "bouncing_cube", "cube", 2.4, {}, 1.0, mujoco='type="box" size="0.05 0.05 0.05"'
    ),
    "cube_toss": Drop(
        "cube_toss", "cube", 2.2, {}, 0.6, mujoco='type="box" size="0.0524 0.0524 0.0524"'
    ),
    "incline": Drop("incline", "block", 0.5, {}, 0.8, above=0.02),
    "stack": Drop(STACK, "top", 0.8, {"velocity": [0.1, 0.05, 0.0]}, 0.3),
    "soft_ball": Drop("soft_ball", "ball", 2.4, {}, 0.6, finer=8),
    "soft_cube": Drop(SOFT_CUBE, "cube", 1.6, TOSSED, 0.6, finer=8),
    "sheet": Drop(SHEET, "sheet", 1.2, {"velocity": [0.2, 0.1, -0.5]}, 0.2, finer=8),
    "throw_one_bounce": Planned("throw_one_bounce", 2e-4),
    "ur5_throw": Planned("ur5_throw", 2e-4),
    "drag_cube": Planned("drag_cube", 1e-3),
    "catapult": Planned("catapult", 1e-3, apart=2e-3, chaotic=True),
    "cloth_on_sphere": Drop(
        "cloth_on_sphere", "sheet", 1.0, {}, 0.6, finer=8, chaotic=True, coarse="1/240"
    ),
    "cube_toss_1s": Drop("cube_toss", "cube", 2.2, {}, 1.0, chaotic=True),
    "spring_chain": Drop("spring_chain", "tip", 2.0, {}, 2.0, chaotic=True, coarse="1/500"),
}
QUICK = ("foam_throw", "bouncing_cube", "incline", "ball_three_bounces")


def settled(subject: Subject, phases: int) -> dict:
    """rms of both onsets against the converged derivative, and what they cost."""
    step, at = subject.step(), np.arange(phases) / phases
    fine = np.array([subject.derivative("integrated", step / subject.finer, x)[0] for x in at])
    size = np.sqrt(np.mean(np.sum(fine**2, axis=(1, 2))))
    found: dict[str, Any] = {}
    for onset in ONSETS:
        begun = time.process_time()
        runs = [subject.derivative(onset, step, x) for x in at]
        error = np.array([d for d, _ in runs]) - fine
        found[onset] = {
            "rms": float(np.sqrt(np.mean(np.sum(error**2, axis=(1, 2)))) / size),
            "iterations": int(sum(n for _, n in runs)),
            "cpu_seconds": round(time.process_time() - begun, 3),
        }
    own = np.sqrt(np.mean(np.sum(np.diff(fine, axis=0) ** 2, axis=(1, 2)))) / size
    figures = {**found, "size": float(size), "of_itself": float(own)}
    if isinstance(subject, Drop) and subject.mujoco:
        figures["mujoco_differences"] = subject.beside_mujoco(at)
    return figures


def orders(make: Callable, count: int, seed: int = 0) -> dict:
    """Orders of motion and derivative by BDF2 against DOP853 through bounces; the finest error."""
    found: dict[str, list[float]] = {"motion": [], "gradient": [], "finest_gradient_error": []}
    for i in range(count):
        rng = np.random.default_rng([seed, 200 + i])
        motion = make(rng)
        directions = rng.normal(size=(len(motion.active), 2))
        exact = reference_with_gradient(motion, directions)
        h, state, slope = errors(motion, 2, exact, directions, halvings=5)
        for name, error in (("motion", state), ("gradient", slope)):
            found[name].append(float(np.polyfit(np.log(h), np.log(error), 1)[0]))
        found["finest_gradient_error"].append(float(slope[-1]))
    return {
        "motion_median": float(np.median(found["motion"])),
        "gradient_median": float(np.median(found["gradient"])),
        "finest_gradient_error_max": max(found["finest_gradient_error"]),
    }


def study(fraction: float = 1.0) -> dict:
    """All scenes; in a tenth of the study four of them, at few phases."""
    phases = share(PHASES, fraction)
    names = tuple(SUBJECTS) if fraction >= 1 else QUICK
    scenes = {name: settled(SUBJECTS[name], phases) for name in names}
    bounces = {
        "ball_one_bounce": orders(lambda rng: thrown_ball(rng, 1), share(10, fraction)),
        "ball_three_bounces": orders(lambda rng: thrown_ball(rng, 3), share(10, fraction)),
        "box_one_corner": orders(thrown_box, share(10, fraction)),
    }
    missed = [
        f"{name}: {one['integrated']['rms']:.3f} of the converged derivative, at most {BAR}"
        for name, one in scenes.items()
        if one["integrated"]["rms"] > BAR and not SUBJECTS[name].chaotic
    ]
    missed += [
        f"{name}: derivative of order {one['gradient_median']:.2f}, at least 1.5"
        for name, one in bounces.items()
        if one["gradient_median"] < 1.5
    ]
    cost = [sum(one[k]["cpu_seconds"] for one in scenes.values()) for k in ONSETS]
    if fraction >= 1 and cost[0] > COST_BAR * cost[1]:
        missed.append(f"{cost[0] / cost[1]:.2f} of the sampled onset's cost, at most {COST_BAR}")
    figures = {
        "phases": phases, "scenes": scenes, "orders": bounces,
        "chaotic": [name for name in scenes if SUBJECTS[name].chaotic],
        "cost_over_sampled": round(cost[0] / cost[1], 3),
    }  # fmt: skip
    return judged(figures, missed)
