"""Python in pages: it runs, page by page, from the checkout's folder.

A block that cannot is marked by `<!-- not run: REASON -->` on the line before it; what it imports
from this package must exist all the same.
"""

import ast
import importlib.util
import re

import pytest

from diffsim_ros.errors import InputError
from tests.pages import ROOT, WHOLE, all_pages

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n)?^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
FOLDERS = ("config", "data", "urdf", "validation")
"""What blocks may name; what they write goes to a folder of the test."""


def blocks(page):
    """(line, reason for not running, code) of each block of Python."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start("code")), found["why"], found["code"]


PAGES = [page for page in all_pages() if any(blocks(page)) and page not in WHOLE]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    for name in FOLDERS:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    names = {}
    for line, why, code in blocks(page):
        compiled = compile("\n" * line + code, str(page), "exec")
        if why is None:
            exec(compiled, names)
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
