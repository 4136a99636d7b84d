"""What lost speed is never said to have held it, and no answer is firmer than its table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.analysis.answer import why_failed
from heatsoak.analysis.definitions import MIN_THROTTLING_C
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from made_recording import make_recording
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: What is left of full writes and of full reads, of which there may be none.
Rates = tuple[Array, Array | None]
SAMPLES = Path(__file__).parent.parent / "importer" / "data"


def square(t_s: Array, period_s: float, phase: float, low: float) -> Array:
    return np.where((t_s / period_s + phase) % 1 < 0.5, low, 1.0)


def wave(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    return square(t_s, rng.uniform(10, 60), rng.choice([0.0, 0.5]), low), None


def two_waves(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    return square(t_s, rng.uniform(8, 20), 0, low) * square(
        t_s, rng.uniform(30, 90), 0.3, 0.6
    ), None


def nine_shifts(rng: np.random.Generator, t_s: Array, low: float) -> Rates:  # noqa: ARG001
    at_s = np.linspace(0, t_s[-1], 11)[1:-1] + rng.uniform(-5, 5, 9)
    ups = np.array([1, -1] * 5)[:9] * rng.uniform(0.1, 0.15, 9)
    levels: Array = np.cumsum(np.append(0.8, ups))
    return levels[np.searchsorted(at_s, t_s)], None


def trickle(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    begin_s = rng.uniform(0, 0.7) * t_s[-1]
    return np.where((t_s > begin_s) & (t_s < begin_s + 40), 0.1 * low, 1.0), None


def recovery(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    return np.where(t_s < rng.uniform(25, 0.7 * t_s[-1]), low, 1.0), None


def late_fall(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    return np.where(t_s > t_s[-1] - rng.uniform(20, 40), low, 1.0), None


def slow_start(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    return 1 - (1 - low) * np.exp(-t_s / rng.uniform(40, 90)), None


def beside_opposite_traffic(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    write = 0.5 * np.where(t_s > rng.uniform(0.3, 0.6) * t_s[-1], low, 1.0)
    return write, 1 - write


def swing_that_reads_fill_up(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    write = 0.5 * square(t_s, rng.uniform(10, 90), rng.uniform(), low)
    return write, 1 - write


def fall_and_wave(rng: np.random.Generator, t_s: Array, low: float) -> Rates:
    swing = square(t_s, rng.uniform(10, 40), 0, 0.5)
    return np.where(t_s < 0.4 * t_s[-1], 1.0, low * swing), None


LOST: tuple[Callable[[np.random.Generator, Array, float], Rates], ...] = (
    wave,
    two_waves,
    nine_shifts,
    trickle,
    recovery,
    late_fall,
    slow_start,
    beside_opposite_traffic,
    swing_that_reads_fill_up,
    fall_and_wave,
)


def logged(
    directory: Path,
    rates: Rates,
    temps_c: Array | None,
    *,
    noise: float = 0.0,
    seed: int = 0,
    sampling_s: float = 1.0,
) -> RecordingFindings:
    """Rates and temperatures as a log has them, judged."""
    rng = np.random.default_rng(seed)
    size = round(10 * sampling_s)
    names = ("write_bw_mb_s", "read_bw_mb_s")
    columns = {
        name: 1600 * part[: len(part) // size * size].reshape(-1, size).mean(axis=1)
        for name, part in zip(names, rates, strict=True)
        if part is not None
    }
    count = len(columns["write_bw_mb_s"])
    frame = pl.DataFrame(
        {
            "t_s": np.linspace(sampling_s, sampling_s * count, count),
            "step": ["load"] * count,
            "interval_s": np.full(count, sampling_s),
        }
        | {name: part * (1 + noise * rng.normal(size=count)) for name, part in columns.items()}
    )
    if temps_c is not None:
        frame = frame.with_columns(
            pl.Series("temp_c.composite", np.interp(frame["t_s"], [0, frame["t_s"][-1]], temps_c))
        )
    rw = "write" if rates[1] is None else "rw"
    recording = make_recording(directory, frame, rw=rw, bs="128k")
    return analyze([recording]).recordings[0]


@pytest.mark.parametrize("shape", LOST, ids=lambda shape: shape.__name__)
def test_what_lost_speed_is_never_said_to_have_held_it(
    tmp_path: Path, shape: Callable[[np.random.Generator, Array, float], Rates]
) -> None:
    held = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 39])
        t_s = np.arange(0.05, rng.uniform(200, 600), 0.1)
        found = logged(
            tmp_path / str(seed),
            shape(rng, t_s, 1 - rng.uniform(0.25, 0.9)),
            np.array([45.0, 66.0]) if seed % 2 else None,
            noise=float(rng.choice([0.002, 0.01])),
            seed=seed,
            sampling_s=float(rng.choice([0.2, 1.0, 2.0])),
        )
        if found.answer.throttles in ("no", "not-loaded") and not found.steps[0].episodes:
            held.append((seed, found.answer.sentence))
    assert held == []


@pytest.mark.parametrize("period_s", [4, 7, 20, 60])
@pytest.mark.parametrize("phase", [0.0, 0.5])
def test_square_waves_are_not_steady_in_whichever_phase_they_begin(
    tmp_path: Path, period_s: float, phase: float
) -> None:
    t_s = np.arange(0.05, 300, 0.1)
    found = logged(tmp_path / "r", (square(t_s, period_s, phase, 0.25), None), None, noise=0.01)
    assert found.steps[0].verdict != "steady"
    assert found.answer.throttles in ("yes", "cannot-tell")
    assert why_failed(found, "any", None)


STEADY: Rates = (np.ones(3000), None)


@pytest.mark.parametrize(
    ("temps_c", "throttles", "said"),
    [
        (
            (35, 62),
            "no",
            "still warming when 'load' ended, by 8 K in the last third.",
        ),
        ((62, 63), "no", "it was at 62 C from the start, and may have been slow before."),
        (None, "no", "no temperature tells whether it was slow before."),
        ((74, 76), "cannot-tell", "as hot as drives throttle at."),
    ],
)
def test_a_level_is_full_speed_where_something_shows_it(
    tmp_path: Path, temps_c: tuple[float, float] | None, throttles: str, said: str
) -> None:
    temps = None if temps_c is None else np.array(temps_c, dtype=float)
    answer = logged(tmp_path / "r", STEADY, temps, noise=0.01).answer
    assert answer.throttles == throttles
    assert answer.sentence.endswith(said)


def test_throttling_that_the_drive_counted_is_told_however_little_it_cost(tmp_path: Path) -> None:
    t_s = np.arange(1.0, 301.0)
    frame = pl.DataFrame(
        {
            "t_s": t_s,
            "step": ["load"] * 300,
            "interval_s": np.ones(300),
            "write_bw_mb_s": np.where(t_s > 298, 1100.0, 1600.0),
            "throttle_count.tmt1": np.where(t_s > 298, 4.0, 3.0),
        }
    )
    recording = make_recording(tmp_path / "r", frame, rw="write", bs="128k")
    found = analyze([recording]).recordings[0]
    assert found.answer.throttles == "yes"
    assert found.steps[0].verdict == "thermal"


def assert_no_answer_is_firmer_than_its_steps(found: RecordingFindings) -> None:
    throttles = found.answer.throttles
    unknown = [step for step in found.steps if step.is_unknown]
    assert (throttles == "yes") >= any(step.throttles for step in found.steps)
    if throttles == "no":
        assert all(
            step.max_temp_c is not None and (step.max_temp_c < MIN_THROTTLING_C or step.episodes)
            for step in unknown
        )
        assert all(step.hot_from_start is None for step in found.steps)
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


WARMING_C = 40 + 42 * (1 - np.exp(-np.arange(600) / 120))


def judged(tmp_path: Path, rates: Array, temps_c: Array, **columns: Array) -> RecordingFindings:
    """The findings of sequential writes, or of reads for `rw`, with a sample a second."""
    noise = np.random.default_rng(1).normal(1, 0.01, len(rates))
    samples = pl.DataFrame(
        {
            "t_s": np.arange(1.0, len(rates) + 1),
            "step": "load",
            "interval_s": 1.0,
            "read_bw_mb_s": rates * noise,
            "temp_c.composite": np.round(temps_c),
            **columns,
        }
    )
    made = make_recording(tmp_path / "made", samples, rw="read", bs="128k")
    (found,) = analyze([made]).recordings
    return found


SHAPES: dict[str, Array] = {
    "held its speed": np.full(600, 1000.0),
    "fell while it was cool": np.where(np.arange(600) < 30, 3000.0, 1000.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_drive_counts_is_throttling_and_no_more_is_said(
    tmp_path: Path, shape: str
) -> None:
    count = np.maximum(np.arange(600) - 400, 0) // 20 * 1.0
    found = judged(tmp_path, SHAPES[shape], WARMING_C, **{"throttle_count.tmt1": count})
    said = found.answer.sentence
    assert found.answer.throttles == "yes"
    assert said.startswith("Heat throttles the drive, by its own count: tmt1 by 9 in 'load'")
    assert "never ran at full speed" not in said
    assert ("fell by 67 %" in said) == (shape == "fell while it was cool")
    silent = judged(tmp_path / "silent", SHAPES[shape], WARMING_C)
    assert silent.answer.throttles != "yes"


def test_a_pause_in_which_the_drive_idles_is_no_fall_by_heat(tmp_path: Path) -> None:
    is_paused = (np.arange(600) >= 300) & (np.arange(600) < 320)
    rates, busy_pct = np.where(is_paused, 0.0, 1800.0), np.where(is_paused, 0.0, 98.0)
    found = judged(tmp_path, rates, WARMING_C, busy_pct=busy_pct)
    assert found.answer.throttles == "no"
    assert [one.cause for step in found.steps for one in step.episodes] == ["limited-by-host"]
    stalled = judged(tmp_path / "busy", rates, WARMING_C, busy_pct=np.full(600, 98.0))
    assert "limited-by-host" not in [one.cause for s in stalled.steps for one in s.episodes]


def test_a_small_fall_of_a_warm_drive_is_not_put_down_to_heat(tmp_path: Path) -> None:
    """Any drive that does a little less at 63 C stays about as warm."""
    rates = np.where(np.arange(600) < 300, 4480.0, 4150.0)
    temps_c = 39 + 25 * (1 - np.exp(-np.arange(600) / 100))
    found = judged(tmp_path, rates, temps_c, busy_pct=np.full(600, 96.0))
    assert found.answer.throttles == "cannot-tell"


def test_a_temperature_that_moved_in_another_step_shows_that_this_one_was_cool(
    tmp_path: Path,
) -> None:
    """A short load hardly warms a drive: whether its sensor is alive, the whole log tells."""
    second = np.arange(1.0, 401)
    step = np.where(second <= 300, "long", "short")
    temps_c = np.where(second <= 300, 35 + 10 * (1 - np.exp(-second / 60)), 40.0)
    rates = np.where(second <= 300, 2000.0, np.where(second <= 350, 2000.0, 900.0))
    noise = np.random.default_rng(1).normal(1, 0.01, len(second))
    samples = pl.DataFrame(
        {
            "t_s": second,
            "step": step,
            "interval_s": 1.0,
            "read_bw_mb_s": rates * noise,
            "temp_c.composite": temps_c,
        }
    )
    made = make_recording(tmp_path / "both", samples, rw="read", bs="128k")
    (found,) = analyze([made]).recordings
    assert found.answer.throttles == "no"
    short = samples.filter(pl.col("step") == "short").with_columns(pl.col("t_s") - 300)
    (alone,) = analyze([make_recording(tmp_path / "one", short, rw="read", bs="128k")]).recordings
    assert alone.answer.throttles == "cannot-tell"
