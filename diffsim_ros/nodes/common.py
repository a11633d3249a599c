"""What all nodes share: qualities of service, declared parameters, a life that ends with code 0.

The executor spins in a thread of its own and the main thread waits for a signal, so signals are
noticed at once, a node can finish its work (its `close`) while messages still flow, and the
spinning thread is joined before the interpreter ends. Further signals change nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rclpy
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import remove_ros_args

from diffsim_ros.errors import InputError
from diffsim_ros.fields import print_warnings_in_one_line
from diffsim_ros.nodes.starting import heeded
from diffsim_ros.nodes.usage import help_text
from diffsim_ros.yaml_file import read_yaml

try:
    from rclpy.impl.implementation_singleton import rclpy_implementation

    RCLError = rclpy_implementation.RCLError
    UnknownROSArgsError = rclpy_implementation.UnknownROSArgsError
except (ImportError, AttributeError):  # moved in distributions after Jazzy
    from rclpy._rclpy_pybind11 import RCLError, UnknownROSArgsError

POLL = 0.1
"""Seconds until a signal is noticed at the latest."""


def quality(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    """A profile that keeps the last `depth` messages; latched: late subscribers get them too."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


DRIVER = quality(1000, reliable=True)
"""As motion capture drivers publish."""
SENSOR = quality(5000, reliable=False)
"""Best effort and volatile matches every driver; deep, because recordings may come in bursts."""
LATCHED = quality(1, reliable=True, latched=True)
"""Scene, result, status: the last message is kept for late subscribers."""
STATIC_TF = quality(100, reliable=True, latched=True)
"""Of publishers and subscribers of /tf_static."""
STREAM = quality(10, reliable=True)
"""Markers of a motion that plays."""
_UNSENT = re.compile(r"[Ff]ailed to send (\w+ )?response")
"""What rclpy says where it could not answer a client: no reason to end a node."""
AGAIN = 0.5
"""[s] after which a question that changes nothing is asked again."""


@dataclass(frozen=True)
class Declared:
    """One parameter: name, default (whose type is its type), description, what is accepted.

    lower, upper  range of a number;  choices  accepted texts
    renamed       (former, present) texts: the former is taken too, with a warning
    """

    name: str
    default: Any
    description: str
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def descriptor(self) -> ParameterDescriptor:
        """The ROS description with range and constraints."""
        result = ParameterDescriptor(
            name=self.name, type=_type(self.default).value, description=self.description
        )
        if self.choices:
            result.additional_constraints = "one of: " + ", ".join(map(repr, self.choices))
        if self.lower is not None:
            if isinstance(self.default, int):
                bounds = {"from_value": int(self.lower), "to_value": int(self.upper)}
                result.integer_range = [IntegerRange(**bounds, step=1)]
            else:
                bounds = {"from_value": float(self.lower), "to_value": float(self.upper)}
                result.floating_point_range = [FloatingPointRange(**bounds, step=0.0)]
        return result


def _type(default: Any) -> Parameter.Type:
    """The parameter type of a default; the empty tuple is a list of integers, [""] of texts."""
    if default == ():
        return Parameter.Type.INTEGER_ARRAY
    return Parameter.Type.from_parameter_value(default)


