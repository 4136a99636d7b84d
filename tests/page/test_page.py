"""What stands on the page, made from recordings whose truth is known."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import READ, falling, run, steady
from heatsoak.protocol.source import apply_settings, load
from heatsoak.recording import Event, InMemoryRecording
from heatsoak.report.page.contract import PageRecording
from heatsoak.target.simulated import SimulatedTarget
from observed import conducted
from paged import HOSTILE, page_of, series


def place(
    slot: str, gpus: int, load: str, onset_s: float, share: float, seed: int
) -> InMemoryRecording:
    return run(
        {"slot": slot, "gpus": gpus, "gpu_load": load},
        {"sequential-read": falling(onset_s, share)},
        steps=[{**READ, "name": "sequential-read"}],
        seed=seed,
        protocol="puget",
        drive={"model": "Samsung SSD 950 PRO 512GB"},
    )


def test_lines_have_every_sample_with_its_time_from_the_start_of_the_step() -> None:
    recording = run({}, falling(60, 0.5))
    page = page_of([recording])
    (workload,) = page.workloads
    (line,) = workload.lines
    t_s, values = series(page, line.tracks[0])
    samples = recording.samples().drop_nulls("read_bw_mb_s")
    assert line.tracks[0].name == "read_bw_mb_s"
    assert line.tracks[0].samples == len(t_s) == 3000
    assert t_s == pytest.approx((samples["t_s"] - 1000.0).to_list(), abs=0.001)
    assert values == pytest.approx(samples["read_bw_mb_s"].to_list(), abs=0.06)
    assert [track.quantity for track in line.tracks] == ["throughput", "temperature"]
    assert line.seconds is not None
    assert line.seconds.samples == 300
    assert line.level_mb_s == pytest.approx(2000, rel=0.02)
    assert line.latency == []


def test_reads_and_writes_of_a_mixed_load_appear_with_their_sum() -> None:
    recording = run({}, steady(1000), more={"write_bw_mb_s": 500.0, "write_iops": 4000.0})
    page = page_of([recording])
    tracks = page.workloads[0].lines[0].tracks
    rates = [track for track in tracks if track.quantity == "throughput"]
    assert [track.name for track in rates] == ["bw_mb_s", "read_bw_mb_s", "write_bw_mb_s"]
    whole, reads, writes = (series(page, track)[1] for track in rates)
    assert whole == pytest.approx([a + b for a, b in zip(reads, writes, strict=True)], abs=0.2)


def test_the_matrix_has_published_figures_beside_what_was_found() -> None:
    recordings = [place("top", 2, "loaded", 7.5, 0.25, 1), place("bottom", 1, "idle", 150, 0.9, 2)]
    matrix = page_of(recordings).matrix
    assert matrix is not None
    assert (matrix.row_key, matrix.column_keys) == ("slot", [])
    hot, cool = matrix.cells
    assert hot.values["onset_s"].published == (7, 7)
    assert hot.values["onset_s"].holds is True
    assert hot.values["depth_pct"].value == pytest.approx(75, abs=2)
    assert cool.values["onset_s"].holds is False
    assert cool.values["onset_s"].published_text == "50 to 60 s"
    assert matrix.held == (
        "1 of 2 onsets and 1 of 2 depths are within the published ranges and their tolerance."
    )
    assert matrix.source is not None


def test_another_drive_in_the_same_slots_is_not_held_against_the_published_one() -> None:
    recordings = [
        run({"slot": slot, "gpus": 1, "gpu_load": "idle"}, steady(2000), protocol="puget", seed=n)
        for n, slot in enumerate(("top", "bottom"))
    ]
    matrix = page_of(recordings).matrix
    assert matrix is not None
    assert matrix.held is None
    assert all(figure.published is None for cell in matrix.cells for figure in cell.values.values())
    assert matrix.cells[0].values["onset_s"].text == "steady"


@pytest.mark.slow
def test_repeated_runs_give_bars_whose_whiskers_are_their_spread() -> None:
    runs = [
        run({"heatsink": sink, "run": n}, steady(level + 20 * n), seed=10 * n + level, sigma=0.001)
        for sink, level in (("none", 1000), ("big", 1500))
        for n in range(4)
    ]
    page = page_of(runs)
    (chart,) = page.bars
    assert [bar.runs for bar in chart.bars] == [4, 4]
    assert [bar.label for bar in chart.bars] == ["no heatsink", "heatsink big"]
    for bar, level in zip(chart.bars, (1000, 1500), strict=True):
        values = [level + 20 * n for n in range(4)]
        reach = 3.182 * np.std(values, ddof=1) / 2
        assert bar.value == pytest.approx(np.mean(values), rel=0.005)
        assert bar.range is not None
        assert bar.range.low == pytest.approx(np.mean(values) - reach, rel=0.01)
        assert bar.range.high == pytest.approx(np.mean(values) + reach, rel=0.01)
    assert "repeated runs" in chart.interval
    assert [recording.label for recording in page.recordings][:2] == [
        "no heatsink, run 1",
        "no heatsink, run 2",
    ]
    assert len({recording.style.color for recording in page.recordings}) == 2


def test_one_run_gives_no_whiskers_and_says_why() -> None:
    runs = [run({"heatsink": sink}, steady(2000), seed=n) for n, sink in enumerate("ab")]
    (chart,) = page_of(runs).bars
    assert len(chart.bars) == 2
    assert [bar.range for bar in chart.bars] == [None, None]
    assert "one run each" in chart.interval


@pytest.mark.slow
def test_recordings_that_differ_in_one_condition_are_compared_unasked() -> None:
    bare = run({"heatsink": "none"}, falling(60, 0.5), seed=1)
    cooled = run({"heatsink": "big"}, steady(2000), seed=2)
    (comparison,) = page_of([bare, cooled]).comparisons
    assert comparison.by == "heatsink"
    assert comparison.baseline == "none"


@pytest.mark.slow
@pytest.mark.parametrize(("load", "rate"), [({}, "mb_s"), ({"rw": "randread", "bs": "4k"}, "iops")])
def test_people_see_one_rate_of_a_step_iops_where_it_is_random(
    load: dict[str, str], rate: str
) -> None:
    runs = [
        run({"heatsink": sink}, falling(60, share), steps=[{**READ, **load}], seed=seed)
        for seed, (sink, share) in enumerate((("none", 0.4), ("big", 0.8)))
    ]
    (comparison,) = page_of(runs).comparisons
    shown, drawn = (
        [comparison.rows[number].metric for number in numbers]
        for numbers in (comparison.shown, [one.row for one in comparison.drawn])
    )
    assert {one for one in shown if one.startswith("mean_m") or one.endswith("iops")} <= {
        *(f"{kind}_{rate}" for kind in ("mean", "end", "before", "low")),
        *("consistency_mean_iops", "consistency_stdev_iops"),
    }
    assert f"mean_{rate}" in shown
    assert {f"{kind}_{rate}" for kind in ("mean", "before", "low")} <= set(drawn) <= set(shown)
    assert comparison.apart == []


def test_steps_that_differ_in_one_setting_make_a_curve_and_are_not_shown_again_as_bars() -> None:
    depths, shares = (1, 2, 4, 8), (100, 70, 30, 0)
    kinds = {100: {"rw": "randread"}, 0: {"rw": "randwrite"}}
    steps = [{**READ, "name": f"qd{depth}", "iodepth": depth} for depth in depths]
    page = page_of([run({}, {f"qd{n}": steady(100 * n, 30) for n in depths}, steps=steps)])
    (chart,) = page.curves
    assert chart.x_is_log
    (curve,) = chart.curves
    assert [point.x for point in curve.points] == [1, 2, 4, 8]
    assert [point.y for point in curve.points] == pytest.approx([100, 200, 400, 800], rel=0.02)
    assert page.bars == []
    assert [workload.title for workload in page.workloads] == ["QD1", "QD2", "QD4", "QD8"]
    steps = [
        {**READ, "bs": "4k", "name": f"r{s}", **kinds.get(s, {"rw": "randrw", "rwmixread": s})}
        for s in shares
    ]
    mixed = page_of([run({}, {f"r{s}": steady(500 + s, 30) for s in shares}, steps=steps)])
    (chart,) = mixed.curves
    assert [point.x for point in chart.curves[0].points] == [0, 30, 70, 100]
    assert not chart.x_is_log


def test_latencies_that_were_counted_are_shown_as_they_were_counted() -> None:
    recording = run({}, steady(2000))
    bins = {"read": {"upper_us": [10.0, 20.0, 40.0], "ios": [5, 100, 1]}, "write": None}
    recording.events.append(
        Event(t_s=1300, kind="step-end", step="read", data={"latency_bins": bins})
    )
    (histogram,) = page_of([recording]).workloads[0].lines[0].latency
    assert histogram.ios == [5, 100, 1]
    assert not histogram.from_percentiles


def test_latencies_that_were_not_counted_are_made_of_percentiles_with_every_io_in_them() -> None:
    known = {
        "read_lat_p50_us": 100.0,
        "read_lat_p99_us": 1000.0,
        "read_lat_p999_us": 2000.0,
        "read_lat_max_us": 5000.0,
    }
    recording = run({}, steady(1000), more=known)
    (histogram,) = page_of([recording]).workloads[0].lines[0].latency
    assert histogram.from_percentiles
    samples = recording.samples().drop_nulls("read_iops")
    total = (samples["read_iops"] * samples["interval_s"]).sum()
    assert sum(histogram.ios) == pytest.approx(total, rel=1e-3)
    upper, ios = np.array(histogram.upper_us), np.array(histogram.ios)
    assert ios[upper <= 100.5].sum() / total == pytest.approx(0.5, abs=0.06)
    assert ios[upper > 1130].sum() / total == pytest.approx(0.01, abs=0.003)


def test_logs_of_one_load_each_share_a_chart_whatever_their_files_are_called() -> None:
    logs = [
        run({}, {name: steady(level)}, seed=n, name=f"{name}.log", imported=True)
        for n, (name, level) in enumerate((("before", 1000.0), ("after", 1500.0)))
    ]
    page = page_of(logs)
    assert [len(workload.lines) for workload in page.workloads] == [2]
    assert [line.label for line in page.workloads[0].lines] == ["before", "after"]


def test_a_simulated_place_that_varies_with_a_condition_is_not_listed_twice() -> None:
    bare = run({"heatsink": "none", "enclosure": "open-bench"}, steady(2000), seed=1)
    cooled = run({"heatsink": "px1", "enclosure": "wings-px1"}, steady(2000), seed=2)
    page = page_of([bare, cooled])
    assert [recording.label for recording in page.recordings] == ["no heatsink", "heatsink px1"]
    assert [comparison.by for comparison in page.comparisons] == ["heatsink"]
    assert page.matrix is not None
    assert (page.matrix.row_key, page.matrix.column_keys) == ("heatsink", [])


def test_a_title_is_that_which_is_asked_for_or_names_the_drive_or_its_files() -> None:
    assert page_of([run({}, steady(2000, 30))], title="Mine").title == "Mine"
    assert page_of([run({}, steady(2000, 30))]).title == "a drive: x"
    nameless: dict[str, Any] = {"imported": True, "drive": {"model": None}}
    logs = [run({}, {"load": steady(1000, 30)}, name=f"{n}.log", **nameless) for n in range(6)]
    assert page_of(logs[:2]).title == "Fio log: 0.log and 1.log"
    assert page_of(logs).title == "Fio log: 0.log, 1.log, 2.log and 3 more"


@pytest.mark.slow
def test_labels_are_one_line_of_a_bearable_length_and_turn_nothing_around() -> None:
    runs = [
        run({"label": text}, falling(60, 0.5), seed=n, drive={"model": text})
        for n, text in enumerate(HOSTILE)
    ]
    page = page_of(runs)
    styles = {(one.style.color, one.style.dash) for one in page.recordings}
    assert len(styles) == len(HOSTILE)
    told = [page.title, page.headline.text, *page.headline.more]
    told += [recording.label for recording in page.recordings]
    for text in told:
        assert len(text) < 500
        assert not [c for c in text if not c.isprintable() and c not in "\u2068\u2069"]
        # what turns the direction is closed again
        assert text.count("\u2068") == text.count("\u2069")


def test_labels_that_are_cut_are_still_told_apart() -> None:
    def of(*notes: str) -> list[PageRecording]:
        runs = [run({"note": note}, steady(2000, 30), seed=n) for n, note in enumerate(notes)]
        return page_of(runs).recordings

    alike = of(*(f"{'x' * 80}{n}{'y' * 80}" for n in range(2)))
    assert [recording.style.color for recording in alike] == [0, 1]
    first, second = (recording.label for recording in alike)
    assert "…" in first
    assert second == first.replace("(1)", "(2)") != first
    # names keep their ends, in which they differ
    ends = [recording.label[-5:] for recording in of(*("x" * 100 + f" rev {n}" for n in range(2)))]
    assert ends == ["rev 0", "rev 1"]


def test_a_condition_that_only_one_recording_has_is_neither_compared_nor_a_fault() -> None:
    bare = run({"heatsink": "none"}, steady(2000), seed=1)
    blown = run({"heatsink": "none", "fan": "slow"}, steady(2000), seed=2)
    page = page_of([bare, blown])
    assert page.comparisons == []
    assert [recording.label for recording in page.recordings] == ["no heatsink", "fan slow"]


def test_rates_that_are_held_for_ever_have_their_range_and_full_speed_and_reads_are_not_writes(
    small_drive: Path, tmp_path: Path
) -> None:
    runs = []
    for rw in ("write", "read"):
        protocol = apply_settings(load("thermal-limit"), [f"rw={rw}"])
        runs.append(conducted(protocol, SimulatedTarget(str(small_drive)), tmp_path / rw))
    page = page_of(runs)
    assert re.match(r"Holds .*\) for ever\. ", page.headline.text)
    charts = page.bars
    assert [chart.title.partition(", 128k")[0] for chart in charts] == [
        "For ever: sequential write",
        "For ever: sequential read",
    ]
    for chart in charts:
        (bar,) = chart.bars
        assert bar.range is not None
        assert bar.range.low <= bar.value <= bar.range.high <= 1.06 * bar.range.low
        assert re.fullmatch(r"[\d,]+ MB/s for \d+ (s|min)", bar.beside)
        assert "Whiskers: from a rate that was held" in chart.interval
