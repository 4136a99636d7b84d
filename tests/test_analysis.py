"""The judge on series whose truth is known, through recordings as it reads them."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings, StepFindings, analyze
from heatsoak.analysis.series import RateSeries
from heatsoak.protocol import Protocol
from heatsoak.recording import (
    Event,
    InMemoryRecording,
    Recording,
    RecordingMeta,
    RecordingWriter,
    SensorMeta,
)
from numpy.typing import NDArray

Array = NDArray[np.float64]
T_S: Array = np.arange(1, 3001) / 10
FULL = 2500.0


def series(values: Array, sampling_s: float = 0.1) -> RateSeries:
    t_s: Array = np.arange(1, len(values) + 1, dtype=np.float64) * sampling_s
    return RateSeries(t_s, np.full(len(values), sampling_s), values, "mb_s")


def noise(count: int, correlation: float, sigma: float, seed: int = 1) -> Array:
    """Autocorrelated noise around 1, as throughput of a drive has it."""
    draws = np.random.default_rng(seed).normal(0, sigma * np.sqrt(1 - correlation**2), count)
    wander = np.zeros(count)
    for index in range(1, count):
        wander[index] = correlation * wander[index - 1] + draws[index]
    return 1 + wander


def governed(onset_s: float, depth: float, time_constant_s: float = 60.0) -> Array:
    """Throughput under a governor: full until the limit, then falling as the board warms."""
    fall = depth * (1 - np.exp(-(T_S - onset_s) / time_constant_s))
    return FULL * np.where(onset_s > T_S, 1.0, 1.0 - fall)


def recording(
    tmp_path: Path,
    steps: dict[str, tuple[str, Array]],
    *,
    temps: dict[str, Array] | None = None,
    counters: dict[str, Array] | None = None,
    thresholds: dict[str, float] | None = None,
    quantity: str = "bw_mb_s",
    preconditions: tuple[str, ...] = (),
    apart_s: float = 1000.0,
) -> Recording:
    """Write steps of `T_S` at 10 Hz, that begin so far apart, with sensors at 1 Hz."""
    protocol = Protocol.model_validate(
        {
            "name": "x",
            "steps": [
                {
                    "kind": "precondition" if name in preconditions else "workload",
                    **{"name": name, "rw": rw, "bs": "128k"},
                }
                for name, (rw, _) in steps.items()
            ],
        }
    )
    extra = {f"temp_c.{sensor}": "Float64" for sensor in ["composite"] if temps}
    extra |= {"throttle_count.tmt1": "Float64"} if counters else {}
    meta = RecordingMeta(
        protocol=protocol,
        conditions={},
        drive={"model": "a drive"},
        columns=dict.fromkeys(
            ["t_s", "step", "interval_s", f"read_{quantity}", f"write_{quantity}", *extra], "x"
        ),
        sensors=[
            SensorMeta(
                name="nvme", source="x", columns=[*extra], interval_s=1, thresholds=thresholds or {}
            )
        ],
        started_unix_s=time.time(),
    )
    writer = RecordingWriter(tmp_path / "r", meta)
    for index, (name, (rw, values)) in enumerate(steps.items()):
        start_s = apart_s * index
        writer.event(Event(t_s=start_s, kind="step-begin", step=name))
        t_s = start_s + T_S[: len(values)]
        direction = "write" if "write" in rw else "read"
        rates = {
            "t_s": t_s,
            "interval_s": np.full(len(t_s), 0.1),
            f"{direction}_{quantity}": values,
        }
        writer.append(pl.DataFrame(rates).with_columns(step=pl.lit(name)))
        for column, tracks in (("temp_c.composite", temps), ("throttle_count.tmt1", counters)):
            if tracks:
                each = {"t_s": t_s[::10], column: tracks[name][: len(t_s) : 10]}
                writer.append(pl.DataFrame(each).with_columns(step=pl.lit(name)))
    writer.finish("finished", 1000.0 * len(steps))
    return Recording.open(tmp_path / "r")


def judged(tmp_path: Path, **kwargs: Any) -> RecordingFindings:
    return analyze([recording(tmp_path, **kwargs)]).recordings[0]


def only(findings: RecordingFindings) -> StepFindings:
    (step,) = findings.steps
    return step


WARMING = np.minimum(70.0, 40 + T_S * 30 / 60)
STEADY = np.full(len(T_S), FULL)


def test_a_read_and_a_write_that_fall_at_one_temperature_are_thermal(tmp_path: Path) -> None:
    fall = governed(60, 0.5)
    findings = judged(
        tmp_path,
        steps={"r": ("read", fall), "w": ("write", fall)},
        temps={"r": WARMING, "w": WARMING},
    )
    assert [step.verdict for step in findings.steps] == ["thermal", "thermal"]
    episode = findings.steps[1].episodes[0]
    assert episode.temp_c_at_onset == pytest.approx(70, abs=1)
    # 2 % are lost 2.4 s after the limit
    assert episode.written_gb_at_onset == pytest.approx(2.5 * 62.4, rel=0.01)
    assert 0.9 <= episode.confidence <= 1
    assert any("reads fell in the same way" in line for line in episode.evidence)


def test_a_write_that_falls_far_deeper_than_any_read_is_not_thermal(tmp_path: Path) -> None:
    fall = governed(84, 0.3)
    cliff = np.where(T_S < 84, 450.0, 25.0)
    findings = judged(
        tmp_path,
        steps={"r": ("read", fall), "w": ("randwrite", cliff)},
        temps={"r": WARMING, "w": WARMING},
    )
    assert findings.steps[1].verdict in ("spare-area", "write-cache", "unknown")
    assert any("hits writes alone" in line for line in findings.steps[1].episodes[0].evidence)


def test_the_drives_own_counter_decides(tmp_path: Path) -> None:
    count = np.where(T_S > 60, 1.0, 0.0)
    step = only(
        judged(
            tmp_path,
            steps={"w": ("write", governed(60, 0.5))},
            temps={"w": WARMING},
            counters={"w": count},
        )
    )
    assert step.verdict == "thermal"
    assert "counters rose: tmt1 by 1" in step.episodes[0].evidence[0]


def test_reads_too_few_to_be_judged_are_no_reads_that_held(tmp_path: Path) -> None:
    findings = judged(
        tmp_path,
        steps={"w": ("write", governed(60, 0.5)), "r": ("read", STEADY[:5])},
        temps={"w": WARMING, "r": WARMING},
    )
    evidence = findings.steps[0].episodes[0].evidence
    assert not any("hits writes alone" in line for line in evidence)
    assert any("no step only read" in line for line in evidence)


def test_a_drive_that_counted_throttling_may_have_cooled_by_it(tmp_path: Path) -> None:
    cooling = np.where(T_S < 84, 40 + T_S * 40 / 84, 68.0)
    step = only(
        judged(
            tmp_path,
            steps={"w": ("write", np.where(T_S < 84, 450.0, 200.0))},
            temps={"w": cooling},
            counters={"w": np.where(T_S > 84, T_S - 84, 0.0)},
        )
    )
    assert step.verdict == "thermal"
    assert any("the drive cooled while it counted" in line for line in step.episodes[0].evidence)


def test_a_write_that_cools_while_it_is_slow_is_not_thermal(tmp_path: Path) -> None:
    cliff = np.where(T_S < 84, 450.0, 25.0)
    cooling = np.where(T_S < 84, 40 + T_S * 25 / 84, 45.0)
    fall = governed(60, 0.5)
    findings = judged(
        tmp_path,
        steps={"r": ("read", fall), "w": ("randwrite", cliff)},
        temps={"r": WARMING, "w": cooling},
    )
    assert findings.steps[1].verdict in ("spare-area", "write-cache", "unknown")
    assert any("it stayed slow" in e for e in findings.steps[1].episodes[0].evidence)


def test_without_a_temperature_the_cause_is_unknown(tmp_path: Path) -> None:
    fall = governed(60, 0.5)
    findings = judged(tmp_path, steps={"r": ("read", fall), "w": ("write", fall)})
    for step in findings.steps:
        assert step.verdict == "unknown"
        assert step.episodes[0].cause == "unknown"
        assert step.episodes[0].confidence == 0
        assert any("no temperature" in line for line in step.episodes[0].evidence)


def test_a_temperature_that_cannot_be_believed_is_named_as_such(tmp_path: Path) -> None:
    fall = governed(60, 0.5)
    placeholder = np.full(len(T_S), 39.85)
    findings = judged(
        tmp_path,
        steps={"r": ("read", fall), "w": ("write", fall)},
        temps={"r": placeholder, "w": placeholder},
    )
    for step in findings.steps:
        assert step.verdict == "unknown"
        said = step.episodes[0].evidence
        assert any("the readings of composite cannot be trusted" in line for line in said)
        assert not any("no temperature" in line for line in said)


def test_a_load_behind_a_fill_that_slowed_the_drive_is_said_to_be(tmp_path: Path) -> None:
    def notes(name: str, fill: Array) -> list[str]:
        steps = {"fill": ("write", fill), "r": ("read", STEADY * 0.3)}
        behind_s = float(T_S[-1])
        findings = judged(tmp_path / name, steps=steps, preconditions=("fill",), apart_s=behind_s)
        return findings.notes

    [note] = [note for note in notes("slow", governed(60, 0.7)) if "'fill'" in note]
    assert note.startswith("'fill' fell by 68 % after 62 s")
    assert "'r' started, which may have been slow from the start" in note
    assert not any("'fill'" in note for note in notes("steady", STEADY))


def test_a_level_series_is_steady_however_warm_it_gets(tmp_path: Path) -> None:
    step = only(judged(tmp_path, steps={"r": ("read", STEADY)}, temps={"r": WARMING}))
    assert step.verdict == "steady"
    assert step.episodes == []
    assert step.mean_mb_s == pytest.approx(FULL)


def test_the_limits_that_a_drive_states_are_evidence(tmp_path: Path) -> None:
    step = only(
        judged(
            tmp_path,
            steps={"r": ("read", governed(60, 0.5))},
            temps={"r": WARMING},
            thresholds={"warning_c": 71.0},
        )
    )
    assert step.verdict == "thermal"
    assert any("drive's warning (71 C)" in line for line in step.episodes[0].evidence)


def test_where_only_iops_were_logged_they_stand_in(tmp_path: Path) -> None:
    step = only(judged(tmp_path, steps={"r": ("randread", governed(60, 0.5))}, quantity="iops"))
    (episode,) = step.episodes
    assert episode.before_mb_s is None
    assert episode.before_iops == pytest.approx(FULL, rel=0.01)
    assert step.mean_mb_s is None


def test_a_step_of_a_few_samples_is_unknown_and_says_why(tmp_path: Path) -> None:
    step = only(judged(tmp_path, steps={"r": ("read", STEADY[:5])}))
    assert step.verdict == "unknown"
    assert "too short to judge" in (step.why_unknown or "")


@pytest.mark.parametrize("rate", [float("nan"), 0.0])
def test_rates_of_nothing_are_no_crash(tmp_path: Path, rate: float) -> None:
    step = only(judged(tmp_path, steps={"r": ("read", np.full(len(T_S), rate))}))
    assert step.verdict in ("steady", "unknown")
    assert step.episodes == []


def test_a_warm_start_is_said(tmp_path: Path) -> None:
    warm = np.full(len(T_S), 55.0) + np.arange(len(T_S)) * 1e-4
    findings = judged(
        tmp_path,
        steps={"a": ("read", STEADY), "b": ("read", STEADY)},
        temps={"a": WARMING, "b": warm},
    )
    assert any("'b' started at 55 C, 15 K warmer" in note for note in findings.notes)


def test_counters_that_stay_at_zero_say_nothing(tmp_path: Path) -> None:
    fall = governed(60, 0.5)
    zeros = np.zeros(len(T_S))
    findings = judged(
        tmp_path,
        steps={"r": ("read", fall), "w": ("write", fall)},
        temps={"r": WARMING, "w": WARMING},
        counters={"r": zeros, "w": zeros},
    )
    assert [step.verdict for step in findings.steps] == ["thermal", "thermal"]


def test_runs_that_share_a_path_keep_their_own_sensors(tmp_path: Path) -> None:
    moving = recording(tmp_path / "a", {"r": ("read", STEADY)}, temps={"r": WARMING})
    stuck = recording(
        tmp_path / "b", {"r": ("read", STEADY)}, temps={"r": np.full(len(T_S), 39.85)}
    )
    log = Path("two-runs.log")
    runs = [
        InMemoryRecording(log, each.meta, each.samples(), each.events) for each in (moving, stuck)
    ]
    trusts = [one.sensors[0].trust for one in analyze(runs).recordings]
    assert trusts == ["unknown", "poor"]
