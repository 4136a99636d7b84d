"""``heatsoak trace``: what a recorded trace is like, and traces made to be like that."""

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from heatsoak._core import Trace
from heatsoak.analysis.traces import hold_against
from heatsoak.catalog import TraceShape, load_trace, trace_ids
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json, progress_bar
from heatsoak.errors import ToolError, UsageError, require_file
from heatsoak.report import print_statistics, print_trace_check
from heatsoak.units import parse_seconds, parse_size


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


SHAPE_HELP = "A bundled shape (destroyer, heavy, light), or a TOML file of one."
ShapeArgument = Annotated[str, typer.Argument(metavar="SHAPE", help=SHAPE_HELP)]
ScaleOption = Annotated[
    float, typer.Option("--scale", min=1e-9, max=1000, help="So many times the I/Os of the shape.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**64 - 1, help="Seed of chance.")]
IdleLimitOption = Annotated[
    str, typer.Option("--idle-limit", metavar="TIME", help="What idle time is cut to.")
]

trace_app = typer.Typer(
    help="Say what a trace of I/O is like, or make one that is like that.",
    no_args_is_help=True,
)


@trace_app.command("stats")
def stats_command(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="FILE|SHAPE",
            help="A trace: fio iolog, blkparse text, MSR-Cambridge CSV. Or a shape.",
        ),
    ],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    idle_limit: IdleLimitOption = "25ms",
    damaged: Annotated[
        Damaged, typer.Option("--damaged", help="What becomes of damaged lines of a file.")
    ] = Damaged.ERROR,
    span: Annotated[
        str | None,
        typer.Option("--span", metavar="SIZE", help="The drive's size; I/O past it is damage."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="The drive that is meant, of several in it."),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> None:
    """Count a trace: sizes, queue depths, sequential share, idle time, service times."""
    limit_s = _seconds(idle_limit, "--idle-limit")
    if trace in trace_ids() or trace.endswith(".toml"):
        shape = load_trace(trace)
        found = _statistics(_made(shape, scale, seed), trace, limit_s)
        title = _title(shape, scale)
    else:
        if scale != 1.0 or seed != 0:
            raise UsageError("--scale and --seed are for shapes: a file is counted as it is")
        opened = _opened(trace, damaged, span, device)
        found = _statistics(opened, trace, limit_s)
        count, line, why = opened.skipped
        found["format"] = opened.format
        found["skipped"] = {"count": count, "first_line": line, "why": why}
        title = f"{trace} ({opened.format})"
        if count:
            lines = "1 line" if count == 1 else f"{count:,} lines"
            title += f", {lines} skipped, first line {line}: {why}"
    if output_format is OutputFormat.JSON:
        print_json(found)
    else:
        print_statistics(found, title, console())


@trace_app.command("make")
def make_command(
    shape: ShapeArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; must be new.")
    ],
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    trace_format: Annotated[
        TraceFormat, typer.Option("--as", help="The format of the file.")
    ] = TraceFormat.FIO3,
) -> None:
    """Write a trace of a shape, for other tools or to be replayed."""
    made = _made(load_trace(shape), scale, seed)
    if output.exists():
        raise UsageError(f"{output}: is there already: name a new file with -o")
    with progress_bar() as show:
        try:
            made.write(str(output), trace_format.core, progress=_shown(show, made, shape))
        except OSError as error:
            raise ToolError(f"{output}: cannot be written: {error.strerror or error}") from error
        except BaseException:
            output.unlink(missing_ok=True)
            raise
    console().print(f"{made.ios:,} I/Os in {output}", soft_wrap=True)


@trace_app.command("check")
def check_command(
    shape: ShapeArgument,
    scale: ScaleOption = 1.0,
    seed: SeedOption = 0,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Hold a trace that is made against its shape: asked and got, exit 1 where one is not met."""
    asked = load_trace(shape)
    found = _statistics(_made(asked, scale, seed), shape, 0.025)
    rows = [row.as_dict() for row in hold_against(asked, found, scale)]
    holds = all(row["holds"] for row in rows)
    if output_format is OutputFormat.JSON:
        print_json({"shape": shape, "scale": scale, "seed": seed, "holds": holds, "rows": rows})
    else:
        print_trace_check(rows, _title(asked, scale), console())
    return int(not holds)


def _made(shape: TraceShape, scale: float, seed: int) -> Trace:
    try:
        return Trace.synthetic(shape.core_json(), scale=scale, seed=seed)
    except ValueError as error:
        raise UsageError(f"{shape.id}: {error}") from error


def _opened(path: str, damaged: Damaged, span: str | None, device: str | None) -> Trace:
    if not Path(path).exists():
        raise UsageError(
            f"{path}: there is no such file, nor a shape of that name: shapes are "
            f"{', '.join(trace_ids())}"
        )
    require_file(Path(path))
    try:
        span_bytes = None if span is None else parse_size(span)
    except ValueError as error:
        raise UsageError(f"--span: {error}") from error
    try:
        return Trace.open(path, damaged=damaged.value, span_bytes=span_bytes, device=device)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _statistics(trace: Trace, name: str, idle_limit_s: float) -> dict[str, Any]:
    with progress_bar(stays=False) as show:
        try:
            text = trace.statistics(idle_limit_s, progress=_shown(show, trace, name))
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error
    found: dict[str, Any] = json.loads(text)
    return found


def _shown(show: Callable[[float, str], None], trace: Trace, name: str) -> Callable[[int], None]:
    """Show how many I/Os are done, and where it is known how many there are, their part."""
    total = trace.ios

    def say(done: int) -> None:
        show(done / total if total else 0.0, f"{name}: {done / 1e6:.1f} M I/Os")

    return say


def _seconds(text: str, option: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def _title(shape: TraceShape, scale: float) -> str:
    scaled = "" if scale == 1 else f", scale {scale:g}"
    return f"{shape.description or shape.id}{scaled}"


def add_to(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(trace_app, name="trace")
