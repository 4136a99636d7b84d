"""Which recording somebody is writing: its events are locked until the writer closes or dies."""

from io import FileIO
from pathlib import Path

from heatsoak.recording.layout import EVENTS


def hold(events: FileIO) -> bool:
    """Lock the open file of events; return False where another process has."""
    try:
        import fcntl
    except ImportError:  # Windows, where nothing is run, only imported
        return True
    try:
        fcntl.flock(events.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system that knows no locks
    return True


def is_written(directory: Path) -> bool:
    """Whether a process that lives writes a recording in `directory`."""
    try:
        if not (directory / EVENTS).is_file():
            return False  # to open a pipe would wait for its writer
        with (directory / EVENTS).open("rb", buffering=0) as events:
            return not hold(events)
    except OSError:
        return False
