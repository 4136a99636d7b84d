"""AIDA64's sensor log: lines about the machine, names, a row of units, rows."""

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.plain import read_table
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.tables.layout import Layout, layout_of
from heatsoak.importer.tables.quantity import meaning


def _recognises(source: Source) -> bool:
    if _is_html(source):
        return True
    layout = layout_of(source)
    return layout is not None and (_has_uptime(layout) or _names_itself(source, layout))


def _is_html(source: Source) -> bool:
    head = source.head[:4096].lstrip().lower()
    return head.startswith((b"<html", b"<!doctype html", b"\xef\xbb\xbf<")) and b"aida64" in head


def _has_uptime(layout: Layout) -> bool:
    roles = [found.column if (found := meaning(name)) else "" for name in layout.header[:3]]
    return roles == ["date", "time", "uptime"]


def _names_itself(source: Source, layout: Layout) -> bool:
    above = source.head_lines[: layout.line - 1]
    roles = {found.column for name in layout.header[:3] if (found := meaning(name))}
    return any("AIDA64" in line[:200] for line in above[:20]) and not roles.isdisjoint(
        ("date", "time", "uptime")
    )


def _read(source: Source, options: Options) -> list[Log]:
    layout = None if _is_html(source) else layout_of(source)
    if layout is None:
        raise source.error("is AIDA64's log as HTML: let it log to a CSV file")
    return read_table(source, layout, options, "aida64", begins_anew=True, is_crowded=True)


FORMAT = Format("aida64", "AIDA64's sensor log", _recognises, _read)
