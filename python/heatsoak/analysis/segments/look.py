"""A series as it is looked at: in bins of a width, with its noise."""

from dataclasses import dataclass

from heatsoak.analysis.segments.bins import Bins, binned
from heatsoak.analysis.segments.noise import Noise, noise_of
from heatsoak.analysis.series import Series

#: Too little to tell a level from its noise.
MIN_SAMPLES = 12


@dataclass(frozen=True)
class Look:
    """One look at a series.

    Attributes:
        series: what is looked at, tidied.
        bins: its means over even pieces of time.
        noise: the noise of those.
        is_flat: whether a swing was taken off it.
    """

    series: Series
    bins: Bins
    noise: Noise
    is_flat: bool = False


def look_at(series: Series, width_s: float, *, is_flat: bool = False) -> Look:
    """Return a tidied series in bins of about `width_s`."""
    bins = binned(series, width_s)
    return Look(series, bins, noise_of(bins), is_flat)
