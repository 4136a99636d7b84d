"""Compact series for the page: fewer points, then fewer bytes for each."""

import base64
import gzip
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import Array
from heatsoak.report.page import tracks
from heatsoak.report.page.contract import ChartSeries, Packed

#: Times are rounded to the millisecond.
TIME_PER_UNIT = 1000
#: Values are off by at most half of the greatest magnitude divided by this.
_MIN_STEPS = 10_000
_MAX_DIGITS = 15
#: The greatest whole number for which signed differences fit into six bytes.
_GREATEST = 2.0**45


class Packer:
    """Collects columns and packs them together."""

    def __init__(self) -> None:
        self._columns: list[bytes] = []
        self._size = 0

    def values(self, values: Array) -> Packed:
        """Add values, rounded to the quantum of :func:`per_unit_of`."""
        return self._take(values, per_unit_of(values))

    def times(self, t_s: Array) -> Packed:
        """Add times in seconds, rounded to the millisecond."""
        return self._take(t_s, TIME_PER_UNIT)

    def data(self) -> str:
        """Return all columns, gzipped, in base64."""
        # level 9 takes three times as long for 0.4 % less
        return base64.b64encode(gzip.compress(b"".join(self._columns), 7, mtime=0)).decode()

    def _take(self, values: Array, per_unit: int) -> Packed:
        column, width = encoded(values, per_unit)
        packed = Packed(at=self._size, count=len(values), width=width, per_unit=per_unit)
        self._columns.append(column)
        self._size += len(column)
        return packed


def per_unit_of(values: Array) -> int:
    """Return how many quanta a unit has: a power of ten.

    The quantum is at most a ten-thousandth of the greatest magnitude, and coarser than the finest
    one only if that does not change any value.
    """
    greatest = float(np.max(np.abs(values), initial=0.0))
    if greatest == 0:
        return 1
    digits = math.ceil(math.log10(_MIN_STEPS) - math.log10(greatest) - 1e-12)
    per_unit, finest = 1, 10 ** min(max(0, digits), _MAX_DIGITS)
    while per_unit < finest and not np.array_equal(np.rint(values * per_unit) / per_unit, values):
        per_unit *= 10
    return per_unit


