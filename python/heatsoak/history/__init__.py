"""Years of recordings as summaries in a Parquet file, and whether their drives became slower.

`summaries` makes the rows of a recording, `index` keeps them, `trend` tells ageing from firmware
and place, and `drives` asks for the series and says what they show.
"""

from heatsoak.history.drives import History, Series, history, require_duckdb
from heatsoak.history.index import NAME, Updated, read_index, require_index, update

__all__ = [
    "NAME",
    "History",
    "Series",
    "Updated",
    "history",
    "read_index",
    "require_duckdb",
    "require_index",
    "update",
]
