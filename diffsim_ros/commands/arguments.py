"""Arguments that several commands share, with one name and one meaning."""

from __future__ import annotations

import argparse


def add_results(
    command: argparse.ArgumentParser, *, report: str = "report.html and pictures"
) -> None:
    """--out, --force and --json of a command that leaves results; --no-report where it draws.

    report  what --no-report leaves out; "": the command draws nothing
    """
    command.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    text = "replace the results of an earlier run of the same command in --out"
    command.add_argument("--force", action="store_true", help=text)
    if report:
        text = f"leave out {report}: sooner done"
        command.add_argument("--no-report", action="store_true", help=text)
    text = "print one JSON object (status, folder, figures); what is printed else goes to stderr"
    command.add_argument("--json", action="store_true", help=text)


def add_changes(command: argparse.ArgumentParser, example: str) -> None:
    """--set KEY=VALUE of a command that reads a YAML."""
    command.add_argument(
        "--set", nargs="+", action="extend", metavar="KEY=VALUE", default=[],
        help=f"replace values of the YAML, e.g. {example}",
    )  # fmt: skip


def add_estimated(command: argparse.ArgumentParser) -> None:
    """--estimated RESULT.yaml of a command with a scene."""
    text = "result.yaml of `diffsim estimate` whose values the scene takes"
    command.add_argument("--estimated", metavar="RESULT.yaml", help=text)


def add_scene(command: argparse.ArgumentParser) -> None:
    """SCENE.yaml, --estimated and --set."""
    command.add_argument("scene", metavar="SCENE.yaml")
    add_estimated(command)
    add_changes(command, "world.step=1/500")


def add_recordings(command: argparse.ArgumentParser) -> None:
    """--train and --validate of an estimation, and --set."""
    for option, text in (
        ("--train", "train on all trials of these files, instead of the YAML's"),
        ("--validate", "validate on all trials of these files, instead of the YAML's"),
    ):
        command.add_argument(option, nargs="+", action="extend", metavar="FILE", help=text)
    add_changes(command, "fit.iterations=5")


def add_executors(command: argparse.ArgumentParser) -> None:
    """--ray and --resume of a command with many parts of work."""
    text = "Ray cluster that does the work: local, HOST:PORT or ray://HOST:PORT [this process]"
    command.add_argument("--ray", metavar="ADDRESS", help=text)
    text = "keep finished parts of the work here, and go on from those that are there"
    command.add_argument("--resume", metavar="DIR", help=text)
