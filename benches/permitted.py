"""Holds what is said of simulated drives' bare logs against what their governor permitted.

``python benches/permitted.py DIR`` takes all recordings of simulated drives below `DIR`, makes a
table of times, rates and temperature of each, and one without temperature, judges both as logs of
an unknown drive, and prints the firm answers that are wrong: heat named where all was permitted,
another cause named where it was not, and "does not throttle" where it did.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from heatsoak.analysis import analyze
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from heatsoak.recording import META, Recording

COLUMNS = ("t_s", "interval_s", "read_bw_mb_s", "write_bw_mb_s", "temp_c.composite")
PERMITTED = "sim.permitted"
#: Above the first, all was permitted; below the second, less.
ALL, LESS = 0.98, 0.95
#: A fall is due to what was permitted so long around its onset.
BEFORE_S, AFTER_S = 3.0, 30.0


def wrong(samples: pl.DataFrame, columns: list[str]) -> Iterator[str]:
    """Judge a table of these columns; yield what is firm and wrong."""
    t_s, permitted = samples["t_s"].to_numpy(), samples[PERMITTED].to_numpy()
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log.csv"
        samples.select(columns).write_csv(log)
        opened = open_all([log], Options())
        (found,) = analyze(opened).recordings
        seen = opened[0].samples(["t_s", "step"])
    if found.answer.throttles == "no" and permitted.min() < ALL:
        yield f"does not throttle, though {permitted.min():.0%} was permitted"
    zero_s = float(t_s[0]) - float(seen["t_s"].to_numpy()[0])
    named = seen.filter(pl.col("step").is_not_null()).group_by("step").agg(pl.col("t_s").min())
    begins_s = dict(named.iter_rows())
    for step in found.steps:
        for episode in step.episodes:
            begin_s = begins_s[step.step] + zero_s
            at_s, end_s = begin_s + episode.onset_s, begin_s + episode.end_s
            near = (t_s >= at_s - BEFORE_S) & (t_s <= min(at_s + AFTER_S, end_s))
            least = float(np.min(permitted[near], initial=1.0))
            is_heat = episode.cause == "thermal"
            if (is_heat and least > ALL) or (
                not is_heat and episode.cause != "unknown" and least < LESS
            ):
                yield (
                    f"{step.step} at {episode.onset_s:.0f} s: {episode.cause} "
                    f"{episode.confidence:.0%}, though {least:.0%} was permitted"
                )


def main() -> None:
    logs = errors = 0
    for meta in sorted(Path(sys.argv[1]).rglob(META)):
        try:
            samples = Recording.open(meta.parent).samples()
        except HeatsoakError as error:
            print(error)
            continue
        if PERMITTED not in samples.columns:
            continue
        samples = samples.filter(pl.col("interval_s").is_not_null())
        columns = [name for name in COLUMNS if name in samples.columns]
        for kept in (columns, [name for name in columns if not name.startswith("temp_c.")]):
            logs += 1
            for text in wrong(samples, kept):
                errors += 1
                print(f"{meta.parent}, {kept[-1]}: {text}")
    print(f"{logs} logs, {errors} firm errors")


if __name__ == "__main__":
    main()
