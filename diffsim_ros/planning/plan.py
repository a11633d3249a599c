"""Finding controls that reach the goals: several starts, soft contact first, then the real one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..errors import NotConverged
from ..executors import Executor, SideBySide, gather
from ..inverse.continuation import continuation
from ..inverse.optimizers import LMOptions, lbfgs, levenberg_marquardt
from ..inverse.output_term import outputs_of
from ..inverse.polish import polish
from ..inverse.settling_note import unsettled
from ..inverse.simulation_problem import SimulationProblem, body_slots, engine_rollouts
from ..inverse.solution import Iteration, Solution
from ..inverse.trial import Trial
from ..inverse.wide import Widened
from ..scene.build import engine_options
from ..scene.model import SceneModel
from .arm_plan import carried_out
from .config import PlanConfig
from .evaluation import evaluated
from .load import load_plan
from .refined import hardened, searched_on, with_execution
from .result import Candidate, PlanResult

STAGE_ITERATIONS = 15
"""Of a stage with compliant contact: it only prepares the next."""
APART = 0.02
"""Plans are the same if no control differs by more, in halves of its bounds' distance."""
ALONG_KINK = 0.01
"""Share of the objective that eight iterations along a kink must gain to go on."""
REST = 0.02
"""Seconds without contact after which a touch is another one."""
Report = Callable[[int, int, int, float], None]
"""Called with (start, starts, iteration, objective)."""
Watch = Callable[[Mapping[str, float]], None]
"""Called with controls by name."""
Watched = Callable[[int, int, Iteration], None]
"""Called with (start, starts, iteration)."""
Ends = Callable[[Sequence[np.ndarray]], tuple[list[Candidate], list[str]]]
"""Starts -> ends in their order, and messages of those that failed."""


def plan(
    config: PlanConfig | str | Path | Mapping,
    *,
    progress: Report | None = None,
    watch: Watch | None = None,
    cancel: Any = None,
    first: Mapping[str, float] | None = None,
    options: LMOptions | None = None,
    executor: Executor | None = None,
    folder: str | Path | None = None,
) -> PlanResult:
    """Find controls that reach the goals of a PLAN.yaml, and how its arm executes them.

    progress  called with (start, starts, iteration, objective)
    watch     called with the controls by name after every step that was accepted
    cancel    diffsim_ros.engine.CancelToken; when cancelled the best so far is returned
    first     controls to begin the first start from, e.g. those of the last plan
    options   of Gauss-Newton's last stage, in place of those of `search`
    executor  does several starts, and the samples of a robust plan, side by side
              (diffsim_ros.executors) [one start after the other, samples on the engine's threads];
              then `progress` is called with the number of starts that are done, and no objective
    folder    keeps the ends of starts and what was found of samples, which are not done again
    Raises InputError for unusable input, NotConverged if no start can be simulated.
    """
    if not isinstance(config, PlanConfig):
        config = load_plan(config)
    begun = time.perf_counter()
    settings: dict[str, Any] = {
        "progress": partial(_report, progress, watch), "cancel": cancel, "options": options
    }  # fmt: skip
    ends = None
    if executor is not None or folder is not None:
        ends = partial(_side_by_side, config, options, executor, folder, progress, cancel)
    result = _searched(config, first, **settings, ends=ends)
    if config.task is not None and result.status == "reached":

        def again(tightened: PlanConfig, controls: Mapping[str, float]) -> PlanResult:
            one = replace(tightened, search={**tightened.search, "starts": 1})
            return _searched(one, controls, **settings)

        result = with_execution(carried_out(result, again))
    over = partial(_over, **settings)
    nominal = result.best
    if config.robust is not None and result.status == "reached":
        result = hardened(result, over, cancel, SideBySide(executor, folder))
    if options is None and result.best is nominal:  # else it is one of the samples'
        result = searched_on(result, over, cancel)
    loose = None
    if config.search["check_settling"] and result.status != "cancelled":
        z, rollouts = config.map.scaled(result.best.controls), result.best.rollouts
        loose = unsettled(_problem(config), z, None, rollouts, cancel)
    return replace(result, unsettled=loose, seconds=time.perf_counter() - begun)


def _report(
    progress: Report | None, watch: Watch | None, start: int, starts: int, entry: Iteration
) -> None:
    """Pass an iteration on to whoever wants to know."""
    if progress is not None:
        progress(start, starts, entry.iteration, entry.value)
    if watch is not None and entry.accepted:
        watch(entry.parameters)


