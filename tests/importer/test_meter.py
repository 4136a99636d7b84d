"""A meter's log beside a recording: whose clock, which columns, and what is refused."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import done_here, heatsoak_here
from heatsoak.analysis import analyze
from heatsoak.errors import UsageError
from heatsoak.importer import with_meter
from heatsoak.recording import Recording
from made_recording import make_recording

IDLE_W, BUSY_W = 1.0, 6.0


def recording_of(path: Path, busy: list[tuple[float, float]], length_s: float) -> Recording:
    """A recording with a load of 500 MB/s in each span, sampled four times a second."""
    rows = []
    for number, (start_s, end_s) in enumerate(busy):
        t_s = np.arange(start_s + 0.25, end_s + 0.01, 0.25)
        rows.append(
            pl.DataFrame({"t_s": t_s, "step": f"w{number}", "interval_s": 0.25})
            .with_columns(write_bw_mb_s=pl.lit(500.0), temp_c=pl.lit(40.0))
            .rename({"temp_c": "temp_c.composite"})
        )
    end = pl.DataFrame({"t_s": [length_s], "temp_c.composite": [40.0]})
    samples = pl.concat([*rows, end], how="diagonal")
    return make_recording(path, samples, rw="write", bs="128k")


def drawn_w(t_s: np.ndarray, busy: list[tuple[float, float]]) -> np.ndarray:
    """What a meter shows: the mean of the second that ends at each time, and noise."""
    fine = np.zeros_like(t_s)
    for start_s, end_s in busy:
        fine += np.clip(np.minimum(t_s, end_s) - np.maximum(t_s - 1, start_s), 0, 1)
    noise = np.random.default_rng(5).normal(0, 0.03, len(t_s))
    return IDLE_W + (BUSY_W - IDLE_W) * fine + noise


def utc(recording: Recording, t_s: float) -> datetime:
    began = recording.meta.started_unix_s
    assert began is not None
    return datetime.fromtimestamp(began + t_s, UTC)


def write(file: Path, header: str, rows: list[str]) -> Path:
    file.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return file


BUSY = [(20.0, 80.0), (100.0, 130.0)]
TIMES = np.arange(1.0, 150.0)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return recording_of(tmp_path / "run", BUSY, 150.0)


@pytest.fixture
def clocked(tmp_path: Path, recording: Recording) -> Path:
    rows = [
        f"{utc(recording, t).isoformat()},{1000 * w:.0f}"
        for t, w in zip(TIMES, drawn_w(TIMES, BUSY), strict=True)
    ]
    return write(tmp_path / "meter.csv", "Timestamp,Power (mW)", rows)


def test_clocks_lay_power_into_the_steps(recording: Recording, clocked: Path) -> None:
    (found,) = analyze(with_meter([recording], clocked)).recordings
    assert found.power is not None
    assert found.power.source == "measured"
    assert "meter.csv" in found.power.text
    assert "clocks" in found.power.text
    assert [step.power_mean_w for step in found.steps] == pytest.approx([6.0, 6.0], abs=0.1)
    assert [step.energy_j for step in found.steps] == pytest.approx([360.0, 180.0], rel=0.02)


def test_the_recording_on_disk_stays_as_it_is(recording: Recording, clocked: Path) -> None:
    before = {file.name: file.read_bytes() for file in recording.path.iterdir()}
    with_meter([recording], clocked)
    assert {file.name: file.read_bytes() for file in recording.path.iterdir()} == before


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Zeit;Leistung [W]", "{time};{w:.3f}"),
        ("time,power_w", "{time},{w:.4f}"),
        ("Time,Voltage (V),Current (mA)", "{time},3.3,{ma:.1f}"),
        ("timestamp,voltage_V,current_A,dp_V,dn_V", "{time},3.3,{a:.5f},0.6,0.6"),
        ("time,V,A", "{time},3.3,{a:.5f}"),
    ],
)
def test_power_is_read_in_any_unit_and_made_of_volts_and_amperes(
    tmp_path: Path, recording: Recording, header: str, row: str
) -> None:
    rows = []
    for t, w in zip(TIMES, drawn_w(TIMES, BUSY), strict=True):
        time = utc(recording, t).isoformat()
        rows.append(row.format(time=time, w=w, a=w / 3.3, ma=1000 * w / 3.3))
    file = write(tmp_path / "m.csv", header, rows)
    (found,) = analyze(with_meter([recording], file)).recordings
    assert [step.power_mean_w for step in found.steps] == pytest.approx([6.0, 6.0], abs=0.1)


def test_a_wall_clock_of_another_zone_is_put_right(tmp_path: Path, recording: Recording) -> None:
    there = timezone(timedelta(hours=9))
    rows = [
        f"{utc(recording, t).astimezone(there):%Y-%m-%d %H:%M:%S.%f},{w:.3f}"
        for t, w in zip(TIMES, drawn_w(TIMES, BUSY), strict=True)
    ]
    file = write(tmp_path / "m.csv", "Time,Power [W]", rows)
    (found,) = analyze(with_meter([recording], file)).recordings
    assert [step.power_mean_w for step in found.steps] == pytest.approx([6.0, 6.0], abs=0.1)


def test_a_log_without_a_clock_is_refused_without_a_shift(
    tmp_path: Path, recording: Recording
) -> None:
    late_s = 33.0  # the meter was switched on later
    times = np.arange(late_s + 1, 120.0)
    rows = [f"{t - late_s:.1f},{w:.3f}" for t, w in zip(times, drawn_w(times, BUSY), strict=True)]
    file = write(tmp_path / "m.csv", "time_s,W", rows)
    words = ("analyze", str(recording.path), "--power", str(file))
    done = done_here(*words, cwd=tmp_path, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert "no common clock" in done.stderr
    assert "--shift SECONDS" in done.stderr
    done = heatsoak_here(*words, "--shift", f"{late_s:g}", "--format", "json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["recordings"]
    assert "shifted by +33 s, as asked" in found["power"]["text"]
    assert found["steps"][0]["energy_j"] is None
    assert found["steps"][1]["power_mean_w"] is None


def test_a_step_that_the_meter_saw_half_of_has_no_energy(
    tmp_path: Path, recording: Recording
) -> None:
    times = np.arange(50.0, 150.0)
    rows = [
        f"{utc(recording, t).isoformat()},{w:.3f}"
        for t, w in zip(times, drawn_w(times, BUSY), strict=True)
    ]
    file = write(tmp_path / "m.csv", "time,W", rows)
    (found,) = analyze(with_meter([recording], file)).recordings
    assert found.steps[0].power_mean_w is None
    assert found.steps[0].energy_j is None
    assert found.steps[1].energy_j == pytest.approx(180, rel=0.02)


def test_a_log_of_another_day_is_refused(tmp_path: Path, recording: Recording) -> None:
    rows = [f"2011-03-02T12:00:{t:02d}+00:00,5.0" for t in range(60)]
    file = write(tmp_path / "m.csv", "time,W", rows)
    with pytest.raises(UsageError, match="do not overlap in time"):
        with_meter([recording], file)


def test_of_several_recordings_those_the_log_does_not_reach_are_named(
    tmp_path: Path, recording: Recording, clocked: Path
) -> None:
    other = recording_of(tmp_path / "other", BUSY, 150.0)
    moved = other.meta.model_copy(update={"started_unix_s": 1e9})
    joined = with_meter([recording, Recording(other.path, moved)], clocked)
    first, second = analyze(joined).recordings
    assert first.power is not None
    assert second.power is None
    assert any("meter.csv" in note for note in second.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,temp_c\n1,40\n2,41\n3,42\n", "has no power"),
        ("time,power cycles\n1,40\n2,41\n3,42\n", "power"),
        ("time,V\n1,5\n2,5\n3,5\n", "power"),
        ("", "empty"),
    ],
)
def test_a_file_without_power_is_refused_in_one_line(
    tmp_path: Path, recording: Recording, text: str, message: str
) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        with_meter([recording], file)
    assert "\n" not in str(caught.value)


def test_import_into_a_recording_keeps_both(
    tmp_path: Path, recording: Recording, clocked: Path
) -> None:
    words = ("import", str(clocked), "--into", str(recording.path), "-o", "new")
    assert heatsoak_here(*words, cwd=tmp_path).returncode == 0
    new = Recording.open(tmp_path / "new")
    assert "power_w" not in Recording.open(recording.path).meta.columns
    (found,) = analyze([new]).recordings
    assert found.steps[0].energy_j == pytest.approx(360, rel=0.02)
    assert found.steps[0].mean_mb_s == analyze([recording]).recordings[0].steps[0].mean_mb_s
    again = done_here(*words, cwd=tmp_path, code=2)
    assert "already exists" in again.stderr
