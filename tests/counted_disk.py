"""A disk whose counters a test moves, and a watch of it."""

from pathlib import Path

from heatsoak.bench.watch import DriveWatch
from heatsoak.target.device import describe_device
from machine import Machine

SECTOR = 512


class CountedDisk:
    """An NVMe drive on a machine of its own."""

    def __init__(self, base: Path) -> None:
        self.machine = Machine(base)
        self.controller, self.directory = self.machine.nvme(0, "0000:01:00.0", "S1")
        self.stat = self.directory / "stat"
        self.counts = [0] * 17
        self.put()

    def put(self) -> None:
        # in place, as the kernel does: the descriptor stays good
        with self.stat.open("r+" if self.stat.exists() else "w") as file:
            file.write(" ".join(f"{count:12d}" for count in self.counts) + "\n")

    def move(self, way: str, ios: int, size: int, spent_ms: int = 0, busy_ms: int = 0) -> None:
        place = 0 if way == "read" else 4
        self.counts[place] += ios
        self.counts[place + 2] += ios * size // SECTOR
        self.counts[place + 3] += spent_ms
        self.counts[9] += busy_ms
        self.counts[10] += spent_ms
        self.put()

    def watch(self, directory: Path, interval_s: float = 0.1, **conditions: str) -> DriveWatch:
        roots = self.machine.roots
        device = describe_device("nvme0n1", roots)
        return DriveWatch(
            device=device,
            directory=directory,
            conditions={**conditions},
            roots=roots,
            interval_s=interval_s,
        )