def encoded(values: Array, per_unit: int) -> tuple[bytes, int]:
    """Return a column's bytes and the width of a difference, as :class:`Packed` describes them.

    Values must be finite; those that do not fit into six bytes are clipped.
    """
    if len(values) == 0:
        return b"", 0
    whole = np.rint(np.clip(values * per_unit, -_GREATEST, _GREATEST)).astype(np.int64)
    differences = np.diff(whole, prepend=0)
    zigzag = ((differences << 1) ^ (differences >> 63)).astype("<u8")
    width = max(1, (int(zigzag.max()).bit_length() + 7) // 8)
    planes: NDArray[np.uint8] = zigzag.view(np.uint8).reshape(-1, 8)[:, :width].T
    return planes.tobytes(), width


def unpacked(data: str) -> bytes:
    """Return the columns of a page's data, for :func:`decoded`."""
    return gzip.decompress(base64.b64decode(data))


def decoded(columns: bytes, packed: Packed) -> Array:
    """Return the values of a column."""
    size = packed.count * packed.width
    planes = np.frombuffer(columns, np.uint8, size, packed.at).reshape(packed.width, packed.count)
    zigzag = np.zeros(packed.count, np.int64)
    for place, plane in enumerate(planes):
        zigzag |= plane.astype(np.int64) << (8 * place)
    return np.cumsum((zigzag >> 1) ^ -(zigzag & 1)) / packed.per_unit


def thinned(values: Array, every: int) -> NDArray[np.intp]:
    """Return which points to keep, rising.

    The minimum and maximum of each stretch of `every` points are kept, and the very first and last
    point. `every` up to 2 keeps all, since nothing would be saved.
    """
    count = len(values)
    if every <= 2 or count <= every:
        return np.arange(count)
    whole = count - count % every
    stretches = values[:whole].reshape(-1, every)
    begins = np.arange(0, whole, every)
    keep = np.zeros(count, dtype=bool)
    keep[[0, -1]] = True
    keep[begins + stretches.argmin(axis=1)] = True
    keep[begins + stretches.argmax(axis=1)] = True
    if whole < count:
        rest = values[whole:]
        keep[[whole + rest.argmin(), whole + rest.argmax()]] = True
    return np.flatnonzero(keep)


#: Two points are kept per stretch: its minimum and its maximum.
_KEPT = 2
_COARSER = 1.1
_COARSEST = 1 << 24


def fit_to_size(courses: Sequence[tracks.QuantitySeries], budget_bytes: int) -> dict[int, int]:
    """Return the number of points per stretch, by importance, that keeps all within the budget.

    `budget_bytes` counts base64. The least important series are thinned first, down to a hundredth
    of the budget, then the next.
    """
    budget = budget_bytes * 3 / 4
    every = dict.fromkeys(tracks.IMPORTANCES, 1)
    sizes = {level: _size(courses, level, 1) for level in every}
    for level in every:
        left = budget - sum(size for other, size in sizes.items() if other != level)
        room = max(left, budget / 100)
        if sizes[level] <= room:
            continue
        # a kept point takes about as many bytes as any other, and irregular times some more
        every[level] = max(_KEPT + 1, int(_KEPT * sizes[level] / room))
        while (size := _size(courses, level, every[level])) > room and every[level] < _COARSEST:
            every[level] = math.ceil(every[level] * max(_COARSER, size / room))
        sizes[level] = size
    return every


class SeriesPacker:
    """Packs a page's series together, once all that is on the page is known."""

    def __init__(self) -> None:
        self._added: list[tuple[tracks.QuantitySeries, ChartSeries]] = []

    def add(self, course: tracks.QuantitySeries) -> ChartSeries:
        """Return a series in the page's form, which is empty until :meth:`pack` fills it."""
        series = ChartSeries(
            name=course.name,
            label=course.label,
            quantity=course.quantity,
            unit=course.unit,
            t=_EMPTY,
            v=_EMPTY,
            samples=len(course.values),
            gap_s=course.gap_s,
        )
        self._added.append((course, series))
        return series

    @property
    def is_thinned(self) -> bool:
        """Whether any series has fewer points than were recorded."""
        return any(series.t.count < series.samples for _, series in self._added)

    def pack(self, budget: int) -> str:
        """Fill all series, and return their columns in at most `budget` bytes of base64."""
        whole = self._filled(dict.fromkeys(tracks.IMPORTANCES, 1))
        courses = [course for course, _ in self._added]
        return whole if len(whole) <= budget else self._filled(fit_to_size(courses, budget))

    def _filled(self, every: Mapping[int, int]) -> str:
        packer = Packer()
        for course, series in self._added:
            fill(series, course, every[course.importance], packer)
        return packer.data()


_EMPTY = Packed(at=0, count=0, width=0, per_unit=1)


def fill(series: ChartSeries, course: tracks.QuantitySeries, every: int, packer: Packer) -> None:
    """Give a series its points: the least and the greatest of each stretch of `every` points."""
    kept = thinned(course.values, every)
    is_thinned = len(kept) < len(course.values)
    series.t = packer.times(course.t_s[kept])
    series.v = packer.values(course.values[kept])
    series.gap_s = round(course.gap_s * (every if is_thinned else 1), 3)


def _size(courses: Iterable[tracks.QuantitySeries], importance: int, every: int) -> int:
    """Roughly how many bytes the series of one importance take."""
    columns: list[bytes] = []
    for course in courses:
        if course.importance == importance:
            kept = thinned(course.values, every)
            columns.append(encoded(course.t_s[kept], TIME_PER_UNIT)[0])
            columns.append(encoded(course.values[kept], per_unit_of(course.values[kept]))[0])
    return len(zlib.compress(b"".join(columns), 6)) if columns else 0
