"""Results as one line of JSON, and back, digit for digit."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from ..errors import InputError

MARK = "$"
"""First character of a key that says what the entry was."""


def to_line(value: Any) -> str:
    """JSON without line ends; InputError for what is not plain data."""
    return json.dumps(_packed(value), separators=(",", ":"))


def from_line(text: str) -> Any:
    """What `to_line` was given; ValueError for anything else."""
    return _unpacked(json.loads(text))


def _packed(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_packed(one) for one in value]
    if type(value) is tuple:
        return {"$tuple": [_packed(one) for one in value]}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith(MARK) for key in value):
            return {key: _packed(one) for key, one in value.items()}
        return {"$dict": [[_packed(key), _packed(one)] for key, one in value.items()]}
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        array = np.asarray(value)
        kind = "$array" if isinstance(value, np.ndarray) else "$number"
        content = base64.b64encode(array.tobytes()).decode()
        return {kind: [array.dtype.str, list(array.shape), content]}
    rule = "numbers, texts, arrays, and lists, tuples and dicts of them"
    raise InputError("task", "result", value, rule, "return these, or give no folder")


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if len(value) != 1 or not kind.startswith(MARK):
        return {key: _unpacked(one) for key, one in value.items()}
    content = value[kind]
    if kind == "$tuple":
        return tuple(_unpacked(one) for one in content)
    if kind == "$dict":
        return {_unpacked(key): _unpacked(one) for key, one in content}
    if kind not in ("$array", "$number"):
        raise ValueError(f"{kind} is no kind of entry")
    name, shape, text = content
    flat = np.frombuffer(base64.b64decode(text, validate=True), np.dtype(name))
    array = flat.reshape(shape).copy()
    return array if kind == "$array" else array[()]
