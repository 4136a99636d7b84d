"""Lists what can be tested: the drives of this machine, and the simulated ones."""

from collections.abc import Iterator

from heatsoak import system
from heatsoak.catalog import drive_ids, load_drive
from heatsoak.sensor import drive_sensors
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo, DriveRow, list_devices

#: RAM disks, which are not listed.
_IN_MEMORY = ("zram", "ram")


def inventory(roots: Roots | None = None) -> list[DriveRow]:
    """Return the drives of this machine, where that is Linux, then the simulated ones."""
    return [*(_real(roots or Roots()) if system.IS_LINUX else ()), *simulated()]


def _real(roots: Roots) -> Iterator[DriveRow]:
    for info in list_devices(roots):
        if not info.name.startswith(_IN_MEMORY):
            yield _row(info, roots)


def _row(info: DeviceInfo, roots: Roots) -> DriveRow:
    from heatsoak.target.guard import examine  # Linux only
    from heatsoak.target.guard.named import word_for

    reasons, data = examine(info.path, roots)
    name = info.erase_id or str(info.path)
    erase = None if reasons else word_for(name, data)
    empty = "it is empty, or as heatsoak left it, and not in use"
    return DriveRow(
        id=name,
        path=str(info.path),
        model=info.model,
        serial=info.serial,
        size_bytes=info.size_bytes,
        simulated=False,
        sensors=_columns(info, roots),
        writable=not reasons,
        why="; ".join(reasons) or f"{data or empty}; writing needs --erase {erase}",
        erase=erase,
    )


def _columns(info: DeviceInfo, roots: Roots) -> list[str]:
    sensors = drive_sensors(info.name, roots)
    try:
        return list(dict.fromkeys(column for one in sensors for column in one.info.columns))
    finally:
        for sensor in sensors:
            sensor.close()


def simulated() -> Iterator[DriveRow]:
    """Yield the drives of the catalog."""
    for drive_id in drive_ids():
        drive = load_drive(drive_id)
        yield DriveRow(
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
