"""``heatsoak trace``: statistics of recorded traces, and synthetic traces with such statistics."""

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from heatsoak._core import Trace
from heatsoak.analysis.trace_statistics import TraceStatistics
from heatsoak.analysis.traces import TraceCheck, compare_with_shape
from heatsoak.catalog import TraceShape, load_trace, trace_ids
from heatsoak.cli.common import (
    ForceOption,
    FormatOption,
    OutputFormat,
    console,
    limit_code,
    print_help_alone,
    progress_bar,
    show,
)
from heatsoak.errors import UsageError
from heatsoak.files import require_file
from heatsoak.recording.files import check_free, replacing
from heatsoak.report.trace import print_statistics, print_trace_check
from heatsoak.units import parse_seconds, parse_size
from heatsoak.words import number_text


class TraceFormat(StrEnum):
    """What ``--as`` takes."""

    FIO3 = "fio3"
    FIO2 = "fio2"
    MSR = "msr"
    BLKPARSE = "blkparse"

    @property
    def core(self) -> str:
        """Its name in `_core`."""
        return {"fio3": "iolog-v3", "fio2": "iolog-v2"}.get(self.value, self.value)


class Damaged(StrEnum):
    """What ``--damaged`` takes."""

    ERROR = "error"
    SKIP = "skip"


SHAPE_HELP = "A bundled shape (destroyer, heavy, light), or a shape's TOML file."
ShapeArgument = Annotated[str, typer.Argument(metavar="SHAPE", help=SHAPE_HELP)]
ScaleOption = Annotated[
    float, typer.Option("--scale", min=1e-9, max=1000, help="Multiply the number of I/Os by this.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**64 - 1, help="Random seed.")]
IdleLimitOption = Annotated[
    float,
    typer.Option(
        "--idle-limit",
        metavar="TIME",
        parser=parse_seconds,
        show_default="25ms",
        help="Truncate idle times to this.",
    ),
]
#: As in the replays of the articles that published statistics of traces.
_IDLE_LIMIT_S = 0.025

trace_app = typer.Typer(callback=print_help_alone, invoke_without_command=True)


@trace_app.command("stats")
def stats_command(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="FILE|SHAPE",
            help="A trace (fio iolog, blkparse text, MSR-Cambridge CSV) or a shape.",
        ),
    ],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    idle_limit_s: IdleLimitOption = _IDLE_LIMIT_S,
    damaged: Annotated[
        Damaged, typer.Option("--damaged", help="What to do with damaged lines of a file.")
    ] = Damaged.ERROR,
    span_bytes: Annotated[
        int | None,
        typer.Option(
            "--span",
            metavar="SIZE",
            parser=parse_size,
            help="The drive's size; I/O beyond it counts as damage.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME", help="Which drive to use, if the trace has several."
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> None:
    """Count a trace: sizes, queue depths, sequential share, idle time, service times."""
    if trace in trace_ids() or trace.endswith(".toml"):
        shape = load_trace(trace)
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
            lines = "1 line" if count == 1 else f"{count:,} lines"
            title += f", {lines} skipped, first line {line}: {why}"
    checked = TraceStatistics.model_validate(statistics).model_dump(mode="json")
    show(checked, output_format, lambda _, out: print_statistics(statistics, title, out))


@trace_app.command("make")
def make_command(
    shape: ShapeArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    trace_format: Annotated[
        TraceFormat, typer.Option("--as", help="Format of the file.")
    ] = TraceFormat.FIO3,
    force: ForceOption = False,
) -> None:
    """Write a synthetic trace of a shape, to replay it or for other tools."""
    trace = _synthesize(load_trace(shape), scale, seed)
    check_free([output], force=force, inputs=[Path(shape)])
    with replacing(output) as partial, progress_bar() as show:
        trace.write(str(partial), trace_format.core, progress=_progress(show, trace, shape))
    console().print(f"wrote {trace.ios:,} I/Os to {output}", soft_wrap=True)


@trace_app.command("check")
def check_command(
    shape: ShapeArgument,
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Compare a synthetic trace with its shape; exit 1 if any statistic differs."""
    wanted = load_trace(shape)
    statistics = _statistics(_synthesize(wanted, scale, seed), shape, _IDLE_LIMIT_S)
    rows = compare_with_shape(wanted, statistics, scale)
    holds = all(row.holds for row in rows)
    check = TraceCheck(shape=shape, scale=scale, seed=seed, holds=holds, rows=rows)
    title = _title(wanted, scale)
    show(check, output_format, lambda check, out: print_trace_check(check.rows, title, out))
    return limit_code(holds=holds)


def _synthesize(shape: TraceShape, scale: float, seed: int) -> Trace:
    try:
        return Trace.synthetic(shape.core_json(), scale=scale, seed=seed)
    except ValueError as error:
        raise UsageError(f"{shape.id}: {error}") from error


def _open(path: str, damaged: Damaged, span_bytes: int | None, device: str | None) -> Trace:
    if not Path(path).exists():
        raise UsageError(
            f"{path}: there is no such file or shape: shapes are {', '.join(trace_ids())}"
        )
    require_file(Path(path))
    try:
        return Trace.open(path, damaged=damaged.value, span_bytes=span_bytes, device=device)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _statistics(trace: Trace, name: str, idle_limit_s: float) -> dict[str, Any]:
    with progress_bar(stays=False) as show:
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
        show(done / total if total else 0.0, f"{name}: {done / 1e6:.1f} M I/Os")

    return report


def _title(shape: TraceShape, scale: float) -> str:
    scaled = "" if scale == 1 else f", scale {number_text(scale)}"
    return f"{shape.description or shape.id}{scaled}"
