"""``heatsoak lab trace``: statistics of recorded traces, and synthetic traces of such."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.table import Table

from heatsoak import catalog, units, words, writing
from heatsoak._core import Trace
from heatsoak.analysis import traces
from heatsoak.cli import common
from heatsoak.errors import UsageError
from heatsoak.files import require_file
from heatsoak.output import Console, Text, table_of
from heatsoak.recording.writer import check_free

#: What ``--as`` takes whose name in `_core` is another.
_CORE_NAMES = {"fio3": "iolog-v3", "fio2": "iolog-v2"}


#: As in the replays of the articles that published statistics of traces.
_IDLE_LIMIT_S = 0.025


def trace_command(
    trace: Annotated[
        str,
        common.argument(
            "FILE|SHAPE",
            "A trace (fio's, blkparse's, MSR's), destroyer, heavy, light, or a shape's TOML file.",
            offers=catalog.trace_ids,
        ),
    ],
    output: Path | None = common.option(
        "--output -o FILE", "Write the trace, instead of statistics.", default=None
    ),
    trace_format: Literal["fio3", "fio2", "msr", "blkparse"] = common.option(
        "--as", "Format of that file.", default="fio3"
    ),
    force: common.ForceOption = False,
    check: bool = common.option(
        "--check", "Exit 1 if a trace differs from its shape.", default=False
    ),
    scale: float = common.option(
        "--scale", "Multiply the number of a shape's I/Os by this.", min=1e-9, max=1000, default=1.0
    ),
    seed: int = common.option(
        "--seed", "Random seed of a shape's trace.", min=0, max=2**64 - 1, default=0
    ),
    idle_limit_s: float = common.option(
        "--idle-limit TIME",
        "Truncate idle times to this.",
        reads=units.parse_seconds,
        show_default="25ms",
        is_rare=True,
        default=_IDLE_LIMIT_S,
    ),
    damaged: Literal["error", "skip"] = common.option(
        "", "What to do with damaged lines of a file.", is_rare=True, default="error"
    ),
    span_bytes: int | None = common.option(
        "--span SIZE",
        "The drive's size; I/O beyond it counts as damage.",
        reads=units.parse_size,
        is_rare=True,
        default=None,
    ),
    device: common.DeviceOption = None,
    output_format: common.FormatOption = "text",
) -> int:
    """A trace is a file, or made of a shape: the statistics published of one."""
    shape = None
    if trace in catalog.trace_ids() or trace.endswith(".toml"):
        shape = catalog.load_trace(trace)
        made, title = _synthesize(shape, scale, seed), _title(shape, scale)
    else:
        made = _open(trace, damaged, span_bytes, device)
        if scale != 1.0 or seed != 0 or check:
            raise UsageError(f"--scale, --seed and --check are for shapes, and {trace} is none")
        title = f"{trace} ({made.format})"
    if output is not None:
        if check or output_format == "json":
            raise UsageError("-o writes the trace alone: leave it out for --check and --format")
        _write(made, trace, output, trace_format, replace=force)
        return 0
    limit_s = _IDLE_LIMIT_S if check else idle_limit_s
    statistics = _statistics(made, trace, limit_s)
    if check and shape is not None:
        return _checked(shape, trace, statistics, scale, seed, output_format)
    if shape is None:
        title += _skipped(made, statistics)
    checked = traces.TraceStatistics.model_validate(statistics).model_dump(mode="json")
    common.show(checked, output_format, lambda _, out: print_statistics(statistics, title, out))
    return 0


def _skipped(trace: Trace, statistics: dict[str, Any]) -> str:
    """Add to statistics what a file had besides I/Os, and return it in words."""
    count, line, why = trace.skipped
    statistics |= {"format": trace.format}
    statistics |= {"skipped": {"count": count, "first_line": line, "why": why}}
    return f", {words.counted(count, 'line')} skipped, first line {line}: {why}" if count else ""


def _write(trace: Trace, name: str, output: Path, trace_format: str, *, replace: bool) -> None:
    check_free([output], force=replace, inputs=[Path(name)])
    with writing.output(output, replace=replace) as file, common.progress_bar() as show:
        as_core = _CORE_NAMES.get(trace_format, trace_format)
        said = _progress(show, trace, name)
        try:
            ios = trace.write(writing.path_to(file), as_core, progress=said)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error
    common.console().print(f"wrote {ios:,} I/Os to {output}", soft_wrap=True)


def _checked(
    shape: catalog.TraceShape,
    name: str,
    statistics: dict[str, Any],
    scale: float,
    seed: int,
    output_format: common.OutputFormat,
) -> int:
    rows = traces.compare_with_shape(shape, statistics, scale)
    off = [f"{row.name} differs" for row in rows if not row.holds]
    check = traces.TraceCheck(shape=name, scale=scale, seed=seed, holds=not off, rows=rows)
    title = _title(shape, scale)
    common.show(check, output_format, lambda check, out: print_trace_check(check.rows, title, out))
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
    """Print what `heatsoak lab trace` found."""
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
