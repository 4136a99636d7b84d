"""How near the simulated figures come, by what they are figures of."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from heatsoak.reproduce.plan import Question
from heatsoak.reproduce.rows import ReproductionRow

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
    STATED: (
        (
            *("stated_warning_c", "stated_critical_c"),
            *("stated_ps0_w", "stated_ps1_w", "stated_ps2_w"),
        ),
        None,
    ),
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


def kind_of(question: Question) -> str:
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


def nearness(asked: Sequence[Question], rows: Sequence[ReproductionRow]) -> list[Nearness]:
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
