"""Years of recordings as summaries in a Parquet file, and whether their drives became slower.

`index` keeps a row of each judged step, `queries` takes the days of each drive from it, `trend`
tells ageing from firmware and place, `verdicts` what is beyond chance, and says it.
"""

from heatsoak.history.findings import History, Series
from heatsoak.history.index import NAME, Updated, read_index, require_index, update
from heatsoak.history.verdicts import history

__all__ = [
    "NAME",
    "History",
    "Series",
    "Updated",
    "history",
    "read_index",
    "require_index",
    "update",
]
