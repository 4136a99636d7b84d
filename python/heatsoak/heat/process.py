"""Heaters: their interface, and one that is a process: started, watched, and ended with all that it
started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from heatsoak.errors import ToolError, UsageError
from heatsoak.heat import keeper
from heatsoak.tools import environment, which

#: Puts a line to the person at the terminal, and returns once it was answered with Enter.
Ask = Callable[[str], None]


class Heater(Protocol):
    """One source of heat. Made only where it can be commanded."""

    def describe(self) -> dict[str, Any]:
        """Return what it is, as the recording has it, JSON values only."""

    def notes(self) -> list[str]:
        """Return what whoever reads the recording must know of this source."""

    def start(self) -> None:
        """Begin to heat; raises ToolError where that cannot be done."""

    def why_ended(self) -> str | None:
        """Return None while it heats, else why it does not any more."""

    def stop(self) -> None:
        """End the heat; may be called twice, and without a start."""


def program(*names: str, advice: str) -> str:
    """Return the path of the first of `names` that is installed.

    Raises UsageError, which says `advice`, where none is.
    """
    for name in names:
        path = which(name)
        if path is not None:
            return path
    raise UsageError(f"{names[0]} is not installed: {advice}")


#: A heater that cannot even begin tells so within this.
_BEGINS_S = 1.0
#: What the keeper may take beyond what it gives the heater to end by itself.
_FAREWELL_S = 2 * keeper.GRACE_S + 5.0
_TAIL_BYTES = 4096
_SHOWN = 300


class ProcessHeater:
    """A command line below a keeper of its own; see :mod:`heatsoak.heat.keeper`.

    Attributes:
        command: the program's path and its arguments.
        name: what it is called when it ends too soon.
        log: where its output is kept.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        busy_pct: float = 100.0,
        directory: Path | None = None,
        name: str | None = None,
        notes: Sequence[str] = (),
        is_users: bool = False,
    ) -> None:
        """Start nothing yet; `busy_pct` is the share of the time in which it may run.

        A command that is the user's own has the user's PATH, any other that of our tools.
        """
        self.command = list(command)
        self.name = name or Path(command[0]).name
        self.log = log
        self._busy_pct = busy_pct
        self._directory = directory
        self._notes = list(notes)
        self._is_users = is_users
        self._setpriv = program("setpriv", advice="apt-get install util-linux")
        self._keeper: subprocess.Popen[bytes] | None = None
        self._why: str | None = None

    def describe(self) -> dict[str, Any]:
        """Return its command line, where its output is, and how it is held back."""
        told: dict[str, Any] = {"command": self.command, "output": self.log.name}
        return told if self._busy_pct == 100 else {**told, "busy_pct": self._busy_pct}

    def notes(self) -> list[str]:
        """Return what whoever reads the recording must know of it."""
        return self._notes

    def start(self) -> None:
        """Start it; raises ToolError where it ends at once."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        wanted = {
            # the kernel ends the command with its keeper, should that be killed
            "command": [self._setpriv, "--pdeathsig", "KILL", "--", *self.command],
            "log": str(self.log.absolute()),
            "busy_pct": self._busy_pct,
            "directory": None if self._directory is None else str(self._directory),
        }
        # keeper.py needs nothing but the standard library: neither packages nor the environment
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, json.dumps(wanted)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if self._is_users else environment(),
            start_new_session=True,  # Ctrl-C is ours to answer
        )
        with suppress(subprocess.TimeoutExpired):
            self._keeper.wait(_BEGINS_S)
        why = self.why_ended()
        if why is not None:
            raise ToolError(why)

    def why_ended(self) -> str | None:
        """Return None while it runs, else how it ended and the last that it said."""
        if self._why is None and self._keeper is not None and self._keeper.poll() is not None:
            self._why = self._how_ended(self._keeper)
        return self._why

    def stop(self) -> None:
        """End it and all that it started; raises ToolError where something of it stays."""
        if self._keeper is None:
            return
        assert self._keeper.stdin is not None
        with suppress(BrokenPipeError):
            self._keeper.stdin.close()
        assert self._keeper.stdout is not None
        try:
            is_gone = self._keeper.wait(_FAREWELL_S) != keeper.STAYS
        except subprocess.TimeoutExpired:
            is_gone = False
        self._keeper.stdout.close()
        self._keeper = None
        if not is_gone:
            raise ToolError(f"the heater {self.name} cannot be ended: look for it, and end it")

    def _how_ended(self, kept: "subprocess.Popen[bytes]") -> str:
        assert kept.stdout is not None
        told = kept.stdout.read().decode("utf-8", "replace").split()
        if kept.returncode != 0 and told:
            # killed, and with it the command; what that had started is in its group
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(told[0]), signal.SIGKILL)
        code = int(told[1]) if len(told) > 1 else None
        said = self._last_words()
        return f"{self.name} {_ending(code)}" + (f", and said: {said}" if said else "")

    def _last_words(self) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-3:])[-_SHOWN:]


def _ending(code: int | None) -> str:
    if code is None:
        return "was killed with its keeper"
    if code < 0:
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"ended with exit code {code}"
