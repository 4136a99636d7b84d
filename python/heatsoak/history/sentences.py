"""What series of summaries show, in sentences."""

from collections.abc import Sequence
from typing import Literal

from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.history.findings import Series
from heatsoak.protocol.phrases import said


def drive_text(series: Series) -> str:
    """Return how a drive is named: ``"S1234 (Samsung 990 PRO)"``."""
    if series.serial is None or series.model is None:
        return said(series.drive)
    return f"{said(series.serial)} ({said(series.model)})"


def workload_text(series: Series) -> str:
    """Return how a workload is named in a sentence: its kind, before the sizes."""
    return said(series.workload.partition(",")[0] or series.step)


def text_of(series: Series, *, is_whole: bool) -> str:
    """Return the answer for a series; `is_whole` if its change includes that of firmware."""
    subject = f"{drive_text(series)}: {workload_text(series)}"
    if series.change is None:
        days = f"{series.days} day{'s' if series.days != 1 else ''}"
        return f"{subject} was recorded on {days}: too few to tell whether it is slower"
    then = _then(series)
    low, high = series.change.low_pct, series.change.high_pct
    if series.verdict in ("slower", "faster"):
        sign = -1 if series.verdict == "slower" else 1
        ends = sorted((sign * low, sign * high))
        text = (
            f"{subject} is {_number(sign * series.change.pct)} % {series.verdict} "
            f"({_number(ends[0])} to {_number(ends[1])}) than {then}"
        )
        text += _why(series)
    elif series.verdict == "same":
        text = f"{subject} is no slower than {then} ({_signed(low)} to {_signed(high)} %)"
    else:
        text = (
            f"{subject}: cannot tell whether it is slower than {then}: "
            f"{_signed(low)} to {_signed(high)} %"
        )
    if not is_whole:
        text += "; firmware and place or host changed together, so what that did is left out"
    return text


def _why(series: Series) -> str:
    if (since := series.since) is not None:
        if since.kind == "sudden":
            return f"; suddenly, since {since.date}, for a reason that was not recorded"
        return f"; since firmware {said(since.after)} ({since.date})"
    year, level = series.per_year, series.level_change
    if year is not None and (year.high_pct < 0 or year.low_pct > 0):
        text = f"; gradually, {_signed(year.pct)} % a year"
    else:
        text = ""
    if series.verdict == "slower" and level is not None and level.pct > -100 * ONSET_LOSS:
        text += "; it begins as fast as then, and falls sooner or further"
    return text


def _then(series: Series) -> str:
    if (series.first.year, series.first.month) == (series.last.year, series.last.month):
        return f"on {series.first}"
    return f"in {series.first:%B %Y}"


def _number(pct: float) -> str:
    """A percentage to a tenth below ten, and whole above."""
    text = f"{pct:.0f}" if abs(pct) >= 9.5 else f"{pct:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _signed(pct: float) -> str:
    text = _number(pct)
    return text if text == "0" or text.startswith("-") else f"+{text}"


def answer_of(series: Sequence[Series]) -> tuple[Literal["yes", "no", "cannot-tell"], str]:
    """Return the answer of all: the worst drive's sentence, and how many more there are."""
    slower = [one for one in series if one.verdict == "slower"]
    drives = len({one.drive for one in series})
    if slower:
        more = len({one.drive for one in slower}) - 1
        others = f"; {more} more of {drives} drives {'are' if more > 1 else 'is'} slower too"
        return "yes", f"{slower[0].text}{others if more else ''}"
    if not series:
        return "cannot-tell", "Cannot tell: no step was recorded that could be compared"
    open_ones = [one for one in series if one.verdict in ("cannot-tell", "too-few")]
    if len(series) == 1:
        return ("cannot-tell" if open_ones else "no"), series[0].text
    what = "the drive" if drives == 1 else f"any of {drives} drives"
    if open_ones:
        told = len(series) - len(open_ones)
        fewer = all(one.verdict == "too-few" for one in open_ones)
        why = "were run on too few days" if fewer else "have too few days or vary too much"
        which = "all workloads"
        if told:
            which = f"{told} of {len(series)} workloads are no slower, the others"
        return "cannot-tell", f"Cannot tell whether {what} is slower than it was: {which} {why}"
    subject = drive_text(series[0]) if drives == 1 else f"None of {drives} drives"
    verb = "is no slower" if drives == 1 else "is slower"
    return "no", f"{subject} {verb} than it was, in {len(series)} workloads"
