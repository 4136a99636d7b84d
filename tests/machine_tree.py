"""A machine's sysfs with one NVMe drive in it, as files."""

from pathlib import Path

from heatsoak.sensor import Roots
from heatsoak.sensor.sysfs import number_of


def with_nvme(directory: Path, name: str = "nvme0", serial: str = "S1", number: str = "0") -> Roots:
    """Return a machine whose only drive carries the file system that `directory` lies on."""
    controller = directory / "sys" / "devices" / "pci0" / name
    disk = controller / "nvme0n1"
    disk.mkdir(parents=True)
    device_number = number_of(directory.stat().st_dev)
    for path, text in {
        controller / "serial": serial,
        controller / "cntlid": number,
        disk / "dev": device_number,
        disk / "size": "65536",
    }.items():
        path.write_text(f"{text}\n")
    for link, target in {
        disk / "device": controller,
        directory / "sys" / "block" / "nvme0n1": disk,
        directory / "sys" / "class" / "nvme" / name: controller,
        directory / "sys" / "dev" / "block" / device_number: disk,
    }.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    (directory / "dev").mkdir()
    (directory / "dev" / name).touch()
    return Roots(sys=directory / "sys", dev=directory / "dev", proc=directory / "proc")
