"""Command lines in pages: understood by the real parsers, and the files that they name exist.

Lines of bash blocks and indented lines are parsed whole; in running text and in usage lines
(with [...] or …) commands, options and files are looked up. Names below a folder of this checkout
are its files; others (lab.npz, mine/…) are the reader's own.
"""

import ast
import functools
import importlib.util
import itertools
import re
import shlex

import pytest
import yaml

from tests.pages import ROOT, all_pages

OURS = ("config", "data", "urdf", "launch", "tools", "tests", "docs")
VERBS = {"demo", "experiment", "test", "validate", "bench", "lint", "docs", "setup"}
TOOLS = {"python", "bash", "ruff", "colcon"}
NODES = {path.stem for path in (ROOT / "config" / "nodes").glob("*.yaml")}
BEGINS = r"(?:\./run|diffsim|ros2) "


def commands(text):
    """(command, whether it is whole) of a page: blocks and indented lines, then inline code."""
    rest = text
    for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            if re.match(BEGINS, line):
                yield line, True
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in re.findall(rf"^    ({BEGINS}.*)$", rest, re.MULTILINE):
        yield line, not re.search(r"\[|…|\.\.\.|\|", line.split("#")[0]) and '"' not in line
    yield from ((code, False) for code in re.findall(rf"`({BEGINS}[^`\n]*)`", rest))


def words_of(line):
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation that goes on in the next line
        return line.split()


def placeholder(word):
    return not word or word[0] in "[…" or word.endswith("…") or word.isupper() or "..." in word


def check(line, whole):
    """AssertionError where a command line is not one."""
    words = words_of(line)
    if whole:  # up to where the shell goes on
        ends = [i for i, word in enumerate(words) if re.match(r"(\||&&|;|\d?>)", word)]
        words = words[: min(ends, default=None)]
    for word in words:
        name = word.partition(":=")[2] or word
        if name.split("/")[0] in OURS and "/" in name and not re.search(r"[\[…*]", name):
            assert (ROOT / name).exists(), f"no {name}"
    program, *rest = words
    if program == "./run":
        check_run([word for word in rest if word != "--yes"], whole)
    elif program == "diffsim":
        check_diffsim(rest, whole)
    else:
        check_ros(rest, whole)


def check_run(words, whole):
    if not words or placeholder(words[0]) or words[0] == "--help":
        return
    verb, *rest = words
    named = [word for word in rest if not placeholder(word)]
    if verb == "diffsim":
        check_diffsim(rest, whole)
    elif verb == "validate":
        from validation.__main__ import ITEMS

        items = itertools.takewhile(lambda word: not word.startswith("--"), named)
        assert set(items) <= set(ITEMS)
    elif verb == "bench":
        assert all((ROOT / "bench" / f"{name}.py").exists() for name in named)
    elif verb in ("demo", "experiment"):
        check_options_in_source(verb, rest)
        if verb == "experiment" and rest and not placeholder(rest[0]):
            assert (ROOT / "config" / "planning" / f"{rest[0]}.yaml").exists()
    elif verb == "python" and rest[:1] == ["-m"]:
        assert importlib.util.find_spec(rest[1])
        if rest[1].startswith("diffsim_ros.nodes."):
            check_options_in_source(rest[1].rpartition(".")[2], rest[2:])
    elif verb == "ros2":
        check_ros(named if not whole else rest, whole)
    elif verb in NODES:
        check_parameters(verb, rest)
    else:
        assert verb in VERBS | TOOLS or (ROOT / verb).exists(), f"no command {verb}"


@functools.cache
def parser():
    from diffsim_ros.cli import make_parser

    return make_parser()


