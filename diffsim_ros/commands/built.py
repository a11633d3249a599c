"""What the engine and the linear algebra below NumPy were built for.

Sums round differently with other instructions, so a motion that grows small differences ends
elsewhere on another machine; whoever compares figures has to know both.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

SYMBOLS = (
    "openblas_get_corename", "openblas_get_corename64_",
    "scipy_openblas_get_corename", "scipy_openblas_get_corename64_",
)  # fmt: skip
"""Names by which builds of OpenBLAS say which of their kernels they chose."""


def built_for() -> str:
    """In words, as `diffsim --version` and `./run test` print it."""
    try:
        from diffsim_ros import _engine

        engine = f"engine for {_engine.instruction_set()}"
    except ImportError:
        engine = "no engine is built"
    return f"{engine}, OpenBLAS kernel {openblas_kernel() or 'unknown'}"


def openblas_kernel() -> str:
    """Name of the kernel that NumPy's OpenBLAS runs here (Haswell, SkylakeX ...); "": unknown."""
    import numpy.linalg  # noqa: F401  loads the library

    try:
        mapped = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ""
    for library in dict.fromkeys(line.split()[-1] for line in mapped if "openblas" in line):
        loaded = ctypes.CDLL(library)
        for symbol in SYMBOLS:
            if hasattr(loaded, symbol):
                function = getattr(loaded, symbol)
                function.restype = ctypes.c_char_p
                return (function() or b"").decode()
    return ""
