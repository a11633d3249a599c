"""The commands of `ros2` that one uses beside our nodes, for machines without a distribution.

    python -m diffsim_ros.nodes.ros2 topic echo /diagnostics --once

Words and options are those of ros2; everything is over the middleware, so it works with nodes that
run anywhere. Exit code 0: done; 1: the other side refused, did not answer or failed; 2: unusable
arguments; 130: Ctrl-C, after which a goal is cancelled.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

import yaml
from action_msgs.msg import GoalStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.action import get_action_names_and_types
from rclpy.parameter import get_parameter_value, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.utilities import remove_ros_args

from diffsim_ros.commands import node as node_command
from diffsim_ros.errors import InputError
from diffsim_ros.nodes.commander import CallFailed, Commander, Interrupted, interrupts
from diffsim_ros.nodes.common import quality
from diffsim_ros.nodes.plain import message_of, plain, type_of
from diffsim_ros.yaml_file import parse_yaml

FOUND = 10.0
"""[s] for which a topic's publisher, or one who receives, is waited for."""
WHOLE = sys.maxsize
FAILED, UNUSABLE, INTERRUPTED = 1, 2, 130
ELSEWHERE = {
    "launch": "start the nodes one by one, or ./run experiment NAME, ./run demo",
    "bag": "./run replay plays recordings, ./run observer records them",
}
"""Commands that stay with a distribution: what to do instead (docs/how-to/nodes.md)."""
STATUS = {
    GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED",
    GoalStatus.STATUS_ABORTED: "ABORTED",
    GoalStatus.STATUS_CANCELED: "CANCELED",
}


class Caller(Commander):
    """A Commander for servers of any kind: some have no parameters to be asked for."""

    def _met(self, name: str, *limit: float) -> None:
        try:
            super()._met(name, *(limit or (2.0,)))
        except CallFailed:
            pass


# --- graph ----------------------------------------------------------------------------------------


def show_names(caller: Caller, options: argparse.Namespace) -> None:
    """NOUN list: names, after `--spin-time` in which nodes are discovered."""
    caller.pause(options.spin_time)
    node = caller.node
    own = node.get_fully_qualified_name()
    if options.noun == "node":
        pairs = node.get_node_names_and_namespaces()
        found = [(f"{space.rstrip('/')}/{name}", []) for name, space in pairs]
    elif options.noun == "topic":
        found = node.get_topic_names_and_types()
    elif options.noun == "service":
        found = node.get_service_names_and_types()
    else:
        found = get_action_names_and_types(node)
    for name, types in sorted(found):
        if name == own or name.startswith(f"{own}/") or "/_" in name:  # hidden, as in ros2
            continue
        print(f"{name} [{', '.join(types)}]" if options.show_types and types else name)


def _type_of_topic(caller: Caller, topic: str, given: str | None) -> tuple[Any, str]:
    """The class of a topic's messages, and its name as the graph has it."""
    name = caller.node.resolve_topic_name(topic)

    def types() -> list[str]:
        return dict(caller.node.get_topic_names_and_types()).get(name, [])

    text = given or caller.wait(types, f"a publisher of {name}, whose type is needed", FOUND)[0]
    return type_of(text, "msg"), name


def _profile(caller: Caller, name: str) -> Any:
    """What every publisher of a topic can serve: reliable or latched only if all are."""
    caller.pause(0.2)  # all of them
    offered = [info.qos_profile for info in caller.node.get_publishers_info_by_topic(name)]
    reliable = all(one.reliability == ReliabilityPolicy.RELIABLE for one in offered)
    latched = bool(offered) and all(
        one.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in offered
    )
    return quality(100, reliable=reliable and bool(offered), latched=latched)


# --- topics ---------------------------------------------------------------------------------------


def echo(caller: Caller, options: argparse.Namespace) -> None:
    """topic echo: messages as YAML, until Ctrl-C or (--once) the first."""
    kind, name = _type_of_topic(caller, options.topic, options.type)
    received = caller.listen(kind, name, _profile(caller, name))
    while True:
        caller.wait(lambda: received, f"a message on {name}", WHOLE)
        print(_yaml(plain(received.pop(0), *([WHOLE] if options.full_length else []))))
        print("---", flush=True)
        if options.once:
            return


