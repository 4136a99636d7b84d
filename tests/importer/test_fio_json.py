"""fio's JSON: what happened between two documents, or the means of the whole run."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.importer import Log, Source, read
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data" / "fio"


def logs_of(*documents: dict[str, Any], between: str = "\n") -> list[Log]:
    text = between.join(json.dumps(one, indent=2) for one in documents)
    return read(Source.of_bytes("out.json", text.encode()))


def direction(ios: int, size: int, runtime_ms: int, **more: Any) -> dict[str, Any]:
    latency = {"mean": 100_000.0, "N": ios, "max": 200_000}
    return {
        "io_bytes": size,
        "io_kbytes": size >> 10,
        "total_ios": ios,
        "runtime": runtime_ms,
        "lat_ns": latency,
        **more,
    }


def document(at_ms: int, *jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "fio version": "fio-3.33",
        "timestamp": at_ms // 1000,
        "timestamp_ms": at_ms,
        "jobs": [
            {"jobname": "job", "groupid": 0, "elapsed": 1 + (at_ms - AT) // 1000, **job}
            for job in jobs
        ],
        **more,
    }


AT = 1_700_000_000_000


def test_a_status_stream_is_a_series_of_what_was_done_in_between() -> None:
    (log,) = read(Source.of_path(DATA / "mix.json.gz"))
    assert log.clock == "utc"
    assert log.tools == {"fio": "fio-3.33"}
    (step,) = log.steps
    assert step.describe() == "random mix, 4k, QD1, 2 jobs, rate_iops=500"
    assert log.samples["read_iops"].to_list()[:-1] == pytest.approx([1000] * 4, rel=0.05)
    assert log.samples["write_bw_mb_s"][1] == pytest.approx(4.096, rel=0.05)
    whole_s = log.samples["interval_s"].sum()
    assert log.samples["t_s"][-1] == pytest.approx(whole_s, abs=0.1)
    assert whole_s == pytest.approx(4, abs=0.05)


def test_groups_behind_each_other_are_steps() -> None:
    (log,) = read(Source.of_path(DATA / "behind.json.gz"))
    assert [(s.name, s.rw, s.reads, s.writes) for s in log.steps] == [
        ("first", "read", True, False),
        ("second", "write", False, True),
    ]
    first, second = log.samples.partition_by("step")
    assert first["t_s"][-1] < second["t_s"][0]
    assert second["read_bw_mb_s"].null_count() == second.height
    assert second["write_bw_mb_s"].mean() == pytest.approx(10.5, rel=0.05)


def test_a_last_document_alone_is_a_mean_with_percentiles() -> None:
    (log,) = read(Source.of_path(DATA / "each.json"))  # with fio's text around it
    (row,) = log.samples.rows(named=True)
    assert row["interval_s"] == pytest.approx(2, abs=0.05)
    assert row["read_iops"] == pytest.approx(100, rel=0.05)
    assert row["read_lat_p50_us"] <= row["read_lat_p99_us"] <= row["read_lat_max_us"] * 1.02
    assert any("one mean" in remark.text for remark in log.remarks)


def test_clients_of_a_server_are_added_up_once() -> None:
    (log,) = read(Source.of_path(DATA / "client.json"))
    assert log.samples["read_iops"].to_list() == pytest.approx([500], rel=0.01)
    assert log.steps[0].name == "one+two"
    assert log.drive == {"path": "/dev/vda"}


def test_rates_are_of_the_interval_alone() -> None:
    stream = [
        document(AT + 1000 * n, {"read": direction(n * n * 100, n * n * 409_600, 1000 * n)})
        for n in range(1, 4)
    ]
    (log,) = logs_of(*stream, between="\nfio: terminating on signal 15\n")
    assert log.samples["read_iops"].to_list() == [100, 300, 500]
    assert log.samples["t_s"].to_list() == [1, 2, 3]
    assert log.start_unix_s == AT / 1000
    assert log.steps[0].bs == 4096


def test_results_written_behind_each_other_are_runs_of_their_own() -> None:
    results = [
        document(AT + 100_000 * n, {"read": direction(100 * n, 409_600 * n, 60_000), "elapsed": 61})
        for n in range(1, 4)
    ]
    logs = logs_of(*results)
    assert [log.label for log in logs] == ["run 1", "run 2", "run 3"]
    assert [log.samples["read_iops"][0] for log in logs] == pytest.approx([100 / 60, 200 / 60, 5])


def test_fio_2_counts_in_kib_and_us() -> None:
    lat = {"min": 10, "max": 900, "mean": 120.5, "stddev": 1.0}
    clat = {"mean": 110.0, "percentile": {"99.000000": 300, "50.000000": 100}}
    rates = {"io_bytes": 102_400, "bw": 10_240, "iops": 2560.0, "runtime": 10_000}
    job = {"jobname": "old", "groupid": 0, "read": {**rates, "lat": lat, "clat": clat}}
    (log,) = logs_of({"fio version": "fio-2.1.10", "jobs": [job]})
    (row,) = log.samples.rows(named=True)
    assert row["read_bw_mb_s"] == pytest.approx(10.48576)
    assert row["read_iops"] == pytest.approx(2560)
    assert row["read_lat_us"] == pytest.approx(120.5)
    assert (row["read_lat_p50_us"], row["read_lat_p99_us"]) == (100, 300)
    assert (log.clock, log.start_unix_s) == ("none", None)


def test_reads_and_writes_counted_together_have_columns_of_their_own() -> None:
    (log,) = logs_of(document(AT + 1000, {"mixed": direction(100, 409_600, 1000)}))
    assert log.samples["iops"].to_list() == [100]
    assert "read_iops" not in log.samples.columns


def test_jobs_that_started_while_others_ran_overlap_them() -> None:
    did = {"read": direction(100, 409_600, 9000)}
    jobs = [
        {"jobname": f"j{n}", "groupid": n, "job_start": start, **did}
        for n, start in enumerate((AT, AT + 10, AT + 9500))
    ]
    (log,) = logs_of(document(AT + 19_000, *jobs))
    assert [step.name for step in log.steps] == ["j0+j1", "j2"]
    assert log.samples["t_s"].to_list() == pytest.approx([9.0, 18.5])


def test_a_division_by_zero_of_fio_is_no_harm() -> None:
    text = json.dumps(document(AT, {"read": direction(1, 4096, 1000), "usr_cpu": 7.5}), indent=2)
    (log,) = read(Source.of_bytes("a", text.replace("7.5", "-nan").encode()))
    assert log.samples.height == 1


def test_a_run_that_did_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="have done no I/O"):
        logs_of(document(AT, {"read": direction(0, 0, 0)}))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_nothing_but_our_errors_comes_of_documents_with_values_replaced(seed: int) -> None:
    chance = random.Random(seed)
    jobs = [{"read": direction(n, n * 4096, n, clat_ns={"bins": {"5": n}})} for n in (5, 9)]
    options = {"rw": "read", "bs": "4k", "iodepth": "4", "numjobs": "2", "filename": "/dev/x"}
    documents = [
        document(AT + at, *json.loads(json.dumps(jobs)), **{"global options": options})
        for at in (0, 500, 5000)
    ]
    for _ in range(chance.randrange(1, 6)):
        node: Any = chance.choice(documents)
        while isinstance(node, dict | list) and node:
            key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or chance.random() < 0.2:
                odd: list[Any] = [None, [], {}, {"a": {}}, [[]], "x", "\ud800", "9" * 50]
                node[key] = chance.choice([*odd, -1, 10**400, 1e308, float("inf"), True, 0, 4.5])
                break
            node = node[key]
    message = ""
    try:
        for log in logs_of(*documents):
            assert log.samples["t_s"].is_sorted()
    except HeatsoakError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(cut=st.floats(0, 1))
def test_a_truncated_stream_gives_what_came_before(cut: float) -> None:
    whole = gzip.decompress((DATA / "mix.json.gz").read_bytes())
    message = ""
    try:
        (log,) = read(Source.of_bytes("mix.json", whole[: int(cut * len(whole))]))
        assert 1 <= log.samples.height <= 6
    except UsageError as error:
        message = str(error)
    assert "\n" not in message


def test_output_for_people_is_refused_with_what_would_do() -> None:
    text = (
        "x: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=psync, iodepth=1\n"
        "fio-3.33\nStarting 1 process\n\n"
        "x: (groupid=0, jobs=1): err= 0: pid=1: Sat Nov 21 11:17:40 2026\n"
        "  read: IOPS=36.6k, BW=143MiB/s (150MB/s)(1024KiB/7msec)\n"
    )
    with pytest.raises(UsageError, match="means only: '--output-format=json"):
        read(Source.of_bytes("out.txt", text.encode()))
