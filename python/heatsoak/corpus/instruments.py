"""What the drive's own instruments report: a temperature, and NVMe's counts of throttling."""

import numpy as np

from heatsoak.corpus.logged import Habits
from heatsoak.corpus.machine import Array, Course

#: What some drives report that measure nothing: 313 K.
PLACEHOLDER_C = 40.0


class Instruments:
    """The instruments of one drive, which remember from step to step."""

    def __init__(self, habits: Habits, chance: np.random.Generator) -> None:
        self._habits = habits
        self._felt_c: float | None = None
        self._level = 0
        # drives are rarely new
        is_used = chance.random() < 0.5
        self._counts = chance.integers(0, 400, 2) * is_used
        self._times_s = chance.integers(0, 9000, 2) * float(is_used)
        self._stuck_c = float(chance.integers(28, 62))

    def temperature(self, course: Course) -> Array:
        """Return what the sensor reports at each point of the grid."""
        from scipy.signal import lfilter  # a second to import, and one command needs it

        habits = self._habits
        nodes = {"controller": course.controller_c, "nand": course.nand_c, "board": course.board_c}
        true_c = np.sum([part * nodes[name] for name, part in habits.weights.items()], axis=0)
        keep = float(np.exp(-course.grid_s / habits.lag_s))
        before = true_c[0] if self._felt_c is None else self._felt_c
        felt_c, _ = lfilter([1 - keep], [1.0, -keep], true_c, zi=[keep * before])
        self._felt_c = float(felt_c[-1])
        if habits.sensor == "stuck":
            return np.full(len(course), self._stuck_c)
        if habits.sensor == "placeholder":
            return np.full(len(course), PLACEHOLDER_C)
        return np.asarray(np.round((felt_c + habits.offset_c) / habits.step_c) * habits.step_c)

    def counters(self, course: Course) -> dict[str, Array]:
        """Return NVMe's counts and seconds of light and heavy throttling."""
        levels = np.sum([course.permitted < share for share in self._habits.levels], axis=0)
        before = np.concatenate([[self._level], levels[:-1]])
        columns: dict[str, Array] = {}
        for index in (0, 1):
            entered = (levels > index) & (before <= index)
            counts = self._counts[index] + np.cumsum(entered)
            times_s = self._times_s[index] + np.cumsum(levels == index + 1) * course.grid_s
            self._counts[index], self._times_s[index] = counts[-1], times_s[-1]
            columns[f"throttle_count.tmt{index + 1}"] = counts.astype(float)
            columns[f"throttle_time_s.tmt{index + 1}"] = np.floor(times_s)
        self._level = int(levels[-1])
        return columns
