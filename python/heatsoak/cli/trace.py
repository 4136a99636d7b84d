"""``heatsoak lab trace``: statistics of recorded traces, and synthetic traces of such."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from heatsoak import catalog, units, words, writing
from heatsoak._core import Trace
from heatsoak.analysis import traces
from heatsoak.cli import common
from heatsoak.cli.commands import print_help_alone
from heatsoak.errors import UsageError
from heatsoak.files import require_file
from heatsoak.output import Console, Text, table_of
from heatsoak.recording.writer import check_free

#: What ``--as`` takes whose name in `_core` is another.
_CORE_NAMES = {"fio3": "iolog-v3", "fio2": "iolog-v2"}


SHAPE_HELP = "A bundled shape (destroyer, heavy, light), or a shape's TOML file."
ShapeArgument = Annotated[str, common.argument("SHAPE", SHAPE_HELP)]
ScaleOption = Annotated[
    float, common.option("--scale", "Multiply the number of I/Os by this.", min=1e-9, max=1000)
]
SeedOption = Annotated[int, common.option("--seed", "Random seed.", min=0, max=2**64 - 1)]
IdleLimitOption = Annotated[
    float,
    common.option(
        "--idle-limit TIME",
        "Truncate idle times to this.",
        reads=units.parse_seconds,
        show_default="25ms",
    ),
]
#: As in the replays of the articles that published statistics of traces.
_IDLE_LIMIT_S = 0.025

trace_app = typer.Typer(callback=print_help_alone, invoke_without_command=True)


@trace_app.command("stats")
def stats_command(
    trace: Annotated[
        str,
        common.argument(
            "FILE|SHAPE", "A trace (fio iolog, blkparse text, MSR-Cambridge CSV) or a shape."
        ),
    ],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    idle_limit_s: IdleLimitOption = _IDLE_LIMIT_S,
    damaged: Annotated[
        Literal["error", "skip"], common.option("", "What to do with damaged lines of a file.")
    ] = "error",
    span_bytes: Annotated[
        int | None,
        common.option(
            "--span SIZE",
            "The drive's size; I/O beyond it counts as damage.",
            reads=units.parse_size,
        ),
    ] = None,
    device: common.DeviceOption = None,
    output_format: common.FormatOption = "text",
) -> None:
    """Count a trace: sizes, queue depths, sequential share, idle time, service times."""
    if trace in catalog.trace_ids() or trace.endswith(".toml"):
        shape = catalog.load_trace(trace)
        statistics = _statistics(_synthesize(shape, scale, seed), trace, idle_limit_s)
        title = _title(shape, scale)
    else:
        if scale != 1.0 or seed != 0:
            raise UsageError("--scale and --seed only apply to shapes, not to trace files")
        opened = _open(trace, damaged, span_bytes, device)
        statistics = _statistics(opened, trace, idle_limit_s)
        count, line, why = opened.skipped
        statistics["format"] = opened.format
        statistics["skipped"] = {"count": count, "first_line": line, "why": why}
        title = f"{trace} ({opened.format})"
        if count:
            title += f", {words.counted(count, 'line')} skipped, first line {line}: {why}"
    checked = traces.TraceStatistics.model_validate(statistics).model_dump(mode="json")
    common.show(checked, output_format, lambda _, out: print_statistics(statistics, title, out))


@trace_app.command("make")
def make_command(
    shape: ShapeArgument,
    output: Annotated[Path, common.option("--output -o FILE", "File to write.")],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    trace_format: Annotated[
        Literal["fio3", "fio2", "msr", "blkparse"], common.option("--as", "Format of the file.")
    ] = "fio3",
    force: common.ForceOption = False,
) -> None:
    """Write a synthetic trace of a shape, to replay it or for other tools."""
    trace = _synthesize(catalog.load_trace(shape), scale, seed)
    check_free([output], force=force, inputs=[Path(shape)])
    with writing.output(output, replace=force) as file, common.progress_bar() as show:
        named = _CORE_NAMES.get(trace_format, trace_format)
        trace.write(writing.path_to(file), named, progress=_progress(show, trace, shape))
    common.console().print(f"wrote {trace.ios:,} I/Os to {output}", soft_wrap=True)


@trace_app.command("check")
def check_command(
    shape: ShapeArgument,
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    output_format: common.FormatOption = "text",
) -> int:
    """Compare a synthetic trace with its shape; exit 1 if any statistic differs."""
    wanted = catalog.load_trace(shape)
    statistics = _statistics(_synthesize(wanted, scale, seed), shape, _IDLE_LIMIT_S)
    rows = traces.compare_with_shape(wanted, statistics, scale)
    holds = all(row.holds for row in rows)
    check = traces.TraceCheck(shape=shape, scale=scale, seed=seed, holds=holds, rows=rows)
    title = _title(wanted, scale)
    common.show(check, output_format, lambda check, out: print_trace_check(check.rows, title, out))
    off = [f"{row.name} differs" for row in rows if not row.holds]
    return common.limit_broken(*off) if off else 0


def _synthesize(shape: catalog.TraceShape, scale: float, seed: int) -> Trace:
    try:
        return Trace.synthetic(shape.core_json(), scale=scale, seed=seed)
    except ValueError as error:
        raise UsageError(f"{shape.id}: {error}") from error


def _open(path: str, damaged: str, span_bytes: int | None, device: str | None) -> Trace:
    if not Path(path).exists():
        raise UsageError(
            f"{path}: there is no such file or shape: shapes are {', '.join(catalog.trace_ids())}"
        )
    require_file(Path(path))
    try:
        return Trace.open(path, damaged=damaged, span_bytes=span_bytes, device=device)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _statistics(trace: Trace, name: str, idle_limit_s: float) -> dict[str, Any]:
    with common.progress_bar(stays=False) as show:
        try:
            text = trace.statistics(idle_limit_s, progress=_progress(show, trace, name))
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error
    statistics: dict[str, Any] = json.loads(text)
    return statistics


def _progress(show: Callable[[float, str], None], trace: Trace, name: str) -> Callable[[int], None]:
    """Return a callback that shows how many I/Os are done, and the share of a known total."""
    total = trace.ios

    def report(done: int) -> None:
        show(done / total if total else 0.0, f"{name}: {words.number_text(done / 1e6, 2)} M I/Os")

    return report


def _title(shape: catalog.TraceShape, scale: float) -> str:
    scaled = "" if scale == 1 else f", scale {words.number_text(scale)}"
    return f"{shape.description or shape.id}{scaled}"


_known = partial(words.known_text, otherwise="-")
_DIRECTIONS = (("All", "all"), ("Reads", "reads"), ("Writes", "writes"))


def print_statistics(found: dict[str, Any], title: str, console: Console) -> None:
    """Print what `heatsoak lab trace stats` found."""
    console.print(Text(title, style="bold"), soft_wrap=True)
    _print_totals(found, console)
    _print_by_direction(found, console)
    _print_depth(found["depth"], console)
    _print_time(found, console)


def _table(*headings: str) -> Table:
    return table_of(*headings, numbers=headings[1:])


def _print_totals(found: dict[str, Any], console: Console) -> None:
    table = _table("", "I/Os", "GB (10^9)", "GiB (2^30)")
    for heading, name in (("Reads", "read"), ("Writes", "write"), ("Trims", "trim")):
        if name == "trim" and not found["trims"]:
            continue
        moved = found[f"{name}_bytes"]
        table.add_row(
            heading,
            f"{found[f'{name}s']:,}",
            words.number_text(moved / 1e9),
            words.number_text(moved / units.GIB),
        )
    console.print(table)


def _print_by_direction(found: dict[str, Any], console: Console) -> None:
    sizes = found["size_pct"]
    console.print()
    table = _table("I/O size, %", *sizes["all"])
    for heading, name in _DIRECTIONS:
        table.add_row(heading, *(_known(share) for share in sizes[name].values()))
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
            _known(size, lambda count: words.amount_text(count / 1024, "KiB")),
            _known(found["sequential"]["pct"][name]),
            words.size_text(footprint[name]),
        ]
        if service is not None:
            cells += [
                _known(service[key][name]) for key in ("mean_us", "over_10ms_pct", "over_100ms_pct")
            ]
        table.add_row(heading, *cells)
    console.print(table)


def _print_depth(depth: dict[str, Any] | None, console: Console) -> None:
    console.print()
    if depth is None:
        console.print("Queue depth is unknown: the trace does not say when I/Os completed.")
        return
    table = _table("Queue depth, %", *depth["pct"], "Mean", "Most")
    shares = (_known(share) for share in depth["pct"].values())
    table.add_row("All", *shares, words.number_text(depth["mean"]), f"{depth['max']:,}")
    console.print(table)


def _print_time(found: dict[str, Any], console: Console) -> None:
    time, bursts, span = found["time"], found["bursts"], found["span"]
    busy = "" if time["busy_s"] is None else f"{words.duration_text(time['busy_s'])} busy, "
    ios = bursts["mean_ios"]
    limit_ms = words.number_text(time["idle_limit_s"] * 1e3)
    console.print()
    for line in (
        f"Takes {words.duration_text(time['duration_s'])}: {busy}"
        f"{words.duration_text(time['idle_s'])} idle in {time['pauses']:,} pauses; "
        f"limited to {limit_ms} ms each, "
        f"{words.duration_text(time['idle_left_s'])} remain.",
        f"{bursts['count']:,} bursts of {_known(ios)} I/Os; one {bursts['definition']}.",
        f"Addresses: {words.size_text(span['bytes'])} from byte {span['first_byte']:,}. Footprints "
        f"in grains of {found['footprint']['granularity_bytes'] // 1024:,} KiB.",
        f"Sequential: an I/O that {found['sequential']['definition']}.",
    ):
        console.print(Text(line), soft_wrap=True)


_GROUPS = {
    "totals": "Totals",
    "sizes": "I/O size",
    "depths": "Queue depth",
    "addresses": "Addresses",
    "time": "Time",
}


def print_trace_check(rows: Sequence[traces.TraceFigure], title: str, console: Console) -> None:
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
            words.number_text(row.asked, 4),
            words.number_text(row.got, 4),
            _known(row.off_pct, lambda off_pct: words.signed_text(round(off_pct, 2))),
            Text(row.note) if row.holds else Text("does not hold", style="red"),
        )
    table.columns[-1].justify = "left"
    console.print(table)
    console.print(_verdict(rows))


_UNITS = {"pct": "%", "gb": "GB", "gib": "GiB", "s": "s"}


def _named(name: str) -> str:
    stem, _, unit = name.rpartition("_")
    return f"{stem}, {_UNITS[unit]}" if stem else name


def _verdict(rows: Sequence[traces.TraceFigure]) -> Text:
    failed = sum(not row.holds for row in rows)
    if failed:
        return Text(f"{failed} of {len(rows)} figures do not hold", style="red")
    near = sum(bool(row.note) for row in rows)
    if near:
        text = f"{len(rows) - near} of {len(rows)} figures hold within 1 %, the rest as closely as "
        return Text(text + "this few I/Os allow", style="green")
    return Text(f"all {len(rows)} figures hold within 1 %", style="green")
