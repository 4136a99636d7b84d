"""What lost speed is never said to have held it, and no answer is firmer than its table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.analysis.answer import why_failed
from heatsoak.analysis.definitions import MIN_THROTTLING_C
from heatsoak.analysis.falls import find, find_drops
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.slow_steps import not_held
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from made_recording import judged, sampled

SAMPLES = Path(__file__).parent.parent / "importer" / "data"
#: What is left of full writes at some times, of which the least is given.
Shape = Callable[[np.random.Generator, Array, float], Array]


def square(t_s: Array, period_s: float, phase: float, low: float) -> Array:
    return np.where((t_s / period_s + phase) % 1 < 0.5, low, 1.0)


def waves(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    period_s = float(np.exp(rng.uniform(np.log(4), np.log(t_s[-1] / 3))))
    return np.where((t_s / period_s + rng.uniform()) % 1 < rng.uniform(0.2, 0.8), low, 1.0)


def two_waves(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    slow = square(t_s, rng.uniform(30, 90), 0.3, 0.6)
    return square(t_s, rng.uniform(8, 20), 0, low) * slow


def swell(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    period_s = float(np.exp(rng.uniform(np.log(20), np.log(t_s[-1]))))
    return 1 - (1 - low) * (0.5 - 0.5 * np.cos(2 * np.pi * (t_s / period_s + rng.uniform())))


def shifts(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    at_s = np.sort(rng.uniform(15, t_s[-1] - 15, rng.integers(1, 6)))
    levels: Array = np.concatenate([[low], rng.uniform(low, 1, len(at_s) - 1), [1.0]])
    return levels[np.searchsorted(at_s, t_s)]


def nine_shifts(rng: np.random.Generator, t_s: Array, low: float) -> Array:  # noqa: ARG001
    at_s = np.linspace(0, t_s[-1], 11)[1:-1] + rng.uniform(-5, 5, 9)
    levels: Array = np.cumsum([0.8, *(np.array([1, -1] * 5)[:9] * rng.uniform(0.1, 0.15, 9))])
    return levels[np.searchsorted(at_s, t_s)]


def recovery(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return np.where(t_s < rng.uniform(16, 0.8 * t_s[-1]), low, 1.0)


def late_fall(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return np.where(t_s > t_s[-1] - rng.uniform(16, 0.3 * t_s[-1]), low, 1.0)


def slope(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    begin, end = (1.0, low) if rng.uniform() < 0.5 else (low, 1.0)
    return np.linspace(begin, end, len(t_s))


def trickle(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    begin_s = rng.uniform(0, 0.8 * t_s[-1] - 16)
    return np.where((t_s > begin_s) & (t_s < begin_s + rng.uniform(16, 60)), 0.1 * low, 1.0)


def slow_start(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return 1 - (1 - low) * np.exp(-t_s / rng.uniform(40, 90))


def fall_and_wave(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return np.where(t_s < 0.4 * t_s[-1], 1.0, low * square(t_s, rng.uniform(10, 40), 0, 0.5))


#: Those of which nothing but the level tells that they did not hold; then those that fall.
UNEVEN: list[Shape] = [waves, swell, shifts, recovery, late_fall, slope, trickle]
FALLING: list[Shape] = [two_waves, nine_shifts, slow_start, fall_and_wave]


def means(fine: Array, sampling_s: float) -> Array:
    """What a logger sees of rates at 10 Hz."""
    size = round(10 * sampling_s)
    return np.asarray(fine[: len(fine) // size * size].reshape(-1, size).mean(axis=1))


def made(shape: Shape | None, seed: int) -> RateSeries:
    """A shape of a sampling interval and of noise as logs have them."""
    rng = np.random.default_rng(seed)
    sampling_s = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    fine_s = np.arange(0.05, round(float(np.exp(rng.uniform(4.4, 7.2))) / 2) * 2, 0.1)
    low = 1 - rng.uniform(0.15, 0.95)
    seen = means(np.ones(len(fine_s)) if shape is None else shape(rng, fine_s, low), sampling_s)
    seen *= 1 + float(rng.choice([0.002, 0.01, 0.03])) * rng.normal(size=len(seen))
    t_s = np.linspace(sampling_s, len(seen) * sampling_s, len(seen))
    level = float(rng.choice([90.0, 1600.0, 7000.0]))
    return RateSeries(t_s, np.full(len(t_s), sampling_s), level * np.maximum(seen, 0), "mb_s")


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("shape", UNEVEN)
def test_what_lost_more_than_a_tenth_for_more_than_ten_seconds_did_not_hold(
    shape: Shape, count: int
) -> None:
    held = [
        seed
        for seed in range(count)
        if not find_drops(series := made(shape, seed)) and not_held(series) is None
    ]
    assert held == []


def test_steady_noise_is_shown_to_hold_and_a_slow_second_or_two_is_no_loss() -> None:
    assert [seed for seed in range(25) if not_held(made(None, seed)) is not None] == []
    flat = made(None, 3)
    for begin_s in (0.0, 70.0):
        slow = np.where((flat.t_s > begin_s) & (flat.t_s <= begin_s + 2), 0.4, 1)
        assert not_held(RateSeries(flat.t_s, flat.interval_s, slow * flat.values, "mb_s")) is None


def test_where_noise_would_hide_a_loss_or_samples_are_few_nothing_is_shown() -> None:
    flat = made(None, 3)
    for sigma in (0.5, 3.0):
        rough = np.random.default_rng(1).lognormal(sigma=sigma, size=len(flat.t_s))
        assert (
            not_held(RateSeries(flat.t_s, flat.interval_s, rough * flat.values, "mb_s")) is not None
        )
    assert not_held(flat.between(0.0, 1.5)) is not None


def logged(write: Array, read: Array | None = None, **more: Any) -> RecordingFindings:
    """What is found in shares of 1600 MB/s, each direction with a noise of its own."""
    if read is None:
        return judged(sampled(1600 * write, **more), rw="write", bs="128k")
    reads = 1600 * read * np.random.default_rng(99).normal(1, more["sigma"], len(read))
    return judged(sampled(1600 * write, read_bw_mb_s=reads, **more), rw="rw", bs="128k")


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("shape", [*UNEVEN, *FALLING])
def test_what_lost_speed_is_never_said_to_have_held_it(
    shape: Shape, is_shared: bool, count: int
) -> None:
    """Of writes alone, and of writes beside reads that take the rest of the time."""
    held = []
    for seed in range(count):
        rng = np.random.default_rng([seed, 39])
        t_s = np.arange(0.05, rng.uniform(200, 600), 0.1)
        sampling_s = float(rng.choice([0.2, 1.0, 2.0]))
        write = means(shape(rng, t_s, 1 - rng.uniform(0.25, 0.9)), sampling_s)
        how: dict[str, Any] = {"sampling_s": sampling_s, "sigma": float(rng.choice([0.002, 0.01]))}
        if seed % 2:
            how["temp_c__composite"] = np.linspace(45, 66, len(write))
        both = (0.5 * write, 1 - 0.5 * write) if is_shared else (write, None)
        found = logged(*both, **how, seed=seed)
        if found.steps and found.steps[0].episodes:
            continue
        is_held = "held" in found.answer.sentence or found.answer.throttles == "not-loaded"
        if is_held or found.steps[0].verdict == "steady" or not why_failed(found, "any", None):
            held.append((seed, found.answer.sentence))
    assert held == []


@pytest.mark.parametrize(
    ("temps_c", "throttles", "said"),
    [
        ((35, 62), "no", "still warming when 'load' ended, by 8 K in the last third."),
        ((62, 63), "no", "it was at 62 C from the start, and may have been slow before."),
        (None, "no", "no temperature tells whether it was slow before."),
        ((74, 76), "cannot-tell", "as hot as drives throttle at."),
    ],
)
def test_a_level_is_full_speed_where_something_shows_it(
    temps_c: tuple[float, float] | None, throttles: str, said: str
) -> None:
    temps = {} if temps_c is None else {"temp_c__composite": np.linspace(*temps_c, 300)}
    answer = logged(np.ones(300), **temps).answer
    assert answer.throttles == throttles
    assert answer.sentence.endswith(said)


def assert_no_answer_is_firmer_than_its_steps(found: RecordingFindings) -> None:
    throttles = found.answer.throttles
    unknown = [step for step in found.steps if step.claim.is_open]
    assert (throttles == "yes") >= any(step.claim.heat == "yes" for step in found.steps)
    if throttles == "no":
        # a drive that counts its throttling tells of one that is warm
        assert all(
            step.max_temp_c is not None
            and (step.max_temp_c < MIN_THROTTLING_C or step.episodes or found.counted)
            for step in unknown
        )
        assert not any(claim.what == "hot" for step in found.steps for claim in step.claims)
    if unknown or throttles == "cannot-tell":
        assert why_failed(found, "unknown", None)
    if any(step.max_temp_c is None for step in unknown):
        assert "not heat" not in found.answer.sentence


@pytest.mark.parametrize("directory", sorted(one.name for one in SAMPLES.iterdir()))
def test_no_answer_of_a_sample_log_is_firmer_than_its_steps(directory: str) -> None:
    for path in sorted(one for one in (SAMPLES / directory).rglob("*") if one.is_file()):
        try:
            found = analyze(open_all([path], Options())).recordings
        except HeatsoakError:
            continue
        for one in found:
            assert_no_answer_is_firmer_than_its_steps(one)


SECOND = np.arange(600)
WARMING_C = np.round(40 + 42 * (1 - np.exp(-SECOND / 120)))
SHAPES: dict[str, Array] = {
    "held its speed": np.full(600, 1000.0),
    "fell while it was cool": np.where(SECOND < 30, 3000.0, 1000.0),
}


def of_reads(rates: Array, temps_c: Array, **columns: Any) -> RecordingFindings:
    """The findings of sequential reads with a sample a second."""
    reads = sampled(rates, column="read_bw_mb_s", temp_c__composite=np.round(temps_c), **columns)
    return judged(reads, rw="read", bs="128k")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_drive_counts_is_throttling_and_no_more_is_said(shape: str) -> None:
    count = np.maximum(SECOND - 400, 0) // 20 * 1.0
    found = of_reads(SHAPES[shape], WARMING_C, throttle_count__tmt1=count)
    said = found.answer.sentence
    assert found.answer.throttles == "yes"
    assert said.startswith("Heat throttles the drive, by its own count: tmt1 by 9 in 'load'")
    assert "never ran at full speed" not in said
    assert ("fell by 67 %" in said) == (shape == "fell while it was cool")
    assert of_reads(SHAPES[shape], WARMING_C).answer.throttles != "yes"


def test_throttling_that_the_drive_counted_is_told_however_little_it_cost() -> None:
    is_late = np.arange(1, 301) > 298
    count = np.where(is_late, 4.0, 3.0)
    found = logged(np.where(is_late, 0.7, 1.0), sigma=0.0, throttle_count__tmt1=count)
    assert found.answer.throttles == "yes"
    assert found.steps[0].verdict == "thermal"


def test_a_pause_in_which_the_drive_idles_is_no_fall_by_heat() -> None:
    is_paused = (SECOND >= 300) & (SECOND < 320)
    rates, busy_pct = np.where(is_paused, 0.0, 1800.0), np.where(is_paused, 0.0, 98.0)
    found = of_reads(rates, WARMING_C, busy_pct=busy_pct)
    assert found.answer.throttles == "no"
    assert [one.cause for step in found.steps for one in step.episodes] == ["limited-by-host"]
    stalled = of_reads(rates, WARMING_C, busy_pct=np.full(600, 98.0))
    assert "limited-by-host" not in [one.cause for s in stalled.steps for one in s.episodes]


def test_what_a_rate_did_while_the_drive_was_cool_is_no_sign_of_heat() -> None:
    swings = 2000 * np.where(SECOND % 13 < 6, 0.8, 1.0)
    warming = 34 + 36 * (1 - np.exp(-SECOND / 150))
    found = of_reads(swings, warming)
    assert found.answer.throttles == "no"
    assert "as it did while it was cool" in found.answer.sentence
    assert of_reads(swings * np.where(warming > 65, 0.9, 1.0), warming).answer.throttles != "no"


def test_single_samples_of_standstill_are_stalls_where_they_are_few() -> None:
    rates = np.where(SECOND % 49 == 7, 0.0, 2000.0)
    series = RateSeries(np.arange(1.0, 601.0), np.ones(600), rates, "mb_s")
    found = find(series)
    assert found is not None
    assert (len(found.stalls), found.drops) == (13, [])
    assert not_held(series, found.stalls) is None
    assert not_held(series) is not None


def test_a_small_fall_of_a_warm_drive_is_not_put_down_to_heat() -> None:
    """Any drive that does a little less at 63 C stays about as warm."""
    rates = np.where(SECOND < 300, 4480.0, 4150.0)
    found = of_reads(rates, 39 + 25 * (1 - np.exp(-SECOND / 100)), busy_pct=np.full(600, 96.0))
    assert found.answer.throttles == "cannot-tell"


def test_a_temperature_that_moved_in_another_step_shows_that_this_one_was_cool() -> None:
    """A short load hardly warms a drive: whether its sensor is alive, the whole log tells."""
    second = np.arange(1.0, 301)
    long = sampled(np.full(300, 2000.0), step="long", column="read_bw_mb_s",
                   temp_c__composite=35 + 10 * (1 - np.exp(-second / 60)))  # fmt: skip
    short = sampled(np.where(second[:100] <= 50, 2000.0, 900.0), step="short", start_s=300,
                    column="read_bw_mb_s", temp_c__composite=40.0)  # fmt: skip
    found = judged(pl.concat([long, short]), rw="read", bs="128k")
    assert found.answer.throttles == "no"
    assert judged(short, rw="read", bs="128k").answer.throttles == "cannot-tell"


@pytest.mark.parametrize("busy_pct", [30.0, 100.0])
def test_a_drive_that_was_asked_for_nothing_for_a_while_held_its_speed(busy_pct: float) -> None:
    is_low = (SECOND % 60) < 6
    rates = np.where(is_low, 300.0, 1000.0)
    found = of_reads(rates, np.full(600, 60.0), busy_pct=np.where(is_low, busy_pct, 100.0))
    assert (found.answer.throttles == "no") == (busy_pct < 100)


@pytest.mark.parametrize(("temp_c", "throttles"), [(40.0, "no"), (75.0, "cannot-tell")])
def test_a_load_too_short_to_judge_was_not_throttled_if_its_drive_was_cool(
    temp_c: float, throttles: str
) -> None:
    found = of_reads(np.full(8, 1000.0), np.linspace(temp_c - 7, temp_c, 8))
    assert "too short to judge" in found.answer.sentence
    assert found.answer.throttles == throttles


def test_a_drive_that_is_let_go_as_it_cools_was_throttled_by_heat() -> None:
    lost = np.interp(SECOND, [130, 150, 400, 460], [0.0, 0.25, 0.25, 0.0])
    temps_c = np.interp(SECOND, [0, 130, 400, 460, 600], [40.0, 79.0, 79.0, 75.0, 70.0])
    (episode,) = of_reads(1000 * (1 - lost), temps_c).steps[0].episodes
    assert "for thermal: it fell at 79 C and was back at full speed at 76 C" in episode.evidence
