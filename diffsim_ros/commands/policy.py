"""`diffsim policy`: learn a control policy in an environment, or evaluate one there."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from diffsim_ros.commands.arguments import add_changes, add_executors, add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, asked_executor, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml

TRAINED, EVALUATED = ("policy.npz", "result.yaml"), ("result.yaml",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim policy`."""
    command.add_argument("do", choices=("train", "evaluate"), metavar="train|evaluate")
    command.add_argument("environment", metavar="ENVIRONMENT.yaml")
    command.add_argument("policy", nargs="?", metavar="POLICY.npz", help="to evaluate")
    add_changes(command, "horizon=200")
    text = "of the training [200]"
    command.add_argument("--iterations", type=int, default=200, metavar="N", help=text)
    text = "of the evaluation [20]"
    command.add_argument("--episodes", type=int, default=20, metavar="N", help=text)
    command.add_argument("--seed", type=int, default=0, help="of starts and noise [0]")
    add_executors(command)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Train or evaluate, write the results, print a summary; 0, or 3 where it was cancelled."""
    if options.do == "evaluate":
        return _evaluate(options)
    if options.policy is not None:
        raise InputError("policy train", "POLICY", options.policy, "none: it is learned")
    for name in ("ray", "resume"):
        if getattr(options, name) is not None:
            rule = "absent: only evaluations run side by side"
            raise InputError("policy train", f"--{name}", getattr(options, name), rule)
    return _train(options)


def _train(options: argparse.Namespace) -> int:
    from diffsim_ros.learning import load_environment
    from diffsim_ros.learning.extra import require

    if options.iterations < 1:
        raise InputError("policy train", "--iterations", options.iterations, "at least 1")
    config = load_environment(options.environment, set=options.set)
    require("torch").set_num_threads(1)
    from diffsim_ros.learning.shac import ShacOptions, train

    settings = ShacOptions(iterations=options.iterations, threads=0)
    cancelled: list[bool] = []
    with results_folder(options, TRAINED) as folder, ProgressLine() as line:

        def report(iteration: int, value: float) -> None:
            line.show(f"iteration {iteration} of {options.iterations}  return {value:.6g}", "train")

        def work(token: Any) -> Any:
            def stop() -> bool:
                if token.cancelled:
                    cancelled.append(True)
                return bool(token.cancelled)

            return train(config, settings, seed=options.seed, progress=report, cancel=stop)

        result = run_cancellable(work, line=line)
        status = "cancelled" if cancelled else "trained"
        with folder.staging() as stage:
            result.policy.save(stage / "policy.npz")
            write_yaml(stage / "result.yaml", {
                "command": "policy", "environment": config.name, "digest": config.digest(),
                "seed": options.seed, "status": status, "best_return": result.best,
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
    found = {"first_return": first, "best_return": result.best, "episodes": result.episodes}
    return finish(options, folder, status, found, 3 if cancelled else 0)


def _evaluate(options: argparse.Namespace) -> int:
    from diffsim_ros.executors import SideBySide, check_address
    from diffsim_ros.learning import load_environment
    from diffsim_ros.learning.policy import Policy, evaluate

    if options.ray is not None:
        check_address(options.ray)
    if options.policy is None:
        raise InputError("policy evaluate", "POLICY", None, "a policy file, behind the environment")
    if options.episodes < 1:
        raise InputError("policy evaluate", "--episodes", options.episodes, "at least 1")
    config = load_environment(options.environment, set=options.set)
    policy = Policy.load(options.policy)
    policy.check(config, options.policy)
    with results_folder(options, EVALUATED) as folder, ProgressLine() as line:

        def work(cancel: Any) -> Any:
            with asked_executor(options) as executor:
                side = SideBySide(executor, options.resume)
                return evaluate(
                    policy, config, options.episodes, seed=options.seed, motions=False, side=side,
                    progress=line.count("blocks of episodes"), cancel=cancel,
                )  # fmt: skip

        start = time.perf_counter()
        found = run_cancellable(work, line=line)
        spent = time.perf_counter() - start
        same, count = policy.digest == config.digest(), len(found.returns)
        status = "evaluated" if count == options.episodes else "cancelled"
        with folder.staging() as stage:
            write_yaml(stage / "result.yaml", {
                "command": "policy", "environment": config.name, "digest": config.digest(),
                "seed": options.seed, "status": status, "learned_here": same,
                "returns": found.returns, "lengths": found.lengths,
                "failed_motions": found.failures,
            })  # fmt: skip
    rows = [["episodes", "mean return", "std", "least", "most", "mean length", "failed"]]
    rows.append([
        str(count),
        *(f"{of(found.returns):.4g}" for of in (np.mean, np.std, np.min, np.max)),
        f"{np.mean(found.lengths):.4g}", str(found.failures),
    ])  # fmt: skip
    print(table(rows))
    if not same:
        print("the environment is not the one that it was learned in (scene, reward or start); "
              "observations and actions are the same")  # fmt: skip
    print(f"{spent:.2f} s")
    figures = {"mean_return": float(np.mean(found.returns)), "failed_motions": found.failures}
    return finish(options, folder, status, figures, 0 if status == "evaluated" else 3)
