"""The `diffsim` command: one module of `commands` for each entry of COMMANDS.

Exit codes: 0 done; 2 unusable input (one line on stderr: file, key, value, what is accepted);
3 not converged or stopped by Ctrl-C (results are written and marked so); 130 stopped at once by a
second Ctrl-C (nothing is written).
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from diffsim_ros import __version__
from diffsim_ros.commands.running import handled
from diffsim_ros.errors import InputError, NotConverged, nearest
from diffsim_ros.fields import print_warnings_in_one_line

DONE, UNUSABLE, NOT_CONVERGED, INTERRUPTED = 0, 2, 3, 130
COMMANDS = {
    "simulate": "roll a scene out and write its motion",
    "statics": "find where a scene comes to rest",
    "modes": "find the frequencies and shapes of a scene's small vibrations",
    "check": "report what recordings contain, and whether an estimation can use them",
    "init": "write a commented scene and estimation for a recording of one's own",
    "estimate": "estimate parameters from recordings, with uncertainty and report",
    "compare": "compare several models on the same recordings",
    "export": "write what other simulators have a place for: MJCF, URDF, SDF snippets",
    "plan": "find controls whose motion reaches goals",
    "policy": "learn a control policy in an environment, or evaluate one",
    "twin": "write the twin that rehearses a plan with a robot arm",
    "check-gradient": "compare gradients with differences, and with those of the motion",
    "mesh": "check a mesh file, or mesh a surface, and write its tets",
    "bench": "run the benchmarks of bench/, all or the named ones",
}


class _Parser(argparse.ArgumentParser):
    """ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(UNUSABLE, f"{self.prog}: {message}; try {self.prog} --help\n")


