"""Asks the person at the terminal, and waits for the answer."""

import select
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from heatsoak.errors import RunInterrupted
from heatsoak.output import print_err

_LOOK_S = 0.2
_GO_ON = "then press Enter (or type stop: the same command with --resume goes on later)"


def is_attended() -> bool:
    """Whether somebody can answer: standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


class Prompt:
    """Puts a question on standard error, with whatever else is shown there held back meanwhile."""

    def __init__(self, held_back: Callable[[], AbstractContextManager[None]]) -> None:
        """`held_back` gives what holds back the view of a run."""
        self._held_back = held_back

    def ask(self, wanted: str) -> None:
        """Return once `wanted` is said to be done; raises RunInterrupted for ``stop``."""
        with self._held_back():
            _forget_what_was_typed()
            while True:
                print_err(f"{wanted}; {_GO_ON}: ", end="")
                answer = _line()
                word = answer.strip().lower()
                if word == "stop" or not answer:  # the end of input
                    raise RunInterrupted("stopped")
                if not word:
                    return
                print_err(f"'{word}' is neither")


def _forget_what_was_typed() -> None:
    """Let go of what was typed before the question: it answers nothing."""
    import termios  # terminals elsewhere have none

    with suppress(termios.error):  # the terminal is gone
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _line() -> str:
    """Return a line of the terminal's, nothing where it has ended or is gone."""
    # Python answers no signal that comes just before it begins to wait in readline
    while not select.select([sys.stdin], [], [], _LOOK_S)[0]:
        pass
    try:
        return sys.stdin.readline()
    except OSError:
        return ""