class BaseNode(Node):
    """A node with declared parameters (`PARAMETERS`), that can finish and be closed in order.

    `self["name"]` is the present value of a parameter; options are those of rclpy's Node.
    """

    PARAMETERS: tuple[Declared, ...] = ()
    FIXED: tuple[str, ...] = ()
    """Parameters that count at the start only: once there is an action server they stay."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.together = ReentrantCallbackGroup()
        """Group of callbacks that await: others may run meanwhile."""
        self.finished = threading.Event()
        self._declared = {p.name: p for p in self.PARAMETERS}
        for spec in self.PARAMETERS:
            self.declare_parameter(spec.name, _type(spec.default), spec.descriptor())
            if self[spec.name] is None:  # not given, or an empty list in a YAML
                default = Parameter(spec.name, _type(spec.default), spec.default)
                self.set_parameters([default])
        self.add_on_set_parameters_callback(self._check)
        for spec in self.PARAMETERS:
            rejected = self._check([self.get_parameter(spec.name)])
            if not rejected.successful:
                raise InputError(
                    f"node {name}",
                    f"parameter {spec.name}",
                    self[spec.name],
                    "one of " + ", ".join(spec.choices),
                )

    def __getitem__(self, name: str) -> Any:
        return self.get_parameter_or(name).value

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            late = hasattr(self, "_action") and parameter.name in self.FIXED
            if late and parameter.value != self[parameter.name]:
                reason = f"{parameter.name} counts at the start only: end the node first"
                return SetParametersResult(successful=False, reason=reason)
            spec = self._declared.get(parameter.name)
            now = dict(spec.renamed).get(parameter.value) if spec and spec.renamed else None
            if now is not None:
                old = f"{parameter.name}: {parameter.value}"
                self.get_logger().warning(f"{old}: is called {now!r} now")
            elif spec and spec.choices and parameter.value not in spec.choices:
                accepted = ", ".join(map(repr, spec.choices))
                reason = f"{parameter.name}: got {parameter.value!r}; accepted: {accepted}"
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def from_thread(self, call: Callable, *arguments: Any) -> None:
        """Have `call(*arguments)` run by the executor; for threads with news for this node."""
        executor = self.executor
        if executor is not None:
            with contextlib.suppress(AttributeError):  # rclpy's, of an executor just shut down
                executor.create_task(call, *arguments)

    def resolve(self, future: Future, value: Any) -> None:
        """Set the result of an awaited future from another thread (and wake the executor)."""
        self.from_thread(future.set_result, value)

    def flush(self, rounds: int = 5) -> None:
        """Wait until the executor has done what other threads gave it (answers are sent)."""
        for _ in range(rounds):
            passed = threading.Event()
            self.from_thread(passed.set)
            passed.wait(1.0)

    def close(self) -> None:
        """Finish or give up work, while the executor still spins; overridden where there is any."""


def run_node(make: Callable[..., BaseNode], arguments: Sequence[str] | None = None) -> int:
    """Make a node and spin it until a signal or its own end; return the exit code.

    arguments  of the command line, without the program; None: those of this process
    0 after a signal (starting.SIGNALS), for --help, or when the node is `finished`; 1 if a callback
    raised (the traceback is printed); 2 if an argument, a parameter or an input is unusable (one
    line says which). The process is expected to end then: signals have no effect any more.
    """
    print_warnings_in_one_line()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(given):  # after --ros-args too, where rclpy would refuse it
        print(help_text(make))
        return 0
    try:
        others = remove_ros_args(given)
        if others:
            raise _unusable(" ".join(others), "--ros-args and what follows it")
    except (InputError, RCLError, UnknownROSArgsError) as error:
        return _refused(error)
    numbers, came, made = heeded(), [], []

    # setting an event here could wait for a lock that the interrupted thread is holding
    def note(number: int, _: object) -> None:
        came.append(number)
        if not made:  # scenes take long to load, and nothing has begun
            os._exit(0)

    for number in numbers:
        signal.signal(number, note)
    try:
        return _run(make, given, came, made)
    finally:
        rclpy.try_shutdown()
        for number in numbers:  # Python would give them their deadly meaning back before it ends
            signal.signal(number, signal.SIG_IGN)


def _run(
    make: Callable[..., BaseNode], given: Sequence[str], came: Sequence[int], made: list[BaseNode]
) -> int:
    """Make the node, put it into `made`, and spin it until there is a signal in `came`."""
    stop = threading.Event()
    try:
        rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        return _refused(error)
    try:
        node = make()
    except (InputError, ParameterException, NameValidationException) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    made.append(node)
    node.finished = stop
    node.get_logger().info("started")  # rclpy's first message takes 0.2 s: not in mid-motion
    return _live(node, stop, came)


def _unusable(value: str, accepted: str) -> InputError:
    return InputError("command line", "arguments", value, accepted, "--help lists the parameters")


def _refused(error: Exception) -> int:
    """Print one line about what is wrong with the command line; returns the exit code."""
    if not isinstance(error, InputError):
        error = _unusable(str(error).split(", at /")[0], "arguments that ROS knows")
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return 2


def _live(node: BaseNode, stop: threading.Event, came: Sequence[int]) -> int:
    """Spin `node` in a thread until `stop` or a signal; close it, then take all down in order."""
    spinner = Spinner(node, stop)
    try:
        while not came and not stop.wait(POLL):
            pass
        node.close()
    finally:
        spinner.end()
        node.destroy_node()
    return 1 if spinner.failure else 0


class Spinner:
    """Spins a node in a thread of its own from the moment it is made until `end`.

    ended    set when spinning is over, also because a callback raised
    failure  what a callback raised (the traceback is printed), None if none did
    """

    def __init__(self, node: Node, ended: threading.Event | None = None) -> None:
        self.failure: BaseException | None = None
        self.ended = ended or threading.Event()
        self._halt = threading.Event()
        self._log = node.get_logger()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name="spin")
        self._thread.start()

    def _spin(self) -> None:
        try:
            while not self._halt.is_set():
                self._spin_once()
        except (ExternalShutdownException, RCLError) as error:
            self.failure = error if rclpy.ok() else None
        except Exception as error:
            traceback.print_exc()
            self.failure = error
        finally:
            self.ended.set()

    def _spin_once(self) -> None:
        try:
            self._executor.spin_once()
        except (RCLError, SystemError) as error:  # SystemError: where warnings are errors
            if not _UNSENT.search(f"{error} {error.__cause__}"):
                raise
            self._log.warning(f"a client is gone, or did not wait for its answer: {error}")

    def end(self) -> None:
        """Stop spinning, wait for the thread, then take the executor down (in that order)."""
        self._halt.set()
        self._executor.create_task(lambda: None)
        self._thread.join()
        self._executor.shutdown()


def share_folder() -> Path:
    """Folder that holds config/, data/ and launch/: the checkout's, or the installed package's.

    Raises InputError if there is neither.
    """
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "config" / "nodes").is_dir():
        return checkout
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory("diffsim_ros"))
    except LookupError as error:
        raise InputError(
            "diffsim_ros",
            "config",
            str(error),
            "a checkout or an installed package",
            "run it from the checkout, or source install/setup.bash",
        ) from None


def experiments() -> dict[str, Path]:
    """Name -> file of the plans of config/planning that have an arm."""
    files = sorted((share_folder() / "config" / "planning").glob("*.yaml"))
    return {file.stem: file for file in files if "robot" in read_yaml(file)}


def plan_file(name: str | Path) -> Path:
    """A file, or the plan of config/planning of this name; raises InputError."""
    if Path(name).is_file():
        return Path(name).absolute()
    known = experiments()
    if str(name) in known:
        return known[str(name)]
    rule = f"a YAML file, or one of {', '.join(known)}"
    raise InputError("config/planning", "no such file or name", str(name), rule)
