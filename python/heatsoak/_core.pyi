"""The Rust side: the simulated drive and exact segmentation."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drive", "Lumped", "fpop"]

@final
class Drive:
    """A simulated drive in a place, with a clock of its own that starts at 0.

    Specifications and workloads are JSON texts; `crates/drive/src/spec.rs` and `workload.rs` say
    what stands in them. ValueError names the key that is wrong. The drive begins purged, and as
    warm as its place makes it without load.
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
    @property
    def stopped(self) -> bool:
        """Whether it was too hot, shut itself down, and serves nothing any more."""
    def columns(self) -> list[str]:
        """Names of the columns that `advance` returns."""
    def copy(self) -> Drive:
        """Return another drive in the same state: data, temperatures, clock and chance.

        A drive that took long to be filled can be tried in many ways from there.
        """
    def begin(self, workloads: str) -> None:
        """Start a list of workloads beside each other; those before are dropped."""
    def end(self) -> None:
        """Drop the workloads, so that the drive idles."""
    def purge(self) -> None:
        """Forget all data; done once the time that the drive needs for it has passed."""
    def hold(self, share: float | None) -> None:
        """Permit this share of everything, 0 to 1, whatever the temperature; None undoes it."""
    def advance(self, duration_s: float, sample_s: float) -> dict[str, NDArray[np.float64]]:
        """Let time pass, at most to the workloads' end; one value per `sample_s` and column.

        Values that were not measured in an interval are NaN: rates of a direction that no
        workload uses, latencies without I/O, and temperatures but once a second. The last
        interval is as long as it takes for the last I/O to come back.
        """
    def totals(self) -> str:
        """Return everything that was done since the drive was made: operations by kind, as JSON."""
    def truth(self) -> dict[str, float]:
        """State that no real drive tells: node temperatures, what the governor permits.

        `onset_s` is when the governor first held the last workload back, counted from its begin;
        NaN where it never did. `onset_sensor_c` is what the first sensor felt then, unrounded.
        """

@final
class Lumped:
    """Heat and governor of a drive in a place, without its flash: for fits.

    Specifications are those of `Drive`. The drive begins as warm as its place makes it.
    """

    def __new__(cls, drive: str, enclosure: str) -> Lumped: ...
    def rest(self, duration_s: float) -> None:
        """Let time pass without load."""
    def load(self, profile: str, duration_s: int) -> dict[str, Any]:
        """Run a workload whose operations are known at each permitted share.

        `profile` is a JSON list of `{"share", "mb_s", "work"}` with rising shares and `work` the
        operations of one second, in the form of `Drive.totals`. Returns `onset_s` and
        `onset_sensor_c` as `Drive.truth` has them, and for each second `mb_s`, `power_w`,
        `sensor_c` as float arrays.
        """

def fpop(values: NDArray[np.float64], penalty: float) -> NDArray[np.int64]:
    """Return the optimal segmentation of `values` into constant levels (exact, L2).

    The result holds the end of each segment (exclusive), the last being len(values): the
    minimum over all segmentations of the squared error plus `penalty` for each change.
    ValueError for a value that is not finite or a penalty that is not positive.

    Maidstone, Hocking, Rigaill and Fearnhead, Statistics and Computing 27 (2017).
    """
