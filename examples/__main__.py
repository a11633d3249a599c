"""`python -m examples [NAME...] [--out DIR] [--quick]`: 0 if all checks hold, else 3."""

from __future__ import annotations

import argparse
import importlib
import sys

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.output import OutputFolder, write_bytes, write_json

NAMES = ("puck", "landscape", "tori", "cubes", "level_set", "chain")


def main(arguments: list[str] | None = None) -> int:
    """Run the named examples (default: all), write pictures and figures, print the checks."""
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    parser.add_argument("--quick", action="store_true", help="smaller, as the tests run them")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in NAMES:
            print(f"examples: {name!r} is none; {nearest(name, NAMES)}", file=sys.stderr)
            return 2
    passed = True
    try:
        folder = OutputFolder(options.out, ["metrics.json"], command="examples")
        found = {name: _run(name, options.quick) for name in options.names or NAMES}
        with folder.staging() as stage:
            for outcome in found.values():
                for name, png in outcome.pictures.items():
                    write_bytes(stage / name, png)
            write_json(stage / "metrics.json", {name: o.figures for name, o in found.items()})
    except InputError as error:
        print(f"examples: {error}", file=sys.stderr)
        return 2
    for name, outcome in found.items():
        for statement, holds in outcome.checks:
            print(f"{name}: {'yes' if holds else 'NO '}  {statement}")
        passed &= outcome.passed
    print(f"results in {folder.path}")
    return 0 if passed else 3


def _run(name: str, quick: bool):
    print(f"{name} ...", file=sys.stderr)
    return importlib.import_module(f"examples.{name}").study(quick)


if __name__ == "__main__":
    sys.exit(main())
