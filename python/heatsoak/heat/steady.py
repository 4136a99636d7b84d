"""Whether temperatures have stopped rising, by the start and end of a window.

The window is the last ten minutes, or the last quarter of the warm-up if that is longer (what warms
slowly also rises slowly). Its first and last third are averaged without the highest and lowest
quarter of their readings, so that noise and glitches do not count, and sensors with whole kelvins
are resolved as well as possible. Temperatures are steady if none rose by half a kelvin from the
first third to the last. A first-order warm-up, T = T_end - A exp(-t / tau), is then usually within
1 K of its end, and always within 2 K, for tau up to 15 minutes, A up to 60 K, noise of 0.3 K and
whole kelvins.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

#: The shortest window, and the window's share of the time since the start of the warm-up.
WINDOW_S = 600.0
_WINDOW_SHARE = 0.25
#: Steady if a temperature rises by less between the window's first and last third.
RISE_K = 0.5
_LEFT_OUT = 0.25
#: With fewer readings, a third is not meaningful.
_MIN_READINGS = 3
#: Shortest interval between readings that are kept.
_INTERVAL_S = 1.0


class Steadiness:
    """Collects the temperatures of a warm-up, and says when they are steady."""

    def __init__(self, start_s: float) -> None:
        """The warm-up starts at `start_s`."""
        self._start_s = start_s
        self._readings: dict[str, list[tuple[float, float]]] = {}

    def add(self, t_s: float, temps_c: Mapping[str, float]) -> None:
        """Add the newest reading of each sensor."""
        for name, temp_c in temps_c.items():
            kept = self._readings.setdefault(name, [])
            if not kept or t_s - kept[-1][0] >= _INTERVAL_S:
                kept.append((t_s, temp_c))

    def rises_k(self, now_s: float) -> dict[str, float]:
        """Return the rise of each sensor within the window; empty until the first has passed.

        Infinite for a sensor without enough readings.
        """
        passed_s = now_s - self._start_s
        window_s = max(WINDOW_S, _WINDOW_SHARE * passed_s)
        if passed_s < window_s:
            return {}
        since_s = now_s - window_s
        return {name: _rise_k(kept, since_s, window_s) for name, kept in self._readings.items()}

    def is_steady(self, now_s: float) -> bool:
        """Whether no temperature is rising any more; False without readings."""
        rises_k = self.rises_k(now_s)
        return bool(rises_k) and max(rises_k.values()) < RISE_K


def _rise_k(kept: list[tuple[float, float]], since_s: float, window_s: float) -> float:
    t_s, temps_c = np.array(kept).T
    first = temps_c[(t_s >= since_s) & (t_s < since_s + window_s / 3)]
    last = temps_c[t_s >= since_s + window_s * 2 / 3]
    if min(len(first), len(last)) < _MIN_READINGS:
        return float("inf")
    return _middle(last) - _middle(first)


def _middle(temps_c: NDArray[np.float64]) -> float:
    """Return the mean without the lowest and highest quarter (scipy.stats is slow to import)."""
    out = int(_LEFT_OUT * len(temps_c))
    return float(np.sort(temps_c)[out : len(temps_c) - out].mean())
