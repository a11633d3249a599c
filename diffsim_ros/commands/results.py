"""Where a command's results go, and what is said of them at the end."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from diffsim_ros.output import OutputFolder, plain


def results_folder(options: argparse.Namespace, files: Iterable[str]) -> OutputFolder:
    """The folder of --out, or a new dated one; InputError before any work (output.OutputFolder)."""
    return OutputFolder(options.out, files, command=options.command, force=options.force)


def finish(
    options: argparse.Namespace, folder: OutputFolder | Path, status: str, figures: Mapping,
    code: int = 0,
) -> int:  # fmt: skip
    """Print where the results are, and return the exit code.

    status   one word, as in result.yaml;  figures  headline figures, as in metrics.json
    What --json prints is left in options.outcome.
    """
    path = folder if isinstance(folder, Path) else folder.path
    print(f"results in {path}")
    options.outcome = {
        "status": status, "results": str(path.absolute()), "figures": plain(figures, undefined=None)
    }  # fmt: skip
    return code
