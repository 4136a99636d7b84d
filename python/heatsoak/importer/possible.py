"""What no drive, link or queue can do: another unit, several drives, or a counter that wrapped."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from heatsoak.errors import UsageError
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.tables.derived import MAX_IOPS, MAX_MB_S, unit_key
from heatsoak.importer.tables.headers import meaning

#: The most that is possible, by what a column's name ends in.
MOST = {
    "bw_mb_s": MAX_MB_S, "iops": MAX_IOPS, "lat_us": 1e11, "queue": 1e7, "busy_pct": 1e5,
}  # fmt: skip
#: In so small a share of samples they are wrong in these alone; a single one is if it is so many
#: times what any other sample is, as where a counter wrapped.
_SPIKES, _FAR = 0.05, 1e3

#: The link that old and new logs name, and what it carries at most.
_SATA, _SATA_MB_S = re.compile(r"\bsata\b(?!.*express)", re.IGNORECASE), 600.0


def possible(log: Log, mapping: Mapping[str, str]) -> Log:
    """Return a log without values that are impossible, or without the column where most are.

    `mapping` is what the user says of columns. Raises UsageError where that makes it so.
    """
    for name in log.samples.columns:
        most = next((most for ending, most in MOST.items() if name.endswith(ending)), math.inf)
        values = log.samples[name].drop_nulls().to_numpy() if most < math.inf else np.empty(0)
        over = int((values > most).sum())
        if not over:
            continue
        unit = " MB/s" if most == MAX_MB_S else ""
        what = f"is up to {float(values.max()):,.0f}{unit}, which no drive can do"
        others = values[(values > 0) & (values <= most)]
        is_far = over == 1 and len(others) > 0 and values.max() > _FAR * others.max()
        if is_far or over <= _SPIKES * (over + len(others)):
            kept = pl.when(pl.col(name) <= most).then(pl.col(name))
            samples = log.samples.with_columns(kept.alias(name))
            what += f", in {over:,} of {len(values):,} samples: left out"
        else:
            for key, header in mapping.items():
                found = meaning(key)
                if unit and found is not None and found.column == name:
                    key_meant = name.removesuffix("bw_mb_s") + unit_key(values / found.scale)
                    raise UsageError(
                        f"{log.source}: '{header}' as {key} {what}: "
                        f"--map '{key_meant}={header}' may be meant"
                    )
            samples = log.samples.drop(name)
            what += ": its unit is another, or it is of several drives; left out"
        remark = Remark(f"{log.source}: {name} {what}", doubt=True)
        log = replace(log, samples=samples).with_remarks(remark)
    return log.with_remarks(*_beyond_link(log))


def _beyond_link(log: Log) -> list[Remark]:
    """Whether more was moved, most of the time, than the link carries that the log names."""
    texts = [str(value) for value in (*log.drive.values(), *log.conditions.values())]
    if not any(_SATA.search(text) for text in texts):
        return []
    for name in log.samples.columns:
        if name.endswith("bw_mb_s"):
            usual = log.samples[name].drop_nulls().median()
            if isinstance(usual, float) and usual > _SATA_MB_S:
                text = (
                    f"{log.source}: {name} is {usual:,.0f} MB/s, more than SATA carries "
                    f"({_SATA_MB_S:.0f}): another unit, several drives, or the host's memory"
                )
                return [Remark(text, True, ("rate", "unit"))]
    return []
