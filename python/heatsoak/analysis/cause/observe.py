"""Looks at a case from every side."""

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import LOOKS


def observe(case: Case) -> list[Finding]:
    """Return everything that can be said of a drop's cause, whatever it is worth."""
    return [finding for look in LOOKS if (finding := look(case)) is not None]
