"""Predictions, advice, and the twins that they are made with, in the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from heatsoak.output import Console, Text, table_of
from heatsoak.words import duration_text, number_text

if TYPE_CHECKING:
    # fits take a while to load, and every report would wait for them
    from heatsoak.twin import Advice, FittedParameter, Prediction, Twin

_ROWS = (
    ("begins to throttle after", "onset_s", "s"),
    ("having moved", "onset_gb", "GB"),
    ("loses to heat, in the worst minute", "depth_pct", "%"),
    ("moves then", "throttled_mb_s", "MB/s"),
    ("reports at most", "max_reported_temp_c", "C"),
    ("its governor sees at most", "hidden_temp_c", "C"),
)
#: The same of a recorded workload.
_HELD_ROWS = (
    ("is held back", "times", "times"),
    ("in all for", "held_s", "s"),
    ("at a time for at most", "longest_s", "s"),
    ("lets wait at most", "waiting_gb", "GB"),
    ("moves late", "late_pct", "%"),
)


def print_prediction(found: "Prediction", console: Console) -> None:
    """Print a prediction, its answer first."""
    style = "bold red" if found.throttles >= 0.5 else "bold green"
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    console.print(Text(f"{found.drive}, {found.place}: {found.workload}"))
    numbers = ("middle", "low", "high")
    table = table_of("", *numbers, "", numbers=numbers)
    _add_rows(table, _ROWS[:2], found)
    if found.held is not None:
        _add_rows(table, _HELD_ROWS, found.held)
    _add_rows(table, _ROWS[2:], found)
    console.print(table)
    for text in found.assumed:
        console.print(Text(f"assumed: {text}", style="dim"), soft_wrap=True)


def _add_rows(table: Table, rows: Sequence[tuple[str, str, str]], found: object) -> None:
    for name, key, unit in rows:
        values = getattr(found, key)
        if values is not None:
            low, middle, high = (number_text(value, 3) for value in values)
            table.add_row(name, middle, low, high, unit)


def print_advice(found: "Advice", console: Console) -> None:
    """Print what cooling is needed, the answer first."""
    style = {"no": "bold green", "yes": "bold yellow", "not-enough": "bold red"}[found.matters]
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    console.print(Text(f"{found.place}: {found.workload}"))
    what = (
        f"moves {found.mean_mb_s:,.0f} MB/s in the mean"
        if found.held_s is None
        else f"is held back for {duration_text(found.held_s)} in the mean"
    )
    console.print(
        f"As it is, it throttles with a probability of {found.throttles:.0%}, and {what}."
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
            f"{offer.throttles:.0%}",
            *(
                [f"{offer.mean_mb_s:,.0f}", f"{offer.gain_pct:+.0f} %"]
                if offer.held_s is None
                else [duration_text(offer.held_s)]
            ),
            *map(_or_nothing, (offer.price, offer.gain_pct_per_price)[: len(prices)]),
        )
    console.print(table)
    console.print()
    console.print("Air that has to move past it as it is, at an air temperature:")
    curve = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    curve.add_row("C", *(f"{need.ambient_c:.0f}" for need in found.curve))
    curve.add_row("m/s", *(_flow(need.airflow_m_s) for need in found.curve))
    console.print(curve)


def _or_nothing(value: float | None) -> str:
    return "" if value is None else number_text(value, 3)


def _flow(m_s: float | None) -> str:
    if m_s is None:
        return "none is enough"
    return "still" if m_s < 0.05 else f"{m_s:.1f}"


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
            how = f"heatsoak run {next_run} --on DRIVE"
        console.print(Text(f"    {how}"), soft_wrap=True)
    console.print()
    console.print(_parameters(twin))
    console.print()
    model = f" ({twin.model})" if twin.model else ""
    console.print(f"network: {_NETWORKS[twin.nodes]}; all else from {twin.base}{model}")
    if path is not None:
        console.print(f"written to {path}")


def _parameters(twin: "Twin") -> Table:
    numbers = ("value", "90 %", "expected", "learned")
    table = table_of("Parameter", *numbers, numbers=numbers)
    for parameter in twin.parameters:
        table.add_row(
            parameter.name,
            f"{_digits(parameter.value)} {parameter.unit}".rstrip(),
            f"{_digits(parameter.low)} to {_digits(parameter.high)}",
            _expected(parameter),
            f"{parameter.learned:.0%}",
        )
    return table


def _expected(parameter: "FittedParameter") -> str:
    """What was expected, two thirds of the time."""
    prior = parameter.prior
    return f"{_digits(prior.value(-1))} to {_digits(prior.value(1))}"


def _digits(value: float) -> str:
    return number_text(value, 3)