def check_diffsim(words, whole):
    from diffsim_ros.cli import COMMANDS

    if not words or placeholder(words[0]) or words in (["--help"], ["--version"]):
        return
    if words[:2] == ["export", "video"]:
        words = ["export-video", *words[2:]]
    if whole and not any(placeholder(word) and word[0] in "[…" for word in words):
        try:
            parser().parse_args(words)
        except (SystemExit, Exception) as error:
            raise AssertionError(f"not understood: {error}") from None
        if words[0] == "node" and words[1] in NODES:
            check_parameters(words[1], words[2:])
        return
    named = [word for word in words[1:] if word in COMMANDS] if "|" in words else []
    actions = parser()._subparsers._group_actions[0].choices
    for name in [words[0], *named]:
        assert name in actions, f"no command {name}"
    known = set(options_of(actions[words[0]]))
    used = {option for word in words for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", word)}
    assert used <= known, used - known


def options_of(parser):
    """Every option of a parser and of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        for inner in action.choices.values() if isinstance(action.choices, dict) else ():
            yield from options_of(inner)


def check_ros(words, whole):
    """Of ros2: known to our replacement of it, or one that stays with a distribution."""
    from diffsim_ros.nodes import ros2

    if not words or placeholder(words[0]):
        return
    kind, *rest = words
    if kind == "bag" or words[:2] in (["launch", "ur_robot_driver"], ["run", "rviz2"]):
        return
    if kind != "launch":
        known = ros2.make_parser()
        nouns = known._subparsers._group_actions[0].choices
        assert kind in nouns, f"./run ros2 has no {kind}"
        if kind != "run" and rest and not placeholder(rest[0]):
            assert rest[0] in nouns[kind]._subparsers._group_actions[0].choices
        if whole:
            try:
                known.parse_args(words)
            except SystemExit:
                raise AssertionError("not understood by ./run ros2") from None
    if kind in ("launch", "run") and (len(rest) < 2 or placeholder(rest[1])):
        return
    if kind == "launch" and rest[:1] == ["diffsim_ros"]:
        tree = ast.parse((ROOT / "launch" / rest[1]).read_text())
        table = next(n.value for n in tree.body if isinstance(n, ast.Assign)
                     and n.targets[0].id == "ARGUMENTS")  # fmt: skip
        known = {key.value for key in table.keys if key is not None} | {"namespace"}
        assert {word.split(":=")[0] for word in rest[2:] if ":=" in word} <= known
    elif kind == "run" and rest[:1] == ["diffsim_ros"]:
        executables = (ROOT / "CMakeLists.txt").read_text()
        assert re.search(rf"[\s(]{rest[1]}[\s)]", executables), f"no executable {rest[1]}"
        if rest[1] in NODES:
            check_parameters(rest[1], rest[2:])
        else:
            check_options_in_source(rest[1], rest[2:])
    elif kind == "param" and rest[:1] == ["set"] and len(rest) == 4:
        check_parameters(rest[1].strip("/"), ["-p", f"{rest[2]}:={rest[3]}"])
    for word in rest:
        if re.fullmatch(r"diffsim_interfaces/\w+/\w+", word):
            check_request(word, rest[-1])


def check_options_in_source(module, words):
    """Each --option is one of nodes/MODULE*.py, programs that build their parsers in main."""
    paths = (ROOT / "diffsim_ros" / "nodes").glob(f"{module}*.py")
    source = "".join(path.read_text() for path in paths)
    given = {option for word in words for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", word)}
    assert not {option for option in given - {"--ros-args"} if f'"{option}"' not in source}


def check_request(interface, text):
    """The fields of a request are those of its interface."""
    _, folder, name = interface.split("/")
    definition = (ROOT / "interfaces" / folder / f"{name}.{folder}").read_text().split("---")[0]
    fields = set(re.findall(r"^[\w/\[\]<=]+ +(\w+)", definition, re.MULTILINE))
    if text.startswith("{") and text.endswith("}"):
        assert set(yaml.safe_load(text)) <= fields


def check_parameters(node, words):
    """Each -p NAME:=VALUE is a parameter of the node."""
    pytest.importorskip("rclpy")
    from diffsim_ros.nodes.usage import node_class

    pairs = itertools.pairwise(words)
    given = {word.split(":=")[0] for before, word in pairs if before == "-p"}
    given.discard("use_sim_time")  # every node has it
    assert given <= {spec.name for spec in node_class(node).PARAMETERS}


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_that_uses_ros2_says_what_to_do_without_a_distribution(page):
    text = page.read_text()
    used = [line for line, _ in commands(text) if re.match(r"ros2 \w", line)]
    if used and page.name not in ("nodes.md", "CHANGELOG.md"):
        assert "nodes.md#without-a-ros-distribution" in text, used[:3]


@pytest.mark.ros
@pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines_of_a_page_are_understood(page, capsys):
    wrong = []
    for line, whole in commands(page.read_text()):
        try:
            check(line, whole)
        except (AssertionError, FileNotFoundError) as error:
            wrong.append(f"{line}: {error}; {capsys.readouterr().err.strip()}")
    assert not wrong


@pytest.mark.ros
@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("./run diffsim estimat a.yaml", True),
        ("diffsim estimate a.yaml --tries", True),
        ("diffsim estimate --tries", False),
        ("diffsim simulate config/scenes/none.yaml", True),
        ("./run validate none", False),
        ("./run experiment ur5_throw --twins a.yaml", True),
        ("./run experiment none", True),
        ("diffsim node driver --ros-args -p dryrun:=false", True),
        ("./run driver --ros-args -p dryrun:=false", False),
        ("ros2 topic eco /diagnostics", True),
        ("./run ros2 topic echo", True),
        ("ros2 doctor", False),
        ("ros2 launch diffsim_ros driver.launch.py mok:=true", False),
        ("ros2 action send_goal /a/b diffsim_interfaces/action/Plan '{tasks: a}'", False),
    ],
)
def test_a_wrong_command_line_is_found(line, whole):
    with pytest.raises(AssertionError):
        check(line, whole)
