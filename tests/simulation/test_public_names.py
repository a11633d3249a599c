"""What `import diffsim_ros` offers: complete, documented, cheap to import."""

import doctest
import importlib
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import diffsim_ros as ds

ROOT = Path(__file__).resolve().parents[2]


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, diffsim_ros; print({'numpy', 'scipy', 'yaml'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == "set()", run


def test_every_public_name_is_there_and_described():
    pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    for name in ds.__all__:
        assert inspect.getdoc(getattr(ds, name)), name
    assert set(ds.__all__) <= set(dir(ds))
    with pytest.raises(AttributeError, match="scen"):
        _ = ds.scen


@pytest.mark.parametrize("module", ["diffsim_ros", "simulation.builder", "simulation.values"])
def test_examples_in_docstrings_run(module, monkeypatch):
    pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    monkeypatch.chdir(ROOT)
    found = importlib.import_module(module if module == "diffsim_ros" else f"diffsim_ros.{module}")
    result = doctest.testmod(found)
    assert result.attempted > 1 and not result.failed


def test_the_page_of_the_api_is_that_of_the_docstrings():
    pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import api_reference
    finally:
        sys.path.pop(0)
    assert set(ds.__all__) == {name for names in api_reference.GROUPS.values() for name in names}
    page = (ROOT / "docs/reference/api.md").read_text()
    assert page == api_reference.page(), "python tools/api_reference.py > docs/reference/api.md"


def test_the_types_of_the_engine_are_those_of_its_docstrings():
    pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    pytest.importorskip("pybind11_stubgen")
    made = runpy.run_path(str(ROOT / "tools" / "engine_stubs.py"))["made"]()
    for name, text in made.items():
        assert (ROOT / "diffsim_ros" / name).read_text() == text, "python tools/engine_stubs.py"


def test_the_public_engine_has_every_name_of_the_compiled_one():
    compiled = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    public = {name for name in dir(compiled) if not name.startswith("_")}
    assert set(importlib.import_module("diffsim_ros.engine").__all__) == public


def test_examples_and_pages_use_public_names_alone():
    private = re.compile(r"(from|import)\s+[\w.]*\b_\w+|import\s+[^\n]*\b_engine\b")
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py"), ROOT / "README.md"]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in pages
        for line in path.read_text().splitlines()
        if private.match(line.strip()) and "__future__" not in line
    ]
    assert not found


def test_the_typed_program_runs():
    pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
    from tests.simulation.typed_program import main

    by_speed, last = main()
    assert by_speed == pytest.approx(0.3) and last < 0
