"""What changes a drive for a run, ended in the middle of it: by a kill, or by a signal."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


def killed_after(change: Callable[[], object]) -> None:
    """Make a change in a process that is killed before it takes it back."""
    child = os.fork()
    if child == 0:
        try:
            kept = change()
            os.kill(os.getpid(), signal.SIGKILL)
            del kept
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)  # it must not go on as a second pytest
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


@contextmanager
def interrupted_by(number: int, check: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Have a signal end what is done within, after a check, as Ctrl-C does; it has to come."""

    def stop(_number: int, _frame: object) -> None:
        check()
        raise KeyboardInterrupt

    usual = signal.signal(number, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(number, usual)
