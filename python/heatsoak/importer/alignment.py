"""Clocks: how far one log's time must be shifted to agree with another's.

:func:`alignment_of` says it of two logs: by their clocks, where both have one (:func:`zone_shift`
for a local wall clock and UTC), else by correlation. :func:`shift_between` compares like
quantities (throughput and throughput, logged by two tools); :func:`thermal_shift` a load and the
temperature that answers it, :func:`power_shift` a load and the power that it takes. These slide
one series along the other, and take the shift at which they correlate best.

**How sure.** Correlation alone says little: series that change slowly correlate by chance, and so
do a few jumps. So the residual at the best shift is looked at: as far as its neighbours predict it
(AR(1)), both series are filtered until they do not (Cochrane and Orcutt, JASA 44, 1949), and
correlated again. The evidence of a shift is then

    E = -n/2 ln(1 - r^2),

the likelihood of a linear relation against none (natural logarithm), where n counts the samples of
the coarser log that overlap at this shift, fewer where they still depend on each other, or where a
few jumps are all there is. A shift is certain if E is far above what the best of this many
shifts has by chance, if no shift elsewhere has half of it (a periodic load has), and if the
correlation itself is high.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from heatsoak.importer.frames import Array
from heatsoak.importer.log import Log
from heatsoak.importer.sliding import (
    NOTHING_FOUND,
    Demands,
    Flags,
    Peak,
    Shift,
    Slide,
    Steps,
    Track,
    answer_of,
    best_peak,
    grid_of,
    on_common_grid,
    with_own_tau,
)
from heatsoak.recording.columns import TEMPERATURES, drive_temperatures

#: The most cells of the common grid.
_MAX_CELLS = 1 << 19
_MAX_CELLS_HEAT = 1 << 17
#: At most this much time without load is looked at before and after a load that has an end.
_MAX_PAD_S = 3600.0
#: Clocks that agree do so within this.
_NEAR_S = 600.0
_LIKE = Demands(overlap=0.5, score=0.8, detail=0.75, noise=1e-3, runner_up=0.5, evidence=10)
_HEAT = Demands(overlap=0.5, score=0.95, detail=0.66, noise=2e-2, runner_up=0.44, evidence=30)
#: How fast drives answer load: from a bare controller's sensor to a case.
_TAUS_S = (5.0, 8.0, 13.0, 20.0, 32.0, 50.0, 80.0, 130.0, 200.0, 330.0, 600.0)
#: A drive is idle below this share of its usual highest rate.
_IDLE_SHARE = 0.05
#: Logs that are farther apart than this do not overlap.
MARGIN_S = 120.0
#: Clocks that the correlation finds this far apart are reported; a sensor has a lag of its own.
_CLOCKS_AGREE_S = 3.0
_HEAT_AGREES_S = 15.0
#: A shift that is not certain is still worth being named from here.
_LIKELY_SCORE, _LIKELY_RUNNER_UP = 0.6, 0.5


# --- series --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """Two series on a common grid, not shifted yet: the lag 0 of a slide is `offset_s`."""

    x: Array
    x_known: Flags
    y: Array
    y_known: Flags
    cell_s: float
    cells: int
    offset_s: float

    @classmethod
    def of(
        cls, reference: Track, other: Track, max_cells: int, *, idle_outside: bool, heat: bool
    ) -> "_Pair | None":
        """Return it, None where one of them has too few values to tell anything."""
        a, b = Steps.of(reference), Steps.of(other, centred=heat)
        if a is None or b is None:
            return None
        pad_s = min(b.span_s, _MAX_PAD_S) if idle_outside else 0.0
        cell_s, cells = grid_of(a, b, pad_s, max_cells)
        x, x_known, start_s = on_common_grid(a, cell_s, pad_s, idle_outside)
        y, y_known = b.on_grid(cell_s, b.start_s, b.span_s)
        return cls(x, x_known, y, y_known, cell_s, cells, start_s - b.start_s)

    def slide(self, xs: Sequence[Array]) -> Slide:
        """Return `y` beside each of `xs`."""
        return Slide(xs, self.x_known, self.y, self.y_known, self.cells)

    def best_peak(self, xs: Sequence[Array], near_s: float | None, demands: Demands) -> Peak | None:
        """Return the best shift, of those within ten minutes of `near_s` where that is known."""
        slide = self.slide(xs)
        allowed = np.ones(len(slide.lags), dtype=np.bool_)
        if near_s is not None:
            allowed = np.abs(self.offset_s + self.cell_s * slide.lags - near_s) <= _NEAR_S
        return best_peak(slide, allowed, demands)


def shift_between(
    reference: Track,
    other: Track,
    near_s: float | None = None,
    *,
    idle_outside: bool = False,
) -> Shift:
    """Return the shift of `other` that makes it like `reference`, whatever scale and offset.

    Both are rates: each value is the mean since the time before. With `near_s` only shifts within
    ten minutes of it are tried, as of clocks that are known; without, all at which half of the
    shorter log overlaps. With `idle_outside` the drive did nothing wherever the reference has no
    samples, as is so where a benchmark logged itself; the overlap is then with that, too.
    """
    pair = _Pair.of(reference, other, _MAX_CELLS, idle_outside=idle_outside, heat=False)
    peak = None if pair is None else pair.best_peak([pair.x], near_s, _LIKE)
    if pair is None or peak is None:
        return NOTHING_FOUND
    return peak.shift(pair.cell_s, pair.cells, pair.offset_s, _LIKE)


def thermal_shift(
    load: Track,
    temperature: Track,
    near_s: float | None = None,
    *,
    idle_outside: bool = True,
) -> Shift:
    """Return the shift of `temperature` at which it answers `load`.

    The temperature is taken to follow the load as a first-order lag does, T0 + k EMA(load, tau)
    with k > 0; tau is tried from 5 s to 10 min, and load as its rate or as mere on and off (heat
    goes with work, not always with bytes). `load` is a rate, each value the mean since the time
    before; a temperature is read at its time. `near_s` and `idle_outside` are as for
    :func:`shift_between`.

    A sensor's own lag, of 1 s to 5 s as a rule, cannot be distinguished from a clock's: the shift
    includes it.
    """
    pair = _Pair.of(load, temperature, _MAX_CELLS_HEAT, idle_outside=idle_outside, heat=True)
    if pair is None:
        return NOTHING_FOUND
    x, known = pair.x, pair.x_known
    loads = (x, (x > _IDLE_SHARE * float(x.max())).astype(float))
    answers = [answer_of(load, known, tau_s / pair.cell_s) for load in loads for tau_s in _TAUS_S]
    peak = pair.best_peak(answers, near_s, _HEAT)
    if peak is None:
        return NOTHING_FOUND
    rate, tau = loads[peak.which // len(_TAUS_S)], _TAUS_S[peak.which % len(_TAUS_S)] / pair.cell_s

    def slide_of(tau: float) -> Slide:
        return pair.slide([answer_of(rate, known, tau)])

    peak = with_own_tau(peak, slide_of, tau, reach=int(tau) + 4 * pair.cells)
    return peak.shift(pair.cell_s, pair.cells, pair.offset_s, _HEAT)


def power_shift(
    load: Track, power: Track, near_s: float | None = None, *, idle_outside: bool = True
) -> Shift:
    """Return the shift of `power` at which it answers `load`, as :func:`shift_between` does.

    The load is tried as its rate and as mere on and off: what a megabyte takes differs between
    reads and writes, and between small I/Os and large ones.
    """
    high = float(np.nanpercentile(load.values, 95)) if len(load.values) else 0.0
    on = Track(load.t_s, (load.values > _IDLE_SHARE * high).astype(float))
    shifts = [shift_between(one, power, near_s, idle_outside=idle_outside) for one in (load, on)]
    return max(shifts, key=lambda shift: (shift.certain, shift.score))


def zone_shift(
    reference_begin_unix: float, reference_span: float, local_begin_unix: float, local_span: float
) -> float | None:
    """Return what to add to a local wall clock, read as if it were UTC, to have UTC, in seconds.

    Of the offsets that zones have, -12 h to +14 h in quarters of an hour, it is the one at which
    the logs overlap longest. None where none makes them overlap, or several do equally long: where
    a short log would lie within a long one in several ways.
    """
    shifts = [-900.0 * quarter for quarter in range(-48, 57)]
    end = reference_begin_unix + reference_span
    overlaps = [
        min(end, local_begin_unix + shift + local_span)
        - max(reference_begin_unix, local_begin_unix + shift)
        for shift in shifts
    ]
    longest = max(overlaps)
    equal_s = max(1.0, 0.01 * min(reference_span, local_span))
    fitting = [
        s for s, overlap in zip(shifts, overlaps, strict=True) if overlap > longest - equal_s
    ]
    return fitting[0] if longest > 0 and len(fitting) == 1 else None


# --- logs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alignment:
    """Seconds to add to the other log's times, and how that is known.

    Attributes:
        doubt: whether something speaks against it.
    """

    shift_s: float
    how: str
    doubt: bool = False

    @classmethod
    def asked(cls, shift_s: float) -> "Alignment":
        """Return the one that the user asked for."""
        return cls(shift_s, f"shifted by {shift_s:+g} s, as asked")

    @classmethod
    def correlated(cls, shift: Shift, what: str) -> "Alignment":
        """Return the one that the correlation of `what` found."""
        how = f"aligned by correlation of {what}: shifted by {shift.shift_s:+.1f} s"
        return cls(shift.shift_s, f"{how}, correlation {shift.score:.2f}")


def alignment_of(leader: Log, other: Log, shift_s: float | None) -> Alignment | str:
    """Return how `other` lies beside `leader`, or why that is not known.

    `shift_s` is what the user says instead.
    """
    if shift_s is not None:
        is_same_time = overlap(leader, other, shift_s)
        return (
            Alignment.asked(shift_s)
            if is_same_time
            else f"shifted by {shift_s:+g} s they do not overlap in time"
        )
    clocks = by_clock(leader, other)
    if clocks is None:
        by_load = _by_correlation(leader, other)
        return (
            by_load or "they have no common clock, and their curves do not show how to align them"
        )
    if not overlap(leader, other, clocks.shift_s):
        return "they do not overlap in time"
    by_load = _by_correlation(leader, other, clocks.shift_s)
    agree_s = _HEAT_AGREES_S if _answers_by_heat(other) else _CLOCKS_AGREE_S
    if by_load is None or abs(by_load.shift_s - clocks.shift_s) <= agree_s:
        return clocks
    return replace(
        clocks,
        how=f"{clocks.how}; the curves fit better {by_load.shift_s - clocks.shift_s:+.1f} s "
        "from there: one clock may be wrong (--shift SECONDS corrects that)",
        doubt=True,
    )


def by_clock(leader: Log, other: Log) -> Alignment | None:
    """Return how `other` lies beside `leader` by their clocks; None where these do not say."""
    if leader.start_unix_s is None or other.start_unix_s is None:
        return None
    apart_s = other.start_unix_s - leader.start_unix_s
    if leader.clock == other.clock:
        return Alignment(apart_s, "aligned by their clocks")
    local, utc = (leader, other) if leader.clock == "local" else (other, leader)
    assert local.start_unix_s is not None
    assert utc.start_unix_s is not None
    zone_s = zone_shift(utc.start_unix_s, utc.end_s, local.start_unix_s, local.end_s)
    if zone_s is None:
        return None
    sign = 1.0 if local is other else -1.0
    zone = f"UTC{-zone_s / 3600:+g}"
    how = f"aligned by their clocks, taking {source_name(local)} as {zone}"
    return Alignment(apart_s + sign * zone_s, how)


def overlap(leader: Log, other: Log, shift_s: float) -> bool:
    """Return whether logs are of the same time, or nearly so."""
    return shift_s < leader.end_s + MARGIN_S and other.end_s + shift_s > -MARGIN_S


def guessed_shift_s(leader: Log, other: Log) -> float | None:
    """Return the likeliest shift of a log of power that is not certain, None without a likely one.

    To be shown to the user, who may know better.
    """
    load = throughput(leader)
    if load is None or _answers_by_heat(other):
        return None
    shift = power_shift(load, _track(other, "power_w"), idle_outside=not leader.logs_on)
    likely = shift.score >= _LIKELY_SCORE and shift.runner_up <= _LIKELY_RUNNER_UP
    return shift.shift_s if likely else None


def throughput(log: Log, quantities: Sequence[str] = ("bw_mb_s", "iops")) -> Track | None:
    """Return the first of `quantities` that a log has, reads and writes together."""
    for quantity in quantities:
        names = [
            name
            for name in (f"read_{quantity}", f"write_{quantity}", quantity)
            if name in log.samples.columns
        ]
        if names:
            rows = log.samples.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in names))
            total = rows.select(pl.sum_horizontal(names)).to_series()
            return Track(rows["t_s"].to_numpy(), total.to_numpy())
    return None


def source_name(log: Log) -> str:
    """Return what messages call a log: its file, and which of its runs it is."""
    return Path(log.source).name + (f" (run {log.label})" if log.label else "")


def _by_correlation(leader: Log, other: Log, near_s: float | None = None) -> Alignment | None:
    load = throughput(leader)
    if load is None:
        return None
    like = throughput(other)
    is_alone = not leader.logs_on
    if like is not None:
        shift = shift_between(load, like, near_s, idle_outside=is_alone)
        what = "throughput"
    elif not _answers_by_heat(other):
        shift = power_shift(load, _track(other, "power_w"), near_s, idle_outside=is_alone)
        what = "throughput against power"
    else:
        warmth = _warmest(other)
        if warmth is None:
            return None
        shift = thermal_shift(load, warmth, near_s, idle_outside=is_alone)
        what = "throughput against temperature"
    return Alignment.correlated(shift, what) if shift.certain else None


def _answers_by_heat(log: Log) -> bool:
    """Whether temperatures are the best that a log has of the load."""
    return not log.has_rates and (log.has_temperatures or not log.has_any("power_w"))


def _track(log: Log, name: str) -> Track:
    rows = log.samples.select("t_s", name).drop_nulls()
    return Track(rows["t_s"].to_numpy(), rows[name].to_numpy())


def _warmest(log: Log) -> Track | None:
    """The drive's temperature that moved most: composite where it is there."""
    names = [name for name in log.samples.columns if name.startswith(TEMPERATURES)]
    own = drive_temperatures(names) or names
    tracks = [track for name in own if len((track := _track(log, name)).t_s)]
    return max(tracks, key=lambda track: float(np.ptp(track.values)), default=None)
