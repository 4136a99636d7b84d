"""`iostat -d` of macOS and the BSDs: disks side by side, a line for each report."""

from heatsoak.importer import sysstat
from heatsoak.importer.formats.iostat.reports import COMMAND, Reader, take_command
from heatsoak.importer.source import Source

_MACOS_OTHERS = frozenset(("tty", "cpu", "load", "average"))


def take_bsd(source: Source, reader: Reader) -> None:
    """`iostat -d` of the BSDs and macOS: disks side by side, a line for each report."""
    disks: list[tuple[str, int]] = []
    before, idle_at, width = "", -1, 0
    bad, first_bad = 0, 0
    for number, line in source.lines():
        words = line.split()
        if not words:
            continue
        if "KB/t" in words:
            disks = disks_of(before, line)
            idle_at = words.index("id") if "id" in words else -1
            width = len(words)
        elif disks and len(words) == width and all(map(sysstat.is_number, words)):
            reader.begin_report()
            for disk, at in disks:
                _, tps, rate = (sysstat.scaled(word, 1.0) for word in words[at : at + 3])
                bw_mb_s = rate * sysstat.COLUMNS["MB/s"][1]
                reader.row(disk, [("bw_mb_s", bw_mb_s), ("iops", tps)])
            reader.headers["MB/s"] = None
            if idle_at >= 0:
                reader.call.cpu_pct[-1] = 100.0 - sysstat.scaled(words[idle_at], 1.0)
        elif (command := COMMAND.search(line)) is not None:
            take_command(reader, command.group(1).split())
        elif disks and sysstat.is_number(words[0]):
            bad, first_bad = bad + 1, first_bad or number
        before = line
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")


def disks_of(names: str, header: str) -> list[tuple[str, int]]:
    """Return each disk's name and where its three values stand."""
    words = header.split()
    places = [at for at in range(len(words) - 2) if words[at : at + 3] == ["KB/t", "tps", "MB/s"]]
    disks = [name for name in names.split() if name not in _MACOS_OTHERS]
    return list(zip(disks, places, strict=True)) if len(disks) == len(places) else []
