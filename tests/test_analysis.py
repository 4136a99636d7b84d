"""The judge on series whose truth is known, through recordings as it reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings, StepFindings, analyze
from heatsoak.recording import InMemoryRecording, SensorMeta
from made_recording import Array, held, sampled

T_S: Array = np.arange(1, 3001) / 10
FULL = 2500.0


def governed(onset_s: float, depth: float, time_constant_s: float = 60.0) -> Array:
    """Throughput under a governor: full until the limit, then falling as the board warms."""
    fall = depth * (1 - np.exp(-(T_S - onset_s) / time_constant_s))
    return FULL * np.where(onset_s > T_S, 1.0, 1.0 - fall)


WARMING = np.minimum(70.0, 40 + T_S * 30 / 60)
STEADY = np.full(len(T_S), FULL)
FALL = governed(60, 0.5)
CLIFF = np.where(T_S < 84, 450.0, 25.0)
PLACEHOLDER = np.full(len(T_S), 39.85)


def recording(
    *steps: tuple[str, Array],
    temps: list[Array] | None = None,
    counts: list[Array] | None = None,
    quantity: str = "bw_mb_s",
    apart_s: float = 1000.0,
    **how: Any,
) -> InMemoryRecording:
    """Steps at 10 Hz that begin so far apart, called by their loads, with sensors at 1 Hz."""
    frames, each_s = [], np.arange(len(T_S)) % 10 == 0
    for index, (rw, values) in enumerate(steps):
        columns: dict[str, Any] = {}
        for name, of_steps in (("temp_c__composite", temps), ("throttle_count__tmt1", counts)):
            if of_steps:
                columns[name] = np.where(each_s, of_steps[index], np.nan)[: len(values)]
        direction = "write" if "write" in rw else "read"
        rates: dict[str, Any] = {"column": f"{direction}_{quantity}", "sigma": 0.0}
        rates["start_s"] = apart_s * index
        one = sampled(values, step=f"{index} {rw}", sampling_s=0.1, **rates, **columns)
        frames.append(one.fill_nan(None))
    samples = pl.concat(frames, how="diagonal")
    loads = {f"{index} {rw}": rw for index, (rw, _) in enumerate(steps)}
    return held(samples, rw=loads, bs="128k", **how)


def judged(*steps: tuple[str, Array], **how: Any) -> RecordingFindings:
    return analyze([recording(*steps, **how)]).recordings[0]


def only(*steps: tuple[str, Array], **how: Any) -> StepFindings:
    (step,) = judged(*steps, **how).steps
    return step


BOTH = (("read", FALL), ("write", FALL))


def test_a_read_and_a_write_that_fall_at_one_temperature_are_thermal() -> None:
    findings = judged(*BOTH, temps=[WARMING] * 2)
    assert [step.verdict for step in findings.steps] == ["thermal", "thermal"]
    episode = findings.steps[1].episodes[0]
    assert episode.temp_c_at_onset == pytest.approx(70, abs=1)
    # 2 % are lost 2.4 s after the limit
    assert episode.written_gb_at_onset == pytest.approx(2.5 * 62.4, rel=0.01)
    assert 0.9 <= episode.confidence <= 1
    assert any("reads fell in the same way" in line for line in episode.evidence)


@pytest.mark.parametrize(
    ("rates", "temps_c", "said"),
    [
        (governed(84, 0.3), WARMING, "hits writes alone"),
        (FALL, np.where(T_S < 84, 40 + T_S * 25 / 84, 45.0), "it stayed slow"),
    ],
    ids=["that falls far deeper than any read", "that cools while it is slow"],
)
def test_a_write_that_falls_for_another_reason_is_not_thermal(
    rates: Array, temps_c: Array, said: str
) -> None:
    step = judged(("read", rates), ("randwrite", CLIFF), temps=[WARMING, temps_c]).steps[1]
    assert step.verdict in ("spare-area", "write-cache", "unknown")
    assert any(said in line for line in step.episodes[0].evidence)


def test_the_drives_own_counter_decides() -> None:
    step = only(("write", FALL), temps=[WARMING], counts=[np.where(T_S > 60, 1.0, 0.0)])
    assert step.verdict == "thermal"
    assert "counters rose: tmt1 by 1" in step.episodes[0].evidence[0]
    # one that stays at zero says nothing
    silent = judged(*BOTH, temps=[WARMING] * 2, counts=[np.zeros(len(T_S))] * 2)
    assert [one.verdict for one in silent.steps] == ["thermal", "thermal"]


def test_reads_too_few_to_be_judged_are_no_reads_that_held() -> None:
    findings = judged(("write", FALL), ("read", STEADY[:5]), temps=[WARMING] * 2)
    evidence = findings.steps[0].episodes[0].evidence
    assert not any("hits writes alone" in line for line in evidence)
    assert any("no step only read" in line for line in evidence)


def test_a_drive_that_counted_throttling_may_have_cooled_by_it() -> None:
    cooling = np.where(T_S < 84, 40 + T_S * 40 / 84, 68.0)
    count = np.where(T_S > 84, T_S - 84, 0.0)
    step = only(("write", np.where(T_S < 84, 450.0, 200.0)), temps=[cooling], counts=[count])
    assert step.verdict == "thermal"
    assert any("the drive cooled while it counted" in line for line in step.episodes[0].evidence)


@pytest.mark.parametrize("temps", [None, [PLACEHOLDER] * 2], ids=["none", "not to be believed"])
def test_without_a_temperature_the_cause_is_unknown(temps: list[Array] | None) -> None:
    for step in judged(*BOTH, temps=temps).steps:
        episode = step.episodes[0]
        assert (step.verdict, episode.cause, episode.confidence) == ("unknown", "unknown", 0)
        said = " ".join(episode.evidence)
        assert ("no temperature" in said) == (temps is None)
        assert ("the readings of composite cannot be trusted" in said) == (temps is not None)


def test_a_load_behind_a_fill_that_slowed_the_drive_is_said_to_be() -> None:
    def notes(fill: Array) -> list[str]:
        steps = (("write", fill), ("read", STEADY * 0.3))
        return judged(*steps, preconditions=("0 write",), apart_s=float(T_S[-1])).notes

    [note] = [note for note in notes(governed(60, 0.7)) if "'0 write'" in note]
    assert note.startswith("'0 write' fell by 68 % after 62 s")
    assert "'1 read' started, which may have been slow from the start" in note
    assert not any("'0 write'" in note for note in notes(STEADY))


def test_the_limits_that_a_drive_states_are_evidence() -> None:
    stated = SensorMeta(name="nvme", source="x", columns=["temp_c.composite"], interval_s=1,
                        thresholds={"warning_c": 71.0})  # fmt: skip
    step = only(("read", FALL), temps=[WARMING], sensors=[stated])
    assert step.verdict == "thermal"
    assert any("drive's warning (71 C)" in line for line in step.episodes[0].evidence)


def test_where_only_iops_were_logged_they_stand_in() -> None:
    step = only(("randread", FALL), quantity="iops")
    (episode,) = step.episodes
    assert episode.before_mb_s is None
    assert episode.before_iops == pytest.approx(FULL, rel=0.01)
    assert step.mean_mb_s is None
    assert only(("read", STEADY)).mean_mb_s == pytest.approx(FULL)


def test_a_warm_start_is_said() -> None:
    warm = np.full(len(T_S), 55.0) + np.arange(len(T_S)) * 1e-4
    findings = judged(("read", STEADY), ("read", STEADY), temps=[WARMING, warm])
    assert any("'1 read' started at 55 C, 15 K warmer" in note for note in findings.notes)


def test_runs_that_share_a_path_keep_their_own_sensors() -> None:
    runs = [recording(("read", STEADY), temps=[temps]) for temps in (WARMING, PLACEHOLDER)]
    assert runs[0].path == runs[1].path == Path("made")
    trusts = [one.sensors[0].trust for one in analyze(runs).recordings]
    assert trusts == ["unknown", "poor"]
