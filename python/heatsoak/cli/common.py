"""Options and output that several commands share.

Every command loads this, so what judges recordings is loaded only where it is used.
"""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from heatsoak import output, units, writing
from heatsoak.cli import completion
from heatsoak.cli.commands import RARE
from heatsoak.errors import ToolError, UsageError
from heatsoak.words import duration_text, number_text, percent_text

if TYPE_CHECKING:
    from pydantic import BaseModel

    from heatsoak.analysis import Findings
    from heatsoak.bench.falls import Limit
    from heatsoak.importer import Options
    from heatsoak.protocol import Protocol
    from heatsoak.recording import Recording

_Document = TypeVar("_Document")


def seconds_between(low: float, high: float = math.inf) -> Callable[[str | float], float]:
    """Return what reads an option's time, in s; its ValueError says what would be right."""

    def read(text: str | float) -> float:
        found_s = units.parse_seconds(text)
        if found_s < low:
            raise ValueError(f"'{text}' is less than {number_text(low)} s")
        if found_s > high:
            raise ValueError(f"'{text}' is more than {number_text(high)} s")
        return found_s

    return read


def _signed_seconds(text: str) -> float:
    sign = -1 if text.startswith("-") else 1
    return sign * units.parse_seconds(text.removeprefix("-"))


def drive_id(text: str) -> str:
    """Return the id or file of a simulated drive, which ``run --on`` has behind a ``sim:``."""
    from heatsoak.catalog import drive_called

    return drive_called(text.removeprefix("sim:"))


#: How a result is printed.
OutputFormat = Literal["text", "json"]


def option(
    words: str,
    help: str,
    *,
    reads: Any = None,
    offers: Any = None,
    is_rare: bool = False,
    default: Any = ...,
    **more: Any,
) -> Any:
    """Return an option of Typer's.

    Args:
        words: its names, and what stands for its value: "--output -o FILE"; without a name that of
            its parameter counts.
        help: what it does.
        reads: what reads its value; a ValueError says what would be right.
        offers: what completion offers.
        is_rare: only ``--help-all`` shows it.
        default: if it stands as its parameter's default; none in `Annotated`.
        more: as Typer's.
    """
    more["rich_help_panel"] = RARE if is_rare else None
    names = [word for word in words.split() if word.startswith("-")]
    metavar = words.removeprefix(" ".join(names)).strip() or None
    return typer.Option(
        default, *names, metavar=metavar, help=help, parser=reads, autocompletion=offers, **more
    )


def argument(metavar: str, help: str, *, offers: Any = None, default: Any = ...) -> Any:
    """Return an argument of Typer's, as :func:`option`."""
    return typer.Argument(default, metavar=metavar, help=help, autocompletion=offers)


FormatOption = Annotated[OutputFormat, option("--format", "Print a table, or one JSON document.")]
OutputOption = Annotated[Path | None, option("--output -o", "Output directory, new or empty.")]
FailOnOption = Annotated[
    Literal["throttle", "unknown", "any"] | None,
    option(
        "--fail-on",
        "Exit 1 if a step throttles or may have (throttle), if a step's verdict is unknown or "
        "nothing tells whether it throttles (unknown), or for both and any fall of throughput "
        "(any).",
    ),
]


def _limit_mb_s(text: str | float) -> float:
    """Read a rate; of one without a unit it is said what it is taken for."""
    found_mb_s = units.parse_rate_mb_s(text)
    if str(text).strip()[-1:].isdigit():
        output.announce(f"--fail-below {text}: is taken for {number_text(found_mb_s)} MB/s")
    return found_mb_s


FailBelowOption = Annotated[
    float | None,
    option("--fail-below RATE", "Exit 1 if a step's mean is lower: 500MB/s.", reads=_limit_mb_s),
]
EvidenceOption = Annotated[
    bool, option("--evidence", "Print every step's evidence, all notes, scores and sensors.")
]
DeviceOption = Annotated[str | None, option("--device NAME", "Which drive, if a log has several.")]
WindowOption = Annotated[
    float,
    option(
        "--window TIME",
        "Compute consistency over the last TIME of each step: 400s.",
        reads=seconds_between(2),
        is_rare=True,
    ),
]
ReferenceOption = Annotated[
    Path | None,
    option(
        "--reference RECORDING|FILE",
        "A recording or log of the drive whose speeds count as its full speeds.",
        is_rare=True,
    ),
]
RecordingsArgument = Annotated[
    list[Path],
    argument("RECORDING|FILE...", "Recordings, directories of recordings, or logs of other tools."),
]


