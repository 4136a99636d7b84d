"""The bundled protocols against the published methods."""

import pytest
from heatsoak.protocol import Pause, Precondition, Purge, Replay, WorkloadStep, load

DEPTHS = [1, 2, 4, 8, 16, 32]


def judged(name: str) -> list[WorkloadStep]:
    return [
        step
        for step in load(name).workload_steps
        if isinstance(step, WorkloadStep) and not isinstance(step, Precondition)
    ]


@pytest.mark.parametrize(
    ("name", "rw", "bs", "span"),
    [
        ("anandtech-random-read", "randread", 4096, None),
        ("anandtech-random-write", "randwrite", 4096, 16 * 10**9),
        ("anandtech-sequential-read", "read", 131072, None),
        ("anandtech-sequential-write", "write", 131072, None),
    ],
)
def test_depths_double_from_1_to_32_for_three_minutes_each_and_the_first_three_count(
    name: str, rw: str, bs: int, span: int | None
) -> None:
    steps = judged(name)
    assert [step.iodepth for step in steps] == DEPTHS
    assert {(step.rw, step.bs, step.runtime_s, step.span.bytes) for step in steps} == {
        (rw, bs, 180.0, span)
    }
    (score,) = load(name).scores
    assert (score.steps, score.statistic, score.last_s) == (("qd1", "qd2", "qd4"), "mean", None)
    assert score.metric == ("iops" if "random" in name else "mb_s")
    purge, fill = load(name).steps[:2]
    assert isinstance(purge, Purge)
    assert isinstance(fill, Precondition)
    assert fill.span.bytes == span


def test_mixes_go_from_reads_to_writes_in_six_steps_that_all_count() -> None:
    for kind, bs, depth, span in (("random", 4096, 3, 16 * 10**9), ("sequential", 131072, 1, None)):
        steps = judged(f"anandtech-mixed-{kind}")
        assert [round(100 * step.read_share) for step in steps] == [100, 80, 60, 40, 20, 0]
        assert {(s.bs, s.iodepth, s.runtime_s, s.span.bytes) for s in steps} == {
            (bs, depth, 180.0, span)
        }
        (score,) = load(f"anandtech-mixed-{kind}").scores
        assert score.steps == tuple(step.name for step in steps)
        assert (score.metric, score.statistic) == ("mb_s", "mean")


def test_consistency_is_an_hour_of_which_the_last_400_s_count() -> None:
    (step,) = judged("anandtech-consistency")
    assert (step.rw, step.bs, step.iodepth, step.runtime_s) == ("randwrite", 4096, 32, 3600)
    assert [(s.metric, s.statistic, s.last_s) for s in load("anandtech-consistency").scores] == [
        ("iops", "mean", 400),
        ("iops", "stdev", 400),
        ("iops", "consistency", 400),
    ]


def test_each_span_of_over_provisioning_is_purged_filled_and_written_for_an_hour() -> None:
    protocol = load("over-provisioning")
    kinds = [step.kind for step in protocol.steps]
    assert kinds == ["purge", "precondition", "workload"] * 4
    spans = []
    for fill, write in zip(protocol.steps[1::3], protocol.steps[2::3], strict=True):
        assert isinstance(fill, Precondition)
        assert isinstance(write, WorkloadStep)
        assert fill.span == write.span
        assert (write.rw, write.runtime_s, write.iodepth) == ("randwrite", 3600, 32)
        spans.append(100 - (write.span.percent or 0))
    assert spans == [0, 7, 15, 25]
    assert all(score.last_s == 400 for score in protocol.scores)
    assert {score.steps[0] for score in protocol.scores} == {
        f"random-write-{extra}" for extra in (0, 7, 15, 25)
    }


@pytest.mark.parametrize("trace", ["destroyer", "heavy", "light"])
def test_a_trace_runs_on_a_full_drive_and_after_a_purge_on_an_empty_one(trace: str) -> None:
    protocol = load(f"storage-bench-{trace}")
    kinds = [step.kind for step in protocol.steps]
    assert kinds == ["purge", "precondition", "replay", "purge", "replay"]
    replays = [step for step in protocol.steps if isinstance(step, Replay)]
    assert [(r.name, r.trace, r.idle_limit_s, r.scale) for r in replays] == [
        ("full", trace, 0.025, 1.0),
        ("empty", trace, 0.025, 1.0),
    ]
    for state in ("full", "empty"):
        wanted = {s.metric: s for s in protocol.scores if s.steps == (state,)}
        assert set(wanted) == {
            *("mb_s", "service_us", "over_10ms_pct", "over_100ms_pct", "energy_j")
        }
        assert wanted["mb_s"].while_busy


def test_a_sustained_write_is_scored_on_its_way_and_once_the_drive_is_full() -> None:
    protocol = load("sustained-write")
    by_metric = {score.name: score for score in protocol.scores}
    assert by_metric["Time to fill"].steps == by_metric["Filling"].steps == ("fill",)
    assert by_metric["Once full"].last_s == 300
    assert any(isinstance(step, Pause) for step in protocol.steps)
