"""Builds the engine with the top-level CMakeLists.txt where there is no colcon.

Everything else stands in pyproject.toml. `run` builds the engine itself, installs the checkout
editable and says so with DIFFSIM_ENGINE_BUILT=1; tools/wheel.sh names the engine that it has built
in DIFFSIM_ENGINE.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """Configures and builds the target `_engine`, then puts it where setuptools expects it."""

    def build_extension(self, ext: Extension) -> None:
        out = Path(self.get_ext_fullpath(ext.name)).resolve()
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(os.environ.get("DIFFSIM_ENGINE") or self.built_engine(), out)

    def built_engine(self) -> Path:
        """Build the engine; return its file."""
        build = Path(self.build_temp).resolve() / "engine"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        configure = [
            *("cmake", "-S", str(ROOT), "-B", str(build), *generator),
            *("-DCMAKE_BUILD_TYPE=Release", "-DDIFFSIM_AMENT=OFF"),
            f"-DPython3_EXECUTABLE={sys.executable}",
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "_engine"], check=True)
        return next(build.glob("_engine*.so"))


def examples() -> list[tuple[str, list[str]]]:
    """Folders of `diffsim examples`, to where colcon puts them too: share/diffsim_ros."""
    files: dict[str, list[str]] = {}
    for top in ("config", "urdf"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file():
                folder = f"share/diffsim_ros/{path.parent.relative_to(ROOT)}"
                files.setdefault(folder, []).append(str(path.relative_to(ROOT)))
    return list(files.items())


if os.environ.get("DIFFSIM_ENGINE_BUILT") == "1":
    setup()
else:
    setup(
        ext_modules=[Extension("diffsim_ros._engine", sources=[])],
        cmdclass={"build_ext": CMakeBuild},
        data_files=examples(),
    )
