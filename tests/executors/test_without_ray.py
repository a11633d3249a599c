"""What is said where Ray is not installed."""

import sys

import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.executors import RayExecutor, executor_of


def test_ray_is_asked_for_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError) as caught:
        executor_of("local")
    message = str(caught.value)
    assert "ray: address: got 'local'" in message and "pip install ray" in message
    with pytest.raises(InputError, match="HOST:PORT"):
        RayExecutor("nowhere")
