"""What a condition changes: recordings with and without it, compared. `runs` groups recordings,
`pairing` finds those that differ in nothing else, and leaves out what was not run alike.
`spread` says how far the measures of runs and conditions are to be trusted, `rows` puts the results
together; `headline` says them in a sentence or two, `compare` in one.
"""

from heatsoak.comparison.compare import compare
from heatsoak.comparison.model import (
    Comparison,
    ComparisonHeadline,
    ComparisonRow,
    ComparisonSummary,
    NotAlikeError,
    Ranked,
)

__all__ = [
    "Comparison",
    "ComparisonHeadline",
    "ComparisonRow",
    "ComparisonSummary",
    "NotAlikeError",
    "Ranked",
    "compare",
]
