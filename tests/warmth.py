"""What sensors of whole degrees read, each second, of drives that spend power."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def warmed(watts: Array, air_c: float, k_per_w: float, tau_s: float, lag_s: float = 1.0) -> Array:
    """The temperatures of a drive that comes from the air's, read by a sensor that lags."""
    temp = sensor = air_c
    read = []
    for each in watts.tolist():
        temp += (air_c + k_per_w * each - temp) / tau_s
        sensor += (temp - sensor) / lag_s
        read.append(round(sensor))
    return np.array(read, dtype=float)


def governed(
    count: int, law: str, limit_c: float, air_c: float, k_per_w: float, tau_s: float, idle_w: float
) -> tuple[Array, Array]:
    """What a governor leaves of a drive of 6 W, in ``steps`` or in ``proportion``; and how warm.

    In steps, it lets go of what has cooled by 4 K.
    """
    temp, share = air_c, 1.0
    shares, temps = [], []
    for _ in range(count):
        if law == "steps":
            share = 0.4 if temp >= limit_c else 1.0 if temp <= limit_c - 4 else share
        else:
            share = float(np.clip(1 - (temp - limit_c) / 6, 0.2, 1))
        temp += (air_c + k_per_w * (idle_w + 6 * share) - temp) / tau_s
        shares.append(share)
        temps.append(round(temp))
    return np.array(shares), np.array(temps, dtype=float)
