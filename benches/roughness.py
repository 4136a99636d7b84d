"""How rough real logs are where a load holds a drive at one level: noise, waves, dips, gaps.

``python benches/roughness.py DIR`` reads logs that ``real_logs.py fetch DIR`` has laid out, takes
the stretches named in ``roughness.toml``, and prints quantiles of what it measures for each sort of
log and over all, where each log counts once. ``--rows`` prints each log's medians instead, from
which ``heatsoak_dev/elsewhere/noise.py`` has its figures.

A stretch is taken as level x (1 + wander + wave + noise), and dips; the level may slide slowly (a
parabola). Noise is what differs from the mean of 31 samples, as it would be in continuous time, so
that logs of other intervals can be compared. Wander is that mean, without a wave; a wave is where
half an octave of the spectrum has six times as much as what is beside it.
"""

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
import polars as pl
from heatsoak.importer import Options, open_all
from real_logs import Expectation, expected

Array = npt.NDArray[np.float64]
Measured = dict[str, float]
STRETCHES = Path(__file__).with_suffix(".toml")
WINDOW = 31  # samples: what is slower is wander
LEAST = 40  # samples that a stretch must have
DIP = 0.05  # what is less, or within four sds of the noise, is no dip
DRIFT_S = 300.0
WAVE_S = 30.0  # what is quicker is noise
CYCLES = 8  # a wave must be seen as often
BESIDE = 6.0  # and stand out by this factor: in red noise alone, one stretch in fifteen does

#: What is measured, and the digits to print.
MEASURES = {
    "noise_pct": 2,  # sd of the noise in continuous time
    "memory_s": 2,  # in which it forgets itself
    "sampled_pct": 2,  # sd of the noise as sampled
    "up_down": 2,  # how far it goes up by how far it goes down: a cap is far below 1
    "wander_pct": 2,
    "wander_s": 0,
    "drift_pct": 2,  # sd of means over DRIFT_S
    "wave_pct": 2,  # the amplitude, 0 where there is none
    "wave_s": 0,
    "dips_an_hour": 1,
    "dip_pct": 1,
    "dip_most_pct": 0,
    "dip_s": 1,
    "dip_longest_s": 0,
    "zero_pct": 3,
    "missing_pct": 3,
    "jitter_pct": 2,  # of the interval between rows
}


def rates(frame: pl.DataFrame) -> tuple[Array, Array]:
    """Return the times and rates of a recording's rows, in MB/s, or in IOPS without them."""
    for unit in ("bw_mb_s", "iops"):
        names = [name for name in (f"read_{unit}", f"write_{unit}", unit) if name in frame.columns]
        if names and frame.select(pl.any_horizontal(pl.col(names).is_not_null().any())).item():
            rows = frame.filter(pl.any_horizontal(pl.col(names).is_not_null())).sort("t_s")
            total = rows.select(pl.sum_horizontal(pl.col(names).fill_null(0.0))).to_series()
            return rows["t_s"].to_numpy(), total.to_numpy()
    return np.empty(0), np.empty(0)


