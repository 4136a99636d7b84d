"""A machine's sysfs of our own, built as the kernel builds it."""

import os
import struct
from pathlib import Path

from heatsoak.sensor import Roots, drive_sensors


class Machine:
    """A machine's sysfs, built as the kernel builds it: directories, and links between them."""

    def __init__(self, base: Path) -> None:
        self.roots = Roots(sys=base / "sys", dev=base / "dev", proc=base / "proc")
        self.devices = self.roots.sys / "devices"
        for place in ("sys/block", "sys/class/hwmon", "sys/dev/block", "dev", "proc"):
            (base / place).mkdir(parents=True)

    def write(self, directory: Path, **files: object) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            data = value if isinstance(value, bytes) else f"{value}\n".encode()
            (directory / name).write_bytes(data)
        return directory

    def link(self, link: Path, to: Path) -> None:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(to, link.parent))

    def disk(self, parent: Path, name: str, number: str, gigabytes: int) -> Path:
        disk = self.write(
            parent / name, dev=number, size=gigabytes * 10**9 // 512, ro=0, removable=0
        )
        self.write(disk / "queue", rotational=0, logical_block_size=512)
        (disk / "holders").mkdir()
        (disk / "slaves").mkdir()
        self.link(self.roots.sys / "block" / name, disk)
        self.link(self.roots.sys / "dev" / "block" / number, disk)
        return disk

    def nvme(self, index: int, pci: str, serial: str, **link: object) -> tuple[Path, Path]:
        """Add an NVMe drive; return the directories of its controller and its namespace."""
        function = self.write(self.devices / "pci0000:00" / pci, **link)
        controller = self.write(
            function / "nvme" / f"nvme{index}",
            model="Samsung SSD 950 PRO 512GB               ",
            serial=f"{serial}      ",
            firmware_rev="1B0QBXX7",
        )
        self.link(controller / "device", function)
        disk = self.disk(controller, f"nvme{index}n1", f"259:{index}", 512)
        self.link(disk / "device", controller)
        return controller, disk

    def sata(self, letter: str, port: int, serial: str) -> Path:
        """Add a SATA drive; return the directory of its SCSI device."""
        place = self.devices / "pci0000:00" / "0000:00:17.0" / f"ata{port}"
        link = place / f"link{port}"
        self.write(link / "ata_link" / f"link{port}", sata_spd="6.0 Gbps")
        identify = bytearray(572)
        model = b"Samsung SSD 850 PRO 512GB".ljust(40)
        identify[60 + 54 : 60 + 94] = bytes(model[at ^ 1] for at in range(40))
        device = self.write(
            place / f"host{port}" / f"target{port}:0:0" / f"{port}:0:0:0",
            model="Samsung SSD 850 ",
            rev="EXM0",
            vpd_pg80=b"\x00\x80" + struct.pack(">H", 20) + serial.rjust(20).encode(),
            vpd_pg89=bytes(identify),
            wwid=f"t10.ATA     Samsung SSD 850 PRO 512GB    {serial}",
        )
        disk = self.disk(device / "block", f"sd{letter}", f"8:{(ord(letter) - 97) * 16}", 512)
        self.link(disk / "device", device)
        return device

    def hwmon(self, index: int, parent: Path, name: str, **files: object) -> Path:
        node = self.write(parent / "hwmon" / f"hwmon{index}", name=name, **files)
        self.link(node / "device", parent)
        self.link(self.roots.sys / "class" / "hwmon" / node.name, node)
        return node

    def temperatures(self, device: str) -> dict[str, float]:
        values: dict[str, float] = {}
        for sensor in drive_sensors(device, self.roots):
            values |= sensor.read()
            sensor.close()
        return {column: value for column, value in values.items() if column.startswith("temp_c.")}
