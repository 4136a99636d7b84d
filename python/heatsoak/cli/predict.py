"""``heatsoak fit`` and ``predict``: models of drives, and what they predict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from rich.table import Table

from heatsoak import units, words, writing
from heatsoak.catalog import load_drive
from heatsoak.cli import common, completion
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, table_of
from heatsoak.protocol import WorkloadStep
from heatsoak.ranges import FITTED_LEVEL, Range
from heatsoak.recording.writer import check_free
from heatsoak.twin import named
from heatsoak.twin.case import AIRFLOW_M_S, AMBIENT_C, WARMING_K, Cooling
from heatsoak.twin.predict import Prediction, predict

if TYPE_CHECKING:
    from heatsoak.twin.advise import Advice
    from heatsoak.twin.twin import FittedParameter, Twin


def fit_command(
    paths: common.RecordingsArgument,
    read: Annotated[common.ReadOptions, common.RARE],
    output: Path | None = common.option(
        "--output -o TWIN.toml", "Write the twin to this file.", default=None
    ),
    force: common.ForceOption = False,
    next_run: Path | None = common.option(
        "--next PROTOCOL.toml",
        "Write the run that would tell most to this file, for heatsoak run.",
        default=None,
    ),
    base: str | None = common.option(
        "DRIVE",
        "The simulated drive that everything comes from that is not fitted; "
        "by default the most similar one.",
        reads=common.drive_id,
        offers=completion.simulated,
        is_rare=True,
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> int:
    """Recordings of one drive with the same conditions of cooling share a place."""
    from heatsoak.twin.fitting import fit  # it takes a while to load

    chosen = None if base is None else load_drive(base)
    outputs = [path for path in (output, next_run) if path is not None]
    check_free(outputs, force=force, inputs=[*paths, *filter(None, (read.power,))])
    opened = read.open(paths)
    twin = fit(opened.recordings, chosen)
    if output is not None:
        twin.save(output, replace=force)
    if next_run is not None:
        _write_next(twin, next_run, replace=force)
    common.show(twin, output_format, partial(print_twin, path=output, next_run=next_run))
    return opened.exit_code()


def _write_next(twin: "Twin", path: Path, *, replace: bool) -> None:
    if not twin.experiments:
        raise UsageError(f"--next {path}: no run would tell much more of this drive")
    from heatsoak.report.page.facts import protocol_toml  # predictions need no pages

    text = protocol_toml(named.protocol_of(twin.experiments[0], twin.full_load))
    writing.write_output(path, text, replace=replace)


_NETWORKS = {
    1: "a drive of one piece",
    2: "packages on a board",
    3: "packages on a board, on a mount that warms with it",
}


def print_twin(
    twin: "Twin", console: Console, path: Path | None = None, next_run: Path | None = None
) -> None:
    """Print a twin; `path` is where it was written, `next_run` where the proposed run was."""
    console.print(twin.answer)
    for sentence in twin.told:
        console.print(f"  - {sentence}")
    for experiment in twin.experiments[:1]:
        console.print(Text(f"  next: {experiment.answer}"), soft_wrap=True)
        how = "--next FILE writes it as a protocol"
        if next_run is not None:
            how = f"heatsoak run {quote(str(next_run))} --on DRIVE"
        console.print(Text(f"    {how}"), soft_wrap=True)
    console.print()
    console.print(_parameters(twin))
    console.print()
    model = f" ({twin.model})" if twin.model else ""
    console.print(f"network: {_NETWORKS[twin.nodes]}; all else from {twin.base}{model}")
    if path is not None:
        console.print(f"written to {path}")


def _parameters(twin: "Twin") -> Table:
    numbers = ("value", words.level_text(FITTED_LEVEL), "expected", "learned")
    table = table_of("Parameter", *numbers, numbers=numbers)
    for parameter in twin.parameters:
        table.add_row(
            parameter.name,
            f"{words.number_text(parameter.value)} {parameter.unit}".rstrip(),
            words.span_text((parameter.low, parameter.high), digits=3),
            _expected(parameter),
            words.percent_text(100 * parameter.learned),
        )
    return table


def _expected(parameter: "FittedParameter") -> str:
    """What was expected, two thirds of the time."""
    prior = parameter.prior
    return words.span_text((prior.value(-1), prior.value(1)), digits=3)


#: A load that nobody recorded is followed no longer than this.
_LONGEST_S = 6 * 3600.0
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class CaseOptions:
    """A drive in its place under a workload."""

    subject: Annotated[
        str,
        common.argument(
            "TWIN|DRIVE",
            "What heatsoak fit wrote, or a simulated drive.",
            offers=completion.simulated,
        ),
    ]
    workload: Annotated[
        str,
        common.option(
            "LOAD",
            "read, write, randread, randwrite, PROTOCOL[:STEP], or a trace or recording.",
            offers=completion.workloads,
        ),
    ] = "write"
    place: Annotated[
        str | None,
        common.option(
            "PLACE",
            "A place of the twin's, or one that heatsoak list places has.",
            offers=completion.enclosures,
        ),
    ] = None
    ambient_c: Annotated[
        float | None,
        common.option(
            "--ambient C",
            "Temperature of the air at the drive.",
            reads=partial(units.parse_number, unit="C", low=AMBIENT_C[0], high=AMBIENT_C[1]),
        ),
    ] = None
    warmer_k: Annotated[
        float,
        common.option(
            "--warmer K",
            "How much warmer that air is than it was in the place; not with --ambient.",
            reads=partial(units.parse_number, unit="K", low=WARMING_K[0], high=WARMING_K[1]),
        ),
    ] = 0.0
    airflow_m_s: Annotated[
        float | None,
        common.option(
            "--airflow M_S",
            "Speed of the air at the drive.",
            reads=partial(units.parse_number, unit="m/s", low=AIRFLOW_M_S[0], high=AIRFLOW_M_S[1]),
        ),
    ] = None
    duration_s: Annotated[
        float | None,
        common.option(
            "--for TIME",
            "How long; default: the step's or recorded time, or 10m.",
            reads=common.seconds_between(1),
        ),
    ] = None

    def asked_of(
        self, model: Callable[..., _Answer], heatsink: str | float | None = None, **more: Any
    ) -> _Answer:
        """Return what `predict` or `advise` says of it."""
        load, before = named.workload_of(self.workload)
        subject, wanted_s = named.subject_of(self.subject), self.duration_s
        if wanted_s is not None and wanted_s > _LONGEST_S and isinstance(load, WorkloadStep):
            raise UsageError(f"--for {words.duration_text(wanted_s)}: must be between 1s and 6h")
        return model(
            subject,
            load,
            wanted_s or named.length_s(load),
            before=before,
            enclosure=self.place,
            cooling=Cooling(self.ambient_c, self.airflow_m_s, heatsink, self.warmer_k),
            **more,
        )


def predict_command(
    case: CaseOptions,
    heatsink: str | None = common.option(
        "PLACE|K_PER_W",
        "Add a heatsink: that of a place (heatsoak list places), or one of so many K/W, such as 2.",
        reads=named.heatsink_of,
        offers=completion.enclosures,
        default=None,
    ),
    holds_mb_s: float | None = common.option(
        "--holds RATE",
        "Also: does it hold 1490MB/s throughout?",
        reads=units.parse_rate_mb_s,
        default=None,
    ),
    for_ever: bool = common.option(
        "--for-ever", "Also: the highest rate that it holds without end.", default=False
    ),
    min_probability: float | None = common.option(
        "P",
        "Exit 1 if it holds the rate, or full speed, with a lower probability: 0.95, 95%.",
        reads=units.parse_share,
        default=None,
    ),
    cooling: bool = common.option(
        "--cooling",
        "Say how little cooling is enough, and what heatsinks would bring.",
        default=False,
    ),
    prices: list[str] | None = common.option(
        "--price HEATSINK=PRICE", "With --cooling: also the gain for its price.", default=None
    ),
    output_format: common.FormatOption = "text",
) -> int:
    """With --cooling: how little cooling is enough, and what heatsinks would bring."""
    if cooling:
        if for_ever or any(one is not None for one in (heatsink, holds_mb_s, min_probability)):
            raise UsageError(
                "--cooling: tries heatsinks itself: leave out --heatsink, --holds, --for-ever and "
                "--min-probability"
            )
        _advise(case, prices or [], output_format)
        return 0
    if prices:
        raise UsageError("--price: says what a heatsink costs: add --cooling")
    with common.progress_bar(stays=False) as progress:
        progress(0.0, f"predicting {case.workload}")
        found = case.asked_of(predict, heatsink, holds_mb_s=holds_mb_s, for_ever=for_ever)
    common.show(found, output_format, print_prediction)
    kept = 1 - found.throttles if found.holds is None else found.holds
    if min_probability is None or kept >= min_probability:
        return 0
    return common.limit_broken(
        f"it holds {'full speed' if holds_mb_s is None else words.rate_text(holds_mb_s)} with a "
        f"probability of {words.percent_text(100 * kept)}, and --min-probability is "
        f"{words.percent_text(100 * min_probability)}"
    )


def _advise(case: CaseOptions, prices: Sequence[str], output_format: common.OutputFormat) -> None:
    from heatsoak.twin.advise import advise

    priced = dict(map(_price, prices))
    with common.progress_bar(stays=False) as progress:
        found = case.asked_of(advise, prices=priced, progress=progress)
    common.show(found, output_format, print_advice)


def _price(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        price = float(number)
    except ValueError:
        price = -1.0
    if not name or not 0 < price < 1e9:
        raise UsageError(f"--price {text}: is not HEATSINK=PRICE, such as wings-px1=75")
    return name, price


_ALWAYS = (
    ("takes", "takes_s", "s"),
    ("reports at most", "max_reported_temp_c", "C"),
    ("its governor sees at most", "hidden_temp_c", "C"),
    ("holds for ever", "for_ever_mb_s", "MB/s"),
)
#: Of the likely drives that heat slows.
_SLOWED = (
    ("begins to throttle after", "onset_s", "s"),
    ("having moved", "onset_gb", "GB"),
    ("loses to heat, in the worst minute", "depth_pct", "%"),
    ("moves then", "throttled_mb_s", "MB/s"),
    ("would move without heat", "unheated_mb_s", "MB/s"),
    ("shuts itself down after", "shutdown_s", "s"),
    ("is held back", "times", "times"),
    ("in all for", "held_s", "s"),
    ("at a time for at most", "longest_s", "s"),
    ("lets wait at most", "waiting_gb", "GB"),
    ("moves late", "late_pct", "%"),
)


def print_prediction(found: Prediction, console: Console) -> None:
    style = "bold red" if found.throttles >= 0.5 else "bold green"
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    console.print(Text(f"{found.drive}, {found.place}: {found.workload}"))
    numbers = ("middle", words.level_text(FITTED_LEVEL))
    table = table_of("", *numbers, "", numbers=numbers)
    _add_rows(table, _ALWAYS, found)
    if found.may_throttle:
        table.add_row("where it throttles:" if found.throttles < 1 else "")
        for of in (found, found.held):
            _add_rows(table, _SLOWED, of)
    console.print(table)
    for text in found.assumed:
        console.print(Text(f"assumed: {text}", style="dim"), soft_wrap=True)


def _add_rows(table: Table, rows: Sequence[tuple[str, str, str]], found: object) -> None:
    for name, key, unit in rows:
        of: Range | None = getattr(found, key, None)
        if of is not None:
            table.add_row(
                name, words.number_text(of.mid), words.span_text((of.low, of.high), digits=3), unit
            )


def print_advice(found: "Advice", console: Console) -> None:
    style = {"no": "bold green", "yes": "bold yellow", "not-enough": "bold red"}[found.matters]
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    console.print(Text(f"{found.place}: {found.workload}"))
    what = (
        f"moves {words.rate_text(found.mean_mb_s)} in the mean"
        if found.held_s is None
        else f"is held back for {words.duration_text(found.held_s)} in the mean"
    )
    console.print(
        f"As it is, it throttles with a probability of {words.percent_text(100 * found.throttles)},"
        f" and {what}."
    )
    console.print()
    priced = any(offer.price is not None for offer in found.offers)
    # what is asked for comes at its own pace: no heatsink makes more of it
    gains = ["MB/s", "gain"] if found.held_s is None else ["held back"]
    prices = [] if not priced else ["price", "% for each"] if found.held_s is None else ["price"]
    numbers = ("throttles", *gains, *prices)
    table = table_of("Heatsink", *numbers, numbers=numbers)
    for offer in found.offers:
        table.add_row(
            Text(offer.heatsink),
            words.percent_text(100 * offer.throttles),
            *(
                [words.number_text(offer.mean_mb_s), f"{words.signed_text(offer.gain_pct)} %"]
                if offer.held_s is None
                else [words.duration_text(offer.held_s)]
            ),
            *map(words.known_text, (offer.price, offer.gain_pct_per_price)[: len(prices)]),
        )
    console.print(table)
    console.print()
    console.print("Air that has to move past it as it is, at an air temperature:")
    curve = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    curve.add_row("C", *(words.number_text(need.ambient_c, 2) for need in found.curve))
    curve.add_row("m/s", *(_flow(need.airflow_m_s) for need in found.curve))
    console.print(curve)


def _flow(m_s: float | None) -> str:
    if m_s is None:
        return "none is enough"
    return "still" if m_s < 0.05 else words.number_text(m_s, 2)
