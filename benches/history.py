"""How long `heatsoak history` takes over the summaries of 100,000 recordings.

The summaries are made up (200 drives, two steps a recording, over five years); judging recordings
is not part of it.
"""

import argparse
import datetime
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from heatsoak.analysis.series import Array
from heatsoak.facts.table import SCHEMA
from heatsoak.history import history
from heatsoak.history.trend import DAYS_A_YEAR, TrendFit

YEARS_S = 5 * 365.25 * 86400
BEGAN_UNIX_S = 1.6e9
EPOCH = datetime.date(1970, 1, 1)


def summaries(recordings: int, drives: int, seed: int = 0) -> pl.DataFrame:
    """Two steps of each recording: every tenth drive ages by 5 % a year, every tenth had a bad
    firmware, all moved to another place once."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(drives), recordings // drives)
    since_s = rng.uniform(0, YEARS_S, len(of))
    moved_s, updated_s = rng.uniform(0, YEARS_S, (2, drives))
    has_moved, is_updated = since_s > moved_s[of], since_s > updated_s[of]
    aged = np.where(of % 10 == 0, -0.05 * since_s / (365.25 * 86400), 0.0)
    aged += np.where((of % 10 == 1) & is_updated, -0.12, 0.0) + np.where(has_moved, -0.2, 0.0)
    columns = {
        "path": [f"{drive}/{number}" for number, drive in enumerate(of)],
        "started_unix_s": BEGAN_UNIX_S + since_s,
        "drive": [f"S{drive:05d}" for drive in of],
        "firmware": np.where(is_updated, "2B", "1B"),
        "place": np.where(has_moved, "slot bottom", "slot top"),
    }
    steps = (("read", 3000.0), ("write", 2000.0))
    noises = [rng.normal(0, 0.02, len(of)) for _ in steps]
    return pl.concat(
        rows(step, mb_s * np.exp(aged + own), columns)
        for (step, mb_s), own in zip(steps, noises, strict=True)
    )


def rows(step: str, rates: Array, columns: Mapping[str, Any]) -> pl.DataFrame:
    """An index's rows of one step, with these `columns`."""
    made = pl.DataFrame({**columns, "mean_mb_s": rates, "level": 1.1 * rates}).with_columns(
        serial=pl.col("drive"),
        model=pl.lit("a drive"),
        host=pl.lit("Linux"),
        protocol=pl.lit("quick"),
        step=pl.lit(step),
        workload=pl.lit(f"sequential {step}, 128k, QD32"),
        alike=pl.lit(step),
        is_comparable=pl.lit(True),
        verdict=pl.lit("thermal"),
    )
    missing = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in SCHEMA.items()
        if name not in made.columns
    ]
    return made.with_columns(missing).select(pl.col(n).cast(kind) for n, kind in SCHEMA.items())


def main(recordings: int = 100_000, drives: int = 200) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory) / "history.parquet"
        summaries(recordings, drives).write_parquet(index)
        for which in (None, "S00010"):
            took_s, spent_s = [], []
            for _ in range(5):
                began_s, worked_s = time.perf_counter(), time.process_time()
                found = history(index, drive=which)
                took_s.append(time.perf_counter() - began_s)
                spent_s.append(time.process_time() - worked_s)
            slower = sum(one.verdict == "slower" for one in found.series)
            print(
                f"{recordings:,} recordings, {2 * recordings:,} summaries, "
                f"{index.stat().st_size / 1e6:.1f} MB: {which or f'all {drives} drives'} in "
                f"{min(took_s):.2f} to {max(took_s):.2f} s, of a processor {min(spent_s):.2f} s; "
                f"{slower} of {len(found.series)} slower"
            )


def noise(rng: np.random.Generator, days: int, alike: float, disturbed: float) -> Array:
    """Noise of 2 %, each day's like that before by `alike`; some days are 30 % slower."""
    fresh = rng.normal(0, 0.02 * np.sqrt(1 - alike**2), days)
    fresh[0] = rng.normal(0, 0.02)
    found = np.zeros(days)
    for day in range(days):
        found[day] = fresh[day] + (alike * found[day - 1] if day else 0.0)
    return np.where(rng.random(days) < disturbed, np.log(0.7), 0.0) + found


