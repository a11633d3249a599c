"""House rules that a machine can check: sizes, imports, batteries, documented keys."""

import ast
import functools
import graphlib
import os
import re
import subprocess
from pathlib import Path

import pytest

import diffsim_ros

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "diffsim_ros"
NATIVE = ROOT / "native"
FILE_CEILING, FUNCTION_CEILING = 500, 80

# Package part -> parts that it must not import, at module level or inside functions.
# The arrows of docs/design.md: sensing, scene -> inverse -> real2sim -> nodes; viz draws plain
# data; errors and output are below everything.
BASE = {
    "errors", "files", "yaml_file", "npz", "tables", "fields", "meshes", "parameter", "rotation",
    "output_value", "real_numbers", "surfaces", "units",
}  # fmt: skip
USERS = {"real2sim", "planning", "twin", "viz", "learning", "commands", "cli", "nodes"}
LAYERS = {"torch_layer", "jax_layer"}
ALL = {"output", "scene", "simulation", "sensing", "inverse", "statics", *LAYERS, *USERS}
FORBIDDEN = {
    **dict.fromkeys(BASE, ALL),
    "output": ALL - {"output"},
    "robots": ALL,
    "engine": ALL,
    "executors": ALL,
    "spatial": ALL,
    "scene": ALL - {"output", "scene"},
    "simulation": ALL - {"output", "scene", "simulation"},
    **dict.fromkeys(LAYERS, ALL - {"simulation"}),
    "sensing": ALL - {"output", "sensing"} | {"robots"},
    "inverse": ALL - {"output", "inverse"},
    "statics": ALL - {"statics", "inverse"} | {"robots"},
    "real2sim": {"planning", "twin", "learning", "commands", "cli", "nodes"},
    "planning": {
        "sensing", "statics", "real2sim", "twin", "viz", "learning", "commands", "cli", "nodes"
    },
    "learning": ALL - {"output", "scene", "learning"},
    # a twin uses neither models nor estimates, only its sensors' samples
    "twin": {
        "inverse", "statics", "real2sim", "planning", "viz", "learning", "commands", "cli", "nodes"
    },
    "viz": {
        "inverse", "statics", "real2sim", "planning", "twin", "learning", "commands", "cli", "nodes"
    },
    "commands": {"cli", "nodes"},
    "cli": {"nodes"},
    "nodes": {"cli"},
}  # fmt: skip
ROS = re.compile(
    r"rclpy|rosidl\w*|ament\w*|launch\w*|tf2\w*|rosgraph\w*|builtin_interfaces|diffsim_interfaces"
    r"|motion_capture_tracking_interfaces|\w+_msgs|\w+_srvs"
)
# Plain data of real2sim that pictures may know, although reports are written from real2sim.
PLAIN_DATA = ("diffsim_ros.sensing.bags.",)
TEXT = {".py", ".md", ".hpp", ".cpp", ".yaml", ".toml", ".sh", ".txt", ".xml"}
# The engine is native code; inside it only bindings/ may know Python.
HEAVY = {"scipy", "matplotlib", "rosbags", "open3d", "mujoco", "torch", "diffsim_ros._engine"}


def python_files():
    skip = {".venv", "build", "install", "log", "out", ".git"}
    for folder, inner, names in os.walk(ROOT):
        inner[:] = sorted(set(inner) - skip)  # not walked either
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(".py"))


@functools.cache
def tree(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def kept_files():
    """Files that git keeps, or would."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [p for p in (ROOT / name for name in listed.stdout.splitlines()) if p.is_file()]


def native_files():
    return sorted(p for p in NATIVE.rglob("*") if p.suffix in (".hpp", ".cpp"))


def imports(path):
    """(absolute module name, line) of every import of a file of the package."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def part(path):
    """First folder, or stem, of a file inside the package."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def cpp_functions(text):
    """(line, number of lines) of function bodies: outermost braces that belong to no type."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', "0", text)
    stack, head, line, found = [], "", 1, []
    for piece in re.findall(r"[{};]|[^{};]+", text):
        if piece == "{":
            outer = re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head)
            inside = any(kind == "function" for kind, _ in stack)
            code = "function" if not outer and "(" in head and not inside else "other"
            stack.append((code, line))
        elif piece == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                found.append((start, line - start + 1))
        head = "" if piece in "{};" else piece
        line += piece.count("\n")
    return found


