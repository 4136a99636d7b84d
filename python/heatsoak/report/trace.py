"""Tables of traces, in the form in which reviewers publish them."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from heatsoak.analysis.traces import TraceFigure
from heatsoak.output import Console, Text
from heatsoak.units import GIB
from heatsoak.words import duration_text, number_text, size_text

_DIRECTIONS = (("All", "all"), ("Reads", "reads"), ("Writes", "writes"))


def print_statistics(found: dict[str, Any], title: str, console: Console) -> None:
    """Print what `heatsoak trace stats` found."""
    console.print(Text(title, style="bold"), soft_wrap=True)
    _print_totals(found, console)
    _print_by_direction(found, console)
    _print_depth(found["depth"], console)
    _print_time(found, console)


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if at else "left", no_wrap=True)
    return table


def _print_totals(found: dict[str, Any], console: Console) -> None:
    table = _table("", "I/Os", "GB (10^9)", "GiB (2^30)")
    for heading, name in (("Reads", "read"), ("Writes", "write"), ("Trims", "trim")):
        if name == "trim" and not found["trims"]:
            continue
        moved = found[f"{name}_bytes"]
        table.add_row(
            heading, f"{found[f'{name}s']:,}", f"{moved / 1e9:,.2f}", f"{moved / GIB:,.2f}"
        )
    console.print(table)


def _print_by_direction(found: dict[str, Any], console: Console) -> None:
    sizes = found["size_pct"]
    console.print()
    table = _table("I/O size, %", *sizes["all"])
    for heading, name in _DIRECTIONS:
        table.add_row(heading, *(_number(share) for share in sizes[name].values()))
    console.print(table)
    console.print()
    service = found["service"]
    headings = ["", "Mean size", "Sequential, %", "Footprint"]
    if service is not None:
        headings += ["Mean service, us", ">10 ms, %", ">100 ms, %"]
    table = _table(*headings)
    footprint = {
        "all": found["footprint"]["bytes"],
        "reads": found["footprint"]["read_bytes"],
        "writes": found["footprint"]["write_bytes"],
    }
    for heading, name in _DIRECTIONS:
        size = found["mean_bytes"][name]
        cells = [
            "-" if size is None else f"{size / 1024:.1f} KiB",
            _number(found["sequential"]["pct"][name]),
            size_text(footprint[name]),
        ]
        if service is not None:
            cells += [
                _number(service[key][name])
                for key in ("mean_us", "over_10ms_pct", "over_100ms_pct")
            ]
        table.add_row(heading, *cells)
    console.print(table)


def _print_depth(depth: dict[str, Any] | None, console: Console) -> None:
    console.print()
    if depth is None:
        console.print("Queue depth is unknown: the trace does not say when I/Os completed.")
        return
    table = _table("Queue depth, %", *depth["pct"], "Mean", "Most")
    shares = (_number(share) for share in depth["pct"].values())
    table.add_row("All", *shares, f"{depth['mean']:.2f}", f"{depth['max']:,}")
    console.print(table)


def _print_time(found: dict[str, Any], console: Console) -> None:
    time, bursts, span = found["time"], found["bursts"], found["span"]
    busy = "" if time["busy_s"] is None else f"{duration_text(time['busy_s'])} busy, "
    ios = bursts["mean_ios"]
    limit_ms = number_text(time["idle_limit_s"] * 1e3)
    console.print()
    for line in (
        f"Takes {duration_text(time['duration_s'])}: {busy}{duration_text(time['idle_s'])} "
        f"idle in {time['pauses']:,} pauses; limited to {limit_ms} ms each, "
        f"{duration_text(time['idle_left_s'])} remain.",
        f"{bursts['count']:,} bursts of {'-' if ios is None else f'{ios:.2f}'} I/Os; one "
        f"{bursts['definition']}.",
        f"Addresses: {size_text(span['bytes'])} from byte {span['first_byte']:,}. Footprints "
        f"in grains of {found['footprint']['granularity_bytes'] // 1024:,} KiB.",
        f"Sequential: an I/O that {found['sequential']['definition']}.",
    ):
        console.print(Text(line), soft_wrap=True)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if abs(value) >= 0.05 or value == 0 else number_text(value, 2)


_GROUPS = {
    "totals": "Totals",
    "sizes": "I/O size",
    "depths": "Queue depth",
    "addresses": "Addresses",
    "time": "Time",
}


def print_trace_check(rows: Sequence[TraceFigure], title: str, console: Console) -> None:
    """Print the requested figures next to those of the trace."""
    console.print(Text(title, style="bold"), soft_wrap=True)
    table = _table("", "Asked", "Got", "Off, %", "")
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_row(Text(_GROUPS[group], style="italic"))
        table.add_row(
            f"  {_named(row.name)}",
            _figure(row.asked),
            _figure(row.got),
            "-" if row.off_pct is None else f"{row.off_pct:+.2f}",
            Text(row.note) if row.holds else Text("does not hold", style="red"),
        )
    table.columns[-1].justify = "left"
    console.print(table)
    console.print(_verdict(rows))


_UNITS = {"pct": "%", "gb": "GB", "gib": "GiB", "s": "s"}


def _named(name: str) -> str:
    stem, _, unit = name.rpartition("_")
    return f"{stem}, {_UNITS[unit]}" if stem else name


def _figure(value: float) -> str:
    if value == int(value) and abs(value) >= 1000:
        return f"{value:,.0f}"
    return number_text(value, 4) if abs(value) < 1000 else f"{value:,.2f}"


def _verdict(rows: Sequence[TraceFigure]) -> Text:
    failed = sum(not row.holds for row in rows)
    if failed:
        return Text(f"{failed} of {len(rows)} figures do not hold", style="red")
    near = sum(bool(row.note) for row in rows)
    if near:
        text = f"{len(rows) - near} of {len(rows)} figures hold within 1 %, the rest as closely as "
        return Text(text + "this few I/Os allow", style="green")
    return Text(f"all {len(rows)} figures hold within 1 %", style="green")
