"""Thresholds that are set for a run and put back after it, however it ends."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from heatsoak.errors import HeatsoakError, ToolError
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo
from heatsoak.target.hctm.feature import (
    Controller,
    Kelvins,
    Thresholds,
    controllers,
    shown,
    target_of,
)
from heatsoak.target.hctm.state import file_of, kept_of, locked
from heatsoak.target.uninterrupted import uninterrupted
from heatsoak.target.written_down import COMMAND, write


@contextmanager
def held(
    info: DeviceInfo,
    wanted: Thresholds,
    roots: Roots,
    *,
    ioctl: Ioctl | None = None,
    state: Path | None = None,
) -> Iterator[list[Note]]:
    """Set the thresholds of a drive for as long as the context lasts; gives what to record.

    Raises UsageError where the drive does not permit them or another run holds them, ToolError
    where it does not do as told, or they cannot be put back.
    """
    with ExitStack() as stack:
        notes = []
        for directory in controllers(info, roots):
            try:
                controller = Controller(directory, roots, ioctl)
            except OSError as error:
                raise ToolError(f"{directory.name}: cannot be opened: {error}") from error
            stack.callback(controller.close)
            notes.append(stack.enter_context(_held(controller, wanted, state)))
        yield notes


@contextmanager
def _held(controller: Controller, wanted: Thresholds, state: Path | None) -> Iterator[Note]:
    path = file_of(controller, state)
    with locked(path, controller) as file:
        with _told(controller):
            before, after = controller.thresholds(), target_of(controller, wanted)
        mine: Kelvins | None = None  # until it is known to be what was asked for
        try:
            with uninterrupted(), _told(controller):
                write(file, kept_of(controller, before, after).model_dump_json(by_alias=True))
                controller.set(after)
                mine = after
            yield _note(controller, before, after)
        except HeatsoakError as error:
            if (why := _back(controller, before, mine, path)) is not None:
                raise type(error)(f"{error}; {why}") from error
            raise
        except BaseException:
            _back(controller, before, mine, path)
            raise
        if (why := _back(controller, before, mine, path)) is not None:
            raise ToolError(why)


def _back(controller: Controller, before: Kelvins, mine: Kelvins | None, path: Path) -> str | None:
    """Put back what was there; returns why that failed.

    Not where somebody else has changed `mine` since, or the drive was reset.
    """
    with uninterrupted():
        try:
            if mine is None or controller.thresholds() == mine:
                controller.set(before)
        except (OSError, ToolError) as error:
            return (
                f"{controller.name}: TMT1 and TMT2 could not be put back to {shown(before[0])} and "
                f"{shown(before[1])}: {error}; `{COMMAND}` tries again"
            )
        path.unlink(missing_ok=True)
        return None


@contextmanager
def _told(controller: Controller) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"{controller.name}: TMT1 and TMT2 cannot be read or set: {error}"
        ) from error


def _note(controller: Controller, before: Kelvins, after: Kelvins) -> Note:
    words = [
        f"{name} {shown(now)} (it was {shown(then)})"
        for name, then, now in zip(("TMT1", "TMT2"), before, after, strict=True)
    ]
    return Note(
        "info",
        f"{controller.name}: set for this run and put back after it: {', '.join(words)}",
        {"tmt_k": list(after), "tmt_before_k": list(before)},
    )