def test_files_are_short():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*python_files(), *native_files()]
        if (lines := len(path.read_text().splitlines())) > FILE_CEILING
    }
    assert not long


def test_functions_are_short():
    long = {}
    for path in python_files():
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_CEILING:
                    long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    for path in native_files():
        for line, lines in cpp_functions(path.read_text()):
            if lines > FUNCTION_CEILING:
                long[f"{path.relative_to(ROOT)}:{line}"] = lines
    assert not long


def test_the_counter_of_cpp_functions_counts():
    text = """
namespace a {
struct B : C {  // {
  int f() const { return 1; }
  double x = 3;
};
void g(int i) {
  if (i) {
    h("}");
  }
}
}  // namespace a
"""
    assert cpp_functions(text) == [(4, 1), (7, 5)]


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_imports_follow_the_arrows(name):
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if part(path) != name:
            continue
        for module, line in imports(path):
            pieces = module.split(".")
            if name == "viz" and module.startswith(PLAIN_DATA):
                continue
            if pieces[0] == "diffsim_ros" and len(pieces) > 1 and pieces[1] in FORBIDDEN[name]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong


def test_real2sim_imports_pictures_only_where_it_writes_them():
    """viz knows plain data of real2sim, so imports of viz are inside functions: no circles."""
    wrong = []
    for path in sorted((PACKAGE / "real2sim").glob("*.py")):
        for node in tree(path).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)) and "viz" in ast.unparse(node):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
    assert not wrong


def modules():
    """Dotted name -> path of every module of the package, the studies and the benches."""
    for path in python_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] in ("diffsim_ros", "validation", "bench"):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_no_import_closes_a_circle():
    """Those inside functions and those for types alone included.

    The package itself names what users import from the rooms; nothing inside may use these names.
    """
    known = dict(modules())
    below, public = {}, set(diffsim_ros.__all__)
    for name, path in known.items():
        found = set()
        if name == "diffsim_ros":
            continue
        for module, _ in imports(path):
            named = module if module in known else module.rpartition(".")[0]
            assert named != "diffsim_ros" or module.rpartition(".")[2] not in public, path
            found |= {named} & set(known)
        below[name] = found - {name}
    graphlib.TopologicalSorter(below).prepare()  # CycleError names the circle


def test_no_two_public_classes_have_one_name():
    places = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_every_part_of_the_package_has_its_arrows():
    parts = {part(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert parts <= set(FORBIDDEN)


def test_only_nodes_import_ros():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if part(path) != "nodes"
        for module, line in imports(path)
        if ROS.fullmatch(module.split(".")[0])
    ]
    assert not wrong


def test_only_convert_knows_messages_of_sensors_and_markers():
    known = re.compile(
        r"(geometry|sensor|visualization|nav|trajectory|control|mocap4r2|ur)_msgs"
        r"|motion_capture_tracking_interfaces"
    )
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted((PACKAGE / "nodes").glob("*.py"))
        if not path.name.startswith("convert")
        for module, line in imports(path)
        if known.match(module.split(".")[0]) and not module.split(".")[-1][0].isupper()
    ]
    assert not wrong


def test_importing_the_package_is_cheap():
    names = {module for module, _ in imports(PACKAGE / "__init__.py")}
    assert not {n for n in names if n.split(".")[0] in HEAVY | {"numpy"}}
    for path in (PACKAGE / "cli.py", PACKAGE / "errors.py"):
        top = tree(path).body
        modules = [n for n in top if isinstance(n, (ast.Import, ast.ImportFrom))]
        text = "\n".join(ast.unparse(n) for n in modules)
        assert not re.search(r"numpy|scipy|matplotlib|_engine", text)


def test_native_knows_no_ros_and_python_only_in_bindings():
    assert native_files()
    wrong = []
    for path in native_files():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)", line)
            target = include[1] if include else ""
            python = re.match(r"pybind11|Python\.h|numpy", target)
            if (python and path.parent.name != "bindings") or re.search(r"rclcpp|_msgs", target):
                wrong.append(f"{path.relative_to(ROOT)}:{number} {line.strip()}")
    assert not wrong


