"""Ctrl-C in a long call of the engine, from a program or a notebook."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from diffsim_ros import _engine

T = TypeVar("T")


def interruptible(work: Callable[[_engine.CancelToken], T]) -> T:
    """work(token), which releases the interpreter lock; Ctrl-C cancels it and is raised.

    Python sees a signal in its main thread alone, and only between two of its instructions: so
    there the work goes to a thread of its own.
    """
    token = _engine.CancelToken()
    if threading.current_thread() is not threading.main_thread():
        return work(token)
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work(token))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="diffsim rollout")
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        token.cancel()
        thread.join()
        raise
