"""`diffsim policy`: learn a control policy in an environment, or evaluate one there."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_yaml

TRAINED, EVALUATED = ("policy.npz", "result.yaml"), ("result.yaml",)


def run(options: argparse.Namespace) -> int:
    """Train or evaluate, write the results, print a summary; 0, or 3 where it was cancelled."""
    if options.do == "evaluate":
        return _evaluate(options)
    if options.policy is not None:
        raise InputError("policy train", "POLICY", options.policy, "none: it is learned")
    return _train(options)


def _train(options: argparse.Namespace) -> int:
    from diffsim_ros.learning import load_environment
    from diffsim_ros.learning.extra import require

    if options.iterations < 1:
        raise InputError("policy train", "--iterations", options.iterations, "at least 1")
    config = load_environment(options.environment)
    require("torch").set_num_threads(1)
    from diffsim_ros.learning.shac import ShacOptions, train

    settings = ShacOptions(iterations=options.iterations, threads=0)
    cancelled: list[bool] = []
    with OutputFolder(options.out, TRAINED, command="policy") as folder, ProgressLine() as line:

        def report(iteration: int, value: float) -> None:
            line.show(f"iteration {iteration} of {options.iterations}  return {value:.6g}", "train")

        def work(token: Any) -> Any:
            def stop() -> bool:
                if token.cancelled:
                    cancelled.append(True)
                return bool(token.cancelled)

            return train(config, settings, seed=options.seed, progress=report, cancel=stop)

        result = run_cancellable(work, line=line)
        with folder.staging() as stage:
            result.policy.save(stage / "policy.npz")
            write_yaml(stage / "result.yaml", {
                "environment": config.name, "digest": config.digest(), "seed": options.seed,
                "status": "cancelled" if cancelled else "trained", "best_return": result.best,
                "actions": result.actions, "episodes": result.episodes,
                "cpu_seconds": result.cpu_seconds, "failed_motions": result.failures,
                "updates_without_a_finite_gradient": result.skipped,
                "history": [
                    {"actions": taken, "cpu_seconds": spent, "return": value}
                    for taken, spent, value in result.history
                ],
            })  # fmt: skip
    first = result.history[0][2]
    print(f"return {first:.4g} at first, {result.best:.4g} at best; {result.episodes} episodes, "
          f"{result.cpu_seconds:.1f} s of CPU")  # fmt: skip
    print(f"results in {folder.path}")
    return 3 if cancelled else 0


def _evaluate(options: argparse.Namespace) -> int:
    from diffsim_ros.learning import load_environment
    from diffsim_ros.learning.policy import Policy, evaluate

    if options.policy is None:
        raise InputError("policy evaluate", "POLICY", None, "a policy file, behind the environment")
    if options.episodes < 1:
        raise InputError("policy evaluate", "--episodes", options.episodes, "at least 1")
    config, policy = load_environment(options.environment), Policy.load(options.policy)
    policy.check(config, options.policy)
    with OutputFolder(options.out, EVALUATED, command="policy") as folder:
        start = time.perf_counter()
        found = evaluate(policy, config, options.episodes, seed=options.seed)
        spent = time.perf_counter() - start
        same = policy.digest == config.digest()
        with folder.staging() as stage:
            write_yaml(stage / "result.yaml", {
                "environment": config.name, "digest": config.digest(), "seed": options.seed,
                "learned_here": same, "returns": found.returns, "lengths": found.lengths,
                "failed_motions": found.failures,
            })  # fmt: skip
    rows = [["episodes", "mean return", "std", "least", "most", "mean length", "failed"]]
    rows.append([
        str(options.episodes),
        *(f"{figure(found.returns):.4g}" for figure in (np.mean, np.std, np.min, np.max)),
        f"{np.mean(found.lengths):.4g}", str(found.failures),
    ])  # fmt: skip
    print(table(rows))
    if not same:
        print("the environment is not the one that it was learned in (scene, reward or start); "
              "observations and actions are the same")  # fmt: skip
    print(f"{spent:.2f} s; results in {folder.path}")
    return 0
