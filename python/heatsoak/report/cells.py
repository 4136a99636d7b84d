"""What stands in the cells of the tables of a comparison."""

from heatsoak.analysis.comparison import Row, metric_of
from heatsoak.output import Text

_STYLES = {"better": "green", "worse": "red"}
_SAID = {"negligible": "too little", "no difference shown": "not shown"}


def value_text(value: float | None, at_least: float | None) -> str:
    """Return a value, or what it is at least: ``"> 300"``."""
    if value is not None:
        return number_text(value)
    return "" if at_least is None else f"> {number_text(at_least)}"


def change_text(row: Row) -> str:
    """Return how a row's value differs from the baseline's."""
    if metric_of(row.metric).scale == "difference":
        if row.delta is None:
            return ""
        return f"{signed_text(row.delta, _digits(row.delta))} {row.delta_unit}"
    if row.delta_pct is None:
        return ""
    return f"{signed_text(row.delta_pct, 1)} %"


def interval_text(row: Row) -> str:
    """Return the interval of that change; empty where there is none."""
    is_difference = metric_of(row.metric).scale == "difference"
    low, high = row.ci95 if is_difference else row.ci95_pct
    if low is None or high is None:
        return ""
    digits = _digits(max(abs(low), abs(high))) if is_difference else 1
    return f"{signed_text(low, digits)} to {signed_text(high, digits)}"


def _digits(value: float) -> int:
    return 0 if abs(value) >= 10 else 1


def signed_text(value: float, digits: int) -> str:
    """Return a number with its sign."""
    if abs(value) >= 1000:
        return f"{value:+,.0f}"
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def number_text(value: float) -> str:
    """Return a number in about three digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def verdict_text(row: Row) -> Text:
    """Return what a row shows, in the words and colours of the tables."""
    return Text(_SAID.get(row.verdict, row.verdict), style=_STYLES.get(row.verdict, ""))
