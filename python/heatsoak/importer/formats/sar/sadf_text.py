"""`sadf`'s CSV (`-d`) and its tables of one value a line (`-p`)."""

from collections.abc import Sequence

from heatsoak.importer import sysstat
from heatsoak.importer.formats.sar.reports import ALL, RESTART, Reader, Table, table_of
from heatsoak.importer.formats.sar.runs import logs_of_words
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source


def take_csv(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Take the rows of CSV."""
    tables: list[tuple[Table, bool]] = []
    for number, line in source.lines():
        if line.startswith("#"):
            names = line.lstrip("# ").strip().split(";")
            if len(names) > 3 and names[2].strip() == "timestamp":
                tables = _csv_tables(names[3:])
                for table, _ in tables:
                    if table.kind in ("disk", "io"):
                        reader.headers.update(dict.fromkeys(names[3:]))
            continue
        words = line.strip().split(";")
        if len(words) < 4:
            if line.strip():
                reader.unread(number)
            continue
        lasted_s, time = sysstat.scaled(words[1], 1.0), words[2]
        if RESTART.match(words[3]):
            reader.restarts.append(time)
            continue
        if words[3].startswith("COM") or all(table.kind == "other" for table, _ in tables):
            continue
        if not _take_groups(reader, tables, words[3:], time, lasted_s):
            reader.unread(number)
    return logs_of_words(source, reader, options)


def _csv_tables(names: Sequence[str]) -> list[tuple[Table, bool]]:
    """Return the tables side by side in a header, and whether each is repeated (``[...]``)."""
    tables: list[tuple[Table, bool]] = []
    group: list[str] = []
    for name in names:
        if group and name.isupper() and name != "DEVICE":
            tables.append((table_of(group) or Table("other", len(group)), False))
            group = []
        group.append(name.removesuffix("[...]"))
        if name.endswith("[...]"):
            tables.append((table_of(group) or Table("other", len(group)), True))
            group = []
    if group:
        tables.append((table_of(group) or Table("other", len(group)), False))
    return tables


def _take_groups(
    reader: Reader,
    tables: Sequence[tuple[Table, bool]],
    words: Sequence[str],
    time: str,
    lasted_s: float,
) -> bool:
    """Take a row's tables; one with several that repeat is taken from its end and its begin."""
    at = 0
    for index, (table, repeats) in enumerate(tables):
        after = sum(other.width for other, _ in tables[index + 1 :])
        last = index == len(tables) - 1
        taken = 0
        while at + table.width <= len(words) - (0 if last else after):
            part = words[at : at + table.width]
            if taken and not last and not _fits(table, part):
                break
            if not reader.row(table, part, time, lasted_s):
                return False
            at += table.width
            taken += 1
            if not repeats:
                break
        if not taken:
            return False
    return at == len(words)


def _fits(table: Table, words: Sequence[str]) -> bool:
    """Whether a repeated table goes on here: numbers where it has numbers, a name of its kind."""
    item = words[table.item_at] if table.item_at is not None else ""
    if table.kind == "cpu" and not item.lstrip("-").isdecimal():
        return False
    return all(
        sysstat.is_number(word) for at, word in enumerate(words) if at != table.item_at
    ) and (table.kind != "disk" or not sysstat.is_number(item))


def pair_of(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the time and the header of a line of ``sadf -p``."""
    if len(words) != 6 or not words[1].lstrip("-").isdecimal():
        return None
    header = words[4]
    if header in sysstat.COLUMNS or header in ("%idle", "%iowait"):
        return words[2], header
    return None


def take_pairs(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Take lines of one value each."""
    idle: dict[int, float] = {}
    for number, line in source.lines():
        words = line.rstrip().split("\t")
        if len(words) > 3 and RESTART.match(words[3]):
            reader.restarts.append(words[2])
            continue
        pair = pair_of(words)
        if pair is None:
            if len(words) < 4 and line.strip():
                reader.unread(number)
            continue
        time, header = pair
        lasted_s, item = sysstat.scaled(words[1], 1.0), words[3]
        value = sysstat.scaled(words[5], 1.0)
        if value != value and not sysstat.is_number(words[5]):
            reader.unread(number)
            continue
        report = reader.number(time, lasted_s)
        if header in ("%idle", "%iowait"):
            if item == "all":
                idle[report] = idle.get(report, 0.0) + value
            continue
        name, scale = sysstat.COLUMNS[header]
        if item == "-" and name == "iops":
            continue
        reader.headers[header] = None
        device = ALL if item == "-" else item
        reader.devices.add(device, report, [(name, sysstat.scaled(words[5], scale))])
    for report, value in idle.items():
        reader.share("cpu_pct", report, 100.0 - value)
    return logs_of_words(source, reader, options)
