"""What a condition changes: recordings with and without it, compared. `runs` groups recordings,
`pairing` finds those that differ in nothing else, and leaves out what was not run alike.
`measures` takes the metrics of each step and says how far they are to be trusted within a run,
`spread` between runs and conditions. `rows` puts the results together; `headline` says them in a
sentence or two, `compare` in one.
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