def rate(caller: Caller, options: argparse.Namespace) -> None:
    """topic hz: the rate of reception, each second."""
    kind, name = _type_of_topic(caller, options.topic, None)
    came: list[float] = []
    caller.node.create_subscription(
        kind, name, lambda _: came.append(monotonic()), _profile(caller, name), raw=True
    )
    while True:
        caller.pause(1.0)
        del came[: -options.window]
        gaps = [after - before for before, after in itertools.pairwise(came)]
        if not gaps or monotonic() - came[-1] > max(2.0, 3.0 * max(gaps)):
            print("no new messages", flush=True)
            continue
        deviation = statistics.pstdev(gaps)
        print(f"average rate: {1.0 / statistics.fmean(gaps):.3f}", flush=True)
        print(f"\tmin: {min(gaps):.3f}s max: {max(gaps):.3f}s std dev: {deviation:.5f}s "
              f"window: {len(came)}", flush=True)  # fmt: skip


def publish(caller: Caller, options: argparse.Namespace) -> None:
    """topic pub: once to whoever listens (--once), or at a rate."""
    kind = type_of(options.type, "msg")
    message = message_of(kind, parse_yaml(options.values, "values"), "values")
    publisher = caller.node.create_publisher(kind, options.topic, quality(10, reliable=True))
    name = publisher.topic_name
    if options.once:
        caller.wait(publisher.get_subscription_count, f"one who receives {name}", FOUND)
        caller.pause(0.2)  # the other side may have found this one a moment later
    while True:
        publisher.publish(message)
        print(f"published on {name}: {_yaml(plain(message), flow=True)}", flush=True)
        if options.once:
            caller.pause(0.3)  # what is sent is lost where its process ends at once
            return
        caller.pause(1.0 / options.rate)


# --- services, actions ----------------------------------------------------------------------------


def call(caller: Caller, options: argparse.Namespace) -> None:
    """service call: the response as YAML."""
    kind = type_of(options.type, "srv")
    request = message_of(kind.Request, parse_yaml(options.values, "values"), "values")
    name = caller.node.resolve_service_name(options.service)
    print(_yaml(plain(caller.call(kind, name, request, WHOLE), WHOLE)))


def send_goal(caller: Caller, options: argparse.Namespace) -> None:
    """action send_goal: feedback (-f) and the result as YAML; Ctrl-C cancels the goal."""
    kind = type_of(options.type, "action")
    goal = message_of(kind.Goal, parse_yaml(options.goal, "goal"), "goal")

    def on_feedback(feedback: Any) -> None:
        if options.feedback:
            print(f"feedback: {_yaml(plain(feedback), flow=True)}", flush=True)

    name = caller.node.resolve_service_name(options.action)
    try:
        status, result = caller.outcome(kind, name, goal, on_feedback, limit=WHOLE)
    except Interrupted as given_up:
        if given_up.result is not None:
            print(_yaml(plain(given_up.result, WHOLE)))
        raise
    print(_yaml(plain(result, WHOLE)))
    if status != GoalStatus.STATUS_SUCCEEDED:
        raise CallFailed(f"{name}: {STATUS.get(status, status)}")
    print(f"goal finished with status: {STATUS[status]}")


# --- parameters -----------------------------------------------------------------------------------


def _node(caller: Caller, options: argparse.Namespace) -> str:
    """Its full name."""
    space = "" if options.node.startswith("/") else caller.node.get_namespace().rstrip("/") + "/"
    return space + options.node


def parameter(caller: Caller, options: argparse.Namespace) -> None:
    """param list, get, set, describe."""
    node = _node(caller, options)
    if options.verb == "list":
        request: Any = ListParameters.Request()
        answer = caller.call(ListParameters, f"{node}/list_parameters", request)
        print("\n".join(sorted(answer.result.names)))
    elif options.verb == "get":
        request = GetParameters.Request(names=[options.name])
        values = caller.call(GetParameters, f"{node}/get_parameters", request).values
        if not values or values[0].type == ParameterType.PARAMETER_NOT_SET:
            raise CallFailed(f"{node}: no parameter {options.name}")
        print(_yaml(plain(parameter_value_to_python(values[0]), WHOLE), flow=True))
    elif options.verb == "set":
        wanted = Parameter(name=options.name, value=get_parameter_value(options.value))
        request = SetParameters.Request(parameters=[wanted])
        (result,) = caller.call(SetParameters, f"{node}/set_parameters", request).results
        if not result.successful:
            raise CallFailed(f"{node}: {options.name}: {result.reason}")
        print("Set parameter successful")
    else:
        request = DescribeParameters.Request(names=options.names)
        answer = caller.call(DescribeParameters, f"{node}/describe_parameters", request)
        for one in answer.descriptors:
            print(_yaml(plain(one, WHOLE)))


