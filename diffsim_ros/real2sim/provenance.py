"""Where a result comes from: files with their hashes, versions, kind of computer."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import scipy

from .. import __version__


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, "" if it cannot be read (a topic, say)."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def provenance(place: str, sources: Iterable[str]) -> dict:
    """Plain data that names every input and version."""
    return {
        "configuration": place,
        "data": [
            {"source": source, "sha256": file_hash(source) or None}
            for source in dict.fromkeys(sources)
        ],
        "diffsim_ros": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
        "platform": sys.platform,
    }
