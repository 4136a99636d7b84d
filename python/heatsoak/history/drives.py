"""Whether each drive is slower than it was, from the summaries in an index."""

import datetime
from pathlib import Path

from heatsoak.history.findings import History, TrendVerdict
from heatsoak.history.queries import chosen_from
from heatsoak.history.sentences import answer_of
from heatsoak.history.verdicts import FittedSeries, judge_together, with_opposites

_ORDER: tuple[TrendVerdict, ...] = ("slower", "cannot-tell", "same", "faster", "too-few")


def history(
    index: Path,
    *,
    drive: str | None = None,
    workload: str | None = None,
    since: datetime.date | None = None,
) -> History:
    """Return what the summaries in `index` show, of one drive, workload and time if given.

    `drive` is a serial or model, `workload` a step's name or words of its description. Raises
    UsageError if nothing is left, ToolError without DuckDB.
    """
    chosen = chosen_from(index, drive, workload, since)
    fitted = [FittedSeries(one, part) for one, part in zip(chosen.about, chosen.days, strict=True)]
    judge_together(fitted)
    series = with_opposites([one.series(chosen.names) for one in fitted])
    series.sort(key=lambda one: (_ORDER.index(one.verdict), one.change.pct if one.change else 0.0))
    slower, sentence = answer_of(series)
    return History(
        slower=slower,
        sentence=sentence,
        recordings=chosen.recordings,
        index=str(index),
        series=series,
        left_out=chosen.left_out,
    )