def lifecycle(caller: Caller, options: argparse.Namespace) -> None:
    """lifecycle get, set: the state of a managed node, and a transition of it."""
    node = _node(caller, options)
    if options.verb == "set":
        wanted = ChangeState.Request(transition=Transition(label=options.transition))
        if not caller.call(ChangeState, f"{node}/change_state", wanted, WHOLE).success:
            raise CallFailed(f"{node}: {options.transition} failed, or is not possible now")
    state = caller.call(GetState, f"{node}/get_state", GetState.Request()).current_state
    print(f"{state.label} [{state.id}]")


# --- command line ---------------------------------------------------------------------------------


def _yaml(value: Any, flow: bool = False) -> str:
    """YAML of plain data; flow: in one line."""
    style = True if flow else None
    text = yaml.safe_dump(
        value, sort_keys=False, allow_unicode=True, default_flow_style=style, width=WHOLE
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1e4:
        raise argparse.ArgumentTypeError(f"{text}: accepted: more than 0 and less than 10000")
    return value


def make_parser() -> argparse.ArgumentParser:
    """The command line; every verb has its function as `act`."""
    parser = argparse.ArgumentParser(prog="diffsim ros2", description=__doc__.split("\n")[0])
    nouns = parser.add_subparsers(dest="noun", metavar="COMMAND", required=True)
    verbs = {
        noun: nouns.add_parser(noun, help=text).add_subparsers(dest="verb", required=True)
        for noun, text in (
            ("node", "list"), ("topic", "list, echo, hz, pub"), ("service", "list, call"),
            ("action", "list, send_goal"), ("param", "list, get, set, describe"),
            ("lifecycle", "get, set"),
        )
    }  # fmt: skip

    def verb(noun: str, name: str, act: Any, *arguments: str) -> argparse.ArgumentParser:
        made = verbs[noun].add_parser(name)
        made.set_defaults(act=act)
        for one in arguments:
            made.add_argument(one)
        return made

    for noun in ("node", "topic", "service", "action"):
        lists = verb(noun, "list", show_names)
        lists.add_argument("-t", "--show-types", action="store_true")
        lists.add_argument("--spin-time", type=_positive, default=1.0, help="[s] of discovery")
    echoes = verb("topic", "echo", echo, "topic")
    echoes.add_argument("type", nargs="?")
    echoes.add_argument("--once", action="store_true")
    echoes.add_argument("-f", "--full-length", action="store_true", help="arrays, texts uncut")
    rates = verb("topic", "hz", rate, "topic")
    rates.add_argument("-w", "--window", type=int, default=10000, help="messages that count")
    pub = verb("topic", "pub", publish, "topic", "type")
    pub.add_argument("values", nargs="?", default="{}")
    pub.add_argument("-r", "--rate", type=_positive, default=1.0, help="[Hz]")
    pub.add_argument("-1", "--once", action="store_true")
    calls = verb("service", "call", call, "service", "type")
    calls.add_argument("values", nargs="?", default="{}")
    goals = verb("action", "send_goal", send_goal, "action", "type", "goal")
    goals.add_argument("-f", "--feedback", action="store_true")
    verb("param", "list", parameter, "node")
    verb("param", "get", parameter, "node", "name")
    verb("param", "set", parameter, "node", "name", "value")
    verb("param", "describe", parameter, "node").add_argument("names", nargs="+")
    verb("lifecycle", "get", lifecycle, "node")
    verb("lifecycle", "set", lifecycle, "node", "transition")
    run = nouns.add_parser("run", help="run diffsim_ros NAME: as diffsim node NAME")
    run.add_argument("package", choices=["diffsim_ros"])
    run.add_argument("name")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given and given[0] in ELSEWHERE:
            rule = "a command that needs no distribution"
            raise InputError("diffsim ros2", "", given[0], rule, ELSEWHERE[given[0]])
        if given[:1] == ["run"]:
            options = make_parser().parse_args(given)
            return node_command.run(options)
        options = make_parser().parse_args(remove_ros_args(given))
        with interrupts() as watch, Caller(watch, given) as caller:
            options.act(caller, options)
        return 0
    except InputError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNUSABLE
    except CallFailed as error:
        print(f"diffsim ros2: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `... | head`
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
