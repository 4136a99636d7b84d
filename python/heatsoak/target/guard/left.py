"""Remembers what heatsoak itself left on a target, so that its next run need not ask for it.

A file for each target, beside the locks, holds the digest of all that was read of it when a run
ended. It counts for exactly that: what was formatted or filled since, and what a killed run left,
reads otherwise.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.target.guard.data import Data
from heatsoak.target.own_directory import private_directory


def unknown(name: str, data: Data) -> Data | None:
    """Return `data` if somebody else may have put it on the target `name`; None if nobody has."""
    if data.first is None:
        return None
    with suppress(OSError, ToolError):
        if _file(name).read_text("ascii", "replace") == data.digest:
            return None
    return data


def remember(name: str, data: Data) -> None:
    """Remember what a run has left on the target `name`."""
    with suppress(OSError, ToolError):  # then the next run asks
        _file(name).write_text(data.digest, "ascii")


def _file(name: str) -> Path:
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return private_directory() / f"heatsoak-left-{digest}"
