"""Host controlled thermal management: the host chooses when an NVMe drive starts to throttle.

Only set on request, and restored however a run ends; no other setting of a drive is ever changed.
"""

import os
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from heatsoak import errors
from heatsoak.protocol import Label
from heatsoak.sensor import nvme_admin, sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme import ABSOLUTE_ZERO_C
from heatsoak.system import uninterrupted
from heatsoak.target import undo
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo
from heatsoak.words import temp_text

_SET_FEATURES = 0x09
#: Conditions of a run that are set on the drive for it.
SETTINGS = ("tmt1_c", "tmt2_c")
#: The options that set the same.
OPTIONS = "--tmt1 and --tmt2"


@dataclass(frozen=True)
class Thresholds:
    """The requested thresholds in C; None leaves one unchanged, 0 turns it off.

    Attributes:
        tmt1_c: where the drive starts to throttle lightly.
        tmt2_c: where it starts to throttle heavily.
    """

    tmt1_c: float | None = None
    tmt2_c: float | None = None

    @property
    def is_asked(self) -> bool:
        """Whether any threshold is requested."""
        return self.tmt1_c is not None or self.tmt2_c is not None

    def in_run(self, conditions: Mapping[str, Label]) -> "Thresholds":
        """Return what a run has: the conditions ``tmt1_c`` and ``tmt2_c`` count before the rest.

        Raises UsageError for conditions of those names that are no temperatures.
        """
        found = {}
        for key in SETTINGS:
            if (label := conditions.get(key)) is None:
                continue
            try:
                found[key] = float(label)
            except ValueError:
                raise errors.UsageError(
                    f"{key} = {label}: is no temperature in C, such as 70, or 0 for off"
                ) from None
        return replace(self, **found)


#: TMT1 and TMT2 in kelvin, 0 if off.
Kelvins = tuple[int, int]


def shown(kelvin: int) -> str:
    """Return a threshold as text: ``"70 C"`` or ``"off"``."""
    return temp_text(kelvin + ABSOLUTE_ZERO_C) if kelvin else "off"


def identity_of(directory: Path) -> tuple[str, str]:
    """Return a controller's serial and its number within the drive, by its sysfs directory.

    Its name does not identify it: controllers that come back get new numbers.
    """
    return sysfs.read_text(directory / "serial") or "", sysfs.read_text(directory / "cntlid") or ""


class NvmeController(nvme_admin.NvmeAdmin):
    """One open controller, whose thresholds can be set."""

    def __init__(self, directory: Path, roots: Roots) -> None:
        """Open the controller with the sysfs `directory`; raises OSError."""
        self.name = directory.name
        self.serial, self.number = identity_of(directory)
        super().__init__(roots.dev / self.name)

    def failing(self) -> AbstractContextManager[None]:
        """Turn system errors into ToolError."""
        return errors.saying(f"{self.name}: TMT1 and TMT2 cannot be read or set")

    def limits(self) -> tuple[int, int] | None:
        """Return the lowest and highest threshold in kelvin, 0 if unknown; None without HCTM."""
        attributes, lowest, highest = struct.unpack_from("<HHH", self.identify_controller(), 322)
        return (lowest, highest) if attributes & 1 else None

    def set(self, wanted: Kelvins) -> None:
        """Set both, until the controller is reset, and verify; raises ToolError, OSError."""
        nvme_admin.submit(
            self._fd,
            _SET_FEATURES,
            cdw10=nvme_admin.HOST_THERMAL_MANAGEMENT,
            cdw11=wanted[0] << 16 | wanted[1],
            ioctl=self._ioctl,
        )
        if (now := self.thermal_management()) != wanted:
            raise errors.ToolError(
                f"{self.name}: TMT1 and TMT2 were set to {shown(wanted[0])} and "
                f"{shown(wanted[1])}, but read {shown(now[0])} and {shown(now[1])}"
            )


def controllers(info: DeviceInfo, roots: Roots) -> list[Path]:
    """Return the sysfs directories of a drive's controllers; raises UsageError if it has none.

    There is usually one; each has its own thresholds.
    """
    disk = sysfs.directory_of_name(info.name, roots)
    found = [] if disk is None else sysfs.nvme_controllers(disk)
    if not found:
        raise errors.UsageError(
            f"{OPTIONS} only work on NVMe drives, but {info.name} is on {info.transport}"
        )
    return found


def check(info: DeviceInfo, wanted: Thresholds, roots: Roots) -> None:
    """Raise UsageError if the drive does not support the thresholds; changes nothing."""
    for directory in controllers(info, roots):
        try:
            controller = NvmeController(directory, roots)
        except OSError as error:
            raise errors.UsageError(
                f"{directory.name}: TMT1 and TMT2 cannot be set: {error.strerror} (run as root)"
            ) from error
        with closing(controller), controller.failing():
            target_of(controller, wanted)


def target_of(controller: NvmeController, wanted: Thresholds) -> Kelvins:
    """Return the thresholds to set; raises UsageError if not permitted by the drive, OSError."""
    limits = controller.limits()
    if limits is None:
        raise errors.UsageError(
            f"{controller.name}: has no host controlled thermal management (HCTM), so {OPTIONS} "
            "cannot be set on it"
        )
    now = controller.thermal_management()
    tmt1 = _kelvin("--tmt1", wanted.tmt1_c, now[0], limits)
    tmt2 = _kelvin("--tmt2", wanted.tmt2_c, now[1], limits)
    if tmt1 and tmt2 and tmt1 >= tmt2:
        raise errors.UsageError(
            f"{controller.name}: TMT1 would be {shown(tmt1)} and TMT2 {shown(tmt2)}: TMT1 must "
            "be lower (--tmt2 0 turns TMT2 off)"
        )
    return tmt1, tmt2


