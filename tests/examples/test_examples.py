"""Every example runs in its quick form, and all that it checks holds."""

import importlib

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from examples.__main__ import NAMES, main

NEEDS = {"tori": ("meshio",), "level_set": ("trimesh",)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_example_shows_what_it_says(name, monkeypatch, tmp_path):
    for library in NEEDS.get(name, ()):
        pytest.importorskip(library, reason="pip install diffsim_ros[mesh]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcome = importlib.import_module(f"examples.{name}").study(quick=True)
    assert outcome.checks and outcome.pictures and outcome.figures
    assert all(png.startswith(b"\x89PNG") for png in outcome.pictures.values())
    assert outcome.passed, [statement for statement, holds in outcome.checks if not holds]


def test_an_unknown_example_is_named(capsys):
    assert main(["pukc"]) == 2
    assert "did you mean 'puck'?" in capsys.readouterr().err
