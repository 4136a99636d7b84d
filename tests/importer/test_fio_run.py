"""Files of one run of fio are put together: jobs, quantities, steps, and what the JSON tells."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from heatsoak.importer import Log, Source, import_files, read
from heatsoak.importer.formats.fio.run import join_fio
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data" / "fio"


def joined(*names: str) -> list[Log]:
    return join_fio([log for name in names for log in read(Source.of_path(DATA / name))])


def log_of(name: str, *rows: tuple[int, ...]) -> list[Log]:
    text = "".join(", ".join(map(str, row)) + "\n" for row in rows)
    return read(Source.of_bytes(name, text.encode()))


def windows(name: str, value: int, count: int = 4) -> list[Log]:
    """A log of windows of half a second."""
    return log_of(name, *((500 * i, value, 0, 0) for i in range(1, count + 1)))


def doubts(log: Log) -> list[str]:
    return [remark.text for remark in log.remarks if remark.doubt]


MIX = tuple(f"mix_{what}.{job}.log" for what in ("bw", "iops", "lat") for job in (1, 2))


def test_logs_of_jobs_side_by_side_are_added_up_and_that_is_noted() -> None:
    (log,) = joined(*MIX)
    assert log.samples["read_bw_mb_s"].mean() == pytest.approx(4.1, rel=0.02)
    assert log.samples["write_iops"].mean() == pytest.approx(1000, rel=0.02)
    assert 0 < float(log.samples["read_lat_us"].mean() or 0) < 10_000  # type: ignore[arg-type]
    assert log.steps[0].numjobs == 2
    assert len(doubts(log)) == 1
    assert "give fio's JSON" in doubts(log)[0]
    assert log.samples["interval_s"].to_list() == pytest.approx([0.5] * 7, abs=0.05)


def test_the_json_states_the_load_and_removes_the_doubt() -> None:
    (log,) = joined(*MIX, "mix.json.gz")
    assert log.steps[0].describe() == "random mix, 4k, QD1, 2 jobs, rate_iops=500"
    assert log.clock == "utc"
    assert not doubts(log)
    assert log.samples["read_bw_mb_s"].mean() == pytest.approx(4.1, rel=0.02)


def test_jobs_behind_each_other_are_steps_at_their_times() -> None:
    (log,) = joined("behind_bw.1.log", "behind_bw.2.log", "behind.json.gz")
    first, second = log.samples.drop_nulls("step").partition_by("step")
    assert first["read_bw_mb_s"].mean() == pytest.approx(21, rel=0.03)
    assert second["write_bw_mb_s"].mean() == pytest.approx(10.5, rel=0.03)
    assert first["t_s"][-1] < second["t_s"][0]
    assert log.samples["t_s"].is_sorted()
    assert log.samples["t_s"].n_unique() == log.samples.height


def test_the_json_tells_jobs_that_shared_a_log_from_runs() -> None:
    (log,) = joined("shared_bw.log", "shared.json")
    assert log.samples["write_bw_mb_s"].mean() == pytest.approx(42, rel=0.03)
    assert not doubts(log)
    assert [log.label for log in joined("shared_bw.log")] == ["run 1", "run 2"]


def test_jobs_of_several_sections_that_shared_a_log_are_identified_by_the_bytes() -> None:
    rows = [(1000 * i, 1000, 1, 0, 0) for i in range(1, 101)]
    bw = log_of("P_bw.log", *rows, *rows[:50])
    about = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_100_000}
    job = {
        "jobname": "first",
        "elapsed": 101,
        "job_runtime": 150_000,
        "job options": {"rw": "write", "write_bw_log": "P"},
        "write": {"io_bytes": 150 * 1024_000, "total_ios": 37_500, "runtime": 100_000},
    }

    def result(**more: object) -> list[Log]:
        text = json.dumps({**about, "jobs": [{**job, **more}]})
        return read(Source.of_bytes("P.json", text.encode()))

    (log,) = join_fio([*bw, *result()])
    rates = log.samples["write_bw_mb_s"]
    assert rates[:49].to_list() == pytest.approx([2.048] * 49, rel=0.01)
    assert rates[52:].to_list() == pytest.approx([1.024] * 48, rel=0.01)
    # an earlier run's log that fio went on with
    one = {**job["write"], "io_bytes": 100 * 1024_000}  # type: ignore[dict-item]
    assert len(join_fio([*bw, *result(write=one)])) > 1


def test_logs_of_every_io_of_several_quantities_count_each_io_once() -> None:
    (log,) = joined("each_bw.1.log", "each_iops.1.log", "each_lat.1.log", "each.json")
    ios = (log.samples["read_iops"] * log.samples["interval_s"]).sum()
    assert ios == pytest.approx(200, abs=3)
    assert log.samples["read_lat_p99_us"].count() > 10
    assert log.steps[0].rw == "randrw"


def test_clocks_show_consecutive_jobs_without_json() -> None:
    at = 1_700_000_000_000
    one = log_of("x_bw.1.log", *((at + 500 * i, 1000, 0, 0, 0) for i in range(1, 9)))
    two = log_of("x_bw.2.log", *((at + 500 * i, 2000, 0, 0, 0) for i in range(9, 17)))
    (log,) = join_fio([*one, *two])
    assert [step.name for step in log.steps] == ["x 1", "x 2"]
    assert log.samples["t_s"].to_list() == pytest.approx([0.5 * i for i in range(1, 17)])
    assert log.start_unix_s == at / 1000
    assert not doubts(log)


def test_bandwidth_of_windows_that_end_a_little_apart_is_conserved() -> None:
    one = windows("x_bw.1.log", 1000, 20)
    two = log_of("x_bw.2.log", *((500 * i + 7, 3000, 0, 0, 0) for i in range(1, 21)))
    (log,) = join_fio([*one, *two])
    assert log.samples["read_bw_mb_s"].to_list() == pytest.approx([4.096] * 20)
    far = log_of("x_bw.2.log", *((500 * i + 250, 3000, 0, 0, 0) for i in range(1, 21)))
    (log,) = join_fio([*one, *far])
    inside = log.samples.filter(log.samples["t_s"] > 1)
    assert inside["read_bw_mb_s"].to_list() == pytest.approx([4.096] * inside.height)


def test_latencies_of_jobs_are_weighted_by_their_ios() -> None:
    values = {"iops.1": 900, "iops.2": 100, "lat.1": 100_000, "lat.2": 200_000}
    (log,) = join_fio([log for of, n in values.items() for log in windows(f"x_{of}.log", n)])
    assert log.samples["read_lat_us"].to_list() == pytest.approx([110] * 4)


def test_siblings_show_whether_latencies_are_ns_or_us() -> None:
    lat = windows("x_lat.1.log", 30_000)
    assert lat[0].samples["read_lat_us"][0] == 30
    iops = windows("x_iops.1.log", 1000)
    (log,) = join_fio([*iops, *lat])  # 0.03 in flight if ns, 30 if us
    assert log.samples["read_lat_us"][0] == 30_000
    assert any("taken as us" in text for text in doubts(log))


def test_prefixes_that_name_the_quantity_too_are_of_one_run() -> None:
    names = ("run-bw.log_bw.1.log", "run-iops.log_iops.1.log", "run-lat.log_lat.1.log.xz")
    (log,) = join_fio([log for name in names for log in windows(name, 1000)])
    assert log.samples.columns[2:] == ["read_bw_mb_s", "read_iops", "read_lat_us"]


def test_logs_of_another_day_are_not_of_the_json_that_has_their_name() -> None:
    at = 1_600_000_000_000
    other = log_of("behind_bw.1.log", *((at + 500 * i, 1000, 0, 0, 0) for i in range(1, 5)))
    report = read(Source.of_path(DATA / "behind.json.gz"))
    assert [log.format for log in join_fio([*report, *other])] == ["fio-json", "fio-log"]


def test_of_several_json_files_the_one_that_names_the_logs_is_theirs() -> None:
    logs = joined("shared.json", "behind.json.gz", "mix.json.gz", *MIX, "behind_bw.1.log")
    assert [log.steps[0].name for log in logs] == ["shared", "first", "mix"]
    assert [log.samples.height > 2 for log in logs] == [False, True, True]


def test_other_logs_pass_and_runs_stay_apart() -> None:
    one = windows("a/x_bw.1.log", 1000)
    two = windows("b/x_bw.1.log", 1000)
    assert len(join_fio([*one, *two])) == 2
    assert join_fio([]) == []
    other = Log(format="other", source="o", samples=one[0].samples)
    assert join_fio([other, *one])[0] is other


def test_submission_latencies_are_no_samples_and_do_no_harm() -> None:
    bw = windows("x_bw.1.log", 1000)
    slat = windows("x_slat.1.log", 1000)
    assert slat[0].samples.is_empty()
    (log,) = join_fio([*bw, *slat])
    assert log.samples.columns == ["t_s", "interval_s", "read_bw_mb_s"]
    assert any("submission" in remark.text for remark in log.remarks)


def test_what_is_uncertain_of_many_files_is_said_once() -> None:
    rows = [(1000 * i, 50_000_000, 0, 0) for i in range(1, 9)]
    logs = [log for job in range(1, 13) for log in log_of(f"x_lat.{job}.log", *rows)]
    (log,) = join_fio(logs)
    assert [text for text in doubts(log) if "taken as ns" in text] == [
        "x_lat.1.log and 11 more: latencies are taken as ns, as fio 3 writes them; "
        "the log does not state its version"
    ]


def job_of(number: int, seconds: int) -> list[Log]:
    rows = [(1000 * (second + 1), 500_000, 1, 0) for second in range(seconds)]
    return log_of(f"w_bw.{number}.log", *rows)


def test_what_is_left_once_a_job_has_ended_is_no_fall_of_the_drive() -> None:
    (log,) = join_fio([*job_of(1, 300), *job_of(2, 320), *job_of(3, 400)])
    loaded = log.samples.drop_nulls("step")
    assert loaded["t_s"][-1] == pytest.approx(300, abs=1)
    assert loaded["write_bw_mb_s"].min() == pytest.approx(3 * 512, rel=0.01)
    assert log.samples["t_s"][-1] == pytest.approx(400, abs=1)
    assert any("ended one by one" in remark.text for remark in log.remarks)


@pytest.mark.parametrize("last", [300, 302])
def test_jobs_that_end_together_are_one_load_to_the_end(last: int) -> None:
    (log,) = join_fio([*job_of(1, 300), *job_of(2, last)])
    assert not any("ended one by one" in remark.text for remark in log.remarks)
    assert "step" not in log.samples.columns


def test_a_job_that_hardly_ran_does_not_take_the_others_away() -> None:
    (log,) = join_fio([*job_of(1, 20), *job_of(2, 400)])
    assert "step" not in log.samples.columns


#: A file's name, and the KiB that its job wrote in each of so many seconds.
Named = tuple[str, int, int]


def file_of(name: str, kib: int, seconds: int) -> tuple[str, bytes]:
    """A log of a job, or its JSON, which is of another day for each rate."""
    if not name.endswith(".json"):
        return name, "".join(f"{1000 * i}, {kib}, 1, 0\n" for i in range(1, seconds + 1)).encode()
    job = {
        "jobname": "seq",
        "elapsed": seconds + 1,
        "job options": {"rw": "write", "write_bw_log": "seq"},
        "write": {"io_bytes": 1024 * kib * seconds, "total_ios": 1, "runtime": 1000 * seconds},
    }
    about = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000 + 86_400_000 * kib}
    return name, json.dumps({**about, "jobs": [job]}).encode()


def joined_of(files: Iterable[Named]) -> list[Log]:
    return join_fio([log for file in files for log in read(Source.of_bytes(*file_of(*file)))])


BARE = [("bare/fio.json", 1000, 100), ("bare/seq_bw.1.log", 1000, 100)]
FINNED = [("finned/fio.json", 1500, 100), ("finned/seq_bw.1.log", 1500, 100)]
BOTH = [("bare/fio.json", 1000, 100), ("finned/fio.json", 1500, 100)]
# what is made of files: where from, at how many KiB/s, in how many samples
CASES: dict[str, tuple[list[Named], list[Named]]] = {
    "each has its own": (BARE + FINNED, BOTH),
    "equal rates": (
        [*BARE, ("again/fio.json", 1001, 100), ("again/seq_bw.1.log", 1001, 100)],
        [("again/fio.json", 1001, 100), ("bare/fio.json", 1000, 100)],
    ),
    "one has no JSON": ([*BARE, FINNED[1]], [BOTH[0], FINNED[1]]),
    "one has no JSON, another no log": (
        [*BARE, FINNED[0], ("old/seq_bw.1.log", 1600, 100)],
        [BOTH[0], ("finned/fio.json", 1500, 1), ("old/seq_bw.1.log", 1600, 100)],
    ),
    "a JSON elsewhere is as long": (
        [("bare/fio.json", 1000, 150), BARE[1], ("finned/fio.json", 1000, 100)],
        [("bare/fio.json", 1000, 1), BARE[1], ("finned/fio.json", 1000, 1)],
    ),
    "logs below their JSON, or beside it": (
        [
            *(("bare/fio.json", 1000, 100), ("bare/logs/seq_bw.1.log", 1000, 100)),
            *(("bare/hot/fio.json", 2000, 100), ("bare/hot/logs/seq_bw.1.log", 2000, 100)),
            *(("finned/json/fio.json", 1500, 100), ("finned/logs/seq_bw.1.log.xz", 1500, 100)),
        ],
        [BOTH[0], ("bare/hot/fio.json", 2000, 100), ("finned/json/fio.json", 1500, 100)],
    ),
    "the only JSON": ([("json/fio.json", 1000, 100), BARE[1]], [("json/fio.json", 1000, 100)]),
    "two logs for one JSON": (
        [("fio.json", 1000, 100), BARE[1], ("again/seq_bw.1.log", 1000, 100)],
        [("again/seq_bw.1.log", 1000, 100), BARE[1], ("fio.json", 1000, 1)],
    ),
    "two JSON for one log": (
        [("a/fio.json", 1000, 100), ("b/fio.json", 1001, 100), BARE[1]],
        [("a/fio.json", 1000, 1), ("b/fio.json", 1001, 1), BARE[1]],
    ),
    "another log beside": (
        [*BARE, ("bare/old_bw.1.log", 1000, 100)],
        [BOTH[0], ("bare/old_bw.1.log", 1000, 100)],
    ),
    "a directory with the name of logs": (
        [("bare_bw.1.log", 1000, 100), ("bare/bw.1.log", 1500, 100)],
        [("bare/bw.1.log", 1500, 100), ("bare_bw.1.log", 1000, 100)],
    ),
}


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_a_run_has_the_logs_of_its_own_directory_in_whatever_order_they_are_given(
    case: str, data: st.DataObject
) -> None:
    files, expected = CASES[case]
    found = joined_of(data.draw(st.permutations(files)))
    means = [float(log.samples["write_bw_mb_s"].mean() or 0) for log in found]  # type: ignore[arg-type]
    shown = [
        (log.source, round(mean / 1.024e-3), log.samples.height)
        for log, mean in zip(found, means, strict=True)
    ]
    assert sorted(shown) == expected


def test_a_log_of_one_of_four_jobs_is_kept_apart_from_the_json_of_all() -> None:
    _, log = joined_of([("fio.json", 4000, 100), ("seq_bw.1.log", 1000, 100)])
    assert log.source == "seq_bw.1.log"
    assert log.remarks[-1].text == (
        "seq_bw.1.log was kept apart from fio.json: its bytes are not those that fio counted"
    )


def test_a_directory_is_the_same_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in [*BARE, *FINNED, ("finned/seq_iops.1.log", 700, 100)]:
        name, data = file_of(*file)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link").symlink_to("finned")
    monkeypatch.chdir(tmp_path)
    logs = ["link/seq_bw.1.log", "bare/../finned/seq_iops.1.log", "bare/seq_bw.1.log"]
    jsons = [tmp_path / "bare" / "fio.json", tmp_path / "finned" / "fio.json"]
    bare, finned = import_files([*jsons, *map(Path, logs)])
    assert bare.samples()["write_bw_mb_s"].max() == pytest.approx(1.024)
    assert finned.samples()["write_bw_mb_s"].max() == pytest.approx(1.536)
    assert finned.samples()["write_iops"].max() == 700
    assert len(import_files([Path(name) for name in logs])) == 2
