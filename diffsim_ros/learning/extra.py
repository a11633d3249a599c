"""The optional packages of this room: imported when asked for, named plainly when absent."""

from __future__ import annotations

import importlib
from typing import Any

from diffsim_ros.errors import InputError

PACKAGES = {"gymnasium": "Gymnasium", "torch": "PyTorch", "stable_baselines3": "Stable-Baselines3"}


def require(module: str) -> Any:
    """The module; InputError naming the extra where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = PACKAGES[module.partition(".")[0]]
        remedy = "pip install gymnasium torch stable-baselines3 (extra learning)"
        raise InputError("learning", name, str(error), f"{name} installed", remedy) from error