def _searched(
    config: PlanConfig, first: Mapping[str, float] | None, *, progress: Watched, cancel: Any,
    options: LMOptions | None, ends: Ends | None = None,
) -> PlanResult:  # fmt: skip
    """Every start, and its distinct ends.  ends: finds them, in place of one after the other."""
    begun, found, failed = time.perf_counter(), list[Candidate](), list[str]()
    problem = _problem(config)
    starts = _starts(config, first)
    if ends is not None:
        found, failed = ends(starts)
    for k, z in enumerate(starts if ends is None else ()):
        try:
            found.append(
                _candidate(config, problem, z, partial(progress, k, len(starts)), cancel, options)
            )
        except NotConverged as error:
            failed.append(str(error))
        if getattr(cancel, "cancelled", False):
            break
    if not found:
        raise NotConverged(f"no start can be simulated: {failed[0] if failed else 'cancelled'}")
    found.sort(key=lambda c: (not c.reached, c.objective))
    if options is None and not found[0].reached and not getattr(cancel, "cancelled", False):
        found[0] = _along_kink(config, problem, found[0], partial(progress, 0, len(starts)), cancel)
    distinct = _distinct(config, found)
    status = "reached" if distinct[0].reached else "not_reached"
    if getattr(cancel, "cancelled", False):
        status = "cancelled"
    seconds = time.perf_counter() - begun
    return PlanResult(config, distinct, status, len(starts), tuple(failed), seconds)


def _side_by_side(
    config: PlanConfig, options: LMOptions | None, executor: Executor | None,
    folder: str | Path | None, progress: Report | None, cancel: Any, starts: Sequence[np.ndarray],
) -> tuple[list[Candidate], list[str]]:  # fmt: skip
    """Ends of starts in their order, and messages of those that failed, by an executor."""

    def report(done: int, count: int) -> None:
        if progress is not None and done < count:
            progress(done, count, 0, float("nan"))

    ends = gather(
        one_start, starts, (config, options), executor=executor, folder=folder, progress=report,
        cancel=cancel,
    )  # fmt: skip
    done = [end for end in ends if end is not None]
    found = [
        Candidate(**end, motion=_motion(config, config.map.scaled(end["controls"])))
        for end in done if "failed" not in end
    ]  # fmt: skip
    return found, [end["failed"] for end in done if "failed" in end]


def one_start(shared: tuple[PlanConfig, LMOptions | None], z: np.ndarray, cancel: Any) -> dict:
    """`Candidate.plain` of the end of a start, or {"failed": message}."""
    config, options = shared
    try:
        return _candidate(config, _problem(config), z, None, cancel, options).plain()
    except NotConverged as error:
        return {"failed": str(error)}


def _over(
    config: PlanConfig, controls: Mapping[str, float], problem: SimulationProblem | Widened, *,
    progress: Watched, cancel: Any, options: LMOptions | None,
) -> PlanResult:  # fmt: skip
    """The plan moved from these controls to where the mean over a problem's trials is least."""
    on_progress = partial(progress, 0, 1)
    plain = replace(config, search={**config.search, "continuation": [], "solver": "gauss_newton"})
    z = np.clip(config.map.scaled(controls), config.map.lower, config.map.upper)
    found = _candidate(plain, problem, z, on_progress, cancel, options)
    if isinstance(problem, SimulationProblem) and not getattr(cancel, "cancelled", False):
        found = _along_kink(plain, problem, found, on_progress, cancel)
    status = "reached" if found.reached else "not_reached"
    status = "cancelled" if getattr(cancel, "cancelled", False) else status
    return PlanResult(config, (found,), status, 1, (), found.seconds)


def _problem(config: PlanConfig, trials: Sequence[Trial] = ()) -> SimulationProblem:
    """The plan as a problem of the inverse layer; over these trials, or the scene's own."""
    scene, search = config.scene, config.search
    trials = trials or [Trial(config.name, scene.steps, config.objectives)]
    return SimulationProblem(
        scene.engine, scene.options, config.map, trials, threads=search["threads"]
    )


def _starts(config: PlanConfig, first: Mapping[str, float] | None) -> list[np.ndarray]:
    """The first guess (or `first`), then points that fill the bounds evenly (Sobol)."""
    controls, search = config.map, config.search
    z0 = controls.start if first is None else controls.scaled(first)
    starts = [np.clip(z0, controls.lower, controls.upper)]
    if search["starts"] > 1:
        points = qmc.Sobol(len(z0), seed=search["seed"])
        drawn = points.random_base2(int(np.ceil(np.log2(search["starts"] - 1 or 1))))
        drawn = drawn[: search["starts"] - 1]
        starts += list(controls.lower + drawn * (controls.upper - controls.lower))
    return starts


