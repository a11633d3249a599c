"""Builds the engine with the top-level CMakeLists.txt where there is no colcon.

Everything else stands in pyproject.toml. `run` builds the engine itself, installs the checkout
editable and says so with DIFFSIM_ENGINE_BUILT=1.
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
        build = Path(self.build_temp).resolve() / "engine"
        out = Path(self.get_ext_fullpath(ext.name)).resolve()
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        configure = [
            *("cmake", "-S", str(ROOT), "-B", str(build), *generator),
            *("-DCMAKE_BUILD_TYPE=Release", "-DDIFFSIM_AMENT=OFF"),
            f"-DPython3_EXECUTABLE={sys.executable}",
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "_engine"], check=True)
        built = next(build.glob("_engine*.so"))
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built, out)


if os.environ.get("DIFFSIM_ENGINE_BUILT") == "1":
    setup()
else:
    engine = Extension("diffsim_ros._engine", sources=[])
    setup(ext_modules=[engine], cmdclass={"build_ext": CMakeBuild})
