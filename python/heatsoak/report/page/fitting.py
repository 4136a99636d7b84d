"""Fits a page's series into the space there is: as many points as that allows."""

import math
import zlib
from collections.abc import Iterable, Sequence

from heatsoak.analysis.series import Array
from heatsoak.report.page.contract import Track
from heatsoak.report.page.packing import TIME_PER_UNIT, Packer, encoded, per_unit_of
from heatsoak.report.page.thinning import thinned
from heatsoak.report.page.tracks import AUXILIARY, RATE, SENSOR, Course

#: Of each two points that are kept one is the least and one the greatest of a stretch.
_KEPT = 2
_COARSER = 1.1
_COARSEST = 1 << 24


def fit(courses: Sequence[Course], budget_bytes: int) -> dict[int, int]:
    """Return how many neighbours share a stretch, by importance, so that all stays in the budget.

    `budget_bytes` is of base64. What is of least importance is thinned first, down to a hundredth
    of the budget, before the next is.
    """
    budget = budget_bytes * 3 / 4
    every = {AUXILIARY: 1, SENSOR: 1, RATE: 1}
    sizes = {level: _size(courses, level, 1) for level in every}
    for level in every:
        left = budget - sum(size for other, size in sizes.items() if other != level)
        room = max(left, budget / 100)
        if sizes[level] <= room:
            continue
        # a kept point takes about as much as any, and irregular times some more
        every[level] = max(_KEPT + 1, int(_KEPT * sizes[level] / room))
        while (size := _size(courses, level, every[level])) > room and every[level] < _COARSEST:
            every[level] = math.ceil(every[level] * max(_COARSER, size / room))
        sizes[level] = size
    return every


def pack(course: Course, every: int, packer: Packer) -> Track:
    """Return a series as the page has it."""
    kept = thinned(course.values, every)
    is_thinned = len(kept) < len(course.values)
    return Track(
        name=course.name,
        label=course.label,
        quantity=course.quantity,
        unit=course.unit,
        t=packer.times(course.t_s[kept]),
        v=packer.values(course.values[kept]),
        samples=len(course.values),
        gap_s=round(course.gap_s * (every if is_thinned else 1), 3),
    )


def _size(courses: Iterable[Course], importance: int, every: int) -> int:
    """About how many bytes the series of one importance take."""
    columns: list[bytes] = []
    for course in courses:
        if course.importance == importance:
            kept = thinned(course.values, every)
            columns.append(_column(course.t_s[kept], TIME_PER_UNIT))
            columns.append(_column(course.values[kept]))
    return len(zlib.compress(b"".join(columns), 6)) if columns else 0


def _column(values: Array, per_unit: int | None = None) -> bytes:
    return encoded(values, per_unit or per_unit_of(values))[0]
