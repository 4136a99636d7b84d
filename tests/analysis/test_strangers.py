"""Logs that others took, of drives and loads that are none of our simulator's.

Heat is a resistance and a time constant, noise has heavy tails and remembers, sensors round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import Findings
from heatsoak.importer import open_all
from viewed import Array
from warmth import governed, warmed


def seconds(count: int) -> Array:
    return np.arange(count, dtype=float)


@dataclass(frozen=True)
class Drive:
    """What a drive did each second, of which `even` is a cap that nothing disturbs."""

    mb_s: Array
    temps_c: Array | None = None
    way: str = "write"
    sigma: float = 0.015
    even: float | None = None


def warm(mb_s: Array, watts: Array, *place: float, **more: Any) -> Drive:
    """A drive that spends so much in a `place`: its air, resistance, and time constant."""
    air_c, k_per_w, tau_s = place
    return Drive(mb_s, warmed(watts, air_c, k_per_w, tau_s, lag_s=3.0), **more)


def asked_for(mb_s: Array, mb_per_j: float, *place: float, **more: Any) -> Drive:
    """A drive whose power goes with what is asked of it."""
    return warm(mb_s, 1 + mb_s / mb_per_j, *place, **more)


T_S = seconds(1500)
STEADY = {
    "flat": Drive(np.full(900, 520.0)),
    "only warm": warm(np.full(900, 2200.0), np.full(900, 6.0), 30, 6.5, 130),
    "ends early": asked_for(np.where(T_S[:600] < 310, 1500.0, 0.0), 300, 30, 7, 80),
    "comes in bursts": asked_for(np.where(T_S[:900] % 60 < 30, 900.0, 0.0), 300, 35, 7, 80),
    "capped by a volume": Drive(np.full(900, 125.0), even=0.0003),
}
RAMPS_UP = Drive(3000 * np.clip(T_S[:600] / 30, 0.05, 1))
STAGES = np.repeat([6900.0, 3800.0, 2600.0, 80.0], 60) * (T_S[:240] % 12 != 0)
FALLS = {
    "burst credit": Drive(np.where(T_S < 900, 250.0, 62.5), way="read", even=0.0005),
    "full cache": warm(np.where(T_S[:700] < 75, 2900.0, 560.0),
                       np.where(T_S[:700] < 75, 6.0, 5.6), 32, 6.5, 60),
    "full cache in two levels": warm(np.select([T_S < 40, T_S < 300], [4800.0, 1600.0], 700.0),
                                     np.select([T_S < 40, T_S < 300], [8.0, 6.5], 5.5), 36, 5, 100,
                                     sigma=0.02),
    "spare area runs out": warm(
        np.where(T_S < 500, 600, 600 * (0.15 + 0.85 * np.exp(-np.maximum(T_S - 500, 0) / 60))),
        np.where(T_S < 500, 5.2, 5.4), 35, 6, 150, sigma=0.03),
    "garbage collection saws": warm(
        np.where(T_S < 300, 400.0, 400 * (1 - 0.4 * ((T_S - 300) % 40) / 40)),
        5.0 + 0.2 * np.random.default_rng(2).standard_normal(1500), 34, 6, 80),
    "less is asked": asked_for(np.where(T_S[:900] < 500, 1600.0, 800.0), 350, 35, 6, 160,
                               way="read"),
    "less and less is asked": asked_for(1500.0 * np.interp(T_S[:900], [250, 310], [1.0, 0.75]),
                                        1 / 0.0035, 30, 7.8, 90),
    "one test after another": warm(STAGES, 1.5 + STAGES / 1200, 38, 6, 70, way="read",
                                   sigma=0.03),
    "others come and go": warm(np.where((T_S > 500) & (T_S < 700), 1080.0, 1800.0),
                               np.full(1500, 5.0), 36, 6, 150, way="read"),
    "falls back to USB 2": warm(np.where(T_S[:700] < 333, 940.0, 38.0),
                                np.where(T_S[:700] < 333, 5.0, 3.0), 34, 6, 120),
    "disk from outside in": warm(210 * np.sqrt(1 - 0.78 * np.linspace(0, 1, 3600)),
                                 np.full(3600, 4.0), 26, 4.5, 1500, way="read"),
}  # fmt: skip
IN_STEPS = governed(900, "steps", 76, 36, 8.5, 70, 1.2)
IN_PROPORTION = governed(900, "proportion", 78, 36, 8.5, 70, 1.2)
HOT = {
    "in steps": Drive(3000 * IN_STEPS[0], IN_STEPS[1], "read"),
    "in proportion": Drive(2500 * IN_PROPORTION[0], IN_PROPORTION[1], "read"),
}


def noise(rng: np.random.Generator, count: int, sigma: float) -> Array:
    """Factors that remember for some seconds, with heavy tails and now and then a dip."""
    shocks = rng.standard_t(5, count) * sigma * 0.55
    wander = np.convolve(shocks, 0.75 ** np.arange(20))[:count]
    dips = np.where(rng.random(count) < 0.004, 1 - 0.5 * rng.random(count), 1.0)
    return np.asarray(np.clip((1 + wander) * dips, 0, None))


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


Write = Callable[[Array, Array | None, str], str]
#: Both ways to write a log are one reader's work after another; here each sees half of the drives.
WRITERS: tuple[Write, Write] = (table_of, hwinfo_of)


def found_in(path: Path, name: str, drive: Drive, write: Write) -> Findings:
    rng = np.random.default_rng(crc32(name.replace(" ", "_").encode()))
    count = len(drive.mb_s)
    factors = (
        noise(rng, count, drive.sigma)
        if drive.even is None
        else 1 + drive.even * rng.standard_normal(count)
    )
    log = path / "log.csv"
    log.write_text(write(drive.mb_s * factors, drive.temps_c, drive.way), encoding="latin-1")
    return analyze(open_all([log]))


def named(findings: Findings) -> set[str]:
    """All verdicts and causes that are said."""
    steps = [step for recording in findings.recordings for step in recording.steps]
    causes = {episode.cause for step in steps for episode in step.episodes}
    return {step.verdict for step in steps} | causes


@pytest.mark.parametrize("name", [*STEADY, *FALLS, *HOT])
def test_a_drive_is_said_to_be_what_it_was(name: str, tmp_path: Path) -> None:
    """What it is asked for is steady, other causes are not heat, and throttling is."""
    drive = (STEADY | FALLS | HOT)[name]
    write = WRITERS[[*STEADY, *FALLS, *HOT].index(name) % 2]
    said = named(found_in(tmp_path, name, drive, write))
    if name in STEADY:
        assert said == {"steady"}
    elif name in HOT:
        assert said >= {"thermal"}
        assert not said & {"steady", "unknown"}
    else:
        assert "thermal" not in said
        assert said != {"steady"}


def test_of_a_drive_that_begins_slow_nothing_tells_whether_it_was_slowed(tmp_path: Path) -> None:
    findings = found_in(tmp_path, "ramps up", RAMPS_UP, table_of)
    assert named(findings) == {"unknown"}
    assert "at best" in findings.answer.sentence


@pytest.mark.parametrize("placeholder", ["40", "0", "313", ""])
def test_a_sensor_that_measures_nothing_proves_no_heat(placeholder: str, tmp_path: Path) -> None:
    rates = 3000 * IN_STEPS[0] * noise(np.random.default_rng(1), 900, 0.015)
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
