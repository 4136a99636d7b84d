"""What a copy that was cut has left: found, and kept beside while the copy is made again."""

from itertools import count
from pathlib import Path

from heatsoak.bench.directories import begun_in, clear
from heatsoak.errors import ToolError, UsageError
from heatsoak.protocol import ROLES, Role
from heatsoak.recording import Recording, attempt_name
from heatsoak.target import Note


def begun_in_both(directory: Path) -> dict[Role, Recording]:
    """Return the recordings that a copy has begun below `directory`, by their sides.

    Raises UsageError where something else is there, RefusedError where one is still written.
    """
    if directory.exists():
        names = [path.name for path in sorted(directory.iterdir())] if directory.is_dir() else []
        others = [name for name in names if name not in ROLES]
        if others or not directory.is_dir():
            what = f"holds {others[0]}, and is" if others else "is"
            raise UsageError(
                f"{directory}: {what} no copy that --resume could make again: name the directory "
                "of one with -o"
            )
    found = {role: begun_in(directory / role) for role in ROLES}
    return {role: recording for role, recording in found.items() if recording is not None}


def set_aside(directory: Path) -> list[Note]:
    """Give what was recorded a name of its own beside `directory`; return what is to be told.

    Raises ToolError where the directory cannot be renamed.
    """
    kept = next(
        path
        for number in count(1)
        if not (path := directory.with_name(attempt_name(directory.name, number))).exists()
    )
    try:
        directory.rename(kept)
    except OSError as error:
        raise ToolError(f"{directory}: cannot be set aside as {kept}: {error.strerror}") from error
    return [
        Note("warning", f"an earlier run of this copy was cut: all is made again; it is in {kept}")
    ]


def clear_both(directory: Path) -> None:
    """Remove what a copy leaves that is killed before its recordings begin."""
    for role in ROLES:
        clear(directory / role)
