"""Scores from recordings alone: their values, their windows, and why there is none."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from heatsoak.analysis import ScoreFindings, analyze
from heatsoak.protocol import Protocol
from heatsoak.recording import InMemoryRecording, RecordingMeta
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import recording_of

WRITE = {"name": "write", "rw": "randwrite", "bs": "4k", "iodepth": 32, "runtime": "60s"}
REPLAY = {"kind": "replay", "name": "trace", "trace": "light"}


def score(metric: str, *steps: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "s",
        "metric": metric,
        "steps": list(steps or ("write",)),
        "definition": "What it is.",
        **more,
    }


def recorded(
    scores: Sequence[Mapping[str, Any]],
    by_step: Mapping[str, Mapping[str, Any]],
    *,
    steps: Sequence[Mapping[str, Any]] = (WRITE,),
    status: str = "finished",
    scale: float = 1.0,
    **more: Any,
) -> InMemoryRecording:
    protocol = Protocol.model_validate(
        {"name": "x", "steps": list(steps), "scores": list(scores), "scale": scale}
    )
    reason = None if status in ("finished", "running") else "the drive vanished"
    return recording_of(protocol, by_step, status=status, reason=reason, **more)


def only(recording: InMemoryRecording) -> ScoreFindings:
    (found,) = analyze([recording]).recordings[0].scores
    return found


def writes(seconds: int = 60, **more: Any) -> dict[str, Any]:
    rates = np.full(10 * seconds, 40.96)
    return {"write_bw_mb_s": rates, "write_iops": 10_000.0, **more}


def test_a_rate_is_the_mean_of_its_steps_and_says_what_each_gave() -> None:
    steps = [{**WRITE, "name": name} for name in ("qd1", "qd2", "qd4")]
    by_step = {
        f"qd{depth}": writes(write_iops=10_000.0 * depth, write_bw_mb_s=40.96 * depth, power_w=2.0)
        for depth in (1, 2, 4)
    }
    found = only(recorded([score("iops", "qd1", "qd2", "qd4")], by_step, steps=steps))
    assert found.value == pytest.approx(70_000 / 3)
    assert found.of_steps == pytest.approx({"qd1": 10_000, "qd2": 20_000, "qd4": 40_000})
    assert (found.unit, found.better, found.definition) == ("IOPS", "higher", "What it is.")
    assert found.power_w == pytest.approx(2)
    assert found.mb_s_per_w == pytest.approx(40.96 * 7 / 3 / 2)


def test_the_published_measure_of_consistency_is_of_the_seconds_of_its_window() -> None:
    rng = np.random.default_rng(1)
    seconds = np.concatenate([np.full(200, 50_000.0), rng.normal(8_000, 500, 400)])
    columns = writes(600, write_iops=np.repeat(seconds, 10), power_w=3.0)
    wanted = [
        {**score("iops", statistic=statistic, last="400s"), "name": statistic}
        for statistic in ("mean", "stdev", "consistency")
    ]
    recording = recorded(wanted, {"write": columns})
    findings = analyze([recording]).recordings[0]
    mean, stdev, ratio = findings.scores
    assert mean.value == pytest.approx(seconds[200:].mean())
    assert stdev.value == pytest.approx(seconds[200:].std(ddof=1))
    assert mean.value is not None
    assert stdev.value is not None
    assert ratio.value == pytest.approx(mean.value / stdev.value)
    assert (ratio.unit, ratio.better, stdev.better) == ("x", "higher", "lower")
    assert mean.power_w == pytest.approx(3.0)
    assert stdev.mb_s_per_w is None
    consistency = findings.steps[0].consistency
    assert consistency is not None
    assert consistency.mean_iops == pytest.approx(mean.value)
    assert consistency.ratio == pytest.approx(ratio.value)


def replayed(**more: Any) -> dict[str, Any]:
    """Reads at 100 us and writes at 300 us, busy for a quarter of the time."""
    return {
        "read_bw_mb_s": np.full(200, 30.0),
        "write_bw_mb_s": 10.0,
        "read_iops": 3000.0,
        "write_iops": 1000.0,
        "read_lat_us": 100.0,
        "write_lat_us": 300.0,
        "read_over_10ms": 2.0,
        "write_over_10ms": 6.0,
        "read_over_100ms": 0.0,
        "write_over_100ms": 1.0,
        "busy_pct": 25.0,
        "power_w": 1.5,
        **more,
    }


@pytest.mark.parametrize(
    ("metric", "more", "value"),
    [
        ("mb_s", {"while_busy": True}, 160.0),
        ("mb_s", {}, 40.0),
        ("iops", {"while_busy": True}, 16_000.0),
        ("service_us", {}, 150.0),
        ("over_10ms_pct", {}, 100 * 8 / 400),
        ("over_100ms_pct", {}, 100 * 1 / 400),
        ("energy_j", {}, 30.0),
        ("duration_s", {}, 20.0),
    ],
)
def test_what_traces_are_scored_by_comes_from_the_samples(
    metric: str, more: dict[str, Any], value: float
) -> None:
    recording = recorded([score(metric, "trace", **more)], {"trace": replayed()}, steps=[REPLAY])
    found = only(recording)
    assert found.value == pytest.approx(value)
    assert found.why is None
    assert found.better == ("higher" if metric in ("mb_s", "iops") else "lower")
    if metric in ("mb_s", "iops"):
        # a watt counts for all of the time, whether or not the rate does
        assert found.mb_s_per_w == pytest.approx(40.0 / 1.5)


def test_busy_time_and_latency_weigh_by_what_was_done() -> None:
    half = np.repeat([1.0, 0.0], 100)
    columns = replayed(
        busy_pct=50 * half,
        read_bw_mb_s=30 * half,
        write_bw_mb_s=0.0,
        read_iops=3000 * half,
        write_iops=0.0,
        read_lat_us=np.where(half > 0, 100.0, np.nan),
        write_lat_us=np.nan,
    )
    both = [score("mb_s", "trace", while_busy=True), {**score("service_us", "trace"), "name": "t"}]
    rate, time = analyze([recorded(both, {"trace": columns}, steps=[REPLAY])]).recordings[0].scores
    assert rate.value == pytest.approx(60)
    assert time.value == pytest.approx(100)


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(last=st.integers(10, 60), seed=st.integers(0, 1000))
def test_a_window_is_the_end_of_a_step(last: int, seed: int) -> None:
    rates = np.random.default_rng(seed).uniform(100, 200, 60)
    found = only(
        recorded(
            [score("mb_s", last=last)],
            {"write": writes(write_bw_mb_s=np.repeat(rates, 10), power_w=np.repeat(rates, 10))},
        )
    )
    assert found.value == pytest.approx(rates[-last:].mean())
    assert found.power_w == pytest.approx(rates[-last:].mean())


def gappy() -> dict[str, Any]:
    rates = np.full(600, 10_000.0)
    rates[200:400] = np.nan
    return writes(write_iops=rates, write_bw_mb_s=rates)


@pytest.mark.parametrize(
    ("wanted", "by_step", "more", "why"),
    [
        (score("iops", last="400s"), {"write": writes()}, {}, "took 60 s, but its last 400 s"),
        (score("iops"), {"write": gappy()}, {}, "only 67 % of 'write' was measured"),
        (
            score("iops"),
            {"write": writes(23)},
            {"status": "running", "ends": {"write": None}},
            "'write' was interrupted after 23 s: the recording ends before the step does",
        ),
        (
            score("iops"),
            {"write": writes(23)},
            {"status": "failed", "ends": {"write": None}},
            "'write' was interrupted after 23 s: the run was failed: the drive vanished",
        ),
        (
            score("iops", "write", "later"),
            {"write": writes()},
            {"status": "interrupted", "steps": [WRITE, {**WRITE, "name": "later"}]},
            "'later' was not run: the run was interrupted",
        ),
        (
            score("iops", "later"),
            {"write": writes()},
            {
                "steps": [WRITE, {**WRITE, "name": "later", "only_if_drop_in": "write"}],
                "skipped": {"later": "nothing fell in 'write'"},
            },
            "'later' was left out: nothing fell in 'write'",
        ),
        (score("energy_j"), {"write": writes()}, {}, "no power was logged in 'write'"),
        (score("service_us"), {"write": writes()}, {}, "no latencies were logged in 'write'"),
        (score("over_10ms_pct"), {"write": writes()}, {}, "over 10 ms were not counted"),
        (score("mb_s", while_busy=True), {"write": writes()}, {}, "busy time was not logged"),
        (
            score("mb_s", while_busy=True),
            {"write": writes(write_bw_mb_s=0.0, busy_pct=0.0)},
            {},
            "nothing was ever in flight",
        ),
        (
            score("iops", statistic="consistency"),
            {"write": writes()},
            {},
            "is the same in every second",
        ),
        (
            score("mb_s"),
            {"write": {"write_iops": np.full(600, 5.0)}},
            {},
            "no MB/s were logged in 'write'",
        ),
    ],
)
def test_where_something_is_missing_there_is_the_reason_and_no_score(
    wanted: dict[str, Any], by_step: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    found = only(recorded([wanted], by_step, **more))
    assert found.value is None
    assert found.of_steps == {}
    assert found.why is not None
    assert why in found.why


def test_what_an_interrupted_run_had_finished_keeps_its_score() -> None:
    recording = recorded(
        [score("iops")],
        {"write": writes(), "later": writes(5)},
        steps=[WRITE, {**WRITE, "name": "later"}],
        ends={"later": None},
        status="failed",
    )
    assert only(recording).value == pytest.approx(10_000)


def test_a_step_that_was_ended_early_has_no_score() -> None:
    recording = recorded([score("iops")], {"write": writes()})
    recording.events[-1].text = "ended early: it was slowed for 20 s"
    found = only(recording)
    assert found.value is None
    assert found.why == "'write' ended early: it was slowed for 20 s"


def test_processor_time_is_reported_for_each_io_and_as_a_share_of_a_core() -> None:
    recording = recorded(
        [score("iops")], {"write": writes()}, ends={"write": {"load_cpu_s": 1.8, "duration_s": 61}}
    )
    findings = analyze([recording]).recordings[0]
    (step,) = findings.steps
    (found,) = findings.scores
    for one in (step, found):
        assert one.cpu_us_per_io == pytest.approx(1.8e6 / 600_000)
        assert one.cpu_core_pct == pytest.approx(3.0)


def test_without_a_count_of_processor_time_none_is_reported() -> None:
    findings = analyze([recorded([score("iops")], {"write": writes()})]).recordings[0]
    assert findings.steps[0].cpu_us_per_io is None
    assert findings.scores[0].cpu_us_per_io is None
    assert findings.scores[0].mb_s_per_w is None


def test_a_run_made_smaller_says_so_with_its_score() -> None:
    assert only(recorded([score("iops")], {"write": writes()}, scale=0.25)).scale == 0.25


def test_a_log_of_another_tool_has_no_scores() -> None:
    recording = recorded([score("iops")], {"write": writes()})
    observed = {"name": "fio-log", "steps": [{"kind": "observed", "name": "write"}]}
    meta = RecordingMeta.model_validate({**recording.meta.model_dump(), "protocol": observed})
    held = InMemoryRecording(Path("log"), meta, recording.samples(), recording.events)
    assert analyze([held]).recordings[0].scores == []
