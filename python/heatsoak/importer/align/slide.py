"""Two series on a common grid, slid along each other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer.align.tracks import Array, Flags

#: Variance in an overlap, as a share of the whole log's, that is more than rounding.
_LEAST_VARIANCE = 1e-4


class Slide:
    """Slides `y` along each of `xs`, on a common grid; cells that are not known count nowhere."""

    def __init__(
        self, xs: Sequence[Array], x_known: Flags, y: Array, y_known: Flags, cells: int
    ) -> None:
        """Take at least one of `xs`, and how many `cells` are one sample of the coarser log."""
        self.xs = [_standard(x, x_known) for x in xs]
        self.x_known = x_known
        self.y = _standard(y, y_known)
        self.y_known = y_known
        self.cells = cells
        size = len(x_known) + len(y_known) - 1
        self.size = 1 << (size - 1).bit_length()
        #: cell of y + lag = cell of x
        self.lags = np.arange(-(len(y_known) - 1), len(x_known))

    def correlate(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """Return for each lag the cells that overlap, the greatest r, and which of `xs` has it.

        Masked normalised correlation; Padfield, IEEE Trans. Image Processing 21 (2012).
        """
        known_x = self._transform(self.x_known.astype(float))
        known_y, of_y, of_yy = (
            np.conj(self._transform(array))
            for array in (self.y_known.astype(float), self.y, self.y**2)
        )
        count = np.maximum(np.rint(self._sums(known_x * known_y)), 0.0)
        some = np.maximum(count, 1.0)
        mean_y = self._sums(known_x * of_y) / some
        var_y = self._sums(known_x * of_yy) / some - mean_y**2
        best = np.zeros(len(self.lags))
        which = np.zeros(len(self.lags), dtype=np.intp)
        for index, x in enumerate(self.xs):
            of_x = self._transform(x)
            mean_x = self._sums(of_x * known_y) / some
            var_x = self._sums(self._transform(x**2) * known_y) / some - mean_x**2
            covariance = self._sums(of_x * of_y) / some - mean_x * mean_y
            # where one of them hardly moves, nothing can be told
            moves = (var_x > _LEAST_VARIANCE) & (var_y > _LEAST_VARIANCE) & (covariance > 0)
            r = np.zeros(len(self.lags))
            r[moves] = covariance[moves] / np.sqrt(var_x[moves] * var_y[moves])
            better = r > best
            best[better], which[better] = r[better], index
        return count, np.minimum(best, 1.0), which

    def overlap(self, lag: int) -> tuple[slice, slice]:
        """Return the cells of x and of y that lie on each other at `lag`."""
        begin, end = max(lag, 0), min(len(self.x_known), len(self.y_known) + lag)
        return slice(begin, end), slice(begin - lag, end - lag)

    def left_over(self, lag: int, which: int) -> tuple[Array, Flags]:
        """Return what of y the line through x does not explain at `lag`, and where it is known."""
        of_x, of_y = self.overlap(lag)
        known = self.x_known[of_x] & self.y_known[of_y]
        x, y = self.xs[which][of_x], self.y[of_y]
        from_mean = x - x[known].mean()
        slope = float(from_mean[known] @ y[known]) / float(from_mean[known] @ from_mean[known])
        return np.where(known, y - y[known].mean() - slope * from_mean, 0.0), known

    def filtered(self, share: float, wanted: Sequence[int]) -> "Slide":
        """Return it with what a sample's predecessor foretells taken off, of `wanted` alone."""
        back = self.cells
        x_known = self.x_known[back:] & self.x_known[:-back]
        y_known = self.y_known[back:] & self.y_known[:-back]
        xs = [self.xs[index] for index in wanted]
        return Slide(
            [x[back:] - share * x[:-back] for x in xs],
            x_known,
            self.y[back:] - share * self.y[:-back],
            y_known,
            self.cells,
        )

    def events(self, lag: int, which: int) -> float:
        """Return how many samples the overlap is worth where a few jumps are most of it.

        Of normal noise all, by its fourth moment; of three jumps, about nine.
        """
        of_x, of_y = self.overlap(lag)
        known = self.x_known[of_x] & self.y_known[of_y]
        worth = []
        for array in (self.xs[which][of_x][known], self.y[of_y][known]):
            squares = (array - array.mean()) ** 2
            worth.append(3 * float(squares.sum() ** 2 / max((squares**2).sum(), 1e-300)))
        return min(worth) / self.cells

    def _transform(self, array: Array) -> NDArray[np.complex128]:
        return np.fft.rfft(array, self.size)

    def _sums(self, product: NDArray[np.complex128]) -> Array:
        sums = np.fft.irfft(product, self.size)
        behind = len(self.y_known) - 1
        return np.concatenate([sums[self.size - behind :], sums[: len(self.x_known)]])


def _standard(values: Array, known: Flags) -> Array:
    """Return the values about their mean in units of their spread; 0 where they are not known."""
    inside = values[known]
    if len(inside) == 0:
        return np.zeros(len(values))
    spread = float(inside.std())
    return np.where(known, (values - inside.mean()) / (spread if spread > 1e-9 else 1.0), 0.0)
