"""How far one log must be shifted to agree with another, by what both saw."""

import numpy as np

from heatsoak.importer.align.peak import NOTHING_FOUND, Demands, Shift, best_peak, with_own_tau
from heatsoak.importer.align.slide import Slide
from heatsoak.importer.align.tracks import Flags, Steps, Track, answer_of, grid_of, on_common_grid

#: The most cells of the common grid.
_MOST_CELLS = 1 << 19
_MOST_CELLS_HEAT = 1 << 17
#: So much time without load is looked at before and after a load that has an end.
_LONGEST_PAD_S = 3600.0
#: Clocks that agree do so within this.
_NEAR_S = 600.0
_LIKE = Demands(overlap=0.5, score=0.8, detail=0.75, noise=1e-3, runner_up=0.5, evidence=10)
_HEAT = Demands(overlap=0.5, score=0.95, detail=0.66, noise=2e-2, runner_up=0.44, evidence=30)
#: How fast drives answer load: from a bare controller's sensor to a case.
_TAUS_S = (5.0, 8.0, 13.0, 20.0, 32.0, 50.0, 80.0, 130.0, 200.0, 330.0, 600.0)
#: A drive is idle below this share of its usual highest rate.
_IDLE_SHARE = 0.05


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
    a, b = Steps.of(reference), Steps.of(other)
    if a is None or b is None:
        return NOTHING_FOUND
    pad_s = min(b.span_s, _LONGEST_PAD_S) if idle_outside else 0.0
    cell_s, cells = grid_of(a, b, pad_s, _MOST_CELLS)
    x, x_known, begin_s = on_common_grid(a, cell_s, pad_s, idle_outside)
    y, y_known = b.on_grid(cell_s, b.begin_s, b.span_s)
    offset_s = begin_s - b.begin_s
    slide = Slide([x], x_known, y, y_known, cells)
    peak = best_peak(slide, _allowed(slide, cell_s, offset_s, near_s), _LIKE)
    return NOTHING_FOUND if peak is None else peak.shift(cell_s, cells, offset_s, _LIKE)


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

    A sensor that lags by itself, as most do by 1 s to 5 s, cannot be told from a clock that does:
    the shift has its lag in it.
    """
    a, b = Steps.of(load), Steps.of(temperature, centred=True)
    if a is None or b is None:
        return NOTHING_FOUND
    pad_s = min(b.span_s, _LONGEST_PAD_S) if idle_outside else 0.0
    cell_s, cells = grid_of(a, b, pad_s, _MOST_CELLS_HEAT)
    x, x_known, begin_s = on_common_grid(a, cell_s, pad_s, idle_outside)
    y, y_known = b.on_grid(cell_s, b.begin_s, b.span_s)
    on = (x > _IDLE_SHARE * float(x.max())).astype(float)
    loads = (x, on)
    answers = [answer_of(load, x_known, tau_s / cell_s) for load in loads for tau_s in _TAUS_S]
    offset_s = begin_s - b.begin_s
    slide = Slide(answers, x_known, y, y_known, cells)
    peak = best_peak(slide, _allowed(slide, cell_s, offset_s, near_s), _HEAT)
    if peak is None:
        return NOTHING_FOUND
    rate, tau = loads[peak.which // len(_TAUS_S)], _TAUS_S[peak.which % len(_TAUS_S)] / cell_s

    def slide_of(tau: float) -> Slide:
        return Slide([answer_of(rate, x_known, tau)], x_known, y, y_known, cells)

    peak = with_own_tau(peak, slide_of, tau, reach=int(tau) + 4 * cells)
    return peak.shift(cell_s, cells, offset_s, _HEAT)


def _allowed(slide: Slide, cell_s: float, offset_s: float, near_s: float | None) -> Flags:
    if near_s is None:
        return np.ones(len(slide.lags), dtype=np.bool_)
    return np.asarray(np.abs(offset_s + cell_s * slide.lags - near_s) <= _NEAR_S)
