"""Heat of a command line that the user gives."""

import shlex
import shutil
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.heat.process import ProcessHeater


def command_heater(command: str, log: Path) -> ProcessHeater:
    """Return the heater of a command line, which is split as a shell does but run without one.

    It is the user's own: its program is found on the user's PATH, and it is given that.
    """
    words = shlex.split(command)
    path = shutil.which(words[0])
    if path is None:
        raise UsageError(f"the command '{words[0]}' is not there, or cannot be run: give its path")
    return ProcessHeater([path, *words[1:]], log, is_users=True)
