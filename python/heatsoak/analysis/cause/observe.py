"""Runs every check on a case."""

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import CHECKS


def observe(case: Case) -> list[Finding]:
    """Return all findings about a drop's cause, whatever their weight."""
    return [finding for check in CHECKS if (finding := check(case)) is not None]
