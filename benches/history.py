"""How long `heatsoak history` takes over the summaries of 100,000 recordings.

The summaries are made up (200 drives, two steps a recording, over five years); judging recordings
is not part of it.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from heatsoak.history import history
from heatsoak.history.summaries import SCHEMA

YEARS_S = 5 * 365.25 * 86400
BEGAN_UNIX_S = 1.6e9


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
    frames = []
    for step, mb_s in (("read", 3000.0), ("write", 2000.0)):
        rate = mb_s * np.exp(aged + rng.normal(0, 0.02, len(of)))
        frames.append(
            pl.DataFrame(
                {
                    "path": [f"{drive}/{number}" for number, drive in enumerate(of)],
                    "started_unix_s": BEGAN_UNIX_S + since_s,
                    "drive": [f"S{drive:05d}" for drive in of],
                    "serial": [f"S{drive:05d}" for drive in of],
                    "firmware": np.where(is_updated, "2B", "1B"),
                    "place": np.where(has_moved, "slot bottom", "slot top"),
                    "mean_mb_s": rate,
                    "level": rate * 1.1,
                }
            ).with_columns(
                model=pl.lit("a drive"),
                host=pl.lit("Linux"),
                protocol=pl.lit("quick"),
                step=pl.lit(step),
                workload=pl.lit(f"sequential {step}, 128k, QD32"),
                alike=pl.lit(step),
                is_comparable=pl.lit(True),
                verdict=pl.lit("thermal"),
            )
        )
    rows = pl.concat(frames)
    missing = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in SCHEMA.items()
        if name not in rows.columns
    ]
    return rows.with_columns(missing).select(pl.col(n).cast(kind) for n, kind in SCHEMA.items())


def main(recordings: int = 100_000, drives: int = 200) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory) / "history.parquet"
        summaries(recordings, drives).write_parquet(index)
        for which in (None, "S00010"):
            took_s = []
            for _ in range(5):
                began_s = time.perf_counter()
                found = history(index, drive=which)
                took_s.append(time.perf_counter() - began_s)
            slower = sum(one.verdict == "slower" for one in found.series)
            print(
                f"{recordings:,} recordings, {2 * recordings:,} summaries, "
                f"{index.stat().st_size / 1e6:.1f} MB: {which or f'all {drives} drives'} in "
                f"{min(took_s):.2f} to {max(took_s):.2f} s; {slower} of {len(found.series)} slower"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=100_000)
    parser.add_argument("--drives", type=int, default=200)
    chosen = parser.parse_args()
    main(chosen.recordings, chosen.drives)
