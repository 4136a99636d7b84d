"""What a sweep comes to: how many points throttle, the minimum cooling, the worst.

:class:`FinishedSweep` reads one from its directory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from heatsoak.errors import UsageError
from heatsoak.sweep import store
from heatsoak.twin.advise import ENOUGH
from heatsoak.words import duration_text, kelvin_text, number_text, percent_text, temp_text

#: A point throttles if that is likelier than not.
THROTTLES = 0.5
#: What is changed about a place, by column.
_COOLING = ("ambient_c", "warmer_k", "airflow_m_s", "heatsink", "heatsink_k_per_w")


class SweptGroup(BaseModel):
    """A drive in a place under a workload.

    Attributes:
        throttling: how many of its points throttle, likelier than not; `impossible` are those
            where the drive would run away without any load.
        soonest_s: the earliest onset in the middle, `deepest_pct` the most that heat takes there.
        hottest_c: the highest temperature that it reports, in the middle, at any of its points.
    """

    drive: str
    enclosure: str
    workload: str
    for_s: float
    points: int
    throttling: int
    impossible: int
    soonest_s: float | None
    deepest_pct: float | None
    hottest_c: float | None


class Point(BaseModel):
    """One point: its axes, and what was predicted in the middle."""

    drive: str
    enclosure: str
    workload: str
    for_s: float
    ambient_c: float | None
    warmer_k: float | None
    airflow_m_s: float | None
    heatsink: str | None
    heatsink_k_per_w: float | None
    throttles: float
    onset_s: float | None
    depth_pct: float | None
    throttled_mb_s: float | None
    max_reported_temp_c: float


class MinimumCooling(BaseModel):
    """The parameters at which every group just keeps its full speed; None is as it is."""

    ambient_c: float | None
    warmer_k: float | None
    airflow_m_s: float | None
    heatsink: str | None
    heatsink_k_per_w: float | None
    max_reported_temp_c: float


class Sweep(BaseModel):
    """What a sweep comes to.

    Attributes:
        answer: in a sentence.
        throttling: how many points throttle, likelier than not; at `impossible` more the drive
            would run away without any load.
        minimum_cooling: the weakest in the grid at which nothing throttles: the one that lets
            drives get hottest. None if something throttles at any of them.
        worst: where heat takes most; None where it takes nothing.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[2] = 2
    answer: str
    points: int
    throttling: int
    impossible: int
    minimum_cooling: MinimumCooling | None
    worst: Point | None
    groups: list[SweptGroup]


def summary_of(points: pl.DataFrame) -> Sweep:
    """Return what the points of a sweep come to."""
    throttling = int((points["throttles"] >= THROTTLES).sum())
    impossible = points["impossible"].count()
    minimum, worst = _minimum_cooling(points), _worst(points)
    varied = [name for name in _COOLING if points[name].n_unique() > 1]
    return Sweep(
        answer=_answer(len(points), throttling, impossible, minimum, worst, varied),
        points=len(points),
        throttling=throttling,
        impossible=impossible,
        minimum_cooling=minimum,
        worst=worst,
        groups=list(_groups(points)),
    )


def _groups(points: pl.DataFrame) -> Sequence[SweptGroup]:
    keys = ["drive", "enclosure", "workload", "for_s"]
    found = points.group_by(keys, maintain_order=True).agg(
        points=pl.len().cast(pl.Int64),
        throttling=(pl.col("throttles") >= THROTTLES).sum().cast(pl.Int64),
        impossible=pl.col("impossible").count().cast(pl.Int64),
        soonest_s=pl.col("onset_mid_s").min(),
        deepest_pct=pl.col("depth_mid_pct").max(),
        hottest_c=pl.col("max_reported_temp_mid_c").max(),
    )
    return [SweptGroup.model_validate(row) for row in found.iter_rows(named=True)]


def _minimum_cooling(points: pl.DataFrame) -> MinimumCooling | None:
    """Of cooling that is enough everywhere, that with which some drive gets hottest."""
    cool = (
        points.group_by(_COOLING, maintain_order=True)
        .agg(
            is_enough=(pl.col("throttles").fill_null(1.0) < ENOUGH).all(),
            max_reported_temp_c=pl.col("max_reported_temp_mid_c").max(),
        )
        .filter("is_enough")
        .sort("max_reported_temp_c", descending=True, maintain_order=True)
    )
    return MinimumCooling.model_validate(cool.row(0, named=True)) if len(cool) else None


