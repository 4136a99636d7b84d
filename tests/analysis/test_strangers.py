"""Logs that others took, of drives and loads that are none of our simulator's.

Heat is a resistance and a time constant, noise has heavy tails and remembers, sensors round.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import Findings
from heatsoak.importer import open_all
from numpy.typing import NDArray

Array = NDArray[np.float64]
Made = tuple[Array, Array | None]
Maker = Callable[[np.random.Generator], Made]


def noise(rng: np.random.Generator, count: int, sigma: float = 0.015, tail: float = 0.004) -> Array:
    """Factors that remember for some seconds, with heavy tails and now and then a dip."""
    shocks = rng.standard_t(5, count) * sigma * 0.55
    wander = np.convolve(shocks, 0.75 ** np.arange(20))[:count]
    dips = np.where(rng.random(count) < tail, 1 - 0.5 * rng.random(count), 1.0)
    return np.asarray(np.clip((1 + wander) * dips, 0, None))


def warmed(watts: Array, air_c: float, k_per_w: float, tau_s: float, lag_s: float = 3.0) -> Array:
    """What a sensor of whole degrees reads of a drive that spends `watts`, a value a second."""
    temp = sensor = air_c
    read = []
    for each in watts.tolist():
        temp += (air_c + k_per_w * each - temp) / tau_s
        sensor += (temp - sensor) / lag_s
        read.append(round(sensor))
    return np.array(read, dtype=float)


def seconds(count: int) -> Array:
    return np.arange(count, dtype=float)


def flat(rng: np.random.Generator) -> Made:
    return 520 * noise(rng, 900), None


def only_warm(rng: np.random.Generator) -> Made:
    return 2200 * noise(rng, 900), warmed(np.full(900, 6.0), 30, 6.5, 130)


def ramps_up(rng: np.random.Generator) -> Made:
    return 3000 * np.clip(seconds(600) / 30, 0.05, 1) * noise(rng, 600), None


def ends_early(rng: np.random.Generator) -> Made:
    rates = np.where(seconds(600) < 310, 1500.0, 0.0)
    return rates * noise(rng, 600), warmed(1 + rates / 300, 30, 7, 80)


def comes_in_bursts(rng: np.random.Generator) -> Made:
    rates = np.where(seconds(900) % 60 < 30, 900.0, 0.0)
    return rates * noise(rng, 900), warmed(1 + rates / 300, 35, 7, 80)


def capped_by_a_volume(rng: np.random.Generator) -> Made:
    return 125 * (1 + 0.0003 * rng.standard_normal(900)), None


def burst_credit(rng: np.random.Generator) -> Made:
    level = np.where(seconds(1500) < 900, 250.0, 62.5)
    return level * (1 + 0.0005 * rng.standard_normal(1500)), None


def full_cache(rng: np.random.Generator) -> Made:
    rates = np.where(seconds(700) < 75, 2900.0, 560.0)
    return rates * noise(rng, 700), warmed(np.where(seconds(700) < 75, 6.0, 5.6), 32, 6.5, 60)


def full_cache_in_two_levels(rng: np.random.Generator) -> Made:
    t_s = seconds(900)
    rates = np.select([t_s < 40, t_s < 300], [4800.0, 1600.0], 700.0)
    watts = np.select([t_s < 40, t_s < 300], [8.0, 6.5], 5.5)
    return rates * noise(rng, 900, 0.02), warmed(watts, 36, 5, 100)


def spare_area_runs_out(rng: np.random.Generator) -> Made:
    t_s = seconds(1500)
    rates = np.where(t_s < 500, 600, 600 * (0.15 + 0.85 * np.exp(-(t_s - 500) / 60)))
    return rates * noise(rng, 1500, 0.03), warmed(np.where(t_s < 500, 5.2, 5.4), 35, 6, 150)


def garbage_collection_saws(rng: np.random.Generator) -> Made:
    t_s = seconds(1200)
    rates = np.where(t_s < 300, 400.0, 400 * (1 - 0.4 * ((t_s - 300) % 40) / 40))
    watts = np.full(1200, 5.0) + 0.2 * rng.standard_normal(1200)
    return rates * noise(rng, 1200), warmed(watts, 34, 6, 80)


def less_is_asked(rng: np.random.Generator) -> Made:
    rates = np.where(seconds(900) < 500, 1600.0, 800.0)
    return rates * noise(rng, 900), warmed(1 + rates / 350, 35, 6, 160)


def less_and_less_is_asked(rng: np.random.Generator) -> Made:
    rates = 1500.0 * np.interp(seconds(900), [250, 310], [1.0, 0.75])
    return rates * noise(rng, 900), warmed(1 + 0.0035 * rates, 30, 7.8, 90)


def one_test_after_another(rng: np.random.Generator) -> Made:
    rates = np.repeat([6900.0, 3800.0, 2600.0, 80.0], 60)
    rates[seconds(240) % 12 == 0] = 0
    return rates * noise(rng, 240, 0.03), warmed(1.5 + rates / 1200, 38, 6, 70)


def others_come_and_go(rng: np.random.Generator) -> Made:
    t_s = seconds(1200)
    rates = np.where((t_s > 500) & (t_s < 700), 1080.0, 1800.0)
    return rates * noise(rng, 1200), warmed(np.full(1200, 5.0), 36, 6, 150)


def falls_back_to_usb_2(rng: np.random.Generator) -> Made:
    t_s = seconds(700)
    rates = np.where(t_s < 333, 940.0, 38.0)
    return rates * noise(rng, 700), warmed(np.where(t_s < 333, 5.0, 3.0), 34, 6, 120)


def disk_from_outside_in(rng: np.random.Generator) -> Made:
    rates = 210 * np.sqrt(1 - 0.78 * np.linspace(0, 1, 3600))
    return rates * noise(rng, 3600), warmed(np.full(3600, 4.0), 26, 4.5, 1500)


def governed(rng: np.random.Generator, law: str, full: float, limit_c: float) -> Made:
    """A drive that is held back by what it came to, in steps or in proportion."""
    temp, share = 38.0, 1.0
    rates, temps = [], []
    for factor in noise(rng, 900).tolist():
        if law == "steps":
            share = 0.4 if temp >= limit_c else 1.0 if temp <= limit_c - 4 else share
        else:
            share = float(np.clip(1 - (temp - limit_c) / 6, 0.2, 1))
        temp += (36 + 8.5 * (1.2 + 6 * share) - temp) / 70
        rates.append(full * share * factor)
        temps.append(round(temp))
    return np.array(rates), np.array(temps, dtype=float)


def throttles_in_steps(rng: np.random.Generator) -> Made:
    return governed(rng, "steps", 3000, 76)


def throttles_in_proportion(rng: np.random.Generator) -> Made:
    return governed(rng, "proportion", 2500, 78)


def table_of(rates: Array, temps: Array | None, way: str) -> str:
    head = ["time_s", f"{way} MB/s"] + (["temp C"] if temps is not None else [])
    lines = [",".join(head)]
    for row, rate in enumerate(rates.tolist()):
        cells = [str(row + 1), f"{rate:.2f}"]
        lines.append(",".join(cells + ([f"{temps[row]:.0f}"] if temps is not None else [])))
    return "\n".join(lines) + "\n"


def hwinfo_of(rates: Array, temps: Array | None, way: str) -> str:
    """As HWiNFO logs, every two seconds, with the other direction at rest."""
    names = ["Read Rate [MB/s]", "Write Rate [MB/s]"]
    head = 'Date,Time,"Drive Temperature [C]","' + '","'.join(names) + '",'
    lines, begin = [head], datetime(2025, 3, 14, 20, 11, 7)
    for row in range(0, len(rates), 2):
        rate = float(np.mean(rates[row : row + 2]))
        both = (rate, 0.0) if way == "read" else (0.0, rate)
        now = begin + timedelta(seconds=row)
        temp = "" if temps is None else f"{temps[row]:.0f}"
        lines.append(f"{now:%d.%m.%Y,%H:%M:%S}.000,{temp},{both[0]:.3f},{both[1]:.3f},")
    return "\n".join(lines) + "\n"


def found_in(
    path: Path, maker: Maker, way: str, write: Callable[[Array, Array | None, str], str]
) -> Findings:
    rates, temps = maker(np.random.default_rng(crc32(maker.__name__.encode())))
    log = path / "log.csv"
    log.write_text(write(rates, temps, way), encoding="latin-1")
    return analyze(open_all([log]))


def named(findings: Findings) -> set[str]:
    """All verdicts and causes that are said."""
    steps = [step for recording in findings.recordings for step in recording.steps]
    causes = {episode.cause for step in steps for episode in step.episodes}
    return {step.verdict for step in steps} | causes


@pytest.mark.parametrize("write", [table_of, hwinfo_of])
@pytest.mark.parametrize(
    "maker", [flat, only_warm, ends_early, comes_in_bursts, capped_by_a_volume]
)
def test_a_drive_that_does_what_it_is_asked_is_steady(
    maker: Maker, write: Callable[..., str], tmp_path: Path
) -> None:
    findings = found_in(tmp_path, maker, "write", write)
    assert named(findings) == {"steady"}
    assert all(not step.episodes for each in findings.recordings for step in each.steps)


def test_of_a_drive_that_begins_slow_nothing_tells_whether_it_was_slowed(tmp_path: Path) -> None:
    findings = found_in(tmp_path, ramps_up, "write", table_of)
    assert named(findings) == {"unknown"}
    assert "at best" in findings.answer.sentence


@pytest.mark.parametrize("write", [table_of, hwinfo_of])
@pytest.mark.parametrize(
    ("maker", "way"),
    [
        (burst_credit, "read"),
        (full_cache, "write"),
        (full_cache_in_two_levels, "write"),
        (spare_area_runs_out, "write"),
        (garbage_collection_saws, "write"),
        (less_is_asked, "read"),
        (less_and_less_is_asked, "write"),
        (one_test_after_another, "read"),
        (others_come_and_go, "read"),
        (falls_back_to_usb_2, "write"),
        (disk_from_outside_in, "read"),
    ],
)
def test_what_falls_for_another_reason_is_not_called_heat(
    maker: Maker, way: str, write: Callable[..., str], tmp_path: Path
) -> None:
    said = named(found_in(tmp_path, maker, way, write))
    assert "thermal" not in said
    assert said != {"steady"}


@pytest.mark.parametrize("write", [table_of, hwinfo_of])
@pytest.mark.parametrize("maker", [throttles_in_steps, throttles_in_proportion])
def test_throttling_that_a_logger_saw_is_reported(
    maker: Maker, write: Callable[..., str], tmp_path: Path
) -> None:
    findings = found_in(tmp_path, maker, "read", write)
    assert [step.verdict for each in findings.recordings for step in each.steps] == ["thermal"]


@pytest.mark.parametrize("placeholder", ["40", "0", "313", ""])
def test_a_sensor_that_measures_nothing_proves_no_heat(placeholder: str, tmp_path: Path) -> None:
    rates, _ = throttles_in_steps(np.random.default_rng(1))
    rows = "".join(f"{row + 1},{rate:.1f},{placeholder}\n" for row, rate in enumerate(rates))
    log = tmp_path / "log.csv"
    log.write_text("time_s,read MB/s,temp C\n" + rows)
    assert named(analyze(open_all([log]))) == {"unknown"}


def _table(path: Path, head: str, rows: Array) -> Findings:
    file = path / "log.csv"
    lines = [",".join(f"{value:.2f}" for value in row) for row in rows]
    file.write_text("\n".join([head, *lines, ""]))
    return analyze(open_all([file]))


def test_latencies_alone_of_an_untold_load_prove_no_heat(tmp_path: Path) -> None:
    t_s, rng = seconds(180), np.random.default_rng(3)
    temp_c = np.minimum(46 + 0.6 * t_s, 82)
    lat_us = np.where(t_s < 60, 45, 110) * (1 + rng.normal(0, 0.02, 180))
    rows = np.column_stack([t_s, lat_us, temp_c])
    found = _table(tmp_path, "time_s,write_lat_us,temp_c", rows)
    assert found.answer.throttles == "cannot-tell"
    # the same of throughput is shown
    rows[:, 1] = 1e5 / lat_us
    assert _table(tmp_path, "time_s,write_mb_s,temp_c", rows).answer.throttles == "yes"


def test_a_slide_that_becomes_hot_is_not_said_to_be_without_heat(tmp_path: Path) -> None:
    t_s, rng = 10 * seconds(360), np.random.default_rng(3)
    share = t_s / t_s[-1]
    mb_s = 2800 - 1100 * np.clip(share - 0.05, 0, None) / 0.95
    mb_s *= 1 + rng.normal(0, 0.015, 360)
    for hottest_c, throttles in ((82, "cannot-tell"), (62, "no")):
        temp_c = 55 + (hottest_c - 55) * share
        rows = np.column_stack([t_s, mb_s, temp_c])
        found = _table(tmp_path, "time_s,write_mb_s,temp_c", rows)
        assert found.answer.throttles == throttles, found.answer
