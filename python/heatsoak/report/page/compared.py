"""Comparisons on the page: the one that was asked for, or the one that suggests itself."""

from collections.abc import Sequence

from heatsoak.analysis.comparison import Comparison, NotAlikeError, compare
from heatsoak.report.page.names import Names


def comparisons(
    names: Names, by: str | None = None, baseline: str | None = None, *, anyway: bool = False
) -> tuple[list[Comparison], list[str]]:
    """Return the comparisons, and notes on what could not be compared.

    Without `by`, recordings that differ in exactly one condition are compared by it.
    Raises UsageError, as `compare` does, only for what was asked for.
    """
    recordings = [named.recording for named in names.recordings]
    if by is not None:
        return [compare(recordings, by, baseline, anyway)], []
    if len(names.keys) != 1:
        return [], []
    key = names.keys[0]
    try:
        return [compare(recordings, key)], []
    except NotAlikeError as error:
        return [], [f"not compared by {key}: {line}" for line in _first(error.differences)]


def _first(lines: Sequence[str]) -> list[str]:
    more = [f"and {len(lines) - 3} more"] if len(lines) > 3 else []
    return [*lines[:3], *more]