def _kelvin(option: str, wanted_c: float | None, now: int, limits: tuple[int, int]) -> int:
    if wanted_c is None:
        return now
    if wanted_c == 0:
        return 0
    kelvin = round(wanted_c - ABSOLUTE_ZERO_C)
    lowest, highest = limits[0] or 1, limits[1] or 0xFFFF
    if not lowest <= kelvin <= highest:
        raise errors.UsageError(
            f"{option} {wanted_c:g}: the drive permits {shown(lowest)} to {shown(highest)}"
            if limits[0] and limits[1]
            else f"{option} {wanted_c:g}: is not a possible temperature of a drive"
        )
    return kelvin


@contextmanager
def held(info: DeviceInfo, wanted: Thresholds, roots: Roots) -> Iterator[list[Note]]:
    """Set a drive's thresholds for the duration of the context; yields the notes to record.

    Raises UsageError if the drive does not permit them or another run has set them, ToolError if
    setting or restoring them fails.
    """
    with ExitStack() as stack:
        notes = []
        for directory in controllers(info, roots):
            with errors.saying(f"{directory.name}: cannot be opened"):
                controller = NvmeController(directory, roots)
            stack.callback(controller.close)
            notes.append(stack.enter_context(_held(controller, wanted)))
        yield notes


@contextmanager
def _held(controller: NvmeController, wanted: Thresholds) -> Iterator[Note]:
    names = (controller.serial, controller.number)
    plain = (re.sub(r"[^A-Za-z0-9._-]+", "_", name) or "none" for name in names)
    path = undo.STATE / f"hctm-{'-'.join(plain)}.json"
    another = f"{controller.name}: another run has set its TMT1 and TMT2: wait for that run"
    with undo.taken(path, another) as file:
        with controller.failing():
            before, after = controller.thermal_management(), target_of(controller, wanted)
        kept = undo.ThresholdsRecord(
            serial=controller.serial, cntlid=controller.number, before_k=before, set_k=after
        )
        mine: Kelvins | None = None  # until it is verified
        try:
            with uninterrupted(), controller.failing():
                # saved and synced before anything is changed
                os.pwrite(file, kept.model_dump_json(by_alias=True).encode(), 0)
                os.fsync(file)
                controller.set(after)
                mine = after
            yield _note(controller, before, after)
        except BaseException as error:
            why = _back(controller, before, mine, path)
            if why is not None and isinstance(error, errors.HeatsoakError):
                raise type(error)(f"{error}; {why}") from error
            raise
        if (why := _back(controller, before, mine, path)) is not None:
            raise errors.ToolError(why)


def _back(
    controller: NvmeController, before: Kelvins, mine: Kelvins | None, path: Path
) -> str | None:
    """Restore the thresholds; returns why that failed, or None.

    Leaves them alone if somebody else has changed `mine` since, or the drive was reset.
    """
    with uninterrupted():
        try:
            if mine is None or controller.thermal_management() == mine:
                controller.set(before)
        except (OSError, errors.ToolError) as error:
            return (
                f"{controller.name}: TMT1 and TMT2 could not be restored to {shown(before[0])} and "
                f"{shown(before[1])}: {error}; `{undo.COMMAND}` tries again"
            )
        path.unlink(missing_ok=True)
        return None


def _note(controller: NvmeController, before: Kelvins, after: Kelvins) -> Note:
    words = [
        f"{name} {shown(now)} (it was {shown(then)})"
        for name, then, now in zip(("TMT1", "TMT2"), before, after, strict=True)
    ]
    return Note(
        "info",
        f"{controller.name}: set for this run and restored after it: {', '.join(words)}",
        {"tmt_k": list(after), "tmt_before_k": list(before)},
    )


def left(serial: str | None = None) -> list[Note]:
    """Return notes on what killed runs left set; does not access any drive.

    On any drive, or only on the one with `serial`.
    """
    return [
        kept
        if isinstance(kept, Note)
        else undo.still_left(
            f"a killed run has changed {undo.WHAT} (drive {kept.serial!r}): `{undo.COMMAND}` "
            "restores it"
        )
        for _, kept in undo.left(serial)
    ]


def put_back(roots: Roots, *, serial: str | None = None) -> list[Note]:
    """Restore what killed runs left set; returns what was done, as warnings.

    On any drive, or only on the one with `serial`. What cannot be restored stays saved, and its
    note has ``data["is_left"]``.
    """
    return [
        kept if isinstance(kept, Note) else _put_back(path, kept, roots)
        for path, kept in undo.left(serial, removes=serial is None)
    ]


def _put_back(path: Path, kept: undo.ThresholdsRecord, roots: Roots) -> Note:
    before = kept.before
    what = f"TMT1 and TMT2 of the drive {kept.serial!r}, which a killed run had set"
    by_hand = f"nvme set-feature -f 0x10 -v {before[0] << 16 | before[1]:#x}"
    nvme = roots.sys / "class" / "nvme"
    places = ((nvme / name).resolve() for name in sysfs.names(nvme))
    # without a serial it cannot be identified
    found = [one for one in places if identity_of(one) == (kept.serial or None, kept.number)]
    try:
        if not found:
            raise errors.ToolError("it is missing")
        with closing(NvmeController(found[0], roots)) as controller:
            if controller.thermal_management() == kept.after:
                controller.set(before)
                done = f"were restored ({shown(before[0])}, {shown(before[1])})"
            else:
                done = "have been changed since and were left alone"
    except (OSError, errors.ToolError) as error:
        return undo.still_left(f"{what}, could not be restored: {error} (by hand: {by_hand})")
    path.unlink(missing_ok=True)
    return Note("warning", f"{what}, {done}")
