"""Times and rates of coarse counters: evened-out seconds, means since the reading before."""

import numpy as np

from heatsoak.importer.frames import Array, intervals

#: A counter that moves by fewer of its units an interval tells no rate worth the name.
_LEAST_UNITS = 10.0
#: Means over longer than this hide what a drive does when it throttles.
_LONG_INTERVAL_S = 60.0
#: Readings apart by this many whole seconds or more need no evening out.
_COARSE_S = 5.0


def evenly(t_s: Array) -> tuple[Array, bool]:
    """Return times whose fractions were cut off, spread as a steady loop would have had them.

    They stay as they are where they have fractions, are far apart, or follow no steady beat; but
    several within one second, or one minute where no seconds are told, are spread over it.
    """
    if len(t_s) < 3 or np.any(t_s != np.floor(t_s)):
        return t_s, False
    steps = np.diff(t_s)
    if float(np.median(steps)) >= _COARSE_S or (steps[0] > 0 and np.all(steps == steps[0])):
        return t_s, False
    index = np.arange(len(t_s), dtype=float)
    beat = (t_s[-1] - t_s[0]) / (len(t_s) - 1)
    if beat <= 0:
        return t_s, False
    off = t_s - beat * index
    # a clock without seconds tells the minute of several readings
    unit_s = 60.0 if np.all(t_s % 60.0 == 0) else 1.0
    if float(off.max() - off.min()) <= 1.5 * unit_s:
        return beat * index, True
    if np.all(steps > 0):
        return t_s, False
    seconds, inverse, counts = np.unique(t_s, return_inverse=True, return_counts=True)
    firsts = np.searchsorted(t_s, seconds)
    return t_s + unit_s * (index - firsts[inverse]) / counts[inverse], True


def counter_rates(
    t_s: Array, counters: dict[str, Array], unit_bytes: float
) -> tuple[dict[str, Array], list[tuple[str, bool]]]:
    """Return columns of rates with their `interval_s`, and what is to be said of them.

    Rates are means since the reading before. Where a drive brings its byte counters up to date
    only every few readings, they are means between those, and null in between.
    """
    said: list[tuple[str, bool]] = []
    rows = np.arange(len(t_s))
    moving = np.zeros(len(t_s), dtype=bool)
    for values in counters.values():
        with np.errstate(invalid="ignore"):
            moving |= np.diff(values, prepend=np.nan) > 0
    changes = np.flatnonzero(moving)
    gaps = np.diff(changes)
    usual = float(np.median(gaps)) if len(gaps) >= 3 else 1.0
    if usual >= 2 and float((np.abs(gaps - usual) <= 1).mean()) >= 0.8:
        rows = changes
        beat = float(np.median(np.diff(t_s[rows])))
        said.append((f"its counters move only every {beat:.3g} s: rates are means over that", True))
    spans = np.diff(t_s[rows], prepend=np.nan)
    interval_s = intervals(t_s)
    interval_s[rows[1:]] = spans[1:]
    moved = {name: np.diff(values[rows], prepend=np.nan) for name, values in counters.items()}
    most = [
        float(np.nanmax(moved[name]))
        for name in ("read_bytes", "write_bytes")
        if np.isfinite(moved[name]).any()
    ]
    too_coarse = bool(most) and 0 < max(most) < _LEAST_UNITS * unit_bytes
    if too_coarse:
        text = (
            f"its counters of bytes move by fewer than {_LEAST_UNITS:.0f} units of "
            f"{unit_bytes / 1e6:.3g} MB an interval: too coarse for a throughput, left out"
        )
        said.append((text, True))
    rates: dict[str, Array] = {}
    for name, column, scale in (
        ("read_bytes", "read_bw_mb_s", 1e-6),
        ("write_bytes", "write_bw_mb_s", 1e-6),
        ("read_ios", "read_iops", 1.0),
        ("write_ios", "write_iops", 1.0),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            valid = (spans > 0) & (moved[name] >= 0)
            rate = np.where(valid, moved[name] * scale / spans, np.nan)
        if not np.isfinite(rate).any() or (too_coarse and column.endswith("bw_mb_s")):
            continue
        rates[column] = np.full(len(t_s), np.nan)
        rates[column][rows] = rate
    if not rates:
        return {}, said
    spacing = float(np.median(spans[1:])) if len(rows) > 1 else 0.0
    if any(name.endswith("bw_mb_s") for name in rates) and spacing > 0:
        exact = unit_bytes / 1e6 / spacing
        said.append((f"throughput is made of the drive's counters, to {exact:.2g} MB/s", False))
    if spacing > _LONG_INTERVAL_S:
        text = f"its rates are means over {spacing:.0f} s: shorter throttling is not in them"
        said.append((text, True))
    return {"interval_s": interval_s, **rates}, said
