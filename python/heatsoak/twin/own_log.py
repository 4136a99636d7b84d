"""A twin held to the recordings that it was fitted to: what it makes of the loads in them.

Each load begins as warm as the log left the drive. Heat and governor then run over what was asked
for: what was moved, and while the governor held the drive back what it moved before. Power that was
measured meanwhile is left out, as no prediction has it.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from heatsoak import words
from heatsoak.analysis.sensors.readings import Stretch
from heatsoak.catalog import Drive
from heatsoak.catalog.specs import Strict
from heatsoak.twin.asked import DemandSeries, RateBounds, folding, means_over, work_of
from heatsoak.twin.model import METER, RATES, ThermalModel, Values, air_above_k, limit_c_of
from heatsoak.twin.readings import Array, MeasuredRecording
from heatsoak.twin.shown import MEAN_S

#: An onset is when this share is lost, as the judge has it.
_LOST = 0.02
#: A load is slowed where more than this of full speed got late in all.
_LATE_S = 1.0
#: What onsets and levels, their lowest five seconds and temperatures are off by at a right law.
_SD, _LOWEST_SD, _HOTTEST_SD_K, _MOST_SD = 0.1, 0.5, 3.0, 5.0
#: What counts as reproduced: onsets and levels by so much of them, temperatures by so much.
ONSET_X, ONSET_S, LEVEL_X, HOTTEST_K = 0.15, 3.0, 0.20, 5.0


class OwnStep(Strict):
    """A load of a fitted recording, as it was and as the twin predicts it.

    Attributes:
        path, step: which; it took `duration_s`.
        onset_s: when heat began to slow it, from its start; None if it never did.
        mb_s: what it moved from then until that ended, in the mean and in its slowest five seconds.
        hottest_c: the highest temperature that was reported.
    """

    path: str
    step: str
    duration_s: float
    onset_s: float | None = None
    twin_onset_s: float | None = None
    mb_s: tuple[float, float] | None = None
    twin_mb_s: tuple[float, float] | None = None
    hottest_c: float
    twin_hottest_c: float

    @property
    def is_onset_right(self) -> bool:
        """Whether heat slows it when it did; of one that it did not slow, not before its end."""
        was, is_ = (one or self.duration_s for one in (self.onset_s, self.twin_onset_s))
        return abs(is_ - was) <= max(ONSET_X * was, ONSET_S)

    @property
    def is_level_right(self) -> bool:
        """Whether what heat leaves of it is as it was."""
        if self.mb_s is None or self.twin_mb_s is None:
            return True
        return abs(self.twin_mb_s[0] / self.mb_s[0] - 1) <= LEVEL_X

    def wrong(self) -> Iterator[str]:
        """Yield what is not as it was, in words."""
        if not self.is_onset_right:
            was, is_ = (_after(one, self.duration_s) for one in (self.onset_s, self.twin_onset_s))
            yield f"'{self.step}' throttled {was}, the twin does {is_}"
        elif self.mb_s and self.twin_mb_s and not self.is_level_right:
            yield (
                f"'{self.step}' moved {words.rate_text(self.mb_s[0])} once it throttled, the twin "
                f"{words.number_text(self.twin_mb_s[0])}"
            )
        elif abs(self.twin_hottest_c - self.hottest_c) > HOTTEST_K:
            yield (
                f"'{self.step}' reached {words.temp_text(self.hottest_c)}, the twin "
                f"{words.temp_text(self.twin_hottest_c)}"
            )


def _after(onset_s: float | None, duration_s: float) -> str:
    if onset_s is None:
        return f"not in its {words.duration_text(duration_s)}"
    return f"after {words.duration_text(onset_s)}"


class OwnLoads:
    """The loads of a recording that a twin is held to, as they were asked for."""

    def __init__(self, base: Drive, one: MeasuredRecording, full: RateBounds) -> None:
        """`full` is what the drive does at full speed."""
        self.measured = one
        self._seconds = _seconds(one)
        moved, asked = _moved(one), _asked(one)
        self._moved_mb_s, self._asked_mb_s = _total(moved), _total(asked)
        moved_work, self._work = (work_of(base, *rates.values()) for rates in (moved, asked))
        self._moved_work = folding(base, moved_work, 1.0)
        self._moved_share, self._full_share = (
            np.minimum(full.share_of(work), 1.0) for work in (moved_work, self._work)
        )
        # each as it was, where it lies, and for how long heat held it
        loads = (self._load(name, step) for name, step in one.steps.items())
        self._loads = sorted(filter(None, loads), key=lambda load: load[1].start)

    def _load(self, name: str, step: Stretch) -> tuple[OwnStep, slice, slice] | None:
        """Return a load that heat slowed, or is known not to have slowed; None for others."""
        one = self.measured
        readings = one.reading_c[(one.reading_t_s > step.start_s) & (one.reading_t_s <= step.end_s)]
        part = slice(round(step.start_s), round(step.end_s))
        fell = [x for x in one.falls if step.start_s < x.t_s < step.end_s]
        first = next((x for x in one.onsets if step.start_s < x.t_s < step.end_s), None)
        is_known = step in one.even if not fell else first is None or first.end_s is not None
        if part.start == part.stop or not len(readings) or not is_known:
            return None  # or the drive counted what did not show in its rate
        held = slice(0, 0)
        if first is not None and first.end_s is not None:
            held = slice(int(first.t_s - step.start_s) + 1, int(first.end_s - step.start_s))
        was = OwnStep(
            path=one.path,
            step=name,
            duration_s=step.end_s - step.start_s,
            onset_s=first.t_s - step.start_s if first else None,
            mb_s=_levels(self._moved_mb_s[part][held]),
            hottest_c=float(readings.max()),
            twin_hottest_c=float(readings.max()),
        )
        return was, part, held

    def held_shares(self) -> Iterator[Array]:
        """Yield what the governor left of full speed, in means of five seconds."""
        for onset in self.measured.onsets:
            if onset.end_s is not None:
                yield means_over(MEAN_S, self._moved_share[int(onset.t_s) + 1 : int(onset.end_s)])

    def predict(self, model: ThermalModel, values: Values, start_k: float) -> Iterator[OwnStep]:
        """Yield what becomes of them; raises ValueError where the drive cannot be there.

        Its first one begins `start_k` warmer than at rest.
        """
        one = self.measured
        air_k = air_above_k(values, one)[self._seconds]
        air_name = f"air_c@{one.place}"
        limit_c = limit_c_of(values, one)
        there = {**values, air_name: values[air_name] + air_k[0], "limit_c": limit_c}
        lumped = model.lumped(there, one.place, governed=True)
        lumped.warm(start_k)
        power_w = one.power_w[self._seconds] * values.get(METER, 1.0)
        now_s = 0
        for was, part, held in self._loads:
            if part.start > now_s:
                # what lies between follows the log, that each load begins as warm as it did
                before = slice(now_s, part.start)
                lumped.follow(
                    np.ones(part.start - now_s),
                    work={name: a_second[before] for name, a_second in self._moved_work.items()},
                    power_w=power_w[before],
                    air_k=air_k[before] - air_k[now_s],
                )
                now_s = part.start
            mb_s = self._asked_mb_s[part]
            served = DemandSeries(
                dt_s=np.ones(len(mb_s)),
                mb_s=mb_s,
                full_share=self._full_share[part],
                least_share=np.zeros(len(mb_s)),
                work={name: a_second[part] for name, a_second in self._work.items()},
                air_k=air_k[part] - air_k[now_s],
            ).serve(lumped.copy(), len(mb_s))
            late_s = np.diff(served["late_s"], prepend=0.0)
            is_slowed = served["late_s"].max() > _LATE_S
            became = {
                "twin_onset_s": float(np.argmax(late_s > _LOST)) if is_slowed else None,
                "twin_mb_s": _levels(served["mb_s"][held]),
                "twin_hottest_c": float(served["sensor_c"].max()),
            }
            yield was.model_copy(update=became)


def misfit(steps: Iterable[OwnStep], spare: float = 0.0) -> float:
    """Return how far steps are from what they were, as twice a logarithm of likelihood.

    The first `spare` deviations of each are for nothing.
    """
    off = []
    for one in steps:
        was_s, is_s = (max(x or one.duration_s, ONSET_S) for x in (one.onset_s, one.twin_onset_s))
        off.append(np.log(is_s / was_s) / _SD)
        off.append((one.twin_hottest_c - one.hottest_c) / _HOTTEST_SD_K)
        if one.mb_s is not None and one.twin_mb_s is not None:
            was_mb_s, is_mb_s = np.maximum(one.mb_s, 1.0), np.maximum(one.twin_mb_s, 1.0)
            off += (np.log(is_mb_s / was_mb_s) / (_SD, _LOWEST_SD)).tolist()
    # what is wrong is wrong: by how much says little
    return float(np.sum(np.clip(np.abs(off) - spare, 0.0, _MOST_SD) ** 2))


def _levels(mb_s: Array) -> tuple[float, float] | None:
    """The mean, and the slowest five seconds; None of less than those."""
    if len(mb_s) < MEAN_S:
        return None
    return float(mb_s.mean()), float(means_over(MEAN_S, mb_s).min())


def _moved(one: MeasuredRecording) -> dict[str, Array]:
    """What was moved, second by second."""
    return {name: getattr(one, name)[_seconds(one)] for name in RATES}


def _seconds(one: MeasuredRecording) -> NDArray[np.int64]:
    """Where each second of a recording is on its grid."""
    seconds = np.arange(round(float(one.t_s[-1])))
    return np.minimum(seconds // round(one.grid_s), len(one.t_s) - 1)


def _asked(one: MeasuredRecording) -> dict[str, Array]:
    """What was asked for: while a governor held the drive back, what it moved before."""
    asked = _moved(one)
    total = _total(_moved(one))
    for onset in one.onsets:
        if onset.end_s is None:
            continue
        since = int(onset.since_s)
        before = slice(since, max(int(onset.t_s), since + 1))
        before_mb_s = float(np.median(total[before]))
        factor = (onset.before_mb_s or before_mb_s) / max(before_mb_s, 1e-9)
        for rates in asked.values():
            rates[int(onset.t_s) : int(onset.end_s)] = factor * np.median(rates[before])
    return asked


def _total(rates: dict[str, Array]) -> Array:
    return rates["read_mb_s"] + rates["write_mb_s"]