def test_native_arrows():
    """math, spatial and sdf know no bodies, bodies know no elements, nothing includes bindings."""
    below = {"sdf": ("bodies/", "elements/", "bindings/"), "bodies": ("bindings/",),
             "elements": ("bindings/",),
             "spatial": ("bodies/", "elements/", "bindings/")}  # fmt: skip
    wrong = []
    for path in native_files():
        for target in re.findall(r'#include "([^"]+)"', path.read_text()):
            if any(word in target for word in below.get(path.parent.name, ())):
                wrong.append(f"{path.relative_to(ROOT)} includes {target}")
    assert not wrong


def cpp_classes(folder, base):
    """Names of the classes of a folder of native/ that derive from `base`."""
    found = set()
    for path in (NATIVE / folder).glob("*.hpp"):
        found |= set(re.findall(rf"\bclass (\w+)(?: final)? : public {base}\b", path.read_text()))
    return found


@pytest.mark.parametrize(
    ("folder", "base"),
    [("elements", "Element"), ("elements", "ContactElement"), ("elements", "CoordinateForce"),
     ("sdf", "Sdf")],
)  # fmt: skip
def test_every_element_and_sdf_has_a_derivative_battery(folder, base):
    """tests/native has, for each class, a test named test_battery_..._CLASS (or its snake case)."""
    classes = cpp_classes(folder, base) - {
        "ContactElement",
        "CoordinateForce",
    }  # base classes themselves
    assert classes, f"no class derives from {base} in native/{folder}"
    batteries = " ".join(
        node.name
        for path in (ROOT / "tests" / "native").rglob("test_*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and "battery" in node.name
    )
    missing = []
    for name in sorted(classes):
        stem = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().rstrip("s")
        if stem not in batteries:
            missing.append(f"{name}: no test named test_battery_..._{stem}")
    assert not missing


def test_nothing_refers_to_what_is_outside_the_repository():
    """No issue, no item of one, no document beside the checkout."""
    outside = re.compile(
        r"\b[Ii]ssue \d|\b[Ii]tem \d|of the issue|[Mm]ust show|\.\./shared|shared/data"
        r"|(?:DESIGN|SOLVER|STYLE|ECOSYSTEM|HOUSE_REVIEW)(?:\.md| section)"
    )
    wrong = []
    for path in kept_files():
        if path.suffix not in TEXT or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if outside.search(line):
                wrong.append(f"{path.relative_to(ROOT)}:{number} {line.strip()}")
    assert not wrong


def test_no_file_holds_marks_of_a_merge():
    marks = re.compile(r"^(<{7}|>{7}) ", re.M)
    texts = [path for path in kept_files() if path.suffix in TEXT]
    assert not [str(path) for path in texts if marks.search(path.read_text(errors="replace"))]


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_links_between_documents_lead_somewhere():
    wrong = []
    for path in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
            name, _, anchor = target.partition("#")
            if name.startswith(("http:", "https:", "mailto:")):
                continue
            other = (path.parent / name).resolve() if name else path
            if not other.exists():
                wrong.append(f"{path.name}: {target}")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                wrong.append(f"{path.name}: {target}, there is no such heading")
    assert not wrong


def anchors(path):
    """What GitHub makes of the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_pages_that_are_named_exist():
    """In code, messages, configurations and pages: docs/how-to/install.md and the like."""
    wrong = []
    for path in kept_files():
        if path.suffix in {".py", ".md", ".hpp", ".cpp", ".yaml", ".rviz", ".sh", ".txt", ".xml"}:
            for page in re.findall(r"docs/[\w/-]+\.md", path.read_text(errors="replace")):
                if not (ROOT / page).exists():
                    wrong.append(f"{path.relative_to(ROOT)}: {page}")
    assert not wrong


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert not {page for page in pages - {"README.md"} if f"]({page})" not in index}


def named_files(text):
    """(path, names) of each `path` (`name`, `name`) of a page; NAME stands for what is added."""
    known = r"(?:native|diffsim_ros|tests|config|validation|bench|docs|interfaces)/[\w./*-]*"
    for path, names in re.findall(rf"`({known})`(?: \(((?:`[^`]+`(?:, )?)+)\))?", text):
        yield path, re.findall(r"`([^`]+)`", names)


def test_what_the_design_names_is_there():
    """Files, and in the table of equations the functions and classes in them."""
    text = (ROOT / "docs" / "design.md").read_text()
    wrong, count = [], 0
    for path, names in named_files(text):
        found = ROOT / (str(Path(path).parent) if "NAME" in path else path)
        if not (found.exists() or list(ROOT.glob(path))):
            wrong.append(path)
        for name in names:
            count += 1
            if not all(re.search(rf"\b{w}\b", found.read_text()) for w in re.split(r"\W+", name)):
                wrong.append(f"{path}: {name}")
    assert not wrong
    assert count > 50


def test_equations_that_code_cites_are_numbered_once_in_the_page_of_their_room():
    """[Eq. 7a] of inverse/ in docs/explanation/inverse.md, `engine.md (10)` of native/ there."""
    cites = {
        "inverse": r"Eqs?\. (\d+[a-z]?)(?:[-,] ?(\d+[a-z]?))?",
        "engine": r"engine\.md \((\d+)\)",
    }
    files = {"inverse": (PACKAGE / "inverse").glob("*.py"), "engine": native_files()}
    for room, cite in cites.items():
        text = (ROOT / "docs" / "explanation" / f"{room}.md").read_text()
        shown = re.findall(r"^    .*\((\d+[a-z]?(?:, \d+[a-z]?)*)\) *$", text, re.MULTILINE)
        numbers = [number for line in shown for number in line.split(", ")]
        assert len(numbers) > 15 and len(set(numbers)) == len(numbers), sorted(numbers)
        cited = {n for path in files[room] for found in re.findall(cite, path.read_text())
                 for n in ([found] if isinstance(found, str) else found) if n}  # fmt: skip
        assert cited and cited <= set(numbers), f"{room}.md has no {cited - set(numbers)}"


def test_documented_keys_of_scene_files_are_those_accepted():
    from diffsim_ros.scene.schema import markdown

    assert markdown() in (ROOT / "docs" / "reference" / "scene.md").read_text(), (
        "docs/reference/scene.md is old: paste the output of python -m diffsim_ros.scene.schema"
    )


def test_the_changelog_is_in_release_form():
    """Keep a Changelog: versions with dates, kinds of change once each, no line twice."""
    text = (ROOT / "CHANGELOG.md").read_text()
    kinds = {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
        "Safety",
        "Migration",
    }
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions[0].startswith("[Unreleased]\n")
    for version in versions:
        assert re.match(r"\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)", version), version[:40]
        sections = re.findall(r"^### (.*)$", version, re.MULTILINE)
        assert set(sections) <= kinds and len(set(sections)) == len(sections), sections
        bullets = re.findall(r"^- .*$", version, re.MULTILINE)
        assert not {line for line in bullets if bullets.count(line) > 1}


DEFINED = re.compile(
    r"(?:inline |static )*(?:constexpr [\w:<>\s]+?\b(k\w+)\b|"
    r"(?:struct|class|enum class|enum) (?:\[\[[^\]]*\]\] )?(\w+)(?![\w:])[^;]*\{|"
    r"using (\w+)\b[^;]*= (.*);)"
)


def test_unnamed_namespaces_of_the_engine_share_no_names():
    """Files are compiled several at once (`DIFFSIM_UNITY`), whichever come together."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "native").rglob("*.[ch]pp")):
        if "bindings" in path.parts:
            continue
        unnamed = False
        for line in path.read_text().splitlines():
            unnamed = line.startswith("namespace {") or (
                unnamed and not line.startswith("}  // namespace")
            )
            defined = DEFINED.match(line)
            if defined and (unnamed or path.suffix == ".hpp"):
                name = next(group for group in defined.groups() if group)
                found.setdefault(name, {})[str(path)] = defined.group(4) or path.name
    wrong = {name: places for name, places in found.items() if len(set(places.values())) > 1}
    assert len(found) > 300
    assert not wrong