def limit_option(names: str, what: str) -> Any:
    """Return an option for what ends a recording that is being made."""
    return option(
        f"{names} fall|throttle|TEMP",
        f"{what} with exit code 1 when throughput falls, when heat makes it fall, or above 75C...",
        reads=_limit,
        offers=completion.limits,
        default=None,
    )


def _limit(text: str | float) -> Limit:
    from heatsoak.bench.falls import read_limit  # takes a while to load

    return read_limit(text)


def _command(text: str | list[str]) -> list[str]:
    from heatsoak.bench.falls import read_command  # takes a while to load

    return read_command(text) if isinstance(text, str) else text


#: `report` takes the only condition that differs.
BY = option(
    "--by KEY",
    "What to compare by: a condition such as heatsink, slot or gpus, or the drive, model, "
    "protocol or file.",
    offers=completion.compared_by,
)
BaselineOption = Annotated[
    str | None,
    option(
        "--baseline VALUE",
        "The group that others are compared with; default: 'none', else the first.",
        offers=completion.baselines,
    ),
]
AnywayOption = Annotated[
    bool, option("--anyway", "Compare even runs that differ otherwise, with a warning.")
]
ForceOption = Annotated[bool, option("--force", "Overwrite existing files.")]
PowerSensorOption = Annotated[
    str | None,
    option(
        "--power-sensor NODE",
        "The hwmon node that measures the drive's power: ina226, or hwmon4/power1.",
        is_rare=True,
    ),
]
DamagedOption = Annotated[
    bool,
    option(
        "--damaged",
        "Also read what was changed after it was made, as far as it can be.",
        is_rare=True,
    ),
]
MetricsOption = Annotated[
    str | None,
    option(
        "--metrics ADDRESS:PORT",
        "Serve metrics for Prometheus here, or on a port of 127.0.0.1: 9101.",
        is_rare=True,
    ),
]
OnFallOption = Annotated[
    Any,
    option(
        "--on-fall COMMAND",
        "Run a program for each fall of throughput, with what is seen as JSON on standard input.",
        reads=_command,
        is_rare=True,
    ),
]
DryRunOption = Annotated[bool, option("--dry-run", "Say what would be written, for how long.")]
LabelOption = Annotated[
    list[str] | None,
    option("--set KEY=VALUE", "Label the recording: heatsink=none.", offers=completion.labels),
]


@dataclass(frozen=True)
class LogOptions:
    """How other tools' logs are read."""

    mapping: Annotated[
        list[str] | None,
        option("--map COLUMN=HEADER", "Map headers of a table: time=Zeit,write_mb_s=Schreiben."),
    ] = None
    device: DeviceOption = None
    shift_s: Annotated[
        float | None,
        option(
            "--shift TIME",
            "Shift temperature logs by TIME against the load, instead of matching clocks: "
            "-3s; with --power, shift the meter's log.",
            reads=_signed_seconds,
        ),
    ] = None
    separate: Annotated[
        bool, option("--separate", "Make one recording per file; do not join files.")
    ] = False

    @property
    def of_files(self) -> Options:
        """What the importer takes."""
        from heatsoak.importer import Options  # takes a while to load

        more = {"shift_s": self.shift_s, "joins": not self.separate}
        return Options.of(self.mapping or [], self.device, **more)


