"""How long `heatsoak history` takes over the summaries of 100,000 recordings.

The summaries are made up (200 drives, two steps a recording, over five years); judging recordings
is not part of it.
"""

import argparse
import datetime
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from comparison import wander
from heatsoak.analysis.series import Array
from heatsoak.facts.table import SCHEMA
from heatsoak.history import history
from heatsoak.history.trend import DAYS_A_YEAR, TrendFit

YEARS_S = 5 * 365.25 * 86400
BEGAN_UNIX_S = 1.6e9
EPOCH = datetime.date(1970, 1, 1)
#: What a series holds, and how many of 33 do; of the first 15 the drive did not change.
KINDS = {
    **{"nothing": 2, "eight runs": 2, "season": 3, "days alike": 3, "gaps": 1, "clocks": 2},
    **{"bad days": 1, "place": 1, "ageing": 2, "firmware": 2, "firmware and place": 1},
    **{"sudden": 6, "late": 2, "undone": 2, "two steps": 2, "two models": 1},
}
#: Of those that changed, what that is due to.
SUDDEN = {"sudden": "sudden", "late": "sudden", "two steps": "sudden", "undone": None}
CHANGED = {"ageing": "gradual", "firmware": "firmware", "firmware and place": "together"} | SUDDEN


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
    made = pl.DataFrame(
        {"model": "a drive", **columns, "mean_mb_s": rates, "before_mb_s": 1.1 * rates}
    ).with_columns(
        serial=pl.col("drive"),
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


def noise(
    rng: np.random.Generator, days: int, alike: float, disturbed: float, sd: float = 0.02
) -> Array:
    """Noise of a standard deviation, each day's like that before; some days are 30 % slower."""
    found = sd / 0.02 * (wander(days, alike, rng) - 1)
    return np.where(rng.random(days) < disturbed, np.log(0.7), 0.0) + found


@dataclass(frozen=True)
class Made:
    """A made series, its dates (s), the first runs of its sudden changes, and its own change."""

    kind: str
    frame: pl.DataFrame
    logs: Array
    dates: Array
    sudden: Sequence[int]
    own: float

    def are_dated(self, runs: Sequence[int]) -> bool:
        """Whether each sudden change is among these runs, or the next to one."""
        return all(any(abs(run - true) <= 1 for run in runs) for true in self.sudden)


def make(rng: np.random.Generator, kind: str, drive: str) -> Made:
    """Draw a series: 60 runs (or eight) in two years, of a drive that changes as its kind says.

    Noise is 1 to 2 %, days are alike by 0 to 0.6 (or 0.8), a third has seasons of 3 %, a third a
    bad day. What changes on a day changes by 10 to 20 %, two steps by 8 % each, ageing by 8 % a
    year; in the last three to five runs it is late.
    """
    at = np.sort(rng.choice(730, 8 if kind == "eight runs" else 60, replace=False)).astype(float)
    at = at[(at < 200) | (at > 400)] if kind == "gaps" else at
    run = np.arange(len(at))
    alike = 0.8 if kind == "days alike" else rng.choice([0.0, 0.3, 0.6])
    logs = noise(rng, len(at), alike, 0.1 * (kind == "bad days"), rng.uniform(0.01, 0.02))
    if kind == "season" or rng.random() < 1 / 3:
        logs += 0.03 * np.sin(2 * np.pi * (at / DAYS_A_YEAR + rng.random()))
    logs[rng.integers(len(at))] += np.log(0.8) * (rng.random() < 1 / 3)
    size, first = np.log(rng.uniform(0.8, 0.9)), int(rng.integers(10, 25))
    second = first + int(rng.integers(10, 25))
    steps = {
        "late": {len(at) - int(rng.integers(3, 6)): size},
        "undone": {first: size, second: -size},
        "two steps": {first: np.log(0.92), second: np.log(0.92)},
    }.get(kind, {second: size})
    fallen = sum(change * (run >= start) for start, change in steps.items())
    own = np.log(0.92) * at / DAYS_A_YEAR if kind == "ageing" else fallen * (kind in CHANGED)
    dates = BEGAN_UNIX_S + 86400 * at
    if kind == "clocks":
        dates[rng.random(len(at)) < 0.06] = rng.choice([0.0, 1e6, 4e9])
    logs += fallen if kind == "place" else own
    is_after = (run >= second).astype(int)
    columns = {
        "path": [f"{drive}/{number}" for number in run],
        "started_unix_s": dates,
        "drive": [drive] * len(at),
        "model": np.take(["a drive", "another"], is_after * (kind == "two models")),
        "firmware": np.take(["1B", "2B"], is_after * kind.startswith("firmware")),
        "place": np.take(["slot top", "slot low"], is_after * kind.endswith("place")),
    }
    frame = rows("write", 2000 * np.exp(logs), columns)
    sudden = list(steps) if kind in SUDDEN else []
    return Made(kind, frame, logs, dates, sudden, float(own[-1] - own[0]))


def by_others(logs: Array) -> Iterator[tuple[str, list[int]]]:
    """Where levels begin as other programs find with their own settings, where installed."""
    with suppress(ImportError):
        hunter = import_module("otava.analysis")
        found, _ = hunter.compute_change_points(np.exp(logs).tolist())
        yield "otava", [one.index for one in found]
    with suppress(ImportError):
        search = import_module("ruptures").Pelt("l2", min_size=3, jump=1)
        variance = (np.median(np.abs(np.diff(logs))) / 0.954) ** 2
        yield "ruptures", search.fit_predict(logs, 3 * np.log(len(logs)) * variance)[:-1]


def kinds(directory: Path, seed: int, counts: Mapping[str, int]) -> None:
    """Print what is said of so many series of each kind, in one index.

    `told`: the day of each sudden change to a run and no other, and what the drive's own change is
    due to. `dated`: these days. `false`: a change of a drive that did not change.
    """
    rng = np.random.default_rng(seed)
    names = [(kind, f"{kind} {n}") for kind, count in counts.items() for n in range(count)]
    made = {drive: make(rng, kind, drive) for kind, drive in names}
    index = directory / "kinds.parquet"
    pl.concat(one.frame for one in made.values()).write_parquet(index)
    counted = {kind: Counter[str]() for kind in counts}
    held = []
    for one in history(index).series:
        true = made[one.drive]
        days = (true.dates // 86400).tolist()
        sudden = [change for change in one.changes if change.kind == "sudden"]
        begun = [day for each in sudden for day in (each.date, each.until) if day is not None]
        runs = [days.index((day - EPOCH).days) for day in begun]
        since = one.since.kind if one.since else "gradual"
        due_to = since if one.verdict in ("slower", "faster") else None
        is_told = due_to == CHANGED.get(true.kind) and len(runs) == len(true.sudden)
        counted[true.kind] += Counter(
            told=is_told and true.are_dated(runs),
            false=true.kind not in CHANGED and bool(due_to or runs),
        )
        held += [100 * math.expm1(true.own) in one.change] if one.change else []
    for true in made.values():
        for name, levels in by_others(true.logs):
            counted[true.kind][f"dated by {name}"] += bool(true.sudden) and true.are_dated(levels)
            counted[true.kind][f"false by {name}"] += true.kind not in CHANGED and bool(levels)
    for kind, count in counts.items():
        print(f"{kind:20}{count:3} ", *(f"{n} {what}," for what, n in counted[kind].items() if n))
    total = sum(counted.values(), Counter())
    print(f"seed {seed}: own change held {np.mean(held):.1%}; {dict(total)}")


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
                slope = TrendFit(at, logs, one, one).change(years=1.0)
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
    parser.add_argument("--intervals", action="store_true", help="check the intervals: a minute")
    parser.add_argument("--kinds", action="store_true", help="check what is said of 60 of each")
    parser.add_argument("--seeds", type=int, nargs="+", help="the same of 33 series for each seed")
    chosen = parser.parse_args()
    if chosen.intervals:
        intervals()
    elif chosen.kinds or chosen.seeds:
        with tempfile.TemporaryDirectory() as scratch:
            for seed in chosen.seeds or [11]:
                kinds(Path(scratch), seed, KINDS if chosen.seeds else dict.fromkeys(KINDS, 60))
    else:
        main()
