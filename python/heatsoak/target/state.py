"""Where heatsoak keeps what it has to know when it is started again, after a restart too."""

import os
from pathlib import Path

#: Environment variable for another directory.
STATE_VARIABLE = "HEATSOAK_STATE"
#: Where root's is.
ROOTS = Path("/var/lib/heatsoak")


def state_directory() -> Path:
    """Return the directory, which may not be there yet: the one set by the user, or their own."""
    chosen = os.environ.get(STATE_VARIABLE)
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return ROOTS
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "heatsoak"