#: What a series of 60 days over two years holds besides noise, and how strong.
KINDS = ("nothing", "season", "ageing", "firmware", "place", "sudden")


def kinds(directory: Path, drives: int = 60) -> None:
    """Print what is said of drives with one change each, in one index: 60 runs over two years.

    Days are alike by 0.8, noise is 2 %, seasons swing by 3 %; ageing loses 8 % a year, the others
    11 % on a day. One clock in fifty was never set.
    """
    rng = np.random.default_rng(11)
    frames, began = [], {}
    for kind in KINDS:
        for number in range(drives):
            at = np.sort(rng.choice(730, 60, replace=False)).astype(float)
            since = np.arange(60) >= rng.integers(12, 48)
            logs = noise(rng, 60, 0.8, 0.0)
            if kind == "season":
                logs += 0.03 * np.sin(2 * np.pi * (at / DAYS_A_YEAR + rng.random()))
            if kind == "ageing":
                logs -= 0.08 * at / DAYS_A_YEAR
            elif kind not in ("nothing", "season"):
                logs -= np.log(1 / 0.89) * since
            drive = f"{kind} {number}"
            began[drive] = BEGAN_UNIX_S / 86400 + at[since][0]
            dates = np.where(rng.random(60) < 0.02, 0.0, BEGAN_UNIX_S + 86400 * at)
            columns = {
                "path": [f"{drive}/{number}" for number in range(60)],
                "started_unix_s": dates,
                "drive": [drive] * 60,
                "firmware": np.where(since & (kind == "firmware"), "2B", "1B"),
                "place": np.where(since & (kind == "place"), "slot bottom", "slot top"),
            }
            frames.append(rows("write", 2000 * np.exp(logs), columns))
    index = directory / "kinds.parquet"
    pl.concat(frames).write_parquet(index)
    found = history(index).series
    print(f"{drives} drives of each kind: called slower or faster, as what; sudden changes, dated")
    for kind in KINDS:
        of = [one for one in found if one.drive.startswith(kind)]
        changed = [one for one in of if one.verdict in ("slower", "faster")]
        as_what = Counter(one.since.kind if one.since else "gradual" for one in changed)
        off = [
            abs((change.date - EPOCH).days - began[one.drive])
            for one in of
            for change in one.changes
            if change.kind == "sudden"
        ]
        near = sum(days <= 7 for days in off)
        print(f"{kind:10}{len(changed):4}  {dict(as_what)}  {near} of {len(off)} within a week")


def intervals(drives: int = 600) -> None:
    """Print how often a slope is found where there is none, and how often the interval of the
    drive's own change holds the truth: 5 % a year, and 10 % by firmware halfway."""
    rng = np.random.default_rng(1)
    print("days, alike, disturbed: found where there is none, interval holds the truth")
    for days in (6, 8, 12, 24, 60, 200):
        for alike, disturbed in ((0.0, 0.0), (0.0, 0.1), (0.5, 0.0), (0.8, 0.0)):
            found = held = 0
            for _ in range(drives):
                at = np.sort(rng.choice(10 * days, days, replace=False)).astype(float)
                logs = noise(rng, days, alike, disturbed)
                one = np.zeros(days, np.int64)
                firmware = (np.arange(days) >= days // 2).astype(np.int64)
                slope = TrendFit(at, logs, one, one).slope()
                found += slope is not None and slope.p < 0.05
                aged = -0.05 * (at - at[0]) / DAYS_A_YEAR
                own = TrendFit(at, logs + aged - 0.1 * firmware, one, firmware).own()
                held += own is not None and aged[-1] - 0.1 in own.of_log
            print(
                f"{days}, {alike}, {disturbed}: {100 * found / drives:.1f} %, "
                f"{100 * held / drives:.1f} %"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=100_000)
    parser.add_argument("--drives", type=int, default=200)
    parser.add_argument("--intervals", action="store_true", help="check the intervals: a minute")
    parser.add_argument("--kinds", action="store_true", help="check what is said of each change")
    chosen = parser.parse_args()
    if chosen.intervals:
        intervals()
    elif chosen.kinds:
        with tempfile.TemporaryDirectory() as scratch:
            kinds(Path(scratch))
    else:
        main(chosen.recordings, chosen.drives)
