# The compiled engine (native/bindings), whose docstrings have its types.
from typing import Any

def __getattr__(name: str) -> Any: ...
