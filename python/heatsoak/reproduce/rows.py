"""Published figures next to the simulated ones: the rows of the table, and how near they come."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak import catalog
from heatsoak.reproduce import runner
from heatsoak.reproduce.measures import measured
from heatsoak.reproduce.reviews import STATED_LIMITS

NOT_SIMULATED = "no recording shows it"


def _without_why(schema: dict[str, Any]) -> None:
    """The only key that is not always printed."""
    schema["required"].remove("why")


class ReproductionRow(BaseModel):
    """One published figure and the simulated one.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        drive: the ids of its drives, joined by commas; None for a constant.
        conditions: the conditions of the measurement, as published.
        metric: the last words of the id, unit last.
        published: both ends of the range; 1 and 1 for a statement that is true, 0 and 0 for one
            that is not.
        tolerance: added to each end of the range.
        simulated: None if it could not be measured; a statement gives 1 or 0.
        ok: whether it counts as reproduced.
        counted: whether it counts among the reproduced figures.
        role: whether the calibration saw it; ``known``, only among modern figures, if no fit did
            but the catalog was built with it in view.
        why: why it does not hold; only there if the numbers alone do not say.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra=_without_why)

    schema_version: Literal[1] = 1
    id: str
    drive: str | None
    conditions: dict[str, Any]
    metric: str
    published: tuple[float, float]
    tolerance: float
    simulated: float | None
    ok: bool
    counted: bool
    role: catalog.FigureRole
    why: str | None = None

    def without_fit(self) -> "ReproductionRow":
        """Return it as it is where nothing was fitted to its drive."""
        fitted = self.role == "fitted"
        return self.model_copy(update={"role": "predicted"}) if fitted else self

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; `why` only if there is one."""
        return self.model_dump(mode="json", exclude=None if self.why is not None else {"why"})


def make_row(
    question: runner.Question, outcomes: dict[runner.PlannedRecording, runner.RunOrReason]
) -> ReproductionRow:
    """Return the row of one figure, measured in the recordings of its jobs."""
    simulated, why = _measure(question, outcomes)
    figure = question.figure
    conditions: dict[str, Any]
    if isinstance(figure, catalog.PugetCell):
        metric = question.id.rpartition(".")[2]
        is_onset = metric == "onset_s"
        published = figure.onset_s if is_onset else figure.depth_pct
        low, high = figure.onset_limits_s if is_onset else figure.depth_limits_pct
        tolerance = published[0] - low
        ok = simulated is not None and low <= simulated <= high
        conditions = {"slot": figure.slot, "gpus": figure.gpus, "gpu_load": figure.gpu_load}
    else:
        metric, published, tolerance = figure.metric, figure.interval, figure.tolerance
        ok = simulated is not None and why is None and figure.holds_for(simulated)
        conditions = (
            {"test": figure.conditions}
            if isinstance(figure, catalog.ModernFigure)
            else dict(figure.conditions)
        )
    return ReproductionRow(
        id=question.id,
        drive=", ".join(question.drives) or None,
        conditions=conditions,
        metric=metric,
        published=published,
        tolerance=tolerance,
        simulated=simulated,
        ok=ok,
        counted=figure.counted if isinstance(figure, catalog.PublishedFigure) else True,
        role=figure.role
        if isinstance(figure, catalog.ModernFigure)
        else catalog.roles().of(question.id),
        why=why,
    )


def _measure(
    question: runner.Question, outcomes: dict[runner.PlannedRecording, runner.RunOrReason]
) -> tuple[float | None, str | None]:
    """The value, and why it does not hold; either may be None."""
    how = question.measured
    if how is None:
        return None, NOT_SIMULATED
    runs, against = ([outcomes[job] for job in jobs] for jobs in (question.jobs, question.against))
    missing = dict.fromkeys(outcome for outcome in (*runs, *against) if isinstance(outcome, str))
    if missing:
        return None, next(iter(missing))
    figure = question.figure
    case = runner.FigureInput(
        [run for run in runs if isinstance(run, runner.FinishedRun)],
        [run for run in against if isinstance(run, runner.FinishedRun)],
        how.steps,
        how.at,
        (0.0, 0.0) if isinstance(figure, catalog.PugetCell) else figure.interval,
        how.scores,
    )
    try:
        answer = measured(how.by, case)
    except runner.NotMeasured as reason:
        return None, str(reason)
    return answer.value, answer.why


SPEEDS, STATED = "speeds", "stated limits"
#: What a measure gives, and the share of the published number that counts as near.
KINDS: dict[str, tuple[tuple[str, ...], float | None]] = {
    "throttles or not": (("throttles",), None),
    "onsets": (("thermal_onset_s", "written_gb_at_onset"), 0.25),
    SPEEDS: (
        ("peak_mb_s", "throttled_mb_s", "mean_mb_s", "behind_cache_mb_s", "rest_mb_s", "end_mb_s"),
        0.15,
    ),
    "cache sizes": (("cache_gb",), 0.1),
    "powers": (("mean_power_w",), 0.1),
    STATED: (tuple(STATED_LIMITS), None),
}
#: Everything else.
TEMPERATURES = "temperatures"


@dataclass(frozen=True)
class Nearness:
    """How near the figures of one kind come.

    Attributes:
        held: how many are within their published tolerance, of `count`.
        near_share: what counts as near; None for statements and temperatures.
        near: how many are at most that share outside the published range; one that could not be
            measured is not near.
        off_share: the median of how far they are outside it, of those that were measured.
    """

    kind: str
    count: int
    held: int
    near_share: float | None = None
    near: int | None = None
    off_share: float | None = None


def kind_of(question: runner.Question) -> str:
    """Return what a figure is a figure of."""
    by = question.measured.by if question.measured is not None else ""
    return next((kind for kind, (measures, _) in KINDS.items() if by in measures), TEMPERATURES)


def off_share(row: ReproductionRow) -> float | None:
    """Return how far a figure is outside the published range, as a share of its nearer end."""
    if row.simulated is None:
        return None
    low, high = row.published
    if low <= row.simulated <= high:
        return 0.0
    end = low if row.simulated < low else high
    return abs(row.simulated - end) / abs(end) if end else None


def nearness(asked: Sequence[runner.Question], rows: Sequence[ReproductionRow]) -> list[Nearness]:
    """Return how near the figures come, for each kind that there is."""
    of_kind: dict[str, list[ReproductionRow]] = {kind: [] for kind in (*KINDS, TEMPERATURES)}
    for question, row in zip(asked, rows, strict=True):
        of_kind[kind_of(question)].append(row)
    return [_near(kind, found) for kind, found in of_kind.items() if found]


def _near(kind: str, rows: list[ReproductionRow]) -> Nearness:
    held = sum(row.ok for row in rows)
    near_share = KINDS[kind][1] if kind in KINDS else None
    if near_share is None:
        return Nearness(kind, len(rows), held)
    off = [share for row in rows if (share := off_share(row)) is not None]
    near = sum(share <= near_share for share in off)
    return Nearness(kind, len(rows), held, near_share, near, median(off) if off else None)
