"""Python in pages: it runs, page by page, from the checkout's folder.

A ```text block after one shows what it prints (printed.py). A block that cannot run is marked by
`<!-- not run: REASON -->` on the line before it; what it imports from this package must exist all
the same.
"""

import ast
import contextlib
import importlib.util
import io
import re

import pytest

from diffsim_ros.errors import InputError
from tests.docs.printed import WITHIN, missing_line
from tests.pages import ROOT, WHOLE, all_pages

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n)?^```python\n(?P<code>.*?)^```"
    r"(?:\n\n```text\n(?P<shown>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
FOLDERS = ("config", "data", "urdf", "validation")
"""What blocks may name; what they write goes to a folder of the test."""


def blocks(page):
    """(line, reason for not running, code, what it prints or None) of each block of Python."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start("code")), found["why"], found["code"], found["shown"]


PAGES = [page for page in all_pages() if any(blocks(page)) and page not in WHOLE]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    for name in FOLDERS:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    names = {}
    for line, why, code, shown in blocks(page):
        compiled, printed = compile("\n" * line + code, str(page), "exec"), io.StringIO()
        if why is None:
            with contextlib.redirect_stdout(printed):
                exec(compiled, names)
            lost = missing_line(shown or "", printed.getvalue(), WITHIN)
            assert lost is None, f"{page}:{line}: not printed: {lost!r}; but\n{printed.getvalue()}"
        else:
            check_imports(code)


def check_imports(code):
    """Modules and names that are imported from this package exist."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "diffsim_ros":
            try:
                module = importlib.import_module(node.module)
            except (ModuleNotFoundError, InputError) as error:  # of gymnasium or torch
                missing = error if isinstance(error, ImportError) else error.__cause__
                assert not missing.name.startswith("diffsim_ros")
                continue
            for alias in node.names:  # a module that cannot be imported here may be one of them
                inner = f"{node.module}.{alias.name}"
                assert hasattr(module, alias.name) or importlib.util.find_spec(inner), inner


def test_blocks_are_found_and_reasons_read():
    text = "<!-- not run: why -->\n```python\na\n```\n\n```python\nb\n```\n"
    assert [(m["why"], m["code"]) for m in BLOCK.finditer(text)] == [("why", "a\n"), (None, "b\n")]
    assert len(PAGES) >= 5


@pytest.mark.parametrize(
    "name", ["README.md", "docs/README.md", "docs/tutorials/first_simulation.md",
             "docs/tutorials/gradients.md"],
)  # fmt: skip
def test_a_first_page_shows_what_its_code_prints(name):
    assert any(shown for *_, shown in blocks(ROOT / name))
