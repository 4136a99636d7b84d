"""Where recordings are made, and what a run that may be resumed has left there."""

import time
from itertools import count
from pathlib import Path

from heatsoak import errors, recording, system, writing
from heatsoak.files import free_path
from heatsoak.protocol import ROLES
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET, RESERVE
from heatsoak.target import Note

#: Where recordings are made whose place was not named.
PARENT = Path("recordings")

_FILES = (recording.META, JOURNAL, EVENTS, PARQUET, RESERVE)
#: What a run that is killed at once leaves: nothing in the first ones.
_EMPTY = (JOURNAL, EVENTS)
_BEFORE = (*_EMPTY, RESERVE)


def default_directory(name: str) -> Path:
    """Return a directory that does not exist yet, named after protocol and time."""
    return free_path(PARENT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")


def started_in(directory: Path) -> recording.Recording | None:
    """Return the recording that was started in `directory`; None where none was.

    Raises UsageError where something else is there, or it cannot be made, RefusedError where it is
    still being written.
    """
    writing.require_creatable(directory)
    if recording.is_being_written(directory):
        raise errors.RefusedError(
            f"{directory}: another run is recording there: wait for it, or end it, before --resume"
        )
    if directory.is_dir():
        with writing.Directory(directory) as place:
            place.sweep()  # of a run that was killed while it wrote
    if (directory / recording.META).exists():
        return recording.Recording.open(directory)
    if directory.exists() and (other := _foreign(directory)) is not None:
        raise errors.UsageError(
            f"{directory}: {other}, and there is no recording that --resume could continue: name "
            "the directory of one with -o"
        )
    return None


def _foreign(directory: Path) -> str | None:
    """What is in a directory that no run of ours has left there before its recording started."""
    if not directory.is_dir():
        return "is a file"
    for path in sorted(directory.iterdir()):
        if path.name not in _BEFORE or not path.is_file():
            return f"holds {path.name}"
        if path.name in _EMPTY and path.stat().st_size > 0:
            return f"holds {path.name}"
    return None


def clear(directory: Path) -> None:
    """Remove what a recording is made of, so that it can be made again from the start."""
    # what says that it is one goes last: killed in between, it is one still
    for name in reversed(_FILES):
        system.remove(directory / name)


def require_copy(directory: Path) -> None:
    """Raise UsageError where `directory` holds anything but the recordings of a copy."""
    if not directory.exists():
        return
    names = [path.name for path in sorted(directory.iterdir())] if directory.is_dir() else []
    others = [name for name in names if name not in ROLES]
    if others or not directory.is_dir():
        what = f"holds {others[0]}, and is" if others else "is"
        raise errors.UsageError(
            f"{directory}: {what} no copy that --resume could make again: name the directory "
            "of one with -o"
        )


def set_aside(directory: Path) -> Note:
    """Rename what was recorded of a copy, so that it is kept beside; return what to record of it.

    Raises ToolError where the directory cannot be renamed.
    """
    names = (recording.attempt_name(directory.name, number) for number in count(1))
    kept = next(path for name in names if not (path := directory.with_name(name)).exists())
    with errors.saying(f"{directory}: cannot be set aside as {kept}"):
        directory.rename(kept)
    text = (
        "an earlier run of this copy was cut short: everything is repeated; the earlier one is in "
        f"{kept}"
    )
    return Note("warning", text)


def chosen(output: Path | None, name: str, *, resume: bool) -> Path:
    """Return where a run of protocol `name` is recorded: `output`, if the user gave that.

    Raises UsageError where that cannot be, or there is nothing to `resume`.
    """
    if output is None:
        return _latest_unfinished(name) if resume else default_directory(name)
    writing.require_creatable(output)
    if resume and not output.exists():
        raise errors.UsageError(
            f"{output}: there is nothing to resume: name the directory of a run with -o, or leave "
            "--resume out to begin one"
        )
    # below the current directory what is not there is made; elsewhere its name is a mistake
    if output.is_absolute() and not output.parent.exists():
        raise errors.UsageError(
            f"{output}: there is no directory {output.parent}: make it, or name another with -o"
        )
    return output


def _latest_unfinished(name: str) -> Path:
    """The directory of the last run of protocol `name`, which was cut short."""
    stems = sorted(PARENT.glob(f"{name}-[0-9]*"), reverse=True) if PARENT.is_dir() else []
    # copies that were made again are kept beside it, with a number behind this
    for directory in (stem for stem in stems if "~" not in stem.name):
        metas = [directory / recording.META, *directory.glob(f"*/{recording.META}")]
        recordings = [recording.Recording.open(meta.parent) for meta in metas if meta.exists()]
        if all(r.meta.protocol.name == name for r in recordings):
            if recordings and all(r.meta.status == "finished" for r in recordings):
                break
            return directory
    raise errors.UsageError(
        f"--resume: the last run of {name} in {PARENT} is finished, or there is none: name the "
        "directory of the one that was cut short with -o"
    )
