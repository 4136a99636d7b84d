"""What the catalog knows of drives of this model.

Makers change what is in a drive and keep its name, and some of the catalog's numbers are assumed:
only that a drive has no cache at all is more than a hint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence.counters import beside_limits, stated_limits_c
from heatsoak.analysis.cause.evidence.shape import SAME, apart
from heatsoak.units import GB
from heatsoak.words import number_text

if TYPE_CHECKING:
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
    if known is None or case.onset_c is None or stated_limits_c(case):
        return None
    found = beside_limits(case.onset_c, _limits_c(known))
    if found is None:
        return None
    seen, what, limit_c = found
    text = f"it started at {case.onset_c:.0f} C, and such drives {what} {limit_c:.0f} C"
    return Finding("known-limit", seen, f"{text} (catalog: {known.drive.id})")


def cache(case: Case) -> Finding | None:
    """What the step had written at the onset, compared with the cache of such drives."""
    known, here_gb = _hint(case), case.view.written_gb(case.drop.onset_s)
    if known is None or not known.size_bytes or not known.cache_bytes or not here_gb:
        return None
    cache_gb = known.cache_bytes / GB
    if apart(here_gb, cache_gb) > SAME:
        return None
    return Finding(
        "known-cache",
        "full",
        f"{number_text(here_gb)} GB had been written, and the cache of such drives holds "
        f"{number_text(cache_gb)} GB (catalog: {known.drive.id})",
    )


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
