"""fTetWild in a process and folder of its own: it leaves files where it runs, and may crash.

python -m diffsim_ros.scene.tetwild IN.npz OUT.npz EDGE_SHARE
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

Array = np.ndarray


def tetrahedralize(vertices: Array, triangles: Array, share: float) -> tuple[Array, Array]:
    """Vertices (n, 3) and tets (m, 4), positive; `share` of the bounding diagonal is the edge.

    Raises RuntimeError with the last line that fTetWild printed.
    """
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with tempfile.TemporaryDirectory(prefix="diffsim-tetwild-") as folder:
        given, found = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(given, vertices=vertices, triangles=triangles)
        command = [sys.executable, "-m", __name__, str(given), str(found), repr(share)]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode or not found.is_file():
            output = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            raise RuntimeError(output[-1] if output else f"it ended with code {done.returncode}")
        with np.load(found) as mesh:
            return mesh["vertices"], mesh["tets"]


def main(given: str, found: str, share: str) -> None:
    """Read, mesh, write."""
    import pytetwild

    with np.load(given) as surface:
        vertices, tets = pytetwild.tetrahedralize(
            surface["vertices"],
            surface["triangles"],
            edge_length_fac=float(share),
            optimize=True,
            num_threads=1,
            loglevel=6,
        )
    tets = np.asarray(tets, np.int64)[:, [0, 1, 3, 2]]  # fTetWild's are negative
    np.savez(found, vertices=np.asarray(vertices, float), tets=tets)


if __name__ == "__main__":
    main(*sys.argv[1:])
