"""Messages of any installed type from plain data (YAML) and back, without rosidl_runtime_py.

Types are named as in ROS: std_msgs/msg/String, std_srvs/srv/Trigger, or std_msgs/String where the
kind is known.
"""

from __future__ import annotations

import importlib
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest

LONGEST = 128
"""Entries of a sequence, and characters of a text, that are shown."""
INTEGER = re.compile(r"u?int(8|16|32|64)|octet|char")
SEQUENCE = re.compile(r"sequence<(.+?)(?:, (\d+))?>|(.+)\[(\d+)\]")
"""(type, bound) of sequences, (type, size) of arrays, as rclpy's messages name their types."""
TYPE = re.compile(r"([a-z]\w*)/(?:(msg|srv|action)/)?([A-Z]\w*)")


def type_of(name: str, kind: str) -> Any:
    """The class of a type; kind: msg, srv or action. Raises InputError for an unknown one."""
    match = TYPE.fullmatch(name)
    if match is None or match[2] not in (None, kind):
        raise InputError("type", "", name, f"PACKAGE/{kind}/NAME")
    package, _, last = match.groups()
    try:
        module = importlib.import_module(f"{package}.{kind}")
    except ImportError as error:
        raise InputError(
            "type", name, str(error), f"a package that is installed, with {kind}"
        ) from None
    if not hasattr(module, last):
        known = [word for word in dir(module) if word[0].isupper() and "_" not in word]
        raise InputError("type", name, last, f"a {kind} of {package}", nearest(last, known))
    return getattr(module, last)


def message_of(kind: type, values: object, place: str) -> Any:
    """A message with these values, the others at their defaults.

    values  field -> value, nested; None or an empty text: all defaults
    place   named in errors. Raises InputError for unknown fields and values that do not fit.
    """
    message = kind()
    if values in (None, ""):
        return message
    fields = message.get_fields_and_field_types()
    if not isinstance(values, Mapping):
        raise InputError(place, "", values, "a mapping of " + ", ".join(fields))
    for name, value in values.items():
        if name not in fields:
            raise InputError(place, name, value, "a field", nearest(name, fields))
        present = getattr(message, name)
        setattr(message, name, _value(fields[name], present, value, f"{place}.{name}"))
    return message


def _value(text: str, present: Any, value: object, place: str) -> Any:
    """A value for a field of the type `text`; present: what it holds now."""
    match = SEQUENCE.fullmatch(text)
    if match is not None:
        return _sequence(match, present, value, place)
    if text.startswith(("string", "wstring")):
        if not isinstance(value, str):
            raise InputError(place, "", value, "a text")
        return value
    if text == "boolean":
        if not isinstance(value, bool):
            raise InputError(place, "", value, "true or false")
        return value
    if INTEGER.fullmatch(text):
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(place, "", value, f"an integer ({text})")
        return bytes([value]) if text == "octet" else value
    if text in ("float", "double", "long double"):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise InputError(place, "", value, "a number")
        return float(value)
    return message_of(type_of(text, "msg"), value, place)


def _sequence(match: re.Match, present: Any, value: object, place: str) -> Any:
    inner, most, single, size = match.groups()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputError(place, "", value, f"a list of {inner or single}")
    if size is not None and len(value) != int(size):
        raise InputError(place, "", f"{len(value)} entries", f"{size} entries")
    if most is not None and len(value) > int(most):
        raise InputError(place, "", f"{len(value)} entries", f"at most {most} entries")
    entries = [_value(inner or single, None, one, f"{place}[{i}]") for i, one in enumerate(value)]
    if isinstance(present, np.ndarray):
        return np.array(entries, dtype=present.dtype)
    return entries


def plain(value: Any, longest: int = LONGEST) -> Any:
    """A message, or a value in one, as mappings, lists and scalars; cut after `longest`."""
    if hasattr(value, "get_fields_and_field_types"):
        fields = value.get_fields_and_field_types()
        return {name: plain(getattr(value, name), longest) for name in fields}
    if isinstance(value, bytes) and len(value) == 1:
        return value[0]
    if isinstance(value, (list, tuple, array, bytes, np.ndarray)):
        shown = [plain(one, longest) for one in value[:longest]]
        return [*shown, "..."] if len(value) > longest else shown
    if isinstance(value, str):
        return value if len(value) <= longest else value[:longest] + "..."
    return value.item() if isinstance(value, np.generic) else value