@dataclass(frozen=True)
class ReadOptions(LogOptions):
    """How recordings and logs of other tools are opened."""

    power: Annotated[Path | None, option("METER.csv", "Take power from this meter's log.")] = None
    damaged: DamagedOption = False

    def open(self, paths: list[Path], *, keeps_changed: bool = False) -> Opened:
        """Open recordings and logs.

        Recordings that were changed after they were made are left out, or kept unread if
        `keeps_changed` is true, unless the user wants them read.
        """
        from heatsoak import importer  # these take a while to load
        from heatsoak.recording import without_copies

        # with a meter, the other options are about its log
        of_files = self.of_files
        if self.power is not None:
            of_files = importer.Options(device=self.device, joins=not self.separate)
        opened = Opened()
        with progress_bar(stays=False) as progress:
            found = importer.open_all(
                paths, of_files, progress=progress, on_broken=opened.leave_out, damaged=self.damaged
            )
        runs, copies = without_copies(found)
        for text in copies:
            output.announce(text)
        opened.take(runs, keeps_changed=keeps_changed)
        if self.power is not None:
            of_meter = replace(self.of_files, device=None)
            opened.recordings = importer.with_meter(opened.recordings, self.power, of_meter)
        return opened


def referred_to(reference: Path | None) -> list[Recording]:
    """Return what ``--reference`` names; raises UsageError for what is no recording or log."""
    if reference is None:
        return []
    from heatsoak import importer  # takes a while to load

    return importer.open_all([reference])


@dataclass(frozen=True)
class LimitOptions:
    """What makes the exit code 1."""

    fail_on: FailOnOption = None
    fail_below: FailBelowOption = None

    def exit_code(self, findings: Findings) -> int:
        """Return the exit code of what was found."""
        from heatsoak.analysis.answer import why_failed  # takes a while to load

        found = (why_failed(one, self.fail_on, self.fail_below) for one in findings.recordings)
        why = [reason for reasons in found for reason in reasons]
        return limit_broken(*why) if why else 0


@dataclass(frozen=True)
class ProtocolOptions:
    """What is run."""

    protocol: Annotated[
        str,
        argument(
            "PROTOCOL",
            "A bundled protocol's name, a TOML file, or a fio job file.",
            offers=completion.protocols,
        ),
    ]
    settings: Annotated[
        list[str] | None,
        option(
            "--set KEY=VALUE",
            "Select a matrix cell, override a step, or add a label.",
            offers=completion.settings,
        ),
    ] = None
    scale: Annotated[
        float,
        option(
            "SHARE",
            "Shrink sizes and times to this share, for a small target: 0.1, 10%.",
            reads=units.parse_share,
        ),
    ] = 1.0

    def load(self) -> Protocol:
        """Return the protocol with the settings applied; raises UsageError for what is wrong."""
        from heatsoak.protocol import apply_settings, load, scaled  # takes a while to load

        return apply_settings(scaled(load(self.protocol), self.scale), self.settings or [])


@dataclass(frozen=True)
class TestedOptions:
    """The drive that is tested."""

    on: Annotated[
        str | None,
        option(
            "TARGET",
            "sim:DRIVE[@PLACE], a directory, a file, /dev/..., a serial, or nbd+unix://...",
            offers=completion.targets,
        ),
    ] = None
    erase: Annotated[
        str | None,
        option("ID", "The drive whose data may be destroyed; ID:NOT-EMPTY if it holds any."),
    ] = None
    sensors: Annotated[
        str | None,
        option(
            "DIR",
            "Where an NBD export's drive has its sensors: the DIR of heatsoak lab nbd.",
            is_rare=True,
        ),
    ] = None


#: A pipe has no width: no line is cut or wrapped for one.
_PIPE_COLUMNS = 1000


def console() -> output.Console:
    """Return the console for results: standard output, as wide as the terminal."""
    return output.Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS)


def show(
    document: _Document,
    output_format: OutputFormat,
    as_text: Callable[[_Document, output.Console], None],
) -> None:
    """Print a result in a format: as one JSON document, or as `as_text` does."""
    if output_format == "json":
        dump = getattr(document, "model_dump", None)
        output.print_json(document if dump is None else dump(mode="json"))
    else:
        as_text(document, console())


def show_rows(
    rows: Iterable[BaseModel],
    output_format: OutputFormat,
    as_text: Callable[[list[dict[str, Any]], output.Console], None],
) -> None:
    """Print rows in a format: as a JSON list, or as `as_text` does with their JSON values."""
    show([row.model_dump(mode="json") for row in rows], output_format, as_text)


