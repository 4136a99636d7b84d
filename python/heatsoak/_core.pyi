"""The Rust side: the simulated drive and exact segmentation."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drive", "fpop"]

@final
class Drive:
    """A simulated drive in a place, with a clock of its own that starts at 0.

    Specifications and workloads are JSON texts. ValueError names the key that is wrong. The drive
    begins purged, and as warm as its place makes it without load.
    """

    def __new__(cls, drive: str, enclosure: str, seed: int = 0) -> Drive: ...
    @property
    def user_bytes(self) -> int:
        """Bytes that a host can address."""
    @property
    def t_s(self) -> float:
        """Simulated time since the drive was made."""
    @property
    def done(self) -> bool:
        """Whether there is nothing to do: no workload or purge, or it has come to its end."""
    def columns(self) -> list[str]:
        """Names of the columns that `advance` returns."""
    def begin(self, workload: str) -> None:
        """Start a workload; the one before is dropped."""
    def end(self) -> None:
        """Drop the workload, so that the drive idles."""
    def purge(self) -> None:
        """Forget all data; done once the time that the drive needs for it has passed."""
    def advance(self, duration_s: float, sample_s: float) -> dict[str, NDArray[np.float64]]:
        """Let time pass, at most to the workload's end; one value per `sample_s` and column.

        Values that were not measured in an interval are NaN: rates of a direction that the
        workload does not use, latencies without I/O, and temperatures but once a second.
        """
    def truth(self) -> dict[str, float]:
        """State that no real drive tells: node temperatures, what the governor permits.

        `onset_s` is when the governor first held the last workload back, counted from its begin;
        NaN where it never did. `onset_sensor_c` is what the sensor felt then, unrounded.
        """

def fpop(values: NDArray[np.float64], penalty: float) -> NDArray[np.int64]:
    """Return the optimal segmentation of `values` into constant levels (exact, L2).

    The result holds the end of each segment (exclusive), the last being len(values): the
    minimum over all segmentations of the squared error plus `penalty` for each change.
    ValueError for a value that is not finite or a penalty that is not positive.

    Maidstone, Hocking, Rigaill and Fearnhead, Statistics and Computing 27 (2017).
    """
