"""The newest value of each column, for pauses, limits and whoever watches."""

from collections.abc import Mapping

import polars as pl
import polars.selectors as cs

from heatsoak.recording.columns import drive_temperatures

#: No part of a drive that runs is colder or hotter: what reads so was not measured.
POSSIBLE_C = (-60.0, 200.0)


def is_possible(temp_c: float) -> bool:
    """Whether a drive can have this temperature."""
    return POSSIBLE_C[0] < temp_c < POSSIBLE_C[1]


class Latest:
    """Newest values by column; readable and writable from several threads."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def update(self, row: Mapping[str, float]) -> None:
        """Take over the numbers of one sample."""
        # one C-level call: no reader sees half of it
        self._values.update(row)

    def update_from(self, samples: pl.DataFrame) -> None:
        """Take over each column's last value that is not null."""
        if samples.is_empty():
            return
        last = samples.select(cs.numeric().drop_nulls().last().cast(pl.Float64))
        self.update(
            {name: value for name, value in last.row(0, named=True).items() if value is not None}
        )

    def forget_load(self) -> None:
        """Leave out what a load did, once it is over: the next may do nothing of it."""
        for name in list(self._values):
            if name.startswith(("read_", "write_")):
                self._values.pop(name, None)

    def value(self, column: str) -> float | None:
        """Return the newest value of `column`, if there ever was one."""
        return self._values.get(column)

    def temps_c(self) -> dict[str, float]:
        """Return the newest temperatures by sensor."""
        values = dict(self._values)
        return {
            name.removeprefix("temp_c."): value
            for name, value in values.items()
            if name.startswith("temp_c.")
        }

    def drive_temp_c(self) -> float | None:
        """Return the drive's own temperature: its composite, or its hottest other sensor.

        What no drive can have is left out.
        """
        values = {name: value for name, value in dict(self._values).items() if is_possible(value)}
        return max((values[name] for name in drive_temperatures(values)), default=None)

    def throughput_mb_s(self) -> float | None:
        """Return reads and writes together."""
        parts = [self.value("read_bw_mb_s"), self.value("write_bw_mb_s")]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None
