"""The `diffsim` command: one module of `commands` for each entry of COMMANDS, with
`add_arguments(parser)` and `run(options) -> exit code`, imported where it is named.

Exit codes: 0 done; 2 unusable input (one line on stderr: file, key, value, what is accepted);
3 not converged or stopped by Ctrl-C (results are written and marked so); 130 stopped at once by a
second Ctrl-C (nothing is written).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from diffsim_ros import __version__
from diffsim_ros.commands.running import handled
from diffsim_ros.errors import InputError, NotConverged, nearest
from diffsim_ros.fields import print_warnings_in_one_line

DONE, UNUSABLE, NOT_CONVERGED, INTERRUPTED = 0, 2, 3, 130
STATUS = {DONE: "done", UNUSABLE: "unusable", NOT_CONVERGED: "not_converged",
          INTERRUPTED: "interrupted"}  # fmt: skip
"""Status of --json where no results are left."""
COMMANDS = {
    "simulate": "roll a scene out and write its motion",
    "view": "look at results, or at a scene while it is simulated, in the browser",
    "statics": "find where a scene comes to rest",
    "modes": "find the frequencies and shapes of a scene's small vibrations",
    "check": "report what recordings contain, and whether an estimation can use them",
    "init": "write a commented scene and estimation for a recording of one's own",
    "estimate": "estimate parameters from recordings, with uncertainty and report",
    "compare": "compare several models on the same recordings",
    "export": "write a scene for MuJoCo (MJCF), Drake and ROS (URDF), Gazebo (SDF)",
    "export-video": "make a GIF or MP4 of results or of a scene (also: diffsim export video)",
    "plan": "find controls whose motion reaches goals",
    "policy": "learn a control policy in an environment, or evaluate one",
    "twin": "write the twin that rehearses a plan with a robot arm",
    "check-gradient": "compare gradients with differences, and with those of the motion",
    "mesh": "check a mesh file, or mesh a surface, and write its tets",
    "bench": "run the benchmarks of bench/, all or the named ones",
    "examples": "copy the example scenes, estimations, plans and robots into a folder",
    "node": "start a ROS 2 node of this package",
    "ros2": "call services, send goals, read topics and set parameters, as `ros2` does",
    "completion": "print what makes a shell complete `diffsim` and its options",
}


class _Unusable(Exception):
    """Arguments that cannot be parsed; one line."""


class _Parser(argparse.ArgumentParser):
    """ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise _Unusable(f"{self.prog}: {message}; try {self.prog} --help")


class _Version(argparse.Action):
    """Prints the version, and what was built for which machine, which takes an import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        from diffsim_ros.commands.built import built_for

        print(f"diffsim {__version__}: {built_for()}")
        parser.exit()


def make_parser(named: Iterable[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the command line of `diffsim`, with the arguments of the commands in `named`."""
    parser = _Parser(prog="diffsim", description="Differentiable simulation: real2sim, planning.")
    text = "version, and what the engine was built for"
    parser.add_argument("--version", action=_Version, nargs=0, help=text)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in named:
            _module(name).add_arguments(command)
    return parser


def _module(command: str):
    return importlib.import_module(f"diffsim_ros.commands.{command.replace('-', '_')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    print_warnings_in_one_line()
    if "_ARGCOMPLETE" in os.environ and arguments is None:
        _complete(os.environ.get("COMP_LINE", ""))
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:2] == ["export", "video"]:
        arguments[:2] = ["export-video"]
    first = arguments[0] if arguments else ""
    try:
        if first and not first.startswith("-") and first not in COMMANDS:
            raise _Unusable(f"diffsim: {first!r} is no command; {nearest(first, COMMANDS)}")
        options = make_parser([first]).parse_args(arguments)
    except _Unusable as error:
        print(error, file=sys.stderr)
        if "--json" in arguments:
            _print_outcome({"message": str(error)}, first, UNUSABLE)
        return UNUSABLE
    except SystemExit as stop:  # --help, --version
        return int(stop.code or 0)
    if not getattr(options, "json", False):
        return _run(options)
    with contextlib.redirect_stdout(sys.stderr):
        code = _run(options)
    _print_outcome(getattr(options, "outcome", {}), first, code)
    return code


def _run(options: argparse.Namespace) -> int:
    """Run the command; what went wrong is one line, and `message` of options.outcome."""
    try:
        # SIGTERM is a KeyboardInterrupt too, so that unfinished files are removed
        with handled(signal.default_int_handler, (signal.SIGTERM,)):
            return _module(options.command).run(options)
    except InputError as error:
        code, message = UNUSABLE, str(error)
    except NotConverged as error:
        code, message = NOT_CONVERGED, f"not converged: {error}"
    except OSError as error:
        code, message = UNUSABLE, f"{_os_error(error)}; no result was written"
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "stopped; no result was written"
    except ImportError as error:
        if "_engine" not in str(error):
            raise
        code, message = UNUSABLE, f"{_engine_error(error)}: docs/how-to/install.md"
    print(f"diffsim: {message}", file=sys.stderr)
    options.outcome = {**getattr(options, "outcome", {}), "message": message}
    return code


def _print_outcome(outcome: dict, command: str, code: int) -> None:
    """The one JSON object of --json."""
    import json

    whole = {"command": command, "status": STATUS[code], "exit_code": code, **outcome}
    print(json.dumps(whole, allow_nan=False))


def _complete(line: str) -> None:
    """Answer the shell that asks how `line` may go on, and exit."""
    import argcomplete

    argcomplete.autocomplete(make_parser(line.split()[1:2]))


def _engine_error(error: ImportError) -> str:
    if "ISA level" in str(error):  # of the loader, of an engine with DIFFSIM_ARCH
        return "this engine needs a CPU with AVX2 and FMA (x86-64-v3); build it from source here"
    return f"the engine cannot be loaded ({error})"


def _os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


if __name__ == "__main__":
    sys.exit(main())
