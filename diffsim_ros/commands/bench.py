"""`diffsim bench`: the modules of bench/, each with `main(out: Path, **options) -> dict`."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import diffsim_ros
from diffsim_ros.commands.arguments import add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.errors import InputError, nearest
from diffsim_ros.output import write_json

PACKAGE = "diffsim_bench"  # name under which the folder is imported


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim bench`."""
    command.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run [all]")
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Run the named benchmarks (all if none is named), print and write their figures."""
    known = find_benchmarks()
    for name in options.names:
        if name not in known:
            raise InputError("bench", "NAME", name, "a benchmark", nearest(name, known))
    names = list(dict.fromkeys(options.names)) or sorted(known)
    metrics: dict[str, Mapping] = {}
    files = ["metrics.json", *([] if options.force else names)]  # names are folders
    with results_folder(options, files) as folder, folder.staging() as stage:
        for i, name in enumerate(names):
            print(f"{name} ({i + 1} of {len(names)})", file=sys.stderr, flush=True)
            out = stage / name
            out.mkdir()
            metrics[name] = load(name, known[name]).main(out)
            for key, value in flat(metrics[name]):
                print(f"{name}.{key} = {value}", flush=True)
        write_json(stage / "metrics.json", metrics)
    return finish(options, folder, "measured", metrics)


def find_benchmarks() -> dict[str, Path]:
    """Name -> file of every benchmark of the checkout, or of the installed share folder."""
    for parent in Path(diffsim_ros.__file__).resolve().parents:
        for folder in (parent / "bench", parent / "share" / "diffsim_ros" / "bench"):
            if (parent / "package.xml").is_file() or folder.parent.name == "diffsim_ros":
                files = {f.stem: f for f in sorted(folder.glob("[a-z]*.py")) if _has_main(f)}
                if files:
                    return files
    raise InputError("bench", "", "no folder bench/", "a checkout, or an installed share folder")


def _has_main(file: Path) -> bool:
    """True for a benchmark, False for a module that benchmarks share."""
    body = ast.parse(file.read_text(encoding="utf-8"), str(file)).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in body)


def load(name: str, file: Path) -> ModuleType:
    """Import one benchmark; its folder is a package, so that `from .shared import x` works."""
    package = sys.modules.get(PACKAGE)
    if package is None or package.__path__ != [str(file.parent)]:
        for old in [m for m in sys.modules if m.split(".")[0] == PACKAGE]:
            del sys.modules[old]
        package = sys.modules[PACKAGE] = ModuleType(PACKAGE)
        package.__path__ = [str(file.parent)]
    return importlib.import_module(f"{PACKAGE}.{name}")


def flat(metrics: Mapping, above: str = "") -> Iterator[tuple[str, object]]:
    """Nested figures as (dotted key, value)."""
    for key, value in metrics.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from flat(value, name)
        else:
            yield name, f"{value:.6g}" if isinstance(value, float) else value