def show_findings(
    findings: Findings,
    recordings: Sequence[Recording],
    output_format: OutputFormat,
    *,
    evidence: bool,
    paths: Sequence[Path] | None,
) -> None:
    """Print findings in a format: as JSON, on the first screen or with all evidence.

    `paths` are what other commands take to show the same recordings, None if words would not do.
    """
    # reports take a while to load, and every command loads this module
    from heatsoak.analysis.health import are_readings, health_of
    from heatsoak.report.findings import print_findings, print_first_screen
    from heatsoak.report.health import print_health

    words = None if paths is None else " ".join(shlex.quote(str(path)) for path in paths)

    def as_text(findings: Findings, out: output.Console) -> None:
        if evidence:
            print_findings(findings, recordings, out)
        elif are_readings(recordings):
            print_health(health_of(findings.recordings, recordings), out)
        else:
            command = None if words is None else f"heatsoak analyze {words}"
            print_first_screen(findings, recordings, out, command)
        if words is not None:
            out.print(
                output.Text(f"charts: heatsoak report {words} -o report.html"), soft_wrap=True
            )

    show(findings, output_format, as_text)


@contextmanager
def progress_bar(*, stays: bool = True) -> Iterator[Callable[[float | None, str], None]]:
    """Show progress on standard error: a bar in a terminal, otherwise a line every 10 s.

    Yields a function that takes the completed share, 0 to 1, or None where nothing tells it, and a
    description. A bar with `stays` false disappears when it is done.
    """
    errors = output.Console(stderr=True)
    if not errors.is_terminal or errors.is_dumb_terminal:
        yield _plain_progress()
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    from heatsoak.output import TextColumn

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=not stays) as bar:
        task = bar.add_task("preparing", total=1.0)

        def show(done: float | None, text: str) -> None:
            bar.tasks[0].total = None if done is None else 1.0  # without one it only moves
            bar.update(task, completed=done, description=text)

        yield show


def _plain_progress() -> Callable[[float | None, str], None]:
    printed_at = time.monotonic()
    first: tuple[float, float] | None = None

    def say(done: float | None, text: str) -> None:
        nonlocal printed_at, first
        now = time.monotonic()
        if done is not None:
            # what was done before this followed it says nothing of the pace
            first = first or (now, done)
        if done == 0 or now - printed_at < output.LINE_INTERVAL_S:
            return
        printed_at = now
        if done is not None and first is not None and done > first[1]:
            left_s = (now - first[0]) * (1 - done) / (done - first[1])
            text = f"{text}, {percent_text(100 * done)}; {duration_text(round(left_s))} to go"
        output.print_err(text)

    return say


def write_json(document: Any, path: Path) -> None:
    """Write one JSON document, creating its directory; raises ToolError if that fails."""
    writing.write_output(path, output.json_text(document) + "\n", replace=True)


@dataclass
class Opened:
    """Recordings that were opened.

    Attributes:
        broken: how many in the same directories could not be read; each has been named.
    """

    recordings: Sequence[Recording] = ()
    broken: int = 0

    def take(self, recordings: Sequence[Recording], *, keeps_changed: bool = False) -> None:
        """Take recordings, naming those that were changed after they were made.

        Of those, only what was opened as damaged is taken, unless `keeps_changed` is true. Raises
        ChangedError if nothing is left.
        """
        readable = [one for one in recordings if one.is_readable]
        if recordings and not (readable or keeps_changed):
            recordings[0].require_unchanged()
        for one in recordings:
            if one.changes is not None and one.is_readable:
                output.announce(f"{one.path}: {one.changes}")
            elif one.changes is not None:
                self.leave_out(f"{one.path}: {one.changes}")
        self.recordings = recordings if keeps_changed else readable

    def leave_out(self, why: UsageError | str) -> None:
        """Name a recording that cannot be read."""
        output.announce(f"left out: {why}")
        self.broken += 1

    def exit_code(self, code: int = 0) -> int:
        """Return the command's exit code, which is an error's where a recording was left out."""
        return ToolError.exit_code if self.broken else code


def limit_broken(*why: str) -> int:
    """Say why a limit that was asked for does not hold, and return the exit code for that."""
    more = f"; and {len(why) - 1} more" if len(why) > 1 else ""
    output.announce(f"exit code 1: {why[0]}{more}")
    return 1
