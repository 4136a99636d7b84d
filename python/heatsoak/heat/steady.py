"""Whether temperatures have stopped rising: the last stretch of each, its end against its begin.

Of the last ten minutes, or the last quarter of the warm-up once that is longer (what is slow to
warm rises slowly), the first third and the last third are averaged, the highest and the lowest
quarter of their readings left out, so that neither noise nor a glitch counts and sensors of whole
kelvins are resolved as far as they can be. Temperatures are steady when none of them rose by half a
kelvin from one third to the other. A first-order warm-up, T = T_end - A exp(-t / tau), then has as
a rule less than 1 K to go, and never 2 K, for tau up to 15 minutes, A up to 60 K, noise of 0.3 K
and whole kelvins.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

#: The shortest window, and its share of the time since the warm-up began.
WINDOW_S = 600.0
_WINDOW_SHARE = 0.25
#: What a temperature may rise by between the window's first third and its last.
RISE_K = 0.5
_LEFT_OUT = 0.25
#: Fewer readings in a third say nothing.
_LEAST_READINGS = 3
#: No reading is kept more often.
_INTERVAL_S = 1.0


class Steadiness:
    """Takes the temperatures of a warm-up as they are read, and says when it has done its part."""

    def __init__(self, begin_s: float) -> None:
        """The warm-up begins now."""
        self._begin_s = begin_s
        self._readings: dict[str, list[tuple[float, float]]] = {}

    def add(self, t_s: float, temps_c: Mapping[str, float]) -> None:
        """Take the newest reading of each sensor."""
        for name, temp_c in temps_c.items():
            kept = self._readings.setdefault(name, [])
            if not kept or t_s - kept[-1][0] >= _INTERVAL_S:
                kept.append((t_s, temp_c))

    def rises_k(self, now_s: float) -> dict[str, float]:
        """Return what each sensor rose by within the window; none before one has passed.

        Infinite for a sensor that was not read throughout.
        """
        passed_s = now_s - self._begin_s
        window_s = max(WINDOW_S, _WINDOW_SHARE * passed_s)
        if passed_s < window_s:
            return {}
        since_s = now_s - window_s
        return {name: _rise_k(kept, since_s, window_s) for name, kept in self._readings.items()}

    def is_steady(self, now_s: float) -> bool:
        """Whether no temperature rises any more; False where none is read."""
        rises_k = self.rises_k(now_s)
        return bool(rises_k) and max(rises_k.values()) < RISE_K


def _rise_k(kept: list[tuple[float, float]], since_s: float, window_s: float) -> float:
    t_s, temps_c = np.array(kept).T
    first = temps_c[(t_s >= since_s) & (t_s < since_s + window_s / 3)]
    last = temps_c[t_s >= since_s + window_s * 2 / 3]
    if min(len(first), len(last)) < _LEAST_READINGS:
        return float("inf")
    return _middle(last) - _middle(first)


def _middle(temps_c: NDArray[np.float64]) -> float:
    """Return the mean without the lowest and the highest quarter; scipy.stats loads for seconds."""
    out = int(_LEFT_OUT * len(temps_c))
    return float(np.sort(temps_c)[out : len(temps_c) - out].mean())