def _candidate(
    config: PlanConfig, problem: SimulationProblem | Widened, z: np.ndarray,
    on_progress: Callable[[Iteration], None] | None, cancel: Any, given: LMOptions | None = None,
) -> Candidate:  # fmt: skip
    """One start: stages of compliant contact, then the plan's own."""
    search, begun = config.search, time.perf_counter()
    before = problem.evaluate(z, cancel=cancel)
    if not before.ok:
        raise NotConverged("; ".join(before.failures) or "cancelled")
    stages = [problem.compliant(f, search["continuation"]) for f in search["factors"]]
    stages = stages if search["continuation"] else []

    settings: dict[str, Any]
    gain = search["gain"]
    if search["solver"] == "lbfgs":
        limit = {"max_iterations": search["iterations"], "cost_tolerance": 1e-3 * gain}
        settings = {"solver": lbfgs, **limit, "early": {"max_iterations": STAGE_ITERATIONS}}
    else:
        limits = (search["iterations"], STAGE_ITERATIONS)
        options, early = (
            LMOptions(max_iterations=n, gradient_tolerance=1e-14, cost_tolerance=gain,
                      kink_tolerance=max(gain, 1e-5), negligible=search["enough"])
            for n in limits
        )  # fmt: skip
        settings = {
            "solver": levenberg_marquardt, "options": given or options,
            "early": {"options": early},
        }  # fmt: skip
    solutions = continuation(
        [*stages, problem], z=z, callback=on_progress, cancel=cancel, **settings
    )
    end = solutions[-1]
    rollouts = 1 + sum(s.evaluations for s in solutions)
    return _evaluated(config, problem, (z, before.value), end, rollouts, begun)


def _along_kink(
    config: PlanConfig, problem: SimulationProblem, best: Candidate,
    on_progress: Callable[[Iteration], None], cancel: Any,
) -> Candidate:  # fmt: skip
    """The candidate, or where a search along the kink at which it stopped leads from there."""
    search, begun = config.search, time.perf_counter() - best.seconds
    if best.status not in ("kink", "stalled") or search["solver"] != "gauss_newton":
        return best

    stopped = Solution(
        config.map.scaled(best.controls), np.zeros(problem.nuisance_shape), best.objective,
        best.controls, best.status, best.message, 0, 0, at_bound=best.at_bound,
    )  # fmt: skip
    end = polish(
        problem, stopped, max_iterations=search["iterations"], want="gradient",
        tolerance=ALONG_KINK * best.objective, callback=on_progress, cancel=cancel,
    )  # fmt: skip
    if not end.value < best.objective:
        return best
    first = config.map.scaled(best.first), best.objective_first
    rollouts = best.rollouts + end.evaluations
    found = _evaluated(config, problem, first, end, rollouts, begun)
    return replace(found, history=(*best.history, *found.history))


def _evaluated(
    config: PlanConfig, problem: SimulationProblem | Widened, first: tuple[np.ndarray, float],
    end: Solution, rollouts: int, begun: float,
) -> Candidate:  # fmt: skip
    """The motion at the end of a start, its distances and contacts."""
    scene, run = config.scene, _motion(config, end.z)
    slots, values = body_slots(scene.engine), config.map.named(end.z)
    distances, reached = evaluated(config, run, slots, values)
    touches = touched(scene, run)
    shortest = min((steps for _, _, steps in touches), default=None)
    start = dict(zip(config.map.names, config.map.values(first[0]).tolist(), strict=True))
    return Candidate(
        end.parameters, start, end.value, first[1], distances,
        reached, tuple(name for _, name, _ in touches), rollouts + 1, time.perf_counter() - begun,
        end.status, end.message, end.at_bound, tuple(p.value for p in end.history), shortest,
        run,
    )  # fmt: skip


def _motion(config: PlanConfig, z: np.ndarray) -> Any:
    """_engine.Rollout of controls, with contact modes and the outputs that goals look at."""
    scene = config.scene
    options = engine_options(scene.description["world"], record_modes=True)
    P = config.map.engine(z, scene.engine.values)[None]
    run = engine_rollouts(
        scene.engine, P, np.array([scene.steps]), options, None, "none", 1, None,
        outputs=outputs_of(config.goals),
    )  # fmt: skip
    if not run[0].ok:
        raise NotConverged(run[0].message)
    return run[0]


def touched(scene: SceneModel, run: Any) -> list[tuple[int, str, int]]:
    """(first step, contact, steps) of every touch of a motion with recorded modes, in order."""
    codes, found = np.asarray(run.modes) & 3, []
    rest = max(1, round(REST / scene.options.step))
    for name in scene.engine.contact_names:
        first, count = scene.engine.modes_of(name)
        steps = np.flatnonzero(codes[:, first : first + count].any(axis=1))
        parts = np.split(steps, np.flatnonzero(np.diff(steps) > rest) + 1) if len(steps) else []
        found += [(int(part[0]), name, int(part[-1] - part[0] + 1)) for part in parts]
    return sorted(found)


def _distinct(config: PlanConfig, candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """The best of each pattern of touches and place of the controls."""
    kept: list[Candidate] = []
    points = [config.map.scaled(c.controls) for c in candidates]
    places: list[np.ndarray] = []
    for candidate, z in zip(candidates, points, strict=True):
        same = any(
            other.pattern == candidate.pattern and np.abs(z - place).max() < APART
            for other, place in zip(kept, places, strict=True)
        )
        if not same:
            kept.append(candidate)
            places.append(z)
    return tuple(kept)
