"""Logs of the same hour made into one recording, and others left apart."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.importer.frames import Array, build
from heatsoak.importer.join import join, zone_shift
from heatsoak.importer.log import Clock, Log, Remark
from heatsoak.importer.recordings import to_recording
from heatsoak.importer.stretches import with_stretches
from heatsoak.recording import SensorMeta

NOON = 1_800_000_000.0


def load(
    values: Array, *, interval_s: float = 1.0, clock: Clock = "utc", begin: float | None = NOON
) -> Log:
    """Throughput of another tool."""
    t_s = interval_s * np.arange(1, len(values) + 1)
    samples = {"t_s": t_s, "interval_s": np.full(len(t_s), interval_s), "write_bw_mb_s": values}
    return Log("loader", "load.log", build(samples), clock, begin)


def warmth(
    values: Array, *, clock: Clock = "utc", begin: float | None = NOON, **more: Array
) -> Log:
    """Temperatures of a third one."""
    t_s = 2.0 * np.arange(len(values))
    return Log(
        "warmer", "heat.csv", build({"t_s": t_s, "temp_c.composite": values, **more}), clock, begin
    )


def throttled(seconds: int = 600, onset_s: int = 200) -> tuple[Array, Array]:
    """What a drive does that throttles: its throughput each second, its temperature every 2 s."""
    t_s = np.arange(1, seconds + 1)
    rate = np.where(t_s <= onset_s, 2000.0, 800.0)
    warm = np.minimum(85.0, 40.0 + 45.0 * np.arange(0, seconds, 2) / onset_s)
    return rate + np.sin(t_s), warm


def test_temperatures_of_the_same_hour_join_the_throughput() -> None:
    rate, warm = throttled()
    (joined,) = join([load(rate), warmth(warm, begin=NOON - 60)])
    reading = joined.samples.filter(pl.col("temp_c.composite").is_not_null())
    assert reading["t_s"][0] == pytest.approx(-60)
    recording = to_recording(with_stretches(joined), {})
    (step,) = analyze([recording]).recordings[0].steps
    (episode,) = step.episodes
    assert episode.onset_s == pytest.approx(200, abs=2)
    assert episode.temp_c_at_onset == pytest.approx(85, abs=1)
    assert any("by their clocks" in event.text for event in recording.events)


def test_the_order_of_the_files_does_not_matter() -> None:
    rate, warm = throttled()
    (one,) = join([load(rate), warmth(warm)])
    (other,) = join([warmth(warm), load(rate)])
    assert one.samples.equals(other.samples)


def test_logs_of_different_days_stay_apart_and_it_is_said() -> None:
    rate, warm = throttled()
    apart = join([load(rate), warmth(warm, begin=NOON + 86400)])
    assert len(apart) == 2
    assert any("they do not overlap in time" in remark.text for remark in apart[1].remarks)


def test_a_shift_that_was_asked_for_holds_whatever_the_clocks_say() -> None:
    rate, warm = throttled()
    (joined,) = join([load(rate), warmth(warm, begin=NOON + 86400)], shift_s=10)
    reading = joined.samples.filter(pl.col("temp_c.composite").is_not_null())
    assert reading["t_s"][0] == pytest.approx(10)


@pytest.mark.parametrize("shift_s", [1e6, -1e6, float("inf"), float("nan")])
def test_a_shift_that_parts_the_logs_leaves_them_apart_and_it_is_said(shift_s: float) -> None:
    rate, warm = throttled()
    apart = join([load(rate), warmth(warm)], shift_s=shift_s)
    assert len(apart) == 2
    assert any("they do not overlap in time" in remark.text for remark in apart[1].remarks)


def test_one_log_of_temperatures_serves_several_runs() -> None:
    rate, _ = throttled()
    _, warm = throttled(3000)
    joined = join([load(rate), load(rate, begin=NOON + 1200), warmth(warm)])
    assert [log.has_temperatures for log in joined] == [True, True]
    second = joined[1].samples.filter(pl.col("temp_c.composite").is_not_null())
    assert second["t_s"].min() == pytest.approx(-120)
    assert second["t_s"].max() == pytest.approx(720)


def test_two_runs_of_one_tool_are_two_recordings() -> None:
    rate, _ = throttled()
    assert len(join([load(rate), load(rate)])) == 2


def test_the_finer_of_two_throughputs_stays_and_the_other_adds_what_else_it_saw() -> None:
    rate, warm = throttled()
    coarse = warmth(warm, interval_s=np.full(300, 2.0), write_bw_mb_s=rate[::2])
    doubts = [Remark("rates are means", True, ("rate",)), Remark("which drive?", True)]
    (joined,) = join([replace(coarse, remarks=tuple(doubts)), load(rate)])
    assert [one.text for one in joined.remarks if one.doubt] == ["heat.csv: which drive?"]
    assert joined.samples["write_bw_mb_s"].count() == 600
    assert joined.has_temperatures
    assert any("left out in favour of finer" in remark.text for remark in joined.remarks)


def test_a_wall_clock_without_a_zone_is_aligned_with_utc_by_the_overlap() -> None:
    rate, warm = throttled(3600, 1000)
    (joined,) = join([load(rate), warmth(warm, clock="local", begin=NOON + 2 * 3600)])
    reading = joined.samples.filter(pl.col("temp_c.composite").is_not_null())
    assert reading["t_s"][0] == pytest.approx(0)
    assert any("UTC+2" in remark.text for remark in joined.remarks)


@pytest.mark.parametrize("begin", [None, NOON])
def test_without_a_common_clock_logs_stay_apart_and_the_way_out_is_told(
    begin: float | None,
) -> None:
    rate, warm = throttled()
    own, heat = load(rate, clock="none", begin=None), warmth(warm, begin=begin)
    apart = join([own, heat])
    assert len(apart) == 2
    for log in apart:
        (remark,) = log.remarks
        assert "kept apart from load.log: they have no common clock" in remark.text
        assert "--shift SECONDS" in remark.text
        assert remark.touches == ("temperature",)
    first = analyze([to_recording(with_stretches(apart[0]), {})]).recordings[0]
    assert first.answer.next == (
        "to judge it with the temperatures of heat.csv: --shift 0s if both began together, "
        "else --shift SECONDS"
    )
    assert len(join([own, heat], shift_s=0.0)) == 1


def test_a_short_log_by_a_wall_clock_has_no_zone_within_a_long_one() -> None:
    rate, warm = throttled(14400)
    short = warmth(warm[:300], clock="local", begin=NOON + 7200)
    apart = join([load(rate), short])
    assert len(apart) == 2
    assert "the clock of heat.csv tells no zone" in apart[1].remarks[0].text


def test_columns_that_share_a_name_are_told_apart() -> None:
    rate, warm = throttled()
    (beside,) = join([load(rate), warmth(warm)])
    third = replace(warmth(warm - 5), format="other", source="other.csv")
    (joined,) = join([beside, third])
    assert {"temp_c.composite", "temp_c.composite.other"} <= set(joined.samples.columns)


def test_sensors_keep_their_limits() -> None:
    rate, warm = throttled()
    sensor = SensorMeta(
        name="nvme",
        source="x",
        columns=["temp_c.composite"],
        interval_s=2,
        thresholds={"warning_c": 84.0},
    )
    limited = replace(warmth(warm), sensors=(sensor,))
    (joined,) = join([load(rate), limited])
    assert to_recording(joined, {}).meta.sensors[0].thresholds == {"warning_c": 84.0}


def test_of_logs_as_fine_the_one_that_knows_the_load_leads() -> None:
    rate, _ = throttled()
    seen = replace(load(rate + 1), format="iostat", source="iostat.txt")
    own = replace(load(rate), format="fio-json", source="fio.json")
    (joined,) = join([seen, own])
    assert joined.source == "fio.json"


def test_what_an_onlooker_saw_the_device_move_stands_beside_the_load() -> None:
    rate, _ = throttled()
    own = replace(load(rate), format="fio-json", source="fio.json")
    seen = load(rate + 100)
    reads = seen.samples.with_columns(read_bw_mb_s=pl.lit(7.0))
    (joined,) = join([replace(seen, samples=reads, format="iostat", source="iostat.txt"), own])
    known = joined.samples.filter(pl.col("device_write_mb_s").is_not_null())
    assert known.height == 600
    assert known["device_write_mb_s"][0] == pytest.approx(rate[0] + 100)
    assert known["device_read_mb_s"][0] == 7
    assert joined.samples["write_bw_mb_s"].count() == 600


def test_a_device_that_moved_less_than_the_load_is_another() -> None:
    rate, _ = throttled()
    own = replace(load(rate), format="fio-json", source="fio.json")
    seen = load(0.1 * rate)
    reads = seen.samples.with_columns(read_bw_mb_s=pl.lit(7.0))
    (joined,) = join([own, replace(seen, samples=reads, format="iostat", source="iostat.txt")])
    assert "device_write_mb_s" not in joined.samples.columns


HOUR = 3600.0


@pytest.mark.parametrize("offset_h", [-12, -7, -3.5, 0, 1, 2, 5.5, 5.75, 9.5, 14])
def test_a_zone_is_found_by_where_the_logs_lie(offset_h: float) -> None:
    assert zone_shift(offset_h * HOUR + 20, 600, 600) == -offset_h * HOUR
    # a clock that is some minutes wrong as well
    assert zone_shift(offset_h * HOUR - 200, 600, 600) == -offset_h * HOUR


def test_a_short_log_within_a_long_one_has_no_zone_of_its_own() -> None:
    assert zone_shift(2 * HOUR, 4 * HOUR, 600) is None
    assert zone_shift(100 * HOUR, 600, 600) is None
