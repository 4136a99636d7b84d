"""What ``--on`` names, before it is touched: all that it can name, and a drive that was moved."""

import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heatsoak import catalog, errors, system
from heatsoak.protocol import Protocol
from heatsoak.sensor import Roots, drive_sensors
from heatsoak.target import base, device, memory
from heatsoak.units import Size

if TYPE_CHECKING:
    from heatsoak.target.hctm import Thresholds

PlaceKind = Literal["simulated", "directory", "file", "block", "nbd"]

_FORMS = "sim:DRIVE[@PLACE], a directory, a file, /dev/..., a serial, or nbd+unix:///?socket=PATH"


@dataclass(frozen=True)
class Place:
    """A target by its name.

    Attributes:
        text: as given by the user.
        drive: a simulated drive's id, or the path of its TOML file.
        enclosure: a simulated drive's enclosure, if the user named one.
        resumes: where the run is that is resumed on it, if one is.
    """

    text: str
    kind: PlaceKind
    drive: str = ""
    enclosure: str | None = None
    resumes: Path | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulated drive."""
        return self.kind == "simulated"

    @property
    def rated(self) -> catalog.Drive | None:
        """The specification of a simulated drive; None for a real one."""
        return catalog.load_drive(self.drive) if self.is_simulated else None

    def in_enclosure(self, enclosure: str | None) -> "Place":
        """Return the same simulated drive in `enclosure`, or in the drive's default one."""
        return replace(self, enclosure=enclosure or catalog.load_drive(self.drive).enclosure)

    def target(
        self,
        protocol: Protocol | None,
        *,
        erase_id: str | None = None,
        roots: Roots | None = None,
        raw_dir: Path | None = None,
        start_s: float = 0.0,
        file_bytes: int | None = None,
        thresholds: "Thresholds | None" = None,
    ) -> base.Target:
        """Return the target, not yet open, with the size that `protocol` wants.

        `raw_dir` is the directory for the tool's raw output. A real target's clock starts at
        `start_s`; `file_bytes` is the size of a test file that is made again. A simulated drive has
        `thresholds` from the start; those of a real one are set for a run.
        """
        if protocol is not None and any(step.spare == "hpa" for step in protocol.purges):
            raise errors.UsageError(
                f"{self.text}: spare = 'hpa' is no longer possible: leave it out, since what stays "
                "unwritten is spare area to the drive too"
            )
        if self.kind == "simulated":
            from heatsoak.target.simulated import SimulatedTarget

            assert self.enclosure is not None
            return SimulatedTarget(self.drive, self.enclosure, thresholds=thresholds)
        # fio and block devices need Linux; importing and judging do not
        from heatsoak.target import fio

        target: fio.FioTarget
        clock, path = base.MonotonicClock(start_s), Path(self.text)
        purges = set() if protocol is None else {step.method for step in protocol.purges}
        if self.kind != "block" and (impossible := purges - {"auto", "discard"}):
            raise errors.UsageError(
                f"{self.text}: cannot be purged by method '{min(impossible)}', which only works on "
                'whole drives (/dev/...): use method = "auto"'
            )
        file_size = Size(percent=100.0) if protocol is None else protocol.file_size
        again = file_bytes is not None
        if file_bytes is not None:
            file_size = Size(bytes=file_bytes)
        if self.kind == "nbd":
            target = fio.NbdTarget(self.text, erase_id)
        elif self.kind == "block":
            target = fio.BlockTarget(path, erase_id, roots=roots, purges=purges)
        elif self.kind == "file":
            target = fio.FileTarget(path, roots=roots)
        else:
            target = fio.DirectoryTarget(path, file_size, again=again, roots=roots)
        target.clock, target.raw_dir, target.resumes = clock, raw_dir, self.resumes
        return target

    def refuse_unsafe(
        self,
        *,
        writes: bool,
        erase_id: str | None,
        roots: Roots,
        before_reading: Callable[[], None] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Raise RefusedError if loading it could destroy something.

        Changes nothing, and opens nothing for writing. `before_reading` is called once all other
        checks have passed, before the drive is read. `warn` is told what would be lost although
        the user agrees.
        """
        if self.kind == "block":
            if writes:
                from heatsoak.target.guard import check  # Linux only

                path = Path(self.text)
                data = check(
                    path,
                    erase_id,
                    roots,
                    before_reading=before_reading,
                    resumes=self.resumes,
                )
                if data is not None:
                    warn(f"{path}: {data}; this run overwrites it")
            elif before_reading is not None:
                before_reading()
            return
        if self.is_simulated or not writes:
            return
        target = self.target(None, erase_id=erase_id, roots=roots)
        try:
            if self.kind != "directory":  # creating our own file does no harm
                for note in target.open(writes):
                    if note.level == "warning":
                        warn(note.text)
        finally:
            target.close()

    def size_bytes(self, protocol: Protocol | None, roots: Roots) -> int:
        """Return the size of the target for `protocol`, None for the largest that it can have."""
        rated = self.rated
        if rated is not None:
            return rated.user_bytes
        return self.target(protocol, roots=roots).identity.size_bytes

    def memory_note(self, roots: Roots) -> base.Note | None:
        """Return the warning that it lies in memory, where it does."""
        if self.kind not in ("directory", "file"):
            return None
        return memory.memory_note(Path(self.text), roots)

    def device_info(self, roots: Roots) -> device.DeviceInfo | None:
        """Return the underlying drive, if known."""
        if self.kind in ("simulated", "nbd"):
            return None
        return device.drive_behind(Path(self.text), roots)


def parse_place(text: str, roots: Roots | None = None) -> Place:
    """Return what `text` names: a target, or a drive by its name, serial or any id of ``drives``.

    Raises UsageError if it names nothing, or a real drive on a system that none is loaded on.
    """
    name = text.removeprefix("sim:")
    if name != text or (name.partition("@")[0] in catalog.drive_ids() and not Path(text).exists()):
        called, at, enclosure = name.partition("@")
        drive = catalog.drive_called(called)
        catalog.load_drive(drive)
        if at:
            catalog.load_enclosure(enclosure)
        return Place(f"sim:{drive}{at}{enclosure}", "simulated", drive, enclosure or None)
    system.require_linux(f"{text}: loading a real drive")
    if text.startswith(("nbd:", "nbd+unix:", "nbds:", "nbds+unix:")):
        return Place(text, "nbd")
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if (named := device.drive_called(text, roots or Roots())) is None:
            near = errors.suggestion(text, catalog.drive_ids(), likeness=0.8)
            if (like := catalog.like(text)) is not None and like.kind != "class":
                near = f" here; sim:{like.drive.id} simulates one"
            raise errors.UsageError(f"{text}: there is no such target{near}: {_FORMS}") from None
        return Place(str(named.path), "block")
    except OSError as error:
        raise errors.UsageError(f"{text}: cannot be examined: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        return Place(text, "directory")
    if stat.S_ISBLK(mode):
        return Place(text, "block")
    if stat.S_ISREG(mode):
        return Place(text, "file")
    raise errors.UsageError(f"{text}: is neither file, directory nor block device: {_FORMS}")


def drives_of(targets: list[base.Target]) -> base.Drives:
    """Return the drives of a run, all open: one, or a copy's two, both simulated or both real."""
    if len(targets) == 1:
        return base.Drives(*targets)
    from heatsoak.target.simulated import SimulatedPair, SimulatedTarget

    source, destination = targets
    if isinstance(source, SimulatedTarget) and isinstance(destination, SimulatedTarget):
        return SimulatedPair(source, destination)
    from heatsoak.target.fio import FioTarget  # Linux only
    from heatsoak.target.fio.target import FioPair

    assert isinstance(source, FioTarget)
    assert isinstance(destination, FioTarget)
    return FioPair(source, destination)


#: How long a drive may take to appear after it was plugged in.
APPEARS_S = 10.0
_LOOK_S = 0.5


def drive_at(place: Place, roots: Roots) -> device.DeviceInfo | None:
    """Return the drive at `place`, or None if it is unknown or gone."""
    try:
        return place.device_info(roots)
    except (errors.UsageError, OSError):
        return None


def found_again(
    place: Place, before: device.DeviceInfo | None, roots: Roots, *, appears_s: float = APPEARS_S
) -> Place:
    """Return where the drive `before`, which was at `place` at the start, is now.

    Raises RefusedError if it is missing, or another drive has taken its place.
    """
    if before is None:
        return place
    # the name of a partition does not say where its disk is now
    was_whole = Path(place.text).resolve().name == before.name
    end_s = time.monotonic() + appears_s
    while True:
        here = drive_at(place, roots)
        if here is not None and _is_same(here, before):
            return place
        if place.kind == "block" and was_whole and _name_of(before) is not None:
            found = [one for one in device.list_devices(roots) if _is_same(one, before)]
            if len(found) == 1:
                return replace(place, text=str(found[0].path))
        if time.monotonic() >= end_s:
            break
        time.sleep(_LOOK_S)
    what = f"the drive {before.erase_id or before.name} that this started with"
    seen = "" if here is None else f", but there is {here.erase_id or here.name}"
    raise errors.RefusedError(f"{place.text}: {what} is missing{seen}: nothing was written to it")


def _name_of(info: device.DeviceInfo) -> str | None:
    """The serial, or another unique name of a drive; None without one."""
    return info.wwid if info.serial_shared_with else info.serial or info.wwid


def _is_same(here: device.DeviceInfo, before: device.DeviceInfo) -> bool:
    name = _name_of(before)
    if name is None:
        return _name_of(here) is None and (here.path, here.size_bytes) == (
            before.path,
            before.size_bytes,
        )
    # whether another drive shares its serial may have changed
    return name in (here.serial, here.wwid) and here.size_bytes == before.size_bytes


def inventory(roots: Roots | None = None) -> list[device.DriveRow]:
    """Return the drives of this machine, where that is Linux, then the simulated ones."""
    roots = roots or Roots()
    return [*(_row(info, roots) for info in real_drives(roots)), *simulated()]


def real_drives(roots: Roots) -> list[device.DeviceInfo]:
    """Return the drives of this machine that do not lie in memory; none where it is not Linux."""
    infos = device.list_devices(roots) if system.IS_LINUX else []
    return [info for info in infos if not info.name.startswith(memory.DISKS)]


def _row(info: device.DeviceInfo, roots: Roots) -> device.DriveRow:
    from heatsoak.target.guard import examine  # Linux only
    from heatsoak.target.guard.hold import word_for
    from heatsoak.target.guard.look import nothing_found

    reasons, data = examine(info.path, roots)
    columns: dict[str, None] = {}
    for sensor in drive_sensors(info.name, roots):
        columns |= dict.fromkeys(sensor.info.columns)
        sensor.close()
    name = info.erase_id or str(info.path)
    erase = None if reasons else word_for(name, data)
    held = data or nothing_found(info.size_bytes, is_whole=False)
    return device.DriveRow(
        id=name,
        path=str(info.path),
        model=info.model,
        serial=info.serial,
        size_bytes=info.size_bytes,
        simulated=False,
        sensors=list(columns),
        writable=not reasons,
        why="; ".join(reasons) or f"{held}; writing needs --erase {erase}",
        erase=erase,
    )


def simulated() -> Iterator[device.DriveRow]:
    """Yield the drives of the catalog."""
    for drive_id in catalog.drive_ids():
        drive = catalog.load_drive(drive_id)
        yield device.DriveRow(
            id=f"sim:{drive_id}",
            path=None,
            model=drive.model,
            serial=None,
            size_bytes=drive.user_bytes,
            simulated=True,
            sensors=["temp_c.composite"],
            writable=True,
            why="simulated: there is nothing to lose",
        )
