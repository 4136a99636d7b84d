"""Keeps signals for later, for what has to be whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keep signals until the end of the context.

    They are caught, not blocked: another thread would take a blocked one, and Python would raise
    it here all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are raised elsewhere
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _frame: came.append(got))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for got in came:
            signal.raise_signal(got)
