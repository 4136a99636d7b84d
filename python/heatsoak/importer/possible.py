"""What no drive, link or queue can do: another unit, several drives, or a counter that wrapped."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from heatsoak.errors import UsageError
from heatsoak.importer.frames import RATES
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.tables.derived import MAX_IOPS, MAX_MB_S, unit_key
from heatsoak.importer.tables.headers import meaning
from heatsoak.recording import UNREAD, Touched

#: What a doubt touches about rates that cannot be taken as they stand.
NOT_TAKEN: tuple[Touched, ...] = ("rate", "unit")
#: The most that is possible, by what a column's name ends in.
MOST = {
    "bw_mb_s": MAX_MB_S, "iops": MAX_IOPS, "lat_us": 1e11, "queue": 1e7, "busy_pct": 1e5,
}  # fmt: skip
#: In so small a share of samples they are wrong in these alone; a single one is if it is so many
#: times what any other sample is, as where a counter wrapped.
_SPIKES, _FAR = 0.05, 1e3

#: What a drive of a kind moves at most in one direction, by how logs name the kind; the first
#: that fits counts. Hard disks' outer tracks reach 285 MB/s, and twice that with two actuators.
#: SATA carries 6 Gb/s in 10 bits a byte, four lanes of PCIe 5.0 15.8 GB/s.
_CEILINGS_MB_S = (
    (
        re.compile(
            r"\b(?:ST\d{3,5}[A-Z]{2}\d|WDC? ?WD\d{2,4}[A-Z]{4}|WUH7|HU[HS]7|HDW|M[GQ]\d\d"
            r"|\d{4,5} ?rpm\b|hdd\b|hard dis[ck])",
            re.IGNORECASE,
        ),
        600.0,
        "a hard disk moves",
    ),
    (
        re.compile(
            r"\bsata\b(?!.*express)|\bssd 8[4-7]0 (?:evo|pro|qvo)|\b8[4-7]0 (?:evo|pro|qvo)\b"
            r"|\bCT\d{3,4}[BM]X\d00|\b[BM]X[2-5]00\b|\bSSDSC2|\bSA[45]00",
            re.IGNORECASE,
        ),
        600.0,
        "SATA carries",
    ),
    (re.compile(""), 15_800.0, "four lanes of PCIe 5.0 carry"),
)


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
        touches = NOT_TAKEN if name.endswith(RATES) else UNREAD
        remark = Remark(f"{log.source}: {name} {what}", True, touches)
        log = replace(log, samples=samples).with_remarks(remark)
    return log.with_remarks(*_beyond_link(log))


def _beyond_link(log: Log) -> list[Remark]:
    """Whether more was moved, most of the time, than a drive such as the log names moves."""
    texts = "\n".join(map(str, (*log.drive.values(), *log.conditions.values())))
    most, what = next((most, what) for kind, most, what in _CEILINGS_MB_S if kind.search(texts))
    for name in log.samples.columns:
        if name.endswith("bw_mb_s"):
            usual = log.samples[name].drop_nulls().median()
            if isinstance(usual, float) and usual > most:
                text = (
                    f"{log.source}: {name} is {usual:,.0f} MB/s, more than {what} "
                    f"({most:,.0f}): another unit, several drives, or the host's memory"
                )
                return [Remark(text, True, NOT_TAKEN)]
    return []