def make_parser() -> argparse.ArgumentParser:
    """Build the command line of `diffsim`."""
    parser = _Parser(prog="diffsim", description="Differentiable simulation: real2sim, planning.")
    parser.add_argument("--version", action="version", version=f"diffsim {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        _arguments_of(name, command)
        command.add_argument("--out", metavar="DIR", help="folder for the results [new, dated]")
    return parser


def _arguments_of_simulate(command: argparse.ArgumentParser) -> None:
    text = "estimate the errors of the step by runs of half and a quarter of it"
    command.add_argument("--error", action="store_true", help=text)
    text = "halve the step until no position errs by more, e.g. 1mm"
    command.add_argument("--tolerance", metavar="LENGTH", help=text)
    text = "also write outputs.npz: stress and strain per tetrahedron, tension per spring"
    command.add_argument("--fields", action="store_true", help=text)
    text = "colour solids in motion.mcap and motion.png by von_mises, stress.xx, strain.zz"
    command.add_argument("--colour", metavar="FIELD", help=text)
    text = "also simulate N motions that differ as the estimate leaves open, and by --kick"
    command.add_argument("--ensemble", type=int, metavar="N", help=text)
    text = "random spin of every impact of a rigid body, rad/s by m/s of approach [0]"
    command.add_argument("--kick", type=float, metavar="K", help=text)
    command.add_argument("--seed", type=int, default=0, help="of the ensemble [0]")
    _arguments_of_executors(command)
    text = "values of the colours' two ends [smallest and largest of the motion]"
    command.add_argument("--colour-range", nargs=2, type=float, metavar=("LOW", "HIGH"),
                         help=text)  # fmt: skip


def _arguments_of_executors(command: argparse.ArgumentParser) -> None:
    text = "Ray cluster that does the work: local, HOST:PORT or ray://HOST:PORT [this process]"
    command.add_argument("--ray", metavar="ADDRESS", help=text)
    text = "keep finished parts of the work here, and go on from those that are there"
    command.add_argument("--resume", metavar="DIR", help=text)


def _arguments_of(name: str, command: argparse.ArgumentParser) -> None:
    if name in ("simulate", "export", "statics", "modes"):
        command.add_argument("scene", metavar="SCENE.yaml")
        text = "result.yaml of `diffsim estimate` whose values the scene takes"
        command.add_argument("--estimated", metavar="RESULT.yaml", help=text)
        if name == "simulate":
            _arguments_of_simulate(command)
        if name == "modes":
            command.add_argument("--count", type=int, default=6, metavar="N", help="of modes [6]")
            places = ("equilibrium", "start")
            command.add_argument("--at", choices=places, default=places[0], help="about what")
    elif name == "check":
        command.add_argument("data", nargs="+", metavar="DATA", help="files, bags, folders")
    elif name == "init":
        command.add_argument(
            "--from", dest="data", nargs="+", required=True, metavar="DATA", help="recordings"
        )
        command.add_argument(
            "--size", nargs="+", type=float, metavar="M", help="edge, or three, of the body"
        )
        command.add_argument("--mass", type=float, metavar="KG", help="of the body")
        command.add_argument(
            "--body", metavar="NAME", default="", help="whose poses, where there are several"
        )
        command.add_argument(
            "--urdf", type=Path, metavar="FILE", help="of the robot, for its joints"
        )
        command.add_argument(
            "--kind",
            metavar="KIND",
            default="",
            help="which streams, where there are several kinds",
        )
    elif name in ("estimate", "compare"):
        if name == "estimate":
            command.add_argument("estimation", metavar="ESTIMATION.yaml")
            text = "where the verdict is below good, fit what it advises and other laws too"
            command.add_argument("--try", dest="others", action="store_true", help=text)
        else:
            _arguments_of_compare(command)
        for option, text in (
            ("--train", "train on all trials of these files, instead of the YAML's"),
            ("--validate", "validate on all trials of these files, instead of the YAML's"),
        ):
            command.add_argument(option, nargs="+", action="extend", metavar="FILE", help=text)
        command.add_argument(
            "--set", nargs="+", action="extend", metavar="KEY=VALUE", default=[],
            help="replace values of the YAML, e.g. fit.iterations=5",
        )  # fmt: skip
    elif name in ("plan", "twin"):
        command.add_argument("plan", metavar="PLAN.yaml")
        text = "result.yaml of `diffsim estimate` whose values the scene takes"
        command.add_argument("--estimated", metavar="RESULT.yaml", help=text)
        if name == "twin":
            _arguments_of_twin(command)
        else:
            text = "of a legged robot: write motion.gif, too, the motion at half speed"
            command.add_argument("--animation", action="store_true", help=text)
            _arguments_of_executors(command)
    elif name == "policy":
        _arguments_of_policy(command)
    elif name == "mesh":
        command.add_argument(
            "file", metavar="SURFACE|TETS", help=".obj .stl .ply, or .msh .mesh .vtk"
        )
        command.add_argument("--edge", type=float, metavar="M", help="of the tets [a tenth]")
        command.add_argument("--scale", type=float, metavar="F", help="on the coordinates [1]")
        command.add_argument(
            "--least-angle", type=float, default=5.0, metavar="DEG", help="of the worst tet [5]"
        )
    elif name == "check-gradient":
        command.add_argument("file", metavar="SCENE.yaml|ESTIMATION.yaml")
        command.add_argument("--directions", type=int, default=20, help="random directions [20]")
        command.add_argument("--seed", type=int, default=0, help="of the directions [0]")
        text = "leave out whether derivatives depend on the step and on the phase of contacts"
        command.add_argument("--no-settling", action="store_true", help=text)
        text = "exit 3 where a derivative is not that of the motion either"
        command.add_argument("--strict", action="store_true", help=text)
    else:
        command.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run [all]")


def _arguments_of_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("estimations", nargs="+", metavar="ESTIMATION.yaml", help="one per model")
    command.add_argument(
        "--variant", nargs="+", action="append", metavar=("NAME", "KEY=VALUE"),
        help="one more model: the first YAML with other values, e.g. "
        "linear scene.bodies.ball.viscosity_model=linear",
    )  # fmt: skip
    command.add_argument(
        "--folds", type=int, default=0, metavar="N",
        help="of the cross-validation [each trial alone up to 10, else 5]",
    )  # fmt: skip


def _arguments_of_policy(command: argparse.ArgumentParser) -> None:
    command.add_argument("do", choices=("train", "evaluate"), metavar="train|evaluate")
    command.add_argument("environment", metavar="ENVIRONMENT.yaml")
    command.add_argument("policy", nargs="?", metavar="POLICY.npz", help="to evaluate")
    command.add_argument(
        "--iterations", type=int, default=200, metavar="N", help="of the training [200]"
    )
    command.add_argument(
        "--episodes", type=int, default=20, metavar="N", help="of the evaluation [20]"
    )
    command.add_argument("--seed", type=int, default=0, help="of starts and noise [0]")


def _arguments_of_twin(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--friction", type=float, default=1.0, metavar="F", help="factor on every c_f [1]"
    )
    command.add_argument(
        "--shift", nargs=4, action="append", default=[], metavar=("BODY", "X", "Y", "Z"),
        help="[m] by which a body is placed elsewhere: what is held in the tool's frame",
    )  # fmt: skip
    command.add_argument(
        "--jitter", type=float, default=0.0, metavar="S", help="sigma of the gripper's latency [0]"
    )
    command.add_argument(
        "--camera", action="store_true", help="a depth camera too, that looks at the first goal"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    print_warnings_in_one_line()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        hint = nearest(arguments[0], COMMANDS)
        print(f"diffsim: {arguments[0]!r} is no command; {hint}", file=sys.stderr)
        return UNUSABLE
    try:
        options = make_parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    module = importlib.import_module(f"diffsim_ros.commands.{options.command.replace('-', '_')}")
    try:
        # SIGTERM is a KeyboardInterrupt too, so that unfinished files are removed
        with handled(signal.default_int_handler, (signal.SIGTERM,)):
            return module.run(options)
    except InputError as error:
        print(f"diffsim: {error}", file=sys.stderr)
        return UNUSABLE
    except NotConverged as error:
        print(f"diffsim: not converged: {error}", file=sys.stderr)
        return NOT_CONVERGED
    except OSError as error:
        print(f"diffsim: {_os_error(error)}; no result was written", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("diffsim: stopped; no result was written", file=sys.stderr)
        return INTERRUPTED


def _os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


if __name__ == "__main__":
    sys.exit(main())