def _worst(points: pl.DataFrame) -> Point | None:
    slowed = points.filter(pl.col("throttles") >= THROTTLES).sort(
        "depth_mid_pct", "late_mid_pct", descending=True, nulls_last=True, maintain_order=True
    )
    if not len(slowed):
        return None
    row = slowed.row(0, named=True)
    middle = {
        "onset_s": row["onset_mid_s"],
        "depth_pct": row["depth_mid_pct"],
        "throttled_mb_s": row["throttled_mid_mb_s"],
        "max_reported_temp_c": row["max_reported_temp_mid_c"],
    }
    return Point.model_validate({**row, **middle})


def _answer(
    count: int,
    throttling: int,
    impossible: int,
    minimum: MinimumCooling | None,
    worst: Point | None,
    varied: Sequence[str],
) -> str:
    hot = f", and at {impossible:,} more the drive gets too hot at rest" if impossible else ""
    if worst is None:
        return f"None of {count:,} points throttles{hot}."
    said = f"{throttling:,} of {count:,} points throttle{hot}; "
    if varied and throttling + impossible < count:
        said += (
            "no cooling in the grid keeps full speed everywhere; "
            if minimum is None
            else "minimum cooling for full speed everywhere: "
            f"{cooling_words(minimum.model_dump(), varied)}; "
        )
    where = f"{worst.drive} in {worst.enclosure}, {worst.workload}"
    cooling = cooling_words(worst.model_dump(), varied)
    took = "is held back" if worst.depth_pct is None else f"-{percent_text(worst.depth_pct)}"
    assert worst.onset_s is not None
    return (
        f"{said}worst: {where}{f', {cooling}' if cooling else ''}: {took} from "
        f"{duration_text(worst.onset_s)} on."
    )


def cooling_words(row: dict[str, Any], varied: Sequence[str]) -> str:
    """Return what is changed about a place in words: only what differs in the sweep."""
    words = []
    if "ambient_c" in varied and row["ambient_c"] is not None:
        words.append(f"air of {temp_text(row['ambient_c'], 3)}")
    if "warmer_k" in varied and row["warmer_k"] is not None:
        than = "warmer" if row["warmer_k"] >= 0 else "cooler"
        words.append(f"air {kelvin_text(abs(row['warmer_k']), 3)} {than}")
    if "airflow_m_s" in varied and row["airflow_m_s"] is not None:
        words.append(f"{number_text(row['airflow_m_s'])} m/s")
    if row["heatsink"] is not None and "heatsink" in varied:
        words.append(f"heatsink {row['heatsink']}")
    elif row["heatsink_k_per_w"] is not None and "heatsink_k_per_w" in varied:
        words.append(f"heatsink of {number_text(row['heatsink_k_per_w'])} K/W")
    elif {"heatsink", "heatsink_k_per_w"} & set(varied):
        words.append("no heatsink put on")
    return ", ".join(words)


#: Groups that are shown: what fits a screen.
MOST_GROUPS = 20
#: How many of their table's columns are words; the others are numbers.
WORDS = 3


def group_table(found: Sweep) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table of groups, the worst first if there are many."""
    lengths = len({one.for_s for one in found.groups}) > 1
    groups = found.groups
    if len(groups) > MOST_GROUPS:
        groups = sorted(groups, key=lambda one: -(one.throttling + one.impossible) / one.points)
    headings = ["Drive", "Enclosure", "Workload", *(["for"] if lengths else [])]
    return [*headings, "throttle", "soonest", "deepest", "hottest"], [
        [
            *(one.drive, one.enclosure, one.workload),
            *([duration_text(one.for_s)] if lengths else []),
            f"{one.throttling:,} of {one.points:,}"
            + (f", {one.impossible:,} too hot at rest" if one.impossible else ""),
            "" if one.soonest_s is None else duration_text(one.soonest_s),
            "" if one.deepest_pct is None else f"-{percent_text(one.deepest_pct)}",
            "" if one.hottest_c is None else temp_text(one.hottest_c),
        ]
        for one in groups
    ]


#: The summary, which is written when everything else is there.
SUMMARY = "sweep.json"


@dataclass(frozen=True)
class FinishedSweep:
    """What a sweep left.

    Attributes:
        points: a row for each point, and the columns of `store.POINTS`.
    """

    directory: Path
    points: pl.DataFrame

    @cached_property
    def summary(self) -> Sweep:
        """What it comes to."""
        return summary_of(self.points)

    @classmethod
    def load(cls, directory: Path) -> "FinishedSweep":
        """Read a sweep; UsageError if it is not finished, ToolError if a table is damaged."""
        if not (directory / SUMMARY).is_file():
            raise UsageError(
                f"{directory}: the sweep is not finished: give the command that made it again, "
                "and it goes on from there"
            )
        points = store.read_parts(directory / store.TABLE)
        if not len(points):
            raise UsageError(f"{directory}: holds no points: their table is gone")
        return cls(directory, points)
