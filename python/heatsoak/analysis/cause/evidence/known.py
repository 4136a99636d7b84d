"""What the catalog knows of drives of this model.

Makers change what is in a drive and keep its name, and some of the catalog's numbers are assumed:
only that a drive has no cache at all is more than a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence.counters import beside_limits, stated_limits_c
from heatsoak.analysis.cause.evidence.shape import SAME, apart
from heatsoak.units import GB, format_number

if TYPE_CHECKING:
    from heatsoak.analysis.course import Course
    from heatsoak.catalog import Likeness


def no_cache(case: Case) -> Finding | None:
    """A write cache cannot fill up in a drive that has none."""
    known = case.view.course.known
    if not case.view.step.writes or known is None or known.drive.cache is not None:
        return None
    return Finding("drive", "no-cache", f"the {case.view.course.drive['model']} has no write cache")


def limit(case: Case) -> Finding | None:
    """The temperature at onset, compared with where such drives throttle, if it stated no limit."""
    known = _hint(case)
    if known is None or case.onset_c is None or case.hot_part or stated_limits_c(case):
        return None
    found = beside_limits(case.onset_c, _limits_c(known))
    if found is None:
        return None
    seen, what, limit_c = found
    if seen == "above":
        return None
    text = f"it started at {case.onset_c:.0f} C, and such drives {what} {limit_c:.0f} C"
    return Finding("known-limit", seen, f"{text} (catalog: {known.drive.id})")


def cache(case: Case) -> Finding | None:
    """What the step had written at the onset, compared with the cache of such drives."""
    course, here_gb = case.view.course, case.view.written_gb(case.drop.onset_s)
    if course.drive.get("simulated") or not here_gb:
        return None
    known = write_cache_of(course)
    if known is None:
        return None
    is_full = apart(here_gb, known.gb) <= SAME
    text = (
        f"{format_number(here_gb)} GB had been written, and the cache of such drives holds "
        f"{format_number(known.gb)} GB"
    )
    is_behind = known.behind_mb_s is not None and case.view.throughput.unit == "mb_s"
    if is_behind and apart(case.drop.during, known.behind_mb_s or 0.0) <= SAME:
        rate = (
            f"behind their cache such drives write {format_number(known.behind_mb_s or 0.0)} MB/s"
        )
        if is_full:
            return Finding("known-cache", "full-and-behind", f"{text}; {rate} ({known.source})")
        return Finding("known-cache", "behind", f"{rate} ({known.source})")
    return Finding("known-cache", "full", f"{text} ({known.source})") if is_full else None


@dataclass(frozen=True)
class WriteCache:
    """What a model's write cache holds, how fast such drives write behind it, and who says so."""

    gb: float
    behind_mb_s: float | None
    source: str


def write_cache_of(course: Course) -> WriteCache | None:
    """Return the write cache of drives of this model; None if it is not known.

    What a maker or a test states comes before what the catalog's drive has.
    """
    model, size_gb = str(course.drive.get("model") or ""), course.drive_gb
    from heatsoak.catalog import stated_cache  # few recordings are held against the catalog

    stated = stated_cache(model, size_gb)
    if stated is not None:
        return WriteCache(stated.gb, stated.behind_mb_s, f"by its maker: {stated.model}")
    known = course.known
    if known is None or not known.size_bytes or not known.cache_bytes:
        return None
    return WriteCache(known.cache_bytes / GB, None, f"catalog: {known.drive.id}")


def _hint(case: Case) -> Likeness | None:
    """The catalog's drive; None for a simulated one, of which its file would be the truth."""
    course = case.view.course
    return None if course.drive.get("simulated") else course.known


def _limits_c(known: Likeness) -> dict[str, float]:
    limits = known.drive.limits
    figures = {
        "throttle from": known.throttles_from_c,
        "warn at": limits and limits.wctemp_c,
    }
    return {name: figure.value for name, figure in figures.items() if figure}
