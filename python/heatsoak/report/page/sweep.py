"""A sweep on the page: what it comes to, and maps of its points."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.errors import UsageError
from heatsoak.output import printable
from heatsoak.report.page import contract
from heatsoak.report.page.packing import Packer
from heatsoak.sweep import FinishedSweep
from heatsoak.sweep.summary import MOST_GROUPS, WORDS, group_table
from heatsoak.sweep.work import ENDS
from heatsoak.words import amount_text, duration_text

#: So many draw in a second; each takes about ten bytes of the page.
_MOST_POINTS = 50_000
#: Quantities that the page shows with their ranges, as (name, unit).
_RANGES = (("onset", "s"), ("depth", "pct"), ("throttled", "mb_s"), ("max_reported_temp", "c"))
_SHOWN = ("throttles", *(f"{name}_{end}_{unit}" for name, unit in _RANGES for end in ENDS))
#: Parameters as (column, label, unit), in the order in which a grid varies them.
_PARAMETERS = (
    ("drive", "drive", ""),
    ("enclosure", "enclosure", ""),
    ("workload", "workload", ""),
    ("for_s", "length", "s"),
    ("ambient_c", "air at the drive", "C"),
    ("warmer_k", "air warmer by", "K"),
    ("airflow_m_s", "airflow", "m/s"),
    ("heatsink", "heatsink", "K/W"),
    ("holds_mb_s", "rate to be held", "MB/s"),
)
#: Where each drive has its own place, or each workload its length, the first tells both.
_TELLS = (("drive", "enclosure", " in "), ("workload", "for_s", " for "))


def sweep_page(found: FinishedSweep, title: str | None = None) -> contract.Page:
    """Return the page of a sweep; UsageError for one of too many points, or with points missing."""
    points = found.points
    if len(points) > _MOST_POINTS:
        raise UsageError(
            f"{found.directory}: has {len(points):,} points, and a page draws at most "
            f"{_MOST_POINTS:,}: use FILE.csv, or sweep a part of it"
        )
    summary = found.summary
    packer = Packer()
    section = _section(found, packer)
    return contract.Page(
        title=title or f"Sweep: {printable(found.directory.resolve().name)}",
        headline=contract.Headline(
            text=summary.answer, tone="bad" if summary.throttling or summary.impossible else "good"
        ),
        sweep=section,
        notes=[
            "Predictions for drives as likely as what is known of them: the middle one, and the "
            "range of the middle 90 %. A point throttles if it is likelier than not that heat "
            "slows the drive."
        ],
        data=packer.data(),
    )


@dataclass(frozen=True)
class _Parameter:
    """A parameter of all points.

    Attributes:
        codes: the number of each point's value among `values`.
        values: rising numbers, or texts in the grid's order.
    """

    id: str
    label: str
    unit: str
    codes: NDArray[np.int64]
    values: list[float | str]

    @property
    def texts(self) -> list[str]:
        return [_text(value, self.unit) for value in self.values]

    @property
    def prefix(self) -> str:
        """What goes before a value in a sentence."""
        return "for " if self.unit == "s" else f"{self.label} " if self.unit else ""

    @property
    def axis(self) -> contract.SweepAxis:
        numbers = [value for value in self.values if not isinstance(value, str)]
        return contract.SweepAxis(
            id=self.id,
            label=self.label,
            prefix=self.prefix,
            values=self.texts,
            numbers=numbers if len(numbers) == len(self.values) else None,
            unit=self.unit,
        )


def _section(found: FinishedSweep, packer: Packer) -> contract.SweepSection:
    parameters = _told_by_others([_parameter(found.points, *one) for one in _PARAMETERS])
    varied = [one for one in parameters if len(one.values) > 1]
    points = found.points[_order(found, varied)]
    headings, rows = group_table(found.summary)
    lengths = found.points["for_s"].unique()
    return contract.SweepSection(
        axes=[one.axis for one in varied],
        fixed=", ".join(
            f"{one.prefix}{text}"
            for one in parameters
            for text in one.texts
            if len(one.values) == 1 and text != _AS_IT_IS
        ),
        headings=headings,
        words=WORDS,
        rows=[[printable(cell) for cell in row] for row in rows],
        shown=MOST_GROUPS,
        duration_s=lengths[0] if len(lengths) == 1 else None,
        columns={name: _column(points[name], packer) for name in _SHOWN},
    )


def _order(found: FinishedSweep, varied: Sequence[_Parameter]) -> NDArray[np.int64]:
    """Where the points are, by the axes, the last fastest."""
    sizes = [len(one.values) for one in varied]
    at: NDArray[np.int64] = np.zeros(len(found.points), np.int64)
    for one, size in zip(varied, sizes, strict=True):
        at = at * size + one.codes
    if prod(sizes) != len(at) or len(np.unique(at)) != len(at):
        raise UsageError(
            f"{found.directory}: lacks points of its grid: give the command that made it again, "
            "and it adds them"
        )
    return np.argsort(at)


#: A parameter that is not changed has no value.
_AS_IT_IS = "none"


def _parameter(points: pl.DataFrame, name: str, label: str, unit: str) -> _Parameter:
    given = points[name].to_list()
    if name == "heatsink":
        given = [
            k_per_w if sink is None else printable(sink)
            for sink, k_per_w in zip(given, points["heatsink_k_per_w"], strict=True)
        ]
    given = [printable(value) if isinstance(value, str) else value for value in given]
    values: list[float | str] = list(
        dict.fromkeys(_AS_IT_IS if value is None else value for value in given)
    )
    if not any(isinstance(value, str) for value in values):
        values.sort()
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.array([code_of[_AS_IT_IS if value is None else value] for value in given])
    return _Parameter(name, label, unit, codes, values)


def _told_by_others(parameters: Sequence[_Parameter]) -> list[_Parameter]:
    """Join parameters that do not vary freely to those that they depend on."""
    by_id = {one.id: one for one in parameters}
    for teller, told, joint in _TELLS:
        one, other = by_id[teller], by_id[told]
        pairs = sorted(set(zip(one.codes.tolist(), other.codes.tolist(), strict=True)))
        if len(other.values) == 1 or len(pairs) != len(one.values):
            continue
        texts: list[float | str] = [
            f"{one.texts[mine]}{joint}{other.texts[its]}" for mine, its in pairs
        ]
        by_id[teller] = _Parameter(one.id, one.label, one.unit, one.codes, texts)
        del by_id[told]
    return list(by_id.values())


def _text(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if unit == "s":
        return duration_text(value)
    return amount_text(value, unit, 5)


def _column(values: pl.Series, packer: Packer) -> contract.SweepColumn:
    known = values.is_not_null()
    own = values.drop_nulls().cast(pl.Float64).to_numpy()
    return contract.SweepColumn(
        known=None if known.all() else packer.values(known.cast(pl.Float64).to_numpy()),
        values=packer.values(own),
    )