def running(values: Array, width: int, *, median: bool = False) -> Array:
    """Return the mean or median of a window around each value; NaN counts for nothing."""
    half = width // 2
    padded = np.pad(values, half, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    out: Array = np.nanmedian(windows, axis=1) if median else np.nanmean(windows, axis=1)
    return out


def times(at_s: Array) -> Measured:
    """Return what is uneven about the times of rows."""
    apart = np.diff(at_s)
    interval_s = float(np.median(apart))
    skipped = np.maximum(np.round(apart / interval_s) - 1, 0)
    near = apart[skipped == 0]
    return {
        "missing_pct": float(100 * skipped.sum() / (len(at_s) + skipped.sum())),
        "jitter_pct": float(100 * near.std() / interval_s),
    }


def dips(below: Array, interval_s: float, limit: float) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which samples are in dips, and of each dip its depth and length."""
    inside = below < -limit
    edges = np.flatnonzero(np.diff(inside.astype(int), prepend=0, append=0))
    found = [
        (-float(below[begin:end].min()), (end - begin) * interval_s)
        for begin, end in edges.reshape(-1, 2)
    ]
    return inside, np.array(found).reshape(-1, 2)


def continuous(sd: float, correlation: float, interval_s: float) -> tuple[float, float]:
    """Return the sd and memory of noise whose means over intervals have this sd and correlation.

    Of noise with a memory tau, means over T vary with 2 (x - 1 + e^-x) / x^2 for x = T / tau, and
    neighbours are correlated by (1 - e^-x)^2 / (2 (x - 1 + e^-x)). What forgets itself within a
    third of an interval is taken to last so long: nothing tells it from less.
    """
    x = np.geomspace(0.02, 3, 400)
    rest = 2 * (x - 1 + np.exp(-x))
    nearest = int(np.argmin(np.abs((1 - np.exp(-x)) ** 2 / rest - correlation)))
    return sd / float(np.sqrt(rest[nearest])) * float(x[nearest]), interval_s / float(x[nearest])


def wave(values: Array, interval_s: float) -> tuple[float, float]:
    """Return the amplitude and period of the wave that stands out most; zeros if none does."""
    window = np.hanning(len(values))
    power = np.abs(np.fft.rfft((values - values.mean()) * window)) ** 2
    power *= 2 / (window**2).sum() / len(values)  # so that its sum is the variance
    least = max(10.0, WAVE_S / interval_s)
    best = (0.0, 0.0)
    for centre in np.geomspace(CYCLES, max(len(values) / least, CYCLES), 80):
        near, far = (
            slice(int(centre / width), int(centre * width) + 1) for width in (2**0.25, 2**0.75)
        )
        beside = (power[far].sum() - power[near].sum()) / max(len(power[far]) - len(power[near]), 1)
        excess = power[near].sum() - beside * len(power[near])
        if power[near].mean() > BESIDE * beside and 2 * excess > best[0] ** 2:
            best = float(np.sqrt(2 * excess)), len(values) / float(centre) * interval_s
    return best


def wander(slow: Array, interval_s: float) -> tuple[float, float]:
    """Return the sd of slow changes, and how long they take to forget themselves (by 1/e)."""
    away = slow - slow.mean()
    spectrum = np.abs(np.fft.rfft(away, 2 * len(away))) ** 2
    correlation = np.fft.irfft(spectrum)
    forgotten = int(np.argmax(correlation < correlation[0] / np.e))
    return float(away.std()), max(forgotten, 1) * interval_s


def measured(at_s: Array, rate: Array) -> Measured:
    """Return all measures of a stretch."""
    interval_s = float(np.median(np.diff(at_s)))
    middle = np.median(rate)
    scale = np.linspace(-1, 1, len(rate))
    usual = np.abs(rate / middle - 1) < 0.5
    level = np.polyval(np.polyfit(scale[usual], rate[usual], 2), scale)
    share = rate / level
    away = share - running(share, 2 * WINDOW - 1, median=True)
    spread = 1.4826 * float(np.median(np.abs(away - np.median(away))))
    inside, found = dips(away, interval_s, max(DIP, 4 * spread))
    quiet = np.where(inside, np.nan, share)
    slow = running(quiet, WINDOW)
    slow = np.where(np.isnan(slow), 1.0, slow)
    fast = quiet - slow
    pairs = ~np.isnan(fast[1:]) & ~np.isnan(fast[:-1])
    low, high = np.nanquantile(fast, (0.16, 0.84))  # what goes far is rare, and no part of the sd
    sd = float(high - low) / 2
    near = np.clip(fast, -4 * sd, 4 * sd)
    together = float(np.corrcoef(near[1:][pairs], near[:-1][pairs])[0, 1]) if sd > 1e-6 else 0.0
    noise, memory_s = continuous(sd, together, interval_s)
    least, most = np.nanquantile(fast, (0.02, 0.98)) - np.nanmedian(fast)
    swing, period_s = wave(np.where(inside, slow, share), interval_s)
    away_slowly, wander_s = wander(slow, interval_s)
    if period_s > WINDOW * interval_s:  # either the wander has the wave in it, or the noise
        away_slowly = max(away_slowly**2 - swing**2 / 2, 0.0) ** 0.5
    else:
        noise = max(noise**2 - swing**2 / 2, 0.0) ** 0.5
    block = max(round(DRIFT_S / interval_s), 1)
    blocks = slow[: len(slow) // block * block].reshape(-1, block).mean(axis=1)
    hours = len(rate) * interval_s / 3600
    return times(at_s) | {
        "noise_pct": 100 * noise,
        "memory_s": memory_s,
        "sampled_pct": 100 * sd,
        "up_down": float(most / max(-least, 1e-6)),
        "wander_pct": 100 * away_slowly,
        "wander_s": wander_s,
        "drift_pct": float(100 * blocks.std()) if len(blocks) >= 4 else np.nan,
        "wave_pct": 100 * swing,
        "wave_s": period_s if swing else np.nan,
        "dips_an_hour": len(found) / hours,
        "dip_pct": float(100 * np.median(found[:, 0])) if len(found) else np.nan,
        "dip_most_pct": float(100 * found[:, 0].max()) if len(found) else np.nan,
        "dip_s": float(np.median(found[:, 1])) if len(found) else np.nan,
        "dip_longest_s": float(found[:, 1].max()) if len(found) else np.nan,
        "zero_pct": float(100 * np.mean(rate < 0.01 * level)),
    }


def of_log(log: Expectation, where: Path, stretches: Sequence[Sequence[float]]) -> list[Measured]:
    """Return the measures of each stretch of a log."""
    options = Options(mapping=log.mapping, device=log.device)
    runs = open_all([where / log.id / PurePosixPath(path).name for path in log.paths], options)
    if not stretches:
        return [times(runs[0].samples(["t_s"])["t_s"].unique().sort().to_numpy())]
    found = []
    for run, from_s, to_s in stretches:
        at_s, rate = rates(runs[int(run)].samples())
        inside = (at_s >= from_s) & (at_s <= to_s)
        if inside.sum() >= LEAST:
            found.append(measured(at_s[inside], rate[inside]))
    return found


def medians(many: Sequence[Measured]) -> Measured:
    """Return the median of each measure; NaN where none was taken."""
    columns = {name: [one.get(name, np.nan) for one in many] for name in MEASURES}
    return {
        name: float(np.nanmedian(values)) if not np.isnan(values).all() else np.nan
        for name, values in columns.items()
    }


def print_quantiles(title: str, many: Sequence[Measured]) -> None:
    print(f"\n{title}: {len(many)}")
    for name, digits in MEASURES.items():
        values = np.array([one.get(name, np.nan) for one in many])
        if np.isnan(values).all():
            continue
        low, half, high = np.nanquantile(values, (0.1, 0.5, 0.9))
        print(f"  {name:14} {low:10.{digits}f} {half:10.{digits}f} {high:10.{digits}f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", action="store_true", help="print each log's medians")
    given = parser.parse_args()
    logs = {log.id: log for log in expected().log}
    sorts: dict[str, dict[str, list[Measured]]] = {}
    for sort, named in tomllib.loads(STRETCHES.read_text(encoding="utf-8")).items():
        sorts[sort] = {
            name: of_log(logs[name], given.directory, held) for name, held in named.items()
        }
    if given.rows:
        print("\t".join(["sort", "log", *MEASURES]))
        for sort, of in sorts.items():
            for name, found in of.items():
                row = [f"{medians(found)[key]:.{digits}f}" for key, digits in MEASURES.items()]
                print("\t".join([sort, name, *row]))
        return
    print("quantiles of 10, 50 and 90 % over stretches; in the last table, over logs")
    for sort, of in sorts.items():
        print_quantiles(sort, [one for found in of.values() for one in found])
    print_quantiles("all", [medians(found) for of in sorts.values() for found in of.values()])


if __name__ == "__main__":
    main()
