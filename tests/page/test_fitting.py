"""What a page's series may take, and what is given up for it first."""

import numpy as np
import pytest
from compared import noise
from heatsoak.report.page.packing import Packer, SeriesPacker, decoded, fill, fit_to_size, unpacked
from heatsoak.report.page.tracks import AUXILIARY, RATE, SENSOR, QuantitySeries

BUDGET = 1_100_000


def course(count: int, importance: int, seed: int = 0, sigma: float = 0.02) -> QuantitySeries:
    values = 2000 * (1 + noise(count, seed, sigma=sigma))
    t_s = np.arange(1, count + 1) / 10
    return QuantitySeries("bw_mb_s", "reads", "throughput", "MB/s", t_s, values, importance)


def size_of(courses: list[QuantitySeries], every: dict[int, int]) -> int:
    packer = Packer()
    for one in courses:
        fill(SeriesPacker().add(one), one, every[one.importance], packer)
    return len(packer.data())


def test_what_fits_is_kept_whole() -> None:
    courses = [course(3000, importance) for importance in (AUXILIARY, SENSOR, RATE)]
    assert set(fit_to_size(courses, BUDGET).values()) == {1}


@pytest.mark.slow
def test_throughput_is_thinned_last() -> None:
    courses = [course(100_000, level, level) for level in (AUXILIARY, SENSOR, RATE)]
    every = fit_to_size(courses, 400_000)
    assert every[AUXILIARY] > every[RATE] == 1
    assert size_of(courses, every) <= 400_000 * 1.05


@pytest.mark.slow
def test_a_day_of_noisy_samples_at_ten_a_second_fits() -> None:
    courses = [course(864_000, level, level, sigma=0.1) for level in (AUXILIARY, SENSOR, RATE)]
    every = fit_to_size(courses, BUDGET)
    assert size_of(courses, every) <= BUDGET * 1.05
    # as fine as it may be: half as many neighbours to a stretch would not have fitted
    assert size_of(courses, every | {RATE: every[RATE] // 2}) > BUDGET


def test_a_thinned_series_says_so_and_keeps_its_extremes() -> None:
    one = course(50_000, RATE)
    packer = Packer()
    track = SeriesPacker().add(one)
    fill(track, one, 50, packer)
    values = decoded(unpacked(packer.data()), track.v)
    assert track.samples == 50_000
    assert track.v.count == track.t.count < 50_000
    assert values.min() == pytest.approx(one.values.min(), abs=0.1)
    assert values.max() == pytest.approx(one.values.max(), abs=0.1)
    # neighbours that thinning parted are still joined
    assert track.gap_s > np.diff(decoded(unpacked(packer.data()), track.t)).max()
