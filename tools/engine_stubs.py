"""Writes the types of the compiled engine, diffsim_ros/_engine*.pyi, from its docstrings.

Its submodule `spatial` has a file of its own beside it: a folder `_engine/` would be imported, as a
namespace package, where the engine is not built.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "diffsim_ros"


def made() -> dict[str, str]:
    """Texts by file name, by pybind11-stubgen; its errors (types that it cannot name) end this."""
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "pybind11_stubgen", "diffsim_ros._engine", "--exit-code")
        subprocess.run([*command, "--output-dir", folder], check=True)
        engine, spatial = (
            (Path(folder) / "diffsim_ros" / "_engine" / name).read_text()
            for name in ("__init__.pyi", "spatial.pyi")
        )
    engine = engine.replace("from . import spatial", "from . import _engine_spatial as spatial")
    return {"_engine.pyi": engine, "_engine_spatial.pyi": spatial}


if __name__ == "__main__":
    for name, text in made().items():
        (FOLDER / name).write_text(text)
